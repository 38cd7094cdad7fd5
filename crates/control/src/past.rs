//! The daemon's answers about the past: events, and the history of each disk.
//! Dates are in seconds since 1970, UTC; 0 stands for none.

use super::as_word;
use super::documents::WatchDocument;
pub use super::event_kind::HistoryEventKind;
use serde::{Deserialize, Serialize};

/// For how many months the counts of each disk's unreadable sectors are reported.
pub const MONTHS: usize = 12;
/// Into how many parts a disk's surface is divided, each with a date.
pub const SURFACE_PARTS: usize = 128;

/// All that the page shows, at one time of a modelled machine: to look at the page before there is a watch.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(expecting = "an object with `status` and `past`")]
pub struct WatchSnapshot {
    /// The status at that time.
    pub status: WatchDocument,
    /// The past at that time, of each disk in full.
    pub past: PastDocument,
}

/// The past of a machine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PastDocument {
    /// [`super::SCHEMA`].
    pub schema: u32,
    /// The newest events, the newest first.
    pub events: Vec<PastEvent>,
    /// The disks, by identity.
    pub disks: Vec<DiskPast>,
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PastEvent {
    /// When it happened.
    pub at: u64,
    /// Its kind as `scrubjay history` prints it.
    #[serde(with = "as_word")]
    pub kind: HistoryEventKind,
    /// The identity of the disk that it is about; null: it is about no disk.
    pub disk: Option<String>,
    /// What it is about: the kernel's name of a disk at that time, an array's UUID, a channel.
    pub subject: String,
    /// What happened, in one line.
    pub words: String,
}

/// The past of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskPast {
    /// Its identity.
    pub key: String,
    /// The SMART data of its drive.
    pub drive: DriveReported,
    /// How many passes were finished.
    pub passes_finished: u64,
    /// When the last pass was finished.
    pub last_pass: u64,
    /// Bytes read in all finished passes and in the one under way.
    pub bytes_read: u64,
    /// Reads that succeeded only at the second attempt, in the last pass or in the one under way.
    pub retries: u64,
    /// Mean service time of one read over its last pass, in nanoseconds; 0: not measured.
    pub service_nanos: u64,
    /// Unreadable sectors known at the end of each month, the oldest first; the last entry is the present count.
    pub unreadable_by_month: [u64; MONTHS],
    /// Unreadable sectors that were found in the last 30 days.
    pub unreadable_new: u64,
    /// Its past in full; null in a document of all disks.
    pub detail: Option<DiskDetail>,
}

/// The SMART data of a drive.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DriveReported {
    /// When the drive was last asked.
    pub read: u64,
    /// The drive's own verdict: false is "failing"; null: it gives none.
    pub passed: Option<bool>,
    /// Its last temperature, in degrees Celsius.
    pub celsius: Option<i32>,
    /// Endurance used, percent; null: the drive does not report it.
    pub used_percent: Option<u8>,
    /// Its counters.
    pub counters: Vec<CounterEntry>,
}

/// One decoded SMART counter.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterEntry {
    /// Its key, such as `reallocated` or `pending`.
    pub key: String,
    /// Its name for people, such as `remapped sectors (5)`.
    pub name: String,
    /// Its present value, decoded.
    pub value: u64,
    /// Its recent growth.
    pub growth: u64,
    /// Since when it has grown; 0: it has not.
    pub since: u64,
    /// Is it a counter of the medium, and not of the cable or of time-outs?
    pub is_of_medium: bool,
}

/// Everything known about one disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct DiskDetail {
    /// Its surface in at most [`SURFACE_PARTS`] parts of one size, from the first sector to the last; empty: nothing is
    /// known of it.
    pub surface: Vec<SurfacePart>,
    /// Its events, the newest first.
    pub events: Vec<PastEvent>,
    /// Its finished passes, the newest first.
    pub passes: Vec<PassEntry>,
    /// Its unreadable sectors: first those that still are, then those that were.
    pub findings: Vec<FindingEntry>,
    /// Its counters over time, one entry a counter that was ever above zero.
    pub counters: Vec<CounterTrend>,
    /// Its temperatures, the oldest first: the highest of a day.
    pub temperatures: Vec<(u64, i32)>,
    /// Its benchmark results.
    #[serde(default)]
    pub bench: BenchPast,
    /// How fast each part of it answers.
    #[serde(default)]
    pub speed: SurfaceSpeed,
}

/// How fast each part of a disk answers, as its scrubs measured it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SurfaceSpeed {
    /// When the pass began that was measured; 0: none was.
    pub begun: u64,
    /// When it ended; null: it is under way.
    pub ended: Option<u64>,
    /// Parts of one size, from the first sector to the last, at most [`SURFACE_PARTS`]; empty: nothing was measured.
    pub parts: Vec<SpeedPart>,
    /// When the pass before began; 0: there was none.
    pub before_begun: u64,
    /// The median speed of each part in the pass before, in bytes a second; 0: not measured. Empty: there was none.
    pub before: Vec<u64>,
    /// Places that answer slower than those around them, from the first sector on; not all of many.
    pub slow: Vec<SlowEntry>,
    /// How many there are.
    pub slow_places: u64,
    /// Whole passes of which a map is kept.
    pub passes: u64,
}

/// How fast a part of a disk answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpeedPart {
    /// The median of its regions, in bytes a second; 0: not measured.
    pub typical: u64,
    /// Its slowest region, in bytes a second; 0: not measured.
    pub slowest: u64,
    /// What is usual around it, in bytes a second: the curve of the zones; 0: not known.
    pub around: u64,
    /// The 99th percentile of its requests, in nanoseconds a MiB; 0: not measured.
    pub p99_nanos: u64,
}

/// A place that answers slower than those around it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SlowEntry {
    /// The first sector.
    pub start: u64,
    /// How many.
    pub count: u64,
    /// How many times as long a request takes.
    pub ratio: f64,
    /// The most visits to one region in which a request stalled for a tenth of a second or longer; 7: or more.
    pub stalled: u8,
    /// Whether it was slow in earlier passes too, so often that chance does not explain it.
    pub lasts: bool,
}

/// The results that `bench disk` kept for a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchPast {
    /// Its results, the newest first.
    pub results: Vec<BenchEntry>,
    /// What is wrong with the file that keeps the results; null: nothing.
    pub trouble: Option<String>,
}

/// A result of `bench disk`: random reads of 4 KiB, one at a time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct BenchEntry {
    /// When it was measured.
    pub at: u64,
    /// Requests a second.
    pub iops: f64,
    /// Mean time of one request, in seconds.
    pub mean_seconds: f64,
    /// How many earlier results it is compared with.
    pub past: u64,
    /// The median of their mean times, in seconds; null: there are none.
    pub past_median_seconds: Option<f64>,
    /// In what it is worse than those, or than other disks of its model.
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
    /// When it began.
    pub begun: u64,
    /// When it ended.
    pub ended: u64,
    /// Its unreadable sectors.
    pub unreadable: u64,
    /// Reads that succeeded only at the second attempt.
    pub retries: u64,
    /// Mean rate while it was read, in bytes a second; 0: not measured.
    pub bytes_per_second: u64,
}

/// A run of unreadable sectors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingEntry {
    /// The first of them.
    pub start: u64,
    /// How many they are.
    pub count: u64,
    /// When they were first found unreadable.
    pub found: u64,
    /// When a pass could read them again; null: they are still unreadable.
    pub gone: Option<u64>,
}

/// A counter over time.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CounterTrend {
    /// Its name for people.
    pub name: String,
    /// Times and values.
    pub points: Vec<(u64, u64)>,
}
