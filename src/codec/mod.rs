//! The golden codec: what every other implementation of the block format is compared with.
//!
//! ```
//! use planezip::codec;
//! use planezip::format::Layout;
//!
//! let raw: Vec<u8> = (0..300u32)
//!     .map(|i| ((1.0 + i as f32 * 1e-3).to_bits() >> 16) as u16)
//!     .flat_map(u16::to_le_bytes)
//!     .collect();
//! let mut stream = Vec::new();
//! let stats = codec::encode(Layout::W16, &raw, &mut stream);
//! assert_eq!(stats.comp_bytes, stream.len() as u64);
//! let mut back = Vec::new();
//! codec::decode(Layout::W16, &stream, raw.len() as u64, &mut back)?;
//! assert_eq!(back, raw);
//! # Ok::<(), codec::DecodeError>(())
//! ```

#[cfg(target_arch = "x86_64")]
mod avx2;
mod decode;
mod encode;
mod path;
mod plan;
mod planes;
mod zero_value;

pub use decode::{DecodeError, Verdict, decode, decode_block, decode_with};
pub use encode::{encode, encode_block, encode_with};
pub use path::Path;
pub use plan::{candidates, choose};
pub use zero_value::zero_value_len;

use crate::format::{FORMS, Form};

/// What a stream holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Bytes of the tensor.
    pub raw_bytes: u64,
    /// Bytes of the block stream.
    pub comp_bytes: u64,
    /// Full blocks by form code.
    pub blocks: [u64; FORMS],
}

impl Stats {
    /// Adds another stretch of the same or of another stream.
    pub fn add(&mut self, other: &Stats) {
        self.raw_bytes += other.raw_bytes;
        self.comp_bytes += other.comp_bytes;
        for (a, b) in self.blocks.iter_mut().zip(other.blocks) {
            *a += b;
        }
    }

    /// Full blocks of a form.
    #[must_use]
    pub fn form(&self, form: Form) -> u64 {
        self.blocks[form as usize]
    }
}
