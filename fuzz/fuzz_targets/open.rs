//! Fuzzes `open`: decompression, detection of the format, and several inputs joined.
//!
//! An input that begins with `<format NAME>` has that format. The low four bits of the last byte select which of the inputs
//! are pipes. Inputs are separated by `<next>`.

#![no_main]

use scrubjay_trace::formats::{self, Format};
use scrubjay_trace::{Input, TraceSource};
use std::io::{Cursor, Read};

const SEPARATOR: &[u8] = b"<next>";
const INPUTS_MAX: usize = 4;

libfuzzer_sys::fuzz_target!(init: scrubjay_fuzz::allow_caught_panics(), |data: &[u8]| {
    let Some((&how, data)) = data.split_last() else { return };
    let (format, data) = named(data);
    let inputs = split(data).into_iter().enumerate().map(|(index, bytes)| {
        let file = Cursor::new(bytes.to_vec());
        let source = match how >> index & 1 {
            0 => TraceSource::File(Box::new(file)),
            _ => TraceSource::Pipe(Box::new(Drops(file))),
        };
        Input { name: format!("input {index}"), source }
    });
    // Errors are allowed.
    let _ = scrubjay_fuzz::check_open(inputs.collect(), format);
});

/// The format that is named at the beginning, and the rest.
fn named(data: &[u8]) -> (Option<&'static Format>, &[u8]) {
    let named = data.strip_prefix(b"<format ").and_then(|data| {
        let end = data.iter().position(|&byte| byte == b'>')?;
        Some((formats::by_name(std::str::from_utf8(&data[..end]).ok()?)?, &data[end + 1..]))
    });
    named.map_or((None, data), |(format, data)| (Some(format), data))
}

/// Up to four inputs; the last may contain separators.
fn split(mut data: &[u8]) -> Vec<&[u8]> {
    let mut inputs = Vec::new();
    while inputs.len() + 1 < INPUTS_MAX
        && let Some(at) = data.windows(SEPARATOR.len()).position(|window| window == SEPARATOR)
    {
        inputs.push(&data[..at]);
        data = &data[at + SEPARATOR.len()..];
    }
    inputs.push(data);
    inputs
}

/// A pipe that delivers a few bytes at a time.
struct Drops(Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let some = buffer.len().min(7);
        self.0.read(&mut buffer[..some])
    }
}
