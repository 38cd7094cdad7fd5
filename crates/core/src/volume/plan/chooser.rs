//! Chooses a scheme for a workload of writes: by the rule of Li & Lee 2014, section VI, or by a histogram of requests.

use super::stripe::{StripeState, Want};
use crate::layout::Shape;
use crate::position_set::PositionSet;
use crate::volume::integrity::scheme::Scheme;

/// The switch point tau* = ceil((n + 1) / 2) - m, formula (7): the number of touched chunks from which on Hybrid-2
/// takes no more I/O than Hybrid-1. Zero when even the smallest write favours Hybrid-2.
///
/// For odd n it is one too low where the chunks that stay were not read since they were written: [`break_even`].
pub fn switch_point(shape: Shape) -> usize {
    (shape.width() + 1).div_ceil(2).saturating_sub(shape.parity)
}

/// Formulas (8) and (9): Hybrid-1 when the mean write is smaller than tau* chunks, else Hybrid-2. (The formulas leave
/// equality open; it is Hybrid-2's, or a tie.)
///
/// The rule uses the mean of all sizes, and ignores that an unaligned write touches one more chunk:
/// [`AccessHistogram::best`] does better.
pub fn by_mean_size(shape: Shape, chunk_bytes: u64, write_bytes_mean: f64) -> Scheme {
    match write_bytes_mean / (chunk_bytes as f64) < switch_point(shape) as f64 {
        true => Scheme::Hybrid1,
        false => Scheme::Hybrid2,
    }
}

/// The number of touched chunks from which on Hybrid-2 takes no more I/O than Hybrid-1, counted by the plans
/// themselves. `is_first`: the chunks that stay were not read since they were written.
pub fn break_even(shape: Shape, is_first: bool) -> usize {
    let loses = |tau: &usize| {
        let [hybrid1, hybrid2] =
            [Scheme::Hybrid1, Scheme::Hybrid2].map(|scheme| ios(scheme, shape, true, *tau, is_first));
        hybrid2 > hybrid1
    };
    1 + (1..=shape.data).rev().find(loses).unwrap_or(0)
}

/// Counts of reads and writes by the number of chunks that they touch in a stripe: all that the I/O of a scheme depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AccessHistogram {
    shape: Shape,
    /// By the number of chunks, less one.
    counts: Vec<SizeCounts>,
}

/// Counts of requests of one size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct SizeCounts {
    /// `[later, first]`
    reads: [u64; 2],
    writes: [u64; 2],
}

impl AccessHistogram {
    /// An empty histogram.
    pub fn new(shape: Shape) -> AccessHistogram {
        AccessHistogram { shape, counts: vec![SizeCounts::default(); shape.data] }
    }

    /// Counts one request, or the part of it in one stripe, that touched this many chunks. `is_first`: one of the
    /// chunks that it reads (a write: of those that stay) was not read since it was written.
    ///
    /// # Panics
    /// When `touched` is 0, or more than the data chunks of a stripe.
    pub fn add(&mut self, is_write: bool, touched: usize, is_first: bool) {
        let counts = &mut self.counts[touched - 1];
        let kind = if is_write { &mut counts.writes } else { &mut counts.reads };
        kind[usize::from(is_first)] += 1;
    }

    /// The I/O that all counted requests take under a scheme, in disk I/Os.
    pub fn ios(&self, scheme: Scheme) -> u64 {
        let kinds = |(at, counts): (usize, &SizeCounts)| {
            [(false, counts.reads), (true, counts.writes)].map(|(is_write, [later, first])| {
                let each = |is_first| ios(scheme, self.shape, is_write, at + 1, is_first) as u64;
                later * each(false) + first * each(true)
            })
        };
        self.counts.iter().enumerate().flat_map(kinds).sum()
    }

    /// The scheme that takes the least I/O; the first of several equal ones.
    ///
    /// # Panics
    /// When `schemes` is empty.
    pub fn best(&self, schemes: &[Scheme]) -> Scheme {
        let best = schemes.iter().min_by_key(|&&scheme| self.ios(scheme));
        *best.expect("there is something to choose from")
    }
}

/// The disk I/Os of one request of whole chunks in one stripe, with no member missing.
fn ios(scheme: Scheme, shape: Shape, is_write: bool, touched: usize, is_first: bool) -> usize {
    let positions = PositionSet::range(0, touched);
    let want =
        if is_write { Want::Write { touched: positions, partial: PositionSet::NONE } } else { Want::Read(positions) };
    let is_read = if is_first { PositionSet::NONE } else { shape.data_set() };
    let plan = super::plan(scheme, shape, want, StripeState { is_read, ..StripeState::default() });
    plan.expect("nothing is missing").ios()
}

#[cfg(test)]
mod tests {
    use super::*;
    use Scheme::{Hybrid1, Hybrid2, Stamp};

    const RAID6: Shape = Shape { data: 6, parity: 2 };

    #[test]
    fn the_switch_point_is_formula_7() {
        let points =
            [(7, 1), (6, 2), (5, 3), (4, 1), (1, 4)].map(|(data, parity)| switch_point(Shape { data, parity }));
        assert_eq!(points, [4, 3, 2, 2, 0]);
    }

    /// The paper's derivation leaves this out: for odd n, at first reads, the switch is one chunk later.
    #[test]
    fn the_break_even_is_the_switch_point_but_for_odd_n_at_first() {
        let cases =
            (5..=15).flat_map(|positions| (1..=3).map(move |parity| Shape { data: positions - parity, parity }));
        for shape in cases.filter(|shape| shape.data > shape.parity) {
            let odd = shape.width() % 2;
            assert_eq!(break_even(shape, false), switch_point(shape), "{shape:?}");
            assert_eq!(break_even(shape, true), switch_point(shape) + odd, "{shape:?}");
        }
    }

    /// Table III's mean sizes of writes in KB, and for chunks of 2, 4 and 8 KB the rule's choice (1 or 2) according to
    /// the paper's section VII-C: 36 decisions.
    #[test]
    fn the_rule_makes_the_papers_thirty_six_decisions() {
        let rows = [
            ("DAP-DS", 7.04, [2, 1, 1]),
            ("TPC-E", 9.26, [2, 1, 1]),
            ("LM-TBE", 63.47, [2, 2, 2]),
            ("MSN-BEFS", 10.45, [2, 1, 1]),
            ("MSN-CFS", 13.63, [2, 2, 1]),
            ("DTRS", 34.57, [2, 2, 2]),
            ("TPC-C", 8.62, [2, 1, 1]),
            ("DAP-PS", 97.13, [2, 2, 2]),
            ("Exch", 12.59, [2, 2, 1]),
            ("WBS", 29.78, [2, 2, 2]),
            ("RAD-BE", 8.54, [2, 1, 1]),
            ("RAD-AS", 8.24, [2, 1, 1]),
        ];
        for (name, kib, choices) in rows {
            for (chunk_kib, choice) in [2, 4, 8].into_iter().zip(choices) {
                let expected = if choice == 1 { Hybrid1 } else { Hybrid2 };
                assert_eq!(by_mean_size(RAID6, chunk_kib << 10, kib * 1024.0), expected, "{name} at {chunk_kib} KB");
            }
        }
    }

    #[test]
    fn a_tie_goes_to_hybrid_2() {
        assert_eq!(by_mean_size(RAID6, 4096, 3.0 * 4096.0), Hybrid2);
        assert_eq!(by_mean_size(RAID6, 4096, 3.0 * 4096.0 - 1.0), Hybrid1);
    }

    /// Where the mean misleads: half of the writes touch one chunk, half all six. Their mean, 3.5, is above tau*.
    #[test]
    fn a_histogram_knows_more_than_a_mean() {
        let mut histogram = AccessHistogram::new(RAID6);
        for _ in 0..10 {
            (0..9).for_each(|_| histogram.add(true, 1, false));
            histogram.add(true, 4, false);
        }
        // 2 (1 + 2) = 6 and 9 x; Hybrid-2 adds 2 to each small write, Hybrid-1 4 to each large one.
        assert_eq!([Scheme::None, Hybrid1, Hybrid2].map(|scheme| histogram.ios(scheme)), [620, 660, 810]);
        assert_eq!(histogram.best(&[Hybrid1, Hybrid2]), Hybrid1);
        assert_eq!(histogram.best(&[Hybrid2, Hybrid1, Stamp]), Stamp);
        (0..40).for_each(|_| histogram.add(true, 6, false));
        assert_eq!(histogram.best(&[Hybrid1, Hybrid2]), Hybrid2);
        let mut reads = AccessHistogram::new(RAID6);
        reads.add(false, 6, true);
        reads.add(false, 2, true);
        reads.add(false, 2, false);
        assert_eq!([Scheme::None, Scheme::Pure, Hybrid1, Hybrid2, Stamp].map(|s| reads.ios(s)), [10, 12, 12, 11, 12]);
    }
}
