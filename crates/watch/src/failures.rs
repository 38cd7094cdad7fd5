//! Requests of programs that failed at a disk, as the kernel says in the second in which it happens.
//!
//! A program's error is no proof of what is wrong, nor of where: a request spans many sectors. So it is told, and the place is left alone until
//! the disk's next pass, which reads it in its turn, and says.

use crate::worded;
use scrubjay_core::units::{SectorRange, UnixSeconds};

/// Places that are remembered of a disk, at most.
const RUNS_MAX: usize = 8;

/// Things at places that are remembered of a disk, at most.
const CONTENTS_MAX: usize = 4;

/// Why a request failed, in the kernel's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FailureCause {
    /// The drive did not answer in time.
    TimedOut,
    /// The way to the drive failed.
    Transport,
    /// Checksums on the way did not match.
    Protection,
    /// Not told.
    Unknown,
    /// The drive refused.
    Target,
    /// The medium.
    Medium,
}

worded!(FailureCause {
    TimedOut = "timed-out",
    Transport = "transport",
    Protection = "protection",
    Unknown = "unknown",
    Target = "target",
    Medium = "medium",
});

impl FailureCause {
    /// Is the way to the drive more likely at fault than what it stores?
    pub fn is_of_the_way(self) -> bool {
        matches!(self, FailureCause::TimedOut | FailureCause::Transport | FailureCause::Protection)
    }
}

/// What kind of thing lies at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ContentsKind {
    /// Part of a file.
    File,
    /// A file system's own structures.
    Metadata,
    /// Nothing is stored there.
    Free,
    /// Parity only.
    Parity,
    /// No file system's.
    Outside,
    /// Data of a Scrubjay volume.
    Volume,
    /// Not known.
    Unknown,
}

worded!(ContentsKind {
    File = "file",
    Metadata = "metadata",
    Free = "free",
    Parity = "parity",
    Outside = "outside",
    Volume = "volume",
    Unknown = "unknown",
});

/// What lies where a request failed, as far as it was found out at once.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PlaceContents {
    /// The kernel's name of the device on which it lies: a partition, an array, a logical volume.
    pub device: String,
    /// The file system, if one was asked, such as `ext4`.
    pub file_system: Option<String>,
    /// What it is.
    pub kind: ContentsKind,
    /// Names of files, if messages may have them; not all of many.
    pub files: Vec<String>,
    /// The stripe of that device, where there are stripes.
    pub stripe: Option<u64>,
}

/// Requests that failed at a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FailedRequests {
    /// Reads (count).
    pub reads: u64,
    /// Writes (count).
    pub writes: u64,
    /// The gravest cause.
    pub cause: FailureCause,
    /// Their sectors, the earliest first; not all of many.
    pub runs: Vec<SectorRange>,
    /// What lies at some of them; empty: that was not found out.
    #[cfg_attr(feature = "serde", serde(default))]
    pub contents: Vec<PlaceContents>,
}

impl FailedRequests {
    /// Adds those that came later.
    pub fn add(&mut self, later: FailedRequests) {
        self.reads = self.reads.saturating_add(later.reads);
        self.writes = self.writes.saturating_add(later.writes);
        self.cause = self.cause.max(later.cause);
        for contents in later.contents {
            if !self.contents.contains(&contents) && self.contents.len() < CONTENTS_MAX {
                self.contents.push(contents);
            }
        }
        for run in later.runs {
            let known = self.runs.iter().position(|known| known.start <= run.end && run.start <= known.end);
            match known {
                Some(place) => {
                    let known = self.runs[place];
                    self.runs[place] = SectorRange::new(known.start.0.min(run.start.0), known.end.0.max(run.end.0));
                }
                None if self.runs.len() < RUNS_MAX => self.runs.push(run),
                None => {}
            }
        }
    }
}

/// What failed at a disk, and when.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KnownFailures {
    pub(crate) all: FailedRequests,
    pub(crate) since: UnixSeconds,
    pub(crate) last: UnixSeconds,
    /// Could an array of which it is a member read elsewhere what failed, each time?
    pub(crate) is_healed: bool,
}
