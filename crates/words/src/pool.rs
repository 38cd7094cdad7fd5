//! How a pool of ZFS is: lost data, errors at its members, scrubs that are overdue, and what nobody can tell.

use crate::card;
use crate::date::show_date;
use crate::hold::{ScanWords, pool_scan};
use crate::line::{Label, Line, steps};
use crate::sentence::{Count, Said, Typed, sentences};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::pool::{LastScrub, PoolDamage, PoolScan};
use scrubjay_watch::problem::{ArrayCard, PoolTrouble};

/// Members with errors that one message lists, at most.
const ERRORS_SHOWN_MAX: usize = 5;

sentences! {
    pub(crate) PoolWords: "A pool of ZFS: the subject of a message" {
        Lost { pool: String = "tank", damage: Said = DamageWords::Files { files: Count(3, "file") } } =>
            "DATA LOST in pool {pool}: {damage}",
        Failed { pool: String = "tank", state: String = "SUSPENDED" } =>
            "DATA AT RISK pool {pool}: it is {state}, and does not serve its data",
        Errors { pool: String = "tank", errors: Count = Count(4, "error"), member: String = "sdc" } =>
            "WATCH pool {pool}: {errors} at {member}",
        LossUnknown { pool: String = "tank" } => "NOTICE pool {pool}: whether it has lost data is not known",
        NotScrubbedFor { pool: String = "tank", days: Count = Count(45, "day") } => "NOTICE pool {pool}: not scrubbed for {days}",
        NeverScrubbed { pool: String = "tank" } => "NOTICE pool {pool}: it has never been scrubbed",
        NoScrubSince { pool: String = "tank", date: String = "12 Mar 2026" } => "NOTICE pool {pool}: no scrub known since {date}",
    }
}

sentences! {
    pub(crate) DamageWords: "What a pool has lost" {
        Blocks { blocks: Count = Count(194, "block") } => "{blocks} lost",
        Files { files: Count = Count(3, "file") } => "{files} damaged",
        Objects { objects: Count = Count(2, "object") } => "{objects} damaged",
        Both { files: Count = Count(1, "file"), objects: Count = Count(2, "other object") } => "{files} and {objects} damaged",
    }
}

sentences! {
    pub(crate) PoolLines: "A pool of ZFS: lines of a message" {
        File { name: String = "/tank/photos/2019.tar" } => "{name}",
        AndMore { count: u64 = 7u64 } => "and {count} more",
        Errors { member: String = "sdc", count: u64 = 4u64 } => "{member}: {count}",
        ReadsFail => "reads there fail: no copy of these blocks is right",
        TooManyGone { state: String = "SUSPENDED" } => "{state}, in ZFS's word: what follows of lost files may be but an effect of that",
        WhatErrorsAre => "reads, writes or checksums that failed there; ZFS repairs what it can from other copies",
        Why { why: String = "zpool is not installed" } => "{why}",
        OnlineTells => "a pool that has lost data may call itself ONLINE",
        OnlyZfsCompares => "only ZFS's own scrub compares what is stored with its checksums, and repairs it",
        ScrubbedOn { date: String = "12 Mar 2026" } => "{date}",
        NeverScrubbed => "never",
        NotSince { date: String = "12 Mar 2026" } => "not since {date}, as far as is known",
        ScansNow { scan: Said = ScanWords::PausedAt { percent: 40 } } => "{scan}",
    }
}

sentences! {
    pub(crate) PoolSteps: "What to do about a pool of ZFS" {
        Restore { pool: Typed = "tank" } => "restore these files from a backup; all names: sudo zpool status -v {pool}",
        ThenScrub { pool: Typed = "tank" } =>
            "then sudo zpool scrub {pool}: a file stays listed until a second scrub finds it whole",
        MakeAnew => "if <metadata> stays damaged: make the pool anew, and restore all of it",
        LookAtDisks => "look at the disks' cables, power and ports",
        ClearWhenBack { pool: Typed = "tank" } => "when they answer again: sudo zpool clear {pool}",
        LookAtDisk => "look at this disk's cable, its power and its SMART state",
        ClearAndScrub { pool: Typed = "tank" } => "sudo zpool clear {pool} && sudo zpool scrub {pool}",
        ReplaceIfAgain { pool: Typed = "tank" } =>
            "if errors come again: sudo zpool replace {pool} OLD NEW, OLD being its name in sudo zpool status",
        AskStatus { pool: Typed = "tank" } => "install what it needs (zfsutils-linux); then: sudo zpool status -v {pool}",
        LetItAsk => "if the service may not ask: docs/watch.md, \"What the unit forbids\"",
        Quiet { pool: Typed = "tank" } => "and all else that was reported of it: sudo scrubjay accept {pool}",
        ScrubMonthly { pool: Typed = "tank" } => "sudo zpool scrub {pool}; have a timer do it every month",
    }
}

/// What is lost, in some words: `3 files damaged`, `1 file and 2 other objects damaged`, `194 blocks lost`.
pub fn damage(damage: &PoolDamage) -> Said {
    let words = match (damage.files, damage.objects) {
        (0, 0) => DamageWords::Blocks { blocks: Count(damage.blocks, "block") },
        (0, objects) => DamageWords::Objects { objects: Count(objects, "object") },
        (files, 0) => DamageWords::Files { files: Count(files, "file") },
        (files, objects) => DamageWords::Both { files: Count(files, "file"), objects: Count(objects, "other object") },
    };
    words.into()
}

pub(crate) fn lost_headline(trouble: &PoolTrouble) -> Said {
    let pool = trouble.array.name.clone();
    match (&trouble.failed, &trouble.lost) {
        (Some(state), _) => PoolWords::Failed { pool, state: state.clone() }.into(),
        (None, Some(lost)) => PoolWords::Lost { pool, damage: damage(lost) }.into(),
        (None, None) => PoolWords::LossUnknown { pool }.into(),
    }
}

pub(crate) fn lost_lines(trouble: &PoolTrouble) -> Vec<Line> {
    let PoolTrouble { array, lost, errors, failed } = trouble;
    let pool = || Typed(array.name.clone());
    let mut lines = vec![card::array_line(array)];
    if let Some(state) = failed {
        lines.push(Line::of(Label::State, PoolLines::TooManyGone { state: state.clone() }));
        lines.extend(steps([PoolSteps::LookAtDisks.into(), PoolSteps::ClearWhenBack { pool: pool() }.into()]));
    }
    if let Some(lost) = lost {
        lines.extend(lost.names.iter().map(|name| Line::of(Label::File, PoolLines::File { name: name.clone() })));
        let more = (lost.files + lost.objects).saturating_sub(lost.names.len() as u64);
        if more > 0 {
            lines.push(Line::of(Label::More, PoolLines::AndMore { count: more }));
        }
        lines.extend(error_lines(errors));
        lines.push(Line::of(Label::Meaning, PoolLines::ReadsFail));
        lines.push(Line::of(Label::Do, PoolSteps::Restore { pool: pool() }));
        lines.push(Line::of(Label::More, PoolSteps::ThenScrub { pool: pool() }));
        if lost.is_metadata && failed.is_none() {
            lines.push(Line::of(Label::More, PoolSteps::MakeAnew));
        }
    }
    lines
}

fn error_lines(errors: &[(String, u64)]) -> impl Iterator<Item = Line> {
    let line = |(member, count): &(String, u64)| PoolLines::Errors { member: member.clone(), count: *count };
    errors.iter().take(ERRORS_SHOWN_MAX).map(move |error| Line::of(Label::Errors, line(error)))
}

pub(crate) fn errors_headline(array: &ArrayCard, errors: &[(String, u64)]) -> Said {
    let (member, count) = errors.iter().max_by_key(|(_, count)| *count).cloned().unwrap_or_default();
    PoolWords::Errors { pool: array.name.clone(), errors: Count(count, "error"), member }.into()
}

pub(crate) fn errors_lines(array: &ArrayCard, errors: &[(String, u64)]) -> Vec<Line> {
    let pool = || Typed(array.name.clone());
    let mut lines = vec![card::array_line(array)];
    lines.extend(error_lines(errors));
    lines.push(Line::of(Label::Meaning, PoolLines::WhatErrorsAre));
    lines.extend(steps([
        PoolSteps::LookAtDisk.into(),
        PoolSteps::ClearAndScrub { pool: pool() }.into(),
        PoolSteps::ReplaceIfAgain { pool: pool() }.into(),
    ]));
    lines
}

pub(crate) fn unknown_headline(array: &ArrayCard) -> Said {
    PoolWords::LossUnknown { pool: array.name.clone() }.into()
}

pub(crate) fn unknown_lines(array: &ArrayCard, why: &str) -> Vec<Line> {
    let pool = || Typed(array.name.clone());
    vec![
        card::array_line(array),
        Line::of(Label::Unknown, PoolLines::Why { why: why.to_owned() }),
        Line::of(Label::Meaning, PoolLines::OnlineTells),
        Line::of(Label::Do, PoolSteps::AskStatus { pool: pool() }),
        Line::of(Label::More, PoolSteps::LetItAsk),
        Line::of(Label::Quiet, PoolSteps::Quiet { pool: pool() }),
    ]
}

pub(crate) fn unscrubbed_headline(
    array: &ArrayCard,
    last: LastScrub,
    days: u64,
    since: UnixSeconds,
    calendar: &dyn Calendar,
) -> Said {
    let pool = array.name.clone();
    let words = match last {
        LastScrub::Ended(_) => PoolWords::NotScrubbedFor { pool, days: Count(days, "day") },
        LastScrub::Never => PoolWords::NeverScrubbed { pool },
        LastScrub::Unknown => PoolWords::NoScrubSince { pool, date: show_date(calendar, since) },
    };
    words.into()
}

pub(crate) fn unscrubbed_lines(
    array: &ArrayCard,
    last: LastScrub,
    since: UnixSeconds,
    scan: PoolScan,
    calendar: &dyn Calendar,
) -> Vec<Line> {
    let scrubbed = match last {
        LastScrub::Ended(at) => PoolLines::ScrubbedOn { date: show_date(calendar, at) },
        LastScrub::Never => PoolLines::NeverScrubbed,
        LastScrub::Unknown => PoolLines::NotSince { date: show_date(calendar, since) },
    };
    let mut lines = vec![card::array_line(array), Line::of(Label::Scrubbed, scrubbed)];
    if scan != PoolScan::Idle {
        lines.push(Line::of(Label::Now, PoolLines::ScansNow { scan: pool_scan(scan) }));
    }
    lines.push(Line::of(Label::Meaning, PoolLines::OnlyZfsCompares));
    lines.push(Line::of(Label::Do, PoolSteps::ScrubMonthly { pool: (&array.name).into() }));
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_objects_are_counted_apart() {
        let words = |names: &[&str]| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            String::from(damage(&PoolDamage::of(7, &names)))
        };
        assert_eq!(words(&[]), "7 blocks lost");
        assert_eq!(words(&["/tank/a"]), "1 file damaged");
        assert_eq!(words(&["<metadata>:<0x1>", "tank:<0x24>"]), "2 objects damaged");
        assert_eq!(words(&["/tank/a", "tank/b@c:/d", "tank:<0x24>"]), "2 files and 1 other object damaged");
    }
}
