//! Maps addresses of the scrub to devices, places on a device to logical addresses, and those to all their copies.
//! Pure.
//!
//! The addresses of the scrub are those of the devices, one behind the other by number, allocated or not, because what is
//! allocated changes during a pass. A place that is allocated to nothing is reported as such.

use super::items::{
    CHUNK_DATA, CHUNK_DUP, CHUNK_METADATA, CHUNK_RAID0, CHUNK_RAID1, CHUNK_RAID1C3, CHUNK_RAID1C4, CHUNK_RAID5,
    CHUNK_RAID6, CHUNK_RAID10, CHUNK_SYSTEM, ChunkItem, STRIPE_BYTES,
};
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};
use std::ops::Range;

/// The devices, by number: number and size in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressSpace {
    devices: Vec<(u64, u64)>,
}

/// A range of one device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceRange {
    /// The device's number.
    pub device: u64,
    /// Bytes on it.
    pub bytes: Range<u64>,
    /// The scrub's address of its first byte, in bytes.
    pub address: u64,
}

impl AddressSpace {
    /// Made of devices as (number, bytes); each is cut to whole blocks of `block` bytes.
    pub fn new(mut devices: Vec<(u64, u64)>, block: u64) -> AddressSpace {
        devices.sort_unstable();
        devices.iter_mut().for_each(|(_, bytes)| *bytes = *bytes / block * block);
        AddressSpace { devices }
    }

    /// Sectors of all devices together.
    pub fn sectors(&self) -> u64 {
        self.devices.iter().map(|(_, bytes)| bytes / SECTOR_BYTES).sum()
    }

    /// The devices, by number: number and size in bytes.
    pub fn devices(&self) -> &[(u64, u64)] {
        &self.devices
    }

    /// The addresses of bytes of a device, in whole sectors; empty where it is not one of these.
    pub fn range_of(&self, device: u64, bytes: &Range<u64>) -> SectorRange {
        let before: u64 = self.devices.iter().take_while(|(number, _)| *number != device).map(|(_, bytes)| bytes).sum();
        let known = self.devices.iter().find(|(number, _)| *number == device);
        let Some(&(_, length)) = known else { return SectorRange::at(0, 0) };
        let (start, end) = (before + bytes.start.min(length), before + bytes.end.min(length));
        SectorRange::new(start / SECTOR_BYTES, end.div_ceil(SECTOR_BYTES))
    }

    /// The parts of a range of addresses, device by device.
    pub fn parts(&self, range: SectorRange) -> Vec<DeviceRange> {
        let (start, end) = (range.start.byte(), range.end.byte());
        let mut before = 0;
        let mut parts = Vec::new();
        for &(device, bytes) in &self.devices {
            let (from, to) = (start.max(before), end.min(before + bytes));
            if from < to {
                parts.push(DeviceRange { device, bytes: from - before..to - before, address: from });
            }
            before += bytes;
        }
        parts
    }
}

/// A run of bytes of a device extent whose logical addresses are contiguous.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExtentRun {
    /// The bytes, counted from the beginning of the device extent.
    pub inside: Range<u64>,
    /// The logical address of the first byte.
    pub logical: u64,
}

/// Flags and names of the profiles.
const PROFILES: [(u64, &str); 8] = [
    (CHUNK_RAID0, "RAID0"),
    (CHUNK_RAID1, "RAID1"),
    (CHUNK_DUP, "DUP"),
    (CHUNK_RAID10, "RAID10"),
    (CHUNK_RAID5, "RAID5"),
    (CHUNK_RAID6, "RAID6"),
    (CHUNK_RAID1C3, "RAID1C3"),
    (CHUNK_RAID1C4, "RAID1C4"),
];

impl ChunkItem {
    /// Whether it has parities. Then places in it are not computed here.
    pub fn is_parity(&self) -> bool {
        self.flags & (CHUNK_RAID5 | CHUNK_RAID6) != 0
    }

    /// Whether it holds data of files.
    pub fn holds_data(&self) -> bool {
        self.flags & CHUNK_DATA != 0
    }

    /// Whether it holds tree blocks.
    pub fn holds_tree_blocks(&self) -> bool {
        self.flags & (CHUNK_METADATA | CHUNK_SYSTEM) != 0
    }

    /// Name of its profile.
    pub fn profile(&self) -> &'static str {
        PROFILES.iter().find(|(flag, _)| self.flags & flag != 0).map_or("single", |(_, name)| name)
    }

    /// Index of its stripe that begins there.
    pub fn stripe_at(&self, device: u64, physical: u64) -> Option<usize> {
        self.stripes.iter().position(|stripe| *stripe == (device, physical))
    }

    /// The number of columns over which stripes are distributed, and of copies of each column: (1, n) for copies only.
    fn columns(&self) -> (u64, u64) {
        let stripes = self.stripes.len() as u64;
        if self.flags & CHUNK_RAID0 != 0 {
            (stripes, 1)
        } else if self.flags & CHUNK_RAID10 != 0 {
            (stripes / u64::from(self.sub_stripes), self.sub_stripes.into())
        } else {
            (1, stripes)
        }
    }

    /// The expected length of each of its stripes on a device; `None` with parities.
    pub fn stripe_length(&self) -> Option<u64> {
        (!self.is_parity()).then(|| self.length / self.columns().0)
    }

    /// The runs of logical addresses in these bytes of a stripe. Empty with parities.
    pub fn runs(&self, stripe: usize, inside: Range<u64>) -> Vec<ExtentRun> {
        if self.is_parity() {
            return Vec::new();
        }
        let (columns, copies) = self.columns();
        if columns == 1 {
            return vec![ExtentRun { logical: self.logical + inside.start, inside }];
        }
        let column = stripe as u64 / copies;
        let mut runs = Vec::new();
        let mut at = inside.start;
        while at < inside.end {
            let (row, within) = (at / STRIPE_BYTES, at % STRIPE_BYTES);
            let end = ((row + 1) * STRIPE_BYTES).min(inside.end);
            let logical = self.logical + (row * columns + column) * STRIPE_BYTES + within;
            runs.push(ExtentRun { inside: at..end, logical });
            at = end;
        }
        runs
    }

    /// The places of all copies of a logical address: device, and byte offset on it. Empty with parities, or outside the chunk.
    pub fn copies(&self, logical: u64) -> Vec<(u64, u64)> {
        let within = logical.checked_sub(self.logical).filter(|within| *within < self.length);
        let Some(within) = within.filter(|_| !self.is_parity()) else { return Vec::new() };
        let (columns, copies) = self.columns();
        if columns == 1 {
            return self.stripes.iter().map(|(device, start)| (*device, start + within)).collect();
        }
        let (unit, rest) = (within / STRIPE_BYTES, within % STRIPE_BYTES);
        let (row, column) = (unit / columns, unit % columns);
        let of_column = self.stripes.iter().skip((column * copies) as usize).take(copies as usize);
        of_column.map(|(device, start)| (*device, start + row * STRIPE_BYTES + rest)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB64: u64 = STRIPE_BYTES;

    fn chunk(flags: u64, sub_stripes: u16, stripes: &[(u64, u64)], rows: u64) -> ChunkItem {
        let mut chunk = ChunkItem {
            logical: 1 << 30,
            length: 0,
            flags: flags | CHUNK_DATA,
            sub_stripes,
            stripes: stripes.to_vec(),
        };
        chunk.length = rows * KIB64 * chunk.columns().0;
        chunk
    }

    #[test]
    fn devices_follow_each_other_by_number() {
        let space = AddressSpace::new(vec![(3, 8192 + 512), (1, 4096)], 4096);
        assert_eq!((space.sectors(), space.devices()), (24, &[(1, 4096), (3, 8192)][..]));
        let part = |device, bytes: Range<u64>, address| DeviceRange { device, bytes, address };
        assert_eq!(space.parts(SectorRange::new(0, 24)), [part(1, 0..4096, 0), part(3, 0..8192, 4096)]);
        assert_eq!(space.parts(SectorRange::new(10, 16)), [part(3, 1024..4096, 5120)]);
    }

    #[test]
    fn mirrors_hold_the_same_everywhere() {
        for (flags, stripes) in [
            (0, &[(1, 4 * KIB64)][..]),
            (CHUNK_DUP, &[(1, 4 * KIB64), (1, 400 * KIB64)]),
            (CHUNK_RAID1, &[(1, 4 * KIB64), (2, 0)]),
            (CHUNK_RAID1C3, &[(1, 4 * KIB64), (2, 0), (5, 9 * KIB64)]),
            (CHUNK_RAID1C4, &[(1, 4 * KIB64), (2, 0), (5, 9 * KIB64), (7, KIB64)]),
        ] {
            let chunk = chunk(flags, 1, stripes, 8);
            assert_eq!(chunk.stripe_length(), Some(8 * KIB64), "{}", chunk.profile());
            for stripe in 0..stripes.len() {
                let run = ExtentRun { inside: 5000..300_000, logical: (1 << 30) + 5000 };
                assert_eq!(chunk.runs(stripe, 5000..300_000), [run]);
            }
            let copies: Vec<_> = stripes.iter().map(|(device, start)| (*device, start + 77)).collect();
            assert_eq!(chunk.copies((1 << 30) + 77), copies);
            assert_eq!(chunk.copies((1 << 30) - 1).len() + chunk.copies((1 << 30) + chunk.length).len(), 0);
        }
    }

    /// Every byte of every stripe lies where its logical address says, and only there: places to addresses and back.
    #[test]
    fn places_and_addresses_map_both_ways_in_every_profile() {
        let of = |count: u64| (0..count).map(|index| (index + 1, (index * 50 + 3) * KIB64)).collect::<Vec<_>>();
        for (flags, sub_stripes, count) in [
            (0, 1, 1),
            (CHUNK_RAID0, 1, 3),
            (CHUNK_RAID0, 1, 1),
            (CHUNK_RAID1, 1, 2),
            (CHUNK_RAID10, 2, 4),
            (CHUNK_RAID10, 2, 6),
            (CHUNK_RAID1C4, 1, 4),
        ] {
            let chunk = chunk(flags, sub_stripes, &of(count), 5);
            let mut seen = std::collections::BTreeMap::<u64, u64>::new();
            for stripe in 0..count as usize {
                for run in chunk.runs(stripe, 0..5 * KIB64) {
                    for at in (run.inside.start..run.inside.end).step_by(4096) {
                        let logical = run.logical + at - run.inside.start;
                        let place = (chunk.stripes[stripe].0, chunk.stripes[stripe].1 + at);
                        assert!(chunk.copies(logical).contains(&place), "{} {logical}", chunk.profile());
                        *seen.entry(logical).or_default() += 1;
                    }
                }
            }
            assert_eq!(seen.len() as u64, chunk.length / 4096, "all of it");
            let copies = chunk.copies(chunk.logical).len() as u64;
            assert!(seen.values().all(|count| *count == copies), "each copy once");
        }
    }

    #[test]
    fn stripes_alternate_between_the_devices() {
        let raid0 = chunk(CHUNK_RAID0, 1, &[(1, 0), (2, KIB64), (3, 0)], 4);
        let at = |row: u64, column: u64| (1 << 30) + (row * 3 + column) * KIB64;
        assert_eq!(
            raid0.runs(1, KIB64 - 4096..2 * KIB64 + 4096),
            [
                ExtentRun { inside: KIB64 - 4096..KIB64, logical: at(0, 1) + KIB64 - 4096 },
                ExtentRun { inside: KIB64..2 * KIB64, logical: at(1, 1) },
                ExtentRun { inside: 2 * KIB64..2 * KIB64 + 4096, logical: at(2, 1) },
            ]
        );
        let raid10 = chunk(CHUNK_RAID10, 2, &[(1, 0), (2, 0), (3, 0), (4, 0)], 4);
        assert_eq!(raid10.copies((1 << 30) + KIB64 + 5), [(3, 5), (4, 5)]);
        assert_eq!(raid10.copies((1 << 30) + 2 * KIB64 + 5), [(1, KIB64 + 5), (2, KIB64 + 5)]);
        assert_eq!(raid10.stripe_at(3, 0), Some(2));
    }

    #[test]
    fn chunks_with_parities_have_no_runs_and_no_copies() {
        let raid6 = ChunkItem { flags: CHUNK_RAID6 | CHUNK_DATA, ..chunk(0, 1, &[(1, 0), (2, 0), (3, 0)], 4) };
        assert_eq!((raid6.runs(0, 0..KIB64), raid6.copies(1 << 30)), (vec![], vec![]));
        assert_eq!((raid6.stripe_length(), raid6.profile()), (None, "RAID6"));
    }
}
