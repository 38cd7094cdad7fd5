//! The state of the daemon, with functions that all its parts use: feed the watch, find a disk, report trouble.

use super::drives::SmartQueue;
use super::hours::IdleHours;
use super::messengers::Messengers;
use super::news::DaemonNews;
use super::observation::Observation;
use super::options::DaemonOptions;
use super::surveyor::Surveyor;
use crate::config::WatchConfig;
use crate::discovery::{HostSurvey, SeenDisk, SystemRoot};
use crate::history::{HistoryDatabase, HistoryError, MarkPlaces};
use crate::sessions::SessionPool;
use crate::time::WatchClock;
use scrubjay_control::DeliveryEntry;
use scrubjay_core::units::UnixSeconds;
use scrubjay_device::inventory::is_alike;
use scrubjay_watch::Watch;
use scrubjay_watch::events::{WatchEvent, WatchOp};
use scrubjay_watch::facts::{DiskKey, SessionSubject, SubjectKey};
use scrubjay_watch::rows::WatchRow;
use scrubjay_watch::settings::WatchSettings;
use scrubjay_words::Wording;
use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::Instant;

/// The pass of a disk or an array, according to the rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PassMark {
    /// The number of the pass that is under way, or next.
    pub(super) pass: u32,
    /// When it began; 0: it has not begun.
    pub(super) begun: UnixSeconds,
}

/// The daemon.
pub struct Daemon<'s> {
    pub(super) options: DaemonOptions,
    pub(super) say: &'s mut dyn FnMut(&str),
    pub(super) clock: WatchClock,
    pub(super) watch: Watch,
    pub(super) settings: WatchSettings,
    pub(super) config: WatchConfig,
    /// What is seen of the machine.
    pub(super) machine: SeenMachine,
    /// What is kept, and waits to be.
    pub(super) kept: KeptRows,
    /// What goes out.
    pub(super) outgoing: Outgoings,
    pub(super) sessions: SessionPool,
    pub(super) drives: SmartQueue,
    /// What it would have done, where it only observes.
    pub(super) observation: Option<Observation>,
    pub(super) hours: IdleHours,
    /// What the daemon cannot do now, by topic.
    pub(super) troubles: BTreeMap<&'static str, String>,
    pub(super) ending: DaemonEnd,
}

/// What is seen of the machine.
pub(super) struct SeenMachine {
    pub(super) surveyor: Surveyor,
    pub(super) survey: HostSurvey,
    /// When the last survey was made.
    pub(super) surveyed_at: Instant,
    pub(super) root: SystemRoot,
    /// Was the first survey made?
    pub(super) is_ready: bool,
    /// The disks that the settings exclude, as last reported.
    pub(super) excluded: Vec<String>,
    /// Was the watch told that nothing is seen?
    pub(super) is_told_blind: bool,
    /// Failed requests that were not seen so far, for lack of room.
    pub(super) failures_lost: u64,
    /// How often records of the kernel's log were lost.
    pub(super) log_losses: u64,
    /// The sessions that ended of late, and when: what failed in their last moments is still on its way.
    pub(super) ended_sessions: Vec<(SessionSubject, Instant)>,
    /// Does the kernel say which requests that failed are in the idle I/O class?
    pub(super) is_class_seen: bool,
    /// For how many seconds the machine was suspended, as last reported.
    pub(super) suspended: u64,
    /// What was last reported of the clock.
    pub(super) is_synchronised: Option<bool>,
    pub(super) zone: Option<String>,
    /// When it was looked up last what lies where requests failed, by disk.
    pub(super) placed: BTreeMap<String, PlaceLook>,
    /// Did a pass end while they were being judged?
    pub(super) is_pass_over: bool,
    /// When the disks' speeds are judged next; `None`: that is under way.
    pub(super) speeds_due: Option<Instant>,
    /// Where threads send what they found.
    pub(super) news: Sender<DaemonNews>,
}

/// A look-up of what lies at a place of a disk.
pub(super) struct PlaceLook {
    pub(super) begun: Instant,
    pub(super) is_over: Arc<AtomicBool>,
}

impl PlaceLook {
    /// Has it not come to its end?
    pub(super) fn is_under_way(&self) -> bool {
        !self.is_over.load(Ordering::Relaxed)
    }
}

/// What is kept, and waits to be.
pub(super) struct KeptRows {
    pub(super) database: HistoryDatabase,
    pub(super) places: MarkPlaces,
    /// When all pages of the history are read next, to see whether they are whole.
    pub(super) pages_due: Instant,
    /// The pass of each disk and array.
    pub(super) passes: BTreeMap<SubjectKey, PassMark>,
    /// Operations to carry out, in order; the first may have failed, and is then tried again.
    pub(super) ops: VecDeque<WatchOp>,
    pub(super) retry_keep_at: Option<Instant>,
}

/// What goes out.
pub(super) struct Outgoings {
    pub(super) messengers: Messengers,
    /// The result of the last attempt by each channel.
    pub(super) deliveries: BTreeMap<String, DeliveryEntry>,
}

/// Whether the daemon ends.
#[derive(Default)]
pub(super) struct DaemonEnd {
    pub(super) is_ending: bool,
    /// Begins anew after its end: the settings say that it observes no longer, or from now on.
    pub(super) is_to_begin_anew: bool,
}

impl Daemon<'_> {
    /// Feeds an event to the watch, and queues its operations.
    pub(super) fn feed(&mut self, event: WatchEvent) {
        self.watch.handle(self.clock.now(), event);
        while let Some(op) = self.watch.poll_op() {
            if let WatchOp::Keep(rows, _) = &op {
                // At once: the machine has forgotten what they say, and a history that is lost meanwhile is written from memory.
                let wording = Wording { calendar: self.watch.calendar(), host: &self.settings.host };
                self.kept.database.word(rows, &wording);
            }
            self.kept.ops.push_back(op);
        }
    }

    /// Reports a trouble once when it begins, when it changes, and when it is over.
    pub(super) fn set_trouble(&mut self, topic: &'static str, words: Option<String>) {
        match words {
            Some(words) => {
                if self.troubles.get(topic) != Some(&words) {
                    (self.say)(&format!("{topic}: {words}"));
                    self.troubles.insert(topic, words);
                }
            }
            None => {
                if self.troubles.remove(topic).is_some() {
                    (self.say)(&format!("{topic}: over"));
                }
            }
        }
    }

    /// Takes the result of writing to the history.
    pub(super) fn report_history(&mut self, outcome: Result<(), HistoryError>) {
        self.set_trouble("notes of what happened", outcome.err().map(|error| error.to_string()));
    }

    /// The disk of this kernel name, as it was last seen.
    pub(super) fn disk(&self, name: &str) -> Option<&SeenDisk> {
        self.machine.survey.disks.iter().find(|disk| disk.facts.name == name)
    }

    /// The name for people of a disk or an array that is present.
    pub(super) fn display_name(&self, subject: &SessionSubject) -> String {
        match subject {
            SessionSubject::Disk(name) => name.clone(),
            SessionSubject::Array(key) => {
                let array = self.machine.survey.arrays.iter().find(|array| array.key == *key);
                array.map_or_else(|| key.clone(), |array| array.name.clone())
            }
        }
    }

    /// The identity of a subject, while it is present.
    pub(super) fn subject_key(&self, subject: &SessionSubject) -> Option<SubjectKey> {
        match subject {
            SessionSubject::Disk(name) => self.key_of(name).cloned().map(SubjectKey::Disk),
            SessionSubject::Array(key) => {
                self.machine.survey.checks.contains_key(key).then(|| SubjectKey::Array(key.clone()))
            }
        }
    }

    /// Does another present disk give the same identity?
    pub(super) fn is_twin(&self, name: &str) -> bool {
        let key = self.disk(name).map(|disk| &disk.facts.key);
        key.is_some() && self.machine.survey.disks.iter().filter(|disk| Some(&disk.facts.key) == key).count() > 1
    }

    /// The identity of the disk of this kernel name: the watch's, which tells apart those that give one.
    pub(super) fn key_of(&self, name: &str) -> Option<&DiskKey> {
        let disk = self.disk(name)?;
        Some(self.watch.disk_key(name).unwrap_or(&disk.facts.key))
    }
}

/// Does this name mean the disk: the kernel's name, its path, its serial number or its WWN?
pub fn is_called(disk: &SeenDisk, name: &str) -> bool {
    let device = Path::new(name);
    let is_path = device.is_absolute() && device.canonicalize().is_ok_and(|device| device == disk.device);
    is_path || disk.device == device || disk.facts.name == name || is_called_permanently(disk, name)
}

/// Does this name mean the disk permanently: its serial number or its WWN?
pub(super) fn is_called_permanently(disk: &SeenDisk, name: &str) -> bool {
    let names = [Some(disk.facts.key.0.as_str()), disk.serial.as_deref()];
    names.into_iter().flatten().any(|known| is_alike(known, name))
}

/// The pass of a row.
pub(super) fn mark_of(row: &WatchRow) -> Option<(SubjectKey, PassMark)> {
    let WatchRow::Reading(key, row) = row else { return None };
    Some((key.clone(), PassMark { pass: row.passes.finished + 1, begun: row.passes.begun }))
}
