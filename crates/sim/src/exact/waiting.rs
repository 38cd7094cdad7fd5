//! Waiting, the policy that is tried a thousand times to tune a trace: the same as the general simulator, faster.

use super::ScrubFigures;
use scrubjay_core::scrub::idle::Slowdown;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_trace::Periods;

/// So many intervals are compared with the threshold at once; most runs of them hold none that is longer.
const STRIDE: usize = 16;

/// What the foreground may lose.
#[derive(Clone, Copy, Debug)]
pub enum Limit<'a> {
    /// Anything.
    None,
    /// So many nanoseconds, all requests together.
    InAll(u128),
    /// So much a request, at every moment from the 300th request on.
    SoFar {
        /// A request.
        each: Nanos,
        /// By busy period: the requests until its end.
        until: &'a [u64],
    },
}

impl Limit<'_> {
    /// Is it kept, when so much is lost at the end of a busy period?
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

/// Waits for `wait`, then requests of `size` that take `service` each. `None`: given up, because of the limit.
pub fn waiting(periods: &Periods, wait: Nanos, size: Bytes, service: Nanos, limit: Limit) -> Option<ScrubFigures> {
    let (idle, counts) = (periods.idle(), periods.counts());
    let each = service.0.max(1);
    let mut outcome = ScrubFigures::of(periods);
    let (mut used, mut lost, mut index) = (0, 0, 1);
    while let Some(next) = next_longer(idle, index, wait) {
        // From this interval on until nobody feels us any more.
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
        if stride.iter().fold(false, |any, &one| any | (one > wait)) {
            return stride.iter().position(|&one| one > wait).map(|at| passed + at);
        }
        passed += STRIDE;
    }
    strides.remainder().iter().position(|&one| one > wait).map(|at| passed + at)
}
