//! How a format is written, and what of a trace it cannot hold.

use crate::reader::{OutputStream, Writer};
use crate::record::Record;

/// How a format is written.
#[derive(Clone, Copy)]
pub struct FormatWriter {
    /// Begins to write.
    pub begin: fn(OutputStream) -> Box<dyn Writer>,
    /// The endings of files that mean this format, without a dot.
    pub endings: &'static [&'static str],
    /// Does it compress by itself? Then it is binary, too.
    pub is_compressed: bool,
    /// What of a trace is lost, in words; empty if nothing is.
    pub loses: &'static str,
    /// What of a record is lost, to be counted.
    pub losses: &'static [Loss],
    /// Does a device of this name keep it?
    pub keeps_name: fn(&str) -> bool,
}

/// Something of a record that a format cannot hold.
#[derive(Clone, Copy)]
pub struct Loss {
    /// What becomes of it, after "N records".
    pub fate: &'static str,
    /// Is the whole record left out?
    pub is_left_out: bool,
    /// Does it concern this record?
    pub concerns: fn(&Record) -> bool,
}
