//! The `.pz` file (`docs/container.md`): block streams of tensors, and the bytes between them, in file order.
//!
//! [`Writer`] and [`Reader`] both work in one pass with bounded memory. [`compress`] and [`decompress`] connect them
//! with tensor files.
//!
//! ```
//! use planezip::container::{compress, decompress};
//! use planezip::tensor::{DType, Input, Options};
//!
//! let options = Options { dtype: Some(DType::F32), ..Options::default() };
//! let mut input = Input::from_reader(&[0u8; 4096][..], "zeros.bin", Some(4096), &options)?;
//! let (pz, summary) = compress(&mut input, Vec::new(), &mut |_| {})?;
//! assert_eq!(summary.raw_bytes, 4096);
//! assert!(pz.len() < 200);
//! let (raw, _) = decompress(&pz[..], Vec::new(), &mut |_| {})?;
//! assert_eq!(raw, [0; 4096]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod chunk;
mod error;
mod frame;
mod pipe;
mod pipeline;
mod reader;
mod writer;

pub use error::Error;
pub use pipe::{
    CompressError, DecompressError, compress, compress_with, decompress, decompress_with, verify, verify_with,
};
pub use pipeline::MAX_THREADS;
pub use reader::{Event, Reader};
pub use writer::{RecordWriter, Writer};

use crate::codec;
use crate::format::{Layout, max_stream_len};
use crate::tensor::{FileFormat, TensorMeta};
use chunk::Coding;
use xxhash_rust::xxh3::Xxh3;

/// First bytes of a `.pz` file: one above 0x7f and both line ends, so that text conversions are noticed.
pub const MAGIC: [u8; 8] = *b"\x89PLZ\r\n\x1a\n";
/// Version of the container that is written and read.
pub const CONTAINER_VERSION: u8 = 0;
/// Most raw bytes in a chunk; a multiple of the block size. The writer fills every chunk but a record's last.
pub const MAX_CHUNK_RAW: usize = 1 << 20;
/// Largest body of a record frame.
const MAX_RECORD_BODY: u32 = 1 << 27;
/// Largest body of the frames whose fields are all numbers.
const MAX_SMALL_BODY: u32 = 256;
/// Largest body of a chunk frame: its raw length and a payload that does not compress.
const MAX_CHUNK_BODY: u32 = 4 + max_stream_len(MAX_CHUNK_RAW as u64) as u32;

/// Longest chunk frame.
const MAX_CHUNK_FRAME: usize = frame::FRAME_HEAD + MAX_CHUNK_BODY as usize + frame::CHECKSUM;

/// Frame tags.
mod tag {
    pub(super) const HEADER: u8 = b'H';
    pub(super) const TENSOR: u8 = b'T';
    pub(super) const OPAQUE: u8 = b'O';
    pub(super) const CHUNK: u8 = b'C';
    pub(super) const RECORD_END: u8 = b'E';
    pub(super) const FILE_END: u8 = b'Z';
}

/// What a record holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A tensor, as a block stream.
    Tensor {
        /// Name, dtype and shape.
        meta: TensorMeta,
        /// The layout of its blocks.
        layout: Layout,
    },
    /// Bytes outside the tensors, deflated.
    Opaque,
}

/// A record's totals, from its closing frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RecordTotals {
    /// Raw bytes, payload bytes and blocks by form (for an opaque record no blocks).
    pub stats: codec::Stats,
    /// XXH3-64 of the raw bytes.
    pub checksum: u64,
}

/// A file's totals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Number of tensor records.
    pub tensors: u64,
    /// Number of opaque records.
    pub opaque: u64,
    /// Bytes of the original file.
    pub raw_bytes: u64,
    /// Bytes of the `.pz` file.
    pub pz_bytes: u64,
    /// Tensor records taken together: raw bytes, block stream bytes, blocks by form.
    pub tensor_stats: codec::Stats,
    /// XXH3-64 of the original file.
    pub checksum: u64,
}

impl Summary {
    /// Counts a complete record.
    fn add(&mut self, coding: Coding, stats: &codec::Stats) {
        self.raw_bytes += stats.raw_bytes;
        if coding.is_tensor() {
            self.tensors += 1;
            self.tensor_stats.add(stats);
        } else {
            self.opaque += 1;
        }
    }
}

/// Adds raw bytes to a record's checksum and to the file's, in pieces that stay in the first-level cache.
fn hash_both(record: &mut Xxh3, file: &mut Xxh3, raw: &[u8]) {
    for piece in raw.chunks(1 << 14) {
        record.update(piece);
        file.update(piece);
    }
}

fn format_code(format: FileFormat) -> u8 {
    match format {
        FileFormat::Raw => 0,
        FileFormat::Safetensors => 1,
        FileFormat::Npy => 2,
    }
}

fn format_from_code(code: u8) -> Option<FileFormat> {
    [FileFormat::Raw, FileFormat::Safetensors, FileFormat::Npy]
        .into_iter()
        .find(|&f| format_code(f) == code)
}

fn layout_code(layout: Layout) -> u8 {
    match layout {
        Layout::W16 => 0,
        Layout::W32 => 1,
    }
}
