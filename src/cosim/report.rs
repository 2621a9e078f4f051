//! What a run tells.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

use crate::format::{FORMS, Form};

/// One of the engine's two channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Channel {
    /// Raw bytes in, block stream out.
    Compress,
    /// Block stream in, raw bytes out.
    Decompress,
}

impl Channel {
    /// Prefix of the channel's ports.
    #[must_use]
    pub const fn prefix(self) -> &'static str {
        match self {
            Channel::Compress => "comp",
            Channel::Decompress => "decomp",
        }
    }
}

/// Figures of one channel.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ChannelReport {
    /// Packets completed.
    pub packets: u64,
    /// Blocks in them, tails included.
    pub blocks: u64,
    /// Full blocks by form code: RAW, ZV, BP, DBP, ZBP.
    #[serde(serialize_with = "by_name")]
    pub blocks_by_form: [u64; FORMS],
    /// Packets by the status's error, of packets that no encoder made.
    pub verdicts: BTreeMap<&'static str, u64>,
    /// Bytes on the raw side.
    pub raw_bytes: u64,
    /// Bytes on the block-stream side.
    pub stream_bytes: u64,
    /// Beats on the raw side.
    pub raw_beats: u64,
    /// Beats on the block-stream side.
    pub stream_beats: u64,
    /// Raw-side beats per cycle from the first to the last; only without stalls.
    pub raw_beats_per_cycle: Option<f64>,
}

fn by_name<S: serde::Serializer>(blocks: &[u64; FORMS], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(Form::ALL.iter().map(|f| (f.name(), blocks[*f as usize])))
}

/// Where in the stimulus a failure lies.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// Packet of this channel, counted from 0.
    pub packet: u64,
    /// Where that packet comes from.
    pub label: String,
    /// Block of the packet that the channel's output is at.
    pub block: u64,
    /// That block's form, `tail`, or `none` past the packet's blocks.
    pub form: &'static str,
    /// Bytes of the packet that the channel has put out before.
    pub output_offset: u64,
}

/// What did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureKind {
    /// An output pin differs from the model's.
    Mismatch,
    /// A rule of the stream protocol was broken.
    Protocol,
    /// Bytes or status differ from the golden codec's.
    Golden,
    /// No progress although all ends were willing.
    Hang,
    /// The device stopped by itself.
    Stopped,
}

impl FailureKind {
    const fn name(self) -> &'static str {
        match self {
            FailureKind::Mismatch => "pin differs from the cycle model",
            FailureKind::Protocol => "stream protocol broken",
            FailureKind::Golden => "differs from the golden codec",
            FailureKind::Hang => "no progress",
            FailureKind::Stopped => "device stopped",
        }
    }
}

/// The first thing that did not hold.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// What.
    pub kind: FailureKind,
    /// Cycle, counted from 0 after reset.
    pub cycle: u64,
    /// Channel.
    pub channel: Option<Channel>,
    /// Signal, or what was looked at.
    pub signal: String,
    /// What had to be.
    pub expected: String,
    /// What was.
    pub found: String,
    /// Where in the stimulus.
    pub place: Option<Place>,
    /// Seed of the run.
    pub seed: u64,
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{} in cycle {}", self.kind.name(), self.cycle)?;
        writeln!(f, "  signal    {}", self.signal)?;
        writeln!(f, "  expected  {}", self.expected)?;
        writeln!(f, "  found     {}", self.found)?;
        if let Some(p) = &self.place {
            writeln!(f, "  packet    {} ({})", p.packet, p.label)?;
            writeln!(
                f,
                "  block     {}, form {}, {} bytes of the packet were out",
                p.block, p.form, p.output_offset
            )?;
        }
        write!(f, "  seed      {}", self.seed)
    }
}

/// Figures of a run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Blocks put through the engine, each counted once even if both channels took it. Tails included.
    pub blocks: u64,
    /// Beats that crossed any of the four ports.
    pub beats: u64,
    /// Clock cycles.
    pub cycles: u64,
    /// 0, or 1: a run stops at the first thing that does not hold.
    pub mismatches: u64,
    /// Simulated cycles per second of wall-clock time, checks included.
    pub cycles_per_second: f64,
    /// Seed of the run.
    pub seed: u64,
    /// Beat width in bytes.
    pub beat_bytes: usize,
    /// Stall profile.
    pub stalls: &'static str,
    /// The compress channel, if it was used.
    pub compress: Option<ChannelReport>,
    /// The decompress channel, if it was used.
    pub decompress: Option<ChannelReport>,
    /// What did not hold.
    pub failure: Option<Failure>,
}
