//! Years of modelled hosts under the watch that ships, by seed, and an oracle that shares no code with it.
//!
//! ```text
//! a seed --> sim::host::setup::HostSetup::storm --> sim::host::run::ModelledHost (the watch inside)
//!                                                       +-- HostFact --> oracle::YearOracle: what is against the promises
//! ```
//!
//! # What the oracle accepts
//! - Every sector of every disk that can be seen is read within the date, or a message said a week before that it would not be.
//!   Where the machine was off when it should have said so: within an hour of being on.
//! - One member of an array is read at a time.
//! - Each incident is told when it opens, in each channel once; then reminders after 1, 2, 4, 8, 16, 32 days, neither earlier nor
//!   left out, and none once a person accepted it; when it grows, and when it is over. Disks that are missing or have shown
//!   something, and arrays that are degraded, are told within a day or two.
//! - Nothing is told without a cause in the model.
//! - A disk is called ok only if its SMART data were read within 26 hours, and nothing lasting speaks against it; "all sectors read"
//!   is green only if they were.
//! - Every message that was written arrives, or waits; none arrives twice but marked.
//! - Of forecasts 70 to 90 in a hundred hold, over all seeds.
//!
//! What clocks that were wrong add or take away is allowed for: by as much as they jumped meanwhile.

pub mod oracle;
mod reading;
mod thread;

use oracle::{YearOracle, YearOutcome};
use scrubjay_sim::host::run::ModelledHost;
use scrubjay_sim::host::setup::HostSetup;

/// Runs a host, and asks the oracle.
pub fn run(setup: HostSetup) -> YearOutcome {
    let mut oracle = YearOracle::new(setup.settings.every);
    let summary = ModelledHost::run(setup, &mut oracle);
    oracle.outcome(summary)
}
