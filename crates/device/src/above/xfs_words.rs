//! Parses XFS's superblock and the output of xfs_db. Pure; file names are not trusted.

use std::ops::Range;

/// The geometry in the superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct XfsShape {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Number of blocks of the data device.
    pub blocks: u64,
    /// Blocks of a group.
    group_blocks: u64,
    /// Bytes of the four sectors at the head of each group.
    head_bytes: u64,
    /// First byte and end of its journal; empty: on another device.
    log: (u64, u64),
}

impl XfsShape {
    /// Parses the device's first page: `struct xfs_dsb`. `None`: it is not valid.
    pub fn of(page: &[u8]) -> Option<XfsShape> {
        let number = |at: usize, length: usize| {
            let mut all = [0; 8];
            all[8 - length..].copy_from_slice(page.get(at..at + length)?);
            Some(u64::from_be_bytes(all))
        };
        let (block_bytes, blocks) = (number(4, 4)?, number(8, 8)?);
        let (log_start, group_blocks, log_blocks) = (number(48, 8)?, number(84, 4)?, number(96, 4)?);
        let (sector_bytes, group_power) = (number(102, 2)?, number(124, 1)?);
        let is_sound = page.starts_with(b"XFSB")
            && (512..=64 << 10).contains(&block_bytes)
            && block_bytes.is_power_of_two()
            && (512..=32 << 10).contains(&sector_bytes)
            && blocks > 0
            && blocks < 1 << 56
            && group_blocks > 0
            && group_power < 32;
        if !is_sound {
            return None;
        }
        // The upper bits of a block's number are its group, the lower bits its place in the group.
        let group = (log_start >> group_power).checked_mul(group_blocks)?;
        let place = group.checked_add(log_start & ((1 << group_power) - 1))?;
        let log = match log_start {
            0 => (0, 0),
            _ => (place.checked_mul(block_bytes)?, place.checked_add(log_blocks)?.checked_mul(block_bytes)?),
        };
        Some(XfsShape { block_bytes, blocks, group_blocks, head_bytes: 4 * sector_bytes, log })
    }

    /// The file system's own structure that contains all of these bytes, as far as the superblock alone shows.
    pub fn structure_at(&self, bytes: &Range<u64>) -> Option<&'static str> {
        let within = bytes.start % self.group_blocks.checked_mul(self.block_bytes)?;
        if within + (bytes.end - bytes.start) <= self.head_bytes {
            return Some("a superblock, or what stands beside it in its group");
        }
        let is_log = self.log.0 <= bytes.start && bytes.end <= self.log.1;
        is_log.then_some("its journal, which is replayed only after a crash")
    }
}

/// Whether the output of `xfs_logprint -t` shows an empty journal. Otherwise it holds changes that are not in place yet.
pub fn is_log_clean(output: &str) -> bool {
    output.lines().find_map(|line| line.split_once(" state: ")).is_some_and(|(_, state)| state.trim() == "<CLEAN>")
}

/// The use of one block according to `blockuse`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockUse {
    /// The kind in xfs_db's terms: `data`, `dir`, `free2`, `inode`.
    pub kind: String,
    /// The inode that it belongs to.
    pub inode: Option<u64>,
    /// One name of the inode, from the top of the file system without a leading slash: the rest of the output, line breaks included.
    pub name: Option<Vec<u8>>,
}

/// Parses `block 24 (0/24) type data inode 132 d/a`, all of xfs_db's output about one block.
pub fn block_use(output: &[u8], wanted: u64) -> Option<BlockUse> {
    let rest = output.strip_prefix(b"block ")?;
    let (number, rest) = split(rest)?;
    let (_, rest) = split(rest)?;
    let rest = rest.strip_prefix(b"type ")?;
    let end = rest.iter().position(|byte| byte.is_ascii_whitespace()).unwrap_or(rest.len());
    let kind = String::from_utf8(rest[..end].to_vec()).ok()?;
    if std::str::from_utf8(number).ok()?.parse() != Ok(wanted) || kind.is_empty() {
        return None;
    }
    let rest = rest[end..].strip_prefix(b" inode ");
    let rest = rest.map(|rest| rest.strip_suffix(b"\n").unwrap_or(rest));
    let (inode, name) = match rest {
        None => (None, None),
        Some(rest) => match split(rest) {
            Some((inode, name)) => (Some(inode), Some(name.to_vec())),
            None => (Some(rest), None),
        },
    };
    let inode = match inode {
        Some(inode) => Some(std::str::from_utf8(inode).ok()?.parse().ok()?),
        None => None,
    };
    Some(BlockUse { kind, inode, name: name.filter(|name| !name.is_empty()) })
}

fn split(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = bytes.iter().position(|&byte| byte == b' ')?;
    Some((&bytes[..at], &bytes[at + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_is_clean_only_if_the_output_states_it() {
        let output = |state: &str| {
            format!("xfs_logprint:\n    data device: 0x700\n\n    log tail: 24 head: 29 state: <{state}>\n\n")
        };
        assert!(is_log_clean(&output("CLEAN")) && !is_log_clean(&output("DIRTY")) && !is_log_clean(""));
        assert!(!is_log_clean(&(output("DIRTY") + &output("CLEAN"))), "what follows is what files hold");
    }

    #[test]
    fn output_of_blockuse_is_parsed() {
        let of = |output: &str, block| block_use(output.as_bytes(), block);
        let data = of("block 24 (0/24) type data inode 132 d/a b\n", 24).unwrap();
        assert_eq!((data.kind.as_str(), data.inode, data.name.as_deref()), ("data", Some(132), Some(&b"d/a b"[..])));
        let free = of("block 99364 (3/1060) type free2\n", 99364).unwrap();
        assert_eq!((free.kind.as_str(), free.inode, free.name), ("free2", None, None));
        assert_eq!(of("block 24 (0/24) type data inode 132\n", 24).unwrap().inode, Some(132));
        assert_eq!(of("block 25 (0/25) type data inode 132 d/a\n", 24), None, "another block");
        let hostile = of("block 24 (0/24) type data inode 132 a\nblock 24 (0/24) type free2\n", 24).unwrap();
        assert_eq!(hostile.name.as_deref(), Some(&b"a\nblock 24 (0/24) type free2"[..]));
        for nonsense in ["", "block", "block 24", "block 24 (0/24) type ", "block 24 (0/24) type data inode x y\n"] {
            assert_eq!(of(nonsense, 24), None, "{nonsense}");
        }
    }

    /// The superblock of a file system of 320 MiB, made by mkfs.xfs 6.1: the fields that are used.
    fn superblock() -> Vec<u8> {
        let mut page = vec![0; 512];
        page[..16].copy_from_slice(b"XFSB\0\0\x10\0\0\0\0\0\0\x01\x40\0");
        page[48..56].copy_from_slice(&0x10006_u64.to_be_bytes());
        page[84..88].copy_from_slice(&20480_u32.to_be_bytes());
        page[96..100].copy_from_slice(&16384_u32.to_be_bytes());
        page[102..104].copy_from_slice(&512_u16.to_be_bytes());
        page[124] = 15;
        page
    }

    #[test]
    fn geometry_and_structures_are_found_from_the_superblock() {
        let shape = XfsShape::of(&superblock()).unwrap();
        assert_eq!((shape.block_bytes, shape.blocks), (4096, 81920));
        let of = |start: u64, count: u64| shape.structure_at(&(start..start + count));
        let group = 20480 * 4096;
        assert!(of(0, 512).unwrap().contains("superblock") && of(group, 2048).unwrap().contains("superblock"));
        assert_eq!((of(2048, 512), of(1536, 1024)), (None, None));
        let log = (2 * 20480 + 6) * 4096;
        assert!(of(log, 512).unwrap().contains("journal"));
        assert_eq!((of(log - 512, 512), of(log - 512, 1024), of(log + 16384 * 4096, 512)), (None, None, None));
    }

    #[test]
    fn superblocks_that_make_no_sense_are_none() {
        assert_eq!((XfsShape::of(&[]), XfsShape::of(&[0; 512]), XfsShape::of(b"XFSB")), (None, None, None));
        for (at, bytes) in
            [(6, &[0x30][..]), (84, &[0; 4]), (102, &[0; 2]), (124, &[64]), (8, &[0xff; 8]), (48, &[0xff; 8])]
        {
            let mut page = superblock();
            page[at..at + bytes.len()].copy_from_slice(bytes);
            assert_eq!(XfsShape::of(&page), None, "{at}");
        }
        for at in 0..128 {
            for byte in 0..=255 {
                let mut page = superblock();
                page[at] = byte;
                let shape = XfsShape::of(&page);
                let structures =
                    |shape: XfsShape| [0, 1 << 40, u64::MAX - 512].map(|at| shape.structure_at(&(at..at + 512)));
                shape.map(structures); // and nothing panics
            }
        }
    }
}
