//! The downhill simplex (Nelder & Mead, "A simplex method for function minimization", The Computer Journal 7(4), 1965).

/// The factors of reflection, expansion, contraction and shrinkage: the paper's section 3.
const REFLECT: f64 = 1.0;
const EXPAND: f64 = 2.0;
const CONTRACT: f64 = 0.5;
const SHRINK: f64 = 0.5;

/// A corner of the simplex: a point, and the function's value there.
type Corner<const N: usize> = ([f64; N], f64);

/// Searches a local minimum of `value` from `start` on, with first steps of `step` along each axis. Returns the best
/// point found and its value.
///
/// The search stops when the corners of the simplex differ by at most `tolerance` in value and by at most its square root in each
/// coordinate, or after `calls_max` calls (a step that has begun is finished: up to N + 1 more). Infinity marks forbidden points.
pub(super) fn minimize<const N: usize>(
    mut value: impl FnMut(&[f64; N]) -> f64,
    start: [f64; N],
    step: f64,
    tolerance: f64,
    calls_max: usize,
) -> Corner<N> {
    let mut calls = 0;
    let mut at = |place: [f64; N]| {
        calls += 1;
        let value = value(&place);
        ((place, if value.is_nan() { f64::INFINITY } else { value }), calls < calls_max)
    };
    let mut corners = vec![at(start).0];
    for axis in 0..N {
        let mut place = start;
        place[axis] += step;
        corners.push(at(place).0);
    }
    loop {
        corners.sort_by(|a, b| a.1.total_cmp(&b.1));
        if has_converged(&corners, tolerance) {
            return corners[0];
        }
        let (best, second_worst, worst) = (corners[0], corners[N - 1], corners[N]);
        let centre = centre(&corners[..N]);
        let (reflected, mut may_continue) = at(point_along(&centre, &worst.0, -REFLECT));
        if reflected.1 < best.1 {
            let expanded = at(point_along(&centre, &worst.0, -EXPAND)).0;
            corners[N] = if expanded.1 < reflected.1 { expanded } else { reflected };
        } else if reflected.1 < second_worst.1 {
            corners[N] = reflected;
        } else {
            let towards = if reflected.1 < worst.1 { reflected } else { worst };
            let contracted = at(point_along(&centre, &towards.0, CONTRACT)).0;
            if contracted.1 < towards.1 {
                corners[N] = contracted;
            } else {
                for corner in &mut corners[1..] {
                    (*corner, may_continue) = at(point_along(&best.0, &corner.0, SHRINK));
                }
            }
        }
        if !may_continue {
            return corners.into_iter().min_by(|a, b| a.1.total_cmp(&b.1)).expect("a simplex has corners");
        }
    }
}

/// Whether the corners, best first, are so close together that the search may end.
fn has_converged<const N: usize>(corners: &[Corner<N>], tolerance: f64) -> bool {
    let (best, worst) = (corners[0], corners[N]);
    let distance = |corner: &Corner<N>| best.0.iter().zip(&corner.0).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    worst.1 - best.1 <= tolerance && corners.iter().map(distance).fold(0.0, f64::max) <= tolerance.sqrt()
}

/// The centroid of some corners.
fn centre<const N: usize>(corners: &[Corner<N>]) -> [f64; N] {
    std::array::from_fn(|axis| corners.iter().map(|corner| corner.0[axis]).sum::<f64>() / corners.len() as f64)
}

/// The point `share` of the way from `from` to `to`; on the far side of `from` when negative.
fn point_along<const N: usize>(from: &[f64; N], to: &[f64; N], share: f64) -> [f64; N] {
    std::array::from_fn(|axis| from[axis] + share * (to[axis] - from[axis]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_end_of_rosenbrocks_valley() {
        let valley = |p: &[f64; 2]| 100.0 * (p[1] - p[0] * p[0]).powi(2) + (1.0 - p[0]).powi(2);
        let (place, value) = minimize(valley, [-1.2, 1.0], 0.5, 1e-14, 1000);
        assert!(value < 1e-12 && (place[0] - 1.0).abs() < 1e-6 && (place[1] - 1.0).abs() < 1e-6, "{place:?} {value}");
    }

    #[test]
    fn forbidden_points_are_avoided() {
        let value = |p: &[f64; 3]| if p[0] < 0.5 { f64::NAN } else { p.iter().map(|x| x * x).sum() };
        let (place, _) = minimize(value, [2.0, 2.0, 2.0], 0.5, 1e-12, 2000);
        assert!((place[0] - 0.5).abs() < 1e-3 && place[1].abs() < 1e-2 && place[2].abs() < 1e-2, "{place:?}");
    }

    #[test]
    fn the_search_stops_after_the_allowed_calls() {
        let mut calls = 0;
        let (_, value) = minimize(
            |p: &[f64; 2]| {
                calls += 1;
                p[0] + p[1]
            },
            [0.0, 0.0],
            1.0,
            1e-12,
            50,
        );
        assert!(value < -50.0 && calls <= 53, "downhill for ever: {value} after {calls}");
    }
}
