//! The table of formats. A new one is one file here and one line in [`FORMATS`].

use crate::error::TraceError;
use crate::reader::{Reader, Seekable, Sink, Stream, Writer};

/// What a format's clock counts from: says how several files are put together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// Some day in the past: files are merged by time.
    Absolute,
    /// The beginning of the trace: files follow each other.
    Relative,
}

/// How a format is opened.
#[derive(Clone, Copy)]
pub enum Open {
    /// From one stream.
    Stream(fn(Stream) -> Box<dyn Reader>),
    /// From several streams that are parts of one trace.
    Parts(fn(Vec<Stream>) -> Box<dyn Reader>),
    /// From a file that can be read at any place.
    Seekable(OpenSeekable),
}

/// Opens a file that can be read at any place.
pub type OpenSeekable = fn(Seekable) -> Result<Box<dyn Reader>, TraceError>;

/// Begins to write.
pub type NewWriter = fn(Sink) -> Box<dyn Writer>;

/// A row of the table.
#[derive(Clone, Copy)]
pub struct Format {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// What its times count from.
    pub clock: Clock,
    /// Does a trace that begins with these bytes (up to 64 KiB, decompressed) look like it? Asked in the order of the
    /// table; formats that are easily told come first.
    pub looks_like: fn(&[u8]) -> bool,
    /// How it is read.
    pub open: Open,
    /// How it is written, if it can be.
    pub writer: Option<NewWriter>,
    /// What of a record is lost in writing; empty if nothing is.
    pub loses: &'static str,
}

/// All formats.
pub const FORMATS: &[Format] = &[];

/// The format of that name.
pub fn by_name(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// The first format that a trace with this beginning looks like.
pub fn by_content(head: &[u8]) -> Option<&'static Format> {
    FORMATS.iter().find(|format| (format.looks_like)(head))
}
