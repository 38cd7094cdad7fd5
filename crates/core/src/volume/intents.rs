//! Which regions may have writes under way or unflushed: the memory of the intent log.
//!
//! A region is made dirty on all members before the first write into it, and clean again only after a flush that
//! followed its last write, lazily: a region that is written again soon costs nothing. After a crash only dirty
//! regions are looked at.
//!
//! While a member is out, what is written is remembered by region, too, until it is back or another one is complete.

use crate::index::RegionIndex;
use crate::units::Nanos;
use crate::volume::format::bits::Bits;
use crate::volume::format::intent::IntentBit;
use std::collections::BTreeMap;

/// The dirty regions and what is going on in them.
#[derive(Debug)]
pub(super) struct Intents {
    /// What the pages should say.
    pub dirty: Bits<RegionIndex>,
    /// Regions whose bit is on every attached member. A write into a region starts only when its bit is set here.
    pub durable: Bits<RegionIndex>,
    /// Regions that were written while a member was out.
    pub away: Bits<RegionIndex>,
    /// Of these, those that every attached member's pages name.
    pub away_durable: Bits<RegionIndex>,
    /// Dirty regions in use, by region.
    regions: BTreeMap<RegionIndex, IntentUse>,
    /// Pages being written.
    pub pages_busy: std::collections::BTreeSet<u64>,
    /// Is the task that cleans them under way?
    pub is_cleaning: bool,
}

#[derive(Clone, Copy, Debug, Default)]
struct IntentUse {
    writes: usize,
    last: Nanos,
    /// Was anything written since the last flush began?
    is_unflushed: bool,
}

impl Intents {
    /// As it was read, or all clean. What is dirty may be so on one member only: it is not durable yet.
    pub fn new(dirty: Bits<RegionIndex>) -> Intents {
        let regions =
            dirty.iter().map(|region| (region, IntentUse { is_unflushed: true, ..IntentUse::default() })).collect();
        Intents {
            durable: Bits::zeros(dirty.len()),
            away: Bits::zeros(dirty.len()),
            away_durable: Bits::zeros(dirty.len()),
            dirty,
            regions,
            pages_busy: Default::default(),
            is_cleaning: false,
        }
    }

    /// A write into a region begins.
    pub fn begin(&mut self, region: RegionIndex) {
        self.regions.entry(region).or_default().writes += 1;
        self.dirty.set(region, true);
    }

    /// Is the region already dirty on all members, and known as written while somebody is out, if somebody is?
    pub fn is_announced(&self, region: RegionIndex, is_anybody_out: bool) -> bool {
        self.durable.get(region) && (!is_anybody_out || self.away_durable.get(region))
    }

    /// A member is out from now on: it may lack what is under way, and what was not flushed.
    pub fn goes_away(&mut self) {
        self.dirty.iter().for_each(|region| self.away.set(region, true));
    }

    /// Nobody is out any more.
    pub fn all_are_back(&mut self) {
        self.away = Bits::zeros(self.dirty.len());
        self.away_durable = Bits::zeros(self.dirty.len());
    }

    /// A write into a region has ended.
    pub fn end(&mut self, region: RegionIndex, now: Nanos) {
        let entry = self.regions.get_mut(&region).expect("a write that ends has begun");
        entry.writes -= 1;
        (entry.last, entry.is_unflushed) = (now, true);
    }

    /// A flush of all members begins: what ended before is covered by it.
    pub fn flush_begins(&mut self) -> Vec<RegionIndex> {
        let covered = self.regions.iter_mut().filter(|(_, entry)| entry.writes == 0);
        covered
            .map(|(&region, entry)| {
                entry.is_unflushed = false;
                region
            })
            .collect()
    }

    /// Clears the dirty bit of each region in `covered` that has no write under way, none since the flush that covered it, and whose
    /// last write ended at `before` or earlier ([`Nanos::MAX`]: whenever). Returns the pages to write.
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

    /// What is told of the regions.
    pub fn of(&self, told: IntentBit) -> &Bits<RegionIndex> {
        match told {
            IntentBit::Dirty => &self.dirty,
            IntentBit::WhileOut => &self.away,
        }
    }

    /// Every attached member's pages say this of a region by now, unless it is not to be said any more.
    pub fn note_durable(&mut self, told: IntentBit, region: RegionIndex) {
        let is_said = self.of(told).get(region);
        match told {
            IntentBit::Dirty => self.durable.set(region, is_said),
            IntentBit::WhileOut => self.away_durable.set(region, is_said),
        }
    }

    /// What every attached member's pages say at least.
    pub fn durable_of(&self, told: IntentBit) -> &Bits<RegionIndex> {
        match told {
            IntentBit::Dirty => &self.durable,
            IntentBit::WhileOut => &self.away_durable,
        }
    }

    /// Is any region dirty?
    pub fn is_any_dirty(&self) -> bool {
        !self.regions.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_since_a_flush_began_stays_dirty() {
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
        // Even at a stop, which waits for no region to be idle.
        assert_eq!(intents.clean(&covered, Nanos::MAX, 10), [0]);
        assert_eq!(intents.dirty.iter().collect::<Vec<_>>(), [RegionIndex(4), RegionIndex(6)]);
        assert_eq!(intents.flush_begins(), [RegionIndex(4)]);
    }

    #[test]
    fn what_nobody_lacks_any_more_when_it_is_written_is_not_taken_for_told() {
        let mut intents = Intents::new(Bits::zeros(10));
        intents.away.set(RegionIndex(3), true);
        intents.all_are_back();
        intents.note_durable(IntentBit::WhileOut, RegionIndex(3));
        assert!(!intents.durable_of(IntentBit::WhileOut).get(RegionIndex(3)));
        intents.away.set(RegionIndex(3), true);
        intents.note_durable(IntentBit::WhileOut, RegionIndex(3));
        assert!(intents.durable_of(IntentBit::WhileOut).get(RegionIndex(3)));
    }
}
