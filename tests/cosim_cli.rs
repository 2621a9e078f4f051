//! `planezip cosim` as scripts use it.

use assert_cmd::Command;
use assert_cmd::assert::Assert;

fn cosim(args: &[&str]) -> Assert {
    Command::cargo_bin("planezip")
        .unwrap()
        .arg("cosim")
        .args(args)
        .assert()
}

fn stderr(assert: &Assert) -> String {
    String::from_utf8_lossy(&assert.get_output().stderr).into_owned()
}

#[test]
fn bad_usage_is_exit_code_2() {
    for (args, says) in [
        (&[][..], "nothing to run"),
        (&["--blocks", "3", "--random", "1"], "--blocks bounds"),
        (
            &["--malformed", "1", "--direction", "compress"],
            "for the decompressor",
        ),
        (
            &["--random", "1", "--emit", "x.pz", "--direction", "decompress"],
            "--emit",
        ),
        (&["x.npy", "--blocks", "0"], "--blocks"),
        (&["--random", "1", "--beat-bytes", "8"], "8"),
        (&["--random", "1", "--stalls", "some"], "some"),
        (&["-"], ""),
        (&["no/such/file.npy"], ""),
    ] {
        let assert = cosim(args).code(2);
        assert!(stderr(&assert).contains(says), "{args:?}: {}", stderr(&assert));
    }
}

#[cfg(not(feature = "cosim"))]
#[test]
fn without_the_rtl_it_says_so() {
    let assert = cosim(&["--random", "1"]).code(2);
    assert!(
        stderr(&assert).contains("feature cosim is off"),
        "{}",
        stderr(&assert)
    );
}

#[cfg(feature = "cosim")]
mod with_rtl {
    use std::fs;
    use std::path::{Path, PathBuf};

    use serde_json::Value;

    use super::*;

    fn sample(name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("tests/data/sample")
            .join(name);
        path.to_str().unwrap().to_owned()
    }

    fn json(args: &[&str]) -> Value {
        let assert = cosim(args).code(0);
        serde_json::from_slice(&assert.get_output().stdout).unwrap()
    }

    #[test]
    fn json_has_the_keys_that_others_script_against() {
        let file = sample("vit_fp32.safetensors");
        let report = json(&[
            &file, "--blocks", "500", "--stalls", "skewed", "--seed", "5", "--json",
        ]);
        assert_eq!(
            (report["blocks"].as_u64(), report["mismatches"].as_u64()),
            (Some(500), Some(0))
        );
        assert_eq!(report["seed"].as_u64(), Some(5));
        assert!(report["beats"].as_u64().unwrap() > 4 * 500);
        assert!(report["cycles"].as_u64().unwrap() > 4 * 500);
        assert!(report["cycles_per_second"].as_f64().unwrap() > 0.0);
        for channel in ["compress", "decompress"] {
            assert_eq!(report[channel]["blocks"].as_u64(), Some(500));
            assert!(report[channel]["blocks_by_form"]["bit_plane"].as_u64().unwrap() > 0);
        }
        assert_eq!(report["failure"], Value::Null);
        // The command that it names gives the same run.
        let repeat = report["repeat"].as_str().unwrap();
        let words: Vec<&str> = repeat.split(' ').skip(2).chain(["--json"]).collect();
        let again = json(&words);
        for key in ["blocks", "beats", "cycles"] {
            assert_eq!(again[key], report[key]);
        }
    }

    #[test]
    fn a_seed_is_printed_and_the_text_names_the_figures() {
        let assert = cosim(&[
            "--random",
            "50",
            "--malformed",
            "20",
            "--stalls",
            "worst",
            "--beat-bytes",
            "64",
        ])
        .code(0);
        assert!(stderr(&assert).starts_with("seed "));
        let out = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
        for part in [
            "compress",
            "decompress",
            "0 mismatches",
            "cycles/s",
            "by verdict",
            "64 bytes per beat",
        ] {
            assert!(out.contains(part), "{part} missing:\n{out}");
        }
    }

    #[test]
    fn one_direction_reports_that_one() {
        let report = json(&["--random", "30", "--direction", "compress", "--json"]);
        assert!(report["compress"].is_object() && report["decompress"].is_null());
    }

    #[test]
    fn what_the_rtl_made_decompresses_to_the_input() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| -> (PathBuf, String) {
            let path = dir.path().join(name);
            let text = path.to_str().unwrap().to_owned();
            (path, text)
        };
        let restore = |pz: &str, out: &str| {
            let mut command = Command::cargo_bin("planezip").unwrap();
            command.args(["decompress", pz, "-o", out]).assert().code(0);
        };
        // A whole file: byte for byte, what lies between the tensors included.
        let input = sample("gpt_bf16.safetensors");
        let (pz, restored) = (at("a.pz"), at("a.safetensors"));
        cosim(&[&input, "--emit", &pz.1, "--beat-bytes", "16"]).code(0);
        restore(&pz.1, &restored.1);
        assert!(fs::read(&restored.0).unwrap() == fs::read(&input).unwrap());
        // A raw file with a tail, cut off by --blocks: its beginning.
        let raw: Vec<u8> = (0..5000u32).flat_map(|i| (i as u16 / 3).to_le_bytes()).collect();
        let (bin, pz, restored) = (at("b.bin"), at("b.pz"), at("b.out"));
        fs::write(&bin.0, &raw).unwrap();
        cosim(&[&bin.1, "--dtype", "bf16", "--blocks", "10", "--emit", &pz.1]).code(0);
        restore(&pz.1, &restored.1);
        assert!(fs::read(&restored.0).unwrap() == raw[..1280]);
        // Over an input: refused, and the input is untouched.
        cosim(&[&bin.1, "--dtype", "bf16", "--emit", &bin.1]).code(2);
        assert!(fs::read(&bin.0).unwrap() == raw);
    }

    #[test]
    fn directories_stand_for_the_tensor_files_in_them() {
        let report = json(&[&sample(""), "--blocks", "100", "--json"]);
        assert_eq!(report["blocks"].as_u64(), Some(100));
        let empty = tempfile::tempdir().unwrap();
        cosim(&[empty.path().to_str().unwrap()]).code(2);
    }

    #[test]
    fn waves_are_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("out.fst");
        cosim(&["--random", "3", "--seed", "1", "--trace", path.to_str().unwrap()]).code(0);
        assert!(fs::metadata(&path).unwrap().len() > 1000);
        cosim(&["--random", "3", "--trace", "no/such/folder/out.fst"]).code(2);
    }
}
