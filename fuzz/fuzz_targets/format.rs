//! Fuzzes the reader of the trace format that the environment variable `FORMAT` names.

#![no_main]

use std::sync::OnceLock;

static NAME: OnceLock<String> = OnceLock::new();

libfuzzer_sys::fuzz_target!(
    init: {
        scrubjay_fuzz::allow_caught_panics();
        let name = std::env::var("FORMAT").expect("FORMAT names a row of trace::formats::FORMATS");
        NAME.set(name).expect("this is said once");
    },
    |data: &[u8]| scrubjay_fuzz::check_format(NAME.get().expect("it was set"), data)
);
