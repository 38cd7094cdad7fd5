//! Stripes that a crash may have left half written, and that are not resynced yet.

use crate::index::RegionIndex;
use crate::volume::format::bits::Bits;
use std::collections::BTreeMap;
use std::ops::RangeInclusive;

/// The regions that were dirty at the start and are not fully resynced. By region: its stripes that are resynced; `None`: none yet.
#[derive(Debug, Default)]
pub struct PendingResync {
    regions: BTreeMap<RegionIndex, Option<ResyncedStripes>>,
}

#[derive(Debug)]
struct ResyncedStripes {
    stripes: Bits<u64>,
    count: u64,
}

impl PendingResync {
    /// All stripes of these regions await their resync.
    pub fn new(dirty: &Bits<RegionIndex>) -> PendingResync {
        PendingResync { regions: dirty.iter().map(|region| (region, None)).collect() }
    }

    /// Does the stripe with this index in its region await its resync?
    pub fn contains(&self, region: RegionIndex, index: u64) -> bool {
        let is_synced = |synced: &ResyncedStripes| synced.stripes.get(index);
        self.regions.get(&region).is_some_and(|synced| !synced.as_ref().is_some_and(is_synced))
    }

    /// Does any stripe of this region await its resync?
    pub fn has(&self, region: RegionIndex) -> bool {
        self.regions.contains_key(&region)
    }

    /// Does any stripe of these regions await its resync?
    pub fn has_any(&self, regions: RangeInclusive<RegionIndex>) -> bool {
        self.regions.range(regions).next().is_some()
    }

    /// The regions with stripes that await their resync, in ascending order.
    pub fn regions(&self) -> impl ExactSizeIterator<Item = RegionIndex> {
        self.regions.keys().copied()
    }

    /// Records that the stripe with this index in a region of `stripes` stripes is resynced.
    pub fn mark_resynced(&mut self, region: RegionIndex, index: u64, stripes: u64) {
        let Some(entry) = self.regions.get_mut(&region) else { return };
        let synced = entry.get_or_insert_with(|| ResyncedStripes { stripes: Bits::zeros(stripes), count: 0 });
        synced.count += u64::from(!synced.stripes.get(index));
        synced.stripes.set(index, true);
        if synced.count == stripes {
            self.regions.remove(&region);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_is_resynced_when_each_of_its_stripes_is() {
        let mut dirty = Bits::zeros(5);
        [1, 3].map(RegionIndex).into_iter().for_each(|region| dirty.set(region, true));
        let mut pending_resync = PendingResync::new(&dirty);
        assert!(
            pending_resync.contains(RegionIndex(3), 0)
                && pending_resync.has(RegionIndex(1))
                && !pending_resync.contains(RegionIndex(2), 0)
        );
        for index in [2, 0, 2, 0] {
            pending_resync.mark_resynced(RegionIndex(3), index, 3);
        }
        assert!(
            pending_resync.contains(RegionIndex(3), 1)
                && !pending_resync.contains(RegionIndex(3), 2)
                && pending_resync.has(RegionIndex(3))
        );
        pending_resync.mark_resynced(RegionIndex(3), 1, 3);
        pending_resync.mark_resynced(RegionIndex(2), 1, 3);
        assert_eq!(pending_resync.regions().collect::<Vec<_>>(), [RegionIndex(1)]);
    }
}
