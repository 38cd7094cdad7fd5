//! `nvme`: the NVMe Verify command (NVM Command Set Specification 1.0), through the driver's pass-through ioctl.
//!
//! Verify is sent with FUA, so that the controller commits the blocks to the medium first and verifies them there.
//!
//! Unreadable means: a status of the type *media and data integrity errors* (2h). Some controllers (QEMU's, which has the
//! command though it does not announce it) answer Internal Error (0h/06h) to a Verify over a bad block. That status
//! alone proves nothing about the medium, so the same blocks are then read: if the read finds them unreadable, too, they
//! are; if not, the verification is inconclusive.

use super::blocking::{Blocking, RangeEnded, VerifyNow};
use super::blocks::Blocks;
use super::pread::Pread;
use super::{OpenedVerifier, UNPROVEN, VerifierError, VerifierKind, VerifierSetup};
use crate::buffer::PageBuffer;
use crate::sg;
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Bytes, SectorRange};
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// The command, as it appears in messages.
const COMMAND: &str = "NVMe Verify (neither ONCS nor the effects log has it)";

/// Bytes in one command where the controller names no limit. A choice: many small commands cost an SSD little.
const VERIFY_MAX: Bytes = Bytes::mib(1);

/// The least memory page a controller can have, in bytes (CAP.MPSMIN is 2^(12+n)). The register itself cannot be read from
/// here, so the limit is taken to be in the smallest possible unit.
const PAGE_MIN: u64 = 4096;

/// Time-out of one command: twice what Linux gives an I/O command (`nvme_core.io_timeout`, 30 s).
const TIMEOUT_MS: u32 = 60_000;

/// Status code type 0h (generic), 06h: Internal Error.
const INTERNAL_ERROR: u16 = 0x006;

/// Opens the verifier, if the controller has the command, after a trial of the target's first block.
pub(super) fn open(setup: VerifierSetup) -> Result<OpenedVerifier, VerifierError> {
    let blocks = Blocks::of(VerifierKind::Nvme, &setup)?;
    let VerifierSetup { file, logical_block, request_max, .. } = setup;
    let namespace = Namespace::open(file.try_clone().map_err(|error| VerifierError::of_ioctl("NVMe", error))?)
        .map_err(|error| VerifierError::of_ioctl("NVMe", error))?;
    if !namespace.supports_verify().map_err(|error| VerifierError::of_ioctl("NVMe", error))? {
        return Err(VerifierError::Refused { command: COMMAND });
    }
    let limit = namespace.verify_limit();
    let blocks_max = blocks_max(limit, logical_block);
    let mut nvme =
        Nvme { controller: namespace, reader: Pread::new(file, logical_block, request_max), blocks, blocks_max };
    match nvme.verify(SectorRange::at(0, logical_block.sectors())).outcome {
        VerifyOutcome::Clean | VerifyOutcome::Unreadable(_) => {}
        outcome => return Err(VerifierError::Trial { command: "NVMe Verify", outcome }),
    }
    let note = format!(
        "NVMe Verify, at most {} a command: clean is the controller's word; an Internal Error is checked by a read: {UNPROVEN}",
        Bytes(blocks_max * logical_block.0)
    );
    let verifier = Box::new(Blocking::new(nvme));
    Ok(OpenedVerifier { verifier, name: "nvme", engine: "NVME_IOCTL_IO_CMD", depth: 1, note: Some(note) })
}

/// A receiver of Verify commands: a namespace, or a model of one in a test.
trait NvmeController: Send {
    /// Verifies `count` blocks, 1 to 65536, from `lba` on. Returns the status: type and code, 0 for success.
    fn verify(&mut self, lba: u64, count: u32) -> io::Result<u16>;
}

/// A controller, and a reader of the same namespace to check an Internal Error.
struct Nvme<C> {
    controller: C,
    reader: Pread,
    blocks: Blocks,
    blocks_max: u64,
}

impl<C: NvmeController> Nvme<C> {
    /// Sends one command, and reads the blocks after an Internal Error.
    fn verify_piece(&mut self, piece: SectorRange) -> RangeEnded {
        let (lba, count) = self.blocks.address(piece);
        let uncounted = |outcome| RangeEnded { outcome, counted: 0 };
        let status = match self.controller.verify(lba, count) {
            Ok(status) => status,
            Err(error) => return uncounted(sg::of_ioctl_error(&error)),
        };
        if status != INTERNAL_ERROR {
            return uncounted(judge(status));
        }
        let RangeEnded { outcome, counted } = self.reader.verify(piece);
        let outcome = match outcome {
            VerifyOutcome::Unreadable(_) => VerifyOutcome::Unreadable(Cause::NvmeStatus(status)),
            VerifyOutcome::Gone => VerifyOutcome::Gone,
            _ => VerifyOutcome::Inconclusive(Cause::NvmeStatus(status)),
        };
        RangeEnded { outcome, counted }
    }
}

impl<C: NvmeController> VerifyNow for Nvme<C> {
    fn verify(&mut self, range: SectorRange) -> RangeEnded {
        for piece in self.blocks.pieces(range, self.blocks_max) {
            let ended = self.verify_piece(piece);
            if ended.outcome != VerifyOutcome::Clean {
                return ended;
            }
        }
        RangeEnded { outcome: VerifyOutcome::Clean, counted: 0 }
    }
}

/// The outcome for a status.
///
/// Two of the media errors, *access denied* (86h) and *deallocated or unwritten block* (87h), report a lock and an unwritten
/// block: no data are lost there.
fn judge(status: u16) -> VerifyOutcome {
    match (status >> 8, status & 0xff) {
        (0, 0) => VerifyOutcome::Clean,
        (2, code) if code != 0x86 && code != 0x87 => VerifyOutcome::Unreadable(Cause::NvmeStatus(status)),
        _ => VerifyOutcome::Inconclusive(Cause::NvmeStatus(status)),
    }
}

/// Blocks in one command, at most, when VSL is `limit` (pages as a power of two; 0 or unknown: no limit).
fn blocks_max(limit: u8, logical_block: Bytes) -> u64 {
    let bytes = match limit {
        0 => VERIFY_MAX.0,
        // Powers beyond 32 are no limit either, and would overflow.
        limit => (PAGE_MIN << limit.min(32)).min(VERIFY_MAX.0),
    };
    (bytes / logical_block.0).clamp(1, 65536)
}

/// A namespace behind the driver's ioctls.
struct Namespace {
    file: File,
    nsid: u32,
}

/// `struct nvme_passthru_cmd` of `linux/nvme_ioctl.h`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct NvmePassthruCmd {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    addr: u64,
    metadata_len: u32,
    data_len: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    timeout_ms: u32,
    result: u32,
}

/// `NVME_IOCTL_ID`: `_IO('N', 0x40)`.
const IOCTL_ID: u32 = 0x4e40;
/// `NVME_IOCTL_ADMIN_CMD`: `_IOWR('N', 0x41, struct nvme_passthru_cmd)`.
const IOCTL_ADMIN: u32 = 0xc048_4e41;
/// `NVME_IOCTL_IO_CMD`: `_IOWR('N', 0x43, struct nvme_passthru_cmd)`.
const IOCTL_IO: u32 = 0xc048_4e43;
/// Bytes in every Identify data structure, and in the log of supported commands.
const PAGE_BYTES: usize = 4096;

/// Whether a Commands Supported and Effects log lists Verify (0Ch) among the I/O commands, which begin at byte 1024 with
/// four bytes each (bit 0: supported).
fn lists_verify(log: &[u8; PAGE_BYTES]) -> bool {
    log[1024 + 4 * 0x0c] & 1 != 0
}

impl Namespace {
    fn open(file: File) -> io::Result<Namespace> {
        // SAFETY: the ioctl takes no argument and returns the namespace's number.
        let nsid = unsafe { libc::ioctl(file.as_raw_fd(), IOCTL_ID as _) };
        if nsid < 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Namespace { file, nsid: nsid as u32 })
    }

    /// Whether the controller announces Verify: in bit 7 of ONCS (bytes 520 and 521 of Identify Controller), or in
    /// its Commands Supported and Effects log. Either suffices; QEMU's announces it only in the second.
    fn supports_verify(&self) -> io::Result<bool> {
        let Ok(controller) = self.identify(0x01)? else { return Ok(false) };
        let oncs = u16::from_le_bytes([controller[520], controller[521]]);
        Ok(oncs & 1 << 7 != 0 || self.effects().is_ok_and(|log| log.is_ok_and(|log| lists_verify(&log))))
    }

    /// Log page 05h, Commands Supported and Effects, or the status with which the controller refuses it.
    fn effects(&self) -> io::Result<Result<[u8; PAGE_BYTES], u16>> {
        let dwords = PAGE_BYTES as u32 / 4 - 1;
        self.fetch(NvmePassthruCmd {
            opcode: 0x02,
            nsid: u32::MAX,
            cdw10: dwords << 16 | 0x05,
            ..NvmePassthruCmd::default()
        })
    }

    /// VSL, byte 0 of Identify Controller for the NVM command set (CNS 06h); 0 for a controller that has no such
    /// structure.
    fn verify_limit(&self) -> u8 {
        self.identify(0x06).ok().and_then(Result::ok).map_or(0, |controller| controller[0])
    }

    /// One Identify data structure, or the status with which the controller refuses it.
    fn identify(&self, cns: u32) -> io::Result<Result<[u8; PAGE_BYTES], u16>> {
        self.fetch(NvmePassthruCmd { opcode: 0x06, cdw10: cns, ..NvmePassthruCmd::default() })
    }

    /// The data of an admin command that reads [`PAGE_BYTES`], or the status with which it is refused.
    fn fetch(&self, command: NvmePassthruCmd) -> io::Result<Result<[u8; PAGE_BYTES], u16>> {
        let mut buffer = PageBuffer::new(PAGE_BYTES, PAGE_BYTES);
        let mut command = NvmePassthruCmd { addr: buffer.as_mut_ptr() as u64, data_len: PAGE_BYTES as u32, ..command };
        // SAFETY: the command writes `data_len` bytes to `addr`, and the buffer has as many and outlives the call.
        let status = unsafe { self.pass(IOCTL_ADMIN, &mut command) }?;
        let data = <[u8; PAGE_BYTES]>::try_from(&*buffer.as_mut_slice()).expect("the lengths are the same");
        Ok(if status == 0 { Ok(data) } else { Err(status) })
    }

    /// Passes a command through. Returns its status (type and code), or the errno with which it was not sent.
    ///
    /// # Safety
    /// `addr` and `metadata` are null, or valid for as many bytes as the length fields state, until the call ends.
    unsafe fn pass(&self, request: u32, command: &mut NvmePassthruCmd) -> io::Result<u16> {
        // SAFETY: the command has the kernel's layout, and the caller guarantees its pointers.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), request as _, std::ptr::from_mut(command)) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        // The bits above are "more" and "do not retry".
        Ok(result as u16 & 0x7ff)
    }
}

impl NvmeController for Namespace {
    fn verify(&mut self, lba: u64, count: u32) -> io::Result<u16> {
        // SAFETY: a Verify command has neither data nor metadata.
        unsafe { self.pass(IOCTL_IO, &mut verify_command(self.nsid, lba, count)) }
    }
}

/// Verify with FUA (bit 30 of dword 12); the number of blocks is zero-based; no protection information is checked.
fn verify_command(nsid: u32, lba: u64, count: u32) -> NvmePassthruCmd {
    NvmePassthruCmd {
        opcode: 0x0c,
        nsid,
        cdw10: lba as u32,
        cdw11: (lba >> 32) as u32,
        cdw12: 1 << 30 | (count - 1),
        timeout_ms: TIMEOUT_MS,
        ..NvmePassthruCmd::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// Answers with one status from the block `from` on.
    struct Model {
        status: u16,
        from: u64,
        commands: Vec<(u64, u32)>,
    }

    impl NvmeController for Model {
        fn verify(&mut self, lba: u64, count: u32) -> io::Result<u16> {
            self.commands.push((lba, count));
            Ok(if lba + u64::from(count) > self.from { self.status } else { 0 })
        }
    }

    /// A namespace of 64 sectors, all readable.
    fn nvme(status: u16, from: u64) -> Nvme<Model> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0; 64 * 512]).unwrap();
        let block = Bytes(512);
        let reader = Pread::new(file, block, Bytes::mib(1));
        Nvme {
            controller: Model { status, from, commands: vec![] },
            reader,
            blocks: Blocks::of_disk(block),
            blocks_max: 16,
        }
    }

    #[test]
    fn the_command_is_laid_out_as_the_kernels() {
        assert_eq!(size_of::<NvmePassthruCmd>(), 72);
        let command = verify_command(1, 0x1_0000_0002, 65536);
        assert_eq!((command.opcode, command.nsid, command.cdw10, command.cdw11), (0x0c, 1, 2, 1));
        assert_eq!(command.cdw12, 0x4000_ffff);
        assert_eq!((command.addr, command.data_len), (0, 0));
    }

    #[test]
    fn media_errors_blame_the_medium_and_nothing_else_does() {
        for code in [0x80, 0x81, 0x82, 0x83, 0x84, 0x85] {
            assert_eq!(judge(0x200 | code), VerifyOutcome::Unreadable(Cause::NvmeStatus(0x200 | code)));
        }
        for status in [0x002, 0x004, 0x006, 0x080, 0x180, 0x286, 0x287, 0x302, 0x370] {
            assert_eq!(judge(status), VerifyOutcome::Inconclusive(Cause::NvmeStatus(status)));
        }
        assert_eq!(judge(0), VerifyOutcome::Clean);
    }

    #[test]
    fn the_limit_of_the_controller_is_kept() {
        assert_eq!(blocks_max(0, Bytes(512)), 2048);
        assert_eq!(blocks_max(7, Bytes(512)), 1024);
        assert_eq!(blocks_max(1, Bytes(4096)), 2);
        assert_eq!(blocks_max(63, Bytes(512)), 2048);
        assert_eq!(blocks_max(255, Bytes(512)), 2048);
    }

    #[test]
    fn long_ranges_are_split_and_end_at_the_first_error() {
        let mut nvme = nvme(0x281, 30);
        assert_eq!(nvme.verify(SectorRange::new(0, 30)).outcome, VerifyOutcome::Clean);
        nvme.controller.commands.clear();
        let ended = nvme.verify(SectorRange::new(8, 64));
        assert_eq!(ended, RangeEnded { outcome: VerifyOutcome::Unreadable(Cause::NvmeStatus(0x281)), counted: 0 });
        assert_eq!(nvme.controller.commands, [(8, 16), (24, 16)]);
    }

    #[test]
    fn an_internal_error_over_readable_blocks_is_a_failure() {
        let ended = nvme(INTERNAL_ERROR, 0).verify(SectorRange::new(0, 16));
        assert_eq!(
            ended,
            RangeEnded { outcome: VerifyOutcome::Inconclusive(Cause::NvmeStatus(INTERNAL_ERROR)), counted: 16 }
        );
    }

    #[test]
    fn an_internal_error_beyond_the_end_is_a_namespace_that_is_gone() {
        assert_eq!(nvme(INTERNAL_ERROR, 0).verify(SectorRange::new(64, 80)).outcome, VerifyOutcome::Gone);
    }
}
