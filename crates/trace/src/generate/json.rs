//! Models as JSON, both from measured parameters and as learnt from a trace.
//!
//! ```text
//! { "quantile_points_pct": [0, ..., 100],   the ranks of all lists `*_q`, ascending
//!   "burst_gap_s": 0.1,                     optional: gaps up to this end no burst
//!   "traces": { "name": { ... } } }         one or more
//! ```
//!
//! The keys of one trace (others are ignored; null counts as missing):
//!
//! | key | what | if it is missing |
//! |---|---|---|
//! | `n`, `span_h` | requests, and hours from the first to the last | needed |
//! | `gap_gt_0.1s_q` | quantiles of the gaps above `burst_gap_s`, in seconds | from `iat_s_q` |
//! | `iat_within_burst_s_q` | quantiles of the other gaps, in seconds | from `iat_s_q` |
//! | `iat_s_q` | quantiles of all gaps, in seconds | not needed with the two above |
//! | `iat_cv` | coefficient of variation of all gaps | that of the quantiles |
//! | `burst_len_mean` | mean number of requests in a burst | from `iat_s_q` |
//! | `burst_len_q` | quantiles of it | geometric |
//! | `gap_log_acf_lag1_2_5` | autocorrelation of the logarithm of the gaps above `burst_gap_s` | none |
//! | `iat_within_burst_log_acf_lag1_2_5` | autocorrelation of the logarithm of the other gaps | none |
//! | `hourly_counts` | requests in each hour since the beginning | all hours alike |
//! | `read_pct` | reads in a hundred requests | 50 |
//! | `p_w_given_w`, `p_w_given_r` | probability of a write after a write, after a read | independent |
//! | `read_size_pmf`, `write_size_pmf` | shares by size in bytes | all 4096 |
//! | `seq_pct` | requests in a hundred that begin where the one before ended | 0 |
//! | `abs_jump_bytes_q` | quantiles of the distance from where the one before began, in bytes | anywhere |
//! | `max_off_GiB` | where the disk ends, in 2^30 bytes | 100 |

use super::model::Model;
use super::params::{BURST_GAP_SECONDS, ModelError, POINTS_PCT, Params};
use serde_json::{Map, Value, json};

impl Model {
    /// Reads the model with this name, or the only one if no name is given. The head of the file `generate/json.rs`
    /// lists the keys.
    ///
    /// # Errors
    /// If it is not JSON, has no such model, or the model makes no sense.
    pub fn from_json(text: &str, name: Option<&str>) -> Result<Model, ModelError> {
        let file: Value = serde_json::from_str(text)?;
        let traces = file["traces"].as_object().ok_or(ModelError::Missing("traces"))?;
        let (name, trace) = named(traces, name)?;
        Model::new(params(&file, name, &JsonFields(trace))?)
    }

    /// Writes the model so that [`Model::from_json`] reads the same.
    pub fn to_json(&self) -> String {
        let params = &self.params;
        let sizes = |sizes: &[(u64, f64)]| -> Map<String, Value> {
            sizes.iter().map(|(size, share)| (size.to_string(), json!(share))).collect()
        };
        let (after_write, after_read) = params.write_after.unzip();
        let trace = json!({
            "n": params.requests,
            "span_h": params.span_hours,
            "gap_gt_0.1s_q": params.long,
            "iat_within_burst_s_q": params.short,
            "iat_cv": params.variation,
            "burst_len_mean": params.burst_mean,
            "burst_len_q": params.bursts,
            "gap_log_acf_lag1_2_5": params.long_acf,
            "iat_within_burst_log_acf_lag1_2_5": params.short_acf,
            "hourly_counts": params.hourly,
            "read_pct": params.read_pct,
            "p_w_given_w": after_write,
            "p_w_given_r": after_read,
            "read_size_pmf": sizes(&params.read_sizes),
            "write_size_pmf": sizes(&params.write_sizes),
            "seq_pct": params.sequential_pct,
            "abs_jump_bytes_q": params.jumps,
            "max_off_GiB": params.capacity_gib,
        });
        let name = params.name.as_str();
        let file = json!({
            "quantile_points_pct": params.points_pct,
            "burst_gap_s": params.burst_gap_seconds,
            "traces": { name: trace },
        });
        format!("{file:#}\n")
    }
}

/// The trace with this name, or the only one.
fn named<'a>(traces: &'a Map<String, Value>, name: Option<&'a str>) -> Result<(&'a str, &'a Value), ModelError> {
    let found = match name {
        Some(name) => traces.get(name).map(|trace| (name, trace)),
        None if traces.len() == 1 => traces.iter().next().map(|(name, trace)| (name.as_str(), trace)),
        None => None,
    };
    found.ok_or_else(|| ModelError::Unnamed {
        wanted: name.map_or_else(|| "one of several must be named".to_owned(), |name| format!("no `{name}`")),
        known: traces.keys().cloned().collect::<Vec<_>>().join(", "),
    })
}

fn params(file: &Value, name: &str, fields: &JsonFields<'_>) -> Result<Params, ModelError> {
    let top = JsonFields(file);
    let requests = fields.number("n")?.ok_or(ModelError::Missing("n"))?;
    let mut params = Params::new(name, requests as u64, fields.number("span_h")?.ok_or(ModelError::Missing("span_h"))?);
    let ranks = top.numbers("quantile_points_pct")?;
    params.points_pct = if ranks.is_empty() { POINTS_PCT.to_vec() } else { ranks };
    params.burst_gap_seconds = top.number("burst_gap_s")?.unwrap_or(BURST_GAP_SECONDS);
    params.variation = fields.number("iat_cv")?;
    params.long = fields.numbers("gap_gt_0.1s_q")?;
    params.short = fields.numbers("iat_within_burst_s_q")?;
    params.bursts = fields.numbers("burst_len_q")?;
    params.burst_mean = fields.number("burst_len_mean")?.unwrap_or(0.0);
    params.long_acf = fields.lags("gap_log_acf_lag1_2_5")?;
    params.short_acf = fields.lags("iat_within_burst_log_acf_lag1_2_5")?;
    params.hourly = fields.numbers("hourly_counts")?;
    params.read_pct = fields.number("read_pct")?.unwrap_or(params.read_pct);
    params.read_sizes = fields.sizes("read_size_pmf")?.unwrap_or(params.read_sizes);
    params.write_sizes = fields.sizes("write_size_pmf")?.unwrap_or(params.write_sizes);
    params.sequential_pct = fields.number("seq_pct")?.unwrap_or(0.0);
    params.jumps = fields.numbers("abs_jump_bytes_q")?;
    params.capacity_gib = fields.number("max_off_GiB")?.unwrap_or(params.capacity_gib);
    // In a trace without reads the probability after a read is unknown: use that of a write in general.
    let writes = 1.0 - params.read_pct / 100.0;
    let (after_write, after_read) = (fields.number("p_w_given_w")?, fields.number("p_w_given_r")?);
    if after_write.or(after_read).is_some() {
        params.write_after = Some((after_write.unwrap_or(writes), after_read.unwrap_or(writes)));
    }
    let all = fields.numbers("iat_s_q")?;
    if params.long.is_empty() && params.short.is_empty() && !all.is_empty() {
        if all.len() != params.points_pct.len() || !all.is_sorted() || all[0] < 0.0 {
            let what = "needs one value for each of quantile_points_pct, rising, none negative";
            return Err(ModelError::Nonsense { key: "iat_s_q", what });
        }
        params.check_ranks()?;
        params.split_gaps(&all);
    }
    params.fill_bursts();
    Ok(params)
}

/// The values of an object; null counts as missing.
struct JsonFields<'a>(&'a Value);

impl JsonFields<'_> {
    fn number(&self, key: &'static str) -> Result<Option<f64>, ModelError> {
        match &self.0[key] {
            Value::Null => Ok(None),
            value => value.as_f64().map(Some).ok_or(ModelError::Nonsense { key, what: "must be a number" }),
        }
    }

    /// A list of numbers; empty if it is missing.
    fn numbers(&self, key: &'static str) -> Result<Vec<f64>, ModelError> {
        let nonsense = || ModelError::Nonsense { key, what: "must be a list of numbers" };
        match &self.0[key] {
            Value::Null => Ok(Vec::new()),
            value => {
                let list = value.as_array().ok_or_else(nonsense)?;
                list.iter().map(|value| value.as_f64().ok_or_else(nonsense)).collect()
            }
        }
    }

    /// The values at three lags; zeros if they are missing.
    fn lags(&self, key: &'static str) -> Result<[f64; 3], ModelError> {
        let list = self.numbers(key)?;
        if list.is_empty() {
            return Ok([0.0; 3]);
        }
        list.try_into().map_err(|_| ModelError::Nonsense { key, what: "must have lags 1, 2 and 5" })
    }

    /// The shares by size, the most frequent first. An empty object counts as missing.
    fn sizes(&self, key: &'static str) -> Result<Option<Vec<(u64, f64)>>, ModelError> {
        let nonsense = || ModelError::Nonsense { key, what: "must be shares by size in bytes" };
        let object = match &self.0[key] {
            Value::Null => return Ok(None),
            value => value.as_object().ok_or_else(nonsense)?,
        };
        let pair = |(size, share): (&String, &Value)| Some((size.parse().ok()?, share.as_f64()?));
        let mut sizes = object.iter().map(pair).collect::<Option<Vec<(u64, f64)>>>().ok_or_else(nonsense)?;
        sizes.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        Ok(Some(sizes).filter(|sizes| !sizes.is_empty()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All required keys, written by hand.
    const SMALL: &str = r#"{ "quantile_points_pct": [0, 50, 90, 99, 100], "traces": { "small": {
        "n": 1000, "span_h": 0.5, "iat_s_q": [0.001, 0.01, 0.5, 30, 200] } } }"#;

    #[test]
    fn missing_keys_have_defaults_or_are_errors() {
        let model = Model::from_json(SMALL, None).expect("enough");
        assert_eq!((model.name(), model.requests(), model.hours()), ("small", 1000, 0.5));
        let cases = [
            ("{", None, "not JSON"),
            ("{}", None, "`traces` is missing"),
            (SMALL, Some("large"), "no `large`; it has small"),
            (r#"{"traces": {"a": {}, "b": {}}}"#, None, "one of several must be named; it has a, b"),
            (r#"{"traces": {"a": {"n": 100}}}"#, None, "`span_h` is missing"),
            (r#"{"traces": {"a": {"n": 100, "span_h": 1}}}"#, None, "`iat_within_burst_s_q` is missing"),
            (r#"{"traces": {"a": {"n": "100", "span_h": 1}}}"#, None, "`n`: must be a number"),
        ];
        for (text, name, message) in cases {
            let error = Model::from_json(text, name).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
        for (from, to, message) in [
            ("0.5,", "500,", "the gaps add up to"),
            ("0.01,", "0.8,", "`iat_s_q`: needs one value"),
            ("[0, 50", "[1, 50", "must rise from 0 to 100"),
            ("1000,", "1,", "at least two requests"),
            ("{ \"q", "{ \"burst_gap_s\": 0, \"q", "`burst_gap_s`: must be a length of time"),
        ] {
            let error = Model::from_json(&SMALL.replacen(from, to, 1), None).expect_err(message).to_string();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn too_many_ranks_are_refused() {
        let list = |of: fn(usize) -> f64| (0..=20_000).map(of).collect::<Vec<f64>>();
        let (ranks, gaps) = (list(|rank| rank as f64 / 200.0), list(|rank| rank as f64 / 1e7));
        let trace = json!({ "n": 1000, "span_h": 1, "iat_s_q": gaps });
        let file = json!({ "quantile_points_pct": ranks, "traces": { "fine": trace } });
        let error = Model::from_json(&file.to_string(), None).expect_err("too many").to_string();
        assert_eq!(error, "`quantile_points_pct`: are more than 4096");
    }

    #[test]
    fn a_written_model_is_read_back_unchanged() {
        let model = Model::from_json(SMALL, None).expect("enough");
        let again = Model::from_json(&model.to_json(), Some("small")).expect("it was just written");
        assert_eq!(again, model);
    }
}
