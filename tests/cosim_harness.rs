//! The cosimulation harness itself: clean devices pass, every kind of fault is found and named.

use planezip::cosim::{
    Channel, Config, Direction, Dut, DutError, EncodeJob, Error, FailureKind, ModelDut, Observer, Profile,
    RandomPackets, Report, Work, malformed, run,
};
use planezip::format::Dtype;
use planezip::model::{BEAT_BYTES, Engine, Inputs, Outputs};

type Data = Box<dyn std::error::Error + Send + Sync>;

fn config(beat_bytes: usize, stalls: Profile) -> Config {
    Config {
        beat_bytes,
        direction: Direction::Both,
        stalls,
        seed: 7,
    }
}

fn go<D: Dut>(dut: &mut D, config: &Config, work: impl Iterator<Item = Work>) -> Report {
    run(dut, config, &mut work.map(Ok), &mut ()).unwrap()
}

fn model(beat_bytes: usize) -> ModelDut {
    ModelDut(Engine::new(beat_bytes).unwrap())
}

#[test]
fn the_model_agrees_with_itself_and_the_golden_codec() {
    for beat in BEAT_BYTES {
        for stalls in Profile::ALL {
            let work = RandomPackets::new(3000, 11).chain(malformed(300, 11));
            let report = go(&mut model(beat), &config(beat, stalls), work);
            assert_eq!(report.failure, None, "{beat} {stalls}");
            assert_eq!(report.mismatches, 0);
            let (c, d) = (report.compress.unwrap(), report.decompress.unwrap());
            assert!(c.blocks > 3000 && c.blocks == report.blocks);
            assert!(c.blocks_by_form.iter().all(|n| *n > 50), "{:?}", c.blocks_by_form);
            assert!(d.packets >= c.packets + 300);
            for verdict in ["ok", "bad header", "truncated", "trailing data"] {
                assert!(d.verdicts[verdict] > 5, "{verdict}: {:?}", d.verdicts);
            }
            assert_eq!(c.raw_beats_per_cycle.is_some(), stalls == Profile::None);
        }
    }
}

#[test]
fn each_direction_runs_alone() {
    for direction in [Direction::Compress, Direction::Decompress] {
        let config = Config {
            direction,
            ..config(32, Profile::Random)
        };
        let report = go(&mut model(32), &config, RandomPackets::new(500, 1));
        assert_eq!(report.failure, None);
        assert_eq!(report.compress.is_some(), direction == Direction::Compress);
        assert_eq!(report.decompress.is_some(), direction == Direction::Decompress);
        assert!(report.blocks >= 500);
    }
}

#[test]
fn no_work_is_no_failure() {
    let report = go(&mut model(64), &config(64, Profile::None), std::iter::empty());
    assert_eq!((report.blocks, report.beats, report.failure), (0, 0, None));
}

#[test]
fn the_same_seed_gives_the_same_run() {
    let cycles = |seed| {
        let config = Config {
            seed,
            ..config(32, Profile::Worst)
        };
        go(&mut model(32), &config, RandomPackets::new(300, 4)).cycles
    };
    assert_eq!(cycles(1), cycles(1));
    assert_ne!(cycles(1), cycles(2));
}

/// A model whose output pins are changed in one cycle.
struct Faulty<F> {
    model: ModelDut,
    cycle: u64,
    at: u64,
    fault: F,
}

impl<F: FnMut(&mut Outputs) -> bool> Dut for Faulty<F> {
    fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), DutError> {
        self.model.cycle(inputs, outputs)?;
        // The fault is put in at the first cycle from `at` on where it applies.
        if self.cycle >= self.at && (self.fault)(outputs) {
            self.at = u64::MAX;
        }
        self.cycle += 1;
        Ok(())
    }
}

/// Runs with a fault from cycle `at` on; returns the cycle in which it was put in beside the report.
fn with_fault(at: u64, mut fault: impl FnMut(&mut Outputs) -> bool) -> (u64, Report) {
    let mut dut = Faulty {
        model: model(32),
        cycle: 0,
        at,
        fault: |o: &mut Outputs| fault(o),
    };
    let report = go(
        &mut dut,
        &config(32, Profile::Skewed),
        RandomPackets::new(1000, 2),
    );
    // The run stops in the faulty cycle, which the device has counted.
    (dut.cycle - 1, report)
}

type Fault = fn(&mut Outputs) -> bool;

#[test]
fn a_flipped_pin_is_found_in_its_cycle_and_named() {
    let faults: [(&str, Channel, Fault); 28] = [
        ("comp_s_tready_o", Channel::Compress, |o| {
            o.comp_s_ready ^= true;
            true
        }),
        ("comp_m_tvalid_o", Channel::Compress, |o| {
            o.comp_m.valid ^= true;
            true
        }),
        ("comp_m_tlast_o", Channel::Compress, |o| {
            o.comp_m.last ^= true;
            o.comp_m.valid
        }),
        ("comp_m_tlast_o", Channel::Compress, |o| {
            o.comp_m.last ^= !o.comp_m.valid;
            !o.comp_m.valid
        }),
        ("comp_m_tkeep_o", Channel::Compress, |o| {
            o.comp_m.keep ^= 1 << 31;
            true
        }),
        ("comp_m_tdata_o", Channel::Compress, |o| {
            o.comp_m.data[0] ^= 1;
            true
        }),
        ("comp_m_tdata_o", Channel::Compress, |o| {
            o.comp_m.data[31] ^= 0x80;
            true
        }),
        ("comp_m_tuser_o.error", Channel::Compress, |o| {
            o.comp_m.status.error ^= 4;
            o.comp_m.last
        }),
        ("comp_m_tuser_o.raw_bytes", Channel::Compress, |o| {
            o.comp_m.status.raw_bytes ^= 1 << 39;
            true
        }),
        ("comp_m_tuser_o.comp_bytes", Channel::Compress, |o| {
            o.comp_m.status.comp_bytes ^= 1;
            true
        }),
        ("comp_m_tuser_o.blocks_raw", Channel::Compress, |o| {
            o.comp_m.status.blocks[0] ^= 1;
            true
        }),
        ("comp_m_tuser_o.blocks_zv", Channel::Compress, |o| {
            o.comp_m.status.blocks[1] ^= 1;
            true
        }),
        ("comp_m_tuser_o.blocks_bp", Channel::Compress, |o| {
            o.comp_m.status.blocks[2] ^= 1;
            true
        }),
        ("comp_m_tuser_o.blocks_dbp", Channel::Compress, |o| {
            o.comp_m.status.blocks[3] ^= 1;
            true
        }),
        ("comp_m_tuser_o.blocks_zbp", Channel::Compress, |o| {
            o.comp_m.status.blocks[4] ^= 1 << 32;
            true
        }),
        ("decomp_s_tready_o", Channel::Decompress, |o| {
            o.decomp_s_ready ^= true;
            true
        }),
        ("decomp_m_tvalid_o", Channel::Decompress, |o| {
            o.decomp_m.valid ^= true;
            true
        }),
        ("decomp_m_tlast_o", Channel::Decompress, |o| {
            o.decomp_m.last ^= o.decomp_m.valid;
            o.decomp_m.valid
        }),
        ("decomp_m_tkeep_o", Channel::Decompress, |o| {
            o.decomp_m.keep ^= 1;
            true
        }),
        ("decomp_m_tdata_o", Channel::Decompress, |o| {
            o.decomp_m.data[17] ^= 2;
            o.decomp_m.valid
        }),
        ("decomp_m_tuser_o.error", Channel::Decompress, |o| {
            o.decomp_m.status.error ^= 1;
            true
        }),
        ("decomp_m_tuser_o.raw_bytes", Channel::Decompress, |o| {
            o.decomp_m.status.raw_bytes ^= 2;
            o.decomp_m.last
        }),
        ("decomp_m_tuser_o.comp_bytes", Channel::Decompress, |o| {
            o.decomp_m.status.comp_bytes ^= 1 << 20;
            true
        }),
        ("decomp_m_tuser_o.blocks_raw", Channel::Decompress, |o| {
            o.decomp_m.status.blocks[0] ^= 1;
            true
        }),
        ("decomp_m_tuser_o.blocks_zv", Channel::Decompress, |o| {
            o.decomp_m.status.blocks[1] ^= 1;
            true
        }),
        ("decomp_m_tuser_o.blocks_bp", Channel::Decompress, |o| {
            o.decomp_m.status.blocks[2] ^= 1;
            true
        }),
        ("decomp_m_tuser_o.blocks_dbp", Channel::Decompress, |o| {
            o.decomp_m.status.blocks[3] ^= 1;
            true
        }),
        ("decomp_m_tuser_o.blocks_zbp", Channel::Decompress, |o| {
            o.decomp_m.status.blocks[4] ^= 1;
            true
        }),
    ];
    for (signal, channel, fault) in faults {
        for at in [0, 37, 1234] {
            // A fault that does not apply in a cycle must leave the pins alone there.
            let (cycle, report) = with_fault(at, |o| {
                let before = o.clone();
                let applies = fault(o);
                if !applies {
                    *o = before;
                }
                applies
            });
            let failure = report
                .failure
                .unwrap_or_else(|| panic!("{signal} at {at}: not found"));
            assert_eq!(failure.kind, FailureKind::Mismatch, "{signal}");
            assert_eq!(
                (failure.signal.as_str(), failure.cycle),
                (signal, cycle),
                "at {at}"
            );
            assert!(failure.cycle >= at);
            assert_eq!(failure.channel, Some(channel));
            assert_ne!(failure.expected, failure.found);
            assert_eq!(failure.seed, 7);
            assert_eq!(report.mismatches, 1);
            let place = failure.place.expect("there is always a packet under way");
            assert!(place.label.contains("random packet"), "{}", place.label);
        }
    }
}

/// A model that answers wrong inputs: the harness compares pins first, so what the golden checks find has to come
/// from stimulus that claims other bytes.
#[test]
fn bytes_that_differ_from_the_golden_codec_are_found() {
    let good = EncodeJob::new("good".into(), Dtype::Bf16, vec![1, 2, 3, 4, 5]);
    type Spoil = fn(&mut EncodeJob);
    let cases: [(&str, Spoil); 4] = [
        ("comp_m_tdata", |j| {
            *j = with_stream(j, vec![0xC2, 5, 1, 2, 3, 4, 6])
        }),
        ("comp_m_tlast", |j| {
            *j = with_stream(j, vec![0xC2, 5, 1, 2, 3, 4, 5, 6])
        }),
        ("comp_m_tlast", |j| *j = with_stream(j, vec![0xC2, 5, 1, 2, 3, 4])),
        ("comp_m_tuser", |j| j.stats.raw_bytes += 1),
    ];
    for (signal, spoil) in cases {
        let mut job = good.clone();
        spoil(&mut job);
        let config = Config {
            direction: Direction::Compress,
            ..config(32, Profile::None)
        };
        let report = go(&mut model(32), &config, [Work::Encode(job)].into_iter());
        let failure = report.failure.unwrap();
        assert_eq!(
            (failure.kind, failure.signal.as_str()),
            (FailureKind::Golden, signal)
        );
    }
}

fn with_stream(job: &EncodeJob, stream: Vec<u8>) -> EncodeJob {
    EncodeJob {
        stream: stream.into(),
        ..job.clone()
    }
}

/// A device that stops.
struct Stops(ModelDut, u32);

impl Dut for Stops {
    fn cycle(&mut self, inputs: &Inputs, outputs: &mut Outputs) -> Result<(), DutError> {
        if self.1 == 0 {
            return Err(DutError("assertion failed".into()));
        }
        self.1 -= 1;
        self.0.cycle(inputs, outputs)
    }
}

#[test]
fn a_device_that_stops_is_reported() {
    let report = go(
        &mut Stops(model(32), 50),
        &config(32, Profile::None),
        RandomPackets::new(100, 1),
    );
    let failure = report.failure.unwrap();
    assert_eq!((failure.kind, failure.cycle), (FailureKind::Stopped, 50));
    assert_eq!(failure.found, "assertion failed");
}

/// Work that cannot be read, and an observer that fails, end the run with an error.
#[test]
fn errors_of_both_ends_come_through() {
    let mut broken = [Err(Data::from("cannot read"))].into_iter();
    let error = run(&mut model(32), &config(32, Profile::None), &mut broken, &mut ()).unwrap_err();
    assert!(matches!(&error, Error::Data(e) if e.to_string() == "cannot read"));

    struct Full;
    impl Observer for Full {
        fn compressed(&mut self, _: u64, _: &[u8], _: bool) -> Result<(), Data> {
            Err("disk full".into())
        }
    }
    let mut work = RandomPackets::new(10, 1).map(Ok);
    let error = run(&mut model(32), &config(32, Profile::None), &mut work, &mut Full).unwrap_err();
    assert_eq!(error.to_string(), "disk full");
}

/// The observer is shown each packet of the compressor.
#[test]
fn the_observer_gets_the_block_streams() {
    #[derive(Default)]
    struct Collect(Vec<Vec<u8>>, bool);
    impl Observer for Collect {
        fn compressed(&mut self, packet: u64, bytes: &[u8], last: bool) -> Result<(), Data> {
            if !self.1 {
                self.0.push(Vec::new());
            }
            self.1 = !last;
            assert_eq!(packet + 1, self.0.len() as u64);
            self.0.last_mut().unwrap().extend_from_slice(bytes);
            Ok(())
        }
    }
    let work: Vec<Work> = RandomPackets::new(200, 3).collect();
    let mut seen = Collect::default();
    run(
        &mut model(16),
        &config(16, Profile::Random),
        &mut work.clone().into_iter().map(Ok),
        &mut seen,
    )
    .unwrap();
    let expected: Vec<Vec<u8>> = work
        .iter()
        .filter_map(|w| match w {
            Work::Encode(job) => Some(job.stream.to_vec()),
            Work::Decode(_) => None,
        })
        .collect();
    assert_eq!(seen.0, expected);
}
