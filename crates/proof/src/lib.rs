//! The volume in a storm: one seed makes an array, disks that lie, a client, crashes, losses and repairs, and an oracle
//! that knows what the client may be told.
//!
//! ```text
//! config::StormConfig (a seed) --> simulation::run
//!     client::StormClient  -- requests -->  a subject::StormSubject  -- ops -->  disk_set::DiskSet of sim::member_disk
//!       oracle::DeviceOracle <-- replies --    (the volume)     <-- ends --   faults::FaultInjector, inside a FaultBudget
//! ```
//!
//! # What the oracle accepts
//! - Every byte that is returned as data is right, in every mode, after every fault and every crash; with the
//!   exceptions below.
//! - Without a crash, and with faults inside the assumptions ([`fault_budget`]): nothing is ever lost, no request fails.
//! - After a crash of an array with all its members, and nothing else wrong in the stripes that were being written:
//!   the same; what was not durable may be old or new, sector by sector ([`oracle`]).
//! - *Dirty and hurt*: a stripe with a row that was under way or not flushed when the array crashed, and in which
//!   something is missing, unreadable or silently corrupt then (or before the volume serves again), may lose chunks from
//!   then on. In a bare array, which has no lists, so may every stripe of a region that the disks call dirty after it.
//! - *The exception*: a data row that is silently corrupt when the array crashes in the middle of a write of its stripe,
//!   or becomes so before that stripe is resynced, looks like one that the crash tore. Where the crash spoilt too many of
//!   the other rows to rebuild it, what it holds may be anything until it is written again: only a journal could tell. So
//!   may what a silently corrupt parity is to make up for: a chunk that is missing, or cannot be read, in such a stripe, and
//!   without versions any. Over
//!   the budget that goes for every stripe of a region that the disks call dirty, written at the crash or not, in which
//!   more rows are wrong than there are parities: nothing on the disks says which stripes of the region were.
//! - *Literal Hybrid-1*: a data row whose write was lost, torn or missed, and which was then written over whole, has a
//!   version that names two contents. A half-written stripe with such a row may hold anything: the list of a parity that
//!   was not written and that of one that was are the same.
//! - Over the budget, anything may be lost, nothing may be wrong.
//! - Records name only rows in which a fault was planted, and a kind that the fault explains; except in stripes that were
//!   dirty at a crash, and for what is lost.
//! - No member leaves but by an act that costs one, or a write that its disk refused.
//! - What a verification calls lost at the end is what reads find lost, to the byte.
//! - What was acknowledged survives a kill that no loss of power follows (the disks live on), flushed or not; *the second
//!   exception*: not the first write of a stripe, while another write of the same stripe is under way.
//! - What comes of a record that says *repaired* is on the medium, unless another fault fell on it since it was read; and after a
//!   verification all of it is, beside the rows, too.
//! - No row on the disks carries a write number that the next start would give out again.
//! - Two halves of an array that were started without each other are never put together.
//! - Stopped in order means flushed: no disk that counts holds anything in its cache.
//!
//! # What is never planted
//! What no array can know: a lost write in a stripe without another witness of it (more silent corruption than the
//! assumptions have, of chunks that look whole), a parity reckoned from a stale one included. What a scheme of the paper
//! cannot do: faults of parities under `pure`, stale chunks under `hybrid1` where versions may be used twice, silent
//! faults in a bare array. A read that goes astray to the very place where a write did: two faults that agree. Faults of
//! what lies beside the rows on all active members at once ([`beside`]).

pub mod beside;
pub mod client;
pub mod config;
pub mod disk_set;
pub mod fault_budget;
pub mod faults;
pub mod oracle;
pub mod pattern;
pub mod simulation;
pub mod subject;
pub mod trace;
pub mod years;
