//! What an array is made of.

use super::flash::Chips;
use super::map::{ChunkMap, MapRedundancy};
use super::mechanics::Mechanics;
use super::noise::Noise;
use super::queue::Discipline;
use scrubjay_core::units::Nanos;

/// What each member is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// A disk that spins.
    Disk(Mechanics),
    /// One that does not.
    Flash(Chips),
}

impl Drive {
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        match self {
            Drive::Disk(mechanics) => mechanics.sectors() * 512,
            Drive::Flash(chips) => chips.bytes,
        }
    }
}

/// Which copy is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MirrorRead {
    /// The one whose member has less to do.
    #[default]
    ShortestQueue,
    /// Either.
    Random,
    /// Always the first: mirrors that cannot be seen from outside.
    First,
}

/// How parities follow a small write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParityWrite {
    /// The old data and the old parities are read (read-modify-write).
    #[default]
    ReadModify,
    /// The other data of the stripe are read (reconstruct-write: Linux 2.4).
    Reconstruct,
}

/// A member that is not like the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odd {
    /// Index of the disk, from 0.
    pub disk: usize,
    /// Its revolution takes so many times as long.
    pub rotation: f64,
    /// Its seeks take so many times as long.
    pub seek: f64,
}

/// An array to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySetup {
    /// Where chunks lie.
    pub map: ChunkMap,
    /// The size of a chunk, a multiple of 512.
    pub chunk_bytes: u64,
    /// The device's byte 0 is this byte of the array: where a partition begins.
    pub phase_bytes: u64,
    /// What each member is.
    pub drive: Drive,
    /// How each member orders what waits for it.
    pub discipline: Discipline,
    /// What disturbs it.
    pub noise: Noise,
    /// Which copy is read.
    pub mirror_read: MirrorRead,
    /// How parities follow.
    pub parity_write: ParityWrite,
    /// Bytes of a cache that takes writes and passes them on later.
    pub write_cache_bytes: Option<u64>,
    /// Members that are not like the others.
    pub odd: Vec<Odd>,
    /// Two members that are halves of the same disk; every member is half a disk then.
    pub same: Option<(usize, usize)>,
    /// A member that is not there.
    pub lost: Option<usize>,
    /// What the host reckons for each read of a lost chunk, one at a time.
    pub rebuild_time: Nanos,
    /// Of the delays, the copies that are read, and the strangers.
    pub seed: u64,
}

impl ArraySetup {
    /// A quiet array of the paper's disks, served in turn.
    pub fn new(map: ChunkMap, chunk_bytes: u64) -> ArraySetup {
        ArraySetup {
            map,
            chunk_bytes,
            phase_bytes: 0,
            drive: Drive::Disk(Mechanics::ultrastar_9lzx()),
            discipline: Discipline::Fcfs,
            noise: Noise::Clean,
            mirror_read: MirrorRead::ShortestQueue,
            parity_write: ParityWrite::ReadModify,
            write_cache_bytes: None,
            odd: Vec::new(),
            same: None,
            lost: None,
            rebuild_time: Nanos::ZERO,
            seed: 0,
        }
    }

    /// What each member takes of its drive.
    pub fn member_bytes(&self) -> u64 {
        self.drive.bytes() / if self.same.is_some() { 2 } else { 1 }
    }

    /// The size of the device, in bytes.
    pub fn bytes(&self) -> u64 {
        let stripes = self.map.stripes(self.member_bytes().checked_div(self.chunk_bytes).unwrap_or(0));
        (stripes * self.map.data() as u64 * self.chunk_bytes).saturating_sub(self.phase_bytes)
    }

    /// The disk of a member: two of them may be halves of one.
    pub(super) fn spindle_of(&self, disk: usize) -> usize {
        match self.same {
            Some((first, second)) if disk == second => first,
            _ => disk,
        }
    }

    /// Where a member begins on its disk, in bytes.
    pub(super) fn base_of(&self, disk: usize) -> u64 {
        match self.same {
            Some((_, second)) if disk == second => self.member_bytes() / 512 * 512,
            _ => 0,
        }
    }

    /// Why it cannot be built, if it cannot.
    pub fn refusal(&self) -> Option<&'static str> {
        let disks = self.map.disks();
        let is_member = |disk: usize| disk < disks;
        let rules = [
            (disks > 0, "an array has members"),
            (self.chunk_bytes > 0 && self.chunk_bytes.is_multiple_of(512), "a chunk is whole sectors"),
            (self.phase_bytes.is_multiple_of(512), "a partition begins at a sector"),
            (self.lost.is_none_or(is_member), "the lost disk is none of its members"),
            (self.odd.iter().all(|odd| is_member(odd.disk)), "the odd disk is none of its members"),
            (self.same.is_none_or(|(a, b)| a != b && is_member(a) && is_member(b)), "two members share a disk"),
            (
                self.lost.is_none() || self.map.redundancy() != MapRedundancy::None,
                "an array without redundancy does not live without a member",
            ),
            (self.bytes() > 0, "its members have no room for a stripe"),
        ];
        rules.iter().find(|(holds, _)| !holds).map(|&(_, what)| what)
    }
}
