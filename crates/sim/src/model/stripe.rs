//! A stripe with numbers for contents: what is on its disks, and what should be.
//!
//! The content of a data chunk is a number, and so is its checksum. The content of a parity is the list of contents
//! that it encodes. A state is kept chunk by chunk, so that states which differ only in the names of contents, the
//! distance of versions, or the order of the chunks can be recognised as one ([`ModelStripe::canonical`]).

use super::setup::{DATA_MAX, ModelSetup, PARITY_MAX};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::scheme::Scheme;

/// Part of something else, or a mixture: right nowhere.
pub const FOREIGN: u8 = 0;
/// Reckoned from things that do not belong together.
pub const NONSENSE: u8 = 1;
/// The first content that somebody wrote.
pub const WRITTEN: u8 = 2;

/// A version and the number of a content, as a list has it; zero for what the scheme does not list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ListMark {
    /// The number of the write.
    pub version: u8,
    /// The content, which is its checksum too.
    pub content: u8,
}

/// Whose appendix a row has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum AppendixOwner {
    /// Its own.
    #[default]
    Here,
    /// That of another row, whole.
    Elsewhere,
    /// Nothing that fits.
    Nowhere,
}

/// A data chunk with its appendix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DataRow {
    /// What it holds.
    pub content: u8,
    /// Of which content its own checksum is.
    pub sealed: u8,
    /// Its version.
    pub version: u8,
    /// Its copy of the neighbour's checksum.
    pub neighbour: u8,
    /// Whose appendix it has.
    pub place: AppendixOwner,
}

/// A parity with its appendix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ParityRow {
    /// The contents it encodes.
    pub columns: [u8; DATA_MAX],
    /// The contents it says it encodes.
    pub list: [ListMark; DATA_MAX],
    /// What else is to be said of it.
    pub head: ParityHead,
}

/// What is to be said of a parity's row as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ParityHead {
    /// Does its content belong to its appendix?
    pub is_whole: bool,
    /// Whose appendix it has.
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
    /// Of a data chunk.
    Data(DataRow),
    /// Of a parity.
    Parity(ParityRow),
}

/// Everything about one data chunk: its row, what the parities have of it, and what it should be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelChunk {
    /// Its row; none while its member is missing.
    pub row: Option<DataRow>,
    /// What each parity encodes of it.
    pub columns: [u8; PARITY_MAX],
    /// What each parity's list says of it.
    pub lists: [ListMark; PARITY_MAX],
    /// The last write that was acknowledged.
    pub truth: ListMark,
    /// Its bit of the read-status bitmap.
    pub is_read: bool,
}

/// A state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct ModelStripe {
    /// The data chunks.
    pub chunks: [ModelChunk; DATA_MAX],
    /// The parities that are not missing.
    pub parities: [Option<ParityHead>; PARITY_MAX],
}

/// Where each data chunk was before a state was put in order.
pub type Order = [u8; DATA_MAX];

impl ModelStripe {
    /// A stripe as it should be, nothing of it read yet.
    pub fn new(setup: &ModelSetup) -> ModelStripe {
        let mut stripe = ModelStripe::default();
        for chunk in &mut stripe.chunks[..setup.shape.data] {
            chunk.truth = ListMark { version: u8::from(setup.scheme.has_versions()), content: WRITTEN };
        }
        for position in 0..setup.shape.slots() {
            let ideal = stripe.ideal(setup, StripePosition(position));
            stripe.put(setup, StripePosition(position), Some(ideal));
        }
        stripe
    }

    /// A row; none while its member is missing.
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

    /// Replaces a row.
    ///
    /// # Panics
    /// When it is of the wrong kind.
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

    /// What a row should be, whether or not its member is there.
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

    /// The slots whose members are missing.
    pub fn missing(&self, setup: &ModelSetup) -> PositionSet {
        let is_missing = |position: StripePosition| match setup.shape.parity_index(position) {
            None => self.chunks[position.get()].row.is_none(),
            Some(parity) => self.parities[parity].is_none(),
        };
        setup.shape.positions().filter(|&position| is_missing(position)).collect()
    }

    /// The rows that are there and not what they should be.
    pub fn wrong(&self, setup: &ModelSetup) -> PositionSet {
        let is_wrong =
            |position: StripePosition| self.row(setup, position).is_some_and(|row| row != self.ideal(setup, position));
        setup.shape.positions().filter(|&position| is_wrong(position)).collect()
    }

    /// The data chunks that were read since they were written.
    pub fn is_read(&self, setup: &ModelSetup) -> PositionSet {
        setup.shape.data_positions().filter(|&index| self.chunks[index.get()].is_read).collect()
    }

    /// All contents that anything says or holds of a data chunk, what it should be first.
    fn contents(&self, setup: &ModelSetup, index: usize) -> impl Iterator<Item = u8> {
        let (chunk, buddy) = (self.chunks[index], self.chunks[(index + 1) % setup.shape.data]);
        let own = chunk.row.into_iter().flat_map(|row| [row.content, row.sealed]);
        let copy = buddy.row.filter(|_| setup.has_buddies()).map(|row| row.neighbour);
        let listed = chunk.lists.into_iter().map(|mark| mark.content);
        std::iter::once(chunk.truth.content).chain(own).chain(copy).chain(chunk.columns).chain(listed)
    }

    /// A content that this chunk never had, as far as anything remembers.
    pub fn fresh(&self, setup: &ModelSetup, index: usize) -> u8 {
        self.contents(setup, index).max().unwrap_or(FOREIGN).max(NONSENSE) + 1
    }

    /// A content that this chunk had before, and of which there is still a trace.
    pub fn older(&self, setup: &ModelSetup, index: usize) -> Option<u8> {
        let truth = self.chunks[index].truth.content;
        self.contents(setup, index).find(|&content| content >= WRITTEN && content != truth)
    }

    /// The same state in other words: contents named in the order in which they are met, versions as near to each
    /// other as they can be, chunks in an order of their own. With it, where each chunk was.
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
            let turned = |by: usize, index: usize| (index + by) % data;
            let key = |by: usize| (0..data).map(move |index| self.chunks[turned(by, index)]);
            let best = (1..data).fold(0, |best, by| if key(by).lt(key(best)) { by } else { best });
            (0..data).for_each(|index| order[index] = turned(best, index) as u8);
        } else {
            order[..data].sort_by_key(|&index| self.chunks[index as usize]);
        }
        let chunks = order.map(|index| self.chunks[index as usize]);
        (ModelStripe { chunks, parities: self.parities }, order)
    }

    /// Nobody looks at what an unsound row says, but for the version in a torn row's appendix and a torn parity's list.
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

    /// Of array-wide numbers only the order counts; of counts of a chunk's writes the distance.
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
    /// All versions that are named of it, but none of what is missing.
    fn versions(&mut self) -> impl Iterator<Item = &mut u8> {
        let own = self.row.iter_mut().map(|row| &mut row.version);
        let listed = self.lists.iter_mut().map(|mark| &mut mark.version);
        std::iter::once(&mut self.truth.version).chain(own).chain(listed).filter(|version| **version != 0)
    }
}

/// What a list has of a chunk.
pub fn listed(setup: &ModelSetup, mark: ListMark) -> ListMark {
    ListMark { version: mark.version, content: if setup.scheme.lists_sums() { mark.content } else { 0 } }
}
