//! What lies at a sector of a member of an md array: pure arithmetic from member addresses to array addresses.
//!
//! (Linux, drivers/md: `raid5_compute_sector` in raid5.c, `__raid10_find_phys` and `raid10_find_virt` in raid10.c,
//! `map_sector` in raid0.c for members of one size, `which_dev` in md-linear.c.)

use super::md_parity::MdParity;
use crate::units::SectorRange;

/// Members of one array, at most: twice what md's first superblock could hold; no kernel takes more than 384.
const DISKS_MAX: usize = 1024;
/// Pieces that one range is cut into, at most.
const PIECES_MAX: usize = 4096;

/// What a sector of a member holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdRole {
    /// Data that no other member holds; only parities can rebuild them.
    Data,
    /// The first parity.
    P,
    /// The second parity.
    Q,
    /// One of several copies.
    Mirror,
}

impl MdRole {
    /// The role as one word.
    pub const fn word(self) -> &'static str {
        match self {
            MdRole::Data => "data",
            MdRole::P => "P",
            MdRole::Q => "Q",
            MdRole::Mirror => "mirror",
        }
    }
}

/// A run of a member's sectors that lie in one chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdSpot {
    /// The sectors, relative to the member's data.
    pub range: SectorRange,
    /// The number of the stripe; `None` for mirrors without chunks and for linear arrays.
    pub stripe: Option<u64>,
    /// What the sectors hold.
    pub role: MdRole,
    /// The first sector of the array that lies there; `None` for a parity.
    pub array: Option<u64>,
    /// The other places with the same content: member, first sector in its data.
    pub copies: Vec<(usize, u64)>,
}

/// Why a member's sectors are not mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdUnmapped {
    /// The level is not supported.
    Level,
    /// The level's layout is not supported.
    Layout,
    /// The array stripes over members of different sizes.
    Uneven,
    /// The numbers contradict each other.
    Nonsense,
}

impl MdUnmapped {
    /// The reason in words that continue "is not followed: ".
    pub const fn words(self) -> &'static str {
        match self {
            MdUnmapped::Level => "its level is none whose places are known here",
            MdUnmapped::Layout => "its layout is none whose places are known here",
            MdUnmapped::Uneven => "it stripes over members of different sizes",
            MdUnmapped::Nonsense => "what md says of its shape makes no sense",
        }
    }
}

/// The address map of one md array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdMap {
    kind: MdPlacing,
    disks: usize,
    /// Sectors of a chunk; zero for mirrors without chunks and for linear arrays.
    chunk: u64,
    /// Sectors of each member's data that are used, by member.
    used: Vec<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MdPlacing {
    Linear,
    Stripes,
    Mirror,
    Parity { parity: MdParity, parities: usize, is_in_order: bool },
    Raid10 { near: u64, far: u64, is_offset: bool, set: u64, stride: u64 },
}

/// The description of an array in `/sys`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdWords<'a> {
    /// `md/level`, such as `raid6`.
    pub level: &'a str,
    /// `md/layout`.
    pub layout: u64,
    /// `md/chunk_size`, in sectors.
    pub chunk: u64,
    /// `md/component_size`, in sectors: the part of each member that is used.
    pub component: u64,
    /// `md/dev-*/size` of all members in their order, in sectors.
    pub sizes: &'a [u64],
    /// The size of the array, in sectors.
    pub array: u64,
}

impl MdMap {
    /// The map of the array that `words` describe.
    ///
    /// # Errors
    /// [`MdUnmapped`], when the places are not known for certain.
    pub fn new(words: &MdWords<'_>) -> Result<MdMap, MdUnmapped> {
        let disks = words.sizes.len();
        if disks == 0 || disks > DISKS_MAX {
            return Err(MdUnmapped::Nonsense);
        }
        let equal_sizes = vec![words.component; disks];
        let (kind, used) = match words.level {
            "linear" => (MdPlacing::Linear, linear(words)?),
            "raid0" => (MdPlacing::Stripes, stripes(words)?),
            // The size of a mirror is known to the sector, that of its members only in KiB.
            "raid1" => (MdPlacing::Mirror, vec![words.array; disks]),
            // 5 is ALGORITHM_PARITY_N.
            "raid4" => (parity(disks, 1, 5)?, equal_sizes),
            "raid5" => (parity(disks, 1, words.layout)?, equal_sizes),
            "raid6" => (parity(disks, 2, words.layout)?, equal_sizes),
            "raid10" => (raid10(words)?, equal_sizes),
            _ => return Err(MdUnmapped::Level),
        };
        let has_chunks = !matches!(kind, MdPlacing::Linear | MdPlacing::Mirror);
        let is_sound = !has_chunks || (words.chunk > 0 && words.component < 1 << 56);
        let chunk = if has_chunks { words.chunk } else { 0 };
        if is_sound { Ok(MdMap { kind, disks, chunk, used }) } else { Err(MdUnmapped::Nonsense) }
    }

    /// The number of parities per stripe, and so of chunks that any stripe may lose; zero without parities (mirrors too).
    pub fn parities(&self) -> usize {
        match self.kind {
            MdPlacing::Parity { parities, .. } => parities,
            _ => 0,
        }
    }

    /// Sectors of a chunk; `None` if the array has no chunks.
    pub fn chunk(&self) -> Option<u64> {
        (self.chunk > 0).then_some(self.chunk)
    }

    /// Sectors of a member's data that the array uses.
    ///
    /// # Panics
    /// When there is no such member.
    pub fn used(&self, member: usize) -> u64 {
        self.used[member]
    }

    /// The content of these sectors of a member's data, chunk by chunk. Sectors beyond the used data, those whose
    /// content is not certain, and all behind the first 4096 pieces are left out.
    ///
    /// # Panics
    /// When there is no such member.
    pub fn spots(&self, member: usize, range: SectorRange) -> Vec<MdSpot> {
        let range = range.intersection(SectorRange::new(0, self.used[member]));
        let mut spots = Vec::new();
        let mut at = range.start.0;
        while at < range.end.0 && spots.len() < PIECES_MAX {
            let end = match self.chunk {
                0 => range.end.0,
                chunk => ((at / chunk + 1) * chunk).min(range.end.0),
            };
            spots.extend(self.spot(member, SectorRange::new(at, end)));
            at = end;
        }
        spots
    }

    /// Whether this spot of `member` can be rebuilt without the `missing` members, if all others can be read.
    pub fn survives(&self, member: usize, spot: &MdSpot, missing: &[usize]) -> bool {
        let missing_others = missing.iter().filter(|&&place| place != member).count();
        match self.kind {
            MdPlacing::Linear | MdPlacing::Stripes => false,
            MdPlacing::Parity { parities, .. } => missing_others < parities,
            _ => spot.copies.iter().any(|(place, _)| !missing.contains(place)),
        }
    }

    /// The sectors of the array that are lost with a spot that does not survive: its own data, and data of missing
    /// members that need the spot to be rebuilt.
    pub fn lost_with(&self, member: usize, spot: &MdSpot, missing: &[usize]) -> Vec<SectorRange> {
        let count = spot.range.count();
        let run = |array: u64| SectorRange::new(array, array.saturating_add(count));
        let own_range = spot.array.map(run);
        let missing_members =
            missing.iter().filter(|&&place| place != member && matches!(self.kind, MdPlacing::Parity { .. }));
        let dependent = missing_members.filter_map(|&place| self.spot(place, spot.range)?.array);
        own_range.into_iter().chain(dependent.map(run)).collect()
    }

    /// The spot of a range that lies in one chunk.
    fn spot(&self, member: usize, range: SectorRange) -> Option<MdSpot> {
        let at = range.start.0;
        let spot = |stripe, role, array, copies| Some(MdSpot { range, stripe, role, array, copies });
        match self.kind {
            MdPlacing::Linear => {
                let before: u64 = self.used[..member].iter().sum();
                spot(None, MdRole::Data, Some(before + at), Vec::new())
            }
            MdPlacing::Mirror => {
                let copies = (0..self.disks).filter(|&place| place != member).map(|place| (place, at)).collect();
                spot(None, MdRole::Mirror, Some(at), copies)
            }
            MdPlacing::Stripes => {
                let row = at / self.chunk;
                let array = self.sector_of(row.checked_mul(self.disks as u64)?.checked_add(member as u64)?, at)?;
                spot(Some(row), MdRole::Data, Some(array), Vec::new())
            }
            MdPlacing::Parity { parity, parities, is_in_order } => {
                let row = at / self.chunk;
                let (p, q) = parity.places(row);
                if member == p || Some(member) == q {
                    let role = if member == p { MdRole::P } else { MdRole::Q };
                    return spot(Some(row), role, None, Vec::new());
                }
                let mut places = parity.data_places(row);
                if is_in_order {
                    places.sort_unstable();
                }
                let index = places.iter().position(|&place| place == member)? as u64;
                let data = (self.disks - parities) as u64;
                let array = self.sector_of(row.checked_mul(data)?.checked_add(index)?, at)?;
                spot(Some(row), MdRole::Data, Some(array), Vec::new())
            }
            MdPlacing::Raid10 { near, .. } => {
                let number = self.chunk_at(member as u64, at)?;
                let places = self.places(number, at % self.chunk)?;
                // Both directions of the map must agree, else the place is not certain.
                let own_index = places.iter().position(|place| *place == (member, at))?;
                let copies: Vec<_> = places.into_iter().enumerate().filter(|(index, _)| *index != own_index).collect();
                let role = if copies.is_empty() { MdRole::Data } else { MdRole::Mirror };
                let copies = copies.into_iter().map(|(_, place)| place).collect();
                let stripe = number.checked_mul(near)? / self.disks as u64;
                spot(Some(stripe), role, Some(self.sector_of(number, at)?), copies)
            }
        }
    }

    fn sector_of(&self, chunk: u64, at: u64) -> Option<u64> {
        chunk.checked_mul(self.chunk)?.checked_add(at % self.chunk)
    }

    /// The number of the array's chunk that lies on `member` at sector `at`: the kernel's `raid10_find_virt`.
    fn chunk_at(&self, member: u64, at: u64) -> Option<u64> {
        let MdPlacing::Raid10 { near, far, is_offset, set, stride } = self.kind else { return None };
        let disks = self.disks as u64;
        let set_start = member / set * set;
        let (mut member, mut row) = (member, at / self.chunk);
        let turns = if is_offset {
            let turns = row % far;
            row /= far;
            turns
        } else {
            let turns = at / stride;
            row -= turns * (stride / self.chunk);
            turns
        };
        if turns >= far {
            return None;
        }
        for _ in 0..turns {
            member = if member < near + set_start { member + set - near } else { member - near };
        }
        Some(row.checked_mul(disks)?.checked_add(member)? / near)
    }

    /// The places of all copies of a chunk of the array: the kernel's `__raid10_find_phys`.
    fn places(&self, chunk: u64, within: u64) -> Option<Vec<(usize, u64)>> {
        let MdPlacing::Raid10 { near, far, is_offset, set, stride } = self.kind else { return None };
        let disks = self.disks as u64;
        let first = chunk.checked_mul(near)?;
        let (mut row, mut disk) = (first / disks, first % disks);
        if is_offset {
            row = row.checked_mul(far)?;
        }
        let step = if is_offset { self.chunk } else { stride };
        let mut places = Vec::new();
        for _ in 0..near {
            let (mut at, mut place) = (row.checked_mul(self.chunk)?.checked_add(within)?, disk);
            places.push((place as usize, at));
            for _ in 1..far {
                place = (place + near) % set + place / set * set;
                at = at.checked_add(step)?;
                places.push((place as usize, at));
            }
            disk += 1;
            if disk == disks {
                (disk, row) = (0, row + 1);
            }
        }
        Some(places)
    }
}

fn parity(disks: usize, parities: usize, layout: u64) -> Result<MdPlacing, MdUnmapped> {
    let parity = MdParity::new(disks, parities, layout).ok_or(MdUnmapped::Layout)?;
    // In the symmetric layouts (2 and 3) data begin behind the parities; in the others they are in the order of the disks.
    Ok(MdPlacing::Parity { parity, parities, is_in_order: !matches!(layout, 2 | 3) })
}

fn stripes(words: &MdWords<'_>) -> Result<Vec<u64>, MdUnmapped> {
    let chunk = Some(words.chunk).filter(|chunk| *chunk > 0).ok_or(MdUnmapped::Nonsense)?;
    let whole: Vec<u64> = words.sizes.iter().map(|size| size / chunk * chunk).collect();
    if whole.iter().any(|size| *size != whole[0]) {
        return Err(MdUnmapped::Uneven);
    }
    let sum = whole[0].checked_mul(whole.len() as u64);
    if sum == Some(words.array) { Ok(whole) } else { Err(MdUnmapped::Nonsense) }
}

fn linear(words: &MdWords<'_>) -> Result<Vec<u64>, MdUnmapped> {
    let whole = |size: &u64| size - size.checked_rem(words.chunk).unwrap_or(0);
    let used: Vec<u64> = words.sizes.iter().map(whole).collect();
    let sum = used.iter().try_fold(0_u64, |sum, size| sum.checked_add(*size));
    if sum == Some(words.array) { Ok(used) } else { Err(MdUnmapped::Nonsense) }
}

/// The kernel's `setup_geo` and `calc_sectors`.
fn raid10(words: &MdWords<'_>) -> Result<MdPlacing, MdUnmapped> {
    let disks = words.sizes.len() as u64;
    let (near, far) = (words.layout & 0xff, words.layout >> 8 & 0xff);
    let is_offset = words.layout >> 16 & 1 == 1;
    let set = match words.layout >> 17 {
        0 => disks,
        1 if far > 0 => disks / far,
        _ => return Err(MdUnmapped::Layout),
    };
    let is_known = near >= 1 && far >= 1 && near * far <= disks && near <= set && set >= 1 && disks.is_multiple_of(set);
    if !is_known {
        return Err(MdUnmapped::Layout);
    }
    if words.chunk == 0 {
        return Err(MdUnmapped::Nonsense);
    }
    let stride = words.component / words.chunk / far * words.chunk;
    if stride == 0 {
        return Err(MdUnmapped::Nonsense);
    }
    Ok(MdPlacing::Raid10 { near, far, is_offset, set, stride })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const CHUNK: u64 = 16;

    fn words<'a>(level: &'a str, layout: u64, sizes: &'a [u64], array: u64) -> MdWords<'a> {
        MdWords { level, layout, chunk: CHUNK, component: sizes.first().copied().unwrap_or(0), sizes, array }
    }

    fn map(level: &str, layout: u64, disks: usize, rows: u64, array: u64) -> Result<MdMap, MdUnmapped> {
        MdMap::new(&words(level, layout, &vec![rows * CHUNK; disks], array))
    }

    /// The place of data chunk `index` of row `row`: a transcription of the kernel's raid5_compute_sector.
    fn kernel(algorithm: u64, parities: u64, disks: u64, row: u64, index: u64) -> u64 {
        let turn = row % disks;
        match (parities, algorithm) {
            (1, 0 | 1) => {
                let pd = if algorithm == 0 { disks - 1 - turn } else { turn };
                if index >= pd { index + 1 } else { index }
            }
            (1, 2 | 3) => {
                let pd = if algorithm == 2 { disks - 1 - turn } else { turn };
                (pd + 1 + index) % disks
            }
            (1, 4) => index + 1,
            (2, 0 | 1) => {
                let pd = if algorithm == 0 { disks - 1 - turn } else { turn };
                match pd {
                    pd if pd == disks - 1 => index + 1,
                    pd if index >= pd => index + 2,
                    _ => index,
                }
            }
            (2, 2 | 3) => {
                let pd = if algorithm == 2 { disks - 1 - turn } else { turn };
                (pd + 2 + index) % disks
            }
            (2, 4) => index + 2,
            _ => index,
        }
    }

    #[test]
    fn parities_and_data_lie_where_the_kernel_puts_them() {
        for (level, parities) in [("raid5", 1_u64), ("raid6", 2)] {
            for layout in 0..6 {
                for disks in 4..9_u64 {
                    let map = map(level, layout, disks as usize, 40, 0).unwrap();
                    let data = disks - parities;
                    for row in 0..40 {
                        for index in 0..data {
                            let member = kernel(layout, parities, disks, row, index) as usize;
                            let spots = map.spots(member, SectorRange::at(row * CHUNK + 3, 5));
                            let [spot] = &spots[..] else { panic!("one chunk") };
                            assert_eq!((spot.role, spot.stripe), (MdRole::Data, Some(row)), "{level} {layout} {disks}");
                            assert_eq!(spot.array, Some((row * data + index) * CHUNK + 3), "{level} {layout} {disks}");
                        }
                        let roles = (0..disks as usize)
                            .map(|member| map.spots(member, SectorRange::at(row * CHUNK, 1))[0].role);
                        let parity = roles.filter(|role| *role != MdRole::Data).count() as u64;
                        assert_eq!(parity, parities, "{level} {layout}");
                    }
                }
            }
        }
        let raid4 = map("raid4", 0, 4, 9, 0).unwrap();
        assert_eq!(raid4.spots(3, SectorRange::at(0, 1))[0].role, MdRole::P);
        assert_eq!(raid4.spots(1, SectorRange::at(CHUNK, 1))[0].array, Some(4 * CHUNK));
    }

    #[test]
    fn a_range_is_cut_at_chunks_and_ends_with_the_data() {
        let raid5 = map("raid5", 2, 3, 4, 0).unwrap();
        let spots = raid5.spots(0, SectorRange::new(10, 1000));
        let ranges: Vec<_> = spots.iter().map(|spot| (spot.range.start.0, spot.range.end.0)).collect();
        assert_eq!(ranges, [(10, 16), (16, 32), (32, 48), (48, 64)]);
        assert_eq!(raid5.spots(0, SectorRange::new(64, 65)), [], "behind the data");
        assert_eq!((raid5.used(2), raid5.chunk(), raid5.parities()), (64, Some(16), 1));
    }

    /// Each chunk of the array is found on as many places as it has copies, and on no others.
    fn is_covered(map: &MdMap, disks: usize, rows: u64, copies: usize) {
        let mut seen = BTreeMap::<u64, usize>::new();
        for member in 0..disks {
            for row in 0..rows {
                for spot in map.spots(member, SectorRange::at(row * CHUNK, CHUNK)) {
                    assert_eq!(spot.copies.len() + 1, copies);
                    *seen.entry(spot.array.unwrap()).or_default() += 1;
                    for (place, at) in &spot.copies {
                        let other = map.spots(*place, SectorRange::at(*at, CHUNK));
                        assert_eq!(other.first().and_then(|other| other.array), spot.array, "{map:?}");
                    }
                }
            }
        }
        let chunks = rows * disks as u64 / copies as u64;
        let complete = seen.iter().filter(|(_, count)| **count == copies).count() as u64;
        assert!(complete + disks as u64 >= chunks && seen.values().all(|count| *count <= copies), "{map:?}");
        assert!(seen.keys().enumerate().all(|(index, at)| *at == index as u64 * CHUNK) || complete + 8 >= chunks);
    }

    #[test]
    fn copies_of_a_raid_10_are_found_from_each_other() {
        for (layout, copies) in [
            (0x102_u64, 2),
            (0x103, 3),
            (0x201, 2),
            (0x301, 3),
            (0x1_0201, 2),
            (0x2_0201, 2),
            (0x3_0201, 2),
            (0x202, 4),
            (0x101, 1),
        ] {
            for disks in [4, 6] {
                is_covered(&map("raid10", layout, disks, 24, 0).unwrap(), disks, 24, copies);
            }
        }
        let odd = map("raid10", 0x102, 3, 8, 0).unwrap();
        // Chunk 1 lies in the third disk's first row and in the first disk's second row.
        let spot = &odd.spots(2, SectorRange::at(3, 1))[0];
        assert_eq!((spot.array, &spot.copies[..]), (Some(CHUNK + 3), &[(0, CHUNK + 3)][..]));
    }

    #[test]
    fn stripes_mirrors_and_concatenated_disks_are_mapped() {
        let raid0 = map("raid0", 0, 3, 4, 12 * CHUNK).unwrap();
        assert_eq!(raid0.spots(1, SectorRange::at(CHUNK + 2, 1))[0].array, Some(4 * CHUNK + 2));
        let raid1 = map("raid1", 0, 2, 4, 63).unwrap();
        let spot = &raid1.spots(1, SectorRange::new(60, 70))[0];
        assert_eq!((spot.array, spot.range.end.0, spot.role), (Some(60), 63, MdRole::Mirror));
        assert_eq!((&spot.copies[..], spot.stripe), (&[(0, 60)][..], None));
        let linear = MdMap::new(&words("linear", 0, &[40, 50, 16], 32 + 48 + 16)).unwrap();
        assert_eq!(linear.spots(2, SectorRange::at(5, 1))[0].array, Some(85));
        assert_eq!(linear.spots(0, SectorRange::at(35, 1)), [], "what is rounded off");
    }

    #[test]
    fn a_lost_spot_includes_data_of_missing_members_that_need_it() {
        let raid5 = map("raid5", 2, 4, 8, 0).unwrap();
        // Row 0: P on disk 3, data on disks 0, 1, 2.
        let data = &raid5.spots(0, SectorRange::at(1, 2))[0];
        assert!(raid5.survives(0, data, &[]) && !raid5.survives(0, data, &[2]));
        assert_eq!(raid5.lost_with(0, data, &[2]), [SectorRange::at(1, 2), SectorRange::at(2 * CHUNK + 1, 2)]);
        let parity = &raid5.spots(3, SectorRange::at(1, 2))[0];
        assert_eq!(raid5.lost_with(3, parity, &[2]), [SectorRange::at(2 * CHUNK + 1, 2)]);
        assert_eq!(raid5.lost_with(0, data, &[3]), [SectorRange::at(1, 2)], "the parity is missing");
        let raid6 = map("raid6", 2, 5, 8, 0).unwrap();
        let data = &raid6.spots(2, SectorRange::at(1, 2))[0];
        assert!(raid6.survives(2, data, &[0]) && !raid6.survives(2, data, &[0, 1]));
        let raid1 = map("raid1", 0, 2, 8, 128).unwrap();
        let copy = &raid1.spots(0, SectorRange::at(1, 2))[0];
        assert!(raid1.survives(0, copy, &[]) && !raid1.survives(0, copy, &[1]));
    }

    #[test]
    fn arrays_whose_places_are_not_certain_are_refused() {
        assert_eq!(map("raid5", 16, 4, 4, 0), Err(MdUnmapped::Layout));
        assert_eq!(map("raid6", 8, 4, 4, 0), Err(MdUnmapped::Layout));
        assert_eq!(map("faulty", 0, 4, 4, 0), Err(MdUnmapped::Level));
        assert_eq!(MdMap::new(&words("raid0", 0, &[64, 96], 160)), Err(MdUnmapped::Uneven));
        assert_eq!(map("raid0", 0, 2, 4, 100), Err(MdUnmapped::Nonsense), "the size says something else");
        assert_eq!(MdMap::new(&words("linear", 0, &[40, 50], 90)), Err(MdUnmapped::Nonsense));
        assert_eq!(map("raid1", 0, 0, 4, 0), Err(MdUnmapped::Nonsense));
        assert_eq!(map("raid10", 0x4_0201, 4, 4, 0), Err(MdUnmapped::Layout));
        assert_eq!(map("raid10", 0x505, 4, 4, 0), Err(MdUnmapped::Layout));
        assert_eq!(MdMap::new(&MdWords { chunk: 0, ..words("raid5", 2, &[64; 4], 0) }), Err(MdUnmapped::Nonsense));
    }

    proptest! {
        #[test]
        fn no_description_in_sys_makes_the_map_panic(
            level in prop::sample::select(vec!["linear", "raid0", "raid1", "raid4", "raid5", "raid6", "raid10"]),
            layout in prop_oneof![0_u64..8, 0_u64..0x8_0000, any::<u64>()],
            chunk in prop_oneof![0_u64..40, any::<u64>()],
            component in prop_oneof![0_u64..4000, any::<u64>()],
            sizes in prop::collection::vec(prop_oneof![0_u64..4000, any::<u64>()], 0..9),
            array in any::<u64>(),
            start in any::<u64>(),
        ) {
            let words = MdWords { level, layout, chunk, component, sizes: &sizes, array };
            if let Ok(map) = MdMap::new(&words) {
                for member in 0..sizes.len() {
                    for at in [start, start % 4096] {
                        for spot in map.spots(member, SectorRange::new(at, at.saturating_add(9))) {
                            map.survives(member, &spot, &[0]);
                            map.lost_with(member, &spot, &[0]);
                        }
                    }
                }
            }
        }
    }
}
