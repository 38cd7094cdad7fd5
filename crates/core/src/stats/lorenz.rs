//! The Lorenz curve: the share of a total that its largest parts hold.

/// The shares (0..=1) of the sum of `ascending` that its largest `shares` (each 0..=1) hold; zeros when the sum is
/// zero. Where a share ends within a value, that part of the value counts.
///
/// (M. O. Lorenz, "Methods of measuring the concentration of wealth", 1905, reversed: the largest first.)
///
/// # Panics
/// When `shares` do not ascend within 0..=1.
pub fn held_by_largest(ascending: &[f64], shares: &[f64]) -> Vec<f64> {
    let total: f64 = ascending.iter().sum();
    let (mut largest, mut taken, mut held) = (ascending.iter().rev(), 0.0, 0.0);
    let (mut next, mut last) = (largest.next(), 0.0);
    let mut curve = Vec::with_capacity(shares.len());
    for &share in shares {
        assert!((last..=1.0).contains(&share), "shares ascend within 0..=1");
        last = share;
        let wanted = share * ascending.len() as f64;
        while let Some(&value) = next.filter(|_| taken + 1.0 <= wanted) {
            (taken, held, next) = (taken + 1.0, held + value, largest.next());
        }
        let part = next.map_or(0.0, |&value| value * (wanted - taken));
        curve.push(if total > 0.0 { ((held + part) / total).min(1.0) } else { 0.0 });
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_values_by_hand() {
        let shares = [0.0, 0.125, 0.25, 0.5, 0.75, 1.0];
        assert_eq!(held_by_largest(&[1.0, 2.0, 3.0, 4.0], &shares), [0.0, 0.2, 0.4, 0.7, 0.9, 1.0]);
        assert_eq!(held_by_largest(&[5.0; 3], &[0.5]), [0.5]);
        assert_eq!(held_by_largest(&[], &[0.0, 1.0]), [0.0, 0.0]);
    }

    /// Pareto distribution of shape a: the largest y hold y^(1 - 1/a).
    #[test]
    fn a_pareto_law_at_its_quantiles() {
        let (count, shape) = (100_000, 2.0f64);
        let ascending: Vec<f64> =
            (0..count).map(|i| (1.0 - (f64::from(i) + 0.5) / f64::from(count)).powf(-1.0 / shape)).collect();
        let held = held_by_largest(&ascending, &[0.15, 0.5]);
        for (reached, share) in held.into_iter().zip([0.15f64, 0.5]) {
            assert!((reached - share.powf(1.0 - 1.0 / shape)).abs() < 0.002, "{share}: {reached}");
        }
    }
}
