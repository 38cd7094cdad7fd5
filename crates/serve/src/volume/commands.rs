//! The commands of the control socket: one line of JSON each, answered by one line of JSON.

use super::conditions::{MemberCondition, VolumeCondition};
use scrubjay_core::index::{MemberIndex, StripeIndex};
use scrubjay_core::units::MemberOffset;
use scrubjay_core::volume::finding::{CorruptionKind, FindingPlace, Resolution, VolumeFinding};
use scrubjay_core::volume::format::superblock::{FailureReason, MemberState};
use serde::{Deserialize, Serialize};

/// What a volume can be told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VolumeCommand {
    /// How are you?
    Status,
    /// What has happened since the event of this number?
    Events {
        /// The first is 0.
        since: u64,
        /// If nothing has: answer when something does.
        #[serde(default)]
        wait: bool,
    },
    /// Take a member out.
    Fail {
        /// Its slot.
        member: usize,
    },
    /// Take a new disk for a member that is out.
    Replace {
        /// Its slot.
        member: usize,
        /// The disk, or file, as the server sees it.
        path: String,
        /// Overwrite it although it holds something.
        force: bool,
    },
    /// Take a member back that was out for a while: it has its slot, and what it held when it left.
    Readd {
        /// The disk, or file, as the server sees it.
        path: String,
    },
    /// Read these stripes whole, and put right what is wrong.
    Verify {
        /// The first.
        start: u64,
        /// One past the last.
        end: u64,
    },
    /// What have your clients done?
    Activity {
        /// Since the mark of this number; nothing: from now on.
        since: Option<u64>,
    },
    /// Stop serving, in order: answered when that is done.
    Stop,
}

/// What a volume answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandAnswer {
    /// It was done, or begun.
    Done,
    /// It cannot be done: why.
    Error(String),
    /// To [`VolumeCommand::Status`].
    Status(Box<Status>),
    /// To [`VolumeCommand::Events`].
    Events(VolumeEvents),
    /// To [`VolumeCommand::Verify`].
    Verified(Verified),
    /// To [`VolumeCommand::Activity`].
    Activity(ClientActivity),
    /// To [`VolumeCommand::Stop`].
    Stopped(Stopped),
}

/// How a volume is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Of this form of status.
    pub schema: u32,
    /// What people call it.
    pub name: String,
    /// Its UUID.
    pub array: String,
    /// Of a volume that was told to stop: how it is left.
    pub state: VolumeCondition,
    /// `4+2`.
    pub shape: String,
    /// The layout's name.
    pub layout: String,
    /// The scheme's name.
    pub scheme: String,
    /// The block device that it is (`/dev/ublkb0`), if it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Bytes of a chunk.
    pub chunk_bytes: u64,
    /// Bytes that clients see.
    pub size_bytes: u64,
    /// All stripes.
    pub stripes: u64,
    /// Those that were ever written.
    pub stripes_written: u64,
    /// Regions in which writes may be under way or unflushed.
    pub regions_dirty: u64,
    /// Regions that a crash may have left half written, and that are not resynced yet.
    pub regions_to_resync: u64,
    /// Findings since the server was started.
    pub findings: u64,
    /// The number of the next event: what happens from now on has this one and those that follow.
    #[serde(default)]
    pub events: u64,
    /// Those findings in which something was lost; what was lost may have been written again since.
    #[serde(default)]
    pub lost: u64,
    /// By slot.
    pub members: Vec<MemberStatus>,
}

/// How a volume was left by its server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// What people call it.
    pub name: String,
    /// What is not in order, or was not done that was asked for; nothing: all that was acknowledged is durable.
    pub problems: Vec<String>,
    /// What should be known besides.
    pub remarks: Vec<String>,
}

/// How a member is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Its path, if it is here.
    pub path: Option<String>,
    /// In one word.
    pub state: MemberCondition,
    /// Of a failed one: why. Of one that is rebuilt: how far. Of one that is active: what is to be done about it.
    pub detail: Option<String>,
    /// Faults that were located on it.
    pub faults: u32,
    /// Is it out, and may it come back with what it held when it left ([`VolumeCommand::Readd`])?
    #[serde(default)]
    pub may_return: bool,
}

/// What came of a verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Stripes that were read: those of the range that were ever written.
    pub read: u64,
    /// Rows that were not what they should be, and were made up for by the others.
    pub corrected: u64,
    /// Stripes that do not have all of their content, ascending.
    pub lost: Vec<u64>,
}

/// What a volume's clients have done.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientActivity {
    /// The number to ask from next time.
    pub next: u64,
    /// Requests that came since the server was started.
    pub arrived: u64,
    /// Requests that were replied to since then.
    pub completed: u64,
    /// What happened when, in order; less than the counts say if somebody did not ask for too long.
    pub marks: Vec<ActivityMark>,
}

/// At so many nanoseconds of the server's `CLOCK_MONOTONIC`, so many requests came, and so many were replied to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityMark(pub u64, pub u32, pub u32);

/// Something that happened to a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeEvent {
    /// A row, or what lies beside the rows, was not what it should be.
    Finding(Finding),
    /// A member is in another condition than before.
    Member(MemberEvent),
    /// So is the volume.
    Volume(VolumeCondition),
}

/// A member's new condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberEvent {
    /// The member's number, from 0.
    pub member: usize,
    /// Its path, if it is here.
    pub path: Option<String>,
    /// In one word.
    pub state: MemberCondition,
    /// Of a failed one: why.
    pub detail: Option<String>,
}

/// What happened, in order: a part of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumeEvents {
    /// The number to ask from next time.
    pub next: u64,
    /// Events asked for that are no longer kept.
    pub dropped: u64,
    /// The others, oldest first; perhaps not all there are: none means that there are no more.
    pub events: Vec<VolumeEvent>,
}

/// One row that was not what it should be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FindingWords", into = "FindingWords")]
pub struct Finding {
    /// The member's slot.
    pub member: usize,
    /// Its path, if it is here.
    pub path: Option<String>,
    /// Where on it, in bytes.
    pub offset: u64,
    /// In which stripe; nothing for what lies beside the rows.
    pub stripe: Option<u64>,
    /// Which chunk of it: `D2`, `P0`; or what it is: `superblock`, `intents 0`, `map 3`.
    pub chunk: String,
    /// What had happened.
    pub kind: CorruptionKind,
    /// What came of it.
    pub end: Resolution,
}

/// A finding as JSON has it.
#[derive(Clone, Serialize, Deserialize)]
struct FindingWords {
    member: usize,
    path: Option<String>,
    offset: u64,
    stripe: Option<u64>,
    chunk: String,
    kind: String,
    /// Of a misdirected write: where it belonged, member and offset.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    target: Option<(usize, u64)>,
    end: String,
}

impl From<Finding> for FindingWords {
    fn from(finding: Finding) -> FindingWords {
        let Finding { member, path, offset, stripe, chunk, kind, end } = finding;
        let target = match kind {
            CorruptionKind::MisdirectedWrite { member, offset } => Some((member.get(), offset.get())),
            _ => None,
        };
        let (kind, end) = (kind.name().to_owned(), end.name().to_owned());
        FindingWords { member, path, offset, stripe, chunk, kind, target, end }
    }
}

impl TryFrom<FindingWords> for Finding {
    type Error = String;

    fn try_from(words: FindingWords) -> Result<Finding, String> {
        let FindingWords { member, path, offset, stripe, chunk, kind, target, end } = words;
        let unknown = |word: &str| format!("`{word}` is not known here: is the server of another version?");
        let target = target.map(|(member, offset)| (MemberIndex(member), MemberOffset(offset)));
        let kind = CorruptionKind::named(&kind, target).ok_or_else(|| unknown(&kind))?;
        let end = Resolution::ALL.into_iter().find(|known| known.name() == end).ok_or_else(|| unknown(&end))?;
        Ok(Finding { member, path, offset, stripe, chunk, kind, end })
    }
}

impl Finding {
    /// Where it was found, for people: `stripe 5 D1`, `map 3`.
    pub fn place(&self) -> String {
        self.stripe.map_or(self.chunk.clone(), |stripe| format!("stripe {stripe} {}", self.chunk))
    }

    /// A record, with the path of its member, and the number of data chunks of a stripe.
    pub fn of(record: &VolumeFinding, path: Option<&str>, data: usize) -> Finding {
        let chunk = match record.place {
            FindingPlace::Row { position, .. } if position.get() < data => format!("D{position}"),
            FindingPlace::Row { position, .. } => format!("P{}", position.get() - data),
            FindingPlace::Superblock => "superblock".to_owned(),
            FindingPlace::Intents { page } => format!("intents {page}"),
            FindingPlace::Map { page } => format!("map {page}"),
        };
        Finding {
            member: record.member.get(),
            path: path.map(str::to_owned),
            offset: record.offset.get(),
            stripe: record.place.stripe().map(StripeIndex::get),
            chunk,
            kind: record.kind,
            end: record.end,
        }
    }
}

/// How a member is; of a failed one why, of one that is rebuilt how far.
pub fn condition_of(state: MemberState, stripes: u64) -> (MemberCondition, Option<String>) {
    match state {
        MemberState::Active => (MemberCondition::Active, None),
        MemberState::Missing => (MemberCondition::Missing, None),
        MemberState::Failed(why) => (MemberCondition::Failed, Some(why_words(why).to_owned())),
        MemberState::Rebuilding { stripes_done } => {
            let share = 100.0 * stripes_done as f64 / stripes.max(1) as f64;
            (MemberCondition::Rebuilding, Some(format!("{share:.1} % done")))
        }
    }
}

fn why_words(why: FailureReason) -> &'static str {
    match why {
        FailureReason::Gone => "it does not answer",
        FailureReason::Refused => "it refused a write",
        FailureReason::Hung => "it did not answer in time",
        FailureReason::ByAdministrator => "taken out by the administrator",
    }
}
