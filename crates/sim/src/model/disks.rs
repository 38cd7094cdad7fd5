//! The disks of a modelled stripe: they read and write rows, with at most one fault in an operation.

use super::setup::{DATA_MAX, ModelSetup};
use super::sight::RowsSeen;
use super::stripe::{AppendixOwner, DataRow, FOREIGN, ListMark, ModelRow, ModelStripe, ParityHead, ParityRow};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;

/// The fault in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFault {
    /// No fault.
    None,
    /// The first read of this position returns another row, the next one the right row. (Parts of two rows would not
    /// pass either in a row that checks itself, and are equivalent in one that does not.)
    Misread(StripePosition),
    /// A write is not done, or only in part.
    Write {
        /// The number of the write in the operation, from 0.
        nth: usize,
        /// The position that it writes.
        position: StripePosition,
        /// The damage to the write.
        damage: WriteDamage,
    },
}

/// The damage to a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteDamage {
    /// The write is lost.
    Lost,
    /// Part of the content is written, the end of the row is not.
    Torn,
    /// All of the content is written, the appendix is not.
    TornAtAppendix,
}

/// How a stray write, meant for another row, hits a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// It replaces the row.
    Aligned,
    /// Its end covers the row's beginning.
    Head,
    /// Its beginning covers the row's end.
    Tail,
}

/// A write of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// The position of the row.
    pub position: StripePosition,
    /// Is only the appendix written?
    pub is_appendix: bool,
}

/// A stripe's disks during one operation.
pub struct Disks<'a> {
    /// The setup of the check.
    pub setup: &'a ModelSetup,
    /// The rows on the disks.
    pub stripe: ModelStripe,
    /// The fault in this operation.
    fault: ModelFault,
    /// The writes so far, whether or not they took effect.
    pub written: Vec<RowWrite>,
}

impl<'a> Disks<'a> {
    /// The disks at the beginning of an operation.
    pub fn new(setup: &'a ModelSetup, stripe: ModelStripe, fault: ModelFault) -> Disks<'a> {
        Disks { setup, stripe, fault, written: Vec::new() }
    }

    /// Reads chunks with their appendices, and appendices alone; rows that are not sound are read a second time.
    pub fn read(&self, chunks: PositionSet, appendices: PositionSet) -> RowsSeen {
        let mut seen = RowsSeen::default();
        for position in (chunks | appendices).iter() {
            let Some(row) = self.stripe.row(self.setup, position) else { continue };
            let row = match self.fault {
                ModelFault::Misread(misread) if misread == position => {
                    foreign(self.setup, position, AppendixOwner::Elsewhere)
                }
                _ => row,
            };
            seen.insert(self.setup, position, row, chunks.contains(position));
        }
        for position in seen.unsound(self.setup).iter() {
            let row = self.stripe.row(self.setup, position).expect("it was read");
            seen.insert(self.setup, position, row, chunks.contains(position));
        }
        seen
    }

    /// Reads again, without any fault.
    pub fn read_again(&self, chunks: PositionSet) -> RowsSeen {
        Disks::new(self.setup, self.stripe, ModelFault::None).read(chunks, PositionSet::NONE)
    }

    /// Writes a row.
    pub fn write(&mut self, position: StripePosition, row: ModelRow) {
        let damage = self.damage(position, false);
        let old = self.stripe.row(self.setup, position).expect("a member that is there");
        let landed = match damage {
            None => row,
            Some(WriteDamage::Lost) => old,
            Some(damage) => torn(self.setup, old, row, damage == WriteDamage::Torn),
        };
        self.stripe.put(self.setup, position, Some(landed));
    }

    /// Writes a data chunk's appendix: the copy of its neighbour's checksum, and its own checksum as it was read, if it was.
    pub fn write_appendix(&mut self, position: StripePosition, sealed: Option<u8>, neighbour: u8) {
        let is_lost = self.damage(position, true).is_some();
        if let Some(row) = self.stripe.chunks[position.get()].row.as_mut().filter(|_| !is_lost) {
            row.neighbour = neighbour;
            if let Some(sealed) = sealed {
                row.sealed = sealed;
                row.place = AppendixOwner::Here;
            }
        }
    }

    /// Counts this write, and returns the damage to it.
    fn damage(&mut self, position: StripePosition, is_appendix: bool) -> Option<WriteDamage> {
        self.written.push(RowWrite { position, is_appendix });
        match self.fault {
            ModelFault::Write { nth, damage, .. } if nth + 1 == self.written.len() => Some(damage),
            _ => None,
        }
    }
}

/// The row that results when a stray write hits this one.
pub fn hit(setup: &ModelSetup, row: ModelRow, position: StripePosition, kind: Hit) -> ModelRow {
    match (kind, row) {
        (Hit::Aligned, _) => foreign(setup, position, AppendixOwner::Elsewhere),
        (Hit::Tail, _) => foreign(setup, position, AppendixOwner::Nowhere),
        (Hit::Head, ModelRow::Data(row)) => plain(setup, ModelRow::Data(DataRow { content: FOREIGN, ..row })),
        (Hit::Head, ModelRow::Parity(row)) => {
            let head = ParityHead { is_whole: false, ..row.head };
            plain(setup, ModelRow::Parity(ParityRow { columns: [FOREIGN; DATA_MAX], head, ..row }))
        }
    }
}

/// A row that does not belong to this place; a new disk holds one, too.
pub fn foreign(setup: &ModelSetup, position: StripePosition, place: AppendixOwner) -> ModelRow {
    let row = match setup.shape.is_data(position) {
        true => ModelRow::Data(DataRow { content: FOREIGN, sealed: FOREIGN, version: 0, neighbour: FOREIGN, place }),
        false => {
            let list = [ListMark { version: 0, content: FOREIGN }; DATA_MAX];
            let head = ParityHead { is_whole: true, place };
            ModelRow::Parity(ParityRow { columns: [FOREIGN; DATA_MAX], list, head })
        }
    };
    plain(setup, row)
}

/// The row with the old appendix, and all of the new content or (`is_mixed`) a part of it.
pub fn torn(setup: &ModelSetup, old: ModelRow, new: ModelRow, is_mixed: bool) -> ModelRow {
    let content = |old: u8, new: u8| if old == new || !is_mixed { new } else { FOREIGN };
    let row = match (old, new) {
        (ModelRow::Data(old), ModelRow::Data(new)) => {
            ModelRow::Data(DataRow { content: content(old.content, new.content), ..old })
        }
        (ModelRow::Parity(old), ModelRow::Parity(new)) => {
            let columns: [u8; DATA_MAX] = std::array::from_fn(|index| content(old.columns[index], new.columns[index]));
            let is_whole = old.head.is_whole && columns == old.columns;
            ModelRow::Parity(ParityRow { columns, head: ParityHead { is_whole, ..old.head }, ..old })
        }
        _ => unreachable!("a position is of one kind"),
    };
    plain(setup, row)
}

/// In rows that do not check themselves, removes what only such a check could find wrong.
fn plain(setup: &ModelSetup, row: ModelRow) -> ModelRow {
    match row {
        _ if setup.scheme.checks_itself() => row,
        ModelRow::Data(row) => ModelRow::Data(DataRow { sealed: row.content, place: AppendixOwner::Here, ..row }),
        ModelRow::Parity(row) => ModelRow::Parity(ParityRow { head: ParityHead::default(), ..row }),
    }
}
