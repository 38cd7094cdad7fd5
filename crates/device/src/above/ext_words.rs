//! Parses ext4's superblock and the output of debugfs: its own structures, the owner of a block, the names of a file. Pure;
//! file names and labels are not trusted, and may look like anything.

use std::collections::{BTreeMap, BTreeSet};

/// Groups whose descriptors are read, at most: 32 TiB of blocks of 4 KiB.
const GROUPS_MAX: u64 = 1 << 18;
/// The longest descriptor, in bytes, that any kernel writes.
const DESCRIPTOR_MAX: u64 = 64;
/// The largest power: blocks have at most 2^6 KiB.
const BLOCK_POWER_MAX: u64 = 6;
/// The first inode that is not the file system's own (except the root folder, 2).
pub const FIRST_INODE: u64 = 11;

/// The geometry in the superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtShape {
    /// Bytes of a block.
    pub block_bytes: u64,
    /// Number of blocks.
    pub blocks: u64,
    /// The first block of the file system: 1 with blocks of 1 KiB.
    pub first: u64,
    /// Whether its journal holds changes that are not in place yet: while it is mounted, and after a crash.
    pub needs_recovery: bool,
    group_blocks: u64,
    table_blocks: u64,
    descriptor_bytes: u64,
    has_meta_groups: bool,
    backups: Backups,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Backups {
    /// In every group.
    All,
    /// In groups 0, 1, and powers of 3, 5 and 7.
    Sparse,
    /// In at most two groups: only group 0 is recognised.
    Two,
}

/// First blocks of a group's structures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtGroup {
    block_bitmap: u64,
    inode_bitmap: u64,
    inode_table: u64,
}

/// The little-endian number at this offset of a page; `None` beyond its end.
fn number(bytes: &[u8], at: usize, length: usize) -> Option<u64> {
    let mut all = [0; 8];
    all[..length].copy_from_slice(bytes.get(at..at + length)?);
    Some(u64::from_le_bytes(all))
}

impl ExtShape {
    /// Parses the device's first page: `struct ext4_super_block` at byte 1024. `None`: it is not valid.
    pub fn of(page: &[u8]) -> Option<ExtShape> {
        let superblock = page.get(1024..)?;
        let word = |at: usize| number(superblock, at, 4);
        let (compatible, incompatible, read_only) = (word(0x5c)?, word(0x60)?, word(0x64)?);
        let is_64_bit = incompatible & 0x80 != 0;
        let block_bytes = 1024 << Some(word(0x18)?).filter(|power| *power <= BLOCK_POWER_MAX)?;
        let high = if is_64_bit { word(0x150)? << 32 } else { 0 };
        let inode_bytes = if word(0x4c)? == 0 { 128 } else { number(superblock, 0x58, 2)? };
        let shape = ExtShape {
            block_bytes,
            blocks: word(0x4)? | high,
            first: word(0x14)?,
            needs_recovery: incompatible & 4 != 0,
            group_blocks: word(0x20)?,
            table_blocks: (word(0x28)? * inode_bytes).div_ceil(block_bytes),
            descriptor_bytes: if is_64_bit { number(superblock, 0xfe, 2)?.max(32) } else { 32 },
            has_meta_groups: incompatible & 0x10 != 0,
            backups: match (compatible & 0x200 != 0, read_only & 1 != 0) {
                (true, _) => Backups::Two,
                (_, true) => Backups::Sparse,
                _ => Backups::All,
            },
        };
        let is_sound = number(superblock, 56, 2)? == 0xef53
            && shape.group_blocks > 0
            && shape.blocks > shape.first
            && shape.first <= 1;
        is_sound.then_some(shape)
    }

    /// Number of groups.
    pub fn groups(&self) -> u64 {
        (self.blocks - self.first).div_ceil(self.group_blocks)
    }

    /// The byte range of all groups' descriptors on the device; `None`: they are not contiguous, or too many.
    pub fn descriptors(&self) -> Option<std::ops::Range<u64>> {
        if self.has_meta_groups || self.groups() > GROUPS_MAX || self.descriptor_bytes > DESCRIPTOR_MAX {
            return None;
        }
        let start = (self.first + 1) * self.block_bytes;
        Some(start..start + self.groups() * self.descriptor_bytes)
    }

    /// Parses the descriptors of the groups: `struct ext4_group_desc`.
    pub fn groups_of(&self, descriptors: &[u8]) -> Vec<ExtGroup> {
        let group = |bytes: &[u8]| {
            let place = |low: usize, high: usize| {
                let above = if self.descriptor_bytes >= 64 { number(bytes, high, 4)? << 32 } else { 0 };
                Some(number(bytes, low, 4)? | above)
            };
            let (block_bitmap, inode_bitmap, inode_table) = (place(0, 0x20)?, place(4, 0x24)?, place(8, 0x28)?);
            Some(ExtGroup { block_bitmap, inode_bitmap, inode_table })
        };
        descriptors.chunks_exact(self.descriptor_bytes as usize).filter_map(group).collect()
    }

    /// The file system's own structure at this block, if there is one.
    pub fn structure_at(&self, block: u64, groups: &[ExtGroup]) -> Option<&'static str> {
        for group in groups {
            if block == group.block_bitmap || block == group.inode_bitmap {
                return Some("a bitmap of what is in use");
            }
            if (group.inode_table..group.inode_table.saturating_add(self.table_blocks)).contains(&block) {
                return Some("a table of inodes (which files there are, and where they lie)");
            }
        }
        let (index, within) =
            ((block.checked_sub(self.first)?) / self.group_blocks, (block - self.first) % self.group_blocks);
        let descriptors = self.groups().saturating_mul(self.descriptor_bytes).div_ceil(self.block_bytes);
        let is_head = !self.has_meta_groups && self.has_backup(index) && within <= descriptors;
        match (is_head, index) {
            (true, 0) => Some("the superblock, or the descriptors behind it"),
            (true, _) => Some("a copy of the superblock, or of the descriptors behind it"),
            _ => None,
        }
    }

    fn has_backup(&self, group: u64) -> bool {
        let is_power = |base: u64| {
            let mut power = Some(base);
            while power.is_some_and(|power| power < group) {
                power = power.and_then(|power| power.checked_mul(base));
            }
            power == Some(group)
        };
        match self.backups {
            _ if group == 0 => true,
            Backups::All => true,
            Backups::Sparse => group == 1 || [3, 5, 7].into_iter().any(is_power),
            Backups::Two => false,
        }
    }
}

/// Parses the output of `testb`: which blocks are in use, and which are not. Blocks that it does not mention are left out.
pub fn in_use(output: &str) -> BTreeMap<u64, bool> {
    let block = |line: &str| {
        let (block, rest) = line.strip_prefix("Block ")?.split_once(' ')?;
        let is_used = match rest.trim_end() {
            "marked in use" => true,
            "not in use" => false,
            _ => return None,
        };
        Some((block.parse().ok()?, is_used))
    };
    output.lines().filter_map(block).collect()
}

/// Parses the output of `icheck`: the inode that uses each block, or `None`. Blocks that it does not mention are left out.
pub fn inodes(output: &str) -> BTreeMap<u64, Option<u64>> {
    let block = |line: &str| {
        let (block, inode) = line.split_once('\t')?;
        let inode = match inode.trim_end() {
            "<block not found>" => None,
            number => Some(number.parse().ok()?),
        };
        Some((block.parse().ok()?, inode))
    };
    output.lines().filter_map(block).collect()
}

/// Properties of an inode according to `stat`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtInode {
    /// Whether it is a folder.
    pub is_folder: bool,
    /// Number of its names.
    pub links: u64,
}

/// Parses the first lines of the output of `stat <INODE>`.
pub fn inode(output: &str, inode: u64) -> Option<ExtInode> {
    let first = output.lines().next()?.strip_prefix("Inode: ")?;
    let (number, rest) = first.split_once(' ')?;
    let kind = rest.trim_start().strip_prefix("Type: ")?.split(' ').next()?;
    let links = output.lines().find_map(|line| line.strip_prefix("Links: ")?.split(' ').next()?.parse().ok())?;
    (number.parse() == Ok(inode)).then(|| ExtInode { is_folder: kind == "directory", links })
}

/// Parses the output of `ncheck`: the paths of one inode, from the top of the file system. `None`: a name has a line break in it, so
/// that the output is ambiguous. (Each name is one line or more, so there are more lines than names.)
pub fn names(output: &[u8], inode: u64, properties: &ExtInode) -> Option<Vec<Vec<u8>>> {
    let mut lines = output.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
    if !lines.next()?.starts_with(b"Inode\t") {
        return None;
    }
    let start = format!("{inode}\t").into_bytes();
    let mut paths = BTreeSet::new();
    let mut count = 0;
    for line in lines {
        let path = line.strip_prefix(&start[..])?;
        // The root folder's path begins every other one.
        let slashes = path.iter().take_while(|&&byte| byte == b'/').count();
        if slashes == 0 {
            return None;
        }
        paths.insert([b"/", &path[slashes..]].concat());
        count += 1;
    }
    let names = if properties.is_folder { 1 } else { properties.links };
    (count > 0 && count <= names).then(|| paths.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The superblock of a file system of 64 MiB in blocks of 1 KiB, made by mke2fs 1.47: the fields that are used.
    fn superblock() -> Vec<u8> {
        let mut page = vec![0; 4096];
        let mut put = |at: usize, bytes: &[u8]| page[1024 + at..1024 + at + bytes.len()].copy_from_slice(bytes);
        put(4, &65536_u32.to_le_bytes());
        put(0x14, &1_u32.to_le_bytes());
        put(0x20, &8192_u32.to_le_bytes());
        put(0x28, &2048_u32.to_le_bytes());
        put(56, &[0x53, 0xef]);
        put(0x4c, &1_u32.to_le_bytes());
        put(0x58, &256_u16.to_le_bytes());
        put(0x60, &0x80_u32.to_le_bytes());
        put(0x64, &1_u32.to_le_bytes());
        put(0xfe, &64_u16.to_le_bytes());
        page
    }

    #[test]
    fn the_file_systems_own_structures_are_known_by_their_places() {
        let shape = ExtShape::of(&superblock()).unwrap();
        assert_eq!((shape.block_bytes, shape.blocks, shape.groups()), (1024, 65536, 8));
        assert_eq!(shape.descriptors(), Some(2048..2048 + 8 * 64));
        let mut crashed = superblock();
        crashed[1024 + 0x60] |= 4;
        assert!(!shape.needs_recovery && ExtShape::of(&crashed).unwrap().needs_recovery);
        let mut descriptors = vec![0; 8 * 64];
        for group in 0..8_u32 {
            let at = group as usize * 64;
            descriptors[at..at + 4].copy_from_slice(&(259 + group).to_le_bytes());
            descriptors[at + 4..at + 8].copy_from_slice(&(267 + group).to_le_bytes());
            descriptors[at + 8..at + 12].copy_from_slice(&(275 + 512 * group).to_le_bytes());
        }
        let groups = shape.groups_of(&descriptors);
        let of = |block| shape.structure_at(block, &groups);
        assert_eq!(groups.len(), 8);
        assert!(of(1).unwrap().starts_with("the superblock") && of(2).unwrap().starts_with("the superblock"));
        assert_eq!([of(0), of(3), of(258), of(275 + 8 * 512)], [None; 4]);
        assert!(of(266).unwrap().contains("bitmap") && of(274).unwrap().contains("bitmap"));
        assert!(of(275).unwrap().contains("inodes") && of(275 + 8 * 512 - 1).unwrap().contains("inodes"));
        // Group 1 begins at block 8193, group 2 at 16385, and that one has no copy.
        assert!(of(8193).unwrap().starts_with("a copy") && of(8194).unwrap().starts_with("a copy"));
        assert_eq!((of(8195), of(16385)), (None, None));
        assert!(of(3 * 8192 + 1).unwrap().starts_with("a copy"));
    }

    #[test]
    fn superblocks_that_make_no_sense_are_none() {
        assert_eq!(ExtShape::of(&[0; 100]), None);
        assert_eq!(ExtShape::of(&vec![0; 4096]), None);
        assert_eq!(ExtShape::of(&vec![0xff; 4096]), None);
        let mut page = superblock();
        page[1024 + 0x18] = 60;
        assert_eq!(ExtShape::of(&page), None, "blocks of 2^70 bytes");
        page = superblock();
        page[1024 + 0x20..1024 + 0x24].fill(0);
        assert_eq!(ExtShape::of(&page), None, "groups of no blocks");
    }

    #[test]
    fn blocks_and_inodes_in_the_output_of_debugfs_are_parsed() {
        let output = "Block 9220 marked in use\nBlock 9221 not in use\nBlock x marked in use\nBlock 5 marked\n";
        assert_eq!(in_use(output), BTreeMap::from([(9220, true), (9221, false)]));
        let output = "Block\tInode number\n9220\t12\n5000\t<block not found>\n77\tmany\n";
        assert_eq!(inodes(output), BTreeMap::from([(9220, Some(12)), (5000, None)]));
        let output =
            "Inode: 12   Type: regular    Mode:  0644   Flags: 0x80000\nFile ACL: 0\nLinks: 2   Blockcount: 2048\n";
        assert_eq!(inode(output, 12), Some(ExtInode { is_folder: false, links: 2 }));
        assert_eq!((inode(output, 13), inode("", 12), inode("Inode: 12", 12)), (None, None, None));
    }

    #[test]
    fn a_name_with_a_line_break_is_not_taken_for_two_names() {
        let two_links = ExtInode { is_folder: false, links: 2 };
        let one_link = ExtInode { is_folder: false, links: 1 };
        let parsed = |output: &str, properties: &ExtInode| {
            names(output.as_bytes(), 12, properties)
                .map(|names| names.into_iter().map(|name| String::from_utf8(name).unwrap()).collect::<Vec<_>>())
        };
        let head = "Inode\tPathname\n";
        assert_eq!(parsed(&format!("{head}12\t//a\n12\t/d/b c\n"), &two_links).unwrap(), ["/a", "/d/b c"]);
        // One name: "x", a line break, "12", a tab, "/etc/shadow".
        assert_eq!(parsed(&format!("{head}12\t//x\n12\t/etc/shadow\n"), &one_link), None);
        assert_eq!(parsed(&format!("{head}12\t//x\n12\tz\n"), &two_links), None, "no path");
        assert_eq!(parsed(&format!("{head}12\t//x\n13\t/etc/shadow\n"), &two_links), None, "another inode");
        assert_eq!((parsed(head, &one_link), parsed("", &one_link), parsed("12\t/x\n", &one_link)), (None, None, None));
        let folder = ExtInode { is_folder: true, links: 9 };
        assert_eq!(parsed(&format!("{head}12\t/d\n"), &folder).unwrap(), ["/d"]);
    }

    #[test]
    fn random_superblocks_and_outputs_cause_no_panic() {
        let mut state = 7_u64;
        let mut next = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33
        };
        let words = [
            "Block ",
            "12\t",
            "//a",
            "\n",
            " marked in use",
            "Inode\t",
            "Links: ",
            "9999999999999999999999",
            "\u{7f}",
            "<",
        ];
        for _ in 0..20_000 {
            let mut page = superblock();
            for _ in 0..1 + next() % 6 {
                let at = 1024
                    + [0x4, 0x14, 0x18, 0x20, 0x28, 0x4c, 0x58, 0x5c, 0x60, 0x64, 0xfe, 0x150][(next() % 12) as usize];
                page[at + (next() % 4) as usize] = next() as u8;
            }
            if let Some(shape) = ExtShape::of(&page) {
                let groups = shape.groups_of(&page[..512]);
                let room = shape.descriptors().map_or(0, |place| place.end - place.start);
                assert!(room <= GROUPS_MAX * DESCRIPTOR_MAX);
                for block in [0, 1, next(), u64::MAX, shape.blocks - 1] {
                    shape.structure_at(block, &groups);
                }
            }
            let output: String = (0..next() % 12).map(|_| words[(next() % 10) as usize]).collect();
            let properties = ExtInode { is_folder: false, links: next() % 3 };
            in_use(&output);
            inodes(&output);
            inode(&output, 12);
            names(output.as_bytes(), 12, &properties);
        }
    }
}
