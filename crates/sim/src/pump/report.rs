//! The figures of a run: what was verified, and what the foreground lost by it.

use super::op::OpAtDisk;
use scrubjay_core::scrub::idle::Slowdown;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Bytes, Nanos};

/// The figures of one run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RunReport {
    /// Why it ended.
    pub end: RunEnd,
    /// Its length in virtual time.
    pub elapsed: Nanos,
    /// The figures of the foreground.
    pub foreground: ForegroundFigures,
    /// The figures of the scrub.
    pub scrub: Scrubbed,
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RunEnd {
    /// The machine was done.
    #[default]
    Done,
    /// The machine was not done in time.
    TimeUp,
    /// The machine waits for something that never comes: a bug in the machine.
    Stuck,
}

/// The figures of the foreground requests. Those that arrive after the end count as long as the scrub delays them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ForegroundFigures {
    /// All requests.
    pub requests: u64,
    /// Requests that arrived while the disk worked on a verification (a *collision*, Amvrosiadis et al., DSN'12, II).
    pub collisions: u64,
    /// Requests that were delayed at all: by a collision, or in the queue behind one.
    pub delayed: u64,
    /// The sum of the slowdowns: the response time with the scrub minus that without.
    pub slowdown_total: Nanos,
    /// The greatest slowdown of one request.
    pub slowdown_max: Nanos,
    /// The most that foreground requests lost by one scrub request, in sum: the one that met it, and those queued behind.
    pub slowdown_by_one_request: Nanos,
    /// The greatest value of the mean slowdown so far, from the 300th request on.
    pub slowdown_mean_worst: Nanos,
    /// The sum of the response times (queue and service) that the requests would have had without the scrub.
    pub response_total: Nanos,
    /// Idle intervals that would have ended with an arrival if there were no scrub.
    pub idle_intervals: u64,
    /// The sum of the lengths of these intervals.
    pub idle_total: Nanos,
}

impl ForegroundFigures {
    pub(super) fn add(&mut self, idle: Nanos, response: Nanos, slowdown: Nanos, is_collision: bool) {
        self.requests += 1;
        self.collisions += u64::from(is_collision);
        self.delayed += u64::from(slowdown > Nanos::ZERO);
        self.slowdown_total += slowdown;
        self.slowdown_max = self.slowdown_max.max(slowdown);
        if self.requests >= Slowdown::JUDGED_FROM_REQUESTS {
            self.slowdown_mean_worst = self.slowdown_mean_worst.max(Nanos(self.slowdown_total.0 / self.requests));
        }
        self.response_total += response;
        self.idle_intervals += u64::from(idle > Nanos::ZERO);
        self.idle_total += idle;
    }

    /// The mean slowdown over *all* foreground requests, in seconds; zero if there were none.
    pub fn slowdown_mean_seconds(&self) -> f64 {
        self.slowdown_total.as_secs_f64() / self.requests.max(1) as f64
    }

    /// The mean response time that the requests would have had without the scrub, in seconds; zero if there were none.
    pub fn response_mean_seconds(&self) -> f64 {
        self.response_total.as_secs_f64() / self.requests.max(1) as f64
    }
}

/// The figures of the scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scrubbed {
    /// Verifications that ended.
    pub ops: u64,
    /// Verifications that a foreground request collided with: the paper's collisions per idle interval, if a policy
    /// stops at the first.
    pub ops_hit: u64,
    /// Verifications that found an unreadable sector.
    pub ops_unreadable: u64,
    /// Bytes verified; a range that was verified again counts again.
    pub bytes: Bytes,
    /// How long the disk worked on verifications.
    pub busy: Nanos,
}

impl Scrubbed {
    pub(super) fn add(&mut self, op: &OpAtDisk) {
        self.ops += 1;
        self.ops_hit += u64::from(op.hit);
        self.ops_unreadable += u64::from(matches!(op.outcome, VerifyOutcome::Unreadable(_)));
        self.bytes.0 += op.range.bytes().0;
        self.busy += op.finished - op.started;
    }
}

impl RunReport {
    /// Bytes verified per second of the whole run; zero for an empty run.
    pub fn scrub_bytes_per_second(&self) -> f64 {
        if self.elapsed == Nanos::ZERO { 0.0 } else { self.scrub.bytes.0 as f64 / self.elapsed.as_secs_f64() }
    }

    /// The share of the foreground's idle time in which the disk verified (the paper's "fraction of idle time
    /// utilised", V-B); zero if there was none. Above 1 if verifications ran into busy time.
    pub fn idle_share_used(&self) -> f64 {
        if self.foreground.idle_total == Nanos::ZERO {
            return 0.0;
        }
        self.scrub.busy.as_secs_f64() / self.foreground.idle_total.as_secs_f64()
    }
}
