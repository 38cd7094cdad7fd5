//! Scrubjay's pure machines.
pub mod machine;
pub mod tour;
pub mod units;
pub mod verdict;
