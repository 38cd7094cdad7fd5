//! A stripe with numbers for contents: what is on its disks, and what should be.
//!
//! The content of a data chunk is a number, and so is its checksum. The content of a parity is the list of contents
//! that it encodes. A state is kept chunk by chunk, so that states which differ only in the names of contents, the
//! distance of versions, or the order of the chunks can be recognised as one ([`ModelStripe::canonical`]).

use super::setup::{DATA_MAX, ModelSetup, PARITY_MAX};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;

/// A content that is right nowhere: a part of something else, or a mixture.
pub const FOREIGN: u8 = 0;
/// A content that was computed from contents that do not belong together.
pub const NONSENSE: u8 = 1;
/// The first content that a client wrote.
pub const WRITTEN: u8 = 2;

/// A version and a content, as in a list; zero for what the scheme does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListMark {
    /// The version: the number of the write.
    pub version: u8,
    /// The content, which is its own checksum.
    pub content: u8,
}

/// The row to which an appendix belongs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AppendixOwner {
    /// The row that it lies in.
    #[default]
    Here,
    /// Another row, of which it is whole.
    Elsewhere,
    /// None: it does not fit anywhere.
    Nowhere,
}

/// A data chunk with its appendix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataRow {
    /// The content of the chunk.
    pub content: u8,
    /// The content to which its own checksum belongs.
    pub sealed: u8,
    /// Its version.
    pub version: u8,
    /// Its copy of the neighbour's checksum.
    pub neighbour: u8,
    /// The row to which its appendix belongs.
    pub place: AppendixOwner,
}

/// A parity chunk with its appendix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParityRow {
    /// The contents that it encodes.
    pub columns: [u8; DATA_MAX],
    /// The contents that it should encode, by its list.
    pub list: [ListMark; DATA_MAX],
    /// Its state as a whole.
    pub head: ParityHead,
}

/// The state of a parity's row as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParityHead {
    /// Do content and appendix belong together?
    pub is_whole: bool,
    /// The row to which its appendix belongs.
    pub place: AppendixOwner,
}

impl Default for ParityHead {
    fn default() -> ParityHead {
        ParityHead { is_whole: true, place: AppendixOwner::Here }
    }
}

/// A row of either kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelRow {
    /// A data row.
    Data(DataRow),
    /// A parity row.
    Parity(ParityRow),
}

/// Everything about one data chunk: its row, what the parities hold of it, and what it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelChunk {
    /// Its row; `None`: its member is missing.
    pub row: Option<DataRow>,
    /// The content of this chunk that each parity encodes.
    pub columns: [u8; PARITY_MAX],
    /// The entry for this chunk in each parity's list.
    pub lists: [ListMark; PARITY_MAX],
    /// The last acknowledged write.
    pub truth: ListMark,
    /// Its bit of the read-status bitmap.
    pub is_read: bool,
}

/// A state of the stripe.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModelStripe {
    /// The data chunks.
    pub chunks: [ModelChunk; DATA_MAX],
    /// The parities; `None`: the member is missing.
    pub parities: [Option<ParityHead>; PARITY_MAX],
}

/// The index that each data chunk had before a state was put in order.
pub type Order = [u8; DATA_MAX];

impl ModelStripe {
    /// A stripe with nothing wrong, nothing of it read yet.
    pub fn new(setup: &ModelSetup) -> ModelStripe {
        let mut stripe = ModelStripe::default();
        for chunk in &mut stripe.chunks[..setup.shape.data] {
            chunk.truth = ListMark { version: u8::from(setup.scheme.has_versions()), content: WRITTEN };
        }
        for position in 0..setup.shape.width() {
            let ideal = stripe.ideal(setup, StripePosition(position));
            stripe.put(setup, StripePosition(position), Some(ideal));
        }
        stripe
    }

    /// A row; `None`: its member is missing.
    pub fn row(&self, setup: &ModelSetup, position: StripePosition) -> Option<ModelRow> {
        let Some(parity) = setup.shape.parity_index(position) else {
            return self.chunks[position.get()].row.map(ModelRow::Data);
        };
        self.parities[parity].map(|head| {
            let columns = self.chunks.map(|chunk| chunk.columns[parity]);
            let list = self.chunks.map(|chunk| chunk.lists[parity]);
            ModelRow::Parity(ParityRow { columns, list, head })
        })
    }

    /// Replaces a row, or removes it with its member.
    ///
    /// # Panics
    /// When the row is of the wrong kind.
    pub fn put(&mut self, setup: &ModelSetup, position: StripePosition, row: Option<ModelRow>) {
        let parity = position.get().wrapping_sub(setup.shape.data);
        let parity_row = match row {
            Some(ModelRow::Data(row)) => return self.chunks[position.get()].row = Some(row),
            None if setup.shape.is_data(position) => return self.chunks[position.get()].row = None,
            Some(ModelRow::Parity(row)) => row,
            None => ParityRow::default(),
        };
        self.parities[parity] = row.map(|_| parity_row.head);
        for (index, chunk) in self.chunks.iter_mut().enumerate() {
            chunk.columns[parity] = parity_row.columns[index];
            chunk.lists[parity] = parity_row.list[index];
        }
    }

    /// The right row for a position, whether or not its member is there.
    pub fn ideal(&self, setup: &ModelSetup, position: StripePosition) -> ModelRow {
        if setup.shape.is_data(position) {
            let truth = self.chunks[position.get()].truth;
            let neighbour = self.chunks[setup.shape.before(position).get()].truth.content;
            return ModelRow::Data(DataRow {
                content: truth.content,
                sealed: truth.content,
                version: truth.version,
                neighbour: if setup.has_buddies() { neighbour } else { 0 },
                place: AppendixOwner::Here,
            });
        }
        ModelRow::Parity(ParityRow {
            columns: self.chunks.map(|chunk| chunk.truth.content),
            list: self.chunks.map(|chunk| listed(setup, chunk.truth)),
            head: ParityHead::default(),
        })
    }

    /// The positions whose members are missing.
    pub fn missing(&self, setup: &ModelSetup) -> PositionSet {
        let is_missing = |position: StripePosition| match setup.shape.parity_index(position) {
            None => self.chunks[position.get()].row.is_none(),
            Some(parity) => self.parities[parity].is_none(),
        };
        setup.shape.positions().filter(|&position| is_missing(position)).collect()
    }

    /// The positions whose rows are there but wrong.
    pub fn wrong(&self, setup: &ModelSetup) -> PositionSet {
        let is_wrong =
            |position: StripePosition| self.row(setup, position).is_some_and(|row| row != self.ideal(setup, position));
        setup.shape.positions().filter(|&position| is_wrong(position)).collect()
    }

    /// The data chunks that were read since they were written.
    pub fn is_read(&self, setup: &ModelSetup) -> PositionSet {
        setup.shape.data_positions().filter(|&index| self.chunks[index.get()].is_read).collect()
    }

    /// All contents that are stored or recorded anywhere for a data chunk, the right one first.
    fn contents(&self, setup: &ModelSetup, index: usize) -> impl Iterator<Item = u8> {
        let (chunk, buddy) = (self.chunks[index], self.chunks[(index + 1) % setup.shape.data]);
        let in_row = chunk.row.into_iter().flat_map(|row| [row.content, row.sealed]);
        let copy = buddy.row.filter(|_| setup.has_buddies()).map(|row| row.neighbour);
        let listed = chunk.lists.into_iter().map(|mark| mark.content);
        std::iter::once(chunk.truth.content).chain(in_row).chain(copy).chain(chunk.columns).chain(listed)
    }

    /// A content that this chunk never had, as far as any trace of it is left.
    pub fn fresh(&self, setup: &ModelSetup, index: usize) -> u8 {
        self.contents(setup, index).max().unwrap_or(FOREIGN).max(NONSENSE) + 1
    }

    /// A content that this chunk had before, and of which a trace is left.
    pub fn older(&self, setup: &ModelSetup, index: usize) -> Option<u8> {
        let truth = self.chunks[index].truth.content;
        self.contents(setup, index).find(|&content| content >= WRITTEN && content != truth)
    }

    /// The state in its canonical form: contents numbered in the order in which they occur, versions as close together
    /// as possible, chunks in a fixed order; with the former index of each chunk.
    pub fn canonical(mut self, setup: &ModelSetup) -> (ModelStripe, Order) {
        let data = setup.shape.data;
        self.forget(setup);
        for index in 0..data {
            self.rename_contents(setup, index);
            self.rename_versions(setup, index);
        }
        let mut order: Order = std::array::from_fn(|index| index as u8);
        if setup.has_buddies() {
            // The neighbours form a ring.
            let rotated = |by: usize, index: usize| (index + by) % data;
            let key = |by: usize| (0..data).map(move |index| self.chunks[rotated(by, index)]);
            let best = (1..data).fold(0, |best, by| if key(by).lt(key(best)) { by } else { best });
            (0..data).for_each(|index| order[index] = rotated(best, index) as u8);
        } else {
            order[..data].sort_by_key(|&index| self.chunks[index as usize]);
        }
        let chunks = order.map(|index| self.chunks[index as usize]);
        (ModelStripe { chunks, parities: self.parities }, order)
    }

    /// Clears what is never used of an unsound row: everything but the version in a torn row and the list of a torn parity.
    fn forget(&mut self, setup: &ModelSetup) {
        if !setup.scheme.checks_itself() {
            return;
        }
        for chunk in &mut self.chunks[..setup.shape.data] {
            if let Some(row) =
                chunk.row.as_mut().filter(|row| row.place != AppendixOwner::Here || row.content != row.sealed)
            {
                let is_torn = row.place == AppendixOwner::Here;
                *row = DataRow {
                    content: FOREIGN,
                    sealed: NONSENSE,
                    version: if is_torn && setup.scheme == Scheme::Hybrid1 { row.version } else { 0 },
                    neighbour: FOREIGN,
                    place: if is_torn { AppendixOwner::Here } else { AppendixOwner::Nowhere },
                };
            }
        }
        for parity in 0..setup.shape.parity {
            let Some(head) = self.parities[parity].as_mut() else { continue };
            if head.place == AppendixOwner::Here && head.is_whole {
                continue;
            }
            if head.place != AppendixOwner::Here {
                *head = ParityHead { is_whole: false, place: AppendixOwner::Nowhere };
            }
            for chunk in &mut self.chunks[..setup.shape.data] {
                chunk.columns[parity] = FOREIGN;
                if head.place != AppendixOwner::Here {
                    chunk.lists[parity] = ListMark::default();
                }
            }
        }
    }

    fn rename_contents(&mut self, setup: &ModelSetup, index: usize) {
        let mut names = [0u8; 32];
        let mut next = WRITTEN;
        names[NONSENSE as usize] = NONSENSE;
        for content in self.contents(setup, index) {
            let name = &mut names[content as usize];
            if content >= WRITTEN && *name == 0 {
                *name = next;
                next += 1;
            }
        }
        let rename = |content: &mut u8| *content = names[*content as usize];
        let chunk = &mut self.chunks[index];
        rename(&mut chunk.truth.content);
        chunk.columns.iter_mut().for_each(rename);
        chunk.lists.iter_mut().for_each(|mark| rename(&mut mark.content));
        if let Some(row) = &mut chunk.row {
            rename(&mut row.content);
            rename(&mut row.sealed);
        }
        if let Some(row) = &mut self.chunks[(index + 1) % setup.shape.data].row
            && setup.has_buddies()
        {
            rename(&mut row.neighbour);
        }
    }

    /// Makes versions small. Array-wide write numbers keep their order only; counts of a chunk's writes keep their distances.
    fn rename_versions(&mut self, setup: &ModelSetup, index: usize) {
        if !setup.scheme.has_versions() {
            return;
        }
        let chunk = &mut self.chunks[index];
        let mut used = 0u64;
        chunk.versions().for_each(|version| used |= 1 << *version);
        let least = used.trailing_zeros() as u8;
        let is_count = setup.scheme == Scheme::Hybrid1;
        chunk.versions().for_each(|version| {
            let rank = (used & ((1 << *version) - 1)).count_ones() as u8;
            *version = if is_count { *version - least } else { rank } + 1;
        });
    }
}

impl ModelChunk {
    /// All versions that are recorded for it; zero is none.
    fn versions(&mut self) -> impl Iterator<Item = &mut u8> {
        let in_row = self.row.iter_mut().map(|row| &mut row.version);
        let listed = self.lists.iter_mut().map(|mark| &mut mark.version);
        std::iter::once(&mut self.truth.version).chain(in_row).chain(listed).filter(|version| **version != 0)
    }
}

/// The entry of a list for a chunk.
pub fn listed(setup: &ModelSetup, mark: ListMark) -> ListMark {
    ListMark { version: mark.version, content: if setup.scheme.lists_sums() { mark.content } else { 0 } }
}
