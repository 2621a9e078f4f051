//! An engine instance: seeds, reset, waveforms, several instances at once.

use planezip_sim::{Engine, Error, Inputs, Outputs};

/// A packet of `bytes` into the compressor with a willing receiver; the beats that come out, and the cycles taken.
fn compress(engine: &mut Engine, bytes: &[u8]) -> (Vec<u8>, u64) {
    let beat = engine.beat_bytes();
    let start = engine.cycles();
    let mut beats = bytes.chunks(beat).peekable();
    let mut out = Vec::new();
    let mut found = Outputs::default();
    for _ in 0..64 + 4 * bytes.len() / beat {
        let mut inputs = Inputs {
            comp_m_ready: true,
            ..Inputs::default()
        };
        if let Some(chunk) = beats.peek() {
            let s = &mut inputs.comp_s;
            s.data[..chunk.len()].copy_from_slice(chunk);
            s.keep = u64::MAX >> (64 - chunk.len());
            s.valid = true;
            s.last = chunk.as_ptr_range().end == bytes.as_ptr_range().end;
        }
        engine.cycle(&inputs, &mut found).unwrap();
        if inputs.comp_s.valid && found.comp_s_ready {
            beats.next();
        }
        if found.comp_m.valid {
            out.extend_from_slice(&found.comp_m.data[..found.comp_m.keep.count_ones() as usize]);
            if found.comp_m.last {
                return (out, engine.cycles() - start);
            }
        }
    }
    panic!("no packet came out");
}

fn sample() -> Vec<u8> {
    (0..1000u32).map(|i| ((i * i) >> 3) as u8).collect()
}

#[test]
fn the_same_packet_gives_the_same_stream_for_every_seed_and_after_a_reset() {
    for beat in [16, 32, 64] {
        let mut first = None;
        for seed in [0, 1, 2, u64::MAX] {
            let mut engine = Engine::new(beat, seed).unwrap();
            let found = compress(&mut engine, &sample());
            assert!(!found.0.is_empty());
            assert_eq!(*first.get_or_insert(found.clone()), found, "{beat}, seed {seed}");
            // Reset in the middle of a packet.
            let mut inputs = Inputs::default();
            inputs.comp_s.valid = true;
            engine.cycle(&inputs, &mut Outputs::default()).unwrap();
            engine.reset(1).unwrap();
            assert_eq!(
                compress(&mut engine, &sample()),
                found,
                "{beat}, seed {seed}, after reset"
            );
        }
    }
}

#[test]
fn instances_in_several_threads_do_not_disturb_each_other() {
    let expected: Vec<_> = [16, 32, 64]
        .map(|beat| compress(&mut Engine::new(beat, 7).unwrap(), &sample()))
        .into();
    std::thread::scope(|scope| {
        for round in 0..4 {
            for (i, beat) in [16, 32, 64].into_iter().enumerate() {
                let expected = &expected;
                // Made here, used and dropped in another thread.
                let mut engine = Engine::new(beat, round).unwrap();
                scope.spawn(move || {
                    for _ in 0..20 {
                        assert_eq!(compress(&mut engine, &sample()).0, expected[i].0);
                    }
                });
            }
        }
    });
}

#[test]
fn waveforms_are_written_and_can_be_opened_again() {
    let dir = tempfile::tempdir().unwrap();
    let mut engine = Engine::new(32, 1).unwrap();
    let mut sizes = Vec::new();
    for name in ["a.fst", "b.fst"] {
        let path = dir.path().join(name);
        engine.open_trace(&path).unwrap();
        let before = engine.time_ps();
        let (_, cycles) = compress(&mut engine, &sample());
        assert_eq!(engine.time_ps() - before, 1000 * cycles);
        engine.close_trace().unwrap();
        let bytes = std::fs::read(&path).unwrap();
        // An FST file starts with a header block: type 0, length 329.
        assert_eq!(bytes[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73], "{name}");
        sizes.push(bytes.len());
    }
    assert!(sizes.iter().all(|&s| s > 1000), "{sizes:?}");
    engine.close_trace().unwrap();
    // Left open: the end of the engine finishes the file.
    let path = dir.path().join("c.fst");
    engine.open_trace(&path).unwrap();
    compress(&mut engine, &sample());
    drop(engine);
    assert_eq!(std::fs::read(&path).unwrap()[..9], [0, 0, 0, 0, 0, 0, 0, 1, 73]);
}

#[test]
fn a_waveform_that_cannot_be_written_is_an_error_that_names_it() {
    let mut engine = Engine::new(32, 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("no/such/folder.fst");
    match engine.open_trace(&path) {
        Err(Error::Trace { path: p, .. }) => assert_eq!(p, path),
        other => panic!("{other:?}"),
    }
    compress(&mut engine, &sample());
}
