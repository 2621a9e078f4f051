//! See `planezip_fuzz::independent`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| planezip_fuzz::independent(data));
