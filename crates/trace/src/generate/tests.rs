//! Tests of what a generator must reproduce: for each of ten seeds, the figures of a run against those of the original.

use super::*;
use crate::record::RequestKind;
use scrubjay_core::stats::Moments;
use scrubjay_core::units::Nanos;

const SEEDS: std::ops::Range<u64> = 0..10;

/// The figures of a trace that matter to a study of idle time.
#[derive(Clone, Debug)]
struct Figures {
    requests: f64,
    span: f64,
    variation: f64,
    /// The share of idle time in the longest 15 % of the gaps.
    top_share: f64,
    /// Gaps above 0.1, 1 and 10 s.
    longer: [f64; 3],
    /// The mean remaining length of gaps after 0, 0.1, 1 and 10 s, in seconds.
    residual: [f64; 4],
    /// Autocorrelation of the gaps' logarithms at lag 1, of all and of those above 0.1 s.
    acf: [f64; 2],
    read_share: f64,
    mean_length: f64,
    sequential_share: f64,
}

impl Figures {
    fn of(records: &[Record]) -> Figures {
        let gaps: Vec<f64> = records.windows(2).map(|pair| (pair[1].arrival - pair[0].arrival).as_secs_f64()).collect();
        let mut moments = Moments::default();
        gaps.iter().for_each(|&gap| moments.add(gap));
        let mut sorted = gaps.clone();
        sorted.sort_by(|a, b| b.total_cmp(a));
        let top: f64 = sorted[..sorted.len() * 15 / 100].iter().sum();
        let long: Vec<f64> = gaps.iter().copied().filter(|&gap| gap > 0.1).collect();
        let count = |x: f64| gaps.iter().filter(|&&gap| gap > x).count() as f64;
        let share = |is_counted: &dyn Fn(&Record) -> bool| {
            records.iter().filter(|record| is_counted(record)).count() as f64 / records.len() as f64
        };
        let sequential = records.windows(2).filter(|pair| pair[0].offset.0 + pair[0].length.0 == pair[1].offset.0);
        Figures {
            requests: records.len() as f64,
            span: moments.sum,
            variation: moments.variation(),
            top_share: top / moments.sum,
            longer: [0.1, 1.0, 10.0].map(count),
            residual: [0.0, 0.1, 1.0, 10.0]
                .map(|x| gaps.iter().map(|gap| (gap - x).max(0.0)).sum::<f64>() / count(x).max(1.0)),
            acf: [ln_autocorrelation(&gaps), ln_autocorrelation(&long)],
            read_share: share(&|record| record.kind == RequestKind::Read),
            mean_length: records.iter().map(|record| record.length.0 as f64).sum::<f64>() / records.len() as f64,
            sequential_share: sequential.count() as f64 / records.len() as f64,
        }
    }

    /// The acceptance criteria of the generator.
    fn assert_like(&self, original: &Figures, seed: u64) {
        let context = format!("seed {seed}\n{self:?}\n{original:?}");
        let near = |found: f64, wanted: f64, error: f64| (found - wanted).abs() <= error * wanted.abs();
        assert!(near(self.requests, original.requests, 0.05), "requests: {context}");
        assert!(near(self.span, original.span, 0.15), "span: {context}");
        assert!(near(self.variation, original.variation, 0.10), "variation: {context}");
        assert!((self.top_share - original.top_share).abs() <= 0.02, "top share: {context}");
        for (found, wanted) in self.longer.into_iter().zip(original.longer) {
            assert!(near(found, wanted, 0.25), "longer: {context}");
        }
        if original.residual.is_sorted() {
            assert!(self.residual.is_sorted(), "residual: {context}");
        }
        for (found, wanted) in self.acf.into_iter().zip(original.acf) {
            assert!((found - wanted).abs() < 0.2 && (wanted.abs() < 0.1 || found * wanted > 0.0), "acf: {context}");
        }
        assert!((self.read_share - original.read_share).abs() < 0.04, "reads: {context}");
        assert!(near(self.mean_length, original.mean_length, 0.05), "length: {context}");
        assert!((self.sequential_share - original.sequential_share).abs() < 0.02, "sequential: {context}");
    }
}

fn ln_autocorrelation(gaps: &[f64]) -> f64 {
    let logs: Vec<f64> = gaps.iter().map(|gap| gap.max(1e-6).ln()).collect();
    let mean = logs.iter().sum::<f64>() / logs.len() as f64;
    let variance: f64 = logs.iter().map(|ln| (ln - mean).powi(2)).sum();
    logs.windows(2).map(|pair| (pair[0] - mean) * (pair[1] - mean)).sum::<f64>() / variance
}

/// A heavy-tailed trace made independently of the generator: an on-off source, whose pauses are Pareto with an infinite
/// mean, cut at an hour, and last longer after a long one.
fn synthetic(requests: usize) -> Vec<Record> {
    let mut rng = Rng::new(42);
    let (mut now, mut offset, mut pause) = (0.0, 0, 1.0);
    let mut records = Vec::new();
    while records.len() < requests {
        let kind = if rng.uniform() < 0.3 { RequestKind::Read } else { RequestKind::Write };
        let burst = rng.pareto(1.0, 1.3).min(500.0) as usize;
        for _ in 0..burst {
            let length = if rng.uniform() < 0.7 { 4096 } else { 65_536 };
            if rng.uniform() > 0.4 {
                offset = rng.below(1 << 24) * 4096;
            }
            records.push(Record {
                arrival: Nanos::from_secs_f64(now),
                response: None,
                offset: Bytes(offset),
                length: Bytes(length),
                device: DeviceId(0),
                kind,
            });
            offset += length;
            now += rng.exponential(0.004).min(0.09);
        }
        pause = (rng.pareto(0.12, 0.7) * f64::powf(pause, 0.3)).clamp(0.11, 3600.0);
        now += pause;
    }
    records
}

/// Measured on a real trace (HP workstation, 1992), with fewer points.
const FIXTURE: &str = r#"{
  "quantile_points_pct": [0, 1, 10, 30, 50, 70, 90, 95, 98, 99, 99.9, 100],
  "traces": { "workstation": {
    "n": 42252, "span_h": 167.5, "iat_cv": 9.555, "burst_len_mean": 7.071,
    "gap_gt_0.1s_q": [0.10006, 0.1015, 0.11992, 0.19149, 1.603, 17.546, 59.925, 714.85, 1741.3, 1759.9, 1769.9, 1769.9],
    "iat_within_burst_s_q": [7.1e-05, 0.00013, 0.000176, 0.0016188, 0.020247, 0.030018, 0.047417, 0.060737, 0.080884,
      0.09086, 0.099098, 0.099969],
    "burst_len_q": [1, 1, 1, 2, 3, 6, 18, 25, 38, 53.26, 121.16, 271],
    "gap_log_acf_lag1_2_5": [0.661, 0.609, 0.291],
    "read_pct": 25.77, "p_w_given_w": 0.9237, "p_w_given_r": 0.22, "seq_pct": 1.328,
    "read_size_pmf": {"8192": 0.4161, "2048": 0.3073, "1024": 0.114, "4096": 0.1626},
    "write_size_pmf": {"8192": 0.7094, "2048": 0.1514, "1024": 0.1392},
    "abs_jump_bytes_q": [0, 0, 8192, 124930, 7413800, 58704000, 160610000, 194790000, 233230000, 257720000, 286470000,
      327330000],
    "max_off_GiB": 0.3119
} } }"#;

fn run(model: &Model, hours: f64, seed: u64) -> Vec<Record> {
    Generator::new(model, hours, seed).collect()
}

#[test]
fn a_learnt_model_makes_traces_like_the_original() {
    let original = synthetic(40_000);
    let model = Model::fit("synthetic", &original).expect("enough records");
    let figures = Figures::of(&original);
    assert!(figures.variation > 5.0 && figures.residual.is_sorted(), "the tail is heavy: {figures:?}");
    SEEDS.for_each(|seed| Figures::of(&run(&model, model.hours(), seed)).assert_like(&figures, seed));
}

#[test]
fn measured_parameters_make_traces_like_the_original() {
    let model = Model::from_json(FIXTURE, Some("workstation")).expect("a good fixture");
    // The figures of the trace from which the numbers were measured; its residual life is that given by the research.
    let original = Figures {
        requests: 42_252.0,
        span: 167.5 * 3600.0,
        variation: 9.555,
        top_share: 0.9994,
        longer: [5974.0, 3118.0, 2148.0],
        residual: [23.63, 122.3, 191.8, 268.0],
        acf: [0.40, 0.661],
        read_share: 0.2577,
        mean_length: 5885.0,
        sequential_share: 0.013,
    };
    for seed in SEEDS {
        let figures = Figures::of(&run(&model, model.hours(), seed));
        // The autocorrelation of all gaps is mostly that within bursts, which the fixture does not have.
        let original = Figures { acf: [figures.acf[0], original.acf[1]], ..original.clone() };
        let original = Figures { longer: [original.longer[0], 3100.0, 2148.0], ..original };
        figures.assert_like(&original, seed);
    }
}

#[test]
fn a_model_kept_as_text_makes_the_same_trace() {
    let model = Model::fit("synthetic", &synthetic(5000)).expect("enough records");
    let again = Model::from_json(&model.to_json(), None).expect("it was just written");
    assert_eq!(again, model);
    assert_eq!(run(&again, 1.0, 7), run(&model, 1.0, 7));
    assert_ne!(run(&model, 1.0, 8), run(&model, 1.0, 7));
}

#[test]
fn a_stretch_has_the_rate_of_the_original() {
    let model = Model::from_json(FIXTURE, None).expect("a good fixture");
    let hours = 8.0;
    let runs: Vec<_> = (0..100).map(|seed| run(&model, hours, seed)).collect();
    let count: usize = runs.iter().map(Vec::len).sum();
    let rate = count as f64 / (100.0 * hours * 3600.0);
    assert!((rate / model.rate() - 1.0).abs() < 0.15, "{rate}");
    let end = Nanos::from_secs_f64(hours * 3600.0);
    assert!(runs.iter().flatten().all(|record| record.arrival <= end));
    assert!(runs.iter().all(|run| run.is_sorted_by_key(|record| record.arrival)));
}

#[test]
fn a_longer_run_repeats_the_original() {
    let model = Model::from_json(FIXTURE, None).expect("a good fixture");
    let figures = Figures::of(&run(&model, 2.0 * model.hours(), 1));
    assert!((figures.span / 3600.0 / model.hours() - 2.0).abs() < 0.1, "{figures:?}");
    assert!((figures.variation / 9.555 - 1.0).abs() < 0.1, "{figures:?}");
}

#[test]
fn busy_hours_stay_busy() {
    let mut original = Vec::new();
    let mut rng = Rng::new(5);
    let mut now = 0.0;
    while now < 4.0 * 86_400.0 {
        let is_day = (now / 3600.0) as u64 % 24 >= 12;
        now += rng.exponential(if is_day { 2.0 } else { 200.0 }).min(3000.0);
        original.push(Record { arrival: Nanos::from_secs_f64(now), ..synthetic(1)[0] });
    }
    let model = Model::fit("day and night", &original).expect("enough records");
    let day_share = |records: &[Record]| {
        let days = records.iter().filter(|record| record.arrival.0 / Nanos::from_secs(3600).0 % 24 >= 12).count();
        days as f64 / records.len() as f64
    };
    for seed in SEEDS {
        let share = day_share(&run(&model, model.hours(), seed));
        assert!(share > 0.85, "{share} of {}", day_share(&original));
    }
}

#[test]
fn built_in_models_have_the_published_figures() {
    for (name, rate, read_share) in [("mid-read", 18.36, 0.693), ("mid-write", 19.15, 0.047), ("memoryless", 20.0, 0.5)]
    {
        let model = builtin(name).expect("a built-in model");
        assert!((model.rate() / rate - 1.0).abs() < 0.01, "{name}: {}", model.rate());
        let runs = (0..4).map(|seed| Figures::of(&run(&model, 4.0, seed)));
        let figures: Vec<_> = runs.collect();
        let mean = |of: &dyn Fn(&Figures) -> f64| figures.iter().map(of).sum::<f64>() / 4.0;
        assert!((mean(&|figures| figures.requests) / (4.0 * 3600.0 * rate) - 1.0).abs() < 0.2, "{name}");
        assert!((mean(&|figures| figures.read_share) - read_share).abs() < 0.01, "{name}");
        let residual = [0, 1, 2].map(|x| mean(&|figures| figures.residual[x]));
        if name == "memoryless" {
            // After a wait of 0.1 s the remaining time is the same.
            assert!((residual[1] / residual[0] - 1.0).abs() < 0.05, "{residual:?}");
            assert!((mean(&|figures| figures.variation) - 1.0).abs() < 0.03);
        } else {
            assert!(residual.is_sorted() && residual[2] > 5.0 * residual[0], "{name} {residual:?}");
            assert!(mean(&|figures| figures.variation) > 3.0, "{name}");
        }
    }
    assert_eq!(BUILTINS.len(), 3);
    assert!(builtin("quantum").is_none());
}

#[test]
fn traces_with_only_one_kind_of_gap_are_learnt_too() {
    for (mean, long) in [(0.001, false), (30.0, true)] {
        let mut rng = Rng::new(9);
        let mut now = 0.0;
        let records: Vec<_> = (0..2000)
            .map(|_| {
                now += if long { 0.2 + rng.exponential(mean) } else { rng.exponential(mean).min(0.09) };
                Record { arrival: Nanos::from_secs_f64(now), ..synthetic(1)[0] }
            })
            .collect();
        let model = Model::fit("one kind", &records).expect("enough records");
        let (found, wanted) = (Figures::of(&run(&model, model.hours(), 1)), Figures::of(&records));
        assert!((found.requests / wanted.requests - 1.0).abs() < 0.1, "{found:?} {wanted:?}");
        assert!((found.span / wanted.span - 1.0).abs() < 0.05, "{found:?} {wanted:?}");
    }
    assert!(matches!(Model::fit("nothing", &[]), Err(ModelError::TooFew(0))));
    let at_once = vec![synthetic(1)[0]; 200];
    assert!(matches!(Model::fit("at once", &at_once), Err(ModelError::Nonsense { key: "span_h", .. })));
}
