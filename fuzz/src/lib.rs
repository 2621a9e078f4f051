//! Fuzz targets: what must hold for any input. Each takes bytes and panics where a promise is broken.
//!
//! | target | promise |
//! |---|---|
//! | [`block_stream()`] | any bytes as a block stream: a value or a typed error, and what decodes survives a round trip |
//! | [`round_trip()`] | any bytes as a tensor: encoded and decoded without loss, within the size limit |
//! | [`independent()`] | any bytes as a block stream: codec and the decoder written from the document alone agree |
//! | [`container()`] | any bytes as a `.pz` file: a typed error, or an original that survives a round trip |
//! | [`tensor_file()`] | any bytes as a tensor file: a typed error, or a `.pz` file that gives it back |
//!
//! The fuzzers (`tools/fuzz.sh`) and the tests (`tests/seeds.rs`, over the inputs in `seeds/`) call the same functions.
#![forbid(unsafe_code)]

mod block_stream;
mod codecs;
mod container;
mod independent;
mod round_trip;
pub mod seeds;
mod tensor_file;
mod trickle;

pub use block_stream::block_stream;
pub use container::container;
pub use independent::independent;
pub use round_trip::round_trip;
pub use tensor_file::tensor_file;

/// A target's body.
pub type Target = fn(&[u8]);

/// All targets by name.
pub const TARGETS: [(&str, Target); 5] = [
    ("block_stream", block_stream),
    ("round_trip", round_trip),
    ("independent", independent),
    ("container", container),
    ("tensor_file", tensor_file),
];
