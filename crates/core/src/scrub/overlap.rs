//! How much of a request's time passes outside of the disk: on its way there and back, while the disk may serve another.
//!
//! A request that comes to an idle disk pays for the way and for the disk. One that waits behind another has its way behind it
//! when the disk is free: from the end of ours to its own end it takes less than it would have alone, and it has lost less than
//! the rest of ours. The difference is seen in the times of requests that came to an idle disk, and of those that waited for one
//! of ours. It is believed as far as it holds for the shortest of them, the next shortest, and those in between, and cannot be
//! chance; so requests of another kind that happen to wait more often make no difference.
//!
//! On a disk behind FUSE and NBD it is half a millisecond, on a local one some microseconds.

use crate::units::Nanos;
use std::collections::VecDeque;

/// So many of the last requests are compared,
const COMPARED: usize = 256;
/// when there are so many of both kinds,
const COMPARED_MIN: usize = 32;
/// anew after so many.
const STEP: u64 = 16;
/// At these shares of them, the shortest first.
const SHARES: [f64; 3] = [0.05, 0.1, 0.25];
/// So many standard deviations of a share are left to chance.
const DEVIATIONS: f64 = 2.0;
/// It is never more: no way is longer. Twice what was measured behind FUSE and NBD on a busy machine.
const OVERLAP_MAX: Nanos = Nanos::from_millis(1);

/// See the module's text.
#[derive(Clone, Debug, Default)]
pub(super) struct Overlap {
    /// How long those took that came to an idle disk.
    apart: VecDeque<Nanos>,
    /// How long those took, from the end of ours, that had waited for it.
    behind: VecDeque<Nanos>,
    added: u64,
    known: Nanos,
}

impl Overlap {
    /// How much shorter a request is at the disk that has waited for another.
    pub(super) fn known(&self) -> Nanos {
        self.known
    }

    /// A request has ended that took so long; `has_waited`: from the end of ours, else from its arrival at an idle disk.
    pub(super) fn add(&mut self, took: Nanos, has_waited: bool) {
        let times = if has_waited { &mut self.behind } else { &mut self.apart };
        if times.len() == COMPARED {
            times.pop_front();
        }
        times.push_back(took);
        self.added += 1;
        if self.added.is_multiple_of(STEP) && self.apart.len().min(self.behind.len()) >= COMPARED_MIN {
            let [apart, behind] = [&self.apart, &self.behind].map(|times| {
                let mut sorted: Vec<Nanos> = times.iter().copied().collect();
                sorted.sort_unstable();
                sorted
            });
            let shorter =
                SHARES.map(|share| bound(&apart, share, -DEVIATIONS).since(bound(&behind, share, DEVIATIONS)));
            self.known = shorter.into_iter().fold(OVERLAP_MAX, Nanos::min);
        }
    }
}

/// The time that this share of them does not exceed, so many standard deviations off.
fn bound(sorted: &[Nanos], share: f64, deviations: f64) -> Nanos {
    let count = sorted.len() as f64;
    let place = count * share + deviations * (count * share * (1.0 - share)).sqrt();
    sorted[place.clamp(0.0, count - 1.0) as usize]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;

    /// After so many requests that came to an idle disk and as many that waited, with times in milliseconds.
    fn overlap(count: u32, mut apart: impl FnMut() -> f64, mut behind: impl FnMut() -> f64) -> f64 {
        let mut overlap = Overlap::default();
        let nanos = |millis: f64| Nanos::from_secs_f64(millis / 1e3);
        for _ in 0..count {
            overlap.add(nanos(apart()), false);
            overlap.add(nanos(behind()), true);
        }
        overlap.known().as_millis_f64()
    }

    #[test]
    fn a_way_to_the_disk_is_found() {
        let (mut one, mut two) = (Rng::new(1), Rng::new(2));
        let found = overlap(200, || 8.4 + 0.1 * one.uniform(), || 8.0 + 0.1 * two.uniform());
        assert!((0.3..=0.4).contains(&found), "{found}");
        assert_eq!(overlap(20, || 8.4, || 8.0), 0.0, "too few");
        assert_eq!(overlap(200, || 20.0, || 8.0), 1.0, "no way is as long");
    }

    #[test]
    fn chance_and_other_kinds_of_requests_are_no_way() {
        for seed in 0..200 {
            let (mut one, mut two) = (Rng::new(seed), Rng::new(seed + 1000));
            let found = overlap(300, || one.exponential(4.0), || two.exponential(4.0));
            assert_eq!(found, 0.0, "seed {seed}");
        }
        let (mut one, mut two) = (Rng::new(1), Rng::new(2));
        // Those that are short wait more often.
        let short = |rng: &mut Rng, share: f64| if rng.uniform() < share { 1.0 } else { 9.0 };
        assert_eq!(overlap(300, || short(&mut one, 0.4), || short(&mut two, 0.9)), 0.0);
        assert_eq!(overlap(300, || 8.0, || 8.5), 0.0, "they may take longer, too");
    }
}
