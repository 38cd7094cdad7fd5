//! What is true of one array: which members it has lost, and where unreadable sectors meet in it.

use scrubjay_sim::host::setup::EPOCH;
use scrubjay_watch::facts::ArrayFacts;
use std::collections::{BTreeMap, BTreeSet};

/// Seconds after which a scrub of a pool is overdue, beyond the time in which each disk is to be read.
const SCRUB_GRACE: u64 = 7 * 24 * 3600;

/// The true state of an array. Every array of the model is a mirror, or has one chunk of each stripe at the same place
/// of every member.
#[derive(Clone, Debug, Default)]
pub(super) struct ArrayTruth {
    pub members: Vec<usize>,
    redundancy: usize,
    /// The first sector of the data of each member, and the sectors of a chunk.
    start: u64,
    chunk: u64,
    /// Members that are not in sync.
    pub lost: Vec<usize>,
    pub degraded_since: Option<u64>,
    /// From when to when it was degraded, each time.
    pub spans: Vec<(u64, u64)>,
    /// Since when it is being rebuilt, or checks itself.
    pub at_work_since: Option<u64>,
    /// Since when one more failure would lose data; `None`: it would not, or did so until shortly before.
    pub graver_since: Option<u64>,
    /// When one more failure last ceased to lose data.
    pub lighter_since: u64,
    /// Of a pool of ZFS: when the last whole scrub of which the watch can know ended.
    pub scrubbed: Option<u64>,
    /// Since when it neither is rebuilt nor checks itself.
    pub idle_since: u64,
    /// Since when a stripe has more bad members than it may.
    pub stripes_since: Option<u64>,
}

impl ArrayTruth {
    pub fn new(facts: &ArrayFacts) -> ArrayTruth {
        ArrayTruth {
            redundancy: facts.redundancy as usize,
            start: facts.members.first().map_or(0, |member| member.data_start),
            chunk: facts.layout.map_or(1, |(_, chunk)| chunk),
            scrubbed: facts.pool.as_ref().map(|_| EPOCH),
            idle_since: EPOCH,
            ..ArrayTruth::default()
        }
    }

    /// Notes which members are not in sync now. If the array becomes graver before `counts_from`, that may still be the
    /// incident before, so `graver_since` stays `None`.
    pub fn turn(&mut self, at: u64, lost: &[usize], is_at_work: bool, counts_from: u64) {
        let is_grave = |lost: usize| lost >= self.redundancy && lost > 0;
        let (was, is) = (is_grave(self.lost.len()), is_grave(lost.len()));
        match (was, is) {
            (false, true) => self.graver_since = (counts_from <= at).then_some(at),
            (true, false) => (self.graver_since, self.lighter_since) = (None, at),
            _ => {}
        }
        if let Some(since) = self.degraded_since.filter(|_| lost.is_empty()) {
            self.spans.push((since, at));
        }
        self.lost = lost.to_vec();
        self.degraded_since = (!lost.is_empty()).then_some(self.degraded_since.unwrap_or(at));
        if self.at_work_since.is_some() && !is_at_work {
            self.idle_since = at;
        }
        self.at_work_since = is_at_work.then_some(self.at_work_since.unwrap_or(at));
    }

    /// Since when a scrub of the whole pool has been overdue, and nothing was under way that may bring it.
    pub fn unscrubbed_since(&self, every: u64) -> Option<u64> {
        let due = self.scrubbed? + every + SCRUB_GRACE;
        self.at_work_since.is_none().then_some(due.max(self.idle_since))
    }

    /// Was it degraded at a time, or until some seconds before it?
    pub fn was_degraded(&self, at: u64, before: u64) -> bool {
        let open = self.degraded_since.map(|since| (since, u64::MAX));
        let mut spans = self.spans.iter().copied().chain(open);
        spans.any(|(from, to)| from <= at && to.saturating_add(before) > at)
    }

    /// Is there a stripe with unreadable sectors on two members, or that cannot be rebuilt? `unreadable` returns the
    /// runs of a member that is there.
    pub fn has_bad_stripe<'a>(&self, unreadable: impl Fn(usize) -> Option<&'a BTreeSet<(u64, u64)>>) -> bool {
        if self.scrubbed.is_some() {
            return false; // where the parts of ZFS's stripes lie only ZFS knows
        }
        let mut rows: BTreeMap<u64, usize> = BTreeMap::new();
        for &member in self.members.iter().filter(|member| !self.lost.contains(member)) {
            let runs = unreadable(member).into_iter().flatten().filter(|run| run.1 > self.start);
            let row = |sector: u64| sector.saturating_sub(self.start) / self.chunk;
            let own: BTreeSet<u64> = runs.flat_map(|&(from, to)| row(from)..=row(to - 1)).collect();
            own.into_iter().for_each(|row| *rows.entry(row).or_default() += 1);
        }
        rows.values().any(|&bad| bad > 1 || bad + self.lost.len() > self.redundancy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn six() -> ArrayTruth {
        ArrayTruth { members: vec![0, 1, 2, 3], redundancy: 2, start: 100, chunk: 10, ..ArrayTruth::default() }
    }

    #[test]
    fn an_array_is_graver_from_the_loss_of_its_last_redundancy_on() {
        let mut array = six();
        array.turn(10, &[0], true, 5);
        assert_eq!((array.degraded_since, array.graver_since, array.at_work_since), (Some(10), None, Some(10)));
        array.turn(20, &[0, 1], true, 15);
        assert_eq!((array.degraded_since, array.graver_since, array.at_work_since), (Some(10), Some(20), Some(10)));
        array.turn(30, &[1], false, 15);
        assert_eq!((array.graver_since, array.lighter_since, array.at_work_since), (None, 30, None));
        array.turn(31, &[1, 2], false, 40);
        assert_eq!(array.graver_since, None, "it may be one thing");
    }

    #[test]
    fn sectors_of_two_members_meet_in_a_chunk_row() {
        let of = |runs: &[(u64, u64)]| runs.iter().copied().collect::<BTreeSet<_>>();
        let is_bad = |array: &ArrayTruth, all: [BTreeSet<(u64, u64)>; 4]| array.has_bad_stripe(|disk| Some(&all[disk]));
        let mut array = six();
        assert!(!is_bad(&array, [of(&[(100, 108)]), of(&[(110, 118)]), of(&[]), of(&[])]));
        assert!(!is_bad(&array, [of(&[(0, 8)]), of(&[(0, 8)]), of(&[]), of(&[])]), "before the data");
        assert!(is_bad(&array, [of(&[(100, 108)]), of(&[]), of(&[(102, 110)]), of(&[])]));
        array.turn(1, &[2, 3], false, 0);
        assert!(is_bad(&array, [of(&[(100, 108)]), of(&[]), of(&[]), of(&[])]), "it cannot be rebuilt");
    }
}
