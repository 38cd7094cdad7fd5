//! Runs: reads of one file, each where the one before it ends, that are submitted as one call.

use std::ops::Range;
use std::os::fd::RawFd;

/// Reads in one run, at most.
const RUN_READS_MAX: usize = 32;

/// The longest read in a run, in bytes: for longer ones, one call less saves nothing noticeable.
const RUN_READ_BYTES_MAX: u64 = 32 << 10;

/// A read that is held back for its neighbours.
#[derive(Debug)]
pub(super) struct WaitingRead {
    /// Its slot in the ring.
    pub slot: usize,
    /// The number of its file descriptor.
    pub fd: RawFd,
    /// The bytes of the file that it reads.
    pub range: Range<u64>,
}

impl WaitingRead {
    /// Whether `next` can follow it in a run.
    fn adjoins(&self, next: &WaitingRead) -> bool {
        let is_short = |held: &WaitingRead| held.range.end - held.range.start <= RUN_READ_BYTES_MAX;
        self.fd == next.fd && self.range.end == next.range.start && is_short(self) && is_short(next)
    }
}

/// Sorts reads by their places and cuts them into runs. A read without neighbours is a run of one.
pub(super) fn cut(held: &mut [WaitingRead]) -> impl Iterator<Item = &[WaitingRead]> {
    held.sort_unstable_by_key(|held| (held.fd, held.range.start, held.slot));
    held.chunk_by(WaitingRead::adjoins).flat_map(|run| run.chunks(RUN_READS_MAX))
}

/// A run in flight. The reads own the memory that `slices` point to, and stay in their slots meanwhile.
pub(super) struct ReadRun {
    /// The slots of its reads, in their order on the file.
    pub slots: Vec<usize>,
    /// The memory that each of them fills.
    pub slices: Vec<libc::iovec>,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(slot: usize, fd: RawFd, range: Range<u64>) -> WaitingRead {
        WaitingRead { slot, fd, range }
    }

    fn runs(mut held: Vec<WaitingRead>) -> Vec<Vec<usize>> {
        cut(&mut held).map(|run| run.iter().map(|held| held.slot).collect()).collect()
    }

    #[test]
    fn neighbours_of_one_file_make_a_run() {
        let reads = vec![
            held(0, 3, 20..30),
            held(1, 4, 30..40),
            held(2, 3, 0..10),
            held(3, 3, 10..20),
            held(4, 3, 40..50),
            held(5, 3, 40..50),
        ];
        assert_eq!(runs(reads), [vec![2, 3, 0], vec![4], vec![5], vec![1]], "a hole, another file, the same once more");
    }

    #[test]
    fn a_run_has_an_end() {
        let short = (0..70).map(|slot| held(slot, 3, slot as u64 * 512..(slot as u64 + 1) * 512)).collect();
        assert_eq!(runs(short).iter().map(Vec::len).collect::<Vec<_>>(), [32, 32, 6]);
        let most = RUN_READ_BYTES_MAX;
        let long = vec![held(0, 3, 0..most), held(1, 3, most..2 * most), held(2, 3, 2 * most..3 * most + 1)];
        assert_eq!(runs(long), [vec![0, 1], vec![2]]);
    }
}
