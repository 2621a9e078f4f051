//! `planezip decompress`.

use std::num::NonZero;
use std::path::PathBuf;

use anyhow::bail;
use planezip::container::{self, DecompressError, Reader};

use super::compress::Summary;
use super::exit::CheckFailed;
use super::output::{self, Output, counted, is_stdio};

const AFTER_HELP: &str = "\
Examples:
  planezip decompress acts.pz -o acts.safetensors
  planezip decompress - -o - < dump.pz | consumer

Checksums and totals are always verified. A file appears under its name only once all of it has been.

Exit codes:
  0  all held
  1  a check failed (the .pz file is truncated or corrupt)
  2  usage or environment (not a .pz file, an unknown version, an output that cannot be written)";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The .pz file to read; - for standard input
    #[arg(value_name = "IN.pz")]
    input: PathBuf,
    /// The file to restore; - for standard output
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Threads that decompress, at most 32, beside two that read and write; 1: one for all [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Print a summary as JSON to standard output
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if args.json && is_stdio(&args.output) {
        bail!("--json and -o - both want standard output: give -o a file name");
    }
    let (input, len) = output::open(&args.input)?;
    let name = args.input.display().to_string();
    let fail = |e: planezip::container::Error| {
        if e.is_corruption() {
            let what = if is_stdio(&args.output) {
                format!("{name}: what was written to standard output is not to be trusted")
            } else {
                name.clone()
            };
            anyhow::Error::from(e).context(CheckFailed(what))
        } else {
            anyhow::Error::from(e).context(name.clone())
        }
    };
    // The header first: a foreign file is refused before anything is created.
    let reader = Reader::new(input).map_err(fail)?;
    let format = reader.format();
    let out = Output::create(&args.output, &args.input)?;
    let bar = output::progress("decompressing", len);
    let threads = output::threads(args.threads);
    let result = container::decompress_with(reader, out, threads, &mut |n| bar.set_position(n));
    bar.finish_and_clear();
    let (out, summary) = result.map_err(|e| match e {
        DecompressError::Input(e) => fail(e),
        DecompressError::Output(e) => {
            anyhow::Error::from(e).context(format!("cannot write {}", args.output.display()))
        }
    })?;
    out.commit()?;
    eprintln!(
        "{name}: {} -> {}, {}; checksums hold",
        counted(summary.pz_bytes, "byte"),
        counted(summary.raw_bytes, "byte"),
        counted(summary.tensors, "tensor"),
    );
    if args.json {
        output::print_json(&Summary::new(
            &args.input,
            &args.output,
            format,
            &summary,
            None,
            &[],
        ))?;
    }
    Ok(())
}
