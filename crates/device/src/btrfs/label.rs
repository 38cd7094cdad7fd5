//! Recognises a disk that belongs to a btrfs by its superblock, mounted or not.

use crate::buffer::PageBuffer;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Byte offset of the first superblock.
const PLACE: u64 = 64 << 10;
/// The magic bytes of a superblock, and their offset in it.
const MAGIC: &[u8] = b"_BHRfS_M";
const MAGIC_AT: usize = 64;

/// Whether there is a superblock of btrfs on an open file, past the page cache or not.
pub(crate) fn is_member(file: &File) -> bool {
    let mut buffer = PageBuffer::new(4096, 4096);
    let bytes = buffer.as_mut_slice();
    file.read_exact_at(bytes, PLACE).is_ok() && &bytes[MAGIC_AT..MAGIC_AT + MAGIC.len()] == MAGIC
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_is_seen_and_a_short_file_has_none() {
        let file = tempfile::tempfile().unwrap();
        assert!(!is_member(&file));
        file.set_len(1 << 20).unwrap();
        assert!(!is_member(&file));
        file.write_all_at(MAGIC, PLACE + MAGIC_AT as u64).unwrap();
        assert!(is_member(&file));
    }
}
