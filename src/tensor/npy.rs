//! The .npy header: dtype, shape, order, and where the data starts.

use npyz::{Endianness, TypeChar, TypeStr};
use py_literal::Value;

use super::{DType, ErrorKind, Float, Segment, SegmentKind, TensorMeta};

/// First bytes of a .npy file.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";
/// Largest header that is read (numpy itself refuses more than 10,000 bytes unless told otherwise).
pub(super) const MAX_HEADER_BYTES: u64 = 1 << 20;
/// Brackets within brackets that are parsed. A structured dtype of one level needs four.
const MAX_NESTING: usize = 12;

/// Bytes before the header text, and the text's length, from the first 12 bytes of the file (10 for version 1).
///
/// `Ok(None)` if the version is not known.
pub(super) fn header_len(prefix: &[u8]) -> Option<(usize, u64)> {
    match prefix {
        [_, _, _, _, _, _, 1, 0, a, b, ..] => Some((10, u64::from(u16::from_le_bytes([*a, *b])))),
        [_, _, _, _, _, _, 2 | 3, 0, a, b, c, d, ..] => {
            Some((12, u64::from(u32::from_le_bytes([*a, *b, *c, *d]))))
        }
        _ => None,
    }
}

/// What a header says.
struct Header {
    descr: Value,
    shape: Vec<u64>,
    fortran_order: bool,
}

/// Parses the header text (a Python dict). `offset` is where it starts in the file.
fn parse(text: &[u8], offset: u64) -> Result<Header, ErrorKind> {
    let error = |expected: &str, found: String| ErrorKind::Header {
        offset,
        expected: expected.into(),
        found,
    };
    let dict_expected = "a Python dict with descr, fortran_order and shape";

    // The parser is recursive: bound its depth.
    let mut depth = 0_usize;
    for b in text {
        match b {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > MAX_NESTING {
            return Err(error(
                dict_expected,
                format!("brackets nested deeper than {MAX_NESTING}"),
            ));
        }
    }
    // Version 1 and 2 headers are Latin-1 and version 3 ones UTF-8; only field names can tell them apart, and
    // those are not used here.
    let text: String = match std::str::from_utf8(text) {
        Ok(text) => text.into(),
        Err(_) => text.iter().map(|&b| char::from(b)).collect(),
    };
    let excerpt = || format!("{:?}", text.chars().take(60).collect::<String>());
    let Ok(Value::Dict(entries)) = text.trim_ascii().parse::<Value>() else {
        return Err(error(dict_expected, excerpt()));
    };

    let (mut descr, mut shape, mut fortran_order) = (None, None, None);
    for (key, value) in entries {
        let slot = match key {
            Value::String(key) => match key.as_str() {
                "descr" => &mut descr,
                "shape" => &mut shape,
                "fortran_order" => &mut fortran_order,
                other => return Err(error(dict_expected, format!("key '{other}'"))),
            },
            _ => return Err(error(dict_expected, excerpt())),
        };
        if slot.replace(value).is_some() {
            return Err(error(dict_expected, "a key that appears twice".into()));
        }
    }
    let (Some(descr), Some(shape), Some(fortran_order)) = (descr, shape, fortran_order) else {
        return Err(error(dict_expected, excerpt()));
    };
    let Value::Boolean(fortran_order) = fortran_order else {
        return Err(error("True or False as fortran_order", fortran_order.to_string()));
    };
    let shape = match &shape {
        Value::Tuple(dims) | Value::List(dims) => dims
            .iter()
            .map(|dim| match dim {
                Value::Integer(n) => n.to_string().parse().ok(),
                _ => None,
            })
            .collect::<Option<Vec<u64>>>(),
        _ => None,
    }
    .ok_or_else(|| {
        error(
            "a tuple of integers from 0 to 2^64 - 1 as shape",
            shape.to_string(),
        )
    })?;
    Ok(Header {
        descr,
        shape,
        fortran_order,
    })
}

/// An element type as far as it is understood.
enum Kind {
    Known(DType),
    /// Kept as opaque bytes; the text says why, for a note.
    Opaque(String),
}

/// The name safetensors has for a plain type, or numpy's own.
fn plain(ty: &TypeStr) -> DType {
    let known = match (ty.type_char(), ty.size_field()) {
        (TypeChar::Float, 2) => return DType::F16,
        (TypeChar::Float, 4) => return DType::F32,
        (TypeChar::Float, 8) => "F64",
        (TypeChar::Bool, _) => "BOOL",
        (TypeChar::Int, 1) => "I8",
        (TypeChar::Int, 2) => "I16",
        (TypeChar::Int, 4) => "I32",
        (TypeChar::Int, 8) => "I64",
        (TypeChar::Uint, 1) => "U8",
        (TypeChar::Uint, 2) => "U16",
        (TypeChar::Uint, 4) => "U32",
        (TypeChar::Uint, 8) => "U64",
        _ => {
            return DType::Other {
                name: ty.to_string(),
                bits: ty.num_bytes().and_then(|n| (n as u64).checked_mul(8)),
            };
        }
    };
    DType::from_safetensors(known)
}

fn kind(descr: &Value, asked: Option<Float>) -> Result<Kind, ErrorKind> {
    let Value::String(text) = descr else {
        return Ok(Kind::Opaque("has a structured dtype".into()));
    };
    let conflict = |asked: Float| ErrorKind::DTypeConflict {
        asked: asked.key().into(),
        found: format!("'{text}'"),
    };
    let Ok(ty) = text.parse::<TypeStr>() else {
        return match asked {
            Some(asked) => Err(conflict(asked)),
            None => Ok(Kind::Opaque(format!(
                "has dtype '{text}', whose element size is not known"
            ))),
        };
    };
    if ty.endianness() == Endianness::Big && ty.num_bytes() != Some(1) {
        return match asked {
            Some(asked) => Err(conflict(asked)),
            None => Ok(Kind::Opaque(format!("is big-endian ('{text}')"))),
        };
    }
    let found = plain(&ty);
    if let Some(asked) = asked {
        // numpy has no bfloat16: such arrays are saved as two raw bytes or as 16-bit integers.
        let same_size = found.bits() == Some(8 * asked.bytes() as u64);
        let plain_bits = matches!(ty.type_char(), TypeChar::RawData | TypeChar::Uint | TypeChar::Int);
        return if found.float() == Some(asked) || (same_size && plain_bits) {
            Ok(Kind::Known(asked.into()))
        } else {
            Err(conflict(asked))
        };
    }
    if ty.type_char() == TypeChar::RawData && ty.size_field() == 2 {
        return Ok(Kind::Opaque(format!(
            "has dtype '{text}', which may be bfloat16: say so with --dtype bf16"
        )));
    }
    Ok(Kind::Known(found))
}

/// Lists the segments that follow the header. `text` is the header's text, which starts at `text_offset` and ends
/// where the data starts.
pub(super) fn segments(
    text: &[u8],
    text_offset: u64,
    file_len: Option<u64>,
    asked: Option<Float>,
    notes: &mut Vec<String>,
) -> Result<Vec<Segment>, ErrorKind> {
    let header = parse(text, text_offset)?;
    let rest = Segment {
        kind: SegmentKind::Opaque,
        len: None,
    };
    let dtype = match kind(&header.descr, asked)? {
        Kind::Known(dtype) => dtype,
        Kind::Opaque(why) => {
            notes.push(format!("the array {why}: kept as plain bytes, not as a tensor"));
            return Ok(vec![rest]);
        }
    };
    let data = text_offset + text.len() as u64;
    let element_bytes = dtype.element_bytes().unwrap_or(1);
    let len = if header.shape.contains(&0) {
        0
    } else {
        header
            .shape
            .iter()
            .try_fold(element_bytes, |n, &d| n.checked_mul(d))
            .filter(|len| data.checked_add(*len).is_some())
            .ok_or_else(|| ErrorKind::Header {
                offset: text_offset,
                expected: "an array below 2^64 bytes".into(),
                found: format!("shape {:?} of {dtype}", header.shape),
            })?
    };
    if let Some(file_len) = file_len {
        let found = file_len.saturating_sub(data);
        if found < len {
            return Err(ErrorKind::Truncated {
                offset: data,
                what: format!("the array of {dtype} {:?}", header.shape),
                expected: len,
                found,
            });
        }
        if found > len {
            notes.push(format!(
                "{} bytes after the array at offset {}: kept as they are",
                found - len,
                data + len
            ));
        }
    }
    let tensor = Segment {
        kind: SegmentKind::Tensor(TensorMeta {
            name: String::new(),
            dtype,
            shape: Some(header.shape),
            fortran_order: header.fortran_order,
        }),
        len: Some(len),
    };
    Ok(vec![tensor, rest])
}
