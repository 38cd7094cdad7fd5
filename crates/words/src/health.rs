//! How a disk is: its signs, how often disks with such signs fail, and the message about it.

use crate::advice::{place_lines, steps_to_replace};
use crate::card;
use crate::line::{Label, Line, steps};
use crate::sentence::{Count, Said, Sentences, Typed, sentences};
use scrubjay_watch::counters::CounterKind;
use scrubjay_watch::facts::{ScsiSense, SmartRefusal};
use scrubjay_watch::health::{BaseRate, HealthSign, HealthState};
use scrubjay_watch::problem::{DiskEvidence, DiskMembership};
use scrubjay_watch::slowness::SlowBeside;

/// Signs of a disk that one message lists, at most.
const SIGNS_SHOWN_MAX: usize = 5;

sentences! {
    pub(crate) SignWords: "What speaks against a disk" {
        DriveSaysFailing => "the drive itself says that it is failing",
        Unreadable { sectors: Count = Count(8, "unreadable sector") } => "{sectors}",
        Rewritten { counter: Said = CounterWords::Pending, growth: u64 = 8u64, span: Count = Count(2, "day") } =>
            "{counter} {growth} within {span}, and none now",
        Grows { counter: Said = CounterWords::Pending, value: u64 = 8u64, growth: u64 = 5u64, span: Count = Count(1, "day") } =>
            "{counter} {value}, +{growth} in {span}",
        Level { counter: Said = CounterWords::Reallocated, value: u64 = 3u64 } => "{counter} {value}",
        Hot { celsius: i32 = 61i32 } => "{celsius} °C, too hot",
        DriveWarns { of: Said = WarningWords::VolatileCache } => "the drive warns: {of}",
        SpareLow { percent: u8 = 4u8 } => "only {percent} % of the spare blocks left",
        Worn { percent: u8 = 97u8 } => "{percent} % of its endurance used",
        SelfTest { failed: Said = SelfTestWords::At { lba: 7 } } => "{failed}",
        OldSelfTest { failed: Said = SelfTestWords::Failed } => "{failed}, long ago, and none has been completed since",
        NoReads { attempts: Count = Count(3, "attempt") } => "it answers, but no reads ({attempts})",
        ReadsEnd { percent: u8 = 40u8, attempts: Count = Count(3, "attempt") } =>
            "its reads end after {percent} % of the disk ({attempts})",
        NoVerdict { sectors: Count = Count(2048, "sector") } => "no verdict on {sectors}: reads ended before them",
        Retries { reads: Count = Count(4, "read") } => "{reads} succeeded only at the second attempt",
        Failed { requests: Said = FailedWords::Reads { reads: Count(3, "read") } } => "{requests}, asked for by programs",
        Slower { percent: u32 = 60u32 } => "reads take {percent} % longer than before",
        SlowerThanBefore { percent: u32 = 60u32 } => "reading takes {percent} % longer than in its first passes, day after day",
        SlowerThanSiblings { percent: u32 = 60u32, disks: Count = Count(3, "other") } =>
            "reading takes {percent} % longer than at {disks} of its model, day after day",
        SlowWay { percent: u32 = 60u32, disks: Count = Count(4, "disk") } =>
            "reading takes {percent} % longer than before on all {disks} behind its controller: look there first",
        SlowPlaces { places: Count = Count(2, "place") } => "{places} slower than those around, pass after pass",
        LinkResets { times: Count = Count(3, "time") } => "its link was reset {times}: check cable, port and power",
        Cable { counter: Said = CounterWords::CableErrors, growth: u64 = 3u64 } => "{counter} +{growth}: check cable and port",
    }
}

sentences! {
    pub(crate) SelfTestWords: "How a drive's own test failed" {
        Failed => "its own self-test failed",
        At { lba: u64 = 7u64 } => "its own self-test could not read sector {lba}",
    }
}

sentences! {
    pub(crate) CounterWords: "Names of SMART counters" {
        Reallocated => "remapped sectors (5)",
        Reported => "reported uncorrectable errors (187)",
        Pending => "pending sectors (197)",
        Uncorrectable => "uncorrectable sectors (198)",
        MediaErrors => "media errors",
        TimedOut => "command time-outs (188)",
        CableErrors => "transfer errors (199)",
    }
}

sentences! {
    pub(crate) WarningWords: "What a drive warns of (SPC-5, annex F; NVMe base specification 2.0, figure 207)" {
        Enclosure => "its enclosure is degraded",
        BackgroundTest => "its background self-test failed",
        BackgroundScan => "its background scan found a medium error",
        VolatileCache => "its cache is volatile now",
        CachePower => "the power of its cache is degraded",
        PowerLoss => "a loss of power is expected",
        NvmeSpare => "its spare blocks are below its own threshold",
        NvmeTemperature => "its temperature",
        NvmeReliability => "its reliability is degraded",
        NvmeReadOnly => "it can only be read now",
        NvmeBackup => "its volatile memory has no backup",
        NvmePersistent => "its persistent memory can only be read now",
        NvmeBit { bit: usize = 6usize } => "something unknown (bit {bit})",
        Unknown => "of what is not known",
    }
}

sentences! {
    pub(crate) FailedWords: "Requests of programs that failed" {
        Reads { reads: Count = Count(3, "read") } => "{reads} failed",
        Writes { writes: Count = Count(1, "write") } => "{writes} failed",
        Both { reads: Count = Count(3, "read"), writes: Count = Count(1, "write") } => "{reads} and {writes} failed",
    }
}

sentences! {
    pub(crate) RateWords: "How often disks with such signs fail" {
        NoSign => "0.006 % of drives without a sign fail within a week; but a quarter of those that fail gave none",
        OneSign => "drives with one such sign fail 7.6 times as often within a week as drives without",
        TwoSigns => "drives with two such signs, or a high one, fail 74 times as often within a week",
        MoreErrors => "of drives with an unreadable sector 55 to 62 % have another within a month",
        FlashLostRead => "of flash drives that lost a read 30 % lose another one in the next month",
        FlashRemapped => "30 to 80 % of flash drives remap a block in their first four years; a few are usual, hundreds are not",
    }
}

sentences! {
    pub(crate) SourceWords: "Who counted" {
        Backblaze => "Backblaze's data of 2026-Q1, 351,000 drives",
        Fast16 => "Schroeder, Lagisetty & Merchant, FAST'16, flash drives of ten models over six years",
        Sigmetrics07 => "Bairavasundaram et al., SIGMETRICS'07, 1.53 million drives",
        InBrackets { source: Said = SourceWords::Backblaze } => "({source})",
    }
}

sentences! {
    pub(crate) RefusalWords: "Why there are no SMART data" {
        NoPermission => "SMART may not be read: no permission (run as root)",
        NotSupported => "no SMART: the drive has none, or it is off, or its USB bridge hides it",
        NoCounters => "its SMART data have no counter that foretells failures",
        NoProgram => "SMART cannot be read: install smartctl 7.0 or later",
        NoAnswer => "the drive did not answer SMART",
        NotRead => "SMART has not been read for more than a day",
    }
}

sentences! {
    pub(crate) DiskWords: "A disk: the subject of a message, and its lines" {
        Replace { disk: Said = card::example_label(), sign: Said = SignWords::Unreadable { sectors: Count(8, "unreadable sector") } } =>
            "REPLACE {disk}: {sign}",
        Hot { disk: Said = card::example_label(), sign: Said = SignWords::Hot { celsius: 61 } } => "HOT {disk}: {sign}",
        Worn { disk: Said = card::example_label(), sign: Said = SignWords::Worn { percent: 97 } } => "WORN {disk}: {sign}",
        Watch { disk: Said = card::example_label(), sign: Said = SignWords::Retries { reads: Count(4, "read") } } =>
            "WATCH {disk}: {sign}",
        Missing { disk: Said = card::example_label() } => "MISSING {disk}: look at its cable and power first",
        NotKnown { disk: Said = card::example_label() } => "NOTICE {disk}: its state is not known",
        AndMore { count: usize = 3usize } => "and {count} more",
        SaysPassed => "says of itself: passed",
        SaysFailing => "says of itself: failing",
        SaysNothing => "says nothing of itself",
        MissingSince { date: String = "12 Mar 2026" } => "since {date}",
        ReadAllTheSame => "It is read like the others; what its own counters say is not known.",
        InArray {
            name: String = "md0",
            level: String = "RAID6",
            left: i64 = 1i64,
            redundancy: u32 = 2u32,
            stripes: Said = StripeWords::None,
        } => "{name} ({level}): redundancy {left} of {redundancy} left; {stripes}",
    }
}

sentences! {
    pub(crate) StripeWords: "Stripes with unreadable sectors" {
        LayoutUnknown => "its layout is not known",
        None => "no damaged stripe is known",
        Some { damaged: Count = Count(3, "damaged stripe"), shared: u64 = 1u64 } => "{damaged}, of which {shared} on two disks",
    }
}

sentences! {
    pub(crate) DiskSteps: "What to do about a disk" {
        LookAtHeat => "look at its fan, its airflow and its neighbours: heat is a fault of its place",
        NotReadUntilCool => "It is not read until it has cooled down.",
        PlanToReplace => "back up what it holds, and plan to replace it, without haste: it may last",
        NothingYet => "nothing yet; you get a message if it becomes worse",
        CheckCable => "check its cable, power and port; you get a message if it becomes worse",
        LookAtCable => "look at its cable, its power and its port",
        AnotherPort => "try another port",
        OnlyThen => "only if it stays away: replace it",
        QuietUntilGrown { key: Typed = "5000c500a1b2c3d4" } => "until it grows: sudo scrubjay accept {key}",
        QuietOnceOut { key: Typed = "5000c500a1b2c3d4" } => "once it is taken out: sudo scrubjay forget {key}",
        QuietIfItCannot { key: Typed = "5000c500a1b2c3d4" } => "and all else that was reported of it: sudo scrubjay accept {key}",
    }
}

/// A sign.
pub fn sign(sign: &HealthSign) -> Said {
    let words = match *sign {
        HealthSign::DriveSaysFailing => SignWords::DriveSaysFailing,
        HealthSign::UnreadableSectors(count) => SignWords::Unreadable { sectors: Count(count, "unreadable sector") },
        HealthSign::Growth { kind, value: 0, growth, days, .. } => {
            SignWords::Rewritten { counter: counter(kind), growth, span: Count(days, "day") }
        }
        HealthSign::Growth { kind, value, growth, days, .. } => {
            SignWords::Grows { counter: counter(kind), value, growth, span: Count(days, "day") }
        }
        HealthSign::Level { kind, value, .. } => SignWords::Level { counter: counter(kind), value },
        HealthSign::Hot(celsius) => SignWords::Hot { celsius },
        HealthSign::DriveWarns(sense) => SignWords::DriveWarns { of: warning(sense) },
        HealthSign::NvmeWarning(bits) => SignWords::DriveWarns { of: nvme_warnings(bits) },
        HealthSign::SpareLow(percent) => SignWords::SpareLow { percent },
        HealthSign::Worn(percent) => SignWords::Worn { percent },
        HealthSign::SelfTestFailed { lba, is_old } => {
            let failed = lba.map_or(SelfTestWords::Failed, |lba| SelfTestWords::At { lba }).into();
            if is_old { SignWords::OldSelfTest { failed } } else { SignWords::SelfTest { failed } }
        }
        HealthSign::NoReads(sessions) => SignWords::NoReads { attempts: Count(sessions.into(), "attempt") },
        HealthSign::ReadsEnd { sessions, percent } => {
            SignWords::ReadsEnd { percent, attempts: Count(sessions.into(), "attempt") }
        }
        HealthSign::NoVerdict { sectors, .. } => SignWords::NoVerdict { sectors: Count(sectors, "sector") },
        HealthSign::Retries(count) => SignWords::Retries { reads: Count(count, "read") },
        HealthSign::Slower(percent) => SignWords::Slower { percent },
        HealthSign::Slow { percent, beside: SlowBeside::Past } => SignWords::SlowerThanBefore { percent },
        HealthSign::Slow { percent, beside: SlowBeside::Siblings(disks) } => {
            SignWords::SlowerThanSiblings { percent, disks: Count(disks as u64, "other") }
        }
        HealthSign::Slow { percent, beside: SlowBeside::Way(disks) } => {
            SignWords::SlowWay { percent, disks: Count(disks as u64, "disk") }
        }
        HealthSign::SlowPlaces(places) => SignWords::SlowPlaces { places: Count(u64::from(places), "place") },
        HealthSign::LinkResets(count) => SignWords::LinkResets { times: Count(count, "time") },
        HealthSign::FailedRequests { reads, writes } => SignWords::Failed { requests: failed(reads, writes) },
        HealthSign::Cable { kind, growth } => SignWords::Cable { counter: counter(kind), growth },
    };
    words.into()
}

/// The name of a counter.
pub fn counter(kind: CounterKind) -> Said {
    let words = match kind {
        CounterKind::Reallocated => CounterWords::Reallocated,
        CounterKind::Reported => CounterWords::Reported,
        CounterKind::Pending => CounterWords::Pending,
        CounterKind::Uncorrectable => CounterWords::Uncorrectable,
        CounterKind::MediaErrors => CounterWords::MediaErrors,
        CounterKind::TimedOut => CounterWords::TimedOut,
        CounterKind::CableErrors => CounterWords::CableErrors,
    };
    words.into()
}

fn warning(sense: ScsiSense) -> Said {
    let words = match (sense.asc, sense.ascq) {
        (0x0b, 0x02) => WarningWords::Enclosure,
        (0x0b, 0x03) => WarningWords::BackgroundTest,
        (0x0b, 0x04 | 0x05) => WarningWords::BackgroundScan,
        (0x0b, 0x06) => WarningWords::VolatileCache,
        (0x0b, 0x07) => WarningWords::CachePower,
        (0x0b, 0x08) => WarningWords::PowerLoss,
        _ => WarningWords::Unknown,
    };
    words.into()
}

/// What the bits of NVMe's critical warning mean.
pub fn nvme_warnings(bits: u8) -> Said {
    let of_bit = |bit: usize| match bit {
        0 => WarningWords::NvmeSpare,
        1 => WarningWords::NvmeTemperature,
        2 => WarningWords::NvmeReliability,
        3 => WarningWords::NvmeReadOnly,
        4 => WarningWords::NvmeBackup,
        5 => WarningWords::NvmePersistent,
        bit => WarningWords::NvmeBit { bit },
    };
    let raised = (0..8).filter(|bit| bits & (1 << bit) != 0);
    crate::sentence::joined(raised.map(|bit| of_bit(bit).into()), ", ")
}

/// How often disks with such a sign fail, and who counted.
pub fn base_rate(rate: BaseRate) -> (Said, Said) {
    let (words, source) = match rate {
        BaseRate::NoSign => (RateWords::NoSign, SourceWords::Backblaze),
        BaseRate::OneSign => (RateWords::OneSign, SourceWords::Backblaze),
        BaseRate::TwoSigns => (RateWords::TwoSigns, SourceWords::Backblaze),
        BaseRate::MoreErrors => (RateWords::MoreErrors, SourceWords::Sigmetrics07),
        BaseRate::FlashLostRead => (RateWords::FlashLostRead, SourceWords::Fast16),
        BaseRate::FlashRemapped => (RateWords::FlashRemapped, SourceWords::Fast16),
    };
    (words.into(), source.into())
}

/// Why there are no SMART data.
pub fn refusal(refusal: SmartRefusal) -> Said {
    let words = match refusal {
        SmartRefusal::NoPermission => RefusalWords::NoPermission,
        SmartRefusal::NotSupported => RefusalWords::NotSupported,
        SmartRefusal::NoCounters => RefusalWords::NoCounters,
        SmartRefusal::NoProgram => RefusalWords::NoProgram,
        SmartRefusal::NoAnswer => RefusalWords::NoAnswer,
    };
    words.into()
}

/// So many reads and writes.
pub(crate) fn failed(reads: u64, writes: u64) -> Said {
    let (reads_words, writes_words) = (Count(reads, "read"), Count(writes, "write"));
    match (reads, writes) {
        (_, 0) => FailedWords::Reads { reads: reads_words },
        (0, _) => FailedWords::Writes { writes: writes_words },
        _ => FailedWords::Both { reads: reads_words, writes: writes_words },
    }
    .into()
}

pub(crate) fn headline(evidence: &DiskEvidence) -> Said {
    let disk = card::disk_label(&evidence.disk);
    let sign = evidence.signs.first().map(sign).unwrap_or_default();
    let words = match evidence.state() {
        HealthState::Replace => DiskWords::Replace { disk, sign },
        HealthState::Hot => DiskWords::Hot { disk, sign },
        HealthState::Worn => DiskWords::Worn { disk, sign },
        _ => DiskWords::Watch { disk, sign },
    };
    words.into()
}

pub(crate) fn lines(evidence: &DiskEvidence) -> Vec<Line> {
    let DiskEvidence { disk, signs, passed, arrays } = evidence;
    let mut lines = vec![card::disk_line(disk)];
    lines.extend(signs.iter().take(SIGNS_SHOWN_MAX).map(|one| Line::of(Label::Sign, sign(one))));
    if signs.len() > SIGNS_SHOWN_MAX {
        lines.push(Line::of(Label::More, DiskWords::AndMore { count: signs.len() - SIGNS_SHOWN_MAX }));
    }
    if let Some(rate) = signs.iter().find_map(HealthSign::base_rate) {
        let (words, source) = base_rate(rate);
        lines.push(Line::of(Label::Meaning, words));
        lines.push(Line::of(Label::More, SourceWords::InBrackets { source }));
    }
    let says = match passed {
        Some(true) => DiskWords::SaysPassed,
        Some(false) => DiskWords::SaysFailing,
        None => DiskWords::SaysNothing,
    };
    lines.push(Line::of(Label::Drive, says));
    lines.extend(arrays.iter().map(|array| Line::of(Label::Array, membership(array))));
    match evidence.state() {
        HealthState::Replace => lines.extend(steps(steps_to_replace(evidence))),
        HealthState::Hot => {
            lines.push(Line::of(Label::Do, DiskSteps::LookAtHeat));
            lines.push(Line::of(Label::More, DiskSteps::NotReadUntilCool));
        }
        HealthState::Worn => lines.push(Line::of(Label::Do, DiskSteps::PlanToReplace)),
        _ if signs.iter().any(|sign| matches!(sign, HealthSign::Cable { .. })) => {
            lines.push(Line::of(Label::Do, DiskSteps::CheckCable));
        }
        _ => lines.push(Line::of(Label::Do, DiskSteps::NothingYet)),
    }
    lines.extend(place_lines(evidence));
    lines.push(Line::of(Label::Quiet, DiskSteps::QuietUntilGrown { key: (&disk.key.0).into() }));
    lines
}

pub(crate) fn membership(membership: &DiskMembership) -> Said {
    let DiskMembership { array, left, damaged, .. } = membership;
    let stripes = match *damaged {
        None => StripeWords::LayoutUnknown,
        Some((0, _)) => StripeWords::None,
        Some((damaged, shared)) => StripeWords::Some { damaged: Count(damaged, "damaged stripe"), shared },
    };
    DiskWords::InArray {
        name: array.name.clone(),
        level: array.level.clone(),
        left: *left,
        redundancy: array.redundancy,
        stripes: stripes.into(),
    }
    .said()
}
