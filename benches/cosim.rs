//! Simulated cycles per second at each beat width, both channels busy: the cycle model alone, the harness with the
//! model under test, and with the feature `cosim` the verilated RTL with all pins compared.

use std::hint::black_box;
use std::sync::Arc;

use criterion::{Criterion, Throughput};
use planezip::cosim::{Config, Direction, Dut, EncodeJob, ModelDut, Profile, Work, run};
use planezip::format::Dtype;
use planezip::model::{BEAT_BYTES, Engine, Inputs, Outputs};
use planezip::tensor::{Input, Options};

/// The sample's BF16 activations of one model, as packets.
fn packets() -> Vec<Work> {
    let path = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/data/sample/resnet_bf16.safetensors"
    );
    let mut input = Input::open(path.as_ref(), &Options::default()).expect("the sample is in the repository");
    let mut packets = Vec::new();
    while let Some(segment) = input.next_segment().expect("readable") {
        if let Some(tensor) = segment.tensor() {
            let mut raw = Vec::new();
            input.read_chunk(&mut raw, usize::MAX / 2).expect("readable");
            packets.push(Work::Encode(EncodeJob::new(
                tensor.name.clone(),
                Dtype::Bf16,
                raw,
            )));
        }
    }
    packets
}

fn lock_step(dut: &mut dyn Dut, beat_bytes: usize, packets: &[Work]) -> u64 {
    let config = Config {
        beat_bytes,
        direction: Direction::Both,
        stalls: Profile::None,
        seed: 1,
    };
    let report = run(dut, &config, &mut packets.iter().cloned().map(Ok), &mut ()).expect("runs");
    assert_eq!(report.failure, None);
    report.cycles
}

/// Cycles of the model alone, fed with a full beat in every cycle.
fn model_alone(beat_bytes: usize, stream: &Arc<Vec<u8>>, raw: &Arc<Vec<u8>>) -> u64 {
    let mut engine = Engine::new(beat_bytes).expect("a width that exists");
    let mut inputs = Inputs {
        comp_m_ready: true,
        decomp_m_ready: true,
        ..Inputs::default()
    };
    inputs.comp_s.valid = true;
    let mut pins = Outputs::default();
    let (mut fed, mut restored, mut cycles) = (0, 0, 0);
    while fed + beat_bytes <= raw.len() {
        engine.outputs(&mut pins);
        inputs.comp_s.data[..beat_bytes].copy_from_slice(&raw[fed..fed + beat_bytes]);
        inputs.decomp_s.valid = restored + beat_bytes <= stream.len();
        if inputs.decomp_s.valid {
            inputs.decomp_s.data[..beat_bytes].copy_from_slice(&stream[restored..restored + beat_bytes]);
        }
        engine.step(&inputs);
        fed += if pins.comp_s_ready { beat_bytes } else { 0 };
        restored += if pins.decomp_s_ready && inputs.decomp_s.valid {
            beat_bytes
        } else {
            0
        };
        cycles += 1;
    }
    black_box(&pins);
    cycles
}

fn benches(c: &mut Criterion) {
    let packets = packets();
    let longest = packets.iter().filter_map(|w| match w {
        Work::Encode(job) => Some(job),
        Work::Decode(_) => None,
    });
    let job = longest
        .max_by_key(|job| job.raw.len())
        .expect("the sample has tensors");
    for beat in BEAT_BYTES {
        let mut group = c.benchmark_group(format!("cycles, {beat} bytes per beat"));
        group.sample_size(10);
        group.throughput(Throughput::Elements(model_alone(beat, &job.stream, &job.raw)));
        group.bench_function("model", |b| b.iter(|| model_alone(beat, &job.stream, &job.raw)));
        let model = || ModelDut(Engine::new(beat).expect("a width that exists"));
        group.throughput(Throughput::Elements(lock_step(&mut model(), beat, &packets)));
        group.bench_function("harness, model under test", |b| {
            b.iter(|| lock_step(&mut model(), beat, &packets));
        });
        #[cfg(feature = "cosim")]
        group.bench_function("cosimulation", |b| {
            b.iter_batched(
                || planezip::cosim::Rtl::new(beat, 1).expect("a width that exists"),
                |mut rtl| lock_step(&mut rtl, beat, &packets),
                criterion::BatchSize::PerIteration,
            );
        });
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
}
