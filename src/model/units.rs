//! How a block's payload is cut into units, and which beat of the block completes or needs which unit.

use crate::format::{BLOCK_BYTES, GROUP_WORDS, Header, Layout};

/// Most beats and units of a block (at 32 bytes per beat).
pub(super) const MAX_BEATS: usize = 4;

/// A block's units. Counts are in words; half-words would say the same, as all words of a block have one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Units {
    /// Number of units.
    pub(super) count: usize,
    /// Bytes of each unit.
    pub(super) bytes: [usize; MAX_BEATS],
    /// Words of a unit.
    unit_words: usize,
    /// Pad words ahead of the first word.
    pads: usize,
    /// Words coded in beats 0..=j.
    through: [usize; MAX_BEATS],
}

impl Units {
    /// The units of a block with this header in a core of `beat_bytes` bytes per beat.
    pub(super) fn new(layout: Layout, header: &Header, beat_bytes: usize) -> Units {
        let beats = BLOCK_BYTES / beat_bytes;
        let unit_words = beat_bytes / layout.word_bytes();
        let mask = match header {
            Header::ZeroValue { mask } | Header::ZeroMasked { mask, .. } => mask.bits,
            Header::AllZero => 0,
            _ => u64::MAX >> (64 - layout.words()),
        };
        let mut units = Units {
            unit_words,
            ..Units::default()
        };
        for (j, through) in units.through[..beats].iter_mut().enumerate() {
            let upto = (j + 1) * unit_words;
            *through = (mask & (u64::MAX >> (64 - upto))).count_ones() as usize;
        }
        let words = units.through[beats - 1];
        units.pads = words.next_multiple_of(unit_words) - words;
        units.count = (units.pads + words) / unit_words;
        for u in 0..units.count {
            units.bytes[u] = match header {
                Header::Raw | Header::AllZero => beat_bytes,
                Header::Tail { len } => len.saturating_sub(u * beat_bytes).min(beat_bytes),
                Header::ZeroValue { .. } => {
                    layout.word_bytes() * (unit_words - if u == 0 { units.pads } else { 0 })
                }
                _ => units.groups(layout, header, u),
            };
        }
        units
    }

    /// Bytes of unit `u` in a plane form: the sum over its groups.
    fn groups(&self, layout: Layout, header: &Header, u: usize) -> usize {
        let per_unit = self.unit_words / GROUP_WORDS;
        (u * per_unit..(u + 1) * per_unit)
            .map(|g| match header {
                Header::BitPlane { plane, drops } => (plane.planes(layout) - drops.of(g)) as usize,
                Header::Delta { widths, .. } => usize::from(widths[g]),
                Header::ZeroMasked { plane, .. } => match ((g + 1) * GROUP_WORDS).saturating_sub(self.pads) {
                    q @ 0..GROUP_WORDS => plane.partial(layout, q).len(layout),
                    _ => plane.planes(layout) as usize,
                },
                _ => 0,
            })
            .sum()
    }

    /// Units that the words of beats 0..=j complete.
    pub(super) fn completed(&self, j: usize) -> usize {
        (self.pads + self.through[j]) / self.unit_words
    }

    /// Units that the decompressor has fetched with slots 0..=j: one ahead of what beats 0..j-1 used up.
    pub(super) fn fetched(&self, j: usize) -> usize {
        let used_up = if j == 0 { 0 } else { self.completed(j - 1) };
        (used_up + 1).min(self.count)
    }

    /// Bytes of the units from `from` up to, not including, `to`.
    pub(super) fn span(&self, from: usize, to: usize) -> usize {
        self.bytes[from..to].iter().sum()
    }
}
