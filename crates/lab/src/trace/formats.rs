//! `scrubjay trace formats`: the table of formats.

use anyhow::{Context, Result};
use scrubjay_cli::columns;
use scrubjay_cli::exit::Exit;
use scrubjay_cli::say::print_prose;
use scrubjay_trace::formats::{ClockOrigin, FORMATS, Format};
use std::io::{self, Write};

/// Columns of a terminal in which only names and descriptions are listed.
const NARROW: usize = 60;

/// Prints the table.
pub fn run() -> Result<Exit> {
    print(&mut io::stdout().lock(), columns::width()).context("cannot write the list to standard output")?;
    Ok(Exit::Clean)
}

fn print(out: &mut impl Write, width: Option<usize>) -> io::Result<()> {
    let row = |format: &Format| {
        let access = if format.writer.is_some() { "read write" } else { "read" };
        let clock = match format.clock {
            ClockOrigin::Absolute => "absolute",
            ClockOrigin::Relative => "relative",
        };
        [format.name, access, clock, format.about].map(str::to_owned).to_vec()
    };
    let rows: Vec<Vec<String>> = FORMATS.iter().map(row).collect();
    let least_important: &[&str] = if width.is_some_and(|width| width < NARROW) { &["CLOCK", "ACCESS"] } else { &[] };
    columns::print(&["NAME", "ACCESS", "CLOCK", "WHAT IT IS"], least_important, &rows, width, out)?;
    writeln!(out)?;
    for note in [
        "All can be read compressed (.gz, .bz2, .xz, .zst); parquet compresses itself.",
        "An absolute clock counts from 1970, so that several files are merged by time; files of a relative clock follow \
         each other.",
    ] {
        print_prose(out, "", note, width)?;
    }
    writeln!(out, "\nWhat a written trace does not hold:")?;
    let lost = |format: &Format| {
        let loses = format.writer.as_ref()?.loses_in_words;
        Some([format.name, if loses.is_empty() { "nothing is lost" } else { loses }].map(str::to_owned).to_vec())
    };
    let rows: Vec<Vec<String>> = FORMATS.iter().filter_map(lost).collect();
    columns::print(&["", ""], &[], &rows, width, out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_fits_into_narrow_terminals() {
        for width in [40, 60, 80] {
            let mut out = Vec::new();
            print(&mut out, Some(width)).unwrap();
            let text = String::from_utf8(out).unwrap();
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}: {text}");
            assert!(FORMATS.iter().all(|format| text.contains(format.name)), "{text}");
        }
    }
}
