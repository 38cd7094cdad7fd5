//! Fuzzes the journal of a run: what is read is written and read the same.

#![no_main]

use scrubjay_core::scrub::journal::Journal;

libfuzzer_sys::fuzz_target!(|text: &str| {
    let Ok(journal) = text.parse::<Journal>() else { return };
    let again: Journal = journal.to_string().parse().expect("it was just written");
    assert_eq!(again.difference(&journal), None);
});
