//! A random order of all blocks of a disk, each once, in constant memory: a Feistel network with cycle walking.
//!
//! (fio's `norandommap` draws with replacement: in as many draws as there are blocks it reaches 63 % of them.)

use crate::rng::Rng;

/// Rounds of the network. Four rounds of a good round function make a permutation that looks random (Luby & Rackoff 1988).
const ROUNDS: usize = 4;

/// A permutation of `0..blocks`, determined by a seed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockPermutation {
    blocks: u64,
    /// The number of bits in each half of a block number.
    half_bits: u32,
    keys: [u64; ROUNDS],
}

impl BlockPermutation {
    /// A permutation of `blocks` blocks.
    ///
    /// # Panics
    /// When there are none, or more than 2^62.
    pub fn new(blocks: u64, seed: u64) -> BlockPermutation {
        assert!((1..=1 << 62).contains(&blocks), "some blocks, and not too many");
        let bits = u64::BITS - (blocks - 1).leading_zeros();
        let mut rng = Rng::stream(seed, 0x626c_6f63_6b73);
        BlockPermutation { blocks, half_bits: bits.div_ceil(2).max(1), keys: [(); ROUNDS].map(|()| rng.bits()) }
    }

    /// The number of blocks.
    pub fn blocks(&self) -> u64 {
        self.blocks
    }

    /// The block at `index` in the order; indices beyond the last begin again at the first.
    pub fn at(&self, index: u64) -> u64 {
        let mut block = index % self.blocks;
        // The network permutes a power of four that is at most four times as large: numbers outside are permuted again.
        loop {
            block = self.scrambled(block);
            if block < self.blocks {
                return block;
            }
        }
    }

    fn scrambled(&self, block: u64) -> u64 {
        let mask = (1u64 << self.half_bits) - 1;
        let (mut left, mut right) = (block >> self.half_bits, block & mask);
        for key in self.keys {
            let mixed = (right ^ key).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0x94d0_49bb_1331_11eb);
            (left, right) = (right, left ^ ((mixed >> 31) & mask));
        }
        (left << self.half_bits) | right
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_comes_once_whatever_their_number() {
        for blocks in (1..300).chain([4095, 4096, 4097, 100_003]) {
            for seed in [0, 1, 7] {
                let permutation = BlockPermutation::new(blocks, seed);
                let mut seen = vec![false; blocks as usize];
                (0..blocks).for_each(|index| {
                    let block = permutation.at(index) as usize;
                    assert!(!seen[block], "{block} of {blocks} twice");
                    seen[block] = true;
                });
                assert_eq!(permutation.at(blocks), permutation.at(0));
            }
        }
    }

    #[test]
    fn neighbours_of_the_order_are_far_from_each_other() {
        let permutation = BlockPermutation::new(1 << 30, 3);
        let distance = |index| permutation.at(index).abs_diff(permutation.at(index + 1)) as f64 / (1u64 << 30) as f64;
        let mean = (0..10_000).map(distance).sum::<f64>() / 10_000.0;
        assert!((mean - 1.0 / 3.0).abs() < 0.02, "two places at random are a third of the disk apart: {mean}");
        let lower = (0..10_000).filter(|&index| permutation.at(index) < 1 << 29).count();
        assert!((4700..5300).contains(&lower), "{lower}");
    }

    #[test]
    fn the_largest_disks_have_room() {
        let permutation = BlockPermutation::new(1 << 62, 1);
        assert!((0..100).all(|index| permutation.at(index) < 1 << 62));
        assert_ne!(BlockPermutation::new(1 << 20, 1), BlockPermutation::new(1 << 20, 2));
    }
}
