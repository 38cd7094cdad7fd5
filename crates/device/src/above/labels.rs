//! Recognises the use of a device by labels at its beginning. Bytes in, values out; with several labels none is preferred.

use crate::buffer::PageBuffer;
use crate::target::{TargetError, open_read_only};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

/// Bytes that are read of a device at a time.
pub const PAGE: usize = 4096;
/// Byte offsets of the known labels: the first page, md 1.2's and a volume's, a volume's other one, btrfs's, and the
/// first of ZFS's table of uberblocks.
const PLACES: [u64; 5] = [0, 4 << 10, 20 << 10, 64 << 10, 128 << 10];
/// Pages of ZFS's uberblocks, 128 KiB, of which any may be the newest.
const UBERBLOCK_PAGES: u64 = 32;
/// Swap space is labelled at the end of its first page, which is that of the machine that made it: 16 KiB on a Raspberry Pi 5, 64 KiB on
/// some servers. These are the last 4 KiB of such pages; of a page of 4 KiB they are the first place.
const SWAP_PLACES: [u64; 2] = [12 << 10, 60 << 10];

/// What a label identifies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LabelKind {
    /// ext2, ext3 or ext4.
    Ext,
    /// XFS.
    Xfs,
    /// A device of a btrfs.
    Btrfs,
    /// A member of a Scrubjay volume.
    Volume,
    /// Swap space.
    Swap,
    /// A member of an md array that does not run.
    Md,
    /// A physical volume of LVM.
    Lvm,
    /// A LUKS container.
    Luks,
    /// A device of a ZFS pool.
    Zfs,
}

impl LabelKind {
    /// A description for people.
    pub const fn words(self) -> &'static str {
        match self {
            LabelKind::Ext => "ext4",
            LabelKind::Xfs => "XFS",
            LabelKind::Btrfs => "btrfs",
            LabelKind::Volume => "a member of a Scrubjay volume",
            LabelKind::Swap => "swap space",
            LabelKind::Md => "a member of an md array that does not run",
            LabelKind::Lvm => "a physical volume of LVM",
            LabelKind::Luks => "a LUKS container that is not open",
            LabelKind::Zfs => "a disk of ZFS",
        }
    }
}

/// A device that is read page by page, past the page cache.
pub struct LabelReader {
    file: File,
    buffer: PageBuffer,
}

impl LabelReader {
    /// Opens a device for reading.
    ///
    /// # Errors
    /// The kernel's error.
    pub fn open(path: &Path) -> io::Result<LabelReader> {
        let (file, _) = open_read_only(path, true).map_err(|error| match error {
            TargetError::Permission { .. } => io::Error::new(io::ErrorKind::PermissionDenied, error),
            error => io::Error::other(error),
        })?;
        Ok(LabelReader { file, buffer: PageBuffer::new(PAGE, PAGE) })
    }

    /// The page that begins at this byte; `None`: it cannot be read, or the device ends before.
    pub fn page(&mut self, at: u64) -> Option<&[u8]> {
        let page = self.buffer.as_mut_slice();
        self.file.read_exact_at(page, at).ok()?;
        Some(page)
    }

    /// All labels that are found.
    pub fn labels(&mut self) -> Vec<LabelKind> {
        let uberblocks = (1..UBERBLOCK_PAGES).map(|page| PLACES[4] + page * PAGE as u64);
        let mut found: Vec<LabelKind> = Vec::new();
        for place in PLACES.into_iter().chain(SWAP_PLACES).chain(uberblocks) {
            let Some(page) = self.page(place) else { continue };
            found.extend(labels_in(place, page));
        }
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// The labels in the page that begins at byte `place` of a device.
fn labels_in(place: u64, page: &[u8]) -> Vec<LabelKind> {
    let has = |at: usize, magic: &[u8]| page.get(at..at + magic.len()) == Some(magic);
    let mut found = Vec::new();
    let mut note = |has_label: bool, kind| {
        if has_label {
            found.push(kind)
        }
    };
    const MD: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
    const SWAP: (usize, &[u8]) = (PAGE - 10, b"SWAPSPACE2");
    match place {
        0 => {
            note(has(1024 + 56, &[0x53, 0xef]), LabelKind::Ext);
            note(has(0, b"XFSB"), LabelKind::Xfs);
            note(has(0, b"LUKS\xba\xbe"), LabelKind::Luks);
            note(has(SWAP.0, SWAP.1), LabelKind::Swap);
            note((0..4).any(|sector| has(sector * 512, b"LABELONE")), LabelKind::Lvm);
            note(has(0, &MD), LabelKind::Md); // 1.1
        }
        0x1000 => {
            note(has(0, &MD), LabelKind::Md);
            note(has(0, b"SCRUBJAY"), LabelKind::Volume);
        }
        0x3000 | 0xf000 => note(has(SWAP.0, SWAP.1), LabelKind::Swap),
        0x5000 => note(has(0, b"SCRUBJAY"), LabelKind::Volume),
        0x1_0000 => note(has(64, b"_BHRfS_M"), LabelKind::Btrfs),
        _ => {
            const UBERBLOCK: u64 = 0x00ba_b10c;
            let is_uberblock = |at: usize| has(at, &UBERBLOCK.to_le_bytes()) || has(at, &UBERBLOCK.to_be_bytes());
            note((0..4).any(|index| is_uberblock(index * 1024)), LabelKind::Zfs);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_label_is_known_at_its_place_and_nowhere_else() {
        for (place, at, magic, kind) in [
            (0, 1080, &b"\x53\xef"[..], LabelKind::Ext),
            (0, 0, b"XFSB", LabelKind::Xfs),
            (0, 0, b"LUKS\xba\xbe", LabelKind::Luks),
            (0, 4086, b"SWAPSPACE2", LabelKind::Swap),
            (12_288, 4086, b"SWAPSPACE2", LabelKind::Swap), // with pages of 16 KiB
            (61_440, 4086, b"SWAPSPACE2", LabelKind::Swap), // with pages of 64 KiB
            (0, 512, b"LABELONE", LabelKind::Lvm),
            (4096, 0, b"\xfc\x4e\x2b\xa9", LabelKind::Md),
            (4096, 0, b"SCRUBJAY", LabelKind::Volume),
            (20480, 0, b"SCRUBJAY", LabelKind::Volume),
            (65536, 64, b"_BHRfS_M", LabelKind::Btrfs),
            (135_168, 2048, b"\x0c\xb1\xba\0\0\0\0\0", LabelKind::Zfs),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("device");
            let mut bytes = vec![0; 300 << 10];
            bytes[place + at..place + at + magic.len()].copy_from_slice(magic);
            std::fs::write(&path, &bytes).unwrap();
            assert_eq!(LabelReader::open(&path).unwrap().labels(), [kind]);
            bytes.rotate_right(8192);
            std::fs::write(&path, &bytes[..64 << 10]).unwrap();
            assert_eq!(LabelReader::open(&path).unwrap().labels(), [], "elsewhere: {kind:?}");
        }
    }
}
