//! `ata`: READ VERIFY SECTOR(S) EXT through ATA PASS-THROUGH(16) (ACS-4, SAT-4).
//!
//! Some disks answer this command from their cache, and emulated ones without touching the medium: a clean outcome
//! is worth as much as the disk's word.

use super::blocking::{Blocking, RangeEnded, VerifyNow};
use super::blocks::Blocks;
use super::scsi::{TIMEOUT, is_refusal};
use super::{OpenedVerifier, UNPROVEN, VerifierError, VerifierKind, VerifierSetup};
use crate::sg::{self, AtaStatus, SgDevice, SgReply, Transport};
use scrubjay_core::scrub::verdict::{Cause, Sense, VerifyOutcome};
use scrubjay_core::units::SectorRange;

/// The command, as it appears in messages.
const COMMAND: &str = "READ VERIFY SECTORS EXT";

/// Sectors in one command, at most: its count has 16 bits, in which zero stands for 65536.
const BLOCKS_MAX: u64 = 65536;

/// STATUS: the command ended with an error.
const ERR: u8 = 1 << 0;
/// STATUS: busy; the other bits mean nothing then.
const BSY: u8 = 1 << 7;
/// STATUS: data are requested or offered, which this command never does.
const DRQ: u8 = 1 << 3;
/// STATUS: device fault, an error that names no sector.
const DF: u8 = 1 << 5;
/// ERROR: uncorrectable data.
const UNC: u8 = 1 << 6;

/// Opens the verifier, after a trial of the target's first block.
pub(super) fn open(setup: VerifierSetup) -> Result<OpenedVerifier, VerifierError> {
    let blocks = Blocks::of(VerifierKind::Ata, &setup)?;
    let ata = Ata::probe(SgDevice::new(setup.file, TIMEOUT), blocks)?;
    let note = format!("{COMMAND}: clean is the drive's word; drives may give it from their cache: {UNPROVEN}");
    Ok(OpenedVerifier {
        verifier: Box::new(Blocking::new(ata)),
        name: "ata",
        engine: "SG_IO",
        depth: 1,
        note: Some(note),
    })
}

/// A disk that accepts the command.
struct Ata<T> {
    transport: T,
    blocks: Blocks,
}

impl<T: Transport> Ata<T> {
    /// Tries the command on the target's first block.
    fn probe(mut transport: T, blocks: Blocks) -> Result<Ata<T>, VerifierError> {
        let (first, _) = blocks.address(SectorRange::at(0, 0));
        let reply = sg::send(&mut transport, &read_verify(first, 1));
        match judge(&reply.map_err(|error| VerifierError::of_ioctl("ATA", error))?) {
            VerifyOutcome::Clean | VerifyOutcome::Unreadable(_) => Ok(Ata { transport, blocks }),
            outcome if is_refusal(outcome) => Err(VerifierError::Refused { command: COMMAND }),
            outcome => Err(VerifierError::Trial { command: COMMAND, outcome }),
        }
    }
}

impl<T: Transport> VerifyNow for Ata<T> {
    fn verify(&mut self, range: SectorRange) -> RangeEnded {
        let mut outcome = VerifyOutcome::Clean;
        for piece in self.blocks.pieces(range, BLOCKS_MAX) {
            let (lba, count) = self.blocks.address(piece);
            outcome = match sg::send(&mut self.transport, &read_verify(lba, count)) {
                Ok(reply) => judge(&reply),
                Err(error) => sg::of_ioctl_error(&error),
            };
            if outcome != VerifyOutcome::Clean {
                break;
            }
        }
        RangeEnded { outcome, counted: 0 }
    }
}

/// The command for `count` sectors, 1 to 65536, from `lba` on.
///
/// Protocol 3 (non-data), EXTEND, no data phase. CK_COND stays off: without an error the registers are of no use,
/// and on an error the translator sends them unasked.
fn read_verify(lba: u64, count: u32) -> [u8; 16] {
    let [_, _, lba_47, lba_39, lba_31, lba_23, lba_15, lba_7] = lba.to_be_bytes();
    let [count_15, count_7] = (count as u16).to_be_bytes();
    [
        0x85, // ATA PASS-THROUGH(16)
        3 << 1 | 1,
        0, // OFF_LINE, CK_COND, T_LENGTH
        0,
        0, // FEATURES
        count_15,
        count_7,
        lba_31,
        lba_7,
        lba_39,
        lba_15,
        lba_47,
        lba_23,
        0x40, // DEVICE: the address is an LBA
        0x42, // READ VERIFY SECTOR(S) EXT
        0,
    ]
}

/// The outcome for the medium. Where the registers show an error they take precedence over the translator's sense key, because
/// they are the disk's own; where they show none, the sense key must agree.
fn judge(reply: &SgReply) -> VerifyOutcome {
    if let Some(failed) = reply.transport_failure() {
        return failed;
    }
    match reply.sense_data().filter(|data| !data.deferred) {
        Some(sg::SenseData { sense, ata: Some(ata), .. }) => judge_registers(ata, sense),
        // In fixed format the registers of a pass-through command are where the block's address would be.
        Some(sg::SenseData { sense, ata: None, .. }) if reply.status == 2 => {
            VerifyOutcome::of_sense(Sense { block: None, ..sense })
        }
        _ => reply.judge(),
    }
}

fn judge_registers(ata: AtaStatus, sense: Sense) -> VerifyOutcome {
    let sense = Sense { block: None, ..sense };
    match ata {
        AtaStatus { status, .. } if status & (BSY | DF | DRQ | ERR) == 0 => match sense {
            // ATA PASS-THROUGH INFORMATION AVAILABLE, under either key.
            Sense { key: 0 | 1, asc: 0, ascq: 0x1d, .. } => VerifyOutcome::Clean,
            _ => VerifyOutcome::of_sense(sense),
        },
        AtaStatus { status, error, lba } if status & (BSY | DF) == 0 && error & UNC != 0 => {
            // UNRECOVERED READ ERROR, whatever sense key the translator chose.
            VerifyOutcome::Unreadable(Cause::Sense(Sense { key: 3, asc: 0x11, ascq: sense.ascq, block: Some(lba) }))
        }
        // Busy, aborted, not found, a fault of the electronics: none of them is the medium's.
        _ => VerifyOutcome::Inconclusive(Cause::Sense(sense)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Bytes;
    use std::io;

    /// A reply with the ATA status return descriptor, under a sense key.
    fn reply(key: u8, asc: u8, ascq: u8, status: u8, error: u8) -> SgReply {
        let sense =
            vec![0x72, key, asc, ascq, 0, 0, 0, 14, 9, 12, 1, error, 0, 1, 0, 0x56, 0, 0x34, 0, 0x12, 0x40, status];
        SgReply { status: 2, sense, ..SgReply::default() }
    }

    #[test]
    fn the_command_block_is_that_of_the_standard() {
        let cdb = [0x85, 0x07, 0, 0, 0, 0x12, 0x34, 3, 6, 2, 5, 1, 4, 0x40, 0x42, 0];
        assert_eq!(read_verify(0x0102_0304_0506, 0x1234), cdb);
        assert_eq!(read_verify(0, 65536)[5..7], [0, 0]);
    }

    #[test]
    fn only_uncorrectable_data_blame_the_medium() {
        let unreadable = Sense { key: 3, asc: 0x11, ascq: 4, block: Some(0x123456) };
        assert_eq!(judge(&reply(3, 0x11, 4, 0x51, 0x40)), VerifyOutcome::Unreadable(Cause::Sense(unreadable)));
        // Some bridges report everything as an aborted command.
        assert!(matches!(judge(&reply(0xb, 0, 0, 0x51, 0x40)), VerifyOutcome::Unreadable(_)));
        // ABRT, IDNF, and a device fault.
        assert!(matches!(judge(&reply(0xb, 0, 0, 0x51, 0x04)), VerifyOutcome::Inconclusive(_)));
        assert!(matches!(judge(&reply(5, 0x21, 0, 0x51, 0x10)), VerifyOutcome::Inconclusive(_)));
        assert!(matches!(judge(&reply(4, 0x44, 0, 0x71, 0x40)), VerifyOutcome::Inconclusive(_)));
    }

    #[test]
    fn registers_without_an_error_are_clean() {
        assert_eq!(judge(&reply(1, 0, 0x1d, 0x50, 0)), VerifyOutcome::Clean);
        assert_eq!(judge(&reply(0, 0, 0x1d, 0x50, 0)), VerifyOutcome::Clean);
        assert_eq!(judge(&SgReply::default()), VerifyOutcome::Clean);
    }

    /// Sense data that libata makes for a bus error, a refusal, a busy disk: the registers may look good.
    #[test]
    fn registers_that_look_well_do_not_make_an_error_clean() {
        for (key, asc, ascq, status) in [
            (0xb, 0, 0, 0x40),
            (5, 0x21, 4, 0x40),
            (5, 0x20, 0, 0x50),
            (4, 0, 0, 0x50),
            (1, 0, 0x1d, 0xd0),
            (0, 0, 0, 0x50),
        ] {
            let outcome = judge(&reply(key, asc, ascq, status, 0));
            assert!(
                matches!(outcome, VerifyOutcome::Inconclusive(_)),
                "{key:x}/{asc:x}/{ascq:x} {status:x}: {outcome:?}"
            );
        }
        assert!(matches!(judge(&reply(3, 0x11, 4, 0, 0)), VerifyOutcome::Unreadable(_)));
    }

    #[test]
    fn a_fixed_format_answer_names_no_block() {
        let sense = vec![0xf0, 0, 3, 0x40, 0x51, 0x40, 1, 10, 0, 0, 0, 0, 0x11, 4, 0, 0, 0, 0];
        let reply = SgReply { status: 2, sense, ..SgReply::default() };
        let expected = Sense { key: 3, asc: 0x11, ascq: 4, block: None };
        assert_eq!(judge(&reply), VerifyOutcome::Unreadable(Cause::Sense(expected)));
        let timed_out = SgReply { host_status: 3, ..reply };
        assert_eq!(judge(&timed_out), VerifyOutcome::Inconclusive(Cause::Errno(libc::ETIMEDOUT)));
    }

    /// A disk with the same reply to every command.
    struct Model(SgReply, Vec<Vec<u8>>);

    impl Transport for Model {
        fn send(&mut self, cdb: &[u8]) -> io::Result<SgReply> {
            self.1.push(cdb.to_vec());
            Ok(self.0.clone())
        }
    }

    #[test]
    fn a_disk_without_pass_through_gets_a_clear_error() {
        let refusal = SgReply { status: 2, sense: vec![0x72, 5, 0x20, 0], ..SgReply::default() };
        let error = Ata::probe(Model(refusal, vec![]), Blocks::of_disk(Bytes(512))).err().unwrap().in_words();
        assert_eq!(error, "this disk refuses READ VERIFY SECTORS EXT: use the verifier read");
    }

    #[test]
    fn long_ranges_are_split() {
        let mut ata = Ata::probe(Model(SgReply::default(), vec![]), Blocks::of_disk(Bytes(512))).unwrap();
        ata.transport.1.clear();
        assert_eq!(
            ata.verify(SectorRange::new(8, 8 + 65536 + 16)),
            RangeEnded { outcome: VerifyOutcome::Clean, counted: 0 }
        );
        assert_eq!(ata.transport.1, [read_verify(8, 65536), read_verify(65544, 16)]);
    }
}
