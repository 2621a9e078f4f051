//! `planezip compress` and `decompress` as scripts use them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use assert_cmd::prelude::*;
use serde_json::Value;
use tempfile::TempDir;

fn planezip() -> Command {
    Command::cargo_bin("planezip").unwrap()
}

/// Runs in `dir`; standard output and error as text.
fn run(dir: &Path, args: &[&str]) -> (i32, String, String) {
    let output = planezip().current_dir(dir).args(args).output().unwrap();
    (
        output.status.code().unwrap(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8(output.stderr).unwrap(),
    )
}

fn ok(dir: &Path, args: &[&str]) -> (String, String) {
    let (code, out, err) = run(dir, args);
    assert_eq!(code, 0, "{args:?}: {err}");
    (out, err)
}

/// Fails with this code and a message with these parts, and leaves no file behind.
fn fails(dir: &Path, args: &[&str], code: i32, parts: &[&str]) {
    let before = names(dir);
    let (found, out, err) = run(dir, args);
    assert_eq!(found, code, "{args:?}: {err}");
    assert_eq!(out, "", "{args:?}");
    for part in parts {
        assert!(err.contains(part), "{args:?}: '{part}' missing in: {err}");
    }
    assert!(!err.contains("panicked"), "{err}");
    assert_eq!(names(dir), before, "{args:?}");
}

fn names(dir: &Path) -> Vec<PathBuf> {
    let mut names: Vec<_> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    names.sort();
    names
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample")
}

fn pipe(dir: &Path, args: &[&str], input: &[u8]) -> Output {
    let mut child = planezip()
        .current_dir(dir)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // The child may stop reading: that is its answer, not an error here.
        let _ = stdin.write_all(&input);
    });
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn every_sample_file_round_trips_by_command() {
    let dir = TempDir::new().unwrap();
    for entry in fs::read_dir(sample()).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "safetensors") {
            continue;
        }
        let input = path.to_str().unwrap();
        let (_, err) = ok(dir.path(), &["compress", input, "-o", "x.pz", "--verify"]);
        let size = fs::metadata(&path).unwrap().len();
        assert!(err.contains(&format!("verified: {size} bytes compared")), "{err}");
        ok(dir.path(), &["decompress", "x.pz", "-o", "back"]);
        assert!(
            fs::read(dir.path().join("back")).unwrap() == fs::read(&path).unwrap(),
            "{input}"
        );
        assert!(fs::metadata(dir.path().join("x.pz")).unwrap().len() < size);
    }
    assert_eq!(names(dir.path()).len(), 2);
}

#[test]
fn tiny_raw_files() {
    let dir = TempDir::new().unwrap();
    for n in [0, 1, 2, 3, 127, 128, 129] {
        let raw = vec![0xa5; n];
        fs::write(dir.path().join("x.bin"), &raw).unwrap();
        for dtype in ["bf16", "float16", "<f4", "BFLOAT16"] {
            ok(dir.path(), &["compress", "x.bin", "--dtype", dtype, "-o", "x.pz"]);
            ok(dir.path(), &["decompress", "x.pz", "-o", "back.bin"]);
            assert_eq!(fs::read(dir.path().join("back.bin")).unwrap(), raw);
        }
    }
}

#[test]
fn json_summaries() {
    let dir = TempDir::new().unwrap();
    let input = sample().join("gpt_fp32.safetensors");
    let size = fs::metadata(&input).unwrap().len();
    let (out, _) = ok(
        dir.path(),
        &[
            "compress",
            input.to_str().unwrap(),
            "-o",
            "x.pz",
            "--json",
            "--verify",
        ],
    );
    let made: Value = serde_json::from_str(&out).unwrap();
    let (out, _) = ok(dir.path(), &["decompress", "x.pz", "-o", "back", "--json"]);
    let restored: Value = serde_json::from_str(&out).unwrap();
    assert_eq!(made["verified_bytes"], size);
    assert_eq!(restored["verified_bytes"], Value::Null);
    assert_eq!(made["format"], "safetensors");
    assert_eq!(made["raw_bytes"], size);
    assert_eq!(
        made["pz_bytes"],
        fs::metadata(dir.path().join("x.pz")).unwrap().len()
    );
    for key in [
        "raw_bytes",
        "pz_bytes",
        "tensors",
        "tensor_compressed_bytes",
        "blocks",
        "xxh3_64",
        "ratio",
        "format",
    ] {
        assert_eq!(made[key], restored[key], "{key}");
    }
}

#[test]
fn standard_input_and_output() {
    let dir = TempDir::new().unwrap();
    let raw = fs::read(sample().join("bert_bf16.safetensors")).unwrap();
    let made = pipe(dir.path(), &["compress", "-", "-o", "-"], &raw);
    assert!(made.status.success());
    let restored = pipe(dir.path(), &["decompress", "-", "-o", "-"], &made.stdout);
    assert!(restored.status.success());
    assert!(restored.stdout == raw);
    // The same file as with names, and nothing but it on standard output.
    let input = sample().join("bert_bf16.safetensors");
    ok(dir.path(), &["compress", input.to_str().unwrap(), "-o", "x.pz"]);
    assert!(fs::read(dir.path().join("x.pz")).unwrap() == made.stdout);

    let cut = pipe(
        dir.path(),
        &["decompress", "-", "-o", "-"],
        &made.stdout[..made.stdout.len() - 1],
    );
    assert_eq!(cut.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&cut.stderr).contains("not to be trusted"));
    let raw = pipe(dir.path(), &["compress", "-", "-o", "y.pz"], b"something");
    assert_eq!(raw.status.code(), Some(2));
    fails(
        dir.path(),
        &["compress", "x.pz", "--dtype", "f32", "-o", "-", "--json"],
        2,
        &["standard output"],
    );
    fails(
        dir.path(),
        &["decompress", "x.pz", "-o", "-", "--json"],
        2,
        &["standard output"],
    );
    fails(
        dir.path(),
        &["compress", "-", "--dtype", "f32", "-o", "y", "--verify"],
        2,
        &["--verify"],
    );
}

/// A reader that goes away is no error.
#[test]
fn a_closed_pipe_is_no_error() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("x.bin"), vec![1; 4 << 20]).unwrap();
    ok(dir.path(), &["compress", "x.bin", "--dtype", "f32", "-o", "x.pz"]);
    let mut child = planezip()
        .current_dir(dir.path())
        .args(["decompress", "x.pz", "-o", "-"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn usage_and_environment_errors() {
    let dir = TempDir::new().unwrap();
    let d = dir.path();
    fs::write(d.join("x.bin"), [0; 50]).unwrap();
    fs::write(d.join("x.safetensors"), [0; 50]).unwrap();
    fs::create_dir(d.join("sub")).unwrap();
    fails(
        d,
        &["compress", "x.bin", "-o", "y.pz"],
        2,
        &["x.bin", "hint: ", "--dtype", "bfloat16"],
    );
    fails(
        d,
        &["compress", "x.bin", "--dtype", "f64", "-o", "y.pz"],
        2,
        &["f64", "bf16", "<f4"],
    );
    fails(
        d,
        &["compress", "x.bin", "--dtype", ">f4", "-o", "y.pz"],
        2,
        &["big-endian"],
    );
    fails(
        d,
        &["compress", "x.bin", "--format", "hdf5", "-o", "y.pz"],
        2,
        &["safetensors, npy"],
    );
    fails(
        d,
        &["compress", "x.safetensors", "-o", "y.pz"],
        2,
        &["offset 8", "expected", "found", "hint: "],
    );
    fails(
        d,
        &["compress", "missing", "-o", "y.pz"],
        2,
        &["missing", "No such file"],
    );
    fails(
        d,
        &["compress", "sub", "--dtype", "f32", "-o", "y.pz"],
        2,
        &["directory"],
    );
    fails(
        d,
        &["compress", "x.bin", "--dtype", "f32", "-o", "sub"],
        2,
        &["sub", "directory"],
    );
    fails(
        d,
        &["compress", "x.bin", "--dtype", "f32", "-o", "none/y.pz"],
        2,
        &["cannot write none/y.pz"],
    );
    fails(
        d,
        &["compress", "x.bin", "--dtype", "f32", "-o", "x.bin"],
        2,
        &["it is the input"],
    );
    fails(
        d,
        &["compress", "x.bin", "--dtype", "f32", "-o", "./sub/../x.bin"],
        2,
        &["it is the input"],
    );
    fails(d, &["compress", "x.bin"], 2, &["--output"]);
    fails(
        d,
        &["decompress", "x.bin", "-o", "y"],
        2,
        &["not a .pz file", "offset 0", "expected", "found"],
    );
    fails(d, &["decompress", "missing", "-o", "y"], 2, &["missing"]);
    assert_eq!(fs::read(d.join("x.bin")).unwrap(), [0; 50]);

    ok(d, &["compress", "x.bin", "--dtype", "f32", "-o", "x.pz"]);
    fails(d, &["compress", "x.pz", "-o", "y.pz"], 2, &["container already"]);
    fails(d, &["decompress", "x.pz", "-o", "x.pz"], 2, &["it is the input"]);
}

#[test]
fn damage_is_a_failed_check_and_leaves_the_old_output() {
    let dir = TempDir::new().unwrap();
    let d = dir.path();
    let input = sample().join("vit_bf16.safetensors");
    ok(d, &["compress", input.to_str().unwrap(), "-o", "x.pz"]);
    let good = fs::read(d.join("x.pz")).unwrap();
    fs::write(d.join("out"), "old").unwrap();
    for n in [9, 100, good.len() / 2, good.len() - 1] {
        fs::write(d.join("x.pz"), &good[..n]).unwrap();
        fails(
            d,
            &["decompress", "x.pz", "-o", "out"],
            1,
            &["x.pz", "truncated at offset", "needs", "found"],
        );
        fails(d, &["decompress", "x.pz", "-o", "new"], 1, &["x.pz"]);
    }
    for at in [10, 200, good.len() / 2, good.len() - 3] {
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        fs::write(d.join("x.pz"), bad).unwrap();
        fails(
            d,
            &["decompress", "x.pz", "-o", "out"],
            1,
            &["x.pz", "offset", "expected", "found"],
        );
    }
    fs::write(d.join("x.pz"), [&good[..], b"x"].concat()).unwrap();
    fails(d, &["decompress", "x.pz", "-o", "out"], 1, &["after the end"]);
    assert_eq!(fs::read(d.join("out")).unwrap(), b"old");
    // And with a good file it is replaced.
    fs::write(d.join("x.pz"), good).unwrap();
    ok(d, &["decompress", "x.pz", "-o", "out"]);
    assert!(fs::read(d.join("out")).unwrap() == fs::read(input).unwrap());
}

#[test]
fn what_was_not_saved_is_explained() {
    let dir = TempDir::new().unwrap();
    let mut x = 1_u32;
    let noise: Vec<u8> = (0..4096)
        .map(|_| {
            x = x.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (x >> 24) as u8
        })
        .collect();
    fs::write(dir.path().join("x.bin"), noise).unwrap();
    let (_, err) = ok(dir.path(), &["compress", "x.bin", "--dtype", "f32", "-o", "x.pz"]);
    assert!(
        err.contains("nothing saved: 32 of 32 blocks do not compress"),
        "{err}"
    );
    let npy =
        b"\x93NUMPY\x01\x00\x38\x00{'descr': '>f4', 'fortran_order': False, 'shape': (1,)}\n\x3f\x80\0\0";
    fs::write(dir.path().join("x.npy"), npy).unwrap();
    let (_, err) = ok(dir.path(), &["compress", "x.npy", "-o", "x.pz"]);
    assert!(
        err.contains("note: x.npy: the array is big-endian ('>f4')"),
        "{err}"
    );
}

#[test]
fn help_shows_examples_and_exit_codes() {
    let dir = TempDir::new().unwrap();
    for command in ["compress", "decompress", "stat", "completions"] {
        let (out, _) = ok(dir.path(), &[command, "--help"]);
        assert!(
            out.contains("Example") && out.contains(&format!("planezip {command}")),
            "{out}"
        );
        assert!(out.contains("Exit codes:\n  0  "), "{out}");
    }
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let (out, _) = ok(dir.path(), &["completions", shell]);
        assert!(out.contains("decompress"), "{shell}");
    }
    fails(dir.path(), &["completions", "dash"], 2, &["dash"]);
}

#[cfg(unix)]
mod unix {
    use super::*;
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};

    #[test]
    fn output_has_the_mode_of_any_new_file() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("x.bin"), [0; 50]).unwrap();
        ok(dir.path(), &["compress", "x.bin", "--dtype", "f32", "-o", "x.pz"]);
        let mode = |name: &str| fs::metadata(dir.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode("x.pz"), mode("x.bin"));
    }

    #[test]
    fn links_are_written_through_and_devices_in_place() {
        let dir = TempDir::new().unwrap();
        let d = dir.path();
        fs::write(d.join("x.bin"), [0; 50]).unwrap();
        fs::write(d.join("real.pz"), "old").unwrap();
        symlink("real.pz", d.join("link.pz")).unwrap();
        ok(d, &["compress", "x.bin", "--dtype", "f32", "-o", "link.pz"]);
        assert!(fs::symlink_metadata(d.join("link.pz")).unwrap().is_symlink());
        assert!(fs::read(d.join("real.pz")).unwrap().starts_with(b"\x89PLZ"));
        ok(d, &["decompress", "link.pz", "-o", "/dev/null"]);
        assert!(fs::metadata("/dev/null").unwrap().file_type().is_char_device());
        symlink("x.bin", d.join("x.link")).unwrap();
        fails(
            d,
            &["compress", "x.bin", "--dtype", "f32", "-o", "x.link"],
            2,
            &["it is the input"],
        );
    }

    /// Memory does not grow with the file: 64 MiB of address space hold the program and a 128 MiB file's passage.
    #[test]
    #[cfg(target_os = "linux")]
    fn memory_is_bounded() {
        let dir = TempDir::new().unwrap();
        let d = dir.path();
        let file = fs::File::create(d.join("x.bin")).unwrap();
        file.set_len(128 << 20).unwrap();
        // A safetensors header that claims the largest length there can be, over a sparse file of that length.
        let file = fs::File::create(d.join("huge.safetensors")).unwrap();
        file.set_len(1 << 40).unwrap();
        fs::write(
            d.join("claims.safetensors"),
            [&99_999_999_u64.to_le_bytes()[..], b"{\"a\":"].concat(),
        )
        .unwrap();
        let exe = assert_cmd::cargo::cargo_bin("planezip");
        let limited = |args: &str| {
            Command::new("sh")
                .current_dir(d)
                .arg("-c")
                .arg(format!("ulimit -v 65536; exec \"$0\" {args}"))
                .arg(&exe)
                .output()
                .unwrap()
        };
        for (args, code) in [
            ("compress x.bin --dtype f32 -o x.pz --verify --threads 2", 0),
            ("decompress x.pz -o back --threads 2", 0),
            (
                "compress x.bin --dtype bf16 -o - --threads 1 < /dev/null > y.pz",
                0,
            ),
            ("decompress y.pz -o /dev/null --threads 1", 0),
            ("compress huge.safetensors -o z.pz", 2),
            ("compress claims.safetensors -o z.pz", 2),
            ("compress - -o z.pz --format safetensors < claims.safetensors", 2),
        ] {
            let output = limited(args);
            assert_eq!(
                output.status.code(),
                Some(code),
                "{args}: {}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        assert_eq!(fs::metadata(d.join("back")).unwrap().len(), 128 << 20);
    }
}
