//! Writes that wait for their stripe: all that have arrived when the stripe becomes free are done as one.

use crate::buffer::Buffer;
use crate::index::{StripeIndex, StripePosition, indexed};
use crate::volume::request::parts::ChunkBytes;
use crate::volume::tasks::locks::ByStripe;
use crate::volume::tasks::task_set::TaskId;
use std::cell::Cell;
use std::rc::Rc;

/// The progress of a request that was cut into writes of one or more stripes.
#[derive(Debug)]
pub struct Ticket {
    /// The task that waits for the request's writes.
    pub task: TaskId,
    /// Writes that are not done yet (count).
    pub left: Cell<usize>,
    /// Did any of the writes fail?
    pub is_failed: Cell<bool>,
}

/// New content for some bytes of one stripe.
#[derive(Clone)]
pub struct PendingWrite {
    /// The bytes to replace, by chunk.
    pub pieces: Vec<ChunkBytes>,
    /// The whole request's data, indexed by [`ChunkBytes::at`]; `None`: zeros.
    pub data: Option<Rc<Buffer>>,
    /// The ticket of the request.
    pub ticket: Rc<Ticket>,
}

/// All waiting writes, by stripe. Each stripe in it has a task that writes it.
#[derive(Default)]
pub struct Writes {
    pending: ByStripe<Vec<PendingWrite>>,
}

impl Writes {
    /// Adds a write; true if its stripe has no task yet.
    pub fn push(&mut self, stripe: StripeIndex, write: PendingWrite) -> bool {
        let is_new = !self.pending.contains_key(&stripe);
        self.pending.entry(stripe).or_default().push(write);
        is_new
    }

    /// Takes all waiting writes of a stripe. If there are none, the stripe's task ends.
    pub fn take(&mut self, stripe: StripeIndex) -> Vec<PendingWrite> {
        let writes = self.pending.get_mut(&stripe).map(std::mem::take).unwrap_or_default();
        if writes.is_empty() {
            self.pending.remove(&stripe);
        }
        writes
    }
}

/// The byte ranges of a chunk that several writes replace together, in any order.
#[derive(Clone, Debug, Default)]
pub struct WriteOverlay(Vec<(usize, usize)>);

indexed!(StripePosition: WriteOverlay);

impl WriteOverlay {
    /// Adds a range.
    pub fn add(&mut self, range: &std::ops::Range<usize>) {
        self.0.push((range.start, range.end));
    }

    /// Is any byte replaced?
    pub fn is_any(&self) -> bool {
        !self.0.is_empty()
    }

    /// Are all of the first `len` bytes replaced?
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
