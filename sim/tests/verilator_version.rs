//! Finding Verilator: version texts seen in the field, and refusals that say what was found and what is needed.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

#[allow(dead_code)]
#[path = "../build/verilator.rs"]
mod verilator;

use verilator::{
    NEEDED, Refusal, Version, find, parse_version, version_from_config_header, version_from_output,
};

fn v(major: u32, minor: u32) -> Option<Version> {
    Some(Version { major, minor })
}

#[test]
fn versions_are_read_from_what_verilator_prints() {
    assert_eq!(
        version_from_output("Verilator 4.038 2020-07-11 rev v4.036-114-g0cd4a57ad"),
        v(4, 38)
    );
    assert_eq!(
        version_from_output("Verilator 5.006 2023-01-22 rev (Debian 5.006-3)"),
        v(5, 6)
    );
    assert_eq!(
        version_from_output("Verilator 5.049 devel rev v5.048-12-gabc"),
        v(5, 49)
    );
    assert_eq!(version_from_output(" rev vUNKNOWN-built20260516-4e853d8"), None);
    assert_eq!(version_from_output(""), None);
    assert_eq!(version_from_output("Verilator rev 5.006"), None);
    assert_eq!(version_from_output("bash: verilator: command not found"), None);
}

#[test]
fn versions_are_read_from_the_config_header() {
    let header = |s: &str| format!("// #define VERILATOR_VERSION \"9.9\"\n#define VERILATOR_VERSION {s}\n");
    assert_eq!(
        version_from_config_header(&header("\"5.006 2023-01-22\"")),
        v(5, 6)
    );
    assert_eq!(version_from_config_header(&header("\"5.49\"")), v(5, 49));
    assert_eq!(version_from_config_header(&header("\"\"")), None);
    assert_eq!(version_from_config_header(&header("")), None);
    assert_eq!(
        version_from_config_header("#define VERILATOR_VERSION_INTEGER \"5006000\""),
        None
    );
}

#[test]
fn versions_compare_by_number() {
    assert_eq!(parse_version("5.48.0"), v(5, 48));
    assert_eq!(parse_version("v5.6"), parse_version("5.006"));
    assert_eq!(parse_version("5"), None);
    assert_eq!(parse_version("five.six"), None);
    assert!(parse_version("5.10") > parse_version("5.006"));
    assert!(parse_version("4.228") < Some(NEEDED));
}

/// A folder with a script that answers like a Verilator.
struct Fake {
    dir: tempfile::TempDir,
}

impl Fake {
    fn new(prints: &str, config_version: Option<&str>) -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("include")).unwrap();
        if let Some(version) = config_version {
            fs::write(
                dir.path().join("include/verilated_config.h"),
                format!("#define VERILATOR_VERSION \"{version}\"\n"),
            )
            .unwrap();
        }
        let root = dir.path().display();
        let script =
            format!("#!/bin/sh\nif [ \"$1\" = --version ]; then echo '{prints}'; else echo '{root}'; fi\n");
        let program = dir.path().join("verilator");
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Fake { dir }
    }

    fn program(&self) -> PathBuf {
        self.dir.path().join("verilator")
    }
}

fn empty_repo() -> tempfile::TempDir {
    tempfile::tempdir().unwrap()
}

fn first_line(refusal: &Refusal) -> String {
    refusal.to_string().lines().next().unwrap_or_default().to_string()
}

#[test]
fn too_old_on_path_is_refused_with_both_versions_in_the_first_line() {
    let fake = Fake::new("Verilator 4.038 2020-07-11 rev v4.036", None);
    let refusal = find(empty_repo().path(), None, Some(fake.dir.path().as_os_str())).unwrap_err();
    let line = first_line(&refusal);
    assert!(
        line.starts_with("Verilator 4.038 found, 5.006 or newer is needed"),
        "{line}"
    );
    assert!(line.contains(&fake.program().display().to_string()), "{line}");
    assert!(
        refusal.to_string().lines().any(|l| l.trim() == "make setup"),
        "{refusal}"
    );
}

#[test]
fn too_old_by_its_header_is_refused() {
    let fake = Fake::new("rev vUNKNOWN", Some("5.002 2022-10-29"));
    let refusal = find(empty_repo().path(), Some(&fake.program()), None).unwrap_err();
    assert_eq!(
        refusal,
        Refusal::TooOld {
            program: fake.program(),
            found: Version { major: 5, minor: 2 }
        }
    );
}

#[test]
fn none_at_all_points_to_the_set_up() {
    let empty = tempfile::tempdir().unwrap();
    let refusal = find(empty_repo().path(), None, Some(empty.path().as_os_str())).unwrap_err();
    assert_eq!(refusal, Refusal::Missing);
    assert!(
        refusal.to_string().lines().any(|l| l.trim() == "make setup"),
        "{refusal}"
    );
    assert_eq!(
        find(empty_repo().path(), None, None).unwrap_err(),
        Refusal::Missing
    );
}

#[test]
fn one_that_does_not_tell_its_version_is_taken_only_if_named() {
    let fake = Fake::new("rev vUNKNOWN", Some(""));
    let named = find(empty_repo().path(), Some(&fake.program()), None).unwrap();
    assert_eq!(named.version, None);
    assert_eq!(named.include, fake.dir.path().join("include"));
    let refusal = find(empty_repo().path(), None, Some(fake.dir.path().as_os_str())).unwrap_err();
    assert!(
        first_line(&refusal).contains("5.006 or newer is needed"),
        "{refusal}"
    );
}

#[test]
fn a_name_that_leads_nowhere_is_refused_by_that_name() {
    let gone = Path::new("/nonexistent/verilator");
    let refusal = find(empty_repo().path(), Some(gone), None).unwrap_err();
    assert!(
        first_line(&refusal).contains("/nonexistent/verilator"),
        "{refusal}"
    );
}

#[test]
fn the_set_up_one_wins_over_the_path_and_a_named_one_over_both() {
    let repo = empty_repo();
    let root = repo
        .path()
        .join(".tools/venv/lib/python3.11/site-packages/verilator");
    fs::create_dir_all(root.join("bin")).unwrap();
    fs::create_dir_all(root.join("include")).unwrap();
    fs::write(
        root.join("include/verilated_config.h"),
        "#define VERILATOR_VERSION \"5.49\"\n",
    )
    .unwrap();
    let program = root.join("bin/verilator_bin");
    fs::write(
        &program,
        "#!/bin/sh\necho ' rev vUNKNOWN-built20260516-4e853d8'\n",
    )
    .unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    let old = Fake::new("Verilator 4.038 2020-07-11 rev v4.036", None);

    let found = find(repo.path(), None, Some(old.dir.path().as_os_str())).unwrap();
    assert_eq!(found.program, program);
    assert_eq!(found.set_root.as_deref(), Some(root.as_path()));
    assert_eq!(found.version, v(5, 49));

    let good = Fake::new(
        "Verilator 5.020 2024-01-01 rev (Debian 5.020-1)",
        Some("5.020 2024-01-01"),
    );
    let found = find(
        repo.path(),
        Some(&good.program()),
        Some(old.dir.path().as_os_str()),
    )
    .unwrap();
    assert_eq!(found.program, good.program());
    assert_eq!(found.version, v(5, 20));
}
