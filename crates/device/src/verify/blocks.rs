//! Converts 512-byte sectors of a target into a disk's own blocks, in which pass-through commands count.

use super::{VerifierError, VerifierKind, VerifierSetup};
use scrubjay_core::units::{Bytes, Sector, SectorRange};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The place of a target on its disk, and the size of the disk's blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    base: Sector,
    logical_block: Bytes,
}

impl Blocks {
    /// For a target to be verified by pass-through commands. Those carry addresses of the whole disk, which the
    /// kernel does not translate: a partition's start is added here, and a mapped device is refused.
    pub fn of(kind: VerifierKind, setup: &VerifierSetup) -> Result<Blocks, VerifierError> {
        if !setup.is_block_device {
            return Err(VerifierError::NotADisk(kind));
        }
        let folder = sysfs_folder(&setup.file).map_err(VerifierError::Placement)?;
        if folder.join("dm").exists() {
            return Err(VerifierError::Mapped(kind));
        }
        let base = partition_start(&folder.join("start")).map_err(VerifierError::Placement)?;
        if !base.byte().is_multiple_of(setup.logical_block.0) {
            return Err(VerifierError::Placement(io::ErrorKind::InvalidData.into()));
        }
        Ok(Blocks { base, logical_block: setup.logical_block })
    }

    /// A whole disk with blocks of this size.
    #[cfg(test)]
    pub fn of_disk(logical_block: Bytes) -> Blocks {
        Blocks { base: Sector(0), logical_block }
    }

    /// `range` in pieces of at most `blocks_max` blocks, in order.
    pub fn pieces(self, range: SectorRange, blocks_max: u64) -> impl Iterator<Item = SectorRange> {
        let step = blocks_max * self.logical_block.sectors();
        let (start, end) = (range.start.0, range.end.0);
        (0..range.count().div_ceil(step)).map(move |index| {
            let from = start + index * step;
            SectorRange::new(from, end.min(from + step))
        })
    }

    /// The address of `piece` on the disk, and its length, both in blocks.
    ///
    /// # Panics
    /// When it is not whole blocks, or longer than a `u32` counts.
    pub fn address(self, piece: SectorRange) -> (u64, u32) {
        let block = self.logical_block.sectors();
        let start = self.base.0 + piece.start.0;
        assert!(start.is_multiple_of(block) && piece.count().is_multiple_of(block), "{piece} is not whole blocks");
        (start / block, u32::try_from(piece.count() / block).expect("pieces are short"))
    }
}

/// The folder in `/sys` of an open block device.
fn sysfs_folder(file: &File) -> io::Result<PathBuf> {
    let device = file.metadata()?.rdev();
    fs::canonicalize(format!("/sys/dev/block/{}:{}", libc::major(device), libc::minor(device)))
}

/// The number in a partition's `start` file, in sectors; zero when there is no such file, because a whole disk has none.
fn partition_start(path: &std::path::Path) -> io::Result<Sector> {
    match fs::read_to_string(path) {
        Ok(text) => text.trim().parse().map(Sector).map_err(|_| io::ErrorKind::InvalidData.into()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Sector(0)),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_cover_the_range_and_no_more() {
        for block in [512, 4096] {
            let blocks = Blocks::of_disk(Bytes(block));
            let range = SectorRange::at(80, 8 * 1000);
            for blocks_max in [1, 3, 999, 1000, 65535] {
                let mut at = range.start;
                for piece in blocks.pieces(range, blocks_max) {
                    assert_eq!(piece.start, at);
                    assert!(!piece.is_empty() && blocks.address(piece).1 as u64 <= blocks_max);
                    at = piece.end;
                }
                assert_eq!(at, range.end);
            }
        }
    }

    #[test]
    fn addresses_are_those_of_the_whole_disk_in_its_own_blocks() {
        let partition = Blocks { base: Sector(2048), logical_block: Bytes(4096) };
        assert_eq!(partition.address(SectorRange::at(16, 24)), (258, 3));
    }

    #[test]
    #[should_panic(expected = "whole blocks")]
    fn half_a_block_is_refused() {
        Blocks::of_disk(Bytes(4096)).address(SectorRange::at(8, 4));
    }

    #[test]
    fn a_whole_disk_starts_at_zero_and_a_partition_where_sysfs_places_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("start");
        assert_eq!(partition_start(&path).unwrap(), Sector(0));
        fs::write(&path, "2048\n").unwrap();
        assert_eq!(partition_start(&path).unwrap(), Sector(2048));
        fs::write(&path, "here").unwrap();
        assert!(partition_start(&path).is_err());
    }
}
