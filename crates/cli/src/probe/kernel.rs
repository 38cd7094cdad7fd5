//! What the kernel claims of a device's geometry, and whether that is so.

use scrubjay_device::sysfs::DiskNode;
use serde::Serialize;

/// 65,535 sectors: what USB bridges say that have no optimal size (util-linux#1221).
const BOGUS: u64 = 33_553_920;

/// The limits in `/sys/block/X/queue`, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Kernel {
    /// Often the chunk, or just the physical block.
    pub minimum_io_size: u64,
    /// Usually the width of a stripe, or 0: nothing is known.
    pub optimal_io_size: u64,
    /// By how much the device begins off a natural boundary.
    pub alignment_offset: u64,
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
    /// It cannot be.
    Bogus,
    /// Nothing was measured to compare it with.
    Open,
}

impl Kernel {
    /// Of a disk.
    pub fn of(disk: &DiskNode) -> Option<Kernel> {
        Some(Kernel {
            minimum_io_size: disk.number("queue/minimum_io_size")?,
            optimal_io_size: disk.number("queue/optimal_io_size")?,
            alignment_offset: disk.number("alignment_offset").unwrap_or(0),
            physical_block_size: disk.number("queue/physical_block_size")?,
        })
    }

    /// The minimum against the chunk.
    pub fn minimum(&self, chunk_bytes: Option<u64>) -> Judgement {
        match chunk_bytes {
            Some(chunk) if self.minimum_io_size == chunk => Judgement::Right,
            _ if self.minimum_io_size <= self.physical_block_size => Judgement::Silent,
            Some(_) => Judgement::Wrong,
            None => Judgement::Open,
        }
    }

    /// The optimum against the width of a stripe: one of these.
    pub fn optimum(&self, widths: &[u64]) -> Judgement {
        match self.optimal_io_size {
            0 => Judgement::Silent,
            BOGUS => Judgement::Bogus,
            _ if widths.is_empty() => Judgement::Open,
            size if widths.contains(&size) => Judgement::Right,
            _ => Judgement::Wrong,
        }
    }
}

impl Judgement {
    /// In words.
    pub const fn words(self) -> &'static str {
        match self {
            Judgement::Silent => "says nothing",
            Judgement::Right => "right",
            Judgement::Wrong => "wrong",
            Judgement::Bogus => "bogus: 65535 sectors",
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
        assert_eq!(kernel(4096, 0).optimum(&[262_144]), Judgement::Silent);
        assert_eq!(kernel(4096, BOGUS).optimum(&[]), Judgement::Bogus);
        assert_eq!(kernel(4096, 262_144).optimum(&[262_144, 196_608]), Judgement::Right);
        assert_eq!(kernel(4096, 42 << 20).optimum(&[262_144]), Judgement::Wrong);
    }
}
