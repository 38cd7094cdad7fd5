//! The benchmark of a disk: a machine that measures how fast it answers, and the verdict on the figures.
//!
//! ```text
//! BenchPlan -> DiskBench -- BenchRequest --> pump (device) --> disk
//!                 ^------------ BenchEnd -----+
//!              StepFigures by step, ZoneFigures by place -> verdict
//! ```
//!
//! IOPS mean nothing without the latency at which they were reached ("Understanding Storage Performance: IOPS and
//! Latency", 2020): no figure is given here without the other.

pub mod class;
pub mod compare;
pub mod intermediary;
pub mod machine;
pub mod permutation;
pub mod plan;
pub mod step_result;
pub mod verdict;
pub mod verifying;
pub mod words;

#[cfg(test)]
mod tests;
