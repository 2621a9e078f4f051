//! The plain zero-value codec, as the figure to compare with.

use super::planes::to_words;
use crate::format::{BLOCK_BYTES, Layout};

/// Size in bytes of a tensor under the plain zero-value codec: per 128-byte block one header byte and the smaller of
/// the raw bytes and a non-zero mask with the non-zero words; a tail raw with its header byte. Pieces of a tensor may
/// be added up if all but the last are multiples of 128 bytes.
#[must_use]
pub fn zero_value_len(layout: Layout, raw: &[u8]) -> u64 {
    let (blocks, tail) = raw.as_chunks::<BLOCK_BYTES>();
    let full: u64 = blocks
        .iter()
        .map(|b| {
            let nz = to_words(layout, b)[..layout.words()]
                .iter()
                .filter(|w| **w != 0)
                .count();
            1 + (layout.mask_bytes() + nz * layout.word_bytes()).min(BLOCK_BYTES) as u64
        })
        .sum();
    full + if tail.is_empty() { 0 } else { 1 + tail.len() as u64 }
}
