//! Raw bytes to block streams.

use super::Stats;
use super::plan::choose;
use super::planes::{Group, Words, exponent, mantissa, planelets, sign, to_words};
use crate::format::header::partial_verbatim;
use crate::format::{BLOCK_BYTES, Form, GROUP_WORDS, Header, Layout, MAX_BLOCK_LEN, Plane, SignMode};

/// Appends the block stream of a tensor's bytes to `out`.
///
/// A tensor may be given in pieces if all but the last are multiples of 128 bytes.
pub fn encode(layout: Layout, raw: &[u8], out: &mut Vec<u8>) -> Stats {
    let start = out.len();
    let mut stats = Stats {
        raw_bytes: raw.len() as u64,
        ..Stats::default()
    };
    let (blocks, tail) = raw.as_chunks::<BLOCK_BYTES>();
    let mut buffer = [0; MAX_BLOCK_LEN];
    for block in blocks {
        let (form, len) = encode_block(layout, block, &mut buffer);
        out.extend_from_slice(&buffer[..len]);
        stats.blocks[form as usize] += 1;
    }
    if !tail.is_empty() {
        let header = Header::Tail { len: tail.len() };
        let n = header.write(layout, &mut buffer);
        out.extend_from_slice(&buffer[..n]);
        out.extend_from_slice(tail);
    }
    stats.comp_bytes = (out.len() - start) as u64;
    stats
}

/// Encodes one full block into `out`; returns its form and length in bytes.
pub fn encode_block(layout: Layout, raw: &[u8; BLOCK_BYTES], out: &mut [u8; MAX_BLOCK_LEN]) -> (Form, usize) {
    let words = to_words(layout, raw);
    let header = choose(layout, &words);
    let len = write_block(layout, raw, &words, &header, out);
    (header.form().unwrap_or(Form::Raw), len)
}

/// Writes a block under a given header (which must fit the words).
fn write_block(
    layout: Layout,
    raw: &[u8; BLOCK_BYTES],
    words: &Words,
    header: &Header,
    out: &mut [u8; MAX_BLOCK_LEN],
) -> usize {
    let mut at = header.write(layout, out);
    let mut put = |bytes: &[u8]| {
        out[at..at + bytes.len()].copy_from_slice(bytes);
        at += bytes.len();
    };
    let n = layout.words();
    match header {
        Header::Raw => put(raw),
        Header::AllZero | Header::Tail { .. } => {}
        Header::ZeroValue { .. } => {
            for w in words[..n].iter().filter(|w| **w != 0) {
                put(&w.to_le_bytes()[..layout.word_bytes()]);
            }
        }
        Header::BitPlane { plane, presence } => {
            for (g, group) in words[..n].as_chunks::<GROUP_WORDS>().0.iter().enumerate() {
                let kg = group_planes(plane, *presence, g);
                let bytes = planelets(layout, &group.map(|w| code_word(layout, plane, kg, w)));
                put(&bytes[plane.z as usize..top(layout, plane, kg)]);
            }
        }
        Header::Delta { lo, p, base } => {
            let mut previous = *base;
            for group in words[..n].as_chunks::<GROUP_WORDS>().0 {
                let d = group.map(|w| w ^ std::mem::replace(&mut previous, w));
                put(&planelets(layout, &d)[*lo as usize..(lo + p) as usize]);
            }
        }
        Header::ZeroMasked { plane, .. } => {
            let mut nonzero = words[..n].iter().copied().filter(|w| *w != 0);
            let q = nonzero.clone().count() % GROUP_WORDS;
            let range = plane.z as usize..top(layout, plane, plane.k);
            if q > 0 {
                let mut code: Group = [0; GROUP_WORDS];
                if partial_verbatim(layout, q, range.len()) {
                    for w in nonzero.by_ref().take(q) {
                        put(&w.to_le_bytes()[..layout.word_bytes()]);
                    }
                } else {
                    for (c, w) in code[GROUP_WORDS - q..].iter_mut().zip(nonzero.by_ref()) {
                        *c = code_word(layout, plane, plane.k, w);
                    }
                    put(&planelets(layout, &code)[range.clone()]);
                }
            }
            while let Some(first) = nonzero.next() {
                let mut code: Group = [code_word(layout, plane, plane.k, first); GROUP_WORDS];
                for (c, w) in code[1..].iter_mut().zip(nonzero.by_ref()) {
                    *c = code_word(layout, plane, plane.k, w);
                }
                put(&planelets(layout, &code)[range.clone()]);
            }
        }
    }
    at
}

/// Exponent planes that group `g` of a BP block keeps.
pub(super) fn group_planes(plane: &Plane, presence: u8, g: usize) -> u32 {
    if plane.k == 0 {
        0
    } else {
        plane.k - 1 + u32::from(presence >> g & 1)
    }
}

/// One past the highest planelet of a group that keeps `kg` exponent planes.
pub(super) fn top(layout: Layout, plane: &Plane, kg: u32) -> usize {
    (layout.mant_bits() + kg + plane.sign.planes()) as usize
}

fn code_word(layout: Layout, plane: &Plane, kg: u32, w: u32) -> u32 {
    let r = u32::from(plane.e_max - exponent(layout, w));
    let s = if plane.sign == SignMode::Kept {
        sign(layout, w) << kg
    } else {
        0
    };
    mantissa(layout, w) | (r | s) << layout.mant_bits()
}
