//! `scrubjay trace formats`: the table of formats.

use crate::exit::Exit;
use anyhow::{Context, Result};
use scrubjay_trace::formats::{ClockOrigin, FORMATS};
use std::io::{self, Write};

/// Prints the table.
pub fn run() -> Result<Exit> {
    print(&mut io::stdout().lock()).context("cannot write the list to standard output")?;
    Ok(Exit::Clean)
}

fn print(out: &mut impl Write) -> io::Result<()> {
    let name_width = FORMATS.iter().map(|format| format.name.len()).max().unwrap_or(0);
    writeln!(out, "{:name_width$}  {:10}  {:8}  WHAT IT IS", "NAME", "ACCESS", "CLOCK")?;
    for format in FORMATS {
        let access = if format.writer.is_some() { "read write" } else { "read" };
        let clock = match format.clock {
            ClockOrigin::Absolute => "absolute",
            ClockOrigin::Relative => "relative",
        };
        writeln!(out, "{:name_width$}  {access:10}  {clock:8}  {}", format.name, format.about)?;
    }
    writeln!(out, "\nAll can be read compressed (.gz, .bz2, .xz, .zst), but parquet, which compresses itself.")?;
    writeln!(out, "An absolute clock counts from 1970, so that several files are merged by time; files of a relative")?;
    writeln!(out, "clock follow each other.\n\nWhat a written trace does not hold:")?;
    for format in FORMATS {
        let Some(writer) = format.writer else { continue };
        let loses = if writer.loses.is_empty() { "nothing is lost" } else { writer.loses };
        writeln!(out, "{:name_width$}  {loses}", format.name)?;
    }
    Ok(())
}
