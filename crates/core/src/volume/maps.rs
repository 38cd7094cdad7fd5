//! What is known of regions, stripes and chunks: which were written, read, flushed; which a crash may have left half
//! written; and the numbers of writes, by which that is told.

use super::intents::Intents;
use super::read_status::ReadStatus;
use super::rounds::Rounds;
use super::unflushed::Unflushed;
use super::unsynced::UnsyncedRegions;
use crate::index::{RegionIndex, StripeIndex, StripePosition};
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::Geometry;
use std::collections::BTreeSet;

/// Zones of the read-status map in memory.
const READ_STATUS_ZONES: usize = 4096;

/// All maps.
pub(super) struct VolumeMaps {
    /// Where everything lies: the volume's own, which never changes.
    geometry: Geometry,
    pub write_number: u64,
    /// Numbers below this are reserved, durably.
    pub write_numbers_end: u64,
    pub read_status: ReadStatus,
    pub unflushed: Unflushed,
    pub flush_rounds: Rounds,
    pub written: Bits<StripeIndex>,
    pub written_generations: Vec<u64>,
    /// What was written before, and is not in the map, was forgotten: see `WrittenPage::since` of the format.
    pub written_sinces: Vec<u64>,
    pub written_changed: BTreeSet<u64>,
    /// Pages whose two places on the disks may say different things: written once since they changed.
    pub written_once: BTreeSet<u64>,
    /// Is the next round of flushing to make both places of every page say the same?
    pub writes_twice: bool,
    pub intents: Intents,
    /// Regions that a crash left dirty, in a volume that is open for reading only, where nobody resyncs them: any stripe in them may be
    /// half written, and there may be first writes that the written map does not know.
    pub undecided: Bits<RegionIndex>,
    /// How many stripes in them the map knows.
    pub undecided_written: u64,
    /// Stripes that a crash may have left half written, and that nobody looked at since.
    pub unsynced: UnsyncedRegions,
}

impl VolumeMaps {
    /// Of a volume that starts, before its maps are read; its first write has this number.
    pub fn new(geometry: Geometry, write_number: u64) -> VolumeMaps {
        let data = geometry.layout.shape().data as u64;
        VolumeMaps {
            geometry,
            write_number,
            write_numbers_end: 0,
            read_status: ReadStatus::new(geometry.stripes * data, READ_STATUS_ZONES),
            unflushed: Unflushed::default(),
            flush_rounds: Rounds::default(),
            written: Bits::ones(geometry.stripes),
            written_generations: vec![0; geometry.written_pages as usize],
            written_sinces: vec![0; geometry.written_pages as usize],
            written_changed: BTreeSet::new(),
            written_once: BTreeSet::new(),
            writes_twice: false,
            intents: Intents::new(Bits::zeros(geometry.regions())),
            undecided: Bits::zeros(geometry.regions()),
            undecided_written: 0,
            unsynced: UnsyncedRegions::default(),
        }
    }

    /// The number of a data chunk in the read-status map.
    pub fn chunk(&self, stripe: StripeIndex, position: StripePosition) -> u64 {
        stripe.get() * self.geometry.layout.shape().data as u64 + position.get() as u64
    }

    /// True while a region of this page of the written map awaits its resync. Until then `since` must not advance: the resync finds
    /// first writes that the map does not know of by `version >= since`. Trims in the page are ignored meanwhile.
    pub fn is_held_back(&self, page: u64) -> bool {
        let stripes = self.geometry.stripes_of_page(page);
        let last = StripeIndex(stripes.end.get() - 1);
        let regions = self.geometry.region_of(stripes.start)..=self.geometry.region_of(last);
        self.geometry.scheme.has_versions() && self.unsynced.has_any(regions)
    }

    /// May this stripe be half written, and did nobody look at it since the start?
    pub fn needs_resync(&self, stripe: StripeIndex) -> bool {
        let region = self.geometry.region_of(stripe);
        self.unsynced.contains(region, stripe - self.geometry.stripes_of_region(region).start)
    }

    /// Was this stripe ever written? Where that is not known, so it is said.
    pub fn may_be_written(&self, stripe: StripeIndex) -> bool {
        self.written.get(stripe) || self.needs_resync(stripe) || self.may_be_unmapped(stripe)
    }

    /// Do only its appendices tell whether this stripe was ever written?
    pub fn may_be_unmapped(&self, stripe: StripeIndex) -> bool {
        self.geometry.scheme.has_versions()
            && !self.written.get(stripe)
            && self.undecided.get(self.geometry.region_of(stripe))
    }

    /// Is it not known what this stripe should hold?
    pub fn is_undecided(&self, stripe: StripeIndex) -> bool {
        self.written.get(stripe) && self.undecided.get(self.geometry.region_of(stripe)) || self.needs_resync(stripe)
    }

    /// A crash left these regions dirty, and nobody will resync them.
    pub fn leave_undecided(&mut self) {
        self.unsynced = UnsyncedRegions::default();
        self.undecided = self.intents.dirty.clone();
        let stripes =
            self.undecided.iter().flat_map(|region| StripeIndex::each(self.geometry.stripes_of_region(region)));
        self.undecided_written = stripes.filter(|&stripe| self.written.get(stripe)).count() as u64;
    }

    /// A row was read after its last write had been flushed, and its content is right: the medium has it.
    pub fn note_read(&mut self, stripe: StripeIndex, position: StripePosition) {
        let chunk = self.chunk(stripe, position);
        self.read_status.set(chunk);
    }

    /// All rows of a stripe are written: from the next flush on the written map says so.
    pub fn note_written(&mut self, stripe: StripeIndex) {
        if !self.written.get(stripe) {
            self.written.set(stripe, true);
            self.written_changed.insert(self.geometry.written_page_of(stripe));
        }
    }

    pub fn note_write(&mut self, stripe: StripeIndex, position: StripePosition) {
        let chunk = self.chunk(stripe, position);
        self.read_status.clear(chunk);
        self.unflushed.insert(chunk);
    }

    /// The next generation of a page of the written map: at least the present write number, and even if the last one was odd, or odd if it was
    /// even (the two lie in different places, and the newest must not be written over). Every write after this page has at least this number as its
    /// version, every write before it a smaller one: after a crash that tells which of the stripes that the page calls unwritten were
    /// written since.
    pub fn next_generation(&mut self, page: u64) -> u64 {
        let last = &mut self.written_generations[page as usize];
        let least = self.write_number.max(*last + 1);
        *last = least + u64::from((least - *last).is_multiple_of(2));
        self.write_number = self.write_number.max(*last);
        *last
    }
}
