//! Verifiers: how one range of a target is verified. One question for every kind of target.
//!
//! A verifier is one file and one line in the table of [`open`]:
//!
//! | kind | asks | a *clean* answer rests on |
//! |---|---|---|
//! | `read` | O_DIRECT reads through io_uring, or `pread` where that is refused | data that crossed the bus |
//! | `scsi` | VERIFY(16) or VERIFY(10) through SG_IO | the drive's word |
//! | `ata` | READ VERIFY SECTORS EXT by ATA PASS-THROUGH(16) | the drive's word |
//! | `nvme` | NVMe Verify | the controller's word |
//!
//! **`auto` is `read`.** The other three spare the bus and the caches of the host, but their word has been seen to be
//! worth nothing: emulated SCSI and SATA disks answer GOOD over unreadable sectors without touching the medium, and
//! ATA disks have answered verifications of up to 16 KiB from their cache in 0.3 ms, where the medium takes 8 ms
//! (Amvrosiadis et al., DSN 2012, figure 1). SAS disks are honest there, but nothing a disk says of itself tells an
//! honest one from the others. So `auto` must not pick a verifier that was not *seen* to read the medium, and today
//! nothing here can see that. A read may come from the drive's cache too, but what is in it was read once.
//!
//! **Never:** policy. A verifier does not choose ranges, does not wait for idleness and does not narrow an error down
//! to a sector. It answers for the range as a whole; whoever asked may ask again for less.

mod ata;
mod blocking;
mod blocks;
mod nvme;
mod pread;
mod progress;
mod read;
mod ring;
mod scsi;

use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use std::fs::File;
use std::{fmt, io};

/// Puts the question "is this range readable?" to a target, one or a few ranges at a time.
pub trait Verifier: Send {
    /// Starts one verification. `range` is not empty, lies inside the target, and is a multiple of its logical block.
    /// No more than [`OpenedVerifier::depth`] verifications are out at any time.
    ///
    /// A verifier that can only block does the work here and hands the answer out in [`Verifier::wait`].
    fn submit(&mut self, id: OpId, range: SectorRange);

    /// The next answer, or `None` when none comes within `timeout` or nothing was submitted.
    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion>;

    /// Nothing more will be submitted: what can be cut short is to be.
    fn stop(&mut self) {}
}

/// How one verification ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VerifyCompletion {
    /// ID of the operation.
    pub id: OpId,
    /// What was found.
    pub outcome: VerifyOutcome,
    /// When the kernel got it (`CLOCK_MONOTONIC`).
    pub started: Nanos,
    /// When it was done.
    pub finished: Nanos,
    /// Sectors that the disk's counters in `/sys/block/X/stat` show for it: those of a read, none of a pass-through
    /// command.
    pub counted: u64,
}

/// A kind of verifier, as it is named on the command line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VerifierKind {
    /// The one to be trusted with no further knowledge: [`VerifierKind::Read`], see the module's head.
    #[default]
    Auto,
    /// Reads that bypass the page cache. Works on everything, files too.
    Read,
    /// SCSI VERIFY. For SAS disks.
    Scsi,
    /// ATA READ VERIFY SECTORS EXT. For SATA disks, behind USB bridges too.
    Ata,
    /// NVMe Verify.
    Nvme,
}

/// One line of the table of [`open`].
struct VerifierRow {
    kind: VerifierKind,
    name: &'static str,
    about: &'static str,
    open: fn(VerifierSetup) -> Result<OpenedVerifier, VerifierError>,
}

/// Every verifier there is.
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

    /// A line of help.
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

/// The target, and what is asked of its verifier.
#[derive(Debug)]
pub struct VerifierSetup {
    /// The target: open for reading, with O_DIRECT where that is possible.
    pub file: File,
    /// Is it a block device? Only those take pass-through commands.
    pub is_block_device: bool,
    /// Its logical block, a power of two from 512 bytes on.
    pub logical_block: Bytes,
    /// Verifications at a time that are wanted, 1 to [`DEPTH_MAX`]; clamped to that.
    pub depth: u8,
    /// The greatest range that will be asked for. It bounds the memory for data: greater ones still work, in pieces.
    /// Clamped to between one logical block and [`REQUEST_MAX`].
    pub request_max: Bytes,
}

/// The most verifications at a time. A choice: a request at the disk cannot be recalled, so depth is harm done to
/// the foreground, and eight keep any single disk busy with requests of the sizes that scrubs use.
pub const DEPTH_MAX: u8 = 8;

/// The greatest single request. A choice: four times the greatest request of Amvrosiadis et al. (DSN 2012,
/// table III: 4 MiB), and 128 MiB of memory at the greatest depth.
pub const REQUEST_MAX: Bytes = Bytes::mib(16);

/// A verifier that is ready, and what to tell the user about it.
pub struct OpenedVerifier {
    /// The verifier.
    pub verifier: Box<dyn Verifier>,
    /// What it is: `read`, `scsi`, `ata`, `nvme`, `volume`, `btrfs` or `md`; never `auto`.
    pub name: &'static str,
    /// By what it reaches the disk: `io_uring`, `pread`, `SG_IO`, `NVME_IOCTL_IO_CMD`, a volume's `control socket`, or md's
    /// `sync_action`.
    pub engine: &'static str,
    /// Verifications that it works on at a time: 1 if it blocks.
    pub depth: u8,
    /// One line for the report: what a clean answer rests on, and what had to be fallen back from.
    pub note: String,
}

/// Why there is no such verifier for this target. Each message says what to do.
#[derive(Debug, thiserror::Error)]
pub enum VerifierError {
    /// A pass-through command needs a disk.
    #[error("the verifier {0} needs a disk, and this is a file: use the verifier read")]
    NotADisk(VerifierKind),
    /// A volume is verified by its server.
    #[error("the verifier {0} needs a disk, and this is a volume: use the verifier auto")]
    Served(VerifierKind),
    /// An array or a file system is checked by its own means.
    #[error("the verifier {0} needs a disk, and this is an array or a btrfs: use the verifier auto")]
    Checked(VerifierKind),
    /// The device mapper hands pass-through commands to the disk below, without translating their addresses.
    #[error(
        "the verifier {0} would verify other sectors below the device mapper: name the disk itself, or use the verifier read"
    )]
    Mapped(VerifierKind),
    /// There is no second handle on it to be had.
    #[error("cannot be opened once more: {0}")]
    Handle(#[source] io::Error),
    /// The partition does not begin at a logical block, or `/sys` does not say where.
    #[error("where this partition lies on its disk is not known: name the whole disk, or use the verifier read")]
    Placement(#[source] io::Error),
    /// The kernel does not let us.
    #[error(
        "pass-through commands are not permitted here: run as root (CAP_SYS_RAWIO, CAP_SYS_ADMIN), or use the verifier read"
    )]
    NotPermitted(#[source] io::Error),
    /// The device does not speak that language at all.
    #[error("this is no {language} device: use the verifier read")]
    OtherLanguage {
        /// Which language: `SCSI`, `ATA`, `NVMe`.
        language: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The device refuses the command.
    #[error("this disk refuses {command}: use the verifier read")]
    Refused {
        /// Which command, or commands.
        command: &'static str,
    },
    /// The trial verification of the first block failed for another reason.
    #[error("the trial {command} of block 0 failed ({}): try again, or use the verifier read", reason(*outcome))]
    Trial {
        /// Name of the command.
        command: &'static str,
        /// How it ended.
        outcome: VerifyOutcome,
    },
}

/// How a trial ended, in words.
fn reason(outcome: VerifyOutcome) -> String {
    match outcome {
        VerifyOutcome::Unreadable(cause) | VerifyOutcome::Inconclusive(cause) => cause.to_string(),
        VerifyOutcome::Gone => "the device is gone".to_owned(),
        VerifyOutcome::Clean | VerifyOutcome::Unwritten | VerifyOutcome::Corrected(_) => "clean".to_owned(),
    }
}

impl VerifierError {
    /// What an errno of a trial command means.
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
/// [`VerifierError`], when the target cannot be verified in this way. Nothing is wrong with the target then. `read`
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
            let error = open(kind, setup).err().expect("a file takes no commands").to_string();
            assert!(error.contains("use the verifier read"), "{error}");
        }
    }
}
