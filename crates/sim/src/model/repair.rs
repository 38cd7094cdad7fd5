//! What an operation learns from its reads: from a few rows that agree, or else from all rows, judged and repaired.

use super::disks::Disks;
use super::setup::{DATA_MAX, Lists, ModelSetup, PARITY_MAX};
use super::sight::RowsSeen;
use super::stripe::{AppendixOwner, DataRow, ListMark, ModelRow, NONSENSE, ParityHead, ParityRow, listed};
use scrubjay_core::index::StripePosition;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::volume::integrity::judge::judge;

/// Why an operation gives no right answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperationFailure {
    /// It returns a wrong content for this chunk as if it were right.
    Wrong(StripePosition),
    /// It returns an error where nothing need be lost.
    Error,
    /// The plan left out something that the operation needs.
    Unplanned,
}

/// What is known of a stripe.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownStripe {
    /// The content of each data chunk.
    pub contents: [Option<u8>; DATA_MAX],
    /// The version of each data chunk.
    pub versions: [Option<u8>; DATA_MAX],
    /// The content to which each data chunk's own checksum belongs.
    pub sealed: [Option<u8>; DATA_MAX],
    /// Each data chunk's copy of its neighbour's checksum.
    pub neighbours: [Option<u8>; DATA_MAX],
    /// The checksum of each data chunk, according to the lists.
    sums: [Option<u8>; DATA_MAX],
    /// The parities.
    pub parities: [Option<ParityRow>; PARITY_MAX],
    /// The chunks that were found to agree with a copy.
    pub compared: PositionSet,
}

/// The result of computing missing contents.
enum Reconstruction {
    Right,
    /// A computed content does not fit the checksum in the lists.
    Differs,
    /// Too few rows were read.
    TooFew,
}

/// Reads as planned. If the rows do not agree, or do not fit their checksums, reads and repairs the whole stripe.
///
/// # Errors
/// When a chunk is lost, or the plan does not give what is needed.
pub fn learn(
    disks: &mut Disks,
    chunks: PositionSet,
    appendices: PositionSet,
    needed: PositionSet,
) -> Result<KnownStripe, OperationFailure> {
    let seen = disks.read(chunks, appendices);
    let Some(compared) = seen.trusted(disks.setup) else {
        return repair_stripe(disks, rows_of_stripe(disks, true), PositionSet::NONE);
    };
    let mut known = KnownStripe { compared, ..KnownStripe::new(disks.setup, &seen) };
    match known.decode(disks.setup, needed, seen.whole, Lists::One) {
        Reconstruction::Right => Ok(known),
        Reconstruction::Differs => repair_stripe(disks, rows_of_stripe(disks, true), PositionSet::NONE),
        Reconstruction::TooFew => Err(OperationFailure::Unplanned),
    }
}

/// Reads all rows that are there: again without a fault, or for the first time.
pub fn rows_of_stripe(disks: &Disks, is_again: bool) -> RowsSeen {
    let all = PositionSet::range(0, disks.setup.shape.width());
    if is_again { disks.read_again(all) } else { disks.read(all, PositionSet::NONE) }
}

/// Judges all rows except `without` (not yet written), rebuilds the erased ones, and writes them back.
///
/// # Errors
/// When a chunk is lost.
pub fn repair_stripe(
    disks: &mut Disks,
    mut seen: RowsSeen,
    without: PositionSet,
) -> Result<KnownStripe, OperationFailure> {
    let setup = disks.setup;
    for position in without.iter() {
        match setup.shape.parity_index(position) {
            None => seen.data[position.get()] = None,
            Some(parity) => seen.parities[parity] = None,
        }
        seen.whole.remove(position);
    }
    let mut evidence = seen.evidence(setup);
    if setup.lists == Lists::One {
        let first = evidence.lists().map(|(position, _)| position).find(|&position| evidence.rows[position].is_sound());
        let other_lists = setup.shape.parity_set().iter().filter(|&position| Some(position) != first);
        other_lists.for_each(|position| evidence.rows[position].list = None);
    }
    let diagnosis = judge(&evidence);
    if !diagnosis.lost.is_empty() {
        return Err(OperationFailure::Error);
    }
    let mut known = KnownStripe::new(setup, &seen);
    for position in (diagnosis.erased & setup.shape.data_set()).iter() {
        known.contents[position.get()] = None;
    }
    for (index, truth) in diagnosis.expected.iter().enumerate() {
        known.versions[index] = truth.map(|entry| entry.version.number() as u8);
        known.sums[index] = truth.map(|entry| entry.sum as u8).filter(|_| setup.scheme.lists_sums());
    }
    let usable = PositionSet::range(0, setup.shape.width()) - diagnosis.erased;
    let Reconstruction::Right = known.decode(setup, setup.shape.data_set(), usable, setup.lists) else {
        return Err(OperationFailure::Error);
    };
    known.complete(setup, usable);
    let present = PositionSet::range(0, setup.shape.width()) - disks.stripe.missing(setup);
    for position in (diagnosis.erased & present).iter() {
        disks.write(position, known.row(setup, position));
        if let Some(chunk) = disks.stripe.chunks[..setup.shape.data].get_mut(position.get()) {
            chunk.is_read = false;
        }
    }
    Ok(known)
}

impl KnownStripe {
    fn new(setup: &ModelSetup, seen: &RowsSeen) -> KnownStripe {
        let mut known = KnownStripe::default();
        for index in 0..setup.shape.data {
            let row = seen.data[index];
            let lists = seen.parities.iter().flatten().map(|row| row.list[index]);
            let newest = lists.max_by_key(|mark| mark.version);
            known.contents[index] = row.filter(|_| seen.whole.contains(StripePosition(index))).map(|row| row.content);
            known.versions[index] = row.map(|row| row.version).or(newest.map(|mark| mark.version));
            known.sealed[index] = row.map(|row| row.sealed);
            known.neighbours[index] = row.map(|row| row.neighbour);
            known.sums[index] = newest.map(|mark| mark.content).filter(|_| setup.scheme.lists_sums());
        }
        for (parity, row) in seen.parities.iter().enumerate() {
            known.parities[parity] = row.filter(|_| seen.whole.contains(setup.shape.parity_position(parity)));
        }
        known
    }

    /// Computes contents that are needed and not known, from the rows of `usable`. If there are more parities than
    /// needed, none of those used may contradict another: the array must be right whichever it takes.
    fn decode(&mut self, setup: &ModelSetup, needed: PositionSet, usable: PositionSet, lists: Lists) -> Reconstruction {
        if needed.iter().all(|index| self.contents[index.get()].is_some()) {
            return Reconstruction::Right;
        }
        let unknown: Vec<usize> = (0..setup.shape.data).filter(|&index| self.contents[index].is_none()).collect();
        let is_usable = |&parity: &usize| usable.contains(setup.shape.parity_position(parity));
        let parities: Vec<ParityRow> =
            (0..setup.shape.parity).filter(is_usable).filter_map(|parity| self.parities[parity]).collect();
        if parities.len() < unknown.len() {
            return Reconstruction::TooFew;
        }
        let used = if lists == Lists::One { &parities[..unknown.len()] } else { &parities[..] };
        let first = used[0].columns;
        let belongs = |row: &ParityRow| {
            (0..setup.shape.data).all(|index| row.columns[index] == self.contents[index].unwrap_or(first[index]))
        };
        let all_agree = used.iter().all(belongs);
        for index in unknown {
            let content = if all_agree { first[index] } else { NONSENSE };
            if self.sums[index].is_some_and(|sum| sum != content) {
                return Reconstruction::Differs;
            }
            self.contents[index] = Some(content);
        }
        Reconstruction::Right
    }

    /// Derives everything else once all contents are known. Parities that were right stay as they were read.
    fn complete(&mut self, setup: &ModelSetup, usable: PositionSet) {
        let data = setup.shape.data;
        for index in 0..data {
            self.sealed[index] = self.contents[index];
            self.neighbours[index] = self.contents[(index + data - 1) % data];
        }
        for parity in 0..setup.shape.parity {
            if !usable.contains(setup.shape.parity_position(parity))
                && let ModelRow::Parity(row) = self.row(setup, setup.shape.parity_position(parity))
            {
                self.parities[parity] = Some(row);
            }
        }
    }

    /// The right row of a position, when everything is known.
    fn row(&self, setup: &ModelSetup, position: StripePosition) -> ModelRow {
        let mark = |index: usize| ListMark {
            version: self.versions[index].unwrap_or_default(),
            content: self.contents[index].unwrap_or_default(),
        };
        if setup.shape.is_data(position) {
            let ListMark { version, content } = mark(position.get());
            let neighbour = if setup.has_buddies() { self.neighbours[position.get()].unwrap_or_default() } else { 0 };
            return ModelRow::Data(DataRow {
                content,
                sealed: content,
                version,
                neighbour,
                place: AppendixOwner::Here,
            });
        }
        ModelRow::Parity(ParityRow {
            columns: std::array::from_fn(|index| mark(index).content),
            list: std::array::from_fn(|index| listed(setup, mark(index))),
            head: ParityHead::default(),
        })
    }
}
