//! A mapped netlist as Yosys writes it (`write_json`), and its instances.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;
use thiserror::Error;

use super::liberty::Library;

/// A netlist that cannot be accounted for.
#[derive(Debug, Error)]
pub enum NetlistError {
    /// Unreadable JSON.
    #[error("{path}: not a netlist: {source}")]
    Json {
        /// The file.
        path: String,
        /// Where and why.
        source: serde_json::Error,
    },
    /// The top module is not in it.
    #[error("module {0} is not in the netlist")]
    NoTop(String),
    /// A cell is neither a module nor a cell of the library.
    #[error(
        "{count} unmapped cell(s) of type `{kind}` in module {module}: not in the library, so of unknown area"
    )]
    Unmapped {
        /// Cell type.
        kind: String,
        /// Module it is in.
        module: String,
        /// How many there are.
        count: usize,
    },
    /// A cell of the netlist has no area.
    #[error("cell type {kind} in module {module} has no area in the library")]
    NoArea {
        /// Cell type.
        kind: String,
        /// Module it is in.
        module: String,
    },
    /// Modules instantiate each other without end.
    #[error("module {0} contains itself")]
    Recursive(String),
}

/// A wire bit: a net of the module or a constant.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Bit {
    /// Net number within the module.
    Net(u64),
    /// `0`, `1`, `x` or `z`.
    Const(String),
}

/// A port.
#[derive(Debug, Clone, Deserialize)]
pub struct Port {
    /// `input`, `output` or `inout`.
    pub direction: String,
    /// Its bits, least significant first.
    pub bits: Vec<Bit>,
}

/// An instance of a cell or module.
#[derive(Debug, Clone, Deserialize)]
pub struct Instance {
    /// Cell type or module name.
    #[serde(rename = "type")]
    pub kind: String,
    /// Bits by pin.
    pub connections: BTreeMap<String, Vec<Bit>>,
}

/// A module.
#[derive(Debug, Clone, Deserialize)]
pub struct Module {
    /// Ports by name.
    pub ports: BTreeMap<String, Port>,
    /// Instances by name.
    pub cells: BTreeMap<String, Instance>,
    /// What elaboration noted about the module.
    #[serde(default)]
    pub attributes: BTreeMap<String, serde_json::Value>,
}

impl Module {
    /// Whether only the module's ports are known: what is inside has no known area.
    #[must_use]
    pub fn is_black_box(&self) -> bool {
        ["blackbox", "whitebox"]
            .iter()
            .any(|a| self.attributes.contains_key(*a))
    }
}

/// A netlist.
#[derive(Debug, Clone, Deserialize)]
pub struct Netlist {
    /// Modules by name.
    pub modules: BTreeMap<String, Module>,
}

/// One module instance of the design and the library cells directly in it.
#[derive(Debug, Clone, PartialEq)]
pub struct Part {
    /// Instance path, e.g. `planezip_engine/u_compressor`.
    pub path: String,
    /// Module name without what elaboration appended.
    pub module: String,
    /// Number of library cells.
    pub cells: usize,
    /// Of these, flops.
    pub flops: usize,
    /// Of these, clock gates.
    pub clock_gates: usize,
    /// Cell area in µm².
    pub area_um2: f64,
    /// Area of flops, latches and clock gates in µm².
    pub sequential_um2: f64,
}

impl Netlist {
    /// Reads a netlist.
    pub fn read(path: &Path) -> Result<Self, NetlistError> {
        let wrap = |source| NetlistError::Json {
            path: path.display().to_string(),
            source,
        };
        let text = std::fs::read(path).map_err(|e| wrap(serde_json::Error::io(e)))?;
        serde_json::from_slice(&text).map_err(wrap)
    }

    /// Every module instance below `top`, parents first, with the cells that are its own.
    ///
    /// Fails on any cell that is not in the library or has no area: nothing is left out of a total.
    pub fn parts(&self, top: &str, lib: &Library) -> Result<Vec<Part>, NetlistError> {
        let mut out = Vec::new();
        self.walk(top, top.to_owned(), lib, &mut Vec::new(), &mut out)?;
        Ok(out)
    }

    fn walk<'a>(
        &'a self,
        module: &'a str,
        path: String,
        lib: &Library,
        above: &mut Vec<&'a str>,
        out: &mut Vec<Part>,
    ) -> Result<(), NetlistError> {
        let m = self
            .modules
            .get(module)
            .ok_or_else(|| NetlistError::NoTop(module.to_owned()))?;
        if above.contains(&module) {
            return Err(NetlistError::Recursive(module.to_owned()));
        }
        above.push(module);
        let mut part = Part {
            path: path.clone(),
            module: plain_name(module).to_owned(),
            cells: 0,
            flops: 0,
            clock_gates: 0,
            area_um2: 0.0,
            sequential_um2: 0.0,
        };
        let mut below = Vec::new();
        for (name, inst) in &m.cells {
            if let Some(cell) = lib.cells.get(&inst.kind) {
                let area = cell
                    .area_um2
                    .filter(|a| *a > 0.0)
                    .ok_or_else(|| NetlistError::NoArea {
                        kind: inst.kind.clone(),
                        module: module.to_owned(),
                    })?;
                part.cells += 1;
                part.area_um2 += area;
                if cell.sequential() {
                    part.sequential_um2 += area;
                }
                match cell.kind {
                    super::liberty::CellKind::Flop => part.flops += 1,
                    super::liberty::CellKind::ClockGate => part.clock_gates += 1,
                    _ => {}
                }
            } else if self.modules.get(&inst.kind).is_some_and(|m| !m.is_black_box()) {
                below.push((name, &inst.kind));
            } else {
                return Err(NetlistError::Unmapped {
                    kind: inst.kind.clone(),
                    module: module.to_owned(),
                    count: m.cells.values().filter(|i| i.kind == inst.kind).count(),
                });
            }
        }
        out.push(part);
        for (name, kind) in below {
            self.walk(kind, format!("{path}/{name}"), lib, above, out)?;
        }
        above.pop();
        Ok(())
    }
}

/// The name a module has in its source: elaboration appends `$` and the instance path.
pub fn plain_name(module: &str) -> &str {
    let m = module.strip_prefix('\\').unwrap_or(module);
    match m.find('$') {
        Some(i) if i > 0 => &m[..i],
        _ => m,
    }
}

#[cfg(test)]
mod tests {
    use super::super::liberty::{Ast, Source};
    use super::super::table;
    use super::*;

    fn library() -> Library {
        let text = "slew_ns = 0.02\n[cells.G]\narea = 1.5\n[cells.G.out]\nY = { function = \"A\" }\n";
        let source = Source {
            path: "t".into(),
            text: table::to_liberty("t", text).unwrap(),
        };
        Library::from_ast(&Ast::parse(&source).unwrap(), &source.path).unwrap()
    }

    fn netlist(text: &str) -> Netlist {
        serde_json::from_str(text).unwrap()
    }

    const TWO: &str = r#"{"modules": {
        "top": {"ports": {}, "cells": {
            "a": {"type": "sub$top.a", "connections": {}},
            "b": {"type": "sub$top.a", "connections": {}},
            "g": {"type": "G", "connections": {}}}},
        "sub$top.a": {"ports": {}, "cells": {
            "g": {"type": "G", "connections": {}},
            "h": {"type": "G", "connections": {}}}}}}"#;

    #[test]
    fn every_instance_is_a_part() {
        let parts = netlist(TWO).parts("top", &library()).unwrap();
        let paths: Vec<_> = parts
            .iter()
            .map(|p| (p.path.as_str(), p.module.as_str(), p.area_um2))
            .collect();
        assert_eq!(
            paths,
            [("top", "top", 1.5), ("top/a", "sub", 3.0), ("top/b", "sub", 3.0)]
        );
    }

    #[test]
    fn nothing_of_unknown_area_is_left_out() {
        let lib = library();
        let unmapped = netlist(&TWO.replacen("\"type\": \"G\"", "\"type\": \"$_DFF_P_\"", 1));
        let e = unmapped.parts("top", &lib).unwrap_err().to_string();
        assert!(e.contains("$_DFF_P_") && e.contains("top"), "{e}");
        let mut lib = lib;
        if let Some(c) = lib.cells.get_mut("G") {
            c.area_um2 = None;
        }
        assert!(matches!(
            netlist(TWO).parts("top", &lib),
            Err(NetlistError::NoArea { .. })
        ));
        let recursive = netlist(&TWO.replace("\"type\": \"G\"", "\"type\": \"top\""));
        assert!(matches!(
            recursive.parts("top", &lib),
            Err(NetlistError::Recursive(_))
        ));
    }
}
