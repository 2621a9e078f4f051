//! The compressor core (`docs/microarchitecture.md` section 3).

use super::units::{MAX_BEATS, Units};
use super::{Beat, MAX_BEAT_BYTES, Status, StreamIn, StreamOut};
use crate::codec::encode_block;
use crate::format::{BLOCK_BYTES, Form, Header, Layout, MAX_BLOCK_LEN, MAX_HEADER_LEN};

/// Beats of the output ring.
const RING: usize = 4;
/// Most bytes that a slot has for the ring.
const MAX_SLOT: usize = MAX_HEADER_LEN + MAX_BEAT_BYTES;

/// The block that the input side gathers.
#[derive(Clone, Debug)]
struct Accumulator {
    data: [u8; BLOCK_BYTES],
    bytes: usize,
    beats: usize,
    layout: Layout,
    ends_packet: bool,
}

/// A block whose coding is decided: its bytes, and how many of them go with each beat's slot.
#[derive(Clone, Debug)]
struct Block {
    bytes: [u8; MAX_BLOCK_LEN],
    slots: [usize; MAX_BEATS],
    beats: usize,
    count: BlockCount,
}

/// What a block adds to the status.
#[derive(Clone, Copy, Debug)]
struct BlockCount {
    /// `None` for tail and null blocks.
    form: Option<Form>,
    raw_bytes: usize,
    ends_packet: bool,
}

/// The S1 register.
#[derive(Clone, Debug)]
struct Slot {
    data: [u8; MAX_SLOT],
    n: usize,
    /// Set on a block's last slot.
    block: Option<BlockCount>,
}

impl Slot {
    fn ends_packet(&self) -> bool {
        self.block.is_some_and(|b| b.ends_packet)
    }
}

#[derive(Clone, Debug)]
pub(super) struct Compressor {
    beat_bytes: usize,
    /// Beats in the input FIFO. Their bytes are in the blocks.
    fifo: usize,
    /// The next input beat is a packet's first.
    at_start: bool,
    acc: Accumulator,
    acc_done: bool,
    side: Option<Box<Block>>,
    sum: Option<Box<Block>>,
    /// Next beat of the block in `sum`, and the bytes that its slots took so far.
    sum_beat: usize,
    sum_at: usize,
    s1: Option<Slot>,
    /// Committed beats, oldest first.
    ring: [Beat; RING],
    committed: usize,
    open: [u8; MAX_BEAT_BYTES],
    open_bytes: usize,
    counters: Status,
    pend: bool,
    late: Option<BlockCount>,
}

impl Compressor {
    pub(super) fn new(beat_bytes: usize) -> Compressor {
        Compressor {
            beat_bytes,
            fifo: 0,
            at_start: true,
            acc: Accumulator {
                data: [0; BLOCK_BYTES],
                bytes: 0,
                beats: 0,
                layout: Layout::W16,
                ends_packet: false,
            },
            acc_done: false,
            side: None,
            sum: None,
            sum_beat: 0,
            sum_at: 0,
            s1: None,
            ring: [Beat::EMPTY; RING],
            committed: 0,
            open: [0; MAX_BEAT_BYTES],
            open_bytes: 0,
            counters: Status::default(),
            pend: false,
            late: None,
        }
    }

    fn s1_fires(&self) -> bool {
        self.s1.as_ref().is_some_and(|s1| {
            let beats = (self.open_bytes + s1.n).div_ceil(self.beat_bytes).max(1);
            self.committed + beats <= RING && !(self.late.is_some() && s1.block.is_some())
        })
    }

    fn pops(&self) -> bool {
        self.sum.is_some() && (self.s1.is_none() || self.s1_fires())
    }

    /// `sum` takes a block if there is one.
    fn takes(&self) -> bool {
        self.sum
            .as_ref()
            .is_none_or(|sum| self.pops() && self.sum_beat + 1 == sum.beats)
    }

    fn acc_leaves(&self) -> bool {
        self.acc_done && self.side.is_none() && (self.acc.bytes < BLOCK_BYTES || self.takes())
    }

    pub(super) fn ready(&self) -> bool {
        let depth = BLOCK_BYTES / self.beat_bytes + 1;
        (!self.acc_done || self.acc_leaves()) && (self.fifo < depth || self.pops())
    }

    pub(super) fn output(&self, pins: &mut StreamOut) {
        if self.committed == 0 {
            *pins = StreamOut::default();
            return;
        }
        let beat = self.ring[0];
        let status = if beat.last {
            Status {
                comp_bytes: self.counters.comp_bytes + beat.len as u64,
                ..self.counters
            }
        } else {
            Status::default()
        };
        *pins = beat.to_pins(status);
    }

    pub(super) fn step(&mut self, s: &StreamIn, m_ready: bool) {
        let input = s.valid && self.ready();
        let s1_fires = self.s1_fires();
        let pops = self.pops();
        let takes = self.takes();
        let acc_leaves = self.acc_leaves();

        // Output.
        let mut leave = false;
        if self.committed > 0 && m_ready {
            let beat = self.ring[0];
            leave = beat.last;
            self.counters.comp_bytes += beat.len as u64;
            self.ring.copy_within(1.., 0);
            self.committed -= 1;
        }

        // S1 to ring, counters.
        let fired = if s1_fires { self.s1.take() } else { None };
        self.count(leave, fired.as_ref().and_then(|slot| slot.block));
        if let Some(slot) = fired {
            self.pack(&slot);
        }

        // S0.
        if pops && let Some(sum) = &self.sum {
            let n = sum.slots[self.sum_beat];
            let mut data = [0; MAX_SLOT];
            data[..n].copy_from_slice(&sum.bytes[self.sum_at..self.sum_at + n]);
            let last = self.sum_beat + 1 == sum.beats;
            self.s1 = Some(Slot {
                data,
                n,
                block: last.then_some(sum.count),
            });
            self.sum_at += n;
            self.sum_beat += 1;
            self.fifo -= 1;
            if last {
                self.sum = None;
            }
        }

        // Decision.
        if takes {
            if let Some(side) = self.side.take() {
                self.load_sum(side);
            } else if self.acc_done {
                let block = self.decide();
                self.load_sum(block);
            }
        } else if acc_leaves {
            self.side = Some(self.decide());
        }
        if acc_leaves {
            self.acc_done = false;
            self.acc.bytes = 0;
            self.acc.beats = 0;
        }

        // Input.
        if input {
            self.accept(s);
        }
    }

    fn load_sum(&mut self, block: Box<Block>) {
        self.sum = Some(block);
        self.sum_beat = 0;
        self.sum_at = 0;
    }

    /// `leave`: a packet's last beat leaves; `fired`: the block whose last slot fires.
    fn count(&mut self, leave: bool, fired: Option<BlockCount>) {
        if self.pend && !leave {
            if fired.is_some() {
                self.late = fired;
            }
            return;
        }
        if leave {
            self.counters = Status::default();
        }
        let block = self.late.take().or(fired);
        self.pend = block.is_some_and(|b| b.ends_packet);
        if let Some(block) = block {
            self.counters.raw_bytes += block.raw_bytes as u64;
            if let Some(form) = block.form {
                self.counters.blocks[form as usize] += 1;
            }
        }
    }

    /// Writes a slot's bytes behind the open beat's and commits what is known to be complete.
    fn pack(&mut self, slot: &Slot) {
        let b = self.beat_bytes;
        let mut bytes = [0; MAX_BEAT_BYTES + MAX_SLOT];
        bytes[..self.open_bytes].copy_from_slice(&self.open[..self.open_bytes]);
        bytes[self.open_bytes..self.open_bytes + slot.n].copy_from_slice(&slot.data[..slot.n]);
        let total = self.open_bytes + slot.n;
        let beats = total.div_ceil(b);
        let commits = if slot.ends_packet() {
            beats.max(1)
        } else {
            beats.saturating_sub(1)
        };
        for i in 0..commits {
            let part = &bytes[(i * b).min(total)..((i + 1) * b).min(total)];
            let beat = &mut self.ring[self.committed];
            *beat = Beat::EMPTY;
            beat.data[..part.len()].copy_from_slice(part);
            beat.len = part.len();
            beat.last = slot.ends_packet() && i + 1 == commits;
            self.committed += 1;
        }
        let rest = &bytes[(commits * b).min(total)..total];
        self.open[..rest.len()].copy_from_slice(rest);
        self.open_bytes = rest.len();
    }

    /// The block in the accumulators, coded.
    fn decide(&self) -> Box<Block> {
        let acc = &self.acc;
        let mut block = Box::new(Block {
            bytes: [0; MAX_BLOCK_LEN],
            slots: [0; MAX_BEATS],
            beats: acc.beats,
            count: BlockCount {
                form: None,
                raw_bytes: acc.bytes,
                ends_packet: acc.ends_packet,
            },
        });
        let header = match acc.bytes {
            0 => return block,
            BLOCK_BYTES => {
                let (form, len) = encode_block(acc.layout, &acc.data, &mut block.bytes);
                block.count.form = Some(form);
                Header::parse(acc.layout, &block.bytes[..len]).unwrap_or(Header::Raw)
            }
            len => {
                let header = Header::Tail { len };
                let at = header.write(acc.layout, &mut block.bytes);
                block.bytes[at..at + len].copy_from_slice(&acc.data[..len]);
                header
            }
        };
        let units = Units::new(acc.layout, &header, self.beat_bytes);
        let mut before = 0;
        for j in 0..acc.beats {
            let completed = units.completed(j);
            block.slots[j] = units.span(before, completed);
            before = completed;
        }
        block.slots[0] += header.header_len(acc.layout);
        block
    }

    fn accept(&mut self, s: &StreamIn) {
        self.fifo += 1;
        let acc = &mut self.acc;
        if self.at_start {
            acc.layout = if s.dtype & 2 == 0 {
                Layout::W16
            } else {
                Layout::W32
            };
        }
        let beat = Beat::from_pins(s, self.beat_bytes);
        acc.data[acc.bytes..acc.bytes + beat.len].copy_from_slice(&beat.data[..beat.len]);
        acc.bytes += beat.len;
        acc.beats += 1;
        acc.ends_packet = beat.last;
        self.at_start = beat.last;
        self.acc_done = beat.last || acc.beats == BLOCK_BYTES / self.beat_bytes;
    }
}
