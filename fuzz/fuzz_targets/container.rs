//! See `planezip_fuzz::container`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| planezip_fuzz::container(data));
