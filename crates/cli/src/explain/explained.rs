//! One disk with all that is known of it: its state, what to do, and the exit code.

use crate::disks::{ScrubRecord, state_of};
use crate::exit::Exit;
use crate::say::shown_path;
use crate::zfs;
use scrubjay_control::past::SurfaceSpeed;
use scrubjay_control::{ArrayEntry, DiskEntry, WatchDocument};
use scrubjay_core::units::Bytes;
use scrubjay_daemon::smartctl::obstacle::SmartObstacle;
use scrubjay_daemon::smartctl::parse::SmartctlAnswer;
use scrubjay_device::inventory::InventoryDisk;
use scrubjay_jobs::surface::surface_speed;
use scrubjay_watch::facts::{self, MediaKind};
use scrubjay_watch::health::{HealthSign, HealthState, OwnEvidence};
use scrubjay_watch::single;
use scrubjay_words::{Said, typed};

/// Seconds after which a disk is due for a complete reading.
const DUE_SECONDS: u64 = 35 * 86_400;

/// The explanation of one disk.
pub struct Explained {
    /// Its name in sentences: `sda`.
    pub name: String,
    /// The disk, if one was named.
    pub disk: Option<InventoryDisk>,
    /// The record of its scrubs.
    pub record: Option<ScrubRecord>,
    /// How fast its places answer; `None`: no disk was named, or it cannot be told from others.
    pub speed: Option<SurfaceSpeed>,
    /// The watch's entry of the disk, if the watch runs.
    pub watched: Option<DiskEntry>,
    /// The pools of ZFS that it is a member of.
    pub pools: Vec<ArrayEntry>,
    /// The answer of smartctl.
    pub answer: SmartctlAnswer,
    /// The state of the disk.
    pub state: HealthState,
    /// The signs against it.
    pub signs: Vec<HealthSign>,
}

impl Explained {
    /// Explains a disk or a recording, with the saved state of its scrubs and the watch's status.
    pub fn of(disk: Option<InventoryDisk>, answer: SmartctlAnswer, watch: Option<&WatchDocument>) -> Explained {
        let record = disk.as_ref().map(|disk| ScrubRecord::of(disk, watch));
        let name = disk.as_ref().and_then(|disk| disk.path.file_name()).map(|name| name.to_string_lossy().into_owned());
        let is_match = |entry: &&DiskEntry| name.is_some() && entry.name == name;
        let watched = watch.and_then(|watch| watch.disks.iter().find(is_match)).cloned();
        let named = disk.as_ref().filter(|disk| disk.id.is_certain);
        let speed = named.map(|disk| surface_speed(&state_of(disk, watch).speed().known(), |date| date));
        let pools = name.as_deref().map(zfs::pools_of).unwrap_or_default();
        Explained {
            watched,
            pools,
            speed,
            ..Explained::from_facts(name.unwrap_or_else(|| "the disk".to_owned()), disk, record, answer)
        }
        .with_watch_judgement()
    }

    /// Takes the worse of two judgements: the watch knows growth, one reading does not.
    fn with_watch_judgement(mut self) -> Explained {
        let watch_state = self.watched.as_ref().map(|watched| watched.health);
        // States below `watch`, such as unknown or asleep, are ignored: they are no judgement.
        let watch_state = watch_state.filter(|state| *state >= HealthState::Watch);
        self.state = watch_state.map_or(self.state, |watch_state| watch_state.max(self.state));
        self
    }

    /// The watch's reasons that one reading does not show.
    pub fn watch_reasons(&self) -> Vec<String> {
        let known: Vec<Said> = self.signs.iter().map(scrubjay_words::sign).collect();
        let reasons = self.watched.iter().flat_map(|watched| &watched.reasons);
        reasons.filter(|reason| !known.contains(reason)).cloned().map(String::from).collect()
    }

    /// Explains a disk by these facts.
    pub fn from_facts(
        name: String,
        disk: Option<InventoryDisk>,
        record: Option<ScrubRecord>,
        answer: SmartctlAnswer,
    ) -> Explained {
        let evidence = record.as_ref().map_or_else(OwnEvidence::default, |record| OwnEvidence {
            unreadable: record.bad_sectors.unwrap_or(0),
            retries: record.retries,
            ..OwnEvidence::default()
        });
        let is_flash = match &disk {
            Some(disk) => !disk.is_rotational,
            None => answer.about.rotation == Some(0) || matches!(&answer.outcome, Ok(facts) if facts.nvme.is_some()),
        };
        let media = if is_flash { MediaKind::Flash } else { MediaKind::Spinning };
        let (state, signs) = single::judge(&answer.reading(), media, &evidence);
        let is_virtual = |model: &Option<String>| model.as_deref().is_some_and(facts::is_virtual_model);
        let is_virtual = is_virtual(&answer.about.model) || disk.as_ref().is_some_and(|disk| is_virtual(&disk.model));
        let has_none = matches!(answer.obstacle(), Some(SmartObstacle::NotSupported | SmartObstacle::NoCounters));
        let is_virtual = is_virtual && has_none && state == HealthState::Unknown;
        let state = if is_virtual { HealthState::Virtual } else { state };
        let is_absent = answer.outcome == Err(SmartObstacle::Absent);
        let state = if is_absent && state == HealthState::Unknown { HealthState::Missing } else { state };
        Explained { name, disk, record, speed: None, watched: None, pools: Vec::new(), answer, state, signs }
    }

    /// Why there are no SMART data.
    pub fn obstacle(&self) -> Option<&SmartObstacle> {
        self.answer.obstacle()
    }

    /// Its model, by the drive, else by the kernel.
    pub fn model(&self) -> Option<&str> {
        self.answer.about.model.as_deref().or_else(|| self.disk.as_ref()?.model.as_deref())
    }

    /// Its serial number, by the drive, else by the kernel.
    pub fn serial(&self) -> Option<&str> {
        self.answer.about.serial.as_deref().or_else(|| self.disk.as_ref()?.serial.as_deref())
    }

    /// Its size, by the kernel, else by the drive.
    pub fn bytes(&self) -> Option<u64> {
        self.disk.as_ref().map(|disk| disk.bytes.0).or(self.answer.about.bytes)
    }

    /// Does it spin? The kernel knows; a recording has the speed.
    pub fn is_spinning(&self) -> Option<bool> {
        let recorded = || self.answer.about.rotation.map(|rotation| rotation > 0);
        self.disk.as_ref().map(|disk| disk.is_rotational).or_else(recorded)
    }

    /// Its state in one line.
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
            HealthState::Unknown => format!("{name} is unknown: nothing that it reports shows its state"),
            HealthState::Virtual => format!("{name} is virtual: only the host knows how its disks are"),
            HealthState::Worn => format!("{name} is worn: {reasons}"),
            HealthState::Hot => format!("{name} is hot: {reasons}"),
            HealthState::Missing => format!("{name} is missing"),
        }
    }

    /// What to do, the most urgent first.
    pub fn to_do(&self) -> Vec<String> {
        let device = self.disk.as_ref().map_or("DEVICE".to_owned(), |disk| shown_path(&disk.path));
        let mut to_do = Vec::new();
        if self.state == HealthState::Replace {
            to_do.push("Make sure that you have a backup from which you could restore.".to_owned());
            let size = self.bytes().map_or(String::new(), |bytes| format!(" of at least {}", Bytes(bytes)));
            to_do.push(format!("Get another disk{size}."));
            to_do.push(match self.serial() {
                Some(serial) => format!("Replace the one with {serial} on its label, and no other."),
                None => "Replace it; it reports no serial number, so look twice which one it is.".to_owned(),
            });
        }
        if self.state == HealthState::Hot {
            to_do.push("Look at its fan, its airflow and its neighbours: heat is a fault of its place.".to_owned());
        }
        if self.state == HealthState::Worn {
            to_do.push(
                "Plan to replace it, without haste: it was written as much as its maker rates it for, or nearly. Have a backup.".to_owned(),
            );
        }
        if self.state == HealthState::Virtual {
            to_do.push("Have the host's disks watched; what is read here is verified all the same.".to_owned());
        }
        if self.signs.iter().any(|sign| matches!(sign, HealthSign::SelfTestFailed { .. })) {
            to_do.push(format!("See whether a test fails again: smartctl -t long {device}"));
        }
        let is_watched = self.watched.is_some();
        // The watch reads and asks again without being told.
        let is_done = |obstacle: &&SmartObstacle| {
            is_watched && matches!(obstacle, SmartObstacle::NotSupported | SmartObstacle::NoCounters)
        };
        let needs_facts = !matches!(self.state, HealthState::Replace | HealthState::Virtual);
        let obstacle = self.obstacle().filter(|obstacle| needs_facts && !is_done(obstacle));
        to_do.extend(obstacle.map(|obstacle| match (obstacle, &self.disk) {
            // It was recorded without permission: that is past, and only another recording helps.
            (SmartObstacle::NoPermission, None) => "Record it again as root: sudo smartctl --json -a DEVICE".to_owned(),
            _ => sentence(&obstacle.advice(&device)),
        }));
        let oldest_read = self.record.as_ref().and_then(|record| record.oldest_read_seconds);
        let is_due = !is_watched && oldest_read.is_none_or(|age| age > DUE_SECONDS);
        if is_due && matches!(self.state, HealthState::Ok | HealthState::Watch | HealthState::Virtual) {
            to_do.push(format!("Have every sector read: scrubjay scrub {device}"));
        }
        if let Some(watched) = self.watched.as_ref().filter(|_| self.state == HealthState::Unknown && to_do.is_empty())
        {
            let name = watched.name.as_deref().unwrap_or(&watched.last_name);
            to_do.push(format!(
                "Nothing, if it cannot tell: it is read like the others. To get no more messages about that: sudo scrubjay accept {}",
                typed(name)
            ));
        }
        if matches!(self.state, HealthState::Watch | HealthState::Hot) && !is_watched {
            let when = if self.state == HealthState::Hot { "in an hour" } else { "in a week" };
            to_do.push(format!("Ask again {when}, and compare: scrubjay explain {}", self.name_to_type()));
        }
        to_do
    }

    /// Its name on a command line.
    fn name_to_type(&self) -> String {
        self.disk.as_ref().map_or("DISK".to_owned(), |_| self.name.clone())
    }

    /// The exit code.
    pub fn exit(&self) -> Exit {
        match (self.state, self.obstacle()) {
            (HealthState::Ok, _) => Exit::Clean,
            (HealthState::Unknown, Some(SmartObstacle::NoPermission)) => Exit::Permission,
            _ => Exit::Found,
        }
    }
}

/// Words as a sentence: with a capital letter and a full stop, except if they end in a command.
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
        Explained::from_facts("sda".to_owned(), None, record, parse::answer(json.as_bytes(), None))
    }

    const SOUND: &str = r#"{"smartctl": {"exit_status": 0}, "smart_status": {"passed": true},
        "ata_smart_attributes": {"table": [{"id": 5, "raw": {"value": 0}}]}}"#;
    const NO_PERMISSION: &str = r#"{"smartctl": {"exit_status": 2, "messages":
        [{"string": "Smartctl open device: /dev/sda failed: Permission denied"}]}}"#;

    #[test]
    fn bad_sectors_found_by_scrubs_count_whatever_the_drive_reports() {
        assert_eq!(explained(SOUND, None).exit(), Exit::Clean);
        let record = || Some(ScrubRecord { bad_sectors: Some(8), ..ScrubRecord::default() });
        for json in [SOUND, NO_PERMISSION] {
            let explained = explained(json, record());
            assert_eq!((explained.state, explained.exit()), (HealthState::Replace, Exit::Found));
            assert_eq!(explained.signs, [HealthSign::UnreadableSectors(8)]);
        }
        let record = Some(ScrubRecord { retries: 2, ..ScrubRecord::default() });
        assert_eq!(explained(SOUND, record).state, HealthState::Watch);
    }

    #[test]
    fn no_permission_is_an_exit_code_of_its_own() {
        let explained = explained(NO_PERMISSION, None);
        assert_eq!((explained.state, explained.exit()), (HealthState::Unknown, Exit::Permission));
        assert_eq!(explained.to_do(), ["Record it again as root: sudo smartctl --json -a DEVICE"], "of a recording");
    }

    #[test]
    fn a_disk_that_is_due_gets_the_advice_to_read_it() {
        let to_do = |age| {
            let record = ScrubRecord { oldest_read_seconds: age, ..ScrubRecord::default() };
            explained(SOUND, Some(record)).to_do()
        };
        assert_eq!(to_do(Some(DUE_SECONDS)), [""; 0]);
        assert_eq!(to_do(Some(DUE_SECONDS + 1)), ["Have every sector read: scrubjay scrub DEVICE"]);
        assert_eq!(to_do(None).len(), 1);
    }
}
