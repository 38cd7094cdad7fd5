//! Explains a block whose members do not agree: reads each member by itself, and compares.
//!
//! Writes nothing, and only decides what is known of it and what may be repaired: that there is a mismatch is md's own finding.

use super::geometry::{MdGeometry, MdLevel, PAGE_SECTORS};
use crate::buffer::PageBuffer;
use crate::target::open_read_only;
use scrubjay_core::finding::{FoundOn, Judgement};
use scrubjay_core::layout::md_parity::{MdParity, MdVerdict};
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// The members of an array, open read-only past the page cache; empty where that is not possible.
#[derive(Debug, Default)]
pub(super) struct MemberFiles(Vec<File>);

impl MemberFiles {
    /// Opens them in the order of their places: all of them or none.
    pub fn open(geometry: &MdGeometry) -> MemberFiles {
        let open = |name: &str| {
            let (file, is_direct) = open_read_only(&Path::new("/dev").join(name.replace('!', "/")), true).ok()?;
            is_direct.then_some(file)
        };
        let files: Option<Vec<File>> = geometry.members.iter().map(|member| open(&member.name)).collect();
        MemberFiles(files.unwrap_or_default())
    }

    /// Uses these files as the members.
    #[cfg(test)]
    pub fn of(files: Vec<File>) -> MemberFiles {
        MemberFiles(files)
    }

    /// Reads `bytes` bytes at each of these places: member, and first sector of its data.
    fn read(&self, geometry: &MdGeometry, places: &[(usize, u64)], bytes: usize) -> io::Result<Vec<PageBuffer>> {
        let read = |&(member, start): &(usize, u64)| {
            let mut buffer = PageBuffer::new(bytes, 0x1000);
            let at = (geometry.members[member].data_start + start) * SECTOR_BYTES;
            self.0[member].read_exact_at(buffer.as_mut_slice(), at)?;
            Ok(buffer)
        };
        places.iter().map(read).collect()
    }
}

/// A range that does not agree, and its explanation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct JudgedPlace {
    /// The range in md's positions.
    pub range: SectorRange,
    /// What is known of it.
    pub judgement: Judgement,
    /// The member that alone explains it, and where.
    pub member: Option<FoundOn>,
    /// Whether nothing speaks against what md's repair takes for right: the first copy, or the data.
    pub is_repairable: bool,
}

/// Judges the bytes of one page, of all members or copies.
type PageJudge = dyn Fn(&[&[u8]]) -> MdVerdict;
/// The verdicts, page by page.
type PageVerdicts = Vec<(SectorRange, MdVerdict)>;

/// Reads a block of all members, page by page, and returns where they do not agree and which is wrong, as far as that can be
/// known. Empty where it cannot.
pub(super) fn explain(geometry: &MdGeometry, files: &MemberFiles, block: SectorRange) -> Vec<JudgedPlace> {
    if files.0.len() != geometry.members.len() {
        return Vec::new();
    }
    // The places that md's repair takes for right.
    let trusted: Vec<usize>;
    let (places, judge): (Vec<(usize, u64)>, Box<PageJudge>) = match geometry.level {
        MdLevel::Raid1 | MdLevel::Raid10 => match copies(geometry, block) {
            Some(places) => {
                trusted = vec![0];
                (places, Box::new(judge_copies))
            }
            None => return Vec::new(),
        },
        level => {
            let parities = if level == MdLevel::Raid6 { 2 } else { 1 };
            // ALGORITHM_PARITY_N
            let layout = if level == MdLevel::Raid4 { 5 } else { geometry.layout };
            let Some(parity) = MdParity::new(geometry.members.len(), parities, layout) else { return Vec::new() };
            let row = block.start.0 / geometry.chunk;
            trusted = parity.data_places(row);
            let places = (0..geometry.members.len()).map(|place| (place, block.start.0)).collect();
            (places, Box::new(move |bytes: &[&[u8]]| parity.judge(row, bytes)))
        }
    };
    let Some(verdicts) = steady_verdicts(geometry, files, &places, block, &*judge) else { return Vec::new() };
    let mut joined: PageVerdicts = Vec::new();
    for (page, verdict) in verdicts {
        match joined.last_mut() {
            Some((range, same)) if range.end == page.start && *same == verdict => range.end = page.end,
            _ => joined.push((page, verdict)),
        }
    }
    joined.retain(|(_, verdict)| *verdict != MdVerdict::Agrees);
    let explained = joined.into_iter().map(|(range, verdict)| match verdict {
        MdVerdict::OneMember(place) => {
            let (member, start) = places[place];
            let member = &geometry.members[member];
            let sector = member.data_start + start + range.start.0 - block.start.0;
            let on = FoundOn {
                number: None,
                name: Some(member.name.clone()),
                offset: Some(sector * SECTOR_BYTES),
                bytes: range.bytes(),
            };
            let is_repairable = !trusted.contains(&place);
            JudgedPlace { range, judgement: Judgement::OneMember, member: Some(on), is_repairable }
        }
        MdVerdict::NoSingleMember => {
            JudgedPlace { range, judgement: Judgement::NoSingleMember, member: None, is_repairable: false }
        }
        _ => JudgedPlace { range, judgement: Judgement::Undecided, member: None, is_repairable: true },
    });
    explained.collect()
}

/// The places of the copies of a block: member, and first sector of its data. `None` for RAID-10 with far copies.
fn copies(geometry: &MdGeometry, block: SectorRange) -> Option<Vec<(usize, u64)>> {
    let members = geometry.members.len();
    if geometry.level == MdLevel::Raid1 {
        return Some((0..members).map(|place| (place, block.start.0)).collect());
    }
    // drivers/md/raid10.c, setup_geo: near copies in the first byte, far copies in the second.
    let (near, far) = (geometry.layout & 0xff, geometry.layout >> 8);
    let chunk = block.start.0 / geometry.chunk;
    let place = |copy: u64| {
        let index = chunk * near + copy;
        ((index % members as u64) as usize, index / members as u64 * geometry.chunk)
    };
    (far == 1 && near >= 2 && near <= members as u64).then(|| (0..near).map(place).collect())
}

/// Compares copies. If two differ, it is undecided which is right; of more, one that differs from equal others is wrong.
fn judge_copies(copies: &[&[u8]]) -> MdVerdict {
    let count_equal = |copy: &[u8]| copies.iter().filter(|other| **other == copy).count();
    let unique: Vec<usize> = (0..copies.len()).filter(|&place| count_equal(copies[place]) == 1).collect();
    match unique[..] {
        _ if count_equal(copies[0]) == copies.len() => MdVerdict::Agrees,
        [place] if copies.len() > 2 && count_equal(copies[(place + 1) % copies.len()]) == copies.len() - 1 => {
            MdVerdict::OneMember(place)
        }
        _ if copies.len() > 2 => MdVerdict::NoSingleMember,
        _ => MdVerdict::Undecided,
    }
}

/// The verdict on each page, if two readings give the same: a page that is being written is not judged.
fn steady_verdicts(
    geometry: &MdGeometry,
    files: &MemberFiles,
    places: &[(usize, u64)],
    block: SectorRange,
    judge: &PageJudge,
) -> Option<PageVerdicts> {
    let judged = || {
        let mut buffers = files.read(geometry, places, block.bytes().0 as usize).ok()?;
        let bytes: Vec<&[u8]> = buffers.iter_mut().map(|buffer| &*buffer.as_mut_slice()).collect();
        let page_bytes = (PAGE_SECTORS * SECTOR_BYTES) as usize;
        let pages = (0..block.count() / PAGE_SECTORS).map(|page| {
            let from = page as usize * page_bytes;
            let of_page: Vec<&[u8]> = bytes.iter().map(|bytes| &bytes[from..from + page_bytes]).collect();
            (SectorRange::at(block.start.0 + page * PAGE_SECTORS, PAGE_SECTORS), judge(&of_page))
        });
        Some(pages.collect::<PageVerdicts>())
    };
    let first = judged()?;
    (judged()? == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::super::geometry::MdMember;
    use super::*;

    fn geometry(level: MdLevel, layout: u64, members: usize) -> MdGeometry {
        let member = |slot| MdMember { name: format!("sd{slot}"), slot, data_start: 8 };
        MdGeometry { level, layout, chunk: 16, sectors: 64, members: (0..members).map(member).collect() }
    }

    /// Members of 72 sectors of zeros: 8, then their data.
    fn files(members: usize) -> MemberFiles {
        let file = |_| {
            let file = tempfile::tempfile().unwrap();
            file.write_all_at(&[0; 72 * 512], 0).unwrap();
            file
        };
        MemberFiles((0..members).map(file).collect())
    }

    fn spoil(files: &MemberFiles, member: usize, sector: u64, with: u8) {
        files.0[member].write_all_at(&[with; 512], (8 + sector) * 512).unwrap();
    }

    /// The member that explains a place, its first own sector, and how many.
    fn named(place: &JudgedPlace) -> Option<(&str, u64, u64)> {
        let on = place.member.as_ref()?;
        Some((on.name.as_deref()?, on.offset? / SECTOR_BYTES, on.bytes.sectors()))
    }

    #[test]
    fn copies_are_found_in_their_places_and_the_differing_one_is_named() {
        let (raid10, files_10) = (geometry(MdLevel::Raid10, 0x102, 3), files(3));
        // Chunk 1 of near copies on three members: the third's first row, and the first's second.
        let block = SectorRange::at(16, 16);
        assert_eq!(copies(&raid10, block), Some(vec![(2, 0), (0, 16)]));
        assert_eq!(explain(&raid10, &files_10, block), []);
        spoil(&files_10, 0, 25, 7);
        let found = explain(&raid10, &files_10, block);
        let undecided = JudgedPlace {
            range: SectorRange::at(24, 8),
            judgement: Judgement::Undecided,
            member: None,
            is_repairable: true,
        };
        assert_eq!(found, [undecided]);
        assert_eq!(copies(&geometry(MdLevel::Raid10, 0x201, 4), block), None, "far copies");
        let (raid1, files_1) = (geometry(MdLevel::Raid1, 0, 3), files(3));
        spoil(&files_1, 1, 3, 7);
        let found = explain(&raid1, &files_1, SectorRange::at(0, 8));
        assert_eq!((found.len(), named(&found[0]), found[0].is_repairable), (1, Some(("sd1", 8, 8)), true));
        spoil(&files_1, 2, 3, 9);
        let found = explain(&raid1, &files_1, SectorRange::at(0, 8)).remove(0);
        let (judgement, is_repairable) = (found.judgement, found.is_repairable);
        assert_eq!((judgement, found.member, is_repairable), (Judgement::NoSingleMember, None, false));
        // The first copy is the one that md's repair would spread.
        let (raid1, files_1) = (geometry(MdLevel::Raid1, 0, 3), files(3));
        spoil(&files_1, 0, 3, 7);
        let found = explain(&raid1, &files_1, SectorRange::at(0, 8)).remove(0);
        assert_eq!((named(&found), found.is_repairable), (Some(("sd0", 8, 8)), false));
    }

    #[test]
    fn the_wrong_member_of_a_raid_6_is_named_with_its_own_sectors() {
        let (raid6, files) = (geometry(MdLevel::Raid6, 2, 5), files(5));
        spoil(&files, 2, 16, 1);
        spoil(&files, 2, 31, 200);
        let found = explain(&raid6, &files, SectorRange::at(16, 16));
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].range, named(&found[0])), (SectorRange::at(16, 16), Some(("sd2", 24, 16))));
        // Row 1 of five members, left-symmetric: P on the fourth, Q on the last; md's repair writes only these.
        assert!(!found[0].is_repairable);
        let files = self::files(5);
        spoil(&files, 3, 16, 1);
        assert!(explain(&raid6, &files, SectorRange::at(16, 16))[0].is_repairable);
    }
}
