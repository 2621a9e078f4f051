//! Errors of reading tensor files.

use std::io;

use super::DTYPE_NAMES;

/// A tensor file that could not be read, and why.
#[derive(Debug, thiserror::Error)]
#[error("{file}: {kind}")]
pub struct Error {
    /// The file, as the caller named it.
    pub file: String,
    /// What is wrong.
    pub kind: Box<ErrorKind>,
}

/// What is wrong with a tensor file. Offsets are in bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum ErrorKind {
    /// Reading failed.
    #[error("cannot read: {0}")]
    Io(#[from] io::Error),
    /// The path is a directory.
    #[error("is a directory, expected a file")]
    Directory,
    /// Neither extension nor content nor options tell what the bytes are.
    #[error("format not recognised: expected .safetensors or .npy content, found bytes {found} at offset 0")]
    UnknownFormat {
        /// The first bytes, in hexadecimal.
        found: String,
    },
    /// The file is a .pz container already.
    #[error("is a .pz container already")]
    AlreadyPz,
    /// The file ends before what its header promises.
    #[error("truncated at offset {offset}: {what} needs {expected} bytes, found {found}")]
    Truncated {
        /// Where the missing part starts.
        offset: u64,
        /// What is cut off.
        what: String,
        /// Bytes needed from `offset`.
        expected: u64,
        /// Bytes present from `offset`.
        found: u64,
    },
    /// A header larger than what is accepted.
    #[error("header too large at offset {offset}: expected at most {max} bytes, found a length of {found}")]
    HeaderTooLarge {
        /// Where the length stands.
        offset: u64,
        /// The limit.
        max: u64,
        /// The length found.
        found: u64,
    },
    /// The header is not what the format asks for.
    #[error("malformed header at offset {offset}: expected {expected}, found {found}")]
    Header {
        /// Where in the file.
        offset: u64,
        /// What the format asks for.
        expected: String,
        /// What is there.
        found: String,
    },
    /// Two tensors of one name.
    #[error("malformed header: name '{name}' appears twice")]
    DuplicateName {
        /// The name.
        name: String,
    },
    /// Two tensors share bytes.
    #[error("tensor '{second}' at offset {offset} overlaps tensor '{first}', which ends at offset {end}")]
    Overlap {
        /// Tensor that starts first.
        first: String,
        /// Tensor that starts within it.
        second: String,
        /// Where the second starts.
        offset: u64,
        /// Where the first ends.
        end: u64,
    },
    /// A tensor's byte range does not fit its dtype and shape.
    #[error(
        "tensor '{name}': dtype {dtype} and shape {shape:?} need {expected} bytes, its data_offsets span {found}"
    )]
    SizeMismatch {
        /// The tensor.
        name: String,
        /// Its dtype.
        dtype: String,
        /// Its shape.
        shape: Vec<u64>,
        /// Bytes by dtype and shape (`more than 2^64` on overflow).
        expected: String,
        /// Bytes by offsets.
        found: u64,
    },
    /// `--dtype` contradicts the file.
    #[error("dtype {asked} was asked for, but the file says {found}")]
    DTypeConflict {
        /// What the option says.
        asked: String,
        /// What the file says.
        found: String,
    },
    /// Raw bytes without a dtype.
    #[error("raw bytes need a dtype")]
    DTypeMissing,
}

impl ErrorKind {
    /// What a user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        let names = || DTYPE_NAMES.map(|(name, _)| name).join(", ");
        match self {
            ErrorKind::UnknownFormat { .. } | ErrorKind::DTypeMissing => {
                Some(format!("for raw bytes give --dtype (one of {})", names()))
            }
            ErrorKind::AlreadyPz => Some("`planezip decompress` restores the file it was made from".into()),
            ErrorKind::Truncated { .. }
            | ErrorKind::HeaderTooLarge { .. }
            | ErrorKind::Header { .. }
            | ErrorKind::DuplicateName { .. }
            | ErrorKind::Overlap { .. }
            | ErrorKind::SizeMismatch { .. } => {
                Some("--format raw --dtype f32 takes the file as plain bytes, whatever it holds".into())
            }
            ErrorKind::DTypeConflict { .. } => Some(
                "--dtype is for raw files and for .npy files whose dtype numpy cannot name; \
                 --format raw takes any file as plain bytes"
                    .into(),
            ),
            ErrorKind::Directory => Some("`planezip stat` takes directories".into()),
            ErrorKind::Io(_) => None,
        }
    }
}
