//! Raw bytes to block streams.

use super::path::Kind;
use super::plan::choose;
use super::planes::{Group, Words, delta, exponent, half_planelets, mantissa, planelets, sign, to_words};
use super::{Path, Stats};
use crate::format::{
    BLOCK_BYTES, Form, GROUP_WORDS, Header, Layout, MAX_BLOCK_LEN, MAX_HEADER_LEN, Partial, Plane, SignMode,
};

/// Blocks that are encoded before their bytes are moved on.
#[cfg(target_arch = "x86_64")]
const BATCH: usize = 64;

/// Appends the block stream of a tensor's bytes to `out`, on the fastest path this machine has.
///
/// A tensor may be given in pieces if all but the last are multiples of 128 bytes.
pub fn encode(layout: Layout, raw: &[u8], out: &mut Vec<u8>) -> Stats {
    encode_with(Path::best(), layout, raw, out)
}

/// [`encode`] on a given path.
pub fn encode_with(path: Path, layout: Layout, raw: &[u8], out: &mut Vec<u8>) -> Stats {
    let start = out.len();
    let mut stats = Stats {
        raw_bytes: raw.len() as u64,
        ..Stats::default()
    };
    let (blocks, tail) = raw.as_chunks::<BLOCK_BYTES>();
    match path.0 {
        Kind::Portable => {
            let mut buffer = [0; MAX_BLOCK_LEN];
            for block in blocks {
                let (form, len) = encode_block(layout, block, &mut buffer);
                out.extend_from_slice(&buffer[..len]);
                stats.blocks[form as usize] += 1;
            }
        }
        #[cfg(target_arch = "x86_64")]
        Kind::Avx2(avx2) => {
            let mut buffer = [0; BATCH * MAX_BLOCK_LEN + super::avx2::SLACK];
            for batch in blocks.chunks(BATCH) {
                let len = avx2.encode_blocks(layout, batch, &mut buffer, &mut stats.blocks);
                out.extend_from_slice(&buffer[..len]);
            }
        }
    }
    if !tail.is_empty() {
        let mut buffer = [0; MAX_HEADER_LEN];
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
        Header::BitPlane { plane, drops } => {
            for (g, group) in words[..n].as_chunks::<GROUP_WORDS>().0.iter().enumerate() {
                let kg = plane.k - drops.of(g);
                let bytes = planelets(layout, &group.map(|w| code_word(layout, plane, kg, w)));
                put(&bytes[plane.z as usize..plane.top(layout, kg) as usize]);
            }
        }
        Header::Delta { widths, base } => {
            let mut before = *base;
            for (group, width) in words[..n].as_chunks::<GROUP_WORDS>().0.iter().zip(widths) {
                put(&planelets(layout, &delta(layout, before, group))[..usize::from(*width)]);
                before = group[GROUP_WORDS - 1];
            }
        }
        Header::ZeroMasked { plane, mask } => {
            let mut nonzero = [0; 64 + GROUP_WORDS];
            let q = mask.count() % GROUP_WORDS;
            let pads = if q == 0 { 0 } else { GROUP_WORDS - q };
            let end = pads + mask.count();
            for (to, w) in nonzero[pads..]
                .iter_mut()
                .zip(words[..n].iter().filter(|w| **w != 0))
            {
                *to = *w;
            }
            let mut groups = nonzero[..end].as_chunks::<GROUP_WORDS>().0.iter();
            let codes =
                |group: &Group| planelets(layout, &group.map(|w| code_word(layout, plane, plane.k, w)));
            if q > 0
                && let Some(group) = groups.next()
            {
                // The pads' code words are zero, not those of zero words.
                let mut code = group.map(|w| code_word(layout, plane, plane.k, w));
                code[..pads].fill(0);
                let bytes = planelets(layout, &code);
                let mut words_of = |words: &[u32]| {
                    for w in words {
                        put(&w.to_le_bytes()[..layout.word_bytes()]);
                    }
                };
                match plane.partial(layout, q) {
                    Partial::None => {}
                    Partial::Verbatim { .. } => words_of(&group[pads..]),
                    Partial::Halves { lo, hi, verbatim } => {
                        words_of(&group[pads..pads + verbatim]);
                        put(&half_planelets(&bytes)[lo..hi]);
                    }
                    Partial::Planes { lo, hi } => put(&bytes[lo..hi]),
                }
            }
            let range = plane.z as usize..plane.top(layout, plane.k) as usize;
            for group in groups {
                put(&codes(group)[range.clone()]);
            }
        }
    }
    at
}

fn code_word(layout: Layout, plane: &Plane, kg: u32, w: u32) -> u32 {
    let r = u32::from(plane.e_max.wrapping_sub(exponent(layout, w)));
    let s = if plane.sign == SignMode::Kept {
        sign(layout, w) << kg
    } else {
        0
    };
    mantissa(layout, w) | (r | s) << layout.mant_bits()
}
