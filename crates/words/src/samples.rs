//! One example of each thing that can be wrong: the whole messages in docs/messages.md, and what tests go through.

use scrubjay_core::units::{Bytes, SectorRange, UnixSeconds};
use scrubjay_watch::calendar::LocalDay;
use scrubjay_watch::channel::ProofState;
use scrubjay_watch::counters::CounterKind;
use scrubjay_watch::facts::{DiskKey, MediaKind, SmartRefusal};
use scrubjay_watch::health::HealthSign;
use scrubjay_watch::hold::{HoldBack, SessionFault};
use scrubjay_watch::incident::{Condition, Urgency};
use scrubjay_watch::loss::{HistoryLoss, LossKind};
use scrubjay_watch::pool::{LastScrub, PoolDamage, PoolLack, PoolScan};
use scrubjay_watch::problem::{
    ArrayCard, DiskCard, DiskEvidence, DiskMembership, IncidentKind, LostRedundancy, PoolTrouble, Problem, ReadingHelp,
    SharedDamage, SubjectCard, UnreadSectors,
};

/// 12 Mar 2026, 03:41 UTC.
pub(crate) const NOW: UnixSeconds = UnixSeconds(1_773_286_860);

fn disk() -> DiskCard {
    DiskCard {
        key: DiskKey("5000c500a1b2c3d4".into()),
        name: Some("sdc".into()),
        model: "ST16000NM001G".into(),
        serial: "ZL2ABCDE".into(),
        bay: Some("3".into()),
        sectors: 31_251_759_104,
    }
}

fn array(name: &str, level: &str) -> ArrayCard {
    ArrayCard { name: name.into(), level: level.into(), members: 8, redundancy: 2 }
}

/// What comes behind this one, so that a new kind of problem without an example does not compile.
fn next(problem: &Problem) -> Option<Problem> {
    let (md0, tank) = (|| array("md0", "RAID6"), || array("tank", "ZFS raidz2"));
    let ago = |days: u64| UnixSeconds(NOW.0 - days * 86_400);
    Some(match problem {
        Problem::Disk(_) => Problem::DiskMissing(DiskCard { name: None, ..disk() }, ago(0)),
        Problem::DiskMissing(..) => Problem::ArrayMissing(md0(), ago(0)),
        Problem::ArrayMissing(..) => Problem::DiskUnknown(disk(), Some(SmartRefusal::NotSupported)),
        Problem::DiskUnknown(..) => Problem::PoolUnknown(tank(), "zpool is not installed".into()),
        Problem::PoolUnknown(..) => Problem::Unread(Box::new(UnreadSectors {
            subject: SubjectCard::Disk(disk()),
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
        Problem::Unscrubbed { .. } => Problem::Hangs(SubjectCard::Disk(disk())),
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
            gone: vec![DiskCard { name: None, ..disk() }],
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
        Problem::Lost(..) => Problem::VolumeLost(array("vault", "volume 4+2"), 3),
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
pub fn conditions() -> Vec<Condition> {
    let evidence = DiskEvidence {
        disk: disk(),
        signs: vec![
            HealthSign::UnreadableSectors(320),
            HealthSign::Growth { kind: CounterKind::Pending, value: 8, growth: 5, days: 1, media: MediaKind::Spinning },
        ],
        passed: Some(true),
        arrays: vec![DiskMembership {
            array: array("md0", "RAID6"),
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
