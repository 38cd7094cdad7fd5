//! Idle intervals by age: how many reach it, and how likely they are to end there.

use crate::stats::{Cell, DurationHistogram, OctaveScale};

/// The number of imagined idle intervals, which are added to those seen, with lengths spread evenly over the logarithm:
/// a hazard of about 0.1/x at age x. They make the beginning cautious, and extend the prediction beyond the longest
/// interval seen. A guess; between 3 and 10 it makes little difference.
const IMAGINED: f64 = 6.0;
/// The shortest imagined interval, in seconds.
const IMAGINED_MIN: f64 = 1e-3;
/// The longest imagined interval as a multiple of all the idle time seen: the future is assumed to last about as long as
/// the past. If it were a month from the beginning on, a plan with little to spend would save all of it for that month.
const IMAGINED_MAX: f64 = 2.0;
/// The longest imagined interval is at least this long, in seconds.
const IMAGINED_MAX_MIN: f64 = 60.0;
/// The hazard around an age is mixed into that of the age with the weight of this many ends. Without it, ages at which
/// nothing happens to have ended yet look safe: 20 % more is read with it, on the traces studied.
const SHRINKAGE: f64 = 3.0;

/// The number of parts of a cell; they have equal ratios.
pub(super) const PARTS: usize = 4;

/// Idle intervals by age, in cells that grow with the age.
#[derive(Clone, Debug)]
pub(super) struct Ages {
    cells: Vec<Age>,
    /// The scale of the parts of cells.
    parts: OctaveScale,
    /// The beginning of each part, in seconds.
    starts: Vec<f64>,
    /// The number of all intervals, the imagined ones included.
    count: f64,
}

/// A cell: a range of ages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age {
    /// Where it begins, in seconds of idleness.
    pub(super) start: f64,
    /// The time that all intervals seen spent in it, in seconds.
    pub(super) time_seen: f64,
    /// The number of intervals that end before it.
    ended: f64,
    /// The integral of `ended` over all ages before it.
    area: f64,
}

impl Ages {
    /// Computes the ages from the lengths of the intervals seen.
    pub(super) fn new(lengths: &DurationHistogram) -> Ages {
        let longest = (IMAGINED_MAX * lengths.moments().sum).max(IMAGINED_MAX_MIN);
        let is_imagined = |cell: &Cell| (IMAGINED_MIN..longest).contains(&cell.low);
        let each = IMAGINED / lengths.cells().filter(is_imagined).count() as f64;
        let (mut cells, mut ended, mut area) = (Vec::with_capacity(lengths.cells().len()), 0.0, 0.0);
        let mut alive = lengths.cells().map(|cell| cell.count).sum::<f64>();
        for cell in lengths.cells() {
            let width = cell.high - cell.low;
            let time_seen = width * (alive - 0.5 * cell.count);
            cells.push(Age { start: cell.low, time_seen, ended, area });
            let count = cell.count + if is_imagined(&cell) { each } else { 0.0 };
            area += width * (ended + 0.5 * count);
            (ended, alive) = (ended + count, alive - cell.count);
        }
        let parts = OctaveScale::new(lengths.buckets_per_octave() * PARTS as u32);
        // Each octave begins where the one before ends.
        let octave = parts.steps_per_octave() as usize;
        let first: Vec<f64> = (0..octave).map(|part| cells[0].start * parts.edge(part)).collect();
        let starts =
            (0..=PARTS * cells.len()).map(|part| first[part % octave] * (1u64 << (part / octave)) as f64).collect();
        let unsmoothed = Ages { cells, parts, starts, count: ended };
        unsmoothed.smooth()
    }

    /// The same intervals, with their ends redistributed by the hazard at each age and around it.
    fn smooth(self) -> Ages {
        let mut cells = self.cells.clone();
        let (mut ended, mut area) = (0.0, 0.0);
        for (index, cell) in cells.iter_mut().enumerate() {
            (cell.ended, cell.area) = (ended, area);
            let Some(next) = self.cells.get(index + 1) else { break };
            let width = next.start - cell.start;
            let ends = self.ending(index) * (self.count - ended);
            area += width * (ended + 0.5 * ends);
            ended += ends;
        }
        Ages { cells, ..self }
    }

    /// The share of the intervals reaching the start of a cell (not the last) that end in it.
    fn ending(&self, cell: usize) -> f64 {
        let (current, next) = (self.cells[cell], self.cells[cell + 1]);
        let middle = 0.5 * (current.start + next.start);
        let around = self.window(middle, middle.max(next.start - current.start));
        let hazard = around.ends / around.time.max(f64::MIN_POSITIVE);
        let smooth = 1.0 - (-hazard * (next.start - current.start)).exp();
        if smooth <= 0.0 {
            return 0.0;
        }
        (next.ended - current.ended + SHRINKAGE) / (self.count - current.ended + SHRINKAGE / smooth)
    }

    /// All cells, ascending.
    pub(super) fn cells(&self) -> &[Age] {
        &self.cells
    }

    /// The cell of an age in seconds; the first and the last hold what lies beyond them.
    pub(super) fn cell_of(&self, age: f64) -> usize {
        (self.part_of(age) / PARTS).min(self.cells.len() - 1)
    }

    /// The part of an age in seconds, counted through all cells; the first and the last hold what lies beyond them.
    pub(super) fn part_of(&self, age: f64) -> usize {
        let ratio = age / self.cells[0].start;
        let part = if ratio > 1.0 { self.parts.step_of(ratio) - 1 } else { 0 };
        part.min(PARTS * self.cells.len() - 1)
    }

    /// The beginning of a part, in seconds.
    pub(super) fn part_start(&self, part: usize) -> f64 {
        self.starts[part]
    }

    /// The number of intervals that reach an age in seconds.
    pub(super) fn reach(&self, age: f64) -> f64 {
        self.reach_spot(self.spot(age))
    }

    /// The number of intervals that reach an age that was looked up.
    pub(super) fn reach_spot(&self, at: Spot) -> f64 {
        self.count - self.ended_at(at).0
    }

    /// The number of intervals that end by `age`, and its integral from zero to `age`; within a cell the ends are taken
    /// to lie evenly.
    fn ended_by(&self, age: f64) -> (f64, f64) {
        self.ended_at(self.spot(age))
    }

    fn ended_at(&self, Spot { cell: index, offset, .. }: Spot) -> (f64, f64) {
        let cell = self.cells[index];
        let Some(next) = self.cells.get(index + 1) else { return (cell.ended, cell.area + offset * cell.ended) };
        let slope = (next.ended - cell.ended) / (next.start - cell.start);
        (cell.ended + offset * slope, cell.area + offset * (cell.ended + 0.5 * offset * slope))
    }

    /// The same ends, each with a weight: a function of the age in seconds.
    pub(super) fn weighted(&self, weight: impl Fn(f64) -> f64) -> Weighted {
        let (mut sums, mut weights) = (Vec::with_capacity(self.cells.len()), Vec::with_capacity(self.cells.len()));
        let (mut ended, mut area) = (0.0, 0.0);
        for (index, cell) in self.cells.iter().enumerate() {
            sums.push((ended, area));
            weights.push(weight(cell.start));
            let Some(next) = self.cells.get(index + 1) else { break };
            let ends = (next.ended - cell.ended) * weights[index];
            area += (next.start - cell.start) * (ended + 0.5 * ends);
            ended += ends;
        }
        Weighted { sums, weights }
    }

    /// Looks up an age in seconds among the cells.
    pub(super) fn spot(&self, age: f64) -> Spot {
        self.spot_in(age, self.cell_of(age))
    }

    /// Looks up an age in seconds, beginning at the cell `hint`, and sets `hint` to the cell found.
    pub(super) fn spot_near(&self, age: f64, hint: &mut usize) -> Spot {
        while self.cells.get(*hint + 1).is_some_and(|next| next.start <= age) {
            *hint += 1;
        }
        while *hint > 0 && self.cells[*hint].start > age {
            *hint -= 1;
        }
        self.spot_in(age, *hint)
    }

    fn spot_in(&self, age: f64, cell: usize) -> Spot {
        Spot { age, cell, offset: (age - self.cells[cell].start).max(0.0) }
    }

    /// The remaining time of a request that runs from `from` to `to`, in seconds, summed over the ends between, by their weights.
    pub(super) fn remaining(&self, ends: &Weighted, from: Spot, to: Spot) -> f64 {
        let (before, by) = (self.weighted_by(ends, from), self.weighted_by(ends, to));
        (by.1 - before.1 - (to.age - from.age) * before.0).max(0.0)
    }

    /// The number of intervals that end between two ages, by their weights.
    pub(super) fn ends(&self, ends: &Weighted, from: Spot, to: Spot) -> f64 {
        (self.weighted_by(ends, to).0 - self.weighted_by(ends, from).0).max(0.0)
    }

    /// As [`Ages::ended_by`], with weights.
    fn weighted_by(&self, ends: &Weighted, at: Spot) -> (f64, f64) {
        let Spot { cell, offset, .. } = at;
        let (ended, area) = ends.sums[cell];
        let Some(next) = ends.sums.get(cell + 1) else { return (ended, area + offset * ended) };
        let slope = (next.0 - ended) / (self.cells[cell + 1].start - self.cells[cell].start);
        (ended + offset * slope, area + offset * (ended + 0.5 * offset * slope))
    }

    fn window(&self, middle: f64, width: f64) -> AgeWindow {
        let (from, to) = ((middle - 0.5 * width).max(0.0), middle + 0.5 * width);
        let (before, by) = (self.ended_by(from), self.ended_by(to));
        AgeWindow { ends: by.0 - before.0, time: ((to - from) * self.count - (by.1 - before.1)).max(0.0) }
    }
}

/// An age in seconds, the cell in which it lies, and how many seconds into it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spot {
    pub(super) age: f64,
    pub(super) cell: usize,
    pub(super) offset: f64,
}

/// The number of intervals that end by an age, with a weight for each.
#[derive(Clone, Debug)]
pub(super) struct Weighted {
    /// By cell: the weighted number before it, and the integral of that over all ages before.
    sums: Vec<(f64, f64)>,
    /// By cell: the weight of an end in it.
    weights: Vec<f64>,
}

impl Weighted {
    /// The weight of an end in a cell.
    pub(super) fn weight(&self, cell: usize) -> f64 {
        self.weights[cell]
    }
}

/// The intervals in a window of ages.
struct AgeWindow {
    /// The number of intervals that end in it.
    ends: f64,
    /// The time that all intervals spend in it, in seconds.
    time: f64,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Nanos;

    fn ages(lengths: impl IntoIterator<Item = f64>) -> Ages {
        let mut histogram = DurationHistogram::default();
        lengths.into_iter().for_each(|seconds| histogram.add(Nanos::from_secs_f64(seconds)));
        Ages::new(&histogram)
    }

    /// The hazard in the cell of an age: the ends there for each second spent there.
    fn hazard(ages: &Ages, age: f64) -> f64 {
        let cell = ages.cell_of(age);
        let [from, to] = [cell, cell + 1].map(|cell| ages.cells()[cell].start);
        let window = ages.window(0.5 * (from + to), to - from);
        window.ends / window.time
    }

    #[test]
    fn an_exponential_has_one_hazard() {
        let ages = ages((0..100_000).map(|i| -0.2 * ((i as f64 + 0.5) / 100_000.0).ln()));
        for age in [0.01, 0.1, 0.5] {
            assert!((hazard(&ages, age) * 0.2 - 1.0).abs() < 0.05, "{} at {age}", hazard(&ages, age));
        }
    }

    #[test]
    fn imagined_intervals_have_a_falling_hazard() {
        let (none, long) = (ages([]), ages([40_000.0]));
        for (ages, age) in [(&none, 0.01), (&none, 1.0), (&none, 10.0), (&long, 10.0), (&long, 10_000.0)] {
            let product = age * hazard(ages, age);
            assert!((0.03..0.6).contains(&product), "{product} at {age}");
        }
        assert!(
            none.reach(50.0) > 0.01 && none.reach(100.0) < 0.01,
            "none is longer than a minute, or twice all that was seen"
        );
        assert!(
            long.reach(70_000.0) > 0.01 && long.reach(90_000.0) < 0.01,
            "none is longer than twice all that was seen"
        );
    }

    #[test]
    fn an_age_at_which_many_end_stands_out() {
        let ages = ages((0..1000).map(|i| if i % 2 == 0 { 30.0 } else { 0.01 + i as f64 * 0.5 }));
        let hazard = |age| hazard(&ages, age);
        assert!(hazard(30.0) > 10.0 * hazard(20.0) && hazard(30.0) > 10.0 * hazard(40.0));
    }

    #[test]
    fn few_intervals_reach_an_age_at_which_all_have_ended() {
        let ages = ages((0..2000).map(|i| 0.05005 + 0.0003 * f64::from(i) / 2000.0));
        assert!(ages.reach(0.045) > 1970.0, "{}", ages.reach(0.045));
        assert!(ages.reach(0.052) < 80.0, "{}", ages.reach(0.052));
    }

    #[test]
    fn the_remaining_time_is_summed_over_the_intervals_that_end_meanwhile() {
        // 3,000 ends spread evenly over 20 to 80 ms: 500 of them in 40 to 50 ms, which wait 5 ms each on average.
        let ages = ages((0..3000).map(|i| 0.02 + 0.06 * (f64::from(i) + 0.5) / 3000.0));
        let remaining = |weight: f64| ages.remaining(&ages.weighted(|_| weight), ages.spot(0.04), ages.spot(0.05));
        assert!((remaining(1.0) / (500.0 * 0.005) - 1.0).abs() < 0.05, "{}", remaining(1.0));
        assert!((remaining(3.0) / remaining(1.0) - 3.0).abs() < 1e-9, "three queue behind each");
    }
}
