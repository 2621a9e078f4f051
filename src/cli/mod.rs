//! Command-line surface: one file per subcommand.
//!
//! Exit codes: 0 all held, 1 a check failed, 2 usage or environment.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

mod area;
mod bench;
mod completions;
mod compress;
mod cosim;
mod decompress;
mod exit;
mod interrupt;
mod output;
mod pdk;
mod stat;
mod study;

const EXIT_CODES: &str = "\
Exit codes:
  0  all held
  1  a check failed (a mismatch, corrupt data)
  2  usage or environment (a missing tool, an unreadable or unsupported file)";

/// Lossless copy-path compression for training activations: golden codec, RTL cosimulation, area.
#[derive(Parser)]
#[command(name = "planezip", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Compress a tensor file into a .pz container
    Compress(compress::Args),
    /// Restore the original file from a .pz container
    Decompress(decompress::Args),
    /// Report compression figures of tensor files
    Stat(stat::Args),
    /// Race the codec against lz4, zstd and others for speed
    Bench(bench::Args),
    /// Report what each feature of the block format brings, and what was left out of it
    Study(study::Args),
    /// Run the RTL engine against the golden codec and the cycle model
    Cosim(cosim::Args),
    /// Estimate the engine's area and timing on open PDKs
    Area(area::Args),
    /// List the PDKs found, where they were looked for, and how to get the rest
    Pdk(pdk::Args),
    /// Print a shell's completion script
    Completions(completions::Args),
}

pub(crate) fn run() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(e) => {
            let _ = e.print();
            return if e.use_stderr() {
                ExitCode::from(2)
            } else {
                ExitCode::SUCCESS
            };
        }
    };
    let result = match cli.command {
        Command::Compress(a) => compress::run(a),
        Command::Decompress(a) => decompress::run(a),
        Command::Stat(a) => stat::run(a),
        Command::Bench(a) => bench::run(a),
        Command::Study(a) => study::run(a),
        Command::Cosim(a) => cosim::run(a),
        Command::Area(a) => area::run(a),
        Command::Pdk(a) => pdk::run(a),
        Command::Completions(a) => completions::run(a),
    };
    exit::code(result)
}
