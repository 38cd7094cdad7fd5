//! What the watch knows: rows that survive, and what of disks is known only while they are there.

use crate::calendar::{Calendar, HOUR, MINUTE, elapsed};
use crate::channel::ChannelRow;
use crate::clock::ClockTrust;
use crate::events::{WatchBug, WatchOp};
use crate::facts::{ArrayFacts, DiskFacts, DiskKey, SmartRefusal};
use crate::forecast::AllForeseen;
use crate::health::{self, DriveWord, HealthSign, HealthState, OwnEvidence};
use crate::incident::{IncidentKey, IncidentRow};
use crate::reading::ReadingState;
use crate::rows::{DiskRow, HostRow, MessageRow, RowKey, WatchRow};
use crate::settings::WatchSettings;
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// SMART data that are older say nothing any more: a day, and some hours for a disk that was asleep at the wrong time.
pub const STALE: u64 = 26 * HOUR;
/// A disk or an array that is gone for so long is missing; until then somebody may be changing a cable.
pub const GONE: u64 = 10 * MINUTE;

/// What a drive said of its heat and its tests holds so long: two readings that did not come.
const LAPSE: u64 = 8 * HOUR;

/// What is known of a disk only while it is there.
#[derive(Clone, Debug)]
pub(crate) struct DiskLive {
    /// The kernel's name, while it is there.
    pub name: Option<String>,
    /// Since when it is there, or is not.
    pub since: UnixSeconds,
    /// Why SMART was not read the last time.
    pub refused: Option<SmartRefusal>,
    /// Asleep since then.
    pub asleep: Option<UnixSeconds>,
    /// Has it been answered since it is there whether SMART can be read?
    pub is_answered: bool,
    /// When its drive last said something.
    pub spoke: UnixSeconds,
    /// Its temperature.
    pub celsius: Option<i32>,
    /// It was too hot, and has not cooled down yet.
    pub is_hot: bool,
    /// It is at a long test of its own.
    pub is_self_testing: bool,
    /// When SMART was last asked for; 0: not yet.
    pub asked: UnixSeconds,
}

/// A disk.
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
            word: DriveWord::default(),
            smart_read: UnixSeconds(0),
            unknown_since: UnixSeconds(0),
            service_first: Vec::new(),
            service_last: 0,
        };
        DiskState::restored(row, reading, now)
    }

    /// Nobody has seen it yet.
    pub fn restored(row: DiskRow, reading: ReadingState, now: UnixSeconds) -> DiskState {
        let live = DiskLive {
            name: None,
            since: now,
            refused: None,
            asleep: None,
            is_answered: false,
            spoke: UnixSeconds(0),
            celsius: None,
            is_hot: false,
            is_self_testing: false,
            asked: UnixSeconds(0),
        };
        DiskState { row, reading, live }
    }

    /// `bay 3 (ZL2ABCDE)`: what people can find it by.
    pub fn label(&self) -> String {
        let facts = &self.row.facts;
        match &facts.bay {
            Some(bay) => format!("bay {bay} ({})", facts.serial_shown()),
            None => format!("{} ({})", self.live.name.as_deref().unwrap_or("a disk"), facts.serial_shown()),
        }
    }

    /// Is it too hot to be read, as far as is known? What nobody has measured for long is not.
    pub fn is_hot(&self, now: UnixSeconds) -> bool {
        self.live.is_hot && elapsed(now, self.live.spoke) < LAPSE
    }

    /// Is it at a long test of its own, as far as is known?
    pub fn is_self_testing(&self, now: UnixSeconds) -> bool {
        self.live.is_self_testing && elapsed(now, self.live.spoke) < LAPSE
    }

    pub fn is_missing(&self, now: UnixSeconds) -> bool {
        self.live.name.is_none() && elapsed(now, self.live.since) >= GONE
    }

    /// Is there no word of its own, or none that is new enough?
    pub fn is_stale(&self, now: UnixSeconds) -> bool {
        self.row.smart_read.0 == 0 || elapsed(now, self.row.smart_read) >= STALE
    }

    /// All that speaks against it. `slower` is by how many percent its reads take longer, beyond its siblings'.
    pub fn signs(&self, now: UnixSeconds, slower: u32) -> Vec<HealthSign> {
        let passes = &self.reading.row.passes;
        let own = OwnEvidence {
            unreadable: passes.unreadable_sectors(),
            retries: passes.retries.max(passes.retries_before),
            failed_sessions: self.reading.row.failed_sessions,
            reads_end: (passes.done > 0).then(|| (100.0 * (1.0 - passes.rest())) as u8),
            unjudged: passes.unjudged,
            sectors: passes.sectors,
            slower_percent: slower,
        };
        health::signs(now, &self.row.word, &self.row.counters, &own)
    }

    /// By how many percent a read takes longer than in the first passes, 0 if not or not known.
    pub fn drift_percent(&self) -> u32 {
        let mut first = self.row.service_first.clone();
        first.sort_unstable();
        let Some(&usual) = first.get(first.len() / 2).filter(|usual| first.len() == 3 && **usual > 0) else { return 0 };
        (self.row.service_last.saturating_sub(usual) * 100 / usual).min(10_000) as u32
    }
}

/// An array.
#[derive(Clone, Debug)]
pub(crate) struct ArrayState {
    pub facts: ArrayFacts,
    /// Not there since then; none: it is there.
    pub gone: Option<UnixSeconds>,
    /// How its own check stands; none: nothing here can drive one.
    pub reading: Option<ReadingState>,
}

/// The machine that watches over disks. See the crate's head.
#[derive(Debug)]
pub struct Watch {
    pub(crate) settings: WatchSettings,
    pub(crate) calendar: Box<dyn Calendar>,
    pub(crate) clock: ClockTrust,
    pub(crate) host: HostRow,
    pub(crate) disks: BTreeMap<DiskKey, DiskState>,
    pub(crate) names: BTreeMap<String, DiskKey>,
    /// What was seen under these names, with an identity that is still elsewhere, since when.
    pub(crate) sightings: BTreeMap<String, (DiskFacts, UnixSeconds)>,
    pub(crate) arrays: BTreeMap<String, ArrayState>,
    pub(crate) incidents: BTreeMap<IncidentKey, IncidentRow>,
    pub(crate) outbox: BTreeMap<u64, MessageRow>,
    pub(crate) channels: BTreeMap<String, ChannelRow>,
    /// How many codes were typed that were wrong, since each channel was sent its own.
    pub(crate) wrong_codes: BTreeMap<String, u32>,
    pub(crate) is_on_battery: bool,
    /// Are there no arrays but those that are seen?
    pub(crate) are_arrays_known: bool,
    /// What is to be done, in order,
    pub(crate) ops: VecDeque<WatchOp>,
    /// and what comes behind the rows that go with it.
    pub(crate) acts: Vec<WatchOp>,
    pub(crate) changed: BTreeSet<RowKey>,
    pub(crate) dropped: BTreeSet<RowKey>,
    /// When it last looked at everything.
    pub(crate) turned: UnixSeconds,
    /// When to look again.
    pub(crate) wake: UnixSeconds,
    /// Has it begun: was there a time yet that it believes?
    pub(crate) is_resumed: bool,
    /// Has what an earlier machine left under way been marked?
    pub(crate) is_marked: bool,
    /// Is what passes need reckoned up, of the disks and arrays that there are?
    pub(crate) is_reckoned: bool,
    /// What was last foreseen for messages, and when.
    pub(crate) foreseen: (UnixSeconds, AllForeseen),
    /// When it was last put in words what speaks against a disk.
    pub(crate) worded: BTreeMap<DiskKey, UnixSeconds>,
    #[cfg(feature = "planted")]
    pub(crate) planted: Option<WatchBug>,
}

impl Watch {
    /// Is this mistake to be made?
    #[cfg(feature = "planted")]
    pub(crate) fn is_planted(&self, mistake: WatchBug) -> bool {
        self.planted == Some(mistake)
    }

    /// No mistake is made on purpose.
    #[cfg(not(feature = "planted"))]
    pub(crate) const fn is_planted(&self, _: WatchBug) -> bool {
        false
    }

    /// From now on it makes this mistake.
    #[cfg(feature = "planted")]
    pub fn plant(&mut self, mistake: Option<WatchBug>) {
        self.planted = mistake;
    }

    /// Come back then, at the latest.
    pub(crate) fn wake_at(&mut self, at: UnixSeconds) {
        self.wake = self.wake.min(at);
    }

    pub(crate) fn disk_by_name(&mut self, name: &str) -> Option<&mut DiskState> {
        self.disks.get_mut(self.names.get(name)?)
    }

    /// A row as it is to be kept; none: it is not there any more.
    fn row(&self, key: &RowKey) -> Option<WatchRow> {
        Some(match key {
            RowKey::Host => WatchRow::Host(self.host.clone()),
            RowKey::Disk(disk) => WatchRow::Disk(Box::new(self.disks.get(disk)?.row.clone())),
            RowKey::Reading(key) => WatchRow::Reading(key.clone(), Box::new(self.reading(key)?.row.clone())),
            RowKey::Idle(key) => WatchRow::Idle(key.clone(), Box::new(self.reading(key)?.idle.clone())),
            RowKey::Array(array) => WatchRow::Array(self.arrays.get(array)?.facts.clone()),
            RowKey::Incident(incident) => WatchRow::Incident(Box::new(self.incidents.get(incident)?.clone())),
            RowKey::Message(number) => WatchRow::Message(Box::new(self.outbox.get(number)?.clone())),
            RowKey::Channel(name) => WatchRow::Channel(self.channels.get(name)?.clone()),
        })
    }

    /// Puts the rows that changed in front of what is to be done after them.
    pub(crate) fn flush(&mut self) {
        let changed = std::mem::take(&mut self.changed);
        let rows: Vec<WatchRow> = changed.iter().filter_map(|key| self.row(key)).collect();
        let dropped: Vec<RowKey> =
            std::mem::take(&mut self.dropped).into_iter().filter(|key| self.row(key).is_none()).collect();
        let keep = (!rows.is_empty() || !dropped.is_empty()).then_some(WatchOp::Keep(rows, dropped));
        let acts = std::mem::take(&mut self.acts);
        if self.is_planted(WatchBug::SendBeforeKeep) {
            self.ops.extend(acts.into_iter().chain(keep));
        } else {
            self.ops.extend(keep.into_iter().chain(acts));
        }
    }

    /// How a disk is, and why.
    pub(crate) fn health(&self, disk: &DiskState, now: UnixSeconds) -> (HealthState, Vec<HealthSign>) {
        let signs = disk.signs(now, self.slower_percent(disk));
        let gravest = health::gravest(&signs);
        let live = &disk.live;
        let state = match gravest {
            _ if live.name.is_none() => HealthState::Missing,
            Some(HealthState::Replace) => HealthState::Replace,
            Some(state) => state,
            None if live.asleep.is_some() => HealthState::Asleep,
            None if live.refused.is_some() => HealthState::Unknown,
            None if disk.is_stale(now) && !self.is_planted(WatchBug::GreenWhenStale) => HealthState::Unknown,
            None => HealthState::Ok,
        };
        (state, signs)
    }

    /// By how many percent reads of a disk take longer than they used to, beyond what its siblings of the same model do.
    fn slower_percent(&self, disk: &DiskState) -> u32 {
        let own = disk.drift_percent();
        if own == 0 {
            return 0;
        }
        let is_sibling = |other: &&DiskState| {
            other.row.facts.model == disk.row.facts.model && other.row.facts.key != disk.row.facts.key
        };
        let mut others: Vec<u32> = self.disks.values().filter(is_sibling).map(DiskState::drift_percent).collect();
        others.sort_unstable();
        own.saturating_sub(others.get(others.len() / 2).copied().unwrap_or(0))
    }
}
