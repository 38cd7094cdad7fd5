//! Requests of programs that failed at a disk, as the kernel says in the second in which it happens.
//!
//! A program's error is no proof of what is wrong, nor of where: a request spans many sectors. So it is told, and the place is left alone until
//! the disk's next pass, which reads it in its turn, and says.

use crate::worded;
use scrubjay_core::units::{SectorRange, UnixSeconds};

/// Places that are remembered of a disk, at most.
const RUNS_MAX: usize = 8;

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
}

impl FailedRequests {
    /// Adds those that came later.
    pub fn add(&mut self, later: FailedRequests) {
        self.reads = self.reads.saturating_add(later.reads);
        self.writes = self.writes.saturating_add(later.writes);
        self.cause = self.cause.max(later.cause);
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
