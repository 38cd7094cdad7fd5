//! A modelled machine with its disks, people and mail servers, through years of virtual time, under the shipped watch.
//!
//! ```text
//! setup::HostSetup (a seed) --> run::ModelledHost -- events --> scrubjay_watch::Watch
//!    disk::HostDisk: load by the hour, bad sectors, deaths      <-- ops --
//!    people who accept, pause, replace; servers that are down; power; clocks; kill -9 between any two operations
//!                          +--> fact::HostFact --> an observer: an oracle, or a table for a user
//! ```
//!
//! Everything that happens is drawn from the seed alone. The watch receives events in the host's time, which may be
//! wrong; the observer receives facts in true time.

pub mod calendar;
pub mod disk;
pub mod fact;
mod fate;
mod life;
mod odd;
mod people;
pub mod run;
mod sessions;
pub mod setup;
pub mod table;
