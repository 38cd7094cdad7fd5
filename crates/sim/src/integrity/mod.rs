//! Counts the disk I/Os of an array, bare and under every scheme of integrity protection, from its users' requests.
//!
//! Li & Lee 2014, section VII-B. Only numbers are simulated: which chunks a request touches, which plan follows
//! (`core::volume::plan`), and which chunks were read since they were written (`core::volume::request::read_status`).
//!
//! ```text
//! a trace, or table3::Workload -> Counter -> an IoTally for each scheme
//! ```

mod cost;
mod counter;
pub mod table3;

pub use counter::{Accounting, Counter, IoTally, RequestCounts};
