//! The safetensors header: where each tensor lies.

use std::collections::HashSet;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, Deserializer, IgnoredAny, MapAccess, Visitor};

use super::{DType, ErrorKind, Segment, SegmentKind, TensorMeta};

/// Largest header that is read: the limit of the format's reference implementation.
pub const MAX_HEADER_BYTES: u64 = 100_000_000;

/// One tensor's entry; offsets are relative to the end of the header.
#[derive(Deserialize)]
struct Entry {
    dtype: String,
    shape: Vec<u64>,
    data_offsets: (u64, u64),
}

/// The header's entries in file order. Only `__metadata__` is not a tensor.
struct Entries(Vec<(String, Entry)>);

/// Marks a duplicate in a JSON error's text, to be told apart from other errors.
const DUPLICATE: &str = "duplicate name: ";

impl<'de> Deserialize<'de> for Entries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
            type Value = Entries;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of tensors")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries, A::Error> {
                let mut entries = Vec::new();
                let mut seen = HashSet::new();
                while let Some(name) = map.next_key::<String>()? {
                    if !seen.insert(name.clone()) {
                        return Err(de::Error::custom(format_args!("{DUPLICATE}{name}")));
                    }
                    if name == "__metadata__" {
                        map.next_value::<StringMap>()?;
                    } else {
                        let entry = map.next_value()?;
                        entries.push((name, entry));
                    }
                }
                Ok(Entries(entries))
            }
        }

        deserializer.deserialize_map(EntriesVisitor)
    }
}

/// `__metadata__`: an object of strings, of which nothing is kept.
struct StringMap;

impl<'de> Deserialize<'de> for StringMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct StringMapVisitor;

        impl<'de> Visitor<'de> for StringMapVisitor {
            type Value = StringMap;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings as __metadata__")
            }

            fn visit_unit<E: de::Error>(self) -> Result<StringMap, E> {
                Ok(StringMap)
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<StringMap, A::Error> {
                while map.next_key::<IgnoredAny>()?.is_some() {
                    map.next_value::<String>()?;
                }
                Ok(StringMap)
            }
        }

        deserializer.deserialize_any(StringMapVisitor)
    }
}

/// Byte offset of a JSON error within the header.
fn json_offset(json: &[u8], error: &serde_json::Error) -> u64 {
    let line_start = json
        .split_inclusive(|&b| b == b'\n')
        .take(error.line().saturating_sub(1))
        .map(<[u8]>::len)
        .sum::<usize>();
    (line_start + error.column().saturating_sub(1)) as u64
}

/// Bytes a tensor needs by dtype and shape: `Ok(None)` if the dtype's size is unknown, `Err` on overflow or if
/// the bits make no whole bytes.
fn expected_bytes(dtype: &DType, shape: &[u64]) -> Result<Option<u64>, &'static str> {
    let Some(bits) = dtype.bits() else { return Ok(None) };
    // A zero anywhere makes an empty tensor, however large the other dimensions are.
    if shape.contains(&0) {
        return Ok(Some(0));
    }
    let total = shape
        .iter()
        .try_fold(u128::from(bits), |n, &d| n.checked_mul(u128::from(d)))
        .filter(|&n| n / 8 <= u128::from(u64::MAX))
        .ok_or("more than 2^64")?;
    if total % 8 != 0 {
        return Err("a part of a byte more than a whole number of");
    }
    Ok(Some((total / 8) as u64))
}

/// Parses `head`, which is the 8-byte length and the header, and lists the segments that follow it.
///
/// `file_len` is the length of the whole file, if known. Gaps between tensors and bytes after the last one are
/// kept as opaque segments and reported in `notes`.
pub(super) fn segments(
    head: &[u8],
    file_len: Option<u64>,
    notes: &mut Vec<String>,
) -> Result<Vec<Segment>, ErrorKind> {
    let json = head.get(8..).unwrap_or_default();
    if json.first() != Some(&b'{') {
        return Err(ErrorKind::Header {
            offset: 8,
            expected: "a JSON object ('{')".into(),
            found: json
                .first()
                .map_or("nothing".into(), |b| format!("byte 0x{b:02x}")),
        });
    }
    let Entries(mut entries) = serde_json::from_slice(json).map_err(|e| {
        let text = e.to_string();
        match text.strip_prefix(DUPLICATE) {
            Some(rest) => ErrorKind::DuplicateName {
                name: rest
                    .rsplit_once(" at line ")
                    .map_or(rest, |(name, _)| name)
                    .to_owned(),
            },
            None => ErrorKind::Header {
                offset: 8 + json_offset(json, &e),
                expected: "tensors as JSON objects with dtype, shape and data_offsets".into(),
                found: text,
            },
        }
    })?;

    // Stable: empty tensors at one offset stay in header order.
    entries.sort_by_key(|(_, e)| e.data_offsets);
    let data = head.len() as u64;
    let mut segments = Vec::with_capacity(entries.len());
    let mut at = data;
    let mut last: Option<String> = None;
    for (name, entry) in entries {
        let (begin, end) = entry.data_offsets;
        let (Some(begin), Some(end), true) = (data.checked_add(begin), data.checked_add(end), begin <= end)
        else {
            return Err(ErrorKind::Header {
                offset: data,
                expected: format!("data_offsets of '{name}' in rising order and below 2^64"),
                found: format!("[{begin}, {end}]"),
            });
        };
        let dtype = DType::from_safetensors(&entry.dtype);
        let mismatch = |expected: String| ErrorKind::SizeMismatch {
            name: name.clone(),
            dtype: entry.dtype.clone(),
            shape: entry.shape.clone(),
            expected,
            found: end - begin,
        };
        match expected_bytes(&dtype, &entry.shape) {
            Ok(None) => {}
            Ok(Some(n)) if n == end - begin => {}
            Ok(Some(n)) => return Err(mismatch(n.to_string())),
            Err(text) => return Err(mismatch(text.into())),
        }
        if begin < at {
            return Err(ErrorKind::Overlap {
                first: last.unwrap_or_default(),
                second: name,
                offset: begin,
                end: at,
            });
        }
        if let Some(len) = file_len.filter(|&len| end > len) {
            return Err(ErrorKind::Truncated {
                offset: begin,
                what: format!("tensor '{name}'"),
                expected: end - begin,
                found: len.saturating_sub(begin),
            });
        }
        if begin > at {
            notes.push(format!(
                "{} bytes at offset {at} belong to no tensor: kept as they are",
                begin - at
            ));
            segments.push(Segment {
                kind: SegmentKind::Opaque,
                len: Some(begin - at),
            });
        }
        segments.push(Segment {
            kind: SegmentKind::Tensor(TensorMeta {
                name: name.clone(),
                dtype,
                shape: Some(entry.shape),
                fortran_order: false,
            }),
            len: Some(end - begin),
        });
        at = end;
        last = Some(name);
    }
    if let Some(rest) = file_len.map(|len| len.saturating_sub(at)).filter(|&n| n > 0) {
        notes.push(format!(
            "{rest} bytes after the last tensor at offset {at}: kept as they are"
        ));
    }
    segments.push(Segment {
        kind: SegmentKind::Opaque,
        len: None,
    });
    Ok(segments)
}
