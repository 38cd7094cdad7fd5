//! The meaningful SMART counters of a drive, decoded, and their growth.

use crate::attributes::{self, AttributeMeaning};
use crate::calendar::{DAY, days, elapsed};
pub use crate::counter_kind::CounterKind;
use crate::facts::SmartFacts;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// Decodes the counters of one reading. Of packed values only the meaningful part counts: Seagate packs three 16-bit
/// counters into 188, the lowest of which has all time-outs (an Exos X16's 0x000C_000C_000C is 12, not 51,540,393,996).
pub fn decode(facts: &SmartFacts) -> BTreeMap<CounterKind, u64> {
    let mut counters = BTreeMap::new();
    for attribute in &facts.attributes {
        let Some(AttributeMeaning::Counter(kind)) = attributes::meaning(&attribute.name) else { continue };
        let value = match kind {
            CounterKind::Reported | CounterKind::TimedOut => attribute.raw & 0xffff,
            _ => attribute.raw & 0xffff_ffff,
        };
        counters.entry(kind).and_modify(|known: &mut u64| *known = value.max(*known)).or_insert(value);
    }
    if let Some(nvme) = facts.nvme {
        counters.insert(CounterKind::MediaErrors, nvme.media_errors);
    }
    if let Some(scsi) = facts.scsi {
        counters.extend(scsi.grown_defects.map(|value| (CounterKind::Reallocated, value)));
        counters.extend(scsi.uncorrected.map(|value| (CounterKind::Reported, value)));
    }
    counters
}

/// Is there a counter or a log by which a drive without signs is shown to be well? That the drive passes its own test is none.
pub fn has_evidence(facts: &SmartFacts) -> bool {
    facts.nvme.is_some() || decode(facts).into_keys().any(CounterKind::is_of_medium)
}

/// The temperature in degrees Celsius. In attribute 194 (and 190) the low byte is the present temperature, signed;
/// drives pack the extremes above it (98,784,247,834 is 26, with 23 the lowest).
pub fn celsius(facts: &SmartFacts) -> Option<i32> {
    let by_id = |id| facts.attributes.iter().find(|attribute| attribute.id == id);
    let packed = by_id(194).or_else(|| by_id(190)).map(|attribute| i32::from(attribute.raw as u8 as i8));
    // A sensor outside this range is broken, or absent.
    facts.celsius.or(packed).filter(|celsius| (-40..=120).contains(celsius))
}

/// For how many seconds growth counts. The chance of more errors is 1 % ten weeks after the last (Schroeder, Damouras &
/// Gill, FAST'10, section 4).
pub const GROWTH_MEMORY: u64 = 70 * DAY;
/// For how many seconds a counter that may fall must have been 0 until its growth is over: the sectors were rewritten, and a week
/// of readings found no others (a judgement).
pub const ZERO_MEMORY: u64 = 7 * DAY;

/// The history of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CounterHistory {
    /// The last reading.
    pub value: u64,
    /// Recent growth: since the start of a growth that has not paused for [`GROWTH_MEMORY`].
    pub growth: u64,
    /// When that growth started.
    pub since: UnixSeconds,
    /// When the counter last grew; 0: never.
    pub grew: UnixSeconds,
    /// Was the latest reading lower than `value`, for a counter that only rises? A second lower reading is accepted.
    pub is_doubted: bool,
    /// The highest value since the counter was last 0 for [`ZERO_MEMORY`]; only what is above it is growth.
    pub peak: u64,
    /// Since when it has been 0, if it may fall; 0: it is not.
    pub zero_since: UnixSeconds,
}

impl CounterHistory {
    /// The first reading, of any value: its growth was not seen.
    pub fn new(value: u64) -> CounterHistory {
        let never = UnixSeconds(0);
        CounterHistory {
            value,
            growth: 0,
            since: never,
            grew: never,
            is_doubted: false,
            peak: value,
            zero_since: never,
        }
    }

    /// Another reading. A fall (a pending sector was overwritten; a drive was reset) is no growth. Of a counter that may fall
    /// only a new maximum is growth, so that one that flips between two values grows once; of one that only rises what is above
    /// the last reading. A single lower reading of the latter is taken for a slip of the drive: some show 0 once, and then
    /// continue where they were.
    pub fn read(&mut self, now: UnixSeconds, value: u64, only_rises: bool) {
        if value < self.value && only_rises && !std::mem::replace(&mut self.is_doubted, true) {
            return;
        }
        self.is_doubted = false;
        if self.is_forgotten(now) {
            (self.growth, self.peak) = (0, 0);
        }
        let base = if only_rises { self.value } else { self.value.max(self.peak) };
        if value > base {
            if self.growth_at(now) == 0 {
                (self.growth, self.since) = (0, now);
            }
            self.growth = self.growth.saturating_add(value - base);
            self.grew = now;
        }
        self.peak = if only_rises { value } else { self.peak.max(value) };
        self.zero_since = match value {
            0 if !only_rises && self.zero_since.0 > 0 => self.zero_since,
            0 if !only_rises => now,
            _ => UnixSeconds(0),
        };
        self.value = value;
    }

    /// Has it been 0 for long enough?
    fn is_forgotten(&self, now: UnixSeconds) -> bool {
        self.zero_since.0 > 0 && elapsed(now, self.zero_since) >= ZERO_MEMORY
    }

    /// Growth that still counts.
    pub fn growth_at(&self, now: UnixSeconds) -> u64 {
        let is_recent = self.grew.0 > 0 && elapsed(now, self.grew) < GROWTH_MEMORY;
        if is_recent && !self.is_forgotten(now) { self.growth } else { 0 }
    }

    /// Whole days since growth began, at least 1.
    pub fn growth_days(&self, now: UnixSeconds) -> u64 {
        days(now, self.since).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::{AtaAttribute, NvmeLog, ScsiLog};

    fn ata(attributes: &[(u8, u64)]) -> SmartFacts {
        let attributes = attributes.iter().map(|&(id, raw)| AtaAttribute::usual(id, raw)).collect();
        SmartFacts { attributes, ..SmartFacts::default() }
    }

    #[test]
    fn packed_values_are_decoded() {
        let facts = ata(&[(188, 51_540_393_996), (194, 98_784_247_834), (5, 3)]);
        assert_eq!(decode(&facts), BTreeMap::from([(CounterKind::TimedOut, 12), (CounterKind::Reallocated, 3)]));
        assert_eq!(celsius(&facts), Some(26));
        assert_eq!(celsius(&ata(&[(194, 0xfb)])), Some(-5), "below zero");
        assert_eq!(celsius(&ata(&[(190, 0x7f)])), None, "127 degrees are no temperature");
    }

    #[test]
    fn counters_of_nvme_and_scsi_drives_are_decoded() {
        let nvme = NvmeLog { critical_warning: 0, spare: 100, spare_threshold: 10, used: 3, media_errors: 2 };
        let facts = SmartFacts { nvme: Some(nvme), ..SmartFacts::default() };
        assert_eq!(decode(&facts), BTreeMap::from([(CounterKind::MediaErrors, 2)]));
        let log = ScsiLog { grown_defects: Some(4), uncorrected: Some(1) };
        let facts = SmartFacts { scsi: Some(log), ..SmartFacts::default() };
        assert_eq!(decode(&facts), BTreeMap::from([(CounterKind::Reallocated, 4), (CounterKind::Reported, 1)]));
        let half = ScsiLog { grown_defects: None, ..log };
        let facts = SmartFacts { scsi: Some(half), ..SmartFacts::default() };
        assert_eq!(decode(&facts), BTreeMap::from([(CounterKind::Reported, 1)]), "what was not read is no zero");
    }

    #[test]
    fn only_growth_between_readings_counts() {
        let mut history = CounterHistory::new(87);
        let at = |day: u64| UnixSeconds(day * DAY);
        history.read(at(100), 87, false);
        assert_eq!(history.growth_at(at(100)), 0, "a lifetime's value is no growth");
        history.read(at(101), 89, false);
        history.read(at(110), 80, false);
        history.read(at(120), 92, false);
        assert_eq!((history.growth_at(at(120)), history.growth_days(at(120))), (5, 19));
        assert_eq!(history.growth_at(at(189)), 5);
        assert_eq!(history.growth_at(at(190)), 0, "ten weeks without more");
        history.read(at(200), 93, false);
        assert_eq!(history.growth_at(at(200)), 1, "it begins anew");
    }

    #[test]
    fn a_counter_that_flips_grows_once_and_is_forgotten_after_a_week_at_zero() {
        let hour = |hour: u64| UnixSeconds(100 * DAY + hour * 3600);
        let mut history = CounterHistory::new(0);
        for flip in 0..34 {
            history.read(hour(7 * flip), flip % 2, false);
        }
        assert_eq!((history.value, history.growth_at(hour(240))), (1, 1), "once, in ten days");
        history.read(hour(250), 0, false);
        assert_eq!((history.growth_at(hour(250)), history.growth_at(hour(250 + 167))), (1, 1));
        assert_eq!(history.growth_at(hour(250 + 168)), 0, "a week at zero");
        history.read(hour(430), 1, false);
        assert_eq!(history.growth_at(hour(430)), 1, "then it is news again");
    }

    #[test]
    fn a_single_lower_reading_of_a_counter_that_only_rises_is_ignored() {
        let at = |day: u64| UnixSeconds(day * DAY);
        let mut history = CounterHistory::new(40);
        history.read(at(1), 0, true);
        history.read(at(2), 40, true);
        assert_eq!((history.value, history.growth_at(at(2)), history.is_doubted), (40, 0, false));
        history.read(at(3), 0, true);
        history.read(at(4), 0, true);
        assert_eq!(history.value, 0, "two of them are a drive that was reset");
        history.read(at(5), 3, true);
        assert_eq!(history.growth_at(at(5)), 3);
        let mut extreme = CounterHistory::new(0);
        for value in [u64::MAX, 0, 0, u64::MAX] {
            extreme.read(at(6), value, true);
        }
        assert_eq!(extreme.growth_at(at(6)), u64::MAX);
    }
}
