//! `planezip cosim`.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt::Write as _;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use anyhow::{Context, bail};
use clap::builder::PossibleValuesParser;
use comfy_table::{CellAlignment, Table, presets};
use indicatif::{ProgressBar, ProgressStyle};
use planezip::container::Writer;
use planezip::cosim::{
    self, ChannelReport, Config, Direction, Dut, FileItem, FilePackets, Observer, Profile, RandomPackets,
    Report, Work,
};
use planezip::format::{BLOCK_BYTES, Dtype, Form};
use planezip::tensor::{DType, FileFormat, Input, Options, TensorMeta};
use serde::Serialize;

use super::exit::CheckFailed;
use super::output::{self, Output, counted, is_stdio};

const AFTER_HELP: &str = "\
Examples:
  planezip cosim acts.safetensors
  planezip cosim captured/ --blocks 200000 --stalls skewed
  planezip cosim --random 100000 --beat-bytes 64 --stalls worst --seed 7
  planezip cosim --random 1000 --malformed 1000
  planezip cosim acts.safetensors --emit acts.pz     what the RTL's compressor made, as a .pz file

Each tensor is a packet. Every output pin of the RTL is compared with the cycle model in every cycle; the bytes
and the status of every packet are compared with the golden codec. The first difference ends the run; the report
names cycle, signal, packet, block and form, and the command that repeats it.

Exit codes:
  0  all held
  1  a check failed (a pin, a byte, a status or a rule of the stream protocol; no progress)
  2  usage or environment (an unreadable file; a program built without the feature cosim)";

type BoxError = Box<dyn std::error::Error + Send + Sync>;

#[derive(clap::Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Args {
    /// Tensor files (.safetensors, .npy, or raw bytes with --dtype), or directories of them
    #[arg(value_name = "FILES")]
    files: Vec<PathBuf>,
    /// Element type of raw bytes
    #[arg(long, value_name = "DTYPE")]
    dtype: Option<DType>,
    /// Channels to run: compress, decompress, both
    #[arg(long, default_value = "both", value_parser = PossibleValuesParser::new(["compress", "decompress", "both"]))]
    direction: String,
    /// Take no more than so many 128-byte blocks from the files
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    blocks: Option<u64>,
    /// How senders and receivers stall
    #[arg(long, default_value = "none", value_parser = PossibleValuesParser::new(Profile::ALL.map(Profile::name)))]
    stalls: String,
    /// Seed of everything random, the RTL's initial state included (default: a new one, which is printed)
    #[arg(long)]
    seed: Option<u64>,
    /// Bytes per beat
    #[arg(long, default_value = "32", value_parser = PossibleValuesParser::new(["16", "32", "64"]))]
    beat_bytes: String,
    /// Structured random packets with so many full blocks in all
    #[arg(long, value_name = "N", default_value_t = 0)]
    random: u64,
    /// So many malformed packets for the decompressor, each followed by a clean one
    #[arg(long, value_name = "N", default_value_t = 0)]
    malformed: u64,
    /// Record waves (FST); slow and large
    #[arg(long, value_name = "OUT.fst")]
    trace: Option<PathBuf>,
    /// Write what the RTL's compressor put out as a .pz file
    #[arg(long, value_name = "OUT.pz")]
    emit: Option<PathBuf>,
    /// Print the report as JSON
    #[arg(long)]
    json: bool,
}

/// What `--json` prints.
#[derive(Serialize)]
struct Json<'a> {
    #[serde(flatten)]
    report: &'a Report,
    /// The command that repeats the run.
    repeat: &'a str,
}

#[cfg(feature = "cosim")]
fn device(beat_bytes: usize, seed: u64) -> anyhow::Result<Box<dyn Dut>> {
    Ok(Box::new(cosim::Rtl::new(beat_bytes, seed)?))
}

#[cfg(not(feature = "cosim"))]
fn device(_beat_bytes: usize, _seed: u64) -> anyhow::Result<Box<dyn Dut>> {
    bail!(
        "this planezip was built without the RTL (feature cosim is off)\n\
         hint: `make build`, or cargo build --release with default features, which needs Verilator"
    )
}

pub(crate) fn run(args: Args) -> anyhow::Result<()> {
    let invalid = |e: String| anyhow::anyhow!(e);
    let direction: Direction = args.direction.parse().map_err(invalid)?;
    let config = Config {
        beat_bytes: args.beat_bytes.parse()?,
        direction,
        stalls: args.stalls.parse().map_err(invalid)?,
        // Small enough for every JSON reader to keep.
        seed: args.seed.unwrap_or_else(|| u64::from(rand::random::<u32>())),
    };
    if args.files.is_empty() && args.random == 0 && args.malformed == 0 {
        bail!("nothing to run: give files, --random N or --malformed N");
    }
    if args.blocks.is_some() && args.files.is_empty() {
        bail!("--blocks bounds what is taken from files, and there are none");
    }
    if args.malformed > 0 && direction == Direction::Compress {
        bail!("--malformed is for the decompressor: it needs --direction decompress or both");
    }
    if args.emit.is_some() && direction == Direction::Decompress {
        bail!("--emit writes what the compressor puts out: it needs --direction compress or both");
    }
    let mut dut = device(config.beat_bytes, config.seed)?;
    let files = expand(&args.files)?;
    let options = Options {
        dtype: args.dtype.clone(),
        format: None,
    };
    let repeat = repeat(&args, config.seed);
    if args.seed.is_none() {
        eprintln!("seed {}", config.seed);
    }

    let total = total_blocks(&files, &args);
    let emitted = Rc::new(RefCell::new(VecDeque::new()));
    let mut observer = Watcher {
        bar: progress(total),
        emitter: None,
    };
    if let Some(path) = &args.emit {
        let format = match files.first() {
            Some(first) if files.len() == 1 => Input::open(first, &options)?.format(),
            _ => FileFormat::Raw,
        };
        for file in &files {
            if same_file(file, path) {
                bail!("cannot write {}: it is an input", path.display());
            }
        }
        let out = Output::create(path, Path::new("-"))?;
        observer.emitter = Some(Emitter {
            writer: Writer::new(out, format)?,
            queue: emitted.clone(),
            stream: Vec::new(),
        });
    }
    let mut work = Feed {
        files: FilePackets::new(files, options, args.blocks, args.emit.is_some()),
        more: Box::new(
            RandomPackets::new(args.random, config.seed).chain(cosim::malformed(args.malformed, config.seed)),
        ),
        emitted: args.emit.is_some().then_some(emitted),
    };
    if let Some(path) = &args.trace {
        dut.open_trace(path)?;
    }
    let result = cosim::run(&mut *dut, &config, &mut work, &mut observer);
    observer.bar.finish_and_clear();
    let traced = dut.close_trace();
    let report = result.map_err(|e| match e {
        cosim::Error::Data(e) => anyhow::Error::from_boxed(e),
        e @ cosim::Error::BeatBytes(_) => e.into(),
    })?;

    if args.json {
        output::print_json(&Json {
            report: &report,
            repeat: &repeat,
        })?;
    } else {
        output::print(&text(&report)?)?;
    }
    if let Some(failure) = &report.failure {
        return Err(CheckFailed(format!("{failure}\n  repeat    {repeat}")).into());
    }
    traced?;
    if let (Some(emitter), Some(path)) = (observer.emitter, &args.emit) {
        let summary = emitter.finish()?;
        eprintln!(
            "{}: {} of the RTL's compressor, {}",
            path.display(),
            counted(summary.tensors, "tensor"),
            counted(summary.pz_bytes, "byte")
        );
    }
    Ok(())
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

/// Replaces directories by the tensor files in them, in order of their names.
fn expand(paths: &[PathBuf]) -> anyhow::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for path in paths {
        if is_stdio(path) {
            bail!("cosim reads files, not standard input");
        }
        if !path.is_dir() {
            files.push(path.clone());
            continue;
        }
        let cannot = || format!("cannot read {}", path.display());
        let mut found = Vec::new();
        for entry in path.read_dir().with_context(cannot)? {
            let path = entry.with_context(cannot)?.path();
            let extension = path.extension().and_then(|e| e.to_str());
            if matches!(extension, Some("safetensors" | "npy")) {
                found.push(path);
            }
        }
        if found.is_empty() {
            bail!(
                "{}: no .safetensors or .npy files in this directory",
                path.display()
            );
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}

/// The command line that repeats a run.
fn repeat(args: &Args, seed: u64) -> String {
    let mut line = "planezip cosim".to_owned();
    let mut add = |text: &str| {
        line.push(' ');
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_./,=+:@".contains(c);
        if text.is_empty() || !text.chars().all(plain) {
            line.push('\'');
            line.push_str(&text.replace('\'', r"'\''"));
            line.push('\'');
        } else {
            line.push_str(text);
        }
    };
    for file in &args.files {
        add(&file.to_string_lossy());
    }
    let mut option = |name: &str, value: Option<String>| {
        if let Some(value) = value {
            add(name);
            add(&value);
        }
    };
    option("--dtype", args.dtype.as_ref().map(|d| d.name().to_lowercase()));
    option("--blocks", args.blocks.map(|n| n.to_string()));
    option("--random", (args.random > 0).then(|| args.random.to_string()));
    option(
        "--malformed",
        (args.malformed > 0).then(|| args.malformed.to_string()),
    );
    option("--direction", Some(args.direction.clone()));
    option("--stalls", Some(args.stalls.clone()));
    option("--beat-bytes", Some(args.beat_bytes.clone()));
    option("--seed", Some(seed.to_string()));
    line
}

/// Blocks to come, as far as file sizes tell.
fn total_blocks(files: &[PathBuf], args: &Args) -> u64 {
    let bytes: u64 = files
        .iter()
        .filter_map(|f| f.metadata().ok())
        .map(|m| m.len())
        .sum();
    let blocks = bytes / BLOCK_BYTES as u64;
    // A clean packet after a malformed one has 3 blocks on average.
    args.blocks.map_or(blocks, |n| n.min(blocks)) + args.random + 3 * args.malformed
}

fn progress(total: u64) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(total);
    if let Ok(style) =
        ProgressStyle::with_template("simulating {bar:30} {human_pos}/{human_len} blocks, {msg}")
    {
        bar.set_style(style);
    }
    bar
}

/// What `--emit` writes, in order.
enum Emit {
    Opaque(Vec<u8>),
    Tensor(TensorMeta, Arc<Vec<u8>>),
}

type EmitQueue = Rc<RefCell<VecDeque<Emit>>>;

/// All work of a run.
struct Feed {
    files: FilePackets,
    more: Box<dyn Iterator<Item = Work>>,
    emitted: Option<EmitQueue>,
}

impl Feed {
    fn emit(&self, item: Emit) {
        if let Some(queue) = &self.emitted {
            queue.borrow_mut().push_back(item);
        }
    }
}

impl Iterator for Feed {
    type Item = Result<Work, BoxError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.files.next() {
                Some(Err(e)) => return Some(Err(e.into())),
                Some(Ok(FileItem::Opaque(bytes))) => self.emit(Emit::Opaque(bytes)),
                Some(Ok(FileItem::Tensor(meta, job))) => {
                    self.emit(Emit::Tensor(meta, job.raw.clone()));
                    return Some(Ok(Work::Encode(job)));
                }
                None => break,
            }
        }
        let work = self.more.next()?;
        if let Work::Encode(job) = &work {
            let dtype = match job.dtype {
                Dtype::Bf16 => DType::Bf16,
                Dtype::F16 => DType::F16,
                Dtype::F32 => DType::F32,
                Dtype::Other => DType::from_safetensors("U32"),
            };
            let meta = TensorMeta {
                name: job.label.clone(),
                dtype,
                shape: None,
                fortran_order: false,
            };
            self.emit(Emit::Tensor(meta, job.raw.clone()));
        }
        Some(Ok(work))
    }
}

struct Emitter {
    writer: Writer<Output>,
    queue: EmitQueue,
    /// The packet that is coming out.
    stream: Vec<u8>,
}

impl Emitter {
    fn opaque(&mut self, bytes: &[u8]) -> anyhow::Result<()> {
        let mut record = self.writer.opaque()?;
        record.write(bytes)?;
        record.finish()?;
        Ok(())
    }

    fn packet(&mut self) -> anyhow::Result<()> {
        loop {
            let item = self.queue.borrow_mut().pop_front();
            match item {
                Some(Emit::Opaque(bytes)) => self.opaque(&bytes)?,
                Some(Emit::Tensor(meta, raw)) => {
                    self.writer.tensor_stream(&meta, &raw, &self.stream)?;
                    self.stream.clear();
                    return Ok(());
                }
                None => bail!("the compressor put out a packet too many"),
            }
        }
    }

    fn finish(mut self) -> anyhow::Result<planezip::container::Summary> {
        while let Some(item) = { self.queue.borrow_mut().pop_front() } {
            match item {
                Emit::Opaque(bytes) => self.opaque(&bytes)?,
                Emit::Tensor(meta, _) => bail!("{}: the compressor did not put it out", meta.name),
            }
        }
        let (out, summary) = self.writer.finish()?;
        out.commit()?;
        Ok(summary)
    }
}

struct Watcher {
    bar: ProgressBar,
    emitter: Option<Emitter>,
}

impl Observer for Watcher {
    fn progress(&mut self, blocks: u64, cycles: u64) {
        self.bar.set_position(blocks);
        self.bar.set_message(format!("{cycles} cycles"));
    }

    fn compressed(&mut self, _packet: u64, bytes: &[u8], last: bool) -> Result<(), BoxError> {
        if let Some(emitter) = &mut self.emitter {
            emitter.stream.extend_from_slice(bytes);
            if last {
                emitter.packet()?;
            }
        }
        Ok(())
    }
}

fn text(report: &Report) -> Result<String, std::fmt::Error> {
    let mut table = Table::new();
    table.load_preset(presets::NOTHING);
    let mut header = vec!["channel", "packets", "blocks"];
    let forms = Form::ALL.map(|f| f.name().replace('_', "-"));
    header.extend(forms.iter().map(String::as_str));
    header.extend([
        "raw bytes",
        "stream bytes",
        "raw beats",
        "stream beats",
        "raw beats/cycle",
    ]);
    table.set_header(header);
    let channels = [("compress", &report.compress), ("decompress", &report.decompress)];
    for (name, channel) in channels {
        let Some(c) = channel else { continue };
        let mut row = vec![name.to_owned(), c.packets.to_string(), c.blocks.to_string()];
        row.extend(c.blocks_by_form.iter().map(u64::to_string));
        row.extend([c.raw_bytes, c.stream_bytes, c.raw_beats, c.stream_beats].map(|n| n.to_string()));
        row.push(c.raw_beats_per_cycle.map_or("-".into(), |r| format!("{r:.4}")));
        table.add_row(row);
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if i > 0 {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut out = String::new();
    writeln!(out, "{}", table.trim_fmt())?;
    if let Some(verdicts) = report.decompress.as_ref().map(|d: &ChannelReport| &d.verdicts)
        && !verdicts.is_empty()
    {
        write!(out, "packets that no encoder made, by verdict:")?;
        for (i, (name, n)) in verdicts.iter().enumerate() {
            write!(out, "{} {name} {n}", if i == 0 { "" } else { "," })?;
        }
        writeln!(out)?;
    }
    writeln!(
        out,
        "{} bytes per beat, stalls {}, seed {}: {}, {}, {} ({:.0} cycles/s): {}",
        report.beat_bytes,
        report.stalls,
        report.seed,
        counted(report.blocks, "block"),
        counted(report.beats, "beat"),
        counted(report.cycles, "cycle"),
        report.cycles_per_second,
        if report.mismatches == 1 {
            "1 mismatch".to_owned()
        } else {
            format!("{} mismatches", report.mismatches)
        }
    )?;
    Ok(out)
}
