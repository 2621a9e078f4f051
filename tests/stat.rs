//! `planezip stat`: grouping, weights, and the figures it prints.

mod common;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use assert_cmd::prelude::*;
use planezip::codec;
use planezip::format::Layout;
use serde_json::Value;
use tempfile::TempDir;

fn planezip(args: &[&str]) -> Command {
    let mut command = Command::cargo_bin("planezip").unwrap();
    command.args(args);
    command
}

fn stat(paths: &[&Path]) -> Value {
    let mut command = planezip(&["stat", "--json"]);
    command.args(paths);
    let output = command.assert().code(0).get_output().clone();
    serde_json::from_slice(&output.stdout).unwrap()
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample")
}

/// A safetensors file of (name, dtype, bytes).
fn safetensors(path: &Path, tensors: &[(&str, &str, Vec<u8>)]) {
    let mut entries = serde_json::Map::new();
    let mut data = Vec::new();
    for (name, dtype, bytes) in tensors {
        let begin = data.len();
        data.extend_from_slice(bytes);
        let element = if *dtype == "F32" { 4 } else { 2 };
        entries.insert(
            (*name).into(),
            serde_json::json!({"dtype": dtype, "shape": [bytes.len() / element], "data_offsets": [begin, data.len()]}),
        );
    }
    let json = serde_json::to_vec(&entries).unwrap();
    let file = [&(json.len() as u64).to_le_bytes()[..], &json, &data].concat();
    fs::write(path, file).unwrap();
}

fn noise(n: usize) -> Vec<u8> {
    let mut x = 0x1234_5678_9abc_def1_u64;
    (0..n)
        .map(|_| {
            x ^= x << 13;
            x ^= x >> 7;
            x ^= x << 17;
            (x >> 32) as u8
        })
        .collect()
}

fn size(layout: Layout, raw: &[u8]) -> f64 {
    codec::encode(layout, raw, &mut Vec::new()).comp_bytes as f64
}

fn close(a: &Value, b: f64) {
    approx::assert_relative_eq!(a.as_f64().unwrap(), b, max_relative = 1e-9);
}

/// The shares of the forms add up to 1.
fn modes_make_the_whole(modes: &Value) {
    let sum: f64 = modes
        .as_object()
        .unwrap()
        .values()
        .map(|v| v.as_f64().unwrap())
        .sum();
    approx::assert_relative_eq!(sum, 1.0, max_relative = 1e-9);
}

/// Ratios recomputed from the codec and the JSON's weights.
#[test]
fn weights_runs_and_models() {
    let dir = TempDir::new().unwrap();
    let zeros = vec![0; 1280];
    let noise = noise(2560);
    let at = |name: &str| dir.path().join(name);
    // Two files of one model and run; the F32 tensor is not of the run's precision.
    safetensors(
        &at("a_1.safetensors"),
        &[("z", "BF16", zeros.clone()), ("f", "F32", noise.clone())],
    );
    safetensors(&at("a_2.safetensors"), &[("n", "BF16", noise.clone())]);
    for (name, key, bytes) in [("a_1", "z", 1_000_000), ("a_2", "n", 3_000_000)] {
        let json = serde_json::json!({"model": "a", "precision": "bf16", "tensors": [
            {"key": key, "bytes": bytes}, {"key": "f", "bytes": 5},
        ]});
        fs::write(at(&format!("{name}.json")), json.to_string()).unwrap();
    }
    // An fp32 run of the same model.
    safetensors(&at("a_3.safetensors"), &[("f", "F32", noise.clone())]);
    fs::write(
        at("a_3.json"),
        r#"{"model":"a","precision":"fp32","tensors":[{"key":"f","bytes":9}]}"#,
    )
    .unwrap();
    // A file without JSON, one with JSON that is none, and JSON without a file.
    safetensors(
        &at("own.safetensors"),
        &[("x", "BF16", zeros.clone()), ("y", "F32", zeros.clone())],
    );
    fs::write(at("own.json"), "not json").unwrap();
    fs::write(at("loss_a.json"), "[1, 2]").unwrap();
    // Consecutive iterations, by JSON and by name.
    safetensors(&at("b_x.safetensors"), &[("s0_t0", "BF16", zeros.clone())]);
    fs::write(
        at("b_x.json"),
        r#"{"model":"a","precision":"bf16","iterations":[{"tensors":[{"key":"s0_t0","bytes":7}]}]}"#,
    )
    .unwrap();
    safetensors(
        &at("c_consecutive_1.safetensors"),
        &[("t", "BF16", zeros.clone())],
    );

    let report = stat(&[dir.path()]);
    let a = &report["summary"]["bf16"]["models"]["a"];
    let (cz, cn) = (
        size(Layout::W16, &zeros) / 1280.0,
        size(Layout::W16, &noise) / 2560.0,
    );
    let ratio = 4.0 / (cz + 3.0 * cn);
    close(&a["ratio"], ratio);
    close(
        &a["zero_value_ratio"],
        4.0 / (codec::zero_value_len(Layout::W16, &zeros) as f64 / 1280.0
            + 3.0 * codec::zero_value_len(Layout::W16, &noise) as f64 / 2560.0),
    );
    close(&a["zero_bits_fraction"], {
        let (words, _) = noise.as_chunks::<2>();
        let z = words.iter().filter(|w| **w == [0, 0]).count();
        0.25 + 0.75 * z as f64 / 1280.0
    });
    assert_eq!(a["tensors"], 2);
    assert_eq!(a["weight_bytes"], 4_000_000);
    modes_make_the_whole(&a["modes"]);
    close(&a["modes"]["zero_value"], 0.25);

    // The headline is the geometric mean over models.
    let own = 1280.0 / size(Layout::W16, &zeros);
    close(&report["summary"]["bf16"]["models"]["own"]["ratio"], own);
    close(&report["summary"]["bf16"]["ratio"], (ratio * own).sqrt());
    close(
        &report["summary"]["f32"]["models"]["a"]["ratio"],
        2560.0 / size(Layout::W32, &noise),
    );
    assert!(report["summary"].get("f16").is_none());

    // What does not count says why; what was left out is named.
    let uncounted: Vec<_> = report["tensors"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|t| t["counted"] == false)
        .collect();
    assert_eq!(uncounted.len(), 1);
    assert_eq!(uncounted[0]["name"], "f");
    assert_eq!(uncounted[0]["not_counted_because"], "not of its run's precision");
    assert_eq!(report["files_left_out"].as_array().unwrap().len(), 2);
    let notes = report["notes"].to_string();
    assert!(
        notes.contains("2 files of consecutive iterations left out"),
        "{notes}"
    );
    assert!(notes.contains("own.json: not used"), "{notes}");

    // Named, such a file counts.
    let report = stat(&[&at("b_x.safetensors")]);
    assert_eq!(report["summary"]["bf16"]["models"]["a"]["weight_bytes"], 7);
    // Named twice, or named and in a directory too: once.
    let report = stat(&[
        &at("own.safetensors"),
        dir.path(),
        &at("own.safetensors"),
        &at("b_x.safetensors"),
    ]);
    assert_eq!(report["files"], 5);
    assert_eq!(report["files_left_out"].as_array().unwrap().len(), 1);
}

#[test]
fn each_tensor_has_its_figures() {
    let report = stat(&[&sample().join("gpt_bf16.safetensors")]);
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 6);
    for t in tensors {
        assert_eq!(t["dtype"], "BF16");
        assert_eq!(t["shape"], serde_json::json!([16384]));
        assert_eq!(t["raw_bytes"], 32768);
        close(&t["ratio"], 32768.0 / t["compressed_bytes"].as_f64().unwrap());
        for key in [
            "zero_value_ratio",
            "zero_fraction",
            "order0_bound",
            "weight_bytes",
        ] {
            assert!(t[key].is_number(), "{key}: {t}");
        }
        modes_make_the_whole(&t["modes"]);
    }
}

/// With `--compare` every codec has its figures, weighted as all others are.
#[cfg(feature = "bench")]
#[test]
fn compared_codecs() {
    let rivals = ["zero_value", "lz4", "zstd_3", "zstd_19", "bitshuffle_lz4"];
    let output = planezip(&["stat", "--json", "--compare"])
        .arg(sample())
        .assert()
        .code(0)
        .get_output()
        .clone();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let mut weighted = std::collections::BTreeMap::<(&str, &str), (f64, f64)>::new();
    for t in report["tensors"].as_array().unwrap() {
        close(
            &t["rivals"]["zero_value"],
            t["zero_value_ratio"].as_f64().unwrap(),
        );
        assert_eq!(t["rival_bytes"]["zero_value"], t["zero_value_bytes"]);
        for key in rivals {
            let ratio = t["rivals"][key].as_f64().unwrap();
            close(&t["raw_bytes"], ratio * t["rival_bytes"][key].as_f64().unwrap());
            assert!(ratio > 0.9, "{key}: {t}");
        }
        if t["counted"] == true && t["dtype"] == "BF16" {
            let weight = t["weight_bytes"].as_f64().unwrap();
            let sums = weighted.entry((t["model"].as_str().unwrap(), "lz4")).or_default();
            sums.0 += weight;
            sums.1 += weight / t["rivals"]["lz4"].as_f64().unwrap();
        }
    }
    for run in ["bf16", "f32"] {
        let group = &report["summary"][run];
        let models = group["models"].as_object().unwrap();
        assert_eq!(models.len(), 5);
        close(
            &group["rivals"]["zero_value"],
            group["zero_value_ratio"].as_f64().unwrap(),
        );
        for key in rivals {
            let logs = models.values().map(|m| m["rivals"][key].as_f64().unwrap().ln());
            close(&group["rivals"][key], (logs.sum::<f64>() / 5.0).exp());
        }
        for m in models.values() {
            close(
                &m["rivals"]["zero_value"],
                m["zero_value_ratio"].as_f64().unwrap(),
            );
        }
        // Of these tensors as a whole; with some, level 19 makes slightly more bytes than level 3.
        assert!(group["rivals"]["zstd_19"].as_f64() > group["rivals"]["zstd_3"].as_f64());
    }
    assert_eq!(weighted.len(), 5);
    for ((model, key), (weight, coded)) in weighted {
        close(
            &report["summary"]["bf16"]["models"][model]["rivals"][key],
            weight / coded,
        );
    }

    let text = planezip(&["stat", "--compare"]).arg(sample()).output().unwrap();
    let text = String::from_utf8(text.stdout).unwrap();
    for part in ["zstd -19", "bitshuffle+lz4", "geometric mean "] {
        assert!(text.contains(part), "{text}");
    }
    // Not asked for, not there.
    let plain = stat(&[&sample().join("gpt_bf16.safetensors")]);
    assert!(plain["tensors"][0].get("rivals").is_none());
    assert!(plain["summary"]["bf16"].get("rivals").is_none());
}

/// Empty tensors, and elements of any size, break no compared codec.
#[cfg(feature = "bench")]
#[test]
fn compared_codecs_take_odd_tensors() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("odd.safetensors");
    safetensors(
        &path,
        &[
            ("e", "BF16", vec![]),
            ("i", "I16", vec![1; 300]),
            ("f", "F32", noise(8192 + 100)),
            ("b", "BF16", noise(2)),
        ],
    );
    let output = planezip(&["stat", "--json", "--compare"])
        .arg(&path)
        .assert()
        .code(0)
        .get_output()
        .clone();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let tensors = report["tensors"].as_array().unwrap();
    assert_eq!(tensors.len(), 4);
    for t in tensors {
        assert_eq!(t.get("rivals").is_some(), t["name"] != "e", "{t}");
    }
    assert!(tensors[1]["rivals"]["lz4"].as_f64().unwrap() > 10.0);
    planezip(&["stat", "--compare"])
        .arg(dir.path().join("missing"))
        .assert()
        .code(2);
}

#[cfg(not(feature = "bench"))]
#[test]
fn compared_codecs_are_not_built_in() {
    for args in [&["stat", "--compare", "x"][..], &["bench"]] {
        let output = planezip(args).assert().code(2).get_output().clone();
        let err = String::from_utf8(output.stderr).unwrap();
        assert!(
            err.contains("feature bench is off") && err.contains("hint: "),
            "{err}"
        );
    }
}

/// Other types, empty tensors and files without floats are listed and break nothing.
#[test]
fn odd_files() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    safetensors(
        &at("odd.safetensors"),
        &[("e", "BF16", vec![]), ("i", "I16", vec![1; 300])],
    );
    let npy = |descr: &str, n: usize| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': True, 'shape': ({n},)}}");
        let head = [
            &b"\x93NUMPY\x01\x00"[..],
            &(text.len() as u16).to_le_bytes(),
            text.as_bytes(),
        ]
        .concat();
        [head, vec![0; 4 * n]].concat()
    };
    fs::write(at("big.npy"), npy(">f4", 100)).unwrap();
    fs::create_dir(at("below")).unwrap();
    fs::write(at("below/small.npy"), npy("<f4", 3)).unwrap();
    fs::write(at("raw.bin"), [0; 99]).unwrap();
    let report = stat(&[dir.path()]);
    assert_eq!(report["files"], 3);
    let tensors = report["tensors"].as_array().unwrap();
    let reasons: Vec<_> = tensors
        .iter()
        .map(|t| t["not_counted_because"].as_str())
        .collect();
    assert_eq!(
        reasons,
        [None, Some("empty"), Some("not a BF16, F16 or F32 tensor")]
    );
    assert_eq!(tensors[1]["ratio"], Value::Null);
    assert!(report["notes"].to_string().contains("big-endian ('>f4')"));
    // All zero: no bits under the bound.
    assert_eq!(report["summary"]["f32"]["order0_bound"], Value::Null);
    assert_eq!(report["summary"]["f32"]["models"]["small"]["zero_fraction"], 1.0);

    let text = planezip(&["stat"])
        .arg(dir.path())
        .assert()
        .code(0)
        .get_output()
        .clone();
    let out = String::from_utf8(text.stdout).unwrap();
    assert!(out.contains("no: empty") && out.contains("F32: ratio"), "{out}");
    assert!(String::from_utf8(text.stderr).unwrap().contains("note: "));

    let raw = planezip(&["stat", "--json", "--dtype", "half"])
        .arg(at("raw.bin"))
        .assert()
        .code(0)
        .get_output()
        .clone();
    let raw: Value = serde_json::from_slice(&raw.stdout).unwrap();
    assert_eq!(raw["summary"]["f16"]["models"]["raw"]["tensors"], 1);
    assert_eq!(raw["tensors"][0]["shape"], serde_json::json!([49]));

    planezip(&["stat"]).arg(at("raw.bin")).assert().code(2);
    planezip(&["stat"]).arg(at("missing")).assert().code(2);
    planezip(&["stat"]).assert().code(2);
    let empty = TempDir::new().unwrap();
    planezip(&["stat"]).arg(empty.path()).assert().code(2);
}

/// A `.pz` file has the figures of the file it was made from; a damaged one fails the check.
#[test]
fn pz_files() {
    let dir = TempDir::new().unwrap();
    let pz = dir.path().join("x.pz");
    let file = sample().join("vgg_fp32.safetensors");
    planezip(&["compress"])
        .arg(&file)
        .arg("-o")
        .arg(&pz)
        .assert()
        .code(0);
    let (of_pz, of_file) = (stat(&[&pz]), stat(&[&file]));
    for (a, b) in of_pz["tensors"]
        .as_array()
        .unwrap()
        .iter()
        .zip(of_file["tensors"].as_array().unwrap())
    {
        for key in [
            "name",
            "dtype",
            "shape",
            "compressed_bytes",
            "zero_value_bytes",
            "order0_bound",
            "modes",
        ] {
            assert_eq!(a[key], b[key]);
        }
    }
    let mut bytes = fs::read(&pz).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(&pz, bytes).unwrap();
    planezip(&["stat"]).arg(&pz).assert().code(1);
}

/// The density this format promises, on the corpus it was measured on.
#[test]
fn corpus_density() {
    let Some(corpus) = std::env::var_os("PLANEZIP_CORPUS") else {
        common::skipped("ratios of the corpus", "PLANEZIP_CORPUS is not set");
        return;
    };
    let report = stat(&[&Path::new(&corpus).join("visible")]);
    let figure = |run: &str, key: &str| report["summary"][run][key].as_f64().unwrap();
    for (run, ratio, times) in [("bf16", 1.93, 1.55), ("f32", 1.50, 1.21)] {
        let (r, z) = (figure(run, "ratio"), figure(run, "zero_value_ratio"));
        println!("{run}: {r:.4}, zero-value {z:.4}");
        assert!(r >= ratio, "{run}: ratio {r}");
        assert!(r / z >= times, "{run}: {r} / {z}");
        assert_eq!(report["summary"][run]["models"].as_object().unwrap().len(), 5);
    }
    approx::assert_abs_diff_eq!(figure("bf16", "zero_value_ratio"), 1.236, epsilon = 5e-4);
    approx::assert_abs_diff_eq!(figure("f32", "zero_value_ratio"), 1.234, epsilon = 5e-4);
}
