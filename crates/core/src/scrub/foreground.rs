//! The foreground as the scrubber follows it: is the disk idle, since when, and whom did we delay?

use crate::idle::{Observed, Slowdown};
use crate::units::Nanos;

/// How many arrivals during one request of ours are told apart; further ones count with the last of them.
const ARRIVALS_MAX: usize = 1 << 16;

/// Follows arrivals and completions.
#[derive(Clone, Debug)]
pub(super) struct Foreground {
    outstanding: u64,
    idle_since: Nanos,
    arrivals: Vec<Arrival>,
}

/// Foreground requests that may have met one of ours.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Nanos,
    count: u32,
    delay: Nanos,
}

impl Foreground {
    /// An idle disk, as far as is known.
    pub(super) fn new(now: Nanos) -> Foreground {
        Foreground { outstanding: 0, idle_since: now, arrivals: Vec::new() }
    }

    /// Requests at the disk.
    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Since when there is none; meaningless while there are some.
    pub(super) fn idle_since(&self) -> Nanos {
        self.idle_since
    }

    /// How long the disk has been idle.
    pub(super) fn idle_now(&self, now: Nanos) -> Nanos {
        if self.outstanding > 0 { Nanos::ZERO } else { now.since(self.idle_since) }
    }

    /// Requests arrived; an idle interval ends. `met_ours`: a request of ours is, or was just now, at the disk.
    pub(super) fn arrived(&mut self, at: Nanos, count: u32, met_ours: bool, seen: &mut Observed) {
        if self.outstanding == 0 {
            seen.workload.add_idle(at.since(self.idle_since));
        }
        self.outstanding += u64::from(count);
        seen.workload.add_requests(count);
        let is_full = self.arrivals.len() >= ARRIVALS_MAX;
        match self.arrivals.last_mut() {
            _ if !met_ours => {}
            Some(last) if is_full => last.count += count,
            _ => self.arrivals.push(Arrival { at, count, delay: Nanos::ZERO }),
        }
    }

    /// Requests were completed; perhaps an idle interval begins.
    pub(super) fn completed(&mut self, at: Nanos, count: u32) {
        if self.outstanding > 0 {
            self.outstanding = self.outstanding.saturating_sub(u64::from(count));
            self.idle_since = at;
        }
    }

    /// Nothing is outstanding, whatever we thought.
    pub(super) fn drained(&mut self, at: Nanos) {
        if self.outstanding > 0 {
            self.outstanding = 0;
            self.idle_since = at;
        }
    }

    /// A request of ours was at the disk from `started` to `finished`: who arrived meanwhile waited for the rest of it.
    /// `earliest` is the start of the earliest request of ours still there: who arrived before it waits no longer.
    pub(super) fn settle(&mut self, started: Nanos, finished: Nanos, earliest: Option<Nanos>, slowdown: &mut Slowdown) {
        for arrival in &mut self.arrivals {
            if started <= arrival.at && arrival.at < finished {
                arrival.delay = arrival.delay.max(finished - arrival.at);
            }
        }
        self.arrivals.retain(|arrival| {
            let may_still_wait = earliest.is_some_and(|earliest| earliest <= arrival.at);
            if !may_still_wait && arrival.delay > Nanos::ZERO {
                slowdown.add(arrival.delay, arrival.count);
            }
            may_still_wait
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    #[test]
    fn the_rest_of_our_service_is_the_slowdown() {
        let (mut foreground, mut seen) = (Foreground::new(ms(0)), Observed::default());
        foreground.arrived(ms(95), 1, true, &mut seen);
        foreground.arrived(ms(103), 1, true, &mut seen);
        foreground.arrived(ms(107), 2, true, &mut seen);
        foreground.settle(ms(100), ms(110), None, &mut seen.slowdown);
        assert_eq!(seen.slowdown.total, ms(7 + 3 + 3));
        assert_eq!((seen.slowdown.max, seen.slowdown.collisions), (ms(7), 3));
        assert_eq!(seen.slowdown.mean_seconds(seen.workload.requests), 0.013 / 4.0);
    }

    #[test]
    fn two_of_ours_at_once_delay_until_the_later_one_ends() {
        let (mut foreground, mut seen) = (Foreground::new(ms(0)), Observed::default());
        foreground.arrived(ms(5), 1, true, &mut seen);
        foreground.settle(ms(0), ms(10), Some(ms(1)), &mut seen.slowdown);
        assert_eq!(seen.slowdown.collisions, 0, "not settled yet");
        foreground.settle(ms(1), ms(20), None, &mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.collisions), (ms(15), 1));
    }

    #[test]
    fn idle_intervals_run_from_the_last_completion_to_the_next_arrival() {
        let (mut foreground, mut seen) = (Foreground::new(ms(0)), Observed::default());
        foreground.arrived(ms(10), 2, true, &mut seen);
        foreground.completed(ms(20), 1);
        assert_eq!(foreground.idle_now(ms(25)), Nanos::ZERO);
        foreground.completed(ms(30), 1);
        assert_eq!(foreground.idle_now(ms(35)), ms(5));
        foreground.arrived(ms(130), 1, true, &mut seen);
        assert_eq!((seen.workload.intervals, seen.workload.idle_total), (2, ms(110)));
        foreground.drained(ms(140));
        assert_eq!((foreground.outstanding(), foreground.idle_since()), (0, ms(140)));
    }
}
