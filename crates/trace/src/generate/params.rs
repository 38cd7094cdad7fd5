//! The parameters of a model: its plain numbers, and their errors.

use super::curve::{QuantileCurve, Split, split};

/// The ranks, in percent, of the quantiles in models learnt here: dense where the long gaps are.
pub(super) const POINTS_PCT: &[f64] = &[
    0.0, 0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0, 45.0, 50.0, 55.0, 60.0, 65.0, 70.0, 75.0,
    80.0, 85.0, 90.0, 92.0, 94.0, 95.0, 96.0, 97.0, 98.0, 98.5, 99.0, 99.3, 99.5, 99.7, 99.8, 99.9, 99.95, 99.98,
    99.99, 99.995, 99.998, 99.999, 99.9999, 100.0,
];

/// The longest gap within a burst, in seconds: that of the measured parameters; a disk takes about 10 ms for a request.
pub(super) const BURST_GAP_SECONDS: f64 = 0.1;

/// The longest span, in hours: a century. Beyond it, nanoseconds since the beginning would soon overflow.
const SPAN_HOURS_MAX: f64 = 876_600.0;
/// The largest disk: 2^60 bytes.
const CAPACITY_GIB_MAX: f64 = (1u64 << 30) as f64;

/// The most ranks, more than any measurement has; curves count their knots, several per rank, in sixteen bits.
const RANKS_MAX: usize = 4096;
/// The greatest value of a quantile; greater ones are nonsense, and their sums might not be finite.
const VALUE_MAX: f64 = 1e18;

/// The parameters of a model. A list of quantiles has one value for each of `points_pct`, or is empty.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Params {
    pub(super) name: String,
    pub(super) requests: u64,
    pub(super) span_hours: f64,
    pub(super) burst_gap_seconds: f64,
    pub(super) points_pct: Vec<f64>,
    /// Quantiles of the gaps between bursts, in seconds.
    pub(super) long: Vec<f64>,
    /// Quantiles of the gaps within bursts, in seconds.
    pub(super) short: Vec<f64>,
    /// Quantiles of the requests in a burst.
    pub(super) bursts: Vec<f64>,
    pub(super) burst_mean: f64,
    /// The coefficient of variation of all gaps.
    pub(super) variation: Option<f64>,
    /// The autocorrelation of the logarithms at lags 1, 2 and 5.
    pub(super) long_acf: [f64; 3],
    pub(super) short_acf: [f64; 3],
    /// Requests in each hour since the beginning; empty if unknown.
    pub(super) hourly: Vec<f64>,
    /// The percentage of requests that read.
    pub(super) read_pct: f64,
    /// The probability of a write after a write, and after a read.
    pub(super) write_after: Option<(f64, f64)>,
    /// Lengths in bytes and their weights.
    pub(super) read_sizes: Vec<(u64, f64)>,
    pub(super) write_sizes: Vec<(u64, f64)>,
    /// The percentage of requests that begin where the previous one ended.
    pub(super) sequential_pct: f64,
    /// Quantiles of the distance of the other requests from the beginning of the previous one, in bytes.
    pub(super) jumps: Vec<f64>,
    /// The size of the disk, in GiB.
    pub(super) capacity_gib: f64,
}

/// Why there is no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The text is not JSON.
    #[error("not JSON: {0}")]
    NotJson(#[from] serde_json::Error),
    /// There is no trace of that name, or several and none was named.
    #[error("{wanted}; it has {known}")]
    Unnamed {
        /// The name that was asked for.
        wanted: String,
        /// The names that there are.
        known: String,
    },
    /// A required key is missing.
    #[error("`{0}` is missing")]
    Missing(&'static str),
    /// A key's value makes no sense.
    #[error("`{key}`: {what}")]
    Nonsense {
        /// The key.
        key: &'static str,
        /// What is wrong with it.
        what: &'static str,
    },
    /// The gaps cannot add up to the span.
    #[error("the gaps add up to {sum_seconds:.0} s, the trace is to be {span_seconds:.0} s long")]
    Contradiction {
        /// Their best possible sum, in seconds.
        sum_seconds: f64,
        /// The span that is given, in seconds.
        span_seconds: f64,
    },
    /// Too few records to learn from.
    #[error("{0} records are too few to learn from")]
    TooFew(u64),
}

impl Params {
    /// Parameters with the defaults for everything else.
    pub(super) fn new(name: &str, requests: u64, span_hours: f64) -> Params {
        Params {
            name: name.to_owned(),
            requests,
            span_hours,
            burst_gap_seconds: BURST_GAP_SECONDS,
            points_pct: POINTS_PCT.to_vec(),
            long: Vec::new(),
            short: Vec::new(),
            bursts: Vec::new(),
            burst_mean: 0.0,
            variation: None,
            long_acf: [0.0; 3],
            short_acf: [0.0; 3],
            hourly: Vec::new(),
            read_pct: 50.0,
            write_after: None,
            read_sizes: vec![(4096, 1.0)],
            write_sizes: vec![(4096, 1.0)],
            sequential_pct: 0.0,
            jumps: Vec::new(),
            capacity_gib: 100.0,
        }
    }

    /// The time from the first request to the last, in seconds.
    pub(super) fn span_seconds(&self) -> f64 {
        self.span_hours * 3600.0
    }

    /// The size of the disk, in bytes.
    pub(super) fn capacity(&self) -> u64 {
        (self.capacity_gib * (1u64 << 30) as f64) as u64
    }

    /// A list of quantiles as points: (rank in 0..=1, value).
    pub(super) fn points(&self, list: &[f64]) -> Vec<(f64, f64)> {
        self.points_pct.iter().map(|pct| pct / 100.0).zip(list.iter().copied()).collect()
    }

    /// Sets both lists of gaps, and the mean length of bursts, from quantiles of all gaps, one for each of
    /// `points_pct`, which [`Params::check_ranks`] must have accepted.
    pub(super) fn split_gaps(&mut self, all: &[f64]) {
        let Split { below, above, share_above: share } = split(&self.points(all), self.burst_gap_seconds);
        let count = |share: f64| (self.requests as f64 * share) as u64;
        let again = |points: &[(f64, f64)], share: f64| -> Vec<f64> {
            if points.is_empty() {
                return Vec::new();
            }
            let curve = QuantileCurve::new(points, count(share));
            self.points_pct.iter().map(|pct| curve.at(pct / 100.0)).collect()
        };
        (self.short, self.long) = (again(&below, 1.0 - share), again(&above, share));
        if self.burst_mean == 0.0 && share > 0.0 {
            self.burst_mean = 1.0 / share;
        }
    }

    /// Sets the quantiles of burst lengths if only the mean is known: lengths are geometric, each gap equally likely to
    /// end a burst.
    pub(super) fn fill_bursts(&mut self) {
        if !self.bursts.is_empty() || self.burst_mean <= 1.0 {
            return;
        }
        let ln_goes_on = (1.0 - 1.0 / self.burst_mean).ln();
        let bursts = (self.requests as f64 / self.burst_mean).max(2.0);
        let length = |pct: &f64| (1.0 - pct / 100.0).max(0.5 / bursts).ln() / ln_goes_on;
        self.bursts = self.points_pct.iter().map(|pct| length(pct).ceil().max(1.0)).collect();
    }

    /// Checks the ranks, and the gap that ends a burst; must be called before gaps are split by them.
    ///
    /// # Errors
    /// If they make no sense.
    pub(super) fn check_ranks(&self) -> Result<(), ModelError> {
        let ranks = &self.points_pct;
        if ranks.len() < 2 || ranks[0] != 0.0 || ranks.last() != Some(&100.0) || !ranks.is_sorted_by(|a, b| a < b) {
            return Err(ModelError::Nonsense { key: "quantile_points_pct", what: "must rise from 0 to 100" });
        }
        if ranks.len() > RANKS_MAX {
            return Err(ModelError::Nonsense { key: "quantile_points_pct", what: "are more than 4096" });
        }
        if !(self.burst_gap_seconds > 0.0 && self.burst_gap_seconds < VALUE_MAX) {
            return Err(ModelError::Nonsense { key: "burst_gap_s", what: "must be a length of time" });
        }
        Ok(())
    }

    /// Checks each parameter by itself.
    ///
    /// # Errors
    /// If one makes no sense.
    pub(super) fn check(&self) -> Result<(), ModelError> {
        let nonsense = |key, what| Err(ModelError::Nonsense { key, what });
        if self.requests < 2 {
            return nonsense("n", "at least two requests are needed");
        }
        if !(self.span_hours > 0.0 && self.span_hours < SPAN_HOURS_MAX) {
            return nonsense("span_h", "a length of time is needed");
        }
        self.check_ranks()?;
        let ranks = &self.points_pct;
        let lists = [
            ("gap_gt_0.1s_q", &self.long),
            ("iat_within_burst_s_q", &self.short),
            ("burst_len_q", &self.bursts),
            ("abs_jump_bytes_q", &self.jumps),
        ];
        for (key, list) in lists {
            if !list.is_empty() && list.len() != ranks.len() {
                return nonsense(key, "needs one value for each of quantile_points_pct");
            }
            if !list.is_sorted() || list.iter().any(|value| !(0.0..VALUE_MAX).contains(value)) {
                return nonsense(key, "must rise, and hold no negative number");
            }
        }
        let shares = [self.read_pct / 100.0, self.sequential_pct / 100.0]
            .into_iter()
            .chain(self.write_after.into_iter().flat_map(|(first, second)| [first, second]));
        if shares.into_iter().any(|share| !(0.0..=1.0).contains(&share)) {
            return nonsense("read_pct, p_w_given_*, seq_pct", "must be shares");
        }
        if self.long_acf.iter().chain(&self.short_acf).any(|value| !(-1.0..=1.0).contains(value)) {
            return nonsense("gap_log_acf_lag1_2_5", "must be correlations");
        }
        if self.hourly.iter().any(|count| !(0.0..1e15).contains(count)) {
            return nonsense("hourly_counts", "must be counts");
        }
        let sizes = || self.read_sizes.iter().chain(&self.write_sizes);
        if sizes().any(|&(size, weight)| size == 0 || size > 1 << 40 || !(weight > 0.0 && weight.is_finite())) {
            return nonsense("read_size_pmf, write_size_pmf", "must be sizes in bytes with their shares");
        }
        if !(self.capacity_gib > 0.0 && self.capacity_gib <= CAPACITY_GIB_MAX) {
            return nonsense("max_off_GiB", "must be the size of a disk");
        }
        Ok(())
    }
}
