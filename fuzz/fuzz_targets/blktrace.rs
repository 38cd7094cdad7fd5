//! Fuzzes the reader of `blktrace`: one file, and the same bytes as the files of two CPUs.

#![no_main]

use scrubjay_trace::formats::{FormatOpener, by_name};
use std::io::Cursor;

/// Length of an event without its data, in bytes.
const EVENT_BYTES: usize = 48;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    scrubjay_fuzz::check_format("blktrace", data);
    let FormatOpener::Shards(open) = by_name("blktrace").expect("it is in the table").open else {
        panic!("it has shards")
    };
    let (first, second) = data.split_at(data.len() / 2 / EVENT_BYTES * EVENT_BYTES);
    // Errors are allowed.
    let _ = scrubjay_fuzz::drive(&mut *open(vec![
        Box::new(Cursor::new(first.to_vec())),
        Box::new(Cursor::new(second.to_vec())),
    ]));
});
