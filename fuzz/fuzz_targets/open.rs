//! Fuzzes the front door: decompression, telling the format, several inputs joined.
//!
//! The last byte says how the inputs before it are opened: its low four bits which of them are pipes, its high four
//! bits the format that is named (zero: none). Inputs are separated by `<next>`.

#![no_main]

use scrubjay_trace::formats::FORMATS;
use scrubjay_trace::{Input, TraceSource};
use std::io::{Cursor, Read};

const SEPARATOR: &[u8] = b"<next>";
const INPUTS_MAX: usize = 4;

libfuzzer_sys::fuzz_target!(init: scrubjay_fuzz::allow_caught_panics(), |data: &[u8]| {
    let Some((&how, data)) = data.split_last() else { return };
    let format = usize::from(how >> 4).checked_sub(1).and_then(|index| FORMATS.get(index));
    let inputs = split(data).into_iter().enumerate().map(|(index, bytes)| {
        let file = Cursor::new(bytes.to_vec());
        let source = match how >> index & 1 {
            0 => TraceSource::File(Box::new(file)),
            _ => TraceSource::Pipe(Box::new(Drops(file))),
        };
        Input { name: format!("input {index}"), source }
    });
    // An error is an answer.
    let _ = scrubjay_fuzz::check_open(inputs.collect(), format);
});

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

/// A pipe from which bytes come some few at a time.
struct Drops(Cursor<Vec<u8>>);

impl Read for Drops {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let some = buffer.len().min(7);
        self.0.read(&mut buffer[..some])
    }
}
