//! The report of a scrub: its progress while it runs, and the result.

use crate::scrub::forecast::Forecast;
use crate::scrub::idle::{PolicyState, Slowdown, WaitReason};
use crate::scrub::latency::ForegroundLatency;
use crate::scrub::verdict::{Cause, Unreadable};
use crate::units::{Bytes, Nanos, SectorRange};

/// Whether a scrub is running, or why it has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubState {
    /// There is more to verify.
    Running,
    /// Every sector of the range has a verdict.
    Complete,
    /// The device went away. Verified sectors stay verified.
    Gone,
    /// Some ranges have no verdict, because the device answered inconclusively again and again.
    Failed(Cause),
}

/// What the scrub is doing at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScrubActivity {
    /// A request is at the disk.
    Reading,
    /// The disk is in use, or has not been idle for long enough, or the policy waits for another reason.
    Waiting,
    /// The scrub has ended.
    Ended,
}

/// A snapshot of a scrub.
#[derive(Clone, Debug)]
pub struct ScrubReport {
    /// Whether the scrub is running, or why it has ended.
    pub state: ScrubState,
    /// What the scrub is doing at the moment.
    pub activity: ScrubActivity,
    /// Why it waits, if it does.
    pub waits_for: Option<WaitReason>,
    /// The size of the range to verify.
    pub bytes: Bytes,
    /// Clean sectors of this pass, in bytes, those of earlier runs of the same pass included.
    pub bytes_verified: Bytes,
    /// Clean sectors of this run, in bytes.
    pub bytes_verified_now: Bytes,
    /// The bytes that this run asked the disk for, repeated reads included.
    pub bytes_requested: Bytes,
    /// The total time that requests of this run were at the disk; time shared by several counts once.
    pub reading: Nanos,
    /// How long the oldest request at the disk has been there; zero when none is.
    pub in_flight_for: Nanos,
    /// Unreadable sectors of this pass, ascending; neighbours with like causes joined.
    pub unreadable: Vec<Unreadable>,
    /// Where the members of an array were read and did not agree ([`Cause::Mismatch`]), ascending; neighbours joined.
    pub mismatched: Vec<SectorRange>,
    /// Requests that failed although each of their blocks could be read afterwards (count): the drive had to try again.
    pub transient_errors: u64,
    /// The cause of the first of these failures.
    pub transient_cause: Option<Cause>,
    /// Requests of this run that timed out, were cut short, or got an answer that proves nothing (count); they were repeated.
    pub unanswered: u64,
    /// The cause of the first of these.
    pub unanswered_cause: Option<Cause>,
    /// What was left to the end of the pass, in small requests, because requests there have stalled the drive.
    pub spared: Bytes,
    /// Rows of a volume, or blocks of a btrfs, that were wrong in this pass and whose right content is known (count).
    pub corrected: u64,
    /// Those of them that were only found, because nothing could be repaired then (count).
    pub found_only: u64,
    /// Places of the subject's members that are still wrong in this pass, though their right content is known (count).
    pub unrepaired: u64,
    /// Findings of this pass that were right when they were read again (count).
    pub transient: u64,
    /// How long this run has lasted.
    pub elapsed: Nanos,
    /// Foreground requests seen (count).
    pub foreground_requests: u64,
    /// The slowdown of the foreground.
    pub slowdown: Slowdown,
    /// The response times of the foreground; `None` unless completions are seen.
    pub latency: Option<ForegroundLatency>,
    /// The total time that the disk was free of foreground requests, as far as was seen.
    pub idle: Nanos,
    /// The longest idle interval seen, in this run or in earlier ones; the present one counts.
    pub idle_longest: Nanos,
    /// The policy's settings.
    pub setting: PolicyState,
    /// How long the rest of the scrub will take; `None`: not known yet.
    pub forecast: Option<Forecast>,
    /// The age in seconds of the least recently verified sector of the range; `None`: some sector was never verified.
    pub oldest_unread_seconds: Option<u64>,
}

impl ScrubReport {
    /// The number of unreadable sectors.
    pub fn unreadable_sectors(&self) -> u64 {
        self.unreadable.iter().map(|found| found.range.count()).sum()
    }

    /// The number of sectors in which the members of an array do not agree.
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
