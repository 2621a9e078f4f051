//! Words of a block, and groups of eight of them as planelets.

use crate::format::{BLOCK_BYTES, GROUP_WORDS, Layout, PREDICTOR};

/// A block's words, zero-extended; W32 uses the first 32.
pub(super) type Words = [u32; 64];

/// One group's code words.
pub(super) type Group = [u32; GROUP_WORDS];

pub(super) fn to_words(layout: Layout, raw: &[u8; BLOCK_BYTES]) -> Words {
    let mut words = [0; 64];
    match layout {
        Layout::W16 => {
            for (w, b) in words.iter_mut().zip(raw.as_chunks::<2>().0) {
                *w = u32::from(u16::from_le_bytes(*b));
            }
        }
        Layout::W32 => {
            for (w, b) in words.iter_mut().zip(raw.as_chunks::<4>().0) {
                *w = u32::from_le_bytes(*b);
            }
        }
    }
    words
}

pub(super) fn from_words(layout: Layout, words: &Words, raw: &mut [u8; BLOCK_BYTES]) {
    match layout {
        Layout::W16 => {
            for (w, b) in words.iter().zip(raw.as_chunks_mut::<2>().0) {
                *b = (*w as u16).to_le_bytes();
            }
        }
        Layout::W32 => {
            for (w, b) in words.iter().zip(raw.as_chunks_mut::<4>().0) {
                *b = w.to_le_bytes();
            }
        }
    }
}

/// Transposes an 8x8 bit matrix: bit `j` of byte `i` goes to bit `i` of byte `j`. Its own inverse.
/// (Three rounds of swapping ever larger off-diagonal squares; Warren, Hacker's Delight, section 7-3.)
const fn transpose8x8(mut x: u64) -> u64 {
    let t = (x ^ (x >> 7)) & 0x00aa_00aa_00aa_00aa;
    x ^= t ^ (t << 7);
    let t = (x ^ (x >> 14)) & 0x0000_cccc_0000_cccc;
    x ^= t ^ (t << 14);
    let t = (x ^ (x >> 28)) & 0x0000_0000_f0f0_f0f0;
    x ^ t ^ (t << 28)
}

/// All 32 planelets of a group (W16 uses the first 16).
pub(super) fn planelets(layout: Layout, group: &Group) -> [u8; 32] {
    let mut out = [0; 32];
    for b in 0..layout.word_bytes() {
        let column = group
            .iter()
            .enumerate()
            .fold(0, |x, (j, w)| x | u64::from((w >> (8 * b)) as u8) << (8 * j));
        out[8 * b..8 * b + 8].copy_from_slice(&transpose8x8(column).to_le_bytes());
    }
    out
}

/// The group whose planelets these are.
pub(super) fn from_planelets(layout: Layout, planelets: &[u8; 32]) -> Group {
    let mut group = [0; GROUP_WORDS];
    for (b, bytes) in planelets
        .as_chunks::<8>()
        .0
        .iter()
        .enumerate()
        .take(layout.word_bytes())
    {
        let column = transpose8x8(u64::from_le_bytes(*bytes)).to_le_bytes();
        for (w, c) in group.iter_mut().zip(column) {
            *w |= u32::from(c) << (8 * b);
        }
    }
    group
}

/// Sign bit of a word.
pub(super) fn sign(layout: Layout, w: u32) -> u32 {
    w >> (layout.word_bits() - 1) & 1
}

/// The 8-bit field below the sign.
pub(super) fn exponent(layout: Layout, w: u32) -> u8 {
    (w >> layout.mant_bits()) as u8
}

/// The bits below that field.
pub(super) fn mantissa(layout: Layout, w: u32) -> u32 {
    w & ((1 << layout.mant_bits()) - 1)
}

/// A group's code words in DBP: differences to their predictions, sign folded into the lowest bit. `before` is the
/// last word of the group before, in a block's first group its word 0.
pub(super) fn delta(layout: Layout, before: u32, group: &Group) -> Group {
    let shift = 32 - layout.word_bits();
    std::array::from_fn(|i| {
        let prediction = PREDICTOR[i].map_or(before, |p| group[p]);
        let d = (group[i].wrapping_sub(prediction) << shift) as i32 >> shift;
        (d << 1 ^ d >> 31) as u32 & (u32::MAX >> shift)
    })
}

/// The inverse of [`delta`].
pub(super) fn undelta(layout: Layout, before: u32, codes: &Group) -> Group {
    let mut group = [0; GROUP_WORDS];
    for i in 0..GROUP_WORDS {
        let prediction = PREDICTOR[i].map_or(before, |p| group[p]);
        let d = codes[i] >> 1 ^ (codes[i] & 1).wrapping_neg();
        group[i] = prediction.wrapping_add(d) & (u32::MAX >> (32 - layout.word_bits()));
    }
    group
}

/// Half planelets: byte `i` holds planes `2i` (low half) and `2i + 1` of a group's last four words.
pub(super) fn half_planelets(planelets: &[u8; 32]) -> [u8; 16] {
    std::array::from_fn(|i| planelets[2 * i] >> 4 | planelets[2 * i + 1] & 0xf0)
}

/// The planelets, of `planes` planes, whose half planelets from `lo` on are `bytes`; planes beyond are zero.
pub(super) fn from_half_planelets(lo: usize, bytes: &[u8], planes: usize) -> [u8; 32] {
    let mut out = [0; 32];
    for (i, byte) in bytes.iter().enumerate() {
        out[2 * (lo + i)] = byte << 4;
        out[2 * (lo + i) + 1] = byte & 0xf0;
    }
    out[planes..].fill(0);
    out
}
