//! Fuzzes the superblock of a volume's member, with the right checksum: one that can be read survives writing and reading.

#![no_main]

use scrubjay_core::index::{RegionIndex, RowIndex};
use scrubjay_core::units::MemberOffset;
use scrubjay_core::volume::format::geometry::SUPERBLOCK_BYTES;
use scrubjay_core::volume::format::superblock::{Features, MAGIC, Superblock, SuperblockError, newest};
use scrubjay_fuzz::with_sum;

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let _ = newest([data]);
    // The data are followed by zeros, as in nearly all real ones.
    let mut block = vec![0; SUPERBLOCK_BYTES];
    let len = data.len().min(block.len());
    block[..len].copy_from_slice(&data[..len]);
    block[..MAGIC.len()].copy_from_slice(&MAGIC);
    let raw = Superblock::decode(&block);
    with_sum(&mut block, 12);
    match Superblock::decode(&block) {
        Ok(said) => {
            assert!(said.features != Features::default() || said.encode()[..] == block[..]);
            assert_eq!(said.geometry.check(), Ok(()));
            let geometry = said.geometry;
            let end = geometry.chunk_offset(RowIndex(geometry.rows - 1)) + geometry.row_bytes();
            assert_eq!(geometry.row_at(MemberOffset(end.get() - 1)), Some(RowIndex(geometry.rows - 1)));
            assert!(said.places(geometry.member_bytes)[1] >= end, "the copies at the end lie behind the data");
            assert!(
                geometry.regions() > 0
                    && geometry.stripes_of_region(RegionIndex(geometry.regions() - 1)).end
                        == geometry.all_stripes().end
            );
            assert_eq!(newest([&block[..], data]).map(|found| found.array), Ok(said.array));
        }
        Err(SuperblockError::Foreign | SuperblockError::Damaged) => panic!("magic and checksum are right"),
        Err(error) => assert!(raw.is_err() && !error.to_string().is_empty()),
    }
});
