//! Tests of the history: what is stored is restored, whatever happens to the process, the disk or the clock.

mod durable;
mod follows;
mod machine;
mod measures;
mod opens;
pub(crate) mod round_trip;
pub(crate) mod samples;
