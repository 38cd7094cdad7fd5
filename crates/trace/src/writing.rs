//! How a format is written, and which parts of a trace it cannot hold.

use crate::reader::{OutputStream, Writer};
use crate::record::Record;

/// The writer of a format.
#[derive(Clone, Copy)]
pub struct FormatWriter {
    /// Starts a file.
    pub begin: fn(OutputStream) -> Box<dyn Writer>,
    /// The file name extensions of the format, without a dot.
    pub endings: &'static [&'static str],
    /// Whether the format is compressed by itself; then it is binary, too.
    pub is_compressed: bool,
    /// The parts of a trace that are lost, in words; empty if none are.
    pub loses_in_words: &'static str,
    /// The losses of single records, to be counted.
    pub counted_losses: &'static [Loss],
    /// Whether a device of this name keeps it.
    pub keeps_name: fn(&str) -> bool,
}

/// A part of a record that a format cannot hold.
#[derive(Clone, Copy)]
pub struct Loss {
    /// What happens to it, as the text after "N records".
    pub fate: &'static str,
    /// Whether the whole record is left out.
    pub is_left_out: bool,
    /// Whether this record is concerned.
    pub concerns: fn(&Record) -> bool,
}
