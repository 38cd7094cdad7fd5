//! The kernel's claims about a device's geometry, compared with the measurement.

use scrubjay_device::sysfs::DiskNode;
use serde::Serialize;

/// Blocks in the bogus optimal size of USB bridges and disks that have none, 33,553,920 bytes as a rule (util-linux#1221).
const BOGUS_BLOCKS: u64 = 65_535;

/// The limits in `/sys/block/X/queue`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// The minimum: often the chunk, or just the physical block.
    pub minimum_io_size: u64,
    /// The optimum: usually the width of a stripe, or 0: not known.
    pub optimal_io_size: u64,
    /// The first byte that is aligned, for blocks of the minimum; -1: none is.
    pub alignment_offset: i64,
    /// The size of a block that is written at once.
    pub physical_block_size: u64,
}

/// How a claim compares with what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelJudgement {
    /// The kernel claims nothing.
    Silent,
    /// The claim matches the measurement.
    Right,
    /// The claim does not match the measurement.
    Wrong,
    /// The claim is impossible: 65,535 blocks.
    Bogus,
    /// The claim is impossible: not whole physical blocks.
    Odd,
    /// Nothing was measured to compare the claim with.
    Open,
}

impl Kernel {
    /// The claims for a disk, or for a part of it that begins this far from an aligned byte.
    pub fn of(disk: &DiskNode, alignment_offset: Option<i64>) -> Option<Kernel> {
        Some(Kernel {
            minimum_io_size: disk.number("queue/minimum_io_size")?,
            optimal_io_size: disk.number("queue/optimal_io_size")?,
            alignment_offset: alignment_offset.unwrap_or(0),
            physical_block_size: disk.number("queue/physical_block_size")?,
        })
    }

    /// Compares the minimum with the chunk.
    pub fn minimum(&self, chunk_bytes: Option<u64>) -> KernelJudgement {
        match chunk_bytes {
            Some(chunk) if self.minimum_io_size == chunk => KernelJudgement::Right,
            _ if self.minimum_io_size <= self.physical_block_size => KernelJudgement::Silent,
            _ if self.is_odd(self.minimum_io_size) => KernelJudgement::Odd,
            Some(_) => KernelJudgement::Wrong,
            None => KernelJudgement::Open,
        }
    }

    /// Compares the optimum with the possible widths of a stripe.
    pub fn optimum(&self, widths: &[u64]) -> KernelJudgement {
        match self.optimal_io_size {
            0 => KernelJudgement::Silent,
            size if widths.contains(&size) => KernelJudgement::Right,
            size if is_bogus(size) => KernelJudgement::Bogus,
            size if self.is_odd(size) => KernelJudgement::Odd,
            _ if widths.is_empty() => KernelJudgement::Open,
            _ => KernelJudgement::Wrong,
        }
    }

    /// Compares the alignment with the chunk and the first byte at which one begins.
    pub fn alignment(&self, chunk_and_phase: Option<(u64, u64)>) -> KernelJudgement {
        let Some((chunk, phase)) = chunk_and_phase else { return KernelJudgement::Open };
        // The claim concerns blocks of this many bytes.
        let block = self.minimum_io_size.max(self.physical_block_size).max(1);
        match u64::try_from(self.alignment_offset) {
            Ok(offset) if offset % chunk == phase % chunk => KernelJudgement::Right,
            // It is true for its blocks, but they are smaller than a chunk.
            Ok(offset) if chunk > block && offset % block == phase % block => KernelJudgement::Silent,
            _ => KernelJudgement::Wrong,
        }
    }

    fn is_odd(&self, size: u64) -> bool {
        !size.is_multiple_of(self.physical_block_size.max(1))
    }
}

fn is_bogus(size: u64) -> bool {
    size.is_multiple_of(BOGUS_BLOCKS) && matches!(size / BOGUS_BLOCKS, 512 | 4096)
}

impl KernelJudgement {
    /// The judgement in words.
    pub const fn words(self) -> &'static str {
        match self {
            KernelJudgement::Silent => "not set",
            KernelJudgement::Right => "correct",
            KernelJudgement::Wrong => "wrong",
            KernelJudgement::Bogus => "bogus: 65535 blocks",
            KernelJudgement::Odd => "odd: not whole physical blocks",
            KernelJudgement::Open => "not checked",
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
        assert_eq!(kernel(4096, 0).minimum(Some(65_536)), KernelJudgement::Silent);
        assert_eq!(kernel(65_536, 0).minimum(Some(65_536)), KernelJudgement::Right);
        assert_eq!(kernel(131_072, 0).minimum(Some(65_536)), KernelJudgement::Wrong);
        assert_eq!(kernel(131_072, 0).minimum(None), KernelJudgement::Open);
        assert_eq!(kernel(4097, 0).minimum(None), KernelJudgement::Odd);
        assert_eq!(kernel(4096, 0).optimum(&[262_144]), KernelJudgement::Silent);
        assert_eq!(kernel(4096, 33_553_920).optimum(&[]), KernelJudgement::Bogus);
        assert_eq!(kernel(4096, 65_535 * 4096).optimum(&[262_144]), KernelJudgement::Bogus);
        assert_eq!(kernel(4096, 262_144).optimum(&[262_144, 196_608]), KernelJudgement::Right);
        assert_eq!(kernel(4096, 42 << 20).optimum(&[262_144]), KernelJudgement::Wrong);
        assert_eq!(kernel(4096, 1000).optimum(&[262_144]), KernelJudgement::Odd);
        assert_eq!(kernel(4096, 1 << 20).optimum(&[]), KernelJudgement::Open);
    }

    #[test]
    fn an_alignment_is_right_where_a_chunk_begins_there() {
        let kernel = |minimum_io_size, alignment_offset| Kernel {
            minimum_io_size,
            optimal_io_size: 0,
            alignment_offset,
            physical_block_size: 4096,
        };
        assert_eq!(kernel(65_536, 0).alignment(Some((65_536, 0))), KernelJudgement::Right);
        assert_eq!(kernel(65_536, 11_264).alignment(Some((65_536, 11_264))), KernelJudgement::Right);
        assert_eq!(kernel(65_536, 0).alignment(Some((65_536, 11_264))), KernelJudgement::Wrong);
        assert_eq!(kernel(4096, 0).alignment(Some((65_536, 8192))), KernelJudgement::Silent, "true of 4 KiB");
        assert_eq!(kernel(4096, 0).alignment(Some((65_536, 512))), KernelJudgement::Wrong);
        assert_eq!(kernel(4096, 512).alignment(Some((512, 0))), KernelJudgement::Right, "any byte is, for such chunks");
        assert_eq!(kernel(4096, -1).alignment(Some((65_536, 0))), KernelJudgement::Wrong);
        assert_eq!(kernel(4096, 0).alignment(None), KernelJudgement::Open);
    }
}
