//! Tables for a terminal: columns as wide as needed, without the least important ones if not all fit.

use crate::say::{shown, wrapped};
use std::io::{self, Write};
use std::os::fd::AsFd;

/// The gap between two columns.
const GAP: &str = "  ";

/// Characters of the last column, at least.
const LAST_MIN: usize = 16;

/// Columns of the terminal, or as COLUMNS sets it; `None` into a pipe or a file.
pub fn width() -> Option<usize> {
    let from_environment = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
    from_environment.or_else(|| of_terminal(io::stdout()))
}

/// Columns of the terminal at standard error; `None` into a pipe or a file.
pub fn of_stderr() -> Option<usize> {
    of_terminal(io::stderr())
}

/// A serial console may have columns and no rows.
fn of_terminal(stream: impl AsFd) -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(stream).ok()?;
    Some(usize::from(size.ws_col)).filter(|&columns| columns > 0)
}

/// Prints a table. `least_important`: the headings of columns that may be left out, in this order; if that is not
/// enough, the last column is wrapped.
///
/// # Errors
/// An error of `out`.
pub fn print(
    headings: &[&str],
    least_important: &[&str],
    rows: &[Vec<String>],
    width: Option<usize>,
    out: &mut impl Write,
) -> io::Result<()> {
    let head: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
    let size = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let widths: Vec<usize> = (0..headings.len())
        .map(|column| rows.iter().chain([&head]).map(|row| size(row, column)).max().unwrap_or(0))
        .collect();
    let mut columns: Vec<usize> = (0..headings.len()).collect();
    let needed =
        |columns: &[usize]| columns.iter().map(|&column| widths[column] + GAP.len()).sum::<usize>() - GAP.len();
    for heading in least_important {
        if width.is_some_and(|width| needed(&columns) > width) {
            columns.retain(|&column| headings[column] != *heading);
        }
    }
    let Some(last) = columns.pop() else { return Ok(()) };
    let before = columns.iter().map(|&column| widths[column] + GAP.len()).sum::<usize>();
    let rest = width.map_or(usize::MAX, |width| width.saturating_sub(before).max(LAST_MIN));
    for row in [&head].into_iter().chain(rows) {
        let cell = |column: usize| row.get(column).map_or("", String::as_str);
        let cells = columns.iter().map(|&column| format!("{:1$}{GAP}", shown(cell(column)), widths[column]));
        let mut start: String = cells.collect();
        let is_fitting = cell(last).chars().count() <= rest;
        let lines = if is_fitting { vec![shown(cell(last)).into_owned()] } else { wrapped(cell(last), rest) };
        for line in lines {
            writeln!(out, "{}", format!("{start:before$}{line}").trim_end())?;
            start.clear();
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_terminal_loses_the_least_important_columns() {
        let text = |width| {
            let mut out = Vec::new();
            let rows = [vec!["sda".to_owned(), "ST16000NM001G".to_owned(), "ok".to_owned()]];
            print(&["DISK", "MODEL", "STATE"], &["MODEL", "DISK"], &rows, width, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(None), "DISK  MODEL          STATE\nsda   ST16000NM001G  ok\n");
        assert_eq!(text(Some(20)), "DISK  STATE\nsda   ok\n");
        assert_eq!(text(Some(5)), "STATE\nok\n");
    }

    #[test]
    fn a_last_column_that_is_too_wide_is_wrapped() {
        let mut out = Vec::new();
        let rows = [vec!["sda".to_owned(), "paused until tomorrow, or until resumed".to_owned()]];
        print(&["DISK", "NOW"], &[], &rows, Some(28), &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "DISK  NOW\nsda   paused until tomorrow,\n      or until resumed\n");
    }
}
