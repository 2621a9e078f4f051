//! Any bytes in, the same bytes out: through the library for thousands of small inputs, and every file of the sample
//! and of PLANEZIP_CORPUS.

mod common;

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use planezip::container::{self, Event, MAX_CHUNK_RAW, Reader, Record, Writer};
use planezip::format::Layout;
use planezip::tensor::{DType, FileFormat, Input, Options, TensorMeta};
use planezip::{codec, tensor};
use proptest::prelude::*;

fn options(dtype: &str) -> Options {
    Options {
        dtype: Some(dtype.parse().unwrap()),
        ..Options::default()
    }
}

fn compress(raw: &[u8], name: &str, options: &Options) -> Result<Vec<u8>, tensor::Error> {
    let mut input = Input::from_reader(
        std::io::Cursor::new(raw.to_vec()),
        name,
        Some(raw.len() as u64),
        options,
    )?;
    match container::compress(&mut input, Vec::new(), &mut |_| {}) {
        Ok((pz, summary)) => {
            assert_eq!(summary.raw_bytes, raw.len() as u64);
            assert_eq!(summary.pz_bytes, pz.len() as u64);
            Ok(pz)
        }
        Err(container::CompressError::Input(e)) => Err(e),
        Err(e) => panic!("{e}"),
    }
}

fn round_trip(raw: &[u8], name: &str, options: &Options) {
    let pz = compress(raw, name, options).unwrap();
    let (back, summary) = container::decompress(&pz[..], Vec::new(), &mut |_| {}).unwrap();
    assert!(
        back == raw,
        "{name}: {} bytes came back as {}",
        raw.len(),
        back.len()
    );
    assert_eq!(summary.raw_bytes, raw.len() as u64);
    assert_eq!(summary.checksum, xxhash_rust::xxh3::xxh3_64(raw));
    assert_eq!(
        container::verify(&pz[..], raw, &mut |_| {}).unwrap(),
        raw.len() as u64
    );
}

/// Bytes of several kinds: random, words near each other, sparse, constant.
fn bytes(max: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        prop::collection::vec(any::<u8>(), 0..max),
        (prop::collection::vec(0_u16..64, 0..max / 2), any::<u16>()).prop_map(|(v, base)| v
            .iter()
            .flat_map(|w| base.wrapping_add(*w).to_le_bytes())
            .collect()),
        prop::collection::vec(prop_oneof![9 => Just(0_u8), 1 => any::<u8>()], 0..max),
        (any::<u8>(), 0..max).prop_map(|(b, n)| vec![b; n]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn raw_bytes_of_any_length_and_dtype(
        raw in bytes(3000),
        dtype in prop::sample::select(vec!["bf16", "f16", "f32"]),
    ) {
        round_trip(&raw, "x.bin", &options(dtype));
    }

    #[test]
    fn the_division_into_reads_does_not_matter(raw in bytes(3000), step in 1_usize..700) {
        struct Dribble(std::io::Cursor<Vec<u8>>, usize);
        impl Read for Dribble {
            fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
                let n = buf.len().min(self.1);
                self.0.read(&mut buf[..n])
            }
        }
        let whole = compress(&raw, "x.bin", &options("bf16")).unwrap();
        let mut input = Input::from_reader(Dribble(std::io::Cursor::new(raw), step), "-", None, &options("bf16")).unwrap();
        let (pieces, _) = container::compress(&mut input, Vec::new(), &mut |_| {}).unwrap();
        prop_assert_eq!(&whole, &pieces);
    }

    #[test]
    fn tensors_of_any_dtype_in_one_safetensors_file(
        tensors in prop::collection::vec(
            (prop::sample::select(vec!["BF16", "F16", "F32", "F64", "I8", "U8", "BOOL", "I16", "U16", "I32", "U32",
                "I64", "U64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "TYPE_OF_NEXT_YEAR"]),
             0_usize..5, 0_usize..40),
            0..12),
        bytes in bytes(20_000),
        pad in 0_usize..9,
    ) {
        let mut entries = serde_json::Map::new();
        entries.insert("__metadata__".into(), serde_json::json!({"format": "pt", "ключ": "значение"}));
        let mut at = 0;
        for (i, (dtype, rows, columns)) in tensors.iter().enumerate() {
            let bits = DType::from_safetensors(dtype).bits().unwrap_or(24);
            // Eight of them: whole bytes for sub-byte types too.
            let len = (rows * columns * 8) as u64 * bits / 8;
            entries.insert(format!("тензор.{i}"), serde_json::json!({
                "dtype": dtype, "shape": [rows, columns, 8], "data_offsets": [at, at + len],
            }));
            at += len;
        }
        let json = serde_json::to_string(&entries).unwrap() + &" ".repeat(pad);
        let mut file = (json.len() as u64).to_le_bytes().to_vec();
        file.extend_from_slice(json.as_bytes());
        file.extend(bytes.iter().copied().chain(std::iter::repeat(7)).take(at as usize));
        round_trip(&file, "x.safetensors", &Options::default());

        // Every tensor is there, in the order of its data, with its shape.
        let pz = compress(&file, "x.safetensors", &Options::default()).unwrap();
        let mut reader = Reader::new(&pz[..]).unwrap();
        let mut shapes = 0;
        while let Some(event) = reader.next_event().unwrap() {
            if let Event::Record(Record::Tensor { meta, .. }) = event {
                let i: usize = meta.name.strip_prefix("тензор.").unwrap().parse().unwrap();
                prop_assert_eq!(meta.dtype.name(), tensors[i].0);
                prop_assert_eq!(meta.shape.as_deref(), Some(&[tensors[i].1 as u64, tensors[i].2 as u64, 8][..]));
                shapes += 1;
            }
        }
        prop_assert_eq!(shapes, tensors.len());
    }
}

#[test]
fn every_length_up_to_three_blocks() {
    for dtype in ["bf16", "f16", "f32"] {
        for n in 0..400_usize {
            let raw: Vec<u8> = (0..n).map(|i| (i * 37 % 251) as u8).collect();
            round_trip(&raw, "x.bin", &options(dtype));
        }
    }
}

#[test]
fn lengths_around_a_chunk() {
    for n in [
        MAX_CHUNK_RAW - 1,
        MAX_CHUNK_RAW,
        MAX_CHUNK_RAW + 1,
        3 * MAX_CHUNK_RAW + 130,
    ] {
        let raw: Vec<u8> = (0..n as u64).map(|i| ((i * i) >> 7) as u8).collect();
        round_trip(&raw, "x.bin", &options("f32"));
        // As opaque bytes after a tiny array.
        let mut npy = Vec::new();
        npy.extend_from_slice(b"\x93NUMPY\x01\x00");
        let text = "{'descr': '>f4', 'fortran_order': False, 'shape': (), }\n";
        npy.extend_from_slice(&(text.len() as u16).to_le_bytes());
        npy.extend_from_slice(text.as_bytes());
        npy.extend_from_slice(&raw);
        round_trip(&npy, "x.npy", &Options::default());
    }
}

/// Every 16-bit pattern, and FP32 NaN payloads, denormals, infinities and zeros of both signs.
#[test]
fn every_bit_pattern_survives() {
    let raw: Vec<u8> = (0..=u16::MAX).flat_map(u16::to_le_bytes).collect();
    for dtype in ["bf16", "f16"] {
        round_trip(&raw, "x.bin", &options(dtype));
    }
    let mut raw = Vec::new();
    for sign in [0, 0x8000_0000_u32] {
        for exponent in [0, 1, 0x7f, 0xfe, 0xff_u32] {
            for shift in 0..23 {
                raw.extend_from_slice(&(sign | exponent << 23 | 1 << shift).to_le_bytes());
                raw.extend_from_slice(&(sign | exponent << 23 | (0x7f_ffff >> shift)).to_le_bytes());
            }
            raw.extend_from_slice(&(sign | exponent << 23).to_le_bytes());
        }
    }
    round_trip(&raw, "x.bin", &options("f32"));
}

/// A constant tensor is as small as a block can be: one byte.
#[test]
fn zeros_reach_the_highest_ratio() {
    let raw = vec![0; 1 << 20];
    let pz = compress(&raw, "x.bin", &options("bf16")).unwrap();
    assert!(pz.len() < (1 << 20) / 128 + 200, "{} bytes", pz.len());
    round_trip(&raw, "x.bin", &options("bf16"));
}

#[test]
fn output_is_deterministic() {
    let file = fs::read(sample().join("gpt_bf16.safetensors")).unwrap();
    let first = compress(&file, "a.safetensors", &Options::default()).unwrap();
    let second = compress(&file, "b.safetensors", &Options::default()).unwrap();
    assert_eq!(first, second);
}

/// What the engine emits and what the codec makes give the same file.
#[test]
fn a_given_block_stream_makes_the_same_file() {
    for n in [0, 1, 127, 128, 129, 5000, MAX_CHUNK_RAW, 2 * MAX_CHUNK_RAW + 77] {
        let raw: Vec<u8> = (0..n as u64)
            .map(|i| if i % 5 < 2 { 0 } else { (i >> 3) as u8 })
            .collect();
        let meta = TensorMeta {
            name: "t".into(),
            dtype: DType::F32,
            shape: Some(vec![n as u64]),
            fortran_order: false,
        };
        let mut stream = Vec::new();
        codec::encode(Layout::W32, &raw, &mut stream);
        let mut given = Writer::new(Vec::new(), FileFormat::Raw).unwrap();
        given.tensor_stream(&meta, &raw, &stream).unwrap();
        let mut own = Writer::new(Vec::new(), FileFormat::Raw).unwrap();
        let mut record = own.tensor(&meta).unwrap();
        for piece in raw.chunks(1000) {
            record.write(piece).unwrap();
        }
        record.finish().unwrap();
        let (given, own) = (given.finish().unwrap(), own.finish().unwrap());
        assert!(given.0 == own.0, "{n} bytes");
        assert_eq!(given.1, own.1);
        assert_eq!(
            container::decompress(&own.0[..], Vec::new(), &mut |_| {})
                .unwrap()
                .0,
            raw
        );

        // Streams that do not fit the bytes are refused before anything is written.
        let mut writer = Writer::new(Vec::new(), FileFormat::Raw).unwrap();
        let mut longer = raw.clone();
        longer.push(1);
        assert!(matches!(
            writer.tensor_stream(&meta, &longer, &stream),
            Err(container::Error::StreamLength { .. })
        ));
        if !stream.is_empty() {
            assert!(matches!(
                writer.tensor_stream(&meta, &raw, &stream[..stream.len() - 1]),
                Err(container::Error::Stream(_) | container::Error::StreamLength { .. })
            ));
        }
        writer.finish().unwrap();
    }
}

#[test]
fn an_unfinished_record_cannot_be_completed() {
    let mut writer = Writer::new(Vec::new(), FileFormat::Raw).unwrap();
    let _ = writer.opaque().unwrap();
    assert!(matches!(writer.opaque(), Err(container::Error::Unfinished)));
    assert!(matches!(writer.finish(), Err(container::Error::Unfinished)));
}

fn sample() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/sample")
}

/// Every file below a directory, tensor files as what they are and all others as raw bytes.
fn round_trip_all(dir: &Path) -> (u64, u64) {
    let (mut files, mut total) = (0, 0);
    let mut entries: Vec<PathBuf> = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            let (f, t) = round_trip_all(&path);
            files += f;
            total += t;
            continue;
        }
        let raw = fs::read(&path).unwrap();
        let name = path.to_str().unwrap();
        if name.ends_with(".safetensors") || name.ends_with(".npy") {
            round_trip(&raw, name, &Options::default());
        } else {
            round_trip(&raw, name, &options("f32"));
        }
        files += 1;
        total += raw.len() as u64;
    }
    (files, total)
}

#[test]
fn every_sample_file() {
    let (files, bytes) = round_trip_all(&sample());
    assert!(files >= 20, "{files} files, {bytes} bytes");
}

#[test]
fn every_corpus_file() {
    match std::env::var_os("PLANEZIP_CORPUS") {
        Some(corpus) => {
            let (files, bytes) = round_trip_all(Path::new(&corpus));
            println!("{files} corpus files, {bytes} bytes: identical");
            assert!(files > 0);
        }
        None => common::skipped("round trips of the corpus", "PLANEZIP_CORPUS is not set"),
    }
}
