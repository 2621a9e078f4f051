//! Packets that the decompressor has to reject, and packets that only look like it.

use rand::Rng;

use super::blocks::Blocks;
use super::random::{random_block, random_header};
use super::{DecodeJob, EncodeJob, StimulusRng, Work, rng};
use crate::codec;
use crate::format::{BLOCK_BYTES, Dtype, Header, Layout};

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
            let how = spoil(layout, &mut stream[at..], rng);
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
fn spoil(layout: Layout, block: &mut [u8], rng: &mut StimulusRng) -> &'static str {
    let form = block[0] >> 4;
    match (form, rng.random_range(0..4)) {
        (2 | 4, 0) => {
            block[1] |= 0x80;
            "reserved bit of a plane header"
        }
        (2 | 4, 1) => {
            block[1] |= 0x60;
            "sign mode 3"
        }
        (2 | 4, 2) => {
            block[1] = block[1] & 0x60 | (layout.mant_bits() as u8 + 1 + rng.random_range(0..8)).min(31);
            "too many dropped planes"
        }
        (2, 3) => {
            if layout == Layout::W32 && rng.random_bool(0.5) {
                block[3] |= 0x10 << rng.random_range(0..4);
                "presence of a group that is not there"
            } else {
                block[0] = 0x20;
                block[3] |= 1;
                "presence without planes"
            }
        }
        (3, 0 | 1) => {
            block[1] |= 0x20 << rng.random_range(0..2);
            "reserved bits of a delta header"
        }
        (3, _) if block.len() > 1 => {
            block[0] |= 0x0f;
            block[1] |= 0x80 | rng.random_range(2..32);
            "delta planes beyond the word"
        }
        (1, 0 | 1) if block[0] == 0x10 => {
            block[1..=layout.mask_bytes()].fill(0);
            "empty mask"
        }
        (4, 3) => {
            block[3..3 + layout.mask_bytes()].fill(0);
            "empty mask"
        }
        _ => {
            block[0] = loop {
                let b = rng.random::<u8>();
                if crate::format::header::header_len(layout, b).is_none() {
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
            "reserved bit of a plane header)",
            "sign mode 3)",
            "too many dropped planes)",
            "presence of a group that is not there)",
            "presence without planes)",
            "reserved bits of a delta header)",
            "delta planes beyond the word)",
            "empty mask)",
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
