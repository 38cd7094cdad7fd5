//! What a pass found, in words: unreadable sectors, rows of volumes, places where md's members do not agree, extents of a btrfs.

use crate::sentence::{Count, Said, joined, sentences};
use scrubjay_core::cause::Cause;
use scrubjay_core::finding::{Finding, FindingKind, FoundChunk, FoundContent, Judgement, Resolution};
use scrubjay_core::quantity::show_count;
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange};
use std::collections::BTreeMap;

/// Findings of one member that are listed one by one, at most.
const LISTED_MAX: usize = 3;
/// Places of a member that are named in one line, at most.
const PLACES_SHOWN: usize = 8;

sentences! {
    pub(crate) FoundWords: "What a pass found" {
        Unreadable { sectors: Count = Count(8, "sector"), start: u64 = 2048u64, place: String = "1 MiB", cause: String = "medium error" } =>
            "unreadable: {sectors} from {start} on (at {place}): {cause}",
        NotCompared { sectors: Count = Count(8, "sector"), start: u64 = 2048u64, place: String = "1 MiB", cause: String = "left out" } =>
            "not compared: {sectors} from {start} on (at {place}): {cause}",
        LostStripes { stripes: Count = Count(3, "stripe"), first: u64 = 81_920u64 } => "lost: {stripes} from {first} on",
        Mismatch { sectors: Count = Count(8, "sector"), start: u64 = 2048u64, place: String = "1 MiB", what: Said = MdWords::NotNarrowed } =>
            "MISMATCH: {sectors} from {start} on (at {place}): {what}",
        MadeToAgree { sectors: Count = Count(8, "sector"), start: u64 = 2048u64, place: String = "1 MiB", what: Said = MdWords::Parity } =>
            "made to agree: {sectors} from {start} on (at {place}): {what}",
        Rewritten { sectors: Count = Count(8, "sector"), member: String = "sdc", places: Said = FoundWords::Nowhere } =>
            "repaired: md rewrote {sectors} of {member} from the others: it could not read all of them{places}",
        Nowhere => "",
        Places { places: String = "128 to 135, near 4096" } => " (its sectors {places})",
        Row { kind: String = "corrupt", member: usize = 2usize, offset: u64 = 4096u64, place: Said = FoundWords::InStripe { stripe: 5, chunk: "D1".into() }, end: String = "repaired" } =>
            "{kind}: member {member} at byte {offset}, {place}: {end}",
        RowOn { kind: String = "corrupt", member: usize = 2usize, path: String = "/dev/sdc", offset: u64 = 4096u64, place: Said = FoundWords::InMetadata { block: "map 3".into() }, end: String = "repaired" } =>
            "{kind}: member {member} ({path}) at byte {offset}, {place}: {end}",
        MeantFor { kind: String = "misdirected-write", member: usize = 1usize, offset: u64 = 8192u64 } =>
            "{kind}, meant for member {member} at byte {offset}",
        InStripe { stripe: u64 = 5u64, chunk: String = "D1" } => "stripe {stripe} {chunk}",
        InMetadata { block: String = "superblock" } => "{block}",
        Rows { member: usize = 2usize, rows: String = "1,024", from: String = "4 KiB", to: String = "1 GiB", kinds: String = "corrupt", ends: String = "repaired" } =>
            "member {member}: {rows} rows wrong, from {from} to {to}: {kinds}: {ends}",
        RowsOn { member: usize = 2usize, path: String = "/dev/sdc", rows: String = "1,024", from: String = "4 KiB", to: String = "1 GiB", kinds: String = "corrupt", ends: String = "repaired" } =>
            "member {member} ({path}): {rows} rows wrong, from {from} to {to}: {kinds}: {ends}",
    }
}

sentences! {
    pub(crate) MdWords: "Where the members of an md array do not agree" {
        Copies =>
            "copies differ: may be harmless where swap or a memory-mapped file was being written (nothing reads that again), else one \
             of them is wrong, and md cannot tell which",
        Parity => "the parity does not fit the data: one of the members is wrong, and one parity cannot tell which",
        Parities => "the parities do not fit the data: at least one of the members is wrong",
        OneMember { member: String = "sdc", sector: u64 = 2048u64, sectors: Count = Count(8, "sector"), why: Said = MdWords::OthersAlike } =>
            "; if it is one alone, it is {member} (from its sector {sector} on, {sectors}): {why}",
        OthersAlike => "all the others are the same",
        ExplainsAll => "every byte that does not fit is explained by this member, and by no other",
        NoSingleMember => "; no single member explains it",
        MadeToAgree => "; md has made them agree",
        StillDiffers =>
            "; md's repair ran there, and may have overwritten one side, but they still differ: it is being written, or a member does \
             not keep what it is given",
        DiffersAgain => "; md's repair ran there before, and may have overwritten one side",
        Unchecked => "; md's repair ran there, and may have overwritten one side; what came of it was not seen",
        SparedUncompared => "; left as it is: its members could not be compared here, or agreed when they were",
        Spared => "; left as it is: md's repair would not make it right",
        NotNarrowed => "found by an earlier run of this pass, and not narrowed down",
    }
}

sentences! {
    pub(crate) BtrfsWords: "What is wrong with extents of a btrfs" {
        Extent { end: Said = BtrfsWords::Repaired, size: String = "4 KiB", byte: u64 = 1_048_576u64, device: String = "/dev/sdc", defect: Said = BtrfsWords::Checksum, files: String = "photos/2019.tar" } =>
            "{end}: {size} at byte {byte} of {device} {defect}: {files}",
        OneExtent { errors: String = "read=1 super=0 verify=0 csum=0", ends: String = "corrected=1 uncorrectable=0 unverified=0" } =>
            "btrfs's own scrub, of one extent and the superblocks, counted: {errors}; {ends}",
        Extents { count: String = "3", errors: String = "read=1 super=0 verify=0 csum=0", ends: String = "corrected=1 uncorrectable=0 unverified=0" } =>
            "btrfs's own scrub, of {count} extents and the superblocks, counted: {errors}; {ends}",
        LostEarlier { size: String = "4 KiB", byte: u64 = 1_048_576u64, device: String = "/dev/sdc" } =>
            "LOST, found by an earlier run: {size} at byte {byte} of {device}",
        Repaired => "repaired",
        Transient => "right when read again",
        Lost => "LOST",
        NotRepaired => "not repaired",
        Unreadable => "cannot be read",
        Checksum => "does not fit its checksum",
        Identity => "is another or an old tree block",
        Superblock => "is wrong",
        Other => "holds something wrong",
        NoFile => "no file uses it now",
        FilesAndMore { files: String = "a, b", more: String = "3" } => "{files} and {more} more",
    }
}

/// Sectors that could not be read; or that md's check left out.
pub fn unread(range: SectorRange, cause: Cause) -> Said {
    let (sectors, start) = (Count(range.count(), "sector"), range.start.0);
    let (place, why) = (Bytes(range.start.byte()).to_string(), cause.to_string());
    match cause {
        Cause::Skipped => FoundWords::NotCompared { sectors, start, place, cause: why }.into(),
        _ => FoundWords::Unreadable { sectors, start, place, cause: why }.into(),
    }
}

/// Lost stripes of a volume, from this one on.
pub fn lost_stripes_at(stripes: u64, first: u64) -> Said {
    FoundWords::LostStripes { stripes: Count(stripes, "stripe"), first }.into()
}

/// What members of an md array hold: of its level, what a mismatch means there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdContent {
    /// Copies of the same data.
    Copies,
    /// Data and one parity.
    Parity,
    /// Data and two parities.
    Parities,
}

/// A place where members do not, or did not, agree: what it means, what is known of it, and what was done; `None`: found by an earlier run.
pub fn disagreement(content: MdContent, found: Option<&Finding>) -> Said {
    let Some(found) = found else { return MdWords::NotNarrowed.into() };
    let meaning = match content {
        MdContent::Copies => MdWords::Copies,
        MdContent::Parity => MdWords::Parity,
        MdContent::Parities => MdWords::Parities,
    };
    let judgement = if let FindingKind::Mismatch(judgement) = found.kind { judgement } else { Judgement::NotCompared };
    let known = match (judgement, &found.member) {
        (Judgement::OneMember, Some(on)) => Some(MdWords::OneMember {
            member: on.name.clone().unwrap_or_default(),
            sector: on.offset.unwrap_or(0) / SECTOR_BYTES,
            sectors: Count(on.bytes.sectors(), "sector"),
            why: if content == MdContent::Copies { MdWords::OthersAlike } else { MdWords::ExplainsAll }.into(),
        }),
        (Judgement::NoSingleMember, _) => Some(MdWords::NoSingleMember),
        _ => None,
    };
    let done = match found.resolution {
        Resolution::MadeToAgree => Some(MdWords::MadeToAgree),
        Resolution::StillDiffers => Some(MdWords::StillDiffers),
        Resolution::DiffersAgain => Some(MdWords::DiffersAgain),
        Resolution::Unchecked => Some(MdWords::Unchecked),
        Resolution::Spared if judgement == Judgement::NotCompared => Some(MdWords::SparedUncompared),
        Resolution::Spared => Some(MdWords::Spared),
        _ => None,
    };
    joined([Some(meaning), known, done].into_iter().flatten().map(Said::from), "")
}

/// Sectors where members of an md array do not agree, and what is known of it.
pub fn mismatch(range: SectorRange, what: Said) -> Said {
    let (sectors, start) = (Count(range.count(), "sector"), range.start.0);
    FoundWords::Mismatch { sectors, start, place: Bytes(range.start.byte()).to_string(), what }.into()
}

/// Sectors where md made its members agree.
pub fn made_to_agree(range: SectorRange, what: Said) -> Said {
    let (sectors, start) = (Count(range.count(), "sector"), range.start.0);
    FoundWords::MadeToAgree { sectors, start, place: Bytes(range.start.byte()).to_string(), what }.into()
}

/// Sectors of a member that md rewrote, and where that was, as far as the kernel's log shows.
pub fn rewritten(sectors: u64, member: &str, places: impl Iterator<Item = SectorRange>) -> Said {
    let words = |range: SectorRange| match range.count() {
        1 => format!("near {}", range.start),
        count => format!("{} to {}", range.start, range.start.0 + count - 1),
    };
    let mut places: Vec<String> = places.take(PLACES_SHOWN + 1).map(words).collect();
    if places.len() > PLACES_SHOWN {
        places[PLACES_SHOWN] = "...".to_owned();
    }
    let places = match places.is_empty() {
        true => FoundWords::Nowhere,
        false => FoundWords::Places { places: places.join(", ") },
    };
    FoundWords::Rewritten { sectors: Count(sectors, "sector"), member: member.to_owned(), places: places.into() }.into()
}

/// What lies at a finding: `stripe 5 D1`, `map 3`; empty: not known.
pub fn place_of(content: &FoundContent) -> Said {
    match content {
        FoundContent::Stripe { stripe, chunk } => {
            FoundWords::InStripe { stripe: *stripe, chunk: FoundChunk::to_string(chunk) }.into()
        }
        FoundContent::Metadata(block) => FoundWords::InMetadata { block: block.clone() }.into(),
        FoundContent::Unknown | FoundContent::Extent { .. } => FoundWords::Nowhere.into(),
    }
}

/// A finding of a volume, in one line.
pub fn row(finding: &Finding) -> Said {
    let kind = match finding.kind {
        FindingKind::MisdirectedWrite { member, offset } => {
            let kind = finding.kind.name().to_owned();
            FoundWords::MeantFor { kind, member: member.get(), offset: offset.get() }.to_string()
        }
        kind => kind.name().to_owned(),
    };
    let (member, offset) = (finding.member_number(), finding.member_offset());
    let (place, end) = (place_of(&finding.content), finding.resolution.name().to_owned());
    match finding.member_name() {
        Some(path) => FoundWords::RowOn { kind, member, path: path.to_owned(), offset, place, end }.into(),
        None => FoundWords::Row { kind, member, offset, place, end }.into(),
    }
}

/// Findings of a volume in lines: by member, in the order of their places; many are summarised by their number, their kinds and the
/// bytes between which they are.
pub fn rows(findings: &[Finding]) -> Vec<Said> {
    let mut members: BTreeMap<usize, Vec<&Finding>> = BTreeMap::new();
    for finding in findings {
        members.entry(finding.member_number()).or_default().push(finding);
    }
    let mut lines = Vec::new();
    for (member, mut found) in members {
        found.sort_by_key(|finding| finding.member_offset());
        let [first, .., last] = &found[..] else {
            lines.extend(found.into_iter().map(row));
            continue;
        };
        if found.len() <= LISTED_MAX {
            lines.extend(found.into_iter().map(row));
            continue;
        }
        let kinds = counts(found.iter().map(|found| found.kind.name()));
        let ends = counts(found.iter().map(|found| found.resolution.name()));
        let rows = show_count(found.len() as u64);
        let (from, to) = (Bytes(first.member_offset()).to_string(), Bytes(last.member_offset()).to_string());
        lines.push(match first.member_name().map(str::to_owned) {
            Some(path) => FoundWords::RowsOn { member, path, rows, from, to, kinds, ends }.into(),
            None => FoundWords::Rows { member, rows, from, to, kinds, ends }.into(),
        });
    }
    lines
}

/// Counts of words, such as `3 corrupt, 2 torn-write`; if all are alike, the word alone.
fn counts<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut counts: BTreeMap<&str, u64> = BTreeMap::new();
    for word in words {
        *counts.entry(word).or_default() += 1;
    }
    match counts.len() {
        1 => counts.into_keys().next().unwrap_or_default().to_owned(),
        _ => counts.iter().map(|(word, count)| format!("{} {word}", show_count(*count))).collect::<Vec<_>>().join(", "),
    }
}

/// A finding of a btrfs on this device, in one line.
pub fn extent(found: &Finding, device: &str) -> Said {
    let end = match found.resolution {
        Resolution::Repaired => BtrfsWords::Repaired,
        Resolution::Transient => BtrfsWords::Transient,
        Resolution::Lost => BtrfsWords::Lost,
        _ => BtrfsWords::NotRepaired,
    };
    let defect = match found.kind {
        FindingKind::Unreadable(_) => BtrfsWords::Unreadable,
        FindingKind::Checksum => BtrfsWords::Checksum,
        FindingKind::Identity => BtrfsWords::Identity,
        FindingKind::Superblock => BtrfsWords::Superblock,
        _ => BtrfsWords::Other,
    };
    let files = match &found.content {
        FoundContent::Extent { files, files_untold: 0, .. } if files.is_empty() => BtrfsWords::NoFile.to_string(),
        FoundContent::Extent { files, files_untold: 0, .. } => files.join(", "),
        FoundContent::Extent { files, files_untold, .. } => {
            BtrfsWords::FilesAndMore { files: files.join(", "), more: show_count(*files_untold) }.to_string()
        }
        _ => String::new(),
    };
    let size = found.member.as_ref().map(|on| on.bytes).unwrap_or_default().to_string();
    let (byte, device) = (found.member_offset(), device.to_owned());
    BtrfsWords::Extent { end: end.into(), size, byte, device, defect: defect.into(), files }.into()
}

/// What btrfs's own scrub of so many extents counted, under btrfs's own names.
pub fn btrfs_counts(extents: u64, errors: String, ends: String) -> Said {
    match extents {
        1 => BtrfsWords::OneExtent { errors, ends }.into(),
        _ => BtrfsWords::Extents { count: show_count(extents), errors, ends }.into(),
    }
}

/// Lost bytes of a btrfs that an earlier run of the pass found.
pub fn lost_earlier(size: Bytes, byte: u64, device: &str) -> Said {
    BtrfsWords::LostEarlier { size: size.to_string(), byte, device: device.to_owned() }.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::finding::FoundOn;
    use scrubjay_core::units::UnixSeconds;

    #[test]
    fn many_findings_of_a_member_share_a_line_and_few_are_listed_in_order() {
        let finding = |member: u64, offset: u64, kind| Finding {
            place: SectorRange::at(0, 8),
            kind,
            resolution: Resolution::Repaired,
            member: Some(FoundOn {
                number: Some(member),
                name: Some(format!("{member}.img")),
                offset: Some(offset),
                bytes: Bytes(0),
            }),
            content: FoundContent::Stripe { stripe: offset >> 16, chunk: FoundChunk::Data(0) },
            since: UnixSeconds(1),
        };
        let many = [5, 3, 1, 2].map(|at| finding(1, at << 20, FindingKind::Corrupt));
        let torn = finding(1, 4 << 20, FindingKind::TornWrite);
        let few = [7, 6].map(|at| finding(0, at << 20, FindingKind::Corrupt));
        let lines = rows(&many.into_iter().chain([torn]).chain(few).collect::<Vec<_>>());
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert!(lines[0].contains("at byte 6291456") && lines[1].contains("at byte 7340032"), "{lines:?}");
        let expected = "member 1 (1.img): 5 rows wrong, from 1 MiB to 5 MiB: 4 corrupt, 1 torn-write: repaired";
        assert_eq!(lines[2].as_str(), expected);
    }
}
