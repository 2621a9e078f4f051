//! Damaged and hostile `.pz` files: an error or the exact original, never a panic.

#[path = "common/frame.rs"]
mod frame;

use frame::frame;
use planezip::container::{self, Error, MAGIC, Reader, Writer};
use planezip::format::FORMAT_CODE;
use planezip::tensor::{DType, FileFormat, Input, Options, TensorMeta};
use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

/// A small file with everything in it: header, tensors of both layouts with every form and a tail, an empty tensor,
/// deflated and stored opaque bytes.
fn original() -> Vec<u8> {
    let mut data = Vec::new();
    let bf16: Vec<u16> = (0..64)
        .map(|i| 0x3f80 + i * 3)
        .chain((0..64).map(|i| if i % 3 == 0 { 0x4000 + i } else { 0 }))
        .chain([0; 64])
        .chain((0..64_u16).map(|i| i.wrapping_mul(0x9e37)))
        .chain([0x1234; 64])
        .chain([1, 2, 3])
        .collect();
    data.extend(bf16.iter().flat_map(|w| w.to_le_bytes()));
    let a = data.len();
    data.extend((0..40_u32).flat_map(|i| (1.0 + i as f32).to_le_bytes()));
    let b = data.len();
    data.extend([7; 5]);
    let c = data.len();
    let json = format!(
        r#"{{"__metadata__":{{"a":"b"}},"x":{{"dtype":"BF16","shape":[323],"data_offsets":[0,{a}]}},"e":{{"dtype":"F32","shape":[0,4],"data_offsets":[{a},{a}]}},"y":{{"dtype":"F32","shape":[4,10],"data_offsets":[{a},{b}]}},"z":{{"dtype":"I8","shape":[5],"data_offsets":[{b},{c}]}}}}"#
    );
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend_from_slice(&data);
    file.extend_from_slice(b"\x01trail");
    file
}

fn pz() -> (Vec<u8>, Vec<u8>) {
    let raw = original();
    let input = std::io::Cursor::new(raw.clone());
    let mut input = Input::from_reader(
        input,
        "x.safetensors",
        Some(raw.len() as u64),
        &Options::default(),
    )
    .unwrap();
    let (pz, summary) = container::compress(&mut input, Vec::new(), &mut |_| {}).unwrap();
    assert_eq!((summary.tensors, summary.opaque), (4, 2));
    assert!(summary.tensor_stats.blocks.iter().filter(|&&n| n > 0).count() >= 4);
    (raw, pz)
}

fn decompress(pz: &[u8]) -> Result<Vec<u8>, Error> {
    container::decompress(pz, Vec::new(), &mut |_| {}).map(|(raw, _)| raw)
}

/// Error or exact decode. Returns true for an error.
fn harmless(raw: &[u8], damaged: &[u8], what: impl Fn() -> String) -> bool {
    match decompress(damaged) {
        Ok(back) => {
            assert!(back == raw, "{}: decoded to other bytes without an error", what());
            false
        }
        Err(Error::Io(e)) => panic!("{}: {e}", what()),
        Err(e) => {
            assert!(!e.to_string().is_empty());
            true
        }
    }
}

#[test]
fn every_single_bit_flip_is_noticed() {
    let (raw, mut pz) = pz();
    for at in 0..pz.len() {
        for bit in 0..8 {
            pz[at] ^= 1 << bit;
            assert!(
                harmless(&raw, &pz, || format!("bit {bit} of byte {at}")),
                "bit {bit} of byte {at} went unnoticed"
            );
            pz[at] ^= 1 << bit;
        }
    }
    assert_eq!(decompress(&pz).unwrap(), raw);
}

#[test]
fn every_truncation_is_noticed() {
    let (_, pz) = pz();
    for n in 0..pz.len() {
        match decompress(&pz[..n]) {
            Err(Error::Truncated {
                offset,
                expected,
                found,
                ..
            }) => {
                assert_eq!(offset + found, n as u64, "cut to {n}");
                assert!(expected > found, "cut to {n}");
            }
            Err(Error::NotPz { found }) => assert!(n == 0 && found.is_empty(), "cut to {n}"),
            other => panic!("cut to {n}: {other:?}"),
        }
    }
}

#[test]
fn every_byte_overwritten_with_00_or_ff() {
    let (raw, mut pz) = pz();
    for at in 0..pz.len() {
        for value in [0x00, 0xff] {
            let old = std::mem::replace(&mut pz[at], value);
            let noticed = harmless(&raw, &pz, || format!("{value:02x} at byte {at}"));
            assert_eq!(noticed, old != value, "{value:02x} at byte {at}");
            pz[at] = old;
        }
    }
}

#[test]
fn anything_appended_is_noticed() {
    let (_, pz) = pz();
    for extra in [&b"\0"[..], b"\n", b"x", &pz] {
        let longer = [&pz[..], extra].concat();
        assert!(
            matches!(decompress(&longer), Err(Error::Trailing { offset, .. }) if offset == pz.len() as u64)
        );
    }
}

/// Start and end of every frame after the magic.
fn frames(pz: &[u8]) -> Vec<(usize, usize)> {
    let mut frames = Vec::new();
    let mut at = MAGIC.len();
    while at < pz.len() {
        let len = u32::from_le_bytes(pz[at + 1..at + 5].try_into().unwrap()) as usize;
        frames.push((at, at + 5 + len + 8));
        at += 5 + len + 8;
    }
    frames
}

fn fix(pz: &mut [u8], (start, end): (usize, usize)) {
    let check = xxh3_64(&pz[start..end - 8]);
    pz[end - 8..end].copy_from_slice(&check.to_le_bytes());
}

/// With every frame's own checksum made right again, the fields, the blocks and the raw checksums must hold the line.
#[test]
fn flips_behind_a_right_frame_checksum() {
    let (raw, good) = pz();
    let mut unnoticed = Vec::new();
    for frame in frames(&good) {
        for at in frame.0..frame.1 - 8 {
            // The length would shift the frame's end.
            if (frame.0 + 1..frame.0 + 5).contains(&at) {
                continue;
            }
            for bit in 0..8 {
                let mut pz = good.clone();
                pz[at] ^= 1 << bit;
                fix(&mut pz, frame);
                if !harmless(&raw, &pz, || format!("bit {bit} of byte {at}")) {
                    unnoticed.push((at, pz[frame.0]));
                }
            }
        }
    }
    // What decodes all the same: descriptions (the file's kind, names, dtypes, shapes) and bits a block does not use.
    assert!(
        unnoticed.iter().all(|(_, tag)| b"HTC".contains(tag)),
        "{unnoticed:?}"
    );
}

#[test]
fn frames_removed_doubled_or_swapped() {
    let (raw, good) = pz();
    let frames = frames(&good);
    let build = |order: &[usize]| {
        let mut pz = MAGIC.to_vec();
        for &i in order {
            pz.extend_from_slice(&good[frames[i].0..frames[i].1]);
        }
        pz
    };
    let all: Vec<usize> = (0..frames.len()).collect();
    assert_eq!(build(&all), good);
    for i in 0..frames.len() {
        let mut removed = all.clone();
        removed.remove(i);
        assert!(
            harmless(&raw, &build(&removed), || format!("frame {i} removed")),
            "frame {i} removed"
        );
        let mut doubled = all.clone();
        doubled.insert(i, i);
        assert!(
            harmless(&raw, &build(&doubled), || format!("frame {i} doubled")),
            "frame {i} doubled"
        );
        for j in i + 1..frames.len() {
            let mut swapped = all.clone();
            swapped.swap(i, j);
            harmless(&raw, &build(&swapped), || format!("frames {i} and {j} swapped"));
        }
    }
}

#[test]
fn line_end_conversion_is_told_apart() {
    let (_, pz) = pz();
    let mut converted = Vec::new();
    for (i, &b) in pz.iter().enumerate() {
        if !(b == b'\r' && pz.get(i + 1) == Some(&b'\n')) {
            converted.push(b);
        }
    }
    let error = decompress(&converted).unwrap_err();
    assert!(matches!(error, Error::NotPz { .. }));
    assert!(error.hint().unwrap().contains("line ends"));
    assert!(!error.is_corruption());
}

#[test]
fn foreign_and_future_files_are_no_corruption() {
    for foreign in [&b""[..], b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"{}", &[0; 100]] {
        assert!(matches!(decompress(foreign), Err(Error::NotPz { .. })));
    }
    let (_, good) = pz();
    for (byte, expected_version) in [(0, 0), (1, FORMAT_CODE)] {
        let mut pz = good.clone();
        let frame = frames(&pz)[0];
        pz[frame.0 + 5 + byte] = 9;
        fix(&mut pz, frame);
        let error = decompress(&pz).unwrap_err();
        assert!(matches!(error, Error::Version { expected, found: 9, offset, .. }
                if offset == 13 + byte as u64 && expected == expected_version));
        assert!(!error.is_corruption());
    }
}

fn hostile(frames: &[Vec<u8>]) -> Error {
    let pz = [&MAGIC[..], &frame(b'H', &[0, FORMAT_CODE, 0]), &frames.concat()].concat();
    decompress(&pz).unwrap_err()
}

/// Well-formed frames with impossible contents.
#[test]
fn hostile_fields_are_refused() {
    let chunk = |n: u32, payload: &[u8]| frame(b'C', &[&n.to_le_bytes()[..], payload].concat());
    let opaque = frame(b'O', &[]);
    let tensor = frame(b'T', &[0, 2, 4, b'B', b'F', b'1', b'6', 0, 16, 0]);
    let field = |e: Error| assert!(matches!(e, Error::Field { .. }), "{e:?}");

    // Raw lengths beyond the limit, zero, and payloads longer than any encoding.
    field(hostile(&[opaque.clone(), chunk(0, &[])]));
    field(hostile(&[opaque.clone(), chunk(u32::MAX, &[1, 2, 3])]));
    field(hostile(&[opaque.clone(), chunk((1 << 20) + 1, &[1])]));
    field(hostile(&[opaque.clone(), chunk(2, &[1, 2, 3])]));
    field(hostile(&[tensor.clone(), chunk(128, &[0xC1; 200])]));
    // Fewer raw bytes than the chunk says, more, none.
    field(hostile(&[tensor.clone(), chunk(256, &[0xC1])]));
    assert!(matches!(
        hostile(&[tensor.clone(), chunk(128, &[0xC1, 0xC1])]),
        Error::Blocks { .. }
    ));
    field(hostile(&[tensor.clone(), chunk(128, &[])]));
    // A chunk after one that ends within a block.
    field(hostile(&[
        tensor.clone(),
        chunk(1, &[0xC2, 1, 5]),
        chunk(1, &[0xC2, 1, 5]),
    ]));
    // Block headers that do not exist.
    assert!(matches!(
        hostile(&[tensor, chunk(128, &[0xDF; 20])]),
        Error::Blocks { offset: 56, .. }
    ));
    // Deflate: rubbish, too short, too long, bytes after its end.
    for payload in [&[0xff, 0xff][..], &[3, 0], &[0x63, 0, 0], &[3, 0, 0]] {
        assert!(matches!(
            hostile(&[opaque.clone(), chunk(100, payload)]),
            Error::Deflate { .. }
        ));
    }
    // Tensor records.
    for body in [
        &[][..],
        &[2, 0, 0, 0, 0, 0],
        &[0, 4, 0, 0, 0, 0],
        &[0, 0, 200, 1, b'x'],
        &[0, 0, 1, 0xff, 0, 0, 0],
        &[0, 0, 4, b'B', b'F', b'1', b'6', 0, 32, 0],
        &[0, 2, 0, 0, 0, 1, 1],
        &[
            0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,
        ],
        &[0, 0, 0, 0, 0, 0x80, 0],
        &[0, 0, 0, 0, 0, 0, 9],
    ] {
        field(hostile(&[frame(b'T', body)]));
    }
    // Frames where they cannot stand.
    for tag in [b'H', b'C', b'E', b'?', 0] {
        field(hostile(&[frame(tag, &[])]));
    }
    field(hostile(&[opaque.clone(), opaque]));
}

/// A record of a billion dimensions in a few bytes costs nothing; neither does a length without the bytes.
#[test]
fn lengths_without_bytes_are_truncation() {
    for (tag, len) in [(b'T', 1_u32 << 27), (b'O', 256), (b'Z', 256)] {
        let mut pz = [&MAGIC[..], &frame(b'H', &[0, FORMAT_CODE, 0])].concat();
        pz.push(tag);
        pz.extend_from_slice(&len.to_le_bytes());
        assert!(matches!(decompress(&pz), Err(Error::Truncated { .. })));
        let n = pz.len();
        pz[n - 4..].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(matches!(decompress(&pz), Err(Error::Field { .. })));
    }
}

#[test]
fn verification_finds_the_first_difference() {
    let (raw, pz) = pz();
    for at in [0, raw.len() / 2, raw.len() - 1] {
        let mut other = raw.clone();
        other[at] ^= 0x40;
        let error = container::verify(&pz[..], &other[..], &mut |_| {}).unwrap_err();
        assert!(
            matches!(error, Error::Verify { offset, .. } if offset == at as u64),
            "{error}"
        );
        assert!(error.is_corruption());
    }
    let longer = [&raw[..], b"x"].concat();
    for other in [&raw[..raw.len() - 1], &longer] {
        let error = container::verify(&pz[..], other, &mut |_| {}).unwrap_err();
        assert!(matches!(error, Error::Verify { .. }), "{error}");
    }
}

/// A stream that stands for other bytes (an engine gone wrong) gives a file that is refused.
#[test]
fn a_wrong_block_stream_is_found_by_the_checksum() {
    let meta = TensorMeta {
        name: String::new(),
        dtype: DType::F32,
        shape: None,
        fortran_order: false,
    };
    let mut writer = Writer::new(Vec::new(), FileFormat::Raw).unwrap();
    writer.tensor_stream(&meta, &[1; 128], &[0xC1]).unwrap();
    let (pz, _) = writer.finish().unwrap();
    assert!(matches!(decompress(&pz), Err(Error::Checksum { .. })));
}

/// A block may be longer than the encoder makes any; a file with such a chunk would be refused by every reader.
#[test]
fn a_block_stream_longer_than_a_reader_takes_is_refused_before_it_is_written() {
    let meta = TensorMeta {
        name: String::new(),
        dtype: DType::Bf16,
        shape: None,
        fortran_order: false,
    };
    // DBP with all 16 planes of all eight groups: 7 + 8 * 16 bytes.
    let stream = [&[0xC3, 0xff, 0xff, 0xff, 0xff, 1, 2][..], &[0x5a; 128]].concat();
    let mut raw = Vec::new();
    planezip::codec::decode(meta.dtype.layout(), &stream, 128, &mut raw).unwrap();
    let mut writer = Writer::new(Vec::new(), FileFormat::Raw).unwrap();
    let error = writer.tensor_stream(&meta, &raw, &stream).unwrap_err();
    assert!(
        matches!(
            error,
            Error::StreamTooLong {
                raw: 128,
                max: 129,
                found: 135
            }
        ),
        "{error}"
    );
    assert!(error.is_corruption());
    // Nothing of it is in the file.
    let (pz, summary) = writer.finish().unwrap();
    assert_eq!((summary.tensors, summary.raw_bytes), (0, 0));
    assert!(decompress(&pz).unwrap().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), keep in 0_usize..200) {
        let (raw, good) = pz();
        let mut damaged = good[..keep.min(good.len())].to_vec();
        damaged.extend_from_slice(&bytes);
        prop_assert!(harmless(&raw, &damaged, || "random".into()));
        let _ = Reader::new(&bytes[..]);
    }

    /// Rubbish as a chunk's payload, behind right checksums.
    #[test]
    fn arbitrary_payloads_never_panic(
        payload in prop::collection::vec(any::<u8>(), 0..400),
        n in 1_u32..400,
        record in prop::sample::select(vec![(b'O', vec![]), (b'T', vec![0, 2, 0, 0, 0, 0]), (b'T', vec![1, 2, 0, 0, 0, 0])]),
    ) {
        let chunk = frame(b'C', &[&n.to_le_bytes()[..], &payload].concat());
        let error = hostile(&[frame(record.0, &record.1), chunk]);
        prop_assert!(!matches!(error, Error::Io(_)));
    }
}
