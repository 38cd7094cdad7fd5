//! Tables for a terminal: columns as wide as they need, and where all do not fit, the least important ones left out.

use crate::say::shown;
use std::io::{self, Write};

/// Between two columns.
const GAP: &str = "  ";

/// Prints a table. `least`: the headings of columns that may be left out, the first of them first.
///
/// # Errors
/// What `out` says.
pub fn print(
    headings: &[&str],
    least: &[&str],
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
    for least in least {
        if width.is_some_and(|width| needed(&columns) > width) {
            columns.retain(|&column| headings[column] != *least);
        }
    }
    for row in [&head].into_iter().chain(rows) {
        let cell = |column: usize| row.get(column).map_or("", String::as_str);
        let cells = columns.iter().map(|&column| format!("{:1$}", shown(cell(column)), widths[column]));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join(GAP).trim_end())?;
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
}
