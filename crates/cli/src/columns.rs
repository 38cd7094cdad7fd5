//! Tables for a terminal: columns as wide as needed, without the least important ones if not all fit.

pub use crate::terminal::{of_stderr, width};

use crate::say::{print_folded, shown, wrapped};
use std::io::{self, Write};
use std::ops::Range;

/// The gap between two columns.
const GAP: &str = "  ";

/// Characters of the last column, at least.
const LAST_MIN: usize = 16;

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
    TextTable { headings, least_important, figures: 0..0, indent: 0 }.print(rows, width, out)
}

/// How a table is laid out.
#[derive(Clone, Debug)]
pub struct TextTable<'a> {
    /// The headings of all columns; if all are empty, there is no line of them.
    pub headings: &'a [&'a str],
    /// The headings of columns that may be left out, in this order.
    pub least_important: &'a [&'a str],
    /// The columns that are aligned at the right.
    pub figures: Range<usize>,
    /// Blanks before each line.
    pub indent: usize,
}

impl TextTable<'_> {
    /// Prints the table: without its least important columns if it is too wide, then with the last column wrapped; if
    /// even that does not fit, each row as a record of lines `heading: value`.
    ///
    /// # Errors
    /// An error of `out`.
    pub fn print(&self, rows: &[Vec<String>], width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
        let TextTable { headings, indent, .. } = *self;
        let head: Vec<String> = headings.iter().map(|&heading| heading.to_owned()).collect();
        let size = |row: &Vec<String>, column: usize| row.get(column).map_or(0, |cell| shown(cell).chars().count());
        let widths: Vec<usize> = (0..headings.len())
            .map(|column| rows.iter().chain([&head]).map(|row| size(row, column)).max().unwrap_or(0))
            .collect();
        let mut columns: Vec<usize> = (0..headings.len()).collect();
        let needed =
            |columns: &[usize]| columns.iter().map(|&column| widths[column] + GAP.len()).sum::<usize>() + indent;
        for heading in self.least_important {
            if width.is_some_and(|width| needed(&columns) > width + GAP.len()) {
                columns.retain(|&column| headings[column] != *heading);
            }
        }
        let Some((&last, others)) = columns.split_last() else { return Ok(()) };
        let before = indent + others.iter().map(|&column| widths[column] + GAP.len()).sum::<usize>();
        let word = rows.iter().filter_map(|row| row.get(last)).flat_map(|cell| cell.split_whitespace());
        let word_max = word.map(|word| shown(word).chars().count()).max().unwrap_or(0);
        let is_figure = self.figures.contains(&last);
        let last_min = if is_figure { widths[last] } else { widths[last].min(LAST_MIN).max(word_max) };
        if width.is_some_and(|width| before + last_min > width) && !others.is_empty() {
            return self.print_records(&columns, rows, width, out);
        }
        let rest = width.map_or(usize::MAX, |width| width.saturating_sub(before).max(LAST_MIN));
        let is_headed = headings.iter().any(|heading| !heading.is_empty());
        for row in is_headed.then_some(&head).into_iter().chain(rows) {
            let cell = |column: usize| {
                let text = shown(row.get(column).map_or("", String::as_str));
                let width = widths[column];
                if self.figures.contains(&column) { format!("{text:>width$}") } else { format!("{text:width$}") }
            };
            let mut start: String = " ".repeat(indent);
            start.extend(others.iter().map(|&column| cell(column) + GAP));
            let end = cell(last);
            let is_fitting = end.trim_end().chars().count() <= rest;
            let lines = if is_fitting { vec![end] } else { wrapped(&end, rest) };
            for line in lines {
                writeln!(out, "{}", format!("{start:before$}{line}").trim_end())?;
                start.clear();
            }
        }
        Ok(())
    }

    /// Prints a record for each row: the first of its lines at the edge, the others indented.
    fn print_records(
        &self,
        columns: &[usize],
        rows: &[Vec<String>],
        width: Option<usize>,
        out: &mut impl Write,
    ) -> io::Result<()> {
        for row in rows {
            let cells = columns.iter().filter_map(|&column| Some((self.headings[column], row.get(column)?)));
            for (index, (heading, cell)) in cells.filter(|(_, cell)| !cell.trim().is_empty()).enumerate() {
                let colon = if heading.is_empty() { "" } else { ": " };
                let (indent, cell) = (if index == 0 { 0 } else { 2 }, cell.trim());
                print_folded(out, &format!("{:indent$}{}{colon}{cell}", "", heading.trim()), width)?;
            }
        }
        Ok(())
    }
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

    #[test]
    fn a_table_that_cannot_fit_becomes_records() {
        let text = |width| {
            let mut out = Vec::new();
            let row = ["sde bay 5", "ok", "12 d ago", "0", "next pass begins 11 Jan 2027"].map(str::to_owned).to_vec();
            print(&["DISK", "STATE", "LAST FULL READ", "BAD SECTORS", "NOW"], &[], &[row], width, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(text(Some(80)).lines().count(), 2);
        let records = "DISK: sde bay 5\n  STATE: ok\n  LAST FULL READ: 12 d ago\n  BAD SECTORS: 0\n  NOW: next pass begins 11 Jan 2027\n";
        assert_eq!(text(Some(40)), records);
        for width in 40..90 {
            assert!(
                text(Some(width)).lines().all(|line| line.chars().count() <= width),
                "{width}: {}",
                text(Some(width))
            );
        }
    }

    #[test]
    fn no_word_of_the_last_column_is_broken_while_a_line_of_its_own_has_room() {
        let mut out = Vec::new();
        let rows = [["sda is failed", "/srv/images/of/the/volume.img"].map(str::to_owned).to_vec()];
        print(&["DISK", "PATH"], &[], &rows, Some(40), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "DISK: sda is failed\n  PATH: /srv/images/of/the/volume.img\n");
    }

    #[test]
    fn figures_are_aligned_at_the_right() {
        let mut out = Vec::new();
        let rows = [["a", "1", "x"], ["bc", "234", ""]].map(|row| row.map(str::to_owned).to_vec());
        let table = TextTable { headings: &["", "n", ""], least_important: &[], figures: 1..2, indent: 2 };
        table.print(&rows, Some(40), &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "        n\n  a     1  x\n  bc  234\n");
    }
}
