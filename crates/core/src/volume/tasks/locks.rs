//! Locks on stripes: many readers or one writer, first come, first served.

use crate::index::StripeIndex;
use crate::volume::tasks::task_set::TaskId;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, Hasher};

/// Hashes stripe numbers by one multiplication (Knuth's, by the golden ratio). A client that chooses colliding stripes on
/// purpose slows down only itself.
#[derive(Default)]
pub struct StripeHasher(u64);

impl Hasher for StripeHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, _: &[u8]) {
        unreachable!("stripes are numbers");
    }
    fn write_u64(&mut self, stripe: u64) {
        self.0 = stripe.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(32);
    }
}

/// A hash map with stripes as keys.
pub type ByStripe<T> = HashMap<StripeIndex, T, BuildHasherDefault<StripeHasher>>;

#[derive(Default)]
struct Lock {
    readers: usize,
    is_exclusive: bool,
    /// Waiting tasks in order of arrival, each with whether it wants the stripe exclusively.
    queue: VecDeque<(TaskId, bool)>,
}

/// The locks of all stripes that tasks hold or wait for.
#[derive(Default)]
pub struct Locks {
    locks: ByStripe<Lock>,
    /// Tasks that were granted their stripe and have not run since.
    granted: Vec<TaskId>,
}

impl Locks {
    /// Whether a queued task was granted its stripe. A grant is reported once.
    pub fn take_grant(&mut self, task: TaskId) -> bool {
        let Some(place) = self.granted.iter().position(|&granted| granted == task) else { return false };
        self.granted.swap_remove(place);
        true
    }

    /// Takes a stripe shared, if no task holds it exclusively or waits for it. Never queues.
    pub fn share(&mut self, stripe: StripeIndex) -> bool {
        let lock = self.locks.entry(stripe).or_default();
        let is_free = !lock.is_exclusive && lock.queue.is_empty();
        lock.readers += usize::from(is_free);
        is_free
    }

    /// Takes a stripe, exclusively (`is_exclusive`) or shared. False: the task was queued for it.
    pub fn take(&mut self, stripe: StripeIndex, task: TaskId, is_exclusive: bool) -> bool {
        let lock = self.locks.entry(stripe).or_default();
        let is_free = if is_exclusive { lock.readers == 0 } else { true };
        if is_free && !lock.is_exclusive && lock.queue.is_empty() {
            if is_exclusive {
                lock.is_exclusive = true;
            } else {
                lock.readers += 1;
            }
            return true;
        }
        lock.queue.push_back((task, is_exclusive));
        false
    }

    /// Releases a stripe. Returns the tasks that are granted it now.
    pub fn give(&mut self, stripe: StripeIndex, is_exclusive: bool) -> Vec<TaskId> {
        let lock = self.locks.get_mut(&stripe).expect("a lock that is held is known");
        if is_exclusive {
            lock.is_exclusive = false;
        } else {
            lock.readers -= 1;
        }
        let mut granted = Vec::new();
        while let Some(&(task, is_exclusive)) = lock.queue.front() {
            if lock.is_exclusive || is_exclusive && lock.readers > 0 {
                break;
            }
            lock.queue.pop_front();
            if is_exclusive {
                lock.is_exclusive = true;
            } else {
                lock.readers += 1;
            }
            granted.push(task);
            self.granted.push(task);
        }
        if lock.readers == 0 && !lock.is_exclusive && lock.queue.is_empty() {
            self.locks.remove(&stripe);
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readers_share_a_stripe_writers_do_not_and_no_task_overtakes_another() {
        let mut locks = Locks::default();
        assert!(locks.take(StripeIndex(7), 1, false) && locks.take(StripeIndex(7), 2, false));
        assert!(
            !locks.take(StripeIndex(7), 3, true)
                && !locks.take(StripeIndex(7), 4, false)
                && !locks.take(StripeIndex(7), 5, false)
        );
        assert!(!locks.share(StripeIndex(7)), "not before those who wait");
        assert!(locks.take(StripeIndex(8), 6, true), "another stripe");
        assert!(!locks.share(StripeIndex(8)), "somebody has it alone");
        assert!(locks.give(StripeIndex(7), false).is_empty());
        assert_eq!(locks.give(StripeIndex(7), false), [3]);
        assert_eq!(locks.give(StripeIndex(7), true), [4, 5]);
        assert!(
            locks.give(StripeIndex(7), false).is_empty()
                && locks.give(StripeIndex(7), false).is_empty()
                && locks.give(StripeIndex(8), true).is_empty()
        );
        assert!(locks.share(StripeIndex(7)) && locks.share(StripeIndex(7)) && !locks.take(StripeIndex(7), 1, true));
        assert!(
            locks.give(StripeIndex(7), false).is_empty()
                && locks.give(StripeIndex(7), false) == [1]
                && locks.give(StripeIndex(7), true).is_empty()
        );
        assert!(locks.locks.is_empty());
    }
}
