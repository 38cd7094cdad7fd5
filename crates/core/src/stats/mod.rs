//! Statistics of durations and of series: pure functions, and accumulators that do not keep the values.

mod acd;
mod auto_regression;
mod correlation;
mod histogram;
mod lorenz;
mod moments;
mod nelder_mead;
mod scale;
mod variance;

pub use acd::Acd;
pub use auto_regression::{AutoRegression, RunningAutocovariance, order_max};
pub use correlation::autocorrelation;
pub use histogram::{Cell, DurationHistogram, Survival};
pub use lorenz::held_by_largest;
pub use moments::Moments;
pub use scale::OctaveScale;
pub use variance::{Variance, variance_by_phase};
