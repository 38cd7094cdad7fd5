//! Judges data by the checksums of the checksum tree, and tree blocks by their own. Pure.

use super::items::{CSUM_ITEM, CSUM_OBJECT, ItemKey, TreeBlock};
use super::space::ExtentRun;
use scrubjay_code::crc32c;
use std::collections::BTreeMap;
use std::ops::Range;

/// Bytes of a CRC-32C.
pub(super) const CSUM_BYTES: u64 = 4;

/// The checksums of the blocks at some logical addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Checksums {
    blocks: BTreeMap<u64, u32>,
}

impl Checksums {
    /// Adds the checksums in an item whose blocks lie in `wanted`; items of other kinds are ignored.
    pub fn take(&mut self, key: ItemKey, item: &[u8], sector: u64, wanted: &Range<u64>) {
        if (key.object, key.kind) != (CSUM_OBJECT, CSUM_ITEM) {
            return;
        }
        // Most of an item may lie in front of `wanted`.
        let skipped = wanted.start.saturating_sub(key.offset) / sector;
        let (sums, _) = item.as_chunks::<4>();
        for (index, sum) in sums.iter().enumerate().skip(usize::try_from(skipped).unwrap_or(usize::MAX)) {
            let Some(logical) = (index as u64).checked_mul(sector).and_then(|bytes| key.offset.checked_add(bytes))
            else {
                return;
            };
            if logical >= wanted.end {
                return;
            }
            if wanted.contains(&logical) {
                self.blocks.insert(logical, u32::from_le_bytes(*sum));
            }
        }
    }
}

/// How a block is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wrong {
    /// It cannot be read.
    Unreadable,
    /// It does not match its checksum.
    Checksum,
    /// It is a tree block that belongs elsewhere, or an old one.
    Identity,
}

/// A wrong block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WrongBlock {
    /// Its place in bytes from the beginning of the device extent.
    pub inside: u64,
    /// Its logical address.
    pub logical: u64,
    /// Its length in bytes: a sector of btrfs, or a tree block.
    pub bytes: u64,
    /// How it is wrong.
    pub kind: Wrong,
    /// Whether it is a tree block.
    pub is_tree_block: bool,
}

/// Properties of all tree blocks of a file system.
#[derive(Clone, Copy, Debug)]
pub(super) struct TreeRules {
    /// Bytes of a tree block.
    pub node_bytes: u64,
    /// The UUID in each.
    pub uuid: [u8; 16],
}

/// Judges data: `bytes` were read from byte `start` of the device extent on.
pub(super) fn judge_data(
    bytes: &[u8],
    start: u64,
    runs: &[ExtentRun],
    sums: &Checksums,
    sector: u64,
) -> Vec<WrongBlock> {
    let mut wrong = Vec::new();
    for run in runs {
        for (&logical, &sum) in sums.blocks.range(run.logical..run.logical + (run.inside.end - run.inside.start)) {
            let inside = run.inside.start + (logical - run.logical);
            let from = (inside - start) as usize;
            let block = &bytes[from..from + sector as usize];
            if crc32c(block) != sum {
                wrong.push(WrongBlock { inside, logical, bytes: sector, kind: Wrong::Checksum, is_tree_block: false });
            }
        }
    }
    wrong
}

/// The place of a tree block in these runs; `None` if it is not in one piece, or not all of it.
pub(super) fn place_of(runs: &[ExtentRun], logical: u64, length: u64) -> Option<u64> {
    let run = runs.iter().find(|run| {
        let end = run.logical + (run.inside.end - run.inside.start);
        run.logical <= logical && logical + length <= end
    })?;
    Some(run.inside.start + (logical - run.logical))
}

/// Whether a tree block that does not lie in one run shares bytes with `inside`. In a file system that was converted from another
/// one it may lie across two stripes.
pub(super) fn is_torn(runs: &[ExtentRun], logical: u64, length: u64, inside: &Range<u64>) -> bool {
    runs.iter().any(|run| {
        let end = run.logical + (run.inside.end - run.inside.start);
        let (from, to) = (logical.max(run.logical), (logical + length).min(end));
        let place = |logical: u64| run.inside.start + (logical - run.logical);
        from < to && place(from) < inside.end && inside.start < place(to - 1) + 1
    })
}

/// Judges one tree block: its bytes, against what it should be.
pub(super) fn judge_tree_block(bytes: &[u8], block: TreeBlock, rules: &TreeRules) -> Option<Wrong> {
    /// `struct btrfs_header`: checksum, UUID, address, flags, UUID of the chunk tree, generation, owner, items, level.
    const BODY: usize = 32;
    let word = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
    if crc32c(&bytes[BODY..]).to_le_bytes() != bytes[..4] {
        return Some(Wrong::Checksum);
    }
    let is_expected = word(48) == block.logical && word(80) == block.generation && bytes[32..48] == rules.uuid;
    (!is_expected).then_some(Wrong::Identity)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A tree block of 4 KiB.
    pub fn tree_block(logical: u64, generation: u64, uuid: [u8; 16]) -> Vec<u8> {
        let mut bytes = vec![7; 4096];
        bytes[32..48].copy_from_slice(&uuid);
        bytes[48..56].copy_from_slice(&logical.to_le_bytes());
        bytes[80..88].copy_from_slice(&generation.to_le_bytes());
        let sum = crc32c(&bytes[32..]).to_le_bytes();
        bytes[..4].copy_from_slice(&sum);
        bytes
    }

    fn sums(items: &[(u64, &[u32])], wanted: Range<u64>) -> Checksums {
        let mut sums = Checksums::default();
        for (logical, all) in items {
            let item: Vec<u8> = all.iter().flat_map(|sum| sum.to_le_bytes()).collect();
            sums.take(ItemKey::new(CSUM_OBJECT, CSUM_ITEM, *logical), &item, 4096, &wanted);
        }
        sums
    }

    #[test]
    fn only_checksums_of_the_wanted_addresses_are_taken() {
        let taken = sums(&[(0, &[1, 2, 3]), (12288, &[4]), (1 << 40, &[5])], 4096..16384);
        assert_eq!(taken.blocks, BTreeMap::from([(4096, 2), (8192, 3), (12288, 4)]));
        let mut none = Checksums::default();
        none.take(ItemKey::new(CSUM_OBJECT, 1, 4096), &[0; 8], 4096, &(0..8192));
        assert_eq!(none, Checksums::default());
    }

    #[test]
    fn data_that_do_not_match_are_reported_block_by_block() {
        let bytes: Vec<u8> = [1, 2, 3, 4].into_iter().flat_map(|byte| vec![byte; 4096]).collect();
        let sum = |byte: u8| crc32c(&[byte; 4096]);
        // Two runs of two blocks each, which are not adjacent; the third block has no checksum.
        let runs =
            [ExtentRun { inside: 8192..16384, logical: 1 << 20 }, ExtentRun { inside: 16384..24576, logical: 2 << 20 }];
        let all = sums(&[(1 << 20, &[sum(1), sum(9)]), ((2 << 20) + 4096, &[sum(4)])], 0..3 << 20);
        let wrong = judge_data(&bytes, 8192, &runs, &all, 4096);
        let block = WrongBlock {
            inside: 12288,
            logical: (1 << 20) + 4096,
            bytes: 4096,
            kind: Wrong::Checksum,
            is_tree_block: false,
        };
        assert_eq!(wrong, [block]);
    }

    #[test]
    fn a_tree_block_must_be_intact_and_belong_to_its_place() {
        let rules = TreeRules { node_bytes: 4096, uuid: [3; 16] };
        let block = TreeBlock { logical: 65536, generation: 9 };
        let mut bytes = tree_block(65536, 9, [3; 16]);
        assert_eq!(judge_tree_block(&bytes, block, &rules), None);
        assert_eq!(judge_tree_block(&bytes, TreeBlock { generation: 10, ..block }, &rules), Some(Wrong::Identity));
        assert_eq!(judge_tree_block(&bytes, TreeBlock { logical: 4096, ..block }, &rules), Some(Wrong::Identity));
        let other_rules = TreeRules { uuid: [4; 16], ..rules };
        assert_eq!(judge_tree_block(&bytes, block, &other_rules), Some(Wrong::Identity));
        bytes[4095] ^= 1;
        assert_eq!(judge_tree_block(&bytes, block, &rules), Some(Wrong::Checksum));
    }

    #[test]
    fn a_tree_block_across_two_runs_is_not_in_one_piece() {
        let runs =
            [ExtentRun { inside: 0..65536, logical: 65536 }, ExtentRun { inside: 65536..131_072, logical: 1 << 20 }];
        assert_eq!(place_of(&runs, (1 << 20) + 4096, 16384), Some(65536 + 4096));
        assert_eq!((place_of(&runs, 131_072 - 4096, 16384), place_of(&runs, 0, 16384)), (None, None));
        let torn = |logical, inside| is_torn(&runs, logical, 16384, &inside);
        assert!(torn(131_072 - 4096, 0..65536), "its beginning lies there");
        assert!(!torn(131_072 - 4096, 0..4096), "elsewhere than what is asked for");
        assert!(!torn(512 << 10, 0..131_072), "on another device");
    }
}
