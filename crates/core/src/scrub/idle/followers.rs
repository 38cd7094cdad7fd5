//! How many lose time when one request of ours is met: learned from the ends of idle intervals, met or not, of as many as can be
//! followed at a time.
//!
//! Who ends an interval while a request of ours is at the disk waits for the rest of it, up to its service s, and so do those
//! behind, as long as the delay is not used up by the idle time between them. A request that comes after G of such gaps
//! waits for what is left of the rest beyond G. If the rest may be anything up to s, all together lose
//! `s / 2 * sum over them of (1 - G / s)^2`, those left out for whom G is s or more: so many times what the first one does.
//! That is exact where requests come when they come; where a program waits for each answer before it asks again, it comes later
//! instead, and fewer lose.
//!
//! How many follow depends on how long the interval was: who comes after seconds brings a burst with him, who comes after
//! milliseconds is in the midst of one. So it is kept by the octave of the interval's length.

use crate::units::Nanos;

/// Intervals shorter than the first octave are not followed: nothing is sent in them.
const FIRST: f64 = 100e-6;
/// 100 us to a month of idleness.
const OCTAVES: usize = 35;
/// The service times for which it is reckoned, in seconds.
const SERVICES: [f64; 5] = [1e-3, 4e-3, 16e-3, 64e-3, 256e-3];
/// So many intervals are followed at a time.
const OPEN_MAX: usize = 8;
/// What is seen of one octave is mixed with what is seen of all, as if that had been seen in so many ends more.
const SHRINKAGE: f64 = 3.0;

/// What an earlier run has seen counts for no more ends than that.
const RECALLED_MAX: f64 = 30.0;

/// Before anything is seen, so many are imagined to come together.
const WORST_IMAGINED: f64 = 8.0;
/// With each interval the most who came together counts by so much less.
const FADING: f64 = 1.0 / 64.0;

/// See the module's text.
#[derive(Clone, Debug)]
pub struct Followers {
    octaves: [Octave; OCTAVES],
    all: Octave,
    /// By service: the greatest sum of late.
    worst: [f64; SERVICES.len()],
    /// What is left of [`WORST_IMAGINED`].
    imagined: f64,
    /// Intervals that have ended a short time ago.
    open: Vec<OpenInterval>,
}

/// What followed the intervals of one octave.
#[derive(Clone, Copy, Debug, Default)]
struct Octave {
    /// So many of them.
    ends: f64,
    /// By service: the sum over all who came after.
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
        let worst = [0.0; SERVICES.len()];
        Followers { octaves, all, worst, imagined: WORST_IMAGINED, open: Vec::with_capacity(OPEN_MAX) }
    }
}

impl Octave {
    fn add(&mut self, sums: &[f64; SERVICES.len()]) {
        self.ends += 1.0;
        self.sums.iter_mut().zip(sums).for_each(|(sum, one)| *sum += one);
    }
}

/// Where a service time lies among those that are reckoned for: how far from one to the next.
fn place(service: f64) -> (usize, f64) {
    let low = SERVICES[1..SERVICES.len() - 1].iter().take_while(|&&next| next <= service).count();
    let (from, to) = (SERVICES[low], SERVICES[low + 1]);
    (low, ((service - from) / (to - from)).clamp(0.0, 1.0))
}

fn octave_of(age: f64) -> usize {
    // A double's exponent is the logarithm rounded down.
    let exponent = ((age / FIRST).max(1.0).to_bits() >> 52) - (1.0f64.to_bits() >> 52);
    (exponent as usize).min(OCTAVES - 1)
}

impl Followers {
    /// An idle interval has ended.
    pub(super) fn ended(&mut self, length: Nanos) {
        let length = length.as_secs_f64();
        let Followers { octaves, all, worst, imagined, open } = self;
        open.retain_mut(|one| {
            one.gap += length;
            let is_open = one.gap < SERVICES[SERVICES.len() - 1];
            if !is_open {
                octaves[one.octave].add(&one.sums);
                all.add(&one.sums);
                worst.iter_mut().zip(one.sums).for_each(|(worst, sum)| *worst = sum.max(*worst * (1.0 - FADING)));
                *imagined *= 1.0 - FADING;
            }
            is_open
        });
        if length < FIRST {
            return;
        }
        let octave = octave_of(length);
        if open.len() == OPEN_MAX {
            // In the midst of a burst the shortest says least; one of many alike is followed to its end.
            let shortest = (0..OPEN_MAX).min_by_key(|&one| open[one].octave).filter(|&one| open[one].octave < octave);
            let Some(shortest) = shortest else { return };
            open.swap_remove(shortest);
        }
        open.push(OpenInterval { octave, gap: 0.0, sums: [0.0; SERVICES.len()] });
    }

    /// So many have come.
    pub(super) fn came(&mut self, count: u32) {
        let count = f64::from(count);
        for one in &mut self.open {
            for (sum, service) in one.sums.iter_mut().zip(SERVICES) {
                let left = (1.0 - one.gap * (1.0 / service)).max(0.0);
                *sum += count * left * left;
            }
        }
    }

    /// Everything seen so far counts `keep` times as much from now on.
    pub(super) fn fade(&mut self, keep: f64) {
        for octave in self.octaves.iter_mut().chain([&mut self.all]) {
            octave.ends *= keep;
            octave.sums.iter_mut().for_each(|sum| *sum *= keep);
        }
    }

    /// All of it but the intervals under way, as lists of numbers: by octave, and the most.
    pub(super) fn kept(&self) -> (Vec<(usize, Vec<f64>)>, Vec<f64>) {
        let octaves = self.octaves.iter().enumerate().filter(|(_, octave)| octave.ends > 0.0);
        let numbers = |octave: &Octave| [octave.ends].into_iter().chain(octave.sums).collect();
        (octaves.map(|(place, octave)| (place, numbers(octave))).collect(), self.worst.to_vec())
    }

    /// Takes note of what was kept: of few ends, for a wrong guess of who comes with the first is dear. What is not of this form
    /// is left out.
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
        }
        // What was imagined is known by now, as after so many intervals. But a load that sends bursts may have come since.
        self.imagined *= (1.0 - FADING).powf(keep * all);
        self.worst.iter_mut().zip(worst).for_each(|(known, &kept)| *known = known.max(kept));
    }

    /// As [`Followers::behind`], for the largest burst of late, whatever the interval's length; no less than what is still imagined while
    /// little was seen.
    pub(super) fn worst(&self, service: f64) -> f64 {
        self.worst_seen(service).max(self.imagined)
    }

    /// As [`Followers::behind`], for the largest burst of late that was seen.
    pub(super) fn worst_seen(&self, service: f64) -> f64 {
        let (low, share) = place(service);
        self.worst[low] + (self.worst[low + 1] - self.worst[low]) * share
    }

    /// How many times what the one loses who ends an interval of this length, in seconds, all lose together by a request of
    /// ours that takes `service` seconds: 1 or more.
    pub(super) fn behind(&self, length: f64, service: f64) -> f64 {
        let (low, share) = place(service);
        let of = |octave: &Octave| octave.sums[low] + (octave.sums[low + 1] - octave.sums[low]) * share;
        let usual = if self.all.ends > 0.0 { of(&self.all) / self.all.ends } else { 1.0 };
        let octave = &self.octaves[octave_of(length)];
        ((of(octave) + SHRINKAGE * usual) / (octave.ends + SHRINKAGE)).max(1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_comes_after_long_idleness_brings_more_with_him() {
        let mut followers = Followers::default();
        for _ in 0..50 {
            followers.ended(Nanos::from_millis(5));
            followers.came(1);
            // Forty, a millisecond of idleness apart.
            followers.ended(Nanos::from_millis(500));
            followers.came(1);
            for _ in 1..40 {
                followers.ended(Nanos(50_000));
                followers.came(1);
            }
        }
        let behind = [0.005, 0.5].map(|length| followers.behind(length, 0.02));
        assert!(behind[0] < 5.0 && (34.0..40.0).contains(&behind[1]), "{behind:?}");
        let short = followers.behind(0.5, 0.001);
        assert!((6.0..14.0).contains(&short), "gaps of 2 ms in all use up a delay of one: {short}");
    }

    #[test]
    fn it_is_one_for_those_who_come_alone() {
        let mut followers = Followers::default();
        assert_eq!(followers.behind(0.05, 0.01), 1.0);
        for _ in 0..100 {
            followers.ended(Nanos::from_millis(50));
            followers.came(1);
        }
        assert_eq!(followers.behind(0.05, 0.01), 1.0);
        assert!((followers.behind(0.05, 0.2) - (1.0 + 0.75f64.powi(2) + 0.25 + 0.0625)).abs() < 0.2);
        for _ in 0..1000 {
            followers.ended(Nanos::from_millis(5));
            followers.came(1);
        }
        // 1 + (1 - 5 / 16)^2 + ...: fifty of them come while one is followed.
        assert!((followers.behind(0.005, 0.016) - 1.62).abs() < 0.1, "{}", followers.behind(0.005, 0.016));
        assert!(followers.open.len() <= OPEN_MAX && size_of::<Followers>() < 4096);
    }
}
