//! The decompressor core (`docs/microarchitecture.md` section 4).

use super::units::Units;
use super::{Beat, MAX_BEAT_BYTES, Status, StreamIn, StreamOut};
use crate::codec::{Verdict, decode_block};
use crate::format::{BLOCK_BYTES, Header, HeaderError, Layout, MAX_HEADER_LEN};

/// Entries of the input FIFO.
const FIFO: usize = 4;
/// Room for the longest block that a header can claim (139 bytes, for which the encoder would take RAW).
const MAX_CLAIM: usize = 144;
/// Blocks that the stages can hold at once: `hdr`, S1, S2.
const IN_FLIGHT: usize = 3;

#[derive(Clone, Copy, Debug)]
struct Entry {
    beat: Beat,
    layout: Layout,
}

/// A position in the FIFO: entry and byte in it.
#[derive(Clone, Copy, Debug, Default)]
struct Position {
    entry: usize,
    off: usize,
}

/// What follows a position.
#[derive(Clone, Copy, Debug)]
struct Run {
    avail: usize,
    ended: bool,
    /// One past the run's last entry.
    end: usize,
}

/// A block as far as its bytes were fetched.
#[derive(Clone, Debug)]
struct Block {
    layout: Layout,
    header: Header,
    units: Units,
    slots: usize,
    bytes: [u8; MAX_CLAIM],
    fetched: usize,
    /// All raw bytes, once all payload was there.
    raw: Option<[u8; BLOCK_BYTES]>,
}

impl Block {
    /// Raw bytes of beat `j` into `out`; needs the units of slots 0..=j+1. Returns how many.
    fn beat(&mut self, j: usize, beat_bytes: usize, out: &mut [u8; MAX_BEAT_BYTES]) -> usize {
        let from = j * beat_bytes;
        let to = self.header.raw_len().min(from + beat_bytes);
        let mut raw = [0; BLOCK_BYTES];
        let part = if let Some(raw) = &self.raw {
            &raw[from..to]
        } else {
            // Bytes not yet fetched read as zero; this beat does not depend on them.
            let len = self.header.block_len(self.layout);
            if decode_block(self.layout, &self.bytes[..len], &mut raw).is_ok() && self.fetched == len {
                self.raw = Some(raw);
            }
            &raw[from..to]
        };
        out[..part.len()].copy_from_slice(part);
        part.len()
    }
}

/// The header register.
#[derive(Clone, Copy, Debug)]
enum Hdr {
    Block { index: usize, j: usize },
    Null,
    Error(Verdict),
}

/// A slot in S1 or S2.
#[derive(Clone, Copy, Debug)]
struct Slot {
    kind: SlotKind,
    /// The packet's input bytes, if the slot ends it.
    ends_packet: Option<u64>,
}

#[derive(Clone, Copy, Debug)]
enum SlotKind {
    Beat { index: usize, j: usize, fin: bool },
    Null,
    Error(Verdict),
}

impl Slot {
    fn fin(&self) -> bool {
        !matches!(self.kind, SlotKind::Beat { fin: false, .. })
    }

    fn is_error(&self) -> bool {
        matches!(self.kind, SlotKind::Error(_))
    }
}

#[derive(Clone, Debug)]
pub(super) struct Decompressor {
    beat_bytes: usize,
    /// The next input beat is a packet's first; the layout of the packet that comes in.
    in_start: bool,
    in_layout: Layout,
    fifo: [Entry; FIFO],
    entries: usize,
    /// Byte of the head entry that is read next.
    off: usize,
    at_start: bool,
    layout: Layout,
    /// Bytes of the current packet's entries that were freed.
    packet_bytes: u64,
    hdr: Option<Hdr>,
    blocks: [Block; IN_FLIGHT],
    next_block: usize,
    s1: Option<Slot>,
    s2: Option<Slot>,
    out: Option<(Beat, Status)>,
    counters: Status,
}

impl Decompressor {
    pub(super) fn new(beat_bytes: usize) -> Decompressor {
        let block = Block {
            layout: Layout::W16,
            header: Header::Raw,
            units: Units::default(),
            slots: 0,
            bytes: [0; MAX_CLAIM],
            fetched: 0,
            raw: None,
        };
        Decompressor {
            beat_bytes,
            in_start: true,
            in_layout: Layout::W16,
            fifo: [Entry {
                beat: Beat::EMPTY,
                layout: Layout::W16,
            }; FIFO],
            entries: 0,
            off: 0,
            at_start: true,
            layout: Layout::W16,
            packet_bytes: 0,
            hdr: None,
            blocks: [block.clone(), block.clone(), block],
            next_block: 0,
            s1: None,
            s2: None,
            out: None,
            counters: Status::default(),
        }
    }

    pub(super) fn ready(&self) -> bool {
        self.entries < FIFO
    }

    pub(super) fn output(&self, pins: &mut StreamOut) {
        *pins = match self.out {
            Some((beat, status)) => beat.to_pins(status),
            None => StreamOut::default(),
        };
    }

    pub(super) fn step(&mut self, s: &StreamIn, m_ready: bool) {
        let input = s.valid && self.ready();
        let out_free = self.out.is_none() || m_ready;
        let s1_error = self.s1.as_ref().is_some_and(Slot::is_error);
        let (s2_fires, s2_drops) = match &self.s2 {
            None => (false, false),
            Some(slot) if slot.fin() => (out_free, false),
            Some(_) => (out_free && self.s1.is_some() && !s1_error, s1_error),
        };
        let s1_fires = self.s1.is_some() && (self.s2.is_none() || s2_fires || s2_drops);
        let s1_ready = self.s1.is_none() || s1_fires;

        // Out register.
        if out_free {
            self.out = None;
        }
        if s2_fires && let Some(slot) = self.s2 {
            self.out = Some(self.emit(&slot));
        }

        // S1 to S2.
        if s2_fires || s2_drops {
            self.s2 = None;
        }
        if s1_fires {
            self.s2 = self.s1.take();
        }

        // S0 and parse, over the entries valid at the start of the cycle.
        let mut position = Position {
            entry: 0,
            off: self.off,
        };
        if self.s0(&mut position, s1_ready) {
            self.parse(&mut position);
        }
        self.free(position);

        // Input.
        if input {
            if self.in_start {
                self.in_layout = if s.dtype & 2 == 0 {
                    Layout::W16
                } else {
                    Layout::W32
                };
            }
            self.in_start = s.last;
            self.fifo[self.entries] = Entry {
                beat: Beat::from_pins(s, self.beat_bytes),
                layout: self.in_layout,
            };
            self.entries += 1;
        }
    }

    /// A slot leaves S2: its beat for the out register, with the status counters moved on.
    fn emit(&mut self, slot: &Slot) -> (Beat, Status) {
        let mut beat = Beat::EMPTY;
        match slot.kind {
            SlotKind::Beat { index, j, fin } => {
                let block = &mut self.blocks[index];
                beat.len = block.beat(j, self.beat_bytes, &mut beat.data);
                self.counters.raw_bytes += beat.len as u64;
                if fin && let Some(form) = block.header.form() {
                    self.counters.blocks[form as usize] += 1;
                }
            }
            SlotKind::Null => {}
            SlotKind::Error(verdict) => self.counters.error = verdict as u8,
        }
        let mut status = Status::default();
        if let Some(comp_bytes) = slot.ends_packet {
            beat.last = true;
            self.counters.comp_bytes = comp_bytes;
            status = std::mem::take(&mut self.counters);
        }
        (beat, status)
    }

    fn run(&self, position: Position) -> Run {
        let mut run = Run {
            avail: 0,
            ended: false,
            end: position.entry,
        };
        for entry in &self.fifo[position.entry..self.entries] {
            run.avail += entry.beat.len;
            run.end += 1;
            if entry.beat.last {
                run.ended = true;
                break;
            }
        }
        run.avail -= position.off;
        run
    }

    /// Copies bytes from a position on.
    fn peek(&self, mut position: Position, out: &mut [u8]) {
        let mut at = 0;
        while at < out.len() {
            let beat = &self.fifo[position.entry].beat;
            let n = (beat.len - position.off).min(out.len() - at);
            out[at..at + n].copy_from_slice(&beat.data[position.off..position.off + n]);
            at += n;
            position = Position {
                entry: position.entry + 1,
                off: 0,
            };
        }
    }

    /// Moves a position on by `n` bytes: off entries used up, except a packet's last.
    fn advance(&self, position: &mut Position, n: usize) {
        position.off += n;
        while position.entry < self.entries {
            let beat = &self.fifo[position.entry].beat;
            if beat.last || position.off < beat.len {
                break;
            }
            position.off -= beat.len;
            position.entry += 1;
        }
    }

    /// One cycle of S0; returns whether the header register is free for the parse step.
    fn s0(&mut self, position: &mut Position, s1_ready: bool) -> bool {
        let run = self.run(*position);
        match self.hdr {
            None => true,
            Some(Hdr::Block { index, j }) => {
                let block = &self.blocks[index];
                let fin = j + 1 == block.slots;
                let tail = matches!(block.header, Header::Tail { .. });
                let before = if j == 0 { 0 } else { block.units.fetched(j - 1) };
                let n = block.units.span(before, block.units.fetched(j));
                if run.ended && run.avail < n {
                    self.hdr = Some(Hdr::Error(Verdict::Truncated));
                    return false;
                }
                if tail && fin && run.avail > n {
                    self.hdr = Some(Hdr::Error(Verdict::Trailing));
                    return false;
                }
                if !s1_ready || run.avail < n || (fin && run.avail == n && !run.ended) {
                    return false;
                }
                let mut bytes = [0; MAX_BEAT_BYTES];
                self.peek(*position, &mut bytes[..n]);
                let block = &mut self.blocks[index];
                block.bytes[block.fetched..block.fetched + n].copy_from_slice(&bytes[..n]);
                block.fetched += n;
                let ends = fin && run.ended && run.avail == n;
                if ends {
                    self.end_packet(position, run);
                } else {
                    self.advance(position, n);
                }
                self.s1 = Some(Slot {
                    kind: SlotKind::Beat { index, j, fin },
                    ends_packet: ends.then(|| self.ended_bytes(*position)),
                });
                self.hdr = (!fin).then_some(Hdr::Block { index, j: j + 1 });
                fin
            }
            Some(Hdr::Null) => {
                if s1_ready {
                    self.end_packet(position, run);
                    self.s1 = Some(Slot {
                        kind: SlotKind::Null,
                        ends_packet: Some(self.ended_bytes(*position)),
                    });
                    self.hdr = None;
                }
                s1_ready
            }
            Some(Hdr::Error(verdict)) => {
                if self.entries == 0 {
                    return false;
                }
                if !self.fifo[0].beat.last {
                    *position = Position { entry: 1, off: 0 };
                    return false;
                }
                if s1_ready {
                    self.end_packet(position, run);
                    self.s1 = Some(Slot {
                        kind: SlotKind::Error(verdict),
                        ends_packet: Some(self.ended_bytes(*position)),
                    });
                    self.hdr = None;
                }
                s1_ready
            }
        }
    }

    fn end_packet(&mut self, position: &mut Position, run: Run) {
        *position = Position {
            entry: run.end,
            off: 0,
        };
        self.at_start = true;
    }

    /// Bytes of the packet that ends just before `position`. Its freed entries are counted already.
    fn ended_bytes(&mut self, position: Position) -> u64 {
        let here: usize = self.fifo[..position.entry].iter().map(|e| e.beat.len).sum();
        // `free` adds these entries to the count of the next packet.
        let bytes = self.packet_bytes + here as u64;
        self.packet_bytes = 0u64.wrapping_sub(here as u64);
        bytes
    }

    fn parse(&mut self, position: &mut Position) {
        let run = self.run(*position);
        if run.avail == 0 {
            self.hdr = (self.at_start && run.ended).then_some(Hdr::Null);
            return;
        }
        if self.at_start {
            self.layout = self.fifo[position.entry].layout;
        }
        let mut bytes = [0; MAX_HEADER_LEN];
        let bytes = &mut bytes[..run.avail.min(MAX_HEADER_LEN)];
        self.peek(*position, bytes);
        self.hdr = Some(match Header::parse(self.layout, bytes) {
            Err(HeaderError::Truncated { .. }) if !run.ended => {
                self.hdr = None;
                return;
            }
            Err(HeaderError::Bad { .. }) => Hdr::Error(Verdict::BadHeader),
            Err(HeaderError::Truncated { .. }) => Hdr::Error(Verdict::Truncated),
            Ok(header) => {
                let n = header.header_len(self.layout);
                let index = self.next_block;
                self.next_block = (index + 1) % IN_FLIGHT;
                let block = &mut self.blocks[index];
                block.layout = self.layout;
                block.header = header;
                block.units = Units::new(self.layout, &header, self.beat_bytes);
                block.slots = header.raw_len().div_ceil(self.beat_bytes);
                block.bytes.fill(0);
                block.bytes[..n].copy_from_slice(&bytes[..n]);
                block.fetched = n;
                block.raw = None;
                self.advance(position, n);
                self.at_start = false;
                Hdr::Block { index, j: 0 }
            }
        });
    }

    /// Drops the entries before a position.
    fn free(&mut self, position: Position) {
        let n = position.entry;
        if n > 0 {
            let bytes: usize = self.fifo[..n].iter().map(|e| e.beat.len).sum();
            self.packet_bytes = self.packet_bytes.wrapping_add(bytes as u64);
            self.fifo.copy_within(n..self.entries, 0);
            self.entries -= n;
        }
        self.off = position.off;
    }
}
