//! Our own small cell tables: facts and linear delay fits per cell, expanded to Liberty, and fitted from it.
//!
//! A table is TOML (`area/pdk/*.toml`). Units: µm², fF, ns. A delay is `[d0, per_ff, per_slew]`: `d0 + per_ff * load +
//! per_slew * input slew`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;
use thiserror::Error;

use super::function::Parsed;
use super::liberty::{ArcKind, Cell, CellKind, Direction, GatePin, Library, Sense, Table as Lut};
use super::pdk::{Pdk, glob};

/// A table that does not hold together.
#[derive(Debug, Error)]
pub enum TableError {
    /// Not readable as a table.
    #[error("cell table {table}: {source}")]
    Toml {
        /// Which table.
        table: String,
        /// Where and why.
        source: Box<toml::de::Error>,
    },
    /// A cell's function cannot be read.
    #[error("cell table {table}: cell {cell}: function `{function}` cannot be read")]
    Function {
        /// Which table.
        table: String,
        /// The cell.
        cell: String,
        /// The function.
        function: String,
    },
}

/// Linear fit: constant in ns, ns per fF of load, ns per ns of input slew.
type Fit = [f64; 3];

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct OutSpec {
    function: String,
    max_ff: Option<f64>,
    rise: Option<Fit>,
    fall: Option<Fit>,
    slew_rise: Option<Fit>,
    slew_fall: Option<Fit>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlopSpec {
    state: [String; 2],
    clock: String,
    data: String,
    clear: Option<String>,
    preset: Option<String>,
    setup_ns: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct GateSpec {
    kind: String,
    clock: String,
    enable: String,
    test: Option<String>,
    setup_ns: f64,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct CellSpec {
    area: f64,
    #[serde(default, rename = "in")]
    inputs: BTreeMap<String, f64>,
    #[serde(default)]
    out: BTreeMap<String, OutSpec>,
    flop: Option<FlopSpec>,
    gate: Option<GateSpec>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TableFile {
    slew_ns: f64,
    cells: BTreeMap<String, CellSpec>,
}

/// Expands a table to Liberty text.
pub fn to_liberty(name: &str, text: &str) -> Result<String, TableError> {
    let t: TableFile = toml::from_str(text).map_err(|e| TableError::Toml {
        table: name.into(),
        source: Box::new(e),
    })?;
    let mut o = String::new();
    let _ = writeln!(
        o,
        "library (planezip_{name}) {{\n  delay_model : table_lookup;\n  time_unit : \"1ns\";\n  \
         capacitive_load_unit (1, ff);\n  voltage_unit : \"1V\";\n  current_unit : \"1mA\";\n  \
         input_threshold_pct_rise : 50;\n  input_threshold_pct_fall : 50;\n  output_threshold_pct_rise : 50;\n  \
         output_threshold_pct_fall : 50;\n  slew_lower_threshold_pct_rise : 20;\n  \
         slew_lower_threshold_pct_fall : 20;\n  slew_upper_threshold_pct_rise : 80;\n  \
         slew_upper_threshold_pct_fall : 80;\n  lu_table_template (lut_3x3) {{\n    \
         variable_1 : input_net_transition;\n    variable_2 : total_output_net_capacitance;\n    \
         index_1 (\"1, 2, 3\");\n    index_2 (\"1, 2, 3\");\n  }}"
    );
    let slews = [0.25, 1.0, 4.0].map(|f| f * t.slew_ns);
    for (cell, c) in &t.cells {
        cell_liberty(name, cell, c, &slews, &mut o)?;
    }
    o.push_str("}\n");
    Ok(o)
}

fn cell_liberty(
    table: &str,
    name: &str,
    c: &CellSpec,
    slews: &[f64; 3],
    o: &mut String,
) -> Result<(), TableError> {
    let _ = writeln!(o, "  cell ({name}) {{\n    area : {};", c.area);
    if let Some(f) = &c.flop {
        let _ = writeln!(
            o,
            "    ff ({}, {}) {{\n      clocked_on : \"{}\";\n      next_state : \"{}\";",
            f.state[0], f.state[1], f.clock, f.data
        );
        for (what, expr) in [("clear", &f.clear), ("preset", &f.preset)] {
            if let Some(e) = expr {
                let _ = writeln!(o, "      {what} : \"{e}\";");
            }
        }
        if f.clear.is_some() && f.preset.is_some() {
            let _ = writeln!(o, "      clear_preset_var1 : L;\n      clear_preset_var2 : L;");
        }
        o.push_str("    }\n");
    }
    if let Some(g) = &c.gate {
        let _ = writeln!(o, "    clock_gating_integrated_cell : {};", g.kind);
    }
    // The clock expression of a flop is its pin, perhaps complemented.
    let clock_pin = c.flop.as_ref().and_then(|f| pin_of(&f.clock));
    let data_pins: Vec<String> = match (&c.flop, &c.gate) {
        (Some(f), _) => Parsed::parse(&f.data).map_or_else(Vec::new, |p| p.inputs),
        (_, Some(g)) => vec![g.enable.clone()],
        _ => Vec::new(),
    };
    for (pin, cap) in &c.inputs {
        let _ = writeln!(
            o,
            "    pin ({pin}) {{\n      direction : input;\n      capacitance : {cap};"
        );
        if clock_pin.as_ref().is_some_and(|(p, _)| p == pin) {
            o.push_str("      clock : true;\n");
        }
        if let Some(g) = &c.gate {
            for (role, p) in [
                ("clock", Some(&g.clock)),
                ("enable", Some(&g.enable)),
                ("test", g.test.as_ref()),
            ] {
                if p == Some(pin) {
                    let _ = writeln!(o, "      clock_gate_{role}_pin : true;");
                }
            }
        }
        if data_pins.contains(pin) {
            let (clock, rising, setup) = match (&c.flop, &c.gate) {
                (Some(f), _) => {
                    let (p, rising) = clock_pin.clone().unwrap_or_default();
                    (p, rising, f.setup_ns)
                }
                (_, Some(g)) => (g.clock.clone(), !g.kind.contains("negedge"), g.setup_ns),
                _ => continue,
            };
            let edge = if rising { "rising" } else { "falling" };
            let _ = writeln!(
                o,
                "      timing () {{\n        related_pin : \"{clock}\";\n        timing_type : setup_{edge};\n        \
                 rise_constraint (scalar) {{ values (\"{setup}\"); }}\n        \
                 fall_constraint (scalar) {{ values (\"{setup}\"); }}\n      }}"
            );
        }
        o.push_str("    }\n");
    }
    for (pin, s) in &c.out {
        let bad = || TableError::Function {
            table: table.into(),
            cell: name.into(),
            function: s.function.clone(),
        };
        let _ = writeln!(o, "    pin ({pin}) {{\n      direction : output;");
        if c.gate.is_some() {
            o.push_str("      clock_gate_out_pin : true;\n");
        } else {
            let _ = writeln!(o, "      function : \"{}\";", s.function);
        }
        if let Some(m) = s.max_ff {
            let _ = writeln!(o, "      max_capacitance : {m};");
        }
        let max = s.max_ff.unwrap_or(50.0);
        let loads = [0.0, 0.25 * max, max];
        let mut arcs: Vec<(String, &str, Option<&str>)> = Vec::new();
        if let Some((clock, rising)) = &clock_pin {
            let edge = if *rising { "rising_edge" } else { "falling_edge" };
            arcs.push((clock.clone(), "non_unate", Some(edge)));
        } else if let Some(g) = &c.gate {
            arcs.push((g.clock.clone(), "positive_unate", None));
        } else {
            let f = Parsed::parse(&s.function).ok_or_else(bad)?;
            for i in &f.inputs {
                let sense = match f.sense(i) {
                    Some(Sense::Positive) => "positive_unate",
                    Some(Sense::Negative) => "negative_unate",
                    Some(Sense::Non) => "non_unate",
                    None => continue,
                };
                arcs.push((i.clone(), sense, None));
            }
        }
        for (from, sense, kind) in arcs {
            let _ = writeln!(
                o,
                "      timing () {{\n        related_pin : \"{from}\";\n        timing_sense : {sense};"
            );
            if let Some(k) = kind {
                let _ = writeln!(o, "        timing_type : {k};");
            }
            for (group, fit) in [
                ("cell_rise", s.rise),
                ("rise_transition", s.slew_rise),
                ("cell_fall", s.fall),
                ("fall_transition", s.slew_fall),
            ] {
                if let Some(fit) = fit {
                    lut(group, fit, slews, &loads, o);
                }
            }
            o.push_str("      }\n");
        }
        o.push_str("    }\n");
    }
    o.push_str("  }\n");
    Ok(())
}

fn lut(group: &str, [d0, per_ff, per_slew]: Fit, slews: &[f64; 3], loads: &[f64; 3], o: &mut String) {
    let list = |v: &[f64]| v.iter().map(|x| format!("{x:.6}")).collect::<Vec<_>>().join(", ");
    let rows: Vec<String> = slews
        .iter()
        .map(|s| {
            let row: Vec<f64> = loads.iter().map(|l| d0 + per_ff * l + per_slew * s).collect();
            format!("\"{}\"", list(&row))
        })
        .collect();
    let _ = writeln!(
        o,
        "        {group} (lut_3x3) {{ index_1 (\"{}\"); index_2 (\"{}\"); values ({}); }}",
        list(slews),
        list(loads),
        rows.join(", ")
    );
}

/// The pin of an expression that is a pin or its complement; true if not complemented.
fn pin_of(expr: &str) -> Option<(String, bool)> {
    let p = Parsed::parse(expr)?;
    (p.inputs.len() == 1).then(|| (p.inputs[0].clone(), p.eval(1)))
}

/// Fits a table to a library: the cells that the PDK's `embed` list names, if the mapper may use them.
pub fn fit(pdk: &Pdk, lib: &Library) -> String {
    let mut o = format!(
        "# {}, {}: cell figures and linear delay fits.\n\
         # Made by `planezip pdk --fit {}` from the library's published data. Units: um2, fF, ns.\n\
         # A delay or slew is [constant, per fF of load, per ns of input slew].\n\n\
         slew_ns = {}\n",
        pdk.title, pdk.corner, pdk.name, pdk.slew_ns
    );
    for c in lib.cells.values() {
        if pdk.usable(&c.name) && pdk.embed.iter().any(|p| glob(p, &c.name)) {
            fit_cell(pdk, c, &mut o);
        }
    }
    o
}

fn fit_cell(pdk: &Pdk, c: &Cell, o: &mut String) {
    let Some(area) = c.area_um2 else { return };
    let _ = writeln!(o, "\n[cells.{}]\narea = {}", c.name, num(area));
    let ins: Vec<String> = c
        .pins
        .iter()
        .filter(|p| p.direction == Direction::Input)
        .map(|p| format!("{} = {}", p.name, num(p.cap_ff)))
        .collect();
    if !ins.is_empty() {
        let _ = writeln!(o, "in = {{ {} }}", ins.join(", "));
    }
    // Setup at typical slews, the worse edge.
    let setup = |pins: &[String]| {
        c.pins
            .iter()
            .filter(|p| pins.contains(&p.name))
            .flat_map(|p| &p.arcs)
            .filter(|a| matches!(a.kind, ArcKind::Setup(_)))
            .flat_map(|a| [&a.rise, &a.fall])
            .flatten()
            .map(|t| t.at(pdk.slew_ns, pdk.slew_ns))
            .fold(0.0, f64::max)
    };
    if let (CellKind::Flop, Some(s)) = (c.kind, &c.storage) {
        let data = Parsed::parse(&s.data).map_or_else(Vec::new, |p| p.inputs);
        let opt = |n: &str, e: &Option<String>| {
            e.as_ref()
                .map_or_else(String::new, |e| format!(", {n} = \"{e}\""))
        };
        let _ = writeln!(
            o,
            "flop = {{ state = [\"{}\", \"{}\"], clock = \"{}\", data = \"{}\"{}{}, setup_ns = {} }}",
            s.state.0,
            s.state.1,
            s.clock,
            s.data,
            opt("clear", &s.clear),
            opt("preset", &s.preset),
            num(setup(&data))
        );
    }
    if let (CellKind::ClockGate, Some(kind)) = (c.kind, &c.clock_gate) {
        let role = |r: GatePin| c.pins.iter().find(|p| p.gate == Some(r)).map(|p| p.name.clone());
        let enable = role(GatePin::Enable).unwrap_or_default();
        let test = role(GatePin::Test).map_or_else(String::new, |t| format!(", test = \"{t}\""));
        let _ = writeln!(
            o,
            "gate = {{ kind = \"{kind}\", clock = \"{}\", enable = \"{enable}\"{test}, setup_ns = {} }}",
            role(GatePin::Clock).unwrap_or_default(),
            num(setup(std::slice::from_ref(&enable)))
        );
    }
    for p in c.pins.iter().filter(|p| p.direction == Direction::Output) {
        let function = match (&p.function, c.kind) {
            (_, CellKind::ClockGate) => "gated clock",
            (Some(f), _) => f,
            (None, _) => continue,
        };
        let mut spec = format!("function = \"{function}\"");
        if let Some(m) = p.max_cap_ff {
            let _ = write!(spec, ", max_ff = {}", num(m));
        }
        let max = p.max_cap_ff.unwrap_or(50.0);
        let timed = |pick: &dyn Fn(&super::liberty::Arc) -> Option<&Lut>| {
            let luts: Vec<&Lut> = p
                .arcs
                .iter()
                .filter(|a| !matches!(a.kind, ArcKind::Setup(_)))
                .filter_map(pick)
                .collect();
            linear(&luts, pdk.slew_ns, max)
        };
        for (name, fit) in [
            ("rise", timed(&|a| a.rise.as_ref())),
            ("fall", timed(&|a| a.fall.as_ref())),
            ("slew_rise", timed(&|a| a.slew_rise.as_ref())),
            ("slew_fall", timed(&|a| a.slew_fall.as_ref())),
        ] {
            if let Some([a, b, c]) = fit {
                let _ = write!(spec, ", {name} = [{}, {}, {}]", num(a), num(b), num(c));
            }
        }
        let _ = writeln!(o, "out.{} = {{ {spec} }}", p.name);
    }
}

/// Four significant digits, without a trailing exponent for the sizes met here.
fn num(v: f64) -> String {
    if v == 0.0 {
        return "0.0".into();
    }
    let digits = (5 - v.abs().log10().floor() as i32).clamp(0, 9) as usize;
    let s = format!("{v:.digits$}");
    let s = if s.contains('.') {
        s.trim_end_matches('0').trim_end_matches('.')
    } else {
        &s
    };
    if s.contains('.') {
        s.into()
    } else {
        format!("{s}.0")
    }
}

/// Least squares over slews around the typical one and loads up to a third of the largest, all arcs together,
/// with no coefficient for load or slew below 0.
fn linear(luts: &[&Lut], slew_ns: f64, max_ff: f64) -> Option<Fit> {
    if luts.is_empty() {
        return None;
    }
    let mut rows = Vec::new();
    for t in luts {
        for s in [0.5, 1.0, 2.0] {
            for l in [0.02, 0.05, 0.1, 0.2, 0.35] {
                let (s, l) = (s * slew_ns, l * max_ff);
                rows.push(([1.0, l, s], t.at(s, l)));
            }
        }
    }
    let all = solve(&rows, [true, true, true]);
    let fit = if all[2] < 0.0 {
        solve(&rows, [true, true, false])
    } else {
        all
    };
    Some([fit[0], fit[1].max(0.0), fit[2]])
}

/// Normal equations by Gaussian elimination; unused columns stay 0.
fn solve(rows: &[([f64; 3], f64)], used: [bool; 3]) -> Fit {
    let mut m = [[0.0f64; 4]; 3];
    for (x, y) in rows {
        for i in 0..3 {
            for j in 0..3 {
                if used[i] && used[j] {
                    m[i][j] += x[i] * x[j];
                }
            }
            if used[i] {
                m[i][3] += x[i] * y;
            }
        }
    }
    for (i, row) in m.iter_mut().enumerate() {
        if row[i] == 0.0 {
            row[i] = 1.0;
        }
    }
    for i in 0..3 {
        for r in 0..3 {
            if r != i {
                let f = m[r][i] / m[i][i];
                let pivot = m[i];
                for (a, b) in m[r].iter_mut().zip(pivot) {
                    *a -= f * b;
                }
            }
        }
    }
    [m[0][3] / m[0][0], m[1][3] / m[1][1], m[2][3] / m[2][2]]
}

#[cfg(test)]
mod tests {
    use super::super::liberty::{Ast, Source};
    use super::super::pdk;
    use super::*;

    #[test]
    fn every_embedded_table_expands_to_a_readable_library() {
        for p in pdk::all() {
            let Some(text) = p.table_text() else { continue };
            let source = Source {
                path: p.name.clone().into(),
                text: to_liberty(&p.name, text).unwrap(),
            };
            let lib = Library::from_ast(&Ast::parse(&source).unwrap(), &source.path).unwrap();
            lib.check_areas(&source.path).unwrap();
            assert!(lib.cells.contains_key(&p.nand2), "{}", p.name);
            for kind in [
                CellKind::Flop,
                CellKind::ClockGate,
                CellKind::Tie,
                CellKind::Combinational,
            ] {
                assert!(lib.cells.values().any(|c| c.kind == kind), "{} {kind:?}", p.name);
            }
        }
    }

    #[test]
    fn a_linear_library_is_fitted_exactly() {
        let t = Lut {
            x: vec![0.01, 0.1],
            y: vec![1.0, 100.0],
            v: vec![
                0.01 + 0.002 + 0.005,
                0.01 + 0.2 + 0.005,
                0.01 + 0.002 + 0.05,
                0.01 + 0.2 + 0.05,
            ],
        };
        let [a, b, c] = linear(&[&t], 0.03, 60.0).unwrap();
        approx::assert_relative_eq!(a, 0.01, epsilon = 1e-9);
        approx::assert_relative_eq!(b, 0.002, epsilon = 1e-9);
        approx::assert_relative_eq!(c, 0.5, epsilon = 1e-9);
    }

    #[test]
    fn an_expanded_table_keeps_its_figures() {
        let text = r#"
slew_ns = 0.02
[cells.NAND2]
area = 0.8
in = { A = 1.5, B = 1.6 }
out.Y = { function = "!(A & B)", max_ff = 50.0, rise = [0.01, 0.002, 0.5], fall = [0.01, 0.001, 0.2], slew_rise = [0.01, 0.002, 0.0], slew_fall = [0.01, 0.002, 0.0] }
"#;
        let source = Source {
            path: "t".into(),
            text: to_liberty("t", text).unwrap(),
        };
        let lib = Library::from_ast(&Ast::parse(&source).unwrap(), &source.path).unwrap();
        let y = lib.cells["NAND2"].pin("Y").unwrap();
        assert_eq!(y.arcs.len(), 2);
        assert_eq!(y.arcs[0].sense, Sense::Negative);
        let rise = y.arcs[1].rise.as_ref().unwrap();
        approx::assert_relative_eq!(rise.at(0.1, 30.0), 0.01 + 0.06 + 0.05, epsilon = 1e-6);
    }
}
