//! Fuzzes the reader of `biotracer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| scrubjay_fuzz::check_format("biotracer", data));
