//! See `planezip_fuzz::tensor_file`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| planezip_fuzz::tensor_file(data));
