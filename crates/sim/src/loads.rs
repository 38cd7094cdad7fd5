//! The made-up loads by which the budget is judged: those of docs/budget.md's table, near-empty disks, and loads that change.
//!
//! They stay as they are: a load that is altered after a policy was tuned on it judges nothing. New ones are added beside them.

use crate::workload::{Bursts, TimeSpan};
use scrubjay_core::rng::Rng;
use scrubjay_core::scrub::disk_server::ForegroundRequest;
use scrubjay_core::units::Nanos;

/// A load: its name, and its requests in order of time.
#[derive(Clone, Debug)]
pub struct TrialLoad {
    /// A few words.
    pub name: String,
    /// Arrivals and service times.
    pub requests: Vec<ForegroundRequest>,
}

/// The service times of all loads here.
const SERVICE: TimeSpan = TimeSpan::Exponential { mean: Nanos::from_millis(4) };
/// The gaps between the arrivals of a burst.
const GAP: TimeSpan = TimeSpan::Exponential { mean: Nanos::from_millis(5) };
/// Seconds in an hour, a day and a week.
const HOUR: f64 = 3600.0;
const DAY: f64 = 24.0 * HOUR;
const WEEK: f64 = 7.0 * DAY;

fn ms(count: u64) -> Nanos {
    Nanos::from_millis(count)
}

fn load(name: impl Into<String>, requests: Vec<ForegroundRequest>) -> TrialLoad {
    TrialLoad { name: name.into(), requests }
}

/// Loads of every kind that a budget had trouble with, and some plain ones.
pub fn study() -> Vec<TrialLoad> {
    let bursts = |count: usize, burst: u32, gap: TimeSpan, think: TimeSpan, seed: u64| -> Vec<ForegroundRequest> {
        Bursts::new(burst, gap, think, SERVICE, Rng::new(seed)).take(count).collect()
    };
    let pareto =
        |minimum: u64, shape: f64| TimeSpan::Pareto { minimum: ms(minimum), shape, maximum: Nanos::from_secs(3600) };
    let mut one_burst = bursts(3000, 4, GAP, pareto(50, 0.6), 1);
    let middle = one_burst[900].at;
    one_burst.extend(
        bursts(7000, 7000, TimeSpan::Exponential { mean: ms(3) }, TimeSpan::Fixed(ms(1)), 2)
            .into_iter()
            .map(|request| ForegroundRequest { at: request.at + middle, ..request }),
    );
    one_burst.sort_by_key(|request| request.at);
    let mut busy_burst = bursts(3000, 4, GAP, pareto(50, 0.6), 1);
    busy_burst.extend(
        bursts(7000, 7000, TimeSpan::Exponential { mean: ms(7) }, TimeSpan::Fixed(ms(1)), 2)
            .into_iter()
            .map(|request| ForegroundRequest { at: request.at + middle + ms(100), ..request }),
    );
    busy_burst.sort_by_key(|request| request.at);
    vec![
        load("one burst of 70 %", one_burst),
        load("one busy time of 70 %", busy_burst),
        load("13,000 a week", bursts(13_000, 6, GAP, pareto(100, 0.42), 3)),
        load("even beat of 50 ms", bursts(20_000, 1, GAP, TimeSpan::Uniform(ms(50), ms(50)), 4)),
        load("beat of 25 to 75 ms", bursts(20_000, 1, GAP, TimeSpan::Uniform(ms(25), ms(75)), 5)),
        load("even beat of 1 s", bursts(5_000, 3, GAP, TimeSpan::Fixed(ms(1000)), 6)),
        load("no memory, 60 ms", bursts(20_000, 1, GAP, TimeSpan::Exponential { mean: ms(60) }, 7)),
        load("long tails", bursts(20_000, 3, GAP, pareto(5, 0.8), 8)),
        load("bursts of 200", bursts(40_000, 200, GAP, pareto(400, 0.9), 9)),
    ]
}

/// How often somebody comes to a disk, and with how many requests.
#[derive(Clone, Copy, Debug)]
struct Visits {
    /// Visits in this time.
    count: u32,
    /// In seconds.
    span: f64,
    /// The exponent of the Pareto distribution of the times between them: the smaller, the more uneven.
    shape: f64,
    /// The mean number of requests of a visit, geometrically distributed.
    requests: f64,
    /// One visit in so many is a rare burst ...
    rare_one_in: u64,
    /// ... of so many requests, drawn evenly over the logarithm.
    rare: [f64; 2],
    /// How many times as many visits come in the ten hours of a working day as in those of a night or a weekend; 1: always as many.
    by_day: f64,
}

impl Visits {
    /// The requests, from `from` seconds on.
    fn requests(&self, from: f64, rng: &mut Rng) -> Vec<ForegroundRequest> {
        // The times between visits in units of activity, of which a working hour has more; then as many as fill the span.
        let between: Vec<f64> = (0..self.count).map(|_| rng.pareto(1.0, self.shape).min(1e4)).collect();
        let all: f64 = between.iter().sum();
        let mut activity = vec![0.0];
        for hour in 0..(self.span / HOUR).ceil() as u32 {
            let is_working = (8..18).contains(&(hour % 24)) && hour / 24 % 7 < 5;
            activity.push(activity.last().expect("begun") + if is_working { self.by_day } else { 1.0 });
        }
        let total = *activity.last().expect("begun");
        let (mut requests, mut units, mut busy_until) = (Vec::new(), 0.0, Nanos::ZERO);
        for one in between {
            units += one / all * total;
            let hour = activity.partition_point(|&at| at < units).clamp(1, activity.len() - 1);
            let within = (units - activity[hour - 1]) / (activity[hour] - activity[hour - 1]);
            let at = from + (hour as f64 - 1.0 + within).min(self.span / HOUR) * HOUR;
            let is_rare = rng.below(self.rare_one_in) == 0;
            let count = match is_rare {
                true => (self.rare[0].ln() + rng.uniform() * (self.rare[1] / self.rare[0]).ln()).exp(),
                false => (rng.exponential(self.requests)).ceil().max(1.0),
            };
            // A visit comes after the one before it.
            let mut at = Nanos::from_secs_f64(at).max(busy_until);
            for _ in 0..count as u32 {
                requests.push(ForegroundRequest { at, service: SERVICE.draw(rng) });
                at += GAP.draw(rng);
            }
            busy_until = at;
        }
        requests
    }
}

/// Ten near-empty disks for a week: idle for more than 99 % of the time, with rare bursts; seeds 101 to 110.
pub fn near_empty() -> Vec<TrialLoad> {
    let one = |place: u32| {
        let seed = u64::from(101 + place);
        let mut rng = Rng::new(seed);
        let visits = Visits {
            // A visit has about two idle intervals of milliseconds among its requests: 500 to 20,000 intervals in all.
            count: (170.0 * 40f64.powf(f64::from(place) / 9.0)) as u32,
            span: WEEK,
            shape: 0.7 + 0.5 * rng.uniform(),
            requests: 2.0 + 4.0 * rng.uniform(),
            rare_one_in: 50 + rng.below(250),
            rare: [50.0, 100.0 * (1.0 + 9.0 * rng.uniform())],
            by_day: [1.0, 4.0][place as usize % 2],
        };
        load(format!("near-empty {seed}"), visits.requests(0.0, &mut rng))
    };
    (0..10).map(one).collect()
}

/// Three loads that become another one: a week of backups after a plain week, the end of a month, and a busy time between quiet ones;
/// seeds 111 to 113.
pub fn changing() -> Vec<TrialLoad> {
    let office = Visits {
        count: 12_000,
        span: WEEK,
        shape: 1.0,
        requests: 4.0,
        rare_one_in: 200,
        rare: [50.0, 300.0],
        by_day: 4.0,
    };
    let quiet = Visits { count: 2_000, by_day: 1.0, ..office };
    let busy = Visits { count: 40_000, span: 2.0 * DAY, shape: 1.3, requests: 3.0, by_day: 1.0, ..office };
    let joined = |name: &str, seed: u64, parts: &[Visits], nights: &[f64]| {
        let mut rng = Rng::new(seed);
        let (mut requests, mut from) = (Vec::new(), 0.0);
        for visits in parts {
            requests.extend(visits.requests(from, &mut rng));
            from += visits.span;
        }
        // A backup reads for three hours of a night: runs of requests, each with a pause of a second or so.
        for night in nights {
            let think = TimeSpan::Exponential { mean: ms(1200) };
            let runs = Bursts::new(30, GAP, think, SERVICE, rng.clone());
            let start = Nanos::from_secs_f64(night * DAY + HOUR);
            let within = runs.take_while(|request| request.at < Nanos::from_secs_f64(3.0 * HOUR));
            requests.extend(within.map(|request| ForegroundRequest { at: start + request.at, ..request }));
            rng.bits();
        }
        requests.sort_by_key(|request| request.at);
        load(format!("{name} {seed}"), requests)
    };
    vec![
        joined("backups in week two", 111, &[office, office], &[7.0, 9.0, 11.0]),
        joined("end of the month", 112, &[quiet, quiet, quiet, busy], &[]),
        joined("busy between quiet", 113, &[quiet, busy, quiet], &[]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_trace::Periods;

    #[test]
    fn near_empty_disks_are_idle_and_have_rare_bursts() {
        for TrialLoad { name, requests } in near_empty() {
            assert!(requests.is_sorted_by_key(|request| request.at), "{name}");
            let periods: Periods = requests.into_iter().collect();
            let (intervals, idle) = (periods.intervals().len(), periods.idle_total().as_secs_f64());
            assert!((450..=22_000).contains(&intervals), "{name}: {intervals} intervals");
            assert!(idle > 0.99 * periods.span().as_secs_f64() && periods.span().as_secs_f64() > 0.5 * WEEK, "{name}");
        }
    }

    #[test]
    fn loads_change() {
        for TrialLoad { name, requests } in changing() {
            assert!(requests.is_sorted_by_key(|request| request.at), "{name}");
            let days = requests.last().expect("not empty").at.as_secs_f64() / DAY;
            let mut by_day = vec![0u32; days.ceil() as usize];
            requests.iter().for_each(|request| by_day[(request.at.as_secs_f64() / DAY) as usize] += 1);
            by_day.sort_unstable();
            let [usual, most] = [by_day[by_day.len() / 2], by_day[by_day.len() - 1]];
            assert!(most > 4 * usual, "{name}: {most} requests in a day, usually {usual}");
        }
    }
}
