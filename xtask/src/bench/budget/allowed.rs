//! What a goal allows: how much of a load's idle time the best window, chosen in hindsight, can read within the goal.
//!
//! A window is three numbers: how long to wait in an idle interval, until what age of it to read, and the request size. A
//! scrub with that window knows the load and the disk before it begins. This is therefore what a scrub that has learnt both
//! could read if it treated all idle intervals alike; one that uses more information (the clock) can read more.

/// A disk: its timing in `faulty-disk`, and as measured.
#[derive(Clone, Copy, Debug)]
pub struct DiskService {
    /// Seconds of each request that does not continue where the last one ended.
    pub seek: f64,
    /// Seconds of each request: the way to the disk and back.
    pub command: f64,
    /// Bytes per second of the transfer, besides `seek` and `command`.
    pub rate: f64,
    /// Bytes per second by the disk's configuration: the rate of what idle time offers.
    pub nominal_rate: f64,
}

impl DiskService {
    /// Seconds of a request that continues where the last one ended.
    fn sequential_time(&self, bytes: f64) -> f64 {
        self.command + bytes / self.rate
    }
}

/// Waits to try, in seconds.
const WAITS: &[f64] = &[0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.04, 0.05, 0.08, 0.12, 0.2, 0.4];
/// Request sizes to try, in steps of 64 KiB.
const STEPS: &[u32] = &[1, 2, 4, 8, 12, 16, 24, 32, 48, 64];
/// Ages to try at which reading stops, as the share of the idle intervals that have ended by then.
const STOP_SHARES: &[f64] = &[0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75];

/// What the idle intervals of a load offer, and what the best window reads of that within a goal. Both in bytes per second
/// of the time that the load takes alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AllowedRead {
    pub idle_time: f64,
    pub allowed: f64,
}

impl AllowedRead {
    /// For idle intervals in seconds. Each is followed by `burst` requests one after the other, of which the first waits for the
    /// scrub's. The goals for the mean and the maximum are in seconds.
    pub fn of(idle: &[f64], burst: u32, disk: DiskService, goal: f64, maximum: f64) -> AllowedRead {
        let mut sorted = idle.to_vec();
        sorted.sort_by(f64::total_cmp);
        let longest = sorted.last().copied().unwrap_or(0.0);
        let quantile = |share: f64| sorted.get((share * sorted.len() as f64) as usize).copied().unwrap_or(longest);
        // Just before that share has ended, or never.
        let stop_ages: Vec<f64> =
            STOP_SHARES.iter().map(|&share| quantile(share) * 0.999).chain([f64::INFINITY]).collect();
        let requests = idle.len() as f64 * f64::from(burst);
        let time = idle.iter().sum::<f64>() + requests * (disk.seek + disk.command);
        let mut best = 0.0f64;
        for &wait in WAITS {
            for &until in &stop_ages {
                for bytes in STEPS.iter().map(|&steps| f64::from(steps) * 65_536.0) {
                    if disk.seek + disk.sequential_time(bytes) > maximum {
                        continue;
                    }
                    let window = Window { wait, until, bytes };
                    let (mut read, mut lost) = (0.0, 0.0);
                    for &interval in idle {
                        let (bytes_read, cost) = window.play(interval, disk);
                        read += bytes_read;
                        lost += cost;
                    }
                    if lost <= goal * requests {
                        best = best.max(read);
                    }
                }
            }
        }
        let offered: f64 = idle.iter().map(|&interval| (interval - disk.seek).max(0.0) * disk.nominal_rate).sum();
        AllowedRead { idle_time: offered / time, allowed: best / time }
    }

    /// `allowed` as a share of `idle_time`; `None`: there is no idle time.
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
    /// Bytes read in an idle interval, and the seconds that the request which ends it waits.
    fn play(&self, interval: f64, disk: DiskService) -> (f64, f64) {
        let request_seconds = disk.sequential_time(self.bytes);
        let first = self.wait + disk.seek + request_seconds;
        if self.wait >= interval || first > self.until {
            return (0.0, 0.0);
        }
        // Requests follow while the interval lasts, and as long as they end before `until`.
        let lasts = ((interval - first) / request_seconds).ceil();
        let fit = ((self.until - first) / request_seconds).floor();
        let more = lasts.min(fit).max(0.0);
        let (count, end) = (1.0 + more, first + more * request_seconds);
        (count * self.bytes, (end - interval).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DISK: DiskService = DiskService { seek: 0.008, command: 0.0, rate: 100e6, nominal_rate: 100e6 };

    #[test]
    fn regular_idle_intervals_are_read_almost_whole() {
        let offer = AllowedRead::of(&[0.050; 100], 1, DISK, 0.0001, 0.050);
        assert!(offer.share() > Some(0.9), "{offer:?}");
    }

    #[test]
    fn with_a_goal_of_zero_nothing_is_allowed() {
        let idle: Vec<f64> = (1..=100).map(|place| f64::from(place) / 1000.0).collect();
        assert_eq!(AllowedRead::of(&idle, 1, DISK, 0.0, 0.050).allowed, 0.0);
    }

    #[test]
    fn a_window_stops_at_its_age_or_delays_the_next_request() {
        let window = Window { wait: 0.001, until: f64::INFINITY, bytes: 1e6 };
        // The requests end at 19, 29 and 39 ms.
        let (read, cost) = window.play(0.035, DISK);
        assert!((read - 3e6).abs() < 1.0 && (cost - 0.004).abs() < 1e-9, "{read} {cost}");
        let (read, cost) = Window { until: 0.030, ..window }.play(0.035, DISK);
        assert!((read - 2e6).abs() < 1.0 && cost == 0.0, "{read} {cost}");
    }
}
