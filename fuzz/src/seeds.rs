//! The inputs that fuzzing starts from, made of the sample activations: always the same ones.

use std::collections::BTreeSet;
use std::io::{self, Cursor};
use std::path::{Path, PathBuf};

use planezip::codec::encode;
use planezip::container::{self, Writer};
use planezip::format::{BLOCK_BYTES, FORMAT_CODE, Header, Layout, code};
use planezip::tensor::{DType, FileFormat, Input, Options, TensorMeta};

use crate::container::mode;
pub use crate::container::pz;
use crate::round_trip::shape;
use crate::tensor_file::framing;

/// One input: its target, its file's name, its bytes.
pub struct Seed {
    /// Name of the target.
    pub target: &'static str,
    /// Name of the file in the target's folder.
    pub name: String,
    /// What the target is given.
    pub bytes: Vec<u8>,
}

/// A model's sample: its name, the layout of its tensors, each tensor's bytes.
struct Sample {
    model: String,
    layout: Layout,
    tensors: Vec<Vec<u8>>,
}

/// The seeds, of all targets.
///
/// # Errors
/// If a file in `sample` (the repository's `tests/data/sample`) cannot be read or is no tensor file.
pub fn seeds(sample: &Path) -> io::Result<Vec<Seed>> {
    let mut paths: Vec<PathBuf> = std::fs::read_dir(sample)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<io::Result<_>>()?;
    paths.retain(|p| p.extension().is_some_and(|e| e == "safetensors"));
    paths.sort();
    let samples = paths
        .iter()
        .map(|p| read(p))
        .collect::<io::Result<Vec<Sample>>>()?;
    let mut seeds = Vec::new();
    block_stream(&samples, &mut seeds);
    round_trip(&samples, &mut seeds);
    container(&samples, &mut seeds)?;
    tensor_file(&samples, &mut seeds);
    Ok(seeds)
}

fn read(path: &Path) -> io::Result<Sample> {
    let mut input = Input::open(path, &Options::default()).map_err(io::Error::other)?;
    let mut sample = Sample {
        model: path
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned(),
        layout: Layout::W32,
        tensors: Vec::new(),
    };
    let mut bytes = Vec::new();
    while let Some(segment) = input.next_segment().map_err(io::Error::other)? {
        input.read_chunk(&mut bytes, 1 << 20).map_err(io::Error::other)?;
        if let Some(meta) = segment.tensor() {
            sample.layout = meta.dtype.layout();
            sample.tensors.push(std::mem::take(&mut bytes));
        }
    }
    Ok(sample)
}

/// The first block of every kind of header (byte 0, whatever its k or z) under each layout, alone; then some in a row, with a
/// tail. The same for the comparison with the independent decoder.
fn block_stream(samples: &[Sample], seeds: &mut Vec<Seed>) {
    for layout in Layout::ALL {
        let mut seen = BTreeSet::new();
        let mut row = Vec::new();
        let mut raw = 0;
        let tensors = samples
            .iter()
            .filter(|s| s.layout == layout)
            .flat_map(|s| &s.tensors);
        for block in tensors.flat_map(|t| t.as_chunks::<BLOCK_BYTES>().0) {
            let mut stream = Vec::new();
            encode(layout, block, &mut stream);
            let (first, kind) = (stream[0], stream[0] >> 3);
            let kind = if first >> 5 == code::OTHER {
                first
            } else {
                kind.min(code::PREFIX << 2)
            };
            if seen.insert(kind) {
                push(seeds, layout, &format!("{first:02x}"), BLOCK_BYTES, &stream);
                if seen.len() <= 5 {
                    raw += BLOCK_BYTES;
                    row.append(&mut stream);
                }
            }
        }
        let header = Header::Tail { len: 5 };
        let mut tail = [0; 2];
        header.write(layout, &mut tail);
        row.extend_from_slice(&tail);
        row.extend_from_slice(b"tail.");
        push(seeds, layout, "row", raw + 5, &row);
    }
}

/// A stream of `raw` bytes for both targets that read streams.
fn push(seeds: &mut Vec<Seed>, layout: Layout, name: &str, raw: usize, stream: &[u8]) {
    let name = format!("{}_{name}", lower(layout));
    let wide = u8::from(layout == Layout::W32);
    seeds.push(Seed {
        target: "block_stream",
        name: name.clone(),
        bytes: [&(raw as u16).to_le_bytes()[..], stream].concat(),
    });
    seeds.push(Seed {
        target: "independent",
        name,
        bytes: [&[wide], stream].concat(),
    });
}

fn lower(layout: Layout) -> &'static str {
    match layout {
        Layout::W16 => "w16",
        Layout::W32 => "w32",
    }
}

/// A few blocks and a part of one of every model; each way to make data of bytes.
fn round_trip(samples: &[Sample], seeds: &mut Vec<Seed>) {
    let mut push = |name: String, head: [u8; 4], data: &[u8]| {
        seeds.push(Seed {
            target: "round_trip",
            name,
            bytes: [&head[..], data].concat(),
        });
    };
    for s in samples {
        let wide = if s.layout == Layout::W32 { shape::W32 } else { 0 };
        if let Some(data) = s.tensors.last().and_then(|t| t.get(..3 * BLOCK_BYTES + 7)) {
            push(s.model.clone(), [wide, 0, 0, 1], data);
        }
    }
    let Some(data) = samples.first().and_then(|s| s.tensors.first()?.get(..300)) else {
        return;
    };
    for layout in [0, shape::W32] {
        for (name, what) in [
            ("widen", shape::WIDEN),
            ("exponents", shape::EXPONENTS),
            ("ramp", shape::RAMP),
            ("repeat", shape::REPEAT),
            ("zeros", shape::ZEROS),
            ("coarse", shape::COARSE),
            ("sign", shape::SIGN),
            ("all", !shape::W32),
        ] {
            let size = if layout == 0 { "w16" } else { "w32" };
            push(format!("{size}_{name}"), [what | layout, 0x13, 0x84, 1], data);
        }
    }
}

/// A safetensors header's text.
fn header(tensors: &[(&str, &str, &[u64], usize)]) -> String {
    let mut at = 0;
    let entries = tensors.iter().map(|(name, dtype, shape, bytes)| {
        let begin = at;
        at += bytes;
        format!(r#""{name}":{{"dtype":"{dtype}","shape":{shape:?},"data_offsets":[{begin},{at}]}}"#)
    });
    let entries = entries.collect::<Vec<_>>().join(",");
    format!(r#"{{"__metadata__":{{"a":"b"}},{entries}}}"#)
}

/// A small tensor file of both layouts, an empty tensor, and bytes after the last one.
fn safetensors(samples: &[Sample]) -> (String, Vec<u8>) {
    let of = |layout: Layout, n: usize| {
        let s = samples.iter().find(|s| s.layout == layout);
        s.and_then(|s| s.tensors.first()?.get(..n))
            .unwrap_or_default()
            .to_vec()
    };
    let (a, b) = (of(Layout::W16, 300), of(Layout::W32, 260));
    let json = header(&[
        ("x", "BF16", &[a.len() as u64 / 2], a.len()),
        ("e", "F32", &[0, 4], 0),
        ("y", "F32", &[5, b.len() as u64 / 20], b.len()),
        ("z", "I8", &[5], 5),
    ]);
    (json, [&a[..], &b, b"12345", b"after"].concat())
}

fn container(samples: &[Sample], seeds: &mut Vec<Seed>) -> io::Result<()> {
    let mut push = |name: &str, mode: u8, pz: &[u8]| {
        seeds.push(Seed {
            target: "container",
            name: name.into(),
            bytes: [&[mode], pz].concat(),
        });
    };
    let other = |e: container::Error| io::Error::other(e);
    let (json, data) = safetensors(samples);
    let file = [&(json.len() as u64).to_le_bytes(), json.as_bytes(), &data].concat();
    let len = Some(file.len() as u64);
    let mut input =
        Input::from_reader(Cursor::new(file), "x", len, &Options::default()).map_err(io::Error::other)?;
    let (pz, _) = container::compress(&mut input, Vec::new(), &mut |_| {}).map_err(io::Error::other)?;
    push("file", mode::PLAIN, &pz);
    push("file_frames", mode::FRAMES, &pz);
    push("file_totals", mode::TOTALS, &pz);
    // Cut short, and something after the end.
    push("file_cut", mode::FRAMES, &pz[..pz.len() / 2]);
    push("file_longer", mode::TOTALS, &[&pz[..], b"x"].concat());

    let (empty, _) = Writer::new(Vec::new(), FileFormat::Raw)
        .and_then(Writer::finish)
        .map_err(other)?;
    push("empty", mode::TOTALS, &empty);

    for s in samples {
        let dtype = match s.layout {
            Layout::W16 => DType::Bf16,
            Layout::W32 => DType::F32,
        };
        let Some(raw) = s.tensors.last().and_then(|t| t.get(..2 * BLOCK_BYTES)) else {
            continue;
        };
        let meta = TensorMeta {
            name: "t".into(),
            dtype,
            shape: None,
            fortran_order: false,
        };
        let mut writer = Writer::new(Vec::new(), FileFormat::Npy).map_err(other)?;
        let mut record = writer.tensor(&meta).map_err(other)?;
        record.write(raw).map_err(other)?;
        record.finish().map_err(other)?;
        let (pz, _) = writer.finish().map_err(other)?;
        push(&s.model, mode::TOTALS, &pz);
    }

    // Two chunks in each record, which the writer makes only of very large ones; stored and deflated bytes.
    let frame = crate::container::frame;
    let chunk = |n: u32, payload: &[u8]| frame(b'C', &[&n.to_le_bytes(), payload].concat());
    let frames = [
        container::MAGIC.to_vec(),
        frame(b'H', &[0, FORMAT_CODE, 1]),
        frame(b'T', &[1, 0, 3, b'I', b'6', b'4', 1, b'n', 64, 2, 2, 16]),
        chunk(128, &[0xC1]),
        chunk(128, &[0xC3, 0, 0, 0, 1, 2, 3, 4]),
        frame(b'E', &[]),
        frame(b'O', &[]),
        chunk(128, &[0x61; 128]),
        // Deflated: 128 zeros.
        chunk(128, &[0x63, 0x60, 0x18, 0x58, 0, 0]),
        chunk(3, b"abc"),
        frame(b'E', &[]),
        frame(b'Z', &[]),
    ];
    push("chunks", mode::TOTALS, &frames.concat());
    Ok(())
}

fn tensor_file(samples: &[Sample], seeds: &mut Vec<Seed>) {
    let mut push = |name: &str, how: u8, bytes: &[u8]| {
        seeds.push(Seed {
            target: "tensor_file",
            name: name.into(),
            bytes: [&[how], bytes].concat(),
        });
    };
    let (json, data) = safetensors(samples);
    let st = framing::SAFETENSORS << 6;
    push("safetensors", st, &[json.as_bytes(), b"\0", &data].concat());
    push(
        "safetensors_by_name",
        st | 1 << 4,
        &[json.as_bytes(), b"\0", &data].concat(),
    );
    push(
        "safetensors_cut",
        st | 2,
        &[json.as_bytes(), b"\0", &data[..400]].concat(),
    );
    let whole = [&(json.len() as u64).to_le_bytes(), json.as_bytes(), &data].concat();
    push("safetensors_plain", 0, &whole);
    push("safetensors_as_raw", 1 | 2 << 2, &whole);
    let gap = concat!(
        r#"{"b":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[8,12]},"#,
        r#""a":{"dtype":"NEW","shape":[],"data_offsets":[0,3]}}  "#,
    );
    push(
        "safetensors_gap",
        st,
        &[gap.as_bytes(), b"\0", &data[..20]].concat(),
    );
    push("safetensors_empty", st, b"{}\0");
    let largest =
        r#"{"a":{"dtype":"U8","shape":[4294967296,4294967295],"data_offsets":[0,18446744069414584320]}}"#;
    push("safetensors_largest", st, largest.as_bytes());
    let same = concat!(
        r#"{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},"#,
        r#""a":{"dtype":"U8","shape":[2],"data_offsets":[1,3]}}"#,
    );
    push("safetensors_same_name", st, &[same.as_bytes(), b"\0abc"].concat());
    push(
        "safetensors_overlap",
        st,
        &[same.replacen('a', "b", 1).as_bytes(), b"\0abc"].concat(),
    );

    for (name, how, descr, shape, order) in [
        ("f4", framing::NPY_1 << 6, "'<f4'", "(3, 5)", "False"),
        ("f2", framing::NPY_1 << 6, "'<f2'", "(30,)", "True"),
        ("f8", framing::NPY_2 << 6, "'<f8'", "(2, 3)", "False"),
        ("u1", framing::NPY_1 << 6 | 2 << 4, "'|u1'", "(60,)", "False"),
        ("scalar", framing::NPY_1 << 6, "'<i4'", "()", "False"),
        (
            "empty",
            framing::NPY_1 << 6,
            "'<i8'",
            "(0, 18446744073709551615)",
            "False",
        ),
        ("bf16", framing::NPY_1 << 6 | 1 << 2, "'|V2'", "(30,)", "False"),
        (
            "largest",
            framing::NPY_1 << 6,
            "'|u1'",
            "(18446744073709551615,)",
            "False",
        ),
        ("big_endian", framing::NPY_1 << 6, "'>f4'", "(15,)", "False"),
        (
            "structured",
            framing::NPY_2 << 6 | 3,
            "[('a', '<f4'), ('b', '|S4', (2,))]",
            "(5,)",
            "False",
        ),
        ("unicode", framing::NPY_1 << 6, "'<U3'", "(5,)", "False"),
        ("time", framing::NPY_1 << 6, "'<M8[ns]'", "(2,)", "False"),
    ] {
        let text = format!("{{'descr': {descr}, 'fortran_order': {order}, 'shape': {shape}, }}  \n");
        push(
            &format!("npy_{name}"),
            how,
            &[text.as_bytes(), &data[..60]].concat(),
        );
    }
    push("raw_bf16", 1 | 1 << 2, &data[..150]);
    push("raw_f32", 3 << 2 | 3 << 4, &data[..150]);
    push("raw_without_dtype", 1, b"x");
    push("already_pz", 0, &container::MAGIC);
}
