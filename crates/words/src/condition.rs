//! What is wrong, in words: the headline of a condition, and the lines of a message about it; and an example of each problem.

use crate::health::{DiskSteps, DiskWords, RefusalWords};
use crate::line::{Label, Line, steps};
use crate::sentence::{Said, sentences};
use crate::{array, card, channel, health, history, pool, reading};
use scrubjay_core::units::{Bytes, SectorRange, UnixSeconds};
use scrubjay_watch::calendar::{Calendar, LocalDay};
use scrubjay_watch::channel::ProofState;
use scrubjay_watch::counters::CounterKind;
use scrubjay_watch::facts::{DiskKey, MediaKind, SmartRefusal};
use scrubjay_watch::failures::{ContentsKind, FailedRequests, FailureCause, PlaceContents};
use scrubjay_watch::health::HealthSign;
use scrubjay_watch::hold::{HoldBack, SessionFault};
use scrubjay_watch::incident::{Condition, Urgency};
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::pool::{LastScrub, PoolDamage, PoolLack, PoolScan};
use scrubjay_watch::problem::{
    ArrayCard, DiskCard, DiskEvidence, DiskFailures, DiskMembership, IncidentKind, LostRedundancy, PoolTrouble,
    Problem, ReadingHelp, SharedDamage, SubjectCard, UnreadSectors,
};

sentences! {
    pub(crate) HeldWords: "What is not read meanwhile" {
        NotRead { names: Said = card::Called::Array { name: "md0".into() } } => "{names}: not read meanwhile, though due",
        NotReadAndMore { names: Said = card::Called::Array { name: "md0".into() }, more: usize = 3usize } =>
            "{names} and {more} more: not read meanwhile, though due",
    }
}

sentences! {
    pub(crate) RecordedWords: "What an earlier version found, until it is judged anew" {
        Headline { headline: String = "REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors" } => "{headline}",
    }
}

/// The condition in one line, for a lock screen: it begins with the word of what to do, such as REPLACE.
pub fn headline(condition: &Condition, calendar: &dyn Calendar) -> Said {
    match &condition.problem {
        Problem::Disk(evidence) => health::headline(evidence),
        Problem::DiskMissing(disk, _) => DiskWords::Missing { disk: card::disk_label(disk) }.into(),
        Problem::ArrayMissing(array, _) => array::missing_headline(array),
        Problem::DiskUnknown(disk, _) => DiskWords::NotKnown { disk: card::disk_label(disk) }.into(),
        Problem::Failures(failures) => crate::failures::headline(failures),
        Problem::PoolUnknown(array, _) => pool::unknown_headline(array),
        Problem::Unread(sectors) => reading::unread_headline(sectors, calendar),
        Problem::Unscrubbed { array, last, days, since, .. } => {
            pool::unscrubbed_headline(array, *last, *days, *since, calendar)
        }
        Problem::Hangs(subject) => reading::hangs_headline(subject),
        Problem::Refused(subject, since, _) => reading::refused_headline(subject, *since, calendar),
        Problem::Degraded(lost) => array::degraded_headline(lost),
        Problem::Stripes(damage) => array::stripes_headline(damage),
        Problem::Lost(array, sectors, _) => array::lost_headline(array, *sectors),
        Problem::VolumeLost(array, stripes) => array::volume_lost_headline(array, *stripes),
        Problem::PoolLost(trouble) => pool::lost_headline(trouble),
        Problem::Disagreement { array, corrected, mismatched } => array::flaws_headline(array, *corrected, *mismatched),
        Problem::PoolErrors(array, errors) => pool::errors_headline(array, errors),
        Problem::Unproven(name, proof) => channel::unproven_headline(name, *proof, calendar),
        Problem::Undelivered(name, since) => channel::undelivered_headline(name, *since, calendar),
        Problem::Recipients(name, refused) => channel::recipients_headline(name, refused),
        Problem::History(loss) => history::headline(loss),
        Problem::Recorded(_, headline) => RecordedWords::Headline { headline: headline.clone() }.into(),
    }
}

/// Further lines of the message about it.
pub(crate) fn lines(condition: &Condition, calendar: &dyn Calendar) -> Vec<Line> {
    let date = |at| crate::date::show_date(calendar, at);
    let mut lines = match &condition.problem {
        Problem::Disk(evidence) => health::lines(evidence),
        Problem::DiskMissing(disk, since) => missing(disk, date(*since)),
        Problem::ArrayMissing(array, since) => array::missing_lines(array, date(*since)),
        Problem::DiskUnknown(disk, refused) => unknown(disk, *refused),
        Problem::Failures(failures) => crate::failures::lines(failures, date(failures.since)),
        Problem::PoolUnknown(array, why) => pool::unknown_lines(array, why),
        Problem::Unread(sectors) => reading::unread_lines(sectors, calendar),
        Problem::Unscrubbed { array, last, since, scan, .. } => {
            pool::unscrubbed_lines(array, *last, *since, *scan, calendar)
        }
        Problem::Hangs(subject) => reading::hangs_lines(subject),
        Problem::Refused(subject, _, fault) => reading::refused_lines(subject, fault),
        Problem::Degraded(lost) => array::degraded_lines(lost),
        Problem::Stripes(damage) => array::stripes_lines(damage),
        Problem::Lost(array, _, runs) => array::lost_lines(array, runs),
        Problem::VolumeLost(array, _) => array::volume_lost_lines(array),
        Problem::PoolLost(trouble) => pool::lost_lines(trouble),
        Problem::Disagreement { array, mismatched, .. } => array::flaws_lines(array, *mismatched),
        Problem::PoolErrors(array, errors) => pool::errors_lines(array, errors),
        Problem::Unproven(_, proof) => channel::unproven_lines(*proof),
        Problem::Undelivered(..) => channel::undelivered_lines(),
        Problem::Recipients(_, refused) => channel::recipients_lines(refused),
        Problem::History(loss) => history::lines(loss, calendar),
        Problem::Recorded(..) => Vec::new(),
    };
    if !condition.held.is_empty() {
        let names = crate::sentence::joined(condition.held.iter().map(card::label), ", ");
        let words = match condition.held_more {
            0 => HeldWords::NotRead { names },
            more => HeldWords::NotReadAndMore { names, more },
        };
        lines.push(Line::of(Label::HeldBack, words));
    }
    lines
}

fn missing(disk: &DiskCard, date: String) -> Vec<Line> {
    let mut lines = vec![card::disk_line(disk), Line::of(Label::Missing, DiskWords::MissingSince { date })];
    lines.extend(steps([DiskSteps::LookAtCable.into(), DiskSteps::AnotherPort.into(), DiskSteps::OnlyThen.into()]));
    lines.push(Line::of(Label::Quiet, DiskSteps::QuietOnceOut { key: (&disk.key.0).into() }));
    lines
}

fn unknown(disk: &DiskCard, refused: Option<SmartRefusal>) -> Vec<Line> {
    vec![
        card::disk_line(disk),
        Line::of(Label::Unknown, unknown_why(refused)),
        Line::plain(DiskWords::ReadAllTheSame),
        Line::of(Label::Quiet, DiskSteps::QuietIfItCannot { key: (&disk.key.0).into() }),
    ]
}

fn unknown_why(refused: Option<SmartRefusal>) -> Said {
    refused.map_or_else(|| RefusalWords::NotRead.into(), health::refusal)
}

/// What the conditions of several disks have in common, beyond their kind.
pub(crate) fn common_lines(conditions: &[Condition]) -> Vec<Line> {
    let whys = conditions.iter().filter_map(|condition| match &condition.problem {
        Problem::DiskUnknown(_, refused) => Some(*refused),
        _ => None,
    });
    let whys: Vec<Option<SmartRefusal>> = whys.collect();
    match whys.first() {
        Some(first) if whys.len() == conditions.len() && whys.iter().all(|why| why == first) => {
            vec![Line::of(Label::Unknown, unknown_why(*first)), Line::plain(DiskWords::ReadAllTheSame)]
        }
        _ => Vec::new(),
    }
}

/// 12 Mar 2026, 03:41 UTC.
pub(crate) const NOW: UnixSeconds = UnixSeconds(1_773_286_860);

fn a_disk() -> DiskCard {
    DiskCard {
        key: DiskKey("5000c500a1b2c3d4".into()),
        name: Some("sdc".into()),
        model: "ST16000NM001G".into(),
        serial: "ZL2ABCDE".into(),
        bay: Some("3".into()),
        sectors: 31_251_759_104,
    }
}

fn an_array(name: &str, level: &str) -> ArrayCard {
    ArrayCard { name: name.into(), level: level.into(), members: 8, redundancy: 2 }
}

/// What comes behind this one, so that a new kind of problem without an example does not compile.
fn next(problem: &Problem) -> Option<Problem> {
    let (md0, tank) = (|| an_array("md0", "RAID6"), || an_array("tank", "ZFS raidz2"));
    let ago = |days: u64| UnixSeconds(NOW.0 - days * 86_400);
    Some(match problem {
        Problem::Disk(_) => Problem::DiskMissing(DiskCard { name: None, ..a_disk() }, ago(0)),
        Problem::DiskMissing(..) => Problem::ArrayMissing(md0(), ago(0)),
        Problem::ArrayMissing(..) => Problem::DiskUnknown(a_disk(), Some(SmartRefusal::NotSupported)),
        Problem::DiskUnknown(..) => Problem::Failures(Box::new(DiskFailures {
            disk: a_disk(),
            failed: FailedRequests {
                reads: 3,
                writes: 1,
                cause: FailureCause::Medium,
                runs: vec![SectorRange::at(2048, 8)],
                contents: vec![PlaceContents {
                    device: "sda1".into(),
                    file_system: Some("ext4".into()),
                    kind: ContentsKind::File,
                    files: vec!["/srv/holiday.mkv".into()],
                    stripe: None,
                }],
            },
            since: ago(0),
            last: ago(0),
            arrays: Vec::new(),
            is_healed: false,
        })),
        Problem::Failures(_) => Problem::PoolUnknown(tank(), "zpool is not installed".into()),
        Problem::PoolUnknown(..) => Problem::Unread(Box::new(UnreadSectors {
            subject: SubjectCard::Disk(a_disk()),
            due: UnixSeconds(NOW.0 + 6 * 86_400),
            is_over: false,
            ends: Some((LocalDay(20_531), LocalDay(20_535))),
            held: Some(HoldBack::Degraded("md0".into())),
            percent: 37,
            unjudged: 0,
            help: ReadingHelp::Cause,
        })),
        Problem::Unread(_) => Problem::Unscrubbed {
            array: tank(),
            last: LastScrub::Ended(ago(45)),
            days: 45,
            since: ago(90),
            scan: PoolScan::Paused(Some(40)),
        },
        Problem::Unscrubbed { .. } => Problem::Hangs(SubjectCard::Disk(a_disk())),
        Problem::Hangs(_) => {
            let why = "/var/lib/scrubjay: No space left on device (os error 28)".to_owned();
            Problem::Refused(SubjectCard::Array(md0()), ago(2), SessionFault::Said(why))
        }
        Problem::Refused(..) => Problem::Degraded(Box::new(LostRedundancy {
            array: md0(),
            left: 1,
            missing: 1,
            lack: PoolLack::Nothing,
            is_layout_known: true,
            is_rebuilding: false,
            gone: vec![DiskCard { name: None, ..a_disk() }],
        })),
        Problem::Degraded(_) => Problem::Stripes(Box::new(SharedDamage {
            array: md0(),
            damaged: 3,
            shared: 1,
            lost: 0,
            stripe: 81_920,
            disks: vec!["sdb".into(), "sdc".into()],
            bytes: Bytes::mib(1),
        })),
        Problem::Stripes(_) => Problem::Lost(md0(), 8, vec![SectorRange::at(2048, 8)]),
        Problem::Lost(..) => Problem::VolumeLost(an_array("vault", "volume 4+2"), 3),
        Problem::VolumeLost(..) => Problem::PoolLost(Box::new(PoolTrouble {
            array: tank(),
            lost: Some(PoolDamage::of(194, &["/tank/photos/2019.tar".into(), "<metadata>:<0x3d>".into()])),
            errors: vec![("sdc".into(), 4)],
            failed: None,
        })),
        Problem::PoolLost(_) => Problem::Disagreement { array: md0(), corrected: 0, mismatched: 128 },
        Problem::Disagreement { .. } => Problem::PoolErrors(tank(), vec![("sdc".into(), 4)]),
        Problem::PoolErrors(..) => Problem::Unproven("email".into(), ProofState::Never),
        Problem::Unproven(..) => Problem::Undelivered("email".into(), ago(2)),
        Problem::Undelivered(..) => {
            let refused = vec![("you@example.org".to_owned(), "550 5.1.1 no such user".to_owned())];
            Problem::Recipients("email".into(), refused)
        }
        Problem::Recipients(..) => {
            Problem::History(HistoryLoss { at: NOW, kind: LossKind::Deleted, aside: None, is_rebuilt: true })
        }
        Problem::History(_) => {
            Problem::Recorded(IncidentKind::Health, "REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors".into())
        }
        Problem::Recorded(..) => return None,
    })
}

/// One condition of each kind of problem.
pub fn example_conditions() -> Vec<Condition> {
    let evidence = DiskEvidence {
        disk: a_disk(),
        signs: vec![
            HealthSign::UnreadableSectors(320),
            HealthSign::Growth { kind: CounterKind::Pending, value: 8, growth: 5, days: 1, media: MediaKind::Spinning },
        ],
        passed: Some(true),
        arrays: vec![DiskMembership {
            array: an_array("md0", "RAID6"),
            place: 2,
            is_in_sync: true,
            left: 2,
            is_degraded: false,
            damaged: Some((3, 0)),
        }],
    };
    let first = Problem::Disk(Box::new(evidence));
    let problems = std::iter::successors(Some(first), next);
    problems.map(|problem| Condition::of(urgency(&problem), problem)).collect()
}

fn urgency(problem: &Problem) -> Urgency {
    match problem.kind() {
        IncidentKind::Degraded | IncidentKind::Health | IncidentKind::Missing | IncidentKind::Stripes => {
            Urgency::Replace
        }
        IncidentKind::Lost => Urgency::Loss,
        _ => Urgency::Notice,
    }
}
