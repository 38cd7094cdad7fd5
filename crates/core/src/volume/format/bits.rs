//! A bitmap of fixed length: one bit per region, or per stripe.

use crate::index::Index;
use std::marker::PhantomData;

/// A bitmap with one bit for each index, from 0 to its length - 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bits<I> {
    words: Vec<u64>,
    len: u64,
    of: PhantomData<I>,
}

impl<I: Index> Bits<I> {
    /// A bitmap of `len` zeros.
    pub fn zeros(len: u64) -> Bits<I> {
        Bits { words: vec![0; words(len)], len, of: PhantomData }
    }

    /// A bitmap of `len` ones.
    pub fn ones(len: u64) -> Bits<I> {
        let mut bits = Bits { words: vec![u64::MAX; words(len)], len, of: PhantomData };
        bits.trim();
        bits
    }

    /// Length in bits.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the bitmap has no bits.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit with this index.
    ///
    /// # Panics
    /// When there is no such bit.
    pub fn get(&self, bit: I) -> bool {
        let bit = self.check(bit);
        self.words[(bit / 64) as usize] >> (bit % 64) & 1 == 1
    }

    /// Sets or clears the bit with this index.
    ///
    /// # Panics
    /// When there is no such bit.
    pub fn set(&mut self, bit: I, value: bool) {
        let bit = self.check(bit);
        let word = &mut self.words[(bit / 64) as usize];
        *word = *word & !(1 << (bit % 64)) | u64::from(value) << (bit % 64);
    }

    /// Number of ones.
    pub fn count(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The indices of the ones, ascending.
    pub fn iter(&self) -> impl Iterator<Item = I> {
        self.words.iter().enumerate().flat_map(|(index, &word)| {
            let mut rest = word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(I::of(index as u64 * 64 + u64::from(bit)))
            })
        })
    }

    /// Writes the bits from `start` on into `bytes`, the first in the lowest bit of the first byte; zeros behind the last.
    ///
    /// # Panics
    /// When `start` is not a multiple of 8.
    pub(super) fn write_to(&self, start: u64, bytes: &mut [u8]) {
        assert!(start.is_multiple_of(8), "pages hold whole bytes");
        for (index, byte) in bytes.iter_mut().enumerate() {
            let bit = start + index as u64 * 8;
            let word = self.words.get((bit / 64) as usize).copied().unwrap_or(0);
            *byte = (word >> (bit % 64)) as u8;
        }
    }

    /// Reads the bits from `start` on from `bytes`: the inverse of [`Bits::write_to`]. Bits behind the last one are ignored.
    ///
    /// # Panics
    /// When `start` is not a multiple of 8.
    pub(super) fn read_from(&mut self, start: u64, bytes: &[u8]) {
        assert!(start.is_multiple_of(8), "pages hold whole bytes");
        for (index, &byte) in bytes.iter().enumerate() {
            let bit = start + index as u64 * 8;
            let Some(word) = self.words.get_mut((bit / 64) as usize) else { break };
            *word = *word & !(0xff << (bit % 64)) | u64::from(byte) << (bit % 64);
        }
        self.trim();
    }

    /// The index as a number; panics when there is no such bit.
    fn check(&self, bit: I) -> u64 {
        let bit = bit.number();
        assert!(bit < self.len, "bit {bit} of {}", self.len);
        bit
    }

    /// Clears what the last word holds behind the last bit.
    fn trim(&mut self) {
        if let Some(last) = self.words.last_mut().filter(|_| !self.len.is_multiple_of(64)) {
            *last &= (1 << (self.len % 64)) - 1;
        }
    }
}

fn words(len: u64) -> usize {
    usize::try_from(len.div_ceil(64)).expect("bitmaps fit into memory")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn ones_sets_exactly_len_bits_and_zeros_none() {
        for len in [0, 1, 63, 64, 65, 1000] {
            assert_eq!((Bits::<u64>::ones(len).count(), Bits::<u64>::zeros(len).count()), (len, 0));
        }
    }

    proptest! {
        #[test]
        fn bits_do_what_a_set_does(len in 1u64..300, changes in prop::collection::vec((0u64..300, any::<bool>()), 0..50)) {
            let (mut bits, mut set) = (Bits::<u64>::zeros(len), std::collections::BTreeSet::new());
            for (bit, value) in changes {
                let bit = bit % len;
                bits.set(bit, value);
                if value { set.insert(bit) } else { set.remove(&bit) };
                prop_assert_eq!(bits.get(bit), value);
            }
            prop_assert_eq!(bits.iter().collect::<Vec<_>>(), set.into_iter().collect::<Vec<_>>());
        }

        #[test]
        fn bits_survive_a_round_trip_through_bytes(
            len in 1u64..300, ones in prop::collection::vec(0u64..300, 0..50), start in 0u64..40,
        ) {
            let (mut bits, mut copy) = (Bits::<u64>::zeros(len), Bits::<u64>::ones(len));
            ones.iter().for_each(|one| bits.set(one % len, true));
            // In two pieces, the second longer than the remaining bits.
            let (start, mut first, mut second) = (start * 8, vec![0; start as usize], vec![0; 40]);
            bits.write_to(0, &mut first);
            bits.write_to(start, &mut second);
            second[39] |= if start + 39 * 8 >= len { 0xff } else { 0 };
            copy.read_from(0, &first);
            copy.read_from(start, &second);
            prop_assert_eq!(copy, bits);
        }
    }
}
