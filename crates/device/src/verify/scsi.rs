//! `scsi`: VERIFY(16), or VERIFY(10), without byte check: the disk reads, and the data stay in the disk (SBC-4).
//!
//! DPO (disable page out) is set where the disk accepts it, so that a scrub does not evict the foreground's data from
//! the disk's cache.

use super::blocking::{Blocking, RangeEnded, VerifyNow};
use super::blocks::Blocks;
use super::{OpenedVerifier, UNPROVEN, VerifierError, VerifierKind, VerifierSetup};
use crate::sg::{self, SgDevice, Transport};
use scrubjay_core::scrub::verdict::{Cause, Sense, VerifyOutcome};
use scrubjay_core::units::{Nanos, SectorRange};

/// Both commands, as they appear in messages.
const COMMANDS: &str = "VERIFY(16) and VERIFY(10)";

/// Blocks in one command, at most: the range of VERIFY(10)'s length field. VERIFY(16) could take more, but no request here
/// is larger than 16 MiB.
const BLOCKS_MAX: u64 = 65535;

/// Time-out of one command: twice what Linux gives a read of a SCSI disk (`SD_TIMEOUT`, 30 s), because the disk
/// may meet several sectors that it has to retry.
pub(super) const TIMEOUT: Nanos = Nanos::from_secs(60);

/// The forms of the command, best first.
const FORMS: [VerifyForm; 4] = [
    VerifyForm { long: true, dpo: true },
    VerifyForm { long: true, dpo: false },
    VerifyForm { long: false, dpo: true },
    VerifyForm { long: false, dpo: false },
];

/// Opens the verifier, after a trial of the target's first block.
pub(super) fn open(setup: VerifierSetup) -> Result<OpenedVerifier, VerifierError> {
    let blocks = Blocks::of(VerifierKind::Scsi, &setup)?;
    let scsi = Scsi::probe(SgDevice::new(setup.file, TIMEOUT), blocks)?;
    let note = format!(
        "VERIFY({}){}: clean is the drive's word; emulated disks and bridges give it without reading: {UNPROVEN}",
        if scsi.form.long { 16 } else { 10 },
        if scsi.form.dpo { "" } else { " without DPO" }
    );
    Ok(OpenedVerifier {
        verifier: Box::new(Blocking::new(scsi)),
        name: "scsi",
        engine: "SG_IO",
        depth: 1,
        note: Some(note),
    })
}

/// One form of VERIFY.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct VerifyForm {
    /// VERIFY(16), not VERIFY(10).
    long: bool,
    /// With DPO.
    dpo: bool,
}

impl VerifyForm {
    /// Verifies `count` blocks from `lba` on.
    fn verify(self, transport: &mut impl Transport, lba: u64, count: u32) -> std::io::Result<VerifyOutcome> {
        let reply = match (self.long, u32::try_from(lba), u16::try_from(count)) {
            (true, ..) => sg::send(transport, &verify_16(lba, count, self.dpo))?,
            (false, Ok(lba), Ok(count)) => sg::send(transport, &verify_10(lba, count, self.dpo))?,
            // VERIFY(10) cannot address more than 2^32 blocks.
            (false, ..) => return Ok(VerifyOutcome::Inconclusive(Cause::Errno(libc::EOVERFLOW))),
        };
        Ok(reply.judge())
    }
}

/// A disk with the form of VERIFY that it accepts.
struct Scsi<T> {
    transport: T,
    blocks: Blocks,
    form: VerifyForm,
}

impl<T: Transport> Scsi<T> {
    /// Finds the best form that the disk accepts.
    fn probe(mut transport: T, blocks: Blocks) -> Result<Scsi<T>, VerifierError> {
        let (first, _) = blocks.address(SectorRange::at(0, 0));
        for form in FORMS {
            let outcome = form.verify(&mut transport, first, 1);
            match outcome.map_err(|error| VerifierError::of_ioctl("SCSI", error))? {
                VerifyOutcome::Clean | VerifyOutcome::Unreadable(_) => return Ok(Scsi { transport, blocks, form }),
                outcome if is_refusal(outcome) => {}
                outcome => return Err(VerifierError::Trial { command: "VERIFY", outcome }),
            }
        }
        Err(VerifierError::Refused { command: COMMANDS })
    }
}

impl<T: Transport> VerifyNow for Scsi<T> {
    fn verify(&mut self, range: SectorRange) -> RangeEnded {
        let mut outcome = VerifyOutcome::Clean;
        for piece in self.blocks.pieces(range, BLOCKS_MAX) {
            let (lba, count) = self.blocks.address(piece);
            let answer = self.form.verify(&mut self.transport, lba, count);
            outcome = answer.unwrap_or_else(|error| sg::of_ioctl_error(&error));
            if outcome != VerifyOutcome::Clean {
                break;
            }
        }
        RangeEnded { outcome, counted: 0 }
    }
}

/// Whether the outcome is ILLEGAL REQUEST: no such command (20/00), or no such field in it (24/00).
pub(super) fn is_refusal(outcome: VerifyOutcome) -> bool {
    matches!(outcome, VerifyOutcome::Inconclusive(Cause::Sense(Sense { key: 5, .. })))
}

/// Byte 1, with or without DPO. VRPROTECT (bits 5..8) and BYTCHK (bits 1..3) stay zero.
fn flags(dpo: bool) -> u8 {
    if dpo { 0x10 } else { 0 }
}

fn verify_16(lba: u64, count: u32, dpo: bool) -> [u8; 16] {
    let mut cdb = [0; 16];
    cdb[0] = 0x8f;
    cdb[1] = flags(dpo);
    cdb[2..10].copy_from_slice(&lba.to_be_bytes());
    cdb[10..14].copy_from_slice(&count.to_be_bytes());
    cdb
}

fn verify_10(lba: u32, count: u16, dpo: bool) -> [u8; 10] {
    let mut cdb = [0; 10];
    cdb[0] = 0x2f;
    cdb[1] = flags(dpo);
    cdb[2..6].copy_from_slice(&lba.to_be_bytes());
    cdb[7..9].copy_from_slice(&count.to_be_bytes());
    cdb
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sg::SgReply;
    use scrubjay_core::units::Bytes;
    use std::io;

    /// A disk that accepts some opcodes, may refuse DPO, and has one bad block.
    #[derive(Default)]
    struct Model {
        opcodes: Vec<u8>,
        no_dpo: bool,
        bad: Option<u64>,
        sent: Vec<Vec<u8>>,
    }

    impl Transport for Model {
        fn send(&mut self, cdb: &[u8]) -> io::Result<SgReply> {
            self.sent.push(cdb.to_vec());
            let number = |bytes: &[u8]| bytes.iter().fold(0, |value, byte| value << 8 | u64::from(*byte));
            let (start, count) = match cdb[0] {
                0x8f => (number(&cdb[2..10]), number(&cdb[10..14])),
                _ => (number(&cdb[2..6]), number(&cdb[7..9])),
            };
            let sense = if !self.opcodes.contains(&cdb[0]) {
                vec![0x72, 5, 0x20, 0]
            } else if self.no_dpo && cdb[1] & 0x10 != 0 {
                vec![0x72, 5, 0x24, 0]
            } else if self.bad.is_some_and(|bad| (start..start + count).contains(&bad)) {
                vec![0x72, 3, 0x11, 0]
            } else {
                return Ok(SgReply::default());
            };
            Ok(SgReply { status: 2, sense, ..SgReply::default() })
        }
    }

    fn probe(model: Model) -> Result<Scsi<Model>, VerifierError> {
        Scsi::probe(model, Blocks::of_disk(Bytes(512)))
    }

    #[test]
    fn the_command_blocks_are_those_of_the_standard() {
        let long = [0x8f, 0x10, 1, 2, 3, 4, 5, 6, 7, 8, 0x00, 0x00, 0xff, 0xff, 0, 0];
        assert_eq!(verify_16(0x0102_0304_0506_0708, 0xffff, true), long);
        assert_eq!(verify_10(0x0102_0304, 0x0506, false), [0x2f, 0, 1, 2, 3, 4, 0, 5, 6, 0]);
    }

    #[test]
    fn the_first_form_that_the_disk_takes_is_used() {
        let form = |opcodes: &[u8], no_dpo| {
            probe(Model { opcodes: opcodes.to_vec(), no_dpo, ..Model::default() }).map(|scsi| scsi.form).ok()
        };
        assert_eq!(form(&[0x8f, 0x2f], false), Some(FORMS[0]));
        assert_eq!(form(&[0x8f, 0x2f], true), Some(FORMS[1]));
        assert_eq!(form(&[0x2f], false), Some(FORMS[2]));
        assert_eq!(form(&[0x2f], true), Some(FORMS[3]));
        assert_eq!(form(&[], false), None);
    }

    #[test]
    fn a_disk_that_refuses_both_commands_gets_an_error_of_one_line() {
        let error = probe(Model::default()).err().expect("it knows neither").in_words();
        assert_eq!(error, "this disk refuses VERIFY(16) and VERIFY(10): use the verifier read");
    }

    #[test]
    fn an_unreadable_first_block_is_no_refusal() {
        let model = Model { opcodes: vec![0x8f], bad: Some(0), ..Model::default() };
        assert!(probe(model).is_ok());
    }

    #[test]
    fn long_ranges_are_split_and_end_at_the_first_error() {
        let model = Model { opcodes: vec![0x2f], bad: Some(70_000), ..Model::default() };
        let mut scsi = probe(model).unwrap();
        assert_eq!(scsi.verify(SectorRange::new(0, 70_000)).outcome, VerifyOutcome::Clean);
        scsi.transport.sent.clear();
        assert!(matches!(scsi.verify(SectorRange::new(10, 200_000)).outcome, VerifyOutcome::Unreadable(_)));
        assert_eq!(scsi.transport.sent, [verify_10(10, 65535, true), verify_10(65545, 65535, true)]);
    }

    #[test]
    fn verify_10_does_not_reach_beyond_its_addresses() {
        let mut scsi = probe(Model { opcodes: vec![0x2f], ..Model::default() }).unwrap();
        let outcome = scsi.verify(SectorRange::at(1 << 32, 8)).outcome;
        assert_eq!(outcome, VerifyOutcome::Inconclusive(Cause::Errno(libc::EOVERFLOW)));
    }
}
