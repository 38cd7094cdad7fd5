//! Fuzzes the saved state of a scrub, with the right checksum: one that can be read survives writing and reading.

#![no_main]

use scrubjay_core::scrub::saved::Saved;
use scrubjay_fuzz::crc32c;

libfuzzer_sys::fuzz_target!(|text: &str| {
    // The text as it is: its checksum is nearly always wrong.
    let _ = text.parse::<Saved>();
    let mut body = text.to_owned();
    if !body.ends_with('\n') {
        body.push('\n');
    }
    let Ok(saved) = format!("{body}checksum {:08x}\n", crc32c(body.as_bytes())).parse::<Saved>() else { return };
    // Writing rounds dates, so the texts are compared.
    let written = saved.to_string();
    let again: Saved = written.parse().expect("it was just written");
    assert_eq!(again.to_string(), written);
    // A line break in a name is written as a space.
    assert_eq!(again.disk, saved.disk.replace('\r', " "));
    assert_eq!((again.at, &again.pass), (saved.at, &saved.pass));
});
