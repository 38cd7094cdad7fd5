//! The state that all tasks of a volume share: the choices made at its creation and start, and its five parts.

use crate::index::{MemberIndex, RegionIndex, StripeIndex, StripePosition};
use crate::layout::Shape;
use crate::position_set::{MemberSet, PositionSet};
use crate::units::{MemberOffset, Nanos};
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::maps::VolumeMaps;
use crate::volume::findings::FindingLog;
use crate::volume::format::geometry::Geometry;
use crate::volume::integrity::tag::{ListEntry, RowIdentity, Version};
use crate::volume::member::MemberOpDone;
use crate::volume::membership::Membership;
use crate::volume::options::{SeededBug, VolumeOptions};
use crate::volume::repair::lost_mark::LostMark;
use crate::volume::tasks::io::Io;
use crate::volume::tasks::scheduler::{Scheduler, WaitList};
use scrubjay_code::Code;

/// A volume's state, as its tasks see it.
pub struct VolumeState {
    pub options: VolumeOptions,
    pub geometry: Geometry,
    pub code: Code,
    /// Running, ready and waiting tasks; the time.
    pub scheduler: Scheduler,
    /// Operations and replies to and from the pump.
    pub io: Io,
    /// The members, and the content of the superblocks.
    pub membership: Membership,
    /// What is known of regions, stripes and chunks.
    pub maps: VolumeMaps,
    /// What was found wrong.
    pub findings: FindingLog,
}

impl VolumeState {
    /// Is this seeded bug switched on?
    #[cfg(feature = "planted")]
    pub fn is_planted(&self, bug: SeededBug) -> bool {
        self.options.planted == Some(bug)
    }

    /// Always false: without the feature `planted` no bug can be switched on.
    #[cfg(not(feature = "planted"))]
    pub const fn is_planted(&self, _: SeededBug) -> bool {
        false
    }

    /// Handles the end of an operation, if it was a flush or a durable write. If a flush failed, or a durable write to
    /// a disk with unflushed writes, the disk's cache may have lost data: no later flush of that disk counts. (A disk without any
    /// had nothing else to lose: then the error is of this very write.)
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

    /// The numbers of data and parity chunks in a stripe.
    pub fn shape(&self) -> Shape {
        self.geometry.layout.shape()
    }

    pub fn chunk_bytes(&self) -> usize {
        self.geometry.chunk_bytes as usize
    }

    pub fn row_bytes(&self) -> usize {
        self.geometry.row_bytes() as usize
    }

    /// The physical identity of a row: the array, its member, its place there, and its position.
    pub fn identity(&self, stripe: StripeIndex, position: StripePosition) -> RowIdentity {
        let place = self.geometry.place(stripe, position);
        RowIdentity { array: self.array(), member: place.member, row: place.row, position }
    }

    /// The mark that says that this data chunk was lost.
    pub fn mark(&self, stripe: StripeIndex, position: StripePosition) -> LostMark {
        LostMark { array: self.array(), stripe, position }
    }

    /// An entry as it is stored: with version 0 in schemes without versions.
    pub fn sealed(&self, entry: ListEntry) -> ListEntry {
        if self.geometry.scheme.has_versions() { entry } else { ListEntry { version: Version(0), ..entry } }
    }

    /// Is this the content of a chunk marked as lost, in a scheme without versions (which would say so)?
    pub fn is_marked(&self, stripe: StripeIndex, position: StripePosition, chunk: &[u8]) -> bool {
        !self.geometry.scheme.has_versions() && self.mark(stripe, position).is_in(chunk)
    }

    /// Were so many faults located on this member recently that it should be replaced?
    pub fn is_unreliable(&self, member: MemberIndex) -> bool {
        let VolumeOptions { faults_max, faults_window, .. } = self.options;
        let is_recent = |at: &&Nanos| at.saturating_add(faults_window) >= self.scheduler.now;
        self.membership.members[member].faults.iter().filter(is_recent).count() >= faults_max
    }

    /// The first eight bytes of the array's UUID, which rows store.
    fn array(&self) -> u64 {
        self.membership.superblock.array.id()
    }

    /// Disks in use that owe an answer for longer than the time limit, and answered no operation of that kind meanwhile.
    pub fn overdue(&self) -> Vec<PlacedDisk> {
        let overdue = self.io.overdue(self.scheduler.now, self.options.op_deadline).into_iter();
        overdue.filter(|&disk| self.membership.is_current(disk)).collect()
    }

    /// Disks that hang, and are to be taken out; checked from time to time. Empty if more hang at once than can be spared,
    /// because then the disks are not to blame; or if the last check is long ago, because then this program itself was stopped.
    pub fn check_hung(&mut self) -> Vec<PlacedDisk> {
        if self.io.groups.is_idle() {
            self.io.checked_at = self.scheduler.now;
        }
        if self.scheduler.now < self.io.next_check(self.options.op_deadline) {
            return Vec::new();
        }
        let elapsed = self.scheduler.now.0 - self.io.checked_at.0;
        self.io.checked_at = self.scheduler.now;
        if elapsed > self.options.op_deadline.0 / 2 {
            self.io.groups.excuse(self.scheduler.now);
            return Vec::new();
        }
        let hung = self.overdue();
        let members: MemberSet = hung.iter().map(|disk| disk.member).collect();
        if self.membership.can_spare_all(members) { hung } else { Vec::new() }
    }

    /// Data chunks of a stripe that a read submitted now gets from the medium itself: all that was written to them is flushed.
    pub fn flushed(&self, stripe: StripeIndex) -> PositionSet {
        let ignores_flushes = self.is_planted(SeededBug::SetReadBitWithoutFlush);
        self.shape()
            .data_positions()
            .filter(|&position| ignores_flushes || !self.maps.unflushed.contains(self.maps.chunk(stripe, position)))
            .collect()
    }

    /// Is all of this region resynced?
    pub fn is_region_resynced(&self, region: RegionIndex) -> bool {
        !self.maps.pending_resync.has(region) || self.is_planted(SeededBug::CleanBeforeResync)
    }

    /// Notes whether a stripe holds lost chunks. The superblocks are written soon after, if that changes anything.
    pub fn note_loss(&mut self, stripe: StripeIndex, is_lost: bool) {
        let losses = &mut self.membership.superblock.losses;
        let is_changed = if is_lost { losses.insert(stripe) } else { losses.remove(stripe) };
        let is_forgotten = is_lost && self.is_planted(SeededBug::ForgetLosses);
        self.findings.are_losses_unwritten |= is_changed && !is_forgotten;
    }

    /// Queues a verification of a stripe that holds lost chunks, after it was written to.
    pub fn look_again(&mut self, stripe: StripeIndex) {
        if self.membership.superblock.losses.contains(stripe) {
            self.findings.suspects.push(stripe);
        }
    }

    /// Queues a verification of the stripe to which the row at this offset of a member belongs.
    pub fn suspect(&mut self, member: MemberIndex, offset: MemberOffset) {
        let row = self.geometry.row_at(offset).filter(|_| member.get() < self.membership.members.len());
        let stripe = row.and_then(|row| self.geometry.chunk_at(member, row)).map(|(stripe, _)| stripe);
        self.findings.suspects.extend(stripe.filter(|stripe| self.geometry.all_stripes().contains(stripe)));
    }
}
