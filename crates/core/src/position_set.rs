//! Sets of small indices: chunks of a stripe that are touched, read, written or missing; members that are present.

use crate::index::{Index, MemberIndex, StripePosition};
use std::fmt;
use std::marker::PhantomData;
use std::ops::{BitAnd, BitOr, Sub};

/// A set of indices of one kind, each below 256.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct IndexSet<I>([u64; 4], PhantomData<I>);

/// Positions of chunks in a stripe: data chunks first, then parities.
pub type PositionSet = IndexSet<StripePosition>;
/// Members of an array.
pub type MemberSet = IndexSet<MemberIndex>;

impl<I> Default for IndexSet<I> {
    fn default() -> IndexSet<I> {
        IndexSet([0; 4], PhantomData)
    }
}

impl<I: Index> IndexSet<I> {
    /// The empty set.
    pub const NONE: IndexSet<I> = IndexSet([0; 4], PhantomData);

    /// The indices `start..end`.
    pub fn range(start: usize, end: usize) -> IndexSet<I> {
        let below = |count: usize| {
            let mut words = [0u64; 4];
            for (index, word) in words.iter_mut().enumerate() {
                *word = match count.saturating_sub(index * 64) {
                    0 => 0,
                    bits @ 1..64 => (1 << bits) - 1,
                    _ => u64::MAX,
                };
            }
            IndexSet(words, PhantomData)
        };
        below(end) - below(start)
    }

    /// A set of one index.
    pub fn one(index: I) -> IndexSet<I> {
        let mut set = IndexSet::NONE;
        set.insert(index);
        set
    }

    /// Adds an index.
    pub fn insert(&mut self, index: I) {
        let number = index.number() as usize;
        self.0[number / 64] |= 1 << (number % 64);
    }

    /// Removes an index.
    pub fn remove(&mut self, index: I) {
        let number = index.number() as usize;
        self.0[number / 64] &= !(1 << (number % 64));
    }

    /// Whether an index is in the set.
    pub fn contains(self, index: I) -> bool {
        let number = index.number() as usize;
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    /// The number of indices.
    pub fn count(self) -> usize {
        self.0.iter().map(|word| word.count_ones() as usize).sum()
    }

    /// Whether the set is empty.
    pub fn is_empty(self) -> bool {
        self.0 == [0; 4]
    }

    /// The least index, if there is one.
    pub fn first(self) -> Option<I> {
        let word = (0..4).find(|&word| self.0[word] != 0)?;
        Some(I::of(word as u64 * 64 + u64::from(self.0[word].trailing_zeros())))
    }

    /// Whether all indices are in `other` too.
    pub fn is_subset(self, other: IndexSet<I>) -> bool {
        (self - other).is_empty()
    }

    /// The indices, ascending.
    pub fn iter(self) -> impl Iterator<Item = I> {
        let mut rest = self;
        std::iter::from_fn(move || {
            let index = rest.first()?;
            rest.remove(index);
            Some(index)
        })
    }
}

impl<I: Index> BitOr for IndexSet<I> {
    type Output = IndexSet<I>;
    fn bitor(self, other: IndexSet<I>) -> IndexSet<I> {
        IndexSet(std::array::from_fn(|index| self.0[index] | other.0[index]), PhantomData)
    }
}

impl<I: Index> BitAnd for IndexSet<I> {
    type Output = IndexSet<I>;
    fn bitand(self, other: IndexSet<I>) -> IndexSet<I> {
        IndexSet(std::array::from_fn(|index| self.0[index] & other.0[index]), PhantomData)
    }
}

/// The difference: the indices in the first set and not in the second.
impl<I: Index> Sub for IndexSet<I> {
    type Output = IndexSet<I>;
    fn sub(self, other: IndexSet<I>) -> IndexSet<I> {
        IndexSet(std::array::from_fn(|index| self.0[index] & !other.0[index]), PhantomData)
    }
}

impl<I: Index> FromIterator<I> for IndexSet<I> {
    fn from_iter<T: IntoIterator<Item = I>>(indices: T) -> IndexSet<I> {
        let mut set = IndexSet::NONE;
        indices.into_iter().for_each(|index| set.insert(index));
        set
    }
}

impl<I: Index + fmt::Debug> fmt::Debug for IndexSet<I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn set_operations_give_the_expected_indices() {
        let set: IndexSet<usize> = [0, 63, 64, 200, 255].into_iter().collect();
        assert_eq!(set.iter().collect::<Vec<_>>(), [0, 63, 64, 200, 255]);
        assert_eq!(set.count(), 5);
        assert_eq!(((set - IndexSet::one(64)) & IndexSet::range(60, 201)).iter().collect::<Vec<_>>(), [63, 200]);
        assert!(IndexSet::one(64).is_subset(set) && !set.is_subset(IndexSet::one(64)));
        for (start, end) in [(0, 0), (0, 1), (3, 64), (64, 128), (5, 255), (0, 256), (130, 131)] {
            assert_eq!(
                IndexSet::<usize>::range(start, end).iter().collect::<Vec<_>>(),
                (start..end).collect::<Vec<_>>()
            );
        }
    }
}
