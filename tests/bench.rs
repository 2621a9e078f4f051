//! `planezip bench`, and the codecs it compares with. No test looks at how fast anything is.
#![cfg(feature = "bench")]

use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::prelude::*;
use planezip::bench::bitshuffle::{BLOCK, MULTIPLE, Transposer, blocks};
use planezip::bench::{Comparison, Element, Method};
use planezip::codec;
use planezip::stat::{self, load};
use planezip::tensor::Float;
use proptest::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

const METHODS: [Method; 7] = [
    Method::Planezip,
    Method::ZeroValue,
    Method::Lz4,
    Method::Zstd3,
    Method::Zstd19,
    Method::BitshuffleLz4,
    Method::Memcpy,
];

fn planezip(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("planezip").unwrap();
    command.arg("bench").args(args);
    command
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample")
}

fn bench(command: &mut Command) -> Value {
    let output = command.assert().code(0).get_output().clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn positive(value: &Value) {
    assert!(
        value.as_f64().is_some_and(|v| v > 0.0 && v.is_finite()),
        "{value}"
    );
}

#[test]
fn every_contestant_has_its_speeds() {
    // The default is the sample.
    let report = bench(&mut planezip(&["--json", "--seconds", "0", "--threads", "2"]));
    let single = [
        "planezip",
        "zero_value",
        "lz4",
        "zstd_3",
        "bitshuffle_lz4",
        "memcpy",
    ];
    for run in ["bf16", "f32"] {
        let group = &report["summary"][run];
        let models = group["models"].as_object().unwrap();
        assert_eq!(models.len(), 5);
        for direction in ["compress", "decompress"] {
            for key in single.into_iter().chain(["planezip_threads"]) {
                positive(&group[direction]["gb_per_s"][key]);
                for m in models.values() {
                    let speed = &m[direction]["gb_per_s"][key];
                    for figure in ["min", "median", "max"] {
                        positive(&speed[figure]);
                    }
                    assert!(speed["min"].as_f64() <= speed["median"].as_f64(), "{speed}");
                    assert!(speed["median"].as_f64() <= speed["max"].as_f64(), "{speed}");
                    assert!(speed["spread"].as_f64().unwrap() >= 0.0, "{speed}");
                }
            }
            for key in &single[1..] {
                positive(&group[direction]["planezip_over"][key]);
                for m in models.values() {
                    let speeds = &m[direction]["gb_per_s"];
                    let of = |key: &str| speeds[key]["median"].as_f64().unwrap();
                    approx::assert_relative_eq!(
                        m[direction]["planezip_over"][key].as_f64().unwrap(),
                        of("planezip") / of(key),
                        max_relative = 1e-9
                    );
                }
            }
            positive(&group[direction]["speedup"]);
        }
        for m in models.values() {
            assert!(m["rounds"].as_u64().unwrap() >= 5);
            let streams = &m["stream_bytes"];
            assert_eq!(streams["memcpy"], m["raw_bytes"]);
            // Spans of whole blocks add up to the same stream.
            assert_eq!(streams["planezip_threads"], streams["planezip"]);
        }
    }
    // Every contestant restored all bytes.
    let data = &report["data"];
    assert_eq!(
        data["verified_bytes"].as_u64().unwrap(),
        7 * data["raw_bytes"].as_u64().unwrap()
    );
    assert_eq!(report["threads"], 2);
    let waited = report["waited_share"].as_f64();
    assert!(
        waited.is_none_or(|share| (0.0..=1.0).contains(&share)),
        "{waited:?}"
    );
    for key in ["cpu", "rustc"] {
        assert_ne!(report["machine"][key], "");
    }
    for (name, version) in report["machine"]["versions"].as_object().unwrap() {
        let version = version.as_str().unwrap();
        assert!(
            version.starts_with(|c: char| c.is_ascii_digit()),
            "{name}: {version}"
        );
    }
}

#[test]
fn the_table_names_all() {
    let output = planezip(&["--seconds", "0", "--threads", "3"])
        .arg(sample().join("vgg_bf16.safetensors"))
        .assert()
        .code(0)
        .get_output()
        .clone();
    let text = String::from_utf8(output.stdout).unwrap();
    for part in [
        "planezip",
        "3 threads",
        "zstd -3",
        "/ lz4",
        "memcpy",
        "vgg",
        "geometric mean",
    ] {
        assert!(text.contains(part), "'{part}' missing in: {text}");
    }
}

#[test]
fn what_cannot_be_measured_says_why() {
    let dir = TempDir::new().unwrap();
    let fails = |command: &mut Command, part: &str| {
        let output = command.assert().code(2).get_output().clone();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(err.contains(part) && !err.contains("panicked"), "{err}");
        assert!(output.stdout.is_empty());
    };
    let missing = dir.path().join("missing");
    fails(planezip(&[]).arg(&missing), "missing");
    fails(planezip(&[]).arg(dir.path()), "found none");
    let ints = dir.path().join("ints.npy");
    let header = "{'descr': '<i4', 'fortran_order': False, 'shape': (0,)}";
    let npy = [
        &b"\x93NUMPY\x01\x00"[..],
        &(header.len() as u16).to_le_bytes(),
        header.as_bytes(),
    ]
    .concat();
    std::fs::write(&ints, npy).unwrap();
    fails(planezip(&[]).arg(&ints), "found none that count");
    fails(&mut planezip(&["--seconds=-1"]), "seconds");
    fails(&mut planezip(&["--seconds", "NaN"]), "seconds");
}

/// The tensors that race are those that `stat` counts.
#[test]
fn the_tensors_that_stat_counts() {
    let request = stat::Request {
        paths: vec![sample()],
        ..stat::Request::default()
    };
    let loaded = load(&request).unwrap();
    let report = stat::collect(&request, &|_, _| ()).unwrap();
    let counted: Vec<_> = report
        .tensors
        .iter()
        .filter(|t| t.counted)
        .map(|t| (&t.file, &t.name, &t.model, t.raw_bytes))
        .collect();
    let raced: Vec<_> = loaded
        .tensors
        .iter()
        .map(|t| (&t.file, &t.name, &t.model, t.raw.len() as u64))
        .collect();
    assert_eq!(raced, counted);
    assert_eq!(loaded.files, report.files);
}

/// A codec that loses data is found out, with the place.
#[test]
fn lost_data_is_an_error() {
    let error = Method::Lz4.check(b"abcdef", b"abcxef").unwrap_err();
    assert!(error.is_failure());
    assert!(error.to_string().contains("offset 3"), "{error}");
    assert!(Method::Lz4.check(b"abc", b"ab").is_err());
    Method::Lz4.check(b"abc", b"abc").unwrap();
}

/// Bytes as activations have them, or not: zeros, few values, noise.
fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..max),
        prop::collection::vec(prop_oneof![Just(0), Just(0), Just(0x3f), any::<u8>()], 0..max),
        (any::<u8>(), 0..max).prop_map(|(byte, n)| vec![byte; n]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn bitshuffle_round_trip(raw in bytes(3 * BLOCK), element in prop::sample::select(vec![1, 2, 4, 8])) {
        let mut transposer = Transposer::default();
        let mut at = 0;
        for len in blocks(element, raw.len()) {
            prop_assert!(len <= BLOCK && len % (element * MULTIPLE) == 0);
            let block = &raw[at..at + len];
            at += len;
            let (mut out, mut back) = (vec![0; len], vec![0; len]);
            transposer.forward(element, block, &mut out);
            let ones = |bytes: &[u8]| bytes.iter().map(|b| b.count_ones()).sum::<u32>();
            prop_assert_eq!(ones(&out), ones(block));
            transposer.backward(element, &out, &mut back);
            prop_assert_eq!(&back, block);
        }
        prop_assert!(raw.len() - at < element * MULTIPLE);
    }

    #[test]
    fn every_method_restores_every_byte(raw in bytes(2 * BLOCK + 300)) {
        for method in METHODS {
            let mut codec = method.codec().unwrap();
            let (mut stream, mut back) = (vec![7; 5], vec![7; 5]);
            for float in stat::FLOATS {
                let element = Element::from(float);
                codec.compress(element, &raw, &mut stream).unwrap();
                codec.decompress(element, &stream, raw.len(), &mut back).unwrap();
                prop_assert_eq!(&back, &raw, "{}", method.name());
            }
        }
        let sizes = Comparison::new().unwrap().sizes(Element::from(Float::Bf16), &raw).unwrap();
        let layout = Element::from(Float::Bf16).layout;
        prop_assert_eq!(sizes.zero_value, codec::zero_value_len(layout, &raw));
    }

    /// Streams that are cut short or damaged give errors or other bytes, never a panic.
    #[test]
    fn damaged_streams(raw in bytes(BLOCK + 300), at in any::<prop::sample::Index>(), byte in any::<u8>()) {
        let element = Element::from(Float::F32);
        for method in METHODS {
            let mut codec = method.codec().unwrap();
            let (mut stream, mut back) = (Vec::new(), Vec::new());
            codec.compress(element, &raw, &mut stream).unwrap();
            if stream.is_empty() {
                continue;
            }
            let at = at.index(stream.len());
            let _ = codec.decompress(element, &stream[..at], raw.len(), &mut back);
            stream[at] = byte;
            let _ = codec.decompress(element, &stream, raw.len(), &mut back);
        }
    }
}
