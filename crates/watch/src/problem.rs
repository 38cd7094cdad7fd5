//! What is wrong, as facts: one value for each thing that an incident can be about, with all that a message about it says.
//!
//! A new kind is a value of [`Problem`], with its kind of incident, here; what finds it; and its row in the crate `words`.

use crate::calendar::{LocalDay, MINUTE, elapsed};
use crate::channel::ProofState;
use crate::facts::{ArrayKind, DiskKey, SmartRefusal};
use crate::failures::FailedRequests;
use crate::health::{self, HealthSign, HealthState};
use crate::hold::{HoldBack, SessionFault};
use crate::loss::HistoryLoss;
use crate::pool::{LastScrub, PoolDamage, PoolLack, PoolScan};
use crate::worded;
use scrubjay_core::units::{Bytes, SectorRange, UnixSeconds};

/// Seconds after which an absent disk or array is missing; until then a cable may be being changed.
pub const MISSING_AFTER: u64 = 10 * MINUTE;

/// What is wrong, as far as incidents are told apart by it: a subject has one of each kind at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IncidentKind {
    /// A disk is to be watched or replaced.
    Health,
    /// A disk or an array is missing.
    Missing,
    /// Requests of programs failed at a disk.
    Failures,
    /// A disk's state has not been known for a day or longer.
    Unknown,
    /// Sectors of a disk or an array will not be read by their date, or were not.
    Unread,
    /// A disk's or an array's sessions cannot begin for a day or longer, or one hangs.
    Stuck,
    /// An array has lost some of its redundancy.
    Degraded,
    /// Unreadable sectors of several members meet in a stripe.
    Stripes,
    /// An array's own checker found data that cannot be rebuilt.
    Lost,
    /// An array's own checker found copies or parity that disagree: repaired from the others, or left as they are.
    Disagreement,
    /// It is not proven that messages arrive by this channel.
    Unproven,
    /// This channel has accepted no message for a day or longer.
    Undelivered,
    /// The other side of this channel refuses some of its recipients for good.
    Recipients,
    /// The watch's own history was lost.
    History,
}

worded!(IncidentKind {
    Health = "health",
    Missing = "missing",
    Failures = "failures",
    Unknown = "unknown",
    Unread = "unread",
    Stuck = "stuck",
    Degraded = "degraded",
    Stripes = "stripes",
    Lost = "lost",
    Disagreement = "disagreement",
    Unproven = "unproven",
    Undelivered = "undelivered",
    Recipients = "recipients",
    History = "history",
});

/// Requests of programs that failed at a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskFailures {
    /// The disk.
    pub disk: DiskCard,
    /// What failed.
    pub failed: FailedRequests,
    /// The first time.
    pub since: UnixSeconds,
    /// The last time.
    pub last: UnixSeconds,
    /// The arrays that it is a member of.
    pub arrays: Vec<DiskMembership>,
    /// Could an array read elsewhere what failed here, each time, if it lay in the array?
    pub is_healed: bool,
}

/// What identifies a disk for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskCard {
    /// Its identity, by which commands take it.
    pub key: DiskKey,
    /// The kernel's name, while it is present.
    pub name: Option<String>,
    /// Its model.
    pub model: String,
    /// The serial number on its label, else its identity.
    pub serial: String,
    /// Its bay, if the enclosure reports it.
    pub bay: Option<String>,
    /// Its size in sectors; 0 if not known.
    pub sectors: u64,
}

/// What identifies an array for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArrayCard {
    /// Its name.
    pub name: String,
    /// Its level for people: `RAID6`.
    pub level: String,
    /// How many members it has.
    pub members: u64,
    /// How many of them may be missing before data are lost, counted from all present.
    pub redundancy: u32,
}

impl ArrayCard {
    /// Whose array it is.
    pub fn kind(&self) -> ArrayKind {
        ArrayKind::of_level(&self.level)
    }

    /// Is it an md array of mirrors that are striped over?
    pub fn is_md_raid10(&self) -> bool {
        self.level.to_ascii_uppercase().starts_with("RAID10")
    }
}

/// What identifies a disk or an array for people.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum SubjectCard {
    /// A disk.
    Disk(DiskCard),
    /// An array.
    Array(ArrayCard),
}

/// An array that a disk is a member of, and how that array is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskMembership {
    /// The array.
    pub array: ArrayCard,
    /// The disk's place in it, from 0.
    pub place: usize,
    /// Is it in sync there? Else it is what the array lacks.
    pub is_in_sync: bool,
    /// How many more members it may lose; negative: too many are lost.
    pub left: i64,
    /// Is one of its members missing, or not in sync?
    pub is_degraded: bool,
    /// Its stripes with unreadable sectors, and how many of them have some on two disks; `None`: its layout is not known.
    pub damaged: Option<(u64, u64)>,
}

/// What a disk is judged by.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskEvidence {
    /// The disk.
    pub disk: DiskCard,
    /// What speaks against it, the gravest first; not empty.
    pub signs: Vec<HealthSign>,
    /// Its own verdict; `None`: it gives none.
    pub passed: Option<bool>,
    /// The arrays that it is a member of.
    pub arrays: Vec<DiskMembership>,
}

impl DiskEvidence {
    /// The gravest state of its signs.
    pub fn state(&self) -> HealthState {
        health::gravest(&self.signs).unwrap_or_default()
    }
}

/// Sectors that will not be read by their date, or were not.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct UnreadSectors {
    /// Of what.
    pub subject: SubjectCard,
    /// The date.
    pub due: UnixSeconds,
    /// Has it passed?
    pub is_over: bool,
    /// The days between which the pass ends in 8 of 10 cases; `None`: it does not within a year.
    pub ends: Option<(LocalDay, LocalDay)>,
    /// What holds it back, while no session runs.
    pub held: Option<HoldBack>,
    /// How much of the pass is read, in percent.
    pub percent: u8,
    /// Sectors on which the last pass got no verdict.
    pub unjudged: u64,
    /// What would help.
    pub help: ReadingHelp,
}

/// What would help a subject whose sectors are not read in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum ReadingHelp {
    /// There is enough idle time: what holds it back is the cause.
    Cause,
    /// More hours of the day, in idle hours a week.
    Hours {
        /// What a pass needs.
        needed: u64,
        /// What its hours have.
        allowed: u64,
        /// What all hours have.
        total: u64,
    },
    /// More time for a pass, as it is idle for less than one needs, in hours a week.
    Time {
        /// What a pass needs.
        needed: u64,
        /// What its hours have.
        allowed: u64,
    },
}

/// What a pool of ZFS has lost, or does not serve.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PoolTrouble {
    /// The pool.
    pub array: ArrayCard,
    /// What is lost; `None`: nothing that is known.
    pub lost: Option<PoolDamage>,
    /// Errors at members, by the member's name.
    pub errors: Vec<(String, u64)>,
    /// Its state, in ZFS's word, if it does not serve its data.
    pub failed: Option<String>,
}

/// What an array lacks.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LostRedundancy {
    /// The array.
    pub array: ArrayCard,
    /// How many more members may be lost; negative: too many are.
    pub left: i64,
    /// Members that are missing or not in sync.
    pub missing: u64,
    /// What it lacks that no member's place shows.
    pub lack: PoolLack,
    /// Is it known which members hold copies of the same data?
    pub is_layout_known: bool,
    /// Is a member being filled?
    pub is_rebuilding: bool,
    /// The disks that were last seen at its empty places, at most six.
    pub gone: Vec<DiskCard>,
}

/// Stripes in which unreadable sectors of several members meet.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SharedDamage {
    /// The array.
    pub array: ArrayCard,
    /// Stripes with an unreadable sector on some member.
    pub damaged: u64,
    /// Those with some on two members or more.
    pub shared: u64,
    /// Those that cannot be rebuilt.
    pub lost: u64,
    /// The worst of them: its number.
    pub stripe: u64,
    /// The disks whose unreadable sectors lie in it.
    pub disks: Vec<String>,
    /// The data at stake, at most.
    pub bytes: Bytes,
}

/// What is wrong, with all that a message about it says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
pub enum Problem {
    /// Something speaks against a disk.
    Disk(Box<DiskEvidence>),
    /// A disk is absent, since then.
    DiskMissing(DiskCard, UnixSeconds),
    /// An array is absent, since then.
    ArrayMissing(ArrayCard, UnixSeconds),
    /// How a disk is has not been known for a day, for this reason if there is one.
    DiskUnknown(DiskCard, Option<SmartRefusal>),
    /// Requests of programs failed at a disk.
    Failures(Box<DiskFailures>),
    /// Nobody can tell whether a pool has lost data, for this reason, in the words of who was asked.
    PoolUnknown(ArrayCard, String),
    /// Sectors are not read in time.
    Unread(Box<UnreadSectors>),
    /// A pool was not scrubbed for too long.
    Unscrubbed {
        /// The pool.
        array: ArrayCard,
        /// When it last was.
        last: LastScrub,
        /// Days since then.
        days: u64,
        /// Since when it is known.
        since: UnixSeconds,
        /// What it does of its own accord now.
        scan: PoolScan,
    },
    /// A session neither answers nor ends.
    Hangs(SubjectCard),
    /// Sessions cannot begin since then, for this reason.
    Refused(SubjectCard, UnixSeconds, SessionFault),
    /// An array lacks members.
    Degraded(Box<LostRedundancy>),
    /// Unreadable sectors of several members meet.
    Stripes(Box<SharedDamage>),
    /// The checker of an array found so many sectors that cannot be read or rebuilt; the first runs of them.
    Lost(ArrayCard, u64, Vec<SectorRange>),
    /// So many stripes of a volume hold lost data, by its own register.
    VolumeLost(ArrayCard, u64),
    /// A pool has lost data, or does not serve them.
    PoolLost(Box<PoolTrouble>),
    /// Copies or parity of an array disagreed.
    Disagreement {
        /// The array.
        array: ArrayCard,
        /// Places that are right now.
        corrected: u64,
        /// Places that were left as they are.
        mismatched: u64,
    },
    /// ZFS counted errors at members of a pool: by the member's name, none is 0, not empty.
    PoolErrors(ArrayCard, Vec<(String, u64)>),
    /// Nobody has confirmed that messages arrive by this channel.
    Unproven(String, ProofState),
    /// A channel accepts nothing since then.
    Undelivered(String, UnixSeconds),
    /// Recipients of a channel are refused: each with the other side's reply; not empty.
    Recipients(String, Vec<(String, String)>),
    /// The history's file was lost.
    History(HistoryLoss),
    /// What an earlier version found, as it said it: it kept no facts. It is gone when the subject is judged anew.
    Recorded(IncidentKind, String),
}

impl Problem {
    /// The kind of its incident.
    pub fn kind(&self) -> IncidentKind {
        match self {
            Problem::Disk(_) => IncidentKind::Health,
            Problem::DiskMissing(..) | Problem::ArrayMissing(..) => IncidentKind::Missing,
            Problem::Failures(_) => IncidentKind::Failures,
            Problem::DiskUnknown(..) | Problem::PoolUnknown(..) => IncidentKind::Unknown,
            Problem::Unread(_) | Problem::Unscrubbed { .. } => IncidentKind::Unread,
            Problem::Hangs(_) | Problem::Refused(..) => IncidentKind::Stuck,
            Problem::Degraded(_) => IncidentKind::Degraded,
            Problem::Stripes(_) => IncidentKind::Stripes,
            Problem::Lost(..) | Problem::VolumeLost(..) | Problem::PoolLost(_) => IncidentKind::Lost,
            Problem::Disagreement { .. } | Problem::PoolErrors(..) => IncidentKind::Disagreement,
            Problem::Unproven(..) => IncidentKind::Unproven,
            Problem::Undelivered(..) => IncidentKind::Undelivered,
            Problem::Recipients(..) => IncidentKind::Recipients,
            Problem::History(_) => IncidentKind::History,
            Problem::Recorded(kind, _) => *kind,
        }
    }
    /// Does it happen to programs now, so that it is told in seconds? `opened`: when its incident opened.
    pub fn is_of_now(&self, opened: UnixSeconds) -> bool {
        match self {
            Problem::Failures(_) | Problem::Degraded(_) => true,
            Problem::Disk(evidence) => evidence.signs.iter().all(|sign| matches!(sign, HealthSign::LinkResets(_))),
            // It went while it was mounted: for all others one waits first whether they come back.
            Problem::DiskMissing(_, since) => elapsed(opened, *since) < MISSING_AFTER,
            _ => false,
        }
    }
}
