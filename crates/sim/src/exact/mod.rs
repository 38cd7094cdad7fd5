//! The exact simulator of interval policies on a trace: what a scrub would have read, and what slowdown it would have caused.
//!
//! One first-come-first-served server. A scrub request cannot be recalled: a request that arrives while one is at the disk waits
//! for the rest of it, and so do all that arrive before the disk is idle again; the rest of the delay then shortens the next idle
//! interval. All of this follows from the idle intervals and the number of requests in each busy period ([`Periods`]), exact to
//! the nanosecond, in a few nanoseconds a busy period. The property tests compare it with the pump, which plays every request.

mod closed;
mod firing;
mod learner;
mod oracle;
mod waiting;

pub use closed::{ClosedForm, closed_form};
pub use firing::Firing;
pub use learner::{Learned, learner};
pub use oracle::{Lossless, Oracle};
pub use waiting::{Limit, waiting};

use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{IdlePattern, IntervalPolicy};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// Decides what happens in an idle interval, given its length. Policies that could exist ignore the length.
pub trait Player {
    /// The pattern of requests for an idle interval that begins now.
    fn pattern(&mut self, interval: Interval) -> IdlePattern;

    /// Notes the end of the interval, which was `idle` long.
    fn ended(&mut self, idle: Nanos);
}

/// An idle interval, with its future length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its index in [`Periods::idle_before`].
    pub number: usize,
    /// Its length with the scrub.
    pub idle: Nanos,
    /// Its length if no request had been delayed.
    pub undelayed: Nanos,
}

impl<P: IntervalPolicy + ?Sized> Player for P {
    fn pattern(&mut self, _: Interval) -> IdlePattern {
        IntervalPolicy::pattern(self)
    }

    fn ended(&mut self, idle: Nanos) {
        IntervalPolicy::ended(self, idle);
    }
}

/// The figures of a scrub.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubFigures {
    /// Foreground requests.
    pub requests: u64,
    /// From the first arrival to the end of the last foreground request, without the scrub.
    pub span: Nanos,
    /// Idle intervals, without the scrub.
    pub intervals: u64,
    /// The sum of their lengths.
    pub idle_total: Nanos,
    /// Idle intervals that ended with a scrub request at the disk.
    pub collisions: u64,
    /// Scrub requests.
    pub scrub_requests: u64,
    /// Bytes that they read.
    pub scrub_bytes: u64,
    /// Idle time with a scrub request at the disk.
    pub used: Nanos,
    /// The slowdowns of all foreground requests, those queued behind a delayed one included, in sum, in nanoseconds.
    pub slowdown_total: u128,
    /// The greatest slowdown of one request.
    pub slowdown_max: Nanos,
}

impl ScrubFigures {
    /// The figures of a trace without a scrub.
    fn of(periods: &Periods) -> ScrubFigures {
        ScrubFigures {
            requests: periods.requests_total(),
            span: periods.span(),
            intervals: periods.intervals().len() as u64,
            idle_total: periods.idle_total(),
            ..ScrubFigures::default()
        }
    }

    /// Collisions per idle interval, 0..=1 (Amvrosiadis et al., DSN'12, Fig. 14).
    pub fn collision_rate(&self) -> f64 {
        self.collisions as f64 / self.intervals.max(1) as f64
    }

    /// The share of the idle time that was used, 0..=1 (Amvrosiadis et al., DSN'12, Fig. 14).
    pub fn used_ratio(&self) -> f64 {
        self.used.as_secs_f64() / self.idle_total.as_secs_f64().max(1e-9)
    }

    /// Bytes read per second of the whole trace.
    pub fn bytes_per_second(&self) -> f64 {
        self.scrub_bytes as f64 / self.span.as_secs_f64().max(1e-9)
    }

    /// The mean slowdown of all foreground requests, in seconds.
    pub fn slowdown_mean_seconds(&self) -> f64 {
        self.slowdown_total as f64 / 1e9 / self.requests.max(1) as f64
    }
}

/// Plays `player` on a trace; `disk` gives the time of a scrub request.
pub fn simulate(periods: &Periods, disk: ServiceModel, player: &mut (impl Player + ?Sized)) -> ScrubFigures {
    let mut outcome = ScrubFigures::of(periods);
    let mut delay = Nanos::ZERO;
    for (index, period) in periods.iter().enumerate() {
        if period.idle > delay && index > 0 {
            let idle = period.idle - delay;
            let interval = Interval { number: index, idle, undelayed: period.idle };
            let firing = Firing::of(&player.pattern(interval), idle, |size: Bytes| disk.service(size));
            player.ended(idle);
            outcome.add(&firing);
            delay = firing.residual;
        } else {
            delay = delay.since(period.idle);
        }
        outcome.delay(delay, period.requests);
    }
    outcome
}

impl ScrubFigures {
    fn add(&mut self, firing: &Firing) {
        self.scrub_requests += firing.requests;
        self.scrub_bytes += firing.bytes;
        self.used += firing.used;
        self.collisions += u64::from(firing.residual > Nanos::ZERO);
    }

    /// Delays all requests of a busy period by the same time.
    fn delay(&mut self, delay: Nanos, requests: u32) {
        self.slowdown_total += u128::from(delay.0) * u128::from(requests);
        self.slowdown_max = self.slowdown_max.max(delay);
    }
}

#[cfg(test)]
mod tests;
