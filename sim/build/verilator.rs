//! Finding a Verilator and telling its version. Part of the build script; `tests/verilator_version.rs` tests it.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A Verilator version: `5.006` is major 5, minor 6, and so is the `5.6.0` of a Python package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    pub major: u32,
    pub minor: u32,
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{:03}", self.major, self.minor)
    }
}

/// The oldest version accepted: the oldest one that the tests are run with.
pub const NEEDED: Version = Version { major: 5, minor: 6 };

/// Where the set-up puts its Verilator, relative to the repository's root: below every Python version's folder.
const SET_UP_LIB: &str = ".tools/venv/lib";
const SET_UP_PACKAGE: &str = "site-packages/verilator";

/// A Verilator that can be used.
#[derive(Debug)]
pub struct Verilator {
    pub program: PathBuf,
    /// Value of `VERILATOR_ROOT` to run it with; `None` leaves the environment as it is.
    pub set_root: Option<PathBuf>,
    /// The folder with the C++ run-time sources.
    pub include: PathBuf,
    /// `None` if it does not tell.
    pub version: Option<Version>,
}

impl Verilator {
    pub fn command(&self) -> Command {
        command(&self.program, self.set_root.as_deref())
    }
}

/// Why no Verilator can be used. Its text's first line says what was found and what is needed.
#[derive(Debug, PartialEq, Eq)]
pub enum Refusal {
    Missing,
    TooOld { program: PathBuf, found: Version },
    Unusable { program: PathBuf, why: String },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Missing => write!(f, "no Verilator found, {NEEDED} or newer is needed")?,
            Refusal::TooOld { program, found } => write!(
                f,
                "Verilator {found} found, {NEEDED} or newer is needed ({})",
                program.display()
            )?,
            Refusal::Unusable { program, why } => write!(
                f,
                "Verilator {} cannot be used, {NEEDED} or newer is needed: {why}",
                program.display()
            )?,
        }
        write!(
            f,
            "\nset up a pinned one in .tools/ with:\n    make setup\nor name one in PLANEZIP_VERILATOR, \
             or build without RTL cosimulation: cargo build --no-default-features"
        )
    }
}

/// Reads the version out of what `verilator --version` prints, e.g. `Verilator 4.038 2020-07-11 rev v4.036`.
/// Some builds print none (` rev vUNKNOWN-built20260516`).
pub fn version_from_output(output: &str) -> Option<Version> {
    let rest = output.split("Verilator ").nth(1)?;
    parse_version(rest)
}

/// Reads the version out of `verilated_config.h`, e.g. `#define VERILATOR_VERSION "5.006 2023-01-22"`.
pub fn version_from_config_header(text: &str) -> Option<Version> {
    let line = text
        .lines()
        .find(|l| l.split_whitespace().take(2).eq(["#define", "VERILATOR_VERSION"]))?;
    parse_version(line.split('"').nth(1)?)
}

/// Parses a version at the start of a text: `5.006 2023-01-22`, `v5.48.0`, `5.048-devel`.
pub fn parse_version(text: &str) -> Option<Version> {
    let text = text.trim_start().trim_start_matches('v');
    let end = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .unwrap_or(text.len());
    let mut parts = text[..end].split('.');
    let major = parts.next()?.parse().ok()?;
    let minor = parts.next()?.parse().ok()?;
    Some(Version { major, minor })
}

/// Picks the Verilator to use: `named` (the value of `PLANEZIP_VERILATOR`) if given, else the one that the set-up
/// put below `repo`, else the first `verilator` on `path`.
pub fn find(repo: &Path, named: Option<&Path>, path: Option<&std::ffi::OsStr>) -> Result<Verilator, Refusal> {
    if let Some(program) = named {
        return check(program, None, true);
    }
    if let Some(root) = set_up_root(repo) {
        return check(&root.join("bin/verilator_bin"), Some(&root), true);
    }
    let on_path = path
        .into_iter()
        .flat_map(std::env::split_paths)
        .map(|dir| dir.join("verilator"))
        .find(|program| program.is_file());
    match on_path {
        Some(program) => check(&program, None, false),
        None => Err(Refusal::Missing),
    }
}

fn set_up_root(repo: &Path) -> Option<PathBuf> {
    let mut roots: Vec<PathBuf> = std::fs::read_dir(repo.join(SET_UP_LIB))
        .ok()?
        .flatten()
        .map(|e| e.path().join(SET_UP_PACKAGE))
        .filter(|root| root.join("bin/verilator_bin").is_file())
        .collect();
    roots.sort();
    roots.pop()
}

fn command(program: &Path, root: Option<&Path>) -> Command {
    let mut command = Command::new(program);
    if let Some(root) = root {
        command.env("VERILATOR_ROOT", root);
    }
    command
}

/// Checks one candidate. One that does not tell its version is taken only if `trusted`.
fn check(program: &Path, root: Option<&Path>, trusted: bool) -> Result<Verilator, Refusal> {
    let unusable = |why: String| Refusal::Unusable {
        program: program.to_path_buf(),
        why,
    };
    let run = |arg: &[&str]| -> Result<String, Refusal> {
        let output = command(program, root)
            .args(arg)
            .output()
            .map_err(|e| unusable(format!("it does not run: {e}")))?;
        // Verilator prints blank lines ahead of some answers.
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let printed = run(&["--version"])?;
    if let Some(found) = version_from_output(&printed).filter(|v| *v < NEEDED) {
        return Err(Refusal::TooOld {
            program: program.to_path_buf(),
            found,
        });
    }
    let include = match root {
        Some(root) => root.to_path_buf(),
        None => PathBuf::from(run(&["--getenv", "VERILATOR_ROOT"])?),
    }
    .join("include");
    let header = include.join("verilated_config.h");
    let header_text = std::fs::read_to_string(&header).map_err(|e| {
        unusable(format!(
            "its run-time sources are missing: {}: {e}",
            header.display()
        ))
    })?;
    let version = version_from_output(&printed).or_else(|| version_from_config_header(&header_text));
    match version {
        Some(found) if found < NEEDED => Err(Refusal::TooOld {
            program: program.to_path_buf(),
            found,
        }),
        None if !trusted => Err(unusable(format!("it does not tell its version: {printed:?}"))),
        _ => Ok(Verilator {
            program: program.to_path_buf(),
            set_root: root.map(Path::to_path_buf),
            include,
            version,
        }),
    }
}
