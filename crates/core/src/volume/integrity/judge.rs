//! Judges which rows of a stripe are wrong, from everything that its rows say of themselves and of each other.
//!
//! Li & Lee 2014, sections III-V, assume at most one silently corrupted chunk in a stripe and at most m - 1 others failed.
//! With versions, the order of writes shows which side is stale, however many rows are. With checksums alone, the judge looks
//! for the one row without which all others agree. It compares every list of the parities with every other: a list read alone
//! can be stale, and a rebuild from a stale parity gives wrong bytes that nothing would ever find.
//!
//! This is for stripes whose writes were all acknowledged; after a crash during a write, [`super::reconcile`] decides.

use super::evidence::Evidence;
use super::scheme::Scheme;
use super::tag::ListEntry;
use crate::index::StripePosition;
use crate::position_set::PositionSet;

/// The diagnosis of a stripe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Rows that must not be used: missing, unreadable, unsound or stale. The others are right unless they are in `lost`.
    pub erased: PositionSet,
    /// Rows that claim an older version than others do, of themselves or in their list, or (without versions) that all others
    /// contradict: their last write was lost.
    pub stale: PositionSet,
    /// What each data chunk should be; `None` if nothing is known of it.
    pub expected: Vec<Option<ListEntry>>,
    /// Data chunks whose right content cannot be proven.
    pub lost: PositionSet,
}

impl Diagnosis {
    /// Whether every row is there, whole and current.
    pub fn is_clean(&self) -> bool {
        self.erased.is_empty() && self.lost.is_empty()
    }
}

/// Judges the rows of one stripe.
pub fn judge(evidence: &Evidence) -> Diagnosis {
    let found = match evidence.scheme {
        Scheme::None => StripeVerdict { expected: vec![None; evidence.shape.data], ..StripeVerdict::default() },
        Scheme::Hybrid1 | Scheme::Stamp => by_versions(evidence),
        Scheme::Pure | Scheme::Hybrid2 => by_sums(evidence),
    };
    let all = PositionSet::range(0, evidence.shape.width());
    let erased = (all - evidence.sound()) | found.stale;
    let data = evidence.shape.data_set();
    let is_too_much = erased.count() > evidence.shape.parity;
    let lost = (if is_too_much { erased & data } else { PositionSet::NONE }) | found.conflict;
    Diagnosis { erased, stale: found.stale, expected: found.expected, lost }
}

/// Whether each row in `read` is whole, and nothing that the rows say of each other differs. (Rows that were not read are
/// `NotRead` in the evidence.) If not, the whole stripe is read and judged.
pub fn is_consistent(evidence: &Evidence, read: PositionSet) -> bool {
    let differs = |index: StripePosition| {
        let mut claims = evidence.claims(index).map(|(_, entry)| match evidence.scheme {
            Scheme::Hybrid1 => (entry.version, 0),
            Scheme::Stamp => (entry.version, entry.sum),
            _ => (Default::default(), entry.sum),
        });
        let first = claims.next();
        claims.any(|claim| Some(claim) != first)
    };
    read.iter().all(|position| evidence.rows[position].is_sound()) && !evidence.shape.data_positions().any(differs)
}

#[derive(Default)]
struct StripeVerdict {
    stale: PositionSet,
    /// Data chunks about which two claims differ, and nothing decides between them.
    conflict: PositionSet,
    expected: Vec<Option<ListEntry>>,
}

/// The greatest version that any row claims is that of the last write; rows that claim an older one are stale.
fn by_versions(evidence: &Evidence) -> StripeVerdict {
    let mut found = StripeVerdict::default();
    for index in evidence.shape.data_positions() {
        let newest = claims(evidence, index, None).map(|(_, entry)| entry).max_by_key(|entry| entry.version.number());
        found.expected.push(newest);
        let Some(newest) = newest else { continue };
        for (position, entry) in claims(evidence, index, None) {
            if entry.version.number() < newest.version.number() {
                found.stale.insert(position);
            } else if evidence.scheme.lists_sums() && entry != newest {
                found.conflict.insert(index);
            }
        }
    }
    // Hybrid-1 gives a chunk the version found on it, plus one. After a lost write the next one gets the same number again,
    // so a list that missed that next write can be ahead for this chunk and behind for others. If leaving out one row ends
    // every dispute, that row is stale.
    if evidence.scheme == Scheme::Hybrid1
        && found.stale.count() > 1
        && let [position] = culprits(evidence, disputed(evidence))[..]
    {
        found.stale = PositionSet::one(position);
        found.expected = expected(evidence, Some(position));
    }
    found
}

/// Finds the one row without which all claims agree. Unless there is exactly one, the disputed chunks are in conflict.
fn by_sums(evidence: &Evidence) -> StripeVerdict {
    let disputed = disputed(evidence);
    if disputed.is_empty() {
        return StripeVerdict { expected: expected(evidence, None), ..StripeVerdict::default() };
    }
    match culprits(evidence, disputed)[..] {
        [position] => StripeVerdict {
            stale: PositionSet::one(position),
            expected: expected(evidence, Some(position)),
            ..StripeVerdict::default()
        },
        _ => {
            let undisputed = |(index, entry)| if disputed.contains(index) { None } else { entry };
            let expected = StripePosition::numbered(expected(evidence, None)).map(undisputed).collect();
            StripeVerdict { conflict: disputed, expected, ..StripeVerdict::default() }
        }
    }
}

/// The claims about a data chunk, except those of row `without`. The list of a torn parity may be whole and still stale: it
/// counts only under `stamp`, where one number counts the writes of the whole array, so a stale list never names a greater
/// version.
fn claims(
    evidence: &Evidence,
    index: StripePosition,
    without: Option<StripePosition>,
) -> impl Iterator<Item = (StripePosition, ListEntry)> {
    let uses_torn = evidence.scheme == Scheme::Stamp;
    let is_counted =
        move |position: StripePosition| Some(position) != without && (uses_torn || evidence.rows[position].is_sound());
    evidence.claims(index).filter(move |&(position, _)| is_counted(position))
}

/// Whether all claims about a data chunk agree, except those of row `without`.
fn agrees(evidence: &Evidence, index: StripePosition, without: Option<StripePosition>) -> bool {
    let has_versions = evidence.scheme.has_versions();
    let key = |entry: ListEntry| if has_versions { entry.version.number() } else { u64::from(entry.sum) };
    let mut keys = claims(evidence, index, without).map(|(_, entry)| key(entry));
    let first = keys.next();
    keys.all(|key| Some(key) == first)
}

/// The data chunks about which claims differ.
fn disputed(evidence: &Evidence) -> PositionSet {
    evidence.shape.data_positions().filter(|&index| !agrees(evidence, index, None)).collect()
}

/// The sound rows each of whose removal alone ends every dispute.
fn culprits(evidence: &Evidence, disputed: PositionSet) -> Vec<StripePosition> {
    let explains = |&position: &StripePosition| disputed.iter().all(|index| agrees(evidence, index, Some(position)));
    evidence.sound().iter().filter(explains).collect()
}

/// What each data chunk is by the first claim about it, row `without` left out.
fn expected(evidence: &Evidence, without: Option<StripePosition>) -> Vec<Option<ListEntry>> {
    let first = |index: StripePosition| claims(evidence, index, without).next().map(|(_, entry)| entry);
    evidence.shape.data_positions().map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::super::evidence::RowEvidence;
    use super::super::tag::{RowStatus, Version};
    use super::*;
    use crate::layout::Shape;

    /// A stripe as it should be: chunk `i` has version 10 + i and sum 100 + i.
    fn stripe(scheme: Scheme, data: usize, parity: usize) -> Evidence {
        let entry = |index: usize| ListEntry { version: Version(10 + index as u64), sum: 100 + index as u32 };
        let mut rows: Vec<RowEvidence> = (0..data)
            .map(|index| RowEvidence {
                entry: entry(index),
                predecessor_sum: entry((index + data - 1) % data).sum,
                ..RowEvidence::with_status(RowStatus::Sound)
            })
            .collect();
        let list = Some((0..data).map(entry).collect::<Vec<_>>());
        rows.extend(
            (0..parity).map(|_| RowEvidence { list: list.clone(), ..RowEvidence::with_status(RowStatus::Sound) }),
        );
        if !scheme.has_versions() {
            let entries = rows.iter_mut().flat_map(|row| row.list.iter_mut().flatten().chain([&mut row.entry]));
            entries.for_each(|entry| entry.version = Version(0));
        }
        Evidence { scheme, shape: Shape { data, parity }, rows }
    }

    const OLD: ListEntry = ListEntry { version: Version(1), sum: 1 };

    fn old(scheme: Scheme) -> ListEntry {
        if scheme.has_versions() { OLD } else { ListEntry { version: Version(0), ..OLD } }
    }

    const CHECKED: [Scheme; 4] = [Scheme::Pure, Scheme::Hybrid1, Scheme::Hybrid2, Scheme::Stamp];

    #[test]
    fn a_stripe_as_it_should_be_is_clean() {
        for scheme in Scheme::ALL {
            assert!(judge(&stripe(scheme, 4, 2)).is_clean(), "{scheme}");
        }
    }

    #[test]
    fn rows_read_are_consistent_when_all_claims_about_each_chunk_agree() {
        let all = PositionSet::range(0, 6);
        for scheme in CHECKED {
            assert!(is_consistent(&stripe(scheme, 4, 2), all), "{scheme}");
            let mut other = stripe(scheme, 4, 2);
            other.rows[5].list.as_mut().unwrap()[1].sum += 1;
            assert_eq!(
                is_consistent(&other, all),
                !scheme.lists_sums(),
                "{scheme}: another content of the same version"
            );
            let mut older = stripe(scheme, 4, 2);
            older.rows[5].list.as_mut().unwrap()[1] = old(scheme);
            assert!(!is_consistent(&older, all), "{scheme}: an older list");
            let mut torn = stripe(scheme, 4, 2);
            torn.rows[2] = RowEvidence::with_status(RowStatus::Corrupt);
            assert!(
                !is_consistent(&torn, all) && is_consistent(&torn, all - PositionSet::one(StripePosition(2))),
                "{scheme}: a torn row"
            );
        }
    }

    #[test]
    fn a_lost_write_of_a_data_chunk_is_located_with_all_but_m_minus_1_others() {
        for scheme in CHECKED {
            for failed in [None, Some(1), Some(4), Some(5)] {
                let mut evidence = stripe(scheme, 4, 2);
                evidence.rows[2].entry = old(scheme);
                failed.inspect(|&position: &usize| {
                    evidence.rows[position] = RowEvidence::with_status(RowStatus::NotRead)
                });
                let diagnosis = judge(&evidence);
                assert_eq!(diagnosis.stale, PositionSet::one(StripePosition(2)), "{scheme} without {failed:?}");
                assert!(diagnosis.lost.is_empty());
                assert_eq!(diagnosis.expected[2].unwrap().sum, 102);
            }
        }
    }

    #[test]
    fn a_lost_write_of_a_parity_is_located() {
        for scheme in CHECKED {
            for (data, parity) in [(4, 1), (4, 2), (2, 2)] {
                let mut evidence = stripe(scheme, data, parity);
                evidence.rows[data].list.as_mut().unwrap()[1] = old(scheme);
                let diagnosis = judge(&evidence);
                assert_eq!(
                    (diagnosis.stale, diagnosis.lost),
                    (PositionSet::one(StripePosition(data)), PositionSet::NONE),
                    "{scheme} {data}+{parity}"
                );
            }
        }
    }

    #[test]
    fn a_stale_parity_does_not_rebuild_a_missing_chunk_when_another_list_is_newer() {
        for scheme in CHECKED {
            let mut evidence = stripe(scheme, 4, 2);
            evidence.rows[1] = RowEvidence::with_status(RowStatus::NotRead);
            evidence.rows[4].list.as_mut().unwrap()[1] = old(scheme);
            let diagnosis = judge(&evidence);
            assert_eq!(diagnosis.erased, [1, 4].map(StripePosition).into_iter().collect(), "{scheme}");
            assert_eq!((diagnosis.expected[1].unwrap().sum, diagnosis.lost), (101, PositionSet::NONE));
        }
    }

    #[test]
    fn a_chunk_whose_claims_differ_is_lost_and_no_other() {
        // A parity and the neighbour are missing: the chunk's own content against one list, and no order between them.
        let mut evidence = stripe(Scheme::Hybrid2, 4, 2);
        evidence.rows[2].entry = old(Scheme::Hybrid2);
        evidence.rows[3] = RowEvidence::with_status(RowStatus::NotRead);
        evidence.rows[4] = RowEvidence::with_status(RowStatus::NotRead);
        let diagnosis = judge(&evidence);
        assert_eq!(diagnosis.lost & PositionSet::one(StripePosition(2)), PositionSet::one(StripePosition(2)));
        assert!((diagnosis.lost & PositionSet::range(0, 2)).is_empty());
    }

    #[test]
    fn more_erased_chunks_than_parities_are_lost_and_whole_ones_are_not() {
        let mut evidence = stripe(Scheme::Stamp, 4, 2);
        for position in [0, 1, 5] {
            evidence.rows[position] = RowEvidence::with_status(RowStatus::Unreadable);
        }
        let diagnosis = judge(&evidence);
        assert_eq!(diagnosis.lost, PositionSet::range(0, 2));
        assert_eq!(diagnosis.erased, [0, 1, 5].map(StripePosition).into_iter().collect());
    }

    #[test]
    fn a_version_with_two_contents_is_lost() {
        let mut evidence = stripe(Scheme::Stamp, 4, 2);
        evidence.rows[2].entry.sum ^= 1;
        assert_eq!(judge(&evidence).lost, PositionSet::one(StripePosition(2)));
    }

    /// D0's writes up to version 10 were lost. Literal Hybrid-1 then counted on from the version found on each chunk in a
    /// full stripe write, of which the parity's write was lost.
    fn counted_on() -> Evidence {
        let mut evidence = stripe(Scheme::Hybrid1, 3, 1);
        evidence.rows[0].entry.version = Version(8);
        evidence.rows[3].list.as_mut().unwrap()[1..].iter_mut().for_each(|entry| entry.version.0 -= 1);
        evidence
    }

    #[test]
    fn hybrid_1_blames_one_row_when_versions_were_counted_on_from_an_old_one() {
        let diagnosis = judge(&counted_on());
        assert_eq!((diagnosis.stale, diagnosis.lost), (PositionSet::one(StripePosition(3)), PositionSet::NONE));
        assert_eq!(diagnosis.expected[0].unwrap().version, Version(8));
    }

    #[test]
    fn hybrid_1_ignores_the_list_of_a_torn_parity() {
        let mut evidence = counted_on();
        evidence.rows[3].status = RowStatus::Torn;
        let diagnosis = judge(&evidence);
        assert_eq!((diagnosis.erased, diagnosis.stale), (PositionSet::one(StripePosition(3)), PositionSet::NONE));
    }
}
