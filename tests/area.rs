//! The area flow end to end: `planezip area` and `planezip pdk`.
//!
//! Runs that synthesize need the pinned Yosys (`make setup`) and say so when they skip; runs that compare with full
//! Liberty files need PLANEZIP_PDK_ROOT.

mod common;

use std::path::{Path, PathBuf};

use assert_cmd::Command;
use planezip::area::pdk::{self, Origin, ROOT_VARIABLE, Root};
use planezip::area::{synth, table, tools};
use serde_json::Value;

fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// The program without a PDK root, whatever the environment of the tests holds.
fn planezip() -> Command {
    let mut c = Command::cargo_bin("planezip").unwrap();
    c.env_remove(ROOT_VARIABLE);
    // A run that fails leaves its log behind.
    c.env("TMPDIR", env!("CARGO_TARGET_TMPDIR"));
    c
}

/// True if there is a Yosys; else says that the test skips.
fn yosys(test: &str) -> bool {
    match tools::yosys(&repository().join(".tools")) {
        Ok(_) => true,
        Err(e) => {
            common::skipped(test, &format!("no synthesis tool: {e}"));
            false
        }
    }
}

/// The folder with full Liberty files; else says that the test skips.
fn full_root(test: &str) -> Option<PathBuf> {
    let root = std::env::var_os(ROOT_VARIABLE).filter(|p| !p.is_empty());
    if root.is_none() {
        common::skipped(test, &format!("{ROOT_VARIABLE} is not set"));
    }
    root.map(PathBuf::from)
}

/// `planezip area` on the small test design.
fn sample(args: &[&str]) -> Command {
    let mut c = planezip();
    c.arg("area")
        .arg("--rtl")
        .arg(repository().join("tests/data/area/area_sample.f"))
        .args(["--top", "area_sample_top"])
        .args(args);
    c
}

fn reports(c: &mut Command) -> Vec<Value> {
    let out = c.arg("--json").output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    serde_json::from_slice(&out.stdout).unwrap()
}

fn number(v: &Value, key: &str) -> f64 {
    v[key].as_f64().unwrap_or_else(|| panic!("{key} in {v}"))
}

/// A PDK root with one Nangate45 Liberty file made from the embedded table, changed by `change`.
fn made_root(change: impl Fn(String) -> String) -> tempfile::TempDir {
    let p = pdk::by_name("nangate45").unwrap();
    let Origin::Embedded(text) = p.locate(None).unwrap() else {
        panic!("nangate45 has an embedded table");
    };
    let dir = tempfile::tempdir().unwrap();
    let lib = change(table::to_liberty("nangate45", text).unwrap());
    std::fs::write(dir.path().join("NangateOpenCellLibrary_typical.lib"), lib).unwrap();
    dir
}

/// Liberty text without the cells whose name starts with `prefix`.
fn without_cells(lib: &str, prefix: &str) -> String {
    let mut out = String::new();
    let mut dropping = false;
    for line in lib.lines() {
        if let Some(name) = line.strip_prefix("  cell (") {
            dropping = name.starts_with(prefix);
        }
        if !dropping {
            out.push_str(line);
            out.push('\n');
        }
        if line == "  }" {
            dropping = false;
        }
    }
    out
}

#[test]
fn figures_have_their_keys_and_the_parts_make_the_whole() {
    if !yosys("figures_have_their_keys_and_the_parts_make_the_whole") {
        return;
    }
    let list = reports(&mut sample(&["--pdk", "nangate45", "--beat-bytes", "16,32"]));
    assert_eq!(list.len(), 2);
    for (r, beat) in list.iter().zip([16.0, 32.0]) {
        assert_eq!(r["pdk"], "nangate45");
        assert_eq!(r["liberty"], "embedded");
        assert_eq!(number(r, "beat_bytes"), beat);
        let total = number(r, "cell_area_mm2");
        let modules = r["modules"].as_array().unwrap();
        assert_eq!(
            modules.len() as f64,
            beat / 2.0 + 2.0,
            "one row per module instance"
        );
        for (part, whole) in [
            ("cell_area_mm2", total),
            ("kge", number(r, "kge")),
            ("cells", number(r, "cells")),
        ] {
            let sum: f64 = modules.iter().map(|m| number(m, part)).sum();
            approx::assert_relative_eq!(sum, whole, max_relative = 1e-9);
        }
        let sequential: f64 = modules
            .iter()
            .map(|m| number(m, "sequential_share") * number(m, "cell_area_mm2"))
            .sum();
        approx::assert_relative_eq!(
            sequential / total,
            number(r, "sequential_share"),
            max_relative = 1e-9
        );
        // 25 flops of control, 33 per lane, and the holding register.
        assert_eq!(number(r, "flops"), 25.0 + 33.0 * beat / 2.0 + 8.0 * beat);
        approx::assert_relative_eq!(
            number(r, "kge"),
            total * 1e6 / 0.798 / 1000.0,
            max_relative = 1e-9
        );
        approx::assert_relative_eq!(
            number(r, "ratio_to_published"),
            total / 0.036,
            max_relative = 1e-9
        );
        let period = number(r, "critical_path_ns").max(number(r, "clock_ns"));
        approx::assert_relative_eq!(number(r, "gb_per_s"), beat / period, max_relative = 1e-9);
        assert!(number(r, "critical_path_ns") > 0.1);
    }
    assert!(number(&list[1], "cell_area_mm2") > 1.5 * number(&list[0], "cell_area_mm2"));
}

#[test]
fn dissolving_the_hierarchy_adds_no_flops() {
    if !yosys("dissolving_the_hierarchy_adds_no_flops") {
        return;
    }
    let flat = &reports(&mut sample(&["--pdk", "nangate45", "--flat"]))[0];
    let deep = &reports(&mut sample(&["--pdk", "nangate45"]))[0];
    assert_eq!(flat["modules"].as_array().unwrap().len(), 1);
    // Across module boundaries a register may turn out to be redundant; none may be added.
    let (f, d) = (number(flat, "flops"), number(deep, "flops"));
    assert!(0.0 < f && f <= d, "{f} flat, {d} with hierarchy");
    let ratio = number(flat, "cell_area_mm2") / number(deep, "cell_area_mm2");
    assert!((0.8..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn embedded_tables_agree_with_full_liberty_within_3_percent() {
    let test = "embedded_tables_agree_with_full_liberty_within_3_percent";
    let Some(root) = full_root(test) else { return };
    if !yosys(test) {
        return;
    }
    let pdks = "nangate45,sky130hd,asap7";
    let engine = synth::Rtl::from_list(&repository().join("rtl/planezip.f"), "planezip_engine").is_ok();
    let run = |root: Option<&Path>| {
        let mut c = if engine {
            let mut c = planezip();
            c.args(["area", "--pdk", pdks]);
            c
        } else {
            sample(&["--pdk", pdks])
        };
        if let Some(r) = root {
            c.env(ROOT_VARIABLE, r);
        }
        reports(&mut c)
    };
    let (embedded, full) = (run(None), run(Some(&root)));
    assert_eq!(embedded.len(), 3);
    for (e, f) in embedded.iter().zip(&full) {
        assert_eq!(e["liberty"], "embedded");
        assert_eq!(f["liberty"], "full");
        assert_eq!(e["pdk"], f["pdk"]);
        let (a, b) = (number(e, "cell_area_mm2"), number(f, "cell_area_mm2"));
        println!(
            "{}: embedded {a:.5} mm2, full {b:.5} mm2, {:+.2}%; critical path {:.3} and {:.3} ns",
            e["pdk"],
            100.0 * (a / b - 1.0),
            number(e, "critical_path_ns"),
            number(f, "critical_path_ns")
        );
        assert!((a / b - 1.0).abs() <= 0.03, "{}: {a} and {b}", e["pdk"]);
    }
}

#[test]
fn embedded_tables_are_what_the_fit_makes() {
    let test = "embedded_tables_are_what_the_fit_makes";
    let Some(root) = full_root(test) else { return };
    let root = Root::open(&root).unwrap();
    for p in pdk::all().iter().filter(|p| p.table.is_some()) {
        let origin = p.locate(Some(&root)).unwrap();
        let made = table::fit(p, &synth::Prepared::new(p, &origin).unwrap().library);
        assert_eq!(
            Some(made.as_str()),
            p.table_text(),
            "{}: run planezip pdk --fit",
            p.name
        );
    }
}

#[test]
fn a_cell_without_an_area_is_refused_before_any_work() {
    if !yosys("a_cell_without_an_area_is_refused_before_any_work") {
        return;
    }
    for (area, found) in [
        ("", "no area"),
        ("area : nan;", "`nan`"),
        ("area : 0.0;", "`0.0`"),
    ] {
        let root = made_root(|lib| {
            let at = lib.find("cell (NAND3_X2)").unwrap();
            let (head, tail) = lib.split_at(at);
            let (name, rest) = tail.split_once("area").unwrap();
            let rest = rest.split_once('\n').unwrap().1;
            format!("{head}{name}{area}\n{rest}")
        });
        let out = sample(&["--pdk", "nangate45"])
            .env(ROOT_VARIABLE, root.path())
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(text.contains("NAND3_X2") && text.contains(found), "{text}");
    }
}

#[test]
fn a_cell_that_stays_unmapped_is_an_error() {
    if !yosys("a_cell_that_stays_unmapped_is_an_error") {
        return;
    }
    let head = "module a #(parameter int unsigned BEAT_BYTES = 1) (input logic x_i, output logic y_o);\n";
    for (body, named) in [
        // A module of which only the ports are known.
        (
            "logic m;\n  some_macro u_macro (.x_i, .y_o(m));\n  assign y_o = ~m;\nendmodule\n\
             (* blackbox *) module some_macro (input logic x_i, output logic y_o);\nendmodule\n",
            "some_macro",
        ),
        // A three-state driver, which no library here is allowed to map.
        ("assign y_o = x_i ? 1'b1 : 1'bz;\nendmodule\n", "TBUF"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("a.sv"), format!("{head}  {body}")).unwrap();
        std::fs::write(dir.path().join("a.f"), "a.sv\n").unwrap();
        let out = planezip()
            .args(["area", "--pdk", "nangate45", "--top", "a", "--json", "--rtl"])
            .arg(dir.path().join("a.f"))
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(1), "{text}");
        assert!(text.contains("unmapped") && text.contains(named), "{text}");
        assert_eq!(
            serde_json::from_slice::<Vec<Value>>(&out.stdout).unwrap().len(),
            0,
            "no figures for a run that failed"
        );
    }
}

#[test]
fn registers_without_a_flop_to_map_to_are_an_error() {
    if !yosys("registers_without_a_flop_to_map_to_are_an_error") {
        return;
    }
    let root = made_root(|lib| without_cells(&lib, "DFF"));
    let out = sample(&["--pdk", "nangate45", "--json"])
        .env(ROOT_VARIABLE, root.path())
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("DFF"), "{text}");
}

#[test]
fn a_missing_cell_that_the_registry_names_is_an_error() {
    if !yosys("a_missing_cell_that_the_registry_names_is_an_error") {
        return;
    }
    let root = made_root(|lib| without_cells(&lib, "NAND2_X1"));
    let out = sample(&["--pdk", "nangate45"])
        .env(ROOT_VARIABLE, root.path())
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("NAND2_X1"));
}

#[test]
fn a_missing_root_or_file_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let nowhere = dir.path().join("nowhere");
    for (root, args, expected) in [
        (
            nowhere.as_path(),
            &["--pdk", "nangate45"],
            nowhere.to_str().unwrap(),
        ),
        (nowhere.as_path(), &["--pdk", "all"], nowhere.to_str().unwrap()),
        (dir.path(), &["--pdk", "nangate45"], dir.path().to_str().unwrap()),
        (dir.path(), &["--pdk", "sg13g2"], "sg13g2_typ.lib"),
    ] {
        let out = sample(args).env(ROOT_VARIABLE, root).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(text.contains(expected) && text.contains(ROOT_VARIABLE), "{text}");
    }
    let out = sample(&["--pdk", "sg13g2"]).output().unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("IHP-Open-PDK"));
}

#[test]
fn rtl_that_is_missing_or_wrong_is_named() {
    let out = planezip()
        .args(["area", "--pdk", "nangate45", "--rtl", "no/such.f"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("no/such.f"));
    if !yosys("rtl_that_is_missing_or_wrong_is_named") {
        return;
    }
    // A path with a space in it must work, and an error must name the file.
    let dir = tempfile::tempdir().unwrap();
    let rtl = dir.path().join("my rtl");
    std::fs::create_dir(&rtl).unwrap();
    std::fs::write(rtl.join("planezip.f"), "a.sv\n").unwrap();
    let run = |text: &str| {
        std::fs::write(rtl.join("a.sv"), text).unwrap();
        planezip()
            .args(["area", "--pdk", "nangate45", "--top", "a", "--rtl"])
            .arg(&rtl)
            .output()
            .unwrap()
    };
    let out = run(
        "module a #(parameter int unsigned BEAT_BYTES = 1) (input logic [7:0] x_i, output logic y_o);\n  \
                   assign y_o = ^x_i;\nendmodule\n",
    );
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let out = run(
        "module a #(parameter int unsigned BEAT_BYTES = 1) (output logic y_o);\n  assign y_o = z;\nendmodule\n",
    );
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("a.sv"), "{text}");
    let out = planezip()
        .args(["area", "--pdk", "nangate45", "--top", "no_such_top"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&out.stderr);
    assert_eq!(out.status.code(), Some(2), "{text}");
    assert!(text.contains("no_such_top"), "{text}");
}

#[test]
fn a_clock_period_out_of_range_is_refused_before_any_work() {
    for period in ["0", "-1", "nan", "1e9"] {
        let out = sample(&["--pdk", "nangate45", &format!("--clock-ns={period}")])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(text.contains("0.001 to 1000"), "{text}");
    }
}

#[test]
fn a_clock_shorter_than_a_flop_is_refused() {
    if !yosys("a_clock_shorter_than_a_flop_is_refused") {
        return;
    }
    let out = sample(&["--pdk", "nangate45", "--clock-ns", "0.05"])
        .output()
        .unwrap();
    assert_eq!(out.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&out.stderr).contains("0.05 ns"));
    for bad in ["0", "-1", "nan"] {
        let arg = format!("--clock-ns={bad}");
        assert_eq!(sample(&[&arg]).output().unwrap().status.code(), Some(2), "{bad}");
    }
}

#[test]
fn pdks_are_listed_with_where_they_were_looked_for() {
    let out = planezip().args(["pdk", "--json"]).output().unwrap();
    assert!(out.status.success());
    let list: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    let names: Vec<_> = list.iter().map(|p| p["pdk"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["nangate45", "sky130hd", "asap7", "sg13g2", "gf180", "osu018"]
    );
    for p in &list {
        let embedded = ["nangate45", "sky130hd", "asap7"].contains(&p["pdk"].as_str().unwrap());
        if embedded {
            assert_eq!(p["liberty"], "embedded");
        }
        assert!(!p["looked_at"].as_array().unwrap().is_empty());
        assert!(!p["get"].as_str().unwrap().is_empty());
    }
    let root = made_root(|l| l);
    let out = planezip()
        .args(["pdk", "--json"])
        .env(ROOT_VARIABLE, root.path())
        .output()
        .unwrap();
    let list: Vec<Value> = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(list[0]["liberty"], "full");
    assert_eq!(list[1]["liberty"], "missing");
    assert!(
        list[1]["reason"]
            .as_str()
            .unwrap()
            .contains("sky130_fd_sc_hd__tt_025C_1v80.lib")
    );
}

#[cfg(unix)]
mod layout {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// A folder with an `openroad` that does what `body` says.
    fn fake_openroad(body: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let p = dir.path().join("openroad");
        std::fs::write(&p, format!("#!/bin/sh\n{body}\n")).unwrap();
        std::fs::set_permissions(&p, std::fs::Permissions::from_mode(0o755)).unwrap();
        dir
    }

    /// A root with Liberty and (empty) LEF files.
    fn root() -> tempfile::TempDir {
        let dir = made_root(|l| l);
        for f in [
            "NangateOpenCellLibrary.tech.lef",
            "NangateOpenCellLibrary.macro.lef",
        ] {
            std::fs::write(dir.path().join(f), "VERSION 5.8 ;\n").unwrap();
        }
        dir
    }

    fn with_path(c: &mut Command, dir: &Path) {
        let path = std::env::var("PATH").unwrap();
        c.env("PATH", format!("{}:{path}", dir.display()));
    }

    #[test]
    fn without_openroad_the_message_says_what_to_get() {
        if tools::on_path("openroad").is_some() {
            common::skipped(
                "without_openroad_the_message_says_what_to_get",
                "there is one on PATH",
            );
            return;
        }
        let out = sample(&["--pdk", "nangate45", "--pnr"]).output().unwrap();
        let text = String::from_utf8_lossy(&out.stderr);
        assert_eq!(out.status.code(), Some(2), "{text}");
        assert!(
            text.contains("openroad") && text.contains("OpenROAD/releases"),
            "{text}"
        );
    }

    #[test]
    fn what_it_needs_beside_openroad_is_named() {
        let tool = fake_openroad("exit 0");
        let liberty_only = made_root(|l| l);
        for (root, pdk, expected) in [
            (None, "nangate45", "LEF"),
            (
                Some(liberty_only.path()),
                "nangate45",
                "NangateOpenCellLibrary.tech.lef",
            ),
        ] {
            let mut c = sample(&["--pdk", pdk, "--pnr"]);
            with_path(&mut c, tool.path());
            if let Some(r) = root {
                c.env(ROOT_VARIABLE, r);
            }
            let out = c.output().unwrap();
            let text = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{text}");
            assert!(text.contains(expected), "{text}");
        }
    }

    #[test]
    fn it_is_run_on_the_netlist_and_its_reports_are_read() {
        if !yosys("it_is_run_on_the_netlist_and_its_reports_are_read") {
            return;
        }
        let tool = fake_openroad(
            "echo \"arguments: $*\" > arguments.txt\n\
             test -s netlist.v && test -s design.sdc && test -s pdk.tcl && test -s flow.tcl || exit 3\n\
             echo 'PLANEZIP-STAGE placement'\n\
             echo 'PLANEZIP-BEGIN placement'\n\
             echo 'worst slack max 0.25'\n\
             echo 'Design area 9900 um^2 57% utilization.'\n\
             echo 'PLANEZIP-END placement'\n\
             echo 'PLANEZIP-BEGIN detailed_route'\n\
             echo 'worst slack max -0.5'\n\
             echo 'Design area 10000 um^2 58% utilization.'\n\
             echo 'PLANEZIP-END detailed_route'\n\
             echo '[INFO DRT-0199]   Number of violations = 3.'\n\
             echo 'PLANEZIP-STAGE done'",
        );
        let (root, work) = (root(), tempfile::tempdir().unwrap());
        let mut c = sample(&["--pdk", "nangate45", "--pnr", "--work-dir"]);
        c.arg(work.path()).env(ROOT_VARIABLE, root.path());
        with_path(&mut c, tool.path());
        let r = &reports(&mut c)[0];
        approx::assert_relative_eq!(number(&r["pnr"], "area_mm2"), 0.01);
        assert_eq!(number(&r["pnr"], "worst_slack_ns"), -0.5);
        assert_eq!(number(&r["pnr"], "drc_violations"), 3.0);
        assert_eq!(r["pnr"]["stages"].as_array().unwrap().len(), 2);
        let period = number(&r["pnr"], "clock_ns") + 0.5;
        approx::assert_relative_eq!(number(&r["pnr"], "gb_per_s"), 32.0 / period, max_relative = 1e-9);
        let run = work.path().join("nangate45_32");
        let arguments = std::fs::read_to_string(run.join("arguments.txt")).unwrap();
        assert_eq!(arguments.trim(), "arguments: -no_splash -exit flow.tcl");
        let settings = std::fs::read_to_string(run.join("settings.tcl")).unwrap();
        assert!(
            settings.contains("NangateOpenCellLibrary_typical.lib"),
            "{settings}"
        );
    }

    #[test]
    fn when_it_fails_the_stage_and_the_error_are_shown() {
        if !yosys("when_it_fails_the_stage_and_the_error_are_shown") {
            return;
        }
        let root = root();
        for (body, expected) in [
            (
                "echo 'PLANEZIP-STAGE placement'; echo '[ERROR GPL-0302] does not fit'; exit 1",
                ["placement", "does not fit"],
            ),
            ("echo 'PLANEZIP-STAGE done'", ["without", "worst slack"]),
        ] {
            let tool = fake_openroad(body);
            let mut c = sample(&["--pdk", "nangate45", "--pnr"]);
            c.env(ROOT_VARIABLE, root.path());
            with_path(&mut c, tool.path());
            let out = c.output().unwrap();
            let text = String::from_utf8_lossy(&out.stderr);
            assert_eq!(out.status.code(), Some(2), "{text}");
            assert!(expected.iter().all(|e| text.contains(e)), "{text}");
        }
    }

    #[test]
    fn the_flow_is_tcl_that_runs_from_end_to_end() {
        let Some(tclsh) = tools::on_path("tclsh") else {
            common::skipped("the_flow_is_tcl_that_runs_from_end_to_end", "no tclsh on PATH");
            return;
        };
        // Every command of the tool is a stub that notes its name, so that syntax, variables and the order hold.
        let driver = "\
            set ::done {}\n\
            proc unknown {args} { lappend ::done [lindex $args 0]; return {} }\n\
            namespace eval ord { proc get_core_area {} { return {0 0 300 300} } }\n\
            proc get_name {x} { return lib }\n\
            proc exit {args} {}\n\
            source flow.tcl\n\
            puts \"COMMANDS $::done\"\n";
        let settings = "\
            set tech_lef t.lef\nset cell_lef c.lef\nset liberty [list a.lib b.lib]\nset top t\n\
            set clock_port clk_i\nset reset_port rst_ni\nset clock_ns 1.0\nset io_share 0.2\nset driver D\n\
            set load_ff 5\nset utilization 55\nset density 0.65\nset dont_use [list A B]\nset detailed 1\n";
        for config in ["nangate45.tcl", "sky130hd.tcl", "asap7.tcl"] {
            let dir = tempfile::tempdir().unwrap();
            let from = repository().join("area/openroad");
            std::fs::copy(from.join("flow.tcl"), dir.path().join("flow.tcl")).unwrap();
            std::fs::copy(from.join(config), dir.path().join("pdk.tcl")).unwrap();
            std::fs::write(dir.path().join("settings.tcl"), settings).unwrap();
            std::fs::write(dir.path().join("driver.tcl"), driver).unwrap();
            let out = std::process::Command::new(&tclsh)
                .arg("driver.tcl")
                .current_dir(dir.path())
                .output()
                .unwrap();
            let text = String::from_utf8_lossy(&out.stdout);
            assert!(
                out.status.success(),
                "{config}: {}",
                String::from_utf8_lossy(&out.stderr)
            );
            let commands = text.lines().find_map(|l| l.strip_prefix("COMMANDS ")).unwrap();
            let place = |c: &str| {
                commands
                    .split(' ')
                    .position(|x| x == c)
                    .unwrap_or_else(|| panic!("{config}: {c}"))
            };
            let order = [
                "read_lef",
                "read_liberty",
                "read_verilog",
                "link_design",
                "read_sdc",
                "initialize_floorplan",
                "make_tracks",
                "tapcell",
                "pdngen",
                "global_placement",
                "place_pins",
                "repair_design",
                "detailed_placement",
                "clock_tree_synthesis",
                "repair_timing",
                "global_route",
                "detailed_route",
                "filler_placement",
                "write_def",
            ];
            for pair in order.windows(2) {
                assert!(place(pair[0]) < place(pair[1]), "{config}: {pair:?}");
            }
            assert!(text.contains("PLANEZIP-STAGE done"));
        }
    }
}
