//! The width of the terminal.

use std::io;
use std::os::fd::AsFd;

/// Columns of the terminal, or as COLUMNS sets it; `None` into a pipe or a file.
pub fn width() -> Option<usize> {
    let from_environment =
        std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok()).filter(|&columns| columns > 0);
    from_environment.or_else(|| of_terminal(io::stdout()))
}

/// Columns of the terminal at standard error; `None` into a pipe or a file.
pub fn of_stderr() -> Option<usize> {
    of_terminal(io::stderr())
}

/// A serial console may have columns and no rows.
fn of_terminal(stream: impl AsFd) -> Option<usize> {
    if cfg!(test) {
        return None; // No test depends on the terminal that it runs in.
    }
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}
