//! Fuzzes the reader of `msr`, and compares its fast path with the plain one.

#![no_main]

use scrubjay_trace::formats::{FormatOpener, by_name};
use scrubjay_trace::{RecordSink, TraceError};
use std::io::Cursor;

/// The fast path needs this many bytes from the start of a row; with fewer the plain path reads the row.
const WINDOW: usize = 96;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    scrubjay_fuzz::check_format("msr", data);
    // Empty lines are ignored; before them every row is in reach of the fast path.
    let fast = read([data, b"\n", &[b'\n'; WINDOW]].concat());
    let mut plain = RecordSink::default();
    for line in data.split_inclusive(|&byte| byte == b'\n').filter(|line| line.len() < WINDOW) {
        // Each line by itself is too short for the fast path.
        if let Ok(one) = read(line.to_vec()) {
            let name = |record: &scrubjay_trace::Record| one.devices.name(record.device).to_owned();
            for mut record in one.records.iter().copied() {
                record.device = plain.devices.id(name(&record).as_bytes()).expect("few devices");
                plain.records.push(record);
            }
        }
    }
    let has_long = data.split(|&byte| byte == b'\n').any(|line| line.len() + 1 >= WINDOW);
    let is_text = data.is_ascii();
    if let Ok(fast) = fast
        && !has_long
        && is_text
    {
        assert_eq!(fast.records, plain.records);
    }
});

fn read(text: Vec<u8>) -> Result<RecordSink, TraceError> {
    let FormatOpener::Stream(open) = by_name("msr").expect("it is in the table").open else { panic!("it is a stream") };
    let (mut reader, mut sink) = (open(Box::new(Cursor::new(text))), RecordSink::default());
    while reader.read(&mut sink)? {}
    Ok(sink)
}
