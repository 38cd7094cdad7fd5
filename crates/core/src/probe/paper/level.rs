//! The level: which known layouts have these times and this ratio (Denehy et al. 2004, sections 2.3.4, 3.1, 3.2 and 5.1).
//!
//! Reads distinguish layouts by their classes, and chained declustering by a third time between "same disk" and "other
//! disks": neighbours share one of their copies. Where reads leave several layouts, the cost of writes decides: 1
//! without redundancy; the number of copies in a mirror; with parities, two I/Os for each chunk that is read and
//! written again, or, where parities are recomputed from the whole stripe (Linux 2.4), the number of disks.

use super::layout::Matrix;
use crate::layout::LayoutKind;
use crate::probe::known::{Claim, RedundancyLevel};
use crate::probe::library::{self, LayoutFit};

/// The greatest difference between times or ratios that agree, in logarithms: about 20 %, the effect of an elevator and
/// of seeks of different lengths.
const TOLERANCE: f64 = 0.25;

/// The spread of ratios around the expected ones, in logarithms: the root mean square over the arrays of figure 14 as
/// they are modelled, behind an elevator or not, is 9 %.
pub const LOG_SPREAD: f64 = 0.09;

/// The prior probability that parities are recomputed from the whole stripe, whatever that costs: a choice, one in
/// twenty. Linux 2.4 did so (section 4), and its RAID-6 for years after; controllers and later kernels read the old
/// data and parities wherever that is less work, which it is on all but the smallest arrays.
const RECONSTRUCT_PRIOR: f64 = 0.05;

/// A layout is left out if its mean square error exceeds that of the best one by more than this factor: noise alone
/// makes less of one and the same prediction.
const ERROR_RATIO_MAX: f64 = 2.0;

/// The known layouts that have exactly these classes, and these times of pairs. Of two candidates, one whose mean square
/// error is more than twice the other's is left out: a few neighbours among many pairs reveal chained declustering.
pub fn fits(matrix: &Matrix, classes: &[usize]) -> Vec<LayoutFit> {
    let times = times(matrix, classes);
    let found = library::fits(classes, None).into_iter().filter(|fit| has_times(fit, &times));
    let errors: Vec<(LayoutFit, f64)> = found.map(|fit| (fit, mean_square_error(&fit, &times))).collect();
    let least = errors.iter().map(|&(_, error)| error).fold(f64::INFINITY, f64::min);
    errors.into_iter().filter(|&(_, error)| error <= ERROR_RATIO_MAX * least).map(|(fit, _)| fit).collect()
}

/// The conclusion from the cost of writes.
#[derive(Clone, Debug, PartialEq)]
pub struct LevelEvidence {
    /// The redundancy.
    pub level: Claim<RedundancyLevel>,
    /// The number of disks that hold each chunk.
    pub copies: Claim<usize>,
    /// The number of disks of the array.
    pub disks: Claim<usize>,
    /// The layouts of this level that may have this ratio.
    pub fits: Vec<LayoutFit>,
}

/// The level whose layouts, among those that fit, have this ratio of writes to reads; `None` where none has. The confidence of
/// each claim is the share of all layouts' likelihood that agrees with it, so a property that all of them share is not in doubt.
pub fn level(fits: &[LayoutFit], ratio: f64) -> Option<LevelEvidence> {
    let near: Vec<LayoutFit> = fits
        .iter()
        .filter(|fit| squared_distances(fit, ratio).any(|(_, square)| square <= TOLERANCE.powi(2)))
        .copied()
        .collect();
    let total: f64 = fits.iter().map(|fit| likelihood(fit, ratio)).sum();
    let confidence = |agrees: &dyn Fn(&LayoutFit) -> bool| {
        fits.iter().filter(|fit| agrees(fit)).map(|fit| likelihood(fit, ratio)).sum::<f64>() / total
    };
    let level_confidence = |fit: &LayoutFit| confidence(&|other| level_of(other) == level_of(fit));
    // Of equals the first one is chosen, which has the fewest disks.
    let best = near.iter().rev().max_by(|one, other| level_confidence(one).total_cmp(&level_confidence(other)))?;
    let best_fits: Vec<LayoutFit> = near.iter().filter(|fit| level_of(fit) == level_of(best)).copied().collect();
    let (copies, disks) = (library::copies_of(&best_fits[0].layout), best_fits[0].layout.disks());
    Some(LevelEvidence {
        level: Claim::new(level_of(best), level_confidence(best)),
        copies: Claim::new(copies, confidence(&|fit| library::copies_of(&fit.layout) == copies)),
        disks: Claim::new(disks, confidence(&|fit| fit.layout.disks() == disks)),
        fits: best_fits,
    })
}

/// The likelihood of this layout given the ratio, up to a common factor: normal in logarithms around each cost.
fn likelihood(fit: &LayoutFit, ratio: f64) -> f64 {
    squared_distances(fit, ratio).map(|(prior, square)| prior * (-square / (2.0 * LOG_SPREAD * LOG_SPREAD)).exp()).sum()
}

/// Each cost that the layout may have: its prior probability, and the square of the ratio's distance from it in logarithms.
fn squared_distances(fit: &LayoutFit, ratio: f64) -> impl Iterator<Item = (f64, f64)> {
    costs_of(fit).into_iter().map(move |(prior, cost)| (prior, (ratio / cost).ln().powi(2)))
}

/// The redundancy of the layout.
pub fn level_of(fit: &LayoutFit) -> RedundancyLevel {
    let shape = fit.layout.shape();
    match (library::copies_of(&fit.layout), shape.parity) {
        (1, 0) => RedundancyLevel::Raid0,
        (1, 1) => RedundancyLevel::Raid5,
        (1, _) => RedundancyLevel::Raid6,
        (copies, _) => RedundancyLevel::Mirror(copies),
    }
}

/// The costs that a small write may have, in reads, each with its prior probability.
pub fn costs_of(fit: &LayoutFit) -> Vec<(f64, f64)> {
    let shape = fit.layout.shape();
    match (library::copies_of(&fit.layout), shape.parity) {
        (1, 0) => vec![(1.0, 1.0)],
        (1, parity) => {
            let (usual, rare) = (2.0 + 2.0 * parity as f64, shape.width() as f64);
            vec![(1.0 - RECONSTRUCT_PRIOR, usual), (RECONSTRUCT_PRIOR, rare)]
        }
        (copies, _) => vec![(1.0, copies as f64)],
    }
}

/// The pairs of chunks and their times, relative to a chunk with itself. A lost disk's pairs are left out: its reads go
/// to all others.
fn times(matrix: &Matrix, classes: &[usize]) -> Vec<((usize, usize), f64)> {
    let lost = matrix.lost();
    let is_present = |chunk: usize| Some(classes[chunk]) != lost;
    let pairs = || matrix.pairs().filter(|&((one, other), _)| is_present(one) && is_present(other));
    let self_times: Vec<f64> = pairs().filter(|((one, other), _)| one == other).map(|(_, seconds)| seconds).collect();
    let unit = self_times.iter().sum::<f64>() / self_times.len() as f64;
    pairs().map(|(pair, seconds)| (pair, seconds / unit)).collect()
}

/// Whether each group of pairs that should take the same time does so, in the median.
fn has_times(fit: &LayoutFit, pairs: &[((usize, usize), f64)]) -> bool {
    let mut groups: Vec<(f64, Vec<f64>)> = Vec::new();
    for &((one, other), time) in pairs {
        let expected = share(fit, one, other);
        match groups.iter_mut().find(|(of, _)| *of == expected) {
            Some((_, times)) => times.push(time),
            None => groups.push((expected, vec![time])),
        }
    }
    let agrees = |(expected, times): &mut (f64, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        (times[times.len() / 2] / *expected).ln().abs() <= TOLERANCE
    };
    groups.iter_mut().all(agrees)
}

/// The mean square error of the times of pairs, in logarithms.
fn mean_square_error(fit: &LayoutFit, pairs: &[((usize, usize), f64)]) -> f64 {
    let squared_error = |&((one, other), time): &((usize, usize), f64)| (time / share(fit, one, other)).ln().powi(2);
    pairs.iter().map(squared_error).sum::<f64>() / pairs.len().max(1) as f64
}

/// The expected time of a pair, relative to a chunk with itself: the number of disks of one chunk divided by that of
/// both, because reads are shared evenly.
fn share(fit: &LayoutFit, one: usize, other: usize) -> f64 {
    let disks = |chunk: usize| -> Vec<usize> {
        let (data, at) = (fit.layout.shape().data as u64, fit.shift + chunk as u64);
        let copies =
            if fit.layout.kind() == LayoutKind::Raid1 || fit.layout.kind() == LayoutKind::Chained { 2 } else { 1 };
        let place = |copy: usize| fit.layout.place(at / data, (at % data) as usize + copy).disk;
        (0..copies).map(place).collect()
    };
    let (disks_of_one, disks_of_other) = (disks(one), disks(other));
    let added = disks_of_other.iter().filter(|disk| !disks_of_one.contains(disk)).count();
    disks_of_one.len() as f64 / (disks_of_one.len() + added) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::layout::Shape;

    fn fit(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> LayoutFit {
        LayoutFit { layout: Layout::new(kind, Shape { data, parity }, disks).expect("such an array"), shift: 0 }
    }

    /// The expected times of the pairs, every second one a tenth too long.
    fn matrix(fit: &LayoutFit) -> Matrix {
        let chunks = fit.layout.pattern() as usize;
        let time =
            |one: usize, other: usize| share(fit, one, other) * if (one + other).is_multiple_of(2) { 1.0 } else { 1.1 };
        Matrix { rows: (0..chunks).map(|one| (0..chunks).map(|other| time(one, other)).collect()).collect() }
    }

    fn names(fits: &[LayoutFit]) -> Vec<(&'static str, usize)> {
        fits.iter().map(|fit| (fit.layout.kind().name(), fit.layout.disks())).collect()
    }

    #[test]
    fn the_third_time_level_identifies_chained_declustering() {
        let chained = matrix(&fit(LayoutKind::Chained, 1, 1, 6));
        assert_eq!(names(&fits(&chained, &chained.classes().value)), [("chained", 6)]);
        let striped = matrix(&fit(LayoutKind::Raid0, 6, 0, 6));
        let found = fits(&striped, &striped.classes().value);
        assert_eq!(names(&found), [("raid0", 6), ("raid5-ls", 6), ("raid6-pq", 6), ("raid1", 12)]);
    }

    #[test]
    fn writes_decide_what_reads_leave_open() {
        let striped = matrix(&fit(LayoutKind::Raid0, 6, 0, 6));
        let fits = fits(&striped, &striped.classes().value);
        let conclusion = |ratio: f64| level(&fits, ratio).map(|evidence| (evidence.level.value, names(&evidence.fits)));
        assert_eq!(conclusion(1.05), Some((RedundancyLevel::Raid0, vec![("raid0", 6)])));
        assert_eq!(conclusion(1.8), Some((RedundancyLevel::Mirror(2), vec![("raid1", 12)])));
        assert_eq!(conclusion(4.5), Some((RedundancyLevel::Raid5, vec![("raid5-ls", 6)])));
        assert_eq!(
            conclusion(6.2),
            Some((RedundancyLevel::Raid6, vec![("raid6-pq", 6)])),
            "though a whole stripe of RAID-5 is six, too"
        );
        assert_eq!(conclusion(2.8), None, "half-way between is nothing");
    }

    #[test]
    fn the_confidence_of_a_level_follows_the_prior_of_its_write_costs() {
        // Four disks: RAID-5 costs four either way, RAID-6 only where it recomputes whole stripes.
        let four = [fit(LayoutKind::Raid5Ls, 3, 1, 4), fit(LayoutKind::Raid6Pq, 2, 2, 4)];
        let evidence = level(&four, 4.2).expect("a level");
        assert_eq!(evidence.level.value, RedundancyLevel::Raid5);
        assert!((0.93..0.97).contains(&evidence.level.confidence), "one in twenty: {evidence:?}");
        // Six disks: the usual cost of RAID-6 is that of a whole stripe of RAID-5.
        let striped = matrix(&fit(LayoutKind::Raid0, 6, 0, 6));
        let six = fits(&striped, &striped.classes().value);
        let confidence = |ratio: f64| level(&six, ratio).expect("a level").level.confidence;
        assert!(
            confidence(1.0) > 0.999 && (0.93..0.97).contains(&confidence(6.0)),
            "{} and {}",
            confidence(1.0),
            confidence(6.0)
        );
        // Between four and six it is open.
        assert!((0.4..0.8).contains(&confidence(4.9)), "{}", confidence(4.9));
    }

    #[test]
    fn properties_that_all_possible_levels_share_are_not_in_doubt() {
        let striped = matrix(&fit(LayoutKind::Raid0, 6, 0, 6));
        let evidence = level(&fits(&striped, &striped.classes().value), 4.9).expect("a level");
        assert!(evidence.level.confidence < 0.8, "{evidence:?}");
        assert!(
            evidence.copies.confidence > 0.999 && evidence.disks.confidence > 0.999,
            "RAID-5 or RAID-6, it has six: {evidence:?}"
        );
        assert_eq!((evidence.copies.value, evidence.disks.value), (1, 6));
    }

    #[test]
    fn every_layout_has_its_own_times() {
        for (kind, data, parity, disks) in [
            (LayoutKind::Raid5La, 5, 1, 6),
            (LayoutKind::Raid5Rs, 5, 1, 6),
            (LayoutKind::Raid5Ra, 5, 1, 6),
            (LayoutKind::ZigZag, 6, 0, 6),
            (LayoutKind::Raid6Md, 4, 2, 6),
        ] {
            let matrix = matrix(&fit(kind, data, parity, disks));
            let found = fits(&matrix, &matrix.classes().value);
            assert_eq!(names(&found), [(kind.name(), disks)]);
        }
    }
}
