//! Block devices in `/sys`: which lies on which. For tests, another folder can take the place of `/sys`.

use scrubjay_core::units::SectorRange;
use std::fs;
use std::path::{Path, PathBuf};

/// The tree of `/sys`.
#[derive(Clone, Debug)]
pub struct BlockTree {
    root: PathBuf,
}

impl Default for BlockTree {
    /// That of this machine.
    fn default() -> BlockTree {
        BlockTree { root: PathBuf::from("/sys") }
    }
}

/// A block device: a disk, a partition, an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlockNode {
    /// The kernel's name.
    pub name: String,
    /// Major and minor number.
    pub numbers: (u32, u32),
    /// Its size, in sectors.
    pub sectors: u64,
    folder: PathBuf,
}

impl BlockTree {
    /// A tree in another folder that takes the place of `/sys`.
    #[cfg(test)]
    pub fn below(root: &Path) -> BlockTree {
        BlockTree { root: root.to_owned() }
    }

    /// The device with this name.
    pub fn node(&self, name: &str) -> Option<BlockNode> {
        if name.is_empty() || name.contains('/') || name.starts_with('.') {
            return None;
        }
        BlockNode::at(&self.root.join("class/block").join(name))
    }

    /// The device with these numbers.
    pub fn numbered(&self, (major, minor): (u32, u32)) -> Option<BlockNode> {
        BlockNode::at(&self.root.join(format!("dev/block/{major}:{minor}")))
    }

    /// The devices that lie on this one.
    pub fn holders(&self, node: &BlockNode) -> Vec<String> {
        names(&node.folder.join("holders"))
    }
}

impl BlockNode {
    fn at(path: &Path) -> Option<BlockNode> {
        let folder = fs::canonicalize(path).ok()?;
        let name = folder.file_name()?.to_string_lossy().into_owned();
        let dev = text(&folder.join("dev"))?;
        let (major, minor) = dev.split_once(':')?;
        let numbers = (major.parse().ok()?, minor.parse().ok()?);
        Some(BlockNode { name, numbers, sectors: number(&folder.join("size"))?, folder })
    }

    /// Its path, such as `/dev/sda`; a `!` in the kernel's name is a `/` there.
    pub fn device(&self) -> PathBuf {
        Path::new("/dev").join(self.name.replace('!', "/"))
    }

    /// All its sectors.
    pub fn all(&self) -> SectorRange {
        SectorRange::new(0, self.sectors)
    }

    /// The name of the disk of which it is a partition, and the sector at which it begins there; `None`: no partition.
    pub fn partition_of(&self) -> Option<(String, u64)> {
        if !self.folder.join("partition").exists() {
            return None;
        }
        let disk = self.folder.parent()?.file_name()?.to_string_lossy().into_owned();
        Some((disk, number(&self.folder.join("start"))?))
    }

    /// Its partitions, with the sectors of each, in order.
    pub fn partitions(&self) -> Vec<(BlockNode, SectorRange)> {
        let part = |name: &String| {
            let node = BlockNode::at(&self.folder.join(name))?;
            let start = number(&node.folder.join("start"))?;
            let range = SectorRange::new(start, start.checked_add(node.sectors)?);
            node.folder.join("partition").exists().then_some((node, range))
        };
        let mut parts: Vec<_> = names(&self.folder).iter().filter_map(part).collect();
        parts.sort_by_key(|(_, range)| *range);
        parts
    }

    /// The text of one of its files, trimmed.
    pub fn text(&self, path: &str) -> Option<String> {
        text(&self.folder.join(path))
    }

    /// The number at the beginning of one of its files.
    pub fn number(&self, path: &str) -> Option<u64> {
        number(&self.folder.join(path))
    }

    /// Whether it has this file or folder.
    pub fn has(&self, path: &str) -> bool {
        self.folder.join(path).exists()
    }

    /// The names in one of its folders.
    pub fn names(&self, path: &str) -> Vec<String> {
        names(&self.folder.join(path))
    }
}

fn text(path: &Path) -> Option<String> {
    let bytes = fs::read(path).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned())
}

/// The number at the beginning of a file. (md writes `4 (3)` while an array is being reshaped.)
fn number(path: &Path) -> Option<u64> {
    text(path)?.split_whitespace().next()?.parse().ok()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
