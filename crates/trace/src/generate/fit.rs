//! Learns a model from records, one at a time, in bounded memory (some 400 KB).

use super::histogram::ValueHistogram;
use super::model::Model;
use super::params::{BURST_GAP_SECONDS, ModelError, POINTS_PCT, Params};
use crate::record::{Record, RequestKind};
use scrubjay_core::stats::Moments;
use scrubjay_core::units::Nanos;
use std::collections::HashMap;

/// The least number of records: fewer give no information on bursts and tails.
const RECORDS_MIN: u64 = 100;
/// The number of sizes counted separately; any further ones count as the next power of two.
const SIZES_MAX: usize = 1024;
/// The number of sizes kept in the model, the most frequent.
const SIZES_KEPT: usize = 64;
/// The profile of hours repeats after this many: a week.
const HOURS_MAX: u64 = 168;
/// Traces of no more hours than this have no profile of hours.
const HOURS_MIN: u64 = 24;
/// The least gap of which a logarithm is taken, in seconds: many clocks resolve nothing shorter.
const LN_FLOOR_SECONDS: f64 = 1e-6;
/// Significant digits kept, so that text holds all of them, and a model read back is the same.
const DIGITS: usize = 7;

/// The statistics of one disk's records so far.
///
/// Records of several disks make one model, as if they were one disk. Requests that are not reads count as writes;
/// those without length (flushes) count for times but not for sizes.
#[derive(Clone, Debug, Default)]
pub struct DiskFit {
    first: Option<Nanos>,
    before: Option<Record>,
    records: u64,
    gaps: Moments,
    long: ValueHistogram,
    short: ValueHistogram,
    bursts: ValueHistogram,
    in_burst: u64,
    long_lags: Lags,
    short_lags: Lags,
    /// Records by hour since the first, modulo a week.
    hourly: Vec<u64>,
    reads: SizeFit,
    writes: SizeFit,
    /// The writes after a write and after a read, and the requests of any kind after each.
    writes_after: [u64; 2],
    any_after: [u64; 2],
    sequential: u64,
    jumps: ValueHistogram,
    capacity: u64,
}

impl Model {
    /// Learns from all of a trace's records, in order of arrival.
    ///
    /// # Errors
    /// As for [`DiskFit::finish`].
    pub fn fit<'a>(name: &str, records: impl IntoIterator<Item = &'a Record>) -> Result<Model, ModelError> {
        let mut fit = DiskFit::default();
        records.into_iter().for_each(|record| fit.add(record));
        fit.finish(name)
    }
}

impl DiskFit {
    /// Adds the next record, in order of arrival; one that comes too late counts as arriving with the previous one.
    pub fn add(&mut self, record: &Record) {
        let first = *self.first.get_or_insert(record.arrival);
        if let Some(before) = self.before {
            self.add_gap(record.arrival.since(before.arrival).as_secs_f64());
            self.add_place(&before, record);
        }
        self.records += 1;
        self.in_burst += 1;
        let hour = (record.arrival.since(first).as_secs_f64() / 3600.0) as u64 % HOURS_MAX;
        if self.hourly.len() <= hour as usize {
            self.hourly.resize(hour as usize + 1, 0);
        }
        self.hourly[hour as usize] += 1;
        let sizes = if record.kind == RequestKind::Read { &mut self.reads } else { &mut self.writes };
        sizes.add(record.length.0);
        self.capacity = self.capacity.max(record.offset.0.saturating_add(record.length.0));
        let arrival = self.before.map_or(first, |before| before.arrival.max(record.arrival));
        self.before = Some(Record { arrival, ..*record });
    }

    /// The model of all records added.
    ///
    /// # Errors
    /// If there are fewer than 100 records, or they all arrived at once.
    pub fn finish(mut self, name: &str) -> Result<Model, ModelError> {
        if self.records < RECORDS_MIN {
            return Err(ModelError::TooFew(self.records));
        }
        self.bursts.add(self.in_burst as f64);
        let all_rounded = |values: Vec<f64>| values.into_iter().map(rounded).collect::<Vec<f64>>();
        let share = |part: u64, whole: u64| if whole > 0 { part as f64 / whole as f64 } else { 0.0 };
        let mut params = Params::new(name, self.records, rounded(self.gaps.sum / 3600.0));
        params.long = all_rounded(self.long.quantiles(POINTS_PCT));
        params.short = all_rounded(self.short.quantiles(POINTS_PCT));
        params.bursts = all_rounded(self.bursts.quantiles(POINTS_PCT));
        params.burst_mean = rounded(self.bursts.mean());
        params.variation = Some(rounded(self.gaps.variation()));
        params.long_acf = self.long_lags.autocorrelation().map(rounded);
        params.short_acf = self.short_lags.autocorrelation().map(rounded);
        params.hourly = all_rounded(self.hours());
        params.read_pct = rounded(100.0 * share(self.reads.count, self.records));
        let [after_write, after_read] =
            [0, 1].map(|kind| rounded(share(self.writes_after[kind], self.any_after[kind])));
        params.write_after = Some((after_write, after_read));
        params.read_sizes = self.reads.shares().unwrap_or(params.read_sizes);
        params.write_sizes = self.writes.shares().unwrap_or(params.write_sizes);
        params.sequential_pct = rounded(100.0 * share(self.sequential, self.records - 1));
        params.jumps = all_rounded(self.jumps.quantiles(POINTS_PCT));
        params.capacity_gib = rounded(self.capacity.max(512) as f64 / (1u64 << 30) as f64);
        Model::new(params)
    }

    fn add_gap(&mut self, seconds: f64) {
        self.gaps.add(seconds);
        let ln = seconds.max(LN_FLOOR_SECONDS).ln();
        if seconds > BURST_GAP_SECONDS {
            self.long.add(seconds);
            self.long_lags.add(ln);
            self.bursts.add(self.in_burst as f64);
            self.in_burst = 0;
        } else {
            self.short.add(seconds);
            self.short_lags.add(ln);
        }
    }

    fn add_place(&mut self, before: &Record, record: &Record) {
        let after = usize::from(before.kind == RequestKind::Read);
        self.any_after[after] += 1;
        self.writes_after[after] += u64::from(record.kind != RequestKind::Read);
        if record.offset.0 == before.offset.0.saturating_add(before.length.0) {
            self.sequential += 1;
        } else {
            self.jumps.add(record.offset.0.abs_diff(before.offset.0) as f64);
        }
    }

    /// Requests in each hour, as the mean of all weeks; empty for less than a day.
    fn hours(&self) -> Vec<f64> {
        let hours = (self.gaps.sum / 3600.0) as u64 + 1;
        if hours <= HOURS_MIN {
            return Vec::new();
        }
        let weeks = |hour: usize| (hours - hour as u64).div_ceil(HOURS_MAX) as f64;
        self.hourly.iter().enumerate().map(|(hour, &count)| count as f64 / weeks(hour)).collect()
    }
}

/// The sums for the autocorrelation at lags 1, 2 and 5.
#[derive(Clone, Debug, Default)]
struct Lags {
    /// The last five values, the newest first.
    last: [f64; 5],
    count: u64,
    sum: f64,
    squares: f64,
    products: [f64; 3],
}

impl Lags {
    const LAGS: [usize; 3] = [1, 2, 5];

    fn add(&mut self, value: f64) {
        for (product, lag) in self.products.iter_mut().zip(Lags::LAGS) {
            if self.count >= lag as u64 {
                *product += value * self.last[lag - 1];
            }
        }
        self.last.rotate_right(1);
        self.last[0] = value;
        self.count += 1;
        self.sum += value;
        self.squares += value * value;
    }

    /// The autocorrelation at the three lags; zeros for fewer than ten values.
    fn autocorrelation(&self) -> [f64; 3] {
        let count = self.count as f64;
        let mean = self.sum / count;
        let variance = self.squares / count - mean * mean;
        if self.count < 10 || variance <= 1e-12 {
            return [0.0; 3];
        }
        let at = |index: usize| {
            let pairs = count - Lags::LAGS[index] as f64;
            ((self.products[index] / pairs - mean * mean) / variance).clamp(-1.0, 1.0)
        };
        [at(0), at(1), at(2)]
    }
}

/// Counts of sizes.
#[derive(Clone, Debug, Default)]
struct SizeFit {
    count: u64,
    counts: HashMap<u64, u64>,
}

impl SizeFit {
    fn add(&mut self, size: u64) {
        self.count += 1;
        if size == 0 {
            return;
        }
        let is_known = self.counts.len() < SIZES_MAX || self.counts.contains_key(&size);
        let size = if is_known { size } else { size.checked_next_power_of_two().unwrap_or(size) };
        *self.counts.entry(size).or_default() += 1;
    }

    /// The shares of sizes, the most frequent first; `None`: there are none.
    fn shares(&self) -> Option<Vec<(u64, f64)>> {
        let mut counts: Vec<_> = self.counts.iter().map(|(&size, &count)| (size, count)).collect();
        counts.sort_unstable_by_key(|&(size, count)| (std::cmp::Reverse(count), size));
        counts.truncate(SIZES_KEPT);
        let total: u64 = counts.iter().map(|(_, count)| count).sum();
        let share = |(size, count)| (size, rounded(count as f64 / total as f64));
        Some(counts.into_iter().map(share).collect::<Vec<_>>()).filter(|shares| !shares.is_empty())
    }
}

/// The value rounded to seven significant digits.
fn rounded(value: f64) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    format!("{value:.*e}", DIGITS - 1).parse().expect("a number that was just written")
}
