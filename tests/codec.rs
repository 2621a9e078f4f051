//! The golden codec against a bit-by-bit reading of docs/format.md, and its promises on every kind of data.

use planezip::codec::{self, DecodeError, Verdict};
use planezip::format::{BLOCK_BYTES, Form, Header, Layout, MAX_BLOCK_LEN, max_stream_len};
use proptest::prelude::*;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// A slow decoder that follows the document word by word and shares no code with the codec.
mod plain {
    use planezip::format::Layout;

    pub fn decode(layout: Layout, s: &[u8]) -> Vec<u8> {
        let (w, n) = if layout == Layout::W16 { (16, 64) } else { (32, 32) };
        let (wb, mb, groups, mk) = (w / 8, w - 9, n / 8, n / 8);
        let mut out = Vec::new();
        let mut at = 0;
        while at < s.len() {
            let b0 = s[at];
            let mut next = at + 1;
            let mut take = |k: usize| {
                next += k;
                &s[next - k..next]
            };
            if b0 >= 0x81 {
                out.extend_from_slice(take((b0 & 0x7f) as usize));
                at = next;
                continue;
            }
            let word = |b: &[u8]| {
                b.iter()
                    .enumerate()
                    .map(|(i, x)| (*x as u64) << (8 * i))
                    .sum::<u64>()
            };
            let mut words = vec![0u64; n];
            match b0 >> 4 {
                0 => {
                    for x in &mut words {
                        *x = word(take(wb));
                    }
                }
                1 if b0 == 0x11 => {}
                1 => {
                    let mask = take(mk).to_vec();
                    for i in 0..n {
                        if mask[i / 8] >> (i % 8) & 1 == 1 {
                            words[i] = word(take(wb));
                        }
                    }
                }
                2 | 4 => {
                    let k = (b0 & 15) as usize;
                    let b1 = take(1)[0];
                    let (z, sign_mode) = ((b1 & 31) as usize, b1 >> 5);
                    let e_max = take(1)[0] as u64;
                    let s_planes = (sign_mode == 2) as usize;
                    let real = |c: u64, kg: usize| {
                        let f = c >> mb;
                        let sign = match sign_mode {
                            2 => f >> kg & 1,
                            m => m as u64,
                        };
                        let r = f % (1 << kg);
                        (sign << (w - 1)) | (((e_max + 256 - r) % 256) << mb) | (c % (1 << mb))
                    };
                    let group = |bytes: &[u8]| -> Vec<u64> {
                        (0..8)
                            .map(|j| {
                                bytes
                                    .iter()
                                    .enumerate()
                                    .map(|(i, b)| ((*b >> j & 1) as u64) << (z + i))
                                    .sum()
                            })
                            .collect()
                    };
                    if b0 >> 4 == 2 {
                        let presence = take(1)[0];
                        for g in 0..groups {
                            let kg = if k == 0 {
                                0
                            } else {
                                k - 1 + (presence >> g & 1) as usize
                            };
                            for (j, c) in group(take(mb + kg + s_planes - z)).into_iter().enumerate() {
                                words[8 * g + j] = real(c, kg);
                            }
                        }
                    } else {
                        let mask = take(mk).to_vec();
                        let places: Vec<usize> = (0..n).filter(|i| mask[i / 8] >> (i % 8) & 1 == 1).collect();
                        let planes = s_planes + k + mb - z;
                        let q = places.len() % 8;
                        let mut values = Vec::new();
                        if q > 0 && q * wb < planes {
                            for _ in 0..q {
                                values.push(word(take(wb)));
                            }
                        } else if q > 0 {
                            values.extend(group(take(planes))[8 - q..].iter().map(|c| real(*c, k)));
                        }
                        for _ in 0..places.len() / 8 {
                            values.extend(group(take(planes)).into_iter().map(|c| real(c, k)));
                        }
                        for (i, v) in places.into_iter().zip(values) {
                            words[i] = v;
                        }
                    }
                }
                3 => {
                    let b1 = take(1)[0];
                    let p = ((b0 & 15) as usize) * 2 + (b1 >> 7) as usize;
                    let lo = (b1 & 31) as usize;
                    let mut previous = word(take(wb));
                    for g in 0..groups {
                        let bytes = take(p).to_vec();
                        for j in 0..8 {
                            previous ^= (0..p)
                                .map(|i| ((bytes[i] >> j & 1) as u64) << (lo + i))
                                .sum::<u64>();
                            words[8 * g + j] = previous;
                        }
                    }
                }
                _ => panic!("form"),
            }
            for x in words {
                out.extend_from_slice(&x.to_le_bytes()[..wb]);
            }
            at = next;
        }
        out
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
    stats
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
        4
    );
    assert_eq!(
        check(Layout::W32, &0x3f9d_1234u32.to_le_bytes().repeat(32)).comp_bytes,
        6
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
    let verdict = |layout, bytes: &[u8]| {
        codec::decode(layout, bytes, u64::MAX, &mut Vec::new())
            .expect_err("must fail")
            .verdict()
    };
    use Verdict::{BadHeader, Trailing, Truncated};
    for b0 in 0..=255u8 {
        let valid = matches!(b0, 0 | 0x10 | 0x11 | 0x20..=0x28 | 0x30..=0x3f | 0x40..=0x48 | 0x81..);
        if !valid {
            assert_eq!(verdict(Layout::W16, &[b0]), Some(BadHeader), "{b0:#x}");
        } else if b0 != 0x11 {
            assert_eq!(verdict(Layout::W16, &[b0]), Some(Truncated), "{b0:#x}");
        }
    }
    assert_eq!(verdict(Layout::W16, &[0x82, 1, 2, 0x11]), Some(Trailing));
    assert_eq!(
        verdict(Layout::W16, &[0x20, 0x80, 0, 0]),
        Some(BadHeader),
        "bit 7 of byte 1"
    );
    assert_eq!(
        verdict(Layout::W16, &[0x20, 0x60, 0, 0]),
        Some(BadHeader),
        "sign mode 3"
    );
    assert_eq!(verdict(Layout::W16, &[0x20, 8, 0, 0]), Some(BadHeader), "z > 7");
    assert_eq!(verdict(Layout::W32, &[0x20, 24, 0, 0]), Some(BadHeader), "z > 23");
    assert_eq!(
        verdict(Layout::W32, &[0x21, 0, 0, 0x10]),
        Some(BadHeader),
        "presence of group 4"
    );
    assert_eq!(
        verdict(Layout::W16, &[0x20, 0, 0, 1]),
        Some(BadHeader),
        "presence with k = 0"
    );
    assert_eq!(
        verdict(Layout::W16, &[0x30, 0x20, 0, 0]),
        Some(BadHeader),
        "bits 6..5"
    );
    assert_eq!(
        verdict(Layout::W16, &[0x38, 1, 0, 0]),
        Some(BadHeader),
        "lo + p = 17"
    );
    assert_eq!(
        verdict(Layout::W32, &[0x10, 0, 0, 0, 0]),
        Some(BadHeader),
        "mask all zero"
    );
    assert_eq!(
        verdict(Layout::W32, &[0x40, 0, 0, 0, 0, 0, 0]),
        Some(BadHeader),
        "mask all zero"
    );
    let mut short = vec![0x11, 0x00];
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
    let e = codec::decode(Layout::W16, &[0x11, 0x11], 200, &mut Vec::new()).expect_err("too long");
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
            let mut out = Vec::new();
            let _ = codec::decode(layout, &bad, raw.len() as u64, &mut out);
            assert!(out.len() <= raw.len());
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
        let mut out = Vec::new();
        let _ = codec::decode(layout, &stream, 1 << 20, &mut out);
    }
}
