//! Reading tensor files as a sequence of segments that covers every byte.
//!
//! A file is never loaded whole: [`Input`] parses what is needed to know where the tensors lie and then hands
//! out the file in order, as [`Segment`]s. Bytes that belong to no tensor (headers, gaps, trailing bytes, arrays
//! whose layout is not understood) come as [`SegmentKind::Opaque`], so that the concatenation of all segments is
//! always the file itself.
//!
//! ```
//! use planezip::tensor::{DType, Input, Options};
//!
//! let options = Options { dtype: Some(DType::Bf16), ..Options::default() };
//! let mut input = Input::from_reader(&[0u8; 6][..], "zeros.bin", Some(6), &options)?;
//! let mut bytes = Vec::new();
//! while let Some(segment) = input.next_segment()? {
//!     assert!(segment.tensor().is_some());
//!     while input.read_chunk(&mut bytes, 4)? > 0 {
//!         assert!(bytes.len() <= 4);
//!     }
//! }
//! # Ok::<(), planezip::tensor::Error>(())
//! ```

mod dtype;
mod error;
mod input;
mod npy;
mod safetensors;

pub use dtype::{DTYPE_NAMES, DType, Float, ParseDTypeError};
pub use error::{Error, ErrorKind};
pub use input::{FileFormat, Input, Options};
pub use safetensors::MAX_HEADER_BYTES;

/// What is known about a tensor beside its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorMeta {
    /// Name within the file; empty where the format has no names (.npy, raw).
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Dimensions, outermost first. `None` if the source has none (raw bytes): the tensor then is
    /// one-dimensional, with as many elements as its bytes hold.
    pub shape: Option<Vec<u64>>,
    /// True if the bytes are in Fortran (column-major) order.
    pub fortran_order: bool,
}

impl TensorMeta {
    /// The shape, with an unrecorded one derived from `raw_bytes` (a part of an element is not counted).
    #[must_use]
    pub fn shape_for(&self, raw_bytes: u64) -> Vec<u64> {
        match &self.shape {
            Some(shape) => shape.clone(),
            None => vec![raw_bytes / self.dtype.element_bytes().unwrap_or(1).max(1)],
        }
    }
}

/// What the bytes of a segment are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SegmentKind {
    /// Bytes that belong to no tensor.
    Opaque,
    /// One tensor.
    Tensor(TensorMeta),
}

/// A contiguous part of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// What the bytes are.
    pub kind: SegmentKind,
    /// Length in bytes; `None` if the segment ends where the file does.
    pub len: Option<u64>,
}

impl Segment {
    /// The tensor, if the segment is one.
    #[must_use]
    pub fn tensor(&self) -> Option<&TensorMeta> {
        match &self.kind {
            SegmentKind::Tensor(meta) => Some(meta),
            SegmentKind::Opaque => None,
        }
    }
}
