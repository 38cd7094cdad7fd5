//! What a watch that only observes would have done: kept in a folder of its own, apart from what is true.

use scrubjay_control::ObservedDocument;
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::output::{Existing, OutputFile};
use scrubjay_watch::settings::AlertChannel;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folder, inside of the watch's own.
const FOLDER: &str = "observed";
/// Where the folder is put when it is over.
const BEFORE: &str = "observed-before";
/// The file in it.
const FILE: &str = "observed.json";
/// The only channel, by which nothing is sent.
const CHANNEL: &str = "nobody";
/// The interval between saves.
const SAVE_EVERY: Duration = Duration::from_secs(600);

/// What it would have done.
pub(super) struct Observation {
    pub(super) document: ObservedDocument,
    file: PathBuf,
    saved: Instant,
}

/// The folder of a watch that observes.
pub(super) fn folder_in(folder: &Path) -> PathBuf {
    folder.join(FOLDER)
}

/// Puts aside what was observed, its history too: the watch reads from now on, and a later observation begins with nothing.
pub(super) fn put_aside(folder: &Path) {
    let before = folder.with_file_name(BEFORE);
    if folder.exists() {
        // If that fails, a later observation begins with what this one imagined, and says since when.
        let _ = fs::remove_dir_all(&before);
        let _ = fs::rename(folder, &before);
    }
}

/// The channel by which it sends nothing. It counts as proven: that it is not is no news.
pub(super) fn channel(now: UnixSeconds) -> AlertChannel {
    AlertChannel { name: CHANNEL.to_owned(), fingerprint: 0, proven_elsewhere: Some(now) }
}

impl Observation {
    /// What an earlier run observed, or nothing yet.
    pub(super) fn restore(folder: &Path, now: UnixSeconds) -> Observation {
        let file = folder.join(FILE);
        let kept = fs::read(&file).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let document = kept.unwrap_or_else(|| ObservedDocument { since: now.0, ..ObservedDocument::default() });
        Observation { document, file, saved: Instant::now() }
    }

    /// What it observed.
    pub(super) fn document(&self) -> &ObservedDocument {
        &self.document
    }

    /// Is it time to save it?
    pub(super) fn is_to_be_saved(&self) -> bool {
        self.saved.elapsed() >= SAVE_EVERY
    }

    /// Saves it.
    pub(super) fn save(&mut self) -> std::io::Result<()> {
        self.saved = Instant::now();
        let mut file = OutputFile::create_private(&self.file, Existing::Replaced).map_err(std::io::Error::other)?;
        file.write_all(&serde_json::to_vec(&self.document)?)?;
        file.commit().map_err(std::io::Error::other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_control::SessionWork;

    #[test]
    fn what_was_observed_survives_a_restart_and_lies_apart() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder_in(folder.path());
        assert!(place != folder.path() && place.starts_with(folder.path()));
        fs::create_dir(&place).unwrap();
        let mut first = Observation::restore(&place, UnixSeconds(1_796_000_000));
        first.document.add("sda", &SessionWork { bytes: 7, ..SessionWork::default() }, 3);
        first.save().unwrap();
        let again = Observation::restore(&place, UnixSeconds(1_796_900_000));
        assert_eq!(again.document(), first.document());
        assert_eq!(again.document().since, 1_796_000_000);
        for _ in 0..2 {
            put_aside(&place); // an earlier one is there the second time
            assert!(!place.exists() && folder.path().join(BEFORE).exists());
            fs::create_dir(&place).unwrap();
        }
        fs::write(place.join(FILE), "half").unwrap();
        assert_eq!(Observation::restore(&place, UnixSeconds(5)).document().since, 5, "it begins anew");
    }
}
