//! The golden codec against a bit-by-bit reading of docs/format.md, and its promises on every kind of data.

use planezip::codec::{self, DecodeError, Path, Verdict};
use planezip::cosim::foreign;
use planezip::format::{BLOCK_BYTES, Form, Header, Layout, MAX_BLOCK_LEN, max_stream_len};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A slow decoder of valid streams that follows the document word by word and shares no code with the codec.
mod plain {
    use planezip::format::Layout;

    /// The stream, read front to back.
    struct Bytes<'a>(&'a [u8]);

    impl Bytes<'_> {
        fn take(&mut self, n: usize) -> Vec<u8> {
            let (head, rest) = self.0.split_at(n);
            self.0 = rest;
            head.to_vec()
        }

        fn number(&mut self, n: usize) -> u64 {
            self.take(n)
                .iter()
                .enumerate()
                .map(|(i, x)| u64::from(*x) << (8 * i))
                .sum()
        }

        /// Eight words whose planelets from `lo` to `hi` follow.
        fn group(&mut self, lo: usize, hi: usize) -> Vec<u64> {
            let planes = self.take(hi - lo);
            let bit = |j: usize, p: usize| u64::from(planes[p - lo] >> j & 1) << p;
            (0..8).map(|j| (lo..hi).map(|p| bit(j, p)).sum()).collect()
        }

        /// The mask's bits, written in style 0, 1 or 2.
        fn mask(&mut self, style: u8, mk: usize) -> Vec<bool> {
            let presence = if style == 0 { 0xff } else { self.take(1)[0] };
            let filler = if style == 2 { 0xff } else { 0 };
            let mut bits = Vec::new();
            for b in 0..mk {
                let byte = if presence >> b & 1 == 1 {
                    self.take(1)[0]
                } else {
                    filler
                };
                bits.extend((0..8).map(|i| byte >> i & 1 == 1));
            }
            bits
        }
    }

    pub fn decode(layout: Layout, stream: &[u8]) -> Vec<u8> {
        let w = if layout == Layout::W16 { 16 } else { 32 };
        let (wb, groups) = (w / 8, 128 / w);
        let mut s = Bytes(stream);
        let mut out = Vec::new();
        while !s.0.is_empty() {
            let code = s.take(1)[0];
            let words = match code {
                0xC0 => (0..8 * groups).map(|_| s.number(wb)).collect(),
                0xC1 => vec![0; 8 * groups],
                0xC2 => {
                    let t = s.take(1)[0].into();
                    out.extend(s.take(t));
                    continue;
                }
                0xC3 => deltas(&mut s, w),
                0xC4..=0xC6 => {
                    let mask = s.mask(code - 0xC4, groups);
                    mask.iter()
                        .map(|there| if *there { s.number(wb) } else { 0 })
                        .collect()
                }
                0xE0.. => {
                    let prefixed = s.take(1)[0];
                    planes(&mut s, w, usize::from(code) - 0xE0, prefixed)
                }
                _ => planes(&mut s, w, 0, code),
            };
            for x in words {
                out.extend_from_slice(&x.to_le_bytes()[..wb]);
            }
        }
        out
    }

    fn planes(s: &mut Bytes<'_>, w: usize, z: usize, code: u8) -> Vec<u64> {
        let (wb, mb, groups) = (w / 8, w - 9, 128 / w);
        let (form, mode, k) = (code >> 5, code >> 3 & 3, usize::from(code & 7));
        let sp = usize::from(mode == 2);
        let e_max = s.number(1);
        let real = |c: u64, kg: usize| {
            let f = c >> mb;
            let sign = if mode == 2 { f >> kg & 1 } else { mode.into() };
            let e = (e_max + 256 - f % (1 << kg)) % 256;
            sign << (w - 1) | e << mb | (c % (1 << mb))
        };
        if form < 3 {
            let bits = usize::from(form);
            let field = s.number(groups * bits / 8);
            let mut words = Vec::new();
            for g in 0..groups {
                let kg = k - (field >> (bits * g)) as usize % (1 << bits);
                words.extend(s.group(z, mb + kg + sp).into_iter().map(|c| real(c, kg)));
            }
            return words;
        }
        let mask = s.mask(form - 3, groups);
        let nz = mask.iter().filter(|m| **m).count();
        let (q, hi) = (nz % 8, mb + k + sp);
        let mut values = Vec::new();
        // The last four of a partial group's words, of which `n` are there.
        let halves = |s: &mut Bytes<'_>, from: usize, n: usize| -> Vec<u64> {
            let bytes = s.take(hi.div_ceil(2) - from);
            let bit = |j: usize, p: usize| u64::from(bytes[p / 2 - from] >> (4 * (p % 2) + j) & 1) << p;
            (4 - n..4)
                .map(|j| real((2 * from..hi).map(|p| bit(j, p)).sum(), k))
                .collect()
        };
        if (1..=4).contains(&q) {
            if q * wb < hi.div_ceil(2) - z / 2 {
                values.extend((0..q).map(|_| s.number(wb)));
            } else {
                values = halves(s, z / 2, q);
            }
        } else if q > 4 {
            if hi - z <= (q - 4) * wb + hi.div_ceil(2) {
                values.extend(s.group(z, hi)[8 - q..].iter().map(|c| real(*c, k)));
            } else {
                values.extend((4..q).map(|_| s.number(wb)));
                values.extend(halves(s, 0, 4));
            }
        }
        for _ in 0..nz / 8 {
            values.extend(s.group(z, hi).into_iter().map(|c| real(c, k)));
        }
        let mut values = values.into_iter();
        mask.iter()
            .map(|there| {
                if *there {
                    values.next().expect("nz values")
                } else {
                    0
                }
            })
            .collect()
    }

    fn deltas(s: &mut Bytes<'_>, w: usize) -> Vec<u64> {
        let (groups, bits) = (128 / w, if w == 16 { 4 } else { 5 });
        let field = s.number(if w == 16 { 4 } else { 3 });
        let base = s.number(w / 8);
        let mut words: Vec<u64> = Vec::new();
        for g in 0..groups {
            let width = (field >> (bits * g)) as usize % w;
            let codes = s.group(0, if width == w - 1 { w } else { width });
            let ahead = words.last().copied().unwrap_or(base);
            let start = words.len();
            for (j, c) in codes.into_iter().enumerate() {
                let prediction = if j < 2 {
                    ahead
                } else {
                    words[start + (j / 2) * 2 - 1]
                };
                let d = if c % 2 == 1 {
                    -((c / 2 + 1) as i64)
                } else {
                    (c / 2) as i64
                };
                words.push((prediction as i64 + d).rem_euclid(1 << w) as u64);
            }
        }
        words
    }
}

fn check(layout: Layout, raw: &[u8]) -> codec::Stats {
    let mut stream = Vec::new();
    let stats = codec::encode(layout, raw, &mut stream);
    assert_eq!(stats.comp_bytes, stream.len() as u64);
    assert_eq!(stats.raw_bytes, raw.len() as u64);
    assert!(stats.comp_bytes <= max_stream_len(stats.raw_bytes));
    let mut back = Vec::new();
    let again = codec::decode(layout, &stream, raw.len() as u64, &mut back).expect("own stream");
    assert_eq!(back, raw);
    assert_eq!(again, stats);
    assert_eq!(plain::decode(layout, &stream), raw, "the document's decoder");
    for path in Path::all() {
        let mut other = Vec::new();
        assert_eq!(
            codec::encode_with(path, layout, raw, &mut other),
            stats,
            "{path:?}"
        );
        assert_eq!(other, stream, "{path:?}");
        assert_eq!(
            decoded(path, layout, &stream, raw.len() as u64),
            (Ok(stats), raw.to_vec())
        );
    }
    stats
}

/// What a path makes of a stream, and the bytes it delivers.
fn decoded(
    path: Path,
    layout: Layout,
    stream: &[u8],
    max: u64,
) -> (Result<codec::Stats, DecodeError>, Vec<u8>) {
    let mut out = Vec::new();
    let result = codec::decode_with(path, layout, stream, max, &mut out);
    (result, out)
}

/// All paths make the same of any stream.
fn paths_agree(layout: Layout, stream: &[u8], max: u64) {
    let expected = decoded(Path::PORTABLE, layout, stream, max);
    for path in Path::all() {
        assert_eq!(
            decoded(path, layout, stream, max),
            expected,
            "{path:?} {layout:?} {stream:02x?}"
        );
    }
}

/// Streams that no encoder makes, but that decode: any header fields, any payload.
#[test]
fn paths_agree_on_foreign_streams() {
    let mut rng = planezip::cosim::rng(3, 0);
    for _ in 0..10_000 {
        let job = foreign(String::new(), &mut rng);
        paths_agree(job.dtype.layout(), &job.stream, u64::MAX);
        // Alone, each block is at the end of its stream, where the fast paths give way.
        paths_agree(
            job.dtype.layout(),
            &[&job.stream[..], &[0xC1; 64]].concat(),
            u64::MAX,
        );
    }
}

/// Words drawn so that every form and header corner comes up.
fn structured(layout: Layout, rng: &mut StdRng) -> [u8; BLOCK_BYTES] {
    let (bits, mb) = (layout.word_bits(), layout.mant_bits());
    let e_hi = rng.random_range(0..=255u32);
    let widest = 1 << rng.random_range(0..9);
    let span = rng.random_range(0..=e_hi.min(widest));
    let z = rng.random_range(0..=mb);
    let sign = rng.random_range(0..3);
    let zero = *[0.0, 0.02, 0.2, 0.5, 0.9, 1.0]
        .get(rng.random_range(0..6))
        .unwrap_or(&0.0);
    let walk = rng.random_bool(0.3);
    let mut previous: u32 = rng.random();
    let step = rng.random_range(0..bits);
    let mut raw = [0; BLOCK_BYTES];
    for word in raw.chunks_mut(layout.word_bytes()) {
        let w = if rng.random_bool(zero) {
            0
        } else if walk {
            previous ^ (rng.random::<u32>() & ((1u32 << step) - 1))
        } else {
            let s = match sign {
                0 => 0,
                1 => 1,
                _ => rng.random_range(0..2u32),
            };
            let m = ((rng.random::<u32>() & ((1 << mb) - 1)) >> z) << z;
            (s << (bits - 1)) | ((e_hi - rng.random_range(0..=span)) << mb) | m
        };
        previous = w;
        word.copy_from_slice(&w.to_le_bytes()[..layout.word_bytes()]);
    }
    raw
}

#[test]
fn structured_blocks_reach_every_form_and_survive() {
    for layout in Layout::ALL {
        let mut rng = StdRng::seed_from_u64(7);
        let mut total = codec::Stats::default();
        for _ in 0..30_000 {
            total.add(&check(layout, &structured(layout, &mut rng)));
        }
        for form in Form::ALL {
            assert!(
                total.form(form) > 100,
                "{layout:?} {} came up {} times",
                form.name(),
                total.form(form)
            );
        }
    }
}

#[test]
fn every_16_bit_pattern_survives() {
    let all: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    check(Layout::W16, &all);
    check(Layout::W32, &all);
    // Each pattern also as a constant block, and among zeros.
    for p in 0..=u16::MAX {
        let constant: Vec<u8> = p.to_le_bytes().repeat(64);
        let mut alone = vec![0; BLOCK_BYTES];
        alone[usize::from(p % 64) * 2..][..2].copy_from_slice(&p.to_le_bytes());
        for raw in [constant, alone] {
            let mut stream = Vec::new();
            codec::encode(Layout::W16, &raw, &mut stream);
            let mut back = Vec::new();
            codec::decode(Layout::W16, &stream, 128, &mut back).expect("own stream");
            assert_eq!(back, raw);
        }
    }
}

#[test]
fn fp32_specials_survive() {
    let mut words = vec![
        0u32,
        1 << 31,
        1,
        0x8000_0001,
        0x007f_ffff,
        0x0080_0000,
        0x7f7f_ffff,
    ];
    words.extend([0x7f80_0000, 0xff80_0000, 0x7fc0_0000, 0xffc0_0000]);
    // NaN payloads: each bit, and all of them.
    words.extend((0..23).flat_map(|b| [0x7f80_0000 | (1 << b), 0xff80_0000 | (1 << b)]));
    words.push(u32::MAX);
    let mut rng = StdRng::seed_from_u64(3);
    let raw: Vec<u8> = (0..32 * 500)
        .flat_map(|_| words[rng.random_range(0..words.len())].to_le_bytes())
        .collect();
    check(Layout::W32, &raw);
    check(Layout::W16, &raw);
}

#[test]
fn every_length_survives_within_its_bound() {
    let mut rng = StdRng::seed_from_u64(1);
    let noise: Vec<u8> = (0..700).map(|_| rng.random()).collect();
    for layout in Layout::ALL {
        for n in 0..=noise.len() {
            check(layout, &noise[..n]);
            check(layout, &vec![0; n]);
        }
    }
}

#[test]
fn maximum_ratio_and_constant_blocks() {
    let zeros = vec![0; 1 << 20];
    assert_eq!(check(Layout::W16, &zeros).comp_bytes, (1 << 20) / 128);
    // A constant block is one word and no planes: header and base.
    assert_eq!(
        check(Layout::W16, &0x3f9du16.to_le_bytes().repeat(64)).comp_bytes,
        7
    );
    assert_eq!(
        check(Layout::W32, &0x3f9d_1234u32.to_le_bytes().repeat(32)).comp_bytes,
        8
    );
}

#[test]
fn the_smallest_form_wins_and_ties_go_to_the_lowest_code() {
    let mut rng = StdRng::seed_from_u64(9);
    let mut ties = 0;
    for layout in Layout::ALL {
        for _ in 0..20_000 {
            let raw = structured(layout, &mut rng);
            let mut words = [0; 64];
            for (w, b) in words.iter_mut().zip(raw.chunks(layout.word_bytes())) {
                *w = b.iter().rev().fold(0, |w, b| w << 8 | u32::from(*b));
            }
            let sizes: Vec<(usize, Form)> = codec::candidates(layout, &words)
                .iter()
                .flatten()
                .map(|h| (h.block_len(layout), h.form().expect("full block")))
                .collect();
            let best = *sizes.iter().min().expect("some form");
            ties += usize::from(sizes.iter().filter(|s| s.0 == best.0).count() > 1);
            let mut out = [0; MAX_BLOCK_LEN];
            let (form, len) = codec::encode_block(layout, &raw, &mut out);
            assert_eq!((len, form), best);
            assert!(form == Form::Raw || len <= BLOCK_BYTES, "only raw blocks expand");
            let header = Header::parse(layout, &out[..len]).expect("own header");
            assert_eq!((header.block_len(layout), header.form()), (len, Some(form)));
        }
    }
    assert!(ties > 100, "{ties} ties");
}

#[test]
fn bad_streams_are_named() {
    let verdict_of = |layout, bytes: &[u8]| {
        codec::decode(layout, bytes, u64::MAX, &mut Vec::new())
            .err()
            .and_then(|e| e.verdict())
    };
    let verdict = verdict_of;
    use Verdict::{BadHeader, Trailing, Truncated};
    for layout in Layout::ALL {
        let (mb, w32) = (layout.mant_bits() as u8, layout == Layout::W32);
        let planes = |b: u8| b < 0xC0 && b >> 3 & 3 != 3 && !(w32 && b >> 5 == 1);
        for b in 0..=255u8 {
            let alone = verdict_of(layout, &[b]);
            let behind_a_prefix = verdict_of(layout, &[0xE1, b]);
            let valid = planes(b) || (0xC0..=0xC6).contains(&b) || (0xE1..=0xE0 + mb).contains(&b);
            let expected = if b == 0xC1 {
                None
            } else if valid {
                Some(Truncated)
            } else {
                Some(BadHeader)
            };
            assert_eq!(alone, expected, "{layout:?} {b:#x}");
            let expected = if planes(b) { Truncated } else { BadHeader };
            assert_eq!(behind_a_prefix, Some(expected), "{layout:?} 0xe1 {b:#x}");
        }
    }
    assert_eq!(verdict(Layout::W16, &[0xC2, 2, 1, 2, 0xC1]), Some(Trailing));
    let w16: [(&[u8], Verdict, &str); 9] = [
        (&[0xC2, 0], BadHeader, "tail of no bytes"),
        (&[0xC2, 128, 0], BadHeader, "tail of a block"),
        (&[0x20, 0, 1], BadHeader, "a drop with k = 0"),
        (&[0x41, 0, 2, 0], BadHeader, "two drops with k = 1"),
        (&[0x42, 0, 0, 0xC0], BadHeader, "three drops with k = 2"),
        (&[0x42, 0, 0], Truncated, "half a drop field"),
        (&[0xC5, 0], BadHeader, "no mask byte"),
        (
            &[0xC6, 1, 0],
            Truncated,
            "a mask in which all other words are there",
        ),
        (&[0xC5, 3, 0], Truncated, "half a mask"),
    ];
    for (bytes, expected, what) in w16 {
        assert_eq!(verdict(Layout::W16, bytes), Some(expected), "{what}");
    }
    let w32: [(&[u8], Verdict, &str); 9] = [
        (&[0xC4, 0, 0, 0, 0], BadHeader, "mask all zero"),
        (&[0x60, 0, 0, 0, 0, 0], BadHeader, "mask all zero"),
        (&[0xC6, 15, 0, 0, 0, 0], BadHeader, "mask all zero, written out"),
        (
            &[0xC5, 0x10],
            BadHeader,
            "presence of mask byte 4, before its bytes are missed",
        ),
        (&[0x80, 0, 0x10], BadHeader, "presence of mask byte 4"),
        (&[0x80, 0], Truncated, "no presence byte"),
        (&[0xE1, 0xA0, 0, 0x1F], BadHeader, "presence of mask byte 4"),
        (
            &[0xC3, 0, 0, 0x10, 0, 0, 0, 0],
            BadHeader,
            "bits beyond the width field",
        ),
        (&[0xC3, 0, 0, 0x10, 0, 0, 0], Truncated, "word 0 cut off"),
    ];
    for (bytes, expected, what) in w32 {
        assert_eq!(verdict(Layout::W32, bytes), Some(expected), "{what}");
    }
    let mut short = vec![0xC1, 0xC0];
    short.extend([0; 127]);
    let e = codec::decode(Layout::W16, &short, u64::MAX, &mut Vec::new()).expect_err("short");
    assert_eq!(
        e,
        DecodeError::Truncated {
            offset: 1,
            needed: 129,
            have: 128
        }
    );
    let e = codec::decode(Layout::W16, &[0xC1, 0xC1], 200, &mut Vec::new()).expect_err("too long");
    assert_eq!(
        e,
        DecodeError::TooLong {
            offset: 1,
            expected: 200,
            found: 256
        }
    );
}

#[test]
fn truncation_and_bit_flips_never_panic() {
    let mut rng = StdRng::seed_from_u64(5);
    for layout in Layout::ALL {
        let mut raw: Vec<u8> = (0..12).flat_map(|_| structured(layout, &mut rng)).collect();
        raw.extend([1, 2, 3]);
        let mut stream = Vec::new();
        codec::encode(layout, &raw, &mut stream);
        for n in 0..stream.len() {
            let mut out = Vec::new();
            if codec::decode(layout, &stream[..n], raw.len() as u64, &mut out).is_ok() {
                // Only at a block boundary.
                assert_eq!(out.len() % BLOCK_BYTES, 0);
            }
        }
        for bit in 0..8 * stream.len() {
            let mut bad = stream.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            paths_agree(layout, &bad, raw.len() as u64);
            assert!(decoded(Path::best(), layout, &bad, raw.len() as u64).1.len() <= raw.len());
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_round_trip(raw in proptest::collection::vec(any::<u8>(), 0..1000), wide in any::<bool>()) {
        check(if wide { Layout::W32 } else { Layout::W16 }, &raw);
    }

    #[test]
    fn any_stream_decodes_or_errs(stream in proptest::collection::vec(any::<u8>(), 0..1000), wide in any::<bool>()) {
        let layout = if wide { Layout::W32 } else { Layout::W16 };
        paths_agree(layout, &stream, 1 << 20);
    }
}
