//! A set of slots of a stripe: which chunks are touched, read, written, missing.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

/// A set of numbers in 0..256: places of chunks in a stripe, data chunks first, then parities.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct PositionSet([u64; 4]);

impl PositionSet {
    /// No slot.
    pub const NONE: PositionSet = PositionSet([0; 4]);

    /// The slots `start..end`.
    pub fn range(start: usize, end: usize) -> PositionSet {
        let below = |count: usize| {
            let mut words = [0u64; 4];
            for (index, word) in words.iter_mut().enumerate() {
                *word = match count.saturating_sub(index * 64) {
                    0 => 0,
                    bits @ 1..64 => (1 << bits) - 1,
                    _ => u64::MAX,
                };
            }
            PositionSet(words)
        };
        below(end) - below(start)
    }

    /// One slot.
    pub fn one(slot: usize) -> PositionSet {
        let mut slots = PositionSet::NONE;
        slots.insert(slot);
        slots
    }

    /// Adds a slot.
    pub fn insert(&mut self, slot: usize) {
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    /// Takes a slot out.
    pub fn remove(&mut self, slot: usize) {
        self.0[slot / 64] &= !(1 << (slot % 64));
    }

    /// Is it in the set?
    pub fn contains(self, slot: usize) -> bool {
        self.0[slot / 64] >> (slot % 64) & 1 == 1
    }

    /// How many.
    pub fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// None at all?
    pub fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    /// The least, if any.
    pub fn first(self) -> Option<usize> {
        (0..4).find(|&index| self.0[index] != 0).map(|index| index * 64 + self.0[index].trailing_zeros() as usize)
    }

    /// Are all of these in `other`?
    pub fn is_subset(self, other: PositionSet) -> bool {
        (self - other).is_empty()
    }

    /// All of them, ascending.
    pub fn iter(self) -> impl Iterator<Item = usize> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let slot = rest.first()?;
            rest.remove(slot);
            Some(slot)
        })
    }
}

impl BitOr for PositionSet {
    type Output = PositionSet;
    fn bitor(self, other: PositionSet) -> PositionSet {
        PositionSet(std::array::from_fn(|index| self.0[index] | other.0[index]))
    }
}

impl BitAnd for PositionSet {
    type Output = PositionSet;
    fn bitand(self, other: PositionSet) -> PositionSet {
        PositionSet(std::array::from_fn(|index| self.0[index] & other.0[index]))
    }
}

/// What is in the first and not in the second.
impl Sub for PositionSet {
    type Output = PositionSet;
    fn sub(self, other: PositionSet) -> PositionSet {
        PositionSet(std::array::from_fn(|index| self.0[index] & !other.0[index]))
    }
}

impl FromIterator<usize> for PositionSet {
    fn from_iter<I: IntoIterator<Item = usize>>(slots: I) -> PositionSet {
        let mut set = PositionSet::NONE;
        slots.into_iter().for_each(|slot| set.insert(slot));
        set
    }
}

impl fmt::Debug for PositionSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_do_what_sets_do() {
        let set: PositionSet = [0, 63, 64, 200, 255].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        assert_eq!(set.count(), 5);
        assert_eq!(((set - PositionSet::one(64)) & PositionSet::range(60, 201)).iter().collect::<Vec<_>>(), [63, 200]);
        assert!(PositionSet::one(64).is_subset(set) && !set.is_subset(PositionSet::one(64)));
        for (start, end) in [(0, 0), (0, 1), (3, 64), (64, 128), (5, 255), (0, 256), (130, 131)] {
            assert_eq!(PositionSet::range(start, end).iter().collect::<Vec<_>>(), (start..end).collect::<Vec<_>>());
        }
    }
}
