//! The contracts of formats: a reader fills a [`RecordSink`], a writer takes records.

use crate::error::TraceError;
use crate::record::Record;
use crate::record_sink::{Devices, RecordSink};
use std::io::{self, Read, Seek, Write};

/// Bytes that come once, in order.
pub type Stream = Box<dyn Read + Send>;

/// What can be read at any place: what table formats need.
pub trait SeekRead: Read + Seek + Send {}
impl<T: Read + Seek + Send> SeekRead for T {}

/// Bytes that can be read at any place.
pub type Seekable = Box<dyn SeekRead>;

/// Where a writer writes to.
pub type OutputStream = Box<dyn Write + Send>;

/// A streaming reader of one source, in constant memory.
pub trait Reader: Send {
    /// Appends some records to `sink`, some thousands at a time, in the order of the source, adds their number to
    /// [`RecordSink::understood`], and calls [`RecordSink::judge`], at the end too: that refuses a trace of which too much is
    /// malformed. `Ok(true)` may have appended nothing; only `Ok(false)` is the end.
    ///
    /// # Errors
    /// When the source fails or cannot be what it was taken for. Single records that cannot be understood are counted
    /// in the sink.
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError>;
}

/// A writer of one format.
pub trait Writer {
    /// Writes records, in the order of their arrival.
    ///
    /// # Errors
    /// When the destination fails.
    fn write(&mut self, records: &[Record], devices: &Devices) -> io::Result<()>;

    /// Writes what comes at the end, and flushes.
    ///
    /// # Errors
    /// When the destination fails.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
