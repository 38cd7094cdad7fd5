//! Followers: how many requests lose time by one collision, learnt at the ends of idle intervals.
//!
//! The ends need not be collisions; up to eight intervals are followed at a time. A request that ends an interval while
//! a scrub request is at the disk waits for the rest of its service time s. So do those behind it, until the idle time
//! between them has used up the delay: a request that comes after gaps of G in all waits for the rest less G. If the
//! rest is equally likely to be anything up to s, all together lose `s / 2 * sum over them of (1 - G / s)^2`, without
//! those whose G is s or more: the sum is the multiple of what the first one loses. That is exact for arrivals at fixed
//! times. A program that waits for each answer before its next request sends that later, and fewer lose.
//!
//! How many follow depends on how long the interval was: an arrival after seconds begins a burst, one after
//! milliseconds is in the middle of one. So the sums are kept by the octave of the interval's length.

use crate::units::Nanos;

/// The shortest length of the first octave, in seconds. Shorter intervals are not followed: nothing is sent in them.
const FIRST: f64 = 100e-6;
/// The number of octaves: 100 us to a month of idleness.
const OCTAVES: usize = 35;
/// The service times for which the sums are kept, in seconds.
const SERVICES: [f64; 5] = [1e-3, 4e-3, 16e-3, 64e-3, 256e-3];
/// A burst is over when the disk has been idle for so long in all since it began, in seconds.
pub(super) const BURST_GAP: f64 = SERVICES[SERVICES.len() - 1];
/// The number of intervals that are followed at a time, at most.
const OPEN_MAX: usize = 8;
/// The mean over all octaves is mixed into each octave with the weight of this many ends.
const SHRINKAGE: f64 = 3.0;

/// The ends that an earlier run observed count as at most this many.
const RECALLED_MAX: f64 = 30.0;

/// The size of the burst that is imagined before anything is seen, in requests that come at once.
const WORST_IMAGINED: f64 = 8.0;
/// The share by which the worst burst and the imagined one fade with each interval followed.
const FADING: f64 = 1.0 / 64.0;

/// Followers by length of the idle interval; see the module's text.
#[derive(Clone, Debug)]
pub struct Followers {
    octaves: [Octave; OCTAVES],
    all: Octave,
    /// By service time: the sum of the squares of the sums of single intervals, over those in `all`.
    squares: [f64; SERVICES.len()],
    /// By service time: the greatest recent sum.
    worst: [f64; SERVICES.len()],
    /// What is left of the imagined burst, [`WORST_IMAGINED`] at first.
    imagined: f64,
    /// Intervals that ended a short time ago, still followed.
    open: Vec<OpenInterval>,
}

/// The followers of the intervals of one octave.
#[derive(Clone, Copy, Debug, Default)]
struct Octave {
    /// The number of these intervals; it fades.
    ends: f64,
    /// By service time: the sum of (1 - G / s)^2 over all requests that followed.
    sums: [f64; SERVICES.len()],
}

#[derive(Clone, Copy, Debug)]
struct OpenInterval {
    octave: usize,
    /// Idle time since it ended, in seconds.
    gap: f64,
    sums: [f64; SERVICES.len()],
}

impl Default for Followers {
    fn default() -> Followers {
        let (octaves, all) = ([Octave::default(); OCTAVES], Octave::default());
        let [worst, squares] = [[0.0; SERVICES.len()]; 2];
        Followers { octaves, all, squares, worst, imagined: WORST_IMAGINED, open: Vec::with_capacity(OPEN_MAX) }
    }
}

impl Octave {
    fn add(&mut self, sums: &[f64; SERVICES.len()]) {
        self.ends += 1.0;
        self.sums.iter_mut().zip(sums).for_each(|(sum, one)| *sum += one);
    }
}

/// Where a service time lies in [`SERVICES`]: the index below it, and the share of the way to the next (0..=1).
fn place(service: f64) -> (usize, f64) {
    let low = SERVICES[1..SERVICES.len() - 1].iter().take_while(|&&next| next <= service).count();
    let (from, to) = (SERVICES[low], SERVICES[low + 1]);
    (low, ((service - from) / (to - from)).clamp(0.0, 1.0))
}

/// The value for a service time, between those for [`SERVICES`].
fn between(values: &[f64; SERVICES.len()], service: f64) -> f64 {
    let (low, share) = place(service);
    values[low] + (values[low + 1] - values[low]) * share
}

fn octave_of(age: f64) -> usize {
    // A double's exponent is the logarithm rounded down.
    let exponent = ((age / FIRST).max(1.0).to_bits() >> 52) - (1.0f64.to_bits() >> 52);
    (exponent as usize).min(OCTAVES - 1)
}

impl Followers {
    /// Records that an idle interval has ended.
    pub(super) fn ended(&mut self, length: Nanos) {
        let length = length.as_secs_f64();
        let Followers { octaves, all, squares, worst, imagined, open } = self;
        open.retain_mut(|interval| {
            interval.gap += length;
            let is_open = interval.gap < BURST_GAP;
            if !is_open {
                octaves[interval.octave].add(&interval.sums);
                all.add(&interval.sums);
                squares.iter_mut().zip(interval.sums).for_each(|(square, sum)| *square += sum * sum);
                worst.iter_mut().zip(interval.sums).for_each(|(worst, sum)| *worst = sum.max(*worst * (1.0 - FADING)));
                *imagined *= 1.0 - FADING;
            }
            is_open
        });
        if length < FIRST {
            return;
        }
        let octave = octave_of(length);
        if open.len() == OPEN_MAX {
            // The shortest followed tells least, because it is in the middle of a burst; of several alike, one is
            // followed to its end.
            let shortest =
                (0..OPEN_MAX).min_by_key(|&index| open[index].octave).filter(|&index| open[index].octave < octave);
            let Some(shortest) = shortest else { return };
            open.swap_remove(shortest);
        }
        open.push(OpenInterval { octave, gap: 0.0, sums: [0.0; SERVICES.len()] });
    }

    /// Records that `count` requests have arrived.
    pub(super) fn arrived(&mut self, count: u32) {
        let count = f64::from(count);
        for interval in &mut self.open {
            for (sum, service) in interval.sums.iter_mut().zip(SERVICES) {
                let share_left = (1.0 - interval.gap * (1.0 / service)).max(0.0);
                *sum += count * share_left * share_left;
            }
        }
    }

    /// Weights everything seen so far by `keep`, 0..=1.
    pub(super) fn fade(&mut self, keep: f64) {
        for octave in self.octaves.iter_mut().chain([&mut self.all]) {
            octave.ends *= keep;
            octave.sums.iter_mut().for_each(|sum| *sum *= keep);
        }
        self.squares.iter_mut().for_each(|square| *square *= keep);
    }

    /// What the next run needs, without the intervals still followed: by octave the ends and the sums, and the worst sums.
    pub(super) fn kept(&self) -> (Vec<(usize, Vec<f64>)>, Vec<f64>) {
        let octaves = self.octaves.iter().enumerate().filter(|(_, octave)| octave.ends > 0.0);
        let numbers = |octave: &Octave| [octave.ends].into_iter().chain(octave.sums).collect();
        (octaves.map(|(place, octave)| (place, numbers(octave))).collect(), self.worst.to_vec())
    }

    /// Adds what an earlier run kept. It counts as few ends, because a wrong number of followers is expensive.
    /// Malformed items are ignored.
    pub(super) fn recall(&mut self, octaves: &[(usize, Vec<f64>)], worst: &[f64], keep: f64) {
        let all: f64 = octaves.iter().filter_map(|(_, numbers)| numbers.first()).sum();
        let keep = keep.min(RECALLED_MAX / all.max(1.0));
        for (place, numbers) in octaves {
            let Some((octave, (ends, sums))) = self.octaves.get_mut(*place).zip(numbers.split_first()) else {
                continue;
            };
            let Ok(sums) = <[f64; SERVICES.len()]>::try_from(sums) else { continue };
            for octave in [octave, &mut self.all] {
                octave.ends += keep * ends;
                octave.sums.iter_mut().zip(sums).for_each(|(sum, one)| *sum += keep * one);
            }
            // How the sums were spread is not kept: taken as if each had been nothing, or the worst that was kept.
            let squares = self.squares.iter_mut().zip(sums.iter().zip(worst));
            squares.for_each(|(square, (sum, worst))| *square += keep * sum * worst);
        }
        // The imagined burst fades as it would have after as many intervals. But a load that sends bursts may have come since.
        self.imagined *= (1.0 - FADING).powf(keep * all);
        self.worst.iter_mut().zip(worst).for_each(|(known, &kept)| *known = known.max(kept));
    }

    /// As [`Followers::queue_factor`], but for the largest recent burst after an interval of any length, and no less
    /// than is still imagined while little was seen.
    pub(super) fn worst_or_imagined(&self, service: f64) -> f64 {
        self.worst(service).max(self.imagined)
    }

    /// The mean of the sums, each weighted by itself: how many requests lose time in the burst that a delay, taken at random, is part
    /// of. The sum of many bursts varies by chance as if all were of this size. What is still imagined counts as one more.
    pub(super) fn weighted_by_delay(&self, service: f64) -> f64 {
        let [squares, sums] = [&self.squares, &self.all.sums].map(|of| between(of, service));
        (squares + self.imagined * self.imagined) / (sums + self.imagined)
    }

    /// As [`Followers::queue_factor`], but for the largest recent burst that was seen.
    pub(super) fn worst(&self, service: f64) -> f64 {
        between(&self.worst, service)
    }

    /// As [`Followers::queue_factor`], the mean of the bursts that are not over yet if the disk has been idle for `idle_for` seconds; 0 if
    /// there are none. On an overloaded disk they are never over, so no other figure has them.
    pub(super) fn going_on(&self, idle_for: f64, service: f64) -> f64 {
        if idle_for >= BURST_GAP || self.open.is_empty() {
            return 0.0;
        }
        let sum: f64 = self.open.iter().map(|interval| between(&interval.sums, service)).sum();
        sum / self.open.len() as f64
    }

    /// The delay of all requests together as a multiple of the delay of the one that ends the interval, 1 or more.
    /// `length` is that of the interval, and `service` the service time of the scrub request, both in seconds.
    pub(super) fn queue_factor(&self, length: f64, service: f64) -> f64 {
        let of = |octave: &Octave| between(&octave.sums, service);
        let usual = if self.all.ends > 0.0 { of(&self.all) / self.all.ends } else { 1.0 };
        let octave = &self.octaves[octave_of(length)];
        ((of(octave) + SHRINKAGE * usual) / (octave.ends + SHRINKAGE)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_after_long_idleness_have_more_followers() {
        let mut followers = Followers::default();
        for _ in 0..50 {
            followers.ended(Nanos::from_millis(5));
            followers.arrived(1);
            // Forty requests, 50 us of idle time apart.
            followers.ended(Nanos::from_millis(500));
            followers.arrived(1);
            for _ in 1..40 {
                followers.ended(Nanos(50_000));
                followers.arrived(1);
            }
        }
        let queue_factor = [0.005, 0.5].map(|length| followers.queue_factor(length, 0.02));
        assert!(queue_factor[0] < 5.0 && (34.0..40.0).contains(&queue_factor[1]), "{queue_factor:?}");
        let short = followers.queue_factor(0.5, 0.001);
        assert!((6.0..14.0).contains(&short), "gaps of 2 ms in all use up a delay of one: {short}");
    }

    #[test]
    fn the_factor_is_one_for_requests_that_arrive_alone() {
        let mut followers = Followers::default();
        assert_eq!(followers.queue_factor(0.05, 0.01), 1.0);
        for _ in 0..100 {
            followers.ended(Nanos::from_millis(50));
            followers.arrived(1);
        }
        assert_eq!(followers.queue_factor(0.05, 0.01), 1.0);
        assert!((followers.queue_factor(0.05, 0.2) - (1.0 + 0.75f64.powi(2) + 0.25 + 0.0625)).abs() < 0.2);
        for _ in 0..1000 {
            followers.ended(Nanos::from_millis(5));
            followers.arrived(1);
        }
        // 1 + (1 - 5 / 16)^2 + ...: fifty intervals end while one is followed.
        assert!((followers.queue_factor(0.005, 0.016) - 1.62).abs() < 0.1, "{}", followers.queue_factor(0.005, 0.016));
        assert!(followers.open.len() <= OPEN_MAX && size_of::<Followers>() < 4096);
    }
}
