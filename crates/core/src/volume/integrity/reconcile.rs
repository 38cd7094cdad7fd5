//! Decides what a stripe is to be after a crash during its writes.
//!
//! Between the last flush and the crash, any sector may hold the content of any write since, or what was there before. So for
//! a chunk being written, either content is right, and so is a mixture sector by sector; what was written earlier must stay.
//! Each believable list of a parity is a state that the whole stripe was in at some time. The first rule that can be followed
//! applies:
//!
//! 0. Without versions nothing shows which is newer. Disregard the rows that are not sound, and at most one sound row; together
//!    no more than there are parities. If all other claims agree, that is the stripe's state. The disregarded rows were torn,
//!    or corrupt before.
//! 1. Forward: the newest version of each chunk, if parities that encode exactly these can rebuild what is older.
//! 2. Another list, if it takes nothing back: no row that is there names a newer version of itself.
//! 3. If a data row is neither sound nor torn: another list, taking back what was not acknowledged as durable.
//! 4. If a data row is torn, or older than the list of two sound parities that agree: that list. The row may have been wrong
//!    before the crash, and the list proves its content. What it takes back was not acknowledged as durable: two parities
//!    would have missed that write.
//! 5. If no list is followed: keep all data rows as they are, torn ones included, and compute the parities anew. A sound row may
//!    then be older than every list: its write was lost in the crash while the parities' writes arrived, in more rows than the
//!    parities can rebuild.
//! 6. Chunks whose rows are neither sound nor torn are lost; the rest stays as it is.

use super::evidence::Evidence;
use super::judge::judge;
use super::tag::{ListEntry, RowStatus};
use crate::index::StripePosition;
use crate::position_set::PositionSet;

/// The decision about a stripe. After it all parities are computed again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reconciliation {
    /// Data chunks to rebuild from all others and `parities`.
    pub rebuilt: PositionSet,
    /// The parities from which they are rebuilt.
    pub parities: PositionSet,
    /// What each data chunk should be; used for the rebuilt ones.
    pub expected: Vec<ListEntry>,
    /// Data rows that stay as they are but do not fit their own appendix: they get a new one.
    pub resealed: PositionSet,
    /// Data chunks whose right content cannot be proven.
    pub lost: PositionSet,
}

/// Decides about the rows of one stripe. Rows of missing members are in the evidence as not read.
pub fn reconcile(evidence: &Evidence) -> Reconciliation {
    let data = evidence.shape.data_set();
    let status = |position: StripePosition| evidence.rows[position].status;
    let torn: PositionSet = data.iter().filter(|&position| status(position) == RowStatus::Torn).collect();
    let gone = data - evidence.sound() - torn;

    // Rule 0.
    if let Some(reconciliation) = agreed(evidence) {
        return reconciliation;
    }
    let mut candidates = candidates(evidence);
    candidates.sort_by_key(|candidate| (std::cmp::Reverse(candidate.version_sum), candidate.rebuilt.count()));
    // Rules 1 and 2.
    if let Some(candidate) = candidates
        .iter()
        .find(|candidate| candidate.is_newest)
        .or_else(|| candidates.iter().find(|candidate| candidate.rolls_back.is_empty()))
    {
        return candidate.reconciliation();
    }
    // Rule 3.
    if !gone.is_empty()
        && let Some(candidate) = candidates.first()
    {
        return candidate.reconciliation();
    }
    // Rule 4.
    if let Some(candidate) =
        candidates.iter().find(|candidate| candidate.parities.count() >= 2 && candidate.may_right_wrong_row)
    {
        return candidate.reconciliation();
    }
    // Rules 5 and 6, which differ in `gone` alone. A torn row over a chunk that was lost before still holds part of what was lost.
    let was_lost = |&position: &StripePosition| {
        let mut listed = evidence.lists().map(|(_, list)| list[position].version);
        evidence.rows[position].entry.version.is_lost() || listed.any(|version| version.is_lost())
    };
    let still_lost: PositionSet = torn.iter().filter(was_lost).collect();
    Reconciliation {
        rebuilt: PositionSet::NONE,
        parities: PositionSet::NONE,
        expected: evidence.rows[..evidence.shape.data].iter().map(|row| row.entry).collect(),
        resealed: torn - still_lost,
        lost: gone | still_lost,
    }
}

/// The state about which all rows but a few agree, in schemes that list checksums and no versions.
fn agreed(evidence: &Evidence) -> Option<Reconciliation> {
    if !evidence.scheme.has_buddies() {
        return None;
    }
    let diagnosis = judge(evidence);
    let expected: Option<Vec<ListEntry>> = diagnosis.expected.into_iter().collect();
    expected.filter(|_| diagnosis.lost.is_empty()).map(|expected| Reconciliation {
        rebuilt: diagnosis.erased & evidence.shape.data_set(),
        parities: evidence.shape.parity_set() - diagnosis.erased,
        expected,
        resealed: PositionSet::NONE,
        lost: PositionSet::NONE,
    })
}

/// A list, and the consequences of following it.
struct Candidate {
    parities: PositionSet,
    list: Vec<ListEntry>,
    rebuilt: PositionSet,
    /// Rows that are newer than the list, or cannot be ordered relative to it.
    rolls_back: PositionSet,
    is_newest: bool,
    /// Is any row torn, or older than the list?
    may_right_wrong_row: bool,
    /// The sum of the list's versions: of two lists of one stripe, the later one has the greater sum.
    version_sum: u128,
}

impl Candidate {
    fn reconciliation(&self) -> Reconciliation {
        Reconciliation {
            rebuilt: self.rebuilt,
            parities: self.parities,
            expected: self.list.clone(),
            resealed: PositionSet::NONE,
            lost: PositionSet::NONE,
        }
    }
}

/// The lists of sound parities by which everything that disagrees with them can be rebuilt.
fn candidates(evidence: &Evidence) -> Vec<Candidate> {
    let is_ordered = evidence.scheme.has_versions();
    let differs = |own: ListEntry, listed: ListEntry| {
        if is_ordered { own.version.number() != listed.version.number() } else { own.sum != listed.sum }
    };
    // A torn row's version counts too: where only that row shows that a list is stale, the list is not the newest.
    let newest = |index: StripePosition| {
        let row = &evidence.rows[index];
        let torn = (row.status == RowStatus::Torn).then_some(row.entry);
        let claims = evidence.claims(index).map(|(_, entry)| entry).chain(torn);
        claims.map(|entry| entry.version.number()).max().unwrap_or(0)
    };
    let mut candidates: Vec<Candidate> = Vec::new();
    for (position, list) in evidence.lists().filter(|&(position, _)| evidence.rows[position].is_sound()) {
        if let Some(candidate) = candidates.iter_mut().find(|candidate| candidate.list == list) {
            candidate.parities.insert(position);
            continue;
        }
        let data = &evidence.rows[..evidence.shape.data];
        let disagrees = |&index: &StripePosition| !data[index].is_sound() || differs(data[index].entry, list[index]);
        // A torn row's appendix lies in one sector, so it shows the row's version too.
        let is_back = |&index: &StripePosition| match data[index].status {
            RowStatus::Sound | RowStatus::Torn if is_ordered => {
                data[index].entry.version.number() > list[index].version.number()
            }
            RowStatus::Sound => data[index].entry.sum != list[index].sum,
            _ => false,
        };
        candidates.push(Candidate {
            parities: PositionSet::one(position),
            list: list.to_vec(),
            rebuilt: evidence.shape.data_positions().filter(disagrees).collect(),
            rolls_back: evidence.shape.data_positions().filter(is_back).collect(),
            may_right_wrong_row: is_ordered
                && evidence.shape.data_positions().any(|index| {
                    data[index].status == RowStatus::Torn
                        || data[index].is_sound() && data[index].entry.version.number() < list[index].version.number()
                }),
            is_newest: is_ordered
                && evidence.shape.data_positions().all(|index| list[index].version.number() == newest(index)),
            version_sum: list.iter().map(|entry| u128::from(entry.version.number())).sum(),
        });
    }
    candidates.retain(|candidate| candidate.rebuilt.count() <= candidate.parities.count());
    candidates
}

#[cfg(test)]
mod tests {
    use super::super::evidence::RowEvidence;
    use super::super::scheme::Scheme;
    use super::super::tag::Version;
    use super::*;
    use crate::layout::Shape;

    fn entry(version: u64) -> ListEntry {
        ListEntry { version: Version(version), sum: version as u32 }
    }

    /// One data row (its own version, its status) and one parity (the version that its list has).
    fn mirror(own: u64, status: RowStatus, listed: u64) -> Evidence {
        let data = RowEvidence { entry: entry(own), ..RowEvidence::with_status(status) };
        let parity = RowEvidence { list: Some(vec![entry(listed)]), ..RowEvidence::with_status(RowStatus::Sound) };
        Evidence { scheme: Scheme::Stamp, shape: Shape { data: 1, parity: 1 }, rows: vec![data, parity] }
    }

    #[test]
    fn a_torn_row_goes_forward_by_a_list_not_older_than_its_own_version() {
        for (own, listed) in [(5, 5), (5, 7)] {
            let reconciliation = reconcile(&mirror(own, RowStatus::Torn, listed));
            assert_eq!(
                (reconciliation.rebuilt, reconciliation.resealed),
                (PositionSet::one(StripePosition(0)), PositionSet::NONE),
                "{own} {listed}"
            );
        }
    }

    #[test]
    fn a_torn_row_stays_when_the_only_list_is_older_than_its_own_version() {
        // The parity's write was lost, and the row's next one torn: the content that the list describes was overwritten,
        // durably.
        let reconciliation = reconcile(&mirror(7, RowStatus::Torn, 5));
        assert_eq!(
            (reconciliation.rebuilt, reconciliation.resealed),
            (PositionSet::NONE, PositionSet::one(StripePosition(0)))
        );
        assert!(reconciliation.lost.is_empty());
    }

    /// Data rows (version, status), then parities that list these versions.
    fn versions(data: &[(u64, RowStatus)], lists: &[&[u64]]) -> Evidence {
        let own =
            data.iter().map(|&(own, status)| RowEvidence { entry: entry(own), ..RowEvidence::with_status(status) });
        let parity = |list: &&[u64]| RowEvidence {
            list: Some(list.iter().map(|&version| entry(version)).collect()),
            ..RowEvidence::with_status(RowStatus::Sound)
        };
        let rows = own.chain(lists.iter().map(parity)).collect();
        Evidence { scheme: Scheme::Stamp, shape: Shape { data: data.len(), parity: lists.len() }, rows }
    }

    #[test]
    fn a_row_whose_write_was_lost_is_rebuilt_by_an_older_list_that_takes_nothing_back() {
        let sound = |version| (version, RowStatus::Sound);
        let evidence = versions(&[sound(8), sound(8), sound(8), sound(7)], &[&[9, 9, 9, 9], &[8, 8, 8, 8]]);
        let reconciliation = reconcile(&evidence);
        assert_eq!(
            (reconciliation.rebuilt, reconciliation.parities),
            (PositionSet::one(StripePosition(3)), PositionSet::one(StripePosition(5)))
        );
    }

    #[test]
    fn the_later_of_two_lists_that_both_take_something_back_is_followed() {
        let data = [(0, RowStatus::Corrupt), (12, RowStatus::Torn)];
        let reconciliation = reconcile(&versions(&data, &[&[5, 10], &[5, 10], &[7, 11], &[7, 11]]));
        assert_eq!(
            (reconciliation.rebuilt, reconciliation.parities),
            (PositionSet::range(0, 2), PositionSet::range(4, 6))
        );
    }

    /// Three data rows and one parity of a scheme without versions, all of which agree.
    fn unordered(scheme: Scheme) -> Evidence {
        let entry = |sum| ListEntry { version: Version(0), sum };
        let row = |position: u32| RowEvidence {
            entry: entry(position),
            predecessor_sum: (position + 2) % 3,
            ..RowEvidence::with_status(RowStatus::Sound)
        };
        let parity =
            RowEvidence { list: Some((0..3).map(entry).collect()), ..RowEvidence::with_status(RowStatus::Sound) };
        let rows = (0..3).map(row).chain([parity]).collect();
        Evidence { scheme, shape: Shape { data: 3, parity: 1 }, rows }
    }

    #[test]
    fn without_versions_a_row_that_all_others_contradict_is_rebuilt() {
        for scheme in [Scheme::Pure, Scheme::Hybrid2] {
            let mut evidence = unordered(scheme);
            evidence.rows[1].entry.sum = 77;
            let reconciliation = reconcile(&evidence);
            assert_eq!(
                (reconciliation.rebuilt, reconciliation.parities),
                (PositionSet::one(StripePosition(1)), PositionSet::one(StripePosition(3))),
                "{scheme}"
            );
            assert_eq!(reconciliation.expected[1].sum, 1);
            evidence.rows[1] = RowEvidence::with_status(RowStatus::Torn);
            assert_eq!(reconcile(&evidence).rebuilt, PositionSet::one(StripePosition(1)), "{scheme}");
        }
    }

    #[test]
    fn without_versions_data_stay_when_only_the_parity_or_no_row_is_outvoted() {
        let mut evidence = unordered(Scheme::Hybrid2);
        evidence.rows[3].list.as_mut().unwrap()[0].sum = 77;
        let reconciliation = reconcile(&evidence);
        assert_eq!((reconciliation.rebuilt, reconciliation.lost), (PositionSet::NONE, PositionSet::NONE));
        evidence.rows[1].entry.sum = 78;
        let reconciliation = reconcile(&evidence);
        assert_eq!((reconciliation.rebuilt, reconciliation.lost), (PositionSet::NONE, PositionSet::NONE));
    }
}
