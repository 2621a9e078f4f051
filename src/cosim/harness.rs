//! The lock-step loop.

use std::str::FromStr;
use std::time::Instant;

use super::lane::{Lane, Problem, Task, hex};
use super::report::{Channel, Failure, FailureKind, Report};
use super::stall::Profile;
use super::{Dut, Work};
use crate::model::{Engine, Inputs, Outputs, Status};

/// Idle cycles after the last packet, in which nothing may come out.
const DRAIN_CYCLES: u32 = 32;
/// Cycles between two calls of the observer's `progress`.
const PROGRESS_CYCLES: u64 = 1 << 16;

/// Which channels run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// The compress channel.
    Compress,
    /// The decompress channel.
    Decompress,
    /// Both at the same time.
    Both,
}

impl Direction {
    const fn uses(self, channel: Channel) -> bool {
        matches!(
            (self, channel),
            (Direction::Both, _)
                | (Direction::Compress, Channel::Compress)
                | (Direction::Decompress, Channel::Decompress)
        )
    }

    /// The name that the command line takes.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Direction::Compress => "compress",
            Direction::Decompress => "decompress",
            Direction::Both => "both",
        }
    }
}

impl FromStr for Direction {
    type Err = String;

    fn from_str(s: &str) -> Result<Self, Self::Err> {
        [Direction::Compress, Direction::Decompress, Direction::Both]
            .into_iter()
            .find(|d| d.name() == s)
            .ok_or_else(|| format!("unknown direction '{s}': known are compress, decompress, both"))
    }
}

/// How to run.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Beat width in bytes: 16, 32 or 64.
    pub beat_bytes: usize,
    /// Channels that run.
    pub direction: Direction,
    /// Stalls at all four ports.
    pub stalls: Profile,
    /// Seed of the stalls and of what is on pins that mean nothing.
    pub seed: u64,
}

/// The run could not be carried out. (A check that fails is in the [`Report`] instead.)
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No such engine.
    #[error(transparent)]
    BeatBytes(#[from] crate::model::BeatBytesError),
    /// The stimulus cannot be read, or the output not be written.
    #[error(transparent)]
    Data(#[from] Box<dyn std::error::Error + Send + Sync>),
}

/// What may be watched during a run.
pub trait Observer {
    /// Called from time to time: blocks and cycles so far.
    fn progress(&mut self, blocks: u64, cycles: u64) {
        let _ = (blocks, cycles);
    }

    /// The device's compressor put out bytes of a packet, `last` if the packet ends with them.
    ///
    /// # Errors
    /// Ends the run.
    fn compressed(
        &mut self,
        packet: u64,
        bytes: &[u8],
        last: bool,
    ) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let _ = (packet, bytes, last);
        Ok(())
    }
}

/// Watches nothing.
impl Observer for () {}

/// Runs the work through the device and the model in lock step until all is done or something does not hold.
///
/// # Errors
/// [`Error`] if the beat width does not exist, the work cannot be read or the observer fails.
pub fn run<D: Dut + ?Sized>(
    dut: &mut D,
    config: &Config,
    work: &mut dyn Iterator<Item = Result<Work, Box<dyn std::error::Error + Send + Sync>>>,
    observer: &mut dyn Observer,
) -> Result<Report, Error> {
    let start = Instant::now();
    let mut model = Engine::new(config.beat_bytes)?;
    let mut lanes = Lanes {
        compress: Lane::new(Channel::Compress, config),
        decompress: Lane::new(Channel::Decompress, config),
        direction: config.direction,
        exhausted: false,
        packets: 0,
    };
    let mut inputs = Inputs::default();
    let (mut expected, mut found) = (Outputs::default(), Outputs::default());
    let mut cycle = 0;
    let mut drained = 0;
    let mut failure = None;
    while drained < DRAIN_CYCLES {
        lanes.refill(work)?;
        let (c, d) = (&mut lanes.compress, &mut lanes.decompress);
        drained = if c.is_done() && d.is_done() {
            drained + 1
        } else {
            0
        };
        model.outputs(&mut expected);
        inputs.comp_m_ready = c.drive(&mut inputs.comp_s, expected.comp_s_ready, expected.comp_m.valid);
        inputs.decomp_m_ready = d.drive(
            &mut inputs.decomp_s,
            expected.decomp_s_ready,
            expected.decomp_m.valid,
        );
        if let Err(e) = dut.cycle(&inputs, &mut found) {
            failure = Some(Problem {
                kind: FailureKind::Stopped,
                channel: None,
                signal: "device".into(),
                expected: "a cycle".into(),
                found: e.to_string(),
            });
            break;
        }
        if found != expected {
            failure = Some(difference(&expected, &found));
            break;
        }
        let checked = c
            .check(
                cycle,
                &inputs.comp_s,
                found.comp_s_ready,
                &found.comp_m,
                inputs.comp_m_ready,
            )
            .and_then(|()| {
                d.check(
                    cycle,
                    &inputs.decomp_s,
                    found.decomp_s_ready,
                    &found.decomp_m,
                    inputs.decomp_m_ready,
                )
            });
        if let Err(problem) = checked {
            failure = Some(problem);
            break;
        }
        if found.comp_m.valid && inputs.comp_m_ready {
            let m = &found.comp_m;
            let packet = c.packets() - u64::from(m.last);
            observer.compressed(packet, &m.data[..m.keep.trailing_ones() as usize], m.last)?;
        }
        model.step(&inputs);
        cycle += 1;
        if cycle % PROGRESS_CYCLES == 0 {
            observer.progress(lanes.blocks(), cycle);
        }
    }
    observer.progress(lanes.blocks(), cycle);
    let failure = failure.map(|p| lanes.failure(p, cycle, config.seed));
    let seconds = start.elapsed().as_secs_f64();
    let blocks = lanes.blocks();
    let (c, d) = (lanes.compress.report(config), lanes.decompress.report(config));
    Ok(Report {
        blocks,
        beats: c.raw_beats + c.stream_beats + d.raw_beats + d.stream_beats,
        cycles: cycle,
        mismatches: u64::from(failure.is_some()),
        cycles_per_second: cycle as f64 / seconds.max(1e-9),
        seed: config.seed,
        beat_bytes: config.beat_bytes,
        stalls: config.stalls.name(),
        compress: config.direction.uses(Channel::Compress).then_some(c),
        decompress: config.direction.uses(Channel::Decompress).then_some(d),
        failure,
    })
}

struct Lanes {
    compress: Lane,
    decompress: Lane,
    direction: Direction,
    exhausted: bool,
    packets: u64,
}

impl Lanes {
    /// Takes on work until both channels have some, unless one is too far ahead.
    fn refill(
        &mut self,
        work: &mut dyn Iterator<Item = Result<Work, Box<dyn std::error::Error + Send + Sync>>>,
    ) -> Result<(), Error> {
        let (c, d) = (&mut self.compress, &mut self.decompress);
        let hungry = |l: &Lane| self.direction.uses(l.channel()) && l.is_hungry();
        while !self.exhausted && (hungry(c) || hungry(d)) && !c.is_ahead() && !d.is_ahead() {
            match work.next().transpose()? {
                None => self.exhausted = true,
                Some(Work::Encode(job)) => {
                    if self.direction.uses(Channel::Compress) {
                        c.add(Task::compress(&job));
                    }
                    if self.direction.uses(Channel::Decompress) {
                        d.add(Task::decompress(&job));
                    }
                    self.packets += 1;
                }
                Some(Work::Decode(job)) => {
                    if self.direction.uses(Channel::Decompress) {
                        d.add(Task::decode(&job));
                    }
                }
            }
        }
        Ok(())
    }

    fn blocks(&self) -> u64 {
        match self.direction {
            Direction::Compress => self.compress.encoded_blocks(),
            Direction::Decompress => self.decompress.encoded_blocks(),
            Direction::Both => self
                .compress
                .encoded_blocks()
                .min(self.decompress.encoded_blocks()),
        }
    }

    fn failure(&self, problem: Problem, cycle: u64, seed: u64) -> Failure {
        let place = problem.channel.and_then(|c| match c {
            Channel::Compress => self.compress.place(),
            Channel::Decompress => self.decompress.place(),
        });
        Failure {
            kind: problem.kind,
            cycle,
            channel: problem.channel,
            signal: problem.signal,
            expected: problem.expected,
            found: problem.found,
            place,
            seed,
        }
    }
}

/// The first output pins that differ.
fn difference(expected: &Outputs, found: &Outputs) -> Problem {
    let channels = [
        (
            Channel::Compress,
            (expected.comp_s_ready, &expected.comp_m),
            (found.comp_s_ready, &found.comp_m),
        ),
        (
            Channel::Decompress,
            (expected.decomp_s_ready, &expected.decomp_m),
            (found.decomp_s_ready, &found.decomp_m),
        ),
    ];
    for (channel, e, f) in channels {
        let bit = |b: bool| u8::from(b).to_string();
        let pairs = [
            ("s_tready_o".into(), bit(e.0), bit(f.0)),
            ("m_tvalid_o".into(), bit(e.1.valid), bit(f.1.valid)),
            ("m_tlast_o".into(), bit(e.1.last), bit(f.1.last)),
            (
                "m_tkeep_o".into(),
                format!("{:#x}", e.1.keep),
                format!("{:#x}", f.1.keep),
            ),
            ("m_tdata_o".into(), hex(&e.1.data), hex(&f.1.data)),
        ];
        let status = status_fields(&e.1.status)
            .into_iter()
            .zip(status_fields(&f.1.status))
            .map(|((name, e), (_, f))| (format!("m_tuser_o.{name}"), e.to_string(), f.to_string()));
        for (signal, e, f) in pairs.into_iter().chain(status) {
            if e != f {
                return Problem {
                    kind: FailureKind::Mismatch,
                    channel: Some(channel),
                    signal: format!("{}_{signal}", channel.prefix()),
                    expected: e,
                    found: f,
                };
            }
        }
    }
    // Not reached: every pin is in the list above.
    Problem {
        kind: FailureKind::Mismatch,
        channel: None,
        signal: "outputs".into(),
        expected: format!("{expected:?}"),
        found: format!("{found:?}"),
    }
}

fn status_fields(s: &Status) -> [(&'static str, u64); 8] {
    let [raw, zv, bp, dbp, zbp] = s.blocks;
    [
        ("error", s.error.into()),
        ("raw_bytes", s.raw_bytes),
        ("comp_bytes", s.comp_bytes),
        ("blocks_raw", raw),
        ("blocks_zv", zv),
        ("blocks_bp", bp),
        ("blocks_dbp", dbp),
        ("blocks_zbp", zbp),
    ]
}
