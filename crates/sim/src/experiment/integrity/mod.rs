//! The study of integrity protection: what finding silent corruption costs an array in disk I/Os, and which scheme to
//! choose. Li & Lee, "Integrity Protection for RAID" (MSST 2014), and the scheme `stamp` beside theirs.
//!
//! | of the paper | here | exhibit |
//! |---|---|---|
//! | Table II: additional disk I/Os by case | [`table2`] | `integrity-table2` |
//! | Figure 6: by the number of chunks touched | `figure6` | `integrity-writes-*`, `integrity-reads-*` |
//! | Figure 8: on twelve workloads | [`Case`] | `integrity-workloads-*` |
//! | section VII-C: the right choice in 36 cases | [`Case`] | `integrity-chooser` |
//!
//! What else there is to a page of it, the speed of the codes and what is found, has its place in `page`.

mod cases;
mod figure6;
mod holes;
mod page;
mod rig;
pub mod speed;
pub mod table2;
#[cfg(test)]
mod tests;
pub mod volume_table;

pub use cases::{CHUNKS, Case, RAID6};
pub use page::page;
