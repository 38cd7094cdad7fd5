//! Fuzzes the recording of a run: one that can be read survives writing and reading.

#![no_main]

use scrubjay_core::scrub::recording::Recording;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(recording) = text.parse::<Recording>() else { return };
    let again: Recording = recording.to_string().parse().expect("it was just written");
    assert_eq!(again.difference(&recording), None);
});
