//! Verifiers: how one range of a target is verified, by one interface for every kind of target.
//!
//! A verifier is one file and one line in the table of [`open`]:
//!
//! | kind | does | a *clean* outcome rests on |
//! |---|---|---|
//! | `read` | O_DIRECT reads through io_uring, or `pread` where that is refused | data that crossed the bus |
//! | `scsi` | VERIFY(16) or VERIFY(10) through SG_IO | the drive's word |
//! | `ata` | READ VERIFY SECTORS EXT by ATA PASS-THROUGH(16) | the drive's word |
//! | `nvme` | NVMe Verify | the controller's word |
//!
//! **`auto` is `read`.** The other three spare the bus and the caches of the host, but their word has been seen to be
//! worthless: emulated SCSI and SATA disks answer GOOD over unreadable sectors without touching the medium, and
//! ATA disks have answered verifications of up to 16 KiB from their cache in 0.3 ms, where the medium takes 8 ms
//! (Amvrosiadis et al., DSN 2012, figure 1). SAS disks are honest there, but no value that a disk reports distinguishes an
//! honest one from the others. So `auto` must not pick a verifier that was not *seen* to read the medium, and today
//! no code here can see that. A read may come from the drive's cache, too, but what is in it was read once.
//!
//! **Never:** policy. A verifier does not choose ranges, does not wait for idleness and does not narrow an error down
//! to a sector. Its outcome is for the range as a whole; the caller may verify parts of it again.

mod ata;
mod blocking;
mod blocks;
mod imagined;
mod nvme;
mod pread;
mod progress;
mod read;
mod ring;
mod scsi;

pub(crate) use imagined::open as imagined;

use scrubjay_core::finding::Finding;
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use std::fs::File;
use std::{fmt, io};

/// Verifies ranges of a target, one or a few at a time.
pub trait Verifier: Send {
    /// Starts one verification. `range` is not empty, lies inside the target, and is a multiple of its logical block.
    /// No more than [`OpenedVerifier::depth`] verifications are in flight at any time.
    ///
    /// A verifier that can only block does the work here and hands out the completion in [`Verifier::wait`].
    fn submit(&mut self, id: OpId, range: SectorRange);

    /// The next completion, or `None` when none comes within `timeout` or no verification is in flight.
    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion>;

    /// What was found since the last call, beside the outcomes; asked after each completion and, as the last time, when the run is over.
    fn findings(&mut self, is_last: bool) -> Vec<Finding> {
        let _ = is_last;
        Vec::new()
    }

    /// Whether its requests are at the disk, among those that a detector counts.
    fn is_at_disk(&self) -> bool {
        true
    }

    /// Notifies the verifier that no more will be submitted: it cuts short what it can.
    fn stop(&mut self) {}
}

/// The end of one verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyCompletion {
    /// ID of the operation.
    pub id: OpId,
    /// The outcome for the whole range.
    pub outcome: VerifyOutcome,
    /// When it was submitted to the kernel (`CLOCK_MONOTONIC`).
    pub started: Nanos,
    /// When it ended (`CLOCK_MONOTONIC`).
    pub finished: Nanos,
    /// Sectors that the disk's counters in `/sys/block/X/stat` show for it: those of a read, 0 for a pass-through
    /// command.
    pub counted: u64,
}

/// A kind of verifier, as it is named on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerifierKind {
    /// The kind to be trusted with no further knowledge: [`VerifierKind::Read`], see the module's documentation.
    #[default]
    Auto,
    /// Reads that bypass the page cache. Works on everything, files included.
    Read,
    /// SCSI VERIFY. For SAS disks.
    Scsi,
    /// ATA READ VERIFY SECTORS EXT. For SATA disks, also behind USB bridges.
    Ata,
    /// NVMe Verify.
    Nvme,
}

scrubjay_core::named_row!(VerifierKind, VerifierKind::all().collect());

/// One line of the table of [`open`].
struct VerifierRow {
    kind: VerifierKind,
    name: &'static str,
    about: &'static str,
    open: fn(VerifierSetup) -> Result<OpenedVerifier, VerifierError>,
}

/// All verifiers.
const TABLE: [VerifierRow; 5] = [
    VerifierRow {
        kind: VerifierKind::Auto,
        name: "auto",
        about: "Whatever is known to read the medium: today, read",
        open: read::open,
    },
    VerifierRow { kind: VerifierKind::Read, name: "read", about: "Read past the page cache", open: read::open },
    VerifierRow { kind: VerifierKind::Scsi, name: "scsi", about: "SCSI VERIFY", open: scsi::open },
    VerifierRow { kind: VerifierKind::Ata, name: "ata", about: "ATA READ VERIFY SECTORS EXT", open: ata::open },
    VerifierRow { kind: VerifierKind::Nvme, name: "nvme", about: "NVMe Verify", open: nvme::open },
];

impl VerifierKind {
    /// All kinds, in the order of the table.
    pub fn all() -> impl Iterator<Item = VerifierKind> {
        TABLE.iter().map(|row| row.kind)
    }

    /// Its name on the command line: `auto`, `read`, `scsi`, `ata` or `nvme`.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// Its line in the help text.
    pub fn about(self) -> &'static str {
        self.row().about
    }

    fn row(self) -> &'static VerifierRow {
        TABLE.iter().find(|row| row.kind == self).expect("the table has a line for every kind")
    }
}

impl fmt::Display for VerifierKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The target, and the requirements on its verifier.
#[derive(Debug)]
pub struct VerifierSetup {
    /// The target: open for reading, with O_DIRECT where that is possible.
    pub file: File,
    /// Whether it is a block device. Only those take pass-through commands.
    pub is_block_device: bool,
    /// Its logical block in bytes: a power of two, at least 512.
    pub logical_block: Bytes,
    /// Verifications wanted at a time, 1 to [`DEPTH_MAX`]; clamped to that.
    pub depth: u8,
    /// The largest range that will be submitted, in bytes. It bounds the memory for data: larger ranges still work, in pieces.
    /// Clamped to between one logical block and [`REQUEST_MAX`].
    pub request_max: Bytes,
}

/// Verifications at a time, at most. A choice: a request at the disk cannot be recalled, so depth slows the foreground
/// down, and eight keep any single disk busy with requests of the sizes that scrubs use.
pub const DEPTH_MAX: u8 = 8;

/// What the note of a pass-through command ends with.
const UNPROVEN: &str = "the medium was not seen to be read";

/// The largest single request. A choice: four times the largest request of Amvrosiadis et al. (DSN 2012, table III: 4 MiB),
/// and 128 MiB of memory at the greatest depth.
pub const REQUEST_MAX: Bytes = Bytes::mib(16);

/// A verifier that is ready, with its description.
pub struct OpenedVerifier {
    /// The verifier.
    pub verifier: Box<dyn Verifier>,
    /// Its name: that of a [`VerifierKind`] except `auto`, or of the subject that is verified by its own means, such as `md`.
    pub name: &'static str,
    /// The interface to the disk, such as `io_uring`, `SG_IO` or md's `sync_action`.
    pub engine: &'static str,
    /// Verifications that it works on at a time: 1 if it blocks.
    pub depth: u8,
    /// One line for the report, if a clean outcome rests on something other than reads in the best way known: what it rests
    /// on, and why.
    pub note: Option<String>,
}

/// Why this verifier does not work on this target. What to do, another verifier included, is in [`VerifierError::in_words`].
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    /// A pass-through command needs a disk.
    #[error("the verifier {0} needs a disk, and this is a file")]
    NotADisk(VerifierKind),
    /// A volume, an array or a file system is verified by its own means. Named with its article.
    #[error("the verifier {0} needs a disk, and this is {1}")]
    OwnMeans(VerifierKind, &'static str),
    /// The device mapper passes pass-through commands to the disk below without translating their addresses.
    #[error("the verifier {0} would verify other sectors below the device mapper: name the disk itself")]
    Mapped(VerifierKind),
    /// The target cannot be opened a second time.
    #[error("cannot be opened once more: {0}")]
    Handle(#[source] io::Error),
    /// The partition does not begin at a logical block, or `/sys` does not report where it begins.
    #[error("where this partition lies on its disk is not known: name the whole disk")]
    Placement(#[source] io::Error),
    /// The kernel does not permit pass-through commands.
    #[error("pass-through commands are not permitted here: run as root (CAP_SYS_RAWIO, CAP_SYS_ADMIN)")]
    NotPermitted(#[source] io::Error),
    /// The device does not take commands of this kind at all.
    #[error("this is no {language} device")]
    OtherLanguage {
        /// The kind of commands: `SCSI`, `ATA`, `NVMe`.
        language: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
    /// The device refuses the command.
    #[error("this disk refuses {command}")]
    Refused {
        /// Name of the command, or commands.
        command: &'static str,
    },
    /// The trial verification of the first block failed for another reason.
    #[error("the trial {command} of block 0 failed ({}): try again", reason(*outcome))]
    Trial {
        /// Name of the command.
        command: &'static str,
        /// Its outcome.
        outcome: VerifyOutcome,
    },
}

/// The outcome of a trial, in words.
fn reason(outcome: VerifyOutcome) -> String {
    match outcome {
        VerifyOutcome::Unreadable(cause) | VerifyOutcome::Inconclusive(cause) => cause.to_string(),
        VerifyOutcome::Gone => "the device is gone".to_owned(),
        VerifyOutcome::Clean | VerifyOutcome::Unwritten | VerifyOutcome::Corrected(_) => "clean".to_owned(),
    }
}

impl VerifierError {
    /// The verifier that works on this target; `None`: none does.
    pub fn other(&self) -> Option<VerifierKind> {
        match self {
            VerifierError::Handle(_) => None,
            VerifierError::OwnMeans(..) => Some(VerifierKind::Auto),
            _ => Some(VerifierKind::Read),
        }
    }

    /// What is wrong and what to do, in one line.
    pub fn in_words(&self) -> String {
        let Some(other) = self.other() else { return self.to_string() };
        let has_advice = matches!(
            self,
            VerifierError::Mapped(_)
                | VerifierError::Placement(_)
                | VerifierError::NotPermitted(_)
                | VerifierError::Trial { .. }
        );
        format!("{self}{} use the verifier {other}", if has_advice { ", or" } else { ":" })
    }

    /// The error for an errno of a trial command.
    fn of_ioctl(language: &'static str, error: io::Error) -> VerifierError {
        match error.raw_os_error() {
            Some(libc::EPERM | libc::EACCES) => VerifierError::NotPermitted(error),
            _ => VerifierError::OtherLanguage { language, source: error },
        }
    }
}

/// Opens the verifier of this kind for a target.
///
/// # Errors
/// [`VerifierError`], when the target cannot be verified in this way; the target itself may be fine. `read`
/// and `auto` never fail.
///
/// # Panics
/// When the logical block is no power of two, or less than 512 bytes.
pub fn open(kind: VerifierKind, setup: VerifierSetup) -> Result<OpenedVerifier, VerifierError> {
    let block = setup.logical_block;
    assert!(block.0.is_power_of_two() && block.0 >= 512, "a logical block is a power of two from 512 bytes on");
    let whole_blocks = Bytes(setup.request_max.min(REQUEST_MAX).0 / block.0 * block.0);
    (kind.row().open)(VerifierSetup {
        depth: setup.depth.clamp(1, DEPTH_MAX),
        request_max: whole_blocks.max(block),
        ..setup
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_a_row_and_a_name_of_its_own() {
        let names: std::collections::BTreeSet<&str> = VerifierKind::all().map(VerifierKind::name).collect();
        assert_eq!(names.len(), TABLE.len());
        assert!(VerifierKind::all().all(|kind| !kind.about().is_empty()));
    }

    #[test]
    fn pass_through_on_a_file_is_refused_with_advice() {
        for kind in [VerifierKind::Scsi, VerifierKind::Ata, VerifierKind::Nvme] {
            let file = tempfile::tempfile().unwrap();
            let (logical_block, request_max) = (Bytes(512), Bytes::mib(1));
            let setup = VerifierSetup { file, is_block_device: false, logical_block, depth: 1, request_max };
            let error = open(kind, setup).err().expect("a file takes no commands").in_words();
            assert!(error.contains("use the verifier read"), "{error}");
        }
    }
}
