//! `read`: reads through io_uring, or through `pread` where the kernel refuses a ring.

use super::blocking::Blocking;
use super::pread::Pread;
use super::ring::{self, ReadRing};
use super::{OpenedVerifier, Verifier, VerifierError, VerifierSetup};
use std::fs::File;
use std::io;

/// Opens the reader.
pub(super) fn open(setup: VerifierSetup) -> Result<OpenedVerifier, VerifierError> {
    let ring = ring::create(setup.depth);
    Ok(open_with(setup, ring))
}

/// Opens the reader with the result of the attempt to create a ring.
fn open_with(setup: VerifierSetup, ring: io::Result<io_uring::IoUring>) -> OpenedVerifier {
    let VerifierSetup { file, logical_block, depth, request_max, .. } = setup;
    let (verifier, engine, depth, note): (Box<dyn Verifier>, _, _, _) = match ring {
        Ok(uring) => {
            let ring = ReadRing::new(uring, file, depth, request_max);
            (Box::new(ring), "io_uring", depth, None)
        }
        Err(error) => {
            let method = match bypasses_page_cache(&file) {
                true => "direct reads",
                false => "reads through the page cache, which may answer in place of the disk",
            };
            let pread = Blocking::new(Pread::new(file, logical_block, request_max));
            (Box::new(pread), "pread", 1, Some(format!("{method}, one at a time: io_uring is refused ({error})")))
        }
    };
    OpenedVerifier { verifier, name: "read", engine, depth, note }
}

/// Whether the file was opened with O_DIRECT.
fn bypasses_page_cache(file: &File) -> bool {
    rustix::fs::fcntl_getfl(file).is_ok_and(|flags| flags.contains(rustix::fs::OFlags::DIRECT))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::machine::OpId;
    use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
    use scrubjay_core::units::{Bytes, Nanos, SectorRange};
    use std::collections::BTreeMap;
    use std::fs::OpenOptions;
    use std::io::Write;
    use std::os::unix::fs::OpenOptionsExt;

    /// Sectors of the test file: 3 MiB.
    const SECTORS: u64 = 6144;
    const SOON: Nanos = Nanos::from_secs(60);

    /// A file of 3 MiB, open with O_DIRECT where its file system supports it.
    fn target() -> File {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&vec![0x5a; (SECTORS * 512) as usize]).unwrap();
        file.as_file().sync_all().unwrap();
        let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(file.path());
        direct.or_else(|_| File::open(file.path())).unwrap()
    }

    fn setup(depth: u8, request_max: Bytes) -> VerifierSetup {
        VerifierSetup { file: target(), is_block_device: false, logical_block: Bytes(4096), depth, request_max }
    }

    /// Each engine that works on this kernel. The ring may be refused where the tests run.
    fn engines(depth: u8, request_max: Bytes) -> Vec<OpenedVerifier> {
        let refused = open_with(setup(depth, request_max), Err(io::Error::from_raw_os_error(libc::EPERM)));
        assert_eq!((refused.engine, refused.depth), ("pread", 1));
        assert!(refused.note.as_ref().is_some_and(|note| note.contains("io_uring is refused")));
        vec![open(setup(depth, request_max)).unwrap(), refused]
    }

    fn verify_range(opened: &mut OpenedVerifier, range: SectorRange) -> (VerifyOutcome, u64) {
        opened.verifier.submit(OpId(7), range);
        let answer = opened.verifier.wait(SOON).expect("a file answers");
        assert_eq!(answer.id, OpId(7));
        assert!(answer.started <= answer.finished);
        (answer.outcome, answer.counted)
    }

    #[test]
    fn reads_in_the_middle_and_at_the_end() {
        for mut opened in engines(1, Bytes::mib(1)) {
            assert_eq!(verify_range(&mut opened, SectorRange::at(8, 8)), (VerifyOutcome::Clean, 8));
            assert_eq!(verify_range(&mut opened, SectorRange::at(1024, 2048)), (VerifyOutcome::Clean, 2048));
            assert_eq!(verify_range(&mut opened, SectorRange::new(SECTORS - 8, SECTORS)), (VerifyOutcome::Clean, 8));
            assert_eq!(opened.verifier.wait(Nanos::ZERO), None, "nothing is out");
        }
    }

    #[test]
    fn a_range_greater_than_a_request_is_read_in_pieces() {
        for mut opened in engines(1, Bytes::kib(64)) {
            assert_eq!(verify_range(&mut opened, SectorRange::new(0, SECTORS)), (VerifyOutcome::Clean, SECTORS));
        }
    }

    #[test]
    fn the_end_inside_a_range_means_that_the_target_is_gone() {
        for mut opened in engines(1, Bytes::mib(1)) {
            assert_eq!(verify_range(&mut opened, SectorRange::at(SECTORS - 8, 16)), (VerifyOutcome::Gone, 8));
            assert_eq!(verify_range(&mut opened, SectorRange::at(SECTORS, 8)), (VerifyOutcome::Gone, 0));
        }
    }

    #[test]
    fn several_verifications_at_a_time_each_complete_once() {
        for mut opened in engines(8, Bytes::kib(256)) {
            let mut answers = BTreeMap::new();
            for round in 0..4 {
                for id in round * 8..round * 8 + 8 {
                    opened.verifier.submit(OpId(id), SectorRange::at(id * 16, 1024));
                }
                while let Some(answer) = opened.verifier.wait(SOON) {
                    assert_eq!(answers.insert(answer.id, answer.outcome), None);
                }
            }
            assert_eq!(answers.len(), 32);
            assert!(answers.values().all(|outcome| *outcome == VerifyOutcome::Clean));
        }
    }

    #[test]
    fn a_target_that_cannot_be_read_fails_and_blames_no_medium() {
        let file = OpenOptions::new().write(true).open("/dev/null").unwrap();
        let setup = VerifierSetup { file, ..setup(1, Bytes::mib(1)) };
        let mut opened = open(setup).unwrap();
        assert_eq!(
            verify_range(&mut opened, SectorRange::at(0, 8)).0,
            VerifyOutcome::Inconclusive(Cause::Errno(libc::EBADF))
        );
    }

    #[test]
    fn a_verifier_can_be_dropped_with_reads_in_flight() {
        for mut opened in engines(8, Bytes::mib(1)) {
            for id in 0..8 {
                opened.verifier.submit(OpId(id), SectorRange::at(0, 2048));
            }
        }
    }

    #[test]
    fn a_wait_ends_when_nothing_comes() {
        // A pipe without a writer stands for a disk that does not answer.
        let (reader, _writer) = io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(reader));
        let Ok(uring) = ring::create(1) else { return };
        let mut opened = open_with(VerifierSetup { file, ..setup(1, Bytes::mib(1)) }, Ok(uring));
        opened.verifier.submit(OpId(1), SectorRange::at(0, 8));
        assert_eq!(opened.verifier.wait(Nanos::ZERO), None);
        assert_eq!(opened.verifier.wait(Nanos::from_millis(1)), None);
    }
}
