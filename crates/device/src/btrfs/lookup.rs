//! Looks up what lies at a place on a device of a mounted btrfs, block by block. Reads only the trees, and writes nothing.

use super::inspect::Inspector;
use super::names::FileNames;
use std::io;
use std::ops::Range;

/// Byte offsets of the superblocks on each device (`BTRFS_SUPER_MIRROR_SHIFT`).
const SUPERBLOCKS: [u64; 3] = [64 << 10, 64 << 20, 256 << 30];
/// Bytes of a superblock.
const SUPERBLOCK_BYTES: u64 = 4096;
/// The first byte that can be allocated (`BTRFS_DEVICE_RANGE_RESERVED`).
const RESERVED: u64 = 1 << 20;

/// Looks up places.
pub struct PoolLookup {
    pub(super) inspector: Inspector,
    pub(super) names: FileNames,
    /// Bytes of the smallest block.
    pub(super) sector: u64,
    /// A feature in use that moves places, or that is not known here.
    pub(super) foreign: Option<String>,
}

/// A run of bytes on a device with the same use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolPiece {
    /// The bytes on the device.
    pub bytes: Range<u64>,
    /// Their use.
    pub usage: PoolUse,
    /// The chunk's profile, if there is a chunk: `RAID1`.
    pub profile: Option<&'static str>,
    /// Number of other places that hold the same data.
    pub copies: usize,
    /// Number of further such places on devices that are missing.
    pub copies_missing: usize,
    /// The files that the data belong to, escaped for display.
    pub files: Vec<String>,
    /// Number of further files.
    pub files_omitted: u64,
}

/// The use of a place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolUse {
    /// One of the device's superblocks.
    Superblock,
    /// The first MiB, which btrfs leaves to boot loaders.
    Reserved,
    /// It belongs to no chunk.
    Unallocated,
    /// It belongs to a chunk, but to no extent.
    Unused,
    /// A tree block.
    TreeBlock,
    /// Data of files.
    Data,
    /// Only the chunk is known, for this reason.
    OnlyChunk(String),
}

impl PoolLookup {
    /// The uses of these bytes of the device with this number, in order.
    ///
    /// # Errors
    /// The trees cannot be searched, or are inconsistent.
    pub fn pieces(&mut self, device: u64, bytes: &Range<u64>) -> io::Result<Vec<PoolPiece>> {
        let mut pieces: Vec<PoolPiece> = Vec::new();
        let mut at = bytes.start / self.sector * self.sector;
        while at < bytes.end {
            let end = at + self.sector;
            let mut piece = self.block(device, at)?;
            piece.bytes = at.max(bytes.start)..end.min(bytes.end);
            match pieces.last_mut() {
                Some(last) if is_same(last, &piece) => last.bytes.end = piece.bytes.end,
                _ => pieces.push(piece),
            }
            at = end;
        }
        Ok(pieces)
    }

    fn block(&mut self, device: u64, at: u64) -> io::Result<PoolPiece> {
        let bytes = at..at + self.sector;
        let piece = |usage| PoolPiece {
            bytes: bytes.clone(),
            usage,
            profile: None,
            copies: 0,
            copies_missing: 0,
            files: Vec::new(),
            files_omitted: 0,
        };
        if SUPERBLOCKS.into_iter().any(|place| place < bytes.end && at < place + SUPERBLOCK_BYTES) {
            return Ok(piece(PoolUse::Superblock));
        }
        if at < RESERVED {
            return Ok(piece(PoolUse::Reserved));
        }
        let placed = self.inspector.extents(device, &bytes)?;
        let Some(placed) = placed.first() else { return Ok(piece(PoolUse::Unallocated)) };
        let chunk = &placed.chunk;
        let mut piece = PoolPiece { profile: Some(chunk.profile()), ..piece(PoolUse::Unused) };
        if let Some(feature) = &self.foreign {
            piece.usage = PoolUse::OnlyChunk(format!("the file system uses `{feature}`"));
            return Ok(piece);
        }
        let inside = at - placed.extent.physical;
        let runs = chunk.runs(placed.stripe, inside..inside + self.sector);
        let Some(run) = runs.first() else {
            piece.usage = PoolUse::OnlyChunk(format!("of {} only the chunk is known here", chunk.profile()));
            return Ok(piece);
        };
        let other_copies = chunk.copies(run.logical).into_iter().filter(|&copy| copy != (device, at));
        let (present, missing): (Vec<_>, Vec<_>) =
            other_copies.partition(|(number, _)| self.inspector.is_present(*number));
        (piece.copies, piece.copies_missing) = (present.len(), missing.len());
        let logical = run.logical..run.logical + self.sector;
        if chunk.holds_tree_blocks() && self.inspector.is_tree_block(&logical)? {
            piece.usage = PoolUse::TreeBlock;
        } else if self.inspector.is_used(logical.start)? {
            piece.usage = if chunk.holds_data() { PoolUse::Data } else { PoolUse::TreeBlock };
            if chunk.holds_data() {
                match self.names.of_block(logical.start) {
                    Ok((files, files_omitted)) => (piece.files, piece.files_omitted) = (files, files_omitted),
                    Err(error) => {
                        piece.usage =
                            PoolUse::OnlyChunk(format!("in use, and whose it is could not be found ({error})"));
                    }
                }
            }
        }
        Ok(piece)
    }
}

/// Whether two pieces differ only in their place.
fn is_same(first: &PoolPiece, second: &PoolPiece) -> bool {
    let of = |piece: &PoolPiece| {
        (
            piece.usage.clone(),
            piece.profile,
            (piece.copies, piece.copies_missing),
            piece.files.clone(),
            piece.files_omitted,
        )
    };
    of(first) == of(second)
}
