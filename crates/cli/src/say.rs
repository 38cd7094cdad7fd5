//! Standard error, best effort: whoever stopped listening must not end a scrub of many hours.

pub use scrubjay_device::shown::{shown, shown_path};

use std::fmt;
use std::io::{self, Write};

/// Prints one line of a result. Whatever is in it, it is one line, and no command to the terminal.
///
/// # Errors
/// What `out` says.
pub fn print_line(out: &mut impl Write, line: fmt::Arguments<'_>) -> io::Result<()> {
    writeln!(out, "{}", shown(&line.to_string()))
}

/// Says one line to whoever listens. Whatever is in it, it is one line, and no command to the terminal.
pub fn say(line: fmt::Arguments<'_>) {
    let _ = writeln!(io::stderr().lock(), "{}", shown(&line.to_string()));
}
