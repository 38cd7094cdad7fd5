//! The plan of a request: which chunks the disks read and write, and in which order.

use super::map::MapRedundancy;
use super::setup::{ArraySetup, MirrorRead, ParityWrite};
use scrubjay_core::layout::ChunkPlace;
use scrubjay_core::probe::io::{ProbeAccess, ProbeRequest};
use scrubjay_core::rng::Rng;
use std::collections::{BTreeMap, VecDeque};

/// A piece of a chunk that is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskStep {
    /// The only place, or the copies of which one is read.
    places: Vec<ChunkPlace>,
    /// The first byte, within the chunk.
    pub within: u64,
    /// The length in bytes.
    pub len: u64,
    /// Is it a write?
    pub is_write: bool,
}

impl DiskStep {
    /// Chooses the place; `load_and_distance` returns the work that the member of a place has, and the distance of its head from there.
    pub fn choose(
        &self,
        load_and_distance: impl Fn(&ChunkPlace) -> (usize, u64),
        setup: &ArraySetup,
        rng: &mut Rng,
    ) -> ChunkPlace {
        let [first, ..] = self.places[..] else { panic!("a step has a place") };
        if self.places.len() == 1 {
            return first;
        }
        let order = |place: &ChunkPlace| match (setup.mirror_read, load_and_distance(place)) {
            (MirrorRead::First | MirrorRead::Random, _) => (0, 0),
            (MirrorRead::ShortestQueue, (load, _)) => (load as u64, 0),
            (MirrorRead::Nearest, (load, distance)) => (u64::from(load > 0), if load > 0 { distance } else { 0 }),
        };
        let best = self.places.iter().map(&order).min().expect("it has places");
        let equal: Vec<ChunkPlace> = self.places.iter().copied().filter(|place| order(place) == best).collect();
        match setup.mirror_read {
            MirrorRead::First => first,
            // The first idle one, as md does it.
            MirrorRead::Nearest => equal[0],
            _ if equal.len() == 1 => equal[0],
            _ => equal[rng.below(equal.len() as u64) as usize],
        }
    }
}

/// The plan of a request: phases one after the other, with steps that run in parallel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArrayPlan {
    phases: VecDeque<Vec<DiskStep>>,
    /// Is a lost chunk computed from others?
    pub is_rebuilt: bool,
    /// The request's length in bytes.
    pub bytes: u64,
}

/// The part of a request in one chunk.
#[derive(Clone, Copy, Debug)]
struct ChunkPiece {
    slot: usize,
    within: u64,
    len: u64,
}

impl ArrayPlan {
    /// The plan of a request.
    pub fn of(setup: &ArraySetup, request: &ProbeRequest) -> ArrayPlan {
        let mut plan = ArrayPlan { bytes: request.len, ..ArrayPlan::default() };
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for (stripe, pieces) in stripes(setup, request) {
            let stripe = ArrayStripe { setup, stripe };
            match request.kind {
                ProbeAccess::Read => {
                    for piece in &pieces {
                        plan.is_rebuilt |= stripe.read(piece, &mut first);
                    }
                }
                ProbeAccess::Rewrite => stripe.write(&pieces, &mut first, &mut last),
            }
        }
        plan.phases.extend([first, last].into_iter().filter(|phase| !phase.is_empty()));
        plan
    }

    /// Removes and returns the steps of the next phase; none when all is done.
    pub fn next_phase(&mut self) -> Vec<DiskStep> {
        self.phases.pop_front().unwrap_or_default()
    }
}

/// The pieces of a request, by stripe.
fn stripes(setup: &ArraySetup, request: &ProbeRequest) -> BTreeMap<u64, Vec<ChunkPiece>> {
    let (chunk, data) = (setup.chunk_bytes, setup.map.data() as u64);
    let mut at = setup.phase_bytes + request.offset;
    let end = at + request.len;
    let mut found: BTreeMap<u64, Vec<ChunkPiece>> = BTreeMap::new();
    while at < end {
        let (index, within) = (at / chunk, at % chunk);
        let len = (chunk - within).min(end - at);
        found.entry(index / data).or_default().push(ChunkPiece { slot: (index % data) as usize, within, len });
        at += len;
    }
    found
}

/// One stripe of an array.
struct ArrayStripe<'a> {
    setup: &'a ArraySetup,
    stripe: u64,
}

impl ArrayStripe<'_> {
    fn place(&self, slot: usize) -> ChunkPlace {
        self.setup.map.place(self.stripe, slot)
    }

    fn is_present(&self, slot: usize) -> bool {
        self.setup.is_present(self.place(slot).disk)
    }

    fn step(&self, slot: usize, within: u64, len: u64, is_write: bool) -> Option<DiskStep> {
        self.is_present(slot).then(|| DiskStep { places: vec![self.place(slot)], within, len, is_write })
    }

    /// Reads a piece; returns whether its disk is lost, so that the piece is computed from others.
    fn read(&self, piece: &ChunkPiece, steps: &mut Vec<DiskStep>) -> bool {
        let &ChunkPiece { slot, within, len } = piece;
        let data = self.setup.map.data();
        let places: Vec<ChunkPlace> = match self.setup.map.redundancy() {
            MapRedundancy::Copies(copies) => {
                (0..copies).filter(|&copy| self.is_present(copy)).map(|copy| self.place(copy)).collect()
            }
            _ if self.is_present(slot) => vec![self.place(slot)],
            _ => {
                // All other data, and as many parities as data are missing.
                let other_slots =
                    (0..self.setup.map.slots()).filter(|&other| other != slot && self.is_present(other)).take(data);
                steps.extend(other_slots.filter_map(|other| self.step(other, within, len, false)));
                return true;
            }
        };
        steps.push(DiskStep { places, within, len, is_write: false });
        false
    }

    fn write(&self, pieces: &[ChunkPiece], reads: &mut Vec<DiskStep>, writes: &mut Vec<DiskStep>) {
        let (data, slots) = (self.setup.map.data(), self.setup.map.slots());
        match self.setup.map.redundancy() {
            MapRedundancy::None => {}
            MapRedundancy::Copies(count) => {
                let copies = |piece: &ChunkPiece| {
                    (0..count).filter_map(|copy| self.step(copy, piece.within, piece.len, true)).collect::<Vec<_>>()
                };
                return writes.extend(pieces.iter().flat_map(copies));
            }
            MapRedundancy::Parity(_) => {
                let start = pieces.iter().map(|piece| piece.within).min().unwrap_or_default();
                let end = pieces.iter().map(|piece| piece.within + piece.len).max().unwrap_or_default();
                let covers = |slot: usize| {
                    pieces
                        .iter()
                        .any(|piece| piece.slot == slot && piece.within == start && piece.within + piece.len == end)
                };
                let is_written_lost = pieces.iter().any(|piece| !self.is_present(piece.slot));
                let is_other_lost = (0..data).any(|slot| !covers(slot) && !self.is_present(slot)) && !is_written_lost;
                if (0..data).all(covers) {
                    // The whole stripe: no old data are needed.
                } else if is_other_lost || (self.setup.parity_write == ParityWrite::ReadModify && !is_written_lost) {
                    reads.extend(
                        pieces.iter().filter_map(|piece| self.step(piece.slot, piece.within, piece.len, false)),
                    );
                    reads.extend((data..slots).filter_map(|slot| self.step(slot, start, end - start, false)));
                } else {
                    let other_slots = (0..data).filter(|&slot| !covers(slot));
                    reads.extend(other_slots.filter_map(|slot| self.step(slot, start, end - start, false)));
                }
                writes.extend((data..slots).filter_map(|slot| self.step(slot, start, end - start, true)));
            }
        }
        writes.extend(pieces.iter().filter_map(|piece| self.step(piece.slot, piece.within, piece.len, true)));
    }
}
