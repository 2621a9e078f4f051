//! `planezip bench`.

use std::path::PathBuf;

const AFTER_HELP: &str = "\
Examples:
  planezip bench                              the sample activations of the source tree
  planezip bench captured/ --seconds 60
  planezip bench captured/ --threads 8 --json

All contestants run in one process, in turns, over the same tensors, one model and float type at a time. Speeds are
GB (10^9) of raw bytes per second, medians over the rounds; behind the sign stands half the distance between the
quartiles. `memcpy` copies the raw bytes: the ceiling for data of this size. Every round trip is checked.

Tensors are those that `planezip stat` counts, each at its size in the file.

Exit codes:
  0  all held
  1  a check failed (a corrupt .pz file, a contestant that loses data)
  2  usage or environment (an unreadable or malformed file, a directory without tensor files)";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Tensor files (.safetensors, .npy, .pz) and directories [default: tests/data/sample of the source tree]
    #[arg(value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// Time to measure for; every contestant gets at least five rounds with every model
    #[arg(long, value_name = "SECONDS", default_value_t = 30.0, value_parser = seconds)]
    seconds: f64,
    /// Threads of the multi-threaded row, 0 for as many as there are processors
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: u16,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(s) if (0.0..=86_400.0).contains(&s) => Ok(s),
        _ => Err("expected seconds from 0 to 86400".into()),
    }
}

#[cfg(not(feature = "bench"))]
pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let Args {
        paths: _,
        seconds: _,
        threads: _,
        json: _,
    } = args;
    Err(super::stat::error(planezip::stat::Error::NoRivals))
}

#[cfg(feature = "bench")]
pub(crate) use with_rivals::run;

#[cfg(feature = "bench")]
mod with_rivals {
    use std::collections::BTreeMap;
    use std::fmt::Write as _;
    use std::path::Path;

    use anyhow::bail;
    use comfy_table::{Cell, Table};
    use planezip::bench::{self, Direction, Group, Means, Method, ModelReport, Report, Speed};
    use planezip::stat;

    use super::super::exit::CheckFailed;
    use super::super::output;
    use super::super::stat::{error, table};
    use super::Args;

    /// Columns of speeds: those of one thread, but for the second.
    const COLUMNS: [&str; 7] = [
        "planezip",
        "planezip_threads",
        "zero_value",
        "lz4",
        "zstd_3",
        "bitshuffle_lz4",
        "memcpy",
    ];
    /// Columns of the codec's speed over others'.
    const OVER: [Method; 3] = [Method::Lz4, Method::Zstd3, Method::BitshuffleLz4];

    fn mib(bytes: u64) -> Cell {
        Cell::new(format!("{:.1}", bytes as f64 / f64::from(1 << 20)))
    }

    fn speed(speed: &Speed) -> Cell {
        Cell::new(format!(
            "{:.3} \u{b1}{:.1}%",
            speed.median,
            50.0 * speed.spread.abs()
        ))
    }

    /// Cells of the ratios that both models and means have.
    fn times(over: &BTreeMap<&'static str, f64>, speedup: f64) -> impl Iterator<Item = Cell> {
        let all = OVER.map(|m| over.get(m.key()).copied().unwrap_or(f64::NAN));
        all.into_iter()
            .chain([speedup])
            .map(|v| Cell::new(format!("{v:.2}")))
    }

    fn direction_table(
        group: &Group,
        means: &Means,
        threads: usize,
        of: impl Fn(&ModelReport) -> &Direction,
    ) -> Table {
        let parallel = output::counted(threads as u64, "thread");
        let over = OVER.map(|m| format!("/ {}", m.name()));
        let mut header = vec![
            "model",
            "MiB",
            "rounds",
            "planezip",
            &parallel,
            "zero-value",
            "lz4",
            "zstd -3",
            "bitshuffle+lz4",
            "memcpy",
        ];
        header.extend(over.iter().map(String::as_str));
        header.push("speedup");
        let mut table = table(&header, 1);
        for (name, m) in &group.models {
            let mut row = vec![Cell::new(name), mib(m.raw_bytes), Cell::new(m.rounds)];
            let direction = of(m);
            row.extend(COLUMNS.map(|key| direction.gb_per_s.get(key).map_or(Cell::new("-"), speed)));
            row.extend(times(&direction.planezip_over, direction.speedup));
            table.add_row(row);
        }
        let mut row = vec![Cell::new("geometric mean"), Cell::new(""), Cell::new("")];
        row.extend(COLUMNS.map(|key| {
            let mean = means.gb_per_s.get(key);
            Cell::new(mean.map_or("-".into(), |v| format!("{v:.3}")))
        }));
        row.extend(times(&means.planezip_over, means.speedup));
        table.add_row(row);
        table
    }

    fn text(report: &Report) -> Result<String, std::fmt::Error> {
        let mut out = String::new();
        let machine = &report.machine;
        writeln!(
            out,
            "{}, {}; {}",
            machine.cpu,
            output::counted(machine.processors as u64, "processor"),
            machine.rustc
        )?;
        let versions: Vec<String> = machine
            .versions
            .iter()
            .map(|(name, version)| format!("{name} {version}"))
            .collect();
        writeln!(out, "{}", versions.join(", "))?;
        let models = report.summary.groups().flat_map(|(_, g)| g.models.values());
        let sets: Vec<f64> = models.map(|m| m.working_set_bytes as f64 / 1e6).collect();
        writeln!(
            out,
            "{} of {} bytes; memcpy's working set (read and written in one pass) {:.1} to {:.1} MB\n",
            output::counted(report.data.tensors, "tensor"),
            report.data.raw_bytes,
            sets.iter().copied().fold(f64::INFINITY, f64::min),
            sets.iter().copied().fold(0.0, f64::max),
        )?;
        for (float, group) in report.summary.groups() {
            let name = float.key().to_uppercase();
            writeln!(out, "{name}, compress, GB/s of raw bytes")?;
            let compress = direction_table(group, &group.compress, report.threads, |m| &m.compress);
            writeln!(out, "{}\n", compress.trim_fmt())?;
            writeln!(out, "{name}, decompress, GB/s of raw bytes")?;
            let decompress = direction_table(group, &group.decompress, report.threads, |m| &m.decompress);
            writeln!(out, "{}\n", decompress.trim_fmt())?;
        }
        writeln!(
            out,
            "One thread unless the column says otherwise; `/ lz4` is planezip over lz4, `speedup` {} over one. \
             Round trips checked: {} bytes.",
            output::counted(report.threads as u64, "thread"),
            report.data.verified_bytes
        )?;
        Ok(out)
    }

    pub(crate) fn run(args: Args) -> anyhow::Result<()> {
        let mut paths = args.paths;
        if paths.is_empty() {
            let sample = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample");
            if !sample.is_dir() {
                bail!(
                    "expected the sample activations at {}, found none: give PATHS",
                    sample.display()
                );
            }
            paths.push(sample);
        }
        let request = stat::Request {
            paths,
            ..stat::Request::default()
        };
        let loaded = stat::load(&request).map_err(error)?;
        let request = bench::Request {
            seconds: args.seconds,
            threads: args.threads.into(),
        };
        let bar = output::progress_of_time("measuring");
        let result = bench::run(&loaded.tensors, &request, &mut |done, total| {
            bar.set_length(total.as_millis() as u64);
            bar.set_position(done.as_millis() as u64);
        });
        bar.finish_and_clear();
        let report = result.map_err(|e| {
            if e.is_failure() {
                anyhow::Error::from(e).context(CheckFailed("round trip".into()))
            } else {
                e.into()
            }
        })?;
        if args.json {
            output::print_json(&report)?;
        } else {
            output::print(&text(&report)?)?;
        }
        if !report.machine.release {
            eprintln!("note: this planezip was not built with --release: its own speeds say little");
        }
        if let Some(share) = report.waited_share.filter(|share| *share > 0.02) {
            eprintln!(
                "note: {:.0}% of the time went by waiting for a processor: other programs ran, no speed here says much",
                100.0 * share
            );
        }
        if !args.json {
            for note in &loaded.notes {
                eprintln!("note: {note}");
            }
        }
        Ok(())
    }
}
