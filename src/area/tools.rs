//! Finding the programs the flow runs.

use std::path::{Path, PathBuf};
use std::process::Command;

use thiserror::Error;

/// Environment variable that names the Yosys to use: a `yosys`, or a `python` that has pyosys.
pub const YOSYS_VARIABLE: &str = "PLANEZIP_YOSYS";
/// Oldest Yosys the flow is known to work with.
pub const YOSYS_NEEDED: (u32, u32) = (0, 70);

/// A tool that is not usable.
#[derive(Debug, Error)]
pub enum ToolError {
    /// No Yosys at all.
    #[error(
        "no Yosys found (needed: {major}.{minor} or newer with the slang front end; looked at: {looked})\n\
         set up a pinned one in .tools/ with:\n    make setup",
        major = YOSYS_NEEDED.0, minor = YOSYS_NEEDED.1
    )]
    Missing {
        /// Where it was looked for.
        looked: String,
    },
    /// There is one, but not one that works.
    #[error(
        "Yosys {found} at {path}: {major}.{minor} or newer with the slang front end is needed\n\
         set up a pinned one in .tools/ with:\n    make setup",
        major = YOSYS_NEEDED.0, minor = YOSYS_NEEDED.1
    )]
    Unfit {
        /// The program.
        path: PathBuf,
        /// Its version, and what it lacks.
        found: String,
    },
    /// OpenROAD is not there.
    #[error(
        "no `openroad` on PATH: place and route needs it, and it is in no package registry\n\
         get a release for your system from github.com/The-OpenROAD-Project/OpenROAD/releases (26Q1 is known to work) \
         or build it, put it on PATH, and repeat; without --pnr the synthesis figures need no OpenROAD"
    )]
    NoOpenroad,
}

/// A Yosys that the flow can run.
#[derive(Debug, Clone)]
pub struct Yosys {
    /// The program: a `python` with pyosys, or a `yosys`.
    pub path: PathBuf,
    /// True if it is the Python one.
    pub python: bool,
    /// True if the slang front end is a plugin that must be loaded.
    pub plugin: bool,
    /// Its version.
    pub version: String,
}

/// The first program of this name on PATH.
pub fn on_path(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|d| d.join(name))
        .find(|p| p.is_file())
}

/// First two numbers of a version text such as `Yosys 0.70 (git …)` or `0.70`.
fn version(text: &str) -> Option<(u32, u32, String)> {
    let word = text
        .split_whitespace()
        .find(|w| w.starts_with(|c: char| c.is_ascii_digit()))?;
    let mut parts = word.split(['.', '+', '-']);
    Some((
        parts.next()?.parse().ok()?,
        parts.next()?.parse().ok()?,
        word.to_owned(),
    ))
}

fn probe(path: &Path, python: bool) -> Result<Yosys, ToolError> {
    let unfit = |found: String| ToolError::Unfit {
        path: path.to_owned(),
        found,
    };
    let mut c = Command::new(path);
    if python {
        c.args([
            "-c",
            "import importlib.metadata as m, pyosys.libyosys; print(m.version('pyosys'))",
        ]);
    } else {
        c.arg("-V");
    }
    let out = c
        .output()
        .map_err(|e| unfit(format!("of unknown version (it does not start: {e})")))?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let Some((major, minor, word)) = version(&text) else {
        return Err(unfit(if python {
            "missing (this Python has no pyosys)".into()
        } else {
            "of unknown version".into()
        }));
    };
    if (major, minor) < YOSYS_NEEDED {
        return Err(unfit(word));
    }
    let mut plugin = false;
    if !python {
        let has = |args: &[&str]| {
            Command::new(path)
                .args(args)
                .output()
                .is_ok_and(|o| o.status.success())
        };
        if !has(&["-Q", "-T", "-p", "help read_slang"]) || !help_knows(path, &[]) {
            plugin = help_knows(path, &["-m", "slang"]);
            if !plugin {
                return Err(unfit(format!("{word} without the slang front end")));
            }
        }
    }
    Ok(Yosys {
        path: path.to_owned(),
        python,
        plugin,
        version: word,
    })
}

/// `help X` succeeds for unknown commands too; only its text tells.
fn help_knows(path: &Path, load: &[&str]) -> bool {
    Command::new(path)
        .args(load)
        .args(["-Q", "-T", "-p", "help read_slang"])
        .output()
        .is_ok_and(|o| {
            o.status.success() && String::from_utf8_lossy(&o.stdout).contains("read_slang [options]")
        })
}

/// Finds a Yosys: [`YOSYS_VARIABLE`], then `tools/venv`, then PATH.
pub fn yosys(tools: &Path) -> Result<Yosys, ToolError> {
    let is_python = |p: &Path| {
        p.file_name()
            .is_some_and(|n| n.to_string_lossy().starts_with("python"))
    };
    if let Some(p) = std::env::var_os(YOSYS_VARIABLE).filter(|p| !p.is_empty()) {
        let p = PathBuf::from(p);
        let python = is_python(&p);
        return probe(&p, python);
    }
    let venv = tools.join("venv/bin/python");
    if venv.is_file() {
        match probe(&venv, true) {
            Ok(y) => return Ok(y),
            Err(e) if on_path("yosys").is_none() => return Err(e),
            Err(_) => {}
        }
    }
    match on_path("yosys") {
        Some(p) => probe(&p, false),
        None => Err(ToolError::Missing {
            looked: format!("{}; `yosys` on PATH", venv.display()),
        }),
    }
}

/// Finds OpenROAD on PATH.
pub fn openroad() -> Result<PathBuf, ToolError> {
    on_path("openroad").ok_or(ToolError::NoOpenroad)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions() {
        assert_eq!(
            version("Yosys 0.23 (git sha1 7ce5011c2)"),
            Some((0, 23, "0.23".into()))
        );
        assert_eq!(version("Yosys 0.58+12 (git)").map(|v| (v.0, v.1)), Some((0, 58)));
        assert_eq!(version("1.0.3\n").map(|v| (v.0, v.1)), Some((1, 0)));
        assert_eq!(version("no number"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_yosys_too_old_is_refused_with_both_versions() {
        use std::os::unix::fs::PermissionsExt as _;
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("yosys");
        std::fs::write(&p, "#!/bin/sh\necho 'Yosys 0.23 (git sha1 7ce5011c2)'\n").unwrap();
        std::fs::set_permissions(&p, std::fs::Permissions::from_mode(0o755)).unwrap();
        let e = probe(&p, false).unwrap_err().to_string();
        let first = e.lines().next().unwrap();
        assert!(first.contains("0.23") && first.contains("0.70"), "{e}");
        assert!(e.contains("make setup"), "{e}");
    }
}
