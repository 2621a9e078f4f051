//! Several threads give what one gives: the same bytes, the same errors, with bounded memory, and never a hang.

#[cfg(unix)]
mod common;

use std::io::{self, Cursor, Read, Write};
use std::num::NonZero;
use std::sync::mpsc;

use planezip::container::{self, CompressError, DecompressError, MAX_CHUNK_RAW, MAX_THREADS, Reader};
use planezip::tensor::{DType, Input, Options};

const COUNTS: [usize; 4] = [1, 2, 3, MAX_THREADS + 1];

fn threads(n: usize) -> NonZero<usize> {
    NonZero::new(n).unwrap()
}

/// Bytes that look like activations: all forms, and blocks that do not compress.
fn data(len: usize, mut seed: u32) -> Vec<u8> {
    let mut next = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 8
    };
    let mut bytes = Vec::with_capacity(len + 256);
    while bytes.len() < len {
        let kind = next() % 4;
        for _ in 0..64 {
            let word = match kind {
                0 => 0,
                1 => next() as u16,
                2 => 0x3f80 | (next() & 0x7f) as u16,
                _ => ((next() & 1) * (0x4000 | (next() & 0xff))) as u16,
            };
            bytes.extend_from_slice(&word.to_le_bytes());
        }
    }
    bytes.truncate(len);
    bytes
}

/// A safetensors file of tensors with these lengths in bytes (one that is not a multiple of 4 is of single bytes), and
/// bytes after them.
fn file(lens: &[usize]) -> Vec<u8> {
    let mut at = 0;
    let entries: Vec<String> = lens
        .iter()
        .enumerate()
        .map(|(i, len)| {
            let (start, end) = (at, at + len);
            at = end;
            let (dtype, n) = match i % 2 {
                _ if len % 4 != 0 => ("I8", *len),
                0 => ("BF16", len / 2),
                _ => ("F32", len / 4),
            };
            format!(r#""t{i}":{{"dtype":"{dtype}","shape":[{n}],"data_offsets":[{start},{end}]}}"#)
        })
        .collect();
    let json = format!("{{{}}}", entries.join(","));
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend_from_slice(&data(at, 1));
    file.extend_from_slice(&data(MAX_CHUNK_RAW + 77, 2));
    file
}

/// Tensors that are empty, small, and of several chunks with and without a rest.
fn mixed() -> Vec<u8> {
    let mut lens = vec![
        0,
        4,
        3 * MAX_CHUNK_RAW,
        0,
        MAX_CHUNK_RAW + 130,
        5,
        2 * MAX_CHUNK_RAW + 4,
    ];
    lens.extend((0..200).map(|i| i * 4));
    lens.push(0);
    file(&lens)
}

fn input(raw: &[u8], name: &str) -> Input {
    input_from(Cursor::new(raw.to_vec()), name)
}

fn input_from(reader: impl Read + Send + 'static, name: &str) -> Input {
    let options = Options {
        dtype: name.ends_with(".bin").then_some(DType::Bf16),
        ..Options::default()
    };
    Input::from_reader(reader, name, None, &options).unwrap()
}

fn compress(raw: &[u8], n: usize) -> Result<(Vec<u8>, container::Summary), CompressError> {
    container::compress_with(input(raw, "x.safetensors"), Vec::new(), threads(n), &mut |_| {})
}

fn decompress(pz: &[u8], n: usize) -> Result<(Vec<u8>, container::Summary), DecompressError> {
    let reader = Reader::new(Cursor::new(pz.to_vec()))?;
    container::decompress_with(reader, Vec::new(), threads(n), &mut |_| {})
}

#[test]
fn any_number_of_threads_gives_the_same_bytes() {
    for raw in [mixed(), file(&[]), file(&[0]), file(&[12 * MAX_CHUNK_RAW])] {
        let mut told = Vec::new();
        let (pz, summary) = container::compress(&mut input(&raw, "x.safetensors"), Vec::new(), &mut |n| {
            told.push(n)
        })
        .unwrap();
        for n in COUNTS {
            let mut progress = Vec::new();
            let input = input(&raw, "x.safetensors");
            let made =
                container::compress_with(input, Vec::new(), threads(n), &mut |n| progress.push(n)).unwrap();
            assert!(made.0 == pz, "{n} threads");
            assert_eq!(made.1, summary);
            assert_eq!(progress, told);

            let (back, read) = decompress(&pz, n).unwrap();
            assert!(back == raw, "{n} threads");
            assert_eq!(read, summary);
            let compared =
                container::verify_with(Cursor::new(pz.clone()), &raw[..], threads(n), &mut |_| {}).unwrap();
            assert_eq!(compared, raw.len() as u64);
        }
    }
}

/// The fault that comes first in the file is the one that is told, with the place that one thread tells.
#[test]
fn errors_do_not_depend_on_the_number_of_threads() {
    let raw = mixed();
    let (good, _) = compress(&raw, 1).unwrap();
    let mut damaged = vec![[&good[..], b"x"].concat()];
    for part in 0..40 {
        let at = 20 + part * (good.len() - 40) / 40;
        damaged.push(good[..at].to_vec());
        let mut bad = good.clone();
        bad[at] ^= 0x10;
        damaged.push(bad.clone());
        // Faults further on, in many chunks: they may well be found earlier.
        for later in (at + 1..bad.len()).step_by(300_000) {
            bad[later] ^= 0x10;
        }
        bad.truncate(good.len() - 3);
        damaged.push(bad);
    }
    for bad in damaged {
        let mut expected = None;
        for n in COUNTS {
            let found = format!("{:?}", decompress(&bad, n).unwrap_err());
            assert_eq!(
                *expected.get_or_insert_with(|| found.clone()),
                found,
                "{n} threads"
            );
        }
    }
    for at in [0, raw.len() / 3, raw.len() - 1] {
        let mut other = raw.clone();
        other[at] ^= 1;
        *other.last_mut().unwrap() ^= 2;
        for n in COUNTS {
            let pz = Cursor::new(good.clone());
            let error = container::verify_with(pz, &other[..], threads(n), &mut |_| {}).unwrap_err();
            assert!(
                matches!(error, container::Error::Verify { offset, .. } if offset == at as u64),
                "{error}"
            );
        }
    }
    let (raw, cut) = (file(&[5 * MAX_CHUNK_RAW]), 3 * MAX_CHUNK_RAW + 1000);
    for n in COUNTS {
        let error = compress(&raw[..cut], n).unwrap_err();
        assert!(matches!(error, CompressError::Input(_)));
        assert!(error.to_string().contains("tensor 't0'"), "{error}");
    }
}

/// Takes `room` bytes, then fails.
struct Full {
    room: usize,
}

impl Write for Full {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        let n = buf.len().min(self.room);
        self.room -= n;
        if n == 0 {
            Err(io::Error::from(io::ErrorKind::StorageFull))
        } else {
            Ok(n)
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Gives its bytes and then nothing, without an end, while the other end of the channel lives.
struct Stuck(Cursor<Vec<u8>>, mpsc::Receiver<()>);

impl Read for Stuck {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let n = self.0.read(buf)?;
        if n == 0 && !buf.is_empty() {
            let _ = self.1.recv();
        }
        Ok(n)
    }
}

/// A write that fails ends the run, even while the input has neither more bytes nor an end.
#[test]
fn a_failed_write_ends_the_run() {
    let raw = data(8 * MAX_CHUNK_RAW, 3);
    let (pz, _) = container::compress(&mut input(&raw, "x.bin"), Vec::new(), &mut |_| {}).unwrap();
    for n in [2, 3, MAX_THREADS] {
        for room in [1, 30, 2 << 20] {
            let (keep, end) = mpsc::channel();
            let stuck = Stuck(Cursor::new(raw.clone()), end);
            let out = Full { room };
            let result = container::compress_with(input_from(stuck, "x.bin"), out, threads(n), &mut |_| {});
            assert!(
                matches!(&result, Err(CompressError::Output(container::Error::Io(e)))
                    if e.kind() == io::ErrorKind::StorageFull),
                "{:?}",
                result.err()
            );
            drop(keep);

            let (keep, end) = mpsc::channel();
            let stuck = Stuck(Cursor::new(pz[..pz.len() - 20].to_vec()), end);
            let reader = Reader::new(stuck).unwrap();
            let result = container::decompress_with(reader, Full { room }, threads(n), &mut |_| {});
            assert!(
                matches!(&result, Err(DecompressError::Output(e)) if e.kind() == io::ErrorKind::StorageFull),
                "{:?}",
                result.err()
            );
            drop(keep);
        }
    }
}

/// And so does damage.
#[test]
fn damage_ends_the_run_while_the_input_waits() {
    let (mut pz, _) = compress(&mixed(), 1).unwrap();
    let at = pz.len() / 2;
    pz[at] ^= 1;
    let (keep, end) = mpsc::channel();
    pz.truncate(pz.len() - 20);
    let reader = Reader::new(Stuck(Cursor::new(pz), end)).unwrap();
    let result = container::decompress_with(reader, Vec::new(), threads(2), &mut |_| {});
    assert!(matches!(
        result,
        Err(DecompressError::Input(container::Error::Checksum { .. }))
    ));
    drop(keep);
}

#[cfg(unix)]
mod command {
    use super::*;
    use std::fs::{self, File};
    use std::os::unix::process::ExitStatusExt;
    use std::path::Path;
    use std::process::{Child, Command, Stdio};
    use std::time::{Duration, Instant};

    use assert_cmd::prelude::*;
    use tempfile::TempDir;

    fn planezip(dir: &Path, args: &[&str]) -> Command {
        let mut command = Command::cargo_bin("planezip").unwrap();
        command
            .current_dir(dir)
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn names(dir: &Path) -> Vec<String> {
        let mut names: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    #[test]
    fn no_threads_are_refused() {
        let dir = TempDir::new().unwrap();
        fs::write(dir.path().join("x.bin"), [0; 50]).unwrap();
        for n in ["0", "-1", "many"] {
            let args = [
                "compress",
                "x.bin",
                "--dtype",
                "f32",
                "-o",
                "x.pz",
                "--threads",
                n,
            ];
            let output = planezip(dir.path(), &args).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{n}");
        }
        assert_eq!(names(dir.path()), ["x.bin"]);
    }

    #[test]
    fn a_full_device_is_an_error() {
        if !Path::new("/dev/full").exists() {
            return super::common::skipped("writing to a full device", "there is no /dev/full");
        }
        let dir = TempDir::new().unwrap();
        let d = dir.path();
        fs::write(d.join("x.bin"), data(8 << 20, 4)).unwrap();
        let make = ["compress", "x.bin", "--dtype", "bf16", "-o", "x.pz"];
        assert!(planezip(d, &make).output().unwrap().status.success());
        for n in ["1", "2", "5"] {
            for args in [
                [
                    "compress",
                    "x.bin",
                    "--dtype=bf16",
                    "-o",
                    "/dev/full",
                    "--threads",
                    n,
                ],
                ["decompress", "x.pz", "--threads", n, "-o", "/dev/full", "--json"],
            ] {
                let output = planezip(d, &args).output().unwrap();
                let err = String::from_utf8(output.stderr).unwrap();
                assert_eq!(output.status.code(), Some(2), "{args:?}: {err}");
                assert!(err.contains("cannot write /dev/full"), "{err}");
                assert!(err.contains("No space left"), "{err}");
            }
        }
    }

    /// A reader that goes away ends the program without a word, though its own input goes on.
    #[test]
    fn a_closed_pipe_ends_the_program() {
        let dir = TempDir::new().unwrap();
        let d = dir.path();
        let raw = data(8 << 20, 5);
        fs::write(d.join("x.bin"), &raw).unwrap();
        let make = ["compress", "x.bin", "--dtype", "bf16", "-o", "x.pz"];
        assert!(planezip(d, &make).output().unwrap().status.success());
        let pz = fs::read(d.join("x.pz")).unwrap();
        for n in ["2", "5"] {
            for (args, bytes) in [
                (
                    &["compress", "-", "-o", "-", "--dtype=bf16", "--threads", n][..],
                    &raw,
                ),
                (&["decompress", "-", "-o", "-", "--threads", n], &pz),
            ] {
                let mut child = planezip(d, args).stdin(Stdio::piped()).spawn().unwrap();
                let mut stdin = child.stdin.take().unwrap();
                let mut stdout = child.stdout.take().unwrap();
                let bytes = bytes.clone();
                let feeder = std::thread::spawn(move || {
                    // Until the program no longer reads; it is never told that its input ends.
                    let _ = stdin.write_all(&bytes);
                    stdin
                });
                stdout.read_exact(&mut [0; 100]).unwrap();
                drop(stdout);
                // The standard input stays open until after the end.
                let (status, err) = end_of(&mut child);
                assert_eq!(status.code(), Some(0), "{args:?}: {err}");
                assert_eq!(err, "");
                drop(feeder.join());
            }
        }
    }

    /// Waits for a child, but not for ever.
    fn end_of(child: &mut Child) -> (std::process::ExitStatus, String) {
        let start = Instant::now();
        loop {
            if let Some(status) = child.try_wait().unwrap() {
                let mut err = String::new();
                child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
                return (status, err);
            }
            if start.elapsed() > Duration::from_secs(60) {
                child.kill().unwrap();
                panic!("still running after a minute");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// A signal ends the program as it does others, and takes the unfinished file with it.
    #[test]
    fn signals_leave_no_file() {
        let dir = TempDir::new().unwrap();
        let d = dir.path();
        let raw = data(4 << 20, 6);
        fs::write(d.join("x.bin"), &raw).unwrap();
        let make = ["compress", "x.bin", "--dtype", "bf16", "-o", "x.pz"];
        assert!(planezip(d, &make).output().unwrap().status.success());
        let pz = fs::read(d.join("x.pz")).unwrap();
        fs::write(d.join("out"), "old").unwrap();
        let before = names(d);
        for (signal, number) in [("INT", 2), ("TERM", 15), ("HUP", 1)] {
            for (args, bytes) in [
                (["compress", "-", "--dtype=bf16", "-o", "out"], &raw[..]),
                (
                    ["decompress", "-", "-o", "out", "--threads=2"],
                    &pz[..pz.len() / 2],
                ),
            ] {
                let mut child = planezip(d, &args).stdin(Stdio::piped()).spawn().unwrap();
                let mut stdin = child.stdin.take().unwrap();
                stdin.write_all(bytes).unwrap();
                let start = Instant::now();
                while names(d) == before {
                    assert!(start.elapsed() < Duration::from_secs(60), "no temporary file");
                    std::thread::sleep(Duration::from_millis(5));
                }
                let kill = format!("kill -{signal} {}", child.id());
                assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
                let (status, err) = end_of(&mut child);
                drop(stdin);
                assert_eq!(status.signal(), Some(number), "{args:?}: {err}");
                assert_eq!(names(d), before, "{args:?}, SIG{signal}");
            }
        }
        assert_eq!(fs::read(d.join("out")).unwrap(), b"old");

        // A signal that was ignored from the start stays ignored.
        let exe = assert_cmd::cargo::cargo_bin("planezip");
        let mut child = Command::new("sh")
            .current_dir(d)
            .args(["-c", "trap '' HUP; exec \"$0\" compress - --dtype bf16 -o out"])
            .arg(exe)
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(&raw).unwrap();
        let start = Instant::now();
        while names(d) == before {
            assert!(start.elapsed() < Duration::from_secs(60), "no temporary file");
            std::thread::sleep(Duration::from_millis(5));
        }
        if cfg!(target_os = "linux") {
            let kill = format!("kill -HUP {}", child.id());
            assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
        }
        drop(stdin);
        let (status, err) = end_of(&mut child);
        assert!(status.success(), "{err}");
        assert!(fs::read(d.join("out")).unwrap() == pz);
    }

    /// Peak resident memory of a child so far, in MiB; `None` once it is gone.
    fn peak(pid: u32) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
        let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
        let kib: u64 = line.trim().strip_suffix(" kB")?.parse().ok()?;
        Some(kib >> 10)
    }

    /// Runs to the end; the peak of resident memory in MiB.
    fn watched(mut child: Child) -> u64 {
        let mut most = 0;
        while child.try_wait().unwrap().is_none() {
            most = most.max(peak(child.id()).unwrap_or(0));
            std::thread::sleep(Duration::from_millis(2));
        }
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        assert!(most > 0, "never seen running");
        most
    }

    fn linux(test: &str) -> bool {
        if !cfg!(target_os = "linux") {
            super::common::skipped(test, "peak memory of another process is read from Linux's /proc");
        }
        cfg!(target_os = "linux")
    }

    /// Files larger than the memory used, of every format.
    #[test]
    fn large_files_need_little_memory() {
        const BYTES: u64 = 512 << 20;
        const MIB: u64 = 64;
        if !linux("memory of large files") {
            return;
        }
        let dir = TempDir::new().unwrap();
        let d = dir.path();
        let json = format!(
            r#"{{"x":{{"dtype":"F32","shape":[{}],"data_offsets":[0,{BYTES}]}}}}"#,
            BYTES / 4
        );
        let safetensors = [&(json.len() as u64).to_le_bytes(), json.as_bytes()].concat();
        let text = format!(
            "{{'descr': '<f2', 'fortran_order': False, 'shape': ({},), }}",
            BYTES / 2
        );
        let npy = [
            &b"\x93NUMPY\x01\x00"[..],
            &(text.len() as u16).to_le_bytes(),
            text.as_bytes(),
        ]
        .concat();
        for (name, header, dtype) in [
            ("x.safetensors", &safetensors[..], None),
            ("x.npy", &npy, None),
            ("x.bin", &[], Some("--dtype=bf16")),
        ] {
            let mut file = File::create(d.join(name)).unwrap();
            file.write_all(header).unwrap();
            file.set_len(header.len() as u64 + BYTES).unwrap();
            let mut args = vec!["compress", name, "-o", "x.pz", "--verify", "--threads", "4"];
            args.extend(dtype);
            let most = watched(planezip(d, &args).spawn().unwrap());
            assert!(most <= MIB, "compress {name}: {most} MiB");
            let args = ["decompress", "x.pz", "-o", "back", "--threads", "4"];
            let most = watched(planezip(d, &args).spawn().unwrap());
            assert!(most <= MIB, "decompress {name}: {most} MiB");
            assert_eq!(
                fs::metadata(d.join("back")).unwrap().len(),
                header.len() as u64 + BYTES
            );
            fs::remove_file(d.join(name)).unwrap();
        }
    }

    /// Through two pipes, with data that does not compress and as many threads as there can be.
    #[test]
    fn large_pipes_need_little_memory() {
        const MIB: u64 = 256;
        if !linux("memory of large pipes") {
            return;
        }
        let dir = TempDir::new().unwrap();
        let most = MAX_THREADS.to_string();
        let args = ["compress", "-", "--dtype", "f32", "-o", "-", "--threads", &most];
        let mut first = planezip(dir.path(), &args).stdin(Stdio::piped()).spawn().unwrap();
        let args = ["decompress", "-", "-o", "-", "--threads", &most];
        let mut second = planezip(dir.path(), &args)
            .stdin(first.stdout.take().unwrap())
            .spawn()
            .unwrap();
        let (mut stdin, mut stdout) = (first.stdin.take().unwrap(), second.stdout.take().unwrap());
        let piece: Vec<u8> = data(MAX_CHUNK_RAW + 1, 7);
        let expected = piece.clone();
        let feeder = std::thread::spawn(move || {
            for _ in 0..2 * MIB {
                stdin.write_all(&piece).unwrap();
            }
        });
        let mut got = vec![0; expected.len()];
        let mut peaks = [0, 0];
        for _ in 0..2 * MIB {
            stdout.read_exact(&mut got).unwrap();
            assert!(got == expected);
            for (most, child) in peaks.iter_mut().zip([&first, &second]) {
                *most = peak(child.id()).unwrap_or(*most);
            }
        }
        assert_eq!(stdout.read(&mut got).unwrap(), 0);
        feeder.join().unwrap();
        for child in [&mut first, &mut second] {
            let (status, err) = end_of(child);
            assert!(status.success(), "{err}");
        }
        assert!(peaks.iter().all(|&n| 0 < n && n <= MIB), "{peaks:?} MiB");
    }
}
