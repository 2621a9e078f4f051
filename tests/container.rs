//! Tensor files of every shape into containers, and the container's bytes as `docs/container.md` has them.

#[path = "common/frame.rs"]
mod frame;

use std::io::{Cursor, Read, Write};

use frame::frame;
use planezip::container::{self, Event, Reader, Record, RecordTotals};
use planezip::format::Layout;
use planezip::tensor::{DType, Error, ErrorKind, FileFormat, Input, MAX_HEADER_BYTES, Options};
use proptest::prelude::*;
use safetensors::tensor::{Dtype, TensorView};
use xxhash_rust::xxh3::xxh3_64;

fn open(raw: &[u8], name: &str, options: &Options) -> Result<Input, Error> {
    Input::from_reader(Cursor::new(raw.to_vec()), name, Some(raw.len() as u64), options)
}

fn error(raw: &[u8], name: &str) -> ErrorKind {
    let error = match open(raw, name, &Options::default()) {
        Ok(mut input) => loop {
            match input.next_segment() {
                Ok(Some(_)) => {}
                Ok(None) => panic!("{name}: no error"),
                Err(e) => break e,
            }
        },
        Err(e) => e,
    };
    assert_eq!(error.file, name);
    assert!(error.to_string().starts_with(&format!("{name}: ")));
    *error.kind
}

/// Records of the compressed file, after checking that it decodes to the input.
fn records_with(raw: &[u8], name: &str, options: &Options) -> (Vec<(Record, RecordTotals)>, Vec<String>) {
    let mut input = open(raw, name, options).unwrap();
    let (pz, _) = container::compress(&mut input, Vec::new(), &mut |_| {}).unwrap();
    let (back, _) = container::decompress(&pz[..], Vec::new(), &mut |_| {}).unwrap();
    assert!(back == raw, "{name}");
    // A pipe, whose length is not known, makes the same file.
    let mut pipe = Input::from_reader(Cursor::new(raw.to_vec()), name, None, options).unwrap();
    assert!(
        container::compress(&mut pipe, Vec::new(), &mut |_| {}).unwrap().0 == pz,
        "{name}"
    );

    let mut reader = Reader::new(&pz[..]).unwrap();
    assert_eq!(reader.format(), input.format());
    let mut records = Vec::new();
    let mut current = None;
    while let Some(event) = reader.next_event().unwrap() {
        match event {
            Event::Record(record) => current = Some(record.clone()),
            Event::RecordEnd(totals) => records.push((current.take().unwrap(), totals)),
            Event::Chunk(_) => {}
        }
    }
    (records, input.notes().to_vec())
}

fn records(raw: &[u8], name: &str) -> (Vec<(Record, RecordTotals)>, Vec<String>) {
    records_with(raw, name, &Options::default())
}

fn safetensors_file(json: &str, data: &[u8]) -> Vec<u8> {
    let mut file = (json.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(json.as_bytes());
    file.extend_from_slice(data);
    file
}

fn npy_file(version: u8, text: &str, data: &[u8]) -> Vec<u8> {
    let mut file = b"\x93NUMPY".to_vec();
    file.extend_from_slice(&[version, 0]);
    if version == 1 {
        file.extend_from_slice(&(text.len() as u16).to_le_bytes());
    } else {
        file.extend_from_slice(&(text.len() as u32).to_le_bytes());
    }
    file.extend_from_slice(text.as_bytes());
    file.extend_from_slice(data);
    file
}

/// A tensor's name, dtype, shape and bytes.
type Described = (String, String, Vec<u64>, u64);

/// Each tensor; `None` for opaque records.
fn described(records: &[(Record, RecordTotals)]) -> Vec<Option<Described>> {
    records
        .iter()
        .map(|(record, totals)| match record {
            Record::Opaque => None,
            Record::Tensor { meta, .. } => Some((
                meta.name.clone(),
                meta.dtype.name().to_owned(),
                meta.shape_for(totals.stats.raw_bytes),
                totals.stats.raw_bytes,
            )),
        })
        .collect()
}

// ---- the container's bytes -----------------------------------------------------------------------------------------

/// A file put together by hand from the document, byte for byte what the writer makes.
#[test]
fn the_writer_follows_the_document() {
    let raw = [&[0; 128][..], &[1, 2, 3]].concat();
    let options = Options {
        dtype: Some(DType::Bf16),
        ..Options::default()
    };
    let mut input = open(&raw, "x.bin", &options).unwrap();
    let (pz, _) = container::compress(&mut input, Vec::new(), &mut |_| {}).unwrap();
    let check = xxh3_64(&raw).to_le_bytes();
    let expected = [
        b"\x89PLZ\r\n\x1a\n".to_vec(),
        frame(b'H', &[0, 0x11, 0]),
        frame(b'T', b"\x00\x02\x04BF16\x00\x10\x00"),
        frame(b'C', b"\x83\x00\x00\x00\xC1\xC2\x03\x01\x02\x03"),
        frame(b'E', &[&[0x83, 0x01, 6, 0, 1, 0, 0, 0][..], &check].concat()),
        frame(b'Z', &[&[1, 0, 0x83, 0x01][..], &check].concat()),
    ]
    .concat();
    assert_eq!(pz, expected);
}

/// A complete file with block format version 0, a draft: refused by its version.
#[test]
fn a_file_of_block_format_0_is_refused() {
    let pz = include_bytes!("data/golden/container0_block0.pz");
    let error = container::decompress(&pz[..], Vec::new(), &mut |_| {}).unwrap_err();
    assert_eq!(
        error.to_string(),
        "unsupported block format version at offset 14: expected 17, found 0"
    );
}

/// A complete file with this candidate of the block format, kept as bytes.
#[test]
fn a_file_of_candidate_1_decodes() {
    let pz = include_bytes!("golden/v1-candidate-1/container0.pz");
    let original = include_bytes!("golden/v1-candidate-1/container0.safetensors");
    assert_eq!(planezip::format::FORMAT_CODE, 0x11);
    let (back, _) = container::decompress(&pz[..], Vec::new(), &mut |_| {}).unwrap();
    assert_eq!(back, original);
}

/// Readers take any division into chunks, and opaque records that are empty.
#[test]
fn other_writers_may_divide_differently() {
    let raw = vec![0; 384];
    let check = xxh3_64(&raw).to_le_bytes();
    let pz = [
        b"\x89PLZ\r\n\x1a\n".to_vec(),
        frame(b'H', &[0, 0x11, 0]),
        frame(b'O', &[]),
        frame(b'E', &[&[0, 0][..], &xxh3_64(&[]).to_le_bytes()].concat()),
        frame(b'T', b"\x01\x01\x03F64\x01n\x40\x02\x06\x08"),
        frame(b'C', b"\x80\x00\x00\x00\xC1"),
        frame(b'C', b"\x00\x01\x00\x00\xC1\xC1"),
        frame(b'E', &[&[0x80, 0x03, 3, 0, 3, 0, 0, 0][..], &check].concat()),
        frame(b'Z', &[&[1, 1, 0x80, 0x03][..], &check].concat()),
    ]
    .concat();
    let (back, summary) = container::decompress(&pz[..], Vec::new(), &mut |_| {}).unwrap();
    assert_eq!(back, raw);
    assert_eq!(
        (summary.tensors, summary.opaque, summary.pz_bytes),
        (1, 1, pz.len() as u64)
    );
}

/// Lengths and counters past 32 bits.
#[test]
fn more_than_four_gib() {
    struct Count(u64);
    impl Write for Count {
        fn write(&mut self, buf: &[u8]) -> std::io::Result<usize> {
            self.0 += buf.len() as u64;
            Ok(buf.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let n = (1_u64 << 32) + 130;
    let options = Options {
        dtype: Some(DType::F32),
        ..Options::default()
    };
    let mut input = Input::from_reader(std::io::repeat(0).take(n), "-", None, &options).unwrap();
    let (pz, written) = container::compress(&mut input, Vec::new(), &mut |_| {}).unwrap();
    let (count, read) = container::decompress(&pz[..], Count(0), &mut |_| {}).unwrap();
    assert_eq!(count.0, n);
    assert_eq!(written, read);
    assert_eq!(read.tensor_stats.raw_bytes, n);
    assert_eq!(read.tensor_stats.blocks[1], n / 128);
}

// ---- safetensors ---------------------------------------------------------------------------------------------------

#[test]
fn files_of_the_reference_implementation() {
    let floats: Vec<u8> = (0..12).flat_map(|i| (i as f32).to_le_bytes()).collect();
    let bytes = [1_u8, 0, 1];
    let tensors = [
        (
            "weights",
            TensorView::new(Dtype::F32, vec![3, 4], &floats).unwrap(),
        ),
        ("empty", TensorView::new(Dtype::F32, vec![0], &[]).unwrap()),
        (
            "empty.too",
            TensorView::new(Dtype::BF16, vec![7, 0, 2], &[]).unwrap(),
        ),
        (
            "scalar",
            TensorView::new(Dtype::F32, vec![], &floats[4..8]).unwrap(),
        ),
        ("mask", TensorView::new(Dtype::BOOL, vec![3], &bytes).unwrap()),
        (
            "fp8",
            TensorView::new(Dtype::F8_E4M3, vec![1, 3], &bytes).unwrap(),
        ),
        ("fp4", TensorView::new(Dtype::F4, vec![6], &bytes).unwrap()),
        (
            "имя\u{1F600}",
            TensorView::new(Dtype::BF16, vec![2], &floats[..4]).unwrap(),
        ),
    ];
    let metadata = [("format".to_owned(), "pt".to_owned())].into();
    let file = safetensors::serialize(tensors.clone(), Some(metadata)).unwrap();
    let (records, notes) = records(&file, "x.safetensors");
    assert!(notes.is_empty(), "{notes:?}");
    let mut found: Vec<_> = described(&records).into_iter().flatten().collect();
    let mut expected: Vec<_> = tensors
        .iter()
        .map(|(name, view)| {
            (
                (*name).to_owned(),
                view.dtype().to_string(),
                view.shape().iter().map(|&d| d as u64).collect::<Vec<_>>(),
                view.data().len() as u64,
            )
        })
        .collect();
    found.sort();
    expected.sort();
    assert_eq!(found, expected);
}

#[test]
fn offsets_out_of_header_order_are_taken_in_data_order() {
    let json = r#"{"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let (records, _) = records(
        &safetensors_file(json, &[1, 2, 3, 4, 5, 6, 7, 8]),
        "x.safetensors",
    );
    let names: Vec<_> = described(&records).into_iter().flatten().map(|t| t.0).collect();
    assert_eq!(names, ["a", "b"]);
}

#[test]
fn gaps_trailing_bytes_and_padding_are_kept_and_told() {
    let json = r#"{"a":{"dtype":"BF16","shape":[2],"data_offsets":[3,7]},"b":{"dtype":"I8","shape":[2],"data_offsets":[9,11]}}     "#;
    let (records, notes) = records(&safetensors_file(json, &[9; 20]), "x.safetensors");
    let kinds: Vec<bool> = described(&records).iter().map(Option::is_some).collect();
    assert_eq!(kinds, [false, false, true, false, true, false]);
    assert_eq!(notes.len(), 3, "{notes:?}");
    assert!(notes[2].contains("9 bytes after the last tensor"), "{}", notes[2]);
}

#[test]
fn a_file_without_tensors() {
    for json in ["{}", r#"{"__metadata__":{}}"#, r#"{"__metadata__":null}"#] {
        let (records, _) = records(&safetensors_file(json, &[]), "x.safetensors");
        assert_eq!(described(&records), [None]);
    }
}

#[test]
fn malformed_safetensors_are_refused_by_name() {
    let file = |json: &str, n: usize| error(&safetensors_file(json, &vec![0; n]), "x.safetensors");
    let tensor = |dtype: &str, shape: &str, begin: u64, end: u64| {
        format!(r#"{{"dtype":"{dtype}","shape":{shape},"data_offsets":[{begin},{end}]}}"#)
    };

    // Lengths.
    for n in 0..8 {
        assert!(matches!(
            error(&vec![9; n], "x.safetensors"),
            ErrorKind::Truncated { offset: 0, expected: 8, found, .. } if found == n as u64
        ));
    }
    for length in [MAX_HEADER_BYTES + 1, 1 << 40, u64::MAX] {
        let mut raw = length.to_le_bytes().to_vec();
        raw.extend_from_slice(b"{\"a\":");
        assert!(matches!(
            error(&raw, "x.safetensors"),
            ErrorKind::HeaderTooLarge { found, .. } if found == length
        ));
    }
    let mut raw = MAX_HEADER_BYTES.to_le_bytes().to_vec();
    raw.extend_from_slice(b"{}");
    assert!(matches!(
        error(&raw, "x.safetensors"),
        ErrorKind::Truncated {
            offset: 8,
            expected: MAX_HEADER_BYTES,
            found: 2,
            ..
        }
    ));
    // A pipe does not know its length: the header's bytes run out.
    let pipe = Input::from_reader(Cursor::new(raw), "-", None, &Options::default())
        .err()
        .unwrap();
    assert!(matches!(
        *pipe.kind,
        ErrorKind::Truncated {
            offset: 8,
            found: 2,
            ..
        }
    ));

    // JSON.
    for json in ["", "[]", " {}", "nul"] {
        assert!(
            matches!(file(json, 0), ErrorKind::Header { offset: 8, .. }),
            "{json}"
        );
    }
    for json in [
        "{",
        "{}x",
        r#"{"a":1}"#,
        r#"{"a":{"dtype":"F32","shape":[1]}}"#,
        r#"{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}"#,
        r#"{"a":{"dtype":"F32","shape":[1.5],"data_offsets":[0,4]}}"#,
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4,8]}}"#,
        r#"{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,99999999999999999999]}}"#,
        r#"{"__metadata__":{"a":1}}"#,
        r#"{"__metadata__":[]}"#,
        "{\"\u{0}\":1}",
    ] {
        assert!(matches!(file(json, 4), ErrorKind::Header { .. }), "{json}");
    }
    let deep = format!("{{\"a\":{}", "[".repeat(100_000));
    assert!(matches!(file(&deep, 0), ErrorKind::Header { .. }));
    assert!(matches!(
        error(&safetensors_file("{\"\u{1}\":1}", &[]), "x.safetensors"),
        ErrorKind::Header { .. }
    ));
    let mut not_utf8 = safetensors_file(r#"{"aa":1}"#, &[]);
    not_utf8[10] = 0xff;
    assert!(matches!(
        error(&not_utf8, "x.safetensors"),
        ErrorKind::Header { .. }
    ));

    // Names.
    let t = tensor("F32", "[1]", 0, 4);
    for name in ["a", "a at line 3", "__metadata__"] {
        let json = if name == "__metadata__" {
            r#"{"__metadata__":{},"__metadata__":{}}"#.to_owned()
        } else {
            format!(r#"{{"{name}":{t},"{name}":{t}}}"#)
        };
        let kind = file(&json, 4);
        assert!(
            matches!(&kind, ErrorKind::DuplicateName { name: n } if n == name),
            "{kind:?}"
        );
    }

    // Places.
    let overlap = format!(
        r#"{{"a":{},"b":{}}}"#,
        tensor("F32", "[2]", 0, 8),
        tensor("F32", "[1]", 4, 8)
    );
    assert!(
        matches!(file(&overlap, 8), ErrorKind::Overlap { first, second, .. } if first == "a" && second == "b")
    );
    let inside = format!(
        r#"{{"a":{},"b":{}}}"#,
        tensor("F32", "[2]", 0, 8),
        tensor("F32", "[0]", 4, 4)
    );
    assert!(matches!(file(&inside, 8), ErrorKind::Overlap { .. }));
    let backwards = format!(r#"{{"a":{}}}"#, tensor("F32", "[1]", 4, 0));
    assert!(matches!(file(&backwards, 8), ErrorKind::Header { .. }));
    let far = format!(r#"{{"a":{}}}"#, tensor("X", "[]", u64::MAX - 1, u64::MAX));
    assert!(matches!(file(&far, 8), ErrorKind::Header { .. }));
    let beyond = format!(r#"{{"a":{}}}"#, tensor("F32", "[2]", 0, 8));
    assert!(matches!(
        file(&beyond, 7),
        ErrorKind::Truncated {
            expected: 8,
            found: 7,
            ..
        }
    ));

    // Sizes.
    for (dtype, shape, end) in [
        ("F32", "[2]", 4),
        ("F32", "[]", 8),
        ("F32", "[0]", 8),
        ("F4", "[3]", 1),
        ("F32", "[4294967296,4294967296,4294967296]", 8),
        ("I64", "[2305843009213693952]", 0),
    ] {
        let kind = file(&format!(r#"{{"a":{}}}"#, tensor(dtype, shape, 0, end)), 8);
        assert!(
            matches!(kind, ErrorKind::SizeMismatch { .. }),
            "{dtype} {shape}: {kind:?}"
        );
    }
    // An empty tensor may have other dimensions of any size, and an unknown type any length.
    let empty = format!(
        r#"{{"a":{}}}"#,
        tensor("F32", "[0,18446744073709551615,18446744073709551615]", 0, 0)
    );
    records(&safetensors_file(&empty, &[]), "x.safetensors");
    let unknown = format!(r#"{{"a":{}}}"#, tensor("NEW", "[3]", 0, 7));
    records(&safetensors_file(&unknown, &[1; 7]), "x.safetensors");
}

// ---- npy -----------------------------------------------------------------------------------------------------------

#[test]
fn npy_types() {
    for (descr, name, element, layout) in [
        ("<f2", "F16", 2, Layout::W16),
        ("<f4", "F32", 4, Layout::W32),
        ("<f8", "F64", 8, Layout::W32),
        ("|b1", "BOOL", 1, Layout::W16),
        ("|i1", "I8", 1, Layout::W16),
        ("|u1", "U8", 1, Layout::W16),
        (">u1", "U8", 1, Layout::W16),
        ("<i2", "I16", 2, Layout::W16),
        ("<u4", "U32", 4, Layout::W32),
        ("<i8", "I64", 8, Layout::W32),
        ("<c8", "<c8", 8, Layout::W32),
        ("<M8[ns]", "<M8[ns]", 8, Layout::W32),
        ("|S5", "|S5", 5, Layout::W32),
        ("<U3", "<U3", 12, Layout::W32),
        ("|V3", "|V3", 3, Layout::W32),
    ] {
        for version in 1..=3 {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2, 3), }}\n");
            let file = npy_file(version, &text, &vec![5; 6 * element]);
            let (records, notes) = records(&file, "x.npy");
            assert!(notes.is_empty(), "{notes:?}");
            let tensor = (String::new(), name.to_owned(), vec![2, 3], 6 * element as u64);
            assert_eq!(described(&records), [None, Some(tensor)]);
            assert!(
                matches!(&records[1].0, Record::Tensor { layout: l, .. } if *l == layout),
                "{descr}"
            );
        }
    }
}

#[test]
fn npy_shapes_and_orders() {
    for (shape, expected, n) in [
        ("()", vec![], 1),
        ("(0,)", vec![0], 0),
        ("(3,)", vec![3], 3),
        (
            "(2, 0, 9223372036854775807, 9223372036854775807)",
            vec![2, 0, i64::MAX as u64, i64::MAX as u64],
            0,
        ),
        ("[2, 2]", vec![2, 2], 4),
    ] {
        for fortran in [false, true] {
            let order = if fortran { "True" } else { "False" };
            let text = format!("{{\"shape\": {shape}, 'fortran_order': {order}, 'descr': '<f4'}}");
            let (records, _) = records(&npy_file(1, &text, &vec![1; 4 * n]), "x.npy");
            let Record::Tensor { meta, .. } = &records[1].0 else {
                panic!("{shape}")
            };
            assert_eq!(meta.shape.as_deref(), Some(&expected[..]));
            assert_eq!(meta.fortran_order, fortran);
        }
    }
}

/// Arrays that must never be read as little-endian floats: kept, and told.
#[test]
fn npy_arrays_that_are_kept_as_opaque_bytes() {
    for (descr, told) in [
        ("'>f2'", "big-endian"),
        ("'>f4'", "big-endian"),
        ("'>f8'", "big-endian"),
        ("'>i4'", "big-endian"),
        ("'>U4'", "big-endian"),
        ("'|O'", "not known"),
        ("'bfloat16'", "not known"),
        ("'<V2'", "--dtype bf16"),
        ("'|V2'", "--dtype bf16"),
        ("[('a', '<f4'), ('b', '<i2', (3,))]", "structured"),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': False, 'shape': (4,)}}");
        let (records, notes) = records(&npy_file(1, &text, &[7; 32]), "x.npy");
        assert!(described(&records).iter().all(Option::is_none), "{descr}");
        assert!(notes.iter().any(|n| n.contains(told)), "{descr}: {notes:?}");
    }
}

#[test]
fn npy_with_a_dtype_given() {
    let with = |descr: &str, dtype: &str| {
        let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (4,)}}");
        let element = descr[descr.len() - 1..].parse::<usize>().unwrap();
        let file = npy_file(1, &text, &vec![3; 4 * element]);
        let options = Options {
            dtype: Some(dtype.parse().unwrap()),
            ..Options::default()
        };
        open(&file, "x.npy", &options).map(|_| {
            described(&records_with(&file, "x.npy", &options).0)[1]
                .clone()
                .unwrap()
                .1
        })
    };
    for descr in ["<V2", "|V2", "<u2", "<i2"] {
        assert_eq!(with(descr, "bf16").unwrap(), "BF16");
    }
    assert_eq!(with("<f2", "half").unwrap(), "F16");
    assert_eq!(with("<f4", "f32").unwrap(), "F32");
    for (descr, dtype) in [
        ("<f2", "bf16"),
        ("<f4", "bf16"),
        (">f2", "f16"),
        ("<V4", "bf16"),
        ("<i4", "f16"),
    ] {
        assert!(
            matches!(
                *with(descr, dtype).err().unwrap().kind,
                ErrorKind::DTypeConflict { .. }
            ),
            "{descr} {dtype}"
        );
    }
}

#[test]
fn npy_files_with_more_or_less_than_the_array() {
    let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}";
    let (records, notes) = records(&npy_file(1, text, &[1; 21]), "x.npy");
    assert_eq!(records.len(), 3);
    assert!(notes[0].contains("5 bytes after the array"), "{notes:?}");
    assert!(matches!(
        error(&npy_file(1, text, &[1; 15]), "x.npy"),
        ErrorKind::Truncated {
            expected: 16,
            found: 15,
            ..
        }
    ));
    // A pipe finds out at the end.
    let file = npy_file(1, text, &[1; 15]);
    let mut input = Input::from_reader(Cursor::new(file), "x.npy", None, &Options::default()).unwrap();
    let Err(container::CompressError::Input(error)) =
        container::compress(&mut input, Vec::new(), &mut |_| {})
    else {
        panic!("no error")
    };
    assert!(matches!(
        *error.kind,
        ErrorKind::Truncated {
            expected: 16,
            found: 15,
            ..
        }
    ));
}

#[test]
fn malformed_npy_is_refused_by_name() {
    let good = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,)}";
    let whole = npy_file(1, good, &[0; 16]);
    for n in 0..whole.len() {
        let kind = error(&whole[..n], "x.npy");
        assert!(
            matches!(kind, ErrorKind::Truncated { .. } | ErrorKind::Header { .. }),
            "{n}: {kind:?}"
        );
    }
    for text in [
        "",
        "{}",
        "[]",
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': 4}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1.0,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551616,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), 'more': 1}",
        &format!("{{'descr': {}", "[".repeat(60_000)),
        &format!("{{'descr': {}", "{(".repeat(6)),
    ] {
        assert!(
            matches!(
                error(&npy_file(1, text, &[0; 16]), "x.npy"),
                ErrorKind::Header { .. }
            ),
            "{text}"
        );
    }
    assert!(matches!(
        error(&npy_file(9, good, &[0; 16]), "x.npy"),
        ErrorKind::Header { offset: 6, .. }
    ));
    let mut huge = b"\x93NUMPY\x02\x00".to_vec();
    huge.extend_from_slice(&u32::MAX.to_le_bytes());
    assert!(matches!(
        error(&[&huge[..], b"{}"].concat(), "x.npy"),
        ErrorKind::HeaderTooLarge { .. }
    ));
}

// ---- which format --------------------------------------------------------------------------------------------------

#[test]
fn the_format_is_found_by_extension_and_content() {
    let npy = npy_file(
        1,
        "{'descr': '<f4', 'fortran_order': False, 'shape': ()}",
        &[0; 4],
    );
    let st = safetensors_file(
        r#"{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}"#,
        &[0; 4],
    );
    let format = |raw: &[u8], name: &str| open(raw, name, &Options::default()).map(|i| i.format());
    for (raw, found) in [(&npy, FileFormat::Npy), (&st, FileFormat::Safetensors)] {
        for name in ["-", "x", "x.bin", "x.tmp123"] {
            assert_eq!(format(raw, name).unwrap(), found);
        }
    }
    assert_eq!(format(&npy, "X.NPY").unwrap(), FileFormat::Npy);
    assert_eq!(format(&st, "X.SafeTensors").unwrap(), FileFormat::Safetensors);
    // Content that contradicts the extension.
    assert!(matches!(
        error(&npy, "x.safetensors"),
        ErrorKind::Header { offset: 0, .. }
    ));
    assert!(matches!(error(&st, "x.npy"), ErrorKind::Header { offset: 0, .. }));
    // Neither.
    for raw in [&b""[..], b"x", &[0; 100]] {
        let kind = error(raw, "x.bin");
        assert!(matches!(kind, ErrorKind::UnknownFormat { .. }));
        assert!(kind.hint().unwrap().contains("bfloat16"));
    }
    assert!(matches!(
        error(b"\x89PLZ\r\n\x1a\nxxxxxxxxx", "x.pz"),
        ErrorKind::AlreadyPz
    ));
    // A dtype makes it raw, with a note if it looks like something else; a format option has the last word.
    let dtype = Some(DType::F32);
    let raw = open(
        &npy,
        "x.bin",
        &Options {
            dtype: dtype.clone(),
            format: None,
        },
    )
    .unwrap();
    assert_eq!(raw.format(), FileFormat::Raw);
    assert_eq!(raw.notes().len(), 1);
    for name in ["x.safetensors", "x.npy"] {
        let options = Options {
            dtype: dtype.clone(),
            format: Some(FileFormat::Raw),
        };
        assert_eq!(open(b"broken", name, &options).unwrap().format(), FileFormat::Raw);
    }
    let options = Options {
        dtype: dtype.clone(),
        format: None,
    };
    assert!(matches!(
        *open(&st, "x.safetensors", &options).err().unwrap().kind,
        ErrorKind::DTypeConflict { .. }
    ));
    let options = Options {
        dtype: None,
        format: Some(FileFormat::Raw),
    };
    assert!(matches!(
        *open(&st, "x", &options).err().unwrap().kind,
        ErrorKind::DTypeMissing
    ));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    /// Damaged headers: an error, or a round trip.
    #[test]
    fn damaged_headers_never_panic(
        npy in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![
            any::<u8>(),
            prop::sample::select(b"(){}[],:'\"0123456789-. \n<>|".to_vec()),
        ]), 1..8),
    ) {
        let mut file = if npy {
            npy_file(1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", &[1; 24])
        } else {
            safetensors_file(r#"{"a":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]}}"#, &[1; 24])
        };
        for (at, byte) in changes {
            let n = file.len();
            file[at.index(n)] = byte;
        }
        let name = if npy { "x.npy" } else { "x.safetensors" };
        if open(&file, name, &Options::default()).is_ok() {
            records(&file, name);
        }
    }
}
