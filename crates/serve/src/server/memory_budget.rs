//! One bound for the memory of all connections of a server.

use scrubjay_core::units::Nanos;
use std::collections::VecDeque;

/// Bytes of requests under way and unread replies, of all connections together, at most.
const SHARED_BYTES: usize = 256 << 20;

/// Bytes that each connection may hold, however much the others hold: small requests always go on. A larger request does
/// not wait forever: it reaches the head of the queue, and until it is served those behind it get no more than this.
const OWN_BYTES: usize = 1 << 20;

/// Memory goes back to the kernel when more bytes than this were held, and no more than a quarter of the peak still is.
const RELEASE_BYTES: usize = 32 << 20;

/// Delay before memory goes back, unless it is needed again by then.
const RELEASE_AFTER: Nanos = Nanos::from_secs(1);

/// The bytes held, and the connections that wait for memory.
#[derive(Debug, Default)]
pub(super) struct MemoryBudget {
    held: usize,
    /// The most bytes held since memory last went back to the kernel.
    peak: usize,
    waiting: VecDeque<usize>,
    /// When to check whether memory goes back.
    pub release_at: Option<Nanos>,
}

impl MemoryBudget {
    /// Bytes that a connection may hold, if it holds `held` now.
    pub fn limit(&self, index: usize, held: usize) -> usize {
        match self.waiting.front() {
            Some(front) if *front != index => OWN_BYTES,
            _ => OWN_BYTES.max(held + SHARED_BYTES.saturating_sub(self.held)),
        }
    }

    /// The bytes that a connection holds have changed. Returns the first in the queue, if there may be memory for it now.
    pub fn changed(&mut self, now: Nanos, before: usize, after: usize) -> Option<usize> {
        self.held = self.held + after - before;
        self.peak = self.peak.max(self.held);
        if self.is_spare() {
            self.release_at.get_or_insert(now.saturating_add(RELEASE_AFTER));
        }
        self.waiting.front().copied().filter(|_| after < before)
    }

    /// Sets whether a request of a connection waits. Returns the next in the queue, if this one left it.
    pub fn set_waiting(&mut self, index: usize, is_held: bool) -> Option<usize> {
        match (self.waiting.iter().position(|other| *other == index), is_held) {
            (None, true) => self.waiting.push_back(index),
            (Some(place), false) => {
                self.waiting.remove(place);
                return self.waiting.front().copied();
            }
            _ => (),
        }
        None
    }

    /// Is memory to go back now?
    pub fn is_release_due(&mut self, now: Nanos) -> bool {
        if self.release_at.is_none_or(|at| now < at) {
            return false;
        }
        self.release_at = None;
        let is_due = self.is_spare();
        if is_due {
            self.peak = self.held;
        }
        is_due
    }

    fn is_spare(&self) -> bool {
        self.peak > RELEASE_BYTES && self.held <= self.peak / 4
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: usize = 1 << 20;

    #[test]
    fn all_connections_hold_no_more_than_the_bound_and_a_little_each() {
        let mut budget = MemoryBudget::default();
        let mut held = [0; 40];
        for (index, held) in held.iter_mut().enumerate() {
            *held = budget.limit(index, 0).min(64 * MIB);
            assert_eq!(budget.changed(Nanos(0), 0, *held), None);
        }
        assert_eq!(held[..5], [64 * MIB, 64 * MIB, 64 * MIB, 64 * MIB, MIB]);
        assert_eq!(held.iter().sum::<usize>(), SHARED_BYTES + 36 * OWN_BYTES);
    }

    #[test]
    fn the_first_to_wait_is_served_first_and_small_requests_go_on() {
        let mut budget = MemoryBudget::default();
        budget.changed(Nanos(0), 0, SHARED_BYTES);
        assert_eq!(budget.limit(1, 0), MIB);
        assert_eq!((budget.set_waiting(1, true), budget.set_waiting(2, true)), (None, None));
        assert_eq!(budget.changed(Nanos(0), SHARED_BYTES, SHARED_BYTES - 32 * MIB), Some(1));
        assert_eq!((budget.limit(1, 0), budget.limit(2, 0), budget.limit(3, 0)), (32 * MIB, MIB, MIB));
        budget.changed(Nanos(0), 0, 32 * MIB);
        assert_eq!(budget.set_waiting(1, false), Some(2));
        assert_eq!(budget.set_waiting(2, false), None, "gone");
    }

    #[test]
    fn memory_is_given_back_once_when_it_was_not_needed_for_a_while() {
        let mut budget = MemoryBudget::default();
        budget.changed(Nanos(0), 0, RELEASE_BYTES);
        budget.changed(Nanos(0), RELEASE_BYTES, 0);
        assert_eq!(budget.release_at, None, "too little");
        budget.changed(Nanos(0), 0, 2 * RELEASE_BYTES);
        budget.changed(Nanos(5), 2 * RELEASE_BYTES, 0);
        assert!(!budget.is_release_due(RELEASE_AFTER));
        budget.changed(Nanos(6), 0, 2 * RELEASE_BYTES);
        assert!(!budget.is_release_due(Nanos(5) + RELEASE_AFTER), "it is needed again");
        budget.changed(Nanos(7), 2 * RELEASE_BYTES, 0);
        assert!(budget.is_release_due(Nanos(7) + RELEASE_AFTER));
        assert!(!budget.is_release_due(Nanos(9) + RELEASE_AFTER));
    }
}
