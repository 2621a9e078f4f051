//! Packets that the decompressor has to reject, and packets that only look like it.

use rand::Rng;

use super::blocks::Blocks;
use super::random::{random_block, random_header};
use super::{DecodeJob, EncodeJob, StimulusRng, Work, rng};
use crate::codec;
use crate::format::{BLOCK_BYTES, Dtype, Header, HeaderError, Layout, MAX_HEADER_LEN, code};

/// `n` packets for the decompressor, damaged in many ways, each followed by a clean one.
pub fn malformed(n: u64, seed: u64) -> impl Iterator<Item = Work> {
    let mut rng = rng(seed, 2);
    let mut blocks = Layout::ALL.map(|layout| Blocks::new(layout, &mut rng));
    (0..n).flat_map(move |i| {
        let dtype = [Dtype::Bf16, Dtype::F16, Dtype::F32, Dtype::Other][rng.random_range(0..4)];
        let blocks = &mut blocks[usize::from(dtype.layout() == Layout::W32)];
        let mut raw = Vec::new();
        for _ in 0..rng.random_range(0..6) {
            raw.extend_from_slice(&blocks.next(&mut rng));
        }
        if raw.is_empty() || rng.random_bool(0.5) {
            raw.extend((0..rng.random_range(1..BLOCK_BYTES)).map(|_| rng.random::<u8>()));
        }
        let mut stream = Vec::new();
        codec::encode(dtype.layout(), &raw, &mut stream);
        let how = damage(i, dtype.layout(), &mut stream, &mut rng);
        [
            Work::Decode(DecodeJob::new(
                format!("malformed packet {i} ({how})"),
                dtype,
                stream,
            )),
            Work::Encode(EncodeJob::new(
                format!("clean packet after malformed packet {i}"),
                dtype,
                raw,
            )),
        ]
    })
}

/// Damages a block stream in the `i`-th way; returns how.
fn damage(i: u64, layout: Layout, stream: &mut Vec<u8>, rng: &mut StimulusRng) -> &'static str {
    match i % 6 {
        0 => {
            for _ in 0..rng.random_range(1..4) {
                let bit = rng.random_range(0..8 * stream.len());
                stream[bit / 8] ^= 1 << (bit % 8);
            }
            "bit flips"
        }
        1 => {
            stream.truncate(rng.random_range(0..stream.len()));
            "truncated"
        }
        2 => {
            // Behind a tail, so that it is trailing data in fact.
            let header = Header::Tail {
                len: rng.random_range(1..BLOCK_BYTES),
            };
            if layout_end(layout, stream) {
                random_block(layout, &header, rng, stream);
            }
            stream.extend((0..rng.random_range(1..200)).map(|_| rng.random::<u8>()));
            "trailing bytes"
        }
        3 => {
            *stream = (0..rng.random_range(1..400)).map(|_| rng.random()).collect();
            "random bytes"
        }
        4 => {
            // A bad header of each kind, behind whole blocks and before more bytes.
            if !layout_end(layout, stream) {
                stream.clear();
            }
            let header = random_header(layout, rng);
            let at = stream.len();
            random_block(layout, &header, rng, stream);
            let how = spoil(layout, stream, at, rng);
            stream.extend((0..rng.random_range(0..150)).map(|_| rng.random::<u8>()));
            how
        }
        _ => {
            // Cut within the header of a block that follows whole blocks.
            if !layout_end(layout, stream) {
                stream.clear();
            }
            let header = random_header(layout, rng);
            let at = stream.len();
            random_block(layout, &header, rng, stream);
            stream.truncate(at + rng.random_range(1..=header.header_len(layout)));
            "cut within or after a header"
        }
    }
}

/// Whether the stream ends with a full block (or is empty): another block may follow.
fn layout_end(layout: Layout, stream: &[u8]) -> bool {
    !super::work::headers(layout, stream).any(|(_, h)| matches!(h, Header::Tail { .. }))
}

/// Makes the header at the start of a block bad, in one of the ways that its form allows.
fn spoil(layout: Layout, block: &mut Vec<u8>, at: usize, rng: &mut StimulusRng) -> &'static str {
    // Enough bytes that the header cannot also be cut short.
    block.extend((0..MAX_HEADER_LEN).map(|_| rng.random::<u8>()));
    let block = &mut block[at..];
    let prefix = usize::from(block[0] >> 5 == code::PREFIX);
    let (form, field) = (block[prefix] >> 5, prefix + 2);
    let zero_value = (code::ZERO_VALUE..code::ZERO_VALUE + 3).contains(&block[0]);
    let masked = zero_value || (code::ZERO_MASKED..code::OTHER).contains(&form);
    let mask = if zero_value { 1 } else { field };
    let whole = block[0] == code::ZERO_VALUE || (!zero_value && form == code::ZERO_MASKED);
    let planes = form < code::OTHER;
    match rng.random_range(0..6) {
        0 if planes => {
            block[prefix] |= 3 << 3;
            "sign mode 3"
        }
        1 if prefix == 1 => {
            block[0] = code::PREFIX << 5
                | if layout == Layout::W16 && rng.random_bool(0.7) {
                    rng.random_range(8..32)
                } else if layout == Layout::W32 && rng.random_bool(0.7) {
                    rng.random_range(24..32)
                } else {
                    0
                };
            "prefix out of range"
        }
        2 if prefix == 1 => {
            block[1] = rng.random_range(code::RAW..=u8::MAX);
            "prefix before another form"
        }
        1 | 3 if planes && layout == Layout::W32 && form <= code::BIT_PLANE + 2 => {
            block[prefix] = (code::BIT_PLANE + 1) << 5 | block[prefix] & 0x1f;
            "one drop bit under W32"
        }
        1..=4 if form == code::BIT_PLANE + 1 || form == code::BIT_PLANE + 2 => {
            block[prefix] &= !7;
            block[field] |= 1 << rng.random_range(0..8);
            "drops beyond the planes there are"
        }
        1 | 2 if masked && !whole && layout == Layout::W32 => {
            block[mask] |= 0x10 << rng.random_range(0..4);
            "presence of a mask byte that is not there"
        }
        1..=4 if masked => {
            let n = layout.mask_bytes();
            if whole {
                block[mask..mask + n].fill(0);
            } else if form == code::ZERO_MASKED + 2 || block[0] == code::ZERO_VALUE + 2 {
                // What is left out stands for ones: all is written.
                block[mask] = 0xff >> (8 - n);
                block[mask + 1..=mask + n].fill(0);
            } else {
                block[mask] = 0;
            }
            "empty mask"
        }
        1 | 2 if block[0] == code::DELTA && layout == Layout::W32 => {
            block[3] |= 0x10 << rng.random_range(0..4);
            "bits beyond the width field"
        }
        5 => {
            block[0] = code::TAIL;
            block[1] = if rng.random_bool(0.3) {
                0
            } else {
                rng.random_range(128..=255)
            };
            "tail length"
        }
        _ => {
            block[0] = loop {
                let b = rng.random::<u8>();
                // Fifteen bytes hold any header: it is the first one that is refused.
                let bytes: [u8; 15] = std::array::from_fn(|i| if i == 0 { b } else { 1 });
                if matches!(
                    Header::parse(layout, &bytes),
                    Err(HeaderError::Bad { offset: 0, .. })
                ) {
                    break b;
                }
            };
            "unknown first byte"
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::codec::Verdict;

    #[test]
    fn every_verdict_is_reached_in_every_way() {
        let mut ways: BTreeMap<String, BTreeMap<&str, u32>> = BTreeMap::new();
        for work in malformed(3000, 1) {
            if let Work::Decode(job) = work {
                let way = job.label.split_once('(').unwrap().1.to_owned();
                *ways
                    .entry(way)
                    .or_default()
                    .entry(job.verdict.name())
                    .or_default() += 1;
            }
        }
        let bad = [
            "sign mode 3)",
            "prefix out of range)",
            "prefix before another form)",
            "one drop bit under W32)",
            "drops beyond the planes there are)",
            "presence of a mask byte that is not there)",
            "empty mask)",
            "bits beyond the width field)",
            "tail length)",
            "unknown first byte)",
        ];
        for way in bad {
            let verdicts = &ways[way];
            assert!(
                verdicts.keys().eq([&Verdict::BadHeader.name()]),
                "{way}: {verdicts:?}"
            );
        }
        for (way, verdict) in [
            ("trailing bytes)", Verdict::Trailing),
            ("truncated)", Verdict::Truncated),
            ("cut within or after a header)", Verdict::Truncated),
            ("bit flips)", Verdict::BadHeader),
            ("bit flips)", Verdict::Ok),
            ("bit flips)", Verdict::Truncated),
            ("random bytes)", Verdict::BadHeader),
        ] {
            assert!(ways[way].contains_key(verdict.name()), "{way}: {:?}", ways[way]);
        }
    }
}
