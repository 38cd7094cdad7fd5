//! The reader of all text formats: it splits a source into whole lines and has the format read each.

use crate::error::{SourcePlace, TraceError};
use crate::reader::{Reader, Stream};
use crate::record::Record;
use crate::record_sink::{Devices, RecordSink};
use std::io::Read;

/// The number of bytes read at a time: some thousand lines.
const BLOCK_BYTES: usize = 256 << 10;
/// More bytes than this without a line end cannot belong to a trace: all up to the next line end is dropped, and counts
/// as one malformed record.
const LINE_MAX: usize = 64 << 10;
/// The number of lines by which formats are told apart.
const LINES_JUDGED: usize = 16;

/// What a format makes of one line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextLine {
    /// A record.
    Record(Record),
    /// Nothing to keep: a header, a comment, another kind of event.
    Ignored,
    /// Not understood, with the reason.
    Malformed(&'static str),
}

/// A text format: a line is one record, or is held back until [`TextFormat::pass_on`].
pub trait TextFormat: Send {
    /// Reads one line, without its line end (`\n` or `\r\n`).
    fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine;

    /// Reads whole lines: `text` is not empty and ends in `\n`; its first line is number `line_first`. Returns the
    /// number of lines. Formats whose speed matters override this.
    fn lines(&mut self, text: &[u8], line_first: u64, sink: &mut RecordSink) -> u64 {
        let mut number = line_first;
        for line in text[..text.len() - 1].split(|&byte| byte == b'\n') {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            match self.line(line, &mut sink.devices) {
                TextLine::Record(record) => {
                    sink.records.push(record);
                    sink.understood += 1;
                }
                TextLine::Ignored => {}
                TextLine::Malformed(reason) => sink.malformed(SourcePlace::Line(number), reason, line),
            }
            number += 1;
        }
        number - line_first
    }

    /// Passes on records that were held back, for formats with several lines per record. Called after every block of
    /// lines; `is_ended`: it was the last.
    fn pass_on(&mut self, _is_ended: bool, _sink: &mut RecordSink) {}
}

/// Reads one source in one text format.
pub struct TextReader<F> {
    format: F,
    source: Stream,
    buffer: Vec<u8>,
    /// The number of bytes in the buffer that the format has not had yet: the beginning of a line.
    held: usize,
    lines: u64,
    /// Whether the next bytes belong to a line that is too long, which is being dropped.
    is_in_long_line: bool,
    is_ended: bool,
}

impl<F: TextFormat> TextReader<F> {
    /// A reader of `source`.
    pub fn new(format: F, source: Stream) -> TextReader<F> {
        let buffer = vec![0; BLOCK_BYTES + LINE_MAX];
        TextReader { format, source, buffer, held: 0, lines: 0, is_in_long_line: false, is_ended: false }
    }

    /// Hands the whole lines among the first `filled` bytes to the format and keeps the rest.
    fn take_lines(&mut self, filled: usize, sink: &mut RecordSink) {
        let Some(last) = self.buffer[..filled].iter().rposition(|&byte| byte == b'\n') else {
            self.held = filled;
            if filled > LINE_MAX {
                if !self.is_in_long_line {
                    sink.malformed(
                        SourcePlace::Line(self.lines + 1),
                        "a line of more than 64 KiB",
                        &self.buffer[..filled],
                    );
                }
                self.is_in_long_line = true;
                self.held = 0;
            }
            return;
        };
        let mut start = 0;
        if self.is_in_long_line {
            start = self.buffer.iter().position(|&byte| byte == b'\n').map_or(filled, |at| at + 1);
            self.lines += 1;
            self.is_in_long_line = false;
        }
        if start <= last {
            self.lines += self.format.lines(&self.buffer[start..=last], self.lines + 1, sink);
        }
        self.buffer.copy_within(last + 1..filled, 0);
        self.held = filled - (last + 1);
    }
}

impl<F: TextFormat> Reader for TextReader<F> {
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError> {
        if self.is_ended {
            return Ok(false);
        }
        let mut filled = self.held;
        let until = filled + BLOCK_BYTES;
        // One byte is left for the line end that the last line may lack.
        while filled < until.min(self.buffer.len() - 1) {
            let end = until.min(self.buffer.len() - 1);
            match self.source.read(&mut self.buffer[filled..end]) {
                Ok(0) => {
                    self.is_ended = true;
                    break;
                }
                Ok(read) => filled += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        if self.is_ended && filled > 0 && self.buffer[filled - 1] != b'\n' {
            self.buffer[filled] = b'\n';
            filled += 1;
        }
        if filled > 0 {
            self.take_lines(filled, sink);
        }
        self.format.pass_on(self.is_ended, sink);
        sink.check_share_malformed(self.is_ended)?;
        Ok(true)
    }
}

/// Whether the first [`LINES_JUDGED`] lines of `head` are records of `format` or lines that it ignores, at least one a
/// record.
///
/// The last line counts only if it is whole, or the only one. A format with a longer header, or one that holds records
/// back, needs its own `looks_like`.
pub(crate) fn are_records(mut format: impl TextFormat, head: &[u8]) -> bool {
    let whole = head.iter().rposition(|&byte| byte == b'\n').map_or(head, |at| &head[..at]);
    let mut devices = Devices::default();
    let mut records = 0;
    for line in whole.split(|&byte| byte == b'\n').take(LINES_JUDGED) {
        match format.line(line.strip_suffix(b"\r").unwrap_or(line), &mut devices) {
            TextLine::Record(_) => records += 1,
            TextLine::Ignored => {}
            TextLine::Malformed(_) => return false,
        }
    }
    records > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::RequestKind;
    use scrubjay_core::units::{Bytes, Nanos};

    /// A line is a number, which is its arrival.
    struct Numbers;

    impl TextFormat for Numbers {
        fn line(&mut self, line: &[u8], devices: &mut Devices) -> TextLine {
            let Some(number) = std::str::from_utf8(line).ok().and_then(|text| text.parse().ok()) else {
                return if line.starts_with(b"#") { TextLine::Ignored } else { TextLine::Malformed("no number") };
            };
            let device = devices.id(b"d").expect("one device");
            let (arrival, length) = (Nanos(number), Bytes(512));
            TextLine::Record(Record {
                arrival,
                response: None,
                offset: Bytes(0),
                length,
                device,
                kind: RequestKind::Read,
            })
        }
    }

    fn read(text: Vec<u8>) -> Result<RecordSink, TraceError> {
        let mut reader = TextReader::new(Numbers, Box::new(std::io::Cursor::new(text)));
        let mut sink = RecordSink::default();
        while reader.read(&mut sink)? {}
        Ok(sink)
    }

    #[test]
    fn the_last_line_needs_no_end() {
        let sink = read(b"# header\r\n1\r\n2\n3".to_vec()).unwrap();
        assert_eq!(sink.records.iter().map(|record| record.arrival.0).collect::<Vec<_>>(), [1, 2, 3]);
        assert_eq!(read(Vec::new()).unwrap().understood, 0);
    }

    #[test]
    fn lines_are_numbered_across_blocks() {
        let mut text: Vec<u8> = (0..100_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        text.extend(b"what\n5\n");
        let sink = read(text).unwrap();
        assert_eq!(sink.understood, 100_001);
        assert_eq!(sink.malformed.examples[0].place, SourcePlace::Line(100_001));
    }

    #[test]
    fn an_endless_line_is_skipped() {
        let mut text: Vec<u8> = (0..1000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
        text.extend(vec![b'x'; 1 << 20]);
        text.extend(b"\n7\n");
        let sink = read(text).unwrap();
        assert_eq!((sink.understood, sink.malformed.count), (1001, 1));
    }
}
