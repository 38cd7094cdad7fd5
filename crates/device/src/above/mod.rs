//! Finds what lies above a sector of a disk: partition, array, file system, file. Writes nothing and guesses nothing: what cannot
//! be resolved is reported as unknown.
//!
//! ```text
//! disk, sector --> nodes (/sys) --> walk --> members (md), mapper (LVM) --> walk again, one layer up
//!                                      \--> ends: nothing lies on it
//!                                              labels, mounted --> ext (debugfs), xfs (GETFSMAP, xfs_db),
//!                                                                  btrfs (its trees), volume (Scrubjay's)
//! ```
//! `core::layout::md_map` has md's arithmetic; `*_words` and `mapper` parse the output of other programs. These are pure.

mod ends;
mod ext;
mod ext_words;
mod fsmap;
pub mod labels;
mod mapper;
mod members;
mod mounted;
mod nodes;
mod search;
mod story;
mod volume;
mod walk;
mod xfs;
mod xfs_words;

pub use nodes::{BlockNode, BlockTree};
pub use story::{EndKind, Keeper, LayerKind, SectorEnd, SectorLayer, SectorStory, StripePlace};

use scrubjay_core::units::SectorRange;
use std::fs;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;
use walk::Surroundings;

/// This machine: `dmsetup`, and the contents of its devices.
struct ThisMachine;

impl Surroundings for ThisMachine {
    fn table(&self, node: &BlockNode) -> Result<String, String> {
        mapper::table(node).map_err(|error| error.to_string())
    }

    fn ends(&self, node: &BlockNode, range: SectorRange, depth: usize) -> (Vec<SectorLayer>, Vec<SectorEnd>) {
        ends::find_ends(node, range, depth)
    }
}

/// The block device at this path: a disk, a partition, an array. `None`: something else.
///
/// # Errors
/// When the path does not exist, or may not be inspected.
pub fn device(path: &Path) -> io::Result<Option<BlockNode>> {
    let metadata = fs::metadata(path)?;
    let numbers = crate::target::numbers(metadata.rdev());
    Ok(metadata.file_type().is_block_device().then(|| BlockTree::default().numbered(numbers)).flatten())
}

/// Finds what lies above these sectors of the device.
pub fn look_up(node: &BlockNode, range: SectorRange) -> SectorStory {
    walk::walk(&BlockTree::default(), &ThisMachine, node, range)
}

#[cfg(test)]
mod tests;
