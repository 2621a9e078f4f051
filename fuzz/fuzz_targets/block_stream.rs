//! See `planezip_fuzz::block_stream`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| planezip_fuzz::block_stream(data));
