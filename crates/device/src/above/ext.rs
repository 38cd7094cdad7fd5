//! Finds what lies at some sectors of an ext2, ext3 or ext4, mounted or not, by debugfs, which only reads.

use super::ext_words::{self, ExtGroup, ExtShape, FIRST_INODE};
use super::labels::{LabelReader, PAGE};
use super::mounted::{FOR_RESCUE, MountedAt};
use super::nodes::BlockNode;
use super::story::{EndKind, SectorEnd};
use crate::tool::{self, ToolError};
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};
use std::collections::BTreeMap;

/// The message for a file system that is larger than its device.
pub const LARGER_THAN_DEVICE: &str = "it is larger than the device: that may be a member of an array that does not run";
/// Names of one file that are returned, at most.
const NAMES_MAX: usize = 16;

/// The use of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
struct BlockUsage {
    kind: EndKind,
    words: String,
    files: Vec<String>,
}

/// Finds what lies in these sectors of the device.
pub fn find_ends(node: &BlockNode, range: SectorRange, mount: Option<&MountedAt>) -> Vec<SectorEnd> {
    Lookup::new(node, mount).and_then(|mut lookup| lookup.ends(range)).unwrap_or_else(|reason| {
        vec![SectorEnd::unknown(&node.name, range, format!("what lies there in the ext4 is not known: {reason}"))]
    })
}

struct Lookup<'a> {
    node: &'a BlockNode,
    device: String,
    mount: Option<&'a MountedAt>,
    shape: ExtShape,
    groups: Vec<ExtGroup>,
    known: BTreeMap<u64, BlockUsage>,
}

impl<'a> Lookup<'a> {
    fn new(node: &'a BlockNode, mount: Option<&'a MountedAt>) -> Result<Lookup<'a>, String> {
        let device = node.device().display().to_string();
        let mut reader = LabelReader::open(&node.device()).map_err(|error| error.to_string())?;
        let shape = reader.page(0).and_then(ExtShape::of);
        let shape = shape.ok_or("its superblock cannot be read, or makes no sense")?;
        if mount.is_some_and(|mount| mount.is_for_rescue) && shape.needs_recovery {
            return Err(FOR_RESCUE.to_owned());
        }
        let bytes = node.sectors.saturating_mul(SECTOR_BYTES);
        if shape.blocks.saturating_mul(shape.block_bytes) > bytes {
            return Err(LARGER_THAN_DEVICE.to_owned());
        }
        // Its tables on disk are out of date then: a block that is free there may belong to a file.
        if shape.needs_recovery && mount.is_none() {
            return Err("it was not unmounted in order, so its journal has to be replayed first: mount it (or have e2fsck do it), and ask again".to_owned());
        }
        let groups = shape.descriptors().and_then(|place| {
            let mut bytes = Vec::new();
            let first = place.start / PAGE as u64 * PAGE as u64;
            for at in (first..place.end).step_by(PAGE) {
                bytes.extend_from_slice(reader.page(at)?);
            }
            let from = (place.start - first) as usize;
            Some(shape.groups_of(&bytes[from..from + (place.end - place.start) as usize]))
        });
        Ok(Lookup { node, device, mount, shape, groups: groups.unwrap_or_default(), known: BTreeMap::new() })
    }

    /// Runs debugfs with `-c`, which does not read all bitmaps first (a GiB in 16 TB).
    fn debugfs(&self, request: &str) -> Result<Vec<u8>, ToolError> {
        tool::run("debugfs", &["-c", "-R", request, &self.device])
    }

    /// Runs debugfs with the bitmaps.
    fn debugfs_with_bitmaps(&self, request: &str) -> Result<Vec<u8>, ToolError> {
        tool::run("debugfs", &["-R", request, &self.device])
    }

    fn ends(&mut self, range: SectorRange) -> Result<Vec<SectorEnd>, String> {
        let sectors = self.shape.block_bytes / SECTOR_BYTES;
        let blocks = range.start.0 / sectors..range.end.0.div_ceil(sectors);
        let valid_blocks: Vec<u64> =
            blocks.clone().filter(|block| (self.shape.first.max(1)..self.shape.blocks).contains(block)).collect();
        let (mut used, mut inodes) = (BTreeMap::new(), BTreeMap::new());
        if let (Some(first), false) = (valid_blocks.first(), valid_blocks.is_empty()) {
            let list: Vec<String> = valid_blocks.iter().map(u64::to_string).collect();
            let text = |output: Vec<u8>| String::from_utf8_lossy(&output).into_owned();
            let message = |error: ToolError| error.to_string();
            used = ext_words::in_use(&text(
                self.debugfs_with_bitmaps(&format!("testb {first} {}", valid_blocks.len())).map_err(message)?,
            ));
            inodes = ext_words::inodes(&text(self.debugfs(&format!("icheck {}", list.join(" "))).map_err(message)?));
        }
        let mut ends: Vec<SectorEnd> = Vec::new();
        for block in blocks {
            let usage = self.usage(block, used.get(&block).copied(), inodes.get(&block).copied());
            let piece = range.intersection(SectorRange::new(block * sectors, (block + 1) * sectors));
            match ends.last_mut() {
                Some(last) if (last.kind, &last.words, &last.files) == (usage.kind, &usage.words, &usage.files) => {
                    last.range.end = piece.end;
                }
                _ => {
                    let mut end = SectorEnd::of(&self.node.name, piece, usage.kind, usage.words);
                    end.files = usage.files;
                    ends.push(end);
                }
            }
        }
        Ok(ends)
    }

    /// The use of a block, according to the bitmap and the inodes.
    fn usage(&mut self, block: u64, used: Option<bool>, inode: Option<Option<u64>>) -> BlockUsage {
        let usage = |kind, words: &str| BlockUsage { kind, words: words.to_owned(), files: Vec::new() };
        let unknown = |words: &str| usage(EndKind::Unknown, words);
        // debugfs does not accept 0 as a block, but that one is always in use.
        if block == 0 && self.shape.first == 0 {
            return usage(
                EndKind::Metadata,
                "metadata of ext4: the superblock, and the room of a boot loader before it",
            );
        }
        if block < self.shape.first || block >= self.shape.blocks {
            return usage(
                EndKind::Outside,
                "before or behind the blocks of the ext4: the place of a boot loader, or left over",
            );
        }
        match (used, inode) {
            (Some(false), Some(None)) => usage(EndKind::Free, "ext4 says that it is free: nothing is stored there"),
            (Some(false), Some(Some(inode))) => {
                unknown(&format!("ext4 contradicts itself: free, and part of inode {inode}: have e2fsck look at it"))
            }
            (Some(true), Some(Some(inode))) => self.inode_usage(inode),
            (Some(true), Some(None)) => match self.shape.structure_at(block, &self.groups) {
                Some(structure) => usage(EndKind::Metadata, &format!("metadata of ext4: {structure}")),
                None => unknown(
                    "in use, says ext4, by nothing that has a name: a deleted file that is still open, or a file that is being written",
                ),
            },
            _ => unknown("debugfs does not say what lies there"),
        }
    }

    fn inode_usage(&mut self, inode: u64) -> BlockUsage {
        if let Some(known) = self.known.get(&inode) {
            return known.clone();
        }
        let reserved = match inode {
            1 => Some("list of bad blocks: nothing is stored there"),
            3 | 4 => Some("its quotas"),
            7 => Some("room for more descriptors, which it keeps for the day when it is enlarged"),
            8 => Some("its journal, which is replayed only after a crash"),
            2 => None,
            inode if inode < FIRST_INODE => Some("one of its own inodes"),
            _ => None,
        };
        let usage = match reserved {
            Some(purpose) if inode == 1 => {
                BlockUsage { kind: EndKind::Free, words: format!("on ext4's {purpose}"), files: Vec::new() }
            }
            Some(purpose) => {
                BlockUsage { kind: EndKind::Metadata, words: format!("metadata of ext4: {purpose}"), files: Vec::new() }
            }
            None => self.file_usage(inode),
        };
        self.known.insert(inode, usage.clone());
        usage
    }

    fn file_usage(&self, inode: u64) -> BlockUsage {
        let properties = self.debugfs(&format!("stat <{inode}>")).ok();
        let properties = properties.and_then(|output| ext_words::inode(&String::from_utf8_lossy(&output), inode));
        let names = properties.as_ref().and_then(|properties| {
            let output = self.debugfs(&format!("ncheck {inode}")).ok()?;
            ext_words::names(&output, inode, properties)
        });
        let is_folder = properties.as_ref().is_some_and(|properties| properties.is_folder);
        let files: Vec<String> = names.iter().flatten().take(NAMES_MAX).map(|name| self.path(name, inode)).collect();
        let name = if files.is_empty() { ", whose name could not be found" } else { "" };
        match is_folder {
            true => {
                let words = format!("metadata of ext4: the names in a folder (inode {inode}{name})");
                BlockUsage { kind: EndKind::Metadata, words, files }
            }
            false => {
                BlockUsage { kind: EndKind::File, words: format!("a file of the ext4 (inode {inode}{name})"), files }
            }
        }
    }

    fn path(&self, name: &[u8], inode: u64) -> String {
        match self.mount {
            Some(mount) => mount.path_of_inode(name, inode),
            None => MountedAt::path_without(name, &self.device),
        }
    }
}
