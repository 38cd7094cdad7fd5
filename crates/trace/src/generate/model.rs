//! A model: a trace's numbers, and curves that were calibrated so that generated traces have these numbers.

use super::curve::QuantileCurve;
use super::params::{ModelError, Params};
use super::profile::Profile;

/// The largest error of the sum of the gaps, as a share of the span.
const SPAN_ERROR_MAX: f64 = 0.1;

/// All data needed to generate a trace like another one.
///
/// Made by [`Model::from_json`], [`DiskFit`](super::DiskFit) or [`builtin`](super::builtin).
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) params: Params,
    pub(super) counts: RecordCounts,
    pub(super) curves: Curves,
    /// The hours; `None`: there are no gaps between bursts.
    pub(super) profile: Option<Profile>,
}

/// The numbers of bursts and gaps in a run of the original's length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RecordCounts {
    pub(super) bursts: u64,
    /// Gaps between bursts.
    pub(super) long: u64,
    /// Gaps within bursts.
    pub(super) short: u64,
}

/// The distributions; `None` for things that do not occur.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curves {
    pub(super) long: Option<QuantileCurve>,
    pub(super) short: Option<QuantileCurve>,
    pub(super) bursts: Option<QuantileCurve>,
    pub(super) jumps: Option<QuantileCurve>,
}

impl Model {
    /// The name of the trace that was modelled.
    pub fn name(&self) -> &str {
        &self.params.name
    }

    /// The duration of the original, in hours.
    pub fn hours(&self) -> f64 {
        self.params.span_hours
    }

    /// The number of requests in the original.
    pub fn requests(&self) -> u64 {
        self.params.requests
    }

    /// The mean number of requests per second.
    pub fn rate(&self) -> f64 {
        self.params.requests as f64 / self.params.span_seconds()
    }

    /// Calibrates a model.
    ///
    /// # Errors
    /// If the numbers make no sense, by themselves or together.
    pub(super) fn new(params: Params) -> Result<Model, ModelError> {
        params.check()?;
        let counts = RecordCounts::of(&params)?;
        let short = short_curve(&params, counts)?;
        let long = match &short {
            Some(short) => long_curve(&params, counts, short.sums(counts.short).sum, short.sums(counts.short).squares),
            None => long_curve(&params, counts, 0.0, 0.0),
        };
        let sum = |curve: &Option<QuantileCurve>, count| curve.as_ref().map_or(0.0, |curve| curve.sums(count).sum);
        let sum_seconds = sum(&long, counts.long) + sum(&short, counts.short);
        let span_seconds = params.span_seconds();
        if (sum_seconds - span_seconds).abs() > SPAN_ERROR_MAX * span_seconds {
            return Err(ModelError::Contradiction { sum_seconds, span_seconds });
        }
        let at_least = |list: &[f64], floor: f64| -> Vec<(f64, f64)> {
            params.points(list).into_iter().map(|(rank, value)| (rank, value.max(floor))).collect()
        };
        let bursts = (counts.long > 0 && !params.bursts.is_empty()).then(|| {
            QuantileCurve::calibrated(&at_least(&params.bursts, 1.0), counts.bursts, params.requests as f64, None)
        });
        let jumps =
            (!params.jumps.is_empty()).then(|| QuantileCurve::new(&at_least(&params.jumps, 1.0), params.requests));
        let gaps_an_hour = counts.long as f64 / params.span_hours;
        let profile = long.as_ref().map(|long| Profile::new(&params.hourly, long, gaps_an_hour));
        Ok(Model { params, counts, curves: Curves { long, short, bursts, jumps }, profile })
    }
}

impl RecordCounts {
    fn of(params: &Params) -> Result<RecordCounts, ModelError> {
        let nonsense = |what| Err(ModelError::Nonsense { key: "burst_len_mean", what });
        if params.long.is_empty() {
            return Ok(RecordCounts { bursts: 1, long: 0, short: params.requests - 1 });
        }
        if !(params.burst_mean >= 1.0 && params.burst_mean <= params.requests as f64) {
            return nonsense("must be from 1 to the number of requests");
        }
        let bursts = ((params.requests as f64 / params.burst_mean).round() as u64).clamp(1, params.requests);
        Ok(RecordCounts { bursts, long: bursts - 1, short: params.requests - bursts })
    }
}

/// The curve of gaps within bursts. Its mean results from the quantiles, unless there are no other gaps: then it is
/// calibrated to the span.
fn short_curve(params: &Params, counts: RecordCounts) -> Result<Option<QuantileCurve>, ModelError> {
    if counts.short == 0 {
        return Ok(None);
    }
    if params.short.is_empty() {
        return Err(ModelError::Missing("iat_within_burst_s_q"));
    }
    let points = params.points(&params.short);
    Ok(Some(if counts.long == 0 {
        QuantileCurve::calibrated(&points, counts.short, params.span_seconds(), None)
    } else {
        QuantileCurve::new(&points, counts.short)
    }))
}

/// The curve of gaps between bursts, calibrated to what the short gaps leave of the span, and of the squares that the
/// coefficient of variation requires.
fn long_curve(params: &Params, counts: RecordCounts, short_sum: f64, short_squares: f64) -> Option<QuantileCurve> {
    if counts.long == 0 {
        return None;
    }
    let gaps = (params.requests - 1) as f64;
    let mean = params.span_seconds() / gaps;
    let squares = params.variation.map(|cv| gaps * mean * mean * (1.0 + cv * cv) - short_squares);
    Some(QuantileCurve::calibrated(
        &params.points(&params.long),
        counts.long,
        params.span_seconds() - short_sum,
        squares,
    ))
}
