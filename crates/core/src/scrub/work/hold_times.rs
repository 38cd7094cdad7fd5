//! How long it takes to hold the work: from the arrival that it is held for, until what was at the disk before it has ended; or from the
//! order, until nothing of it is at the disk.

use crate::units::Nanos;
use std::collections::VecDeque;

/// The number of recent holds that count.
const WINDOW: usize = 64;
/// One hold in this many may take longer than [`HoldTimes::high`].
const LONGER_OF: usize = 8;
/// Shorter holds count as this: a slice is a few looks long at least.
const LEAST: Nanos = Nanos::from_millis(2);

/// The recent holds.
#[derive(Clone, Debug)]
pub struct HoldTimes {
    guess: Nanos,
    /// All of them, and those by which the next one is estimated.
    seen: VecDeque<Nanos>,
    recent: VecDeque<Nanos>,
    count: u64,
    high: Nanos,
}

impl HoldTimes {
    /// None yet; until there are some, they are taken to need `guess`.
    pub fn new(guess: Nanos) -> HoldTimes {
        HoldTimes { guess, seen: VecDeque::new(), recent: VecDeque::new(), count: 0, high: guess.max(LEAST) }
    }

    /// Adds a hold.
    pub fn add(&mut self, hold: Nanos) {
        for holds in [&mut self.seen, &mut self.recent] {
            if holds.len() == WINDOW {
                holds.pop_front();
            }
            holds.push_back(hold);
        }
        self.count += 1;
        self.estimate();
    }

    fn estimate(&mut self) {
        let sorted = self.sorted();
        // The guess counts as one of them, until there are enough.
        self.high = sorted[sorted.len() - 1 - sorted.len() / LONGER_OF].max(LEAST);
    }

    /// Forgets the longer half, as far as they took longer than the guess: what is thought to take too long is not tried, so nothing
    /// would be learnt of it any more. Returns whether the estimate is another one now.
    pub fn forget_longer_half(&mut self) -> bool {
        let mut sorted: Vec<Nanos> = self.recent.iter().copied().collect();
        sorted.sort_unstable();
        let Some(&median) = sorted.get(sorted.len() / 2) else { return false };
        let before = self.high;
        self.recent.retain(|&hold| hold < median || hold <= self.guess);
        self.estimate();
        self.high != before
    }

    fn sorted(&self) -> Vec<Nanos> {
        let guess = Some(self.guess).filter(|_| self.recent.len() < LONGER_OF);
        let mut sorted: Vec<Nanos> = self.recent.iter().copied().chain(guess).collect();
        sorted.sort_unstable();
        sorted
    }

    /// The hold time that one in eight exceeds.
    pub fn high(&self) -> Nanos {
        self.high
    }

    /// The median of all recent holds; `None`: none was seen yet.
    pub fn median_of(all: &[HoldTimes]) -> Option<Nanos> {
        let mut recent: Vec<Nanos> = all.iter().flat_map(|holds| holds.seen.iter().copied()).collect();
        recent.sort_unstable();
        recent.get(recent.len() / 2).copied()
    }

    /// The number of holds so far.
    pub fn count(&self) -> u64 {
        self.count
    }
}
