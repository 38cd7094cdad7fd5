//! The setup of a modelled array.

use super::flash::Chips;
use super::map::{ChunkMap, MapRedundancy};
use super::mechanics::Mechanics;
use super::noise::Noise;
use super::queue::Discipline;
use scrubjay_core::units::Nanos;

/// The drive of each member.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Drive {
    /// A disk that spins.
    Disk(Mechanics),
    /// A flash drive.
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

/// The copy that a read goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum MirrorRead {
    /// The one whose member has less work.
    #[default]
    ShortestQueue,
    /// One at random.
    Random,
    /// Always the first: such mirrors cannot be seen from outside.
    First,
    /// As in Linux' md: an idle member, else the one whose head is nearest.
    Nearest,
}

/// A limit of requests, as a cloud or a quality-of-service rule sets one: a token bucket in front of the array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RequestLimit {
    /// Requests a second.
    pub iops: f64,
    /// Requests that may come at once before the limit delays any.
    pub burst: f64,
}

/// A part of the device that is answered without its disks, extent by extent: the part that a large cache holds, or
/// that was never written on a thin volume.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuickPart {
    /// The share of the extents, 0 to 1.
    pub share: f64,
    /// The size of an extent in bytes.
    pub extent_bytes: u64,
    /// The time of such an answer.
    pub time: Nanos,
}

impl QuickPart {
    /// Does this byte belong to the part? The extents are spread pseudo-randomly.
    pub fn holds(&self, offset: u64) -> bool {
        let mixed = (offset / self.extent_bytes).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        ((mixed >> 40) as f64) < self.share * (1u64 << 24) as f64
    }
}

/// How parities are updated by a small write.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ParityWrite {
    /// From the old data and the old parities (read-modify-write).
    #[default]
    ReadModify,
    /// From the other data of the stripe (reconstruct-write: Linux 2.4).
    Reconstruct,
}

/// A member that differs from the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Odd {
    /// The member's number, from 0.
    pub disk: usize,
    /// The factor of its revolution's time.
    pub rotation: f64,
    /// The factor of its seek times.
    pub seek: f64,
}

/// The description of an array to be built.
#[derive(Clone, Debug, PartialEq)]
pub struct ArraySetup {
    /// The places of the chunks.
    pub map: ChunkMap,
    /// The size of a chunk in bytes, a multiple of 512.
    pub chunk_bytes: u64,
    /// The byte of the array that is byte 0 of the device: where a partition begins.
    pub phase_bytes: u64,
    /// The size of the device, at most, in bytes: a partition or a small volume.
    pub bytes_max: u64,
    /// The logical block of the device, in bytes.
    pub block_bytes: u64,
    /// The limit of its requests; `None`: no limit.
    pub limit: Option<RequestLimit>,
    /// The part that is answered without its disks.
    pub quick: Option<QuickPart>,
    /// The drive of each member.
    pub drive: Drive,
    /// The queue discipline of each member.
    pub discipline: Discipline,
    /// Its disturbances.
    pub noise: Noise,
    /// The copy that a read goes to.
    pub mirror_read: MirrorRead,
    /// How parities are updated.
    pub parity_write: ParityWrite,
    /// Bytes of a cache that takes writes and passes them on later; `None`: no cache.
    pub write_cache_bytes: Option<u64>,
    /// Members that differ from the others.
    pub odd: Vec<Odd>,
    /// Two members that are halves of the same disk; if set, every member is half a disk.
    pub same: Option<(usize, usize)>,
    /// A member that is missing.
    pub lost: Option<usize>,
    /// A second member that is missing.
    pub second_lost: Option<usize>,
    /// The time that the host computes for each read of a lost chunk, one at a time.
    pub rebuild_time: Nanos,
    /// The seed of delays, of the choice of copies, and of other clients' reads.
    pub seed: u64,
}

impl ArraySetup {
    /// A quiet array of the paper's disks, each first come, first served.
    pub fn new(map: ChunkMap, chunk_bytes: u64) -> ArraySetup {
        ArraySetup {
            map,
            chunk_bytes,
            phase_bytes: 0,
            bytes_max: u64::MAX,
            block_bytes: 512,
            limit: None,
            quick: None,
            drive: Drive::Disk(Mechanics::ultrastar_9lzx()),
            discipline: Discipline::Fcfs,
            noise: Noise::Clean,
            mirror_read: MirrorRead::ShortestQueue,
            parity_write: ParityWrite::ReadModify,
            write_cache_bytes: None,
            odd: Vec::new(),
            same: None,
            lost: None,
            second_lost: None,
            rebuild_time: Nanos::ZERO,
            seed: 0,
        }
    }

    /// The bytes of its drive that each member uses.
    pub fn member_bytes(&self) -> u64 {
        self.drive.bytes() / if self.same.is_some() { 2 } else { 1 }
    }

    /// The size of the device, in bytes.
    pub fn bytes(&self) -> u64 {
        let stripes = self.map.stripes(self.member_bytes().checked_div(self.chunk_bytes).unwrap_or(0));
        (stripes * self.map.data() as u64 * self.chunk_bytes).saturating_sub(self.phase_bytes).min(self.bytes_max)
    }

    /// Is this member present?
    pub(super) fn is_present(&self, disk: usize) -> bool {
        self.lost != Some(disk) && self.second_lost != Some(disk)
    }

    /// The disk of a member: two members may be halves of one disk.
    pub(super) fn spindle_of(&self, disk: usize) -> usize {
        match self.same {
            Some((first, second)) if disk == second => first,
            _ => disk,
        }
    }

    /// The byte of its disk at which a member begins.
    pub(super) fn base_of(&self, disk: usize) -> u64 {
        match self.same {
            Some((_, second)) if disk == second => self.member_bytes() / 512 * 512,
            _ => 0,
        }
    }

    /// Why it cannot be built; `None`: it can.
    pub fn refusal(&self) -> Option<&'static str> {
        let disks = self.map.disks();
        let is_member = |disk: usize| disk < disks;
        let rules = [
            (disks > 0, "an array has members"),
            (self.chunk_bytes > 0 && self.chunk_bytes.is_multiple_of(512), "a chunk is whole sectors"),
            (self.phase_bytes.is_multiple_of(512), "a partition begins at a sector"),
            (self.lost.into_iter().chain(self.second_lost).all(is_member), "the lost disk is none of its members"),
            (
                self.block_bytes.is_power_of_two() && self.block_bytes >= 512,
                "a block is 512 bytes or a larger power of two",
            ),
            (self.odd.iter().all(|odd| is_member(odd.disk)), "the odd disk is none of its members"),
            (self.same.is_none_or(|(a, b)| a != b && is_member(a) && is_member(b)), "two members share a disk"),
            (
                self.lost.is_none() || self.map.redundancy() != MapRedundancy::None,
                "an array without redundancy does not live without a member",
            ),
            (self.bytes() > 0, "its members have no room for a stripe"),
        ];
        rules.iter().find(|(holds, _)| !holds).map(|&(_, message)| message)
    }
}
