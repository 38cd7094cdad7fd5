//! Comparison of a result with earlier ones, of the same disk and of others of its model, if they are comparable.

use super::verdict::BenchWarning;
use super::words;
use crate::units::UnixSeconds;

/// A warning is given when the latency is more than this many times that of the past, or of the siblings.
const RATIO_REPORTED: f64 = 1.25;
/// Recent results of the same disk that are compared, at most.
const PAST_MAX: usize = 5;

/// The part of a disk that was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BenchSpan {
    /// All of it.
    Whole,
    /// A partition.
    Part,
    /// A file.
    File,
}

impl BenchSpan {
    const ALL: [BenchSpan; 3] = [BenchSpan::Whole, BenchSpan::Part, BenchSpan::File];

    /// One word, for programs.
    pub const fn word(self) -> &'static str {
        match self {
            BenchSpan::Whole => "whole",
            BenchSpan::Part => "part",
            BenchSpan::File => "file",
        }
    }

    /// The span of such a word.
    pub fn of_word(word: &str) -> Option<BenchSpan> {
        BenchSpan::ALL.into_iter().find(|span| span.word() == word)
    }
}

/// The conditions under which a result was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastSetting {
    /// The program that sent the requests: `own (io_uring)`, `fio-3.33 (io_uring)`.
    pub engine: String,
    /// The size of a random request, in bytes.
    pub request: u64,
    /// The size of the measured range, in bytes.
    pub bytes: u64,
    /// The part of a disk that the range is.
    pub span: BenchSpan,
    /// All depths that were measured.
    pub depths: Vec<u32>,
}

impl PastSetting {
    /// Whether results are comparable. Depths do not matter: the compared results are those of depth 1, which comes first.
    fn is_like(&self, other: &PastSetting) -> bool {
        let is_own = |setting: &PastSetting| setting.engine.starts_with("own");
        let of = |setting: &PastSetting| (is_own(setting), setting.request, setting.bytes, setting.span);
        of(self) == of(other)
    }
}

/// An earlier result: small random reads at depth 1.
#[derive(Clone, Debug, PartialEq)]
pub struct PastBench {
    /// The disk, partition or file.
    pub key: String,
    /// Vendor and model; empty where they are not known.
    pub model: String,
    /// The date of the measurement.
    pub at: UnixSeconds,
    /// Requests per second.
    pub iops: f64,
    /// Mean latency in seconds.
    pub mean: f64,
    /// The conditions of the measurement, where they are recorded.
    pub setting: Option<PastSetting>,
}

/// The comparison of a result with earlier ones.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchComparison {
    /// The earlier results of the same disk: their number, 5 at most, and their median latency in seconds.
    pub past: Option<(usize, f64)>,
    /// The other disks of its model: their number, and the median of their latest latencies in seconds.
    pub siblings: Option<(usize, f64)>,
    /// The number of earlier results, of the same disk or its model, that are not compared, because part, size, request
    /// or engine differ or are not recorded.
    pub unlike: usize,
    /// Warnings for the user.
    pub warnings: Vec<BenchWarning>,
}

/// Compares a result with `earlier` ones, which are in the order of time.
pub fn compare(now: &PastBench, earlier: &[PastBench]) -> BenchComparison {
    let mut comparison = BenchComparison::default();
    let is_like =
        |other: &PastBench| now.setting.as_ref().zip(other.setting.as_ref()).map(|(now, then)| now.is_like(then));
    // An older line of the same disk does not record its conditions, but mostly they were the same.
    let is_past = |other: &&PastBench| other.key == now.key && is_like(other) != Some(false);
    let mut past: Vec<f64> = earlier.iter().rev().filter(is_past).take(PAST_MAX).map(|past| past.mean).collect();
    let mut siblings: Vec<&PastBench> = Vec::new();
    let is_of_model = |other: &&PastBench| !now.model.is_empty() && other.model == now.model && other.key != now.key;
    // Parts and files lie at different places of their disks, so they have no siblings.
    let is_whole = now.setting.as_ref().is_some_and(|setting| setting.span == BenchSpan::Whole);
    let is_sibling = |other: &&PastBench| is_of_model(other) && is_whole && is_like(other) == Some(true);
    for other in earlier.iter().rev().filter(is_sibling) {
        if siblings.iter().all(|known| known.key != other.key) {
            siblings.push(other);
        }
    }
    let is_related = |other: &&PastBench| other.key == now.key || is_of_model(other);
    comparison.unlike =
        earlier.iter().filter(|other| is_related(other) && !is_past(other) && !is_sibling(other)).count();
    let mut siblings: Vec<f64> = siblings.iter().map(|sibling| sibling.mean).collect();
    let mut warn = |code, words| comparison.warnings.push(BenchWarning { code, words });
    let own_latency = words::latency(now.mean);
    if let Some(median) = median(&mut past) {
        comparison.past = Some((past.len(), median));
        if now.mean > RATIO_REPORTED * median {
            let (past_latency, runs) = (words::latency(median), past.len());
            let runs = if runs == 1 { "once".to_owned() } else { format!("{runs} times") };
            warn(
                "slower-than-past",
                format!("it took {past_latency} at depth 1 before (measured {runs}), and takes {own_latency} now"),
            );
        }
    }
    if let Some(median) = median(&mut siblings) {
        comparison.siblings = Some((siblings.len(), median));
        if now.mean > RATIO_REPORTED * median {
            let (sibling_latency, count) = (words::latency(median), siblings.len());
            warn(
                "slower-than-siblings",
                format!(
                    "{count} other whole disks of its model take {sibling_latency} at depth 1, this one {own_latency}"
                ),
            );
        }
    }
    comparison
}

fn median(values: &mut [f64]) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past_setting(span: BenchSpan, request: u64, engine: &str) -> PastSetting {
        PastSetting { engine: engine.to_owned(), request, bytes: 16 << 40, span, depths: vec![1, 2] }
    }

    fn result(key: &str, model: &str, mean: f64) -> PastBench {
        let setting = Some(past_setting(BenchSpan::Whole, 4096, "own (io_uring)"));
        PastBench { key: key.to_owned(), model: model.to_owned(), at: UnixSeconds(1), iops: 1.0 / mean, mean, setting }
    }

    #[test]
    fn only_results_of_like_conditions_are_compared() {
        let mut now = result("a", "ST16", 0.0128);
        let of = |key: &str, mean, setting| PastBench { setting, ..result(key, "ST16", mean) };
        let (own, fio) = ("own (io_uring)", "fio-3.33 (io_uring)");
        let earlier = [
            of("a", 0.0010, Some(past_setting(BenchSpan::Whole, 4096, fio))),
            of("a", 0.0020, Some(past_setting(BenchSpan::Whole, 16_384, own))),
            of("b", 0.0030, Some(past_setting(BenchSpan::Part, 4096, own))),
            of("c", 0.0040, Some(past_setting(BenchSpan::File, 4096, own))),
            of("d", 0.0050, None),
        ];
        assert_eq!(compare(&now, &earlier), BenchComparison { unlike: 5, ..BenchComparison::default() });
        let older = [of("a", 0.0125, None), of("b", 0.0126, Some(past_setting(BenchSpan::Whole, 4096, own)))];
        let like = compare(&now, &older);
        assert_eq!((like.past, like.siblings, like.unlike), (Some((1, 0.0125)), Some((1, 0.0126)), 0));
        // Two partitions of one size, at different places of their disks.
        now.setting = Some(past_setting(BenchSpan::Part, 4096, own));
        let part =
            [of("b", 0.0030, Some(past_setting(BenchSpan::Part, 4096, own))), of("a", 0.0127, now.setting.clone())];
        let parts = compare(&now, &part);
        assert_eq!((parts.past, parts.siblings, parts.unlike), (Some((1, 0.0127)), None, 1));
        assert_eq!(
            ["whole", "part", "file", "?"].map(|word| BenchSpan::of_word(word).map(BenchSpan::word)),
            [Some("whole"), Some("part"), Some("file"), None]
        );
    }

    #[test]
    fn a_disk_is_compared_with_its_past_and_its_siblings() {
        let earlier = [
            result("a", "ST16", 0.0125),
            result("b", "ST16", 0.0300),
            result("b", "ST16", 0.0126),
            result("c", "ST16", 0.0127),
            result("d", "WD80", 0.0500),
            result("a", "ST16", 0.0128),
        ];
        let unchanged = compare(&result("a", "ST16", 0.0129), &earlier);
        assert_eq!(unchanged.warnings, []);
        assert_eq!(unchanged.past.map(|past| past.0), Some(2));
        assert_eq!(unchanged.siblings, Some((2, 0.0127)), "the latest of each");
        let slow = compare(&result("a", "ST16", 0.017), &earlier);
        let codes: Vec<&str> = slow.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["slower-than-past", "slower-than-siblings"]);
        assert_eq!(
            slow.warnings[1].words,
            "2 other whole disks of its model take 12.7 ms at depth 1, this one 17.0 ms"
        );
        assert_eq!(compare(&result("e", "", 0.017), &earlier), BenchComparison::default());
    }

    #[test]
    fn only_the_last_five_results_of_a_disk_are_compared() {
        let earlier: Vec<PastBench> = (1..=20).map(|n| result("a", "", f64::from(n) / 1000.0)).collect();
        assert_eq!(compare(&result("a", "", 0.02), &earlier).past, Some((5, 0.018)));
    }
}
