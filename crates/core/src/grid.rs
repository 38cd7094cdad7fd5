//! The division of a disk into regions, and of these into segments: of scan orders, coverage, and maps of the surface.

use crate::units::{Bytes, SectorRange};

/// The size of a region. 128 MiB keeps the gain of staggering (the paper's artefact; Schroeder, Damouras & Gill, FAST'10).
pub const REGION_BYTES: Bytes = Bytes::mib(128);
/// The size of a segment. Any size up to 32 MiB detects equally early (Schroeder et al., FAST'10); 8 MiB keeps a hard
/// disk near its sequential speed.
pub const SEGMENT_BYTES: Bytes = Bytes::mib(8);

/// The place of one segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentPlace {
    /// The index of its region on the disk, from 0.
    pub region: u64,
    /// Its index in that region, from 0.
    pub segment: u64,
}

/// The division of a disk into regions of equal size from sector 0 on, and of each region into segments of equal size;
/// the last of each is clipped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    disk: SectorRange,
    region_sectors: u64,
    segment_sectors: u64,
}

impl Grid {
    /// Regions of a coverage map, at most.
    pub const REGIONS_MAX: u64 = 1 << 20;

    /// Divides a disk of `disk_sectors` sectors.
    ///
    /// # Panics
    /// When a size is zero, a segment is greater than a region, or there are more than [`Grid::REGIONS_MAX`] regions.
    pub fn new(disk_sectors: u64, region_sectors: u64, segment_sectors: u64) -> Grid {
        assert!(disk_sectors > 0 && segment_sectors > 0, "a grid divides something");
        assert!(segment_sectors <= region_sectors, "segments lie inside regions");
        let grid = Grid { disk: SectorRange::at(0, disk_sectors), region_sectors, segment_sectors };
        assert!(grid.region_count() <= Grid::REGIONS_MAX, "too many regions to keep a map of");
        grid
    }

    /// The whole disk.
    pub fn disk(&self) -> SectorRange {
        self.disk
    }

    /// Sectors in a region that is not clipped.
    pub fn region_sectors(&self) -> u64 {
        self.region_sectors
    }

    /// Sectors in a segment that is not clipped.
    pub fn segment_sectors(&self) -> u64 {
        self.segment_sectors
    }

    /// The number of regions, at least 1.
    pub fn region_count(&self) -> u64 {
        self.disk.count().div_ceil(self.region_sectors)
    }

    /// The number of segments in a region that is not clipped: the rounds of a staggered tour.
    pub fn segments_per_region(&self) -> u64 {
        self.region_sectors.div_ceil(self.segment_sectors)
    }

    /// The number of steps of a tour. Some of them may be empty: the last region may have fewer segments.
    pub fn step_count(&self) -> u64 {
        self.region_count() * self.segments_per_region()
    }

    /// The sectors of a region.
    ///
    /// # Panics
    /// When there is no such region.
    pub fn region(&self, region: u64) -> SectorRange {
        assert!(region < self.region_count(), "region {region} of {}", self.region_count());
        SectorRange::at(region * self.region_sectors, self.region_sectors).intersection(self.disk)
    }

    /// The sectors of a segment, clipped to its region and to the disk: possibly none.
    pub fn segment(&self, place: SegmentPlace) -> SectorRange {
        let region = self.region(place.region);
        let start = place.region * self.region_sectors + place.segment * self.segment_sectors;
        SectorRange::at(start, self.segment_sectors).intersection(region)
    }

    /// The region in which a sector lies.
    pub fn region_of(&self, sector: crate::units::Sector) -> u64 {
        sector.0 / self.region_sectors
    }

    /// The segment in which a sector lies.
    pub fn place_of(&self, sector: crate::units::Sector) -> SegmentPlace {
        let region = self.region_of(sector);
        SegmentPlace { region, segment: (sector.0 - region * self.region_sectors) / self.segment_sectors }
    }
}
