//! A study's page as a folder: figures as SVG, their data and the tables as CSV, and one HTML file that holds all.

mod axis;
mod csv;
mod curve;
mod html;
mod label;
mod map;
mod sheet;
mod style;
mod svg;
mod text;
mod thin;

#[cfg(test)]
mod tests;

use crate::unwritable::unwritable;
use anyhow::{Context, ensure};
use scrubjay_device::output::{Existing, Output};
use scrubjay_sim::figure::{Exhibit, Page};
use sheet::Sheet;
use std::collections::HashSet;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The file that holds all, and by which a folder of ours is known.
const INDEX: &str = "index.html";

/// Draws the page into a folder, which is created if it is missing, and gives the files written: `index.html` first,
/// then those of each exhibit. `facts` (name and value: version, command line, date) tell how the page was made.
///
/// A folder that was written before is written again: files of the same names are replaced, each in one step, others
/// stay. Nothing is replaced in a folder that somebody else filled.
///
/// # Errors
///
/// The path is a file or cannot be written to; a file of one of the names exists, but no `index.html` of ours; two
/// exhibits share a name, or a name has other characters than lower case letters, digits and `-`.
pub fn write(page: &Page, folder: &Path, facts: &[(&str, String)]) -> anyhow::Result<Vec<PathBuf>> {
    let files = files(page, facts)?;
    ensure!(!folder.exists() || folder.is_dir(), "{} is a file, not a folder", folder.display());
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    refuse_foreign(folder, &files)?;
    let written: Vec<(PathBuf, Output)> = files.iter().map(|file| file.write(folder)).collect::<anyhow::Result<_>>()?;
    // All are complete before the first is in its place, and the page, which marks the folder as ours, is the first.
    written.into_iter().map(|(path, output)| output.commit().map_err(unwritable).map(|()| path)).collect()
}

/// A file to be.
struct File {
    name: String,
    text: String,
}

impl File {
    /// Writes all of it, but not yet in its place.
    fn write(&self, folder: &Path) -> anyhow::Result<(PathBuf, Output)> {
        let path = folder.join(&self.name);
        let mut output = Output::create(&path, Existing::Replaced).map_err(unwritable)?;
        output.write_all(self.text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
        Ok((path, output))
    }
}

/// What is to be written, the page first.
fn files(page: &Page, facts: &[(&str, String)]) -> anyhow::Result<Vec<File>> {
    let mut names = HashSet::new();
    let mut files = vec![File { name: INDEX.to_owned(), text: html::page(page, facts) }];
    for exhibit in &page.exhibits {
        let name = exhibit.name();
        let plain = |char: char| char.is_ascii_lowercase() || char.is_ascii_digit() || char == '-';
        ensure!(!name.is_empty() && name.chars().all(plain), "{name:?} cannot be the name of an exhibit's files");
        ensure!(names.insert(name), "two exhibits have the name {name:?}");
        match exhibit {
            Exhibit::Figure(figure) => {
                files.push(File { name: format!("{name}.svg"), text: svg::draw(figure, Sheet::Alone).svg });
                files.push(File { name: format!("{name}.csv"), text: csv::figure(figure) });
            }
            Exhibit::Maps(maps) => {
                files.push(File { name: format!("{name}.svg"), text: map::draw(maps, Sheet::Alone) });
                files.push(File { name: format!("{name}.csv"), text: csv::maps(maps) });
            }
            Exhibit::Table(table) => files.push(File { name: format!("{name}.csv"), text: csv::table(table) }),
        }
    }
    Ok(files)
}

/// Refuses a folder in which a file would be replaced that this program has not written.
fn refuse_foreign(folder: &Path, files: &[File]) -> anyhow::Result<()> {
    let index = folder.join(INDEX);
    let ours = match fs::read(&index) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).contains(html::MARK),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", index.display())),
    };
    let foreign =
        files.iter().map(|file| folder.join(&file.name)).find(|path| !ours && path.symlink_metadata().is_ok());
    match foreign {
        None => Ok(()),
        Some(path) => {
            anyhow::bail!("{} exists and is not part of a study's page: choose another folder", path.display())
        }
    }
}
