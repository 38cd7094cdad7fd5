//! Waiting, the policy that is tried a thousand times to tune a trace: the general simulator's result, but faster.

use super::ScrubFigures;
use scrubjay_core::scrub::idle::Slowdown;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// Intervals that are compared with the threshold at once; most groups of this size hold no longer one.
const STRIDE: usize = 16;

/// A limit to the foreground's losses.
#[derive(Clone, Copy, Debug)]
pub enum Limit<'a> {
    /// No limit.
    None,
    /// Nanoseconds that all requests together may lose.
    InAll(u128),
    /// A limit to the mean so far, at every moment from the 300th request on.
    SoFar {
        /// Time that each request may lose on average.
        each: Nanos,
        /// By busy period: the number of requests up to its end.
        until: &'a [u64],
    },
}

impl Limit<'_> {
    /// Is it kept, if `lost` nanoseconds are lost at the end of a busy period?
    fn allows(self, lost: u128, period: usize) -> bool {
        match self {
            Limit::None => true,
            Limit::InAll(most) => lost <= most,
            Limit::SoFar { each, until } => {
                lost <= u128::from(each.0) * u128::from(until[period].max(Slowdown::JUDGED_FROM_REQUESTS))
            }
        }
    }
}

/// Waits for `wait`, then sends requests of `size` that take `service` each. `None`: the limit was exceeded.
pub fn waiting(periods: &Periods, wait: Nanos, size: Bytes, service: Nanos, limit: Limit) -> Option<ScrubFigures> {
    let (idle, counts) = (periods.idle_before(), periods.requests_by_period());
    let each = service.0.max(1);
    let mut outcome = ScrubFigures::of(periods);
    let (mut used, mut lost, mut index) = (0, 0, 1);
    while let Some(next) = next_longer(idle, index, wait) {
        // From this interval on until the foreground is no longer delayed.
        let mut delay = 0;
        index = next;
        loop {
            let idle = idle[index].0;
            if idle > delay {
                let fired = (idle - delay).saturating_sub(wait.0);
                if fired == 0 && delay == 0 {
                    break;
                }
                let requests = fired.div_ceil(each);
                delay = requests * each - fired;
                used += fired;
                outcome.scrub_requests += requests;
                outcome.collisions += u64::from(delay > 0);
            } else {
                delay -= idle;
            }
            lost += u128::from(delay) * u128::from(counts[index]);
            outcome.slowdown_max = outcome.slowdown_max.max(Nanos(delay));
            if delay > 0 && !limit.allows(lost, index) {
                return None;
            }
            index += 1;
            if delay == 0 || index == counts.len() {
                break;
            }
        }
    }
    outcome.scrub_bytes = outcome.scrub_requests * size.0;
    outcome.used = Nanos(used);
    outcome.slowdown_total = lost;
    Some(outcome)
}

/// The first interval from `index` on that is longer than `wait`.
fn next_longer(idle: &[Nanos], index: usize, wait: Nanos) -> Option<usize> {
    let rest = idle.get(index..)?;
    let mut strides = rest.chunks_exact(STRIDE);
    let mut passed = index;
    for stride in strides.by_ref() {
        if stride.iter().fold(false, |any, &interval| any | (interval > wait)) {
            return stride.iter().position(|&interval| interval > wait).map(|at| passed + at);
        }
        passed += STRIDE;
    }
    strides.remainder().iter().position(|&interval| interval > wait).map(|at| passed + at)
}
