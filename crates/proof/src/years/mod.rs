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
//! - One member of an array is read at a time, and no more disks behind a controller than the settings say; none outside of its hours
//!   (by the host's clock, as that is all a host has; not judged within a day of one that is put forward or back), in a person's
//!   pause (a clock that is set back into one that was over begins it once more), or while its array is not idle and whole. What goes
//!   on when that begins may go on for an hour.
//! - Each incident is told when it opens, in each channel once; then reminders after 1, 2, 4, 8, 16, 32 days, neither earlier nor
//!   left out, and none once a person accepted it; when it grows, and when it is over. Disks that are missing or have shown
//!   something, and arrays that are degraded, are told within a day or two.
//! - When a second thing makes something graver (the last member that may fail is lost; a disk with a bad cable shows bad sectors),
//!   that is told within a day, unless a person accepted it since. So are stripes in which sectors of two members meet, and ways for
//!   messages that nobody confirmed, or that accept nothing, each after the day for which it is borne.
//! - Nothing is told without a cause in the model. That a channel accepts messages again is known when it is tried next.
//! - A disk is called ok only if its SMART data were read within 26 hours, and nothing lasting speaks against it; "all sectors read"
//!   is green only if they were. "Redundancy" is not while an array has lost a member for an hour, or has a bad stripe for a day;
//!   "Alerts" is not while a way is unproven or accepts nothing for a day, or a message is late.
//! - The heartbeat comes once a day while the watch runs; one that was to come when it was killed, a day later.
//! - A report comes each month by each channel that was there before.
//! - Every message that was written arrives, or waits; none arrives twice but marked. It arrives within five hours of when its channel
//!   accepts messages and goes on to (a server that refuses one begins anew); of quiet hours a day later, if it is a notice. What tells
//!   of lost members, bad stripes or missing disks is none, whatever the message says. No other notice arrives in quiet hours.
//! - Of forecasts 70 to 90 in a hundred hold, over all seeds.
//!
//! All but the first two is judged at noon of every day by a true clock, at which the watch runs: not when the watch says so.
//! What clocks that were wrong add or take away is allowed for: by as much as they jumped meanwhile.

mod array;
mod lights;
mod mail;
pub mod oracle;
mod reading;
mod rules;
mod thread;

use oracle::{YearOracle, YearOutcome};
use scrubjay_sim::host::run::ModelledHost;
use scrubjay_sim::host::setup::HostSetup;

/// Runs a host, and asks the oracle.
pub fn run(setup: HostSetup) -> YearOutcome {
    let mut oracle = YearOracle::new(&setup);
    let summary = ModelledHost::run(setup, &mut oracle);
    oracle.outcome(summary)
}
