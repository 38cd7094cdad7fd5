//! The folder of a page, and the findings that are printed.

use crate::args::Out;
use anyhow::{Context, Result};
use scrubjay_chart::{Exhibit, Page, Table};
use scrubjay_cli::columns::{self, TextTable};
use scrubjay_cli::exit::Exit;
use scrubjay_cli::page;
use scrubjay_cli::page::StudyProvenance;
use scrubjay_cli::say::{print_line, print_prose, shown_path};
use std::io::{self, Write};
use std::path::Path;

/// Columns of a table that is printed, at most: the width of a terminal. Its length is limited to a screen or two.
const COLUMNS_MAX: usize = 80;
const ROWS_MAX: usize = 60;

/// Refuses a path that cannot be a folder before anything is computed.
pub fn check(out: &Out) -> Result<()> {
    page::check_folder("--out", &out.folder, out.force)
}

/// Writes the page, and prints its files, its first paragraph, and the findings: the captions of the exhibits
/// `findings`, and the rows of tables that fit a terminal.
pub fn write(page: &Page, out: &Out, facts: &StudyProvenance, findings: &[&str]) -> Result<Exit> {
    let written = page::write(page, &out.folder, facts.all())?;
    report(page, &written, findings).context("cannot write the findings to standard output")?;
    Ok(Exit::Clean)
}

fn report(page: &Page, written: &[impl AsRef<Path>], findings: &[&str]) -> io::Result<()> {
    let (mut stdout, width) = (io::stdout().lock(), columns::width());
    if let Some(index) = written.first() {
        let beside = match written.len() - 1 {
            0 => String::new(),
            more => format!(", and {more} files of figures and numbers beside it"),
        };
        print_line(&mut stdout, format_args!("{}: \"{}\"{beside}", shown_path(index.as_ref()), page.title))?;
    }
    if let Some(first) = page.paragraphs.first() {
        writeln!(stdout)?;
        first.lines().try_for_each(|line| print_prose(&mut stdout, "", line, width))?;
    }
    for wanted in findings {
        // If several traces have an exhibit of one kind, the first is taken.
        let Some(exhibit) = page.exhibits.iter().find(|exhibit| exhibit.name().starts_with(wanted)) else { continue };
        writeln!(stdout)?;
        print_prose(&mut stdout, "", &format!("{}:", exhibit.title()), width)?;
        exhibit.caption().lines().try_for_each(|line| print_prose(&mut stdout, "  ", line, width))?;
        if let Exhibit::Table(table) = exhibit {
            print_table(table, width, &mut stdout)?;
        }
    }
    Ok(())
}

/// Prints the head and the rows in columns: the first left-aligned, numbers right-aligned. A table that is too large is
/// on the page only.
fn print_table(table: &Table, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let all: Vec<&Vec<String>> = std::iter::once(&table.head).chain(&table.rows).collect();
    let cell = |row: &[String], column: usize| row.get(column).map_or(0, |cell| cell.chars().count());
    let widths = (0..table.head.len()).map(|column| all.iter().map(|row| cell(row, column)).max().unwrap_or(0));
    if table.rows.len() > ROWS_MAX || widths.map(|width| width + 2).sum::<usize>() > COLUMNS_MAX {
        return Ok(());
    }
    let headings: Vec<&str> = table.head.iter().map(String::as_str).collect();
    let figures = 1..headings.len();
    TextTable { headings: &headings, least_important: &[], figures, indent: 2 }.print(&table.rows, width, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: Vec<Vec<&str>>) -> Table {
        let rows = rows.into_iter().map(|row| row.into_iter().map(str::to_owned).collect()).collect();
        let head = ["trace", "1 ms"].map(str::to_owned).to_vec();
        Table { name: String::new(), title: String::new(), caption: String::new(), head, rows }
    }

    #[test]
    fn a_table_that_fits_is_printed_in_columns() {
        let text = |rows| {
            let mut out = Vec::new();
            print_table(&table(rows), None, &mut out).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(
            text(vec![vec!["a", "22 h"], vec!["a.spc:0", "3 days"]]),
            "  trace      1 ms\n  a          22 h\n  a.spc:0  3 days\n"
        );
        let wide = "a".repeat(80);
        assert!(text(vec![vec![&wide, "1 h"]]).is_empty(), "too wide");
        assert!(text(vec![vec!["a", "1 h"]; 61]).is_empty(), "too long");
    }
}
