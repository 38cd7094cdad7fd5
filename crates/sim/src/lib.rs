//! Virtual time: the machines that ship, run on modelled disks among modelled users.
//!
//! **Never:** real I/O, a clock, a thread, unseeded chance. The same seed gives the same run, to the nanosecond, on
//! every machine.
//!
//! ```text
//! workload (or a recorded list) -> ForegroundRequest --+
//! lse -> bad sectors -> disk::SimulatedDisk - pump::SimulatedPump <-> any Machine        what happens, and what it costs
//!                                            |  +-> RunReport (exact slowdown) and Recording
//! a recording's text -> replay::replay --------+-> any Machine                   what it would have done
//! ```
//!
//! The shipped scrubber, waiting for 50 ms of idleness, on the paper's disk with one bad sector, among foreground requests:
//!
//! ```
//! use scrubjay_core::scrub::{Config, Pass, Scrub, coverage::Coverage, idle::{IntervalAdapter, Waiting}, disk_server::*, tour::*};
//! use scrubjay_core::{rng::Rng, units::*};
//! use scrubjay_sim::{disk::*, pump::SimulatedPump, workload::*};
//!
//! let grid = Grid::new(Bytes::gib(1).sectors(), REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
//! let config = Config { range: grid.disk(), granule: 8, depth: 1, held_max: None, started: Nanos::ZERO, today: UnixSeconds(1) };
//! let policy = Box::new(IntervalAdapter::new(Waiting { wait: Nanos::from_millis(50), size: Bytes::mib(1) }));
//! let mut scrub = Scrub::new(config, OrderKind::STAGGERED.order(&[]), policy, Coverage::new(grid), Pass::default());
//!
//! let disk = SimulatedDisk::new(grid.disk().count(), ServiceModel::ULTRASTAR_15K450).with_errors([SectorRange::at(4711, 1)]);
//! let service = TimeSpan::Fixed(disk.service(Bytes::kib(64)));
//! let think = TimeSpan::Pareto { minimum: Nanos::from_millis(10), shape: 1.1, maximum: Nanos::from_secs(60) };
//! let strangers = Bursts::new(8, TimeSpan::Fixed(Nanos::from_millis(20)), think, service, Rng::new(1));
//!
//! let run = SimulatedPump::new(disk, strangers).run(&mut scrub);
//! assert_eq!(scrub.report(run.report.elapsed).unreadable_sectors(), 8, "the block of eight sectors around it");
//! let lost = run.report.foreground;
//! assert!(lost.slowdown_mean_seconds() < 0.002 && lost.slowdown_max < Nanos::from_millis(15));
//! ```

pub mod array;
pub mod disk;
pub mod exact;
pub mod host;
pub mod integrity;
pub mod loads;
pub mod lse;
pub mod member_disk;
pub mod model;
pub mod online;
pub mod play;
pub mod pump;
pub mod replay;
pub mod siblings;
pub mod source;
pub mod tune;
pub mod work;
pub mod workload;
