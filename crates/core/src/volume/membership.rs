//! The members of a volume, the state of each, and the contents of their superblocks.

use crate::index::{MemberIndex, RegionIndex, RowIndex, StripeIndex, indexed};
use crate::position_set::{MemberSet, PositionSet};
use crate::units::Nanos;
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::rounds::Rounds;
use crate::volume::durable::volatile_writes::VolatileWrites;
use crate::volume::format::bits::Bits;
use crate::volume::format::geometry::Geometry;
use crate::volume::format::superblock::{MemberState, Superblock};
use std::collections::{BTreeSet, VecDeque};
use std::ops::RangeInclusive;

/// The phase of a volume's life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum VolumePhase {
    /// It reads its maps. (What a crash left is resynced after that, while the volume serves.)
    Opening,
    /// It serves requests.
    Open,
    /// It takes no more requests.
    Stopping,
    /// Nothing is under way, and nothing will be.
    Stopped,
}

/// The volume's state of one member.
#[derive(Clone, Debug)]
pub(super) struct VolumeMember {
    pub state: MemberState,
    /// True until the superblocks of all other members name this disk as the one in this place.
    pub is_unrecorded: bool,
    /// The newest generation of superblocks that it is known to hold.
    pub generation_known: u64,
    /// Whether the intents and the written map are on it. Until then it gets no superblock, because other content in their
    /// places may be out of date.
    pub has_maps: bool,
    /// While a member that was out is rebuilt: the regions written since it left; it holds all others. `None` for a new disk.
    pub lacks: Option<Bits<RegionIndex>>,
    /// While it is rebuilt: stripes from `stripes_done` on that it already holds.
    pub rebuilt_out_of_order: BTreeSet<StripeIndex>,
    /// The rebuild's checkpoint: stripes below this are on the disk, and the written map is durable as it was when they were
    /// done. The superblocks record this number, not `stripes_done`.
    pub rebuild_checkpoint: u64,
    /// Times of the last faults located on it, at most `VolumeOptions::faults_max` of them.
    pub faults: VecDeque<Nanos>,
    /// The rows from the first to the last of those faults that were counted together last (`persist::blame`).
    pub fault_stretch: Option<RangeInclusive<RowIndex>>,
    /// The volatile writes of its disk.
    pub cache: VolatileWrites,
}

indexed!(MemberIndex: VolumeMember);

/// The members, and the contents of their superblocks.
pub(super) struct Membership {
    pub phase: VolumePhase,
    /// Whether more members are out than the volume can do without. From then on it reads what it can, and
    /// begins no write; repairs under way may still end theirs, over rows that were wrong before.
    pub is_broken: bool,
    pub superblock: Superblock,
    /// The superblock as it was last written by this run.
    pub superblock_written: Option<Superblock>,
    pub superblock_rounds: Rounds,
    pub members: Vec<VolumeMember>,
    /// Members that took part in the last start, or missed it by a crash: their intents and maps are believed first.
    pub in_last_start: MemberSet,
    /// Members that are being taken in, and have no disk in use yet.
    pub take_in_pending: MemberSet,
    /// Disks that are being rebuilt.
    pub rebuilds: BTreeSet<PlacedDisk>,
}

impl Membership {
    /// The membership of a volume that starts. All its members count as holding generation `generation_known` of superblocks.
    pub fn new(superblock: Superblock, generation_known: u64, in_last_start: MemberSet) -> Membership {
        // A stop in order flushed all caches.
        let cache = if superblock.is_clean { VolatileWrites::default() } else { VolatileWrites::unknown() };
        let member = |state| VolumeMember::new(state, generation_known, cache);
        let members = superblock.members.iter().map(|record| member(record.state)).collect();
        Membership {
            phase: VolumePhase::Opening,
            is_broken: false,
            superblock,
            superblock_written: None,
            superblock_rounds: Rounds::default(),
            members,
            in_last_start,
            take_in_pending: MemberSet::NONE,
            rebuilds: BTreeSet::new(),
        }
    }

    /// The volume's geometry.
    fn geometry(&self) -> &Geometry {
        &self.superblock.geometry
    }

    /// Whether the volume is open and not broken. (A broken one still answers reads, as far as it can.)
    pub fn is_serving(&self) -> bool {
        self.phase == VolumePhase::Open && !self.is_broken
    }

    /// Whether this member holds its row of this stripe.
    pub fn holds(&self, member: MemberIndex, stripe: StripeIndex) -> bool {
        match self.members[member].state {
            MemberState::Active => true,
            MemberState::Rebuilding { stripes_done } => {
                let VolumeMember { rebuilt_out_of_order, lacks, .. } = &self.members[member];
                let is_kept = |lacks: &Bits<RegionIndex>| !lacks.get(self.geometry().region_of(stripe));
                stripe.get() < stripes_done
                    || rebuilt_out_of_order.contains(&stripe)
                    || lacks.as_ref().is_some_and(is_kept)
            }
            MemberState::Failed(_) | MemberState::Missing => false,
        }
    }

    /// Whether a disk is in this member's place and kept up to date.
    pub fn is_attached(&self, member: MemberIndex) -> bool {
        matches!(self.members[member].state, MemberState::Active | MemberState::Rebuilding { .. })
    }

    /// Whether any member is out, or its replacement is not yet known to the others: after a crash now, it would be out
    /// again.
    pub fn is_any_member_out(&self) -> bool {
        MemberIndex::first(self.members.len())
            .any(|member| !self.is_attached(member) || self.members[member].is_unrecorded)
    }

    /// The disk in a member's place now.
    pub fn disk(&self, member: MemberIndex) -> PlacedDisk {
        PlacedDisk { member, term: self.superblock.members[member].term }
    }

    /// Whether this disk is still in its place and in use.
    pub fn is_current(&self, disk: PlacedDisk) -> bool {
        self.disk(disk.member) == disk && self.is_attached(disk.member)
    }

    /// All members with a disk in use.
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

    /// Whether the volume could do without this member and hold everything. (Not whether it holds everything now.)
    pub fn can_spare(&self, member: MemberIndex) -> bool {
        self.can_spare_all(MemberSet::one(member))
    }

    /// [`Membership::can_spare`] for all of these members together.
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
    /// A member, as a volume starts with it.
    fn new(state: MemberState, generation_known: u64, cache: VolatileWrites) -> VolumeMember {
        VolumeMember {
            is_unrecorded: false,
            generation_known,
            has_maps: true,
            lacks: None,
            state,
            rebuilt_out_of_order: BTreeSet::new(),
            rebuild_checkpoint: match state {
                MemberState::Rebuilding { stripes_done } => stripes_done,
                _ => 0,
            },
            faults: VecDeque::new(),
            fault_stretch: None,
            cache,
        }
    }
}
