//! Scrubjay's pure machines.
pub mod machine;
pub mod units;
pub mod verdict;
