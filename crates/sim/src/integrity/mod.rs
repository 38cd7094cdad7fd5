//! Counting the disk I/Os of an array, bare and under every scheme of integrity protection, from its users' requests.
//!
//! Li & Lee 2014, section VII-B. Nothing is simulated but the numbers: which chunks a request touches, which plan follows
//! (`core::volume::plan`), and what was read since it was written (`core::volume::read_status`).
//!
//! ```text
//! a trace, or table3::Workload -> Counter -> a Tally for each scheme
//! ```

mod cost;
mod counter;
pub mod table3;

pub use counter::{Accounting, Counter, IoTally, RequestCounts};
