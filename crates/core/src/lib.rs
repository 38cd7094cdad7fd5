//! Scrubjay's pure machines: everything that decides.
//!
//! **Never:** I/O, a clock, a thread, a log, `unsafe`, serde. Time and dates are arguments; disks are somebody else's.
//! Two pumps run what is here: the simulator's in virtual time, the device crate's in real time.
//!
//! ```text
//! foreground, completions -> machine::Event -> scrub::Scrub -> machine::Op -> a pump -> a disk
//!                                               |  asks: tour (which), idle (when)
//!                                               +-> scrub::Report, coverage::Coverage
//! ```
//!
//! A machine that scrubs a disk of 1 GiB on which nothing else happens, as a pump drives it:
//!
//! ```
//! use scrubjay_core::{coverage::Coverage, idle::BackToBack, machine::*, scrub::*, tour::*, units::*, verdict::Outcome};
//!
//! let grid = Grid::new(Bytes::gib(1).sectors(), REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
//! let config = Config { range: grid.disk(), granule: 8, depth: 1, started: Nanos::ZERO, today: UnixSeconds(1) };
//! let policy = Box::new(BackToBack { size: Bytes::mib(1) });
//! let order = OrderKind::STAGGERED.order(&[]);
//! let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
//!
//! let mut now = Nanos::ZERO;
//! while let Some(Op::Verify { id, range: _ }) = scrub.poll_op(now) {
//!     let (started, finished) = (now, now + Nanos::from_millis(15));
//!     now = finished;
//!     scrub.handle(now, Event::Completed { id, outcome: Outcome::Clean, started, finished });
//! }
//! assert_eq!(scrub.report(now).bytes_verified, Bytes::gib(1));
//! ```

pub mod block;
pub mod buffer;
pub mod coverage;
pub mod format;
pub mod idle;
pub mod integrity;
pub mod journal;
pub mod layout;
pub mod machine;
pub mod member;
pub mod plan;
pub mod probe;
pub mod range_set;
pub mod rng;
pub mod saved;
pub mod scrub;
pub mod server;
pub mod slots;
pub mod stats;
pub mod tour;
pub mod units;
pub mod verdict;
pub mod volume;
