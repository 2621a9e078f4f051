//! Place and route with OpenROAD (`area/openroad/`).

use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Serialize;
use thiserror::Error;

use super::pdk::{Pdk, ROOT_VARIABLE, Root};
use super::report::Report;
use super::synth::{Prepared, Rtl};

const FLOW: &str = include_str!("../../area/openroad/flow.tcl");
const SDC: &str = include_str!("../../area/openroad/design.sdc");
const CONFIGS: [(&str, &str); 3] = [
    ("nangate45.tcl", include_str!("../../area/openroad/nangate45.tcl")),
    ("sky130hd.tcl", include_str!("../../area/openroad/sky130hd.tcl")),
    ("asap7.tcl", include_str!("../../area/openroad/asap7.tcl")),
];

/// Place and route that could not be done.
#[derive(Debug, Error)]
pub enum PnrError {
    /// We have no layout settings for this PDK.
    #[error("{pdk}: --pnr has no layout settings for it (it has for: {known})")]
    Unsupported {
        /// The PDK.
        pdk: String,
        /// Those with settings.
        known: String,
    },
    /// No PDK folder.
    #[error(
        "{pdk}: --pnr needs LEF and full Liberty files: set {ROOT_VARIABLE} to a folder that holds {expected}; get \
         them: {get}"
    )]
    NoRoot {
        /// The PDK.
        pdk: String,
        /// Files needed.
        expected: String,
        /// How to get them.
        get: String,
    },
    /// A LEF file is missing.
    #[error("{pdk}: no file {expected} below {root} ({ROOT_VARIABLE}); get it: {get}")]
    NoLef {
        /// The PDK.
        pdk: String,
        /// File names tried.
        expected: String,
        /// The folder searched.
        root: PathBuf,
        /// How to get it.
        get: String,
    },
    /// A file of the run.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// OpenROAD stopped.
    #[error("{pdk}: OpenROAD stopped in stage {stage}: {message}\n(log: {log})")]
    Openroad {
        /// The PDK.
        pdk: String,
        /// Where it was.
        stage: String,
        /// Its last error line.
        message: String,
        /// The whole log.
        log: PathBuf,
    },
    /// It ended but printed no usable figures.
    #[error("{pdk}: OpenROAD ended without {missing} in its reports\n(log: {log})")]
    NoFigure {
        /// The PDK.
        pdk: String,
        /// What is missing.
        missing: &'static str,
        /// The whole log.
        log: PathBuf,
    },
}

/// Figures after one stage of the layout.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Stage {
    /// `placement`, `clock_tree`, `global_route` or `detailed_route`.
    pub stage: String,
    /// Area of all placed cells, mm².
    pub area_mm2: Option<f64>,
    /// Share of the core they fill, 0 to 1.
    pub utilization: Option<f64>,
    /// Worst setup slack, ns.
    pub worst_slack_ns: Option<f64>,
    /// Sum of negative setup slacks, ns.
    pub total_negative_slack_ns: Option<f64>,
    /// Worst hold slack, ns.
    pub worst_hold_slack_ns: Option<f64>,
    /// Power at the tool's default activity, mW.
    pub power_mw: Option<f64>,
}

/// What the layout came to.
#[derive(Debug, Clone, Serialize)]
pub struct Layout {
    /// Clock period of the layout's constraints, ns.
    pub clock_ns: f64,
    /// Core width and height, um.
    pub core_um: Option<[f64; 2]>,
    /// Area of all placed cells after the last stage, mm².
    pub area_mm2: f64,
    /// Worst setup slack after the last stage, ns.
    pub worst_slack_ns: f64,
    /// Raw bytes per second per direction at the period that the layout reaches, in 10^9.
    pub gb_per_s: f64,
    /// Design rule violations after detailed routing.
    pub drc_violations: Option<u64>,
    /// Figures after each stage.
    pub stages: Vec<Stage>,
}

impl Layout {
    /// Lines for the text report.
    pub fn describe(&self) -> String {
        let mut o = format!(
            "  layout: cell area {:.4} mm2, worst slack {:.3} ns at {:.3} ns, {:.1} GB/s per direction",
            self.area_mm2, self.worst_slack_ns, self.clock_ns, self.gb_per_s
        );
        if let Some([w, h]) = self.core_um {
            let _ = write!(o, ", core {w:.1} x {h:.1} um");
        }
        if let Some(n) = self.drc_violations {
            let _ = write!(o, ", {n} design rule violations");
        }
        let show = |v: Option<f64>| v.map_or_else(|| "-".into(), |v| format!("{v:.4}"));
        for s in &self.stages {
            let _ = write!(
                o,
                "\n    after {:<15} area {} mm2, utilization {}, slack {} ns (hold {} ns), power {} mW",
                s.stage,
                show(s.area_mm2),
                show(s.utilization),
                show(s.worst_slack_ns),
                show(s.worst_hold_slack_ns),
                show(s.power_mw)
            );
        }
        o
    }
}

/// Physical files of a PDK.
#[derive(Debug, Clone)]
pub struct Physical {
    tech_lef: PathBuf,
    cell_lef: PathBuf,
    config: &'static str,
}

/// Checks, before any work, that a PDK can be placed and routed.
pub fn check(pdk: &Pdk, root: Option<&Root>) -> Result<Physical, PnrError> {
    let unsupported = || PnrError::Unsupported {
        pdk: pdk.name.clone(),
        known: super::pdk::all()
            .iter()
            .filter(|p| p.pnr.is_some())
            .map(|p| p.name.as_str())
            .collect::<Vec<_>>()
            .join(", "),
    };
    let spec = pdk.pnr.as_ref().ok_or_else(unsupported)?;
    let config = CONFIGS
        .iter()
        .find(|(n, _)| *n == spec.config)
        .map(|(_, t)| *t)
        .ok_or_else(unsupported)?;
    let root = root.ok_or_else(|| PnrError::NoRoot {
        pdk: pdk.name.clone(),
        expected: [&spec.tech_lef, &spec.cell_lef]
            .map(|n| n.join(" or "))
            .join(", "),
        get: pdk.get.clone(),
    })?;
    let lef = |names: &[String]| {
        root.find(names).ok_or_else(|| PnrError::NoLef {
            pdk: pdk.name.clone(),
            expected: names.join(" or "),
            root: root.path.clone(),
            get: pdk.get.clone(),
        })
    };
    Ok(Physical {
        tech_lef: lef(&spec.tech_lef)?,
        cell_lef: lef(&spec.cell_lef)?,
        config,
    })
}

/// Quotes a word for Tcl.
fn tcl(s: &str) -> String {
    let mut o = String::from("\"");
    for c in s.chars() {
        if matches!(c, '"' | '\\' | '$' | '[' | ']' | '{' | '}') {
            o.push('\\');
        }
        o.push(c);
    }
    o.push('"');
    o
}

fn tcl_list<'a>(items: impl Iterator<Item = &'a str>) -> String {
    format!("[list {}]", items.map(tcl).collect::<Vec<_>>().join(" "))
}

/// Share of the core filled at the start of placement; buffers and clock tree come on top.
const UTILIZATION_PERCENT: f64 = 55.0;
/// Target density of global placement, above the utilization.
const DENSITY: f64 = 0.65;
/// Share of the period spent outside each port.
const IO_SHARE: f64 = 0.2;
/// Layout period over what synthesis reached without wires: a clock far past reach keeps timing repair busy for hours.
const CLOCK_MARGIN: f64 = 1.1;

/// Places and routes the netlist in `dir` (made by synthesis with `verilog`).
#[allow(clippy::too_many_arguments)]
pub fn run(
    openroad: &Path,
    pdk: &Pdk,
    physical: &Physical,
    prepared: &Prepared,
    rtl: &Rtl,
    report: &Report,
    dir: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> Result<Layout, PnrError> {
    let io = |path: &Path| {
        let path = path.to_owned();
        move |source| PnrError::Io { path, source }
    };
    let clock_ns = report.clock_ns.max(report.critical_path_ns * CLOCK_MARGIN);
    let mut settings = String::from("# Written by `planezip area --pnr`. Units: ns, fF.\n");
    let text = |p: &Path| tcl(&p.display().to_string());
    let liberty: Vec<String> = prepared.files.iter().map(|p| p.display().to_string()).collect();
    for (name, value) in [
        ("tech_lef", text(&physical.tech_lef)),
        ("cell_lef", text(&physical.cell_lef)),
        ("liberty", tcl_list(liberty.iter().map(String::as_str))),
        ("top", tcl(&rtl.top)),
        ("clock_port", tcl("clk_i")),
        ("reset_port", tcl("rst_ni")),
        ("clock_ns", format!("{clock_ns:.4}")),
        ("io_share", IO_SHARE.to_string()),
        ("driver", tcl(&pdk.driver)),
        ("load_ff", pdk.load_ff.to_string()),
        ("utilization", UTILIZATION_PERCENT.to_string()),
        ("density", DENSITY.to_string()),
        ("dont_use", tcl_list(prepared.dont_use.iter().map(String::as_str))),
        ("detailed", "1".into()),
    ] {
        let _ = writeln!(settings, "set {name} {value}");
    }
    for (name, text) in [
        ("settings.tcl", settings.as_str()),
        ("pdk.tcl", physical.config),
        ("design.sdc", SDC),
        ("flow.tcl", FLOW),
    ] {
        let p = dir.join(name);
        std::fs::write(&p, text).map_err(io(&p))?;
    }
    let log_path = dir.join("openroad.log");
    let mut log = std::fs::File::create(&log_path).map_err(io(&log_path))?;
    let errors = log.try_clone().map_err(io(&log_path))?;
    let mut child = Command::new(openroad)
        .args(["-no_splash", "-exit", "flow.tcl"])
        .current_dir(dir)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(io(openroad))?;
    let mut stage = String::from("start");
    if let Some(out) = child.stdout.take() {
        let mut out = BufReader::new(out);
        let mut line = Vec::new();
        while out.read_until(b'\n', &mut line).map_err(io(&log_path))? > 0 {
            log.write_all(&line).map_err(io(&log_path))?;
            if let Some(s) = String::from_utf8_lossy(&line)
                .trim()
                .strip_prefix("PLANEZIP-STAGE ")
            {
                stage = s.to_owned();
                progress(&format!("layout: {s}"));
            }
            line.clear();
        }
    }
    let status = child.wait().map_err(io(openroad))?;
    let text = std::fs::read(&log_path).map_err(io(&log_path))?;
    let text = String::from_utf8_lossy(&text);
    if !status.success() || stage != "done" {
        let message = text
            .lines()
            .rev()
            .find(|l| l.contains("[ERROR") || l.starts_with("Error"))
            .map_or_else(|| format!("{status}"), str::to_owned);
        return Err(PnrError::Openroad {
            pdk: pdk.name.clone(),
            stage,
            message,
            log: log_path,
        });
    }
    let stages = stages(&text);
    let last = stages.last().cloned().unwrap_or_default();
    let need = |v: Option<f64>, missing| {
        v.ok_or_else(|| PnrError::NoFigure {
            pdk: pdk.name.clone(),
            missing,
            log: log_path.clone(),
        })
    };
    let worst_slack_ns = need(last.worst_slack_ns, "a worst slack")?;
    Ok(Layout {
        clock_ns,
        core_um: core(&text),
        area_mm2: need(last.area_mm2, "a design area")?,
        worst_slack_ns,
        gb_per_s: f64::from(report.beat_bytes) / (clock_ns - worst_slack_ns.min(0.0)),
        drc_violations: violations(&text),
        stages,
    })
}

/// All finite numbers of a line.
fn numbers(line: &str) -> Vec<f64> {
    line.split_whitespace()
        .filter_map(|w| w.trim_end_matches(['%', ',', '.']).parse::<f64>().ok())
        .filter(|v| v.is_finite())
        .collect()
}

/// The figures between `PLANEZIP-BEGIN` and `PLANEZIP-END`, leniently: releases differ in their wording.
fn stages(log: &str) -> Vec<Stage> {
    let mut out: Vec<Stage> = Vec::new();
    let mut current: Option<(Stage, f64, u32)> = None;
    for line in log.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("PLANEZIP-BEGIN ") {
            let s = Stage {
                stage: name.to_owned(),
                ..Stage::default()
            };
            // Power is in W unless the report's header says otherwise.
            current = Some((s, 1000.0, 0));
            continue;
        }
        if line.starts_with("PLANEZIP-END") {
            out.extend(current.take().map(|c| c.0));
            continue;
        }
        let Some((s, power_scale, slacks)) = &mut current else {
            continue;
        };
        let n = numbers(line);
        if line.starts_with("worst slack") {
            // Setup first, then hold: that is the order in which the flow asks.
            *slacks += 1;
            let to = if *slacks == 1 {
                &mut s.worst_slack_ns
            } else {
                &mut s.worst_hold_slack_ns
            };
            *to = n.last().copied();
        } else if line.starts_with("tns") {
            s.total_negative_slack_ns = n.last().copied();
        } else if line.starts_with("Design area") {
            s.area_mm2 = n.first().map(|a| a * 1e-6);
            s.utilization = line
                .split_whitespace()
                .find_map(|w| w.strip_suffix('%')?.parse::<f64>().ok())
                .map(|p| p / 100.0);
        } else if line.contains("(mW)") {
            *power_scale = 1.0;
        } else if line.starts_with("Total") && n.len() >= 4 {
            s.power_mw = Some(n[3] * *power_scale);
        }
    }
    out
}

fn core(log: &str) -> Option<[f64; 2]> {
    let n = numbers(
        log.lines()
            .find_map(|l| l.trim().strip_prefix("PLANEZIP-CORE "))?,
    );
    <[f64; 2]>::try_from(n).ok()
}

/// The last violation count of detailed routing.
fn violations(log: &str) -> Option<u64> {
    log.lines()
        .rev()
        .find(|l| l.contains("Number of violations"))?
        .rsplit(|c: char| !c.is_ascii_digit())
        .find(|w| !w.is_empty())?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
[INFO ORD-0030] Using 2 thread(s).
PLANEZIP-CORE 221.92 219.8
PLANEZIP-BEGIN placement
worst slack max 0.25
tns max 0.00
worst slack min 0.03
Design area 38211 um^2 57% utilization.
PLANEZIP-END placement
worst slack 99.0
[INFO DRT-0199]   Number of violations = 12.
[INFO DRT-0199]   Number of violations = 0.
PLANEZIP-BEGIN detailed_route
worst slack -0.12
tns -3.50
worst slack INF
Design area 39000 u^2 58% utilization.
Group                  Internal  Switching    Leakage      Total
                          Power      Power      Power      Power (Watts)
----------------------------------------------------------------
Total                  1.00e-02   5.00e-03   1.00e-03   1.60e-02 100.0%
PLANEZIP-END detailed_route
";

    #[test]
    fn reads_the_reports_of_older_and_newer_releases() {
        let s = stages(LOG);
        assert_eq!(s.len(), 2);
        assert_eq!(s[0].worst_slack_ns, Some(0.25));
        assert_eq!(s[0].worst_hold_slack_ns, Some(0.03));
        assert_eq!(s[0].utilization, Some(0.57));
        assert_eq!(s[1].worst_slack_ns, Some(-0.12));
        assert_eq!(s[1].worst_hold_slack_ns, None);
        assert_eq!(s[1].total_negative_slack_ns, Some(-3.5));
        approx::assert_relative_eq!(s[1].area_mm2.unwrap(), 0.039);
        approx::assert_relative_eq!(s[1].power_mw.unwrap(), 16.0);
        assert_eq!(violations(LOG), Some(0));
        assert_eq!(core(LOG), Some([221.92, 219.8]));
        assert_eq!(violations("nothing"), None);
    }

    #[test]
    fn tcl_words_are_quoted() {
        assert_eq!(tcl("a b$c[d]"), "\"a b\\$c\\[d\\]\"");
    }
}
