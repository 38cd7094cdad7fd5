//! Plans the I/O of one request to one stripe, as a pure function: which chunks and appendices it reads and writes.
//!
//! The volume executes these plans; `simulate integrity` counts them. Li & Lee 2014, sections II-A, V-C.
//!
//! I/O in addition to that of a bare array, with k data chunks, m parities, and a *list* being the appendix of a parity:
//!
//! | want | pure | hybrid1 | hybrid2 | stamp |
//! |---|---|---|---|---|
//! | read, some chunks | a list | a list at first | a list at first | a list at first |
//! | read, all chunks | - | a list at first | - | a list at first |
//! | read-modify-write | buddies written | - | buddies read and written | - |
//! | reconstruct-write | a list, buddies written | old versions, a list at first | buddies written, a list at first | a list at first |
//! | full stripe | - | old versions | - | - |
//!
//! *At first*: when a chunk that is read (not one that is overwritten whole) was not read since it was written. One
//! list serves all chunks. A *buddy* is the neighbour, round the ring of the data chunks, of the last chunk of each run
//! of touched chunks: it carries a copy of that chunk's checksum. *Old versions* are the appendices of the chunks that
//! are overwritten whole. Rules for cases that Table II does not cover:
//!
//! | case | rule |
//! |---|---|
//! | partly overwritten chunks | they are read before a reconstruct-write, as if they stayed |
//! | k = 1 | no buddy; a read takes a list as if it were a read of some chunks |
//! | m = 0, or no parity left | no list; touched chunks are written, partly overwritten ones read (reconstruct-write or full stripe) |
//! | no parity left, m > 0 | buddies are still written, for when parities come back; each run's first chunk is read for its copy |
//! | read, a wanted chunk missing | k of the others, data first, then parities; and all other remaining lists, to compare them |
//! | write, a parity missing | it is neither read nor written |
//! | write, a touched chunk missing | reconstruct-write; only the parities hold its content. Hybrid-1 finds its old version in a list |
//! | write, an untouched chunk missing | read-modify-write does not need it |
//! | reconstruct-write, a chunk to be read missing | k of the others and all other lists, as for a read |
//! | a buddy missing | it is neither read nor written |
//! | more than m missing | chunks that are present can be read, nothing else can be done |

pub mod chooser;
mod read;
mod split;
mod stripe;
mod write;

pub use split::{StripePart, split};
pub use stripe::{PlanMode, StripePlan, StripeState, Want};

use crate::layout::Shape;
use crate::volume::integrity::scheme::Scheme;

/// The plan with the least I/O (of two with equal I/O, read-modify-write: it reads what it replaces, and so checks it);
/// `None` when more chunks are missing than the parities make up for, and one of them is wanted or anything is to be written.
///
/// # Panics
/// When `want` has no chunk.
pub fn plan(scheme: Scheme, shape: Shape, want: Want, state: StripeState) -> Option<StripePlan> {
    let (Want::Read(touched) | Want::Write { touched, .. }) = want;
    assert!(!touched.is_empty(), "a request touches something");
    match want {
        Want::Read(wanted) => read::plan(scheme, shape, wanted, state),
        Want::Write { touched, partial } => write::plan(scheme, shape, touched, partial, state),
    }
}

#[cfg(test)]
mod tests;
