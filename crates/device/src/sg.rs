//! SCSI commands without data through the SG_IO ioctl, and the meaning of their replies.
//!
//! Sources: SPC-5 (sense data), SAM-5 (status codes), SAT-4 (the ATA status return descriptor); Linux, `scsi/sg.h`
//! and `scsi/scsi_status.h`.

use scrubjay_core::scrub::verdict::{Cause, Sense, VerifyOutcome};
use scrubjay_core::units::Nanos;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Reply to one command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SgReply {
    /// The SCSI status byte: 0 is GOOD, 2 is CHECK CONDITION.
    pub status: u8,
    /// Status from the host adapter's driver (`DID_*`): 0 is fine.
    pub host_status: u16,
    /// Status from the SCSI layer (`DRIVER_*`): 0 is fine, 8 means that there is sense data.
    pub driver_status: u16,
    /// The sense data, in the length that the disk reported. Empty when there are none.
    pub sense: Vec<u8>,
}

/// Decoded sense data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SenseData {
    /// The error itself.
    pub sense: Sense,
    /// Whether it belongs to an earlier command (response codes 71h and 73h) and this one was not executed.
    pub deferred: bool,
    /// The registers of an ATA disk, when the command was an ATA PASS-THROUGH.
    pub ata: Option<AtaStatus>,
}

/// The fields of the ATA status return descriptor (SAT-4) that are used here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtaStatus {
    /// The STATUS register: bit 0 is ERR, bit 5 is device fault.
    pub status: u8,
    /// The ERROR register: bit 6 is UNC, an uncorrectable error in the data.
    pub error: u8,
    /// The LBA registers: where the disk stopped.
    pub lba: u64,
}

/// Something that takes SCSI commands: a disk, or a model of one in a test.
pub trait Transport: Send {
    /// Sends one command that transfers no data.
    ///
    /// # Errors
    /// When the command was not sent at all, with the errno of the ioctl.
    fn send(&mut self, cdb: &[u8]) -> io::Result<SgReply>;
}

/// SCSI status GOOD.
const GOOD: u8 = 0x00;
/// SCSI status CHECK CONDITION: the sense data describe what happened.
const CHECK_CONDITION: u8 = 0x02;
/// SCSI status CONDITION MET, equivalent to GOOD here.
const CONDITION_MET: u8 = 0x04;
/// `DID_TIME_OUT`: the command was aborted.
const HOST_TIME_OUT: u16 = 0x03;
/// `DID_MEDIUM_ERROR`, which older kernels (5.x) add to a CHECK CONDITION for a medium error.
const HOST_MEDIUM_ERROR: u16 = 0x13;
/// `DRIVER_TIMEOUT`: the command was aborted.
const DRIVER_TIME_OUT: u16 = 0x06;
/// `DRIVER_SENSE`: there is sense data.
const DRIVER_SENSE: u16 = 0x08;
/// Sense key UNIT ATTENTION: the disk reports an event since the last command, and therefore did not execute this one.
const UNIT_ATTENTION: u8 = 0x6;

impl SgReply {
    /// The decoded sense data; `None` if there are none or they cannot be decoded.
    pub fn sense_data(&self) -> Option<SenseData> {
        parse_sense(&self.sense)
    }

    /// The outcome for the medium. Only a CHECK CONDITION that arrived whole can blame it; a time-out, a lost path, a busy or
    /// reserved disk and a deferred error are [`VerifyOutcome::Inconclusive`].
    pub fn judge(&self) -> VerifyOutcome {
        if let Some(failed) = self.transport_failure() {
            return failed;
        }
        match (self.status, self.sense_data()) {
            (GOOD | CONDITION_MET, _) => VerifyOutcome::Clean,
            (CHECK_CONDITION, Some(data)) if data.deferred => VerifyOutcome::Inconclusive(Cause::Sense(data.sense)),
            (CHECK_CONDITION, Some(data)) => VerifyOutcome::of_sense(data.sense),
            // A remote I/O error: Linux's errno for a reply that makes no sense.
            (CHECK_CONDITION, None) => failed(libc::EREMOTEIO),
            // BUSY, RESERVATION CONFLICT, TASK SET FULL, TASK ABORTED.
            _ => failed(libc::EBUSY),
        }
    }

    /// The failure of the path to the disk, if it failed.
    pub fn transport_failure(&self) -> Option<VerifyOutcome> {
        // The upper half of the byte once held a suggestion to the SCSI layer.
        let driver = self.driver_status & 0x0f;
        match (self.host_status, driver) {
            (HOST_TIME_OUT, _) | (_, DRIVER_TIME_OUT) => Some(failed(libc::ETIMEDOUT)),
            (0, 0 | DRIVER_SENSE) => None,
            (HOST_MEDIUM_ERROR, 0 | DRIVER_SENSE) if self.status == CHECK_CONDITION => None,
            _ => Some(failed(libc::ENOLINK)),
        }
    }

    /// Whether the command was not executed because the disk reported something else. It can then be sent again.
    pub fn wants_repeat(&self) -> bool {
        self.status == CHECK_CONDITION
            && self.sense_data().is_some_and(|data| data.deferred || data.sense.key == UNIT_ATTENTION)
    }
}

/// Sends a command, and repeats it once if the disk replies with UNIT ATTENTION or with a deferred error.
///
/// # Errors
/// When a command was not sent at all, with the errno of the ioctl.
pub fn send(transport: &mut impl Transport, cdb: &[u8]) -> io::Result<SgReply> {
    let reply = transport.send(cdb)?;
    if reply.wants_repeat() { transport.send(cdb) } else { Ok(reply) }
}

/// The outcome for an errno of a pass-through ioctl. Unlike an errno of `read(2)`, it never blames the medium.
pub fn of_ioctl_error(error: &io::Error) -> VerifyOutcome {
    let errno = error.raw_os_error().unwrap_or(libc::EINVAL);
    match VerifyOutcome::of_errno(errno) {
        VerifyOutcome::Gone => VerifyOutcome::Gone,
        _ => failed(errno),
    }
}

/// Decodes sense data in fixed (70h, 71h) or descriptor format (72h, 73h). `None` for anything else, and for data
/// too short to hold a sense key.
pub fn parse_sense(bytes: &[u8]) -> Option<SenseData> {
    let code = bytes.first()? & 0x7f;
    let deferred = code & 1 == 1;
    match code {
        0x70 | 0x71 => {
            let bytes = announced(bytes);
            let valid = bytes[0] & 0x80 != 0;
            let block = bytes.get(3..7).filter(|_| valid).map(big_endian);
            let sense = Sense { key: bytes.get(2)? & 0x0f, asc: byte(bytes, 12), ascq: byte(bytes, 13), block };
            Some(SenseData { sense, deferred, ata: None })
        }
        0x72 | 0x73 => {
            let mut sense = Sense { key: bytes.get(1)? & 0x0f, asc: byte(bytes, 2), ascq: byte(bytes, 3), block: None };
            let mut ata = None;
            for descriptor in descriptors(announced(bytes).get(8..).unwrap_or_default()) {
                match descriptor {
                    [0x00, 0x0a, flags, _, block @ ..] if flags & 0x80 != 0 => sense.block = Some(big_endian(block)),
                    [0x09, 0x0c, ..] => ata = Some(ata_status(descriptor)),
                    _ => {}
                }
            }
            Some(SenseData { sense, deferred, ata })
        }
        _ => None,
    }
}

/// The bytes covered by the header's ADDITIONAL SENSE LENGTH (byte 7); the rest may be stale memory of the disk.
fn announced(bytes: &[u8]) -> &[u8] {
    let len = bytes.get(7).map_or(bytes.len(), |additional| 8 + usize::from(*additional));
    &bytes[..len.min(bytes.len())]
}

/// The sense data descriptors that are complete, header included.
fn descriptors(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let len = 2 + usize::from(*bytes.get(1)?);
        let (descriptor, rest) = bytes.split_at_checked(len)?;
        bytes = rest;
        Some(descriptor)
    })
}

/// Decodes a descriptor of 14 bytes. The LBA registers are in the order of the ATA bus, in pairs of high and low byte.
fn ata_status(descriptor: &[u8]) -> AtaStatus {
    let lba = [10, 8, 6, 11, 9, 7].map(|index| descriptor[index]);
    AtaStatus { status: descriptor[13], error: descriptor[3], lba: big_endian(&lba) }
}

fn byte(bytes: &[u8], index: usize) -> u8 {
    bytes.get(index).copied().unwrap_or(0)
}

fn big_endian(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

fn failed(errno: i32) -> VerifyOutcome {
    VerifyOutcome::Inconclusive(Cause::Errno(errno))
}

/// A real disk behind SG_IO.
#[derive(Debug)]
pub struct SgDevice {
    file: File,
    timeout: Nanos,
}

impl SgDevice {
    /// Sends commands to the disk `file`, each of which is aborted after `timeout` (whole milliseconds, at least 1).
    pub fn new(file: File, timeout: Nanos) -> SgDevice {
        SgDevice { file, timeout }
    }
}

/// `struct sg_io_hdr` of `scsi/sg.h`.
#[repr(C)]
struct SgIoHdr {
    interface_id: i32,
    dxfer_direction: i32,
    cmd_len: u8,
    mx_sb_len: u8,
    iovec_count: u16,
    dxfer_len: u32,
    dxferp: *mut u8,
    cmdp: *const u8,
    sbp: *mut u8,
    timeout: u32,
    flags: u32,
    pack_id: i32,
    usr_ptr: *mut u8,
    status: u8,
    masked_status: u8,
    msg_status: u8,
    sb_len_wr: u8,
    host_status: u16,
    driver_status: u16,
    resid: i32,
    duration: u32,
    info: u32,
}

/// `SG_IO` of `scsi/sg.h`.
const SG_IO: u32 = 0x2285;
/// `SG_DXFER_NONE`: no data either way.
const NO_DATA: i32 = -1;
/// The longest sense data there is: 252 bytes (SPC-5).
const SENSE_MAX: usize = 252;

impl Transport for SgDevice {
    fn send(&mut self, cdb: &[u8]) -> io::Result<SgReply> {
        let mut sense = [0u8; SENSE_MAX];
        // SAFETY: all zeroes is a valid header: numbers and null pointers.
        let mut header: SgIoHdr = unsafe { std::mem::zeroed() };
        header.interface_id = i32::from(b'S');
        header.dxfer_direction = NO_DATA;
        header.cmd_len = u8::try_from(cdb.len()).expect("a command block is short");
        header.cmdp = cdb.as_ptr();
        header.mx_sb_len = SENSE_MAX as u8;
        header.sbp = sense.as_mut_ptr();
        header.timeout = u32::try_from(self.timeout.0 / 1_000_000).unwrap_or(u32::MAX).max(1);
        // SAFETY: the descriptor is open, the header has the kernel's layout, and its pointers are to memory that lives until
        // the call is over and is as long as the length fields state. No data are transferred.
        let result = unsafe { libc::ioctl(self.file.as_raw_fd(), SG_IO as _, &raw mut header) };
        if result < 0 {
            return Err(io::Error::last_os_error());
        }
        let sense = sense[..usize::from(header.sb_len_wr).min(SENSE_MAX)].to_vec();
        let SgIoHdr { status, host_status, driver_status, .. } = header;
        Ok(SgReply { status, host_status, driver_status, sense })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A SAS disk, fixed format: MEDIUM ERROR 11/00 at block 0x00123456.
    const FIXED_MEDIUM: [u8; 18] = [0xf0, 0, 3, 0, 0x12, 0x34, 0x56, 0x0a, 0, 0, 0, 0, 0x11, 0, 0, 0x80, 0, 0x93];
    /// A disk of more than 2 TiB, descriptor format: MEDIUM ERROR 11/01 at block 0x1_2345_6789.
    const LONG_MEDIUM: [u8; 20] = [0x72, 3, 0x11, 1, 0, 0, 0, 12, 0, 10, 0x80, 0, 0, 0, 0, 1, 0x23, 0x45, 0x67, 0x89];
    /// libata for READ VERIFY EXT over a bad sector: MEDIUM ERROR 11/04, ERR and UNC, LBA 0x0102_0304_0506.
    const ATA_MEDIUM: [u8; 22] = [0x72, 3, 0x11, 4, 0, 0, 0, 14, 9, 12, 1, 0x40, 0, 8, 3, 6, 2, 5, 1, 4, 0x40, 0x51];

    fn check(sense: &[u8]) -> SgReply {
        SgReply { status: CHECK_CONDITION, driver_status: DRIVER_SENSE, sense: sense.to_vec(), ..SgReply::default() }
    }

    #[test]
    fn the_header_is_as_long_as_the_kernels() {
        assert_eq!(size_of::<SgIoHdr>(), if cfg!(target_pointer_width = "64") { 88 } else { 64 });
    }

    #[test]
    fn both_formats_name_the_block() {
        let fixed = Sense { key: 3, asc: 0x11, ascq: 0, block: Some(0x123456) };
        assert_eq!(parse_sense(&FIXED_MEDIUM).unwrap().sense, fixed);
        assert_eq!(check(&FIXED_MEDIUM).judge(), VerifyOutcome::Unreadable(Cause::Sense(fixed)));
        let long = Sense { key: 3, asc: 0x11, ascq: 1, block: Some(0x1_2345_6789) };
        assert_eq!(check(&LONG_MEDIUM).judge(), VerifyOutcome::Unreadable(Cause::Sense(long)));
    }

    #[test]
    fn information_counts_only_when_valid_and_announced() {
        let mut invalid = FIXED_MEDIUM;
        invalid[0] = 0x70;
        assert_eq!(parse_sense(&invalid).unwrap().sense.block, None);
        let mut long_invalid = LONG_MEDIUM;
        long_invalid[10] = 0;
        assert_eq!(parse_sense(&long_invalid).unwrap().sense.block, None);
        let mut unannounced = LONG_MEDIUM;
        unannounced[7] = 0;
        assert_eq!(parse_sense(&unannounced).unwrap().sense.block, None);
    }

    #[test]
    fn the_registers_of_an_ata_disk_are_put_in_order() {
        let data = parse_sense(&ATA_MEDIUM).unwrap();
        assert_eq!(data.ata, Some(AtaStatus { status: 0x51, error: 0x40, lba: 0x0102_0304_0506 }));
    }

    #[test]
    fn truncated_sense_data_cause_no_panic() {
        for whole in [&FIXED_MEDIUM[..], &LONG_MEDIUM, &ATA_MEDIUM] {
            for len in 0..whole.len() {
                let _ = parse_sense(&whole[..len]);
            }
        }
        assert_eq!(parse_sense(&[]), None);
        assert_eq!(parse_sense(&[0x7f, 3, 0x11]), None);
        // The eight bytes that some bridges send: a key and nothing else.
        assert_eq!(parse_sense(&FIXED_MEDIUM[..8]).unwrap().sense.asc, 0);
    }

    #[test]
    fn a_recovered_error_is_clean_and_the_transport_never_blames_the_medium() {
        assert_eq!(check(&[0x70, 0, 1, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x17, 1, 0, 0, 0, 0]).judge(), VerifyOutcome::Clean);
        for (host_status, driver_status) in [(1, 0), (3, 0), (7, 0), (0x0e, 0), (0, 6), (0, 4)] {
            let reply = SgReply { host_status, driver_status, ..check(&FIXED_MEDIUM) };
            assert!(
                matches!(reply.judge(), VerifyOutcome::Inconclusive(Cause::Errno(_))),
                "{host_status} {driver_status}"
            );
        }
        let old_kernel = SgReply { host_status: HOST_MEDIUM_ERROR, ..check(&FIXED_MEDIUM) };
        assert!(matches!(old_kernel.judge(), VerifyOutcome::Unreadable(_)));
        for status in [0x08, 0x18, 0x28, 0x40] {
            assert_eq!(SgReply { status, ..SgReply::default() }.judge(), failed(libc::EBUSY));
        }
        assert_eq!(check(&[]).judge(), failed(libc::EREMOTEIO));
    }

    #[test]
    fn deferred_errors_belong_to_another_command() {
        let mut deferred = FIXED_MEDIUM;
        deferred[0] = 0xf1;
        assert!(check(&deferred).wants_repeat());
        assert!(matches!(check(&deferred).judge(), VerifyOutcome::Inconclusive(_)));
    }

    #[test]
    fn an_ioctl_that_fails_is_not_a_medium_that_fails() {
        let judge = |errno| of_ioctl_error(&io::Error::from_raw_os_error(errno));
        assert_eq!(judge(libc::EIO), failed(libc::EIO));
        assert_eq!(judge(libc::ENODEV), VerifyOutcome::Gone);
        assert_eq!(judge(libc::ENOTTY), failed(libc::ENOTTY));
    }

    /// Answers UNIT ATTENTION (29/00: power on or reset) a number of times, then GOOD.
    struct Startled(u32);

    impl Transport for Startled {
        fn send(&mut self, _cdb: &[u8]) -> io::Result<SgReply> {
            if self.0 == 0 {
                return Ok(SgReply::default());
            }
            self.0 -= 1;
            Ok(check(&[0x70, 0, 6, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x29, 0, 0, 0, 0, 0]))
        }
    }

    #[test]
    fn unit_attention_is_retried_once() {
        assert_eq!(send(&mut Startled(1), &[0]).unwrap().judge(), VerifyOutcome::Clean);
        assert!(matches!(send(&mut Startled(2), &[0]).unwrap().judge(), VerifyOutcome::Inconclusive(_)));
    }
}
