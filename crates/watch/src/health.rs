//! How a disk is: one of nine words, with its reasons, and how much each reason is worth.

use crate::counters::{CounterHistory, CounterKind};
use crate::facts::{MediaKind, ScsiSense};
use crate::slowness::{SlowBeside, Slowness};
use crate::worded;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// The nine words, the gravest last. Only the first is green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HealthState {
    /// The drive answers, and nothing speaks against it.
    Ok,
    /// It sleeps: what is known of it is old.
    Asleep,
    /// It is a disk of a virtual machine: only the host knows what it is made of.
    Virtual,
    /// Nothing is known of it.
    #[default]
    Unknown,
    /// Something is not as it should be, and may stay so for years.
    Watch,
    /// It is flash that was written as much as its maker rates it for, or nearly: it may last, but nobody promises that.
    Worn,
    /// It is too hot: its place, not the disk, is to be looked at.
    Hot,
    /// It is absent.
    Missing,
    /// It should be replaced.
    Replace,
}

worded!(HealthState {
    Ok = "ok",
    Asleep = "asleep",
    Virtual = "virtual",
    Unknown = "unknown",
    Watch = "watch",
    Worn = "worn",
    Hot = "hot",
    Missing = "missing",
    Replace = "replace",
});

/// How often disks with a sign fail, as far as was counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseRate {
    /// No sign at all.
    NoSign,
    /// One counter of the medium above zero.
    OneSign,
    /// Two counters of the medium above zero, or one that is high.
    TwoSigns,
    /// A growing counter, or unreadable sectors found by scrubbing.
    MoreErrors,
    /// Flash that lost a read.
    FlashLostRead,
    /// Flash that remapped blocks.
    FlashRemapped,
}

/// One thing that speaks against a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum HealthSign {
    /// The drive's own verdict is "failing".
    DriveSaysFailing,
    /// Scrubbing found this many unreadable sectors.
    UnreadableSectors(u64),
    /// A counter of the medium grows.
    Growth {
        /// The counter.
        kind: CounterKind,
        /// Its present value.
        value: u64,
        /// Its growth.
        growth: u64,
        /// The days in which it grew.
        days: u64,
        /// Of a hard disk, or of flash.
        media: MediaKind,
    },
    /// A counter of the medium is above zero, but does not grow.
    Level {
        /// The counter.
        kind: CounterKind,
        /// Its value.
        value: u64,
        /// Is it high, or not the only one above zero?
        is_grave: bool,
        /// Of a hard disk, or of flash.
        media: MediaKind,
    },
    /// It is hotter than it may be: degrees Celsius.
    Hot(i32),
    /// A SCSI drive warns of something other than its temperature.
    DriveWarns(ScsiSense),
    /// An NVMe drive raised bits of its critical warning (other than temperature).
    NvmeWarning(u8),
    /// An NVMe drive has too few spare blocks; the percentage that is left.
    SpareLow(u8),
    /// The used part of a flash drive's endurance, percent.
    Worn(u8),
    /// The drive's own test failed.
    SelfTestFailed {
        /// The first sector that it could not read, if it names one.
        lba: Option<u64>,
        /// Is that long ago, and was none completed since? The sector may have been rewritten.
        is_old: bool,
    },
    /// The drive answers commands, but no reads; this many sessions in sequence ended so.
    NoReads(u32),
    /// Reads are answered up to a place, and none behind it.
    ReadsEnd {
        /// How many sessions in sequence ended so.
        sessions: u32,
        /// The place, in percent of the disk.
        percent: u8,
    },
    /// A pass was closed without a verdict on some sectors.
    NoVerdict {
        /// How many sectors.
        sectors: u64,
        /// Is that an eighth of the disk or more?
        is_large_part: bool,
    },
    /// This many reads succeeded only at the second attempt.
    Retries(u64),
    /// So many reads and writes of programs failed at it, and no whole pass could read it since.
    FailedRequests {
        /// Reads.
        reads: u64,
        /// Writes.
        writes: u64,
    },
    /// A read takes this many percent longer than it used to. (Only read: older versions wrote it.)
    Slower(u32),
    /// Reading it takes this many percent longer than it should.
    Slow {
        /// How many percent.
        percent: u32,
        /// Beside what.
        beside: SlowBeside,
    },
    /// This many places of it are slower than those around them, pass after pass.
    SlowPlaces(u32),
    /// The kernel has reset the way to it so many times.
    LinkResets(u64),
    /// A cable, a port or a power supply: transfer errors grow.
    Cable {
        /// The counter.
        kind: CounterKind,
        /// Its growth.
        growth: u64,
    },
}

impl HealthSign {
    /// The state that this sign alone means for the disk.
    pub fn state(&self) -> HealthState {
        match self {
            // Sectors that waited to be remapped, and were rewritten: reads were lost, but none is lost now.
            HealthSign::Growth { value: 0, .. } => HealthState::Watch,
            HealthSign::Growth { kind: CounterKind::Reallocated, media: MediaKind::Flash, .. } => HealthState::Watch,
            HealthSign::DriveSaysFailing
            | HealthSign::UnreadableSectors(_)
            | HealthSign::Growth { .. }
            | HealthSign::NvmeWarning(_)
            | HealthSign::SpareLow(_)
            | HealthSign::SelfTestFailed { is_old: false, .. }
            | HealthSign::NoReads(_)
            | HealthSign::NoVerdict { is_large_part: true, .. }
            | HealthSign::Level { is_grave: true, .. } => HealthState::Replace,
            HealthSign::Hot(_) => HealthState::Hot,
            HealthSign::Worn(_) => HealthState::Worn,
            _ => HealthState::Watch,
        }
    }

    /// The base rate of failures, if one was counted.
    pub fn base_rate(&self) -> Option<BaseRate> {
        match self {
            HealthSign::Growth { kind, media: MediaKind::Flash, .. }
            | HealthSign::Level { kind, media: MediaKind::Flash, .. } => Some(match kind {
                CounterKind::Reallocated => BaseRate::FlashRemapped,
                _ => BaseRate::FlashLostRead,
            }),
            HealthSign::Level { is_grave: false, .. } => Some(BaseRate::OneSign),
            HealthSign::Level { is_grave: true, .. } => Some(BaseRate::TwoSigns),
            HealthSign::UnreadableSectors(_)
            | HealthSign::Growth { .. }
            | HealthSign::SelfTestFailed { lba: Some(_), is_old: false } => Some(BaseRate::MoreErrors),
            _ => None,
        }
    }

    /// Amounts by stable names: an incident has grown if one of them rises. A sign without an amount counts 1.
    pub fn amounts(&self) -> Vec<(String, u64)> {
        let (name, amount) = match *self {
            HealthSign::DriveSaysFailing => ("verdict", 1),
            HealthSign::UnreadableSectors(count) => ("unreadable", count),
            // A counter has one name, whether it grows or not.
            HealthSign::Growth { kind, value, .. } | HealthSign::Level { kind, value, .. } => (kind.key(), value),
            HealthSign::Cable { kind, growth } => (kind.key(), growth),
            HealthSign::Hot(_) => ("hot", 1),
            HealthSign::DriveWarns(sense) => {
                return vec![(format!("drive warns {:02x}{:02x}", sense.asc, sense.ascq), 1)];
            }
            HealthSign::NvmeWarning(bits) => {
                let raised = (0..8).filter(|bit| bits & (1 << bit) != 0);
                return raised.map(|bit| (format!("warning bit {bit}"), 1)).collect();
            }
            HealthSign::SpareLow(spare) => ("spare", 1 + u64::from(100_u8.saturating_sub(spare))),
            HealthSign::Worn(used) => ("worn", u64::from(used)),
            HealthSign::SelfTestFailed { .. } => ("self-test", 1),
            HealthSign::NoReads(_) | HealthSign::ReadsEnd { .. } => ("no reads", 1),
            HealthSign::NoVerdict { sectors, .. } => ("no verdict", sectors),
            HealthSign::Retries(count) => ("retries", count),
            HealthSign::Slow { .. } | HealthSign::Slower(_) => ("slow", 1),
            HealthSign::SlowPlaces(places) => ("slow places", u64::from(places)),
            HealthSign::LinkResets(count) => ("link resets", count),
            // An incident of its own tells of them.
            HealthSign::FailedRequests { .. } => return Vec::new(),
        };
        vec![(name.to_owned(), amount)]
    }
}

/// The drive's latest report, as far as it concerns its health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DriveReport {
    /// Its own verdict; `None`: it gave none.
    pub passed: Option<bool>,
    /// Bits of an NVMe drive's critical warning.
    pub nvme_warning: u8,
    /// Its spare blocks in percent, if they are too few.
    pub spare_low: Option<u8>,
    /// Endurance used, percent.
    pub used: u8,
    /// Did its last self-test fail?
    pub is_self_test_failed: bool,
    /// The first sector that the failed self-test could not read.
    pub self_test_lba: Option<u64>,
    /// Did it fail long ago?
    pub is_self_test_old: bool,
    /// What a SCSI drive warns of, or foretells.
    pub sense: Option<ScsiSense>,
    /// Its temperature in degrees Celsius, if it is too hot.
    pub hot: Option<i32>,
}

/// Evidence from scrubbing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OwnEvidence {
    /// Unreadable sectors.
    pub unreadable: u64,
    /// Reads that succeeded only at the second attempt.
    pub retries: u64,
    /// Sessions in sequence that could read nothing, or nothing more.
    pub failed_sessions: u32,
    /// The place in the pass where they ended, in percent of the disk; `None`: its beginning.
    pub reads_end: Option<u8>,
    /// Sectors on which the last pass got no verdict.
    pub unjudged: u64,
    /// All sectors of the disk.
    pub sectors: u64,
    /// How slow it is.
    pub slowness: Slowness,
    /// How often the kernel has reset the way to it, if that is a sign.
    pub link_resets: Option<u64>,
}

/// NVMe's warning bit for temperature, which is no reason to replace a disk.
pub(crate) const NVME_TEMPERATURE: u8 = 0x02;
/// Remapped blocks of flash from which on they are a sign: a few are usual, "hundreds" go with a failed chip (Schroeder,
/// Lagisetty & Merchant, FAST'16, section 5.3).
const FLASH_REMAPPED_MANY: u64 = 100;
/// Used endurance in percent from which on it is a sign (smartctl's users are warned at 90; the drive's promise ends at 100).
const WORN_PERCENT: u8 = 90;
/// Failed sessions in sequence from which on they are a sign: a single one may be a cable that was touched.
const FAILED_SESSIONS: u32 = 3;

/// All signs against a disk, the gravest first.
pub fn signs(
    now: UnixSeconds,
    media: MediaKind,
    word: &DriveReport,
    counters: &BTreeMap<CounterKind, CounterHistory>,
    evidence: &OwnEvidence,
) -> Vec<HealthSign> {
    let mut signs = Vec::new();
    if word.passed == Some(false) && word.nvme_warning & !NVME_TEMPERATURE == 0 {
        signs.push(HealthSign::DriveSaysFailing);
    }
    signs.extend(word.hot.map(HealthSign::Hot));
    signs.extend(word.sense.filter(|sense| sense.is_warning()).map(HealthSign::DriveWarns));
    if evidence.unreadable > 0 {
        signs.push(HealthSign::UnreadableSectors(evidence.unreadable));
    }
    let nonzero = counters.iter().filter(|(kind, history)| kind.is_of_medium() && history.value > 0).count();
    let is_flash = media == MediaKind::Flash;
    for (&kind, history) in counters {
        let growth = history.growth_at(now);
        let value = history.value;
        if !kind.is_of_medium() {
            if growth > 0 {
                signs.push(HealthSign::Cable { kind, growth });
            }
        } else if growth > 0 {
            signs.push(HealthSign::Growth { kind, value, growth, days: history.growth_days(now), media });
        } else if value > 0 {
            // The limits were counted on hard disks. Flash is grave where it has both lost reads and remapped blocks.
            let is_high = !is_flash && kind.high_limit().is_some_and(|high| value >= high);
            let is_usual = is_flash && kind == CounterKind::Reallocated && nonzero == 1 && value < FLASH_REMAPPED_MANY;
            if !is_usual {
                signs.push(HealthSign::Level { kind, value, is_grave: nonzero >= 2 || is_high, media });
            }
        }
    }
    if word.nvme_warning & !NVME_TEMPERATURE != 0 {
        signs.push(HealthSign::NvmeWarning(word.nvme_warning & !NVME_TEMPERATURE));
    }
    signs.extend(word.spare_low.map(HealthSign::SpareLow));
    if word.used >= WORN_PERCENT {
        signs.push(HealthSign::Worn(word.used));
    }
    if word.is_self_test_failed {
        signs.push(HealthSign::SelfTestFailed { lba: word.self_test_lba, is_old: word.is_self_test_old });
    }
    if evidence.failed_sessions >= FAILED_SESSIONS {
        let sessions = evidence.failed_sessions;
        signs.push(match evidence.reads_end {
            Some(percent) => HealthSign::ReadsEnd { sessions, percent },
            None => HealthSign::NoReads(sessions),
        });
    }
    if evidence.unjudged > 0 {
        signs.push(HealthSign::NoVerdict {
            sectors: evidence.unjudged,
            is_large_part: evidence.unjudged >= evidence.sectors / 8,
        });
    }
    if evidence.retries > 0 {
        signs.push(HealthSign::Retries(evidence.retries));
    }
    let Slowness { whole, places } = evidence.slowness;
    signs.extend(whole.map(|(percent, beside)| HealthSign::Slow { percent, beside }));
    if places > 0 {
        signs.push(HealthSign::SlowPlaces(places));
    }
    signs.extend(evidence.link_resets.map(HealthSign::LinkResets));
    signs.sort_by_key(|sign| std::cmp::Reverse(sign.state()));
    signs
}

/// The gravest state of the signs; `None`: there are no signs.
pub fn gravest(signs: &[HealthSign]) -> Option<HealthState> {
    signs.iter().map(HealthSign::state).max()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::DAY;

    const NOW: UnixSeconds = UnixSeconds(1000 * DAY);

    fn signs_of(counters: &[(CounterKind, u64)]) -> Vec<HealthSign> {
        let counters = counters.iter().map(|&(kind, value)| (kind, CounterHistory::new(value))).collect();
        let word = DriveReport { passed: Some(true), ..DriveReport::default() };
        signs(NOW, MediaKind::Spinning, &word, &counters, &OwnEvidence::default())
    }

    #[test]
    fn one_nonzero_counter_means_watch_and_two_or_a_high_one_mean_replace() {
        assert_eq!(gravest(&signs_of(&[(CounterKind::Reallocated, 0), (CounterKind::Pending, 0)])), None);
        assert_eq!(gravest(&signs_of(&[(CounterKind::Reallocated, 3)])), Some(HealthState::Watch));
        assert_eq!(gravest(&signs_of(&[(CounterKind::Reallocated, 102)])), Some(HealthState::Replace));
        let two_counters = signs_of(&[(CounterKind::Reallocated, 3), (CounterKind::Pending, 1)]);
        assert_eq!(gravest(&two_counters), Some(HealthState::Replace));
        assert_eq!(two_counters[0].base_rate(), Some(BaseRate::TwoSigns));
    }

    #[test]
    fn flash_is_judged_by_the_figures_of_flash() {
        let found = |counters: &[(CounterKind, u64)]| {
            let counters = counters.iter().map(|&(kind, value)| (kind, CounterHistory::new(value))).collect();
            signs(NOW, MediaKind::Flash, &DriveReport::default(), &counters, &OwnEvidence::default())
        };
        assert_eq!(found(&[(CounterKind::Reallocated, 2)]), [], "a few remapped blocks are usual");
        let many = found(&[(CounterKind::Reallocated, 300)]);
        assert_eq!((gravest(&many), many[0].base_rate()), (Some(HealthState::Watch), Some(BaseRate::FlashRemapped)));
        let lost = found(&[(CounterKind::Reported, 3)]);
        assert_eq!((gravest(&lost), lost[0].base_rate()), (Some(HealthState::Watch), Some(BaseRate::FlashLostRead)));
        let both = found(&[(CounterKind::Reported, 1232), (CounterKind::Reallocated, 59)]);
        assert_eq!(gravest(&both), Some(HealthState::Replace));
    }

    #[test]
    fn heat_and_wear_are_words_of_their_own() {
        let found = |word| signs(NOW, MediaKind::Flash, &word, &BTreeMap::new(), &OwnEvidence::default());
        let hot = found(DriveReport { hot: Some(84), nvme_warning: 2, passed: Some(true), ..DriveReport::default() });
        assert_eq!((gravest(&hot), &hot[..]), (Some(HealthState::Hot), &[HealthSign::Hot(84)][..]));
        let worn = found(DriveReport { used: 98, ..DriveReport::default() });
        assert_eq!(gravest(&worn), Some(HealthState::Worn));
        let read_only = found(DriveReport { passed: Some(false), nvme_warning: 8, ..DriveReport::default() });
        assert_eq!(read_only, [HealthSign::NvmeWarning(8)], "the drive's verdict says no more");
        let tested = DriveReport { is_self_test_failed: true, self_test_lba: Some(7), ..DriveReport::default() };
        let tested = found(tested);
        assert_eq!(gravest(&tested), Some(HealthState::Replace));
        let long_ago = DriveReport { is_self_test_failed: true, is_self_test_old: true, ..DriveReport::default() };
        let long_ago = found(long_ago);
        assert_eq!(gravest(&long_ago), Some(HealthState::Watch), "it may have been rewritten");
    }

    #[test]
    fn sectors_that_were_rewritten_are_to_be_watched_for_a_week() {
        let mut history = CounterHistory::new(0);
        history.read(NOW, 8, false);
        let judged = |history| {
            let counters = BTreeMap::from([(CounterKind::Pending, history)]);
            signs(NOW, MediaKind::Spinning, &DriveReport::default(), &counters, &OwnEvidence::default())
        };
        assert_eq!(gravest(&judged(history)), Some(HealthState::Replace));
        history.read(NOW, 0, false);
        let found = judged(history);
        assert_eq!(gravest(&found), Some(HealthState::Watch));
        assert!(matches!(found[0], HealthSign::Growth { value: 0, growth: 8, days: 1, .. }), "{found:?}");
    }

    #[test]
    fn cable_and_timeout_counters_are_signs_only_when_they_grow() {
        assert_eq!(signs_of(&[(CounterKind::CableErrors, 87), (CounterKind::TimedOut, 12)]), []);
        let mut history = CounterHistory::new(87);
        history.read(NOW, 90, true);
        let counters = BTreeMap::from([(CounterKind::CableErrors, history)]);
        let found = signs(NOW, MediaKind::Spinning, &DriveReport::default(), &counters, &OwnEvidence::default());
        assert_eq!(found, [HealthSign::Cable { kind: CounterKind::CableErrors, growth: 3 }]);
        assert_eq!(gravest(&found), Some(HealthState::Watch), "a cable is no reason to replace a disk");
    }

    #[test]
    fn growth_and_unreadable_sectors_outweigh_the_drives_own_verdict() {
        let mut history = CounterHistory::new(3);
        history.read(NOW, 8, false);
        let counters = BTreeMap::from([(CounterKind::Pending, history)]);
        let word = DriveReport { passed: Some(true), ..DriveReport::default() };
        let evidence = OwnEvidence { unreadable: 8, ..OwnEvidence::default() };
        let found = signs(NOW, MediaKind::Spinning, &word, &counters, &evidence);
        assert_eq!(gravest(&found), Some(HealthState::Replace));
        assert_eq!(found[0], HealthSign::UnreadableSectors(8));
        assert!(matches!(found[1], HealthSign::Growth { value: 8, growth: 5, days: 1, .. }), "{found:?}");
    }

    #[test]
    fn a_disk_that_answers_commands_but_no_reads_gets_a_sign() {
        let evidence = |failed_sessions| OwnEvidence { failed_sessions, ..OwnEvidence::default() };
        let found = |evidence| signs(NOW, MediaKind::Spinning, &DriveReport::default(), &BTreeMap::new(), &evidence);
        assert_eq!(found(evidence(2)), []);
        assert_eq!(gravest(&found(evidence(3))), Some(HealthState::Replace));
        let partly = found(OwnEvidence { reads_end: Some(40), ..evidence(3) });
        assert_eq!(gravest(&partly), Some(HealthState::Watch));
        assert_eq!(partly[0], HealthSign::ReadsEnd { sessions: 3, percent: 40 });
    }

    #[test]
    fn the_nvme_temperature_warning_alone_is_no_sign() {
        let found = |nvme_warning| {
            signs(
                NOW,
                MediaKind::Flash,
                &DriveReport { nvme_warning, ..DriveReport::default() },
                &BTreeMap::new(),
                &OwnEvidence::default(),
            )
        };
        assert_eq!(found(0x02), []);
        assert_eq!(found(0x06), [HealthSign::NvmeWarning(0x04)]);
    }
}
