//! The errors of a trace, with their places in it.

use scrubjay_core::units::Nanos;
use std::fmt;
use std::io;

/// A place in one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourcePlace {
    /// A line of text, from 1.
    Line(u64),
    /// A byte offset in binary data, from 0.
    Byte(u64),
    /// A row of a table, from 1.
    Row(u64),
}

impl fmt::Display for SourcePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SourcePlace::Line(line) => write!(f, "line {line}"),
            SourcePlace::Byte(offset) => write!(f, "byte {offset}"),
            SourcePlace::Row(row) => write!(f, "row {row}"),
        }
    }
}

/// Why a trace could not be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The source failed.
    #[error("{0}")]
    Io(#[from] io::Error),
    /// No format in the table recognises the data.
    #[error("not a trace in any format known (`scrubjay trace formats`): it looks like {0}")]
    UnknownFormat(String),
    /// The bytes cannot be in their supposed format.
    #[error("{place}: {what}")]
    Corrupt {
        /// The place.
        place: SourcePlace,
        /// What is wrong there.
        what: String,
    },
    /// More than one record in a hundred could not be understood.
    #[error("{malformed} of {rows} records cannot be understood; the first at {place}: {reason}: {excerpt}")]
    Malformed {
        /// The number of malformed records.
        malformed: u64,
        /// The number of all records.
        rows: u64,
        /// The place of the first malformed one.
        place: SourcePlace,
        /// What is wrong with it.
        reason: &'static str,
        /// Its beginning.
        excerpt: String,
    },
    /// A record is displaced further than the sorting window.
    #[error(
        "record {record} arrives {behind_seconds:.6} s before records already passed on, out of order by more than {window} records; sort the trace first"
    )]
    OutOfOrder {
        /// The record's number, from 1.
        record: u64,
        /// How far it is behind the last record passed on, in seconds.
        behind_seconds: f64,
        /// The number of records held back for sorting.
        window: usize,
    },
    /// A trace of events has completions only.
    #[error(
        "there are completions only, so nothing says when requests arrived: record queued or issued ones, too (blktrace -a queue -a complete)"
    )]
    CompletionsOnly,
    /// The trace has more devices than can be kept apart.
    #[error("more than {0} devices")]
    TooManyDevices(usize),
    /// The format needs a file that can be read at any place, not a pipe or compressed data.
    #[error("{0} needs a plain file, not a pipe or compressed data")]
    NotSeekable(&'static str),
}

impl TraceError {
    /// The error of record number `record`, which arrives `lateness` before a record already passed on.
    pub fn out_of_order(record: u64, lateness: Nanos, window: usize) -> TraceError {
        TraceError::OutOfOrder { record, behind_seconds: lateness.as_secs_f64(), window }
    }
}
