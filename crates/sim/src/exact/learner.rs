//! Plays a policy that learns as it goes on the busy periods of a trace, as the pump and the shipped scrubber would.
//!
//! It skips most events: a run of like scrub requests is taken as one step ([`IdlePolicy::horizon`]).

use super::ScrubFigures;
use scrubjay_core::scrub::disk_server::ServiceModel;
use scrubjay_core::scrub::idle::{AccessPattern, DecisionHorizon, DiskView, IdlePolicy, Observed, Slowdown};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// The result of a policy that learned.
#[derive(Clone, Debug)]
pub struct Learned {
    /// The figures of the whole run.
    pub outcome: ScrubFigures,
    /// The greatest value of the mean slowdown so far, from the 300th request on.
    pub slowdown_so_far: Nanos,
    /// The same without what bursts lost that had more requests than any before: nothing announces those.
    pub slowdown_so_far_known: Nanos,
    /// How many requests lost how much.
    pub slowdown: Slowdown,
}

/// Plays a policy that sends in idle intervals only, one request at a time; `disk` gives the time of a scrub request.
///
/// The trace has no lengths of busy periods: every request in them is taken to have the same mean service time.
pub fn learner(periods: &Periods, disk: ServiceModel, policy: &mut dyn IdlePolicy) -> Learned {
    let (outcome, slowdown_so_far) = (ScrubFigures::of(periods), Nanos::ZERO);
    let (observed, bursts) = (Observed::default(), KnownBursts::default());
    let mut player = Learner { disk, policy, observed, last_own: None, outcome, slowdown_so_far, bursts };
    let each = (periods.span() - periods.idle_total()).0 / periods.requests_total().max(1);
    // When the disk would become idle without the scrub, and by how much later it does with it.
    let (mut undelayed_end, mut delay) = (Nanos::ZERO, Nanos::ZERO);
    for (index, period) in periods.iter().enumerate() {
        let arrival = undelayed_end + period.idle;
        // The first request of the trace ends an interval of length zero.
        let is_counted = period.idle > delay || index == 0;
        delay = if is_counted { player.fill(undelayed_end + delay, arrival) } else { delay - period.idle };
        undelayed_end = arrival + Nanos(each * u64::from(period.requests));
        if period.idle >= BURST_GAP {
            player.bursts.end();
        }
        player.served(undelayed_end + delay, delay, period.requests, u32::from(is_counted));
    }
    player.bursts.end();
    Learned {
        outcome: player.outcome,
        slowdown_so_far: player.slowdown_so_far,
        slowdown_so_far_known: Nanos(player.bursts.so_far as u64),
        slowdown: player.observed.slowdown,
    }
}

/// A burst ends where the disk would be idle for this long without the scrub.
const BURST_GAP: Nanos = Nanos::from_millis(100);

/// The mean so far without what bursts lost that had more requests than any before.
#[derive(Clone, Copy, Debug, Default)]
struct KnownBursts {
    /// The requests of the largest burst so far, and of the one that goes on.
    largest: u64,
    requests: u64,
    /// What all others have lost so far, and the one that goes on, in nanoseconds.
    lost: u128,
    burst_lost: u128,
    /// The greatest mean so far, and within the burst that goes on.
    so_far: u128,
    burst_so_far: u128,
}

impl KnownBursts {
    /// Counts `requests` that were delayed by `delay` each, after which there were `all`.
    fn served(&mut self, delay: Nanos, requests: u32, all: u64) {
        self.requests += u64::from(requests);
        self.burst_lost += u128::from(delay.0) * u128::from(requests);
        let so_far = (self.lost + self.burst_lost) / u128::from(all.max(Slowdown::JUDGED_FROM_REQUESTS));
        self.burst_so_far = self.burst_so_far.max(so_far);
    }

    /// A burst is over: only now is it known whether any before was as large.
    fn end(&mut self) {
        if self.requests <= self.largest {
            self.lost += self.burst_lost;
            self.so_far = self.so_far.max(self.burst_so_far);
        }
        self.largest = self.largest.max(self.requests);
        (self.requests, self.burst_lost, self.burst_so_far) = (0, 0, 0);
    }
}

struct Learner<'a> {
    disk: ServiceModel,
    policy: &'a mut dyn IdlePolicy,
    observed: Observed,
    /// End, service time and size of the scrub's last request.
    last_own: Option<(Nanos, Nanos, Bytes)>,
    outcome: ScrubFigures,
    slowdown_so_far: Nanos,
    bursts: KnownBursts,
}

impl Learner<'_> {
    /// Lets the policy scrub from `from` until an arrival at `until`; returns the delay of that arrival.
    fn fill(&mut self, from: Nanos, until: Nanos) -> Nanos {
        let mut now = from;
        while now < until {
            let (own_finished, own_service, own_size) = match self.last_own {
                Some((finished, service, size)) => {
                    (finished, service, Some(size).filter(|_| finished - service >= from))
                }
                None => Default::default(),
            };
            let access = if own_size.is_some() { AccessPattern::Sequential } else { AccessPattern::Random };
            let view = DiskView { now, outstanding: 0, idle_since: from, own_finished, own_service, own_size, access };
            let decision = self.policy.decide(&view, &self.observed);
            if decision.not_before > now {
                now = decision.not_before;
                continue;
            }
            let service = self.disk.service(decision.size).max(Nanos(1));
            let DecisionHorizon { until: last, requests } = self.policy.horizon(decision, &view, &self.observed);
            let starts = |end: Nanos| end.since(now).0.div_ceil(service.0).max(1);
            let count = requests.min(starts(last)).min(starts(until));
            // The request that the arrival collides with completes alone, because the arrival is reported before it.
            let end = now + Nanos(service.0 * count);
            let collided = u64::from(end > until);
            self.outcome.scrub_requests += count;
            self.outcome.scrub_bytes += decision.size.0 * count;
            self.outcome.used += end.min(until) - now;
            if count > collided {
                self.completed(decision.size, view.access, service, now, count - collided);
            }
            if collided > 0 {
                self.outcome.collisions += 1;
                self.arrived(from, until);
                let access = if count > 1 { AccessPattern::Sequential } else { view.access };
                self.observed.slowdown.add(end - until);
                self.completed(decision.size, access, service, end - service, 1);
                return end - until;
            }
            now = end;
        }
        self.arrived(from, until);
        Nanos::ZERO
    }

    /// Reports `count` scrub requests that were served back to back, the first one from `from` on.
    fn completed(&mut self, size: Bytes, access: AccessPattern, service: Nanos, from: Nanos, count: u64) {
        self.observed.service.add_run(size, access, service, from + service, count);
        let finished = from + Nanos(service.0 * count);
        self.last_own = Some((finished, service, size));
        self.policy.learn(finished, &self.observed);
    }

    fn arrived(&mut self, from: Nanos, at: Nanos) {
        self.observed.workload.add_idle(at, at - from);
        self.observed.workload.add_requests(1);
        self.policy.learn(at, &self.observed);
    }

    /// Ends a busy period whose `requests` requests were delayed by `delay` each; `counted` of them were counted on arrival.
    fn served(&mut self, at: Nanos, delay: Nanos, requests: u32, counted: u32) {
        self.outcome.delay(delay, requests);
        self.observed.workload.add_requests(requests - counted);
        self.observed.slowdown.add_with_queue(delay, requests);
        let so_far = self.outcome.slowdown_total
            / u128::from(self.observed.workload.requests.max(Slowdown::JUDGED_FROM_REQUESTS));
        self.slowdown_so_far = self.slowdown_so_far.max(Nanos(so_far as u64));
        self.bursts.served(delay, requests, self.observed.workload.requests);
        self.policy.learn(at, &self.observed);
    }
}
