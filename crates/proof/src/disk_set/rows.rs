//! Which rows are wrong: what the media hold, against what was last written there.

use super::DiskSet;
use crate::fault_budget::Row;
use scrubjay_core::index::RowIndex;

impl DiskSet {
    /// The data chunks of this stripe that a silently corrupt parity would reconstruct: those that are gone; in a
    /// scheme without versions, where nothing tells what a crash cut short, all of them.
    pub(super) fn misled(&self, stripe: u64) -> Vec<Row> {
        let len = self.geometry.row_bytes();
        let is_gone = |&(disk, row): &Row| {
            self.fault_budget.lacking[disk]
                || self.disks[disk].is_unreadable(self.geometry.chunk_offset(RowIndex(row)).get(), len)
        };
        let mut rows: Vec<Row> = self.places(stripe).collect();
        let parities = rows.split_off(self.geometry.layout.shape().data);
        let is_misled = parities.iter().any(|&row| self.is_corrupt(row));
        rows.retain(|row| is_misled && (is_gone(row) || !self.geometry.scheme.has_versions()));
        rows
    }

    /// The rows of these stripes that are silently corrupt.
    pub fn corrupt(&self, stripes: impl Iterator<Item = u64>) -> Vec<Row> {
        let places = stripes.flat_map(|stripe| self.places(stripe));
        places.filter(|&row| self.is_corrupt(row)).collect()
    }

    /// The silently corrupt rows of those of these stripes in which more rows are wrong than the parities make up for.
    pub fn corrupt_beyond(&self, stripes: impl Iterator<Item = u64>) -> Vec<Row> {
        let is_wrong = |&row: &Row| {
            let (disk, offset) = (&self.disks[row.0], self.geometry.chunk_offset(RowIndex(row.1)));
            let len = self.geometry.row_bytes();
            // A row that could not be rebuilt on a new disk was never written there, or has no appendix.
            let block = self.geometry.block_bytes;
            let is_there = disk.is_filled(offset.get() + len - block, block) && !disk.is_unreadable(offset.get(), len);
            self.fault_budget.lacking[row.0] || !is_there || self.is_corrupt(row)
        };
        let parity = self.geometry.layout.shape().parity;
        self.corrupt(stripes.filter(|&stripe| self.places(stripe).filter(is_wrong).count() > parity))
    }

    /// Does the medium hold in this row what was last written there?
    pub fn is_right(&self, row: Row) -> bool {
        let (offset, len) = (self.geometry.chunk_offset(RowIndex(row.1)), self.geometry.row_bytes());
        !self.is_corrupt(row) && !self.disks[row.0].is_unreadable(offset.get(), len)
    }

    /// The rows of a stripe, by position.
    pub fn places(&self, stripe: u64) -> impl Iterator<Item = Row> {
        let layout = self.geometry.layout;
        (0..layout.shape().width()).map(move |slot| layout.place(stripe, slot)).map(|place| (place.disk, place.row))
    }

    pub(super) fn is_covered(&self, (disk, row): Row) -> bool {
        self.disks[disk].is_covered(self.geometry.chunk_offset(RowIndex(row)).get(), self.geometry.row_bytes())
    }

    pub(super) fn is_corrupt(&self, (disk, row): Row) -> bool {
        self.disks[disk].is_corrupt(self.geometry.chunk_offset(RowIndex(row)).get(), self.geometry.row_bytes())
    }
}
