//! Service times: how long a scrub request takes, by size, learnt from the scrub's own completions.
//!
//! And how long it delays arrivals. At a disk that is the same, because an arrival waits for its end. A step of md's
//! check takes a quarter of a second, and spends most of it on recording its progress while others are served: of such
//! requests the longest delay of an arrival is known beforehand.

use crate::scrub::disk_server::ServiceModel;
use crate::units::{Bytes, Nanos};
use std::collections::VecDeque;

/// The smallest request worth sending: below 64 KiB a hard disk's service time does not fall (Amvrosiadis et al.,
/// DSN'12, Fig. 4).
pub(super) const SIZE_MIN: Bytes = Bytes::kib(64);
/// The request sizes: 64 KiB to 4 MiB, the paper's span (V-C), in steps of 2.
pub(super) const SIZES: [Bytes; 7] =
    [SIZE_MIN, Bytes::kib(128), Bytes::kib(256), Bytes::kib(512), Bytes::mib(1), Bytes::mib(2), Bytes::mib(4)];
/// The number of recent completions on which the estimate of a size rests, at most.
const WINDOW: usize = 128;
/// One in this many completions of a window is left out, the longest first: a disk that had to spin up, or to retry,
/// says nothing about the next request.
const OUTLIER_OF: usize = 64;
/// The longest completions of a window, one in this many, are priced as a case of their own, once there are two.
const TAIL_OF: usize = 8;
/// In that case a completion counts for at most this multiple of the usual service time.
const TAIL_MAX: f64 = 32.0;
/// A size takes too long if more than one in this many of its completions does.
const MOST_OF: usize = 16;
/// The number of service times of a size that are kept for the next run.
const KEPT: usize = 16;
/// A completion that takes more than this multiple of `usual_high` is a stray: it says nothing about the size.
const STRAY: f64 = 2.0;
/// Stray service times remembered, at most, and only those of the last [`STRAYS_OF`] completions and of the last [`STRAYS_STALE`].
const STRAYS: usize = 64;
const STRAYS_OF: u64 = 16384;
const STRAYS_STALE: Nanos = Nanos::from_secs(3600);
/// A size that was not tried for this long is known no better than one never tried: the cause of its slowness may be over.
const STALE: Nanos = Nanos::from_secs(600);
/// A longer service time counts as this: a year, so that sums have room.
const SERVICE_MAX: Nanos = Nanos::from_secs(365 * 86_400);
/// A shorter service time counts as this: no request takes no time.
const SERVICE_MIN: Nanos = Nanos(1000);
/// The estimate before anything is known: the authors' drive.
const PRIOR: ServiceLine = ServiceLine {
    positioning: ServiceModel::ULTRASTAR_15K450.positioning.0 as f64 / 1e9,
    per_byte: ServiceModel::ULTRASTAR_15K450.per_mib.0 as f64 / 1e9 / (1 << 20) as f64,
};
/// The estimated service time of an untried size is raised by this factor before it is compared with the max goal. A
/// guess that errs on the side of smaller requests.
const UNTRIED_MARGIN: f64 = 1.25;

/// Whether a scrub request has to be positioned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessPattern {
    /// The foreground was at the disk since the last scrub request, or that one ended elsewhere: the request pays for a seek.
    Random,
    /// The last scrub request ended where it begins, and nothing came between, as far as is known.
    Sequential,
}

/// The estimated service time of a request of one size, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServiceEstimate {
    /// The mean.
    pub(super) mean: f64,
    /// A cautious upper value: the longest recent one, without outliers.
    pub(super) high: f64,
    /// The service time that one in [`MOST_OF`] requests exceeds, at most `high`.
    pub(super) usual_high: f64,
    /// The usual service time and that of the longest requests: arrivals during a request lose as much as if these two were all.
    pub(super) cases: [ServiceCase; 2],
    /// The longest delay, in seconds, that one request causes; `None`: to its end.
    pub(super) held_max: Option<f64>,
}

/// The requests that take longer than the max goal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Overrun {
    /// For how many seconds from the start of such a request an arrival loses more than the max goal, on average.
    pub(super) window: f64,
    /// The share of the requests that they are, 0..=1.
    pub(super) share: f64,
}

/// A slice of the time of work that runs by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SliceTime {
    /// How long it takes, until nothing of the work is at the disk.
    pub takes: Nanos,
    /// The most that an arrival loses by it.
    pub holds: Nanos,
}

/// A service time, and the share of all requests that it stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServiceCase {
    /// In seconds.
    pub(super) service: f64,
    /// 0..=1.
    pub(super) share: f64,
}

impl ServiceEstimate {
    /// The estimate for requests that always take `mean`, with a cautious upper value of `high`.
    pub(super) fn steady(mean: f64, high: f64) -> ServiceEstimate {
        ServiceEstimate {
            mean,
            high,
            usual_high: high,
            cases: [ServiceCase { service: mean, share: 1.0 }, ServiceCase::default()],
            held_max: None,
        }
    }

    /// The delay, in seconds, of an arrival at the beginning of a request that takes `service` seconds.
    pub(super) fn held(&self, service: f64) -> f64 {
        self.held_max.map_or(service, |most| service.min(most))
    }

    /// For how many seconds of a request that takes `service` an arrival waits `held_max` and not to its end; 0 at a disk.
    pub(super) fn full_hold_time(&self, service: f64) -> f64 {
        service - self.held(service)
    }

    /// The estimate for requests that take `more` seconds longer.
    fn plus(self, more: f64) -> ServiceEstimate {
        let cases = self.cases.map(|case| ServiceCase { service: case.service + more, ..case });
        ServiceEstimate {
            mean: self.mean + more,
            high: self.high + more,
            usual_high: self.usual_high + more,
            cases,
            ..self
        }
    }
}

/// The service times of the scrub's requests, by size and access pattern.
#[derive(Clone, Debug, Default)]
pub struct ServiceTimes {
    random: [CompletionWindow; SIZES.len()],
    sequential: [CompletionWindow; SIZES.len()],
    /// By [`AccessPattern`] and size: what [`ServiceTimes::of`] returns, except `held_max`.
    estimates: [[ServiceEstimate; SIZES.len()]; 2],
    strays: Strays,
    /// Until when `estimates` hold if nothing is added.
    estimates_until: Nanos,
    completions: u64,
    bytes: u64,
    latest: Nanos,
    /// The longest delay, in seconds, that one request causes; `None`: to its end.
    held_max: Option<f64>,
    /// In place of requests there are slices of time, as `scrub::work` cuts it; `estimates` have their own `held_max` then.
    is_sliced: bool,
}

/// The recent completions of a size, in the order of their arrival and sorted by length, in nanoseconds.
#[derive(Clone, Debug, Default)]
struct CompletionWindow {
    recent: VecDeque<u64>,
    sorted: Vec<u64>,
    sum: u64,
    latest: Nanos,
    estimate: Option<ServiceEstimate>,
}

impl CompletionWindow {
    /// Would another completion of this length, at this time, change nothing but `latest`?
    fn is_uniform(&self, nanos: u64, at: Nanos) -> bool {
        let is_fresh = self.recent.len() == WINDOW && at.since(self.latest) <= STALE;
        is_fresh && self.sorted.first() == Some(&nanos) && self.sorted.last() == Some(&nanos)
    }

    /// `is_disk`: arrivals wait for the end of a request. Then the median of those before stays where they are too old: by itself, one slow
    /// completion would be an outlier, and the size as good as unknown.
    fn add(&mut self, nanos: u64, at: Nanos, is_disk: bool) {
        if self.is_uniform(nanos, at) {
            self.latest = at;
            return;
        }
        if at.since(self.latest) > STALE {
            let median = self.sorted.get(self.sorted.len().saturating_sub(1) / 2).copied().filter(|_| is_disk);
            let sorted = Vec::from_iter(median);
            *self =
                CompletionWindow { recent: sorted.clone().into(), sum: median.unwrap_or(0), sorted, ..Self::default() };
        }
        self.latest = at;
        if self.recent.len() == WINDOW {
            let leaving = self.recent.pop_front().expect("a full window");
            let place = self.sorted.partition_point(|&one| one < leaving);
            self.sorted.remove(place);
            self.sum -= leaving;
        }
        self.recent.push_back(nanos);
        self.sorted.insert(self.sorted.partition_point(|&one| one < nanos), nanos);
        self.sum += nanos;
        let (kept, left_out) = self.sorted.split_at(self.sorted.len() - self.sorted.len().div_ceil(OUTLIER_OF));
        self.estimate = kept.last().map(|&longest| {
            let sum = self.sum - left_out.iter().sum::<u64>();
            let (mean, high) = (sum as f64 / 1e9 / kept.len() as f64, longest as f64 / 1e9);
            let has_tail = self.sorted.len() >= 2 * TAIL_OF && self.sorted.first() < self.sorted.last();
            let usual_high = self.sorted[self.sorted.len() - 1 - self.sorted.len() / MOST_OF] as f64 / 1e9;
            let (usual_high, steady) = (usual_high.min(high), ServiceEstimate::steady(mean, high));
            if has_tail { ServiceEstimate { usual_high, cases: self.cases(), ..steady } } else { steady }
        });
    }

    /// The share of them that took longer than `max` seconds, and by how many seconds on average.
    fn overrun(&self, max: f64) -> Overrun {
        let over = &self.sorted[self.sorted.partition_point(|&nanos| nanos as f64 <= max * 1e9)..];
        overrun_of(over.iter().map(|&nanos| nanos as f64 / 1e9), max, self.sorted.len() as f64)
    }

    /// The longest are represented by their first two moments: an arrival meets one in proportion to its length, and
    /// loses half of that length on average.
    fn cases(&self) -> [ServiceCase; 2] {
        let (shorter, longest) = self.sorted.split_at(self.sorted.len() - self.sorted.len() / TAIL_OF);
        let seconds = |nanos: &u64| *nanos as f64 / 1e9;
        let usual = shorter.iter().map(seconds).sum::<f64>() / shorter.len() as f64;
        let share = 1.0 / self.sorted.len() as f64;
        let moments = longest.iter().map(|nanos| seconds(nanos).min(TAIL_MAX * usual));
        let (sum, squares) = moments.fold((0.0, 0.0), |sums, one| (sums.0 + one, sums.1 + one * one));
        let tail = if sum > 0.0 {
            ServiceCase { service: squares / sum, share: share * sum * sum / squares }
        } else {
            ServiceCase::default()
        };
        [ServiceCase { service: usual, share: share * shorter.len() as f64 }, tail]
    }
}

/// How much longer the strays took than is usual: a disk that retries takes that much longer whatever the size.
#[derive(Clone, Debug, Default)]
struct Strays {
    /// The latest at the end.
    recent: VecDeque<Stray>,
    count: u64,
}

#[derive(Clone, Copy, Debug)]
struct Stray {
    /// The number of completions so far.
    completions: u64,
    at: Nanos,
    /// The seconds above the mean.
    seconds: f64,
}

impl Strays {
    fn add(&mut self, stray: Stray) {
        if self.recent.len() == STRAYS {
            self.recent.pop_front();
        }
        self.recent.push_back(stray);
        self.count += 1;
    }

    /// The share of all requests that take more than `more` seconds longer than is usual, and by how many seconds on average, after this
    /// number of completions and at this time.
    fn overrun(&self, more: f64, completions: u64, at: Nanos) -> Overrun {
        let first = self.recent.front().filter(|_| self.recent.len() == STRAYS).map_or(0, |first| first.completions);
        let since = completions.saturating_sub(STRAYS_OF).max(first);
        let is_late =
            |stray: &&Stray| stray.completions > since && at.since(stray.at) <= STRAYS_STALE && stray.seconds > more;
        overrun_of(self.recent.iter().filter(is_late).map(|stray| stray.seconds), more, (completions - since) as f64)
    }
}

/// By how much these values exceed `limit` on average, and the share of `of` that they are.
fn overrun_of(values: impl Iterator<Item = f64>, limit: f64, of: f64) -> Overrun {
    let (count, sum) = values.fold((0.0, 0.0), |sums, value| (sums.0 + 1.0, sums.1 + value - limit));
    if count > 0.0 { Overrun { window: sum / count, share: count / of } } else { Overrun::default() }
}

#[derive(Clone, Copy, Debug)]
struct ServiceLine {
    positioning: f64,
    per_byte: f64,
}

impl ServiceLine {
    fn at(self, size: Bytes) -> f64 {
        self.positioning + self.per_byte * size.0 as f64
    }

    /// The estimate for a size that was not tried.
    fn guess(self, size: Bytes) -> ServiceEstimate {
        let mean = self.at(size);
        ServiceEstimate::steady(mean, mean * UNTRIED_MARGIN)
    }
}

impl ServiceTimes {
    /// No completions yet. `held_max`: the longest delay that one request causes, however long it takes; `None`: to its end.
    pub fn held_up_to(held_max: Option<Nanos>) -> ServiceTimes {
        ServiceTimes { held_max: held_max.map(Nanos::as_secs_f64), ..ServiceTimes::default() }
    }

    /// The nominal size of a slice of work that runs by itself.
    pub const SLICE: Bytes = SIZE_MIN;

    /// The times of slices, as [`ServiceTimes::set_slices`] sets them. They are not measured, and none is larger.
    pub fn of_slices(slices: [SliceTime; 2]) -> ServiceTimes {
        let mut times = ServiceTimes { is_sliced: true, ..ServiceTimes::default() };
        times.set_slices(slices);
        times
    }

    /// Sets the times of the first slice of a run, and of each that follows.
    pub fn set_slices(&mut self, slices: [SliceTime; 2]) {
        let [first, later] = slices.map(|SliceTime { takes, holds }| {
            let [takes, holds] = [takes, holds].map(|time| time.max(SERVICE_MIN).as_secs_f64());
            ServiceEstimate { held_max: Some(holds), ..ServiceEstimate::steady(takes, takes) }
        });
        let never = ServiceEstimate::steady(f64::MAX, f64::MAX);
        self.estimates = [[never; SIZES.len()]; 2];
        self.estimates[AccessPattern::Random as usize][0] = first;
        self.estimates[AccessPattern::Sequential as usize][0] = later;
        self.estimates_until = Nanos::MAX;
    }

    /// How long a slice takes, and the most that an arrival loses by it, in seconds.
    pub fn slice(&self, access: AccessPattern) -> [f64; 2] {
        let slice = self.of(Self::SLICE, access);
        [slice.mean, slice.held(slice.mean)]
    }

    /// Counts a slice.
    pub fn add_slice(&mut self, at: Nanos) {
        self.latest = self.latest.max(at);
        self.completions += 1;
        self.bytes += Self::SLICE.0;
    }

    /// Adds one clean completion at `at`. It counts for the nearest size, in proportion.
    pub fn add(&mut self, size: Bytes, access: AccessPattern, service: Nanos, at: Nanos) {
        self.latest = self.latest.max(at);
        if size.0 * 4 < SIZE_MIN.0 * 3 {
            return; // the rest of a gap before something already verified: no size that a policy chooses
        }
        self.completions += 1;
        self.bytes += size.0;
        let nearest = SIZES.iter().rposition(|step| size.0 * 4 >= step.0 * 3).unwrap_or(0);
        let scaled = u128::from(service.0.min(SERVICE_MAX.0)) * u128::from(SIZES[nearest].0) / u128::from(size.0);
        let scaled = (scaled as u64).max(SERVICE_MIN.0);
        let usual = self.of(SIZES[nearest], access);
        if self.is_known(SIZES[nearest], access) && scaled as f64 / 1e9 > STRAY * usual.usual_high {
            let seconds = scaled as f64 / 1e9 - usual.mean;
            self.strays.add(Stray { completions: self.completions, at, seconds });
        }
        let is_disk = self.held_max.is_none();
        self.windows(access)[nearest].add(scaled, at, is_disk);
        self.estimate();
    }

    fn estimate(&mut self) {
        self.estimates = self.estimated();
        let fresh = self.random.iter().chain(&self.sequential).filter(|window| self.fresh(window).is_some());
        self.estimates_until = fresh.map(|window| window.latest.saturating_add(STALE)).min().unwrap_or(Nanos::MAX);
    }

    fn windows(&mut self, access: AccessPattern) -> &mut [CompletionWindow; SIZES.len()] {
        match access {
            AccessPattern::Random => &mut self.random,
            AccessPattern::Sequential => &mut self.sequential,
        }
    }

    fn estimated(&self) -> [[ServiceEstimate; SIZES.len()]; 2] {
        let [away, there] =
            [&self.random, &self.sequential].map(|windows| windows.each_ref().map(|window| self.fresh(window)));
        let is_any = |known: &[Option<ServiceEstimate>]| known.iter().any(Option::is_some);
        let is_all_known = there.iter().all(Option::is_some);
        let line = match (is_all_known, is_any(&there), is_any(&away)) {
            (true, ..) | (_, false, false) => PRIOR,
            (_, true, _) => line(&there),
            // No sequential completion is known: it is assumed to need no positioning, and a trial corrects that.
            (_, false, true) => ServiceLine { positioning: 0.0, ..line(&away) },
        };
        let usual: [ServiceEstimate; SIZES.len()] =
            std::array::from_fn(|step| there[step].unwrap_or_else(|| line.guess(SIZES[step])));
        // The seek takes the same time for all sizes.
        let seeks = away.iter().zip(&usual).filter_map(|(away, there)| Some(((*away)?.mean - there.mean).max(0.0)));
        let (count, sum) = seeks.fold((0.0, 0.0), |sums, one| (sums.0 + 1.0, sums.1 + one));
        let seek = if count > 0.0 { sum / count } else { 0.0 };
        [std::array::from_fn(|step| away[step].unwrap_or_else(|| usual[step].plus(seek))), usual]
    }

    /// Adds `count` clean completions of one size that took `service` each, back to back; the earliest ended at `at`.
    pub fn add_run(&mut self, size: Bytes, access: AccessPattern, service: Nanos, mut at: Nanos, count: u64) {
        for remaining in (1..=count).rev() {
            let window = step_of(size).map(|step| &mut self.windows(access)[step]);
            if let Some(window) = window.filter(|window| window.is_uniform(service.0, at)) {
                at += Nanos(service.0 * (remaining - 1));
                window.latest = at;
                self.latest = self.latest.max(at);
                self.completions += remaining;
                self.bytes += remaining * size.0;
                if self.latest > self.estimates_until {
                    self.estimate();
                }
                return;
            }
            self.add(size, access, service, at);
            at += service;
        }
    }

    /// For each size that is known, by access pattern, [`KEPT`] quantiles of its recent service times, in nanoseconds.
    pub(super) fn kept(&self) -> Vec<(AccessPattern, usize, Vec<u64>)> {
        let sides = [(AccessPattern::Random, &self.random), (AccessPattern::Sequential, &self.sequential)];
        let windows = sides.into_iter().flat_map(|(access, windows)| (0..).zip(windows).map(move |one| (access, one)));
        let known = windows.filter(|(_, (_, window))| self.fresh(window).is_some());
        let quantiles =
            |sorted: &[u64]| (0..KEPT).map(|place| sorted[(2 * place + 1) * sorted.len() / (2 * KEPT)]).collect();
        known.map(|(access, (step, window))| (access, step, quantiles(&window.sorted))).collect()
    }

    /// Adds a service time that an earlier run kept, as if it was completed at `now`. A `step` that does not exist is ignored.
    pub(super) fn recall(&mut self, access: AccessPattern, step: usize, nanos: u64, now: Nanos) {
        let is_disk = self.held_max.is_none();
        let Some(window) = self.windows(access).get_mut(step) else { return };
        window.add(nanos.clamp(SERVICE_MIN.0, SERVICE_MAX.0), now, is_disk);
        self.latest = self.latest.max(now);
        self.completions += 1;
        self.estimate();
    }

    /// The earliest time at which a size that is known now may be known no longer, because its completions are too old.
    pub(super) fn fresh_until(&self) -> Nanos {
        self.estimates_until
    }

    /// The number of bytes that all completions read.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// The number of completions added.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// The share of the requests of `size` that delay arrivals by more than `max` seconds, and by how many seconds
    /// more: from the completions of this size, or from the strays of any size, whichever is worse.
    pub(super) fn overrun(&self, size: Bytes, access: AccessPattern, max: f64) -> Overrun {
        if self.of(size, access).held_max.is_some_and(|held| held <= max) {
            return Overrun::default();
        }
        let windows = if access == AccessPattern::Random { &self.random } else { &self.sequential };
        let window = step_of(size).map(|step| &windows[step]).filter(|window| self.fresh(window).is_some());
        let of_size = window.map_or(Overrun::default(), |window| window.overrun(max));
        let strays = self.strays.overrun(max - self.of(size, access).mean, self.completions, self.latest);
        if strays.share * strays.window > of_size.share * of_size.window { strays } else { of_size }
    }

    /// Has a request of the smallest size taken longer than `max` seconds of late, or another so much longer than is usual?
    pub(super) fn is_slow(&self, access: AccessPattern, max: f64) -> bool {
        let window = if access == AccessPattern::Random { &self.random[0] } else { &self.sequential[0] };
        let is_possible =
            !self.strays.recent.is_empty() || window.sorted.last().is_some_and(|&nanos| nanos as f64 > max * 1e9);
        is_possible && self.overrun(SIZE_MIN, access, max).share > 0.0
    }

    /// The number of strays so far.
    pub(super) fn strays(&self) -> u64 {
        self.strays.count
    }

    /// Was this size tried recently, and often enough?
    pub(super) fn is_known(&self, size: Bytes, access: AccessPattern) -> bool {
        if self.is_sliced {
            return true;
        }
        let windows = if access == AccessPattern::Random { &self.random } else { &self.sequential };
        step_of(size).is_some_and(|step| self.fresh(&windows[step]).is_some())
    }

    /// The next larger size, if it was not tried recently, or then delayed arrivals by more than `max` seconds.
    pub(super) fn unknown_larger(&self, size: Bytes, access: AccessPattern, max: f64) -> Option<Bytes> {
        let &larger = SIZES.iter().find(|&&step| step > size && !self.is_sliced)?;
        let service = self.of(larger, access);
        (!self.is_known(larger, access) || service.held(service.usual_high) > max).then_some(larger)
    }

    /// The mean service time, in seconds, of a request of `size` that follows another: measured, or from the line
    /// through the sizes measured.
    pub fn mean(&self, size: Bytes) -> f64 {
        self.of(size, AccessPattern::Sequential).mean
    }

    /// The estimate for a request of `size`.
    pub(super) fn of(&self, size: Bytes, access: AccessPattern) -> ServiceEstimate {
        let estimate = match step_of(size) {
            Some(step) if self.is_sliced => return self.estimates[access as usize][step],
            Some(step) if self.completions > 0 => self.estimates[access as usize][step],
            _ => line(&self.sequential.each_ref().map(|window| self.fresh(window))).guess(size),
        };
        ServiceEstimate { held_max: self.held_max, ..estimate }
    }

    /// A cautious upper value of the service time of a request of `size`, in seconds.
    pub(super) fn high(&self, size: Bytes, access: AccessPattern) -> f64 {
        self.of(size, access).high
    }

    /// The estimate from a window, unless its completions are too old.
    fn fresh(&self, window: &CompletionWindow) -> Option<ServiceEstimate> {
        window.estimate.filter(|_| self.latest.since(window.latest) <= STALE)
    }
}

/// The index of a size in [`SIZES`]: each is twice the one before.
fn step_of(size: Bytes) -> Option<usize> {
    let step = size.0.trailing_zeros().wrapping_sub(SIZE_MIN.0.trailing_zeros()) as usize;
    (SIZES.get(step) == Some(&size)).then_some(step)
}

/// Least squares through the measured sizes. With one size only, the authors' drive, scaled to it.
fn line(known: &[Option<ServiceEstimate>; SIZES.len()]) -> ServiceLine {
    let points: Vec<(f64, f64)> =
        SIZES.iter().zip(known).filter_map(|(size, known)| Some((size.0 as f64, (*known)?.mean))).collect();
    match points[..] {
        [] => PRIOR,
        [(x, y)] => {
            let scale = y / (PRIOR.positioning + PRIOR.per_byte * x);
            ServiceLine { positioning: PRIOR.positioning * scale, per_byte: PRIOR.per_byte * scale }
        }
        _ => {
            let count = points.len() as f64;
            let (mean_x, mean_y) = points.iter().fold((0.0, 0.0), |sum, p| (sum.0 + p.0 / count, sum.1 + p.1 / count));
            let spread: f64 = points.iter().map(|p| (p.0 - mean_x).powi(2)).sum();
            let slope = points.iter().map(|p| (p.0 - mean_x) * (p.1 - mean_y)).sum::<f64>() / spread;
            let per_byte = slope.clamp(0.0, mean_y / mean_x);
            ServiceLine { positioning: mean_y - per_byte * mean_x, per_byte }
        }
    }
}

#[cfg(test)]
mod tests;
