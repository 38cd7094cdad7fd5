//! How many disks hold each chunk and share its reads: a burst on one chunk's disks against single reads.

use super::thresholds::{COPIES_MAX, ORDER_GAIN, SPREAD_MIN};
use crate::probe::known::Claim;

/// Judged from the time of single reads and the pace of a burst at one class, in nanoseconds; nothing when there seem to be
/// more than [`COPIES_MAX`]. Only copies that share the reads can be seen (Denehy et al. 2004, section 2.1).
pub fn judge(response: f64, pace: f64) -> Option<Claim<usize>> {
    let times = response / pace / ORDER_GAIN;
    let copies = (times.round() as usize).max(1);
    if copies > COPIES_MAX {
        return None;
    }
    // The distance to the nearest border between two numbers, in spreads of the two medians.
    let border = |low: usize| (times / (low as f64 + 0.5)).ln().abs();
    let distance = if copies == 1 { border(1) } else { border(copies).min(border(copies - 1)) };
    let odds = (distance / SPREAD_MIN).powi(2) / 2.0;
    Some(Claim::new(copies, super::evidence::probability(odds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bursts_in_turn_and_by_elevators_are_told_from_copies() {
        // Single reads of 9.5 ms; paces measured in models of disks.
        for (pace, copies) in [(9.5, 1), (7.3, 1), (4.75, 2), (3.7, 2), (3.1, 3)] {
            let claim = judge(9.5e6, pace * 1e6).expect("few enough");
            assert_eq!(claim.value, copies, "{pace}");
            assert!(claim.confidence > 0.5);
        }
        assert_eq!(judge(9.5e6, 1e6), None);
    }
}
