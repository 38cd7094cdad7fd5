//! How long a request of ours takes, by size: learnt from our own completions.
//!
//! And how long it holds up others. At a disk that is the same: who comes waits for its end. A step of md's check takes a quarter of a
//! second, and most of it is spent on notes of how far the check is, while others are served: what is known of such requests is
//! how long they hold up anybody at the most.

use crate::scrub::disk_server::ServiceModel;
use crate::units::{Bytes, Nanos};
use std::collections::VecDeque;

/// The smallest request worth sending: below 64 KiB a hard disk's time does not fall (Amvrosiadis et al., DSN'12,
/// Fig. 4).
pub(super) const SIZE_MIN: Bytes = Bytes::kib(64);
/// 64 KiB to 4 MiB, the paper's span (V-C), in steps of 2.
pub(super) const SIZES: [Bytes; 7] =
    [SIZE_MIN, Bytes::kib(128), Bytes::kib(256), Bytes::kib(512), Bytes::mib(1), Bytes::mib(2), Bytes::mib(4)];
/// The estimate of a size rests on so many completions of late.
const WINDOW: usize = 128;
/// One in so many of them is left out, the longest first: a disk that had to spin up, or to try again, says nothing about
/// the next request.
const OUTLIER_OF: usize = 64;
/// The longest of them, one in so many, are priced by themselves, once there are two.
const TAIL_OF: usize = 8;
/// And count for no more than so many times the usual.
const TAIL_MAX: f64 = 32.0;
/// A size takes too long if more than one in so many does.
const MOST_OF: usize = 16;
/// So many service times of a size are kept for the next run.
const KEPT: usize = 16;
/// What takes so many times as long as most is a stray: it says nothing about the size.
const STRAY: f64 = 2.0;
/// So many of them are remembered, of so many completions.
const STRAYS: usize = 64;
const STRAYS_OF: u64 = 16384;
/// A size that was not tried for so long is known no better than one never tried: what made it slow may be over.
const STALE: Nanos = Nanos::from_secs(600);
/// No completion counts for longer: a year, so that sums have room.
const SERVICE_MAX: Nanos = Nanos::from_secs(365 * 86_400);
/// Nor for less than that: nothing is infinitely fast.
const SERVICE_MIN: Nanos = Nanos(1000);
/// Before anything is known: the authors' drive.
const PRIOR: ServiceLine = ServiceLine {
    positioning: ServiceModel::ULTRASTAR_15K450.positioning.0 as f64 / 1e9,
    per_byte: ServiceModel::ULTRASTAR_15K450.per_mib.0 as f64 / 1e9 / (1 << 20) as f64,
};
/// An estimate for a size never tried is raised by this much before it is held against the max goal. A guess that errs
/// on the side of smaller requests.
const UNTRIED_MARGIN: f64 = 1.25;

/// Where a disk's head is when a request of ours is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskHead {
    /// Elsewhere: the foreground was at the disk since our last request, or that ended elsewhere. The request pays for a seek.
    Away,
    /// Where it begins, as far as is known.
    There,
}

/// What is believed of a request of one size. In seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServiceEstimate {
    /// The mean.
    pub(super) mean: f64,
    /// A cautious upper value.
    pub(super) high: f64,
    /// Most take no longer.
    pub(super) most: f64,
    /// What most take, and what the longest do: those who come while one of them is at the disk lose as much as if these two
    /// were all.
    pub(super) cases: [ServiceCase; 2],
    /// The longest delay, in seconds, that one request causes; `None`: until it ends.
    pub(super) held_max: Option<f64>,
}

/// So many requests in all take so long.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct ServiceCase {
    /// In seconds.
    pub(super) service: f64,
    /// 0..=1.
    pub(super) share: f64,
}

impl ServiceEstimate {
    /// Always the same.
    pub(super) fn steady(mean: f64, high: f64) -> ServiceEstimate {
        ServiceEstimate {
            mean,
            high,
            most: high,
            cases: [ServiceCase { service: mean, share: 1.0 }, ServiceCase::default()],
            held_max: None,
        }
    }

    /// For how long one that takes `service` seconds holds up who comes at its beginning.
    pub(super) fn held(&self, service: f64) -> f64 {
        self.held_max.map_or(service, |most| service.min(most))
    }

    /// For so many seconds of a request that takes `service`, one who comes waits for all of `held_max` and not until its end; 0 at a disk.
    pub(super) fn passed(&self, service: f64) -> f64 {
        service - self.held(service)
    }

    /// The same and `more` seconds, if any.
    fn plus(self, more: f64) -> ServiceEstimate {
        let cases = self.cases.map(|case| ServiceCase { service: case.service + more, ..case });
        ServiceEstimate { mean: self.mean + more, high: self.high + more, most: self.most + more, cases, ..self }
    }
}

/// Service times by request size.
#[derive(Clone, Debug, Default)]
pub struct ServiceTimes {
    away: [CompletionWindow; SIZES.len()],
    there: [CompletionWindow; SIZES.len()],
    /// By size; what [`ServiceTimes::of`] says.
    estimates: [[ServiceEstimate; SIZES.len()]; 2],
    strays: Strays,
    /// Up to when they hold if nothing is added.
    estimates_until: Nanos,
    completions: u64,
    bytes: u64,
    latest: Nanos,
    /// In seconds; none: to the end.
    held_max: Option<f64>,
}

/// The completions of late, in the order in which they came and by length, in nanoseconds.
#[derive(Clone, Debug, Default)]
struct CompletionWindow {
    recent: VecDeque<u64>,
    sorted: Vec<u64>,
    sum: u64,
    latest: Nanos,
    estimate: Option<ServiceEstimate>,
}

impl CompletionWindow {
    /// Would one more like this, at this time, change nothing but the time?
    fn is_all(&self, nanos: u64, at: Nanos) -> bool {
        let is_fresh = self.recent.len() == WINDOW && at.since(self.latest) <= STALE;
        is_fresh && self.sorted.first() == Some(&nanos) && self.sorted.last() == Some(&nanos)
    }

    fn add(&mut self, nanos: u64, at: Nanos) {
        if self.is_all(nanos, at) {
            self.latest = at;
            return;
        }
        if at.since(self.latest) > STALE {
            *self = CompletionWindow::default();
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
            let is_told = self.sorted.len() >= 2 * TAIL_OF && self.sorted.first() < self.sorted.last();
            let most = self.sorted[self.sorted.len() - 1 - self.sorted.len() / MOST_OF] as f64 / 1e9;
            let (most, steady) = (most.min(high), ServiceEstimate::steady(mean, high));
            if is_told { ServiceEstimate { most, cases: self.cases(), ..steady } } else { steady }
        });
    }

    /// Which of them took longer than `max` seconds, and by how much on average.
    fn over(&self, max: f64) -> ServiceCase {
        let over = &self.sorted[self.sorted.partition_point(|&nanos| nanos as f64 <= max * 1e9)..];
        mean_over(over.iter().map(|&nanos| nanos as f64 / 1e9), max, self.sorted.len() as f64)
    }

    /// The longest by their first two moments: who comes while one of them is at the disk meets it in proportion to its
    /// length, and loses half of that again.
    fn cases(&self) -> [ServiceCase; 2] {
        let (most, longest) = self.sorted.split_at(self.sorted.len() - self.sorted.len() / TAIL_OF);
        let seconds = |nanos: &u64| *nanos as f64 / 1e9;
        let usual = most.iter().map(seconds).sum::<f64>() / most.len() as f64;
        let share = 1.0 / self.sorted.len() as f64;
        let moments = longest.iter().map(|nanos| seconds(nanos).min(TAIL_MAX * usual));
        let (sum, squares) = moments.fold((0.0, 0.0), |sums, one| (sums.0 + one, sums.1 + one * one));
        let tail = if sum > 0.0 {
            ServiceCase { service: squares / sum, share: share * sum * sum / squares }
        } else {
            ServiceCase::default()
        };
        [ServiceCase { service: usual, share: share * most.len() as f64 }, tail]
    }
}

/// How much longer the strays took than is usual: a disk that tries again does so whatever the size.
#[derive(Clone, Debug, Default)]
struct Strays {
    /// After how many completions, and seconds. The latest at the end.
    recent: VecDeque<(u64, f64)>,
    count: u64,
}

impl Strays {
    fn add(&mut self, completions: u64, seconds: f64) {
        if self.recent.len() == STRAYS {
            self.recent.pop_front();
        }
        self.recent.push_back((completions, seconds));
        self.count += 1;
    }

    /// Of all requests, which take more than `more` seconds longer than is usual.
    fn over(&self, more: f64, completions: u64) -> ServiceCase {
        let first = self.recent.front().filter(|_| self.recent.len() == STRAYS).map_or(0, |&(at, _)| at);
        let since = completions.saturating_sub(STRAYS_OF).max(first);
        let late = self.recent.iter().filter(|&&(at, seconds)| at > since && seconds > more);
        mean_over(late.map(|&(_, seconds)| seconds), more, (completions - since) as f64)
    }
}

/// Of `of`, how many these are, and by how much they are above `limit` on average.
fn mean_over(values: impl Iterator<Item = f64>, limit: f64, of: f64) -> ServiceCase {
    let (count, sum) = values.fold((0.0, 0.0), |sums, value| (sums.0 + 1.0, sums.1 + value - limit));
    if count > 0.0 { ServiceCase { service: sum / count, share: count / of } } else { ServiceCase::default() }
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

    /// What is believed of a size that was not tried.
    fn guess(self, size: Bytes) -> ServiceEstimate {
        let mean = self.at(size);
        ServiceEstimate::steady(mean, mean * UNTRIED_MARGIN)
    }
}

impl ServiceTimes {
    /// None yet, of requests that hold up others for no longer than `held_max`, whatever they take; none: to their end.
    pub fn held_up_to(held_max: Option<Nanos>) -> ServiceTimes {
        ServiceTimes { held_max: held_max.map(Nanos::as_secs_f64), ..ServiceTimes::default() }
    }

    /// Takes note of one clean completion at `at`. Sizes between two steps count for the nearest one.
    pub fn add(&mut self, size: Bytes, head: DiskHead, service: Nanos, at: Nanos) {
        self.latest = self.latest.max(at);
        if size.0 * 4 < SIZE_MIN.0 * 3 {
            return; // the last bit before something already verified: says nothing about the sizes we choose from
        }
        self.completions += 1;
        self.bytes += size.0;
        let nearest = SIZES.iter().rposition(|step| size.0 * 4 >= step.0 * 3).unwrap_or(0);
        let scaled = u128::from(service.0.min(SERVICE_MAX.0)) * u128::from(SIZES[nearest].0) / u128::from(size.0);
        let scaled = (scaled as u64).max(SERVICE_MIN.0);
        let usual = self.of(SIZES[nearest], head);
        if self.is_known(SIZES[nearest], head) && scaled as f64 / 1e9 > STRAY * usual.most {
            self.strays.add(self.completions, scaled as f64 / 1e9 - usual.mean);
        }
        self.windows(head)[nearest].add(scaled, at);
        self.estimate();
    }

    fn estimate(&mut self) {
        self.estimates = self.estimated();
        let fresh = self.away.iter().chain(&self.there).filter(|window| self.fresh(window).is_some());
        self.estimates_until = fresh.map(|window| window.latest.saturating_add(STALE)).min().unwrap_or(Nanos::MAX);
    }

    fn windows(&mut self, head: DiskHead) -> &mut [CompletionWindow; SIZES.len()] {
        match head {
            DiskHead::Away => &mut self.away,
            DiskHead::There => &mut self.there,
        }
    }

    fn estimated(&self) -> [[ServiceEstimate; SIZES.len()]; 2] {
        let [away, there] =
            [&self.away, &self.there].map(|windows| windows.each_ref().map(|window| self.fresh(window)));
        let is_any = |known: &[Option<ServiceEstimate>]| known.iter().any(Option::is_some);
        let is_all_known = there.iter().all(Option::is_some);
        let line = match (is_all_known, is_any(&there), is_any(&away)) {
            (true, ..) | (_, false, false) => PRIOR,
            (_, true, _) => line(&there),
            // Nothing tells how long it takes where the head is: if not less than elsewhere, trying it will tell.
            (_, false, true) => ServiceLine { positioning: 0.0, ..line(&away) },
        };
        let usual: [ServiceEstimate; SIZES.len()] =
            std::array::from_fn(|step| there[step].unwrap_or_else(|| line.guess(SIZES[step])));
        // The seek is the same for all sizes.
        let seeks = away.iter().zip(&usual).filter_map(|(away, there)| Some(((*away)?.mean - there.mean).max(0.0)));
        let (count, sum) = seeks.fold((0.0, 0.0), |sums, one| (sums.0 + 1.0, sums.1 + one));
        let seek = if count > 0.0 { sum / count } else { 0.0 };
        [std::array::from_fn(|step| away[step].unwrap_or_else(|| usual[step].plus(seek))), usual]
    }

    /// Takes note of `count` clean completions of one size that took as long, one right after the other, the earliest of
    /// which ended at `at`.
    pub fn add_run(&mut self, size: Bytes, head: DiskHead, service: Nanos, mut at: Nanos, count: u64) {
        for left in (1..=count).rev() {
            let window = step_of(size).map(|step| &mut self.windows(head)[step]);
            if let Some(window) = window.filter(|window| window.is_all(service.0, at)) {
                at += Nanos(service.0 * (left - 1));
                window.latest = at;
                self.latest = self.latest.max(at);
                self.completions += left;
                self.bytes += left * size.0;
                if self.latest > self.estimates_until {
                    self.estimate();
                }
                return;
            }
            self.add(size, head, service, at);
            at += service;
        }
    }

    /// Of each size that is known, by where the head is, [`KEPT`] service times that stand for all of late, in nanoseconds.
    pub(super) fn kept(&self) -> Vec<(DiskHead, usize, Vec<u64>)> {
        let sides = [(DiskHead::Away, &self.away), (DiskHead::There, &self.there)];
        let windows = sides.into_iter().flat_map(|(head, windows)| (0..).zip(windows).map(move |one| (head, one)));
        let known = windows.filter(|(_, (_, window))| self.fresh(window).is_some());
        let quantiles =
            |sorted: &[u64]| (0..KEPT).map(|place| sorted[(2 * place + 1) * sorted.len() / (2 * KEPT)]).collect();
        known.map(|(head, (step, window))| (head, step, quantiles(&window.sorted))).collect()
    }

    /// Takes note of one that was kept, as if it had been seen at `now`. There may be no such size.
    pub(super) fn recall(&mut self, head: DiskHead, step: usize, nanos: u64, now: Nanos) {
        let Some(window) = self.windows(head).get_mut(step) else { return };
        window.add(nanos.clamp(SERVICE_MIN.0, SERVICE_MAX.0), now);
        self.latest = self.latest.max(now);
        self.completions += 1;
        self.estimate();
    }

    /// No later than this a size that is known may be so no more, because that was too long ago.
    pub(super) fn fresh_until(&self) -> Nanos {
        self.estimates_until
    }

    /// How many bytes they read.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.bytes)
    }

    /// How many completions were noted.
    pub fn completions(&self) -> u64 {
        self.completions
    }

    /// Of the requests of `size`, which hold others up for longer than `max` seconds, and by how much: by those of this size, or by the
    /// strays of any.
    pub(super) fn over(&self, size: Bytes, head: DiskHead, max: f64) -> ServiceCase {
        if self.held_max.is_some_and(|held| held <= max) {
            return ServiceCase::default();
        }
        let windows = if head == DiskHead::Away { &self.away } else { &self.there };
        let window = step_of(size).map(|step| &windows[step]).filter(|window| self.fresh(window).is_some());
        let of_size = window.map_or(ServiceCase::default(), |window| window.over(max));
        let strays = self.strays.over(max - self.of(size, head).mean, self.completions);
        if strays.share * strays.service > of_size.share * of_size.service { strays } else { of_size }
    }

    /// How many strays there were.
    pub(super) fn strays(&self) -> u64 {
        self.strays.count
    }

    /// Was this size tried of late, often enough?
    pub(super) fn is_known(&self, size: Bytes, head: DiskHead) -> bool {
        let windows = if head == DiskHead::Away { &self.away } else { &self.there };
        step_of(size).is_some_and(|step| self.fresh(&windows[step]).is_some())
    }

    /// The next size up, if it was not tried of late, or held others up for more than `max` seconds then.
    pub(super) fn unknown_above(&self, size: Bytes, head: DiskHead, max: f64) -> Option<Bytes> {
        let &above = SIZES.iter().find(|&&step| step > size)?;
        let service = self.of(above, head);
        (!self.is_known(above, head) || service.held(service.most) > max).then_some(above)
    }

    /// The mean service time of a request of `size` that follows another, in seconds: measured, else by the line through
    /// what was measured.
    pub fn mean(&self, size: Bytes) -> f64 {
        self.of(size, DiskHead::There).mean
    }

    /// What is believed of a request of `size`.
    pub(super) fn of(&self, size: Bytes, head: DiskHead) -> ServiceEstimate {
        let estimate = match step_of(size) {
            Some(step) if self.completions > 0 => self.estimates[head as usize][step],
            _ => line(&self.there.each_ref().map(|window| self.fresh(window))).guess(size),
        };
        ServiceEstimate { held_max: self.held_max, ..estimate }
    }

    /// A cautious upper value of it, in seconds.
    pub(super) fn high(&self, size: Bytes, head: DiskHead) -> f64 {
        self.of(size, head).high
    }

    /// What is known of a size, unless that is long ago.
    fn fresh(&self, window: &CompletionWindow) -> Option<ServiceEstimate> {
        window.estimate.filter(|_| self.latest.since(window.latest) <= STALE)
    }
}

/// Which of [`SIZES`] it is: each is twice the one before.
fn step_of(size: Bytes) -> Option<usize> {
    let step = size.0.trailing_zeros().wrapping_sub(SIZE_MIN.0.trailing_zeros()) as usize;
    (SIZES.get(step) == Some(&size)).then_some(step)
}

/// Least squares through the measured sizes. With one only, that of the authors' drive, raised or lowered to meet it.
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
mod tests {
    use super::*;

    fn seen(completions: &[(Bytes, u64)]) -> ServiceTimes {
        let mut times = ServiceTimes::default();
        completions
            .iter()
            .for_each(|&(size, micros)| times.add(size, DiskHead::There, Nanos(micros * 1000), Nanos::ZERO));
        times
    }

    #[test]
    fn two_sizes_give_the_line() {
        let micros = |size| (PRIOR.at(size) * 1e6) as u64;
        let (small, large) = ((Bytes::kib(64), micros(Bytes::kib(64))), (Bytes::mib(1), micros(Bytes::mib(1))));
        let times = seen(&[small, small, large, large]);
        assert!((times.mean(Bytes::mib(4)) - PRIOR.at(Bytes::mib(4))).abs() < 1e-4);
        assert!(times.high(Bytes::mib(4), DiskHead::There) > times.mean(Bytes::mib(4)));
    }

    #[test]
    fn one_size_gives_a_drive_like_the_authors() {
        let times = seen(&[(Bytes::kib(256), 2 * (PRIOR.at(Bytes::kib(256)) * 1e6) as u64); 2]);
        for size in SIZES {
            assert!((times.mean(size) / PRIOR.at(size) / 2.0 - 1.0).abs() < 1e-3, "twice as slow at {size}");
        }
        assert!(times.high(Bytes::mib(1), DiskHead::There) > 1.2 * times.mean(Bytes::mib(1)), "a guess");
    }

    #[test]
    fn a_disk_that_had_to_spin_up_is_forgiven() {
        let mut times = seen(&[(Bytes::kib(64), 8_000_000)]);
        assert!(times.high(Bytes::kib(64), DiskHead::There) < 0.01, "one completion says nothing");
        times.add(Bytes::kib(64), DiskHead::There, Nanos::from_millis(5), Nanos::ZERO);
        assert!((times.high(Bytes::kib(64), DiskHead::There) - 0.005).abs() < 1e-9);
    }

    #[test]
    fn what_is_seldom_but_happens_is_held_against_the_max_goal() {
        let mut times = ServiceTimes::default();
        (0..1000).for_each(|i| {
            times.add(
                Bytes::mib(1),
                DiskHead::There,
                Nanos::from_millis(if i % 35 == 0 { 20 } else { 12 }),
                Nanos::ZERO,
            )
        });
        assert!((times.high(Bytes::mib(1), DiskHead::There) - 0.020).abs() < 1e-9, "one in 35");
        (0..200).for_each(|_| times.add(Bytes::mib(1), DiskHead::There, Nanos::from_millis(12), Nanos::ZERO));
        assert!((times.high(Bytes::mib(1), DiskHead::There) - 0.012).abs() < 1e-9, "until it is long ago");
    }

    #[test]
    fn a_size_that_was_slow_long_ago_is_given_another_chance() {
        let mut times =
            seen(&[(Bytes::kib(64), 4000), (Bytes::kib(64), 4000), (Bytes::mib(4), 900_000), (Bytes::mib(4), 900_000)]);
        assert!(times.high(Bytes::mib(4), DiskHead::There) > 0.8);
        times.add(Bytes::kib(64), DiskHead::There, Nanos::from_millis(4), Nanos::from_secs(601));
        times.add(Bytes::kib(64), DiskHead::There, Nanos::from_millis(4), Nanos::from_secs(602));
        assert!(
            times.high(Bytes::mib(4), DiskHead::There) < 0.4,
            "by the line: 64 times as long as 64 KiB, and a quarter more"
        );
    }

    #[test]
    fn the_first_one_pays_for_the_seek_whatever_its_size() {
        let mut times =
            seen(&[(Bytes::kib(64), 1000), (Bytes::kib(64), 1000), (Bytes::mib(4), 40_000), (Bytes::mib(4), 40_000)]);
        (0..2).for_each(|_| times.add(Bytes::kib(64), DiskHead::Away, Nanos::from_millis(9), Nanos::ZERO));
        assert!(
            (times.of(Bytes::mib(4), DiskHead::Away).mean - 0.048).abs() < 1e-6
                && (times.mean(Bytes::mib(4)) - 0.040).abs() < 1e-9
        );
        assert!((times.high(Bytes::mib(4), DiskHead::Away) - 0.048).abs() < 1e-6);
    }

    #[test]
    fn stray_long_times_keep_their_weight() {
        let mut times = ServiceTimes::default();
        (0..128).for_each(|i| {
            times.add(SIZE_MIN, DiskHead::There, Nanos::from_millis(if i == 64 { 100 } else { 5 }), Nanos::ZERO)
        });
        let ServiceEstimate { mean, cases, .. } = times.of(SIZE_MIN, DiskHead::There);
        let moment = |power: i32| cases.iter().map(|case| case.share * case.service.powi(power)).sum::<f64>();
        assert!((mean - 0.005).abs() < 1e-9, "what most take");
        assert!((moment(1) - (127.0 * 0.005 + 0.1) / 128.0).abs() < 1e-9);
        assert!((moment(2) - (127.0 * 0.005f64.powi(2) + 0.1f64.powi(2)) / 128.0).abs() < 1e-9);
    }
}
