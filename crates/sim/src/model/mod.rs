//! The exhaustive check of one stripe: every state that a small stripe can reach, and whether any read is ever wrong.
//!
//! Contents are numbers and serve as their own checksums, so that the shipped code (`core::volume::plan`,
//! `core::volume::integrity`) decides about stripes of which everything is known. Krioukov et al. (FAST'08) checked
//! RAID protections in this way for one error; here there may be any number of operations, with one silently corrupt
//! row at a time and up to m - 1 other members missing. States that differ in names only are treated as one, which
//! leaves so few that all can be visited.
//!
//! ```text
//! setup (what is checked) -> search: states, breadth first -> SearchOutcome: how many, and the shortest way to a wrong answer
//!                              step: what can happen -> operate: plan, read, repair, write -> disks: what goes wrong
//!                                                       sight: rows -> evidence -> core's judge
//! crash: every way in which writes can be cut off -> core's reconcile     table_one: real rows, broken in seven ways
//! ```

mod crash;
mod describe;
mod disks;
mod operate;
mod repair;
mod search;
mod setup;
mod sight;
mod step;
mod stripe;
mod table_one;

pub use crash::{Crashes, crash};
pub use describe::{StoryPlan, StoryStep};
pub use search::{SearchOutcome, check};
pub use setup::{DATA_MAX, Increment, Lists, ModelSetup, PARITY_MAX};
pub use table_one::{Primitive, SchemeFinding, SchemeRow, SilentCorruption, TableOne, table_one};
