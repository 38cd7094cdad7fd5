//! Years of modelled hosts under the shipped watch, by seed, judged by an oracle that shares no code with the watch.
//!
//! ```text
//! a seed --> sim::host::setup::HostSetup::storm --> sim::host::run::ModelledHost (the watch inside)
//!                                                       +-- HostFact --> oracle::YearOracle: what is against the promises
//! ```
//!
//! # What the oracle accepts
//! - Every sector of every disk that can be seen is read within the date, or a message warned a week before that it
//!   would not be. Where the machine was off when the warning was due, it comes within an hour of being on.
//! - One member of an array is read at a time, and no more disks behind a controller than the settings allow. No disk is
//!   read outside of its hours (by the host's clock, the only one that a host has; not judged within a day of a
//!   daylight-saving change), in a person's pause (a clock that is set back into a pause that was over begins it once
//!   more), or while its array is not idle and whole. A reading under way when such a time begins may go on for an hour.
//! - Each incident is reported once in each channel when it opens; then come reminders after 1, 2, 4, 8, 16, 32 days,
//!   neither early nor left out, and none once a person accepted it; then a message when it grows, and one when it is
//!   over. Missing disks, disks with lasting evidence against them, and degraded arrays are reported within a day or two.
//! - One thing makes at most 3 messages a day and 12 in 30 days by each channel, however it comes and goes; from 8 in 30 days on,
//!   or 2 in a day, reminders may wait. Sectors that are not read because an array is degraded are that incident's, and need no
//!   warning of their own until fourteen days after it is whole; nor does a disk that it lacks need a message of its own.
//! - When a second fault makes an incident graver (the last member that may fail is lost; a disk with a bad cable shows bad
//!   sectors), that is reported within a day, unless a person accepted it since. So are stripes in which unreadable sectors
//!   of two members meet, and channels that no person confirmed, or that accept nothing; of these, the first day is borne.
//!   The loss of the history, and recipients that a server refuses, are reported within a day, by every channel.
//! - That a pool of ZFS was not scrubbed whole for a week longer than disks may be unread is reported within a day, unless a scrub or a
//!   resilver is under way; no member is read beside one.
//! - A suspend explains the time that it took: the clock is not doubted for it.
//! - Nothing is reported without a cause in the model. The watch learns that a channel accepts messages again when it
//!   next tries it.
//! - A disk is called ok only if its SMART data were read within 26 hours (one hour of slack), and nothing lasting has
//!   spoken against it for a day. "All sectors read" is green only if they were. "Redundancy" is not green while an
//!   array has lacked a member for an hour, or had a bad stripe for a day; "Alerts" is not while a channel has been
//!   unproven or refused messages for a day, or a message is late.
//! - The heartbeat comes once a day while the watch runs; one that was due when the watch was killed comes a day later.
//! - A monthly report comes by each channel that was there before.
//! - Every message that was written arrives, or waits; none arrives twice unmarked. It arrives within five hours of
//!   when its channel begins to accept messages, and goes on to (a refused attempt restarts this time); a notice may
//!   wait a day more for quiet hours to end. No notice arrives in quiet hours. A message about lost members, bad
//!   stripes or missing disks is no notice, whatever it calls itself.
//! - Of all forecasts, over all seeds, 70 to 90 in a hundred hold.
//!
//! Omissions (all but the first two items) are judged at noon of every day by a true clock, if the watch runs then, and
//! not only when the watch reports. All limits are extended by as much as wrong clocks jumped meanwhile.

mod array;
mod causes;
mod lights;
mod mail;
pub mod oracle;
mod reading;
mod rules;
mod thread;

use oracle::{YearOracle, YearOutcome};
use scrubjay_sim::host::run::ModelledHost;
use scrubjay_sim::host::setup::HostSetup;

/// Runs a host under the watch, and returns what the oracle found.
pub fn run(setup: HostSetup) -> YearOutcome {
    let mut oracle = YearOracle::new(&setup);
    let summary = ModelledHost::run(setup, &mut oracle);
    oracle.outcome(summary)
}
