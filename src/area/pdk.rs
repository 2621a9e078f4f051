//! The PDKs the flow knows (`area/pdk/pdks.toml`) and where their Liberty files are.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde::Deserialize;
use thiserror::Error;

/// Environment variable that names the folder below which PDK files are looked for.
pub const ROOT_VARIABLE: &str = "PLANEZIP_PDK_ROOT";

const REGISTRY: &str = include_str!("../../area/pdk/pdks.toml");

/// Embedded cell tables by file name.
const TABLES: [(&str, &str); 3] = [
    ("nangate45.toml", include_str!("../../area/pdk/nangate45.toml")),
    ("sky130hd.toml", include_str!("../../area/pdk/sky130hd.toml")),
    ("asap7.toml", include_str!("../../area/pdk/asap7.toml")),
];

/// A PDK that cannot be used.
#[derive(Debug, Error)]
pub enum PdkError {
    /// The name is none of ours.
    #[error("no PDK named `{name}` (known: {known})")]
    Unknown {
        /// What was asked for.
        name: String,
        /// The names there are.
        known: String,
    },
    /// The root folder is not there.
    #[error("{path}: {ROOT_VARIABLE} names no readable folder")]
    Root {
        /// The folder as given.
        path: PathBuf,
    },
    /// The root folder holds no file for this PDK.
    #[error(
        "{pdk}: no file {expected} below {root} ({ROOT_VARIABLE}); unset {ROOT_VARIABLE} for embedded tables, \
         or get the PDK: {get}"
    )]
    FileMissing {
        /// The PDK.
        pdk: String,
        /// File name patterns tried.
        expected: String,
        /// The folder searched.
        root: PathBuf,
        /// How to get it.
        get: String,
    },
    /// Nothing was set, nothing is embedded, nothing is installed.
    #[error("{pdk}: no Liberty file found (looked at: {looked}) and none is embedded; get it: {get}")]
    NotFound {
        /// The PDK.
        pdk: String,
        /// Where it was looked for.
        looked: String,
        /// How to get it.
        get: String,
    },
}

/// Physical data for place and route.
#[derive(Debug, Clone, Deserialize)]
pub struct PnrSpec {
    /// File name patterns of the technology LEF.
    pub tech_lef: Vec<String>,
    /// File name patterns of the cell LEF.
    pub cell_lef: Vec<String>,
    /// Tcl file with site, tracks, layers and cell names, in `area/openroad/`.
    pub config: String,
}

/// One PDK as `pdks.toml` describes it; the fields are explained there.
#[derive(Debug, Clone, Deserialize)]
#[allow(missing_docs)]
pub struct Pdk {
    pub name: String,
    pub title: String,
    pub node_nm: u32,
    pub corner: String,
    pub files: Vec<Vec<String>>,
    #[serde(default)]
    pub system: Vec<PathBuf>,
    pub table: Option<String>,
    pub nand2: String,
    pub tie: Option<[[String; 2]; 2]>,
    pub driver: String,
    pub load_ff: f64,
    pub slew_ns: f64,
    pub clock_ns: f64,
    pub dont_use: Vec<String>,
    #[serde(default)]
    pub embed: Vec<String>,
    pub get: String,
    pub pnr: Option<PnrSpec>,
}

#[derive(Deserialize)]
struct Registry {
    pdk: Vec<Pdk>,
}

static PDKS: LazyLock<Vec<Pdk>> = LazyLock::new(|| {
    // The file is part of the program; the test below keeps it readable.
    toml::from_str::<Registry>(REGISTRY).map_or_else(|_| Vec::new(), |r| r.pdk)
});

/// All PDKs, in the order of `pdks.toml`.
pub fn all() -> &'static [Pdk] {
    &PDKS
}

/// A PDK by name.
pub fn by_name(name: &str) -> Result<&'static Pdk, PdkError> {
    all()
        .iter()
        .find(|p| p.name == name)
        .ok_or_else(|| PdkError::Unknown {
            name: name.into(),
            known: all()
                .iter()
                .map(|p| p.name.as_str())
                .collect::<Vec<_>>()
                .join(", "),
        })
}

/// Where a PDK's cells come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// Our own small table.
    Embedded(&'static str),
    /// Liberty files.
    Full(Vec<PathBuf>),
}

impl Origin {
    /// `embedded` or `full`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Embedded(_) => "embedded",
            Self::Full(_) => "full",
        }
    }
}

/// The files below a folder, listed once.
#[derive(Debug)]
pub struct Root {
    /// The folder as given.
    pub path: PathBuf,
    files: Vec<PathBuf>,
}

/// Limits of the search below the root: depth of folders and number of entries.
const MAX_DEPTH: usize = 10;
const MAX_ENTRIES: usize = 400_000;

impl Root {
    /// Lists a folder.
    pub fn open(path: &Path) -> Result<Self, PdkError> {
        let top = std::fs::read_dir(path).map_err(|_| PdkError::Root {
            path: path.to_owned(),
        })?;
        let mut files = Vec::new();
        let mut todo = vec![(top, 0)];
        let mut seen = 0;
        while let Some((dir, depth)) = todo.pop() {
            for entry in dir.flatten() {
                seen += 1;
                if seen > MAX_ENTRIES {
                    break;
                }
                let p = entry.path();
                if p.is_dir() {
                    if depth < MAX_DEPTH
                        && let Ok(sub) = std::fs::read_dir(&p)
                    {
                        todo.push((sub, depth + 1));
                    }
                } else {
                    files.push(p);
                }
            }
        }
        // Shallow first, then by name: the same file every time.
        files.sort_by_key(|p| (p.components().count(), p.clone()));
        Ok(Self {
            path: path.to_owned(),
            files,
        })
    }

    /// The folder that [`ROOT_VARIABLE`] names, if it is set and not empty.
    pub fn from_env() -> Result<Option<Self>, PdkError> {
        match std::env::var_os(ROOT_VARIABLE) {
            Some(p) if !p.is_empty() => Self::open(Path::new(&p)).map(Some),
            _ => Ok(None),
        }
    }

    /// The first file that matches one of the patterns, in their order.
    pub fn find(&self, patterns: &[String]) -> Option<PathBuf> {
        patterns.iter().find_map(|pattern| {
            self.files
                .iter()
                .find(|f| {
                    f.file_name()
                        .and_then(|n| n.to_str())
                        .is_some_and(|n| glob(pattern, n.strip_suffix(".gz").unwrap_or(n)))
                })
                .cloned()
        })
    }
}

impl Pdk {
    /// True if the mapper may take this cell.
    pub fn usable(&self, cell: &str) -> bool {
        !self.dont_use.iter().any(|p| glob(p, cell))
    }

    /// The embedded table's text.
    pub fn table_text(&self) -> Option<&'static str> {
        let name = self.table.as_deref()?;
        TABLES.iter().find(|(n, _)| *n == name).map(|(_, t)| *t)
    }

    /// Decides where the cells come from. Order: the root's Liberty files; a system package's; the embedded table, but
    /// only if no root was given (a root that lacks the file is an error, not a reason to report other numbers).
    pub fn locate(&self, root: Option<&Root>) -> Result<Origin, PdkError> {
        let mut missing = None;
        if let Some(root) = root {
            let mut found = Vec::new();
            for patterns in &self.files {
                match root.find(patterns) {
                    Some(p) => found.push(p),
                    None => {
                        missing = Some(PdkError::FileMissing {
                            pdk: self.name.clone(),
                            expected: describe(patterns),
                            root: root.path.clone(),
                            get: self.get.clone(),
                        });
                    }
                }
            }
            if missing.is_none() {
                return Ok(Origin::Full(found));
            }
        }
        if !self.system.is_empty() && self.system.iter().all(|p| p.is_file()) {
            return Ok(Origin::Full(self.system.clone()));
        }
        match (missing, self.table_text()) {
            (Some(e), _) => Err(e),
            (None, Some(t)) => Ok(Origin::Embedded(t)),
            (None, None) => Err(PdkError::NotFound {
                pdk: self.name.clone(),
                looked: self.looked(None).join("; "),
                get: self.get.clone(),
            }),
        }
    }

    /// The places [`Pdk::locate`] looks at, in order, in words.
    pub fn looked(&self, root: Option<&Root>) -> Vec<String> {
        let mut out = Vec::new();
        match root {
            Some(r) => {
                for f in &self.files {
                    out.push(format!("{}/**/{}", r.path.display(), describe(f)));
                }
            }
            None => out.push(format!("{ROOT_VARIABLE} is not set")),
        }
        out.extend(self.system.iter().map(|p| p.display().to_string()));
        out
    }
}

fn describe(patterns: &[String]) -> String {
    patterns
        .iter()
        .map(|p| format!("{p}[.gz]"))
        .collect::<Vec<_>>()
        .join(" or ")
}

/// Matches a whole name: `*` any text, `?` one character, `[…]` one of a set with ranges.
pub fn glob(pattern: &str, name: &str) -> bool {
    fn go(p: &[u8], n: &[u8]) -> bool {
        match p {
            [] => n.is_empty(),
            [b'*', rest @ ..] => (0..=n.len()).any(|i| go(rest, &n[i..])),
            [b'?', rest @ ..] => !n.is_empty() && go(rest, &n[1..]),
            [b'[', rest @ ..] => {
                let Some(end) = rest.iter().position(|&c| c == b']') else {
                    return false;
                };
                let (set, rest) = (&rest[..end], &rest[end + 1..]);
                let Some(&c) = n.first() else { return false };
                let mut i = 0;
                let mut hit = false;
                while i < set.len() {
                    if i + 2 < set.len() && set[i + 1] == b'-' {
                        hit |= (set[i]..=set[i + 2]).contains(&c);
                        i += 3;
                    } else {
                        hit |= set[i] == c;
                        i += 1;
                    }
                }
                hit && go(rest, &n[1..])
            }
            [c, rest @ ..] => n.first() == Some(c) && go(rest, &n[1..]),
        }
    }
    go(pattern.as_bytes(), name.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_registry_is_readable_and_complete() {
        let r: Registry = toml::from_str(REGISTRY).unwrap();
        let names: Vec<_> = r.pdk.iter().map(|p| p.name.as_str()).collect();
        assert_eq!(
            names,
            ["nangate45", "sky130hd", "asap7", "sg13g2", "gf180", "osu018"]
        );
        for p in &r.pdk {
            assert_eq!(p.table.is_some(), p.table_text().is_some(), "{}", p.name);
            assert!(p.usable(&p.nand2) && p.usable(&p.driver), "{}", p.name);
        }
    }

    #[test]
    fn globs() {
        for (p, n, want) in [
            ("*_X16", "BUF_X16", true),
            ("*_X16", "BUF_X1", false),
            ("BUFx[2-6]*", "BUFx4_ASAP7", true),
            ("BUFx[2-6]*", "BUFx12_ASAP7", false),
            ("*__dl[rx]*", "a__dlxtp_1", true),
            ("?B", "AB", true),
            ("?B", "B", false),
            ("[", "[", false),
            ("*", "", true),
        ] {
            assert_eq!(glob(p, n), want, "{p} {n}");
        }
    }

    #[test]
    fn a_root_that_lacks_the_file_is_an_error_naming_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = Root::open(dir.path()).unwrap();
        let e = by_name("nangate45").unwrap().locate(Some(&root)).unwrap_err();
        let text = e.to_string();
        assert!(text.contains(dir.path().to_str().unwrap()), "{text}");
        assert!(text.contains("NangateOpenCellLibrary_typical.lib"), "{text}");
        assert!(matches!(
            by_name("nangate45").unwrap().locate(None).unwrap(),
            Origin::Embedded(_)
        ));
        assert!(Root::open(&dir.path().join("nowhere")).is_err());
    }

    #[test]
    fn files_are_found_in_subfolders_zipped_or_not() {
        let dir = tempfile::tempdir().unwrap();
        let sub = dir.path().join("a/b");
        std::fs::create_dir_all(&sub).unwrap();
        let file = sub.join("NangateOpenCellLibrary_typical.lib.gz");
        std::fs::write(&file, b"").unwrap();
        let root = Root::open(dir.path()).unwrap();
        assert_eq!(
            by_name("nangate45").unwrap().locate(Some(&root)).unwrap(),
            Origin::Full(vec![file])
        );
    }
}
