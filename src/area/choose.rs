//! Choosing a mapping recipe for every module.
//!
//! ABC maps one module at a time and knows nothing of the paths that go on in the next one. So every module is mapped
//! by several recipes, from small and slow to large and fast, and the choice is made here, with the timing of the whole
//! design: the one with the most bytes per second and area, that is with the smallest product of total area and clock
//! period (the asked period, or the longest path if that is longer).

use std::collections::BTreeMap;

use super::liberty::Library;
use super::netlist::Netlist;
use super::pdk::Pdk;
use super::sta::Timer;

/// A recipe for each module, by the recipe's place in the list of netlists.
pub type Choice = BTreeMap<String, usize>;

/// Most rounds over all modules from one start.
const MAX_ROUNDS: usize = 4;

/// The netlist with each module taken from the recipe that the choice names.
pub fn compose(netlists: &[Netlist], choice: &Choice) -> Netlist {
    let mut out = Netlist::default();
    for (name, &i) in choice {
        if let Some(m) = netlists.get(i).and_then(|n| n.modules.get(name)) {
            out.modules.insert(name.clone(), m.clone());
        }
    }
    out
}

/// Picks the recipes. `None` if the netlists cannot be timed or summed (which the report then says about any of them).
pub fn choose(
    netlists: &[Netlist],
    top: &str,
    lib: &Library,
    pdk: &Pdk,
    clock_ns: f64,
    progress: &dyn Fn(&str),
) -> Option<Choice> {
    let first = netlists.first()?;
    // How often each module occurs, and what one costs by each recipe.
    let mut areas: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
    for n in netlists {
        for name in first.modules.keys() {
            let m = n.modules.get(name)?;
            let own: f64 = m
                .cells
                .values()
                .filter_map(|c| lib.cells.get(&c.kind)?.area_um2)
                .sum();
            areas.entry(name).or_default().push(own);
        }
    }
    let mut uses: BTreeMap<&str, f64> = BTreeMap::new();
    count(first, top, 0, &mut uses)?;
    let timer = Timer::new(lib, pdk);
    let cost = |choice: &Choice| -> Option<f64> {
        let area: f64 = choice
            .iter()
            .map(|(m, &r)| areas[m.as_str()][r] * uses.get(m.as_str()).copied().unwrap_or(0.0))
            .sum();
        let ns = timer.analyze(&compose(netlists, choice), top).ok()?.worst.ns;
        Some(area * ns.max(clock_ns))
    };
    // The modules that weigh most first: the rest then settles around them.
    let mut order: Vec<&str> = uses.keys().copied().collect();
    order.sort_by(|a, b| {
        let weight = |m: &str| areas[m].iter().copied().fold(0.0, f64::max) * uses[m];
        weight(b).total_cmp(&weight(a))
    });
    let mut best: Option<(f64, Choice)> = None;
    // Several modules share a path, so one alone often changes nothing: start from every uniform choice.
    for start in 0..netlists.len() {
        let mut choice: Choice = first.modules.keys().map(|m| (m.clone(), start)).collect();
        let mut current = cost(&choice)?;
        for round in 0..MAX_ROUNDS {
            let mut changed = false;
            for (i, &m) in order.iter().enumerate() {
                progress(&format!(
                    "choosing recipes: start {}, round {}, module {} of {}",
                    start + 1,
                    round + 1,
                    i + 1,
                    order.len()
                ));
                let now = choice[m];
                for r in 0..netlists.len() {
                    // Of two equal results the plainer recipe, which comes first, is kept.
                    let plainer = r < choice[m];
                    if r == choice[m] || areas[m][r] == areas[m][choice[m]] && !plainer {
                        continue;
                    }
                    let old = choice.insert(m.to_owned(), r).unwrap_or(now);
                    let c = cost(&choice)?;
                    if c < current * (1.0 - 1e-6) || plainer && c <= current {
                        current = c;
                        changed = true;
                    } else {
                        choice.insert(m.to_owned(), old);
                    }
                }
            }
            if !changed {
                break;
            }
        }
        if best.as_ref().is_none_or(|b| current < b.0) {
            best = Some((current, choice));
        }
    }
    best.map(|b| b.1)
}

/// Deepest module nesting followed.
const MAX_DEPTH: usize = 64;

fn count<'a>(n: &'a Netlist, module: &'a str, depth: usize, uses: &mut BTreeMap<&'a str, f64>) -> Option<()> {
    if depth > MAX_DEPTH {
        return None;
    }
    let m = n.modules.get(module)?;
    *uses.entry(module).or_insert(0.0) += 1.0;
    for c in m.cells.values() {
        if let Some((name, _)) = n.modules.get_key_value(&c.kind) {
            count(n, name, depth + 1, uses)?;
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::super::liberty::{Ast, Source};
    use super::super::{pdk, table};
    use super::*;

    /// A small slow and a large fast cell of the same function.
    const CELLS: &str = r#"
slew_ns = 0.02
[cells.SLOW]
area = 1.0
in = { A = 1.0 }
out.Y = { function = "A", max_ff = 50.0, rise = [1.0, 0.0, 0.0], fall = [1.0, 0.0, 0.0] }
[cells.FAST]
area = 1.5
in = { A = 1.0 }
out.Y = { function = "A", max_ff = 50.0, rise = [0.1, 0.0, 0.0], fall = [0.1, 0.0, 0.0] }
"#;

    /// Two chains of a module each between ports: `long` is three cells deep, `short` one.
    fn netlist(cell: &str) -> Netlist {
        let chain = |n: u64| -> String {
            let cells: Vec<String> = (0..n)
                .map(|i| {
                    format!(
                        "\"c{i}\": {{\"type\": \"{cell}\", \"connections\": {{\"A\": [{}], \"Y\": [{}]}}}}",
                        2 + i,
                        3 + i
                    )
                })
                .collect();
            format!(
                "{{\"ports\": {{\"i\": {{\"direction\": \"input\", \"bits\": [2]}}, \"o\": {{\"direction\": \
                 \"output\", \"bits\": [{}]}}}}, \"cells\": {{ {} }}}}",
                2 + n,
                cells.join(", ")
            )
        };
        let top = r#"{"ports": {"a": {"direction": "input", "bits": [2]}, "x": {"direction": "output", "bits": [3]},
            "y": {"direction": "output", "bits": [4]}}, "cells": {
            "l": {"type": "long", "connections": {"i": [2], "o": [3]}},
            "s": {"type": "short", "connections": {"i": [2], "o": [4]}}}}"#;
        serde_json::from_str(&format!(
            "{{\"modules\": {{\"top\": {top}, \"long\": {}, \"short\": {} }} }}",
            chain(3),
            chain(1)
        ))
        .unwrap()
    }

    #[test]
    fn area_is_spent_only_where_the_clock_needs_it() {
        let source = Source {
            path: "t".into(),
            text: table::to_liberty("t", CELLS).unwrap(),
        };
        let lib = Library::from_ast(&Ast::parse(&source).unwrap(), &source.path).unwrap();
        let mut p = pdk::by_name("nangate45").unwrap().clone();
        p.driver = "none".into();
        let netlists = [netlist("SLOW"), netlist("FAST")];
        let pick = |clock_ns: f64| {
            let c = choose(&netlists, "top", &lib, &p, clock_ns, &|_| {}).unwrap();
            (c["long"], c["short"])
        };
        // Three slow cells take 3 ns, three fast ones 0.3 ns.
        assert_eq!(pick(4.0), (0, 0), "all paths fit: the smallest");
        assert_eq!(pick(1.2), (1, 0), "only the long chain needs the fast cells");
        assert_eq!(pick(0.2), (1, 1), "both chains limit the clock");
        let c = choose(&netlists, "top", &lib, &p, 1.2, &|_| {}).unwrap();
        let whole = compose(&netlists, &c);
        assert_eq!(whole.modules["long"].cells["c0"].kind, "FAST");
        assert_eq!(whole.modules["short"].cells["c0"].kind, "SLOW");
    }

    #[test]
    fn what_cannot_be_timed_is_left_to_the_report() {
        let source = Source {
            path: "t".into(),
            text: table::to_liberty("t", CELLS).unwrap(),
        };
        let lib = Library::from_ast(&Ast::parse(&source).unwrap(), &source.path).unwrap();
        let p = pdk::by_name("nangate45").unwrap();
        assert_eq!(choose(&[], "top", &lib, p, 1.0, &|_| {}), None);
        assert_eq!(
            choose(&[netlist("SLOW")], "no such top", &lib, p, 1.0, &|_| {}),
            None
        );
    }
}
