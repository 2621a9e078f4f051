//! Errors of reading and writing `.pz` files.

use std::io;

use super::MAGIC;
use crate::codec::DecodeError;

/// Why a `.pz` file cannot be read or written. Offsets are in bytes from the start of the `.pz` file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Reading or writing failed.
    #[error("cannot read or write")]
    Io(#[from] io::Error),
    /// Other bytes where the magic should be.
    #[error("not a .pz file: expected {} at offset 0, found {}", hex(&MAGIC), hex(found))]
    NotPz {
        /// The first bytes of the file.
        found: Vec<u8>,
    },
    /// A version this build does not know.
    #[error("unsupported {what} version at offset {offset}: expected {expected}, found {found}")]
    Version {
        /// Which version number.
        what: &'static str,
        /// Where it stands.
        offset: u64,
        /// What this build reads.
        expected: u8,
        /// What the file says.
        found: u8,
    },
    /// The file ends too early.
    #[error("truncated at offset {offset}: {what} needs {expected} bytes, found {found}")]
    Truncated {
        /// Where the part that is cut off starts.
        offset: u64,
        /// What is cut off.
        what: &'static str,
        /// Bytes needed from `offset`.
        expected: u64,
        /// Bytes present from `offset`.
        found: u64,
    },
    /// A checksum does not hold.
    #[error("corrupt at offset {offset}: checksum of {what}: expected {expected:016x}, found {found:016x}")]
    Checksum {
        /// Where the checked part starts (of raw bytes: where the frame stands that holds the checksum).
        offset: u64,
        /// What was checked.
        what: &'static str,
        /// The checksum in the file.
        expected: u64,
        /// The checksum computed.
        found: u64,
    },
    /// A field has a value it cannot have.
    #[error("corrupt at offset {offset}: {what}: expected {expected}, found {found}")]
    Field {
        /// Where the frame with the field starts.
        offset: u64,
        /// The field.
        what: &'static str,
        /// What it can be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// A block stream does not decode.
    #[error("corrupt at offset {offset}: {source}")]
    Blocks {
        /// Where the chunk's payload starts.
        offset: u64,
        /// What is wrong; its offset counts from the start of the payload.
        source: DecodeError,
    },
    /// A deflated payload does not inflate.
    #[error("corrupt at offset {offset}: deflated bytes: {reason}")]
    Deflate {
        /// Where the chunk's payload starts.
        offset: u64,
        /// What is wrong.
        reason: String,
    },
    /// Bytes after the end.
    #[error("{found} or more bytes after the end of the file's last frame at offset {offset}, expected none")]
    Trailing {
        /// Where they start.
        offset: u64,
        /// How many were seen.
        found: u64,
    },
    /// A tensor's name or shape is too large for a record.
    #[error("tensor record too large: expected at most {max} bytes for name, dtype and shape, found {found}")]
    RecordTooLarge {
        /// The limit in bytes.
        max: u64,
        /// The size in bytes.
        found: u64,
    },
    /// A given block stream does not stand for the given raw bytes.
    #[error("the block stream given for a tensor stands for {found} bytes, expected {expected}")]
    StreamLength {
        /// Raw bytes given.
        expected: u64,
        /// Raw bytes that the stream's block headers add up to.
        found: u64,
    },
    /// A given block stream is longer than any encoder makes it, so that no reader would take it.
    #[error(
        "the block stream given for a tensor takes {found} bytes for {raw} raw ones, expected at most {max}"
    )]
    StreamTooLong {
        /// Raw bytes that a chunk of the stream stands for.
        raw: u64,
        /// The most bytes it may take.
        max: u64,
        /// Bytes it takes.
        found: u64,
    },
    /// A given block stream is malformed.
    #[error("the block stream given for a tensor: {0}")]
    Stream(#[source] DecodeError),
    /// A record was begun and never finished: the file cannot be completed.
    #[error("a record was left unfinished")]
    Unfinished,
    /// What was written does not decode to what was read.
    #[error("verification failed at offset {offset} of the original: {what}")]
    Verify {
        /// Offset in the original file.
        offset: u64,
        /// What differs.
        what: String,
    },
}

impl Error {
    /// True if the file was recognised but is damaged, or does not hold what it should; false for foreign files
    /// and failed reads and writes.
    #[must_use]
    pub fn is_corruption(&self) -> bool {
        match self {
            Error::Io(_)
            | Error::NotPz { .. }
            | Error::Version { .. }
            | Error::RecordTooLarge { .. }
            | Error::Unfinished => false,
            Error::Truncated { .. }
            | Error::Checksum { .. }
            | Error::Field { .. }
            | Error::Blocks { .. }
            | Error::Deflate { .. }
            | Error::Trailing { .. }
            | Error::StreamLength { .. }
            | Error::StreamTooLong { .. }
            | Error::Stream(_)
            | Error::Verify { .. } => true,
        }
    }

    /// What a user can do about it.
    #[must_use]
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Error::NotPz { found }
                if found.starts_with(b"\x89PLZ\n") || found.starts_with(b"\x89PLZ\r\r") =>
            {
                Some("its line ends were converted in a text-mode transfer: copy it again as binary")
            }
            Error::NotPz { found } if found.starts_with(b"\xc2\x89PLZ") || found.starts_with(b"\x09PLZ") => {
                Some("it was re-encoded as text: copy it again as binary")
            }
            Error::NotPz { .. } => Some("`planezip compress` makes .pz files"),
            Error::Version { .. } => Some("use the planezip release that wrote it"),
            Error::Truncated { .. } => Some("the copy or download was cut short"),
            Error::Trailing { .. } => Some("something was appended to the file"),
            _ => None,
        }
    }
}

fn hex(bytes: &[u8]) -> String {
    if bytes.is_empty() {
        return "nothing".into();
    }
    bytes
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect::<Vec<_>>()
        .join(" ")
}
