//! Writes that wait for their stripe: all that have come by the time the stripe is free are done as one.

use super::locks::ByStripe;
use super::parts::ChunkBytes;
use super::tasks::TaskId;
use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition, indexed};
use std::cell::Cell;
use std::rc::Rc;

/// What becomes of a request that was cut into writes of several stripes.
#[derive(Debug)]
pub(super) struct Ticket {
    /// Who waits for it.
    pub task: TaskId,
    /// Writes that are not done.
    pub left: Cell<usize>,
    /// Did one of them fail?
    pub is_failed: Cell<bool>,
}

/// New content for some bytes of one stripe.
#[derive(Clone)]
pub(super) struct PendingWrite {
    /// Which bytes.
    pub pieces: Vec<ChunkBytes>,
    /// The whole request's data, by [`ChunkBytes::at`]; nothing for zeros.
    pub data: Option<Rc<Buffer>>,
    /// Whose it is.
    pub ticket: Rc<Ticket>,
}

/// All writes that wait, by stripe. A stripe that is in it has a task that writes it.
#[derive(Default)]
pub(super) struct Writes {
    pending: ByStripe<Vec<PendingWrite>>,
}

impl Writes {
    /// Adds a write; true if its stripe has no task yet.
    pub fn push(&mut self, stripe: StripeIndex, write: PendingWrite) -> bool {
        let is_new = !self.pending.contains_key(&stripe);
        self.pending.entry(stripe).or_default().push(write);
        is_new
    }

    /// All writes of a stripe that have come; when there are none, its task is over.
    pub fn take(&mut self, stripe: StripeIndex) -> Vec<PendingWrite> {
        let writes = self.pending.get_mut(&stripe).map(std::mem::take).unwrap_or_default();
        if writes.is_empty() {
            self.pending.remove(&stripe);
        }
        writes
    }
}

/// Which bytes of a chunk several writes replace together: in which order does not matter.
#[derive(Clone, Debug, Default)]
pub(super) struct WriteOverlay(Vec<(usize, usize)>);

indexed!(StripePosition: WriteOverlay);

impl WriteOverlay {
    /// These too.
    pub fn add(&mut self, range: &std::ops::Range<usize>) {
        self.0.push((range.start, range.end));
    }

    /// Any?
    pub fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// All of the first `len`?
    pub fn is_whole(&mut self, len: usize) -> bool {
        self.0.sort_unstable();
        let reached =
            self.0.iter().fold(0, |reached, &(from, to)| if from <= reached { to.max(reached) } else { reached });
        reached >= len
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coverage_is_whole_only_without_a_gap() {
        let whole = |ranges: &[(usize, usize)]| {
            let mut coverage = WriteOverlay::default();
            ranges.iter().for_each(|&(from, to)| coverage.add(&(from..to)));
            coverage.is_whole(10)
        };
        assert!(whole(&[(0, 10)]) && whole(&[(5, 10), (0, 5)]) && whole(&[(0, 3), (2, 9), (8, 10), (1, 2)]));
        assert!(!whole(&[]) && !whole(&[(0, 9)]) && !whole(&[(1, 10)]) && !whole(&[(0, 4), (5, 10)]));
    }
}
