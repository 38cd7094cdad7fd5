//! The study of scrubbing: figures 14 and 15 and Table III of Amvrosiadis, Oprea & Schroeder (DSN'12, V-B to V-D) for any
//! traces, the shipped `budget` beside them, and which of the paper's claims hold.
//!
//! [`study`] reckons one trace, without threads; [`page`] says what was found of some:
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
