//! What a request means for the disks: which chunks are read and written, and in which order.

use super::map::Redundancy;
use super::setup::{MirrorRead, ParityWrite, Setup};
use scrubjay_core::layout::Place;
use scrubjay_core::probe::bench::{Kind, Request};
use scrubjay_core::rng::Rng;
use std::collections::{BTreeMap, VecDeque};

/// A piece of a chunk that is read or written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The one place, or the two of which one is read.
    places: Vec<Place>,
    /// From which byte of the chunk on.
    pub within: u64,
    /// How many bytes.
    pub len: u64,
    /// Written, not read.
    pub is_write: bool,
}

impl Step {
    /// Where it is done; `load` tells how much a member has to do.
    pub fn choose(&self, load: impl Fn(usize) -> usize, setup: &Setup, rng: &mut Rng) -> Place {
        let [first, second] = self.places[..] else { return self.places[0] };
        let (one, other) = (load(first.disk), load(second.disk));
        match setup.mirror_read {
            MirrorRead::First => first,
            MirrorRead::ShortestQueue if one != other => {
                if one < other {
                    first
                } else {
                    second
                }
            }
            MirrorRead::ShortestQueue | MirrorRead::Random => {
                if rng.below(2) == 0 {
                    first
                } else {
                    second
                }
            }
        }
    }
}

/// What is to be done, one phase after the other; the steps of a phase at the same time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    phases: VecDeque<Vec<Step>>,
    /// A chunk is reckoned from others on the way.
    pub is_rebuilt: bool,
    /// The request's length in bytes.
    pub bytes: u64,
}

/// What a request wants of one chunk.
#[derive(Clone, Copy, Debug)]
struct Piece {
    slot: usize,
    within: u64,
    len: u64,
}

impl Plan {
    /// Of a request.
    pub fn of(setup: &Setup, request: &Request) -> Plan {
        let mut plan = Plan { bytes: request.len, ..Plan::default() };
        let (mut first, mut last) = (Vec::new(), Vec::new());
        for (stripe, pieces) in stripes(setup, request) {
            let stripe = Stripe { setup, stripe };
            match request.kind {
                Kind::Read => {
                    for piece in &pieces {
                        plan.is_rebuilt |= stripe.read(piece, &mut first);
                    }
                }
                Kind::Rewrite => stripe.write(&pieces, &mut first, &mut last),
            }
        }
        plan.phases.extend([first, last].into_iter().filter(|phase| !phase.is_empty()));
        plan
    }

    /// The steps that come next; none when all is done.
    pub fn next_phase(&mut self) -> Vec<Step> {
        self.phases.pop_front().unwrap_or_default()
    }
}

/// The pieces of a request, by stripe.
fn stripes(setup: &Setup, request: &Request) -> BTreeMap<u64, Vec<Piece>> {
    let (chunk, data) = (setup.chunk_bytes, setup.map.data() as u64);
    let mut at = setup.phase_bytes + request.offset;
    let end = at + request.len;
    let mut found: BTreeMap<u64, Vec<Piece>> = BTreeMap::new();
    while at < end {
        let (index, within) = (at / chunk, at % chunk);
        let len = (chunk - within).min(end - at);
        found.entry(index / data).or_default().push(Piece { slot: (index % data) as usize, within, len });
        at += len;
    }
    found
}

/// One stripe of an array.
struct Stripe<'a> {
    setup: &'a Setup,
    stripe: u64,
}

impl Stripe<'_> {
    fn place(&self, slot: usize) -> Place {
        self.setup.map.place(self.stripe, slot)
    }

    fn is_there(&self, slot: usize) -> bool {
        self.setup.lost != Some(self.place(slot).disk)
    }

    fn step(&self, slot: usize, within: u64, len: u64, is_write: bool) -> Option<Step> {
        self.is_there(slot).then(|| Step { places: vec![self.place(slot)], within, len, is_write })
    }

    /// Reads a piece, from others if its disk is lost: is it reckoned then?
    fn read(&self, piece: &Piece, steps: &mut Vec<Step>) -> bool {
        let &Piece { slot, within, len } = piece;
        let data = self.setup.map.data();
        let places: Vec<Place> = match self.setup.map.redundancy() {
            Redundancy::Copies => (0..2).filter(|&copy| self.is_there(copy)).map(|copy| self.place(copy)).collect(),
            _ if self.is_there(slot) => vec![self.place(slot)],
            _ => {
                // All other data, and as many parities as are missing.
                let others =
                    (0..self.setup.map.slots()).filter(|&other| other != slot && self.is_there(other)).take(data);
                steps.extend(others.filter_map(|other| self.step(other, within, len, false)));
                return true;
            }
        };
        steps.push(Step { places, within, len, is_write: false });
        false
    }

    fn write(&self, pieces: &[Piece], reads: &mut Vec<Step>, writes: &mut Vec<Step>) {
        let (data, slots) = (self.setup.map.data(), self.setup.map.slots());
        match self.setup.map.redundancy() {
            Redundancy::None => {}
            Redundancy::Copies => {
                let copies = |piece: &Piece| {
                    (0..2).filter_map(|copy| self.step(copy, piece.within, piece.len, true)).collect::<Vec<_>>()
                };
                return writes.extend(pieces.iter().flat_map(copies));
            }
            Redundancy::Parity(_) => {
                let start = pieces.iter().map(|piece| piece.within).min().unwrap_or_default();
                let end = pieces.iter().map(|piece| piece.within + piece.len).max().unwrap_or_default();
                let covers = |slot: usize| {
                    pieces
                        .iter()
                        .any(|piece| piece.slot == slot && piece.within == start && piece.within + piece.len == end)
                };
                let is_written_lost = pieces.iter().any(|piece| !self.is_there(piece.slot));
                let is_other_lost = (0..data).any(|slot| !covers(slot) && !self.is_there(slot)) && !is_written_lost;
                if (0..data).all(covers) {
                    // The whole stripe: nothing need be known of what was there.
                } else if is_other_lost || (self.setup.parity_write == ParityWrite::ReadModify && !is_written_lost) {
                    reads.extend(
                        pieces.iter().filter_map(|piece| self.step(piece.slot, piece.within, piece.len, false)),
                    );
                    reads.extend((data..slots).filter_map(|slot| self.step(slot, start, end - start, false)));
                } else {
                    let others = (0..data).filter(|&slot| !covers(slot));
                    reads.extend(others.filter_map(|slot| self.step(slot, start, end - start, false)));
                }
                writes.extend((data..slots).filter_map(|slot| self.step(slot, start, end - start, true)));
            }
        }
        writes.extend(pieces.iter().filter_map(|piece| self.step(piece.slot, piece.within, piece.len, true)));
    }
}
