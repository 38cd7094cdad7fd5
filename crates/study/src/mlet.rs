//! Mean latent error time: how long an error stays unknown, by scan order, region and segment.
//!
//! No disk is simulated. The tour repeats at an even pace, an error appears at a random moment of it, and its delay
//! follows from its place in the tour: `(visit - phase) mod 1`, in units of the tour's period T. The first error found
//! *escalates*: the rest of its region is verified at once, and the errors there are found at that moment.
//!
//! The figure is the mean over disks, each with one cluster, of the mean delay of the disk's errors. (A mean over all
//! errors would be that of the few disks with a thousand errors.) On 1 TB, 400 000 disks, standard error 0.0004:
//!
//! | order, region (segment) | nearline: region | and neighbours | enterprise: region | and neighbours |
//! |---|---|---|---|---|
//! | sequential | 0.499 | 0.499 | 0.500 | 0.500 |
//! | staggered, 128 MiB (64 KiB) | 0.419 | 0.391 | 0.392 | 0.361 |
//! | staggered, 128 MiB (1 MiB) | 0.419 | 0.391 | 0.392 | 0.361 |
//! | staggered, 128 MiB (8 MiB) | 0.420 | 0.392 | 0.394 | 0.363 |
//! | staggered, 128 MiB (32 MiB) | 0.431 | 0.403 | 0.410 | 0.379 |
//! | staggered, 128 MiB (64 MiB) | 0.452 | 0.428 | 0.437 | 0.411 |
//! | staggered, 1 GiB (1 MiB) | 0.470 | 0.467 | 0.460 | 0.456 |
//! | staggered, 7.8 GB, which is 128 regions (64 KiB) | 0.491 | 0.485 | 0.485 | 0.473 |
//!
//! Published (Schroeder, Damouras & Gill, FAST'10, 128 MB): 10-20 % earlier than sequential, all segments from 1 KB to
//! 32 MB alike, half of the gain lost at 64 MB. Clusters of up to 10 000 errors instead of 1000 change less than 0.001.
//!
//! **Invariant:** order alone gains nothing: without escalation every order gives T/2. All gain comes from clusters
//! with several errors in different segments of one region: the earliest of k visits is at T/(k+1).

mod driven;
mod pace;
mod page;
mod sample;
mod sweep;

pub use driven::Driven;
pub use pace::Pace;
pub use page::page;
pub use sample::{EscalationScope, Mlet, delays, visit};
pub use sweep::{ScanCase, Sweep, SweepSetup};
