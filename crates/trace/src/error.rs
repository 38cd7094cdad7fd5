//! What can go wrong with a trace, and where in it.

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
    /// Nothing in the table of formats looks like this.
    #[error("not a trace in any format known (`scrubjay trace formats`): it looks like {0}")]
    UnknownFormat(String),
    /// The bytes cannot be what they were said to be.
    #[error("{place}: {what}")]
    Corrupt {
        /// Where.
        place: SourcePlace,
        /// What is wrong.
        what: String,
    },
    /// More than one record in a hundred could not be understood.
    #[error("{malformed} of {rows} records cannot be understood; the first at {place}: {reason}: {excerpt}")]
    Malformed {
        /// How many.
        malformed: u64,
        /// Of how many.
        rows: u64,
        /// Where the first of them is.
        place: SourcePlace,
        /// What is wrong with it.
        reason: &'static str,
        /// Its beginning.
        excerpt: String,
    },
    /// Records are further out of order than the window in which they are sorted.
    #[error(
        "record {record} arrives {behind_seconds:.6} s before records already passed on, out of order by more than {window} records; sort the trace first"
    )]
    OutOfOrder {
        /// Its number, from 1.
        record: u64,
        /// By how much, in seconds.
        behind_seconds: f64,
        /// How many records are held back to be sorted.
        window: usize,
    },
    /// More devices than can be told apart.
    #[error("more than {0} devices")]
    TooManyDevices(usize),
    /// The format needs a file that can be read at any place, not a pipe or compressed data.
    #[error("{0} needs a plain file, not a pipe or compressed data")]
    NotSeekable(&'static str),
}

impl TraceError {
    /// An out-of-order record: its number, and how far it lies before what was already passed on.
    pub fn out_of_order(record: u64, behind: Nanos, window: usize) -> TraceError {
        TraceError::OutOfOrder { record, behind_seconds: behind.as_secs_f64(), window }
    }
}
