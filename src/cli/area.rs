//! `planezip area`.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Context as _;
use clap::builder::PossibleValuesParser;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use planezip::area::pdk::{self, Origin, Pdk, Root};
use planezip::area::pnr;
use planezip::area::report::{self, Report, ReportError};
use planezip::area::synth::{self, Options, Prepared, Rtl};
use planezip::area::tools::{self, Yosys};

use super::exit::CheckFailed;

const EXAMPLES: &str = "\
Examples:
  planezip area
  planezip area --pdk nangate45 --beat-bytes 16,32,64 --clock-ns 1.2
  PLANEZIP_PDK_ROOT=~/pdks planezip area --pdk all --json
  planezip area --pdk nangate45 --pnr --work-dir build/area

Areas are those of the mapped cells, before layout. What each figure means: docs/area.md.";

/// PDKs that work without any file at hand.
const DEFAULT_PDKS: &str = "nangate45,sky130hd,asap7";

#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// PDKs, or `all` for every one that is found
    #[arg(long, value_delimiter = ',', default_value = DEFAULT_PDKS, value_parser = names())]
    pdk: Vec<String>,
    /// Bytes per beat
    #[arg(long, value_delimiter = ',', default_value = "32", value_parser = PossibleValuesParser::new(["16", "32", "64"]))]
    beat_bytes: Vec<String>,
    /// Clock period to map for, in ns (default: the PDK's own, see area/pdk/pdks.toml)
    #[arg(long)]
    clock_ns: Option<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Place and route with OpenROAD after synthesis
    #[arg(long)]
    pnr: bool,
    /// Dissolve the module hierarchy before mapping (no per-module breakdown)
    #[arg(long)]
    flat: bool,
    /// RTL list file, or a folder that holds planezip.f
    #[arg(long, value_name = "PATH")]
    rtl: Option<PathBuf>,
    /// Top module; it must have a parameter BEAT_BYTES
    #[arg(long, default_value = "planezip_engine")]
    top: String,
    /// Keep netlists, reports and logs in this folder, one subfolder per run
    #[arg(long, value_name = "DIR")]
    work_dir: Option<PathBuf>,
    /// Script template instead of area/yosys/synth.ys, for experiments with the recipe
    #[arg(long, value_name = "FILE", hide = true)]
    script: Option<PathBuf>,
    /// Runs at a time
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(1..))]
    jobs: u16,
}

fn names() -> PossibleValuesParser {
    let mut all: Vec<&'static str> = pdk::all().iter().map(|p| p.name.as_str()).collect();
    all.push("all");
    PossibleValuesParser::new(all)
}

/// The repository: where the RTL and the tools folder are.
fn repository() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

struct Run {
    pdk: &'static Pdk,
    origin: Origin,
    beat_bytes: u32,
    /// Layout data, if the run places and routes.
    physical: Option<pnr::Physical>,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if let Some(c) = args.clock_ns {
        // ABC takes the period as a whole number of picoseconds.
        anyhow::ensure!(
            (0.001..=1000.0).contains(&c),
            "--clock-ns {c}: a period from 0.001 to 1000 is needed"
        );
    }
    // Everything that can be refused is refused before any work.
    let root = Root::from_env()?;
    let all = args.pdk.iter().any(|p| p == "all");
    let mut runs = Vec::new();
    for p in pdk::all() {
        if !all && !args.pdk.contains(&p.name) {
            continue;
        }
        match p.locate(root.as_ref()) {
            Ok(origin) => {
                for b in &args.beat_bytes {
                    runs.push(Run {
                        pdk: p,
                        origin: origin.clone(),
                        beat_bytes: b.parse()?,
                        physical: None,
                    });
                }
            }
            Err(e) if all => eprintln!("not available: {e}"),
            Err(e) => return Err(e.into()),
        }
    }
    anyhow::ensure!(
        !runs.is_empty(),
        "none of the PDKs is available: see planezip pdk"
    );
    let openroad = if args.pnr {
        let program = tools::openroad()?;
        for r in &mut runs {
            r.physical = Some(pnr::check(r.pdk, root.as_ref())?);
        }
        Some(program)
    } else {
        None
    };
    let list = match &args.rtl {
        None => repository().join("rtl/planezip.f"),
        Some(p) if p.is_dir() => p.join("planezip.f"),
        Some(p) => p.clone(),
    };
    let rtl = Rtl::from_list(&list, &args.top)?;
    let yosys = tools::yosys(&repository().join(".tools"))?;
    let kept = args.work_dir.as_deref();
    if let Some(d) = kept {
        std::fs::create_dir_all(d).with_context(|| d.display().to_string())?;
    }
    let scratch = tempfile::tempdir()?;
    let work = kept.unwrap_or(scratch.path()).canonicalize()?;

    let bars = MultiProgress::new();
    if !std::io::stderr().is_terminal() {
        bars.set_draw_target(indicatif::ProgressDrawTarget::hidden());
    }
    let results: Mutex<Vec<Option<anyhow::Result<Report>>>> = Mutex::new(runs.iter().map(|_| None).collect());
    let next = AtomicUsize::new(0);
    let worker = || loop {
        let i = next.fetch_add(1, Ordering::Relaxed);
        let Some(r) = runs.get(i) else { return };
        let bar = bars.add(ProgressBar::new_spinner());
        bar.set_style(
            ProgressStyle::with_template("{spinner} {prefix:<20} {elapsed:>4} {msg}")
                .unwrap_or_else(|_| ProgressStyle::default_spinner()),
        );
        bar.set_prefix(format!("{} {} B", r.pdk.name, r.beat_bytes));
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        let result = one(r, &args, &rtl, &yosys, openroad.as_deref(), &work, &|s| {
            bar.set_message(s.to_owned());
        });
        bar.finish_and_clear();
        results.lock().unwrap_or_else(PoisonError::into_inner)[i] = Some(result);
    };
    std::thread::scope(|s| {
        for _ in 0..usize::from(args.jobs).min(runs.len()) {
            s.spawn(worker);
        }
    });
    let mut reports = Vec::new();
    let mut first_error = None;
    for r in results
        .into_inner()
        .unwrap_or_else(PoisonError::into_inner)
        .into_iter()
        .flatten()
    {
        match r {
            Ok(r) => reports.push(r),
            Err(e) if first_error.is_none() => first_error = Some(e),
            Err(e) => eprintln!("error: {e:#}"),
        }
    }
    if args.json {
        println!("{}", serde_json::to_string_pretty(&reports)?);
    } else {
        print(&reports);
    }
    if first_error.is_some() && kept.is_none() {
        // The message names a log: leave it there.
        let _ = scratch.keep();
    }
    first_error.map_or(Ok(()), Err)
}

#[allow(clippy::too_many_arguments)]
fn one(
    r: &Run,
    args: &Args,
    rtl: &Rtl,
    yosys: &Yosys,
    openroad: Option<&Path>,
    work: &Path,
    progress: &(dyn Fn(&str) + Sync),
) -> anyhow::Result<Report> {
    let dir = work.join(format!("{}_{}", r.pdk.name, r.beat_bytes));
    std::fs::create_dir_all(&dir).with_context(|| dir.display().to_string())?;
    progress("library");
    let prepared = Prepared::new(r.pdk, &r.origin)?;
    let options = Options {
        params: vec![("BEAT_BYTES".into(), r.beat_bytes.to_string())],
        clock_ns: args.clock_ns.unwrap_or(r.pdk.clock_ns),
        flat: args.flat,
        gate_min: synth::GATE_MIN,
        verilog: args.pnr || args.work_dir.is_some(),
        script: args
            .script
            .as_deref()
            .map(|p| std::fs::read_to_string(p).with_context(|| p.display().to_string()))
            .transpose()?,
    };
    let made = synth::synthesize(yosys, r.pdk, &prepared, rtl, &options, &dir, progress)?;
    progress("timing");
    let mut report =
        report::report(r.pdk, &prepared, rtl, &options, r.beat_bytes, &made).map_err(|e| match e {
            ReportError::Synth(e) => anyhow::Error::from(e),
            // The run came to an end, and what it made does not hold up.
            e => anyhow::Error::from(CheckFailed(e.to_string())),
        })?;
    if let (Some(openroad), Some(physical)) = (openroad, &r.physical) {
        report.pnr = Some(pnr::run(
            openroad, r.pdk, physical, &prepared, rtl, &report, &dir, progress,
        )?);
    }
    Ok(report)
}

/// Rows of the breakdown shown before the rest is summed up.
const MAX_ROWS: usize = 40;

fn print(reports: &[Report]) {
    for r in reports {
        println!(
            "{} ({} nm, {}), {} Liberty, {} at {} B/beat, mapped for {} ns{}",
            r.pdk,
            r.node_nm,
            r.corner,
            r.liberty,
            r.top,
            r.beat_bytes,
            r.clock_ns,
            if r.flat { ", flat" } else { "" }
        );
        println!(
            "  cell area {:.4} mm2 = {:.1} kGE ({} = {:.4} um2), {:.2} x the published {} mm2",
            r.cell_area_mm2, r.kge, r.nand2, r.nand2_area_um2, r.ratio_to_published, r.published_mm2
        );
        println!(
            "  {} cells, of these {} flops and {} clock gates: {:.1}% of the area is sequential",
            r.cells,
            r.flops,
            r.clock_gates,
            100.0 * r.sequential_share
        );
        println!(
            "  critical path {:.3} ns (no wires), {} cells, from {} to {}",
            r.critical_path_ns,
            r.critical_path.steps.len(),
            short(&r.critical_path.from),
            short(&r.critical_path.to)
        );
        println!(
            "  {:.1} GB/s of raw data per direction at {:.3} ns",
            r.gb_per_s, r.period_ns
        );
        if let Some(p) = &r.pnr {
            println!("{}", p.describe());
        }
        if !r.flat {
            println!("{}", breakdown(r));
        }
        println!();
    }
}

/// The module rows, like-named siblings (`u_lane[0]`, `u_lane[1]`, …) summed up.
fn breakdown(r: &Report) -> Table {
    let mut rows: Vec<(String, String, usize, usize, f64, f64, f64)> = Vec::new();
    for m in &r.modules {
        let path = plain(&m.path);
        let sequential = m.sequential_share * m.cell_area_mm2;
        match rows.iter_mut().find(|x| x.0 == path) {
            Some(x) => {
                x.2 += 1;
                x.3 += m.cells;
                x.4 += m.cell_area_mm2;
                x.5 += sequential;
                x.6 = x.6.max(m.critical_path_ns.unwrap_or(0.0));
            }
            None => rows.push((
                path,
                m.module.clone(),
                1,
                m.cells,
                m.cell_area_mm2,
                sequential,
                m.critical_path_ns.unwrap_or(0.0),
            )),
        }
    }
    rows.sort_by(|a, b| b.4.total_cmp(&a.4));
    if rows.len() > MAX_ROWS {
        let rest = rows.split_off(MAX_ROWS);
        rows.push(rest.iter().fold(
            (
                format!("{} more", rest.len()),
                String::new(),
                0,
                0,
                0.0,
                0.0,
                0.0f64,
            ),
            |a, b| (a.0, a.1, a.2 + b.2, a.3 + b.3, a.4 + b.4, a.5 + b.5, a.6.max(b.6)),
        ));
    }
    let mut t = Table::new();
    t.load_preset(presets::NOTHING);
    t.set_header([
        "instance",
        "module",
        "n",
        "cells",
        "area um2",
        "kGE",
        "share",
        "sequential",
        "path ns",
    ]);
    let mut line = |name: &str, module: &str, n: usize, cells: usize, mm2: f64, seq: f64, ns: f64| {
        t.add_row([
            name.to_owned(),
            module.to_owned(),
            n.to_string(),
            cells.to_string(),
            format!("{:.1}", mm2 * 1e6),
            format!("{:.2}", mm2 * 1e6 / r.nand2_area_um2 / 1000.0),
            format!("{:.1}%", 100.0 * mm2 / r.cell_area_mm2),
            format!("{:.0}%", if mm2 > 0.0 { 100.0 * seq / mm2 } else { 0.0 }),
            if ns > 0.0 { format!("{ns:.3}") } else { "-".into() },
        ]);
    };
    let mut sum = (0, 0, 0.0, 0.0, 0.0f64);
    for (path, module, n, cells, mm2, seq, ns) in &rows {
        line(path, module, *n, *cells, *mm2, *seq, *ns);
        sum = (sum.0 + n, sum.1 + cells, sum.2 + mm2, sum.3 + seq, sum.4.max(*ns));
    }
    line("total", "", sum.0, sum.1, sum.2, sum.3, sum.4);
    for c in 2..9 {
        if let Some(col) = t.column_mut(c) {
            col.set_cell_alignment(CellAlignment::Right);
        }
    }
    t
}

/// Indices of generate loops as `[*]`, the top instance's name left out below it.
fn plain(path: &str) -> String {
    let mut out = String::new();
    let mut in_index = false;
    for c in path.chars() {
        match c {
            '[' => {
                in_index = true;
                out.push_str("[*");
            }
            ']' => {
                in_index = false;
                out.push(']');
            }
            c if in_index && c.is_ascii_digit() => {}
            c => out.push(c),
        }
    }
    match out.split_once('/') {
        Some((_, rest)) => rest.to_owned(),
        None => out,
    }
}

/// A path point without the middle of a very long name.
fn short(name: &str) -> String {
    let n = name.chars().count();
    if n <= 70 {
        return name.to_owned();
    }
    let head: String = name.chars().take(30).collect();
    let tail: String = name.chars().skip(n - 37).collect();
    format!("{head}...{tail}")
}
