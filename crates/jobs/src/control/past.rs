//! What the daemon answers of the past: what happened, and how each disk became what it is. Dates are in seconds since 1970, UTC;
//! 0 where there is none.

use super::documents::WatchDocument;
use serde::{Deserialize, Serialize};

/// Months of which each disk's unreadable sectors are told.
pub const MONTHS: usize = 12;
/// Parts of a disk's surface, each with a date.
pub const SURFACE_PARTS: usize = 128;

/// All that a page shows, as it was at one time: of a model, to look at the page before there is a watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct WatchSnapshot {
    /// How things stood.
    pub status: WatchDocument,
    /// What had happened, of each disk in full.
    pub past: PastDocument,
}

/// What has happened.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PastDocument {
    /// [`super::SCHEMA`].
    pub schema: u32,
    /// The newest events, the newest first.
    pub events: Vec<PastEvent>,
    /// The disks, by identity.
    pub disks: Vec<DiskPast>,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastEvent {
    /// When.
    pub at: u64,
    /// `pass-finished`, `incident-opened`, as `scrubjay history` has them.
    pub kind: String,
    /// The identity of the disk that it is about, if it is about one.
    pub disk: Option<String>,
    /// What it is about: the kernel's name of a disk at that time, an array's UUID, a channel.
    pub subject: String,
    /// In one line.
    pub words: String,
}

/// How a disk became what it is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskPast {
    /// Its identity.
    pub key: String,
    /// What its drive says.
    pub drive: DriveSays,
    /// Passes that were finished,
    pub passes_finished: u64,
    /// the last of them then,
    pub last_pass: u64,
    /// and what was read in all of them, and in the one under way, in bytes.
    pub bytes_read: u64,
    /// Reads of the last pass, or of the one under way, that went well only the second time.
    pub retries: u64,
    /// What one read takes on it, as a mean over its last pass, in nanoseconds; 0: not measured.
    pub service_nanos: u64,
    /// Unreadable sectors that were known at the end of each month, the oldest first; the last one is now.
    pub unreadable_by_month: [u64; MONTHS],
    /// Unreadable sectors that were found in the last 30 days.
    pub unreadable_new: u64,
    /// In full.
    pub detail: Option<DiskDetail>,
}

/// What a drive says of itself, by SMART.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveSays {
    /// When it was last asked.
    pub read: u64,
    /// Its own verdict: false is "failing"; null: it gives none.
    pub passed: Option<bool>,
    /// Its last temperature, in degrees Celsius.
    pub celsius: Option<i32>,
    /// Endurance used, percent; null: the drive does not say.
    pub used_percent: Option<u8>,
    /// Its counters.
    pub counters: Vec<CounterEntry>,
}

/// A counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterEntry {
    /// `reallocated`, `pending`.
    pub key: String,
    /// For people: `remapped sectors (5)`.
    pub name: String,
    /// What it is now, decoded.
    pub value: u64,
    /// By how much it has grown of late,
    pub growth: u64,
    /// since then; 0: it has not.
    pub since: u64,
    /// Does it tell of the medium, and not of cable and patience?
    pub is_of_medium: bool,
}

/// All that is known of one disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskDetail {
    /// Its surface in [`SURFACE_PARTS`] parts of one size, from the first sector to the last; empty: nothing is known of it.
    pub surface: Vec<SurfacePart>,
    /// What happened to it, the newest first.
    pub events: Vec<PastEvent>,
    /// Its finished passes, the newest first.
    pub passes: Vec<PassEntry>,
    /// Its unreadable sectors: those that still are, then those that were.
    pub findings: Vec<FindingEntry>,
    /// Its counters over time, one entry a counter that was ever above zero.
    pub counters: Vec<CounterTrend>,
    /// Its temperatures, the oldest first: the highest of a day.
    pub temperatures: Vec<(u64, i32)>,
    /// How fast it was.
    #[serde(default)]
    pub bench: BenchPast,
}

/// What `bench disk` kept of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchPast {
    /// Its results, the newest first.
    pub results: Vec<BenchEntry>,
    /// What is wrong with the file that keeps them; null: nothing.
    pub trouble: Option<String>,
}

/// A result: random reads of 4 KiB, one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchEntry {
    /// When.
    pub at: u64,
    /// Requests a second.
    pub iops: f64,
    /// What one took, as a mean, in seconds.
    pub mean_seconds: f64,
    /// How many earlier results it is held against,
    pub past: u64,
    /// and the median of theirs, in seconds; null: there is none.
    pub past_median_seconds: Option<f64>,
    /// In what it is worse than they were, or than others of its model.
    pub warnings: Vec<String>,
}

/// A part of a surface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SurfacePart {
    /// When its oldest sector was read; 0: some never were.
    pub read: u64,
    /// Its unreadable sectors.
    pub unreadable: u64,
}

/// A finished pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PassEntry {
    /// When it began,
    pub begun: u64,
    /// and ended.
    pub ended: u64,
    /// Its unreadable sectors.
    pub unreadable: u64,
    /// Reads that went well only the second time.
    pub retries: u64,
    /// Bytes a second while it was read; 0: not measured.
    pub bytes_per_second: u64,
}

/// A run of unreadable sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingEntry {
    /// The first of them.
    pub start: u64,
    /// How many they are.
    pub count: u64,
    /// When they were first found so.
    pub found: u64,
    /// When a pass could read them again; null: none could.
    pub gone: Option<u64>,
}

/// A counter over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterTrend {
    /// For people.
    pub name: String,
    /// When, and what it was.
    pub points: Vec<(u64, u64)>,
}
