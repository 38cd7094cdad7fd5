//! How an array is: missing, degraded, with lost data, with copies or parity that disagree, with stripes that are bad on two disks.

use crate::card;
use crate::line::{Label, Line, steps};
use crate::sentence::{Count, Said, Typed, sentences};
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange};
use scrubjay_watch::facts::ArrayKind;
use scrubjay_watch::pool::PoolLack;
use scrubjay_watch::problem::{ArrayCard, LostRedundancy, SharedDamage};

sentences! {
    pub(crate) ArrayWords: "An array: the subject of a message" {
        Missing { array: Said = card::Called::Array { name: "md0".into() } } => "DATA AT RISK {array}: it is not there",
        Degraded { array: Said = card::Called::Array { name: "md0".into() }, left: i64 = 1i64, redundancy: u32 = 2u32 } =>
            "DEGRADED {array}: redundancy {left} of {redundancy} left",
        NextLoses { array: Said = card::Called::Array { name: "md0".into() } } =>
            "DATA AT RISK {array}: degraded, the next failure loses data",
        NextMayLose { array: Said = card::Called::Array { name: "md0".into() } } =>
            "DATA AT RISK {array}: degraded, the next failure may lose data",
        TooMany { array: Said = card::Called::Array { name: "md0".into() } } => "DATA AT RISK {array}: too many disks are missing",
        Stripes { array: String = "md0", stripes: Count = Count(2, "stripe") } =>
            "REPLACE in array {array}: {stripes} bad on two or more disks",
        StripesLost { array: String = "md0", stripes: Count = Count(2, "stripe") } =>
            "DATA AT RISK array {array}: {stripes} may not be rebuilt",
        Lost { array: String = "md0", size: String = "4 KiB" } => "DATA AT RISK array {array}: {size} cannot be read or rebuilt",
        VolumeLost { volume: String = "tank", stripes: Said = LostStripes::Some { stripes: Count(3, "stripe") } } =>
            "DATA LOST in volume {volume}: {stripes}",
        Disagrees { array: String = "md0", flaws: Said = FlawWords::RightNow { count: 3 } } => "WATCH array {array}: {flaws}",
    }
}

sentences! {
    pub(crate) LostStripes: "Lost stripes of a volume" {
        One => "1 stripe holds lost data",
        Some { stripes: Count = Count(3, "stripe") } => "{stripes} hold lost data",
    }
}

sentences! {
    pub(crate) FlawWords: "What an array's own checker found" {
        OneRightNow => "1 place was wrong, and has been put right",
        RightNow { count: u64 = 3u64 } => "{count} places were wrong, and have been put right, or read right again",
        BtrfsLeft { places: Count = Count(2, "place") } => "{places} wrong, and not made right",
        VolumeLeft { rows: Count = Count(2, "row") } => "{rows} wrong on a member, and not made right",
        MdLeft { sectors: Count = Count(128, "sector") } => "{sectors} disagree between its members, or could not be compared",
        MdBeside => "sectors disagree, or were not compared",
        BtrfsBeside => "blocks wrong, not repaired",
        VolumeBeside => "rows wrong, not repaired",
    }
}

sentences! {
    pub(crate) ArrayLines: "An array: lines of a message" {
        GoneSince { name: String = "md0", level: String = "RAID6", date: String = "12 Mar 2026" } =>
            "{name} ({level}), not there since {date}",
        Lacks { name: String = "md0", level: String = "RAID6", how: Said = LackWords::Members { missing: 1, members: 8 } } =>
            "{name} ({level}), {how}",
        MayFail { disks: Count = Count(1, "more disk") } => "{disks} may fail without loss of data",
        NextLoses => "the next failure loses data",
        Lost => "data cannot be read until they are back",
        Damaged { name: String = "md0", level: String = "RAID6", damaged: Count = Count(3, "damaged stripe") } =>
            "{name} ({level}), {damaged}",
        Stripe { stripe: u64 = 81_920u64, disks: String = "sdb, sdc" } => "{stripe}: unreadable on {disks}",
        AtStake { size: String = "512 KiB" } => "at most {size} of data",
        Sectors { first: u64 = 2048u64, last: u64 = 2055u64 } => "sectors {first} to {last}",
        TooManyBad => "reads there fail; more of its members are bad there than it can do without",
        TooManyWereBad => "reads there fail; more of its members were bad there than it can do without",
        WasRepaired => "it was repaired from the other members, or was right when it was read again",
        ReadOnlyBtrfs => "a copy elsewhere is right, but here the file system is mounted read-only",
        VolumeRefused =>
            "the other members hold what is right, but that member's disk does not take it, or the volume is read-only",
        MayBeSwap => "in a RAID-1 or RAID-10 it may be swap, or a write that was under way; in others data or parity is wrong;",
        BadBlockLists =>
            "or a member's list of bad blocks has them (/sys/block/md*/md/dev-*/bad_blocks): there is less redundancy",
    }
}

sentences! {
    pub(crate) LackWords: "What an array lacks" {
        Members { missing: u64 = 1u64, members: u64 = 8u64 } => "{missing} of {members} members missing or not in sync",
        Filling => "a device is being filled; ZFS does not say which",
        Amiss => "ZFS calls it less than ONLINE; a spare may stand in for a device",
    }
}

sentences! {
    pub(crate) ArraySteps: "What to do about an array" {
        StartIt => "if enough of its disks are there: start or mount it; else look at their cables and power",
        ImportIt { pool: Typed = "tank" } => "if enough of its disks are there: sudo zpool import {pool}; else look at their cables and power",
        QuietOnceDown { name: Typed = "md0" } => "if it was taken down for good: sudo scrubjay forget {name}",
        WaitForZfs => "back up what has no backup yet, and wait: ZFS fills a device",
        HowFar { pool: Typed = "tank" } => "how far it is: sudo zpool status {pool}",
        NamesDevice { pool: Typed = "tank" } => "back up what has no backup yet; sudo zpool status {pool} names the device",
        LookAtCable => "look at the disk's cable, its power and its port",
        OnlineOrReplace { pool: Typed = "tank" } =>
            "when it is back: sudo zpool online {pool} DEVICE; else sudo zpool replace {pool} DEVICE NEW",
        BeingRebuilt => "it is being rebuilt: back up what has no backup yet, and wait; how far it is: cat /proc/mdstat",
        BringBack => "bring the missing disks back: look at their cables, power and ports; add and create nothing",
        AddOne => "back up what has no backup yet; add a disk in the place of the missing one",
        Backup => "back up what has no backup yet",
        AddInItsPlace => "if it stays away: add another one in its place",
        ReplaceOneByOne { array: Typed = "md0" } => "back up what has no backup yet; have its sectors rewritten: sudo scrubjay scrub-now {array}; then replace these disks one at a time",
        RestoreLost => "restore from a backup what lies there (docs/repair.md); then replace these disks one at a time",
        Restore => "restore what lies there from a backup; a sector that is written can be read again",
        WhichStripes { volume: Typed = "tank" } => "which stripes: sudo scrubjay volume findings {volume}",
        RestoreWritten => "restore what lies there from a backup: what is written there can be read again",
        Nothing => "nothing; if it happens again, see which member it is: journalctl -k",
        ScrubMounted => "run `scrubjay scrub` on its mount point, where it is mounted to be written",
        WhichMember => "see which member it is (`scrubjay volume status`), and replace its disk",
        Compare => "compare what lies there with a backup before anything repairs it; replace a member that has such a list",
    }
}

pub(crate) fn missing_headline(array: &ArrayCard) -> Said {
    ArrayWords::Missing { array: card::array_label(array) }.into()
}

pub(crate) fn missing_lines(array: &ArrayCard, date: String) -> Vec<Line> {
    let (name, level) = (array.name.clone(), array.level.clone());
    let look = match array.kind() {
        ArrayKind::Zfs => ArraySteps::ImportIt { pool: (&name).into() },
        _ => ArraySteps::StartIt,
    };
    let quiet = ArraySteps::QuietOnceDown { name: (&name).into() };
    vec![
        Line::of(Label::Array, ArrayLines::GoneSince { name, level, date }),
        Line::of(Label::Do, look),
        Line::of(Label::Quiet, quiet),
    ]
}

pub(crate) fn degraded_headline(lost: &LostRedundancy) -> Said {
    let LostRedundancy { array, left, is_layout_known, .. } = lost;
    let named = card::array_label(array);
    let words = match left {
        // Which mirrors the missing ones belong to is not known: as the array runs, they belong to different ones.
        i64::MIN..0 if !is_layout_known && array.is_md_raid10() => ArrayWords::NextMayLose { array: named },
        i64::MIN..0 => ArrayWords::TooMany { array: named },
        0 => ArrayWords::NextLoses { array: named },
        _ => ArrayWords::Degraded { array: named, left: *left, redundancy: array.redundancy },
    };
    words.into()
}

pub(crate) fn degraded_lines(lost: &LostRedundancy) -> Vec<Line> {
    let LostRedundancy { array, left, missing, lack, gone, .. } = lost;
    let how = match lack {
        PoolLack::Nothing => LackWords::Members { missing: *missing, members: array.members },
        PoolLack::Filling => LackWords::Filling,
        PoolLack::Amiss => LackWords::Amiss,
    };
    let (name, level) = (array.name.clone(), array.level.clone());
    let mut lines = vec![Line::of(Label::Array, ArrayLines::Lacks { name, level, how: how.into() })];
    match *left {
        // Nothing that is known to lack shows how much may still fail.
        _ if *lack == PoolLack::Amiss => {}
        i64::MIN..0 => lines.push(Line::of(Label::AtRisk, ArrayLines::Lost)),
        0 => lines.push(Line::of(Label::AtRisk, ArrayLines::NextLoses)),
        left => {
            let disks = Count(left.unsigned_abs(), "more disk");
            lines.push(Line::of(Label::AtRisk, ArrayLines::MayFail { disks }));
        }
    }
    lines.extend(gone.iter().map(card::disk_line));
    let pool = || Typed(array.name.clone());
    match (gone.is_empty(), array.kind()) {
        (true, ArrayKind::Zfs) if *lack == PoolLack::Filling => {
            lines.push(Line::of(Label::Do, ArraySteps::WaitForZfs));
            lines.push(Line::of(Label::More, ArraySteps::HowFar { pool: pool() }));
        }
        (_, ArrayKind::Zfs) => lines.extend(steps([
            ArraySteps::NamesDevice { pool: pool() }.into(),
            ArraySteps::LookAtCable.into(),
            ArraySteps::OnlineOrReplace { pool: pool() }.into(),
        ])),
        _ if lost.is_rebuilding => lines.push(Line::of(Label::Do, ArraySteps::BeingRebuilt)),
        _ if *left < 0 => lines.push(Line::of(Label::Do, ArraySteps::BringBack)),
        (true, _) => lines.push(Line::of(Label::Do, ArraySteps::AddOne)),
        (false, _) => lines.extend(steps([
            ArraySteps::Backup.into(),
            ArraySteps::LookAtCable.into(),
            ArraySteps::AddInItsPlace.into(),
        ])),
    }
    lines
}

pub(crate) fn stripes_headline(damage: &SharedDamage) -> Said {
    let array = damage.array.name.clone();
    match damage.lost {
        0 => ArrayWords::Stripes { array, stripes: Count(damage.shared, "stripe") }.into(),
        lost => ArrayWords::StripesLost { array, stripes: Count(lost, "stripe") }.into(),
    }
}

pub(crate) fn stripes_lines(damage: &SharedDamage) -> Vec<Line> {
    let SharedDamage { array, damaged, stripe, disks, bytes, .. } = damage;
    let (name, level) = (array.name.clone(), array.level.clone());
    vec![
        Line::of(Label::Array, ArrayLines::Damaged { name, level, damaged: Count(*damaged, "damaged stripe") }),
        Line::of(Label::Stripe, ArrayLines::Stripe { stripe: *stripe, disks: disks.join(", ") }),
        Line::of(Label::AtRisk, ArrayLines::AtStake { size: bytes.to_string() }),
        match damage.lost {
            0 => Line::of(Label::Do, ArraySteps::ReplaceOneByOne { array: (&array.name).into() }),
            _ => Line::of(Label::Do, ArraySteps::RestoreLost),
        },
    ]
}

pub(crate) fn lost_headline(array: &ArrayCard, sectors: u64) -> Said {
    let size = Bytes(sectors.saturating_mul(SECTOR_BYTES)).to_string();
    ArrayWords::Lost { array: array.name.clone(), size }.into()
}

pub(crate) fn lost_lines(array: &ArrayCard, runs: &[SectorRange]) -> Vec<Line> {
    let run = |run: &SectorRange| ArrayLines::Sectors { first: run.start.0, last: run.end.0.saturating_sub(1) };
    let mut lines = vec![card::array_line(array)];
    lines.extend(runs.iter().map(|range| Line::of(Label::Where, run(range))));
    lines.push(Line::of(Label::Meaning, ArrayLines::TooManyBad));
    lines.push(Line::of(Label::Do, ArraySteps::Restore));
    lines
}

/// `3 stripes hold lost data`.
pub(crate) fn lost_stripes(stripes: u64) -> Said {
    match stripes {
        1 => LostStripes::One.into(),
        _ => LostStripes::Some { stripes: Count(stripes, "stripe") }.into(),
    }
}

pub(crate) fn volume_lost_headline(array: &ArrayCard, stripes: u64) -> Said {
    ArrayWords::VolumeLost { volume: array.name.clone(), stripes: lost_stripes(stripes) }.into()
}

pub(crate) fn volume_lost_lines(array: &ArrayCard) -> Vec<Line> {
    vec![
        card::array_line(array),
        Line::of(Label::Meaning, ArrayLines::TooManyWereBad),
        Line::of(Label::Do, ArraySteps::WhichStripes { volume: (&array.name).into() }),
        Line::of(Label::More, ArraySteps::RestoreWritten),
    ]
}

pub(crate) fn flaws_headline(array: &ArrayCard, corrected: u64, mismatched: u64) -> Said {
    let flaws = match (mismatched, array.kind()) {
        (0, _) if corrected == 1 => FlawWords::OneRightNow,
        (0, _) => FlawWords::RightNow { count: corrected },
        (places, ArrayKind::Btrfs) => FlawWords::BtrfsLeft { places: Count(places, "place") },
        (rows, ArrayKind::Volume) => FlawWords::VolumeLeft { rows: Count(rows, "row") },
        (sectors, ArrayKind::Md | ArrayKind::Zfs) => FlawWords::MdLeft { sectors: Count(sectors, "sector") },
    };
    ArrayWords::Disagrees { array: array.name.clone(), flaws: flaws.into() }.into()
}

pub(crate) fn flaws_lines(array: &ArrayCard, mismatched: u64) -> Vec<Line> {
    let (meaning, more, advice) = match (mismatched, array.kind()) {
        (0, _) => (ArrayLines::WasRepaired, None, ArraySteps::Nothing),
        (_, ArrayKind::Btrfs) => (ArrayLines::ReadOnlyBtrfs, None, ArraySteps::ScrubMounted),
        (_, ArrayKind::Volume) => (ArrayLines::VolumeRefused, None, ArraySteps::WhichMember),
        (_, ArrayKind::Md | ArrayKind::Zfs) => {
            (ArrayLines::MayBeSwap, Some(ArrayLines::BadBlockLists), ArraySteps::Compare)
        }
    };
    let mut lines = vec![card::array_line(array), Line::of(Label::Meaning, meaning)];
    lines.extend(more.map(|more| Line::of(Label::More, more)));
    lines.push(Line::of(Label::Do, advice));
    lines
}

/// What is wrong with what an array's check left as it is, in some words after the count.
pub fn mismatched(kind: ArrayKind) -> Said {
    match kind {
        ArrayKind::Md => FlawWords::MdBeside.into(),
        ArrayKind::Btrfs | ArrayKind::Zfs => FlawWords::BtrfsBeside.into(),
        ArrayKind::Volume => FlawWords::VolumeBeside.into(),
    }
}
