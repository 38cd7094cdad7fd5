//! The disks of a modelled stripe: they read and write rows, and do at most one thing wrong.

use super::setup::{DATA_MAX, ModelSetup};
use super::sight::RowsSeen;
use super::stripe::{AppendixOwner, DataRow, FOREIGN, ListMark, ModelRow, ModelStripe, ParityHead, ParityRow};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;

/// What goes wrong in an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelFault {
    /// Nothing.
    None,
    /// The first read of this position gives another row; the next gives what is there. (Parts of two rows would not do for a
    /// row that checks itself either, and are the same to one that does not.)
    Misread(StripePosition),
    /// A write does not, or not wholly, happen.
    Write {
        /// The how-manyth of the operation, from 0.
        nth: usize,
        /// To which position that is.
        position: StripePosition,
        /// What happens of it.
        damage: WriteDamage,
    },
}

/// What is wrong with a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteDamage {
    /// It is lost.
    Lost,
    /// Part of the content is written, the end of the row is not.
    Torn,
    /// All of the content is written, the appendix is not.
    TornAtAppendix,
}

/// How a write that belongs elsewhere hits a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hit {
    /// It replaces it.
    Aligned,
    /// Its end goes over the row's beginning.
    Head,
    /// Its beginning goes over the row's end.
    Tail,
}

/// One row write: where, and is it the appendix alone?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowWrite {
    /// The position.
    pub position: StripePosition,
    /// The appendix alone?
    pub is_appendix: bool,
}

/// A stripe's disks during one operation.
pub struct Disks<'a> {
    /// What is checked.
    pub setup: &'a ModelSetup,
    /// What is on them.
    pub stripe: ModelStripe,
    /// What goes wrong.
    fault: ModelFault,
    /// What was written, whether or not it got there.
    pub written: Vec<RowWrite>,
}

impl<'a> Disks<'a> {
    /// At the beginning of an operation.
    pub fn new(setup: &'a ModelSetup, stripe: ModelStripe, fault: ModelFault) -> Disks<'a> {
        Disks { setup, stripe, fault, written: Vec::new() }
    }

    /// Reads chunks with their appendices, and appendices alone; then once more what is not sound.
    pub fn read(&self, chunks: PositionSet, appendices: PositionSet) -> RowsSeen {
        let mut sight = RowsSeen::default();
        for position in (chunks | appendices).iter() {
            let Some(row) = self.stripe.row(self.setup, position) else { continue };
            let row = match self.fault {
                ModelFault::Misread(misread) if misread == position => {
                    foreign(self.setup, position, AppendixOwner::Elsewhere)
                }
                _ => row,
            };
            sight.insert(self.setup, position, row, chunks.contains(position));
        }
        for position in sight.unsound(self.setup).iter() {
            let row = self.stripe.row(self.setup, position).expect("it was read");
            sight.insert(self.setup, position, row, chunks.contains(position));
        }
        sight
    }

    /// Reads again, when nothing goes wrong any more.
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

    /// Writes a data chunk's appendix: with its own checksum as it was read, or blindly.
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

    /// What is wrong with this write; counts it.
    fn damage(&mut self, position: StripePosition, is_appendix: bool) -> Option<WriteDamage> {
        self.written.push(RowWrite { position, is_appendix });
        match self.fault {
            ModelFault::Write { nth, damage, .. } if nth + 1 == self.written.len() => Some(damage),
            _ => None,
        }
    }
}

/// A write that belongs elsewhere hits a row.
pub fn hit(setup: &ModelSetup, row: ModelRow, position: StripePosition, how: Hit) -> ModelRow {
    match (how, row) {
        (Hit::Aligned, _) => foreign(setup, position, AppendixOwner::Elsewhere),
        (Hit::Tail, _) => foreign(setup, position, AppendixOwner::Nowhere),
        (Hit::Head, ModelRow::Data(row)) => plain(setup, ModelRow::Data(DataRow { content: FOREIGN, ..row })),
        (Hit::Head, ModelRow::Parity(row)) => {
            let head = ParityHead { is_whole: false, ..row.head };
            plain(setup, ModelRow::Parity(ParityRow { columns: [FOREIGN; DATA_MAX], head, ..row }))
        }
    }
}

/// A row that has nothing to do with this place; also what is on a new disk.
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

/// The old appendix, and of the new content a part or all.
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

/// Rows that do not check themselves have nothing that could be wrong about them.
fn plain(setup: &ModelSetup, row: ModelRow) -> ModelRow {
    match row {
        _ if setup.scheme.checks_itself() => row,
        ModelRow::Data(row) => ModelRow::Data(DataRow { sealed: row.content, place: AppendixOwner::Here, ..row }),
        ModelRow::Parity(row) => ModelRow::Parity(ParityRow { head: ParityHead::default(), ..row }),
    }
}
