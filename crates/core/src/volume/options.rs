//! How a volume behaves, as it is told when it is started.

use crate::index::MemberIndex;
use crate::units::{Nanos, UnixSeconds};

/// How a volume behaves.
#[derive(Clone, Debug)]
pub struct VolumeOptions {
    /// Nothing is written, not even a repair.
    pub is_read_only: bool,
    /// The date, for the superblock.
    pub today: UnixSeconds,
    /// How long a region stays dirty after its last write, at least.
    pub intent_idle: Nanos,
    /// So many faults located on one member within [`VolumeOptions::faults_window`], and it is called unreliable. At least 1.
    pub faults_max: usize,
    /// See [`VolumeOptions::faults_max`].
    pub faults_window: Nanos,
    /// Time limit of one operation. A member hangs if one of its operations is older and no other of that kind (reads; everything else)
    /// ended within the limit; or if one is older than ten limits. It is taken out, if it can be spared.
    pub op_deadline: Nanos,
    /// The sizes of the members' disks, by member (superblocks lie at their ends); the least size where nothing is said.
    pub member_bytes: Vec<u64>,
    /// Write numbers that one superblock reserves, at least 1: a crash skips those that were not used.
    pub write_numbers: u64,
    /// A random number for this start: it tells this history of the volume from any other.
    pub start_number: u64,
    /// A mistake to be made on purpose, to prove that tests find it.
    #[cfg(feature = "planted")]
    pub planted: Option<SeededBug>,
}

impl Default for VolumeOptions {
    /// For writing; 5 s; 64 faults in an hour (a judgement: a disk that silently breaks a row a minute is done for); 30 s
    /// for an operation (a judgement: the kernel's own patience with one command of a SCSI disk).
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
    /// The size of a member's disk, if it is said.
    pub(super) fn bytes_of(&self, member: MemberIndex) -> Option<u64> {
        self.member_bytes.get(member.get()).copied()
    }
}

/// Mistakes that can be made on purpose: tests of the tests. Without the feature `planted` nobody makes them, and the compiler
/// leaves them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeededBug {
    /// A reconstruction does not compare the parities' lists with each other.
    SkipOneListComparison,
    /// A chunk counts as read from the medium although its last write was never flushed.
    SetReadBitWithoutFlush,
    /// A write is acknowledged before its rows are written.
    AckBeforeLastWrite,
    /// A member with many located faults is taken out, although they were healed.
    TakeOutForFaults,
    /// Stripes that a crash left are read before they are resynced.
    ReadBeforeResync,
    /// Regions are called clean although some of their stripes are not resynced.
    CleanBeforeResync,
    /// A verification says nothing of chunks that were marked as lost earlier.
    PassOverMarks,
    /// A member that comes back is said to lack what was written since, but not what was under way when it left.
    ForgetWhatWasUnderWay,
    /// A write number is used before it is durably reserved.
    UseUnreservedNumbers,
    /// A torn row is believed about its version although its appendix has no right checksum.
    BelieveSpoiltVersions,
}

impl SeededBug {
    /// All of them.
    pub const ALL: [SeededBug; 10] = [
        SeededBug::SkipOneListComparison,
        SeededBug::SetReadBitWithoutFlush,
        SeededBug::AckBeforeLastWrite,
        SeededBug::TakeOutForFaults,
        SeededBug::ReadBeforeResync,
        SeededBug::CleanBeforeResync,
        SeededBug::PassOverMarks,
        SeededBug::ForgetWhatWasUnderWay,
        SeededBug::UseUnreservedNumbers,
        SeededBug::BelieveSpoiltVersions,
    ];
}
