//! The foreground as the scrubber follows it: is the disk idle, since when, and whom did we delay?

use super::latency::ForegroundLatency;
use super::overlap::Overlap;
use crate::scrub::idle::{Observed, Slowdown};
use crate::units::Nanos;
use std::collections::VecDeque;

/// How many foreground requests are told apart while they are at the disk; further ones are followed as a number only.
const FOLLOWED_MAX: usize = 1 << 16;

/// The typical service time is the median of so many requests: a mean would take in those that met a request of ours
/// which we do not know to have been there before them.
const TYPICAL_OF: usize = 64;

/// No more is remembered of what was gained in the midst of ours than so many typical requests take: a load of short requests
/// does not pay for what long ones lose later. What chance alone makes of loss is then less than a hundredth of a request, where
/// requests take longer or shorter by a third.
const SOONER_OF: u64 = 8;

/// Follows arrivals and completions.
///
/// Idleness is followed as things are told. Delays are reckoned up when a request of ours ends: only then is it known
/// when, and what the foreground did meanwhile may have been told before.
#[derive(Clone, Debug)]
pub(super) struct ForegroundTracker {
    outstanding: u64,
    idle_since: Nanos,
    /// Its times are those of looks at counters.
    is_counted: bool,
    unreckoned: VecDeque<ForegroundEvent>,
    at_disk: VecDeque<RequestAtDisk>,
    /// When the last foreground request left.
    free: Nanos,
    /// When it would have left, without us.
    shadow_free: Nanos,
    /// How long foreground requests took of late, counted from the end of what they had to wait for.
    services: VecDeque<Nanos>,
    overlap: Overlap,
    /// By how much those were served sooner than is usual who were served in the midst of ours, as far as it does not make up for
    /// others who took longer yet.
    sooner: Nanos,
    /// Nobody is held up for longer by a request of ours; none: to its end.
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
    /// When a request of ours ended that it had to wait for.
    behind: Option<Nanos>,
}

/// A request of ours that has just ended.
#[derive(Clone, Copy, Debug)]
struct Own {
    started: Nanos,
    finished: Nanos,
}

impl Own {
    /// Did it meet one who arrived then?
    fn met(self, arrived: Nanos) -> bool {
        self.started <= arrived && arrived < self.finished
    }
}

impl ForegroundTracker {
    /// An idle disk, as far as is known.
    pub(super) fn new(now: Nanos, held_max: Option<Nanos>) -> ForegroundTracker {
        ForegroundTracker {
            outstanding: 0,
            idle_since: now,
            is_counted: false,
            unreckoned: VecDeque::new(),
            at_disk: VecDeque::new(),
            free: now,
            shadow_free: now,
            services: VecDeque::new(),
            overlap: Overlap::default(),
            sooner: Nanos::ZERO,
            held_max,
            latency: ForegroundLatency::default(),
        }
    }

    /// The times told from now on are those of looks at counters: how long a request took is not known by them.
    pub(super) fn counted(&mut self) {
        self.is_counted = true;
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

    /// How long the disk has been idle, all together, by a time at which nobody has come since the last who was told of.
    pub(super) fn idle_by(&self, at: Nanos, seen: &Observed) -> Nanos {
        seen.workload.idle_total + self.idle_now(at)
    }

    /// How long a request of ours takes that took `took`, while the disk was idle but for it for `idle`. Whoever is let pass by it makes it
    /// longer: that says nothing about its size, and sizes that happened to be tried beside others looked slow for minutes. But of one
    /// that was never alone no less than half counts.
    pub(super) fn own_service(&self, took: Nanos, idle: Nanos) -> Nanos {
        match self.held_max {
            Some(held) if took > held => took.min(idle.max(Nanos(took.0 / 2))),
            _ => took,
        }
    }

    /// Requests arrived; an idle interval ends.
    pub(super) fn arrived(&mut self, at: Nanos, count: u32, seen: &mut Observed) {
        if self.outstanding == 0 {
            seen.workload.add_idle(at.since(self.idle_since));
        }
        self.outstanding += u64::from(count);
        seen.workload.add_requests(count);
        self.note(ForegroundEvent::Arrived(at), count);
    }

    /// Requests were completed; perhaps an idle interval begins.
    pub(super) fn completed(&mut self, at: Nanos, count: u32) {
        if self.outstanding > 0 {
            self.outstanding = self.outstanding.saturating_sub(u64::from(count));
            self.idle_since = at;
        }
        self.note(ForegroundEvent::Completed(at), count);
    }

    /// Nothing is outstanding, whatever we thought.
    pub(super) fn drained(&mut self, at: Nanos) {
        if self.outstanding > 0 {
            self.note(ForegroundEvent::Completed(at), self.outstanding.min(FOLLOWED_MAX as u64) as u32);
            self.outstanding = 0;
            self.idle_since = at;
        }
    }

    /// A request of ours was at the disk from `started` to `finished`.
    ///
    /// Who arrived meanwhile, and was not served before it ended, waited for the rest of it. What those lost who came
    /// later, and found the queue longer than it would have been, is told by the *shadow*: the same disk serving the
    /// same foreground without us, first come first served.
    pub(super) fn account(&mut self, started: Nanos, finished: Nanos, slowdown: &mut Slowdown) {
        let own = Own { started, finished };
        self.reckon(Some(own), slowdown);
        for request in self.at_disk.iter_mut().filter(|request| request.behind.is_none() && own.met(request.arrived)) {
            request.behind = Some(finished);
            let rest = (finished - request.arrived).since(self.overlap.known());
            // Where completions are not seen, it may have been served long ago.
            let held = self.held_max.filter(|_| !slowdown.is_queue_seen);
            slowdown.add(held.map_or(rest, |most| rest.min(most)));
        }
    }

    /// Nothing of ours is at the disk: what was told can be reckoned up as it is.
    pub(super) fn account_rest(&mut self, slowdown: &mut Slowdown) {
        self.reckon(None, slowdown);
    }

    fn note(&mut self, told: ForegroundEvent, count: u32) {
        let room = FOLLOWED_MAX.saturating_sub(self.unreckoned.len());
        self.unreckoned.extend(std::iter::repeat_n(told, room.min(count as usize)));
    }

    fn reckon(&mut self, own: Option<Own>, slowdown: &mut Slowdown) {
        while let Some(told) = self.unreckoned.pop_front() {
            let end = match told {
                ForegroundEvent::Arrived(arrived) => {
                    if self.at_disk.len() < FOLLOWED_MAX {
                        self.at_disk.push_back(RequestAtDisk { arrived, behind: None });
                    }
                    continue;
                }
                ForegroundEvent::Completed(end) => end,
            };
            let Some(request) = self.at_disk.pop_front() else { continue };
            self.serve(request, end, own, slowdown);
        }
    }

    /// A foreground request has left the disk at `end`.
    fn serve(&mut self, request: RequestAtDisk, end: Nanos, own: Option<Own>, slowdown: &mut Slowdown) {
        let RequestAtDisk { arrived, mut behind } = request;
        // A request of ours that began after this one was not in its way.
        let own = own.filter(|own| behind.is_none() && own.met(arrived));
        if let Some(own) = own.filter(|own| own.finished <= end) {
            slowdown.add((own.finished - arrived).since(self.overlap.known()));
            behind = Some(own.finished);
        }
        let begun = self.free.max(arrived).max(behind.unwrap_or_default());
        let mut service = end.since(begun);
        if own.is_some_and(|own| end < own.finished) {
            // Served in the midst of ours: between two pieces of it, or beside it. What it lost is what it took longer
            // than such a request takes.
            let lost = self.typical().map_or(Nanos::ZERO, |typical| self.lost_in_midst(service, typical));
            service = Nanos(service.0 - lost.0);
            if lost > Nanos::ZERO {
                slowdown.add(lost);
            }
        } else {
            if !self.is_counted && (self.free <= arrived || behind == Some(begun)) {
                self.overlap.add(service, behind.is_some());
            }
            if begun > arrived && self.shadow_free <= arrived {
                // It would have found the disk idle: its way there would have taken time, too.
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

    /// How long foreground requests took, if completions are seen.
    pub(super) fn latency(&self) -> Option<ForegroundLatency> {
        Some(&self.latency).filter(|latency| latency.beside.moments().count > 0.0).cloned()
    }

    /// What one lost that was served in the midst of ours and took `service`. Requests take longer or shorter
    /// anyhow: only what those who took longer have lost beyond what the others have gained is lost.
    fn lost_in_midst(&mut self, service: Nanos, typical: Nanos) -> Nanos {
        let longer = service.since(typical);
        let lost = longer.since(self.sooner);
        let sooner = self.sooner.since(longer) + typical.since(service);
        self.sooner = sooner.min(Nanos(SOONER_OF * typical.0));
        lost
    }

    /// How long a foreground request takes by itself.
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
    fn the_rest_of_our_service_is_the_slowdown() {
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
    fn who_was_served_before_ours_ended_lost_nothing() {
        let (mut foreground, mut seen) = bench();
        foreground.arrived(ms(101), 1, &mut seen);
        foreground.completed(ms(105), 1);
        foreground.account(ms(100), ms(110), &mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.queue_total), (ms(0), ms(0)));
    }

    #[test]
    fn the_shadow_knows_those_queued_behind() {
        let (mut foreground, mut seen) = bench();
        // Ours from 100 to 110. One arrives at 103 and takes 4 ms: 110..114 instead of 103..107. The next one arrives at
        // 112, after ours, takes 4 ms too, and still loses 2 ms: 114..118 instead of 112..116.
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
    fn who_was_served_between_two_pieces_of_ours_lost_what_it_took_longer() {
        let (mut foreground, mut seen) = bench();
        foreground.arrived(ms(10), 1, &mut seen);
        foreground.completed(ms(14), 1);
        foreground.account_rest(&mut seen.slowdown);
        // Ours from 100 to 120, in two pieces of 10 ms. One arrives at 105 and is served from 110 to 114.
        foreground.arrived(ms(105), 1, &mut seen);
        foreground.completed(ms(114), 1);
        foreground.account(ms(100), ms(124), &mut seen.slowdown);
        assert_eq!((seen.slowdown.total, seen.slowdown.queue_total), (ms(5), ms(5)));
    }

    #[test]
    fn on_a_disk_that_serves_several_at_once_nobody_is_blamed_for_nothing() {
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
    fn what_counters_tell_says_nothing_of_latency() {
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
