//! Parquet: the format to which a trace is best converted once, to be read often, by Scrubjay or any table reader.
//!
//! | column        | type                      | what it is                                                            |
//! |---------------|---------------------------|-----------------------------------------------------------------------|
//! | `arrival_ns`  | INT64                     | nanoseconds since 1970 (UTC) or since the trace began: see the clock   |
//! | `device`      | BYTE_ARRAY, STRING        | the device's name                                                     |
//! | `kind`        | BYTE_ARRAY, STRING        | `read`, `write`, `discard` or `flush`                                 |
//! | `offset`      | INT64                     | the first byte                                                        |
//! | `length`      | INT64                     | how many bytes                                                        |
//! | `response_ns` | INT64, optional           | nanoseconds until completion; null or negative: not known             |
//!
//! The reader finds columns by name, in any order, required or optional; others are ignored, and `response_ns` may be
//! missing. A row without one of the first five, or with a negative number in it, is malformed. `arrival_ns` has no
//! logical type, since only one of the two clocks is a date: `make_timestamp_ns(arrival_ns)` in SQL.
//! Pages may be compressed with Zstandard or Snappy, and hold 16 MiB at most.
//!
//! The file's key-value metadata: `scrubjay.schema` is `1`; `scrubjay.clock` is `absolute` or `relative`.

mod hybrid;
mod numbers;
mod pages;
mod reader;
mod schema;
mod shapes;
mod source;
mod texts;
mod thrift;
mod writer;

use crate::error::TraceError;
use crate::reader::{OutputStream, Reader, Seekable, Writer};
use crate::writing::FormatWriter;

/// The writer of the format, which loses nothing.
pub(super) const WRITER: FormatWriter = FormatWriter {
    begin: writer,
    endings: &["parquet"],
    is_compressed: true,
    loses_in_words: "",
    counted_losses: &[],
    keeps_name: |_| true,
};

/// Whether `head` begins with Parquet's magic.
pub(super) fn looks_like(head: &[u8]) -> bool {
    head.starts_with(b"PAR1")
}

/// A reader of a file.
pub(super) fn open(file: Seekable) -> Result<Box<dyn Reader>, TraceError> {
    Ok(Box::new(reader::TableReader::new(file)?))
}

/// A writer that begins a file.
pub(super) fn writer(sink: OutputStream) -> Box<dyn Writer> {
    Box::new(writer::TableWriter::new(sink))
}

#[cfg(test)]
mod tests;
