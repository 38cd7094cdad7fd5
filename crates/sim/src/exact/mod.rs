//! The exact simulator of interval policies on a trace: what a scrub would have read, and what it would have cost.
//!
//! One first-come-first-served server. A request of ours cannot be recalled: who arrives while it is at the disk waits
//! for the rest of it, and so do all who come before the disk is idle again; what is left of the delay then shortens
//! the next idle interval. All of it follows from the idle intervals and the number of requests in each busy period
//! ([`Periods`]), exact to the nanosecond, in a few nanoseconds a busy period: the property tests compare it with the
//! pump, which plays every request.

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

/// Something that decides what happens in an idle interval, knowing how long it will be. Policies that could exist do not
/// look.
pub trait Player {
    /// What is done in an idle interval that begins now.
    fn pattern(&mut self, interval: Interval) -> IdlePattern;

    /// It has ended.
    fn ended(&mut self, idle: Nanos);
}

/// An idle interval, with what will become of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// Its place in [`Periods::idle`].
    pub number: usize,
    /// For how long the disk will be idle.
    pub idle: Nanos,
    /// For how long it would be if nobody had been delayed.
    pub alone: Nanos,
}

impl<P: IntervalPolicy + ?Sized> Player for P {
    fn pattern(&mut self, _: Interval) -> IdlePattern {
        IntervalPolicy::pattern(self)
    }

    fn ended(&mut self, idle: Nanos) {
        IntervalPolicy::ended(self, idle);
    }
}

/// What a scrub came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScrubFigures {
    /// Foreground requests.
    pub requests: u64,
    /// From the first arrival to the end of the last foreground request, without the scrub.
    pub span: Nanos,
    /// Idle intervals, without the scrub.
    pub intervals: u64,
    /// Their sum.
    pub idle_total: Nanos,
    /// Idle intervals that ended with a request of ours at the disk.
    pub collisions: u64,
    /// Requests of ours.
    pub scrub_requests: u64,
    /// What they read.
    pub scrub_bytes: u64,
    /// Idle time with a request of ours at the disk.
    pub used: Nanos,
    /// What all foreground requests lost, those queued behind a delayed one included, in nanoseconds.
    pub slowdown_total: u128,
    /// What the most delayed one lost.
    pub slowdown_max: Nanos,
}

impl ScrubFigures {
    /// Of a trace before anything is done to it.
    fn of(periods: &Periods) -> ScrubFigures {
        ScrubFigures {
            requests: periods.requests(),
            span: periods.span(),
            intervals: periods.intervals().len() as u64,
            idle_total: periods.idle_total(),
            ..ScrubFigures::default()
        }
    }

    /// Collisions for each idle interval, 0..=1 (Amvrosiadis et al., DSN'12, Fig. 14).
    pub fn collision_rate(&self) -> f64 {
        self.collisions as f64 / self.intervals.max(1) as f64
    }

    /// The share of the idle time that was used, 0..=1 (the same figure).
    pub fn used_ratio(&self) -> f64 {
        self.used.as_secs_f64() / self.idle_total.as_secs_f64().max(1e-9)
    }

    /// Bytes read a second of the whole trace.
    pub fn bytes_per_second(&self) -> f64 {
        self.scrub_bytes as f64 / self.span.as_secs_f64().max(1e-9)
    }

    /// The mean slowdown of all foreground requests, in seconds.
    pub fn slowdown_mean_seconds(&self) -> f64 {
        self.slowdown_total as f64 / 1e9 / self.requests.max(1) as f64
    }
}

/// Plays `player` on a trace; `disk` says how long a request of ours takes.
pub fn simulate(periods: &Periods, disk: ServiceModel, player: &mut (impl Player + ?Sized)) -> ScrubFigures {
    let mut outcome = ScrubFigures::of(periods);
    let mut delay = Nanos::ZERO;
    for (index, period) in periods.iter().enumerate() {
        if period.idle > delay && index > 0 {
            let idle = period.idle - delay;
            let interval = Interval { number: index, idle, alone: period.idle };
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

    /// All requests of a busy period are delayed alike.
    fn delay(&mut self, delay: Nanos, requests: u32) {
        self.slowdown_total += u128::from(delay.0) * u128::from(requests);
        self.slowdown_max = self.slowdown_max.max(delay);
    }
}

#[cfg(test)]
mod tests;
