//! Throughput of the golden codec in raw bytes: encode and decode, by element type, over the sample's tensors.

use std::hint::black_box;

use criterion::{Criterion, Throughput};
use planezip::codec;
use planezip::format::max_stream_len;
use planezip::stat::{FLOATS, Request, Tensor, load};
use planezip::tensor::DType;

fn benches(c: &mut Criterion) {
    let request = Request {
        paths: vec![concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/sample").into()],
        ..Request::default()
    };
    let sample = load(&request).expect("the sample is in the repository");
    for float in FLOATS {
        let tensors: Vec<&Tensor> = sample.tensors.iter().filter(|t| t.float == float).collect();
        if tensors.is_empty() {
            continue;
        }
        let layout = DType::from(float).layout();
        let streams: Vec<Vec<u8>> = tensors
            .iter()
            .map(|t| {
                let mut stream = Vec::new();
                codec::encode(layout, &t.raw, &mut stream);
                stream
            })
            .collect();
        let raw_bytes = tensors.iter().map(|t| t.raw.len() as u64).sum();
        let longest = tensors.iter().map(|t| t.raw.len() as u64).max().unwrap_or(0);
        let mut buffer = Vec::with_capacity(max_stream_len(longest) as usize);

        let mut group = c.benchmark_group(format!("codec, {}", float.key()));
        group.throughput(Throughput::Bytes(raw_bytes));
        group.bench_function("encode", |b| {
            b.iter(|| {
                for t in &tensors {
                    buffer.clear();
                    codec::encode(layout, black_box(&t.raw), &mut buffer);
                    black_box(&buffer);
                }
            });
        });
        group.bench_function("decode", |b| {
            b.iter(|| {
                for (t, stream) in tensors.iter().zip(&streams) {
                    buffer.clear();
                    codec::decode(layout, black_box(stream), t.raw.len() as u64, &mut buffer)
                        .expect("what was encoded decodes");
                    black_box(&buffer);
                }
            });
        });
        group.finish();
    }
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    benches(&mut criterion);
    criterion.final_summary();
}
