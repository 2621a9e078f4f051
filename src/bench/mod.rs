//! What others make of the same bytes: codecs to compare with, and a race for speed.
//!
//! Every [`Method`] is a codec behind one interface ([`Codec`]), with contexts and buffers that are kept from tensor
//! to tensor. [`Comparison`] compresses a tensor with each rival, decompresses it and compares; [`run`] measures
//! throughput. The rivals:
//!
//! | method | how a tensor's bytes become a stream |
//! |---|---|
//! | zero-value | per 128-byte block a mask and the non-zero words, or the raw block; see [`codec::zero_value_len`] |
//! | lz4 | one lz4 block, acceleration 1 (the C library) |
//! | zstd -3, zstd -19 | one zstd frame, without a checksum (the C library) |
//! | bitshuffle + lz4 | per 8 KiB: bit transposition, four bytes of length, one lz4 block (see [`bitshuffle`]) |
//!
//! Everything in that stream is counted; the tensor's length, which a container would keep, is not.
//!
//! [`codec::zero_value_len`]: crate::codec::zero_value_len

pub mod bitshuffle;
mod machine;
mod method;
mod race;
mod report;
mod zero_value;

pub use machine::Machine;
pub use method::{Codec, Comparison, Element, Error, Method};
pub use race::{Request, run};
pub use report::{Data, Direction, Group, Means, ModelReport, Report, Speed, Summary};
