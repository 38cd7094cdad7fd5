//! The volume's maps of regions, stripes and chunks: which were written, read and flushed, and which a crash may have left
//! half written. Also its write numbers, from which the latter is seen.

use crate::index::{RegionIndex, StripeIndex, StripePosition};
use crate::volume::durable::intents::Intents;
use crate::volume::durable::rounds::Rounds;
use crate::volume::durable::unflushed::Unflushed;
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::Geometry;
use crate::volume::repair::pending_resync::PendingResync;
use crate::volume::request::read_status::ReadStatus;
use std::collections::BTreeSet;

/// Zones of the read-status map held in memory, at most.
const READ_STATUS_ZONES: usize = 4096;

/// The maps of a volume.
pub struct VolumeMaps {
    /// The volume's geometry, which never changes.
    geometry: Geometry,
    /// The next write number.
    pub write_number: u64,
    /// Write numbers below this are durably reserved.
    pub write_numbers_end: u64,
    pub read_status: ReadStatus,
    pub unflushed: Unflushed,
    pub flush_rounds: Rounds,
    /// Which stripes were ever written.
    pub written: Bits<StripeIndex>,
    /// The newest generation of each page of the written map.
    pub written_generations: Vec<u64>,
    /// The trim horizon of each page (`WrittenPage::trim_horizon`).
    pub written_trim_horizons: Vec<u64>,
    /// Pages that changed, and that the next flush writes to the members.
    pub written_changed: BTreeSet<u64>,
    /// Pages whose two places on the disks may differ, because they were written only once since they changed.
    pub pages_in_one_place: BTreeSet<u64>,
    /// Whether the next round of flushing makes both places of every page the same.
    pub flushes_both_places: bool,
    pub intents: Intents,
    /// Regions that a crash left dirty, in a volume open for reading only, which is never resynced: any stripe in them may be
    /// half written, and they may hold first writes that the written map does not know.
    pub never_resynced: Bits<RegionIndex>,
    /// Stripes in `never_resynced` regions that the written map calls written (count).
    pub undecided_written: u64,
    /// Stripes that a crash may have left half written, and that were not resynced since.
    pub pending_resync: PendingResync,
}

impl VolumeMaps {
    /// The maps of a volume that starts, before they are read. Its first write gets this number.
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
            written_trim_horizons: vec![0; geometry.written_pages as usize],
            written_changed: BTreeSet::new(),
            pages_in_one_place: BTreeSet::new(),
            flushes_both_places: false,
            intents: Intents::new(Bits::zeros(geometry.regions())),
            never_resynced: Bits::zeros(geometry.regions()),
            undecided_written: 0,
            pending_resync: PendingResync::default(),
        }
    }

    /// The number of a data chunk in the read-status map.
    pub fn chunk(&self, stripe: StripeIndex, position: StripePosition) -> u64 {
        stripe.get() * self.geometry.layout.shape().data as u64 + position.get() as u64
    }

    /// Whether a region of this page of the written map awaits its resync (schemes with versions). Until then its trim
    /// horizon must not advance: the resync finds first writes that the map does not know by versions at or above it. Trims in the page are
    /// ignored meanwhile.
    pub fn is_held_back(&self, page: u64) -> bool {
        let stripes = self.geometry.stripes_of_page(page);
        let last = StripeIndex(stripes.end.get() - 1);
        let regions = self.geometry.region_of(stripes.start)..=self.geometry.region_of(last);
        self.geometry.scheme.has_versions() && self.pending_resync.has_any(regions)
    }

    /// Whether a crash may have left this stripe half written, and it was not resynced since the start.
    pub fn needs_resync(&self, stripe: StripeIndex) -> bool {
        let region = self.geometry.region_of(stripe);
        self.pending_resync.contains(region, stripe - self.geometry.stripes_of_region(region).start)
    }

    /// Whether this stripe was ever written; true where that is not known.
    pub fn may_be_written(&self, stripe: StripeIndex) -> bool {
        self.written.get(stripe) || self.needs_resync(stripe) || self.may_have_unmapped_write(stripe)
    }

    /// Whether the map says that this stripe is unwritten, but a first write may have been under way at the crash: only the
    /// versions of its rows can tell.
    pub fn may_have_unmapped_write(&self, stripe: StripeIndex) -> bool {
        self.geometry.scheme.has_versions()
            && !self.written.get(stripe)
            && self.never_resynced.get(self.geometry.region_of(stripe))
    }

    /// Whether it is not known what this stripe should hold: it awaits its resync, or lies in a region that will have none.
    pub fn is_undecided(&self, stripe: StripeIndex) -> bool {
        self.written.get(stripe) && self.never_resynced.get(self.geometry.region_of(stripe))
            || self.needs_resync(stripe)
    }

    /// Declares the regions that a crash left dirty undecided: they will not be resynced.
    pub fn leave_undecided(&mut self) {
        self.pending_resync = PendingResync::default();
        self.never_resynced = self.intents.dirty.clone();
        let stripes =
            self.never_resynced.iter().flat_map(|region| StripeIndex::each(self.geometry.stripes_of_region(region)));
        self.undecided_written = stripes.filter(|&stripe| self.written.get(stripe)).count() as u64;
    }

    /// Records that a row was read after its last write had been flushed, and that its content is right: the medium has it.
    pub fn note_read(&mut self, stripe: StripeIndex, position: StripePosition) {
        let chunk = self.chunk(stripe, position);
        self.read_status.set(chunk);
    }

    /// Records that all rows of a stripe are written: the written map shows it from the next flush on.
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

    /// The next generation of a page of the written map: at least the present write number, and even if the last one was odd,
    /// odd if it was even (the two lie in different places, and the newest must not be overwritten). Every write after this
    /// page has at least this number as its version, every write before it a smaller one. After a crash, that shows which
    /// stripes that the page calls unwritten were written since.
    pub fn next_generation(&mut self, page: u64) -> u64 {
        let last = &mut self.written_generations[page as usize];
        let least = self.write_number.max(*last + 1);
        *last = least + u64::from((least - *last).is_multiple_of(2));
        self.write_number = self.write_number.max(*last);
        *last
    }
}
