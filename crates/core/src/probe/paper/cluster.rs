//! Clusters of times: two of them, or as many as there are. The result is exact, because times lie on a line.
//!
//! On a line the best two clusters are the values below and above one cut, so every cut is tried, and nothing depends
//! on where a search begins. Denehy et al. 2004 mention a variant of x-means (Pelleg & Moore, ICML 2000) without
//! describing it; this one cuts again and again as long as the Bayesian information criterion rises.

/// An assignment of values to clusters.
#[derive(Clone, Debug, PartialEq)]
pub struct Clusters {
    /// The cluster of each value, in their order.
    pub labels: Vec<usize>,
    /// The mean of each cluster, rising.
    pub means: Vec<f64>,
}

/// The spread of the times in one cluster, in logarithms: 3 %, somewhat more than that of the means of a few trials. It
/// is given and not estimated, because the slowest cluster is two or three points above a broad bulk, and a common
/// estimate would be the bulk's spread.
const LOG_SPREAD: f64 = 0.03;

/// The parameters that a cut adds, a mean and a share; each costs half the logarithm of the count on the criterion's scale.
const CUT_PARAMETERS: f64 = 2.0;

impl Clusters {
    /// The indices of the values in one cluster.
    pub fn members(&self, cluster: usize) -> impl Iterator<Item = usize> + '_ {
        self.labels.iter().enumerate().filter(move |&(_, &label)| label == cluster).map(|(index, _)| index)
    }

    /// How clearly a value belongs to its cluster and not to the next one: 1 for one at the mean, 0 for one half-way,
    /// below 0 for one that is nearer to another cluster. (The simplified silhouette: distances to means, not to all
    /// other values.) With a single cluster it is 1.
    pub fn silhouette(&self, index: usize, value: f64) -> f64 {
        let own = (value - self.means[self.labels[index]]).abs();
        let others = self.means.iter().enumerate().filter(|&(label, _)| label != self.labels[index]);
        let next = others.map(|(_, mean)| (value - mean).abs()).fold(f64::INFINITY, f64::min);
        if own.max(next) == 0.0 || next.is_infinite() { 1.0 } else { (next - own) / own.max(next) }
    }

    /// The mean silhouette of these values.
    pub fn silhouette_mean(&self, values: &[f64], indices: impl Iterator<Item = usize>) -> f64 {
        let (sum, count) =
            indices.fold((0.0, 0), |(sum, count), index| (sum + self.silhouette(index, values[index]), count + 1));
        sum / f64::from(count.max(1))
    }

    /// Makes clusters of runs of the sorted values, given the ends of the runs.
    fn of_runs(values: &[f64], order: &[usize], ends: &[usize]) -> Clusters {
        let (mut labels, mut means, mut start) = (vec![0; values.len()], Vec::new(), 0);
        for (label, &end) in ends.iter().enumerate() {
            let run = &order[start..end];
            run.iter().for_each(|&index| labels[index] = label);
            means.push(run.iter().map(|&index| values[index]).sum::<f64>() / run.len().max(1) as f64);
            start = end;
        }
        Clusters { labels, means }
    }
}

/// The two clusters with the least squared distance to their means (k-means, k = 2); one cluster, if all values are equal.
pub fn two(values: &[f64]) -> Clusters {
    let order = sorted(values);
    let run: Vec<f64> = order.iter().map(|&index| values[index]).collect();
    let ends = cut(&run).map_or(vec![run.len()], |cut| vec![cut.at, run.len()]);
    Clusters::of_runs(values, &order, &ends)
}

/// Clusters of the logarithms of the values, as many as the criterion finds.
///
/// # Panics
/// When a value is zero or below.
pub fn by_criterion(values: &[f64]) -> Clusters {
    assert!(values.iter().all(|&value| value > 0.0), "times are above zero");
    let order = sorted(values);
    let logs: Vec<f64> = order.iter().map(|&index| values[index].ln()).collect();
    let mut ends = Vec::new();
    part(&logs, 0, &mut ends);
    Clusters::of_runs(values, &order, &ends)
}

/// The greatest common divisor; 0 if there are no values.
pub fn gcd(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, |mut a, mut b| {
        while b > 0 {
            (a, b) = (b, a % b);
        }
        a
    })
}

fn sorted(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    order
}

/// The best cut of a sorted run, and the sums of squared distances before and after.
struct Cut {
    at: usize,
    whole: f64,
    parts: f64,
}

fn cut(run: &[f64]) -> Option<Cut> {
    // Relative to the middle, so that squares of large times lose no digits.
    let middle = run.get(run.len() / 2)?;
    let squares = |sum: f64, squares: f64, count: usize| (squares - sum * sum / count as f64).max(0.0);
    let (all, all_squares) = run.iter().map(|value| value - middle).fold((0.0, 0.0), |(s, q), v| (s + v, q + v * v));
    let (mut below, mut below_squares, mut best) = (0.0, 0.0, None::<Cut>);
    let whole = squares(all, all_squares, run.len());
    for at in 1..run.len() {
        let value = run[at - 1] - middle;
        (below, below_squares) = (below + value, below_squares + value * value);
        let above = squares(all - below, all_squares - below_squares, run.len() - at);
        let parts = squares(below, below_squares, at) + above;
        if run[at - 1] < run[at] && best.as_ref().is_none_or(|best| parts < best.parts) {
            best = Some(Cut { at, whole, parts });
        }
    }
    best
}

/// Cuts a run, and its parts again, where the gain exceeds the cost; appends the ends of the parts, in order.
fn part(run: &[f64], start: usize, ends: &mut Vec<usize>) {
    match cut(run).filter(|cut| raises_criterion(cut, run.len())) {
        Some(Cut { at, .. }) => {
            part(&run[..at], start, ends);
            part(&run[at..], start + at, ends);
        }
        None => ends.push(start + run.len()),
    }
}

/// Whether the cut raises the criterion. (Pelleg & Moore 2000, section 3.2: Gaussian clusters of one spread, here a given one.)
fn raises_criterion(cut: &Cut, count: usize) -> bool {
    let share = |part: usize| part as f64 * (part as f64 / count as f64).ln();
    let gained = (cut.whole - cut.parts) / (2.0 * LOG_SPREAD * LOG_SPREAD) + share(cut.at) + share(count - cut.at);
    gained > CUT_PARAMETERS / 2.0 * (count as f64).ln()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use proptest::prelude::*;

    #[test]
    fn the_divisor_of_all_is_found() {
        assert_eq!([gcd([]), gcd([12]), gcd([12, 18]), gcd([240, 480, 720]), gcd([48, 96, 100])], [0, 12, 6, 240, 4]);
    }

    #[test]
    fn two_levels_are_two_clusters_in_the_order_of_the_values() {
        let found = two(&[2.0, 1.0, 2.1, 0.9, 2.0, 2.05]);
        assert_eq!(found.labels, [1, 0, 1, 0, 1, 1]);
        assert!((found.means[0] - 0.95).abs() < 1e-12 && (found.means[1] - 2.0375).abs() < 1e-12);
        assert_eq!(two(&[3.0, 3.0]).labels, [0, 0], "nothing to be told apart");
        assert_eq!(two(&[]).means.len(), 1);
    }

    #[test]
    fn a_chained_matrix_is_cut_above_its_middle_level() {
        // Six chunks: 6 pairs on two disks, 6 on three, 9 on four.
        let values: Vec<f64> = [(6, 1.0), (6, 2.0 / 3.0), (9, 0.5)].iter().flat_map(|&(n, v)| vec![v; n]).collect();
        assert_eq!(two(&values).labels.iter().sum::<usize>(), 6);
        assert_eq!(by_criterion(&values).means.len(), 3);
    }

    #[test]
    fn few_at_the_top_are_found_above_a_broad_bulk() {
        let mut rng = Rng::new(1);
        for count in [20, 60, 120] {
            let mut values: Vec<f64> = (0..count).map(|_| 0.5 + 0.25 * rng.uniform()).collect();
            values.extend([1.0, 1.01]);
            let found = by_criterion(&values);
            let top: Vec<usize> = found.members(found.means.len() - 1).collect();
            assert_eq!(top, [count, count + 1], "{:?}", found.means);
        }
    }

    #[test]
    fn noise_alone_is_one_cluster() {
        let mut rng = Rng::new(2);
        let values: Vec<f64> = (0..200).map(|_| 1.0 + 0.04 * (rng.uniform() - 0.5)).collect();
        assert_eq!(by_criterion(&values).means.len(), 1);
    }

    #[test]
    fn a_silhouette_measures_how_clearly_a_value_belongs_to_its_cluster() {
        let found = two(&[1.0, 1.0, 3.0, 3.0]);
        assert_eq!([found.silhouette(0, 1.0), found.silhouette(0, 2.0)], [1.0, 0.0]);
        assert_eq!(found.silhouette_mean(&[1.0, 1.0, 3.0, 3.0], 0..4), 1.0);
    }

    proptest! {
        /// All assignments of labels are tried: none is better than the cut.
        #[test]
        fn two_is_exact(values in proptest::collection::vec(0.0f64..10.0, 2..9)) {
            let squares = |labels: &dyn Fn(usize) -> usize| -> f64 {
                (0..2).map(|label| {
                    let of: Vec<f64> = (0..values.len()).filter(|&i| labels(i) == label).map(|i| values[i]).collect();
                    let mean = of.iter().sum::<f64>() / of.len().max(1) as f64;
                    of.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
                }).sum()
            };
            let found = two(&values);
            let best = (0..1usize << values.len()).map(|bits| squares(&|i| bits >> i & 1)).fold(f64::INFINITY, f64::min);
            prop_assert!(squares(&|i| found.labels[i]) <= best + 1e-9);
        }
    }
}
