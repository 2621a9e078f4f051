//! Running the synthesis script (`area/yosys/`).

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

use super::liberty::{ArcKind, Ast, Cell, CellKind, GatePin, LibertyError, Library, Source, write};
use super::netlist::{Netlist, NetlistError};
use super::pdk::{Origin, Pdk, PdkError};
use super::table::{TableError, to_liberty};
use super::tools::Yosys;

const SCRIPT: &str = include_str!("../../area/yosys/synth.ys");
const RUNNER: &str = include_str!("../../area/yosys/run.py");

/// Fewest flops with a common enable for which a clock gate is used (`Options::gate_min`).
pub const GATE_MIN: usize = 4;

/// Synthesis that did not come to a netlist.
#[derive(Debug, Error)]
pub enum SynthError {
    /// A file of the run could not be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Yosys stopped.
    #[error("{pdk}: Yosys stopped: {message}\n(log: {log})")]
    Yosys {
        /// The PDK of the run.
        pdk: String,
        /// Its last error line.
        message: String,
        /// The whole log.
        log: PathBuf,
    },
    /// The clock leaves no time for logic.
    #[error(
        "{pdk}: a clock of {clock_ns} ns is shorter than a flop's own delay and setup ({overhead_ns:.3} ns)"
    )]
    Clock {
        /// The PDK of the run.
        pdk: String,
        /// What was asked for.
        clock_ns: f64,
        /// Clock to output plus setup.
        overhead_ns: f64,
    },
    /// The library lacks a cell that the PDK entry names.
    #[error("{pdk}: the library has no usable cell {cell} ({role})")]
    NoCell {
        /// The PDK.
        pdk: String,
        /// The cell.
        cell: String,
        /// What it is for.
        role: &'static str,
    },
    /// Bad Liberty.
    #[error(transparent)]
    Liberty(#[from] LibertyError),
    /// Bad embedded table.
    #[error(transparent)]
    Table(#[from] TableError),
    /// PDK not there.
    #[error(transparent)]
    Pdk(#[from] PdkError),
    /// Bad netlist.
    #[error(transparent)]
    Netlist(#[from] NetlistError),
}

/// RTL sources.
#[derive(Debug, Clone)]
pub struct Rtl {
    /// Files in order.
    pub files: Vec<PathBuf>,
    /// Top module.
    pub top: String,
}

impl Rtl {
    /// Reads a list file (one source per line, relative to the list; `//` and `#` start comments).
    pub fn from_list(list: &Path, top: &str) -> Result<Self, SynthError> {
        let io = |path: &Path, source| SynthError::Io {
            path: path.to_owned(),
            source,
        };
        let text = std::fs::read_to_string(list).map_err(|e| io(list, e))?;
        let dir = list.parent().unwrap_or(Path::new("."));
        let mut files = Vec::new();
        for line in text.lines() {
            let line = line.split("//").next().unwrap_or("");
            let line = line.split('#').next().unwrap_or("").trim();
            if line.is_empty() {
                continue;
            }
            let p = dir.join(line);
            let p = p.canonicalize().map_err(|e| io(&p, e))?;
            files.push(p);
        }
        Ok(Self {
            files,
            top: top.into(),
        })
    }
}

/// A PDK's cells, read and ready for Yosys.
#[derive(Debug)]
pub struct Prepared {
    /// `embedded` or `full`.
    pub origin: &'static str,
    /// The Liberty files they come from (none if embedded).
    pub files: Vec<PathBuf>,
    /// All usable cells.
    pub library: Library,
    /// Logic cells of the files that the mapper must not take.
    pub dont_use: Vec<String>,
    /// Liberty texts with the usable cells only.
    texts: Vec<String>,
}

impl Prepared {
    /// Reads a PDK's cells; refuses a library in which a usable cell has no area or a named cell is missing.
    pub fn new(pdk: &Pdk, origin: &Origin) -> Result<Self, SynthError> {
        let sources = match origin {
            Origin::Embedded(text) => vec![Source {
                path: format!("embedded table of {}", pdk.name).into(),
                text: to_liberty(&pdk.name, text)?,
            }],
            Origin::Full(files) => files.iter().map(|f| Source::read(f)).collect::<Result<_, _>>()?,
        };
        let mut library = Library::default();
        let mut texts = Vec::new();
        let mut dont_use = Vec::new();
        for s in &sources {
            let ast = Ast::parse(s)?;
            let mut lib = Library::from_ast(&ast, &s.path)?;
            let refused = |(n, c): &(&String, &Cell)| !pdk.usable(n) && c.kind != CellKind::Physical;
            dont_use.extend(lib.cells.iter().filter(refused).map(|(n, _)| n.clone()));
            lib.cells
                .retain(|n, c| pdk.usable(n) && c.kind != CellKind::Physical);
            lib.check_areas(&s.path)?;
            let mut text = String::new();
            write(&ast.root, &mut text, &|c| lib.cells.contains_key(c));
            texts.push(text);
            library.cells.extend(lib.cells);
        }
        let mut named = vec![(&pdk.nand2, "NAND2"), (&pdk.driver, "driver")];
        if let Some([lo, hi]) = &pdk.tie {
            named.extend([(&lo[0], "tie low"), (&hi[0], "tie high")]);
        }
        for (cell, role) in named {
            if !library.cells.contains_key(cell) {
                return Err(SynthError::NoCell {
                    pdk: pdk.name.clone(),
                    cell: cell.clone(),
                    role,
                });
            }
        }
        Ok(Self {
            origin: origin.name(),
            files: match origin {
                Origin::Embedded(_) => Vec::new(),
                Origin::Full(f) => f.clone(),
            },
            library,
            dont_use,
            texts,
        })
    }

    /// True if the library has a clock gate for rising edges.
    pub fn has_clock_gate(&self) -> bool {
        self.library.cells.values().any(|c| {
            c.kind == CellKind::ClockGate
                && c.clock_gate
                    .as_deref()
                    .is_some_and(|k| k.starts_with("latch_posedge"))
                && c.pins.iter().any(|p| p.gate == Some(GatePin::Enable))
        })
    }

    /// Clock to output at a load of four NAND2 inputs, plus setup, of the library's smallest flop: what a cycle has
    /// to give up before any logic.
    pub fn flop_overhead_ns(&self, pdk: &Pdk) -> f64 {
        let load = self
            .library
            .cells
            .get(&pdk.nand2)
            .and_then(|c| c.pins.iter().map(|p| p.cap_ff).reduce(f64::max))
            .unwrap_or(1.0)
            * 4.0;
        let mut best: Option<(f64, f64)> = None;
        for c in self.library.cells.values().filter(|c| c.kind == CellKind::Flop) {
            let (mut out, mut setup) = (0.0f64, 0.0f64);
            for a in c.pins.iter().flat_map(|p| &p.arcs) {
                for t in [&a.rise, &a.fall].into_iter().flatten() {
                    match a.kind {
                        ArcKind::ClockToOutput(_) => out = out.max(t.at(pdk.slew_ns, load)),
                        ArcKind::Setup(_) => setup = setup.max(t.at(pdk.slew_ns, pdk.slew_ns)),
                        ArcKind::Combinational => {}
                    }
                }
            }
            let area = c.area_um2.unwrap_or(f64::INFINITY);
            if best.is_none_or(|b| area < b.0) {
                best = Some((area, out + setup));
            }
        }
        best.map_or(0.0, |b| b.1)
    }
}

/// What to synthesize, and how.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Top-level parameters.
    pub params: Vec<(String, String)>,
    /// Clock period, ns.
    pub clock_ns: f64,
    /// Dissolve the hierarchy before mapping.
    pub flat: bool,
    /// Smallest number of flops that share an enable for a clock gate to be worth it.
    pub gate_min: usize,
    /// Write `netlist.v` too.
    pub verilog: bool,
    /// Script template to use instead of `area/yosys/synth.ys`.
    pub script: Option<String>,
}

/// A finished run.
#[derive(Debug)]
pub struct Synthesis {
    /// The mapped netlist.
    pub netlist: Netlist,
    /// Total area as Yosys itself counts it, µm²; not a number if it counts none.
    pub yosys_area_um2: f64,
}

/// Quotes a path for a slang command file.
fn quote(s: &str) -> String {
    format!("\"{}\"", s.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Runs Yosys in `dir` (which stays as it is left). `progress` hears of each step.
pub fn synthesize(
    yosys: &Yosys,
    pdk: &Pdk,
    prepared: &Prepared,
    rtl: &Rtl,
    options: &Options,
    dir: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Synthesis, SynthError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| SynthError::Io { path, source }
    };
    let put = |name: &str, text: &str| {
        let p = dir.join(name);
        std::fs::write(&p, text).map_err(io(&p))
    };
    let overhead_ns = prepared.flop_overhead_ns(pdk);
    let budget_ps = (options.clock_ns - overhead_ns) * 1000.0;
    if budget_ps < 1.0 {
        return Err(SynthError::Clock {
            pdk: pdk.name.clone(),
            clock_ns: options.clock_ns,
            overhead_ns,
        });
    }
    let mut liberty = String::new();
    for (i, t) in prepared.texts.iter().enumerate() {
        let name = format!("cells{i}.lib");
        put(&name, t)?;
        let _ = write!(liberty, "-liberty {name} ");
    }
    put(
        "abc.constr",
        &format!("set_driving_cell {}\nset_load {}\n", pdk.driver, pdk.load_ff),
    )?;
    // A command file of slang's own: it takes quoted paths, which the Yosys command line does not.
    let mut read = format!("--top {}\n", rtl.top);
    for (n, v) in &options.params {
        let _ = writeln!(read, "-G {n}={v}");
    }
    for f in &rtl.files {
        let _ = writeln!(read, "{}", quote(&f.display().to_string()));
    }
    put("sources.f", &read)?;
    let gate = if prepared.has_clock_gate() {
        format!("clockgate {liberty} -min_net_size {}", options.gate_min)
    } else {
        String::new()
    };
    let tie = pdk.tie.as_ref().map_or_else(String::new, |[lo, hi]| {
        format!(
            "hilomap -singleton -hicell {} {} -locell {} {}",
            hi[0], hi[1], lo[0], lo[1]
        )
    });
    let mut script = options.script.clone().unwrap_or_else(|| SCRIPT.to_owned());
    for (key, value) in [
        ("READ", "read_slang --keep-hierarchy -f sources.f"),
        ("TOP", &rtl.top),
        (
            "HIERARCHY",
            if options.flat { "flatten -noscopeinfo" } else { "" },
        ),
        ("CLOCKGATE", &gate),
        ("LIBERTY", liberty.trim_end()),
        ("ABC_PS", &format!("{budget_ps:.0}")),
        ("TIE", &tie),
        (
            "VERILOG",
            if options.verilog {
                "splitnets\nwrite_verilog -noattr -noexpr -simple-lhs netlist.v"
            } else {
                ""
            },
        ),
    ] {
        script = script.replace(&format!("{{{{{key}}}}}"), value);
    }
    put("synth.ys", &script)?;
    let mut c = Command::new(&yosys.path);
    if yosys.python {
        put("run.py", RUNNER)?;
        c.args(["run.py", "synth.ys"]);
    } else {
        if yosys.plugin {
            c.args(["-m", "slang"]);
        }
        c.args(["-s", "synth.ys"]);
    }
    let log_path = dir.join("yosys.log");
    let mut log = std::fs::File::create(&log_path).map_err(io(&log_path))?;
    let errors = log.try_clone().map_err(io(&log_path))?;
    let mut child = c
        .current_dir(dir)
        // Yosys caches Liberty files in the temporary folder under a key that does not see their contents change.
        .env("TMPDIR", dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(io(&yosys.path))?;
    if let Some(out) = child.stdout.take() {
        let mut out = BufReader::new(out);
        let mut line = Vec::new();
        while out.read_until(b'\n', &mut line).map_err(io(&log_path))? > 0 {
            log.write_all(&line).map_err(io(&log_path))?;
            if let Some(step) = step(&String::from_utf8_lossy(&line)) {
                progress(&step);
            }
            line.clear();
        }
    }
    let status = child.wait().map_err(io(&yosys.path))?;
    let text = std::fs::read(&log_path).map_err(io(&log_path))?;
    let text = String::from_utf8_lossy(&text);
    let failed = |message: String| SynthError::Yosys {
        pdk: pdk.name.clone(),
        message,
        log: log_path.clone(),
    };
    if !status.success() {
        // When ABC dies, Yosys only misses its output file; the reason stands above.
        let abc = text.find("ABC: ** cmd error").and_then(|end| {
            text[..end]
                .lines()
                .rev()
                .map(str::trim)
                .find(|l| l.starts_with("ABC: "))
                .map(str::to_owned)
        });
        let message = abc
            // The first error: the front end names file and line there, and says only later that it gives up.
            .or_else(|| {
                text.lines()
                    .find(|l| l.contains("ERROR: ") || l.contains("error: "))
                    .map(|l| l.strip_prefix("ERROR: ").unwrap_or(l).to_owned())
            })
            .unwrap_or_else(|| format!("{status}"));
        return Err(failed(message));
    }
    progress("netlist");
    let stat_path = dir.join("stat.json");
    let stat = std::fs::read(&stat_path).map_err(io(&stat_path))?;
    let yosys_area_um2 = serde_json::from_slice::<serde_json::Value>(&stat)
        .ok()
        .and_then(|v| v.pointer("/design/area")?.as_f64())
        // Absent if nothing in the design has an area; the report's own checks say which cell that is.
        .unwrap_or(f64::NAN);
    Ok(Synthesis {
        netlist: Netlist::read(&dir.join("netlist.json"))?,
        yosys_area_um2,
    })
}

/// What a line of Yosys' log says it is doing, if it starts a pass.
fn step(line: &str) -> Option<String> {
    if let Some(i) = line.find("Extracting gate netlist of module `") {
        let name = &line[i + 35..];
        let name = name.split('\'').next().unwrap_or("");
        return Some(format!("abc {}", super::netlist::plain_name(name)));
    }
    let (number, rest) = line.split_once(". Executing ")?;
    if number.is_empty() || !number.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    Some(rest.split_whitespace().next()?.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_of_the_log() {
        assert_eq!(
            step("7. Executing ABC pass (technology mapping)."),
            Some("abc".into())
        );
        assert_eq!(
            step("7.2. Extracting gate netlist of module `\\a$b.u' to `x'.."),
            Some("abc a".into())
        );
        assert_eq!(step("Extracted 3 gates"), None);
        assert_eq!(step("7.1. Executing X"), None);
    }

    #[test]
    fn a_list_names_files_and_a_missing_one_is_an_error() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.sv"), "").unwrap();
        let list = dir.path().join("x.f");
        std::fs::write(&list, "// sources\na.sv # first\n\n").unwrap();
        assert_eq!(Rtl::from_list(&list, "t").unwrap().files.len(), 1);
        std::fs::write(&list, "b.sv\n").unwrap();
        let e = Rtl::from_list(&list, "t").unwrap_err().to_string();
        assert!(e.contains("b.sv"), "{e}");
    }
}
