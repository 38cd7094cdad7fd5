//! A page as a folder: writes its files, and replaces only those that an earlier run wrote, where that is allowed.

mod date;
mod provenance;
#[cfg(test)]
mod tests;

pub use provenance::StudyProvenance;

use crate::exit::Usage;
use crate::say::shown_path;
use crate::unwritable::unwritable;
use anyhow::{Context, ensure};
use scrubjay_chart::{INDEX, Page, PageFile};
use scrubjay_device::output::{Existing, OutputFile};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Refuses, before anything is computed, a path that cannot be the folder of this option, or has a page that `replace` does not
/// allow to be replaced.
pub fn check_folder(option: &str, folder: &Path, replace: bool) -> anyhow::Result<()> {
    let shown = shown_path(folder);
    if folder.exists() && !folder.is_dir() {
        return Err(Usage(format!("{option} {shown}: is a file, not a folder")).into());
    }
    if !replace && has_page(folder) {
        return Err(Usage(format!("{option} {shown}: has a page already; --force replaces it")).into());
    }
    Ok(())
}

/// Draws the page into a folder, which is made if it is missing, and returns the files: `index.html` first, then those
/// of each exhibit. `facts` (name and value: version, command line, date) record how the page was made.
///
/// A folder with an earlier page is updated: files of the same names are replaced, each in one step, others stay.
/// Nothing is replaced in a folder that another program filled.
///
/// # Errors
///
/// The path is a file or cannot be written to; a file of one of the names exists, but no `index.html` of Scrubjay; two
/// exhibits share a name, or a name has characters other than lower case letters, digits and `-`.
pub fn write(page: &Page, folder: &Path, facts: &[(&str, String)]) -> anyhow::Result<Vec<PathBuf>> {
    let files = scrubjay_chart::files(page, facts)?;
    ensure!(!folder.exists() || folder.is_dir(), "{} is a file, not a folder", folder.display());
    fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    refuse_foreign(folder, &files)?;
    let written: Vec<(PathBuf, OutputFile)> =
        files.iter().map(|file| stage(file, folder)).collect::<anyhow::Result<_>>()?;
    // All files are complete before the first is put in its place; the page, which marks the folder as ours, is the first.
    written.into_iter().map(|(path, output)| output.commit().map_err(unwritable).map(|()| path)).collect()
}

/// Writes a file completely, but not yet in its place.
fn stage(file: &PageFile, folder: &Path) -> anyhow::Result<(PathBuf, OutputFile)> {
    let path = folder.join(&file.name);
    let mut output = OutputFile::create(&path, Existing::Replaced).map_err(unwritable)?;
    output.write_all(file.text.as_bytes()).with_context(|| format!("cannot write {}", path.display()))?;
    Ok((path, output))
}

/// Whether a page of Scrubjay lies in the folder.
fn has_page(folder: &Path) -> bool {
    fs::read(folder.join(INDEX))
        .is_ok_and(|bytes| scrubjay_chart::is_written_by_scrubjay(&String::from_utf8_lossy(&bytes)))
}

/// Refuses a folder in which a file of another program would be replaced.
fn refuse_foreign(folder: &Path, files: &[PageFile]) -> anyhow::Result<()> {
    let index = folder.join(INDEX);
    let is_own_page = match fs::read(&index) {
        Ok(bytes) => scrubjay_chart::is_written_by_scrubjay(&String::from_utf8_lossy(&bytes)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        Err(error) => return Err(error).with_context(|| format!("cannot read {}", index.display())),
    };
    let foreign =
        files.iter().map(|file| folder.join(&file.name)).find(|path| !is_own_page && path.symlink_metadata().is_ok());
    match foreign {
        None => Ok(()),
        Some(path) => {
            anyhow::bail!("{} exists and is not part of a study's page: choose another folder", path.display())
        }
    }
}
