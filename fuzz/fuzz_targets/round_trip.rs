//! See `planezip_fuzz::round_trip`.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| planezip_fuzz::round_trip(data));
