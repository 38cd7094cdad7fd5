//! Who the members are, how each is, and what the superblocks say of them.

use super::cache::Cache;
use super::disk::PlacedDisk;
use super::rounds::Rounds;
use crate::index::{MemberIndex, RegionIndex, RowIndex, StripeIndex, indexed};
use crate::position_set::{MemberSet, PositionSet};
use crate::units::Nanos;
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::Geometry;
use crate::volume::format::superblock::{MemberState, Superblock};
use std::collections::{BTreeSet, VecDeque};

/// Where the volume is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VolumePhase {
    /// It reads its maps. (What a crash left is resynced after that, while it serves.)
    Opening,
    /// It serves.
    Open,
    /// It takes no requests any more.
    Stopping,
    /// Nothing is under way, and nothing will be.
    Stopped,
}

/// A member, as the volume deals with it.
#[derive(Clone, Debug)]
pub(super) struct VolumeMember {
    pub state: MemberState,
    /// True until all other members' superblocks say that it is the one in this place.
    pub is_joining: bool,
    /// The newest generation of superblocks that it is known to have.
    pub generation_known: u64,
    /// Are the intents and the written map on it? It gets no superblock before: what else lies in their places may be those
    /// of another time.
    pub has_maps: bool,
    /// While one is rebuilt that was the same member before: the regions that were written since; it holds all others.
    pub lacks: Option<Bits<RegionIndex>>,
    /// While it is rebuilt: stripes behind `stripes_done` that it holds already.
    pub ahead: BTreeSet<StripeIndex>,
    /// The rebuild's checkpoint: stripes below this are on it, and the written map is durable as it was when they were done. The superblocks
    /// say this number, not `stripes_done`.
    pub stripes_vouched: u64,
    /// When faults were located on it, the last few.
    pub faults: VecDeque<Nanos>,
    /// The row of the last one.
    pub fault_row: Option<RowIndex>,
    /// What may still be lost with its disk's cache.
    pub cache: Cache,
}

indexed!(MemberIndex: VolumeMember);

/// The members, and what their superblocks say.
pub(super) struct Membership {
    pub life: VolumePhase,
    /// Are more members gone than it can do without? From then on what can still be read is read, nothing is written.
    pub is_broken: bool,
    pub superblock: Superblock,
    /// As it was last written.
    pub superblock_written: Option<Superblock>,
    pub superblock_rounds: Rounds,
    pub members: Vec<VolumeMember>,
    /// The members that took part in the last start: only they know of intents and of the map.
    pub up_to_date: MemberSet,
    /// Members that are being taken in, and have no disk in use yet.
    pub joining: MemberSet,
    /// Disks that are being rebuilt.
    pub rebuilds: BTreeSet<PlacedDisk>,
}

impl Membership {
    /// Of a volume that starts with these, who all know this generation of superblocks.
    pub fn new(superblock: Superblock, generation_known: u64, up_to_date: MemberSet) -> Membership {
        // After a stop in order all caches were flushed.
        let cache = if superblock.is_clean { Cache::default() } else { Cache::unknown() };
        let member = |state| VolumeMember::new(state, generation_known, cache);
        let members = superblock.members.iter().map(|record| member(record.state)).collect();
        Membership {
            life: VolumePhase::Opening,
            is_broken: false,
            superblock,
            superblock_written: None,
            superblock_rounds: Rounds::default(),
            members,
            up_to_date,
            joining: MemberSet::NONE,
            rebuilds: BTreeSet::new(),
        }
    }

    /// Where everything lies.
    fn geometry(&self) -> &Geometry {
        &self.superblock.geometry
    }

    /// Is it open, and not broken?
    pub fn is_serving(&self) -> bool {
        self.life == VolumePhase::Open && !self.is_broken
    }

    /// Does this member hold this stripe?
    pub fn holds(&self, member: MemberIndex, stripe: StripeIndex) -> bool {
        match self.members[member].state {
            MemberState::Active => true,
            MemberState::Rebuilding { stripes_done } => {
                let VolumeMember { ahead, lacks, .. } = &self.members[member];
                let is_kept = |lacks: &Bits<RegionIndex>| !lacks.get(self.geometry().region_of(stripe));
                stripe.get() < stripes_done || ahead.contains(&stripe) || lacks.as_ref().is_some_and(is_kept)
            }
            MemberState::Failed(_) | MemberState::Missing => false,
        }
    }

    /// Is there a disk behind this member, to be kept up to date?
    pub fn is_attached(&self, member: MemberIndex) -> bool {
        matches!(self.members[member].state, MemberState::Active | MemberState::Rebuilding { .. })
    }

    /// Is any member out, or is what took its place not known to the others yet? After a crash it is out as before then.
    pub fn is_anybody_out(&self) -> bool {
        MemberIndex::first(self.members.len())
            .any(|member| !self.is_attached(member) || self.members[member].is_joining)
    }

    /// The disk that is in a member's place now.
    pub fn disk(&self, member: MemberIndex) -> PlacedDisk {
        PlacedDisk { member, term: self.superblock.members[member].term }
    }

    /// Is this disk still in its place, and in use?
    pub fn is_current(&self, disk: PlacedDisk) -> bool {
        self.disk(disk.member) == disk && self.is_attached(disk.member)
    }

    /// All members with a disk.
    pub fn attached(&self) -> Vec<MemberIndex> {
        MemberIndex::first(self.members.len()).filter(|&member| self.is_attached(member)).collect()
    }

    /// The positions of a stripe whose members do not hold it.
    pub fn missing(&self, stripe: StripeIndex) -> PositionSet {
        if self.members.iter().all(|member| member.state == MemberState::Active) {
            return PositionSet::NONE;
        }
        let member = |position| self.geometry().place(stripe, position).member;
        self.geometry().layout.shape().positions().filter(|&position| !self.holds(member(position), stripe)).collect()
    }

    /// Would the volume still hold everything without this member? (Not whether it does now.)
    pub fn can_spare(&self, member: MemberIndex) -> bool {
        self.can_spare_all(MemberSet::one(member))
    }

    /// The same without all of these.
    pub fn can_spare_all(&self, members: MemberSet) -> bool {
        let gone = |member: MemberIndex| members.contains(member) || self.members[member].state != MemberState::Active;
        let period = self.geometry().layout.period().min(self.geometry().stripes);
        StripeIndex::first(period).all(|stripe| {
            self.geometry()
                .layout
                .shape()
                .positions()
                .filter(|&position| gone(self.geometry().place(stripe, position).member))
                .count()
                <= self.geometry().layout.shape().parity
        })
    }
}

impl VolumeMember {
    /// As a volume starts with it.
    fn new(state: MemberState, generation_known: u64, cache: Cache) -> VolumeMember {
        VolumeMember {
            is_joining: false,
            generation_known,
            has_maps: true,
            lacks: None,
            state,
            ahead: BTreeSet::new(),
            stripes_vouched: match state {
                MemberState::Rebuilding { stripes_done } => stripes_done,
                _ => 0,
            },
            faults: VecDeque::new(),
            fault_row: None,
            cache,
        }
    }
}
