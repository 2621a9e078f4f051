//! Packets of structured random blocks.

use std::collections::VecDeque;

use rand::Rng;

use super::blocks::Blocks;
use super::{DecodeJob, EncodeJob, StimulusRng, Work, rng};
use crate::format::{
    BLOCK_BYTES, Drops, Dtype, Header, Layout, MAX_EXP_PLANES, Mask, MaskStyle, Plane, SignMode,
};

const DTYPES: [Dtype; 4] = [Dtype::Bf16, Dtype::F16, Dtype::F32, Dtype::Other];

/// An endless variety of packets, cut off after so many full blocks.
///
/// Beside packets of blocks of all kinds there are tails of every length, empty packets, runs of tiny packets, runs
/// of zeros and of noise, and for the decompressor alone packets that are valid but that no encoder makes.
#[derive(Debug)]
pub struct RandomPackets {
    rng: StimulusRng,
    blocks: [Blocks; 2],
    left: u64,
    count: u64,
    next_tail: usize,
    queue: VecDeque<Work>,
}

impl RandomPackets {
    /// Packets with `blocks` full blocks in all (those that no encoder makes are extra).
    #[must_use]
    pub fn new(blocks: u64, seed: u64) -> RandomPackets {
        let mut rng = rng(seed, 1);
        let kinds = Layout::ALL.map(|layout| Blocks::new(layout, &mut rng));
        RandomPackets {
            rng,
            blocks: kinds,
            left: blocks,
            count: 0,
            next_tail: 0,
            queue: VecDeque::new(),
        }
    }

    fn push(&mut self, kind: &str, dtype: Dtype, raw: Vec<u8>) {
        let label = format!("random packet {} ({kind})", self.count);
        self.count += 1;
        self.queue
            .push_back(Work::Encode(EncodeJob::new(label, dtype, raw)));
    }

    /// Random bytes; all lengths from 1 to 127 in turn.
    fn tail(&mut self) -> Vec<u8> {
        let n = 1 + self.next_tail * 37 % (BLOCK_BYTES - 1);
        self.next_tail = (self.next_tail + 1) % (BLOCK_BYTES - 1);
        (0..n).map(|_| self.rng.random()).collect()
    }

    fn refill(&mut self) {
        let dtype = DTYPES[self.rng.random_range(0..4)];
        let take = |most: u64, rng: &mut StimulusRng, left: &mut u64| {
            let n = rng.random_range(1..=most).min(*left);
            *left -= n;
            n as usize
        };
        match self.rng.random_range(0..20) {
            0 => {
                let n = take(64, &mut self.rng, &mut self.left);
                self.push("zeros", dtype, vec![0; n * BLOCK_BYTES]);
            }
            1 => {
                let n = take(32, &mut self.rng, &mut self.left);
                let raw = (0..n * BLOCK_BYTES).map(|_| self.rng.random()).collect();
                self.push("noise", dtype, raw);
            }
            2 => {
                for _ in 0..self.rng.random_range(2..30) {
                    let n = if self.rng.random_bool(0.3) {
                        0
                    } else {
                        self.rng.random_range(1..40)
                    };
                    let raw = (0..n).map(|_| self.rng.random()).collect();
                    let dtype = DTYPES[self.rng.random_range(0..4)];
                    self.push("tiny", dtype, raw);
                }
            }
            3 => {
                let block = self.block(dtype.layout());
                let n = take(12, &mut self.rng, &mut self.left);
                self.push("one block again and again", dtype, block.repeat(n));
            }
            choice => {
                // Packets of one block are as frequent as long ones.
                let most = [1, 2, 5, 40][choice % 4];
                let n = take(most, &mut self.rng, &mut self.left);
                let mut raw = Vec::with_capacity((n + 1) * BLOCK_BYTES);
                for _ in 0..n {
                    raw.extend_from_slice(&self.block(dtype.layout()));
                }
                if self.rng.random_bool(0.5) {
                    raw.extend(self.tail());
                }
                self.push("blocks", dtype, raw);
                if self.rng.random_bool(0.25) {
                    let label = format!("foreign packet after random packet {}", self.count - 1);
                    self.queue.push_back(Work::Decode(foreign(label, &mut self.rng)));
                }
            }
        }
    }

    fn block(&mut self, layout: Layout) -> [u8; BLOCK_BYTES] {
        self.blocks[usize::from(layout == Layout::W32)].next(&mut self.rng)
    }
}

impl Iterator for RandomPackets {
    type Item = Work;

    fn next(&mut self) -> Option<Work> {
        if self.queue.is_empty() && self.left > 0 {
            self.refill();
        }
        self.queue.pop_front()
    }
}

/// A header with random fields, valid but not what an encoder would choose.
pub(super) fn random_header(layout: Layout, rng: &mut StimulusRng) -> Header {
    let mask = loop {
        let m = rng.random::<u64>()
            & if rng.random_bool(0.3) {
                rng.random()
            } else {
                u64::MAX
            };
        let m = m >> (64 - layout.words());
        if m != 0 {
            break m;
        }
    };
    let plane = Plane {
        k: rng.random_range(0..=MAX_EXP_PLANES),
        z: if rng.random_bool(0.3) {
            0
        } else {
            rng.random_range(0..=layout.mant_bits())
        },
        sign: [SignMode::Positive, SignMode::Negative, SignMode::Kept][rng.random_range(0..3)],
        e_max: rng.random(),
    };
    match rng.random_range(0..6) {
        0 => Header::Raw,
        1 => Header::AllZero,
        2 => Header::ZeroValue {
            mask: random_style(layout, mask, rng),
        },
        3 => {
            let bits = match layout {
                Layout::W16 => rng.random_range(0..=2),
                Layout::W32 => 2 * rng.random_range(0..=1),
            };
            let spare = (0..layout.groups()).fold(0, |s, g| {
                s | rng.random_range(0..=plane.k.min(3) as u64) << (8 * g)
            });
            Header::BitPlane {
                plane,
                drops: Drops::new(bits, spare),
            }
        }
        4 => {
            let mut widths = [0; 8];
            for width in &mut widths[..layout.groups()] {
                *width = layout.kept_width(rng.random_range(0..=layout.word_bits())) as u8;
            }
            Header::Delta {
                widths,
                base: rng.random::<u32>() & (u32::MAX >> (32 - layout.word_bits())),
            }
        }
        _ => Header::ZeroMasked {
            plane,
            mask: random_style(layout, mask, rng),
        },
    }
}

/// A mask in any style, at times with bytes written that need not be, and with whole bytes of zeros or ones.
fn random_style(layout: Layout, mut bits: u64, rng: &mut StimulusRng) -> Mask {
    for b in 0..layout.mask_bytes() {
        match rng.random_range(0..4) {
            0 => bits |= 0xff << (8 * b),
            1 if bits & !(0xff << (8 * b)) != 0 => bits &= !(0xff << (8 * b)),
            _ => {}
        }
    }
    let style = MaskStyle::ALL[rng.random_range(0..3)];
    let mut mask = Mask::new(layout, bits, style);
    if rng.random_bool(0.3) {
        mask.presence |= rng.random::<u8>() & (0xff >> (8 - layout.mask_bytes()));
    }
    mask
}

/// A block of a header and random payload.
pub(super) fn random_block(layout: Layout, header: &Header, rng: &mut StimulusRng, out: &mut Vec<u8>) {
    let at = out.len();
    let head = header.header_len(layout);
    out.resize(at + header.block_len(layout), 0);
    header.write(layout, &mut out[at..]);
    rng.fill(&mut out[at + head..]);
}

/// A valid packet that no encoder makes: any header field, any payload.
#[must_use]
pub fn foreign(label: String, rng: &mut StimulusRng) -> DecodeJob {
    let dtype = DTYPES[rng.random_range(0..4)];
    let layout = dtype.layout();
    let mut stream = Vec::new();
    for _ in 0..rng.random_range(0..12) {
        let header = random_header(layout, rng);
        random_block(layout, &header, rng, &mut stream);
    }
    if rng.random_bool(0.4) {
        let header = Header::Tail {
            len: rng.random_range(1..BLOCK_BYTES),
        };
        random_block(layout, &header, rng, &mut stream);
    }
    DecodeJob::new(label, dtype, stream)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::Verdict;

    #[test]
    fn blocks_are_counted_and_seeds_repeat() {
        for n in [1, 10, 1000] {
            let packets: Vec<Work> = RandomPackets::new(n, 5).collect();
            let again: Vec<Work> = RandomPackets::new(n, 5).collect();
            let bytes = |w: &Work| match w {
                Work::Encode(job) => job.raw.clone(),
                Work::Decode(job) => job.stream.clone(),
            };
            assert!(packets.iter().map(bytes).eq(again.iter().map(bytes)));
            let full: u64 = packets
                .iter()
                .filter_map(|w| match w {
                    Work::Encode(job) => Some(job.raw.len() as u64 / 128),
                    Work::Decode(_) => None,
                })
                .sum();
            assert_eq!(full, n);
        }
    }

    #[test]
    fn foreign_packets_are_valid() {
        let mut rng = rng(2, 0);
        for _ in 0..500 {
            assert_eq!(foreign(String::new(), &mut rng).verdict, Verdict::Ok);
        }
    }
}
