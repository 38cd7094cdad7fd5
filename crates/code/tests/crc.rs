//! CRC-32C through the public API: published sums, and sums made in pieces.

use proptest::prelude::*;
use scrubjay_code::{crc32c, crc32c_extend};

#[test]
fn sums_are_those_published() {
    let ascending: Vec<u8> = (0..32).collect();
    let descending: Vec<u8> = (0..32).rev().collect();
    // RFC 3720, B.4, "CRC Examples"; printed there as bytes in the order of transmission.
    let read = [
        [0x01, 0xc0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0, 0, 0, 0],
        [0x14, 0, 0, 0],
        [0, 0, 0x04, 0],
        [0, 0, 0, 0x14],
        [0, 0, 0, 0x18],
        [0x28, 0, 0, 0],
        [0, 0, 0, 0],
        [0x02, 0, 0, 0],
        [0, 0, 0, 0],
    ];
    assert_eq!(crc32c(&[0; 32]), u32::from_le_bytes([0xaa, 0x36, 0x91, 0x8a]));
    assert_eq!(crc32c(&[0xff; 32]), u32::from_le_bytes([0x43, 0xab, 0xa8, 0x62]));
    assert_eq!(crc32c(&ascending), u32::from_le_bytes([0x4e, 0x79, 0xdd, 0x46]));
    assert_eq!(crc32c(&descending), u32::from_le_bytes([0x5c, 0xdb, 0x3f, 0x11]));
    assert_eq!(crc32c(read.as_flattened()), u32::from_le_bytes([0x56, 0x3a, 0x96, 0xd9]));
    assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    assert_eq!(crc32c(b""), 0);
}

proptest! {
    #[test]
    fn a_sum_may_be_made_in_pieces(bytes in proptest::collection::vec(any::<u8>(), 0..6000), at in 0_usize..6000) {
        let (first, second) = bytes.split_at(at.min(bytes.len()));
        prop_assert_eq!(crc32c_extend(crc32c(first), second), crc32c(&bytes));
    }
}
