//! One disk, with all that is known of it: how it is, what to do, how the command ends.

use crate::disks::ScrubRecord;
use crate::exit::Exit;
use crate::say::shown_path;
use scrubjay_daemon::smartctl::obstacle::SmartObstacle;
use scrubjay_daemon::smartctl::parse::SmartctlAnswer;
use scrubjay_device::inventory::InventoryDisk;
use scrubjay_jobs::control::{DiskEntry, WatchDocument};
use scrubjay_watch::health::{HealthSign, HealthState, OwnEvidence};
use scrubjay_watch::{label_size, single, typed};

/// Without a whole reading in so many seconds, a disk is due for one.
const DUE_SECONDS: u64 = 35 * 86_400;

/// Everything that is to be said of one disk.
pub struct Explained {
    /// How it is called in sentences: `sda`.
    pub name: String,
    /// The disk, if one was named,
    pub disk: Option<InventoryDisk>,
    /// and what scrubs found on it.
    pub record: Option<ScrubRecord>,
    /// The same disk as the watch sees it, if that runs.
    pub watched: Option<DiskEntry>,
    /// What smartctl said.
    pub answer: SmartctlAnswer,
    /// How the disk is,
    pub state: HealthState,
    /// and why.
    pub signs: Vec<HealthSign>,
}

impl Explained {
    /// Of a disk or a recording, by what is saved of its scrubs, and by what the watch says of it.
    pub fn of(disk: Option<InventoryDisk>, answer: SmartctlAnswer, watch: Option<&WatchDocument>) -> Explained {
        let record = disk.as_ref().map(|disk| ScrubRecord::of(disk, watch));
        let name = disk.as_ref().and_then(|disk| disk.path.file_name()).map(|name| name.to_string_lossy().into_owned());
        let is_it = |entry: &&DiskEntry| name.is_some() && entry.name == name;
        let watched = watch.and_then(|watch| watch.disks.iter().find(is_it)).cloned();
        Explained { watched, ..Explained::by(name.unwrap_or_else(|| "the disk".to_owned()), disk, record, answer) }
            .both()
    }

    /// The worse of both judgements: the watch knows what grows, one reading does not.
    fn both(mut self) -> Explained {
        let theirs = self.watched.as_ref().map(|watched| watched.health.as_str());
        // What it does not know, or did not when it last asked, is no judgement.
        let theirs = HealthState::ALL.into_iter().find(|state| Some(state.word()) == theirs);
        let theirs = theirs.filter(|state| *state >= HealthState::Watch);
        self.state = theirs.map_or(self.state, |theirs| theirs.max(self.state));
        self
    }

    /// What the watch has against it, beyond what one reading shows.
    pub fn watch_reasons(&self) -> Vec<String> {
        let known: Vec<String> = self.signs.iter().map(HealthSign::words).collect();
        let reasons = self.watched.iter().flat_map(|watched| &watched.reasons);
        reasons.filter(|reason| !known.contains(reason)).cloned().collect()
    }

    /// Of all that is known.
    pub fn by(
        name: String,
        disk: Option<InventoryDisk>,
        record: Option<ScrubRecord>,
        answer: SmartctlAnswer,
    ) -> Explained {
        let own = record.as_ref().map_or_else(OwnEvidence::default, |record| OwnEvidence {
            unreadable: record.bad_sectors.unwrap_or(0),
            retries: record.retries,
            ..OwnEvidence::default()
        });
        let (state, signs) = single::judge(&answer.reading(), &own);
        let is_absent = answer.outcome == Err(SmartObstacle::Absent);
        let state = if is_absent && state == HealthState::Unknown { HealthState::Missing } else { state };
        Explained { name, disk, record, watched: None, answer, state, signs }
    }

    /// Why there are no SMART data.
    pub fn obstacle(&self) -> Option<&SmartObstacle> {
        self.answer.outcome.as_ref().err()
    }

    /// What the drive, else the kernel, calls it.
    pub fn model(&self) -> Option<&str> {
        self.answer.about.model.as_deref().or_else(|| self.disk.as_ref()?.model.as_deref())
    }

    /// By the drive, else by the kernel.
    pub fn serial(&self) -> Option<&str> {
        self.answer.about.serial.as_deref().or_else(|| self.disk.as_ref()?.serial.as_deref())
    }

    /// By the kernel, else by the drive.
    pub fn bytes(&self) -> Option<u64> {
        self.disk.as_ref().map(|disk| disk.bytes.0).or(self.answer.about.bytes)
    }

    /// Does it spin? The kernel knows; a recording says how fast.
    pub fn is_spinning(&self) -> Option<bool> {
        let said = || self.answer.about.rotation.map(|rotation| rotation > 0);
        self.disk.as_ref().map(|disk| disk.is_rotational).or_else(said)
    }

    /// One line: how it is.
    pub fn headline(&self) -> String {
        let name = &self.name;
        let reasons = match self.signs.len() + self.watch_reasons().len() {
            1 => "1 reason".to_owned(),
            count => format!("{count} reasons"),
        };
        match self.state {
            HealthState::Ok => format!("{name} is ok: nothing that is known speaks against it"),
            HealthState::Watch => format!("{name} is to be watched: {reasons}"),
            HealthState::Replace => format!("{name} should be replaced: {reasons}"),
            HealthState::Asleep => format!("{name} is asleep: how it is now is not known"),
            HealthState::Unknown => format!("{name} is unknown: nothing of its own tells how it is"),
            HealthState::Missing => format!("{name} is missing"),
        }
    }

    /// What to do, the first thing first.
    pub fn to_do(&self) -> Vec<String> {
        let device = self.disk.as_ref().map_or("DEVICE".to_owned(), |disk| shown_path(&disk.path));
        let mut to_do = Vec::new();
        if self.state == HealthState::Replace {
            to_do.push("Make sure that you have a backup from which you could restore.".to_owned());
            let size = self.bytes().map_or(String::new(), |bytes| format!(" of at least {}", label_size(bytes)));
            to_do.push(format!("Get another disk{size}."));
            to_do.push(match self.serial() {
                Some(serial) => format!("Replace the one with {serial} on its label, and no other."),
                None => "Replace it; it tells no serial number, so look twice which one it is.".to_owned(),
            });
        }
        if self.signs.contains(&HealthSign::SelfTestFailed) {
            to_do.push(format!("See whether a test fails again: smartctl -t long {device}"));
        }
        let is_watched = self.watched.is_some();
        // The watch reads by itself, and asks again.
        let is_done = |obstacle: &&SmartObstacle| {
            is_watched && matches!(obstacle, SmartObstacle::NotSupported | SmartObstacle::OnlyItsWord)
        };
        let obstacle = self.obstacle().filter(|obstacle| self.state != HealthState::Replace && !is_done(obstacle));
        to_do.extend(obstacle.map(|obstacle| sentence(&obstacle.advice(&device))));
        let is_read = self.record.as_ref().and_then(|record| record.oldest_read_seconds);
        let is_due = !is_watched && is_read.is_none_or(|age| age > DUE_SECONDS);
        if is_due && matches!(self.state, HealthState::Ok | HealthState::Watch) {
            to_do.push(format!("Have every sector read: scrubjay scrub {device}"));
        }
        if let Some(watched) = self.watched.as_ref().filter(|_| self.state == HealthState::Unknown && to_do.is_empty())
        {
            let name = watched.name.as_deref().unwrap_or(&watched.last_name);
            to_do.push(format!(
                "Nothing, if it cannot tell: it is read like the others. To hear no more of that: sudo scrubjay accept {}",
                typed(name)
            ));
        }
        if self.state == HealthState::Watch && !is_watched {
            to_do.push(format!("Ask again in a week, and compare: scrubjay explain {}", self.name_to_type()));
        }
        to_do
    }

    /// As it is named on a command line.
    fn name_to_type(&self) -> String {
        self.disk.as_ref().map_or("DISK".to_owned(), |_| self.name.clone())
    }

    /// What the command ends with.
    pub fn exit(&self) -> Exit {
        match (self.state, self.obstacle()) {
            (HealthState::Ok, _) => Exit::Clean,
            (HealthState::Unknown, Some(SmartObstacle::NoPermission)) => Exit::Permission,
            _ => Exit::Found,
        }
    }
}

/// With a capital letter and a full stop, but for what ends in a command.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    let stop = if words.contains(": ") { "" } else { "." };
    format!("{first}{}{stop}", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_daemon::smartctl::parse;

    fn explained(json: &str, record: Option<ScrubRecord>) -> Explained {
        Explained::by("sda".to_owned(), None, record, parse::answer(json.as_bytes(), None))
    }

    const SOUND: &str = r#"{"smartctl": {"exit_status": 0}, "smart_status": {"passed": true},
        "ata_smart_attributes": {"table": [{"id": 5, "raw": {"value": 0}}]}}"#;
    const BARRED: &str = r#"{"smartctl": {"exit_status": 2, "messages":
        [{"string": "Smartctl open device: /dev/sda failed: Permission denied"}]}}"#;

    #[test]
    fn what_our_scrubs_found_counts_beside_what_the_drive_says() {
        assert_eq!(explained(SOUND, None).exit(), Exit::Clean);
        let record = || Some(ScrubRecord { bad_sectors: Some(8), ..ScrubRecord::default() });
        for json in [SOUND, BARRED] {
            let explained = explained(json, record());
            assert_eq!((explained.state, explained.exit()), (HealthState::Replace, Exit::Found));
            assert_eq!(explained.signs, [HealthSign::UnreadableSectors(8)]);
        }
        let record = Some(ScrubRecord { retries: 2, ..ScrubRecord::default() });
        assert_eq!(explained(SOUND, record).state, HealthState::Watch);
    }

    #[test]
    fn no_permission_is_an_exit_code_of_its_own() {
        let explained = explained(BARRED, None);
        assert_eq!((explained.state, explained.exit()), (HealthState::Unknown, Exit::Permission));
    }

    #[test]
    fn a_disk_that_is_due_is_told_to_be_read() {
        let to_do = |age| {
            let record = ScrubRecord { oldest_read_seconds: age, ..ScrubRecord::default() };
            explained(SOUND, Some(record)).to_do()
        };
        assert_eq!(to_do(Some(DUE_SECONDS)), [""; 0]);
        assert_eq!(to_do(Some(DUE_SECONDS + 1)), ["Have every sector read: scrubjay scrub DEVICE"]);
        assert_eq!(to_do(None).len(), 1);
    }
}
