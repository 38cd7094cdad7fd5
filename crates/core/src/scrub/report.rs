//! What a scrub says of itself: progress while it runs, and the result.

use crate::scrub::forecast::Forecast;
use crate::scrub::idle::{PolicyState, Slowdown, WaitReason};
use crate::scrub::latency::ForegroundLatency;
use crate::scrub::verdict::{Cause, Unreadable};
use crate::units::{Bytes, Nanos, SectorRange};

/// Why a scrub ended, or that it has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubState {
    /// There is more to verify.
    Running,
    /// Every sector of the range has a verdict.
    Complete,
    /// The device went away. What was verified stays verified.
    Gone,
    /// Some ranges have no verdict, because the device answers with something that says nothing about the medium, again
    /// and again.
    Failed(Cause),
}

/// What the scrub is doing at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubActivity {
    /// A request is at the disk.
    Reading,
    /// The disk is in use, or has not been idle for long enough.
    Waiting,
    /// Nothing more will be done.
    Ended,
}

/// A snapshot of a scrub.
#[derive(Clone, Debug)]
pub struct ScrubReport {
    /// Running, or why not.
    pub state: ScrubState,
    /// What it is doing.
    pub activity: ScrubActivity,
    /// Of one that waits: why.
    pub waits_for: Option<WaitReason>,
    /// The size of the range to verify.
    pub bytes: Bytes,
    /// Clean sectors of this pass, those of earlier runs of the same pass included.
    pub bytes_verified: Bytes,
    /// What this run has verified of it.
    pub bytes_verified_now: Bytes,
    /// What this run asked the disk for, repeated reads included.
    pub bytes_requested: Bytes,
    /// How long requests of this run were at the disk, those that were there together counted once.
    pub reading: Nanos,
    /// How long the oldest request at the disk has been there; zero when none is.
    pub in_flight_for: Nanos,
    /// Unreadable sectors of this pass, ascending, neighbours joined.
    pub unreadable: Vec<Unreadable>,
    /// Where the members of an array were read and did not agree ([`Cause::Mismatch`]), likewise.
    pub mismatched: Vec<SectorRange>,
    /// Requests that failed although every block of theirs could then be read: a drive that had to try again.
    pub transient_errors: u64,
    /// What the drive said the first time that happened.
    pub transient_cause: Option<Cause>,
    /// Rows of this pass that a volume found not to be what they should be, and made up for.
    pub corrected: u64,
    /// How long this run has lasted.
    pub elapsed: Nanos,
    /// Foreground requests seen.
    pub foreground_requests: u64,
    /// What they lost.
    pub slowdown: Slowdown,
    /// How long they took, where completions are seen.
    pub latency: Option<ForegroundLatency>,
    /// How long the disk was free of foreground requests, as far as was seen.
    pub idle: Nanos,
    /// The longest idle interval seen, in this run or as learnt before; the present one counts.
    pub idle_longest: Nanos,
    /// What the policy is set to.
    pub setting: PolicyState,
    /// When it will be done.
    pub forecast: Option<Forecast>,
    /// The age of the oldest unread sector in the range; `None`: some were never verified.
    pub oldest_unread_seconds: Option<u64>,
}

impl ScrubReport {
    /// How many sectors are unreadable.
    pub fn unreadable_sectors(&self) -> u64 {
        self.unreadable.iter().map(|found| found.range.count()).sum()
    }

    /// In how many sectors the members of an array do not agree.
    pub fn mismatched_sectors(&self) -> u64 {
        self.mismatched.iter().map(|range| range.count()).sum()
    }

    /// Sectors with a verdict as a share of the range, 0..=1.
    pub fn share_done(&self) -> f64 {
        let bad = self.unreadable_sectors() + self.mismatched_sectors();
        let known = self.bytes_verified.0 + bad * crate::units::SECTOR_BYTES;
        known as f64 / self.bytes.0 as f64
    }
}
