//! The commands of the control socket and their answers: one line of JSON each.

use super::conditions::{MemberCondition, VolumeCondition};
use super::finding_words;
use scrubjay_core::finding::Finding;
use scrubjay_core::layout::Shape;
use scrubjay_core::volume::format::superblock::{FailureReason, MemberState};
use serde::{Deserialize, Serialize};

/// A command to a served volume.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case", deny_unknown_fields)]
pub enum VolumeCommand {
    /// Report the volume's status.
    Status,
    /// Report the events from this number on.
    Events {
        /// Number of the first event to report; the numbers begin with 0.
        since: u64,
        /// If there is none yet: answer when there is.
        #[serde(default)]
        wait: bool,
    },
    /// Take a member out of use.
    Fail {
        /// Its member index.
        member: usize,
    },
    /// Put a new disk into the place of a member that is out.
    Replace {
        /// Its member index.
        member: usize,
        /// Path of the disk or file, as the server sees it.
        path: String,
        /// Overwrite it even if it holds something.
        force: bool,
    },
    /// Take back a member that was out for a while, with its member index and the contents that it had when it left.
    Readd {
        /// Path of the disk or file, as the server sees it.
        path: String,
    },
    /// Read these stripes in full, and repair them.
    Verify {
        /// The first stripe.
        start: u64,
        /// One past the last stripe.
        end: u64,
    },
    /// Report the activity of the volume's clients.
    Activity {
        /// From the mark of this number on; `None`: from now on.
        since: Option<u64>,
    },
    /// Stop serving, in order; answered at the end.
    Stop,
}

/// An answer to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CommandAnswer {
    /// The command was done, or begun.
    Done,
    /// The command was refused, for this reason.
    Error(String),
    /// [`VolumeCommand::Replace`] was refused, because the disk is not empty and it was not said that it may be overwritten.
    Occupied(Occupied),
    /// The answer to [`VolumeCommand::Status`].
    Status(Box<Status>),
    /// The answer to [`VolumeCommand::Events`].
    Events(VolumeEvents),
    /// The answer to [`VolumeCommand::Verify`].
    Verified(Verified),
    /// The answer to [`VolumeCommand::Activity`].
    Activity(ClientActivity),
    /// The answer to [`VolumeCommand::Stop`].
    Stopped(Stopped),
}

/// The status of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Version of this structure.
    pub schema: u32,
    /// Its name, as its user gave it.
    pub name: String,
    /// Its UUID.
    pub array: String,
    /// Its condition; after a stop, the one in which it is left.
    pub state: VolumeCondition,
    /// Data and parity chunks of a stripe; in JSON as `4+2`.
    #[serde(with = "shape_words")]
    pub shape: Shape,
    /// The layout's name.
    pub layout: String,
    /// The scheme's name.
    pub scheme: String,
    /// Path of the block device as which it is served (`/dev/ublkb0`), if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<String>,
    /// Size of a chunk, in bytes.
    pub chunk_bytes: u64,
    /// Size that clients see, in bytes.
    pub size_bytes: u64,
    /// Stripes (count).
    pub stripes: u64,
    /// Stripes that were ever written (count).
    pub stripes_written: u64,
    /// Regions in which writes may be under way or unflushed (count).
    pub regions_dirty: u64,
    /// Regions that a crash may have left half written, and that are not resynced yet (count).
    pub regions_to_resync: u64,
    /// Findings since the server was started (count).
    pub findings: u64,
    /// Number of the next event.
    #[serde(default)]
    pub events: u64,
    /// Findings in which something was lost (count); it may have been written again since.
    #[serde(default)]
    pub lost: u64,
    /// Stripes that hold lost data, also since before this start (count); reads there fail until they are written. (`None`: a server of
    /// an earlier version does not say.)
    #[serde(default)]
    pub lost_stripes: Option<u64>,
    /// Is that count a limit only?
    #[serde(default)]
    pub is_lost_at_most: bool,
    /// The runs of these stripes: the first of each, and the one past its last.
    #[serde(default)]
    pub lost_runs: Vec<(u64, u64)>,
    /// Is it served for reading only? Then nothing is repaired on its members.
    #[serde(default)]
    pub read_only: bool,
    /// Its members, by member index.
    pub members: Vec<MemberStatus>,
}

impl Status {
    /// Does it hold all of its data, as far as is known?
    pub fn is_whole(&self) -> bool {
        self.lost_stripes.map_or(self.lost == 0, |stripes| stripes == 0)
    }

    /// What is lost, in words; `None`: nothing, as far as is known.
    pub fn loss_words(&self) -> Option<String> {
        let stripes = self.lost_stripes.filter(|stripes| *stripes > 0)?;
        let most = if self.is_lost_at_most { "at most " } else { "" };
        let noun = if stripes == 1 { "stripe holds" } else { "stripes hold" };
        Some(format!("{most}{stripes} {noun} lost data: reads there fail until it is written"))
    }

    /// How many more members may fail before data is lost; `None`: data is lost already.
    pub fn redundancy_left(&self) -> Option<usize> {
        self.shape
            .parity
            .checked_sub(self.members.iter().filter(|member| member.state != MemberCondition::Active).count())
    }
}

/// A disk for a replacement that is not empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{path} {contents}: it is overwritten only by force")]
pub struct Occupied {
    /// Its path, as the server sees it.
    pub path: String,
    /// What it holds, as the rest of a sentence.
    pub contents: String,
}

/// How a volume was left by its server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Stopped {
    /// Its name, as its user gave it.
    pub name: String,
    /// What is not in order, or was asked for and not done. Empty: everything acknowledged is durable.
    pub problems: Vec<String>,
    /// What was found and is left to be done, though it was stopped in order: lost data, members that failed.
    #[serde(default)]
    pub left: Vec<String>,
    /// What the user should know besides.
    pub remarks: Vec<String>,
}

/// The status of a member.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberStatus {
    /// Path of its disk, if it has one.
    pub path: Option<String>,
    /// Its condition.
    pub state: MemberCondition,
    /// The reason, if it failed; the progress, if it is being rebuilt; advice, if it is active and needs attention.
    pub detail: Option<String>,
    /// Faults that were located on it (count).
    pub faults: u32,
    /// Is it out, and may it come back with the contents that it had when it left ([`VolumeCommand::Readd`])?
    #[serde(default)]
    pub may_return: bool,
}

/// The result of a verification.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verified {
    /// Stripes read: those of the range that were ever written (count).
    pub read: u64,
    /// Wrong rows and blocks of metadata that redundancy made up for (count).
    pub corrected: u64,
    /// Stripes that do not have all of their content, ascending.
    pub lost: Vec<u64>,
}

/// The activity of a volume's clients.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClientActivity {
    /// Number of the next mark, to ask from next time.
    pub next: u64,
    /// Requests that arrived since the server was started (count).
    pub arrived: u64,
    /// Requests that were replied to since then (count).
    pub completed: u64,
    /// Arrivals and completions with their times, in order; fewer than the counts if they were not asked for in time.
    pub marks: Vec<ActivityMark>,
}

/// A time (nanoseconds of the server's `CLOCK_MONOTONIC`), the requests that arrived then, and those replied to (counts).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActivityMark(pub u64, pub u32, pub u32);

/// An event of a volume.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum VolumeEvent {
    /// A row or a block of metadata was not what it should be.
    Finding(#[serde(with = "finding_words")] Finding),
    /// The condition of a member changed.
    Member(MemberEvent),
    /// The condition of the volume changed.
    Volume(VolumeCondition),
}

/// A member's new condition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemberEvent {
    /// Its member index.
    pub member: usize,
    /// Path of its disk, if it has one.
    pub path: Option<String>,
    /// The new condition.
    pub state: MemberCondition,
    /// The reason, if it failed.
    pub detail: Option<String>,
}

/// Some of a volume's events, in order.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VolumeEvents {
    /// Number of the event to ask from next time.
    pub next: u64,
    /// Events asked for that are no longer kept.
    pub dropped: u64,
    /// The events, oldest first, perhaps not all. Empty: there are no more.
    pub events: Vec<VolumeEvent>,
    /// When each of them was noticed, in seconds since 1970. (A server of an earlier version does not say.)
    #[serde(default)]
    pub times: Vec<u64>,
}

/// A shape as `4+2`.
mod shape_words {
    use scrubjay_core::layout::Shape;
    use serde::de::Error;
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(shape: &Shape, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(shape)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Shape, D::Error> {
        let word = String::deserialize(deserializer)?;
        let numbers = word.split_once('+').and_then(|(data, parity)| Some((data.parse().ok()?, parity.parse().ok()?)));
        let (data, parity) = numbers.ok_or_else(|| D::Error::custom(format!("`{word}` is no shape such as 4+2")))?;
        Ok(Shape { data, parity })
    }
}

/// The condition of a member, with the reason if it failed, or the progress if it is being rebuilt.
pub fn condition_of(state: MemberState, stripes: u64) -> (MemberCondition, Option<String>) {
    match state {
        MemberState::Active => (MemberCondition::Active, None),
        MemberState::Missing => (MemberCondition::Missing, None),
        MemberState::Failed(why) => (MemberCondition::Failed, Some(reason_text(why).to_owned())),
        MemberState::Rebuilding { stripes_done } => {
            let share = 100.0 * stripes_done as f64 / stripes.max(1) as f64;
            (MemberCondition::Rebuilding, Some(format!("{share:.1} % done")))
        }
    }
}

fn reason_text(why: FailureReason) -> &'static str {
    match why {
        FailureReason::Gone => "it does not answer",
        FailureReason::Refused => "it refused a write or a flush, or did not keep what was written",
        FailureReason::Hung => "it did not answer in time",
        FailureReason::ByAdministrator => "taken out by the administrator",
    }
}
