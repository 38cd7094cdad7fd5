//! Fuzzes the reader of `parquet`.

#![no_main]

libfuzzer_sys::fuzz_target!(
    init: scrubjay_fuzz::allow_caught_panics(),
    |data: &[u8]| scrubjay_fuzz::check_format("parquet", data)
);
