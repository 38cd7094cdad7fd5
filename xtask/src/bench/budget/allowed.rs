//! What a goal allows: how much the best window of idle time, chosen in hindsight, reads of a load inside a goal.
//!
//! A window is three numbers: how long to wait in an idle interval, until what age of it to read, and how much at once. The
//! scrub that has it knows the load and the disk before it begins. So this is what a scrub that has learnt both could read if
//! it treated all idle intervals alike; one that looks at more (the clock) can read more.

/// A disk, as `faulty-disk` plays it and as it was measured.
#[derive(Clone, Copy, Debug)]
pub struct DiskService {
    /// In seconds, of each request that does not go on where the last one ended.
    pub seek: f64,
    /// In seconds, of each request: the way to the disk and back.
    pub command: f64,
    /// Bytes a second, of what comes after that.
    pub rate: f64,
    /// Bytes a second that it can give by what is told of it: what idle time offers.
    pub nominal_rate: f64,
}

impl DiskService {
    /// How long a request takes that goes on where the last one ended.
    fn each(&self, bytes: f64) -> f64 {
        self.command + bytes / self.rate
    }
}

/// How long to wait, in seconds.
const WAITS: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.08, 0.12, 0.2, 0.4];
/// How much at once, in steps of 64 KiB.
const STEPS: &[u32] = &[1, 2, 4, 8, 12, 16, 24, 32, 48, 64];
/// Until what age, by the share of the idle intervals that have ended by then.
const ENDED: &[f64] = &[0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75];

/// What the idle intervals of a load offer, and what the best window reads of it inside a goal: bytes a second of the time that
/// the load takes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Offer {
    pub idle_time: f64,
    pub allowed: f64,
}

impl Offer {
    /// Of idle intervals, in seconds; each is followed by so many requests, of which the first waits for the scrub's, and the
    /// others behind it are asked one after the other. The goal for the mean and the maximum are in seconds.
    pub fn of(idle: &[f64], burst: u32, disk: DiskService, goal: f64, maximum: f64) -> Offer {
        let mut sorted = idle.to_vec();
        sorted.sort_by(f64::total_cmp);
        let longest = sorted.last().copied().unwrap_or(0.0);
        let quantile = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(longest);
        // Just before so many have ended, or never.
        let untils: Vec<f64> = ENDED.iter().map(|&share| quantile(share) * 0.999).chain([f64::INFINITY]).collect();
        let requests = idle.len() as f64 * f64::from(burst);
        let time = idle.iter().sum::<f64>() + requests * (disk.seek + disk.command);
        let mut best = 0.0f64;
        for &wait in WAITS {
            for &until in &untils {
                for bytes in STEPS.iter().map(|&steps| f64::from(steps) * 65_536.0) {
                    if disk.seek + disk.each(bytes) > maximum {
                        continue;
                    }
                    let window = Window { wait, until, bytes };
                    let (mut read, mut lost) = (0.0, 0.0);
                    for &interval in idle {
                        let (here, cost) = window.play(interval, disk);
                        read += here;
                        lost += cost;
                    }
                    if lost <= goal * requests {
                        best = best.max(read);
                    }
                }
            }
        }
        let offered: f64 = idle.iter().map(|&interval| (interval - disk.seek).max(0.0) * disk.nominal_rate).sum();
        Offer { idle_time: offered / time, allowed: best / time }
    }

    /// What is allowed, as a share of what idle time offers; nothing, if that is nothing.
    pub fn share(self) -> Option<f64> {
        (self.idle_time > 0.0).then(|| self.allowed / self.idle_time)
    }
}

struct Window {
    wait: f64,
    until: f64,
    bytes: f64,
}

impl Window {
    /// What is read in an idle interval, and how long the request that ends it waits.
    fn play(&self, interval: f64, disk: DiskService) -> (f64, f64) {
        let each = disk.each(self.bytes);
        let first = self.wait + disk.seek + each;
        if self.wait >= interval || first > self.until {
            return (0.0, 0.0);
        }
        // More are sent while the interval lasts, and as long as they end before the age at which to stop.
        let lasts = ((interval - first) / each).ceil();
        let fit = ((self.until - first) / each).floor();
        let more = lasts.min(fit).max(0.0);
        let (count, end) = (1.0 + more, first + more * each);
        (count * self.bytes, (end - interval).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DiskService = DiskService { seek: 0.008, command: 0.0, rate: 100e6, nominal_rate: 100e6 };

    #[test]
    fn an_even_beat_is_read_until_it_ends() {
        let offer = Offer::of(&[0.050; 100], 1, DISK, 0.0001, 0.050);
        assert!(offer.share() > Some(0.9), "{offer:?}");
    }

    #[test]
    fn without_a_goal_nothing_is_allowed() {
        let idle: Vec<f64> = (1..=100).map(|place| f64::from(place) / 1000.0).collect();
        assert_eq!(Offer::of(&idle, 1, DISK, 0.0, 0.050).allowed, 0.0);
    }

    #[test]
    fn a_window_stops_in_time_or_costs_the_rest() {
        let window = Window { wait: 0.001, until: f64::INFINITY, bytes: 1e6 };
        // Ends at 19, 29 and 39 ms.
        let (read, cost) = window.play(0.035, DISK);
        assert!((read - 3e6).abs() < 1.0 && (cost - 0.004).abs() < 1e-9, "{read} {cost}");
        let (read, cost) = Window { until: 0.030, ..window }.play(0.035, DISK);
        assert!((read - 2e6).abs() < 1.0 && cost == 0.0, "{read} {cost}");
    }
}
