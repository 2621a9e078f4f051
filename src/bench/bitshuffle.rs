//! Bit transposition as the bitshuffle library does it.
//!
//! A tensor is cut into blocks of 8 KiB. Within a block all elements' bits 0 come first, then all bits 1, and so on:
//! bit `b` of element `i` is bit `i % 8` of byte `b * n / 8 + i / 8`, for `n` elements. The last block is shorter, a
//! multiple of eight elements; elements beyond that are not touched. Compressed, every block is its length (four
//! bytes, big-endian) and an lz4 block; the untouched elements follow as they are.
//!
//! Plain loops over 64-bit words, which the compiler vectorises once per instruction set; the processor's best one is
//! picked when the program runs, as the library does.

use fearless_simd::{Level, dispatch};

/// Bytes in a full block.
pub const BLOCK: usize = 8192;
/// Elements that every block is a multiple of.
pub const MULTIPLE: usize = 8;
/// Longest element.
pub const MAX_ELEMENT: usize = 8;

/// Lengths of the blocks that `len` bytes of elements are cut into; what is missing to `len` is not transposed.
pub fn blocks(element: usize, len: usize) -> impl Iterator<Item = usize> {
    let unit = element * MULTIPLE;
    let last = len % BLOCK / unit * unit;
    std::iter::repeat_n(BLOCK, len / BLOCK).chain((last > 0).then_some(last))
}

/// Transposes blocks. Holds the memory it needs.
pub struct Transposer {
    level: Level,
    first: Box<[u8; BLOCK]>,
    second: Box<[u8; BLOCK]>,
}

impl Default for Transposer {
    fn default() -> Self {
        Transposer {
            level: Level::new(),
            first: Box::new([0; BLOCK]),
            second: Box::new([0; BLOCK]),
        }
    }
}

/// Halves that separate even from odd bytes, until each part holds one byte of every element.
fn halvings(element: usize) -> u32 {
    debug_assert!(element.is_power_of_two() && element <= MAX_ELEMENT);
    element.trailing_zeros()
}

/// Where byte `plane` of the elements ends up after all halvings: its number's bits in reverse.
fn place(plane: usize, halvings: u32) -> usize {
    (0..halvings).fold(0, |p, bit| p << 1 | plane >> bit & 1)
}

impl Transposer {
    /// Transposes one block (at most [`BLOCK`] bytes, a multiple of eight elements of 1, 2, 4 or 8 bytes).
    pub fn forward(&mut self, element: usize, raw: &[u8], out: &mut [u8]) {
        let n = raw.len();
        let (first, second) = (&mut self.first[..n], &mut self.second[..n]);
        dispatch!(self.level, _simd => forward(element, raw, first, second, out));
    }

    /// Undoes [`Transposer::forward`].
    pub fn backward(&mut self, element: usize, transposed: &[u8], raw: &mut [u8]) {
        let n = raw.len();
        let (first, second) = (&mut self.first[..n], &mut self.second[..n]);
        dispatch!(self.level, _simd => backward(element, transposed, first, second, raw));
    }
}

#[inline(always)]
fn forward(element: usize, raw: &[u8], first: &mut [u8], second: &mut [u8], out: &mut [u8]) {
    let halvings = halvings(element);
    let (mut from, mut to) = (first, second);
    for pass in 0..halvings {
        let part = raw.len() >> pass;
        let source = if pass == 0 { raw } else { &*from };
        for (source, target) in source.chunks_exact(part).zip(to.chunks_exact_mut(part)) {
            let (even, odd) = target.split_at_mut(part / 2);
            separate(source, even, odd);
        }
        std::mem::swap(&mut from, &mut to);
    }
    let bytes = if halvings == 0 { raw } else { &*from };
    let n = raw.len() / element;
    for (plane, rows) in out.chunks_exact_mut(n).enumerate() {
        bits_to_rows(&bytes[place(plane, halvings) * n..][..n], rows);
    }
}

#[inline(always)]
fn backward(element: usize, transposed: &[u8], first: &mut [u8], second: &mut [u8], raw: &mut [u8]) {
    let halvings = halvings(element);
    let n = raw.len() / element;
    if halvings == 0 {
        rows_to_bits(transposed, raw);
        return;
    }
    let (mut from, mut to) = (first, second);
    for (plane, rows) in transposed.chunks_exact(n).enumerate() {
        rows_to_bits(rows, &mut from[place(plane, halvings) * n..][..n]);
    }
    for pass in (0..halvings).rev() {
        let part = raw.len() >> pass;
        let target = if pass == 0 { &mut *raw } else { &mut *to };
        for (source, target) in from.chunks_exact(part).zip(target.chunks_exact_mut(part)) {
            let (even, odd) = source.split_at(part / 2);
            interleave(even, odd, target);
        }
        std::mem::swap(&mut from, &mut to);
    }
}

/// Even bytes apart from odd ones; a multiple of 16 bytes.
#[inline(always)]
fn separate(source: &[u8], even: &mut [u8], odd: &mut [u8]) {
    let halves = even
        .as_chunks_mut::<8>()
        .0
        .iter_mut()
        .zip(odd.as_chunks_mut::<8>().0);
    for (pairs, (even, odd)) in source.as_chunks::<16>().0.iter().zip(halves) {
        let pairs = u128::from_le_bytes(*pairs);
        let (low, high) = (pairs as u64, (pairs >> 64) as u64);
        *even = (even_bytes(low) | even_bytes(high) << 32).to_le_bytes();
        *odd = (even_bytes(low >> 8) | even_bytes(high >> 8) << 32).to_le_bytes();
    }
}

/// Bytes 0, 2, 4 and 6, side by side.
#[inline(always)]
fn even_bytes(w: u64) -> u64 {
    let w = w & 0x00ff_00ff_00ff_00ff;
    let w = (w | w >> 8) & 0x0000_ffff_0000_ffff;
    (w | w >> 16) & 0x0000_0000_ffff_ffff
}

/// Undoes [`separate`].
#[inline(always)]
fn interleave(even: &[u8], odd: &[u8], target: &mut [u8]) {
    let halves = even.as_chunks::<8>().0.iter().zip(odd.as_chunks::<8>().0);
    for (pairs, (even, odd)) in target.as_chunks_mut::<16>().0.iter_mut().zip(halves) {
        let (even, odd) = (u64::from_le_bytes(*even), u64::from_le_bytes(*odd));
        let low = spread_bytes(even) | spread_bytes(odd) << 8;
        let high = spread_bytes(even >> 32) | spread_bytes(odd >> 32) << 8;
        *pairs = (u128::from(low) | u128::from(high) << 64).to_le_bytes();
    }
}

/// The lower four bytes, to bytes 0, 2, 4 and 6.
#[inline(always)]
fn spread_bytes(w: u64) -> u64 {
    let w = w & 0x0000_0000_ffff_ffff;
    let w = (w | w << 16) & 0x0000_ffff_0000_ffff;
    (w | w << 8) & 0x00ff_00ff_00ff_00ff
}

/// Transposes a multiple of eight bytes: row `k` of the eight in `rows` gets all bits `k`.
#[inline(always)]
fn bits_to_rows(bytes: &[u8], rows: &mut [u8]) {
    let row = bytes.len() / 8;
    let (wide, rest) = bytes.as_chunks::<64>();
    for (i, bytes) in wide.iter().enumerate() {
        let mut words = [0; 8];
        for (word, bytes) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
            *word = transpose_bits(u64::from_le_bytes(*bytes));
        }
        transpose_bytes(&mut words);
        for (k, word) in words.iter().enumerate() {
            rows[k * row + 8 * i..][..8].copy_from_slice(&word.to_le_bytes());
        }
    }
    for (i, bytes) in rest.as_chunks::<8>().0.iter().enumerate() {
        let word = transpose_bits(u64::from_le_bytes(*bytes)).to_le_bytes();
        for (k, byte) in word.into_iter().enumerate() {
            rows[k * row + 8 * wide.len() + i] = byte;
        }
    }
}

/// Undoes [`bits_to_rows`].
#[inline(always)]
fn rows_to_bits(rows: &[u8], bytes: &mut [u8]) {
    let row = bytes.len() / 8;
    let (wide, rest) = bytes.as_chunks_mut::<64>();
    for (i, bytes) in wide.iter_mut().enumerate() {
        let mut words = [0; 8];
        for (k, word) in words.iter_mut().enumerate() {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&rows[k * row + 8 * i..][..8]);
            *word = u64::from_le_bytes(bytes);
        }
        transpose_bytes(&mut words);
        for (word, bytes) in words.iter().zip(bytes.as_chunks_mut::<8>().0) {
            *bytes = transpose_bits(*word).to_le_bytes();
        }
    }
    for (i, bytes) in rest.as_chunks_mut::<8>().0.iter_mut().enumerate() {
        let mut word = [0; 8];
        for (k, byte) in word.iter_mut().enumerate() {
            *byte = rows[k * row + 8 * wide.len() + i];
        }
        *bytes = transpose_bits(u64::from_le_bytes(word)).to_le_bytes();
    }
}

/// Bit `i` of byte `j` becomes bit `j` of byte `i`.
#[inline(always)]
fn transpose_bits(mut w: u64) -> u64 {
    for (shift, mask) in [
        (7, 0x00aa_00aa_00aa_00aa),
        (14, 0x0000_cccc_0000_cccc),
        (28, 0x0000_0000_f0f0_f0f0),
    ] {
        let t = (w ^ (w >> shift)) & mask;
        w ^= t ^ (t << shift);
    }
    w
}

/// Byte `i` of word `j` becomes byte `j` of word `i`.
#[inline(always)]
fn transpose_bytes(words: &mut [u64; 8]) {
    let mut swap = |i: usize, distance: usize, mask: u64| {
        let shift = 8 * distance;
        let t = ((words[i] >> shift) ^ words[i + distance]) & mask;
        words[i + distance] ^= t;
        words[i] ^= t << shift;
    };
    // Written out, since the compiler vectorises loops with known bounds only.
    for i in [0, 1, 2, 3] {
        swap(i, 4, 0x0000_0000_ffff_ffff);
    }
    for i in [0, 1, 4, 5] {
        swap(i, 2, 0x0000_ffff_0000_ffff);
    }
    for i in [0, 2, 4, 6] {
        swap(i, 1, 0x00ff_00ff_00ff_00ff);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bit by bit, as the convention is written.
    fn plain(element: usize, raw: &[u8]) -> Vec<u8> {
        let n = raw.len() / element;
        let mut out = vec![0; raw.len()];
        for i in 0..n {
            for b in 0..8 * element {
                let bit = raw[i * element + b / 8] >> (b % 8) & 1;
                out[b * n / 8 + i / 8] |= bit << (i % 8);
            }
        }
        out
    }

    #[test]
    fn transposes_as_written_and_back() {
        let mut transposer = Transposer::default();
        let bytes: Vec<u8> = (0..BLOCK as u32)
            .map(|i| (i.wrapping_mul(0x9e37_79b9) >> 11) as u8)
            .collect();
        for element in [1, 2, 4, 8] {
            for len in [8, 16, 56, 64, 72, 512, BLOCK / element] {
                let raw = &bytes[..len * element];
                let mut out = vec![0; raw.len()];
                transposer.forward(element, raw, &mut out);
                assert_eq!(out, plain(element, raw), "{len} elements of {element} bytes");
                let mut back = vec![0; raw.len()];
                transposer.backward(element, &out, &mut back);
                assert_eq!(back, raw, "{len} elements of {element} bytes");
            }
        }
    }

    #[test]
    fn cuts_like_the_library() {
        let cut = |element, len| blocks(element, len).collect::<Vec<_>>();
        assert_eq!(cut(2, 2 * BLOCK), [BLOCK, BLOCK]);
        assert_eq!(cut(2, BLOCK + 47), [BLOCK, 32]);
        assert_eq!(cut(4, 31), [0; 0]);
        assert_eq!(cut(4, BLOCK - 1), [BLOCK - 32]);
    }
}
