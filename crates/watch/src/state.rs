//! The state of the watch: rows that survive, and the state of disks that is known only while they are present.

use crate::calendar::{Calendar, HOUR, MINUTE, elapsed};
use crate::channel::ChannelRow;
use crate::clock::ClockTrust;
use crate::events::{WatchBug, WatchOp};
use crate::facts::{ArrayFacts, DiskFacts, DiskKey, SmartRefusal};
use crate::forecast::AllForeseen;
use crate::health::{self, DriveReport, HealthSign, HealthState, OwnEvidence};
use crate::incident::{IncidentKey, IncidentRow, PastIncident};
use crate::pending::Pending;
use crate::reading::ReadingState;
use crate::rows::{DiskRow, HostRow, MessageRow, RowKey, WatchRow};
use crate::settings::WatchSettings;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// Seconds after which SMART data are out of date: a day, and some hours for a disk that was asleep when it was to be read.
pub const STALE_AFTER: u64 = 26 * HOUR;
/// Seconds after which an absent disk or array is missing; until then a cable may be being changed.
pub const MISSING_AFTER: u64 = 10 * MINUTE;

/// Seconds for which a drive's last temperature and self-test count: two readings that failed.
const DRIVE_STATE_AGE_MAX: u64 = 8 * HOUR;

/// The state of a disk that is known only while it is present.
#[derive(Clone, Debug)]
pub(crate) struct DiskLive {
    /// The kernel's name, while it is present.
    pub name: Option<String>,
    /// Since when it is present, or absent.
    pub since: UnixSeconds,
    /// Why the last SMART reading failed.
    pub refused: Option<SmartRefusal>,
    /// Since when it sleeps.
    pub asleep: Option<UnixSeconds>,
    /// Has there been a result of reading SMART since it appeared?
    pub is_answered: bool,
    /// When the drive last gave SMART data.
    pub smart_received: UnixSeconds,
    /// Its temperature, in degrees Celsius.
    pub celsius: Option<i32>,
    /// Was it too hot, and has it not cooled down yet?
    pub is_hot: bool,
    /// Does the drive run a long self-test?
    pub is_self_testing: bool,
    /// When its SMART data were last requested; 0: not yet.
    pub smart_requested: UnixSeconds,
}

/// The state of a disk.
#[derive(Clone, Debug)]
pub(crate) struct DiskState {
    pub row: DiskRow,
    pub reading: ReadingState,
    pub live: DiskLive,
}

impl DiskState {
    pub fn new(facts: DiskFacts, now: UnixSeconds) -> DiskState {
        let reading = ReadingState::new(facts.sectors, facts.media, now);
        let row = DiskRow {
            facts,
            counters: BTreeMap::new(),
            word: DriveReport::default(),
            smart_read: UnixSeconds(0),
            unknown_since: UnixSeconds(0),
            service_first: Vec::new(),
            service_last: 0,
        };
        DiskState::restored(row, reading, now)
    }

    /// The state of a disk that has not been seen since a start.
    pub fn restored(row: DiskRow, reading: ReadingState, now: UnixSeconds) -> DiskState {
        let live = DiskLive {
            name: None,
            since: now,
            refused: None,
            asleep: None,
            is_answered: false,
            smart_received: UnixSeconds(0),
            celsius: None,
            is_hot: false,
            is_self_testing: false,
            smart_requested: UnixSeconds(0),
        };
        DiskState { row, reading, live }
    }

    /// Is it too hot to be read, as far as is known? An old measurement does not count.
    pub fn is_hot(&self, now: UnixSeconds) -> bool {
        self.live.is_hot && elapsed(now, self.live.smart_received) < DRIVE_STATE_AGE_MAX
    }

    /// Does the drive run a long self-test, as far as is known?
    pub fn is_self_testing(&self, now: UnixSeconds) -> bool {
        self.live.is_self_testing && elapsed(now, self.live.smart_received) < DRIVE_STATE_AGE_MAX
    }

    pub fn is_missing(&self, now: UnixSeconds) -> bool {
        self.live.name.is_none() && elapsed(now, self.live.since) >= MISSING_AFTER
    }

    /// Are there no SMART data, or only data that are out of date?
    pub fn is_stale(&self, now: UnixSeconds) -> bool {
        self.row.smart_read.0 == 0 || elapsed(now, self.row.smart_read) >= STALE_AFTER
    }

    /// All signs against it. `slower`: by how many percent its reads take longer, beyond its siblings'.
    pub fn signs(&self, now: UnixSeconds, slower: u32) -> Vec<HealthSign> {
        let passes = &self.reading.row.passes;
        let evidence = OwnEvidence {
            unreadable: passes.unreadable_sectors(),
            retries: passes.retries.max(passes.retries_before),
            failed_sessions: self.reading.row.failed_sessions,
            reads_end: (passes.done > 0).then(|| (100.0 * (1.0 - passes.rest())) as u8),
            unjudged: passes.unjudged,
            sectors: passes.sectors,
            slower_percent: slower,
        };
        health::signs(now, self.row.facts.media, &self.row.word, &self.row.counters, &evidence)
    }

    /// By how many percent a read takes longer than in the first passes; 0 if it does not, or that is not known.
    pub fn drift_percent(&self) -> u32 {
        let mut first = self.row.service_first.clone();
        first.sort_unstable();
        let Some(&usual) = first.get(first.len() / 2).filter(|usual| first.len() == 3 && **usual > 0) else { return 0 };
        (self.row.service_last.saturating_sub(usual) * 100 / usual).min(10_000) as u32
    }
}

/// The state of an array.
#[derive(Clone, Debug)]
pub(crate) struct ArrayState {
    pub facts: ArrayFacts,
    /// Since when it is absent; `None`: it is present.
    pub absent_since: Option<UnixSeconds>,
    /// The state of its own check; `None`: the pump cannot drive one.
    pub reading: Option<ReadingState>,
    /// The disk that was last seen at each of its places. (Not known after a start for a place that is empty since before.)
    pub places: BTreeMap<usize, DiskKey>,
}

impl ArrayState {
    /// Was this disk last seen at a place of it that is not in sync?
    pub fn misses(&self, disk: &DiskKey) -> bool {
        let mut places = self.places.iter().filter(|(_, key)| *key == disk);
        self.absent_since.is_none()
            && places.any(|(&place, _)| self.facts.members.get(place).is_some_and(|member| !member.is_in_sync))
    }
}

/// The machine that watches over disks. See the crate's documentation.
#[derive(Debug)]
pub struct Watch {
    pub(crate) settings: WatchSettings,
    pub(crate) calendar: Box<dyn Calendar>,
    pub(crate) clock: ClockTrust,
    pub(crate) host: HostRow,
    pub(crate) disks: BTreeMap<DiskKey, DiskState>,
    pub(crate) names: BTreeMap<String, DiskKey>,
    /// Disks seen under these names whose identity is still present under another name, and since when.
    pub(crate) sightings: BTreeMap<String, (DiskFacts, UnixSeconds)>,
    pub(crate) arrays: BTreeMap<String, ArrayState>,
    pub(crate) incidents: BTreeMap<IncidentKey, IncidentRow>,
    /// Incidents that were over in the last 30 days, and were reported.
    pub(crate) past: BTreeMap<IncidentKey, PastIncident>,
    pub(crate) outbox: BTreeMap<u64, MessageRow>,
    pub(crate) channels: BTreeMap<String, ChannelRow>,
    /// Wrong codes that were typed since each channel was sent its own.
    pub(crate) wrong_codes: BTreeMap<String, u32>,
    pub(crate) is_on_battery: bool,
    /// Are the arrays that are seen all that there are?
    pub(crate) are_arrays_known: bool,
    /// Since when nothing is seen of the machine; `None`: it is seen.
    pub(crate) blind_since: Option<UnixSeconds>,
    /// Messages about incidents wait until then: after a suspend things are looked at first.
    pub(crate) tells_from: UnixSeconds,
    /// What is to be kept and done.
    pub(crate) pending: Pending,
    /// The time of the last turn.
    pub(crate) last_turn: UnixSeconds,
    /// When the next turn is due.
    pub(crate) wake: UnixSeconds,
    /// Has it resumed: has there been a trusted time yet?
    pub(crate) is_resumed: bool,
    /// Have the messages been marked that were under way when an earlier machine ended?
    pub(crate) is_marked: bool,
    /// Are the passes planned for the present disks and arrays?
    pub(crate) are_passes_planned: bool,
    /// The last forecasts for messages, and when they were made.
    pub(crate) foreseen: (UnixSeconds, AllForeseen),
    #[cfg(feature = "planted")]
    pub(crate) planted: Option<WatchBug>,
}

impl Watch {
    /// Is this mistake planted?
    #[cfg(feature = "planted")]
    pub(crate) fn is_planted(&self, mistake: WatchBug) -> bool {
        self.planted == Some(mistake)
    }

    /// No mistake can be planted.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn is_planted(&self, _: WatchBug) -> bool {
        false
    }

    /// Plants a mistake, or none.
    #[cfg(feature = "planted")]
    pub fn plant(&mut self, mistake: Option<WatchBug>) {
        self.planted = mistake;
    }

    /// Asks for the next turn at this time at the latest.
    pub(crate) fn wake_at(&mut self, at: UnixSeconds) {
        self.wake = self.wake.min(at);
    }

    pub(crate) fn disk_by_name(&mut self, name: &str) -> Option<&mut DiskState> {
        self.disks.get_mut(self.names.get(name)?)
    }

    /// The identity of the disk that has this kernel name now: of disks that give one, each has its own.
    pub fn disk_key(&self, name: &str) -> Option<&DiskKey> {
        self.names.get(name)
    }

    /// The row of a key; `None`: it no longer exists.
    fn row(&self, key: &RowKey) -> Option<WatchRow> {
        Some(match key {
            RowKey::Host => WatchRow::Host(self.host.clone()),
            RowKey::Disk(disk) => WatchRow::Disk(Box::new(self.disks.get(disk)?.row.clone())),
            RowKey::Reading(key) => WatchRow::Reading(key.clone(), Box::new(self.reading(key)?.row.clone())),
            RowKey::Idle(key) => WatchRow::Idle(key.clone(), Box::new(self.reading(key)?.idle.clone())),
            RowKey::Array(array) => WatchRow::Array(self.arrays.get(array)?.facts.clone()),
            RowKey::Incident(incident) => WatchRow::Incident(Box::new(self.incidents.get(incident)?.clone())),
            RowKey::Past(incident) => WatchRow::Past(Box::new(self.past.get(incident)?.clone())),
            RowKey::Message(number) => WatchRow::Message(Box::new(self.outbox.get(number)?.clone())),
            RowKey::Channel(name) => WatchRow::Channel(self.channels.get(name)?.clone()),
        })
    }

    /// All rows: what a new history has to have.
    pub fn rows(&self) -> Vec<WatchRow> {
        let subjects = self.subjects().map(|subject| subject.key());
        let keys = std::iter::once(RowKey::Host)
            .chain(self.disks.keys().cloned().map(RowKey::Disk))
            .chain(self.arrays.keys().cloned().map(RowKey::Array))
            .chain(subjects.flat_map(|key| [RowKey::Reading(key.clone()), RowKey::Idle(key)]))
            .chain(self.incidents.keys().cloned().map(RowKey::Incident))
            .chain(self.past.keys().cloned().map(RowKey::Past))
            .chain(self.outbox.keys().copied().map(RowKey::Message))
            .chain(self.channels.keys().cloned().map(RowKey::Channel));
        keys.filter_map(|key| self.row(&key)).collect()
    }

    /// Emits the rows that changed, in front of the operations that must follow them.
    pub(crate) fn flush(&mut self) {
        let (changed, dropped) = self.pending.take_keys();
        let rows: Vec<WatchRow> = changed.iter().filter_map(|key| self.row(key)).collect();
        // The pump puts a letter in words once.
        self.outbox.values_mut().for_each(|row| row.letter = None);
        let dropped: Vec<RowKey> = dropped.into_iter().filter(|key| self.row(key).is_none()).collect();
        let keep = (!rows.is_empty() || !dropped.is_empty()).then_some(WatchOp::Keep(rows, dropped));
        let is_kept_first = !self.is_planted(WatchBug::SendBeforeKeep);
        self.pending.queue(keep, is_kept_first);
    }

    /// The state of a disk, and its signs.
    pub(crate) fn health(&self, disk: &DiskState, now: UnixSeconds) -> (HealthState, Vec<HealthSign>) {
        let signs = disk.signs(now, self.slower_percent(disk));
        let gravest = health::gravest(&signs);
        let live = &disk.live;
        let state = match gravest {
            _ if live.name.is_none() => HealthState::Missing,
            Some(state) => state,
            None if live.asleep.is_some() => HealthState::Asleep,
            None if disk.row.facts.is_virtual()
                && matches!(live.refused, Some(SmartRefusal::NotSupported | SmartRefusal::NoCounters)) =>
            {
                HealthState::Virtual
            }
            None if live.refused.is_some() => HealthState::Unknown,
            None if disk.is_stale(now) && !self.is_planted(WatchBug::GreenWhenStale) => HealthState::Unknown,
            None => HealthState::Ok,
        };
        (state, signs)
    }

    /// By how many percent reads of a disk take longer than they used to, beyond the same figure of its siblings of the
    /// same model.
    fn slower_percent(&self, disk: &DiskState) -> u32 {
        let drift = disk.drift_percent();
        if drift == 0 {
            return 0;
        }
        let is_sibling = |other: &&DiskState| {
            other.row.facts.model == disk.row.facts.model && other.row.facts.key != disk.row.facts.key
        };
        let mut sibling_drifts: Vec<u32> =
            self.disks.values().filter(is_sibling).map(DiskState::drift_percent).collect();
        sibling_drifts.sort_unstable();
        drift.saturating_sub(sibling_drifts.get(sibling_drifts.len() / 2).copied().unwrap_or(0))
    }
}
