//! The exhaustive check of one stripe: every state that a small stripe can get into, and whether any read is ever wrong.

mod crash;
mod disks;
mod operate;
mod repair;
mod search;
mod setup;
mod sight;
mod step;
mod stripe;
mod tell;

pub use crash::{Crashes, crash};
pub use search::{Outcome, check};
pub use setup::{DATA_MAX, Increment, Lists, PARITY_MAX, Setup};
