//! A model: a trace's numbers, and the curves that were calibrated so that what is generated has them.

use super::curve::QuantileCurve;
use super::params::{ModelError, Params};
use super::profile::Profile;

/// The gaps may miss the span by this share of it.
const SPAN_ERROR_MAX: f64 = 0.1;

/// What is needed to generate a trace like another one.
///
/// Made by [`Model::from_json`], [`DiskFit`](super::DiskFit) or [`builtin`](super::builtin).
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    pub(super) params: Params,
    pub(super) counts: RecordCounts,
    pub(super) curves: Curves,
    /// Hours, where there are gaps between bursts.
    pub(super) profile: Option<Profile>,
}

/// How many there are of each in a run of the original's length.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RecordCounts {
    pub(super) bursts: u64,
    /// Gaps between bursts.
    pub(super) long: u64,
    /// Gaps within bursts.
    pub(super) short: u64,
}

/// Distributions; of what there is none, none.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curves {
    pub(super) long: Option<QuantileCurve>,
    pub(super) short: Option<QuantileCurve>,
    pub(super) bursts: Option<QuantileCurve>,
    pub(super) jumps: Option<QuantileCurve>,
}

impl Model {
    /// The name of what it is modelled on.
    pub fn name(&self) -> &str {
        &self.params.name
    }

    /// How long the original is, in hours.
    pub fn hours(&self) -> f64 {
        self.params.span_hours
    }

    /// How many requests the original has.
    pub fn requests(&self) -> u64 {
        self.params.requests
    }

    /// Requests a second, over all.
    pub fn rate(&self) -> f64 {
        self.params.requests as f64 / self.params.span_seconds()
    }

    /// Calibrates.
    ///
    /// # Errors
    /// When the numbers make no sense, by themselves or together.
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

/// Its mean is taken as it comes out of the quantiles; when there are no other gaps, it must make up the span.
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

/// Makes up what the short gaps leave of the span, and of the squares that the coefficient of variation asks for.
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
