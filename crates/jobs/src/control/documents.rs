//! What the daemon answers: the same objects that `--json` prints. Dates are in seconds since 1970, UTC.

use serde::{Deserialize, Serialize};

/// Rises when a field changes its meaning or goes.
pub const SCHEMA: u32 = 1;

/// How things stand.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchDocument {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program's version.
    pub version: String,
    /// What the machine is called.
    pub host: String,
    /// The file of settings that it reads.
    pub settings_file: String,
    /// The folder of its history.
    pub folder: String,
    /// When this was so.
    pub time: u64,
    /// The worst word of any disk: `ok`, `watch`, `replace`, `asleep`, `unknown`, `missing`; `none` without disks.
    pub verdict: String,
    /// The watch sees or keeps nothing now: nothing in here says that anything is well.
    #[serde(default)]
    pub is_blind: bool,
    /// "Am I safe?"
    pub sentence: String,
    /// Disks, redundancy, sectors, alerts.
    pub lights: Vec<LightEntry>,
    /// What to do now: three things at most, and how many more there are.
    pub to_do: Vec<String>,
    /// The arrays.
    pub arrays: Vec<ArrayEntry>,
    /// The disks.
    pub disks: Vec<DiskEntry>,
    /// What is wrong now, accepted or not.
    pub incidents: Vec<IncidentEntry>,
    /// The ways for messages.
    pub channels: Vec<ChannelEntry>,
    /// Messages that wait.
    pub messages_waiting: usize,
    /// A person's pause ends then.
    pub paused_until: Option<u64>,
    /// What the watch itself cannot do.
    pub troubles: Vec<String>,
    /// Who else scrubs here.
    pub others: Vec<String>,
}

/// A light.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LightEntry {
    /// `Disks`, `Redundancy`, `All sectors read`, `Alerts`.
    pub name: String,
    /// `green`, `grey`, `yellow`, `red`; `none`: there is nothing of the kind.
    pub colour: String,
    /// The same in words.
    pub words: String,
}

/// An array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrayEntry {
    /// Its UUID.
    pub key: String,
    /// What people call it.
    pub name: String,
    /// `RAID6`.
    pub level: String,
    /// The kernel's names of its members; null: an empty place.
    pub members: Vec<Option<String>>,
    /// How many may be lost when all are there.
    #[serde(default)]
    pub redundancy: u64,
    /// How many more may be lost; negative: too many are.
    pub redundancy_left: i64,
    /// `idle`, `checking`, `rebuilding`.
    pub activity: String,
    /// Is it there?
    pub is_there: bool,
    /// How its own check stands, driven by the watch; null: the watch cannot drive one, and only its members are read.
    pub check: Option<ReadingEntry>,
}

/// How the reading of a disk, or of an array by its own checker, stands.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadingEntry {
    /// When its oldest sector was read; null: some never were.
    pub oldest_read: Option<u64>,
    /// When the first of its sectors is due.
    pub due: u64,
    /// Sectors that could not be read; of an array: nor rebuilt.
    pub unreadable: u64,
    /// Of an array: rows or copies that were wrong, and were made right.
    pub corrected: u64,
    /// Of an array: sectors whose copies or parity disagree.
    pub mismatched: u64,
    /// `reading`, `waiting`, `held`.
    pub activity: String,
    /// What it waits for, or what holds it back, in words.
    pub why: Option<String>,
    /// The share of the pass that is done, 0 to 1; null: none is under way.
    pub pass_share: Option<f64>,
    /// What the requests of others lost in this session, as a mean in nanoseconds; null: nobody was seen.
    pub slowdown_nanos: Option<u64>,
    /// What they may lose.
    pub budget_nanos: u64,
    /// When the pass will end.
    pub forecast: Option<ForecastEntry>,
    /// By how many seconds the first of its sectors will be late; null: no end is in sight.
    pub lateness: Option<u64>,
}

/// A disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskEntry {
    /// Its identity.
    pub key: String,
    /// The kernel's name, while it is there.
    pub name: Option<String>,
    /// The kernel's name when it was last seen.
    pub last_name: String,
    /// Its serial number, if it tells one.
    pub serial: Option<String>,
    /// Its model.
    pub model: String,
    /// Where it sits.
    pub bay: Option<String>,
    /// Its size.
    pub bytes: u64,
    /// `spinning` or `flash`.
    pub media: String,
    /// `ok`, `watch`, `replace`, `asleep`, `unknown`, `missing`.
    pub health: String,
    /// Why.
    pub reasons: Vec<String>,
    /// How its reading stands.
    #[serde(flatten)]
    pub reading: ReadingEntry,
    /// A process that scrubs it, and is not the daemon.
    pub scrubbed_by: Option<u32>,
}

/// When a pass ends: with 80 % between the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastEntry {
    /// With 10 % sooner.
    pub low: u64,
    /// Most likely.
    pub likely: u64,
    /// With 10 % later.
    pub high: u64,
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentEntry {
    /// The disk's identity, the array's UUID, the channel's name.
    pub subject: String,
    /// `health`, `missing`, `unknown`, `unread`, `degraded`, `stripes`, `lost`, `disagreement`, `unproven`, `undelivered`,
    /// `stuck`.
    pub kind: String,
    /// `notice`, `replace`, `loss`.
    pub urgency: String,
    /// In one line.
    pub headline: String,
    /// Since when.
    pub since: u64,
    /// Accepted until it grows?
    pub is_accepted: bool,
}

/// A way for messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelEntry {
    /// Its name.
    pub name: String,
    /// `proven 12 Mar 2026`, `never proven`.
    pub proof: String,
    /// When a code was last confirmed.
    pub proven: Option<u64>,
    /// When something was last accepted.
    pub delivered: Option<u64>,
    /// Since when nothing is.
    pub failing_since: Option<u64>,
    /// What came of the last attempt since the daemon was started.
    pub last: Option<DeliveryEntry>,
}

/// What came of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryEntry {
    /// The message's number.
    pub message: u64,
    /// When.
    pub at: u64,
    /// Was it accepted?
    pub is_accepted: bool,
    /// What the other side said, or what is wrong and what to do.
    pub said: String,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// How the channels stand.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertDocument {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When this was so.
    pub time: u64,
    /// Each of them.
    pub channels: Vec<ChannelEntry>,
    /// The numbers of messages that wait to be accepted.
    pub waiting: Vec<u64>,
}
