//! Counts request sizes exactly in bounded memory.

use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use std::collections::BTreeMap;

/// The largest size counted in a table of whole sectors: 4 MiB. Few disks take more in one request.
const SECTORS_MAX: u64 = (4 << 20) / SECTOR_BYTES;
/// The number of other sizes counted separately; any further ones are rounded up to a power of two.
const OTHERS_MAX: usize = 4096;

/// Counts of each size: 64 KiB, and at most 4160 other sizes.
#[derive(Clone, Debug)]
pub struct SizeTable {
    by_sectors: Vec<u64>,
    other_sizes: BTreeMap<u64, u64>,
    count: u64,
    sum: u64,
}

/// One size and its share of the requests.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SizeShare {
    /// The size.
    pub size: Bytes,
    /// The share of requests of this size, 0..=1.
    pub share: f64,
}

impl Default for SizeTable {
    fn default() -> SizeTable {
        SizeTable { by_sectors: vec![0; SECTORS_MAX as usize + 1], other_sizes: BTreeMap::new(), count: 0, sum: 0 }
    }
}

impl SizeTable {
    /// Counts one request.
    pub fn add(&mut self, size: Bytes) {
        self.count += 1;
        self.sum = self.sum.saturating_add(size.0);
        if size.0 <= SECTORS_MAX * SECTOR_BYTES && size.0.is_multiple_of(SECTOR_BYTES) {
            self.by_sectors[(size.0 / SECTOR_BYTES) as usize] += 1;
        } else {
            self.add_other(size.0);
        }
    }

    fn add_other(&mut self, size: u64) {
        let known = self.other_sizes.len() < OTHERS_MAX || self.other_sizes.contains_key(&size);
        let size = if known { size } else { size.checked_next_power_of_two().unwrap_or(u64::MAX) };
        *self.other_sizes.entry(size).or_default() += 1;
    }

    /// The mean size in bytes; zero if nothing was counted.
    pub fn mean(&self) -> f64 {
        if self.count > 0 { self.sum as f64 / self.count as f64 } else { 0.0 }
    }

    /// The `limit` most frequent sizes, the most frequent first.
    pub fn most_frequent(&self, limit: usize) -> Vec<SizeShare> {
        let mut counts = self.counts();
        counts.sort_by_key(|&(size, count)| (std::cmp::Reverse(count), size));
        counts.truncate(limit);
        let share = |count| count as f64 / self.count as f64;
        counts.into_iter().map(|(size, count)| SizeShare { size: Bytes(size), share: share(count) }).collect()
    }

    /// The smallest size that at least `share` (0..=1) of the requests do not exceed; zero if nothing was counted.
    pub fn quantile(&self, share: f64) -> Bytes {
        let (rank, mut below) = (share * self.count as f64, 0);
        let reached = |&(_, count): &(u64, u64)| {
            below += count;
            below as f64 >= rank
        };
        Bytes(self.counts().into_iter().find(reached).map_or(0, |(size, _)| size))
    }

    /// All sizes that occurred, in ascending order, with their counts.
    fn counts(&self) -> Vec<(u64, u64)> {
        let whole_sectors = self.by_sectors.iter().zip(0..).map(|(&count, sectors)| (sectors * SECTOR_BYTES, count));
        let other_sizes = self.other_sizes.iter().map(|(&size, &count)| (size, count));
        let mut counts: Vec<_> = whole_sectors.chain(other_sizes).filter(|&(_, count)| count > 0).collect();
        counts.sort_unstable();
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_sizes_by_hand() {
        let mut sizes = SizeTable::default();
        assert_eq!((sizes.mean(), sizes.quantile(0.5), sizes.most_frequent(3)), (0.0, Bytes(0), Vec::new()));
        [4096, 4096, 700, 8 << 20].iter().for_each(|&size| sizes.add(Bytes(size)));
        assert_eq!(sizes.mean(), (2 * 4096 + 700 + (8 << 20)) as f64 / 4.0);
        assert_eq!([0.25, 0.5, 0.75, 1.0].map(|share| sizes.quantile(share).0), [700, 4096, 4096, 8 << 20]);
        let frequent = sizes.most_frequent(2);
        assert_eq!(frequent[0], SizeShare { size: Bytes(4096), share: 0.5 });
        assert_eq!(frequent[1], SizeShare { size: Bytes(700), share: 0.25 });
    }

    #[test]
    fn any_number_of_odd_sizes_takes_bounded_memory() {
        let mut sizes = SizeTable::default();
        (0..100_000).for_each(|odd| sizes.add(Bytes(odd * 1000 + 1)));
        sizes.add(Bytes(u64::MAX));
        assert!(sizes.other_sizes.len() <= OTHERS_MAX + 64);
        assert_eq!(sizes.counts().iter().map(|(_, count)| count).sum::<u64>(), 100_001);
    }
}
