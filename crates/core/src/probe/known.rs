//! What a prober knows: statements, each with how sure it is.

use super::library::LayoutFit;
use std::fmt;

/// A statement and how sure it is: the probability, as far as the tests behind it tell, that it is true.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim<T> {
    /// What is said.
    pub value: T,
    /// 0 to 1.
    pub confidence: f64,
}

impl<T> Claim<T> {
    /// Says so, this sure.
    pub fn new(value: T, confidence: f64) -> Claim<T> {
        Claim { value, confidence }
    }
}

/// How the members answer, which decides how they are asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeviceClass {
    /// One request at a time each, whose time is the way to it: disks that spin.
    Disks,
    /// Many at a time, until they are saturated.
    Flash {
        /// Requests at a time that saturate what answers.
        depth: usize,
    },
}

/// Why nothing can be said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unmeasurable {
    /// It is too small for the test that is needed: it would have to have at least so many bytes.
    TooSmall {
        /// That many.
        bytes_min: u64,
    },
    /// Its answers come from a cache, or from memory: in so many nanoseconds, wherever they are asked.
    Memory {
        /// The median.
        response_nanos: u64,
    },
    /// So many of a hundred places are answered from memory: a cache holds them, or they were never written.
    PartlyMemory {
        /// 12 to 88.
        percent: u8,
    },
    /// It gets one request at a time, so whatever disks it has work one after the other.
    Serial,
    /// A limit on requests answers for all of it: of a cloud, a quality-of-service rule, a link.
    Limited,
    /// So many requests at a time take no longer than half as many: it does more at once than can be asked of it, or answers from
    /// memory, and what takes the time is the way to it.
    Unfilled {
        /// Requests at a time.
        depth: usize,
    },
    /// It lacks members: so many of a hundred places wait for whatever else is asked for, as they are reckoned from all others.
    Degraded {
        /// By some 24 places.
        percent: u8,
    },
    /// Times vary by more than what is to be seen in them.
    TooNoisy,
    /// It answers with errors.
    Errors,
    /// At no distance up to this do all reads wait for each other: there is no pattern, or a larger one; or what is in the array hides it
    /// (members that are missing, very unlike each other, or chosen by the nearest head).
    NoPattern {
        /// Bytes.
        bytes_max: u64,
    },
    /// Where its chunks begin could not be told: it lacks members, its disks are unlike each other, or copies are chosen by chance or by the
    /// nearest head; or, where it is small, what was found is a part of a larger pattern.
    NoChunks {
        /// On at least so many bytes the larger pattern would have been seen, if there is one. Nothing where there is none: the device
        /// has that many.
        bytes_min: Option<u64>,
    },
    /// What was found did not foretell which further reads wait for each other, or not surely: it is not one striping, or not the one
    /// that was found.
    Uneven,
}

/// The redundancy of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedundancyLevel {
    /// None.
    Raid0,
    /// So many copies.
    Mirror(usize),
    /// One parity, all of it on one disk.
    Raid4,
    /// One parity.
    Raid5,
    /// Two parities.
    Raid6,
}

/// Why the level cannot be told by writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LevelRefusal {
    /// A cache takes writes and answers for the disks.
    WriteCache,
    /// A member is lost: nothing was written, and nothing should be.
    Degraded,
    /// What reads told leaves no level to choose from; nothing was written.
    NoLayout,
    /// They cost what no level does.
    Unlike,
}

/// Something a user should know.
#[derive(Clone, Debug, PartialEq)]
pub enum ProbeFinding {
    /// Classes of unequal size: several members share a disk, or the array was put together wrongly.
    Unequal {
        /// Chunks of each class in a pattern.
        sizes: Vec<usize>,
    },
    /// A class takes so many times the median.
    Slow {
        /// Index of the class, from 0.
        class: usize,
        /// The factor, more than 1.
        factor: f64,
    },
    /// A class takes less than the median.
    Fast {
        /// Index of the class, from 0.
        class: usize,
        /// The factor, less than 1.
        factor: f64,
    },
    /// Chunks of this class wait for chunks of every other: its disk is gone, and they are reckoned from the others.
    Lost {
        /// Index of the class, from 0.
        class: usize,
    },
    /// A mirror answers as one disk: it has lost its copies.
    LostCopy {
        /// Index of the class, from 0.
        class: usize,
    },
    /// No known layout has these classes.
    Unknown,
    /// Writes were allowed, and do not tell the level.
    NoLevel {
        /// Why.
        why: LevelRefusal,
    },
}

/// What is being found out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProbeStage {
    /// How the members answer.
    #[default]
    DeviceClass,
    /// The pattern's size.
    Pattern,
    /// Where chunks begin.
    Boundary,
    /// How many copies there are.
    Copies,
    /// Which chunks lie together.
    Layout,
    /// Whether what was found foretells which reads wait for each other.
    Check,
    /// Whether a member is unlike the others.
    Members,
    /// What writes cost.
    Redundancy,
    /// Nothing any more.
    Done,
}

/// All that is known; what is not known yet is `None`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KnownArray {
    /// What is being found out now.
    pub stage: ProbeStage,
    /// Why nothing can be said, if nothing can.
    pub unmeasurable: Option<Unmeasurable>,
    /// How the members answer.
    pub device_class: Option<Claim<DeviceClass>>,
    /// The least distance at which all blocks lie on the same disk again, in bytes. One block where all lie on one disk.
    pub pattern_bytes: Option<Claim<u64>>,
    /// What lies on one disk before the next one's turn, in bytes; nothing where there is one class.
    pub chunk_bytes: Option<Claim<u64>>,
    /// The first byte at which a chunk begins.
    pub phase_bytes: Option<Claim<u64>>,
    /// Disks that hold each chunk and share its reads.
    pub copies: Option<Claim<usize>>,
    /// The class of each chunk of the pattern, from the phase on.
    pub classes: Option<Claim<Vec<usize>>>,
    /// Disks, as far as they can be seen.
    pub disks: Option<Claim<usize>>,
    /// Where each of several disks begins that lie one behind the other, in bytes, to a MiB.
    pub joined: Option<Claim<Vec<u64>>>,
    /// The known layouts that have these classes; empty where none has.
    pub fits: Option<Claim<Vec<LayoutFit>>>,
    /// The time of random writes in random reads.
    pub write_ratio: Option<Claim<f64>>,
    /// What that says of its redundancy.
    pub level: Option<Claim<RedundancyLevel>>,
    /// The time of a read of each class, in medians of all.
    pub class_times: Vec<f64>,
    /// What a user should know.
    pub findings: Vec<Claim<ProbeFinding>>,
    /// What was measured on the way, by the paper's prober only.
    pub scans: Scans,
}

/// The paper's three scans, those that are done.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scans {
    /// Each pattern that was assumed, in bytes, and the mean time of its trials, in seconds.
    pub patterns: Vec<(u64, f64)>,
    /// The same of each place in the pattern at which a chunk may begin.
    pub boundaries: Vec<(u64, f64)>,
    /// The mean time of each pair of chunks, in seconds; a row for each chunk.
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
