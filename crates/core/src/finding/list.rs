//! The findings of a pass: a bounded list, and exact counts.

use super::found::{Finding, FoundContent, FoundOn};
use super::kind::{FindingKind, Resolution};
use crate::units::{Sector, SectorRange};
use std::collections::{BTreeMap, BTreeSet};

/// Findings that are kept, at most; further ones are counted.
pub const FOUND_MAX: usize = 10_000;
/// Bytes of the names of members and files in them, at most.
const NAMES_BYTES_MAX: usize = 8 << 20;

/// What tells two findings apart: place, the kind's name, how it ended, and on which member.
type FoundKey = (Sector, Sector, &'static str, Resolution, Option<FoundOn>);

/// The findings of a pass, over all its runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundList {
    /// In the order of discovery.
    list: Vec<Finding>,
    /// What tells them apart, but for mismatches of an array, which are told apart by their places.
    keys: BTreeSet<FoundKey>,
    /// Bytes of the names in them.
    names_bytes: usize,
    /// Further ones, by kind and resolution.
    untold: BTreeMap<(&'static str, Resolution), u64>,
}

impl FoundList {
    /// The findings that are kept, in the order of discovery.
    pub fn all(&self) -> &[Finding] {
        &self.list
    }

    /// How many there were that are not kept.
    pub fn untold(&self) -> u64 {
        self.untold.values().sum()
    }

    /// How many there were that are not kept, by the kind's name and the resolution.
    pub fn untold_by_kind(&self) -> impl Iterator<Item = (&'static str, Resolution, u64)> {
        self.untold.iter().map(|(&(kind, resolution), &count)| (kind, resolution, count))
    }

    /// Is there none?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty() && self.untold.is_empty()
    }

    /// Is nothing left to do about any of them?
    pub fn is_settled(&self) -> bool {
        let is_over = |resolution: Resolution| resolution.is_settled();
        self.list.iter().all(|found| is_over(found.resolution))
            && self.untold.keys().all(|(_, resolution)| is_over(*resolution))
    }

    /// Adds a finding. The same one again changes nothing: a range may be verified twice, after a kill or to narrow a place down. A
    /// mismatch takes the place of those that were known there, and joins its neighbours where the same is known of them.
    pub fn add(&mut self, mut finding: Finding) {
        if matches!(finding.kind, FindingKind::Mismatch(_)) && finding.content == FoundContent::Unknown {
            self.take_mismatches(&mut finding);
        } else if self.keys.contains(&key_of(&finding)) {
            return;
        } else if let Some(known) = self.list.last_mut().filter(|known| is_next(known, &finding)) {
            join(known, &finding);
            return;
        }
        let names_bytes = self.names_bytes + names_bytes(&finding);
        if self.list.len() < FOUND_MAX && names_bytes <= NAMES_BYTES_MAX {
            self.names_bytes = names_bytes;
            self.keys.insert(key_of(&finding));
            self.list.push(finding);
        } else {
            self.count_untold(finding.kind, finding.resolution, 1);
        }
    }

    /// Counts findings that are not kept.
    pub fn count_untold(&mut self, kind: FindingKind, resolution: Resolution, count: u64) {
        *self.untold.entry((kind.name(), resolution)).or_default() += count;
    }

    /// Forgets where nothing was done in a range that is to be verified again.
    pub fn forget_left(&mut self, range: SectorRange) {
        let is_left = |found: &Finding| matches!(found.resolution, Resolution::Left | Resolution::Spared);
        self.list.retain(|known| !is_left(known) || known.place.intersection(range).is_empty());
    }

    /// How many places are still wrong on their members, though their right content is known, each counted once.
    pub fn unrepaired(&self) -> u64 {
        let place = |found: &Finding| found.member.as_ref().map(|on| (on.number, on.name.clone(), on.offset));
        let unrepaired = self.list.iter().filter(|found| found.resolution == Resolution::Reconstructed);
        unrepaired.map(|found| (found.place.start, place(found))).collect::<BTreeSet<_>>().len() as u64
    }

    /// How many were right when they were read again.
    pub fn transient(&self) -> u64 {
        self.list.iter().filter(|found| found.resolution == Resolution::Transient).count() as u64
    }

    fn take_mismatches(&mut self, finding: &mut Finding) {
        self.list.retain(|known| {
            if !matches!(known.kind, FindingKind::Mismatch(_)) {
                return true;
            }
            let is_here = !known.place.intersection(finding.place).is_empty();
            let is_left = matches!(finding.resolution, Resolution::Left | Resolution::Spared);
            if is_here && is_left && known.resolution.is_overwritten() {
                finding.resolution = Resolution::DiffersAgain; // nothing was done now, but what was done then is done
            }
            if is_here {
                finding.since = finding.since.min(known.since);
            }
            let is_alike =
                (known.kind, known.resolution, &known.member) == (finding.kind, finding.resolution, &finding.member);
            let is_adjacent = known.place.end == finding.place.start || known.place.start == finding.place.end;
            if is_alike && is_adjacent && known.member.is_none() {
                let (start, end) = (known.place.start.min(finding.place.start), known.place.end.max(finding.place.end));
                finding.place = SectorRange { start, end };
                return false;
            }
            !is_here
        });
    }
}

fn key_of(finding: &Finding) -> FoundKey {
    let Finding { place, kind, resolution, member, .. } = finding;
    (place.start, place.end, kind.name(), *resolution, member.clone())
}

fn names_bytes(finding: &Finding) -> usize {
    let files = match &finding.content {
        FoundContent::Extent { files, .. } => files.iter().map(String::len).sum(),
        _ => 0,
    };
    finding.member_name().map_or(0, str::len) + files
}

/// Does the new one continue the other, on one device and in one extent's addresses?
fn is_next(known: &Finding, new: &Finding) -> bool {
    let (Some(before), Some(after)) = (&known.member, &new.member) else { return false };
    let FoundContent::Extent { logical: Some(first), files, .. } = &known.content else { return false };
    let FoundContent::Extent { logical: Some(second), files: others, .. } = &new.content else { return false };
    let is_alike = (known.kind, known.resolution, before.number) == (new.kind, new.resolution, after.number);
    let ends = before.offset.map(|offset| offset + before.bytes.0);
    is_alike
        && files == others
        && ends.is_some()
        && ends == after.offset
        && first + before.bytes.0 == *second
        && known.place.end == new.place.start
}

fn join(known: &mut Finding, new: &Finding) {
    known.place.end = new.place.end;
    if let (Some(on), Some(more)) = (&mut known.member, &new.member) {
        on.bytes.0 += more.bytes.0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::kind::Judgement;
    use super::*;
    use crate::units::{Bytes, UnixSeconds};

    fn mismatch(start: u64, count: u64, resolution: Resolution) -> Finding {
        Finding {
            place: SectorRange::at(start, count),
            kind: FindingKind::Mismatch(Judgement::Undecided),
            resolution,
            member: None,
            content: FoundContent::Unknown,
            since: UnixSeconds(start),
        }
    }

    #[test]
    fn the_same_finding_counts_once() {
        let mut list = FoundList::default();
        let bad = Finding { kind: FindingKind::Unreadable(None), ..mismatch(8, 8, Resolution::Lost) };
        list.add(bad.clone());
        list.add(Finding { since: UnixSeconds(99), ..bad.clone() });
        assert_eq!(list.all(), std::slice::from_ref(&bad));
        list.add(Finding { resolution: Resolution::Repaired, ..bad });
        assert_eq!(list.all().len(), 2, "it ended otherwise");
    }

    #[test]
    fn a_mismatch_takes_the_place_of_what_was_known_there_and_joins_its_neighbours() {
        let mut list = FoundList::default();
        list.add(mismatch(0, 8, Resolution::Left));
        list.add(mismatch(8, 8, Resolution::Left));
        assert_eq!(list.all().iter().map(|found| found.place).collect::<Vec<_>>(), [SectorRange::at(0, 16)]);
        list.add(mismatch(0, 16, Resolution::MadeToAgree));
        assert_eq!((list.all().len(), list.all()[0].resolution), (1, Resolution::MadeToAgree));
        list.add(mismatch(0, 16, Resolution::Left));
        assert_eq!((list.all().len(), list.all()[0].resolution), (1, Resolution::DiffersAgain));
        let on = |name: &str| Some(FoundOn { name: Some(name.into()), ..FoundOn::default() });
        list.add(Finding { member: on("sda"), ..mismatch(16, 8, Resolution::Left) });
        list.add(Finding { member: on("sda"), ..mismatch(24, 8, Resolution::Left) });
        assert_eq!(list.all().len(), 3, "what one member explains keeps its own place");
    }

    #[test]
    fn adjacent_blocks_of_an_extent_are_one_finding() {
        let block = |inside: u64, kind| Finding {
            place: SectorRange::at(1000 + inside / 512, 8),
            kind,
            resolution: Resolution::Repaired,
            member: Some(FoundOn {
                number: Some(2),
                offset: Some((1 << 20) + inside),
                bytes: Bytes(4096),
                ..FoundOn::default()
            }),
            content: FoundContent::Extent { logical: Some((1 << 30) + inside), files: Vec::new(), files_untold: 0 },
            since: UnixSeconds(1),
        };
        let mut list = FoundList::default();
        [(0, FindingKind::Checksum), (4096, FindingKind::Checksum), (8192, FindingKind::Unreadable(None))]
            .into_iter()
            .for_each(|(inside, kind)| list.add(block(inside, kind)));
        let places: Vec<_> = list.all().iter().map(|found| (found.place.start.0, found.place.count())).collect();
        assert_eq!(places, [(1000, 16), (1016, 8)]);
        assert_eq!(list.all()[0].member.as_ref().map(|on| on.bytes), Some(Bytes(8192)));
    }

    #[test]
    fn the_list_is_bounded_and_the_counts_are_exact() {
        let mut list = FoundList::default();
        for index in 0..FOUND_MAX as u64 + 5 {
            list.add(Finding { kind: FindingKind::Corrupt, ..mismatch(index * 16, 8, Resolution::Lost) });
        }
        assert_eq!((list.all().len(), list.untold()), (FOUND_MAX, 5));
        assert_eq!(list.untold_by_kind().collect::<Vec<_>>(), [("corrupt", Resolution::Lost, 5)]);
        list.add(Finding { kind: FindingKind::Corrupt, ..mismatch(0, 8, Resolution::Lost) });
        assert_eq!((list.all().len(), list.untold()), (FOUND_MAX, 5), "what is kept is known, also in a full list");
        let named = |index: u64| Finding {
            kind: FindingKind::Checksum,
            content: FoundContent::Extent { logical: None, files: vec!["x".repeat(1 << 20)], files_untold: 0 },
            ..mismatch(index * 16, 8, Resolution::Lost)
        };
        let mut list = FoundList::default();
        (0..10).for_each(|index| list.add(named(index)));
        assert_eq!((list.all().len(), list.untold()), (8, 2), "names are bounded, too");
    }
}
