//! What is known of idle intervals by age: how many reach it, and how likely they are to end there.

use crate::stats::{Cell, DurationHistogram};

/// Before anything is seen, so many idle intervals are imagined, with lengths spread evenly over the logarithm: a hazard
/// of about 0.1/x at age x. They make the beginning cautious, and say what is to be expected beyond the longest interval
/// ever seen. A guess; between 3 and 10 it hardly matters.
const IMAGINED: f64 = 6.0;
/// The shortest imagined interval, in seconds.
const IMAGINED_MIN: f64 = 1e-3;
/// What is seen at one age is mixed with what is seen around it as if that had been seen in so many ends more. Without
/// it, ages at which nothing happens to have ended yet look safe: 20 % more is read with it, on the traces studied.
const SHRINKAGE: f64 = 3.0;

/// Idle intervals by age, in cells that grow with the age.
#[derive(Clone, Debug, Default)]
pub(super) struct Ages {
    cells: Vec<Age>,
    /// Intervals in all, the imagined ones included.
    count: f64,
}

/// One cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Age {
    /// Where it begins, in seconds of idleness.
    pub(super) start: f64,
    /// The time that all intervals together spend in it, in seconds.
    pub(super) time: f64,
    /// The same of those that were seen.
    pub(super) time_seen: f64,
    /// How many intervals ended before it.
    ended: f64,
    /// The integral of that number over all ages before it.
    area: f64,
}

impl Ages {
    /// From the lengths seen.
    pub(super) fn new(lengths: &DurationHistogram) -> Ages {
        let is_imagined = |cell: &Cell| cell.low >= IMAGINED_MIN;
        let each = IMAGINED / lengths.cells().filter(is_imagined).count() as f64;
        let mut cells: Vec<Age> = Vec::with_capacity(lengths.cells().len());
        let (mut ended, mut area) = (0.0, 0.0);
        for cell in lengths.cells() {
            cells.push(Age { start: cell.low, time: 0.0, time_seen: 0.0, ended, area });
            let count = cell.count + if is_imagined(&cell) { each } else { 0.0 };
            area += (cell.high - cell.low) * (ended + 0.5 * count);
            ended += count;
        }
        let mut alive = lengths.cells().map(|cell| cell.count).sum::<f64>();
        for (index, seen) in lengths.cells().enumerate().take(cells.len() - 1) {
            let next = cells[index + 1];
            let (cell, width) = (&mut cells[index], seen.high - seen.low);
            cell.time = width * ended - (next.area - cell.area);
            cell.time_seen = width * (alive - 0.5 * seen.count);
            alive -= seen.count;
        }
        Ages { cells, count: ended }
    }

    /// All cells, ascending.
    pub(super) fn cells(&self) -> &[Age] {
        &self.cells
    }

    /// The cell of an age in seconds; the first and the last hold what lies beyond them.
    pub(super) fn cell_of(&self, age: f64) -> usize {
        self.cells.partition_point(|cell| cell.start <= age).saturating_sub(1)
    }

    /// Of the intervals that are as old as the middle of a cell, what share ends in a second, over at least `width`
    /// seconds around it.
    pub(super) fn hazard(&self, cell: usize, width: f64) -> f64 {
        let start = self.cells[cell].start;
        let end = self.cells.get(cell + 1).map_or(start * 1.1, |next| next.start);
        let middle = 0.5 * (start + end);
        let near = self.window(middle, width.max(end - start));
        let wide = self.window(middle, width.max(middle));
        let smooth = wide.ends / wide.time.max(f64::MIN_POSITIVE);
        (near.ends + SHRINKAGE) / (near.time + SHRINKAGE / smooth.max(f64::MIN_POSITIVE))
    }

    fn window(&self, middle: f64, width: f64) -> Window {
        let (from, to) = ((middle - 0.5 * width).max(0.0), middle + 0.5 * width);
        let (before, by) = (self.ended_by(from), self.ended_by(to));
        Window { ends: by.0 - before.0, time: ((to - from) * self.count - (by.1 - before.1)).max(0.0) }
    }

    /// How many ended by `age`, and the integral of that from zero to `age`; within a cell they are taken to lie evenly.
    fn ended_by(&self, age: f64) -> (f64, f64) {
        let index = self.cell_of(age);
        let cell = self.cells[index];
        let into = (age - cell.start).max(0.0);
        let Some(next) = self.cells.get(index + 1) else { return (cell.ended, cell.area + into * cell.ended) };
        let slope = (next.ended - cell.ended) / (next.start - cell.start);
        (cell.ended + into * slope, cell.area + into * (cell.ended + 0.5 * into * slope))
    }
}

/// What happens in a window of ages.
struct Window {
    /// How many intervals end in it.
    ends: f64,
    /// The time that all spend in it, in seconds.
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

    #[test]
    fn an_exponential_has_one_hazard() {
        let ages = ages((0..100_000).map(|i| -0.2 * ((i as f64 + 0.5) / 100_000.0).ln()));
        for age in [0.01, 0.1, 0.5] {
            let hazard = ages.hazard(ages.cell_of(age), 0.0);
            assert!((hazard * 0.2 - 1.0).abs() < 0.05, "{hazard} at {age}");
        }
    }

    #[test]
    fn the_imagined_ones_have_a_falling_hazard() {
        let ages = ages([]);
        let hazard = |age: f64| age * ages.hazard(ages.cell_of(age), 0.0);
        for age in [0.01, 1.0, 100.0] {
            assert!((0.03..0.3).contains(&hazard(age)), "{} at {age}", hazard(age));
        }
    }

    #[test]
    fn an_age_at_which_many_end_stands_out() {
        let ages = ages((0..1000).map(|i| if i % 2 == 0 { 30.0 } else { 0.01 + i as f64 * 0.5 }));
        let hazard = |age: f64| ages.hazard(ages.cell_of(age), 0.0);
        assert!(hazard(30.0) > 10.0 * hazard(20.0) && hazard(30.0) > 10.0 * hazard(40.0));
    }

    #[test]
    fn the_time_of_all_cells_is_the_time_of_all_intervals() {
        let ages = ages([0.5, 2.0, 7.0]);
        let empty = super::tests::ages([]);
        let total = |ages: &Ages| ages.cells().iter().map(|cell| cell.time).sum::<f64>();
        assert!((total(&ages) - total(&empty) - 9.5).abs() < 0.3, "{} {}", total(&ages), total(&empty));
    }
}
