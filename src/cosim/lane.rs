//! One channel of a run: what goes in, what has to come out.

use std::collections::VecDeque;
use std::fmt::Write as _;
use std::sync::Arc;

use rand::Rng;

use super::harness::Config;
use super::report::{Channel, ChannelReport, FailureKind, Place};
use super::stall::{Profile, Stalls};
use super::work::headers;
use super::{DecodeJob, EncodeJob, StimulusRng, rng};
use crate::codec::Verdict;
use crate::format::{BLOCK_BYTES, Dtype, Header};
use crate::model::{MAX_BEAT_BYTES, Status, StreamIn, StreamOut};

/// Cycles without a handshake on a channel, all ends willing, that count as a hang. The engine's longest pause
/// with willing ends is below 20 cycles.
const HANG_CYCLES: u32 = 200;
/// A channel that is ahead of the other by so many packets or bytes waits for it.
const MAX_QUEUED: usize = 256;
const MAX_QUEUED_BYTES: usize = 16 << 20;

/// A failure before it is put into the run's context.
pub(super) struct Problem {
    pub(super) kind: FailureKind,
    pub(super) channel: Option<Channel>,
    pub(super) signal: String,
    pub(super) expected: String,
    pub(super) found: String,
}

/// A packet of one channel.
pub(super) struct Task {
    label: String,
    dtype: Dtype,
    send: Arc<Vec<u8>>,
    /// What comes out; after an error, what comes out at the least.
    expect: Arc<Vec<u8>>,
    status: Status,
    /// Made by an encoder: its blocks are counted.
    encoded: bool,
}

impl Task {
    /// What the compressor has to do.
    pub(super) fn compress(job: &EncodeJob) -> Task {
        Task {
            label: job.label.clone(),
            dtype: job.dtype,
            send: job.raw.clone(),
            expect: job.stream.clone(),
            status: encoded_status(job),
            encoded: true,
        }
    }

    /// The same backwards, for the decompressor.
    pub(super) fn decompress(job: &EncodeJob) -> Task {
        let forth = Task::compress(job);
        Task {
            send: forth.expect,
            expect: forth.send,
            ..forth
        }
    }

    /// What the decompressor has to do with bytes that no encoder made.
    pub(super) fn decode(job: &DecodeJob) -> Task {
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
}

fn encoded_status(job: &EncodeJob) -> Status {
    Status {
        error: Verdict::Ok as u8,
        raw_bytes: job.stats.raw_bytes,
        comp_bytes: job.stats.comp_bytes,
        blocks: job.stats.blocks,
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
pub(super) struct Lane {
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
    pub(super) fn new(channel: Channel, config: &Config) -> Lane {
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

    pub(super) fn channel(&self) -> Channel {
        self.channel
    }

    /// Packets that have come out.
    pub(super) fn packets(&self) -> u64 {
        self.report.packets
    }

    /// Blocks that have come out of packets that an encoder made, tails included.
    pub(super) fn encoded_blocks(&self) -> u64 {
        self.encoded_blocks
    }

    /// Nothing is left to be sent.
    pub(super) fn is_hungry(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn is_done(&self) -> bool {
        self.queue.is_empty() && self.awaited.is_empty()
    }

    pub(super) fn is_ahead(&self) -> bool {
        self.queue.len() > MAX_QUEUED || (self.queue.len() > 1 && self.queued_bytes > MAX_QUEUED_BYTES)
    }

    pub(super) fn add(&mut self, task: Task) {
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
    pub(super) fn drive(&mut self, pins: &mut StreamIn, s_ready: bool, m_valid: bool) -> bool {
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
    pub(super) fn check(
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
    pub(super) fn place(&self) -> Option<Place> {
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

    pub(super) fn report(&mut self, config: &Config) -> ChannelReport {
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

pub(super) fn hex(bytes: &[u8]) -> String {
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

#[cfg(test)]
mod tests {
    use super::super::harness::Direction;
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
        lane.add(Task::compress(&job));
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
        type Breach = fn(&mut StreamOut);
        let breaches: [(&str, Breach); 6] = [
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
