//! Storms: random runs of the volume among faults, crashes, losses and repairs, with an oracle that judges each reply.
//!
//! One seed gives the array, its lying disks, the client, and all that goes wrong.
//!
//! ```text
//! config::StormConfig (a seed) --> simulation::run
//!     client::StormClient  -- requests -->  a subject::StormSubject  -- ops -->  disk_set::DiskSet of sim::member_disk
//!       oracle::DeviceOracle <-- replies --    (the volume)     <-- ends --   faults::FaultInjector, inside a FaultBudget
//! ```
//!
//! # What the oracle accepts
//! - Every byte returned as data is right, in every mode, after every fault and every crash, with the exceptions below.
//! - Without a crash, and with faults inside the assumptions ([`fault_budget`]): nothing is lost and no request fails.
//! - After a crash of an array that has all its members, and nothing else wrong in the stripes that were being written:
//!   the same; data that were not durable may be old or new, sector by sector ([`oracle`]).
//! - *Dirty and hurt*: a stripe in which a row was being written (other than by a mark of a lost chunk) or was not flushed
//!   when the array crashed, and in
//!   which a row is missing, unreadable or silently corrupt at that time (or before the stripe is resynced), may lose
//!   chunks from then on, until it is whole again. In a bare array, which has no lists, so may every stripe of a region that the disks call
//!   dirty after the crash.
//! - *The exception*: a data row that is silently corrupt when the array crashes in the middle of a write of its
//!   stripe, or becomes so before that stripe is resynced, looks like a row that the crash tore. Where the crash
//!   damaged too many of the other rows to rebuild it, it may hold anything until it is written again: only a journal
//!   could tell.
//!   The same goes for chunks that a silently corrupt parity would have to reconstruct: those of such a stripe that are
//!   missing or unreadable, and, in a scheme without versions, all of them. Over the budget it goes for every stripe of
//!   a region that the disks call dirty, written at the crash or not, in which more rows are wrong than there are
//!   parities: nothing on the disks says which stripes of the region were being written.
//! - *Literal Hybrid-1*: a data row whose write was lost, torn or misdirected, and which was then overwritten whole,
//!   has a version that names two contents. A half-written stripe with such a row may hold anything: the list of a
//!   parity that was not written and that of one that was are the same.
//! - Over the budget, what lies in a stripe beyond it may be lost, but nothing may be wrong. What a read reported as lost stays
//!   lost, or reads as it should, until its stripe is written.
//! - Findings name only rows in which a fault was planted that was not repaired before the last start, and only kinds that
//!   the fault explains; except in stripes that a crash left dirty and that are not resynced yet, and for what is lost.
//! - None of these excuses outlives what it excuses: at each start, a stripe of which every row is whole again may lose nothing
//!   (in schemes with versions, whose rows show that).
//! - A member leaves only by an incident that costs a member, or after its disk refused a write or a flush.
//! - The bytes that the last verification calls lost are exactly those that reads then call lost.
//! - Acknowledged writes, flushed or not, survive a kill that no loss of power follows (the disks live on). *The second
//!   exception*: not the first write of a stripe while another write of the same stripe is under way.
//! - A row reported as *repaired* is right on the medium, unless another fault hit it since it was last read. After a
//!   verification all rows are, and so is the metadata outside the rows.
//! - No row on the disks carries a write number that the next start could assign again.
//! - Two halves of an array that were started without each other are never assembled together.
//! - After an orderly stop everything is flushed: no disk of a complete member holds anything in its cache.
//!
//! # What is never planted
//! Faults that no array can detect: a lost write in a stripe without another witness of it (more silent corruption than
//! the assumptions allow, in chunks that look whole), including a parity computed from a stale one. Faults that a
//! scheme of the paper cannot handle: faults of parities under `pure`, stale chunks under `hybrid1` where versions may
//! be used twice, silent faults in a bare array. A misdirected read of the very place where a misdirected write landed:
//! two faults that agree. Damage to the metadata outside the rows on all active members at once ([`member_metadata`]).

pub mod client;
pub mod config;
pub mod disk_set;
pub mod fault_budget;
pub mod faults;
pub mod member_metadata;
pub mod oracle;
pub mod pattern;
pub mod simulation;
pub mod slowness;
pub mod subject;
pub mod trace;
pub mod years;
