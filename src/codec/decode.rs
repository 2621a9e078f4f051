//! Block streams to raw bytes. Any bytes in: the raw bytes, or a typed error.

use thiserror::Error;

use super::path::Kind;
use super::planes::{Group, from_half_planelets, from_planelets, from_words, undelta};
use super::{Path, Stats};
use crate::format::{BLOCK_BYTES, GROUP_WORDS, Header, HeaderError, Layout, Partial, Plane, SignMode};

/// Why a block stream does not decode. `offset` is the byte in the stream where the faulty block starts.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum DecodeError {
    /// A header that the format does not have.
    #[error("block at stream offset {offset}: {source}")]
    BadHeader {
        /// Where the block starts.
        offset: u64,
        /// What is wrong with it.
        source: HeaderError,
    },
    /// The stream ends within a block.
    #[error("block at stream offset {offset} needs {needed} bytes, the stream has {have} left")]
    Truncated {
        /// Where the block starts.
        offset: u64,
        /// Bytes the block (or its header) takes.
        needed: usize,
        /// Bytes there are.
        have: usize,
    },
    /// Bytes after a tail block.
    #[error("{extra} bytes follow the tail block at stream offset {offset}")]
    Trailing {
        /// Where the tail block starts.
        offset: u64,
        /// Bytes too many.
        extra: usize,
    },
    /// The stream stands for more raw bytes than the tensor has.
    #[error("block at stream offset {offset} makes the tensor {found} bytes or longer, expected {expected}")]
    TooLong {
        /// Where the block starts that exceeds the tensor.
        offset: u64,
        /// Bytes the tensor has.
        expected: u64,
        /// Bytes up to and including this block.
        found: u64,
    },
}

/// The engine's verdict on a packet: its status error field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Verdict {
    /// The whole packet decoded.
    Ok = 0,
    /// See [`DecodeError::BadHeader`].
    BadHeader = 1,
    /// See [`DecodeError::Truncated`].
    Truncated = 2,
    /// See [`DecodeError::Trailing`].
    Trailing = 3,
}

impl Verdict {
    /// Name for reports.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Verdict::Ok => "ok",
            Verdict::BadHeader => "bad header",
            Verdict::Truncated => "truncated",
            Verdict::Trailing => "trailing data",
        }
    }
}

impl DecodeError {
    /// The error code the engine gives for it; `None` for [`DecodeError::TooLong`], since the engine does not know a
    /// tensor's length beforehand.
    #[must_use]
    pub const fn verdict(&self) -> Option<Verdict> {
        match self {
            DecodeError::BadHeader { .. } => Some(Verdict::BadHeader),
            DecodeError::Truncated { .. } => Some(Verdict::Truncated),
            DecodeError::Trailing { .. } => Some(Verdict::Trailing),
            DecodeError::TooLong { .. } => None,
        }
    }
}

/// Blocks that are decoded before their bytes are moved on.
const BATCH: usize = 64;

/// Decodes a whole block stream, appending at most `max_raw` bytes to `out`, on the fastest path this machine has.
///
/// Memory grows with the blocks that have been decoded, never by a length that the stream claims.
///
/// # Errors
/// [`DecodeError`]; the blocks before the faulty one are in `out`.
pub fn decode(layout: Layout, stream: &[u8], max_raw: u64, out: &mut Vec<u8>) -> Result<Stats, DecodeError> {
    decode_with(Path::best(), layout, stream, max_raw, out)
}

/// [`decode`] on a given path.
///
/// # Errors
/// As [`decode`].
pub fn decode_with(
    path: Path,
    layout: Layout,
    stream: &[u8],
    max_raw: u64,
    out: &mut Vec<u8>,
) -> Result<Stats, DecodeError> {
    let mut stats = Stats::default();
    let mut at = 0;
    let mut blocks = [[0; BLOCK_BYTES]; BATCH];
    while at < stream.len() {
        let n = match path.0 {
            Kind::Portable => 0,
            #[cfg(target_arch = "x86_64")]
            Kind::Avx2(avx2) => {
                let room = ((max_raw - stats.raw_bytes) / BLOCK_BYTES as u64).min(BATCH as u64) as usize;
                let n;
                (at, n) = avx2.decode_blocks(layout, stream, at, &mut blocks[..room], &mut stats.blocks);
                stats.raw_bytes += (n * BLOCK_BYTES) as u64;
                n
            }
        };
        // What the fast path left alone is looked at one by one.
        let mut result = Ok((0, 0));
        if n < BATCH && at < stream.len() {
            result = next_block(layout, stream, at, max_raw, &mut stats, &mut blocks[n]);
        }
        let extra = result.as_ref().map_or(0, |(_, raw_len)| *raw_len);
        out.extend_from_slice(&blocks.as_flattened()[..n * BLOCK_BYTES + extra]);
        at += result?.0;
    }
    stats.comp_bytes = stream.len() as u64;
    Ok(stats)
}

/// Decodes the block at `at` and counts it; returns its bytes in the stream and in the tensor.
#[inline]
fn next_block(
    layout: Layout,
    stream: &[u8],
    at: usize,
    max_raw: u64,
    stats: &mut Stats,
    raw: &mut [u8; BLOCK_BYTES],
) -> Result<(usize, usize), DecodeError> {
    let rest = &stream[at..];
    let offset = at as u64;
    let (header, len) = block(layout, rest, offset, raw)?;
    if let Header::Tail { .. } = header
        && rest.len() > len
    {
        return Err(DecodeError::Trailing {
            offset,
            extra: rest.len() - len,
        });
    }
    let found = stats.raw_bytes + header.raw_len() as u64;
    if found > max_raw {
        return Err(DecodeError::TooLong {
            offset,
            expected: max_raw,
            found,
        });
    }
    stats.raw_bytes = found;
    if let Some(form) = header.form() {
        stats.blocks[form as usize] += 1;
    }
    Ok((len, header.raw_len()))
}

/// Decodes the block at the start of `stream` (full or tail) into the start of `raw`; returns its header and its
/// length in the stream.
///
/// # Errors
/// [`DecodeError::BadHeader`] or [`DecodeError::Truncated`], with offset 0.
pub fn decode_block(
    layout: Layout,
    stream: &[u8],
    raw: &mut [u8; BLOCK_BYTES],
) -> Result<(Header, usize), DecodeError> {
    block(layout, stream, 0, raw)
}

#[inline]
fn block(
    layout: Layout,
    stream: &[u8],
    offset: u64,
    raw: &mut [u8; BLOCK_BYTES],
) -> Result<(Header, usize), DecodeError> {
    let header = Header::parse(layout, stream).map_err(|e| match e {
        HeaderError::Truncated { needed, have } => DecodeError::Truncated { offset, needed, have },
        source @ HeaderError::Bad { .. } => DecodeError::BadHeader { offset, source },
    })?;
    let len = header.block_len(layout);
    if stream.len() < len {
        return Err(DecodeError::Truncated {
            offset,
            needed: len,
            have: stream.len(),
        });
    }
    payload(layout, &header, &stream[header.header_len(layout)..len], raw);
    Ok((header, len))
}

/// Decodes a payload of exactly the length that the header tells.
fn payload(layout: Layout, header: &Header, mut bytes: &[u8], raw: &mut [u8; BLOCK_BYTES]) {
    let mut take = |n: usize| {
        let (head, rest) = bytes.split_at(n);
        bytes = rest;
        head
    };
    let wb = layout.word_bytes();
    let n = layout.words();
    let mut words = [0; 64];
    match header {
        Header::Raw => {
            raw.copy_from_slice(take(BLOCK_BYTES));
            return;
        }
        Header::Tail { len } => {
            raw[..*len].copy_from_slice(take(*len));
            return;
        }
        Header::AllZero => {}
        Header::ZeroValue { mask } => {
            for i in set_bits(mask.bits) {
                words[i] = word(take(wb));
            }
        }
        Header::BitPlane { plane, drops } => {
            for (g, group) in words[..n].as_chunks_mut::<GROUP_WORDS>().0.iter_mut().enumerate() {
                let kg = plane.k - drops.of(g);
                let (z, top) = (plane.z as usize, plane.top(layout, kg) as usize);
                *group = group_of(layout, z, take(top - z)).map(|c| decode_word(layout, plane, kg, c));
            }
        }
        Header::Delta { widths, base } => {
            let mut before = *base;
            for (group, width) in words[..n].as_chunks_mut::<GROUP_WORDS>().0.iter_mut().zip(widths) {
                *group = undelta(layout, before, &group_of(layout, 0, take(usize::from(*width))));
                before = group[GROUP_WORDS - 1];
            }
        }
        Header::ZeroMasked { plane, mask } => {
            let mut places = set_bits(mask.bits);
            let mut put = |words: &mut [u32], group: &[u32]| {
                // The slice leads: it ends the zip without taking a place too many.
                for (w, i) in group.iter().zip(places.by_ref()) {
                    words[i] = *w;
                }
            };
            let q = mask.count() % GROUP_WORDS;
            let (z, top) = (plane.z as usize, plane.top(layout, plane.k) as usize);
            let decoded = |codes: Group| codes.map(|c| decode_word(layout, plane, plane.k, c));
            match plane.partial(layout, q) {
                Partial::None => {}
                Partial::Verbatim { words: n } => {
                    for _ in 0..n {
                        put(&mut words, &[word(take(wb))]);
                    }
                }
                Partial::Halves { lo, hi, verbatim } => {
                    for _ in 0..verbatim {
                        put(&mut words, &[word(take(wb))]);
                    }
                    let planelets = from_half_planelets(lo, take(hi - lo), top);
                    let group = decoded(from_planelets(layout, &planelets));
                    put(&mut words, &group[GROUP_WORDS - (q - verbatim)..]);
                }
                Partial::Planes { lo, hi } => {
                    let group = decoded(group_of(layout, lo, take(hi - lo)));
                    put(&mut words, &group[GROUP_WORDS - q..]);
                }
            }
            for _ in 0..mask.count() / GROUP_WORDS {
                let group = decoded(group_of(layout, z, take(top - z)));
                put(&mut words, &group);
            }
        }
    }
    from_words(layout, &words, raw);
}

fn set_bits(mut mask: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        (mask != 0).then(|| {
            let i = mask.trailing_zeros() as usize;
            mask &= mask - 1;
            i
        })
    })
}

fn word(bytes: &[u8]) -> u32 {
    bytes.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b))
}

/// The group whose planelets from `lo` on are `bytes`, all others zero.
fn group_of(layout: Layout, lo: usize, bytes: &[u8]) -> Group {
    let mut all = [0; 32];
    all[lo..lo + bytes.len()].copy_from_slice(bytes);
    from_planelets(layout, &all)
}

fn decode_word(layout: Layout, plane: &Plane, kg: u32, code: u32) -> u32 {
    let mb = layout.mant_bits();
    let f = code >> mb;
    let r = (f & ((1 << kg) - 1)) as u8;
    let s = match plane.sign {
        SignMode::Positive => 0,
        SignMode::Negative => 1,
        SignMode::Kept => f >> kg & 1,
    };
    s << (layout.word_bits() - 1) | u32::from(plane.e_max.wrapping_sub(r)) << mb | code & ((1 << mb) - 1)
}
