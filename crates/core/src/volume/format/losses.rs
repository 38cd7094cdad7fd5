//! The register of losses: which stripes hold lost chunks. It lies in the superblock, as a compatible feature.
//!
//! It says *at most*: with more than [`RUNS_MAX`] runs of stripes, the two that are nearest to each other become one. Stripes leave it
//! when all of their content is there again: written anew, trimmed, or proven by a member that came back.

use super::fields::{FieldReader, FieldWriter};
use crate::index::StripeIndex;
use std::ops::Range;

/// Runs that the register holds, at most.
pub const RUNS_MAX: usize = 256;
/// The compatible feature: the superblock has a register of losses.
pub const FEATURE: u64 = 1;
/// Bytes of the register on the disk.
pub const REGISTER_BYTES: usize = 8 + RUNS_MAX * 16;

/// Runs of stripes that hold lost chunks, ascending, with gaps between them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossRegister {
    runs: Vec<Range<u64>>,
    /// Were runs joined, so that there may be stripes in them that hold all of their content?
    is_coarse: bool,
}

impl LossRegister {
    /// Does no stripe hold lost chunks?
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How many stripes hold lost chunks: exactly, or at most so many ([`LossRegister::is_coarse`]).
    pub fn count(&self) -> u64 {
        self.runs.iter().map(|run| run.end - run.start).sum()
    }

    /// Is the count a limit only?
    pub fn is_coarse(&self) -> bool {
        self.is_coarse
    }

    /// The runs of stripes, ascending.
    pub fn runs(&self) -> &[Range<u64>] {
        &self.runs
    }

    /// Is this stripe one of those?
    pub fn contains(&self, stripe: StripeIndex) -> bool {
        let next = self.runs.partition_point(|run| run.end <= stripe.get());
        self.runs.get(next).is_some_and(|run| run.contains(&stripe.get()))
    }

    /// Adds a stripe. Returns whether it is new.
    pub fn insert(&mut self, stripe: StripeIndex) -> bool {
        let stripe = stripe.get();
        let next = self.runs.partition_point(|run| run.end < stripe);
        let near = self.runs.get(next);
        if near.is_some_and(|run| run.contains(&stripe)) {
            return false;
        }
        if near.is_some_and(|run| run.end == stripe) {
            self.runs[next].end += 1;
            if self.runs.get(next + 1).is_some_and(|after| after.start == stripe + 1) {
                self.runs[next].end = self.runs[next + 1].end;
                self.runs.remove(next + 1);
            }
        } else if near.is_some_and(|run| run.start == stripe + 1) {
            self.runs[next].start = stripe;
        } else {
            self.runs.insert(next, stripe..stripe + 1);
        }
        if self.runs.len() > RUNS_MAX {
            self.join_nearest();
        }
        true
    }

    /// Removes a stripe. Returns whether it was there, and is gone: where that would take one run too many it stays.
    pub fn remove(&mut self, stripe: StripeIndex) -> bool {
        if !self.contains(stripe) {
            return false;
        }
        let stripe = stripe.get();
        let at = self.runs.partition_point(|run| run.end <= stripe);
        let run = self.runs[at].clone();
        let rest: Vec<Range<u64>> =
            [run.start..stripe, stripe + 1..run.end].into_iter().filter(|part| !part.is_empty()).collect();
        if self.runs.len() - 1 + rest.len() > RUNS_MAX {
            self.is_coarse = true;
            return false;
        }
        self.runs.splice(at..=at, rest);
        self.is_coarse &= !self.runs.is_empty();
        true
    }

    fn join_nearest(&mut self) {
        let gap = |at: &usize| self.runs[at + 1].start - self.runs[*at].end;
        let Some(at) = (0..self.runs.len() - 1).min_by_key(gap) else { return };
        self.runs[at].end = self.runs[at + 1].end;
        self.runs.remove(at + 1);
        self.is_coarse = true;
    }

    /// Writes it: the number of runs u32, whether it is coarse u32, and start and end of each run u64.
    pub(super) fn encode(&self, to: &mut FieldWriter<'_>) {
        to.u32(self.runs.len() as u32); // at most RUNS_MAX
        to.u32(u32::from(self.is_coarse));
        for run in &self.runs {
            to.u64(run.start);
            to.u64(run.end);
        }
    }

    /// Reads it, for a volume with so many stripes.
    ///
    /// # Errors
    /// It contradicts itself.
    pub(super) fn decode(from: &mut FieldReader<'_>, stripes: u64) -> Result<LossRegister, &'static str> {
        const NONSENSE: &str = "the register of losses";
        let (count, coarse) = (from.u32() as usize, from.u32());
        if count > RUNS_MAX || coarse > 1 {
            return Err(NONSENSE);
        }
        let runs: Vec<Range<u64>> = (0..count).map(|_| from.u64()..from.u64()).collect();
        let is_ascending = runs.windows(2).all(|pair| pair[0].end < pair[1].start);
        let is_inside = runs.iter().all(|run| run.start < run.end && run.end <= stripes);
        match is_ascending && is_inside {
            true => Ok(LossRegister { runs, is_coarse: coarse == 1 }),
            false => Err(NONSENSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Buffer;
    use std::collections::BTreeSet;

    fn register(stripes: impl IntoIterator<Item = u64>) -> LossRegister {
        let mut register = LossRegister::default();
        for stripe in stripes {
            register.insert(StripeIndex(stripe));
        }
        register
    }

    #[test]
    fn it_is_the_set_of_stripes_that_were_added_and_not_removed() {
        let (mut register, mut set) = (LossRegister::default(), BTreeSet::new());
        let mut state = 12345_u64;
        for step in 0..4000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let stripe = (state >> 33) % 60;
            let is_new = if (state >> 60).is_multiple_of(2) {
                register.insert(StripeIndex(stripe)) == set.insert(stripe)
            } else {
                register.remove(StripeIndex(stripe)) == set.remove(&stripe)
            };
            assert!(is_new, "step {step}");
            let members: BTreeSet<u64> = register.runs().iter().cloned().flatten().collect();
            assert_eq!(members, set, "step {step}");
            assert!(register.runs().windows(2).all(|pair| pair[0].end < pair[1].start), "step {step}");
            assert_eq!((register.count(), register.is_coarse()), (set.len() as u64, false));
            assert!((0..61).all(|stripe| register.contains(StripeIndex(stripe)) == set.contains(&stripe)));
        }
    }

    #[test]
    fn what_does_not_fit_is_joined_and_nothing_is_left_out() {
        let stripes: Vec<u64> = (0..400).map(|at| at * 10 + at % 7).collect();
        let mut register = register(stripes.iter().copied());
        assert_eq!(register.runs().len(), RUNS_MAX);
        assert!(register.is_coarse() && register.count() > 400);
        assert!(stripes.iter().all(|&stripe| register.contains(StripeIndex(stripe))));
        // A stripe in the middle of a run stays where its going would take one run too many.
        let long = register.runs().iter().find(|run| run.end - run.start > 2).unwrap().start + 1;
        assert!(!register.remove(StripeIndex(long)) && register.contains(StripeIndex(long)));
        for stripe in 0..5000 {
            register.remove(StripeIndex(stripe));
        }
        for stripe in (0..5000).rev() {
            register.remove(StripeIndex(stripe));
        }
        assert!(register.is_empty() && !register.is_coarse());
    }

    #[test]
    fn it_is_read_as_it_was_written_and_nonsense_is_refused() {
        for register in [register([]), register([7]), register((0..400).map(|at| at * 3))] {
            let mut block = Buffer::zeroed(REGISTER_BYTES);
            register.encode(&mut FieldWriter::new(&mut block));
            assert_eq!(LossRegister::decode(&mut FieldReader::new(&block), 1200), Ok(register.clone()));
            if !register.is_empty() {
                assert!(LossRegister::decode(&mut FieldReader::new(&block), 7).is_err(), "beyond the last stripe");
                block[8] = 0xff;
                block[15] = 0xff;
                assert!(LossRegister::decode(&mut FieldReader::new(&block), 1200).is_err());
            }
        }
        let mut block = Buffer::zeroed(REGISTER_BYTES);
        block[..4].copy_from_slice(&257_u32.to_le_bytes());
        assert!(LossRegister::decode(&mut FieldReader::new(&block), u64::MAX).is_err());
    }
}
