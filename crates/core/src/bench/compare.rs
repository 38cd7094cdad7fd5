//! A result beside earlier ones: of the same disk, and of others of its model.

use super::verdict::BenchWarning;
use super::words;
use crate::units::UnixSeconds;

/// A disk that takes so many times as long as it did, or as its siblings do, is told of.
const RATIO_TOLD: f64 = 1.25;
/// So many of the last results of a disk are its past.
const PAST_MAX: usize = 5;

/// A result of some day: small random reads at depth 1.
#[derive(Clone, Debug, PartialEq)]
pub struct PastBench {
    /// Which disk, partition or file.
    pub key: String,
    /// Vendor and model; empty where they are not known.
    pub model: String,
    /// When.
    pub at: UnixSeconds,
    /// Requests a second.
    pub iops: f64,
    /// Mean latency in seconds.
    pub mean: f64,
}

/// What earlier results say of this one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct BenchComparison {
    /// How many earlier results of the same disk there are, five at most, and their median latency in seconds.
    pub past: Option<(usize, f64)>,
    /// How many others of its model were measured, and the median of their latest latencies.
    pub siblings: Option<(usize, f64)>,
    /// What to know.
    pub warnings: Vec<BenchWarning>,
}

/// Compares; `earlier` is in the order of time.
pub fn compare(now: &PastBench, earlier: &[PastBench]) -> BenchComparison {
    let mut comparison = BenchComparison::default();
    let mut past: Vec<f64> =
        earlier.iter().rev().filter(|past| past.key == now.key).take(PAST_MAX).map(|past| past.mean).collect();
    let mut siblings: Vec<&PastBench> = Vec::new();
    let is_sibling = |other: &&PastBench| !now.model.is_empty() && other.model == now.model && other.key != now.key;
    for other in earlier.iter().rev().filter(is_sibling) {
        if siblings.iter().all(|known| known.key != other.key) {
            siblings.push(other);
        }
    }
    let mut siblings: Vec<f64> = siblings.iter().map(|sibling| sibling.mean).collect();
    let mut warn = |code, words| comparison.warnings.push(BenchWarning { code, words });
    let mine = words::latency(now.mean);
    if let Some(median) = median(&mut past) {
        comparison.past = Some((past.len(), median));
        if now.mean > RATIO_TOLD * median {
            let (then, runs) = (words::latency(median), past.len());
            let runs = if runs == 1 { "once".to_owned() } else { format!("{runs} times") };
            warn(
                "slower-than-past",
                format!("it took {then} at depth 1 before (measured {runs}), and takes {mine} now"),
            );
        }
    }
    if let Some(median) = median(&mut siblings) {
        comparison.siblings = Some((siblings.len(), median));
        if now.mean > RATIO_TOLD * median {
            let (theirs, count) = (words::latency(median), siblings.len());
            warn(
                "slower-than-siblings",
                format!("{count} others of its model take {theirs} at depth 1, this one {mine}"),
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

    fn result(key: &str, model: &str, mean: f64) -> PastBench {
        PastBench { key: key.to_owned(), model: model.to_owned(), at: UnixSeconds(1), iops: 1.0 / mean, mean }
    }

    #[test]
    fn a_disk_is_held_against_its_past_and_its_siblings() {
        let earlier = [
            result("a", "ST16", 0.0125),
            result("b", "ST16", 0.0300),
            result("b", "ST16", 0.0126),
            result("c", "ST16", 0.0127),
            result("d", "WD80", 0.0500),
            result("a", "ST16", 0.0128),
        ];
        let same = compare(&result("a", "ST16", 0.0129), &earlier);
        assert_eq!(same.warnings, []);
        assert_eq!(same.past.map(|past| past.0), Some(2));
        assert_eq!(same.siblings, Some((2, 0.0127)), "the latest of each");
        let slow = compare(&result("a", "ST16", 0.017), &earlier);
        let codes: Vec<&str> = slow.warnings.iter().map(|warning| warning.code).collect();
        assert_eq!(codes, ["slower-than-past", "slower-than-siblings"]);
        assert_eq!(slow.warnings[1].words, "2 others of its model take 12.7 ms at depth 1, this one 17.0 ms");
        assert_eq!(compare(&result("e", "", 0.017), &earlier), BenchComparison::default());
    }

    #[test]
    fn only_the_last_results_are_the_past() {
        let earlier: Vec<PastBench> = (1..=20).map(|n| result("a", "", f64::from(n) / 1000.0)).collect();
        assert_eq!(compare(&result("a", "", 0.02), &earlier).past, Some((5, 0.018)));
    }
}
