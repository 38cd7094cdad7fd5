//! Where a page goes, and what is said of it.

use super::facts::Facts;
use crate::args::Out;
use crate::exit::{Exit, Usage};
use crate::page;
use crate::say::{shown, shown_path};
use anyhow::{Context, Result};
use scrubjay_sim::figure::Page;
use std::io::{self, Write};
use std::path::Path;

/// Complains about a folder that cannot be one before anything is reckoned.
pub fn check(out: &Out) -> Result<()> {
    check_folder("--out", &out.folder)
}

/// The same of a folder that was named with this option.
pub fn check_folder(option: &str, folder: &Path) -> Result<()> {
    if folder.exists() && !folder.is_dir() {
        return Err(Usage(format!("{option} {}: is a file, not a folder", folder.display())).into());
    }
    Ok(())
}

/// Writes the page, and says what was written and what was found: the captions of the exhibits `findings`.
pub fn write(page: &Page, out: &Out, facts: &Facts, findings: &[&str]) -> Result<Exit> {
    let written = page::write(page, &out.folder, facts.all())?;
    report(page, &written, findings).context("cannot write the findings to standard output")?;
    Ok(Exit::Clean)
}

fn report(page: &Page, written: &[impl AsRef<Path>], findings: &[&str]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    if let Some(index) = written.first() {
        let more = written.len() - 1;
        writeln!(
            stdout,
            "{}: \"{}\", and {more} files of figures and numbers beside it",
            shown_path(index.as_ref()),
            shown(&page.title)
        )?;
    }
    for wanted in findings {
        let told = page.exhibits.iter().find_map(|exhibit| {
            // Of several traces' exhibits of one kind, the first.
            exhibit.name().starts_with(wanted).then_some((exhibit.title(), exhibit.caption()))
        });
        if let Some((title, caption)) = told {
            writeln!(stdout, "\n{}:\n  {}", shown(title), shown(caption))?;
        }
    }
    Ok(())
}
