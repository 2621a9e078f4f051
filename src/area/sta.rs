//! Static timing of a mapped netlist: the longest register-to-register path, across module boundaries.
//!
//! Delays come from the library's tables (input slew, output load), rise and fall apart, the later arrival and the
//! slower slew winning at every net. The clock is ideal: it reaches every flop at time 0. Wires have no resistance or
//! capacitance. Inputs arrive at time 0 through the PDK's driver cell; outputs carry the PDK's load and are due at the
//! clock edge. Not looked at: hold, asynchronous pins, minimum pulse widths.

use std::collections::HashMap;

use thiserror::Error;

use super::liberty::{ArcKind, CellKind, Direction, GatePin, Library, Sense};
use super::netlist::{Bit, Netlist};
use super::pdk::Pdk;

/// Timing that cannot be computed.
#[derive(Debug, Error)]
pub enum TimingError {
    /// Combinational cells feed themselves.
    #[error("combinational loop through {cells} cell(s), one of them {example}")]
    Loop {
        /// Cells in or behind loops.
        cells: usize,
        /// One of them.
        example: String,
    },
    /// No path from a register or input to a register or output.
    #[error("no timing path in the netlist")]
    NoPath,
    /// The netlist does not match the library or itself.
    #[error("netlist: {0}")]
    Netlist(String),
}

/// One step of a path.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Step {
    /// Instance path of the cell.
    pub instance: String,
    /// Cell type.
    pub cell: String,
    /// Arrival at the cell's output, ns.
    pub at_ns: f64,
    /// Load on it, fF.
    pub load_ff: f64,
}

/// The longest path.
#[derive(Debug, Clone, serde::Serialize)]
pub struct Path {
    /// Length with setup, ns.
    pub ns: f64,
    /// Where it starts: an instance or a port.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// Setup time of its end, ns.
    pub setup_ns: f64,
    /// The cells on it.
    pub steps: Vec<Step>,
}

/// What timing found.
#[derive(Debug, Clone)]
pub struct Timing {
    /// The longest path.
    pub worst: Path,
    /// The longest path that ends in each module instance (by path), ns.
    pub per_part: HashMap<String, f64>,
}

const NONE: u32 = u32::MAX;

struct FlatCell {
    lib: u32,
    /// Module instance it is in.
    part: u32,
    name: String,
    /// Nets by the library cell's pin order; `NONE` for constants and open pins.
    pins: Vec<u32>,
}

struct LibCell {
    name: String,
    outputs: Vec<Output>,
    /// Pins where paths end, with their setup arcs.
    ends: Vec<usize>,
}

struct Output {
    pin: usize,
    /// Combinational arcs: input pin and index into the library pin's arcs.
    from: Vec<(usize, usize)>,
    /// Clock arcs: index into the library pin's arcs.
    clocked: Vec<usize>,
}

struct Flat {
    cells: Vec<FlatCell>,
    parts: Vec<String>,
    nets: usize,
    inputs: Vec<(String, u32)>,
    outputs: Vec<(String, u32)>,
}

/// Times the design below `top`.
pub fn analyze(netlist: &Netlist, top: &str, lib: &Library, pdk: &Pdk) -> Result<Timing, TimingError> {
    let names: Vec<&String> = lib.cells.keys().collect();
    let index: HashMap<&str, u32> = names
        .iter()
        .enumerate()
        .map(|(i, n)| (n.as_str(), i as u32))
        .collect();
    let lib_cells: Vec<LibCell> = lib.cells.values().map(lib_cell).collect();
    let lib_list: Vec<_> = lib.cells.values().collect();
    let flat = flatten(netlist, top, lib, &index)?;

    // Loads.
    let mut load = vec![0.0f64; flat.nets];
    for c in &flat.cells {
        for (p, &net) in lib_list[c.lib as usize].pins.iter().zip(&c.pins) {
            if net != NONE && p.direction == Direction::Input {
                load[net as usize] += p.cap_ff;
            }
        }
    }
    for &(_, net) in &flat.outputs {
        if net != NONE {
            load[net as usize] += pdk.load_ff;
        }
    }

    let mut t = State {
        arrival: vec![[f64::NEG_INFINITY; 2]; flat.nets],
        slew: vec![[0.0; 2]; flat.nets],
        from: vec![[(NONE, NONE, 0); 2]; flat.nets],
    };

    // Starts: ports behind the driver cell, and clocked outputs.
    let driver = lib.cells.get(&pdk.driver).and_then(|c| {
        let out = c.pins.iter().find(|p| p.direction == Direction::Output)?;
        out.arcs.first()
    });
    for &(_, net) in &flat.inputs {
        if net == NONE {
            continue;
        }
        let (n, l) = (net as usize, load[net as usize]);
        for edge in 0..2 {
            let (delay, slew) = driver.map_or((0.0, pdk.slew_ns), |a| {
                let (d, s) = if edge == 0 {
                    (&a.rise, &a.slew_rise)
                } else {
                    (&a.fall, &a.slew_fall)
                };
                let at = |t: &Option<super::liberty::Table>| t.as_ref().map_or(0.0, |t| t.at(pdk.slew_ns, l));
                (at(d), at(s))
            });
            t.later(n, edge, delay, slew, (NONE, NONE, 0));
        }
    }
    // Combinational order: Kahn's algorithm over outputs that have combinational arcs.
    let mut waits = vec![0u32; flat.cells.len()];
    let mut sinks: Vec<Vec<u32>> = vec![Vec::new(); flat.nets];
    let mut driven = vec![false; flat.nets];
    for (i, c) in flat.cells.iter().enumerate() {
        let lc = &lib_cells[c.lib as usize];
        if lc.outputs.iter().all(|o| o.from.is_empty()) {
            continue;
        }
        for o in &lc.outputs {
            if !o.from.is_empty() && c.pins[o.pin] != NONE {
                driven[c.pins[o.pin] as usize] = true;
            }
        }
        let mut ins: Vec<usize> = lc
            .outputs
            .iter()
            .flat_map(|o| o.from.iter().map(|f| f.0))
            .collect();
        ins.sort_unstable();
        ins.dedup();
        for p in ins {
            if c.pins[p] != NONE {
                sinks[c.pins[p] as usize].push(i as u32);
            }
        }
    }
    for s in sinks
        .iter()
        .enumerate()
        .filter(|(n, _)| driven[*n])
        .flat_map(|(_, s)| s)
    {
        waits[*s as usize] += 1;
    }
    let mut order = Vec::new();
    for (i, c) in flat.cells.iter().enumerate() {
        let lc = &lib_cells[c.lib as usize];
        for o in &lc.outputs {
            let net = c.pins[o.pin];
            if net == NONE {
                continue;
            }
            let pin = &lib_list[c.lib as usize].pins[o.pin];
            for &a in &o.clocked {
                let arc = &pin.arcs[a];
                for (edge, d, s) in [(0, &arc.rise, &arc.slew_rise), (1, &arc.fall, &arc.slew_fall)] {
                    if let Some(d) = d {
                        let l = load[net as usize];
                        let slew = s.as_ref().map_or(pdk.slew_ns, |s| s.at(pdk.slew_ns, l));
                        t.later(
                            net as usize,
                            edge,
                            d.at(pdk.slew_ns, l),
                            slew,
                            (i as u32, NONE, 0),
                        );
                    }
                }
            }
        }
        if waits[i] == 0 && lc.outputs.iter().any(|o| !o.from.is_empty()) {
            order.push(i as u32);
        }
    }
    let mut at = 0;
    while at < order.len() {
        let i = order[at];
        at += 1;
        let c = &flat.cells[i as usize];
        let lc = &lib_cells[c.lib as usize];
        for o in lc.outputs.iter().filter(|o| !o.from.is_empty()) {
            let net = c.pins[o.pin];
            if net == NONE {
                continue;
            }
            let pin = &lib_list[c.lib as usize].pins[o.pin];
            let l = load[net as usize];
            for &(ip, a) in &o.from {
                let from = c.pins[ip];
                if from == NONE {
                    continue;
                }
                let arc = &pin.arcs[a];
                for (edge, d, s) in [
                    (0usize, &arc.rise, &arc.slew_rise),
                    (1, &arc.fall, &arc.slew_fall),
                ] {
                    let Some(d) = d else { continue };
                    let causes: &[usize] = match arc.sense {
                        Sense::Positive => &[edge],
                        Sense::Negative => &[1 - edge],
                        Sense::Non => &[0, 1],
                    };
                    for &ie in causes {
                        let (at, slew_in) = (t.arrival[from as usize][ie], t.slew[from as usize][ie]);
                        if at > f64::NEG_INFINITY {
                            let slew = s.as_ref().map_or(slew_in, |s| s.at(slew_in, l));
                            t.later(net as usize, edge, at + d.at(slew_in, l), slew, (i, from, ie));
                        }
                    }
                }
            }
            for &s in &sinks[net as usize] {
                waits[s as usize] -= 1;
                if waits[s as usize] == 0 {
                    order.push(s);
                }
            }
        }
    }
    let stuck: Vec<usize> = (0..flat.cells.len()).filter(|&i| waits[i] > 0).collect();
    if let Some(&i) = stuck.first() {
        let c = &flat.cells[i];
        return Err(TimingError::Loop {
            cells: stuck.len(),
            example: format!(
                "{}/{} ({})",
                flat.parts[c.part as usize], c.name, lib_cells[c.lib as usize].name
            ),
        });
    }

    // Ends.
    let mut worst: Option<(f64, f64, u32, usize, String)> = None;
    let mut per_part: HashMap<String, f64> = HashMap::new();
    let mut end = |net: u32, edge: usize, setup: f64, part: &str, name: &dyn Fn() -> String| {
        let a = t.arrival[net as usize][edge];
        if a == f64::NEG_INFINITY {
            return;
        }
        let total = a + setup;
        let p = per_part.entry(part.to_owned()).or_insert(0.0);
        *p = p.max(total);
        if worst.as_ref().is_none_or(|w| total > w.0) {
            worst = Some((total, setup, net, edge, name()));
        }
    };
    for c in &flat.cells {
        let cell = lib_list[c.lib as usize];
        for &p in &lib_cells[c.lib as usize].ends {
            let net = c.pins[p];
            if net == NONE {
                continue;
            }
            for edge in 0..2 {
                let slew = t.slew[net as usize][edge];
                let setup = cell.pins[p]
                    .arcs
                    .iter()
                    .filter(|a| matches!(a.kind, ArcKind::Setup(_)))
                    .filter_map(|a| {
                        if edge == 0 {
                            a.rise.as_ref()
                        } else {
                            a.fall.as_ref()
                        }
                    })
                    // Axes of a setup table: slew of the clock and of the data; which is first differs by library.
                    .map(|t| t.at(pdk.slew_ns, slew).max(t.at(slew, pdk.slew_ns)))
                    .fold(0.0, f64::max);
                let part = &flat.parts[c.part as usize];
                end(net, edge, setup, part, &|| {
                    format!("{part}/{}/{}", c.name, cell.pins[p].name)
                });
            }
        }
    }
    for (name, net) in &flat.outputs {
        if *net != NONE {
            for edge in 0..2 {
                end(*net, edge, 0.0, &flat.parts[0], &|| format!("port {name}"));
            }
        }
    }
    let (ns, setup_ns, mut net, mut edge, to) = worst.ok_or(TimingError::NoPath)?;
    let mut steps = Vec::new();
    let mut from = String::from("a constant");
    loop {
        let (cell, prev, prev_edge) = t.from[net as usize][edge];
        if cell == NONE {
            if let Some((name, _)) = flat.inputs.iter().find(|(_, n)| *n == net) {
                from = format!("port {name}");
            }
            break;
        }
        let c = &flat.cells[cell as usize];
        let instance = format!("{}/{}", flat.parts[c.part as usize], c.name);
        steps.push(Step {
            instance: instance.clone(),
            cell: lib_cells[c.lib as usize].name.clone(),
            at_ns: t.arrival[net as usize][edge],
            load_ff: load[net as usize],
        });
        if prev == NONE {
            from = instance;
            break;
        }
        (net, edge) = (prev, prev_edge);
    }
    steps.reverse();
    Ok(Timing {
        worst: Path {
            ns,
            from,
            to,
            setup_ns,
            steps,
        },
        per_part,
    })
}

struct State {
    arrival: Vec<[f64; 2]>,
    slew: Vec<[f64; 2]>,
    /// Cell, net and edge that made the latest arrival.
    from: Vec<[(u32, u32, usize); 2]>,
}

impl State {
    fn later(&mut self, net: usize, edge: usize, at: f64, slew: f64, from: (u32, u32, usize)) {
        let slew = slew.max(0.0);
        if at > self.arrival[net][edge] {
            self.arrival[net][edge] = at;
            self.from[net][edge] = from;
        }
        if slew > self.slew[net][edge] {
            self.slew[net][edge] = slew;
        }
    }
}

fn lib_cell(c: &super::liberty::Cell) -> LibCell {
    let place = |n: &str| c.pins.iter().position(|p| p.name == n);
    let mut outputs = Vec::new();
    if c.kind != CellKind::ClockGate {
        for (i, p) in c
            .pins
            .iter()
            .enumerate()
            .filter(|(_, p)| p.direction == Direction::Output)
        {
            let mut o = Output {
                pin: i,
                from: Vec::new(),
                clocked: Vec::new(),
            };
            for (a, arc) in p.arcs.iter().enumerate() {
                match arc.kind {
                    ArcKind::Combinational => {
                        if let Some(ip) = place(&arc.from) {
                            o.from.push((ip, a));
                        }
                    }
                    ArcKind::ClockToOutput(_) => o.clocked.push(a),
                    ArcKind::Setup(_) => {}
                }
            }
            outputs.push(o);
        }
    }
    let ends = match c.kind {
        CellKind::Flop | CellKind::Latch | CellKind::ClockGate => c
            .pins
            .iter()
            .enumerate()
            .filter(|(_, p)| {
                p.gate == Some(GatePin::Enable) || p.arcs.iter().any(|a| matches!(a.kind, ArcKind::Setup(_)))
            })
            .map(|(i, _)| i)
            .collect(),
        _ => Vec::new(),
    };
    LibCell {
        name: c.name.clone(),
        outputs,
        ends,
    }
}

fn flatten(
    netlist: &Netlist,
    top: &str,
    lib: &Library,
    index: &HashMap<&str, u32>,
) -> Result<Flat, TimingError> {
    let mut flat = Flat {
        cells: Vec::new(),
        parts: Vec::new(),
        nets: 0,
        inputs: Vec::new(),
        outputs: Vec::new(),
    };
    let lib_list: Vec<_> = lib.cells.values().collect();
    // Work list of module instances: module, path, nets of its ports' bits. A child that passes a port straight
    // through would join two of its parent's nets; Yosys leaves such ports joined by a buffer-less alias, found below.
    struct Todo<'a> {
        module: &'a str,
        path: String,
        map: HashMap<u64, u32>,
    }
    let mut joined: Vec<u32> = Vec::new();
    let top_module = netlist
        .modules
        .get(top)
        .ok_or_else(|| TimingError::Netlist(format!("no module {top}")))?;
    let mut todo = vec![Todo {
        module: top,
        path: top.to_owned(),
        map: HashMap::new(),
    }];
    let mut top_ports: Vec<(bool, String, u32)> = Vec::new();
    while let Some(mut t) = todo.pop() {
        let m = netlist
            .modules
            .get(t.module)
            .ok_or_else(|| TimingError::Netlist(format!("no module {}", t.module)))?;
        let part = flat.parts.len() as u32;
        flat.parts.push(t.path.clone());
        let mut net = |map: &mut HashMap<u64, u32>, b: &Bit| match b {
            Bit::Const(_) => NONE,
            Bit::Net(n) => *map.entry(*n).or_insert_with(|| {
                joined.push(joined.len() as u32);
                joined.len() as u32 - 1
            }),
        };
        if part == 0 {
            for (name, p) in &top_module.ports {
                for (i, b) in p.bits.iter().enumerate() {
                    let n = net(&mut t.map, b);
                    top_ports.push((p.direction == "input", format!("{name}[{i}]"), n));
                }
            }
        }
        let mut links = Vec::new();
        for (name, inst) in &m.cells {
            if let Some(&l) = index.get(inst.kind.as_str()) {
                let pins = lib_list[l as usize]
                    .pins
                    .iter()
                    .map(|p| {
                        inst.connections
                            .get(&p.name)
                            .and_then(|b| b.first())
                            .map_or(NONE, |b| net(&mut t.map, b))
                    })
                    .collect();
                flat.cells.push(FlatCell {
                    lib: l,
                    part,
                    name: name.clone(),
                    pins,
                });
            } else {
                let child = netlist
                    .modules
                    .get(&inst.kind)
                    .ok_or_else(|| TimingError::Netlist(format!("no cell or module {}", inst.kind)))?;
                let mut map = HashMap::new();
                for (pin, bits) in &inst.connections {
                    let Some(port) = child.ports.get(pin) else {
                        continue;
                    };
                    for (inner, outer) in port.bits.iter().zip(bits) {
                        if let Bit::Net(n) = inner {
                            let o = net(&mut t.map, outer);
                            match map.get(n) {
                                None => {
                                    map.insert(*n, o);
                                }
                                Some(&first) if first != o => links.push((first, o)),
                                Some(_) => {}
                            }
                        }
                    }
                }
                map.retain(|_, n| *n != NONE);
                todo.push(Todo {
                    module: &inst.kind,
                    path: format!("{}/{name}", t.path),
                    map,
                });
            }
        }
        for (a, b) in links {
            if a != NONE && b != NONE {
                let (a, b) = (find(&mut joined, a), find(&mut joined, b));
                joined[a.max(b) as usize] = a.min(b);
            }
        }
    }
    // Number the joined nets from 0.
    let mut number = vec![NONE; joined.len()];
    let mut nets = 0u32;
    let mut resolve = |joined: &mut Vec<u32>, n: u32| {
        if n == NONE {
            return NONE;
        }
        let r = find(joined, n) as usize;
        if number[r] == NONE {
            number[r] = nets;
            nets += 1;
        }
        number[r]
    };
    for c in &mut flat.cells {
        for p in &mut c.pins {
            *p = resolve(&mut joined, *p);
        }
    }
    for (input, name, n) in top_ports {
        let n = resolve(&mut joined, n);
        if input {
            flat.inputs.push((name, n));
        } else {
            flat.outputs.push((name, n));
        }
    }
    flat.nets = nets as usize;
    Ok(flat)
}

/// Root of a net's set, halving the chain on the way.
fn find(joined: &mut [u32], mut n: u32) -> u32 {
    while joined[n as usize] != n {
        joined[n as usize] = joined[joined[n as usize] as usize];
        n = joined[n as usize];
    }
    n
}

#[cfg(test)]
mod tests {
    use super::super::liberty::{Ast, Source};
    use super::super::{pdk, table};
    use super::*;

    /// Two gates and a flop with round figures: delay = constant + 0.001 per fF.
    const CELLS: &str = r#"
slew_ns = 0.02
[cells.BUF]
area = 1.0
in = { A = 2.0 }
out.Y = { function = "A", max_ff = 50.0, rise = [0.1, 0.001, 0.0], fall = [0.2, 0.001, 0.0] }
[cells.XOR]
area = 2.0
in = { A = 3.0, B = 4.0 }
out.Y = { function = "A ^ B", max_ff = 50.0, rise = [0.3, 0.001, 0.0], fall = [0.1, 0.001, 0.0] }
[cells.DFF]
area = 5.0
in = { D = 1.0, CK = 1.0 }
flop = { state = ["IQ", "IQN"], clock = "CK", data = "D", setup_ns = 0.05 }
out.Q = { function = "IQ", max_ff = 50.0, rise = [0.4, 0.001, 0.0], fall = [0.5, 0.001, 0.0] }
"#;

    fn setting() -> (Library, Pdk) {
        let source = Source {
            path: "t".into(),
            text: table::to_liberty("t", CELLS).unwrap(),
        };
        let lib = Library::from_ast(&Ast::parse(&source).unwrap(), &source.path).unwrap();
        let mut p = pdk::by_name("nangate45").unwrap().clone();
        p.driver = "BUF".into();
        p.load_ff = 10.0;
        (lib, p)
    }

    fn cell(kind: &str, pins: &[(&str, u64)]) -> String {
        let pins: Vec<String> = pins.iter().map(|(p, n)| format!("\"{p}\": [{n}]")).collect();
        format!(
            "{{\"type\": \"{kind}\", \"connections\": {{ {} }} }}",
            pins.join(", ")
        )
    }

    /// Name, ports and cells of a module.
    type ModuleText<'a> = (&'a str, &'a str, &'a [(&'a str, String)]);

    fn netlist(modules: &[ModuleText<'_>]) -> Netlist {
        let modules: Vec<String> = modules
            .iter()
            .map(|(name, ports, cells)| {
                let cells: Vec<String> = cells.iter().map(|(n, c)| format!("\"{n}\": {c}")).collect();
                format!(
                    "\"{name}\": {{ \"ports\": {{ {ports} }}, \"cells\": {{ {} }} }}",
                    cells.join(", ")
                )
            })
            .collect();
        serde_json::from_str(&format!("{{ \"modules\": {{ {} }} }}", modules.join(", "))).unwrap()
    }

    fn port(name: &str, direction: &str, net: u64) -> String {
        format!("\"{name}\": {{ \"direction\": \"{direction}\", \"bits\": [{net}] }}")
    }

    #[test]
    fn a_path_through_two_modules_is_timed_as_one() {
        let (lib, p) = setting();
        // Flop -> child (buffer) -> xor -> flop; the child's own path would be far shorter.
        let n = netlist(&[
            (
                "top",
                &port("clk", "input", 2),
                &[
                    ("f1", cell("DFF", &[("CK", 2), ("D", 9), ("Q", 3)])),
                    ("c", cell("child", &[("i", 3), ("o", 4)])),
                    ("x", cell("XOR", &[("A", 4), ("B", 9), ("Y", 5)])),
                    ("f2", cell("DFF", &[("CK", 2), ("D", 5), ("Q", 9)])),
                ],
            ),
            (
                "child",
                &[port("i", "input", 7), port("o", "output", 8)].join(", "),
                &[("b", cell("BUF", &[("A", 7), ("Y", 8)]))],
            ),
        ]);
        let t = analyze(&n, "top", &lib, &p).unwrap();
        // Falling: 0.5 + 2 fF; buffer falling 0.2 + 3 fF; xor rising 0.3 + 1 fF; setup.
        approx::assert_relative_eq!(t.worst.ns, 0.502 + 0.203 + 0.301 + 0.05, epsilon = 1e-6);
        assert_eq!(t.worst.from, "top/f1");
        assert_eq!(t.worst.to, "top/f2/D");
        let cells: Vec<_> = t.worst.steps.iter().map(|s| s.cell.as_str()).collect();
        assert_eq!(cells, ["DFF", "BUF", "XOR"]);
    }

    #[test]
    fn ports_have_a_driver_and_a_load() {
        let (lib, p) = setting();
        let n = netlist(&[(
            "top",
            &[port("a", "input", 2), port("y", "output", 3)].join(", "),
            &[("b", cell("BUF", &[("A", 2), ("Y", 3)]))],
        )]);
        let t = analyze(&n, "top", &lib, &p).unwrap();
        approx::assert_relative_eq!(t.worst.ns, 0.202 + 0.210, epsilon = 1e-6);
        assert_eq!(
            (t.worst.from.as_str(), t.worst.to.as_str()),
            ("port a[0]", "port y[0]")
        );
    }

    #[test]
    fn loops_are_errors_and_constants_are_no_paths() {
        let (lib, p) = setting();
        let n = netlist(&[(
            "top",
            &port("a", "input", 2),
            &[
                ("x", cell("XOR", &[("A", 2), ("B", 4), ("Y", 3)])),
                ("b", cell("BUF", &[("A", 3), ("Y", 4)])),
            ],
        )]);
        assert!(matches!(
            analyze(&n, "top", &lib, &p),
            Err(TimingError::Loop { cells: 2, .. })
        ));
        let n: Netlist = serde_json::from_str(
            r#"{"modules": {"top": {"ports": {"y": {"direction": "output", "bits": [3]}},
                "cells": {"b": {"type": "BUF", "connections": {"A": ["0"], "Y": [3]}}}}}}"#,
        )
        .unwrap();
        assert!(matches!(analyze(&n, "top", &lib, &p), Err(TimingError::NoPath)));
    }
}
