//! The study of scrubbing on any traces: which of the paper's claims hold, and how the shipped `budget` compares.
//!
//! The paper: figures 14 and 15 and Table III of Amvrosiadis, Oprea & Schroeder (DSN'12, V-B to V-D).
//!
//! [`study`] computes the findings on one trace, without threads; [`page`] presents those on several:
//!
//! ```text
//! study(name: &str, periods: &Periods, disk: ServiceModel, goals: &[Goal], step: &dyn Fn(u64)) -> ScrubFindings
//! page(findings: &[ScrubFindings]) -> chart::Page
//! ```

mod findings;
mod goals;
mod ladder;
mod page;
mod predictors;
mod ranking;
mod sizes;
#[cfg(test)]
mod tests;

pub use findings::{GOALS, ScrubFindings, steps, study};
pub use goals::ReachedGoal;
pub use page::page;
pub use predictors::Predictors;
pub use ranking::Ranking;
pub use sizes::{Adapted, Figure15, GrowthApproach};
