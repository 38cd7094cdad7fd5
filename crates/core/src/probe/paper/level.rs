//! The level: which known layouts have these times and this ratio (Denehy et al. 2004, sections 2.3.4, 3.1, 3.2 and 5.1).
//!
//! Reads tell layouts apart by their classes, and chained declustering by a third level between "same disk" and "other
//! disks": neighbours share one of their copies. What reads leave open, the cost of writes decides: 1 without redundancy, as
//! many as copies, and two I/Os for each chunk that is read and written again with parities, or, where parities are
//! reckoned anew from a whole stripe (Linux 2.4), as many as there are disks.

use super::layout::Matrix;
use crate::layout::LayoutKind;
use crate::probe::known::{Claim, Level};
use crate::probe::library::{self, Fit};

/// Times and ratios agree when they differ by no more than this, in logarithms: about 20 %, what an elevator and seeks of
/// different lengths do to them.
const TOLERANCE: f64 = 0.25;

/// In squares: more than what noise alone makes of one and the same prediction.
const OFF_MAX: f64 = 2.0;

/// The known layouts that have just these classes, and these times of pairs. Of two that may have them, one that is off by
/// more than twice as much is left out: a few neighbours among many pairs tell chained declustering.
pub fn fits(matrix: &Matrix, classes: &[usize]) -> Vec<Fit> {
    let found = library::fits(classes, None).into_iter().filter(|fit| has_times(fit, matrix));
    let off: Vec<(Fit, f64)> = found.map(|fit| (fit, squares_off(&fit, matrix))).collect();
    let least = off.iter().map(|&(_, off)| off).fold(f64::INFINITY, f64::min);
    off.into_iter().filter(|&(_, off)| off <= OFF_MAX * least).map(|(fit, _)| fit).collect()
}

/// Those of them that have this ratio of writes to reads, and their level: the nearest on a logarithmic scale, by what is
/// usual (old data and parities are read) before what Linux 2.4 did. As sure as it is nearer than the next level, or than
/// the end of the tolerance where there is no other.
pub fn level(fits: &[Fit], ratio: f64) -> Option<(Claim<Level>, Vec<Fit>)> {
    let off_by = |cost: f64| (ratio / cost).ln().abs();
    let off = |fit: &Fit| costs_of(fit).into_iter().map(off_by).fold(f64::INFINITY, f64::min);
    let nearest = |off: &dyn Fn(&Fit) -> f64| {
        fits.iter().filter(|fit| off(fit) <= TOLERANCE).min_by(|a, b| off(a).total_cmp(&off(b)))
    };
    let nearest = nearest(&|fit| off_by(costs_of(fit)[0])).or_else(|| nearest(&off))?;
    let level = level_of(nearest);
    let others = fits.iter().filter(|fit| level_of(fit) != level);
    let next = others.map(off).fold(TOLERANCE, f64::min);
    let confidence = if next + off(nearest) == 0.0 { 0.5 } else { next / (next + off(nearest)) };
    let left = fits.iter().filter(|fit| level_of(fit) == level && off(fit) <= TOLERANCE).copied().collect();
    Some((Claim::new(level, confidence), left))
}

/// Its redundancy.
pub fn level_of(fit: &Fit) -> Level {
    let shape = fit.layout.shape();
    match (library::copies_of(&fit.layout), shape.parity) {
        (1, 0) => Level::Raid0,
        (1, 1) => Level::Raid5,
        (1, _) => Level::Raid6,
        (copies, _) => Level::Mirror(copies),
    }
}

/// What a small write of it may cost, in reads; what is usual comes first.
pub fn costs_of(fit: &Fit) -> Vec<f64> {
    let shape = fit.layout.shape();
    match (library::copies_of(&fit.layout), shape.parity) {
        (1, 0) => vec![1.0],
        (1, parity) => vec![2.0 + 2.0 * parity as f64, shape.slots() as f64],
        (copies, _) => vec![copies as f64],
    }
}

/// Has each group of pairs that should take the same time that time, in the median?
fn has_times(fit: &Fit, matrix: &Matrix) -> bool {
    let unit = matrix.diagonal_mean();
    let mut groups: Vec<(f64, Vec<f64>)> = Vec::new();
    for ((one, other), seconds) in matrix.pairs() {
        let expected = share(fit, one, other);
        match groups.iter_mut().find(|(of, _)| *of == expected) {
            Some((_, times)) => times.push(seconds / unit),
            None => groups.push((expected, vec![seconds / unit])),
        }
    }
    let agrees = |(expected, times): &mut (f64, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        (times[times.len() / 2] / *expected).ln().abs() <= TOLERANCE
    };
    groups.iter_mut().all(agrees)
}

/// By how much the times of pairs are off: the mean of the squares, in logarithms.
fn squares_off(fit: &Fit, matrix: &Matrix) -> f64 {
    let unit = matrix.diagonal_mean();
    let off = |((one, other), seconds): ((usize, usize), f64)| (seconds / unit / share(fit, one, other)).ln().powi(2);
    let (sum, count) = matrix.pairs().fold((0.0, 0), |(sum, count), pair| (sum + off(pair), count + 1));
    sum / f64::from(count.max(1))
}

/// The time of a pair in that of a chunk with itself: the disks of one over those of both, as reads are shared evenly.
fn share(fit: &Fit, one: usize, other: usize) -> f64 {
    let disks = |chunk: usize| -> Vec<usize> {
        let (data, at) = (fit.layout.shape().data as u64, fit.shift + chunk as u64);
        let copies =
            if fit.layout.kind() == LayoutKind::Raid1 || fit.layout.kind() == LayoutKind::Chained { 2 } else { 1 };
        let place = |copy: usize| fit.layout.place(at / data, (at % data) as usize + copy).disk;
        (0..copies).map(place).collect()
    };
    let (mine, theirs) = (disks(one), disks(other));
    let more = theirs.iter().filter(|disk| !mine.contains(disk)).count();
    mine.len() as f64 / (mine.len() + more) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::Layout;
    use crate::plan::Shape;

    fn fit(kind: LayoutKind, data: usize, parity: usize, disks: usize) -> Fit {
        Fit { layout: Layout::new(kind, Shape { data, parity }, disks).expect("such an array"), shift: 0 }
    }

    /// The times that it should have, each a tenth off.
    fn matrix(fit: &Fit) -> Matrix {
        let chunks = fit.layout.pattern() as usize;
        let time =
            |one: usize, other: usize| share(fit, one, other) * if (one + other).is_multiple_of(2) { 1.0 } else { 1.1 };
        Matrix { rows: (0..chunks).map(|one| (0..chunks).map(|other| time(one, other)).collect()).collect() }
    }

    fn names(fits: &[Fit]) -> Vec<(&'static str, usize)> {
        fits.iter().map(|fit| (fit.layout.kind().name(), fit.layout.disks())).collect()
    }

    #[test]
    fn the_third_level_tells_chained_declustering() {
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
        let told = |ratio: f64| level(&fits, ratio).map(|(level, left)| (level.value, names(&left)));
        assert_eq!(told(1.05), Some((Level::Raid0, vec![("raid0", 6)])));
        assert_eq!(told(1.8), Some((Level::Mirror(2), vec![("raid1", 12)])));
        assert_eq!(told(4.5), Some((Level::Raid5, vec![("raid5-ls", 6)])));
        assert_eq!(
            told(6.2),
            Some((Level::Raid6, vec![("raid6-pq", 6)])),
            "though a whole stripe of RAID-5 is six, too"
        );
        assert_eq!(told(2.8), None, "half-way between is nothing");
        let sure = |ratio: f64| level(&fits, ratio).expect("some").0.confidence;
        assert!(sure(1.0) > 0.99 && sure(6.0) == 0.5, "two I/Os of three disks, or the whole stripe of six");
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
