//! How fast a disk answers: a machine that measures it, and what its figures say.
//!
//! ```text
//! BenchPlan -> DiskBench -- BenchRequest --> pump (device) --> disk
//!                 ^------------ BenchEnd -----+
//!              StepFigures by step, ZoneFigures by place -> verdict
//! ```
//!
//! IOPS say nothing without the latency at which they were had ("Understanding Storage Performance: IOPS and Latency", 2020):
//! no figure here comes without the other.

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
