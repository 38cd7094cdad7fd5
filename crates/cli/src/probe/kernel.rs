//! What the kernel claims of a device's geometry, and whether that is so.

use scrubjay_device::sysfs::DiskNode;
use serde::Serialize;

/// What USB bridges and disks say that have no optimal size: so many blocks, 33,553,920 bytes as a rule
/// (util-linux#1221).
const BOGUS_BLOCKS: u64 = 65_535;

/// The limits in `/sys/block/X/queue`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// Often the chunk, or just the physical block.
    pub minimum_io_size: u64,
    /// Usually the width of a stripe, or 0: nothing is known.
    pub optimal_io_size: u64,
    /// The first byte that is aligned, for blocks of the minimum; -1 where none is.
    pub alignment_offset: i64,
    /// The block that is written at once.
    pub physical_block_size: u64,
}

/// How a claim compares with what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It says nothing.
    Silent,
    /// It is what was measured.
    Right,
    /// It is not.
    Wrong,
    /// It cannot be: 65,535 blocks.
    Bogus,
    /// It cannot be: not whole physical blocks.
    Odd,
    /// Nothing was measured to compare it with.
    Open,
}

impl Kernel {
    /// Of a disk, or of a part of it that begins so far from an aligned byte.
    pub fn of(disk: &DiskNode, alignment_offset: Option<i64>) -> Option<Kernel> {
        Some(Kernel {
            minimum_io_size: disk.number("queue/minimum_io_size")?,
            optimal_io_size: disk.number("queue/optimal_io_size")?,
            alignment_offset: alignment_offset.unwrap_or(0),
            physical_block_size: disk.number("queue/physical_block_size")?,
        })
    }

    /// The minimum against the chunk.
    pub fn minimum(&self, chunk_bytes: Option<u64>) -> Judgement {
        match chunk_bytes {
            Some(chunk) if self.minimum_io_size == chunk => Judgement::Right,
            _ if self.minimum_io_size <= self.physical_block_size => Judgement::Silent,
            _ if self.is_odd(self.minimum_io_size) => Judgement::Odd,
            Some(_) => Judgement::Wrong,
            None => Judgement::Open,
        }
    }

    /// The optimum against the width of a stripe: one of these.
    pub fn optimum(&self, widths: &[u64]) -> Judgement {
        match self.optimal_io_size {
            0 => Judgement::Silent,
            size if widths.contains(&size) => Judgement::Right,
            size if is_bogus(size) => Judgement::Bogus,
            size if self.is_odd(size) => Judgement::Odd,
            _ if widths.is_empty() => Judgement::Open,
            _ => Judgement::Wrong,
        }
    }

    /// The alignment against the chunk and the first byte at which one begins.
    pub fn alignment(&self, chunk_and_phase: Option<(u64, u64)>) -> Judgement {
        let Some((chunk, phase)) = chunk_and_phase else { return Judgement::Open };
        // What it speaks of: blocks of so many bytes.
        let grain = self.minimum_io_size.max(self.physical_block_size).max(1);
        match u64::try_from(self.alignment_offset) {
            Ok(offset) if offset % chunk == phase % chunk => Judgement::Right,
            // True of its blocks, but they are less than a chunk.
            Ok(offset) if chunk > grain && offset % grain == phase % grain => Judgement::Silent,
            _ => Judgement::Wrong,
        }
    }

    fn is_odd(&self, size: u64) -> bool {
        !size.is_multiple_of(self.physical_block_size.max(1))
    }
}

fn is_bogus(size: u64) -> bool {
    size.is_multiple_of(BOGUS_BLOCKS) && matches!(size / BOGUS_BLOCKS, 512 | 4096)
}

impl Judgement {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Judgement::Silent => "says nothing",
            Judgement::Right => "right",
            Judgement::Wrong => "wrong",
            Judgement::Bogus => "bogus: 65535 blocks",
            Judgement::Odd => "odd: not whole physical blocks",
            Judgement::Open => "not checked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn claims_are_judged_by_what_was_measured() {
        let kernel = |minimum, optimal| Kernel {
            minimum_io_size: minimum,
            optimal_io_size: optimal,
            alignment_offset: 0,
            physical_block_size: 4096,
        };
        assert_eq!(kernel(4096, 0).minimum(Some(65_536)), Judgement::Silent);
        assert_eq!(kernel(65_536, 0).minimum(Some(65_536)), Judgement::Right);
        assert_eq!(kernel(131_072, 0).minimum(Some(65_536)), Judgement::Wrong);
        assert_eq!(kernel(131_072, 0).minimum(None), Judgement::Open);
        assert_eq!(kernel(4097, 0).minimum(None), Judgement::Odd);
        assert_eq!(kernel(4096, 0).optimum(&[262_144]), Judgement::Silent);
        assert_eq!(kernel(4096, 33_553_920).optimum(&[]), Judgement::Bogus);
        assert_eq!(kernel(4096, 65_535 * 4096).optimum(&[262_144]), Judgement::Bogus);
        assert_eq!(kernel(4096, 262_144).optimum(&[262_144, 196_608]), Judgement::Right);
        assert_eq!(kernel(4096, 42 << 20).optimum(&[262_144]), Judgement::Wrong);
        assert_eq!(kernel(4096, 1000).optimum(&[262_144]), Judgement::Odd);
        assert_eq!(kernel(4096, 1 << 20).optimum(&[]), Judgement::Open);
    }

    #[test]
    fn an_alignment_is_right_where_a_chunk_begins_there() {
        let kernel = |minimum_io_size, alignment_offset| Kernel {
            minimum_io_size,
            optimal_io_size: 0,
            alignment_offset,
            physical_block_size: 4096,
        };
        assert_eq!(kernel(65_536, 0).alignment(Some((65_536, 0))), Judgement::Right);
        assert_eq!(kernel(65_536, 11_264).alignment(Some((65_536, 11_264))), Judgement::Right);
        assert_eq!(kernel(65_536, 0).alignment(Some((65_536, 11_264))), Judgement::Wrong);
        assert_eq!(kernel(4096, 0).alignment(Some((65_536, 8192))), Judgement::Silent, "true of 4 KiB");
        assert_eq!(kernel(4096, 0).alignment(Some((65_536, 512))), Judgement::Wrong);
        assert_eq!(kernel(4096, 512).alignment(Some((512, 0))), Judgement::Right, "any byte is, for such chunks");
        assert_eq!(kernel(4096, -1).alignment(Some((65_536, 0))), Judgement::Wrong);
        assert_eq!(kernel(4096, 0).alignment(None), Judgement::Open);
    }
}
