//! What the oracle stops to excuse: stripes and rows in which nothing is wrong any more.

use super::DiskSet;
use crate::fault_budget::Row;
use scrubjay_code::crc32c;
use scrubjay_core::index::{MemberIndex, RowIndex, StripePosition};
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

    /// Does this row prove itself? Adds the entry of a data row to `entries`, and compares them with the list of a parity.
    fn is_sound(&self, (disk, row): Row, position: usize, entries: &mut Vec<ListEntry>) -> bool {
        let geometry = self.geometry;
        let mut bytes = vec![0; geometry.row_bytes() as usize];
        if self.disks[disk].read(geometry.chunk_offset(RowIndex(row)).get(), &mut bytes).is_err() {
            return false;
        }
        let (content, appendix) = bytes.split_at(geometry.chunk_bytes as usize);
        let (array, sum) = (array::ARRAY.id(), Some(crc32c(content)));
        let data = geometry.layout.shape().data;
        let place =
            RowIdentity { array, member: MemberIndex(disk), row: RowIndex(row), position: StripePosition(position) };
        if position < data {
            let tag = tag::open_data(appendix, place, sum);
            entries.push(tag.entry);
            return tag.status == RowStatus::Sound && !tag.entry.version.is_lost();
        }
        let mut listed = vec![ListEntry::default(); data];
        tag::open_parity(appendix, place, sum, &mut listed).0 == RowStatus::Sound && listed == *entries
    }
}
