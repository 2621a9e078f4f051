//! `planezip study`.

use std::collections::BTreeMap;
use std::path::PathBuf;

use comfy_table::Cell;
use planezip::stat::Request;
use planezip::study::{self, Ratios, Report, Row};

use super::output;
use super::stat::{error, table};

const AFTER_HELP: &str = "\
Examples:
  planezip study captured/
  planezip study captured/ --markdown         the tables of docs/format-ledger.md

Every row is the block format with one thing different. Tensors are those that `planezip stat` counts, weighted and
grouped as it does; headers and raw fallback are counted.";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Tensor files (.safetensors, .npy, .pz) and directories
    #[arg(required = true, value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// Print Markdown tables
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let request = Request {
        paths: args.paths,
        ..Request::default()
    };
    let bar = output::progress("costing", Some(0));
    let report = study::run(&request, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    })
    .map_err(error)?;
    bar.finish_and_clear();
    for note in &report.notes {
        eprintln!("note: {note}");
    }
    if args.json {
        output::print_json(&report)
    } else {
        output::print(&tables(&report, args.markdown))
    }
}

/// One table for each float type.
fn tables(report: &Report, markdown: bool) -> String {
    let mut out = String::new();
    let Some(format) = report.rows.first() else {
        return out;
    };
    for (float, of_format) in &format.floats {
        let models: Vec<&String> = of_format.models.keys().collect();
        let header: Vec<String> = ["variant", "what is different", &float.to_uppercase(), "gain"]
            .into_iter()
            .map(str::to_owned)
            .chain(models.iter().map(|m| m.to_string()))
            .collect();
        let rows = report.rows.iter().map(|row| cells(row, float, of_format));
        if markdown {
            let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
            out += &line(&header);
            out += &format!("|{}\n", "---|".repeat(header.len()));
            rows.for_each(|row| out += &line(&row));
            out += "\n";
        } else {
            let header: Vec<&str> = header.iter().map(String::as_str).collect();
            let mut table = table(&header, 2);
            table.add_rows(rows.map(|row| row.into_iter().map(Cell::new).collect::<Vec<_>>()));
            out += &format!("{table}\n\n");
        }
    }
    out + &format!("{} tensors, {} bytes\n", report.tensors, report.raw_bytes)
}

/// A row: ratios, and by how much the geometric mean differs from the format's.
fn cells(row: &Row, float: &str, of_format: &Ratios) -> Vec<String> {
    let ratios = row.floats.get(float).cloned().unwrap_or_default();
    let gain = 100.0 * (ratios.ratio / of_format.ratio - 1.0);
    let models: BTreeMap<_, _> = ratios.models;
    [
        row.key.to_owned(),
        row.what.to_owned(),
        format!("{:.4}", ratios.ratio),
        format!("{gain:+.2}%"),
    ]
    .into_iter()
    .chain(models.values().map(|r| format!("{r:.3}")))
    .collect()
}
