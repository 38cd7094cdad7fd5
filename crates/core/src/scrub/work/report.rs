//! The report of paced work: what it got, and what the foreground lost by it.

use crate::scrub::idle::{PolicyState, Slowdown, WaitReason};
use crate::scrub::latency::ForegroundLatency;
use crate::units::Nanos;

/// What the work does at the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkActivity {
    /// It runs.
    Going,
    /// It is ordered to hold, and what it sent has not ended yet.
    Holding,
    /// It is held.
    Held,
}

/// A snapshot of paced work.
#[derive(Clone, Debug)]
pub struct WorkReport {
    /// What it does at the moment.
    pub activity: WorkActivity,
    /// Why it is held, if it is.
    pub waits_for: Option<WaitReason>,
    /// How long this has lasted.
    pub elapsed: Nanos,
    /// The time in which it ran.
    pub ran: Nanos,
    /// The time in which it was held, from the order on.
    pub held: Nanos,
    /// The longest time in which it was held without going on.
    pub held_longest: Nanos,
    /// How often it was held (count).
    pub holds: u64,
    /// The hold time that one in eight exceeds, at the beginning of a run and later in it: what the plan reckons with.
    pub hold_times: [Nanos; 2],
    /// The median of these times; `None`: it was never held.
    pub hold_median: Option<Nanos>,
    /// How often it went on only because it had been held for as long as it may be (count).
    pub respites: u64,
    /// Requests of the work that were seen at the disk (count).
    pub requests: u64,
    /// Foreground requests seen (count).
    pub foreground_requests: u64,
    /// What the foreground lost.
    pub slowdown: Slowdown,
    /// The response times of the foreground; `None` unless completions are seen.
    pub latency: Option<ForegroundLatency>,
    /// The total time that the disk was free of foreground requests.
    pub idle: Nanos,
    /// The policy's settings.
    pub setting: PolicyState,
}
