//! The meaningful SMART counters of a drive, decoded, and their growth.

use crate::calendar::{DAY, days, elapsed};
use crate::facts::SmartFacts;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// The counters. The first five kinds predict failures (Backblaze, "What SMART Stats Tell Us About Hard Drives", 2016:
/// 5, 187, 197, 198; NVMe and SCSI have one each with the same meaning); the last two concern cables and patience.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CounterKind {
    /// ATA 5: sectors that were remapped. SCSI: the grown defect list.
    Reallocated,
    /// ATA 187: reads that the drive could not answer. SCSI: uncorrected errors.
    Reported,
    /// ATA 197: sectors that wait to be remapped.
    Pending,
    /// ATA 198: sectors that the drive's own test could not read.
    Uncorrectable,
    /// NVMe: unrecovered data errors.
    MediaErrors,
    /// ATA 188: commands that took too long.
    TimedOut,
    /// ATA 199: transfers that the cable spoilt. Never reset.
    CableErrors,
}

impl CounterKind {
    /// The name for people.
    pub fn words(self) -> &'static str {
        match self {
            CounterKind::Reallocated => "remapped sectors (5)",
            CounterKind::Reported => "reported uncorrectable errors (187)",
            CounterKind::Pending => "pending sectors (197)",
            CounterKind::Uncorrectable => "uncorrectable sectors (198)",
            CounterKind::MediaErrors => "media errors",
            CounterKind::TimedOut => "command time-outs (188)",
            CounterKind::CableErrors => "transfer errors (199)",
        }
    }

    /// The stable name that rows use.
    pub fn key(self) -> &'static str {
        match self {
            CounterKind::Reallocated => "reallocated",
            CounterKind::Reported => "reported",
            CounterKind::Pending => "pending",
            CounterKind::Uncorrectable => "uncorrectable",
            CounterKind::MediaErrors => "media errors",
            CounterKind::TimedOut => "timed out",
            CounterKind::CableErrors => "cable errors",
        }
    }

    /// Is it a counter of the medium?
    pub fn is_of_medium(self) -> bool {
        !matches!(self, CounterKind::TimedOut | CounterKind::CableErrors)
    }

    /// Does it only rise during the drive's life? The others fall when a sector is overwritten.
    pub fn only_rises(self) -> bool {
        !matches!(self, CounterKind::Pending | CounterKind::Uncorrectable)
    }

    /// From this value on, one such counter predicts as much as two (study of Backblaze's data of 2026-Q1, 351,000
    /// drives). NVMe has no such figure.
    pub fn high_limit(self) -> Option<u64> {
        match self {
            CounterKind::Reallocated => Some(102),
            CounterKind::Reported => Some(40),
            CounterKind::Pending => Some(16),
            CounterKind::Uncorrectable => Some(8),
            _ => None,
        }
    }
}

/// Decodes the counters of one reading. Of packed values only the meaningful part counts: Seagate packs three 16-bit
/// counters into 188, the lowest of which has all time-outs (an Exos X16's 0x000C_000C_000C is 12, not 51,540,393,996).
pub fn decode(facts: &SmartFacts) -> BTreeMap<CounterKind, u64> {
    let mut counters = BTreeMap::new();
    for attribute in &facts.attributes {
        let (kind, value) = match attribute.id {
            5 => (CounterKind::Reallocated, attribute.raw & 0xffff_ffff),
            187 => (CounterKind::Reported, attribute.raw & 0xffff),
            188 => (CounterKind::TimedOut, attribute.raw & 0xffff),
            197 => (CounterKind::Pending, attribute.raw & 0xffff_ffff),
            198 => (CounterKind::Uncorrectable, attribute.raw & 0xffff_ffff),
            199 => (CounterKind::CableErrors, attribute.raw & 0xffff_ffff),
            _ => continue,
        };
        counters.insert(kind, value);
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

/// The history of one counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

impl CounterHistory {
    /// The first reading, of any value: its growth was not seen.
    pub fn new(value: u64) -> CounterHistory {
        CounterHistory { value, growth: 0, since: UnixSeconds(0), grew: UnixSeconds(0), is_doubted: false }
    }

    /// Another reading. A fall (a pending sector was overwritten; a drive was reset) is no growth; growth is counted
    /// from the last reading. A single lower reading of a counter that only rises is taken for a slip of the drive:
    /// some show 0 once, and then continue where they were.
    pub fn read(&mut self, now: UnixSeconds, value: u64, only_rises: bool) {
        if value < self.value && only_rises && !std::mem::replace(&mut self.is_doubted, true) {
            return;
        }
        self.is_doubted = false;
        if value > self.value {
            if self.growth_at(now) == 0 {
                (self.growth, self.since) = (0, now);
            }
            self.growth = self.growth.saturating_add(value - self.value);
            self.grew = now;
        }
        self.value = value;
    }

    /// Growth that still counts.
    pub fn growth_at(&self, now: UnixSeconds) -> u64 {
        if self.grew.0 > 0 && elapsed(now, self.grew) < GROWTH_MEMORY { self.growth } else { 0 }
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
        let attributes = attributes.iter().map(|&(id, raw)| AtaAttribute { id, raw }).collect();
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
        history.read(at(120), 83, false);
        assert_eq!((history.growth_at(at(120)), history.growth_days(at(120))), (5, 19));
        assert_eq!(history.growth_at(at(189)), 5);
        assert_eq!(history.growth_at(at(190)), 0, "ten weeks without more");
        history.read(at(200), 84, false);
        assert_eq!(history.growth_at(at(200)), 1, "it begins anew");
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
