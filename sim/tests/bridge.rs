//! The bridge: a one walks through every bit of every port, at each width, over the same marshalling code that
//! the engine uses.

use planezip_sim::{Engine, Error, Inputs, Outputs, StreamIn, StreamOut};

const WIDTHS: [usize; 3] = [16, 32, 64];
const STATUS_HALF: usize = 124;

/// What the loop-back's output is for a given input.
fn looped(s: &StreamIn, beat: usize) -> StreamOut {
    let mut out = StreamOut {
        keep: s.keep,
        last: s.last,
        valid: s.valid,
        ..StreamOut::default()
    };
    out.data[..beat].copy_from_slice(&s.data[..beat]);
    for bit in 0..STATUS_HALF {
        if s.data[bit / 8] >> (bit % 8) & 1 == 1 {
            for half in 0..2 {
                if s.dtype >> half & 1 == 1 {
                    let at = bit + half as usize * STATUS_HALF;
                    out.status[at / 32] |= 1 << (at % 32);
                }
            }
        }
    }
    out
}

fn check(engine: &mut Engine, inputs: &Inputs, what: &str) {
    let beat = engine.beat_bytes();
    let expected = Outputs {
        comp_s_ready: inputs.comp_m_ready,
        comp_m: looped(&inputs.comp_s, beat),
        decomp_s_ready: inputs.decomp_m_ready,
        decomp_m: looped(&inputs.decomp_s, beat),
    };
    // Dirty, so that a field which the bridge leaves alone shows.
    let mut found = Outputs {
        comp_s_ready: !expected.comp_s_ready,
        decomp_s_ready: !expected.decomp_s_ready,
        ..Outputs::default()
    };
    for out in [&mut found.comp_m, &mut found.decomp_m] {
        *out = StreamOut {
            data: [0xa5; 64],
            keep: 0xa5a5_a5a5_a5a5_a5a5,
            status: [0xa5a5_a5a5; 8],
            last: true,
            valid: true,
        };
    }
    engine.cycle(inputs, &mut found).unwrap();
    assert_eq!(found, expected, "{what} at {beat} bytes per beat");
}

#[test]
fn a_one_walks_through_every_bit_of_every_port() {
    for beat in WIDTHS {
        let mut engine = Engine::loopback(beat, 1).unwrap();
        let mut walked = 0;
        for decomp in [false, true] {
            let mut walk = |what: String, set: &dyn Fn(&mut StreamIn)| {
                let mut inputs = Inputs::default();
                set(if decomp {
                    &mut inputs.decomp_s
                } else {
                    &mut inputs.comp_s
                });
                check(&mut engine, &inputs, &what);
                walked += 1;
            };
            for bit in 0..8 * beat {
                walk(format!("data bit {bit}"), &|s| s.data[bit / 8] = 1 << (bit % 8));
            }
            for bit in 0..beat {
                walk(format!("keep bit {bit}"), &|s| s.keep = 1 << bit);
            }
            // The status output: each half is reached through one tuser bit.
            for half in 0..2 {
                for bit in 0..STATUS_HALF {
                    walk(format!("status bit {}", half * STATUS_HALF + bit), &|s| {
                        s.data[bit / 8] = 1 << (bit % 8);
                        s.dtype = 1 << half;
                    });
                }
            }
            walk("last".into(), &|s| s.last = true);
            walk("valid".into(), &|s| s.valid = true);
        }
        for (comp, decomp) in [(true, false), (false, true)] {
            let inputs = Inputs {
                comp_m_ready: comp,
                decomp_m_ready: decomp,
                ..Inputs::default()
            };
            check(&mut engine, &inputs, "ready");
            walked += 1;
        }
        assert_eq!(walked, 2 * (9 * beat + 2 * STATUS_HALF + 2) + 2);
    }
}

#[test]
fn a_zero_walks_through_every_data_and_keep_bit() {
    for beat in WIDTHS {
        let mut engine = Engine::loopback(beat, 1).unwrap();
        let full = StreamIn {
            data: [0xff; 64],
            keep: u64::MAX >> (64 - beat),
            dtype: 3,
            last: true,
            valid: true,
        };
        let ones = Inputs {
            comp_s: full.clone(),
            comp_m_ready: true,
            decomp_s: full,
            decomp_m_ready: true,
        };
        check(&mut engine, &ones, "all ones");
        for bit in 0..8 * beat {
            let mut inputs = ones.clone();
            inputs.comp_s.data[bit / 8] ^= 1 << (bit % 8);
            inputs.decomp_s.keep ^= 1 << (bit % beat);
            check(&mut engine, &inputs, "a zero");
        }
    }
}

#[test]
fn bits_beyond_a_port_are_ignored() {
    for beat in WIDTHS {
        let mut engine = Engine::loopback(beat, 1).unwrap();
        let mut found = Outputs::default();
        let s = StreamIn {
            data: [0xff; 64],
            keep: u64::MAX,
            dtype: 0xff,
            last: false,
            valid: false,
        };
        let inputs = Inputs {
            comp_s: s.clone(),
            decomp_s: s,
            ..Inputs::default()
        };
        engine.cycle(&inputs, &mut found).unwrap();
        for out in [&found.comp_m, &found.decomp_m] {
            assert_eq!(out.keep, u64::MAX >> (64 - beat));
            assert!(out.data[..beat].iter().all(|&b| b == 0xff));
            assert!(out.data[beat..].iter().all(|&b| b == 0));
            assert_eq!(
                out.status,
                [
                    u32::MAX,
                    u32::MAX,
                    u32::MAX,
                    u32::MAX,
                    u32::MAX,
                    u32::MAX,
                    u32::MAX,
                    0x00ff_ffff
                ]
            );
        }
    }
}

#[test]
fn other_widths_are_refused() {
    for beat in [0, 1, 8, 24, 128, usize::MAX] {
        match Engine::new(beat, 1) {
            Err(Error::BeatBytes { found }) => assert_eq!(found, beat),
            other => panic!("{beat}: {other:?}"),
        }
    }
}

#[test]
fn a_failed_assertion_is_an_error_not_the_end_of_the_process() {
    for beat in WIDTHS {
        let mut engine = Engine::loopback(beat, 1).unwrap();
        let mut inputs = Inputs::default();
        inputs.comp_s.keep = 0b10;
        inputs.comp_s.valid = true;
        match engine.cycle(&inputs, &mut Outputs::default()) {
            Err(Error::Rtl { cycle, message }) => {
                assert_eq!(cycle, engine.cycles());
                assert!(message.contains("planezip_loopback.sv"), "{message}");
            }
            other => panic!("{other:?}"),
        }
    }
}
