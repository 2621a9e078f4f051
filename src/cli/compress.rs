//! `planezip compress`.

use std::num::NonZero;
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use planezip::container::{self, CompressError};
use planezip::format::Form;
use planezip::tensor::{DType, FileFormat, Input, Options};
use serde::Serialize;

use super::exit::CheckFailed;
use super::output::{self, Output, counted, is_stdio};

const AFTER_HELP: &str = "\
Examples:
  planezip compress acts.safetensors -o acts.pz
  planezip compress dump.bin --dtype bf16 -o dump.pz --verify
  capture-tool | planezip compress - --dtype f32 -o - > acts.pz

Every byte of the input is kept: `planezip decompress` restores a file identical to it. Tensors of other
types than BF16, F16 and F32, and everything between tensors, pass losslessly too.

dtypes: bf16 (bfloat16), f16 (fp16, float16, half, <f2), f32 (fp32, float32, float, <f4)

Exit codes:
  0  all held
  1  a check failed (--verify found a difference)
  2  usage or environment (an unreadable or malformed input, an output that cannot be written)";

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// The file to compress: .safetensors, .npy, or raw bytes with --dtype; - for standard input
    #[arg(value_name = "IN")]
    input: PathBuf,
    /// The .pz file to write; - for standard output
    #[arg(short, long, value_name = "OUT.pz")]
    output: PathBuf,
    /// Element type of raw bytes, or of .npy arrays whose type numpy cannot name
    #[arg(long, value_name = "DTYPE")]
    dtype: Option<DType>,
    /// Take the input as raw, safetensors or npy instead of looking at its extension and content
    #[arg(long, value_name = "FORMAT")]
    format: Option<FileFormat>,
    /// Decode what was written and compare it with the input, byte for byte
    #[arg(long)]
    verify: bool,
    /// Threads that compress, at most 32, beside two that read and write; 1: one for all [default: the processors]
    #[arg(long, value_name = "N")]
    threads: Option<NonZero<usize>>,
    /// Print a summary as JSON to standard output
    #[arg(long)]
    json: bool,
}

/// Blocks by form.
#[derive(Serialize)]
struct Blocks {
    raw: u64,
    zero_value: u64,
    bit_plane: u64,
    delta_bit_plane: u64,
    zero_masked: u64,
}

/// What `--json` prints; the same for `decompress`.
#[derive(Serialize)]
pub(super) struct Summary {
    input: String,
    output: String,
    format: &'static str,
    raw_bytes: u64,
    pz_bytes: u64,
    ratio: Option<f64>,
    tensors: u64,
    tensor_raw_bytes: u64,
    tensor_compressed_bytes: u64,
    tensor_ratio: Option<f64>,
    opaque_records: u64,
    blocks: Blocks,
    xxh3_64: String,
    verified_bytes: Option<u64>,
    notes: Vec<String>,
}

impl Summary {
    pub(super) fn new(
        input: &Path,
        output: &Path,
        format: FileFormat,
        summary: &container::Summary,
        verified_bytes: Option<u64>,
        notes: &[String],
    ) -> Self {
        let ratio = |raw: u64, small: u64| (small > 0).then(|| raw as f64 / small as f64);
        let stats = &summary.tensor_stats;
        Summary {
            input: input.display().to_string(),
            output: output.display().to_string(),
            format: format.name(),
            raw_bytes: summary.raw_bytes,
            pz_bytes: summary.pz_bytes,
            ratio: ratio(summary.raw_bytes, summary.pz_bytes),
            tensors: summary.tensors,
            tensor_raw_bytes: stats.raw_bytes,
            tensor_compressed_bytes: stats.comp_bytes,
            tensor_ratio: ratio(stats.raw_bytes, stats.comp_bytes),
            opaque_records: summary.opaque,
            blocks: Blocks {
                raw: stats.form(Form::Raw),
                zero_value: stats.form(Form::ZeroValue),
                bit_plane: stats.form(Form::BitPlane),
                delta_bit_plane: stats.form(Form::DeltaBitPlane),
                zero_masked: stats.form(Form::ZeroMasked),
            },
            xxh3_64: format!("{:016x}", summary.checksum),
            verified_bytes,
            notes: notes.to_vec(),
        }
    }

    /// One line for people.
    fn line(&self) -> String {
        let mut line = format!(
            "{}: {} -> {}",
            self.input,
            counted(self.raw_bytes, "byte"),
            counted(self.pz_bytes, "byte"),
        );
        if let Some(ratio) = self.ratio {
            line += &format!(" (ratio {ratio:.3})");
        }
        line += &format!(", {}", counted(self.tensors, "tensor"));
        if let Some(ratio) = self.tensor_ratio {
            line += &format!(" at {ratio:.3}");
        }
        if self.pz_bytes >= self.raw_bytes {
            let b = &self.blocks;
            let blocks = b.raw + b.zero_value + b.bit_plane + b.delta_bit_plane + b.zero_masked;
            line += &if blocks == 0 {
                "; nothing saved: too small for a block of 128 bytes".to_owned()
            } else if 2 * b.raw >= blocks {
                format!(
                    "; nothing saved: {} of {} do not compress",
                    b.raw,
                    counted(blocks, "block")
                )
            } else {
                "; nothing saved: the container's own records outweigh the gain".to_owned()
            };
        }
        if let Some(n) = self.verified_bytes {
            line += &format!("; verified: {} compared, no difference", counted(n, "byte"));
        }
        line
    }
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    if args.json && is_stdio(&args.output) {
        bail!("--json and -o - both want standard output: give -o a file name");
    }
    if args.verify && (is_stdio(&args.input) || is_stdio(&args.output)) {
        bail!("--verify reads input and output again: it needs files on both sides, not -");
    }
    let options = Options {
        dtype: args.dtype,
        format: args.format,
    };
    let (input, len) = if is_stdio(&args.input) {
        let (reader, _) = output::open(&args.input)?;
        (Input::from_reader(reader, "-", None, &options)?, None)
    } else {
        let len = std::fs::metadata(&args.input)
            .ok()
            .filter(|m| m.is_file())
            .map(|m| m.len());
        (Input::open(&args.input, &options)?, len)
    };
    let out = Output::create(&args.output, &args.input)?;
    let (format, notes) = (input.format(), input.notes().to_vec());
    let threads = output::threads(args.threads);

    let bar = output::progress("compressing", len);
    let result = container::compress_with(input, out, threads, &mut |n| bar.set_position(n));
    bar.finish_and_clear();
    let (mut out, summary) = result.map_err(|e| match e {
        CompressError::Input(e) => anyhow::Error::from(e),
        CompressError::Output(e) => {
            anyhow::Error::from(e).context(format!("cannot write {}", args.output.display()))
        }
    })?;

    let mut verified = None;
    if args.verify {
        let Some(pz) = out.reopen()? else {
            bail!("--verify: {} cannot be read again", args.output.display());
        };
        let pz = std::io::BufReader::with_capacity(1 << 18, pz);
        let (original, _) = output::open(&args.input)?;
        let bar = output::progress("verifying", len);
        let result = container::verify_with(pz, original, threads, &mut |n| bar.set_position(n));
        bar.finish_and_clear();
        verified =
            Some(result.with_context(|| CheckFailed(format!("{}: no output kept", args.input.display())))?);
    }
    out.commit()?;

    for note in &notes {
        eprintln!("note: {}: {note}", args.input.display());
    }
    let summary = Summary::new(&args.input, &args.output, format, &summary, verified, &notes);
    eprintln!("{}", summary.line());
    if args.json {
        output::print_json(&summary)?;
    }
    Ok(())
}
