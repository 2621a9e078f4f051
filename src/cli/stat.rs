//! `planezip stat`.

use std::fmt::Write as _;
use std::path::PathBuf;

use comfy_table::{Cell, CellAlignment, ContentArrangement, Table, presets};
use planezip::stat::{self, Group, Modes, Report, Request, Rivals, TensorReport};
use planezip::tensor::{DType, FileFormat, Options};

use super::exit::CheckFailed;
use super::output;

/// Most tensors that are listed one by one without being asked to.
const MAX_LISTED: usize = 40;

const AFTER_HELP: &str = "\
Examples:
  planezip stat captured/                     every .safetensors and .npy file below it
  planezip stat a.safetensors b.npy --per-tensor
  planezip stat dump.bin --dtype bf16 --json
  planezip stat captured/ --compare           beside lz4, zstd -3, zstd -19, and bitshuffle with lz4

Ratios count headers and raw fallback. `ZV` is the plain zero-value codec on the same bytes: one header byte a
block, then a non-zero mask and the non-zero words, or the raw block where smaller. `bound` is the order-0 entropy
of sign and exponent over each tensor, with the mantissa of non-zero elements kept as it is: a yardstick, not a
limit. With --compare every tensor is also compressed, as a whole, by lz4 (one block), zstd (one frame) and bitshuffle
with lz4 (blocks of 8 KiB), decompressed and compared.

A NAME.json beside a file gives `model`, `precision` (the run) and, per tensor `key`, its full `bytes`: files of one
model and run are one group, tensors are weighted by their full bytes, and of a run only the tensors of its own
precision count. Without it a file is its own model. Files of consecutive iterations are left out when found in a
directory. The headline is the geometric mean over models.

Exit codes:
  0  all held
  1  a check failed (a corrupt .pz file, a compared codec that loses data)
  2  usage or environment (an unreadable or malformed file, a directory without tensor files)";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Tensor files (.safetensors, .npy, .pz, or raw bytes with --dtype) and directories
    #[arg(required = true, value_name = "PATHS")]
    paths: Vec<PathBuf>,
    /// Element type of raw bytes, or of .npy arrays whose type numpy cannot name
    #[arg(long, value_name = "DTYPE")]
    dtype: Option<DType>,
    /// Take the files as raw, safetensors or npy instead of looking at extension and content
    #[arg(long, value_name = "FORMAT")]
    format: Option<FileFormat>,
    /// List every tensor, however many there are
    #[arg(long)]
    per_tensor: bool,
    /// Compare with lz4, zstd -3, zstd -19, and bitshuffle with lz4 (zstd -19 takes its time)
    #[arg(long)]
    compare: bool,
    /// Print all figures as JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn table(header: &[&str], left: usize) -> Table {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_content_arrangement(ContentArrangement::Disabled)
        .set_header(header);
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i >= left {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table
}

fn ratio(value: Option<f64>) -> Cell {
    Cell::new(value.map_or("-".into(), |v| format!("{v:.3}")))
}

fn percent(value: Option<f64>) -> Cell {
    Cell::new(value.map_or("-".into(), |v| format!("{:.1}%", 100.0 * v)))
}

/// Cells of the codecs compared with, but for the zero-value codec, which has its column anyway.
fn rivals(rivals: Option<Rivals<f64>>) -> impl Iterator<Item = Cell> {
    RIVAL_HEADER
        .iter()
        .enumerate()
        .map(move |(i, _)| ratio(rivals.map(|r| r.named()[i + 1].1)))
}

const RIVAL_HEADER: [&str; 4] = ["lz4", "zstd -3", "zstd -19", "bitshuffle+lz4"];

fn modes(modes: &Modes) -> impl Iterator<Item = Cell> {
    modes.named().into_iter().map(|(_, share)| percent(Some(share)))
}

const MODE_HEADER: [&str; 5] = ["raw", "zv", "bp", "dbp", "zbp"];

/// Tensors one by one.
fn tensor_table(tensors: &[TensorReport], compare: bool) -> Table {
    let mut header = vec![
        "tensor",
        "dtype",
        "shape",
        "bytes",
        "stands for",
        "zeros",
        "ratio",
        "ZV",
    ];
    if compare {
        header.extend(RIVAL_HEADER);
    }
    header.push("bound");
    header.extend(MODE_HEADER);
    header.push("counted");
    let mut table = table(&header, 3);
    if let Some(last) = table.column_mut(header.len() - 1) {
        last.set_cell_alignment(CellAlignment::Left);
    }
    for t in tensors {
        let mut row = vec![
            Cell::new(&t.name),
            Cell::new(&t.dtype),
            Cell::new(format!("{:?}", t.shape)),
            Cell::new(t.raw_bytes),
            Cell::new(t.weight_bytes),
            percent(t.zero_fraction),
            ratio(t.ratio),
            ratio(t.zero_value_ratio),
        ];
        if compare {
            row.extend(rivals(t.rivals));
        }
        row.push(ratio(t.order0_bound));
        row.extend(modes(&t.modes));
        row.push(Cell::new(
            t.not_counted_because
                .map_or("yes".into(), |why| format!("no: {why}")),
        ));
        table.add_row(row);
    }
    table
}

fn group_table(group: &Group) -> Table {
    let mut header = vec!["model", "tensors", "stands for", "zeros", "ratio", "ZV"];
    if group.rivals.is_some() {
        header.extend(RIVAL_HEADER);
    }
    header.push("bound");
    header.extend(MODE_HEADER);
    header.extend(["min", "median", "max"]);
    let mut table = table(&header, 1);
    for (name, m) in &group.models {
        let mut row = vec![
            Cell::new(name),
            Cell::new(m.tensors),
            Cell::new(m.weight_bytes),
            percent(Some(m.zero_fraction)),
            ratio(Some(m.ratio)),
            ratio(Some(m.zero_value_ratio)),
        ];
        if group.rivals.is_some() {
            row.extend(rivals(m.rivals));
        }
        row.push(ratio(m.order0_bound));
        row.extend(modes(&m.modes));
        row.extend([m.spread.min, m.spread.median, m.spread.max].map(|v| ratio(Some(v))));
        table.add_row(row);
    }
    if group.rivals.is_some() {
        let mut row = vec![
            Cell::new("geometric mean"),
            Cell::new(""),
            Cell::new(""),
            Cell::new(""),
        ];
        row.extend([group.ratio, group.zero_value_ratio].map(|v| ratio(Some(v))));
        row.extend(rivals(group.rivals));
        row.push(ratio(group.order0_bound));
        table.add_row(row);
    }
    table
}

fn text(report: &Report, per_tensor: bool, compare: bool) -> Result<String, std::fmt::Error> {
    let mut out = String::new();
    if per_tensor || report.tensors.len() <= MAX_LISTED {
        for tensors in report.tensors.chunk_by(|a, b| a.file == b.file) {
            writeln!(out, "{}", tensors[0].file)?;
            writeln!(out, "{}\n", tensor_table(tensors, compare).trim_fmt())?;
        }
    } else {
        writeln!(
            out,
            "{} tensors in {} files (--per-tensor lists them)\n",
            report.tensors.len(),
            report.files
        )?;
    }
    for (float, group) in report.summary.groups() {
        let name = float.key().to_uppercase();
        writeln!(out, "{}", group_table(group).trim_fmt())?;
        write!(
            out,
            "{name}: ratio {:.3}, zero-value {:.3} ({:.3} times)",
            group.ratio,
            group.zero_value_ratio,
            group.ratio / group.zero_value_ratio,
        )?;
        for (name, rival) in group.rivals.iter().flat_map(|r| r.named().into_iter().skip(1)) {
            write!(out, ", {name} {rival:.3} ({:.3} times)", group.ratio / rival)?;
        }
        if let Some(bound) = group.order0_bound {
            write!(out, ", order-0 bound {bound:.3}")?;
        }
        writeln!(
            out,
            "; geometric mean over {}",
            output::counted(group.models.len() as u64, "model")
        )?;
        writeln!(out)?;
    }
    if report.summary.groups().next().is_none() {
        writeln!(out, "no BF16, F16 or F32 tensors that count\n")?;
    }
    writeln!(
        out,
        "Headers and raw fallback are counted. Shares and ratios are weighted by the bytes a tensor stands for; \
         min, median and max are over the tensors' own ratios."
    )?;
    Ok(out)
}

/// The error for the command line.
pub(super) fn error(e: stat::Error) -> anyhow::Error {
    match e {
        stat::Error::Input(e) => anyhow::Error::from(e),
        stat::Error::Container { file, source } if source.is_corruption() => {
            anyhow::Error::from(source).context(CheckFailed(file))
        }
        stat::Error::Container { file, source } => anyhow::Error::from(source).context(file),
        stat::Error::NoRivals => anyhow::anyhow!(
            "{e}\n\
             hint: `make build`, or cargo build --release with default features, which needs a C compiler"
        ),
        #[cfg(feature = "bench")]
        stat::Error::Rival { file, tensor, source } if source.is_failure() => {
            anyhow::Error::from(source).context(CheckFailed(format!("{file}: tensor '{tensor}'")))
        }
        e => anyhow::Error::from(e),
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let request = Request {
        paths: args.paths,
        options: Options {
            dtype: args.dtype,
            format: args.format,
        },
        threads: 0,
        compare: args.compare,
    };
    let bar = output::progress(if args.compare { "comparing" } else { "reading" }, Some(0));
    let result = stat::collect(&request, &|done, total| {
        bar.set_length(total);
        bar.set_position(done);
    });
    bar.finish_and_clear();
    let report = result.map_err(error)?;
    if args.json {
        return output::print_json(&report);
    }
    output::print(&text(&report, args.per_tensor, args.compare)?)?;
    for note in &report.notes {
        eprintln!("note: {note}");
    }
    Ok(())
}
