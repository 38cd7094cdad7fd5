//! The overlap: the time that a request spends on its way to and from the disk, while the disk may serve another.
//!
//! A request that arrives at an idle disk pays for its way and for its service. One that waits behind another has covered its
//! way by the time the disk is free: from the end of the scrub request to its own end it takes less than it would have alone,
//! and so it has lost less than the rest of the scrub request. The difference is measured between requests that arrived at an
//! idle disk and requests that waited for a scrub request. It counts only as far as it holds for several low quantiles of the
//! times and exceeds chance; so requests of another kind that happen to wait more often make no difference.
//!
//! On a disk behind FUSE and NBD it is half a millisecond, on a local one some microseconds.

use crate::units::Nanos;
use std::collections::VecDeque;

/// Recent requests of each kind that are compared, at most.
const COMPARED: usize = 256;
/// Requests of each kind that must have been seen before they are compared.
const COMPARED_MIN: usize = 32;
/// The overlap is recomputed after this many requests.
const STEP: u64 = 16;
/// The quantiles of the service times that are compared, 0..1.
const SHARES: [f64; 3] = [0.05, 0.1, 0.25];
/// The margin for chance at each quantile, in standard deviations of its rank.
const DEVIATIONS: f64 = 2.0;
/// The largest overlap accepted: twice what was measured behind FUSE and NBD on a busy machine.
const OVERLAP_MAX: Nanos = Nanos::from_millis(1);

/// Measures the overlap; see the module documentation.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlap {
    /// Response times of requests that arrived at an idle disk.
    without_wait: VecDeque<Nanos>,
    /// Times of requests that had waited for a scrub request, from its end to their own.
    after_wait: VecDeque<Nanos>,
    added: u64,
    known: Nanos,
}

impl Overlap {
    /// By how much a request that has waited takes less from then on than it would alone; zero until known.
    pub(super) fn known(&self) -> Nanos {
        self.known
    }

    /// Adds a completed request; `duration` runs from the end of the scrub request if it `has_waited`, else from its
    /// arrival at an idle disk.
    pub(super) fn add(&mut self, duration: Nanos, has_waited: bool) {
        let times = if has_waited { &mut self.after_wait } else { &mut self.without_wait };
        if times.len() == COMPARED {
            times.pop_front();
        }
        times.push_back(duration);
        self.added += 1;
        if self.added.is_multiple_of(STEP) && self.without_wait.len().min(self.after_wait.len()) >= COMPARED_MIN {
            let [without_wait, after_wait] = [&self.without_wait, &self.after_wait].map(|times| {
                let mut sorted: Vec<Nanos> = times.iter().copied().collect();
                sorted.sort_unstable();
                sorted
            });
            let shorter = SHARES
                .map(|share| bound(&without_wait, share, -DEVIATIONS).since(bound(&after_wait, share, DEVIATIONS)));
            self.known = shorter.into_iter().fold(OVERLAP_MAX, Nanos::min);
        }
    }
}

/// The quantile at `share` of the sorted times, its rank shifted by `deviations` standard deviations.
fn bound(sorted: &[Nanos], share: f64, deviations: f64) -> Nanos {
    let count = sorted.len() as f64;
    let place = count * share + deviations * (count * share * (1.0 - share)).sqrt();
    sorted[place.clamp(0.0, count - 1.0) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// The overlap in milliseconds, after `count` requests that arrived at an idle disk and as many that waited.
    fn overlap(count: u32, mut without_wait: impl FnMut() -> f64, mut after_wait: impl FnMut() -> f64) -> f64 {
        let mut overlap = Overlap::default();
        let nanos = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
        for _ in 0..count {
            overlap.add(nanos(without_wait()), false);
            overlap.add(nanos(after_wait()), true);
        }
        overlap.known().as_millis_f64()
    }

    #[test]
    fn the_time_on_the_way_to_the_disk_is_measured() {
        let (mut one, mut two) = (Rng::new(1), Rng::new(2));
        let found = overlap(200, || 8.4 + 0.1 * one.uniform(), || 8.0 + 0.1 * two.uniform());
        assert!((0.3..=0.4).contains(&found), "{found}");
        assert_eq!(overlap(20, || 8.4, || 8.0), 0.0, "too few");
        assert_eq!(overlap(200, || 20.0, || 8.0), 1.0, "no way is as long");
    }

    #[test]
    fn chance_and_another_mix_of_requests_are_not_taken_for_overlap() {
        for seed in 0..200 {
            let (mut one, mut two) = (Rng::new(seed), Rng::new(seed + 1000));
            let found = overlap(300, || one.exponential(4.0), || two.exponential(4.0));
            assert_eq!(found, 0.0, "seed {seed}");
        }
        let (mut one, mut two) = (Rng::new(1), Rng::new(2));
        // Here short requests wait more often than long ones.
        let short = |rng: &mut Rng, share: f64| if rng.uniform() < share { 1.0 } else { 9.0 };
        assert_eq!(overlap(300, || short(&mut one, 0.4), || short(&mut two, 0.9)), 0.0);
        assert_eq!(overlap(300, || 8.0, || 8.5), 0.0, "they may take longer, too");
    }
}
