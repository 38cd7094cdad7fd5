//! A quantile function: measured points, and an assumed shape between them.
//!
//! Between two points the logarithm of the value rises with the rank; above the median it rises instead with the
//! logarithm of the share of greater values, which is a Pareto tail. A *bend* makes it rise late or early, so that sums
//! come out right while the measured points stay fixed.

/// Smaller values count as this: a nanosecond.
const FLOOR: f64 = 1e-9;
/// The least number of pieces of a segment.
const PIECES_MIN: usize = 4;
/// The largest bend. A bend g raises the position in a segment to the power e^g; e^2.5 = 12 is nearly a step.
const BEND_MAX: f64 = 2.5;
/// The number of cells in which ranks are looked up.
const CELLS: usize = 256;
/// Halvings of the interval of bends: 2^-30 of it is finer than sums can resolve.
const HALVINGS: usize = 30;

/// A quantile function that is exact at its points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct QuantileCurve {
    knots: Vec<Knot>,
    /// The number of knots up to the beginning of each cell of ranks, so that only a few are searched.
    cells: Vec<u16>,
}

/// A point of the curve. The logarithm of the value is linear between knots.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Knot {
    rank: f64,
    ln: f64,
}

/// The bends of segments that begin at rank `split` or above, and of the others.
#[derive(Clone, Copy, Debug)]
struct Bend {
    split: f64,
    below: f64,
    above: f64,
}

/// Sums over the values of all ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct RankSums {
    /// The sum of the values.
    pub(super) sum: f64,
    /// The sum of their squares.
    pub(super) squares: f64,
}

impl QuantileCurve {
    /// The curve through `points`, (rank in 0..=1, value), both ascending, from rank 0 to rank 1; they describe `count`
    /// values.
    pub(super) fn new(points: &[(f64, f64)], count: u64) -> QuantileCurve {
        QuantileCurve::bent(points, count, Bend { split: 0.0, below: 0.0, above: 0.0 })
    }

    /// Bends the curve so that the `count` values of [`QuantileCurve::value`] have this sum and, if given, this sum of
    /// squares, or as near as the points allow. The sum has priority.
    pub(super) fn calibrated(points: &[(f64, f64)], count: u64, sum: f64, squares: Option<f64>) -> QuantileCurve {
        let plain = QuantileCurve::new(points, count);
        let split = plain.half_rank(points, count);
        let curve = |below, above| QuantileCurve::bent(points, count, Bend { split, below, above });
        let even = || {
            let bend = falling_root(|bend| curve(bend, bend).sums(count).sum - sum);
            curve(bend, bend)
        };
        let Some(squares) = squares else { return even() };
        let below_of = |above| falling_root(|below| curve(below, above).sums(count).sum - sum);
        let above = falling_root(|above| curve(below_of(above), above).sums(count).squares - squares);
        let both = curve(below_of(above), above);
        let even = even();
        let error = |curve: &QuantileCurve| (curve.sums(count).sum - sum).abs();
        if error(&both) <= error(&even) + 0.001 * sum { both } else { even }
    }

    fn bent(points: &[(f64, f64)], count: u64, bend: Bend) -> QuantileCurve {
        let ln = |value: f64| value.max(FLOOR).ln();
        let mut knots = Vec::new();
        for pair in points.windows(2) {
            let (from, to) = (Knot { rank: pair[0].0, ln: ln(pair[0].1) }, Knot { rank: pair[1].0, ln: ln(pair[1].1) });
            let power = if from.rank >= bend.split { bend.above } else { bend.below }.exp();
            push_segment(&mut knots, from, to, count, power);
        }
        knots.extend(points.last().map(|&(rank, value)| Knot { rank, ln: ln(value) }));
        let up_to = |cell: usize| knots.partition_point(|knot: &Knot| knot.rank <= cell as f64 / CELLS as f64) as u16;
        let cells = (0..=CELLS).map(up_to).collect();
        QuantileCurve { knots, cells }
    }

    /// The value at a rank in 0..=1.
    pub(super) fn at(&self, rank: f64) -> f64 {
        let cell = ((rank * CELLS as f64) as usize).min(CELLS - 1);
        let (from, to) = (usize::from(self.cells[cell]), usize::from(self.cells[cell + 1]));
        let next = from + self.knots[from..to].partition_point(|knot| knot.rank <= rank);
        let next = next.clamp(1, self.knots.len() - 1);
        let (from, to) = (self.knots[next - 1], self.knots[next]);
        let width = to.rank - from.rank;
        let position = if width > 0.0 { ((rank - from.rank) / width).clamp(0.0, 1.0) } else { 1.0 };
        (from.ln + (to.ln - from.ln) * position).exp()
    }

    /// The `index`-th smallest of `count` values.
    pub(super) fn value(&self, index: u64, count: u64) -> f64 {
        self.at(if count > 1 { index as f64 / (count - 1) as f64 } else { 0.5 })
    }

    /// The sums of all `count` values, by the formula of the geometric series.
    pub(super) fn sums(&self, count: u64) -> RankSums {
        if count <= 1 {
            let value = if count == 1 { self.at(0.5) } else { 0.0 };
            return RankSums { sum: value, squares: value * value };
        }
        let steps = (count - 1) as f64;
        let mut total = RankSums { sum: self.value(count - 1, count), squares: self.value(count - 1, count).powi(2) };
        let mut index = 0.0;
        for pair in self.knots.windows(2) {
            let (from, to) = (pair[0], pair[1]);
            let end = (to.rank * steps).ceil().min(steps);
            if end > index {
                let slope = (to.ln - from.ln) / (to.rank - from.rank);
                let first = from.ln + slope * (index / steps - from.rank);
                total.sum += geometric(first, slope / steps, end - index);
                total.squares += geometric(2.0 * first, 2.0 * slope / steps, end - index);
                index = end;
            }
        }
        total
    }

    /// The mean for any number of values: the integral.
    pub(super) fn mean(&self) -> f64 {
        let piece = |pair: &[Knot]| {
            let (width, ratio) = (pair[1].rank - pair[0].rank, pair[1].ln - pair[0].ln);
            let mean = if ratio.abs() < 1e-9 { 1.0 } else { ratio.exp_m1() / ratio };
            width * pair[0].ln.exp() * mean
        };
        self.knots.windows(2).map(piece).sum()
    }

    /// The standard deviation of the logarithms.
    pub(super) fn ln_deviation(&self) -> f64 {
        let (mut mean, mut squares) = (0.0, 0.0);
        for pair in self.knots.windows(2) {
            let (width, a, b) = (pair[1].rank - pair[0].rank, pair[0].ln, pair[1].ln);
            mean += width * (a + b) / 2.0;
            squares += width * (a * a + a * b + b * b) / 3.0;
        }
        (squares - mean * mean).max(0.0).sqrt()
    }

    /// The greatest value.
    pub(super) fn max(&self) -> f64 {
        self.at(1.0)
    }

    /// The beginning of the segment above which half of the sum lies.
    fn half_rank(&self, points: &[(f64, f64)], count: u64) -> f64 {
        let share =
            |from: f64, to: f64| (0..16).map(move |i| self.at(from + (to - from) * (f64::from(i) + 0.5) / 16.0));
        let half = self.sums(count).sum / count.max(1) as f64 / 2.0;
        let mut above = 0.0;
        for pair in points.windows(2).rev() {
            let (from, to) = (pair[0].0, pair[1].0);
            above += share(from, to).sum::<f64>() / 16.0 * (to - from);
            if above >= half {
                return from;
            }
        }
        0.0
    }
}

/// Points, split at a value. A side without values has no points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Split {
    /// The points of the values up to it.
    pub(super) below: Vec<(f64, f64)>,
    /// The points of the values above it.
    pub(super) above: Vec<(f64, f64)>,
    /// The share of values above it.
    pub(super) share_above: f64,
}

/// Splits points at a value.
pub(super) fn split(points: &[(f64, f64)], at: f64) -> Split {
    let first = points.partition_point(|&(_, value)| value <= at);
    if first == 0 {
        return Split { below: Vec::new(), above: points.to_vec(), share_above: 1.0 };
    }
    if first == points.len() {
        return Split { below: points.to_vec(), above: Vec::new(), share_above: 0.0 };
    }
    let ((rank_from, from), (rank_to, to)) = (points[first - 1], points[first]);
    let position = (at / from.max(FLOOR)).ln() / (to / from.max(FLOOR)).ln();
    let rank = rank_from + (rank_to - rank_from) * position;
    let (mut below, mut above) = (Vec::new(), vec![(0.0, at)]);
    below.extend(points[..first].iter().filter(|point| point.0 < rank).map(|&(p, value)| (p / rank, value)));
    below.push((1.0, at));
    above.extend(points[first..].iter().map(|&(p, value)| ((p - rank) / (1.0 - rank), value)));
    Split { below, above, share_above: 1.0 - rank }
}

/// Adds the knots of one segment except its last.
fn push_segment(knots: &mut Vec<Knot>, from: Knot, to: Knot, count: u64, power: f64) {
    let steps = count.saturating_sub(1).max(1) as f64;
    // The number of greater values, plus half a value, so that the greatest is at a finite place of the tail.
    let greater = |rank: f64| (1.0 - rank) * steps + 0.5;
    let ratio = greater(to.rank) / greater(from.rank);
    let is_tail = from.rank >= 0.5;
    let pieces = if is_tail { (ratio.log2().abs() * 2.0).ceil() as usize } else { 0 }.max(PIECES_MIN);
    for piece in 0..pieces {
        let position = piece as f64 / pieces as f64;
        let rank = if is_tail && piece > 0 {
            1.0 - (greater(from.rank) * ratio.powf(position) - 0.5) / steps
        } else {
            from.rank + (to.rank - from.rank) * position
        };
        knots.push(Knot { rank, ln: from.ln + (to.ln - from.ln) * position.powf(power) });
    }
}

/// The sum of a geometric series of `terms` terms: the first is `e^ln_first`, and each is `e^ln_ratio` times the
/// previous one.
fn geometric(ln_first: f64, ln_ratio: f64, terms: f64) -> f64 {
    let first = ln_first.exp();
    if ln_ratio.abs() < 1e-12 { first * terms } else { first * (ln_ratio * terms).exp_m1() / ln_ratio.exp_m1() }
}

/// The zero of a falling function, or the nearer end of the interval of bends.
fn falling_root(function: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (-BEND_MAX, BEND_MAX);
    for _ in 0..HALVINGS {
        let middle = (low + high) / 2.0;
        if function(middle) > 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [(f64, f64); 5] = [(0.0, 0.1), (0.5, 1.0), (0.9, 10.0), (0.99, 60.0), (1.0, 900.0)];

    #[test]
    fn the_points_stay_and_the_sums_are_those_of_the_values() {
        for count in [1, 2, 7, 1000] {
            for curve in [
                QuantileCurve::new(&POINTS, count),
                QuantileCurve::calibrated(&POINTS, count, 5.0 * count as f64, None),
            ] {
                let values: Vec<f64> = (0..count).map(|index| curve.value(index, count)).collect();
                let (sum, squares) = (values.iter().sum::<f64>(), values.iter().map(|v| v * v).sum::<f64>());
                let sums = curve.sums(count);
                assert!((sums.sum / sum - 1.0).abs() < 1e-9 && (sums.squares / squares - 1.0).abs() < 1e-9, "{count}");
                for (rank, value) in POINTS {
                    assert!((curve.at(rank) / value - 1.0).abs() < 1e-9, "{rank}");
                }
            }
        }
    }

    #[test]
    fn calibration_reaches_mean_and_spread() {
        let count = 5000;
        let plain = QuantileCurve::new(&POINTS, count).sums(count);
        for (mean, spread) in [(1.0, 1.0), (1.1, 1.15), (0.9, 0.85)] {
            let (sum, squares) = (plain.sum * mean, plain.squares * spread);
            let reached = QuantileCurve::calibrated(&POINTS, count, sum, Some(squares)).sums(count);
            assert!((reached.sum / sum - 1.0).abs() < 1e-4, "{mean} {spread} {reached:?}");
            assert!((reached.squares / squares - 1.0).abs() < 1e-4, "{mean} {spread} {reached:?}");
        }
    }

    #[test]
    fn a_split_keeps_every_value() {
        let halves = split(&POINTS, 1.0);
        assert_eq!((halves.below, halves.share_above), (vec![(0.0, 0.1), (1.0, 1.0)], 0.5));
        assert_eq!((halves.above[0], halves.above[1].1), ((0.0, 1.0), 10.0));
        assert_eq!([0.05, 900.0].map(|at| split(&POINTS, at).share_above), [1.0, 0.0]);
    }
}
