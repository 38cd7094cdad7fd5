//! Scrubjay's pure machines: all code that decides.
//!
//! **Never:** I/O, a clock, a thread, a log, `unsafe`, a serialiser (the feature `serde` gives some values its derives). Times and dates are arguments; disks are accessed
//! elsewhere. Two pumps drive these machines: the simulator's in virtual time, the device crate's in real time.
//!
//! ```text
//! scrub    when each sector is verified, and with which result     these four
//! volume   a block device of members that repairs silent corruption  do not use
//! probe    how an array is laid out, by timing                     each other
//! bench    how fast a disk answers, and whether that is normal
//! ------------------------------------------------------------------------------------------------
//! layout, findings and causes, the grid of regions and the speed of each (surface), indices and sets of them, sector sets, buffers,
//! statistics, random numbers, units: shared by all four
//! ```
//!
//! A scrub of a 1 GiB disk on which nothing else happens, as a pump drives it:
//!
//! ```
//! use scrubjay_core::scrub::{Config, Pass, Scrub, coverage::Coverage, idle::BackToBack, verdict::VerifyOutcome};
//! use scrubjay_core::scrub::{machine::{Event, Machine, Op}, tour::*};
//! use scrubjay_core::units::*;
//!
//! let grid = Grid::new(Bytes::gib(1).sectors(), REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
//! let config = Config { range: grid.disk(), granule: 8, depth: 1, held_max: None, started: Nanos::ZERO, today: UnixSeconds(1) };
//! let policy = Box::new(BackToBack { size: Bytes::mib(1) });
//! let order = OrderKind::STAGGERED.order(&[]);
//! let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
//!
//! let mut now = Nanos::ZERO;
//! while let Some(Op::Verify { id, range: _ }) = scrub.poll_op(now) {
//!     let (started, finished) = (now, now + Nanos::from_millis(15));
//!     now = finished;
//!     scrub.handle(now, Event::Completed { id, outcome: VerifyOutcome::Clean, started, finished });
//! }
//! assert_eq!(scrub.report(now).bytes_verified, Bytes::gib(1));
//! ```

pub mod bench;
pub mod buffer;
pub mod cause;
pub mod finding;
pub mod grid;
pub mod index;
pub mod layout;
pub mod named;
pub mod position_set;
pub mod probe;
pub mod quantity;
pub mod range_set;
pub mod rng;
pub mod scrub;
#[cfg(feature = "serde")]
mod serde_forms;
pub mod shown;
pub mod stats;
pub mod surface;
pub mod units;
pub mod volume;
