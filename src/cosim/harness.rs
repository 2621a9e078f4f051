//! The lock-step loop.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Instant;

use rand::Rng;

use super::report::{Channel, ChannelReport, Failure, FailureKind, Place, Report};
use super::stall::{Profile, Stalls};
use super::work::headers;
use super::{DecodeJob, Dut, EncodeJob, StimulusRng, Work, rng};
use crate::codec::Verdict;
use crate::format::{BLOCK_BYTES, Dtype, Header};
use crate::model::{Engine, Inputs, MAX_BEAT_BYTES, Outputs, Status, StreamIn, StreamOut};

/// Cycles without a handshake on a channel, all ends willing, that count as a hang. The engine's longest pause
/// with willing ends is below 20 cycles.
const HANG_CYCLES: u32 = 200;
/// Idle cycles after the last packet, in which nothing may come out.
const DRAIN_CYCLES: u32 = 32;
/// A channel that is ahead of the other by so many packets or bytes waits for it.
const MAX_QUEUED: usize = 256;
const MAX_QUEUED_BYTES: usize = 16 << 20;
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
            let packet = c.report.packets - u64::from(m.last);
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

/// A failure before it is put into the run's context.
struct Problem {
    kind: FailureKind,
    channel: Option<Channel>,
    signal: String,
    expected: String,
    found: String,
}

/// A packet of one channel.
struct Task {
    label: String,
    dtype: Dtype,
    send: Arc<Vec<u8>>,
    /// What comes out; after an error, what comes out at the least.
    expect: Arc<Vec<u8>>,
    status: Status,
    /// Made by an encoder: its blocks are counted.
    encoded: bool,
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
        let hungry = |l: &Lane| self.direction.uses(l.channel) && l.queue.is_empty();
        while !self.exhausted && (hungry(c) || hungry(d)) && !c.is_ahead() && !d.is_ahead() {
            match work.next().transpose()? {
                None => self.exhausted = true,
                Some(Work::Encode(job)) => {
                    if self.direction.uses(Channel::Compress) {
                        c.add(compress_task(&job));
                    }
                    if self.direction.uses(Channel::Decompress) {
                        d.add(decompress_task(&job));
                    }
                    self.packets += 1;
                }
                Some(Work::Decode(job)) => {
                    if self.direction.uses(Channel::Decompress) {
                        d.add(decode_task(&job));
                    }
                }
            }
        }
        Ok(())
    }

    fn blocks(&self) -> u64 {
        match self.direction {
            Direction::Compress => self.compress.encoded_blocks,
            Direction::Decompress => self.decompress.encoded_blocks,
            Direction::Both => self.compress.encoded_blocks.min(self.decompress.encoded_blocks),
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

fn encoded_status(job: &EncodeJob) -> Status {
    Status {
        error: Verdict::Ok as u8,
        raw_bytes: job.stats.raw_bytes,
        comp_bytes: job.stats.comp_bytes,
        blocks: job.stats.blocks,
    }
}

fn compress_task(job: &EncodeJob) -> Task {
    Task {
        label: job.label.clone(),
        dtype: job.dtype,
        send: job.raw.clone(),
        expect: job.stream.clone(),
        status: encoded_status(job),
        encoded: true,
    }
}

fn decompress_task(job: &EncodeJob) -> Task {
    Task {
        label: job.label.clone(),
        dtype: job.dtype,
        send: job.stream.clone(),
        expect: job.raw.clone(),
        status: encoded_status(job),
        encoded: true,
    }
}

fn decode_task(job: &DecodeJob) -> Task {
    Task {
        label: job.label.clone(),
        dtype: job.dtype,
        send: job.stream.clone(),
        expect: job.raw.clone(),
        status: Status {
            error: job.verdict as u8,
            raw_bytes: job.raw.len() as u64,
            comp_bytes: job.stream.len() as u64,
            blocks: job.blocks,
        },
        encoded: false,
    }
}

/// Bytes for pins that mean nothing in a cycle.
struct Junk {
    table: Vec<u8>,
    at: usize,
}

impl Junk {
    fn next(&mut self) -> &[u8] {
        // A stride that has no factor in common with the table visits all of it.
        self.at = (self.at + 61) % (self.table.len() - 2 * MAX_BEAT_BYTES);
        &self.table[self.at..self.at + 2 * MAX_BEAT_BYTES]
    }
}

/// One channel: what goes in, what has to come out.
struct Lane {
    channel: Channel,
    beat_bytes: usize,
    stalls: Stalls,
    rng: StimulusRng,
    junk: Junk,
    /// Chance of a null beat after a packet that fills its beats.
    null_chance: f64,
    /// To be sent; `at` bytes of the first are, and `offer` is its current beat.
    queue: VecDeque<Arc<Task>>,
    queued_bytes: usize,
    at: usize,
    offer: StreamIn,
    /// The offer was shown and not taken: it has to stay.
    held: bool,
    /// Not yet come out; `got` bytes of the first have.
    awaited: VecDeque<Arc<Task>>,
    got: usize,
    /// The output in the cycle before, if it was not taken.
    stalled: Option<StreamOut>,
    quiet: u32,
    report: ChannelReport,
    encoded_blocks: u64,
    first_raw: Option<u64>,
    last_raw: u64,
}

impl Lane {
    fn new(channel: Channel, config: &Config) -> Lane {
        let stream = channel as u64 * 4;
        let mut rng_data = rng(config.seed, 100 + stream);
        let mut table = vec![0; 4099 + 2 * MAX_BEAT_BYTES];
        rng_data.fill(&mut table[..]);
        Lane {
            channel,
            beat_bytes: config.beat_bytes,
            stalls: Stalls::new(config.stalls, rng(config.seed, 101 + stream)),
            rng: rng_data,
            junk: Junk { table, at: 0 },
            // Null beats take cycles: none where throughput is measured.
            null_chance: if config.stalls == Profile::None { 0.0 } else { 0.25 },
            queue: VecDeque::new(),
            queued_bytes: 0,
            at: 0,
            offer: StreamIn::default(),
            held: false,
            awaited: VecDeque::new(),
            got: 0,
            stalled: None,
            quiet: 0,
            report: ChannelReport::default(),
            encoded_blocks: 0,
            first_raw: None,
            last_raw: 0,
        }
    }

    fn is_done(&self) -> bool {
        self.queue.is_empty() && self.awaited.is_empty()
    }

    fn is_ahead(&self) -> bool {
        self.queue.len() > MAX_QUEUED || (self.queue.len() > 1 && self.queued_bytes > MAX_QUEUED_BYTES)
    }

    fn add(&mut self, task: Task) {
        let task = Arc::new(task);
        self.queued_bytes += task.send.len();
        self.queue.push_back(task.clone());
        self.awaited.push_back(task);
        if self.queue.len() == 1 {
            self.at = 0;
            self.make_offer();
        }
    }

    /// The beat at `at` of the packet that is being sent.
    fn make_offer(&mut self) {
        let Some(task) = self.queue.front() else {
            return;
        };
        let rest = &task.send[self.at..];
        let n = rest.len().min(self.beat_bytes);
        let junk = self.junk.next();
        let s = &mut self.offer;
        s.data.copy_from_slice(&junk[..MAX_BEAT_BYTES]);
        s.data[..n].copy_from_slice(&rest[..n]);
        s.dtype = if self.at == 0 {
            task.dtype.sideband()
        } else {
            junk[MAX_BEAT_BYTES] & 3
        };
        // A packet that fills its beats may end with them, or with a null beat. Past the bytes only that is left.
        s.last = if rest.len() == self.beat_bytes {
            !(self.null_chance > 0.0 && self.rng.random_bool(self.null_chance))
        } else {
            rest.len() < self.beat_bytes
        };
        s.keep = if s.last {
            ((1u128 << n) - 1) as u64
        } else {
            u64::from_le_bytes([junk[MAX_BEAT_BYTES + 1]; 8])
        };
        s.valid = true;
    }

    /// Drives the input pins; returns the receiver's ready.
    fn drive(&mut self, pins: &mut StreamIn, s_ready: bool, m_valid: bool) -> bool {
        let (offers, accepts) = self.stalls.next(s_ready, m_valid);
        if !self.queue.is_empty() && (offers || self.held) {
            pins.clone_from(&self.offer);
        } else {
            let junk = self.junk.next();
            pins.data.copy_from_slice(&junk[..MAX_BEAT_BYTES]);
            pins.keep = u64::from_le_bytes([junk[MAX_BEAT_BYTES]; 8]);
            pins.dtype = junk[MAX_BEAT_BYTES + 1] & 3;
            pins.last = junk[MAX_BEAT_BYTES + 2] & 1 == 1;
            pins.valid = false;
        }
        accepts
    }

    fn problem(&self, kind: FailureKind, signal: &str, expected: String, found: String) -> Problem {
        Problem {
            kind,
            channel: Some(self.channel),
            signal: format!("{}_{signal}", self.channel.prefix()),
            expected,
            found,
        }
    }

    /// Looks at one cycle of the channel and moves on.
    fn check(
        &mut self,
        cycle: u64,
        s: &StreamIn,
        s_ready: bool,
        m: &StreamOut,
        m_ready: bool,
    ) -> Result<(), Problem> {
        self.check_protocol(m)?;
        let (input, output) = (s.valid && s_ready, m.valid && m_ready);
        self.held = s.valid && !s_ready;
        if input {
            self.sent(s.last);
        }
        if output {
            self.check_beat(m)?;
        }
        self.stalled = (m.valid && !m_ready).then(|| m.clone());
        let raw = match self.channel {
            Channel::Compress => input,
            Channel::Decompress => output,
        };
        let stream = if self.channel == Channel::Compress {
            output
        } else {
            input
        };
        self.report.raw_beats += u64::from(raw);
        self.report.stream_beats += u64::from(stream);
        if raw {
            self.first_raw.get_or_insert(cycle);
            self.last_raw = cycle;
        }

        // Progress: quiet cycles count while it is not us who hold the channel up.
        if input || output || self.is_done() {
            self.quiet = 0;
        } else if (m_ready || !m.valid) && (s.valid || self.queue.is_empty()) {
            self.quiet += 1;
            if self.quiet > HANG_CYCLES {
                return Err(self.problem(
                    FailureKind::Hang,
                    "progress",
                    format!("a handshake within {HANG_CYCLES} cycles of willing ends"),
                    format!("{} packets that have not come out", self.awaited.len()),
                ));
            }
        }
        Ok(())
    }

    fn sent(&mut self, last: bool) {
        if last {
            if let Some(task) = self.queue.pop_front() {
                self.queued_bytes -= task.send.len();
            }
            self.at = 0;
        } else {
            self.at += self.beat_bytes;
        }
        self.make_offer();
    }

    fn check_protocol(&self, m: &StreamOut) -> Result<(), Problem> {
        let protocol = |signal: &str, expected: &str, found: String| {
            Err(self.problem(FailureKind::Protocol, signal, expected.into(), found))
        };
        if let Some(before) = &self.stalled
            && before != m
        {
            return protocol(
                "m_tvalid",
                "the beat of the cycle before, as it was not taken",
                beat(m),
            );
        }
        if !m.valid {
            return Ok(());
        }
        let n = m.keep.trailing_ones() as usize;
        if m.keep.checked_shr(n as u32).unwrap_or(0) != 0 || n > self.beat_bytes {
            return protocol(
                "m_tkeep",
                "ones from bit 0 on, within the beat",
                format!("{:#x}", m.keep),
            );
        }
        if !m.last {
            if n != self.beat_bytes {
                return protocol(
                    "m_tkeep",
                    "all ones on a beat that is not last",
                    format!("{:#x}", m.keep),
                );
            }
            if m.status != Status::default() {
                return protocol(
                    "m_tuser",
                    "zero on a beat that is not last",
                    format!("{:?}", m.status),
                );
            }
        }
        if m.data[n..].iter().any(|b| *b != 0) {
            return protocol("m_tdata", "zeros beyond tkeep", hex(&m.data));
        }
        Ok(())
    }

    /// Compares a beat that leaves with what has to come out.
    fn check_beat(&mut self, m: &StreamOut) -> Result<(), Problem> {
        let golden = |lane: &Lane, signal: &str, expected: String, found: String| {
            Err(lane.problem(FailureKind::Golden, signal, expected, found))
        };
        let Some(task) = self.awaited.front().cloned() else {
            return golden(
                self,
                "m_tvalid",
                "nothing: all packets have come out".into(),
                beat(m),
            );
        };
        let bytes = &m.data[..m.keep.trailing_ones() as usize];
        let broken = task.status.error != Verdict::Ok as u8;
        let rest = &task.expect[self.got.min(task.expect.len())..];
        let known = rest.len().min(bytes.len());
        if bytes[..known] != rest[..known] {
            let to = bytes.len().min(rest.len());
            return golden(self, "m_tdata", hex(&rest[..to]), hex(bytes));
        }
        // Beats of a block that turned out to be broken may have gone out before that was known.
        let most = task.expect.len() + if broken { BLOCK_BYTES - 1 } else { 0 };
        let got = self.got + bytes.len();
        if got > most || (m.last && got < task.expect.len()) {
            let expected = format!("{} bytes in the packet", task.expect.len());
            return golden(
                self,
                "m_tlast",
                expected,
                format!("{got} bytes, tlast = {}", m.last),
            );
        }
        self.got = got;
        if !m.last {
            return Ok(());
        }
        let mut status = task.status;
        if broken {
            status.raw_bytes = got as u64;
        }
        if m.status != status {
            return golden(self, "m_tuser", format!("{status:?}"), format!("{:?}", m.status));
        }
        self.finish(&task, status);
        Ok(())
    }

    fn finish(&mut self, task: &Task, status: Status) {
        self.awaited.pop_front();
        self.got = 0;
        let report = &mut self.report;
        report.packets += 1;
        report.raw_bytes += status.raw_bytes;
        report.stream_bytes += status.comp_bytes;
        for (sum, n) in report.blocks_by_form.iter_mut().zip(status.blocks) {
            *sum += n;
        }
        let full: u64 = status.blocks.iter().sum();
        let tail = status.error == Verdict::Ok as u8 && !status.raw_bytes.is_multiple_of(BLOCK_BYTES as u64);
        let blocks = full + u64::from(tail);
        report.blocks += blocks;
        if task.encoded {
            self.encoded_blocks += blocks;
        } else {
            *report.verdicts.entry(verdict_name(status.error)).or_default() += 1;
        }
    }

    /// Where the channel's output is.
    fn place(&self) -> Option<Place> {
        let task = self.awaited.front()?;
        let stream = match self.channel {
            Channel::Compress => &task.expect,
            Channel::Decompress => &task.send,
        };
        let mut raw = 0;
        let at = headers(task.dtype.layout(), stream).position(|(offset, header)| {
            raw += header.raw_len();
            match self.channel {
                Channel::Compress => offset + header.block_len(task.dtype.layout()) > self.got,
                Channel::Decompress => raw > self.got,
            }
        });
        let count = headers(task.dtype.layout(), stream).count();
        let block = at.unwrap_or(count);
        let form =
            headers(task.dtype.layout(), stream)
                .nth(block)
                .map_or("none", |(_, header)| match header {
                    Header::Tail { .. } => "tail",
                    h => h.form().map_or("tail", |f| f.name()),
                });
        Some(Place {
            packet: self.report.packets,
            label: task.label.clone(),
            block: block as u64,
            form,
            output_offset: self.got as u64,
        })
    }

    fn report(&mut self, config: &Config) -> ChannelReport {
        let mut report = std::mem::take(&mut self.report);
        if config.stalls == Profile::None
            && let Some(first) = self.first_raw
        {
            report.raw_beats_per_cycle = Some(report.raw_beats as f64 / (self.last_raw - first + 1) as f64);
        }
        report
    }
}

fn verdict_name(error: u8) -> &'static str {
    [
        Verdict::Ok,
        Verdict::BadHeader,
        Verdict::Truncated,
        Verdict::Trailing,
    ]
    .into_iter()
    .find(|v| *v as u8 == error)
    .map_or("unknown", Verdict::name)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut s, b| {
        // Writing to a string does not fail.
        let _ = write!(s, "{b:02x}");
        s
    })
}

fn beat(m: &StreamOut) -> String {
    format!(
        "tvalid {} tlast {} tkeep {:#x} tdata {}",
        u8::from(m.valid),
        u8::from(m.last),
        m.keep,
        hex(&m.data)
    )
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

#[cfg(test)]
mod tests {
    use super::*;

    fn lane() -> Lane {
        let config = Config {
            beat_bytes: 32,
            direction: Direction::Both,
            stalls: Profile::None,
            seed: 1,
        };
        let mut lane = Lane::new(Channel::Compress, &config);
        let job = EncodeJob::new("packet".into(), Dtype::Bf16, vec![7; 40]);
        lane.add(compress_task(&job));
        lane
    }

    fn full_beat() -> StreamOut {
        StreamOut {
            keep: 0xffff_ffff,
            valid: true,
            ..StreamOut::default()
        }
    }

    #[test]
    fn a_channel_that_does_not_move_is_a_hang_only_if_its_ends_are_willing() {
        let mut s = StreamIn::default();
        let idle = StreamOut::default();
        // The sender offers, the engine never takes.
        let mut stuck = lane();
        let cycles = (0..1000).find(|&cycle| {
            stuck.drive(&mut s, false, false);
            match stuck.check(cycle, &s, false, &idle, true) {
                Ok(()) => false,
                Err(p) => p.kind == FailureKind::Hang,
            }
        });
        assert_eq!(cycles, Some(u64::from(HANG_CYCLES)));
        // The sender pauses, or the receiver holds up a beat: not the engine's fault.
        let mut paused = lane();
        let mut blocked = lane();
        for cycle in 0..1000 {
            assert!(
                paused
                    .check(cycle, &StreamIn::default(), true, &idle, true)
                    .is_ok()
            );
            blocked.drive(&mut s, false, true);
            assert!(blocked.check(cycle, &s, false, &full_beat(), false).is_ok());
        }
    }

    #[test]
    fn breaches_of_the_stream_rules_are_found() {
        let breaches: [(&str, fn(&mut StreamOut)); 6] = [
            ("comp_m_tkeep", |m| m.keep = 0xffff_fffd),
            ("comp_m_tkeep", |m| m.keep = 0x7fff_ffff),
            ("comp_m_tkeep", |m| m.keep = u64::MAX),
            ("comp_m_tkeep", |m| (m.keep, m.last) = (0b1011, true)),
            ("comp_m_tdata", |m| (m.keep, m.last, m.data[3]) = (0b111, true, 1)),
            ("comp_m_tuser", |m| m.status.error = 1),
        ];
        for (signal, breach) in breaches {
            let mut m = full_beat();
            assert!(lane().check_protocol(&m).is_ok());
            breach(&mut m);
            let problem = lane().check_protocol(&m).unwrap_err();
            assert_eq!(
                (problem.kind, problem.signal.as_str()),
                (FailureKind::Protocol, signal)
            );
        }
        // Withdrawn or changed while it was not taken.
        for after in [
            StreamOut::default(),
            StreamOut {
                last: true,
                ..full_beat()
            },
        ] {
            let mut lane = lane();
            lane.stalled = Some(full_beat());
            assert!(lane.check_protocol(&full_beat()).is_ok());
            let problem = lane.check_protocol(&after).unwrap_err();
            assert_eq!(problem.signal, "comp_m_tvalid");
        }
    }
}
