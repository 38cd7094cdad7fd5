//! The read-status bitmap: which data chunks were read, and found right, since they were last written.
//!
//! Li & Lee 2014, section V-C: one bit a chunk, in zones of which only some are in memory. A lost bit costs an I/O (the
//! chunk is checked once more), never safety; so an evicted zone is forgotten, not saved.

use crate::index::StripePosition;
use crate::position_set::PositionSet;

/// Chunks in one zone: 4 KiB of bits.
pub const ZONE_CHUNKS: u64 = 1 << 15;

const ZONE_WORDS: usize = (ZONE_CHUNKS / 64) as usize;

/// In the table of zones: the zone is not in memory.
const NOWHERE: u32 = u32::MAX;

/// One bit for each data chunk of an array; all unset at first. Memory: 4 KiB for each zone in memory, and 4 bytes for
/// each zone of the array up to the last one that was ever in memory.
#[derive(Clone, Debug)]
pub struct ReadStatus {
    chunks: u64,
    zones_max: usize,
    /// By zone of the array, up to the last one that was ever in memory: its index in `held`, or [`NOWHERE`].
    places: Vec<u32>,
    held: Vec<Zone>,
    /// The bits of the zones in `held`, in the same order.
    words: Vec<u64>,
    /// The index in `held` where the next search for a zone to evict begins (the hand of a clock algorithm).
    hand: usize,
}

/// A zone in memory.
#[derive(Clone, Debug)]
struct Zone {
    number: usize,
    /// Was a bit set since the hand last passed, other than the one for which the zone was brought into memory?
    is_used: bool,
}

impl ReadStatus {
    /// A bitmap of `chunks` data chunks, with at most `zones_max` zones in memory.
    ///
    /// # Panics
    /// Unless `zones_max` is between 1 and 2^32 - 2.
    pub fn new(chunks: u64, zones_max: usize) -> ReadStatus {
        assert!((1..NOWHERE as usize).contains(&zones_max), "one zone at least is in memory, and fewer than 2^32 are");
        ReadStatus { chunks, zones_max, places: Vec::new(), held: Vec::new(), words: Vec::new(), hand: 0 }
    }

    /// Was the chunk read since it was last written? (`false` if that is not known.)
    ///
    /// # Panics
    /// If there is no such chunk; so do all methods below that take chunks.
    pub fn is_read(&self, chunk: u64) -> bool {
        self.are_read(chunk, 1)
    }

    /// Were all of the `count` chunks from `first` on read since they were last written?
    pub fn are_read(&self, first: u64, count: u64) -> bool {
        self.pieces(first, count).all(|(chunk, mask)| self.word(chunk).is_some_and(|at| self.words[at] & mask == mask))
    }

    /// Records that the chunk was read, and found right. May evict another zone.
    pub fn set(&mut self, chunk: u64) {
        self.set_run(chunk, 1);
    }

    /// Records that the chunk was written.
    pub fn clear(&mut self, chunk: u64) {
        self.clear_run(chunk, 1);
    }

    /// Records that all of the `count` chunks from `first` on were read, and found right. May evict other zones.
    pub fn set_run(&mut self, first: u64, count: u64) {
        for (chunk, mask) in self.pieces(first, count) {
            let at = match self.word(chunk) {
                Some(at) => {
                    self.held[at / ZONE_WORDS].is_used = true;
                    at
                }
                None => self.hold(chunk),
            };
            self.words[at] |= mask;
        }
    }

    /// Records that all of the `count` chunks from `first` on were written.
    pub fn clear_run(&mut self, first: u64, count: u64) {
        for (chunk, mask) in self.pieces(first, count) {
            if let Some(at) = self.word(chunk) {
                self.words[at] &= !mask;
            }
        }
    }

    /// Forgets all bits, as after a crash or the change of a disk.
    pub fn clear_all(&mut self) {
        self.places.clear();
        self.held.clear();
        self.words.clear();
        self.hand = 0;
    }

    /// Those of the `count` chunks from `first` on that were read, counted from `first`: what a plan needs to know of a stripe.
    pub fn positions(&self, first: u64, count: u64) -> PositionSet {
        let mut positions = PositionSet::NONE;
        for (chunk, mask) in self.pieces(first, count) {
            let mut bits = self.word(chunk).map_or(0, |at| self.words[at] & mask);
            while bits != 0 {
                positions
                    .insert(StripePosition((chunk - chunk % 64 + u64::from(bits.trailing_zeros()) - first) as usize));
                bits &= bits - 1;
            }
        }
        positions
    }

    /// Splits a run at the words' ends: of each piece its first chunk, and the mask of its bits in their word.
    fn pieces(&self, first: u64, count: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let end = first.saturating_add(count);
        assert!(end <= self.chunks, "chunks {first}..{end} of {}", self.chunks);
        let mut next = first;
        std::iter::from_fn(move || {
            let chunk = (next < end).then_some(next)?;
            next = ((chunk | 63) + 1).min(end);
            let bits = u64::MAX >> (64 - (next - chunk)) << (chunk % 64);
            Some((chunk, bits))
        })
    }

    /// The index in `words` of the chunk's word, if its zone is in memory.
    fn word(&self, chunk: u64) -> Option<usize> {
        let place = *self.places.get((chunk / ZONE_CHUNKS) as usize)?;
        (place != NOWHERE).then(|| place as usize * ZONE_WORDS + word_in_zone(chunk))
    }

    /// Brings the zone of a chunk into memory, all its bits unset. Returns the index of the chunk's word.
    fn hold(&mut self, chunk: u64) -> usize {
        let number = (chunk / ZONE_CHUNKS) as usize;
        let zone = Zone { number, is_used: false };
        let place = if self.held.len() < self.zones_max {
            self.held.push(zone);
            self.words.resize(self.words.len() + ZONE_WORDS, 0);
            self.held.len() - 1
        } else {
            let place = self.victim();
            self.places[self.held[place].number] = NOWHERE;
            self.held[place] = zone;
            self.words[place * ZONE_WORDS..][..ZONE_WORDS].fill(0);
            place
        };
        if self.places.len() <= number {
            self.places.resize(number + 1, NOWHERE);
        }
        self.places[number] = place as u32;
        place * ZONE_WORDS + word_in_zone(chunk)
    }

    /// The index in `held` of the zone to evict: the next in which no bit was set since the hand last passed.
    fn victim(&mut self) -> usize {
        loop {
            let place = self.hand;
            self.hand = (self.hand + 1) % self.held.len();
            if !std::mem::take(&mut self.held[place].is_used) {
                return place;
            }
        }
    }
}

fn word_in_zone(chunk: u64) -> usize {
    (chunk % ZONE_CHUNKS / 64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use std::collections::BTreeSet;

    /// Random sets and clears against a model set of numbers: with room for all zones every bit is right; with less, no
    /// bit is set that should not be.
    #[test]
    fn no_bit_is_invented_and_none_lost_while_there_is_room() {
        let chunks = 5 * ZONE_CHUNKS - 7;
        for zones_max in [1, 2, 3, 5, 9] {
            let mut status = ReadStatus::new(chunks, zones_max);
            let mut model = BTreeSet::new();
            let mut rng = Rng::new(zones_max as u64);
            for _ in 0..20_000 {
                // Near the ends of the zones, so that numbers meet again.
                let chunk = (rng.below(5) * ZONE_CHUNKS + rng.below(150)).saturating_sub(75);
                let run = [1, 2, 70][rng.below(3) as usize].min(chunks - chunk);
                if rng.below(3) == 0 {
                    status.clear_run(chunk, run);
                    model.retain(|at| !(chunk..chunk + run).contains(at));
                } else {
                    status.set_run(chunk, run);
                    assert!(status.is_read(chunk + run - 1) && (zones_max < 5 || status.are_read(chunk, run)));
                    model.extend(chunk..chunk + run);
                }
                let first = chunk.saturating_sub(rng.below(100));
                let count = rng.below(200).min(chunks - first);
                let expected: PositionSet =
                    model.range(first..first + count).map(|at| StripePosition((at - first) as usize)).collect();
                let positions = status.positions(first, count);
                let singly: PositionSet = StripePosition::first(count as usize)
                    .filter(|at| status.is_read(first + at.get() as u64))
                    .collect();
                assert_eq!(positions, singly);
                assert_eq!(status.are_read(first, count), singly.count() as u64 == count);
                assert!(if zones_max >= 5 { positions == expected } else { positions.is_subset(expected) });
                assert!(status.held.len() <= zones_max && status.words.len() <= zones_max * ZONE_WORDS);
            }
            status.clear_all();
            assert!((0..chunks).all(|chunk| !status.is_read(chunk)));
        }
    }

    #[test]
    fn the_zone_in_use_outlives_the_others() {
        let mut status = ReadStatus::new(100 * ZONE_CHUNKS, 2);
        status.set(0);
        for zone in 1..100 {
            status.set(zone * ZONE_CHUNKS);
            status.set(0);
            status.set(1);
        }
        assert!(status.is_read(1) && !status.is_read(50 * ZONE_CHUNKS));
        let mut kept = ReadStatus::new(3 * ZONE_CHUNKS, 2);
        for chunk in [0, ZONE_CHUNKS, 2 * ZONE_CHUNKS, ZONE_CHUNKS + 1, 0] {
            kept.set(chunk);
        }
        assert!(kept.is_read(ZONE_CHUNKS) && !kept.is_read(2 * ZONE_CHUNKS), "a bit was set in zone 1 since");
    }
}
