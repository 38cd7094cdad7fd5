//! What an array records of each of its members: a record of the table in its superblocks.

use super::super::fields::{FieldReader, FieldWriter};
use super::super::uuid::Uuid;
use std::fmt;

/// Bytes of one record of the table.
pub(super) const RECORD_BYTES: usize = 32;

/// What the array records of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberRecord {
    /// Its UUID. A member that is taken in again gets another one, so that old records of it do not count.
    pub uuid: Uuid,
    /// Number of members that had this slot before it.
    pub term: u16,
    /// Its state.
    pub state: MemberState,
    /// Faults located on it (count). Wrong rows near each other count as one, each damaged block of metadata by itself.
    pub faults: u32,
    /// If it is out: the last generation of superblocks that it is known to hold. Otherwise zero.
    pub departure_generation: u64,
}

/// The state of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberState {
    /// It holds everything it should.
    Active,
    /// It was taken out.
    Failed(FailureReason),
    /// It was absent when the array was written: it is behind.
    Missing,
    /// It is being rebuilt.
    Rebuilding {
        /// It holds what it should of the stripes before this one.
        stripes_done: u64,
    },
}

/// Why a member was taken out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureReason {
    /// It does not answer any more.
    Gone,
    /// It answers, but does not take what is written.
    Refused,
    /// An administrator took it out.
    ByAdministrator,
    /// It did not answer in time.
    Hung,
}

impl MemberRecord {
    /// Encodes the record.
    pub(super) fn encode(&self, to: &mut FieldWriter<'_>) {
        let (state, reason, number) = match self.state {
            MemberState::Active => (1, 0, 0),
            MemberState::Failed(reason) => (2, reason as u8, self.departure_generation),
            MemberState::Missing => (3, 0, self.departure_generation),
            MemberState::Rebuilding { stripes_done } => (4, 0, stripes_done),
        };
        to.bytes(&self.uuid.0);
        to.u64(number);
        to.u32(self.faults);
        to.u8(state);
        to.u8(reason);
        to.bytes(&self.term.to_le_bytes());
    }

    /// Decodes a record; the error is the field that makes no sense.
    pub(super) fn decode(from: &mut FieldReader<'_>) -> Result<MemberRecord, &'static str> {
        let (uuid, number, faults) = (Uuid(from.array()), from.u64(), from.u32());
        let state = match (from.u8(), from.u8()) {
            (1, 0) => MemberState::Active,
            (2, reason) => MemberState::Failed(FailureReason::of_code(reason).ok_or("why a member failed")?),
            (3, 0) => MemberState::Missing,
            (4, 0) => MemberState::Rebuilding { stripes_done: number },
            _ => return Err("the state of a member"),
        };
        let term = u16::from_le_bytes(from.array());
        let departure_generation =
            if matches!(state, MemberState::Failed(_) | MemberState::Missing) { number } else { 0 };
        Ok(MemberRecord { uuid, term, state, faults, departure_generation })
    }
}

impl FailureReason {
    const ALL: [FailureReason; 4] =
        [FailureReason::Gone, FailureReason::Refused, FailureReason::ByAdministrator, FailureReason::Hung];

    fn of_code(code: u8) -> Option<FailureReason> {
        FailureReason::ALL.into_iter().find(|&reason| reason as u8 == code)
    }
}

impl fmt::Display for MemberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MemberState::Active => f.write_str("active"),
            MemberState::Failed(FailureReason::Gone) => f.write_str("failed: it did not answer any more"),
            MemberState::Failed(FailureReason::Refused) => {
                f.write_str("failed: it refused a write or a flush, or did not keep what was written")
            }
            MemberState::Failed(FailureReason::Hung) => f.write_str("failed: it did not answer in time"),
            MemberState::Failed(FailureReason::ByAdministrator) => {
                f.write_str("failed: taken out by the administrator")
            }
            MemberState::Missing => f.write_str("missing"),
            MemberState::Rebuilding { stripes_done } => write!(f, "rebuilding: {stripes_done} stripes done"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_state_survives_encoding_and_no_other_code_decodes() {
        let failed = FailureReason::ALL.map(MemberState::Failed);
        let states = [MemberState::Active, MemberState::Missing, MemberState::Rebuilding { stripes_done: 1 << 31 }];
        for state in states.into_iter().chain(failed) {
            let departure_generation =
                if matches!(state, MemberState::Failed(_) | MemberState::Missing) { 1 << 40 } else { 0 };
            let record = MemberRecord { uuid: Uuid([7; 16]), term: 0x102, state, faults: 3, departure_generation };
            let mut line = [0; RECORD_BYTES];
            record.encode(&mut FieldWriter::new(&mut line));
            assert_eq!(MemberRecord::decode(&mut FieldReader::new(&line)), Ok(record));
        }
        let known = (0..=u8::MAX).flat_map(|state| (0..=u8::MAX).map(move |reason| (state, reason))).filter(
            |&(state, reason)| {
                let mut line = [0; RECORD_BYTES];
                (line[28], line[29]) = (state, reason);
                MemberRecord::decode(&mut FieldReader::new(&line)).is_ok()
            },
        );
        assert_eq!(known.collect::<Vec<_>>(), [(1, 0), (2, 0), (2, 1), (2, 2), (2, 3), (3, 0), (4, 0)]);
    }
}
