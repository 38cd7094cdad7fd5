//! The foreground as the scrubber follows it: whether the disk is idle, since when, and which requests the scrub delayed.

use super::latency::ForegroundLatency;
use super::overlap::Overlap;
use crate::scrub::idle::{Observed, Slowdown};
use crate::units::Nanos;
use std::collections::VecDeque;

/// Foreground requests at the disk that are followed one by one, at most; beyond that only their number is known.
const FOLLOWED_MAX: usize = 1 << 16;

/// The typical service time is the median of this many recent requests. A mean would be raised by requests that were
/// delayed by a scrub request which is not known to have been there before them.
const TYPICAL_OF: usize = 64;

/// The limit of `ForegroundTracker::time_saved`, in typical service times: many short requests must not make up for what
/// long ones lose later. The loss that chance alone feigns is then less than a hundredth of a request, where service
/// times vary by a third.
const TIME_SAVED_MAX: u64 = 8;

/// Follows arrivals and completions of foreground requests.
///
/// Idle time is updated with each event. Delays are computed when a scrub request ends: only then is its end known, and
/// the foreground's events up to it may have been reported before.
#[derive(Clone, Debug)]
pub(super) struct ForegroundTracker {
    outstanding: u64,
    idle_since: Nanos,
    /// Whether event times come from sampled counters.
    is_counted: bool,
    pending: VecDeque<ForegroundEvent>,
    at_disk: VecDeque<RequestAtDisk>,
    /// When the last foreground request was completed.
    free: Nanos,
    /// When it would have been completed without the scrub.
    shadow_free: Nanos,
    /// Recent service times of foreground requests, from the end of the last request that each had to wait for.
    services: VecDeque<Nanos>,
    overlap: Overlap,
    /// By how much requests that were served in the midst of a scrub request took less than the typical service time,
    /// as far as that does not yet make up for others that took longer.
    time_saved: Nanos,
    /// The longest that one scrub request delays a foreground request; `None`: to its end.
    held_max: Option<Nanos>,
    latency: ForegroundLatency,
}

#[derive(Clone, Copy, Debug)]
enum ForegroundEvent {
    Arrived(Nanos),
    Completed(Nanos),
}

/// A foreground request at the disk.
#[derive(Clone, Copy, Debug)]
struct RequestAtDisk {
    arrived: Nanos,
    /// The end of the scrub request that it had to wait for, if there was one.
    waited_until: Option<Nanos>,
}

/// A scrub request that has just ended.
#[derive(Clone, Copy, Debug)]
struct OwnRequestSpan {
    started: Nanos,
    finished: Nanos,
}

impl OwnRequestSpan {
    /// Was it at the disk when a request arrived at `arrived`?
    fn was_at_disk(self, arrived: Nanos) -> bool {
        self.started <= arrived && arrived < self.finished
    }
}

impl ForegroundTracker {
    /// A tracker of a disk that is taken to be idle.
    pub(super) fn new(now: Nanos, held_max: Option<Nanos>) -> ForegroundTracker {
        ForegroundTracker {
            outstanding: 0,
            idle_since: now,
            is_counted: false,
            pending: VecDeque::new(),
            at_disk: VecDeque::new(),
            free: now,
            shadow_free: now,
            services: VecDeque::new(),
            overlap: Overlap::default(),
            time_saved: Nanos::ZERO,
            held_max,
            latency: ForegroundLatency::default(),
        }
    }

    /// From now on event times come from sampled counters, from which the duration of a request cannot be known.
    pub(super) fn counted(&mut self) {
        self.is_counted = true;
    }

    /// The number of foreground requests at the disk.
    pub(super) fn outstanding(&self) -> u64 {
        self.outstanding
    }

    /// Since when the disk has had no foreground request; meaningless while there are some.
    pub(super) fn idle_since(&self) -> Nanos {
        self.idle_since
    }

    /// How long the disk has been idle; zero while foreground requests are outstanding.
    pub(super) fn idle_now(&self, now: Nanos) -> Nanos {
        if self.outstanding > 0 { Nanos::ZERO } else { now.since(self.idle_since) }
    }

    /// The total idle time up to `at`, if no foreground request arrived between the last one reported and `at`.
    pub(super) fn idle_by(&self, at: Nanos, seen: &Observed) -> Nanos {
        seen.workload.idle_total + self.idle_now(at)
    }

    /// The service time of a scrub request that took `duration`, during which the disk had no foreground request for
    /// `idle`. Foreground requests that are served in the midst of it make it longer, which says nothing about its size:
    /// sizes that happened to be tried next to others looked slow for minutes. At least half of `duration` counts, even
    /// if it was never alone.
    pub(super) fn own_service(&self, duration: Nanos, idle: Nanos) -> Nanos {
        match self.held_max {
            Some(held) if duration > held => duration.min(idle.max(Nanos(duration.0 / 2))),
            _ => duration,
        }
    }

    /// `count` requests arrived; an idle interval ends.
    pub(super) fn arrived(&mut self, at: Nanos, count: u32, seen: &mut Observed) {
        if self.outstanding == 0 {
            seen.workload.add_idle(at, at.since(self.idle_since));
        }
        self.outstanding += u64::from(count);
        seen.workload.add_requests(count);
        self.note(ForegroundEvent::Arrived(at), count);
    }

    /// `count` requests were completed; an idle interval may begin.
    pub(super) fn completed(&mut self, at: Nanos, count: u32) {
        if self.outstanding > 0 {
            self.outstanding = self.outstanding.saturating_sub(u64::from(count));
            self.idle_since = at;
        }
        self.note(ForegroundEvent::Completed(at), count);
    }

    /// No foreground request is outstanding, whatever the counts are.
    pub(super) fn drained(&mut self, at: Nanos) {
        if self.outstanding > 0 {
            self.note(ForegroundEvent::Completed(at), self.outstanding.min(FOLLOWED_MAX as u64) as u32);
            self.outstanding = 0;
            self.idle_since = at;
        }
    }

    /// A scrub request was at the disk from `started` to `finished`.
    ///
    /// A foreground request that arrived meanwhile, and was not served before the scrub request ended, waited for the rest of
    /// it. Later arrivals lose time too, because the queue is longer than it would have been. That loss is computed with the
    /// *shadow*: the same disk serving the same foreground without the scrub, first come first served.
    pub(super) fn account(&mut self, started: Nanos, finished: Nanos, slowdown: &mut Slowdown) {
        let own = OwnRequestSpan { started, finished };
        self.process(Some(own), slowdown);
        for request in
            self.at_disk.iter_mut().filter(|request| request.waited_until.is_none() && own.was_at_disk(request.arrived))
        {
            request.waited_until = Some(finished);
            let rest = (finished - request.arrived).since(self.overlap.known());
            // Where completions are not seen, the request may have been served long ago.
            let held = self.held_max.filter(|_| !slowdown.is_queue_seen);
            slowdown.add(held.map_or(rest, |most| rest.min(most)));
        }
    }

    /// No scrub request is at the disk: the events so far can be processed as they are.
    pub(super) fn account_rest(&mut self, slowdown: &mut Slowdown) {
        self.process(None, slowdown);
    }

    fn note(&mut self, event: ForegroundEvent, count: u32) {
        let room = FOLLOWED_MAX.saturating_sub(self.pending.len());
        self.pending.extend(std::iter::repeat_n(event, room.min(count as usize)));
    }

    fn process(&mut self, own: Option<OwnRequestSpan>, slowdown: &mut Slowdown) {
        while let Some(event) = self.pending.pop_front() {
            let end = match event {
                ForegroundEvent::Arrived(arrived) => {
                    if self.at_disk.len() < FOLLOWED_MAX {
                        self.at_disk.push_back(RequestAtDisk { arrived, waited_until: None });
                    }
                    continue;
                }
                ForegroundEvent::Completed(end) => end,
            };
            let Some(request) = self.at_disk.pop_front() else { continue };
            self.serve(request, end, own, slowdown);
        }
        // Beyond `FOLLOWED_MAX` completions are dropped, too. Requests that would wait for theirs for ever would be
        // taken for those that complete later, and no delay would be seen any more.
        if self.outstanding == 0 {
            self.at_disk.clear();
        }
    }

    /// A foreground request was completed at `end`.
    fn serve(&mut self, request: RequestAtDisk, end: Nanos, own: Option<OwnRequestSpan>, slowdown: &mut Slowdown) {
        let RequestAtDisk { arrived, mut waited_until } = request;
        // A scrub request that began after the arrival was not in its way.
        let own = own.filter(|own| waited_until.is_none() && own.was_at_disk(arrived));
        if let Some(own) = own.filter(|own| own.finished <= end) {
            slowdown.add((own.finished - arrived).since(self.overlap.known()));
            waited_until = Some(own.finished);
        }
        let begun = self.free.max(arrived).max(waited_until.unwrap_or_default());
        let mut service = end.since(begun);
        if own.is_some_and(|own| end < own.finished) {
            // Served in the midst of the scrub request: between two parts of it, or in parallel. It lost the excess
            // over the typical service time.
            let lost = self.typical().map_or(Nanos::ZERO, |typical| self.lost_in_midst(service, typical));
            service = Nanos(service.0 - lost.0);
            if lost > Nanos::ZERO {
                slowdown.add(lost);
            }
        } else {
            if !self.is_counted && (self.free <= arrived || waited_until == Some(begun)) {
                self.overlap.add(service, waited_until.is_some());
            }
            if begun > arrived && self.shadow_free <= arrived {
                // Without the scrub it would have found the disk idle, and its way to the disk would have taken time.
                service = (service + self.overlap.known()).min(end.since(self.free.max(arrived)));
            }
            if self.services.len() == TYPICAL_OF {
                self.services.pop_front();
            }
            self.services.push_back(service);
        }
        self.free = self.free.max(end);
        self.shadow_free = self.shadow_free.max(arrived) + service;
        let lost = end.since(self.shadow_free);
        slowdown.add_with_queue(lost, 1);
        if !self.is_counted {
            self.latency.add(end.since(arrived), lost);
        }
    }

    /// Response times of foreground requests; `None` unless completions are seen.
    pub(super) fn latency(&self) -> Option<ForegroundLatency> {
        Some(&self.latency).filter(|latency| latency.with_scrub.moments().count > 0.0).cloned()
    }

    /// The loss of a request that was served in the midst of a scrub request and took `service`. Service times vary
    /// anyway: only the excess of the longer ones counts, less what the shorter ones have gained.
    fn lost_in_midst(&mut self, service: Nanos, typical: Nanos) -> Nanos {
        let longer = service.since(typical);
        let lost = longer.since(self.time_saved);
        let time_saved = self.time_saved.since(longer) + typical.since(service);
        self.time_saved = time_saved.min(Nanos(TIME_SAVED_MAX * typical.0));
        lost
    }

    /// The typical service time of a foreground request without the scrub, the median of recent ones; `None`: none is known.
    fn typical(&self) -> Option<Nanos> {
        let mut services: Vec<Nanos> = self.services.iter().copied().collect();
        services.sort_unstable();
        services.get(services.len() / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(millis: u64) -> Nanos {
        Nanos::from_millis(millis)
    }

    fn bench() -> (ForegroundTracker, Observed) {
        (ForegroundTracker::new(ms(0), None), Observed::default())
    }

    #[test]
    fn the_slowdown_is_the_rest_of_the_scrub_request_at_the_disk() {
        let (mut foreground, mut seen) = bench();
        for at in [95, 103, 107, 107] {
            foreground.arrived(ms(at), 1, &mut seen);
        }
        foreground.completed(ms(99), 1);
        foreground.account(ms(100), ms(110), &mut seen.slowdown);
        assert_eq!(seen.slowdown.total, ms(7 + 3 + 3));
        assert_eq!((seen.slowdown.max, seen.slowdown.collisions), (ms(7), 3));
        assert_eq!(seen.slowdown.total.as_secs_f64() / seen.workload.requests as f64, 0.013 / 4.0);
        foreground.account(ms(110), ms(120), &mut seen.slowdown);
        assert_eq!(seen.slowdown.collisions, 3, "each is counted once");
    }

    #[test]
    fn a_request_served_before_the_scrub_request_ended_lost_no_time() {
        let (mut foreground, mut seen) = bench();
        foreground.arrived(ms(101), 1, &mut seen);
        foreground.completed(ms(105), 1);
        foreground.account(ms(100), ms(110), &mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.queue_total), (ms(0), ms(0)));
    }

    #[test]
    fn requests_queued_behind_a_delayed_one_count_in_the_queue_total() {
        let (mut foreground, mut seen) = bench();
        // The scrub request: 100..110. The first request arrives at 103 and takes 4 ms: 110..114 instead of 103..107.
        // The next arrives at 112, after the scrub request, takes 4 ms too, and still loses 2 ms: 114..118, not 112..116.
        foreground.arrived(ms(103), 1, &mut seen);
        foreground.arrived(ms(112), 1, &mut seen);
        foreground.completed(ms(114), 1);
        foreground.account(ms(100), ms(110), &mut seen.slowdown);
        foreground.completed(ms(118), 1);
        foreground.account_rest(&mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.collisions), (ms(7), 1));
        assert_eq!(seen.slowdown.queue_total, ms(7 + 2));
        assert_eq!(seen.slowdown.lost(), ms(9));
    }

    #[test]
    fn a_request_served_between_two_parts_of_a_scrub_request_lost_its_excess_service() {
        let (mut foreground, mut seen) = bench();
        foreground.arrived(ms(10), 1, &mut seen);
        foreground.completed(ms(14), 1);
        foreground.account_rest(&mut seen.slowdown);
        // The scrub request, in two parts: 100..110 and 114..124. A request arrives at 105 and is served at 110..114.
        foreground.arrived(ms(105), 1, &mut seen);
        foreground.completed(ms(114), 1);
        foreground.account(ms(100), ms(124), &mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.queue_total), (ms(5), ms(5)));
    }

    #[test]
    fn scrub_requests_that_began_after_a_foreground_request_did_not_delay_it() {
        let (mut foreground, mut seen) = bench();
        foreground.arrived(ms(100), 1, &mut seen);
        for own in (102..150).step_by(2) {
            foreground.account(ms(own), ms(own + 1), &mut seen.slowdown);
        }
        foreground.completed(ms(160), 1);
        foreground.account_rest(&mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.queue_total, seen.slowdown.max), (ms(0), ms(0), ms(0)));
    }

    #[test]
    fn events_of_sampled_counters_give_no_latency() {
        let (mut foreground, mut seen) = bench();
        foreground.counted();
        for start in (0..10_000).step_by(100) {
            foreground.arrived(ms(start + 10), 1, &mut seen);
            foreground.completed(ms(start + 40), 1);
            foreground.account_rest(&mut seen.slowdown);
            foreground.arrived(ms(start + 55), 1, &mut seen);
            foreground.account(ms(start + 50), ms(start + 60), &mut seen.slowdown);
            foreground.completed(ms(start + 70), 1);
            foreground.account_rest(&mut seen.slowdown);
        }
        assert!(foreground.latency().is_none());
        assert_eq!(seen.slowdown.lost(), ms(5 * 100), "the rest of ours is lost, as far as is known");
    }

    #[test]
    fn delays_are_seen_after_more_requests_than_can_be_followed_in_one_scrub_request() {
        let (mut foreground, mut seen) = bench();
        let us = |micros: u64| Nanos(1000 * micros);
        // During a scrub request of a second 32 requests are always at the disk, until all are completed.
        (0..32).for_each(|at| foreground.arrived(us(at), 1, &mut seen));
        for at in 32..FOLLOWED_MAX as u64 {
            foreground.completed(us(10 * at), 1);
            foreground.arrived(us(10 * at), 1, &mut seen);
        }
        (0..32).for_each(|at| foreground.completed(us(990_000 + at), 1));
        foreground.account(ms(0), ms(1000), &mut seen.slowdown);
        assert_eq!(foreground.outstanding(), 0);
        let before = seen.slowdown.lost();
        for second in 2..42 {
            // Idle for a second; then a request meets a scrub request that has 8 ms left, and waits for it.
            foreground.arrived(ms(1000 * second + 2), 1, &mut seen);
            foreground.account(ms(1000 * second), ms(1000 * second + 10), &mut seen.slowdown);
            foreground.completed(ms(1000 * second + 14), 1);
            foreground.account_rest(&mut seen.slowdown);
        }
        assert_eq!(seen.slowdown.lost() - before, ms(40 * 8));
    }

    #[test]
    fn idle_intervals_run_from_the_last_completion_to_the_next_arrival() {
        let (mut foreground, mut seen) = bench();
        foreground.arrived(ms(10), 2, &mut seen);
        foreground.completed(ms(20), 1);
        assert_eq!(foreground.idle_now(ms(25)), Nanos::ZERO);
        foreground.completed(ms(30), 1);
        assert_eq!(foreground.idle_now(ms(35)), ms(5));
        foreground.arrived(ms(130), 1, &mut seen);
        assert_eq!((seen.workload.intervals, seen.workload.idle_total), (2, ms(110)));
        foreground.drained(ms(140));
        assert_eq!((foreground.outstanding(), foreground.idle_since()), (0, ms(140)));
    }
}
