//! What the oracle stops to excuse: stripes and rows in which nothing is wrong any more.

use super::DiskSet;
use crate::fault_budget::Row;
use scrubjay_code::crc32c;
use scrubjay_core::index::{MemberIndex, RowIndex, StripePosition};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::integrity::tag::{self, ListEntry, RowIdentity, RowStatus};
use scrubjay_sim::member_disk::array;

impl DiskSet {
    /// Notes which stripes and rows are right again: from now on a loss there is illegal, and a finding needs a new fault. To be
    /// called while the array is down: a volume that runs may still report what it read before.
    pub fn note_recovered(&mut self) {
        let losable: Vec<u64> = self.fault_budget.losable().collect();
        let whole: Vec<u64> = losable.into_iter().filter(|&stripe| self.is_whole(stripe)).collect();
        self.fault_budget.recovered(whole);
        // A misdirected write that lies where nothing was written is wrong, too, once a write there is lost.
        let is_recovered =
            |&row: &Row| self.is_right(row) && !self.is_covered(row) && !self.fault_budget.may_be_wrong(row);
        let recovered: Vec<Row> = self.planted.keys().copied().filter(is_recovered).collect();
        recovered.iter().for_each(|row| drop(self.planted.remove(row)));
    }

    /// Is every row of this stripe there, right, and no mark of a loss, and do the parities list the data rows as they are?
    /// Never of a stripe that was not written, nor in a scheme whose rows show less than that.
    fn is_whole(&self, stripe: u64) -> bool {
        let geometry = self.geometry;
        let data = geometry.layout.shape().data;
        let mut entries = Vec::with_capacity(data);
        geometry.scheme.checks_itself()
            && geometry.scheme.has_versions()
            && self.places(stripe).enumerate().all(|(position, row)| {
                let is_there = !self.disks[row.0].is_gone && !self.fault_budget.lacking[row.0] && self.is_right(row);
                is_there && !self.fault_budget.may_be_wrong(row) && self.is_sound(row, position, &mut entries)
            })
    }

    /// Do two parities that are right, and whose lists are equal, suffice to rebuild every data row that differs from their list?
    /// Then a resync can decide what the stripe holds, whatever a crash and one fault left of the data rows.
    pub(super) fn is_proven(&self, stripe: u64) -> bool {
        if self.geometry.scheme != Scheme::Stamp {
            return false;
        }
        let data = self.geometry.layout.shape().data;
        let is_there = |row: Row| !self.disks[row.0].is_gone && !self.fault_budget.lacking[row.0] && self.is_right(row);
        let mut lists: Vec<Vec<ListEntry>> = Vec::new();
        for (position, row) in self.places(stripe).enumerate().skip(data) {
            if is_there(row) && !self.fault_budget.may_be_wrong(row) {
                lists.extend(self.list_of(row, position));
            }
        }
        lists.iter().any(|list| {
            let agreeing = lists.iter().filter(|other| *other == list).count();
            let differs = |(position, row): (usize, Row)| {
                let mut own = Vec::new();
                let is_sound = is_there(row) && self.is_sound(row, position, &mut own);
                !is_sound || own[0].version != list[position].version
            };
            let wrong = self.places(stripe).take(data).enumerate().filter(|&place| differs(place)).count();
            agreeing >= 2 && wrong <= agreeing
        })
    }

    /// The list of a parity that proves itself.
    fn list_of(&self, (disk, row): Row, position: usize) -> Option<Vec<ListEntry>> {
        let (bytes, place) = self.row_and_place((disk, row), position)?;
        let (content, appendix) = bytes.split_at(self.geometry.chunk_bytes as usize);
        let mut listed = vec![ListEntry::default(); self.geometry.layout.shape().data];
        let status = tag::open_parity(appendix, place, Some(crc32c(content)), &mut listed).0;
        (status == RowStatus::Sound).then_some(listed)
    }

    /// The bytes of a row, if it can be read, and its identity.
    fn row_and_place(&self, (disk, row): Row, position: usize) -> Option<(Vec<u8>, RowIdentity)> {
        let mut bytes = vec![0; self.geometry.row_bytes() as usize];
        self.disks[disk].read(self.geometry.chunk_offset(RowIndex(row)).get(), &mut bytes).ok()?;
        let (member, row, position) = (MemberIndex(disk), RowIndex(row), StripePosition(position));
        Some((bytes, RowIdentity { array: array::ARRAY.id(), member, row, position }))
    }

    /// Does this row prove itself? Adds the entry of a data row to `entries`, and compares them with the list of a parity.
    fn is_sound(&self, row: Row, position: usize, entries: &mut Vec<ListEntry>) -> bool {
        let data = self.geometry.layout.shape().data;
        if position >= data {
            return self.list_of(row, position).is_some_and(|list| list == *entries);
        }
        let Some((bytes, place)) = self.row_and_place(row, position) else { return false };
        let (content, appendix) = bytes.split_at(self.geometry.chunk_bytes as usize);
        let tag = tag::open_data(appendix, place, Some(crc32c(content)));
        entries.push(tag.entry);
        tag.status == RowStatus::Sound && !tag.entry.version.is_lost()
    }
}
