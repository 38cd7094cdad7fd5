//! What the daemon answers: the same objects that `--json` prints. Dates are in seconds since 1970, UTC.

use super::as_word;
use super::observed::ObservedDocument;
use scrubjay_watch::facts::{ArrayActivity, MediaKind};
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, Urgency};
use scrubjay_watch::status::{LightColour, LightName};
use scrubjay_watch::worded;
use scrubjay_words::Said;
use serde::{Deserialize, Serialize};

/// The schema's number: it rises when a field is removed or changes its meaning.
pub const SCHEMA: u32 = 1;

/// The status of the watch, its disks, arrays and channels.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchDocument {
    /// [`SCHEMA`].
    pub schema: u32,
    /// The program's version.
    pub version: String,
    /// The machine's host name.
    pub host: String,
    /// The path of the settings file that it reads.
    pub settings_file: String,
    /// The folder of its history.
    pub folder: String,
    /// When this status was taken.
    pub time: u64,
    /// The worst state of any disk; `none` without disks.
    #[serde(with = "as_word::or_none")]
    pub verdict: Option<HealthState>,
    /// Does the watch see or keep nothing now? Then nothing in here is proof that a disk is well.
    #[serde(default)]
    pub is_blind: bool,
    /// The answer to "Am I safe?", in one sentence.
    pub sentence: Said,
    /// One light each for disks, redundancy, sectors and alerts.
    pub lights: Vec<LightEntry>,
    /// What to do now, in words: three lines at most, and one that says how many more there are.
    pub to_do: Vec<Said>,
    /// The same as values.
    #[serde(default)]
    pub do_now: DoNowEntry,
    /// The arrays.
    pub arrays: Vec<ArrayEntry>,
    /// The disks.
    pub disks: Vec<DiskEntry>,
    /// Open incidents, accepted or not.
    pub incidents: Vec<IncidentEntry>,
    /// The channels for messages.
    pub channels: Vec<ChannelEntry>,
    /// Messages that wait to be accepted.
    pub messages_waiting: usize,
    /// When the pause that a person asked for ends.
    pub paused_until: Option<u64>,
    /// What the watch itself cannot do.
    pub troubles: Vec<String>,
    /// Other programs that scrub on this machine.
    pub others: Vec<String>,
    /// What it would have done, where it only observes: then nothing was read, and nothing is sent. Null: it reads and sends.
    #[serde(default)]
    pub observed: Option<ObservedDocument>,
}

/// What to do now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DoNowEntry {
    /// The first things, three at most.
    pub first: Vec<ToDoEntry>,
    /// How many more there are.
    pub more: usize,
}

/// Something to do now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToDoEntry {
    /// The incident that asks for it, by its place in `incidents`; null: it is about alerts.
    pub incident: Option<usize>,
    /// What it is, in one line.
    pub words: Said,
    /// What to type, if one command is the next step.
    pub command: Option<String>,
}

impl WatchDocument {
    /// What to do now. In a document of a program that had only lines (an older daemon's, an older recording), the lines.
    pub fn things_to_do(&self) -> DoNowEntry {
        if !self.do_now.first.is_empty() {
            return self.do_now.clone();
        }
        let entry = |words: &Said| ToDoEntry { incident: None, words: words.clone(), command: None };
        DoNowEntry { first: self.to_do.iter().map(entry).collect(), more: 0 }
    }
}

/// One light of the status.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LightEntry {
    /// What it is about.
    #[serde(with = "as_word")]
    pub name: LightName,
    /// Its colour; `none`: the machine has nothing of this kind.
    #[serde(with = "as_word")]
    pub colour: LightColour,
    /// What the light shows, in words.
    pub words: Said,
}

/// The status of an array.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ArrayEntry {
    /// Its UUID.
    pub key: String,
    /// The array's name for people.
    pub name: String,
    /// The RAID level, such as `RAID6`.
    pub level: String,
    /// The kernel's names of its members; null: an empty place.
    pub members: Vec<Option<String>>,
    /// How many members may be lost when all are present.
    #[serde(default)]
    pub redundancy: u64,
    /// How many more members may be lost; negative: too many are.
    pub redundancy_left: i64,
    /// Does a member lack, or not hold its data?
    #[serde(default)]
    pub is_degraded: bool,
    /// What it does on its own.
    #[serde(with = "as_word")]
    pub activity: ArrayActivity,
    /// Is the array present?
    pub is_there: bool,
    /// The status of its own check, driven by the watch; null: the watch cannot drive it, and reads only its members.
    pub check: Option<ReadingEntry>,
    /// What a pool of ZFS says of itself; null: it is no pool.
    #[serde(default)]
    pub pool: Option<PoolEntry>,
    /// Stripes of a volume of Scrubjay that hold lost data; null: it is no volume, or does not say.
    #[serde(default)]
    pub lost_stripes: Option<u64>,
    /// What would have to be read if one more member died tonight; null: it has no redundancy left, or nothing is known.
    #[serde(default)]
    pub exposure: Option<Said>,
}

/// What a pool of ZFS says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PoolEntry {
    /// Why it does not serve its data now, in ZFS's word, such as `SUSPENDED`; null: it does.
    pub failed: Option<String>,
    /// Blocks that are lost for good; null: that is not known.
    pub lost_blocks: Option<u64>,
    /// Why that is not known.
    pub unknown_why: Option<String>,
    /// The damaged files in ZFS's words, 100 at most; empty also where they are not known.
    pub damaged_files: Vec<String>,
    /// The errors that ZFS has counted at devices since they were last cleared: names and counts.
    pub member_errors: Vec<(String, u64)>,
    /// When a scrub last covered all of it; 0: none ever did; null: not known.
    pub scrubbed: Option<u64>,
    /// What its scrub or resilver does now, in words; empty: there is none.
    pub scan: Said,
}

/// What is done about a disk or an array now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReadingActivity {
    /// It is read.
    Reading,
    /// Its scrub waits, for others or to begin.
    Waiting,
    /// It is not its turn, or something holds it back.
    #[default]
    Held,
}

worded!(ReadingActivity { Reading = "reading", Waiting = "waiting", Held = "held", });

/// The status of reading a disk, or an array by its own checker.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ReadingEntry {
    /// When its oldest sector was read; null: some never were.
    pub oldest_read: Option<u64>,
    /// When the first of its sectors is due.
    pub due: u64,
    /// Sectors that could not be read; for an array: nor rebuilt.
    pub unreadable: u64,
    /// For an array: rows or copies that were wrong and were repaired.
    pub corrected: u64,
    /// For an array: sectors whose copies or parity disagree.
    pub mismatched: u64,
    /// What is done about it now.
    #[serde(with = "as_word")]
    pub activity: ReadingActivity,
    /// What it waits for, or what holds it back, in words.
    pub why: Option<Said>,
    /// The share of the pass that is done, 0 to 1; null: none is under way.
    pub pass_share: Option<f64>,
    /// The mean slowdown of foreground requests in this session, in nanoseconds; null: no foreground request was seen.
    pub slowdown_nanos: Option<u64>,
    /// The goal for the mean slowdown, in nanoseconds.
    pub budget_nanos: u64,
    /// Are foreground requests not seen at all in this session? Then they cannot be spared.
    #[serde(default)]
    pub is_blind: bool,
    /// What the session says of itself: how it verifies, what it cannot do, and its troubles.
    #[serde(default)]
    pub notes: Vec<String>,
    /// When the pass will end.
    pub forecast: Option<ForecastEntry>,
    /// By how many seconds its first due sector will be late; null: no end is in sight.
    pub lateness: Option<u64>,
}

/// The status of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskEntry {
    /// Its identity.
    pub key: String,
    /// The kernel's name, while it is present.
    pub name: Option<String>,
    /// The kernel's name when it was last seen.
    pub last_name: String,
    /// Its serial number, if it reports one.
    pub serial: Option<String>,
    /// Its model.
    pub model: String,
    /// Its bay.
    pub bay: Option<String>,
    /// Its size in bytes.
    pub bytes: u64,
    /// Whether it has moving parts.
    #[serde(with = "as_word")]
    pub media: MediaKind,
    /// How it is.
    #[serde(with = "as_word")]
    pub health: HealthState,
    /// The reasons for `health`.
    pub reasons: Vec<Said>,
    /// The status of its reading.
    #[serde(flatten)]
    pub reading: ReadingEntry,
    /// The id of a process, other than the daemon, that scrubs it.
    pub scrubbed_by: Option<u32>,
}

/// When a pass ends: with a probability of 80 % between `low` and `high`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForecastEntry {
    /// The pass ends before this time with a probability of 10 %.
    pub low: u64,
    /// The most likely time.
    pub likely: u64,
    /// The pass ends after this time with a probability of 10 %.
    pub high: u64,
}

/// An open incident.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentEntry {
    /// The disk's identity, the array's UUID, the channel's name.
    pub subject: String,
    /// What is wrong.
    #[serde(with = "as_word")]
    pub kind: IncidentKind,
    /// How much it matters.
    #[serde(with = "as_word")]
    pub urgency: Urgency,
    /// What is wrong, in one line.
    pub headline: Said,
    /// When it opened.
    pub since: u64,
    /// Did a person accept it, until it grows?
    pub is_accepted: bool,
}

/// The status of a channel for messages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChannelEntry {
    /// Its name.
    pub name: String,
    /// When it was last proven, in words: `proven 12 Mar 2026`, `never proven`.
    pub proof: Said,
    /// Is it proven now? Null: an older watch does not say.
    #[serde(default)]
    pub is_proven: Option<bool>,
    /// When a code that came by it was last confirmed.
    pub proven: Option<u64>,
    /// What proves the same settings on other machines, `[alert] proofs`; null: it is not proven here, or not asked by root.
    #[serde(default)]
    pub proof_line: Option<String>,
    /// When it last accepted a message.
    pub delivered: Option<u64>,
    /// Since when it has accepted none.
    pub failing_since: Option<u64>,
    /// The result of the last attempt since the daemon was started.
    pub last: Option<DeliveryEntry>,
}

/// The result of an attempt to deliver a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeliveryEntry {
    /// The message's number.
    pub message: u64,
    /// When it was made.
    pub at: u64,
    /// Was it accepted?
    pub is_accepted: bool,
    /// The other side's reply, or what is wrong and what to do.
    pub said: String,
    /// How long it took, in milliseconds.
    pub millis: u64,
}

/// The status of the channels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertDocument {
    /// [`SCHEMA`].
    pub schema: u32,
    /// When this status was taken.
    pub time: u64,
    /// All channels.
    pub channels: Vec<ChannelEntry>,
    /// The numbers of messages that wait to be accepted.
    pub waiting: Vec<u64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_of_an_older_program_is_its_lines() {
        let lines: Vec<Said> = vec!["REPLACE bay 3".into(), "and 2 more".into()];
        let older = WatchDocument { to_do: lines.clone(), ..WatchDocument::default() };
        let mut json = serde_json::to_value(&older).unwrap();
        json.as_object_mut().unwrap().remove("do_now");
        let read: WatchDocument = serde_json::from_value(json).unwrap();
        let words: Vec<Said> = read.things_to_do().first.into_iter().map(|thing| thing.words).collect();
        assert_eq!(words, lines);
        let thing = ToDoEntry { incident: Some(0), words: "REPLACE bay 3".into(), command: None };
        let do_now = DoNowEntry { first: vec![thing], more: 2 };
        assert_eq!(WatchDocument { do_now: do_now.clone(), ..older }.things_to_do(), do_now);
    }
}
