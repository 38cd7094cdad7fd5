//! The guard of an array whose check is being steered: a file that records what to put back if this process is killed.
//!
//! ```text
//! scrubjay md guard 1
//! array md0
//! key 5030dd11-... md check        the name under which the array is claimed
//! boot 3f1c...                     after the next boot there is nothing to put back
//! before 0 max                     sync_min and sync_max
//! window 2048 4096                 set since, or about to be: the last two
//! window 2048 6144
//! ```

use super::knobs::{MdKnobs, read_window};
use crate::clock;
use crate::output::{Existing, OutputFile};
use crate::store;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const MAGIC: &str = "scrubjay md guard 1";
/// End of the names of guards.
pub(super) const ENDING: &str = ".md-guard";
/// The longest guard, in bytes.
const BYTES_MAX: u64 = 4096;

/// The range of positions in which a check may run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SyncWindow {
    /// `sync_min`
    pub min: u64,
    /// `sync_max`
    pub max: u64,
}

/// The values to put back, and those that the scrub has set since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct MdGuard {
    pub array: String,
    pub key: String,
    pub boot: String,
    before: (u64, Option<u64>),
    windows: Vec<SyncWindow>,
}

impl MdGuard {
    /// A guard of `array` with the current values of its knobs.
    ///
    /// # Errors
    /// When they cannot be read.
    pub fn of(knobs: &dyn MdKnobs, array: &str, key: &str) -> io::Result<MdGuard> {
        let before = read_window(knobs)?;
        Ok(MdGuard { array: array.to_owned(), key: key.to_owned(), boot: clock::name(), before, windows: Vec::new() })
    }

    /// Path of the guard of the array that is scrubbed under `key`.
    pub fn path(folder: &Path, key: &str) -> PathBuf {
        folder.join(format!("{}{ENDING}", store::file_name(key)))
    }

    /// `sync_min` and `sync_max` before the scrub; `None` for `max`.
    pub fn before(&self) -> (u64, Option<u64>) {
        self.before
    }

    /// The windows that were set since, or were about to be set; at most the last two.
    pub fn windows(&self) -> impl Iterator<Item = &SyncWindow> {
        self.windows.iter()
    }

    /// Whether no knob was changed.
    pub fn is_blank(&self) -> bool {
        self.windows.is_empty()
    }

    /// Notes a window that is about to be set. The previous one is kept: after a death in between, it is the one in effect.
    pub fn push(&mut self, window: SyncWindow) {
        if self.windows.len() > 1 {
            self.windows.remove(0);
        }
        self.windows.push(window);
    }

    /// Takes the current values as those to put back. Only while no knob is changed.
    ///
    /// # Errors
    /// When the knobs cannot be read.
    pub fn refresh_before(&mut self, knobs: &dyn MdKnobs) -> io::Result<()> {
        self.before = read_window(knobs)?;
        Ok(())
    }

    /// Notes that all was put back.
    pub fn clear(&mut self) {
        self.windows.clear();
    }

    /// Replaces the file, without waiting for the disk: after a loss of power there is nothing to put back.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut file = OutputFile::create(path, Existing::Replaced)?;
        file.write_all(self.text().as_bytes())?;
        Ok(file.commit_unsynced()?)
    }

    /// Removes the file.
    pub fn remove(path: &Path) -> io::Result<()> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => Ok(()),
        }
    }

    fn text(&self) -> String {
        let MdGuard { array, key, boot, before: (min, max), windows } = self;
        let max = max.map_or("max".to_owned(), |max| max.to_string());
        let windows: String = windows.iter().map(|SyncWindow { min, max }| format!("window {min} {max}\n")).collect();
        format!("{MAGIC}\narray {array}\nkey {key}\nboot {boot}\nbefore {min} {max}\n{windows}")
    }

    fn parse(text: &str) -> Option<MdGuard> {
        let mut lines = text.lines();
        let mut field = |name: &str| lines.next()?.strip_prefix(name)?.strip_prefix(' ').map(str::to_owned);
        (field("scrubjay")? == MAGIC["scrubjay ".len()..]).then_some(())?;
        let array = field("array")?;
        // The name of a folder in /sys/block, and nothing that leads out of there.
        let is_name = array.starts_with("md") && array.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-".contains(&c));
        let (key, boot) = (field("key")?, field("boot")?);
        let before = field("before")?;
        let (min, max) = before.split_once(' ')?;
        let before = (min.parse().ok()?, if max == "max" { None } else { Some(max.parse().ok()?) });
        let window = |line: &str| {
            let (min, max) = line.strip_prefix("window ")?.split_once(' ')?;
            Some(SyncWindow { min: min.parse().ok()?, max: max.parse().ok()? })
        };
        let windows = lines.map(window).collect::<Option<Vec<_>>>()?;
        is_name.then_some(MdGuard { array, key, boot, before, windows })
    }
}

/// The guard in a file; `None` if it cannot be read or parsed.
pub(super) fn read(path: &Path) -> Option<MdGuard> {
    let mut text = String::new();
    let file = fs::File::open(path).ok()?;
    file.take(BYTES_MAX).read_to_string(&mut text).ok()?;
    MdGuard::parse(&text)
}
