//! Every committed input through its target, without instrumentation.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use planezip::codec::decode;
use planezip::container;
use planezip::format::Layout;
use planezip_fuzz::{TARGETS, seeds::seeds};

fn fuzz() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The committed inputs of a target: name and bytes.
fn committed(target: &str) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(fuzz().join("seeds").join(target))
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read(path).unwrap())
        })
        .collect()
}

fn replay(target: &str) {
    let (_, body) = TARGETS.into_iter().find(|(name, _)| *name == target).unwrap();
    let inputs = committed(target);
    for (name, bytes) in &inputs {
        eprintln!("{target}/{name}");
        body(bytes);
    }
    // Few and small: the repository is no place for a corpus.
    assert!((1..=100).contains(&inputs.len()), "{}", inputs.len());
    let bytes: usize = inputs.values().map(Vec::len).sum();
    assert!(bytes <= 64 << 10, "{bytes} bytes");
}

#[test]
fn block_stream() {
    replay("block_stream");
}

#[test]
fn round_trip() {
    replay("round_trip");
}

#[test]
fn independent() {
    replay("independent");
}

#[test]
fn container() {
    replay("container");
}

#[test]
fn tensor_file() {
    replay("tensor_file");
}

#[test]
fn every_target_has_a_fuzzer_and_seeds() {
    let sources = |folder: &str| {
        let mut names: Vec<String> = fs::read_dir(fuzz().join(folder))
            .unwrap()
            .map(|e| {
                e.unwrap()
                    .path()
                    .file_stem()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        names.sort();
        names
    };
    let mut names = TARGETS.map(|(name, _)| name.to_owned());
    names.sort();
    assert_eq!(sources("fuzz_targets"), names);
    assert_eq!(sources("seeds"), names);
}

/// The seeds are what the generator makes, so that a change of the format does not leave useless ones behind.
#[test]
fn committed_seeds_are_the_generated_ones() {
    let generated = seeds(&fuzz().join("../tests/data/sample")).unwrap();
    for (target, _) in TARGETS {
        let committed = committed(target);
        let mut n = 0;
        for seed in generated.iter().filter(|s| s.target == target) {
            assert!(
                committed.get(&seed.name) == Some(&seed.bytes),
                "{target}/{}: run `cargo run --package planezip-fuzz --example seeds`",
                seed.name
            );
            n += 1;
        }
        assert!(n >= 10, "{target}: {n} seeds");
    }
}

/// A seed that ends at the first check would be a poor start.
#[test]
fn seeds_reach_the_far_end() {
    let generated = seeds(Path::new(&fuzz().join("../tests/data/sample"))).unwrap();
    for seed in &generated {
        match seed.target {
            "block_stream" => {
                let layout = if seed.name.starts_with("w16") {
                    Layout::W16
                } else {
                    Layout::W32
                };
                let limit = u64::from(u16::from_le_bytes([seed.bytes[0], seed.bytes[1]]));
                let stats = decode(layout, &seed.bytes[2..], limit, &mut Vec::new()).unwrap();
                assert_eq!(stats.raw_bytes, limit);
            }
            "container" if seed.name != "file_cut" && seed.name != "file_longer" => {
                let pz = planezip_fuzz::seeds::pz(&seed.bytes).unwrap();
                container::decompress(&pz[..], Vec::new(), &mut |_| {})
                    .unwrap_or_else(|e| panic!("{}: {e}", seed.name));
            }
            _ => {}
        }
    }
}
