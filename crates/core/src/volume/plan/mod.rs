//! Which chunks and appendices one request of one stripe reads and writes: the I/O of an array, as a pure function.
//!
//! The volume executes these plans, the counter of `simulate integrity` counts them. Li & Lee 2014, sections II-A, V-C.
//!
//! Beyond what a bare array does, with k data chunks, m parities, and a *list* being the appendix of a parity:
//!
//! | want | pure | hybrid1 | hybrid2 | stamp |
//! |---|---|---|---|---|
//! | read, some chunks | a list | a list at first | a list at first | a list at first |
//! | read, all chunks | - | a list at first | - | a list at first |
//! | read-modify-write | buddies written | - | buddies read and written | - |
//! | reconstruct-write | a list, buddies written | old versions, a list at first | buddies written, a list at first | a list at first |
//! | full stripe | - | old versions | - | - |
//!
//! *At first*: when a chunk that is read (not: one that is overwritten whole) was not read since it was written. One
//! list serves all chunks. A *buddy* is the neighbour, round the ring of the data chunks, of the last chunk of each run
//! of touched chunks: it carries a copy of that chunk's checksum. *Old versions* are the appendices of the chunks that
//! are overwritten whole. What Table II does not say:
//!
//! | case | rule |
//! |---|---|
//! | partly overwritten chunks | are read before a reconstruct-write, as if they stayed |
//! | k = 1 | no buddy; a read takes a list as if it were a read of some chunks |
//! | m = 0, or no parity left | no list; writes write what is touched, and read what is partly overwritten (mode: reconstruct-write, or full stripe). Buddies are kept while m > 0, for when parities come back; the first chunk of each run is asked for the copy that it carries |
//! | read, a wanted chunk missing | k of the others, data first, then parities; and all other lists that are left, to compare them |
//! | write, a parity missing | it is neither read nor written |
//! | write, a touched chunk missing | reconstruct-write; it is not written, its content lives in the parities. Hybrid-1 finds its old version in a list |
//! | write, an untouched chunk missing | read-modify-write does without it |
//! | reconstruct-write, a chunk to be read missing | k of the others and all other lists, as for a read |
//! | a buddy missing | it is left alone |
//! | more than m missing | chunks that are there can be read, nothing else can be done |

pub mod chooser;
mod read;
mod split;
mod stripe;
mod write;

pub use split::{StripePart, split};
pub use stripe::{PlanMode, StripePlan, StripeState, Want};

use crate::layout::Shape;
use crate::volume::integrity::scheme::Scheme;

/// The plan of least I/O (of two alike, read-modify-write: it reads what it replaces, and so checks it); nothing when
/// more is missing than the parities make up for.
///
/// # Panics
/// When nothing is wanted.
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
