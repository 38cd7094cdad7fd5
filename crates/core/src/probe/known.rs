//! The knowledge of a prober: claims, each with its probability.

use super::library::LayoutFit;
use std::fmt;

/// A statement, and the probability that it is true, as far as the tests behind it show.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim<T> {
    /// The statement.
    pub value: T,
    /// The probability, 0 to 1.
    pub confidence: f64,
}

impl<T> Claim<T> {
    /// A claim of `value` with the probability `confidence`.
    pub fn new(value: T, confidence: f64) -> Claim<T> {
        Claim { value, confidence }
    }
}

/// How the members serve requests, which decides how they are probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceClass {
    /// Each member serves one request at a time, which takes as long as the seek: disks that spin.
    Disks,
    /// Members serve many requests at the same time, until they are saturated.
    Flash {
        /// The number of requests that saturates them.
        depth: usize,
    },
}

/// Why an array cannot be measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasurable {
    /// It is too small for the test that is needed.
    TooSmall {
        /// The size that it would have to have at least, in bytes.
        bytes_min: u64,
    },
    /// All its answers come from a cache, or from memory.
    Memory {
        /// The median response time, in nanoseconds.
        response_nanos: u64,
    },
    /// Some places are answered from memory: they are in a cache, or were never written.
    PartlyMemory {
        /// The share of such places, in percent: 12 to 88.
        percent: u8,
    },
    /// It takes one request at a time, so its disks work one after the other.
    Serial,
    /// A limit on requests determines its times: of a cloud, a quality-of-service rule, a link.
    Limited,
    /// This many requests at a time take no longer than half as many: the device serves more at once than can be sent
    /// to it, or answers from memory, and the time is spent on the way to it.
    Unfilled {
        /// The number of requests at a time.
        depth: usize,
    },
    /// It lacks members: some places wait for whatever else is read, because they are rebuilt from all other members.
    Degraded {
        /// The share of such places, in percent, among some 24 places.
        percent: u8,
    },
    /// The noise of the times exceeds the differences to be measured.
    TooNoisy,
    /// Requests fail.
    Errors,
    /// No distance up to this one makes all reads wait for each other. Either there is no pattern, or a larger one; or
    /// the array hides it (members that are missing, very unlike each other, or chosen by the nearest head).
    NoPattern {
        /// The largest distance tried, in bytes.
        bytes_max: u64,
    },
    /// The places where chunks begin were not found: members are missing, disks are unlike each other, or copies are
    /// chosen by chance or by the nearest head; or, on a small device, the pattern found is a part of a larger one.
    NoChunks {
        /// The device size in bytes from which a larger pattern would have been seen. `None`: the device is as large as
        /// that, so there is none.
        bytes_min: Option<u64>,
    },
    /// The layout found did not predict which further reads wait for each other, or not surely: the array is not one
    /// striping, or not the one that was found.
    Uneven,
}

/// The redundancy of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedundancyLevel {
    /// No redundancy.
    Raid0,
    /// The number of copies.
    Mirror(usize),
    /// One parity, all of it on one disk.
    Raid4,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
}

/// Why writes do not show the level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelRefusal {
    /// A cache takes writes and answers in place of the disks.
    WriteCache,
    /// A member is missing: nothing was written, and nothing should be.
    Degraded,
    /// Reads have left no level to choose from; nothing was written.
    NoLayout,
    /// The cost of writes is that of no level.
    Unlike,
}

/// A finding that a user should know.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeFinding {
    /// Classes are of unequal size: several members share a disk, or the array was assembled wrongly.
    Unequal {
        /// The number of chunks of each class in a pattern.
        sizes: Vec<usize>,
    },
    /// A class is slower than the median.
    Slow {
        /// Index of the class, from 0.
        class: usize,
        /// Its time, relative to the median: more than 1.
        factor: f64,
    },
    /// A class is faster than the median.
    Fast {
        /// Index of the class, from 0.
        class: usize,
        /// Its time, relative to the median: less than 1.
        factor: f64,
    },
    /// Chunks of this class wait for chunks of every other one: its disk is missing, and they are rebuilt from the others.
    Lost {
        /// Index of the class, from 0.
        class: usize,
    },
    /// A mirror performs like one disk: it has lost its copies.
    LostCopy {
        /// Index of the class, from 0.
        class: usize,
    },
    /// No known layout has these classes.
    Unknown,
    /// Writes were allowed, but do not show the level.
    NoLevel {
        /// The reason.
        why: LevelRefusal,
    },
}

/// The step that the prober is at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeStage {
    /// How the members serve requests.
    #[default]
    DeviceClass,
    /// The size of the pattern.
    Pattern,
    /// Where chunks begin.
    Boundary,
    /// The number of copies.
    Copies,
    /// Which chunks lie on the same disk.
    Layout,
    /// Whether the layout found predicts which reads wait for each other.
    Check,
    /// Whether a member is unlike the others.
    Members,
    /// The cost of writes.
    Redundancy,
    /// All steps are done.
    Done,
}

/// The knowledge about an array; `None` where something is not known yet.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownArray {
    /// The current step.
    pub stage: ProbeStage,
    /// Why the array cannot be measured, if so.
    pub unmeasurable: Option<Unmeasurable>,
    /// How the members serve requests.
    pub device_class: Option<Claim<DeviceClass>>,
    /// The pattern: the least distance at which all blocks lie on the same disk again, in bytes. One block if there is one disk.
    pub pattern_bytes: Option<Claim<u64>>,
    /// The chunk: the bytes on one disk before the next disk's turn. `None` where there is one class.
    pub chunk_bytes: Option<Claim<u64>>,
    /// The first byte at which a chunk begins.
    pub phase_bytes: Option<Claim<u64>>,
    /// The number of disks that hold each chunk and share its reads.
    pub copies: Option<Claim<usize>>,
    /// The class of each chunk of the pattern, from the phase on.
    pub classes: Option<Claim<Vec<usize>>>,
    /// The number of disks, as far as they can be seen.
    pub disks: Option<Claim<usize>>,
    /// The first byte of each of several concatenated disks, to a MiB.
    pub joined: Option<Claim<Vec<u64>>>,
    /// The known layouts that have these classes; empty where there is none.
    pub fits: Option<Claim<Vec<LayoutFit>>>,
    /// The time of a random write, relative to that of a random read.
    pub write_ratio: Option<Claim<f64>>,
    /// The redundancy, judged by this ratio.
    pub level: Option<Claim<RedundancyLevel>>,
    /// The time of a read of each class, relative to the median of all classes.
    pub class_times: Vec<f64>,
    /// Findings that a user should know.
    pub findings: Vec<Claim<ProbeFinding>>,
    /// Measurements on the way, by the paper's prober only.
    pub scans: Scans,
}

/// The paper's three scans, as far as they are done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scans {
    /// Each pattern size that was assumed, in bytes, and the mean time of its trials, in seconds.
    pub patterns: Vec<(u64, f64)>,
    /// Each place in the pattern at which a chunk may begin, in bytes, and the mean time of its trials, in seconds.
    pub boundaries: Vec<(u64, f64)>,
    /// The mean time of each pair of chunks, in seconds: one row per chunk.
    pub pairs: Vec<Vec<f64>>,
}

impl fmt::Display for ProbeStage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            ProbeStage::DeviceClass => "device class",
            ProbeStage::Pattern => "pattern",
            ProbeStage::Boundary => "boundary",
            ProbeStage::Copies => "copies",
            ProbeStage::Layout => "layout",
            ProbeStage::Check => "check",
            ProbeStage::Members => "members",
            ProbeStage::Redundancy => "redundancy",
            ProbeStage::Done => "done",
        })
    }
}
