//! PlaneZip: a lossless copy-path compression engine for training activations.
//!
//! | module | what it holds |
//! |---|---|
//! | [`format`](mod@format) | the block format's constants, headers and layouts (`docs/format.md`) |
//! | [`codec`] | the golden codec: block streams to and from bytes |
//! | [`tensor`] | reading safetensors, npy and raw files as tensors |
//! | [`container`] | the `.pz` file |
//! | [`stat`] | compression figures per tensor and per model |
//! | [`study`] | what each feature of the format brings (`docs/format-ledger.md`) |
//! | `bench` (feature `bench`) | codecs to compare with, and a race for speed |
//! | [`model`] | the cycle model of the RTL engine (`docs/microarchitecture.md`) |
//! | [`cosim`] | stimulus, and with the `cosim` feature the harness that compares RTL and model |
//! | [`area`] | PDK discovery, Liberty handling, the synthesis flow |
// Allowed in one module, `codec::avx2`.
#![deny(unsafe_code)]

pub mod area;
#[cfg(feature = "bench")]
pub mod bench;
pub mod codec;
pub mod container;
pub mod cosim;
pub mod format;
pub mod model;
pub mod stat;
pub mod study;
pub mod tensor;
