//! Thinning: keeps, of many thousand points, those that change the picture.

/// A place on the sheet, in pixels.
pub type Place = (f64, f64);

/// Thins a line in columns one pixel wide: of each run of neighbours in one column it keeps the first, the lowest, the
/// highest and the last, which paint the same pixels as all of them.
///
/// Jugel, Jerzak, Hackenbroich and Markl, "M4: A Visualization-Oriented Time Series Data Aggregation", VLDB 2014,
/// section 4. Their columns are groups by time. Runs of neighbours are the same for a curve that only advances, and
/// they keep a curve whole that turns back.
pub fn line(places: &[Place]) -> Vec<Place> {
    let mut kept = Vec::new();
    for run in places.chunk_by(|left, right| left.0.floor() == right.0.floor()) {
        let by_height = |&a: &usize, &b: &usize| run[a].1.total_cmp(&run[b].1);
        let extremes = [(0..run.len()).min_by(by_height), (0..run.len()).max_by(by_height)];
        let mut indices: Vec<usize> = extremes.into_iter().flatten().chain([0, run.len() - 1]).collect();
        indices.sort_unstable();
        indices.dedup();
        kept.extend(indices.into_iter().map(|index| run[index]));
    }
    kept
}

/// The indices of the first point in each cell of `side` pixels, and of all points that `must_stay`.
pub fn points(places: &[Place], side: f64, must_stay: impl Fn(usize) -> bool) -> Vec<usize> {
    let mut cells = std::collections::HashSet::new();
    let cell = |place: Place| ((place.0 / side).floor() as i64, (place.1 / side).floor() as i64);
    (0..places.len()).filter(|&index| cells.insert(cell(places[index])) || must_stay(index)).collect()
}

/// The indices of bars, by their ends: of each run of neighbours in one column of pixels, the longest as measured from
/// `base`.
pub fn bars(ends: &[Place], base: f64) -> Vec<usize> {
    let column = |index: &usize| ends[*index].0.floor();
    let length = |index: &usize| (ends[*index].1 - base).abs();
    let indices: Vec<usize> = (0..ends.len()).collect();
    let runs = indices.chunk_by(|left, right| column(left) == column(right));
    runs.filter_map(|run| run.iter().copied().max_by(|a, b| length(a).total_cmp(&length(b)))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_keeps_the_extremes_of_each_column() {
        let noisy: Vec<Place> = (0..100_000).map(|n| (f64::from(n) / 200.0, f64::from(n * 7919 % 1009))).collect();
        let kept = line(&noisy);
        assert!(kept.len() <= 4 * 500, "{}", kept.len());
        let highest = |places: &[Place]| places.iter().map(|place| place.1).fold(0.0, f64::max);
        assert_eq!(highest(&kept), highest(&noisy));
        assert_eq!((kept.first(), kept.last()), (noisy.first(), noisy.last()));
    }

    #[test]
    fn a_sparse_line_is_kept_whole() {
        let sparse: Vec<Place> = (0..20).map(|n| (f64::from(n) * 10.0, f64::from(n % 3))).collect();
        assert_eq!(line(&sparse), sparse);
        assert!(line(&[]).is_empty());
    }

    #[test]
    fn of_bars_in_one_column_the_longest_is_kept() {
        let ends = [(1.0, 90.0), (1.5, 20.0), (1.9, 60.0), (2.0, 95.0)];
        assert_eq!(bars(&ends, 100.0), [1, 3]);
    }

    #[test]
    fn points_on_top_of_each_other_are_drawn_once() {
        let places = [(1.0, 1.0), (1.2, 1.1), (5.0, 1.0), (1.1, 1.0)];
        assert_eq!(points(&places, 2.0, |_| false), [0, 2]);
        assert_eq!(points(&places, 2.0, |index| index == 3), [0, 2, 3]);
    }
}
