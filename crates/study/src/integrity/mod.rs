//! The study of integrity protection: the cost of finding silent corruption in disk I/Os, and which scheme to choose.
//! Li & Lee, "Integrity Protection for RAID" (MSST 2014), compared with Scrubjay's scheme `stamp`.
//!
//! | of the paper | here | exhibit |
//! |---|---|---|
//! | Table I: what is detected, on rows | `holes`, of [`scrubjay_sim::model`] | `integrity-table1`, `integrity-schemes` |
//! | the same, on the volume | [`volume_table`] | `integrity-volume` |
//! | Table II: additional disk I/Os by case | [`table2`] | `integrity-table2` |
//! | Figure 6: by the number of chunks touched | `figure6` | `integrity-writes-*`, `integrity-reads-*` |
//! | Figure 7: how fast a stripe is encoded | measured and drawn by the caller | `integrity-speed-*` |
//! | Figure 8: on twelve workloads | [`IntegrityCase`] | `integrity-workloads-*` |
//! | section VII-C: the right choice in 36 cases | [`IntegrityCase`] | `integrity-chooser` |
//! | not in it: states of small stripes, and two holes | `holes`, of [`scrubjay_sim::model`] | `integrity-states`, `integrity-hole-*` |

mod cases;
mod figure6;
mod holes;
mod kinds;
mod page;
mod rig;
pub mod table2;
#[cfg(test)]
mod tests;
pub mod volume_table;

pub use cases::{CHUNKS, IntegrityCase, RAID6};
pub use page::page;
