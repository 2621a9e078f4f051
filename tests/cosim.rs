//! The verilated RTL against the cycle model and the golden codec.
#![cfg(feature = "cosim")]

use planezip::cosim::{
    Config, DecodeJob, Direction, Dut, EncodeJob, Profile, RandomPackets, Report, Rtl, Work, malformed, run,
};
use planezip::format::Dtype;
use planezip::model::{BEAT_BYTES, Inputs, Outputs};
use rand::Rng;

/// Runs work through the RTL in both directions; fails with the harness's report of what differs.
fn check(beat_bytes: usize, stalls: Profile, seed: u64, work: impl IntoIterator<Item = Work>) -> Report {
    let config = Config {
        beat_bytes,
        direction: Direction::Both,
        stalls,
        seed,
    };
    // The seed is also that of the RTL's initial state.
    let mut rtl = Rtl::new(beat_bytes, seed).unwrap();
    let report = run(&mut rtl, &config, &mut work.into_iter().map(Ok), &mut ()).unwrap();
    if let Some(failure) = &report.failure {
        panic!("{beat_bytes} bytes per beat, stalls {stalls}:\n{failure}");
    }
    report
}

#[test]
fn random_packets_at_every_width_and_stall_profile() {
    for beat in BEAT_BYTES {
        for (i, stalls) in Profile::ALL.into_iter().enumerate() {
            let seed = i as u64 + 1;
            let report = check(beat, stalls, seed, RandomPackets::new(2000, seed));
            assert!(report.blocks >= 2000);
        }
    }
}

#[test]
fn malformed_packets_drain_and_the_next_is_clean() {
    for beat in BEAT_BYTES {
        for (seed, stalls) in [(21, Profile::None), (22, Profile::Worst)] {
            let d = check(beat, stalls, seed, malformed(600, seed))
                .decompress
                .unwrap();
            for verdict in ["ok", "bad header", "truncated", "trailing data"] {
                assert!(d.verdicts[verdict] > 10, "{verdict}: {:?}", d.verdicts);
            }
        }
    }
}

/// State that reset does not touch must not matter.
#[test]
fn any_initial_state() {
    for seed in 0..20 {
        check(
            32,
            Profile::Random,
            seed,
            RandomPackets::new(60, seed).chain(malformed(10, seed)),
        );
    }
}

#[test]
fn all_patterns_of_16_bits() {
    let raw: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    // In order, and so far apart that no form but RAW pays.
    let far: Vec<u8> = (0..=u16::MAX)
        .flat_map(|i| i.wrapping_mul(0x6487).to_le_bytes())
        .collect();
    for beat in BEAT_BYTES {
        for dtype in [Dtype::Bf16, Dtype::F16, Dtype::F32] {
            let work =
                [&raw, &far].map(|r| Work::Encode(EncodeJob::new("patterns".into(), dtype, r.clone())));
            check(beat, Profile::Skewed, 5, work);
        }
    }
}

#[test]
fn data_of_greatest_ratio() {
    for beat in BEAT_BYTES {
        let mut work = Vec::new();
        for dtype in [Dtype::Bf16, Dtype::F32] {
            for bytes in [0x00, 0x3f, 0xff] {
                for len in [128, 4096, 100_000, 100_001] {
                    let label = format!("{len} bytes of {bytes:#x}");
                    work.push(Work::Encode(EncodeJob::new(label, dtype, vec![bytes; len])));
                }
            }
        }
        check(beat, Profile::None, 6, work.clone());
        check(beat, Profile::Skewed, 6, work);
    }
}

#[test]
fn packets_of_every_length() {
    let mut rng = planezip::cosim::rng(8, 0);
    for beat in BEAT_BYTES {
        let work: Vec<Work> = (0..=300)
            .map(|n| {
                let raw = (0..n).map(|_| rng.random()).collect();
                Work::Encode(EncodeJob::new(format!("{n} bytes"), Dtype::Other, raw))
            })
            .collect();
        check(beat, Profile::None, 8, work.clone());
        check(beat, Profile::Worst, 8, work);
    }
}

/// The RTL's rates; that they are the model's is checked in every cycle, that the model's are what the document says
/// in tests/model.rs.
#[test]
fn rates() {
    for beat in BEAT_BYTES {
        let zeros = Work::Encode(EncodeJob::new("zeros".into(), Dtype::Bf16, vec![0; 1 << 17]));
        let mut rng = planezip::cosim::rng(9, 0);
        let noise: Vec<u8> = (0..1 << 17).map(|_| rng.random()).collect();
        let noise = Work::Encode(EncodeJob::new("noise".into(), Dtype::Bf16, noise));
        for (work, least) in [(zeros, 0.999), (noise, 0.99)] {
            let report = check(beat, Profile::None, 9, [work]);
            for channel in [report.compress.unwrap(), report.decompress.unwrap()] {
                let rate = channel.raw_beats_per_cycle.unwrap();
                assert!(rate >= least, "{beat}: {rate} beats per cycle");
            }
        }
    }
}

/// A reset in the middle of packets leaves nothing of them.
#[test]
fn reset_in_the_middle() {
    for beat in BEAT_BYTES {
        for cut in [1, 7, 30, 200] {
            let mut rtl = Rtl::new(beat, 3).unwrap();
            let mut inputs = Inputs::default();
            let mut outputs = Outputs::default();
            let mut rng = planezip::cosim::rng(10, 0);
            for cycle in 0..cut {
                for s in [&mut inputs.comp_s, &mut inputs.decomp_s] {
                    rng.fill(&mut s.data[..]);
                    s.valid = true;
                    s.last = cycle % 11 == 10;
                    s.keep = u64::MAX;
                }
                inputs.comp_m_ready = cycle % 3 == 0;
                inputs.decomp_m_ready = cycle % 5 == 0;
                rtl.cycle(&inputs, &mut outputs).unwrap();
            }
            rtl.reset(1).unwrap();
            let config = Config {
                beat_bytes: beat,
                direction: Direction::Both,
                stalls: Profile::Random,
                seed: 1,
            };
            let report = run(&mut rtl, &config, &mut RandomPackets::new(50, 1).map(Ok), &mut ()).unwrap();
            assert_eq!(report.failure, None, "{beat} {cut}");
        }
    }
}

/// A stream with a block of each form, cut at every byte, and with every bit flipped on its own; a clean packet after
/// each.
#[test]
fn every_truncation_and_every_bit_flip_of_a_stream() {
    let mut rng = planezip::cosim::rng(11, 0);
    for dtype in [Dtype::Bf16, Dtype::F32] {
        // Noise, zeros, near values, a ramp, one with gaps, a single word, and a tail.
        let float = |i: u32| (1.0 + (i * i % 97) as f32 * 0.37).to_bits();
        let words: [&dyn Fn(u32) -> u32; 5] = [
            &|_| 0,
            &|i| float(i) >> if dtype == Dtype::Bf16 { 16 } else { 0 },
            &|i| 37 * i,
            &|i| if i % 3 == 0 { float(i) >> 16 } else { 0 },
            &|i| if i == 9 { 0x4321 } else { 0 },
        ];
        let size = dtype.layout().word_bytes();
        let mut raw: Vec<u8> = (0..128).map(|_| rng.random()).collect();
        for word in words {
            raw.extend((0..128 / size as u32).flat_map(|i| word(i).to_le_bytes()[..size].to_vec()));
        }
        raw.extend([1, 2, 3, 4, 5]);
        let whole = EncodeJob::new("whole".into(), dtype, raw);
        assert!(
            whole.stats.blocks.iter().all(|n| *n > 0),
            "{:?}",
            whole.stats.blocks
        );
        let stream = &whole.stream;
        let mut work = Vec::new();
        let mut add = |label: String, bytes: Vec<u8>| {
            work.push(Work::Decode(DecodeJob::new(label, dtype, bytes)));
            work.push(Work::Encode(EncodeJob::new(
                "clean".into(),
                Dtype::F16,
                vec![7; 130],
            )));
        };
        for n in 0..stream.len() {
            add(format!("cut at {n}"), stream[..n].to_vec());
        }
        for bit in 0..8 * stream.len() {
            let mut flipped = stream.to_vec();
            flipped[bit / 8] ^= 1 << (bit % 8);
            add(format!("bit {bit} flipped"), flipped);
        }
        for (beat, stalls) in [(32, Profile::None), (16, Profile::Random), (64, Profile::Skewed)] {
            let d = check(beat, stalls, 12, work.clone()).decompress.unwrap();
            assert_eq!(d.packets, work.len() as u64);
        }
    }
}
