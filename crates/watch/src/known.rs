//! The state of disks and arrays: rows that survive, and what is known only while they are present.

use crate::calendar::{HOUR, elapsed};
use crate::facts::{ArrayFacts, DiskFacts, DiskKey, SmartRefusal};
use crate::failures::KnownFailures;
use crate::health::{self, DriveReport, HealthSign, OwnEvidence};
use crate::links::LinkResets;
use crate::problem::MISSING_AFTER;
use crate::reading::ReadingState;
use crate::rows::DiskRow;
use crate::slowness::Slowness;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// Seconds after which SMART data are out of date: a day, and some hours for a disk that was asleep when it was to be read.
pub const STALE_AFTER: u64 = 26 * HOUR;

/// Seconds for which a drive's last temperature and self-test count: two readings that failed.
const DRIVE_STATE_AGE_MAX: u64 = 8 * HOUR;

/// The state of a disk that is known only while it is present.
#[derive(Clone, Debug)]
pub(crate) struct DiskLive {
    /// The kernel's name, while it is present.
    pub name: Option<String>,
    /// Since when it is present, or absent.
    pub since: UnixSeconds,
    /// Is it absent, and was a file system on it mounted when it went?
    pub is_pulled: bool,
    /// Requests of programs that failed at it since the watch began.
    pub failures: Option<KnownFailures>,
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
            service_last: 0,
            slowness: Slowness::default(),
            link_resets: LinkResets::default(),
        };
        DiskState::restored(row, reading, now)
    }

    /// The state of a disk that has not been seen since a start.
    pub fn restored(row: DiskRow, reading: ReadingState, now: UnixSeconds) -> DiskState {
        let live = DiskLive {
            name: None,
            since: now,
            is_pulled: false,
            failures: None,
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
        self.live.name.is_none() && (self.live.is_pulled || elapsed(now, self.live.since) >= MISSING_AFTER)
    }

    /// Are there no SMART data, or only data that are out of date?
    pub fn is_stale(&self, now: UnixSeconds) -> bool {
        self.row.smart_read.0 == 0 || elapsed(now, self.row.smart_read) >= STALE_AFTER
    }

    /// All signs against it.
    pub fn signs(&self, now: UnixSeconds) -> Vec<HealthSign> {
        let passes = &self.reading.row.passes;
        let evidence = OwnEvidence {
            unreadable: passes.unreadable_sectors(),
            retries: passes.retries.max(passes.retries_before),
            failed_sessions: self.reading.row.failed_sessions,
            reads_end: (passes.done > 0).then(|| (100.0 * (1.0 - passes.rest())) as u8),
            unjudged: passes.unjudged,
            sectors: passes.sectors,
            slowness: self.row.slowness,
            link_resets: self.row.link_resets.sign(now),
        };
        health::signs(now, self.row.facts.media, &self.row.word, &self.row.counters, &evidence)
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
