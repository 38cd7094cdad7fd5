//! The interfaces of formats: a reader fills a [`RecordSink`], a writer takes records.

use crate::error::TraceError;
use crate::record::Record;
use crate::record_sink::{Devices, RecordSink};
use std::io::{self, Read, Seek, Write};

/// A source of bytes that is read once, in order.
pub type Stream = Box<dyn Read + Send>;

/// A source that can be read at any place, as table formats need it.
pub trait SeekRead: Read + Seek + Send {}
impl<T: Read + Seek + Send> SeekRead for T {}

/// A boxed source that can be read at any place.
pub type Seekable = Box<dyn SeekRead>;

/// The destination of a writer.
pub type OutputStream = Box<dyn Write + Send>;

/// A streaming reader of one source, in constant memory.
pub trait Reader: Send {
    /// Appends some thousand records to `sink` in the order of the source, adds their number to
    /// [`RecordSink::understood`], and calls [`RecordSink::check_share_malformed`], at the end too, which refuses a
    /// trace with too many malformed records. `Ok(true)` may have appended nothing; only `Ok(false)` is the end.
    ///
    /// # Errors
    /// If the source fails or cannot be in this format. Single records that cannot be understood are only counted in
    /// the sink.
    fn read(&mut self, sink: &mut RecordSink) -> Result<bool, TraceError>;
}

/// A writer of one format.
pub trait Writer {
    /// Writes records in order of arrival.
    ///
    /// # Errors
    /// If the destination fails.
    fn write(&mut self, records: &[Record], devices: &Devices) -> io::Result<()>;

    /// Writes the end of the file, and flushes.
    ///
    /// # Errors
    /// If the destination fails.
    fn finish(self: Box<Self>) -> io::Result<()>;
}
