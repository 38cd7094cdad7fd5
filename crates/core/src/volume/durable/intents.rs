//! The intents in memory: which regions may have writes under way or unflushed.
//!
//! A region is marked dirty on all members before the first write into it. It becomes clean only after a flush that followed
//! its last write, and lazily: a region that is written again soon costs nothing. After a crash only dirty regions are
//! resynced.
//!
//! While a member is out, the regions written meanwhile are recorded too, until it is back or its replacement is complete.

use crate::index::RegionIndex;
use crate::units::Nanos;
use crate::volume::format::bits::Bits;
use crate::volume::format::intent::IntentBit;
use std::collections::BTreeMap;

/// The dirty regions, and the writes in them.
#[derive(Debug)]
pub struct Intents {
    /// Regions that the intent pages should name.
    pub dirty: Bits<RegionIndex>,
    /// Regions whose bit is on every attached member. A write into a region starts only when its bit is set here.
    pub durable: Bits<RegionIndex>,
    /// Regions that were written while a member was out.
    pub while_out: Bits<RegionIndex>,
    /// Of `while_out`, the regions that the pages of every attached member name.
    pub while_out_durable: Bits<RegionIndex>,
    /// The writes in each dirty region.
    regions: BTreeMap<RegionIndex, IntentUse>,
    /// Indices of the pages that are being written.
    pub pages_busy: std::collections::BTreeSet<u64>,
    /// Whether the task that cleans regions is running.
    pub is_cleaning: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct IntentUse {
    writes: usize,
    last: Nanos,
    /// Whether anything was written since the last flush began.
    is_unflushed: bool,
}

impl Intents {
    /// The intents as read from the members, or all clean. A dirty bit may be on one member only, so none counts as durable.
    pub fn new(dirty: Bits<RegionIndex>) -> Intents {
        let regions =
            dirty.iter().map(|region| (region, IntentUse { is_unflushed: true, ..IntentUse::default() })).collect();
        Intents {
            durable: Bits::zeros(dirty.len()),
            while_out: Bits::zeros(dirty.len()),
            while_out_durable: Bits::zeros(dirty.len()),
            dirty,
            regions,
            pages_busy: Default::default(),
            is_cleaning: false,
        }
    }

    /// Counts a write that begins in a region, and makes the region dirty.
    pub fn begin(&mut self, region: RegionIndex) {
        self.regions.entry(region).or_default().writes += 1;
        self.dirty.set(region, true);
    }

    /// Whether the region is dirty on all members and, if a member is out, also recorded there as written while one is out.
    pub fn is_announced(&self, region: RegionIndex, is_any_member_out: bool) -> bool {
        self.durable.get(region) && (!is_any_member_out || self.while_out_durable.get(region))
    }

    /// Records that a member is out from now on: it may lack writes under way, and writes not flushed.
    pub fn note_member_out(&mut self) {
        self.dirty.iter().for_each(|region| self.while_out.set(region, true));
    }

    /// Records that no member is out any more.
    pub fn note_all_back(&mut self) {
        self.while_out = Bits::zeros(self.dirty.len());
        self.while_out_durable = Bits::zeros(self.dirty.len());
    }

    /// Counts a write that has ended in a region.
    pub fn end(&mut self, region: RegionIndex, now: Nanos) {
        let entry = self.regions.get_mut(&region).expect("a write that ends has begun");
        entry.writes -= 1;
        (entry.last, entry.is_unflushed) = (now, true);
    }

    /// Records that a flush of all members begins. Returns the regions it covers: those without writes under way.
    pub fn flush_begins(&mut self) -> Vec<RegionIndex> {
        let covered = self.regions.iter_mut().filter(|(_, entry)| entry.writes == 0);
        covered
            .map(|(&region, entry)| {
                entry.is_unflushed = false;
                region
            })
            .collect()
    }

    /// Clears the dirty bit of each region in `covered` that has no write under way, none since the flush that covered it,
    /// and whose last write ended at `before` or earlier ([`Nanos::MAX`]: at any time). Returns the pages to write.
    pub fn clean(&mut self, covered: &[RegionIndex], before: Nanos, per_page: u64) -> Vec<u64> {
        let mut pages = std::collections::BTreeSet::new();
        for region in covered {
            let is_idle = |entry: &IntentUse| {
                entry.writes == 0 && !entry.is_unflushed && (before == Nanos::MAX || entry.last <= before)
            };
            if self.regions.get(region).is_some_and(is_idle) {
                self.regions.remove(region);
                self.dirty.set(*region, false);
                self.durable.set(*region, false);
                pages.insert(region.get() / per_page);
            }
        }
        pages.into_iter().collect()
    }

    /// The bits of this kind, as the pages should have them.
    pub fn bits_of(&self, kind: IntentBit) -> &Bits<RegionIndex> {
        match kind {
            IntentBit::Dirty => &self.dirty,
            IntentBit::WhileOut => &self.while_out,
        }
    }

    /// Records that the pages of every attached member have a region's bit now, unless it was cleared meanwhile.
    pub fn note_durable(&mut self, kind: IntentBit, region: RegionIndex) {
        let is_set = self.bits_of(kind).get(region);
        match kind {
            IntentBit::Dirty => self.durable.set(region, is_set),
            IntentBit::WhileOut => self.while_out_durable.set(region, is_set),
        }
    }

    /// The bits of this kind that the pages of every attached member have; they may have more.
    pub fn durable_of(&self, kind: IntentBit) -> &Bits<RegionIndex> {
        match kind {
            IntentBit::Dirty => &self.durable,
            IntentBit::WhileOut => &self.while_out_durable,
        }
    }

    /// Whether any region is dirty.
    pub fn is_any_dirty(&self) -> bool {
        !self.regions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_region_written_since_a_flush_began_stays_dirty() {
        let mut intents = Intents::new(Bits::zeros(10));
        for region in [3, 4] {
            intents.begin(RegionIndex(region));
            intents.end(RegionIndex(region), Nanos(5));
        }
        intents.begin(RegionIndex(6));
        let covered = intents.flush_begins();
        assert_eq!(covered, [RegionIndex(3), RegionIndex(4)]);
        intents.begin(RegionIndex(4));
        intents.end(RegionIndex(4), Nanos(5));
        // Also at a stop, which does not wait for regions to be idle.
        assert_eq!(intents.clean(&covered, Nanos::MAX, 10), [0]);
        assert_eq!(intents.dirty.iter().collect::<Vec<_>>(), [RegionIndex(4), RegionIndex(6)]);
        assert_eq!(intents.flush_begins(), [RegionIndex(4)]);
    }

    #[test]
    fn a_bit_cleared_while_its_page_was_written_does_not_count_as_durable() {
        let mut intents = Intents::new(Bits::zeros(10));
        intents.while_out.set(RegionIndex(3), true);
        intents.note_all_back();
        intents.note_durable(IntentBit::WhileOut, RegionIndex(3));
        assert!(!intents.durable_of(IntentBit::WhileOut).get(RegionIndex(3)));
        intents.while_out.set(RegionIndex(3), true);
        intents.note_durable(IntentBit::WhileOut, RegionIndex(3));
        assert!(intents.durable_of(IntentBit::WhileOut).get(RegionIndex(3)));
    }
}
