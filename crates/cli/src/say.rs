//! Standard error, best effort: whoever stopped listening must not end a scrub of many hours.

use std::fmt;
use std::io::{self, Write};

/// Says one line to whoever listens.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
