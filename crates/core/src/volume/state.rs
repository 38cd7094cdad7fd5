//! What all tasks of a volume share: what was chosen when it was made and started, and its five parts.

use super::disk::PlacedDisk;
use super::findings::FindingLog;
use super::io::Io;
use super::lost::LostMark;
use super::maps::VolumeMaps;
use super::membership::Membership;
use super::options::{SeededBug, VolumeOptions};
use super::scheduler::{Scheduler, WaitList};
use crate::index::{MemberIndex, RegionIndex, StripeIndex, StripePosition};
use crate::layout::Shape;
use crate::position_set::{MemberSet, PositionSet};
use crate::units::{MemberOffset, Nanos};
use crate::volume::format::geometry::Geometry;
use crate::volume::integrity::tag::{ListEntry, RowIdentity, Version};
use crate::volume::member::MemberOpDone;
use scrubjay_code::Code;

/// A volume, as its tasks see it.
pub(super) struct VolumeState {
    pub options: VolumeOptions,
    pub geometry: Geometry,
    pub code: Code,
    /// Who runs, and who waits.
    pub scheduler: Scheduler,
    /// What goes to and from the pump.
    pub io: Io,
    /// The members, and what their superblocks say.
    pub membership: Membership,
    /// What is known of regions, stripes and chunks.
    pub maps: VolumeMaps,
    /// What was found wrong.
    pub findings: FindingLog,
}

impl VolumeState {
    /// Is this mistake to be made?
    #[cfg(feature = "planted")]
    pub fn is_planted(&self, mistake: SeededBug) -> bool {
        self.options.planted == Some(mistake)
    }

    /// No mistake is made on purpose.
    #[cfg(not(feature = "planted"))]
    pub const fn is_planted(&self, _: SeededBug) -> bool {
        false
    }

    /// An operation has ended. If a flush failed, or a durable write while its disk had something to lose, nothing more that is
    /// flushed there counts.
    pub fn sync_ended(&mut self, done: &MemberOpDone) {
        let Some(sync) = self.io.syncs.end(done.id) else { return };
        if done.result.is_err() && self.membership.is_current(sync.disk) {
            let cache = &mut self.membership.members[sync.disk.member].cache;
            if sync.begun_if_empty != Some(cache.begun()) {
                cache.lose();
            }
        }
        self.scheduler.wake(WaitList::Sync);
    }

    /// May anything be written?
    pub fn is_writable(&self) -> bool {
        !self.options.is_read_only && !self.membership.is_broken
    }

    /// How many of the data and parity chunks a stripe has.
    pub fn shape(&self) -> Shape {
        self.geometry.layout.shape()
    }

    pub fn chunk_bytes(&self) -> usize {
        self.geometry.chunk_bytes as usize
    }

    pub fn row_bytes(&self) -> usize {
        self.geometry.row_bytes() as usize
    }

    /// The physical identity of a row, and where on its member it lies.
    pub fn identity(&self, stripe: StripeIndex, position: StripePosition) -> RowIdentity {
        let place = self.geometry.place(stripe, position);
        RowIdentity { array: self.array(), member: place.member, row: place.row, role: position }
    }

    /// What says that this data chunk was lost.
    pub fn mark(&self, stripe: StripeIndex, position: StripePosition) -> LostMark {
        LostMark { array: self.array(), stripe, position }
    }

    /// An entry as it is written: where no version is, none.
    pub fn sealed(&self, entry: ListEntry) -> ListEntry {
        if self.geometry.scheme.has_versions() { entry } else { ListEntry { version: Version(0), ..entry } }
    }

    /// Does this chunk, in a scheme whose rows have no version to say so, say that it was lost?
    pub fn is_marked(&self, stripe: StripeIndex, position: StripePosition, chunk: &[u8]) -> bool {
        !self.geometry.scheme.has_versions() && self.mark(stripe, position).is_in(chunk)
    }

    /// Were so many faults located on this member of late that it should be replaced?
    pub fn is_unreliable(&self, member: MemberIndex) -> bool {
        let VolumeOptions { faults_max, faults_window, .. } = self.options;
        let is_recent = |at: &&Nanos| at.saturating_add(faults_window) >= self.scheduler.now;
        self.membership.members[member].faults.iter().filter(is_recent).count() >= faults_max
    }

    /// The first eight bytes of the array's UUID, as rows name it.
    fn array(&self) -> u64 {
        self.membership.superblock.array.id()
    }

    /// Disks in use that owe an answer for longer than they may, and gave none to anything of its kind meanwhile.
    pub fn overdue(&self) -> Vec<PlacedDisk> {
        let overdue = self.io.overdue(self.scheduler.now, self.options.op_deadline).into_iter();
        overdue.filter(|&disk| self.membership.is_current(disk)).collect()
    }

    /// Disks that hang, and are to be let go; from time to time. When more of them hang at once than can be spared, it is
    /// not the disks that are to blame; nor where nobody has looked for long: this program itself was stopped.
    pub fn hung(&mut self) -> Vec<PlacedDisk> {
        if self.io.groups.is_idle() {
            self.io.looked_at = self.scheduler.now;
        }
        if self.scheduler.now < self.io.next_look(self.options.op_deadline) {
            return Vec::new();
        }
        let late = self.scheduler.now.0 - self.io.looked_at.0;
        self.io.looked_at = self.scheduler.now;
        if late > self.options.op_deadline.0 / 2 {
            self.io.groups.excuse(self.scheduler.now);
            return Vec::new();
        }
        let hung = self.overdue();
        let members: MemberSet = hung.iter().map(|disk| disk.member).collect();
        if self.membership.can_spare_all(members) { hung } else { Vec::new() }
    }

    /// Data chunks of a stripe that a read, asked for now, gets from the medium itself: everything written to them was
    /// flushed.
    pub fn flushed(&self, stripe: StripeIndex) -> PositionSet {
        let is_blind = self.is_planted(SeededBug::SetReadBitWithoutFlush);
        self.shape()
            .data_positions()
            .filter(|&position| is_blind || !self.maps.unflushed.contains(self.maps.chunk(stripe, position)))
            .collect()
    }

    /// Is all of this region resynced?
    pub fn is_decided(&self, region: RegionIndex) -> bool {
        !self.maps.unsynced.has(region) || self.is_planted(SeededBug::CleanBeforeResync)
    }

    /// The stripe that the row at this place of a member belongs to is to be looked at.
    pub fn suspect(&mut self, member: MemberIndex, offset: MemberOffset) {
        let row = self.geometry.row_at(offset).filter(|_| member.get() < self.membership.members.len());
        let stripe = row.and_then(|row| self.geometry.chunk_at(member, row)).map(|(stripe, _)| stripe);
        self.findings.suspects.extend(stripe.filter(|stripe| self.geometry.all_stripes().contains(stripe)));
    }
}
