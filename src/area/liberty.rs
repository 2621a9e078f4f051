//! Reading and writing Liberty (`.lib`), the cell library format.
//!
//! [`Ast`] is the plain syntax tree (groups, attributes), borrowed from the text. Groups that only power or noise
//! analysis needs are skipped while parsing, which is most of a full library. [`Library`] is the meaning: cells with
//! areas, pins, functions and timing tables, in fixed units (µm², ns, fF).

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use thiserror::Error;

/// A Liberty file that cannot be read or does not hold what the flow needs.
#[derive(Debug, Error)]
pub enum LibertyError {
    /// The file could not be read.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The text is not Liberty.
    #[error("{path}:{line}: expected {expected}, found {found}")]
    Syntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the grammar asks for here.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// A logic cell has no usable area, so every total with it in would be wrong.
    #[error("{path}: cell {cell} has {found} (expected a number above 0); totals with it would be wrong")]
    NoArea {
        /// The file.
        path: PathBuf,
        /// The cell.
        cell: String,
        /// `no area`, or the area that was found.
        found: String,
    },
    /// A number is missing or malformed.
    #[error("{path}: {what}: expected {expected}, found {found}")]
    Value {
        /// The file.
        path: PathBuf,
        /// Where in the library.
        what: String,
        /// What was asked for.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
}

/// Deepest nesting of groups accepted (real libraries stay below 8).
const MAX_DEPTH: usize = 32;

/// Groups that hold nothing the area and timing flow reads.
fn skipped(name: &str) -> bool {
    matches!(
        name,
        "internal_power"
            | "leakage_power"
            | "dynamic_current"
            | "leakage_current"
            | "intrinsic_parasitic"
            | "power_lut_template"
            | "output_current_template"
            | "output_current_rise"
            | "output_current_fall"
            | "receiver_capacitance"
            | "receiver_capacitance1_rise"
            | "receiver_capacitance1_fall"
            | "receiver_capacitance2_rise"
            | "receiver_capacitance2_fall"
            | "ccsn_first_stage"
            | "ccsn_last_stage"
            | "normalized_driver_waveform"
            | "min_pulse_width"
            | "wire_load"
            | "wire_load_selection"
            | "electromigration"
    ) || name.starts_with("ocv_")
}

/// A Liberty file's text and where it came from.
#[derive(Debug)]
pub struct Source {
    /// The file (or, for generated text, the name to show in errors).
    pub path: PathBuf,
    /// Its text, decompressed.
    pub text: String,
}

/// Largest decompressed Liberty text accepted: a guard against a file that unpacks without end.
const MAX_TEXT: u64 = 1 << 30;

impl Source {
    /// Reads a file, through gzip if its name ends in `.gz`.
    pub fn read(path: &Path) -> Result<Self, LibertyError> {
        let io = |source| LibertyError::Io {
            path: path.to_owned(),
            source,
        };
        let file = std::fs::File::open(path).map_err(io)?;
        let mut bytes = Vec::new();
        if path.extension().is_some_and(|e| e == "gz") {
            flate2::read::MultiGzDecoder::new(file)
                .take(MAX_TEXT)
                .read_to_end(&mut bytes)
                .map_err(io)?;
        } else {
            file.take(MAX_TEXT).read_to_end(&mut bytes).map_err(io)?;
        }
        Ok(Self {
            path: path.to_owned(),
            text: String::from_utf8(bytes)
                .unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()),
        })
    }
}

/// One group: `name (args) { attributes and groups }`.
#[derive(Debug, Default)]
pub struct Group<'a> {
    /// Group type, e.g. `cell`.
    pub name: &'a str,
    /// Arguments, unquoted.
    pub args: Vec<&'a str>,
    /// Simple and complex attributes in order: name and values, unquoted.
    pub attrs: Vec<(&'a str, Vec<&'a str>)>,
    /// Groups within, in order, without the skipped ones.
    pub groups: Vec<Group<'a>>,
}

impl<'a> Group<'a> {
    /// The first value of the last attribute with this name.
    pub fn attr(&self, name: &str) -> Option<&'a str> {
        self.attrs
            .iter()
            .rev()
            .find(|(n, _)| *n == name)
            .and_then(|(_, v)| v.first().copied())
    }

    /// The groups of one type.
    pub fn all<'s>(&'s self, name: &'s str) -> impl Iterator<Item = &'s Group<'a>> {
        self.groups.iter().filter(move |g| g.name == name)
    }

    fn arg(&self) -> &'a str {
        self.args.first().copied().unwrap_or("")
    }
}

/// A parsed file: its outermost `library` group.
#[derive(Debug)]
pub struct Ast<'a> {
    /// The `library` group.
    pub root: Group<'a>,
}

impl<'a> Ast<'a> {
    /// Parses a file's text.
    pub fn parse(source: &'a Source) -> Result<Self, LibertyError> {
        let mut p = Parser {
            s: &source.text,
            at: 0,
            path: &source.path,
        };
        p.space();
        let name = p.word("`library`")?;
        if name != "library" {
            return Err(p.error("`library`", name));
        }
        p.expect(b'(', "`(`")?;
        let args = p.args()?;
        p.expect(b'{', "`{`")?;
        let root = p.group(name, args, 0)?;
        Ok(Self { root })
    }
}

struct Parser<'a, 'p> {
    s: &'a str,
    at: usize,
    path: &'p Path,
}

impl<'a> Parser<'a, '_> {
    fn peek(&self) -> Option<u8> {
        self.s.as_bytes().get(self.at).copied()
    }

    fn error(&self, expected: &'static str, found: &str) -> LibertyError {
        LibertyError::Syntax {
            path: self.path.to_owned(),
            line: 1 + self.s.as_bytes()[..self.at.min(self.s.len())]
                .iter()
                .filter(|&&b| b == b'\n')
                .count(),
            expected,
            found: if found.is_empty() {
                "the end of the file".into()
            } else {
                format!("`{}`", found.chars().take(40).collect::<String>())
            },
        }
    }

    fn error_here(&self, expected: &'static str) -> LibertyError {
        let rest = self.s.get(self.at..).unwrap_or("");
        let found = rest.lines().next().unwrap_or("");
        self.error(expected, found)
    }

    /// Skips white space, line continuations and comments.
    fn space(&mut self) {
        let b = self.s.as_bytes();
        loop {
            match b.get(self.at) {
                Some(c) if c.is_ascii_whitespace() || *c == b'\\' => self.at += 1,
                Some(b'/') if b.get(self.at + 1) == Some(&b'*') => {
                    self.at = self.s[self.at + 2..]
                        .find("*/")
                        .map_or(b.len(), |i| self.at + 2 + i + 2);
                }
                Some(b'/') if b.get(self.at + 1) == Some(&b'/') => self.line(),
                _ => return,
            }
        }
    }

    fn line(&mut self) {
        self.at = self.s[self.at..]
            .find('\n')
            .map_or(self.s.len(), |i| self.at + i + 1);
    }

    fn expect(&mut self, c: u8, expected: &'static str) -> Result<(), LibertyError> {
        self.space();
        if self.peek() != Some(c) {
            return Err(self.error_here(expected));
        }
        self.at += 1;
        self.space();
        Ok(())
    }

    /// A quoted string (without its quotes) or a bare word; spaces after it are skipped.
    fn word(&mut self, expected: &'static str) -> Result<&'a str, LibertyError> {
        let start = self.at;
        let word = if self.peek() == Some(b'"') {
            let rest = &self.s[start + 1..];
            let end = rest.find('"').ok_or_else(|| self.error_here("a closing quote"))?;
            self.at = start + 1 + end + 1;
            &rest[..end]
        } else {
            let b = self.s.as_bytes();
            while self.at < b.len()
                && !matches!(b[self.at], b'(' | b')' | b'{' | b'}' | b',' | b':' | b';' | b'"')
            {
                if b[self.at].is_ascii_whitespace() {
                    break;
                }
                self.at += 1;
            }
            if self.at == start {
                return Err(self.error_here(expected));
            }
            &self.s[start..self.at]
        };
        self.space();
        Ok(word)
    }

    /// Arguments after `(` up to and including `)`.
    fn args(&mut self) -> Result<Vec<&'a str>, LibertyError> {
        let mut out = Vec::new();
        loop {
            self.space();
            match self.peek() {
                Some(b')') => {
                    self.at += 1;
                    self.space();
                    return Ok(out);
                }
                // A bus range such as pin(A[3:0]) may put a colon here; it belongs to nothing we read.
                Some(b',' | b':') => self.at += 1,
                _ => out.push(self.word("an argument or `)`")?),
            }
        }
    }

    /// The value of a simple attribute: up to `;`, the line's end or the closing brace. Unquoted if it is one string.
    fn value(&mut self) -> Result<&'a str, LibertyError> {
        if self.peek() == Some(b'"') {
            return self.word("a value");
        }
        let rest = &self.s[self.at..];
        let end = rest.find([';', '\n', '}']).unwrap_or(rest.len());
        self.at += end;
        let v = rest[..end].trim();
        self.space();
        Ok(v)
    }

    /// Skips to the brace that closes the group whose `{` was just read.
    fn skip(&mut self) -> Result<(), LibertyError> {
        let b = self.s.as_bytes();
        let mut depth = 1usize;
        while let Some(&c) = b.get(self.at) {
            match c {
                b'{' => depth += 1,
                b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at += 1;
                        return Ok(());
                    }
                }
                b'"' => {
                    self.at += 1;
                    while b.get(self.at).is_some_and(|&c| c != b'"') {
                        self.at += 1;
                    }
                }
                b'/' if matches!(b.get(self.at + 1), Some(b'*' | b'/')) => {
                    self.space();
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
        Err(self.error_here("`}`"))
    }

    fn group(&mut self, name: &'a str, args: Vec<&'a str>, depth: usize) -> Result<Group<'a>, LibertyError> {
        if depth > MAX_DEPTH {
            return Err(self.error_here("no deeper nesting than 32 groups"));
        }
        let mut g = Group {
            name,
            args,
            ..Group::default()
        };
        loop {
            self.space();
            match self.peek() {
                Some(b'}') => {
                    self.at += 1;
                    return Ok(g);
                }
                Some(b';') => self.at += 1,
                _ => {
                    let name = self.word("an attribute, a group or `}`")?;
                    match self.peek() {
                        Some(b':') => {
                            self.at += 1;
                            self.space();
                            let v = self.value()?;
                            g.attrs.push((name, vec![v]));
                        }
                        Some(b'(') => {
                            self.at += 1;
                            let args = self.args()?;
                            if self.peek() == Some(b'{') {
                                self.at += 1;
                                if skipped(name) {
                                    self.skip()?;
                                } else {
                                    let sub = self.group(name, args, depth + 1)?;
                                    g.groups.push(sub);
                                }
                            } else {
                                g.attrs.push((name, args));
                            }
                        }
                        _ => return Err(self.error_here("`:` or `(`")),
                    }
                }
            }
        }
    }
}

/// What a cell does, as far as mapping and timing care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Outputs are functions of the inputs.
    Combinational,
    /// Constant output: a tie cell.
    Tie,
    /// Edge-triggered storage.
    Flop,
    /// Level-sensitive storage.
    Latch,
    /// Integrated clock gate.
    ClockGate,
    /// No function: fillers, antennas, pads, taps.
    Physical,
}

/// Direction of a pin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// Input.
    Input,
    /// Output.
    Output,
    /// Anything else.
    Other,
}

/// How an output edge follows an input edge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sense {
    /// Rise follows rise.
    Positive,
    /// Fall follows rise.
    Negative,
    /// Either.
    Non,
}

/// A lookup table over input slew and output load (or, for constraints, over two slews).
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// First axis in ns.
    pub x: Vec<f64>,
    /// Second axis: fF, or ns for a constraint. Empty if the table has one axis.
    pub y: Vec<f64>,
    /// Values in ns, `x` major.
    pub v: Vec<f64>,
}

impl Table {
    /// Bilinear interpolation, extrapolating linearly beyond the ends.
    pub fn at(&self, x: f64, y: f64) -> f64 {
        fn bracket(axis: &[f64], p: f64) -> (usize, f64) {
            if axis.len() < 2 {
                return (0, 0.0);
            }
            let hi = axis.partition_point(|&a| a < p).clamp(1, axis.len() - 1);
            let span = axis[hi] - axis[hi - 1];
            (
                hi - 1,
                if span > 0.0 {
                    (p - axis[hi - 1]) / span
                } else {
                    0.0
                },
            )
        }
        let ny = self.y.len().max(1);
        let (i, fx) = bracket(&self.x, x);
        let (j, fy) = bracket(&self.y, y);
        let g = |i: usize, j: usize| {
            self.v
                .get(i.min(self.x.len().max(1) - 1) * ny + j.min(ny - 1))
                .copied()
                .unwrap_or(0.0)
        };
        let lo = g(i, j) + (g(i, j + 1) - g(i, j)) * fy;
        let hi = g(i + 1, j) + (g(i + 1, j + 1) - g(i + 1, j)) * fy;
        lo + (hi - lo) * fx
    }
}

/// What a timing arc describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArcKind {
    /// Input to output of a combinational path (or a latch's data path).
    Combinational,
    /// Active clock edge to output; true if the edge rises.
    ClockToOutput(bool),
    /// Setup of the pin before the related pin's edge; true if that edge rises.
    Setup(bool),
}

/// A timing arc towards a pin.
#[derive(Debug, Clone)]
pub struct Arc {
    /// The pin it comes from.
    pub from: String,
    /// What it describes.
    pub kind: ArcKind,
    /// Edge relation.
    pub sense: Sense,
    /// Delay (or constraint) for the pin's rising edge.
    pub rise: Option<Table>,
    /// The same for the falling edge.
    pub fall: Option<Table>,
    /// Output slew of the rising edge.
    pub slew_rise: Option<Table>,
    /// Output slew of the falling edge.
    pub slew_fall: Option<Table>,
}

/// What a pin of an integrated clock gate is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GatePin {
    /// Clock in.
    Clock,
    /// Enable, sampled by the gate's latch.
    Enable,
    /// Test enable, tied to 0.
    Test,
    /// Gated clock.
    Output,
}

/// A pin of a cell.
#[derive(Debug, Clone)]
pub struct Pin {
    /// Name.
    pub name: String,
    /// Direction.
    pub direction: Direction,
    /// Input capacitance, fF.
    pub cap_ff: f64,
    /// Largest load an output may drive, fF.
    pub max_cap_ff: Option<f64>,
    /// Function of an output.
    pub function: Option<String>,
    /// True for clock pins of flops.
    pub clock: bool,
    /// Role in an integrated clock gate.
    pub gate: Option<GatePin>,
    /// Timing arcs that end at this pin.
    pub arcs: Vec<Arc>,
}

/// The `ff` or `latch` group of a storage cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Storage {
    /// Names of the state and its complement.
    pub state: (String, String),
    /// `clocked_on` of a flop, `enable` of a latch.
    pub clock: String,
    /// `next_state` of a flop, `data_in` of a latch.
    pub data: String,
    /// Asynchronous clear expression.
    pub clear: Option<String>,
    /// Asynchronous preset expression.
    pub preset: Option<String>,
}

/// A cell.
#[derive(Debug, Clone)]
pub struct Cell {
    /// Name.
    pub name: String,
    /// Area in µm²; `None` if the file gives none or no number.
    pub area_um2: Option<f64>,
    /// The area as written, for error messages.
    pub area_text: Option<String>,
    /// What it does.
    pub kind: CellKind,
    /// Its pins.
    pub pins: Vec<Pin>,
    /// State, for flops and latches.
    pub storage: Option<Storage>,
    /// Clock-gate type as Liberty names it, e.g. `latch_posedge`.
    pub clock_gate: Option<String>,
}

impl Cell {
    /// A pin by name.
    pub fn pin(&self, name: &str) -> Option<&Pin> {
        self.pins.iter().find(|p| p.name == name)
    }

    /// True for flops, latches and clock gates: the sequential share counts these.
    pub fn sequential(&self) -> bool {
        matches!(self.kind, CellKind::Flop | CellKind::Latch | CellKind::ClockGate)
    }
}

/// A library in fixed units.
#[derive(Debug, Clone, Default)]
pub struct Library {
    /// Cells by name.
    pub cells: BTreeMap<String, Cell>,
}

/// Factor to ns of a `time_unit`, e.g. `1ps`.
fn time_unit_ns(text: &str) -> Option<f64> {
    let t = text.trim();
    let n = t.find(|c: char| !(c.is_ascii_digit() || c == '.'))?;
    let base = match &t[n..] {
        "fs" => 1e-6,
        "ps" => 1e-3,
        "ns" => 1.0,
        "us" => 1e3,
        _ => return None,
    };
    Some(t[..n].parse::<f64>().ok()? * base)
}

fn numbers(text: &str) -> Option<Vec<f64>> {
    text.split([',', ' ', '\t', '\n', '\r', '\\'])
        .filter(|s| !s.is_empty())
        .map(|s| s.parse::<f64>().ok().filter(|v| v.is_finite()))
        .collect()
}

struct Reader<'p> {
    path: &'p Path,
    time_ns: f64,
    cap_ff: f64,
    slew_derate: f64,
    templates: BTreeMap<&'p str, Axes>,
}

/// Which axis of a table is which, and its default index values.
#[derive(Default, Clone)]
struct Axes {
    /// Variables of index_1 and index_2.
    vars: [Option<String>; 2],
    index: [Vec<f64>; 2],
}

impl Library {
    /// Takes the meaning of a parsed file. Cells keep their order of names; missing areas are left `None` (see
    /// [`Library::check_areas`]).
    pub fn from_ast(ast: &Ast<'_>, path: &Path) -> Result<Self, LibertyError> {
        let root = &ast.root;
        let value = |what: &str, expected, found: &str| LibertyError::Value {
            path: path.to_owned(),
            what: what.into(),
            expected,
            found: found.into(),
        };
        let time = root.attr("time_unit").unwrap_or("1ns");
        let time_ns = time_unit_ns(time).ok_or_else(|| value("time_unit", "a unit such as 1ns", time))?;
        let cap_ff = match root.attrs.iter().find(|(n, _)| *n == "capacitive_load_unit") {
            None => 1000.0,
            Some((_, v)) => {
                let unit = v.get(1).map(|u| u.to_ascii_lowercase());
                let scale = match unit.as_deref() {
                    Some("ff") => 1.0,
                    Some("pf") => 1000.0,
                    _ => return Err(value("capacitive_load_unit", "ff or pf", &v.join(", "))),
                };
                let n: f64 = v[0]
                    .parse()
                    .map_err(|_| value("capacitive_load_unit", "a number", v[0]))?;
                n * scale
            }
        };
        let slew_derate = root
            .attr("slew_derate_from_library")
            .and_then(|v| v.parse::<f64>().ok())
            .unwrap_or(1.0);
        let mut reader = Reader {
            path,
            time_ns,
            cap_ff,
            slew_derate,
            templates: BTreeMap::new(),
        };
        let mut templates = BTreeMap::new();
        for t in root.all("lu_table_template") {
            let mut axes = Axes::default();
            for (i, (var, idx)) in [("variable_1", "index_1"), ("variable_2", "index_2")]
                .into_iter()
                .enumerate()
            {
                axes.vars[i] = t.attr(var).map(str::to_owned);
                if let Some(text) = t.attr(idx) {
                    axes.index[i] =
                        numbers(text).ok_or_else(|| value("lu_table_template", "numbers", text))?;
                }
            }
            templates.insert(t.arg().to_owned(), axes);
        }
        reader.templates = templates.iter().map(|(k, v)| (k.as_str(), v.clone())).collect();
        let mut cells = BTreeMap::new();
        for g in root.all("cell") {
            let cell = reader.cell(g)?;
            cells.insert(cell.name.clone(), cell);
        }
        Ok(Self { cells })
    }

    /// Reads and merges the files of one library.
    pub fn read(paths: &[PathBuf]) -> Result<Self, LibertyError> {
        let mut all = Self::default();
        for p in paths {
            let source = Source::read(p)?;
            let ast = Ast::parse(&source)?;
            all.cells.extend(Self::from_ast(&ast, p)?.cells);
        }
        Ok(all)
    }

    /// Refuses a library in which a cell that could end up in a netlist has no area.
    pub fn check_areas(&self, path: &Path) -> Result<(), LibertyError> {
        for c in self.cells.values().filter(|c| c.kind != CellKind::Physical) {
            if !c.area_um2.is_some_and(|a| a > 0.0) {
                return Err(LibertyError::NoArea {
                    path: path.to_owned(),
                    cell: c.name.clone(),
                    found: c
                        .area_text
                        .as_ref()
                        .map_or_else(|| "no area".into(), |t| format!("area `{t}`")),
                });
            }
        }
        Ok(())
    }
}

impl Reader<'_> {
    fn cell(&self, g: &Group<'_>) -> Result<Cell, LibertyError> {
        let name = g.arg().to_owned();
        let area_text = g.attr("area").map(str::to_owned);
        let area_um2 = area_text
            .as_deref()
            .and_then(|t| t.parse::<f64>().ok())
            .filter(|a| a.is_finite());
        let pins = g
            .all("pin")
            .map(|p| self.pin(&name, p))
            .collect::<Result<Vec<_>, _>>()?;
        let storage = g
            .groups
            .iter()
            .find(|s| s.name == "ff" || s.name == "latch")
            .map(|s| {
                let (clock, data) = if s.name == "ff" {
                    ("clocked_on", "next_state")
                } else {
                    ("enable", "data_in")
                };
                let own = |n: &str| s.attr(n).map(str::to_owned);
                Storage {
                    state: (
                        s.arg().to_owned(),
                        s.args.get(1).copied().unwrap_or("").to_owned(),
                    ),
                    clock: own(clock).unwrap_or_default(),
                    data: own(data).unwrap_or_default(),
                    clear: own("clear"),
                    preset: own("preset"),
                }
            });
        let clock_gate = g.attr("clock_gating_integrated_cell").map(str::to_owned);
        let outputs: Vec<&Pin> = pins.iter().filter(|p| p.direction == Direction::Output).collect();
        let constant = |p: &&Pin| {
            p.function
                .as_deref()
                .is_some_and(|f| matches!(f.trim(), "0" | "1"))
        };
        let kind = if clock_gate.is_some() {
            CellKind::ClockGate
        } else if g.all("ff").next().is_some() || g.all("ff_bank").next().is_some() {
            CellKind::Flop
        } else if g
            .groups
            .iter()
            .any(|s| s.name.starts_with("latch") || s.name == "statetable")
        {
            CellKind::Latch
        } else if outputs.iter().all(|p| p.function.is_none()) {
            CellKind::Physical
        } else if outputs.iter().all(constant) {
            CellKind::Tie
        } else {
            CellKind::Combinational
        };
        Ok(Cell {
            name,
            area_um2,
            area_text,
            kind,
            pins,
            storage,
            clock_gate,
        })
    }

    fn pin(&self, cell: &str, g: &Group<'_>) -> Result<Pin, LibertyError> {
        let number = |n: &str| -> Result<Option<f64>, LibertyError> {
            g.attr(n)
                .map(|t| {
                    t.parse::<f64>().map_err(|_| LibertyError::Value {
                        path: self.path.to_owned(),
                        what: format!("cell {cell} pin {} {n}", g.arg()),
                        expected: "a number",
                        found: t.into(),
                    })
                })
                .transpose()
        };
        let mut arcs = Vec::new();
        for t in g.all("timing") {
            self.arcs(cell, g.arg(), t, &mut arcs)?;
        }
        Ok(Pin {
            name: g.arg().to_owned(),
            direction: match g.attr("direction") {
                Some("input") => Direction::Input,
                Some("output") => Direction::Output,
                _ => Direction::Other,
            },
            cap_ff: number("capacitance")?.unwrap_or(0.0) * self.cap_ff,
            max_cap_ff: number("max_capacitance")?.map(|c| c * self.cap_ff),
            function: g.attr("function").map(str::to_owned),
            clock: g.attr("clock") == Some("true"),
            gate: [
                ("clock_gate_clock_pin", GatePin::Clock),
                ("clock_gate_enable_pin", GatePin::Enable),
                ("clock_gate_test_pin", GatePin::Test),
                ("clock_gate_out_pin", GatePin::Output),
            ]
            .into_iter()
            .find_map(|(n, role)| (g.attr(n) == Some("true")).then_some(role)),
            arcs,
        })
    }

    fn arcs(&self, cell: &str, pin: &str, t: &Group<'_>, out: &mut Vec<Arc>) -> Result<(), LibertyError> {
        let sense = match t.attr("timing_sense") {
            Some("positive_unate") => Sense::Positive,
            Some("negative_unate") => Sense::Negative,
            _ => Sense::Non,
        };
        let kind = match t.attr("timing_type") {
            None | Some("combinational" | "combinational_rise" | "combinational_fall") => {
                ArcKind::Combinational
            }
            Some("rising_edge") => ArcKind::ClockToOutput(true),
            Some("falling_edge") => ArcKind::ClockToOutput(false),
            Some("setup_rising") => ArcKind::Setup(true),
            Some("setup_falling") => ArcKind::Setup(false),
            // Hold, recovery, asynchronous pins, three-state: not in the estimate.
            Some(_) => return Ok(()),
        };
        let names = if matches!(kind, ArcKind::Setup(_)) {
            ["rise_constraint", "fall_constraint", "", ""]
        } else {
            ["cell_rise", "cell_fall", "rise_transition", "fall_transition"]
        };
        let mut tables = Vec::with_capacity(4);
        for n in names {
            tables.push(match t.all(n).next() {
                Some(g) if !n.is_empty() => Some(self.table(cell, pin, g)?),
                _ => None,
            });
        }
        let slew_fall = tables.pop().flatten();
        let slew_rise = tables.pop().flatten();
        let fall = tables.pop().flatten();
        let rise = tables.pop().flatten();
        for from in t.attr("related_pin").unwrap_or("").split_whitespace() {
            out.push(Arc {
                from: from.to_owned(),
                kind,
                sense,
                rise: rise.clone(),
                fall: fall.clone(),
                slew_rise: slew_rise.clone(),
                slew_fall: slew_fall.clone(),
            });
        }
        Ok(())
    }

    fn table(&self, cell: &str, pin: &str, g: &Group<'_>) -> Result<Table, LibertyError> {
        let bad = |what: &str, expected: &'static str, found: &str| LibertyError::Value {
            path: self.path.to_owned(),
            what: format!("cell {cell} pin {pin} {} {what}", g.name),
            expected,
            found: found.chars().take(40).collect(),
        };
        let mut axes = self.templates.get(g.arg()).cloned().unwrap_or_default();
        for (i, idx) in ["index_1", "index_2"].into_iter().enumerate() {
            if let Some(text) = g.attr(idx) {
                axes.index[i] = numbers(text).ok_or_else(|| bad(idx, "numbers", text))?;
            }
        }
        let mut v = Vec::new();
        for row in g
            .attrs
            .iter()
            .filter(|(n, _)| *n == "values")
            .flat_map(|(_, v)| v)
        {
            v.extend(numbers(row).ok_or_else(|| bad("values", "numbers", row))?);
        }
        let is_load = |i: usize| axes.vars[i].as_deref().is_some_and(|n| n.contains("capacitance"));
        let [mut a, mut b] = axes.index.clone();
        if v.len() == 1 {
            (a, b) = (vec![0.0], Vec::new());
        }
        if v.len() != a.len().max(1) * b.len().max(1) {
            return Err(bad(
                "values",
                "as many values as the axes ask for",
                &format!("{} for {} x {}", v.len(), a.len(), b.len()),
            ));
        }
        // Put the slew axis first, whichever way the library has them.
        let (load_first, load_second) = (is_load(0), is_load(1));
        if load_first && !b.is_empty() {
            let mut t = Vec::with_capacity(v.len());
            for j in 0..b.len() {
                for i in 0..a.len() {
                    t.push(v[i * b.len() + j]);
                }
            }
            (a, b, v) = (b, a, t);
        } else if load_first {
            (a, b) = (vec![0.0], a);
        }
        let slew = self.time_ns * self.slew_derate;
        let second = if load_first || load_second {
            self.cap_ff
        } else {
            slew
        };
        // A transition is derated like every slew; delays and constraints are not.
        let scale = if g.name.ends_with("_transition") {
            slew
        } else {
            self.time_ns
        };
        Ok(Table {
            x: a.iter().map(|t| t * slew).collect(),
            y: b.iter().map(|t| t * second).collect(),
            v: v.iter().map(|t| t * scale).collect(),
        })
    }
}

/// Writes a parsed library back as Liberty, keeping the cells that `keep` accepts and everything the parser kept.
pub fn write(root: &Group<'_>, out: &mut String, keep: &dyn Fn(&str) -> bool) {
    write_group(root, out, 0, keep);
}

fn write_group(g: &Group<'_>, out: &mut String, depth: usize, keep: &dyn Fn(&str) -> bool) {
    let pad = "  ".repeat(depth);
    let _ = writeln!(out, "{pad}{} ({}) {{", g.name, quoted(&g.args));
    for (name, values) in &g.attrs {
        if COMPLEX.contains(name) || values.len() != 1 {
            let _ = writeln!(out, "{pad}  {name} ({});", quoted(values));
        } else {
            let _ = writeln!(out, "{pad}  {name} : {};", quote(values[0]));
        }
    }
    for sub in &g.groups {
        if sub.name != "cell" || keep(sub.arg()) {
            write_group(sub, out, depth + 1, keep);
        }
    }
    let _ = writeln!(out, "{pad}}}");
}

/// Attributes written with parentheses even when they have one value.
const COMPLEX: [&str; 4] = ["index_1", "index_2", "index_3", "values"];

fn quoted(values: &[&str]) -> String {
    values.iter().map(|v| quote(v)).collect::<Vec<_>>().join(", ")
}

fn quote(v: &str) -> String {
    let plain = !v.is_empty()
        && v.bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-' | b'+'));
    if plain { v.to_owned() } else { format!("\"{v}\"") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source {
            path: "t.lib".into(),
            text: text.into(),
        }
    }

    const SMALL: &str = r#"
/* comment */
library (t) {
  time_unit : "1ps";
  capacitive_load_unit (1, pf);
  lu_table_template (d) { variable_1 : total_output_net_capacitance; variable_2 : input_net_transition;
    index_1 ("0.001, 0.002"); index_2 ("10, 20, 30"); }
  cell ("INV") {
    area : 1.5
    leakage_power () { value : 3; when : "A"; }
    pin (A) { direction : input; capacitance : 0.002; }
    pin (Y) { direction : output; function : "!A";
      timing () { related_pin : "A"; timing_sense : negative_unate;
        cell_rise (d) { values ("1, 2, 3", \
                                "4, 5, 6"); }
        rise_transition (scalar) { values ("7"); }
      }
    }
  }
  cell (BAD) { area : nan; pin (Y) { direction : output; function : "1"; } }
}
"#;

    #[test]
    fn reads_units_axes_and_functions() {
        let s = source(SMALL);
        let ast = Ast::parse(&s).unwrap();
        let lib = Library::from_ast(&ast, &s.path).unwrap();
        let inv = &lib.cells["INV"];
        assert_eq!(inv.area_um2, Some(1.5));
        assert_eq!(inv.kind, CellKind::Combinational);
        assert_eq!(inv.pin("A").unwrap().cap_ff, 2.0);
        let arc = &inv.pin("Y").unwrap().arcs[0];
        assert_eq!(arc.sense, Sense::Negative);
        // index_1 was the load: the axes are swapped so that slew comes first.
        let rise = arc.rise.as_ref().unwrap();
        assert_eq!(rise.x.len(), 3);
        approx::assert_relative_eq!(rise.at(0.020, 2.0), 0.005, epsilon = 1e-12);
        approx::assert_relative_eq!(rise.at(0.015, 1.5), 0.003, epsilon = 1e-12);
        approx::assert_relative_eq!(arc.slew_rise.as_ref().unwrap().at(1.0, 9.0), 0.007);
        assert_eq!(lib.cells["BAD"].kind, CellKind::Tie);
    }

    #[test]
    fn refuses_a_cell_without_a_usable_area() {
        let s = source(SMALL);
        let lib = Library::from_ast(&Ast::parse(&s).unwrap(), &s.path).unwrap();
        let e = lib.check_areas(&s.path).unwrap_err().to_string();
        assert!(e.contains("BAD") && e.contains("nan"), "{e}");
    }

    #[test]
    fn what_is_written_reads_back_the_same() {
        let s = source(SMALL);
        let ast = Ast::parse(&s).unwrap();
        let mut text = String::new();
        write(&ast.root, &mut text, &|c| c != "BAD");
        let again = source(&text);
        let lib = Library::from_ast(&Ast::parse(&again).unwrap(), &again.path).unwrap();
        assert_eq!(lib.cells.len(), 1);
        let first = Library::from_ast(&ast, &s.path).unwrap();
        let arc = |l: &Library| l.cells["INV"].pin("Y").unwrap().arcs[0].rise.clone();
        assert_eq!(arc(&first), arc(&lib));
        assert!(!text.contains("leakage"));
    }

    #[test]
    fn errors_name_the_line() {
        for (text, line) in [
            ("libary (x) {}", ":1:"),
            ("library (x) {\n cell (a) {\n area 3; }\n}", ":3:"),
            ("library (x) {\n cell (a) {\n", ":3:"),
        ] {
            let s = source(text);
            let e = Ast::parse(&s).unwrap_err().to_string();
            assert!(e.contains(line), "{text:?}: {e}");
        }
    }

    #[test]
    fn any_truncation_is_an_error_not_a_panic() {
        for n in 0..SMALL.trim_end().len() - 1 {
            assert!(Ast::parse(&source(&SMALL[..n])).is_err(), "at {n}");
        }
    }
}
