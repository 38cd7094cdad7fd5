//! The map of a pass: three bytes a region, with a head and a checksum.
//!
//! ```text
//! "SJspeed1"  sectors  sectors a region  begun  ended  (four times 8 bytes, the lowest first)
//! typical, p99, flags (one byte each) of each region
//! CRC-32C of all that (4 bytes)
//! flags: bits 0 to 3 visits (15: or more), bit 4 spread over the day, bits 5 to 7 visits with a stall (7: or more)
//! ```

use super::ReadTime;
use crate::grid::Grid;
use crate::units::{SectorRange, UnixSeconds};
use scrubjay_code::crc32c;

const MAGIC: &[u8; 8] = b"SJspeed1";
const HEAD: usize = 8 + 4 * 8;
const REGION: usize = 3;
const SUM: usize = 4;

/// How fast a region answered in a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegionTiming {
    /// The median over the visits of the pass; nothing: none of them measured anything.
    pub typical: ReadTime,
    /// The 99th percentile of its requests, about.
    pub p99: ReadTime,
    flags: u8,
}

impl RegionTiming {
    pub(super) fn new(
        typical: ReadTime,
        p99: ReadTime,
        stalled: usize,
        visits: usize,
        is_spread: bool,
    ) -> RegionTiming {
        let flags = visits.min(15) as u8 | u8::from(is_spread) << 4 | (stalled.min(7) as u8) << 5;
        RegionTiming { typical, p99, flags }
    }

    /// Visits that measured something; 15: or more.
    pub fn visits(self) -> u8 {
        self.flags & 15
    }

    /// Whether the visits came at several hours of the day, or all within one day: what comes every day at the same hour does not explain them.
    pub fn is_spread(self) -> bool {
        self.flags >> 4 & 1 == 1
    }

    /// Visits in which a request took a tenth of a second longer than at 10 MB/s, though alone at the disk: the drive tried again, or did
    /// something else. 7: or more.
    pub fn stalled(self) -> u8 {
        self.flags >> 5
    }
}

/// How fast each region of a disk answered in a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpeedMap {
    /// The disk's sectors.
    pub sectors: u64,
    /// Sectors in a region.
    pub region_sectors: u64,
    /// When the pass began.
    pub begun: UnixSeconds,
    /// When it ended, or when this was asked for.
    pub ended: UnixSeconds,
    /// The regions, from sector 0 on.
    pub regions: Vec<RegionTiming>,
}

impl SpeedMap {
    /// Bytes in front of the regions.
    pub const HEAD: usize = HEAD;

    /// The bytes of the map of a disk with this grid.
    pub fn encoded_len(grid: &Grid) -> usize {
        HEAD + grid.region_count() as usize * REGION + SUM
    }

    /// The sectors of a run of regions.
    pub fn sectors_of(&self, first: u64, end: u64) -> SectorRange {
        SectorRange::new((first * self.region_sectors).min(self.sectors), (end * self.region_sectors).min(self.sectors))
    }

    /// The map as it is saved.
    pub fn encode(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(HEAD + self.regions.len() * REGION + SUM);
        bytes.extend_from_slice(MAGIC);
        for number in [self.sectors, self.region_sectors, self.begun.0, self.ended.0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for region in &self.regions {
            bytes.extend_from_slice(&[region.typical.code(), region.p99.code(), region.flags]);
        }
        let sum = crc32c(&bytes);
        bytes.extend_from_slice(&sum.to_le_bytes());
        bytes
    }

    /// The length of the map that begins with these [`SpeedMap::HEAD`] bytes; `None`: none does.
    pub fn length_of(head: &[u8]) -> Option<usize> {
        let number = |at: usize| Some(u64::from_le_bytes(head.get(8 + 8 * at..16 + 8 * at)?.try_into().ok()?));
        let [sectors, region_sectors, _, _] = [number(0)?, number(1)?, number(2)?, number(3)?];
        let is_map = &head[..8] == MAGIC && sectors > 0 && region_sectors > 0;
        let regions = is_map.then(|| sectors.div_ceil(region_sectors)).filter(|&count| count <= Grid::REGIONS_MAX)?;
        Some(HEAD + regions as usize * REGION + SUM)
    }

    /// The map in these bytes; `None`: they are no whole one.
    pub fn decode(bytes: &[u8]) -> Option<SpeedMap> {
        let sum_at = SpeedMap::length_of(bytes).filter(|&length| length == bytes.len())? - SUM;
        if crc32c(&bytes[..sum_at]).to_le_bytes() != bytes[sum_at..] {
            return None;
        }
        let number = |at: usize| u64::from_le_bytes(bytes[8 + 8 * at..16 + 8 * at].try_into().expect("eight bytes"));
        let [sectors, region_sectors, begun, ended] = [0, 1, 2, 3].map(number);
        let region =
            |of: &[u8]| RegionTiming { typical: ReadTime::of_code(of[0]), p99: ReadTime::of_code(of[1]), flags: of[2] };
        let regions = bytes[HEAD..sum_at].chunks_exact(REGION).map(region).collect();
        Some(SpeedMap { sectors, region_sectors, begun: UnixSeconds(begun), ended: UnixSeconds(ended), regions })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_one_behind_the_other_come_back_and_a_damaged_one_does_not() {
        let map = |begun: u64| SpeedMap {
            sectors: 1000,
            region_sectors: 300,
            begun: UnixSeconds(begun),
            ended: UnixSeconds(begun + 9),
            regions: (0..4)
                .map(|at| RegionTiming::new(ReadTime::of_code(100 + at), ReadTime::of_code(120), 9, 20, at == 1))
                .collect(),
        };
        let bytes = [map(1).encode(), map(2).encode()].concat();
        assert_eq!(bytes.len(), 2 * SpeedMap::encoded_len(&Grid::new(1000, 300, 10)));
        let length = SpeedMap::length_of(&bytes).unwrap();
        let first = SpeedMap::decode(&bytes[..length]).unwrap();
        assert_eq!((first.clone(), SpeedMap::decode(&bytes[length..]).unwrap()), (map(1), map(2)));
        let region = first.regions[1];
        assert_eq!((region.visits(), region.is_spread(), region.stalled()), (15, true, 7));
        for at in 0..length {
            let mut damaged = bytes[..length].to_vec();
            damaged[at] ^= 4;
            assert_eq!(SpeedMap::decode(&damaged), None, "byte {at}");
            assert_eq!(SpeedMap::decode(&bytes[..at]), None, "cut at {at}");
        }
        assert_eq!(first.sectors_of(3, 9), SectorRange::new(900, 1000));
    }
}
