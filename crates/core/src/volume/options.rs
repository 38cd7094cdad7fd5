//! Options of a volume, chosen when it is started.

use crate::index::MemberIndex;
use crate::units::{Nanos, UnixSeconds};

/// How a volume behaves.
#[derive(Clone, Debug)]
pub struct VolumeOptions {
    /// True: nothing is written, not even a repair.
    pub is_read_only: bool,
    /// The current date, recorded in the superblock as the last start.
    pub today: UnixSeconds,
    /// The least time that a region stays dirty after its last write.
    pub intent_idle: Nanos,
    /// A member is called unreliable when at least this many faults were located on it within
    /// [`VolumeOptions::faults_window`] (count, at least 1).
    pub faults_max: usize,
    /// The period over which faults are counted for [`VolumeOptions::faults_max`].
    pub faults_window: Nanos,
    /// Time limit of one operation. A member hangs if one of its operations is older and no other of that kind (reads; everything
    /// else) ended within the limit; or if one is older than ten limits. A hung member is taken out, if it can be spared.
    pub op_deadline: Nanos,
    /// Sizes of the members' disks in bytes, by member (the superblocks lie at their ends). A member without an entry
    /// counts as having the geometry's `member_bytes`.
    pub member_bytes: Vec<u64>,
    /// Write numbers that one superblock reserves (count, at least 1). After a crash the unused ones are skipped.
    pub write_numbers: u64,
    /// A random number that identifies this start, and so distinguishes this history of the volume from any other.
    pub start_number: u64,
    /// A bug to be switched on, to prove that the tests find it.
    #[cfg(feature = "planted")]
    pub planted: Option<SeededBug>,
}

impl Default for VolumeOptions {
    /// For writing; regions stay dirty for 5 s; 64 faults in an hour (a judgement: a disk that silently breaks a row a
    /// minute is done for); 30 s for an operation (a judgement: the kernel's own time limit for one command of a SCSI disk).
    fn default() -> VolumeOptions {
        VolumeOptions {
            is_read_only: false,
            today: UnixSeconds(0),
            intent_idle: Nanos::from_secs(5),
            faults_max: 64,
            faults_window: Nanos::from_secs(3600),
            op_deadline: Nanos::from_secs(30),
            member_bytes: Vec::new(),
            write_numbers: 1 << 20,
            start_number: 0,
            #[cfg(feature = "planted")]
            planted: None,
        }
    }
}

impl VolumeOptions {
    /// The size of a member's disk in bytes, if `member_bytes` has it.
    pub(super) fn bytes_of(&self, member: MemberIndex) -> Option<u64> {
        self.member_bytes.get(member.get()).copied()
    }
}

/// Seeded bugs: mistakes switched on in a test build, to see that the tests find them. Without the feature `planted`
/// none can be switched on, and the compiler leaves them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeededBug {
    /// A reconstruction does not compare the parities' lists with each other.
    SkipOneListComparison,
    /// A chunk counts as read from the medium although its last write was never flushed.
    SetReadBitWithoutFlush,
    /// A write is acknowledged before its rows are written.
    AckBeforeLastWrite,
    /// A member with many located faults is taken out, although the faults were repaired.
    TakeOutForFaults,
    /// Stripes that a crash left half written are read before they are resynced.
    ReadBeforeResync,
    /// Regions are made clean although some of their stripes are not resynced.
    CleanBeforeResync,
    /// A verification does not report chunks that were marked as lost earlier.
    PassOverMarks,
    /// That a stripe holds lost chunks is not written down.
    ForgetLosses,
    /// A returning member counts as lacking what was written while it was out, but not what was under way when it left.
    ForgetWhatWasUnderWay,
    /// A write number is used before it is durably reserved.
    UseUnreservedNumbers,
    /// A torn row's version is believed although its appendix has a wrong checksum.
    BelieveSpoiltVersions,
}

impl SeededBug {
    /// All seeded bugs.
    pub const ALL: [SeededBug; 11] = [
        SeededBug::SkipOneListComparison,
        SeededBug::SetReadBitWithoutFlush,
        SeededBug::AckBeforeLastWrite,
        SeededBug::TakeOutForFaults,
        SeededBug::ReadBeforeResync,
        SeededBug::CleanBeforeResync,
        SeededBug::PassOverMarks,
        SeededBug::ForgetLosses,
        SeededBug::ForgetWhatWasUnderWay,
        SeededBug::UseUnreservedNumbers,
        SeededBug::BelieveSpoiltVersions,
    ];
}
