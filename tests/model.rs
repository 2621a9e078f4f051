//! The cycle model on its own: its bytes against the golden codec, its rates and latencies against
//! `docs/microarchitecture.md`.

use planezip::codec;
use planezip::format::Layout;
use planezip::model::{BEAT_BYTES, Engine, Inputs, Outputs, Status, StreamIn, StreamOut};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

#[derive(Clone, Copy, PartialEq)]
enum Side {
    Compress,
    Decompress,
}

#[derive(Clone)]
struct Packet {
    layout: Layout,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Run {
    packets: Vec<(Vec<u8>, Status)>,
    cycles: u64,
    in_beats: u64,
    out_beats: u64,
    /// Cycle of every input and output handshake.
    in_cycles: Vec<u64>,
    out_cycles: Vec<u64>,
}

/// Sends packets through one channel of the model. `stall` is the chance, per cycle, of an idle sender and of a
/// receiver that is not ready. Null beats end packets that fill their beats with chance `null`.
fn run(beat: usize, side: Side, packets: &[Packet], stall: (f64, f64), null: f64, seed: u64) -> Run {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut engine = Engine::new(beat).unwrap();
    let mut beats = Vec::new();
    for p in packets {
        let dtype = match p.layout {
            Layout::W16 => rng.random_range(0..2),
            Layout::W32 => rng.random_range(2..4),
        };
        let mut chunks: Vec<&[u8]> = p.bytes.chunks(beat).collect();
        if chunks
            .last()
            .is_none_or(|c| c.len() == beat && rng.random_bool(null))
        {
            chunks.push(&[]);
        }
        for (i, c) in chunks.iter().enumerate() {
            let last = i + 1 == chunks.len();
            let mut s = StreamIn {
                last,
                valid: true,
                ..StreamIn::default()
            };
            rng.fill(&mut s.data[..]);
            s.data[..c.len()].copy_from_slice(c);
            // Sidebands say something on their beat only.
            s.dtype = if i == 0 { dtype } else { rng.random_range(0..4) };
            s.keep = if last {
                ((1u128 << c.len()) - 1) as u64
            } else {
                rng.random()
            };
            beats.push(s);
        }
    }
    let mut result = Run::default();
    let mut next = 0;
    let mut current = Vec::new();
    let (mut inputs, mut outputs) = (Inputs::default(), Outputs::default());
    let mut held = false;
    let mut shown: Option<StreamOut> = None;
    while result.packets.len() < packets.len() {
        let valid = next < beats.len() && (held || !rng.random_bool(stall.0));
        let ready = !rng.random_bool(stall.1);
        let s = if valid {
            beats[next].clone()
        } else {
            StreamIn::default()
        };
        match side {
            Side::Compress => (inputs.comp_s, inputs.comp_m_ready) = (s, ready),
            Side::Decompress => (inputs.decomp_s, inputs.decomp_m_ready) = (s, ready),
        }
        engine.outputs(&mut outputs);
        let (s_ready, m) = match side {
            Side::Compress => (outputs.comp_s_ready, &outputs.comp_m),
            Side::Decompress => (outputs.decomp_s_ready, &outputs.decomp_m),
        };
        if let Some(before) = shown.take() {
            assert_eq!(before, *m, "payload not stable, or valid withdrawn");
        }
        if m.valid {
            let n = m.keep.trailing_ones() as usize;
            assert_eq!(u128::from(m.keep), (1u128 << n) - 1);
            assert!(m.last || n == beat);
            assert!(m.data[n..].iter().all(|b| *b == 0));
            assert!(m.last || m.status == Status::default());
            if ready {
                current.extend_from_slice(&m.data[..n]);
                result.out_beats += 1;
                result.out_cycles.push(result.cycles);
                if m.last {
                    result.packets.push((std::mem::take(&mut current), m.status));
                }
            } else {
                shown = Some(m.clone());
            }
        } else {
            assert_eq!(*m, StreamOut::default());
        }
        held = valid && !s_ready;
        if valid && s_ready {
            next += 1;
            result.in_beats += 1;
            result.in_cycles.push(result.cycles);
        }
        engine.step(&inputs);
        result.cycles += 1;
        assert!(
            result.cycles < 200 * (beats.len() as u64 + 40),
            "hang after {} packets",
            result.packets.len()
        );
    }
    result
}

fn golden(p: &Packet) -> (Packet, codec::Stats) {
    let mut bytes = Vec::new();
    let stats = codec::encode(p.layout, &p.bytes, &mut bytes);
    (
        Packet {
            layout: p.layout,
            bytes,
        },
        stats,
    )
}

fn check(beat: usize, packets: &[Packet], stall: (f64, f64), null: f64, seed: u64) -> (Run, Run) {
    let (coded, stats): (Vec<Packet>, Vec<codec::Stats>) = packets.iter().map(golden).unzip();
    let expected: Vec<Status> = stats
        .iter()
        .map(|s| Status {
            error: 0,
            raw_bytes: s.raw_bytes,
            comp_bytes: s.comp_bytes,
            blocks: s.blocks,
        })
        .collect();
    let c = run(beat, Side::Compress, packets, stall, null, seed);
    let d = run(beat, Side::Decompress, &coded, stall, null, seed);
    for (i, packet) in packets.iter().enumerate() {
        assert!(c.packets[i].0 == coded[i].bytes, "compressed packet {i}");
        assert_eq!(c.packets[i].1, expected[i], "compressor's status of packet {i}");
        assert!(d.packets[i].0 == packet.bytes, "restored packet {i}");
        assert_eq!(d.packets[i].1, expected[i], "decompressor's status of packet {i}");
    }
    (c, d)
}

/// Blocks of all kinds: masks of any density (also changing within the block), exponent spreads, constants, noise.
fn block(rng: &mut StdRng, layout: Layout) -> Vec<u8> {
    let noise = rng.random_bool(0.1);
    let bits = rng.random_range(0..=layout.word_bits());
    let low = rng.random_range(0..=layout.word_bits() - bits);
    let keep = (((1u64 << bits) - 1) << low) as u32;
    let base: u32 = rng.random();
    let density: [f64; 2] = match rng.random_range(0..4) {
        0 => [1.0; 2],
        1 => [0.0; 2],
        _ => [rng.random(), rng.random()],
    };
    let n = layout.words();
    let mut out = Vec::new();
    for i in 0..n {
        let w = if noise {
            rng.random()
        } else if rng.random_bool(density[2 * i / n]) {
            base & !keep | rng.random::<u32>() & keep
        } else {
            0
        };
        out.extend_from_slice(&w.to_le_bytes()[..layout.word_bytes()]);
    }
    out
}

fn random_packet(rng: &mut StdRng, max_blocks: usize) -> Packet {
    let layout = Layout::ALL[rng.random_range(0..2)];
    let mut bytes: Vec<u8> = (0..rng.random_range(0..=max_blocks))
        .flat_map(|_| block(rng, layout))
        .collect();
    if rng.random_bool(0.6) {
        let t = rng.random_range(0..128);
        bytes.extend((0..t).map(|_| rng.random::<u8>()));
    }
    Packet { layout, bytes }
}

#[test]
fn random_packets_equal_the_golden_codec_under_any_stalls() {
    for beat in BEAT_BYTES {
        for (i, stall) in [(0.0, 0.0), (0.5, 0.5), (0.75, 0.0), (0.0, 0.75), (0.1, 0.2)]
            .into_iter()
            .enumerate()
        {
            let mut rng = StdRng::seed_from_u64(100 + i as u64);
            let packets: Vec<Packet> = (0..400).map(|_| random_packet(&mut rng, 12)).collect();
            check(beat, &packets, stall, 0.3, i as u64);
        }
    }
}

#[test]
fn every_length_up_to_three_blocks() {
    let mut rng = StdRng::seed_from_u64(1);
    for beat in BEAT_BYTES {
        for layout in Layout::ALL {
            let packets: Vec<Packet> = (0..=384)
                .map(|n| Packet {
                    layout,
                    bytes: (0..n).map(|_| rng.random()).collect(),
                })
                .collect();
            check(beat, &packets, (0.0, 0.0), 0.0, 0);
            check(beat, &packets, (0.0, 0.0), 1.0, 0);
            check(beat, &packets, (0.3, 0.6), 0.5, 0);
        }
    }
}

/// Cycles between the first and the last handshake on the raw side, per raw beat.
fn raw_cycles_per_beat(run: &Run, raw: Side) -> f64 {
    let c = if raw == Side::Compress {
        &run.in_cycles
    } else {
        &run.out_cycles
    };
    (c[c.len() - 1] - c[0] + 1) as f64 / c.len() as f64
}

/// Both channels, all ends willing, move a raw beat in every cycle.
fn one_beat_per_cycle(beat: usize, packets: &[Packet], what: &str) {
    let (c, d) = check(beat, packets, (0.0, 0.0), 0.0, 0);
    let (cr, dr) = (
        raw_cycles_per_beat(&c, Side::Compress),
        raw_cycles_per_beat(&d, Side::Decompress),
    );
    let slack = 8.0 / c.in_beats as f64;
    assert!(cr <= 1.0 + slack && dr <= 1.0 + slack, "{beat} {what}: {cr} {dr}");
}

#[test]
fn one_beat_per_cycle_on_data_that_does_not_expand() {
    for beat in BEAT_BYTES {
        for layout in Layout::ALL {
            let mut rng = StdRng::seed_from_u64(5);
            for round in 0..60 {
                let mut bytes = Vec::new();
                while bytes.len() < 256 * 128 {
                    let b = small_block(&mut rng, layout);
                    // Runs of the same block find the steady states.
                    for _ in 0..rng.random_range(1..20) {
                        bytes.extend_from_slice(&b);
                    }
                }
                one_beat_per_cycle(beat, &[Packet { layout, bytes }], &format!("{layout:?} {round}"));
            }
        }
    }
}

/// A block that does not expand.
fn small_block(rng: &mut StdRng, layout: Layout) -> Vec<u8> {
    loop {
        let b = block(rng, layout);
        if codec::encode_block(layout, b[..].try_into().unwrap(), &mut [0; 129]).1 <= 128 {
            return b;
        }
    }
}

#[test]
fn incompressible_data_at_99_percent() {
    let mut rng = StdRng::seed_from_u64(6);
    for beat in BEAT_BYTES {
        let bytes: Vec<u8> = (0..128 * 1024).map(|_| rng.random()).collect();
        let (c, d) = check(
            beat,
            &[Packet {
                layout: Layout::W32,
                bytes,
            }],
            (0.0, 0.0),
            0.0,
            0,
        );
        assert_eq!(c.packets[0].1.blocks[0], 1024);
        for r in [
            raw_cycles_per_beat(&c, Side::Compress),
            raw_cycles_per_beat(&d, Side::Decompress),
        ] {
            assert!(r <= 1.0 / 0.99, "{beat}: {r} cycles per beat");
        }
    }
}

#[test]
fn no_bubble_between_packets_of_a_block_or_more() {
    for beat in BEAT_BYTES {
        for layout in Layout::ALL {
            for tails in [false, true] {
                for blocks in 1..5 {
                    let mut rng = StdRng::seed_from_u64(7 + blocks);
                    let packets: Vec<Packet> = (0..300)
                        .map(|_| {
                            let mut bytes: Vec<u8> =
                                (0..blocks).flat_map(|_| small_block(&mut rng, layout)).collect();
                            // A tail takes a byte more than it has: leave a beat's worth of room for it.
                            if tails
                                && golden(&Packet {
                                    layout,
                                    bytes: bytes.clone(),
                                })
                                .1
                                .comp_bytes
                                    + 16
                                    <= bytes.len() as u64
                            {
                                bytes.extend((0..rng.random_range(1..128)).map(|_| rng.random::<u8>()));
                            }
                            Packet { layout, bytes }
                        })
                        .collect();
                    one_beat_per_cycle(beat, &packets, &format!("{layout:?} {blocks} {tails}"));
                }
            }
        }
    }
}

/// Cycle of the first output beat, counted from the one in which input beat `n` fires.
fn latency(run: &Run, n: usize) -> u64 {
    run.out_cycles[0] - run.in_cycles[n]
}

#[test]
fn latencies_are_those_of_the_document() {
    let mut rng = StdRng::seed_from_u64(8);
    for (beat, converters) in [(16, 1), (32, 0), (64, 0)] {
        // A packet that ends with its block, so that the block's bytes leave at once; and noise, of which the first
        // beat is complete with the slot of the first unit.
        for bytes in [vec![0; 128], (0..256).map(|_| rng.random()).collect::<Vec<u8>>()] {
            let beats = 128 / beat;
            let packet = Packet {
                layout: Layout::W16,
                bytes,
            };
            let (c, d) = check(beat, std::slice::from_ref(&packet), (0.0, 0.0), 0.0, 0);
            let zeros = packet.bytes[0] == 0;
            // Zeros: the slot of the block's last beat commits; N - 1 slots later.
            let slots = if zeros { 128 / beat.max(32) as u64 - 1 } else { 0 };
            assert_eq!(latency(&c, beats - 1), 4 + slots + converters, "{beat}");
            // All of the zeros' stream is in one beat. Slot 0 of RAW takes a byte more than a beat has, and beat 0 waits
            // for slot 1; their bytes come in time, but for the upsizer, which takes two cycles for each beat.
            let wait = if !zeros && beat == 16 { 2 } else { 0 };
            let needed = if zeros { 0 } else { beat.max(32) / beat - 1 };
            assert_eq!(latency(&d, needed), 5 + converters + wait, "{beat}");
        }
    }
}

/// Masks for which the first beat reaches into unit 1, with every number of pads; and slots that have no bytes.
#[test]
fn masked_blocks_with_every_number_of_pads_keep_the_rate() {
    for beat in BEAT_BYTES {
        for layout in Layout::ALL {
            let n = layout.words();
            let mut rng = StdRng::seed_from_u64(9);
            let mut bytes = Vec::new();
            // One exponent, mantissas without order.
            let value = |i: usize| match layout {
                Layout::W16 => 0x3f00 + i as u32 * 73 % 128,
                Layout::W32 => 0x3f00_0000 + (i as u32).wrapping_mul(0x9e37_79b9) % (1 << 23),
            };
            for nz in 1..n {
                // Dense at the start, at the end, in the middle, spread.
                for first in [0, n - nz, (n - nz) / 2] {
                    let word = |i: usize| {
                        if (first..first + nz).contains(&i) {
                            value(i)
                        } else {
                            0
                        }
                    };
                    bytes.extend((0..n).flat_map(|i| word(i).to_le_bytes()[..layout.word_bytes()].to_vec()));
                }
                let places = rand::seq::index::sample(&mut rng, n, nz).into_vec();
                let word = |i: usize| if places.contains(&i) { value(i) } else { 0 };
                bytes.extend((0..n).flat_map(|i| word(i).to_le_bytes()[..layout.word_bytes()].to_vec()));
            }
            let (c, d) = check(beat, &[Packet { layout, bytes }], (0.0, 0.0), 0.0, 0);
            assert!(c.packets[0].1.blocks[4] > 40, "{:?}", c.packets[0].1.blocks);
            for r in [
                raw_cycles_per_beat(&c, Side::Compress),
                raw_cycles_per_beat(&d, Side::Decompress),
            ] {
                assert!(r <= 1.0 + 8.0 / c.in_beats as f64, "{beat} {layout:?}: {r}");
            }
        }
    }
}

#[test]
fn packets_of_one_beat_follow_each_other_in_every_cycle() {
    for beat in BEAT_BYTES {
        let packets: Vec<Packet> = (0..500)
            .map(|i| Packet {
                layout: Layout::ALL[i % 2],
                bytes: vec![i as u8; i % 14],
            })
            .collect();
        let (c, d) = check(beat, &packets, (0.0, 0.0), 0.0, 0);
        for run in [&c, &d] {
            assert!(
                run.cycles < run.in_beats + 20,
                "{beat}: {} for {}",
                run.cycles,
                run.in_beats
            );
        }
    }
}

#[test]
fn other_widths_are_refused() {
    for width in [0, 8, 31, 128] {
        assert_eq!(Engine::new(width).unwrap_err().found, width);
    }
}
