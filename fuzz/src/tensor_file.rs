//! Any bytes as a tensor file.

use std::io::{Cursor, Read};

use planezip::container::{self, CompressError};
use planezip::tensor::{DType, ErrorKind, FileFormat, Input, Options};

use crate::trickle::Trickle;

/// Values of bits 7..6 of byte 0: what is put before the bytes that follow.
pub(crate) mod framing {
    // 0: nothing.
    /// The length that a safetensors header starts with; the header ends at the first byte 0, which is left out.
    pub(crate) const SAFETENSORS: u8 = 1;
    /// Magic, version 1.0 and length of a .npy header, which ends with the first line end.
    pub(crate) const NPY_1: u8 = 2;
    /// The same for version 2.0.
    pub(crate) const NPY_2: u8 = 3;
}

/// Byte 0 says how the file is taken: format asked for (bits 1..0), dtype asked for (3..2), name (5..4), and what makes
/// a whole file of the bytes that follow (7..6).
///
/// Opening and compressing gives a typed error, or a `.pz` file from which the same bytes come back; it is the same
/// whether the length is known beforehand and however the input comes.
pub fn tensor_file(data: &[u8]) {
    let Some((&how, rest)) = data.split_first() else {
        return;
    };
    let format = [
        None,
        Some(FileFormat::Raw),
        Some(FileFormat::Safetensors),
        Some(FileFormat::Npy),
    ];
    let dtype = [None, Some(DType::Bf16), Some(DType::F16), Some(DType::F32)];
    let options = Options {
        format: format[usize::from(how & 3)],
        dtype: dtype[usize::from(how >> 2 & 3)].clone(),
    };
    let name = ["x", "x.safetensors", "x.npy", "x.bin"][usize::from(how >> 4 & 3)];
    let file = framed(how >> 6, rest);
    let len = file.len() as u64;

    let known = compress(Cursor::new(file.clone()), name, Some(len), &options);
    let unknown = compress(Cursor::new(file.clone()), name, None, &options);
    let trickled = compress(Trickle::new(Cursor::new(file.clone())), name, Some(len), &options);
    assert!(known == trickled, "another result from small reads");
    match (&known, &unknown) {
        (Ok(a), Ok(b)) => assert!(a == b, "another file where the length is not known"),
        (Err(_), Err(_)) => {}
        _ => panic!(
            "length known: {:?}, not known: {:?}",
            known.as_ref().err(),
            unknown.as_ref().err()
        ),
    }
    let Ok(pz) = known else { return };
    let (back, summary) = container::decompress(&pz[..], Vec::new(), &mut |_| {}).expect("just made");
    assert!(back == file, "other bytes came back");
    assert_eq!((summary.raw_bytes, summary.pz_bytes), (len, pz.len() as u64));
}

/// The `.pz` file, or the error's text.
fn compress(
    reader: impl Read + Send + 'static,
    name: &str,
    len: Option<u64>,
    options: &Options,
) -> Result<Vec<u8>, String> {
    let refused = |e: planezip::tensor::Error| {
        assert!(!matches!(*e.kind, ErrorKind::Io(_)), "{e}");
        let _ = e.kind.hint();
        e.to_string()
    };
    let mut input = Input::from_reader(reader, name, len, options).map_err(refused)?;
    match container::compress(&mut input, Vec::new(), &mut |_| {}) {
        Ok((pz, _)) => Ok(pz),
        Err(CompressError::Input(e)) => {
            // Everything else is found before the first segment.
            assert!(matches!(*e.kind, ErrorKind::Truncated { .. }), "{e}");
            Err(refused(e))
        }
        Err(CompressError::Output(e)) => panic!("{e}"),
    }
}

/// A file of which mutations of the header's text keep the header's length right.
fn framed(framing: u8, rest: &[u8]) -> Vec<u8> {
    let end = |byte: u8| rest.iter().position(|&b| b == byte);
    match framing {
        framing::SAFETENSORS => {
            let at = end(0).unwrap_or(rest.len());
            let data = rest.get(at + 1..).unwrap_or_default();
            [&(at as u64).to_le_bytes(), &rest[..at], data].concat()
        }
        framing::NPY_1 | framing::NPY_2 => {
            let at = end(b'\n').map_or(rest.len(), |at| at + 1);
            if framing == framing::NPY_1 {
                [b"\x93NUMPY\x01\0", &(at as u16).to_le_bytes()[..], rest].concat()
            } else {
                [b"\x93NUMPY\x02\0", &(at as u32).to_le_bytes()[..], rest].concat()
            }
        }
        _ => rest.to_vec(),
    }
}
