//! The volume: a machine that makes members into one block device, and finds and repairs silent corruption.
//!
//! ```text
//! BlockRequest -> requests -> read, stripe_write -> plan -> ops -> a pump -> disks
//!                    |           | something is wrong
//!                    |           +-> repair: read all, judge, rebuild, write, read back -> VolumeFinding
//!                    +-> persist: intents, flushes, the written map, superblocks
//! opening: recover (reads the maps);  later: resync (what a crash left), verify (scrub), rebuild (a new member)
//! ```
//!
//! Folders: `request` (what clients and scrubs ask), `repair` (what makes it whole again), `durable` (what is kept, and when), `tasks`
//! (who runs, what is shared and locked), `format`, `integrity` and `plan`.
//!
//! Each request is one task (`tasks`), which holds the stripes it works on (`locks`). **Invariants:** a row is used only
//! after it proved itself, where the scheme lets it; nothing is computed from unproven content; no write is acknowledged
//! before all its rows are written or their members are durably recorded as out; no repair is reported before it was read
//! back.

pub mod block;
mod disk;
mod durable;
pub mod finding;
mod findings;
pub mod format;
pub mod integrity;
pub mod member;
mod membership;
mod options;
pub mod plan;
mod repair;
pub mod request;
mod tasks;
#[cfg(test)]
mod tests;

use crate::buffer::Buffer;
use crate::index::StripeIndex;
use crate::units::Nanos;
use crate::volume::block::{BlockFailure, BlockReply, BlockRequest, RequestId};
use crate::volume::format::assemble::{Assembly, SlotState};
use crate::volume::format::returns::ReturnRefusal;
use crate::volume::format::superblock::{FailureReason, MemberState, Superblock};
use crate::volume::format::uuid::Uuid;
use crate::volume::format::written;
use crate::volume::integrity::tag::NUMBER_WRITABLE_END;
use crate::volume::member::{ArrayMachine, DiskFault, MemberIndex, MemberOp, MemberOpDone};
use durable::maps::VolumeMaps;
use durable::persist;
use finding::VolumeFinding;
use findings::FindingLog;
use membership::{Membership, VolumePhase};
pub use options::{SeededBug, VolumeOptions};
use repair::{metadata, rebuild, recover};
use request::{requests, verify};
use scrubjay_code::Code;
use tasks::handle::VolumeHandle;
use tasks::io::Io;
use tasks::ops::OpEnd;
use tasks::scheduler::{Scheduler, WaitList};
use tasks::state::VolumeState;
use tasks::task_set::Tasks;

/// The state of a volume, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeStatus {
    /// Whether it is open and not broken. (A broken volume still answers reads, as far as it can.)
    pub is_open: bool,
    /// Whether more members are out than it can do without.
    pub is_broken: bool,
    /// Its members by index: the state of each, and the faults located on it since it became a member (count).
    pub members: Vec<(MemberState, u32)>,
    /// Members that should be replaced: at least [`VolumeOptions::faults_max`] faults within
    /// [`VolumeOptions::faults_window`].
    pub unreliable: Vec<MemberIndex>,
    /// Members that have owed a result for longer than they may ([`VolumeOptions::op_deadline`]).
    pub hanging: Vec<MemberIndex>,
    /// Stripes that were written and not trimmed since (count).
    pub stripes_written: u64,
    /// Of these, stripes that a crash may have left half written, in a volume open for reading only, which is never resynced.
    pub stripes_undecided: u64,
    /// Regions that a crash may have left half written, not resynced yet (count); the resync runs in the background.
    pub regions_to_resync: u64,
    /// All stripes (count).
    pub stripes: u64,
    /// Regions in which writes may be under way or unflushed (count).
    pub regions_dirty: u64,
    /// Findings dropped because nothing fetched them in time (count).
    pub records_dropped: u64,
    /// Stripes that hold lost chunks, as far as is known (count), also of earlier runs.
    pub stripes_lost: u64,
    /// Is that count a limit only?
    pub is_lost_at_most: bool,
}

/// A running volume.
pub struct Volume {
    handle: VolumeHandle,
    tasks: Tasks,
}

impl Volume {
    /// Starts a volume from its assembled members. Its first operations read its maps; requests wait for that. What a crash
    /// left is resynced in the background, or at once where a request needs it.
    pub fn start(assembly: Assembly, mut options: VolumeOptions) -> Volume {
        options.is_read_only |= !assembly.superblock.features.may_be_written() || !assembly.superblock.leaves_room();
        let mut superblock = superblock_of(&assembly);
        // Skip two generations. A run that crashed may have left generation g + 1 half written. If this run wrote g + 1 again,
        // sectors of both could make a block with a valid checksum. g + 3 goes to the same places, and cannot be confused with it.
        superblock.generation += 2;
        let geometry = superblock.geometry;
        let shape = geometry.layout.shape();
        let state = VolumeState {
            options,
            geometry,
            code: Code::new(shape.data, shape.parity).expect("a geometry's shape has a code"),
            scheduler: Scheduler::default(),
            io: Io::default(),
            maps: VolumeMaps::new(geometry, superblock.write_mark.max(1)),
            membership: Membership::new(superblock, assembly.superblock.generation, assembly.in_last_start),
            findings: FindingLog::default(),
        };
        let handle = VolumeHandle::new(state);
        handle.spawn(recover::open(handle.clone()));
        let mut volume = Volume { handle, tasks: Tasks::default() };
        volume.run();
        volume
    }

    /// Reads these stripes whole and repairs what is wrong in them; with stripe 0, also all metadata. The reply comes when
    /// all are done: an I/O error if some of them do not have all of their content. [`Volume::poll_finding`] returns the
    /// findings.
    pub fn verify(&mut self, now: Nanos, id: RequestId, stripes: std::ops::Range<StripeIndex>) {
        self.handle.with(|state| state.scheduler.unfinished += 1);
        let handle = self.handle.clone();
        self.begin(now, async move {
            while handle.with(|state| state.membership.phase == VolumePhase::Opening) {
                handle.park(WaitList::Open).await;
            }
            let end = stripes.end.min(handle.with(|state| state.geometry.all_stripes().end));
            let mut reply = BlockReply::Done;
            let is_ending =
                || handle.with(|state| matches!(state.membership.phase, VolumePhase::Stopping | VolumePhase::Stopped));
            if stripes.start == StripeIndex(0) && !is_ending() {
                metadata::verify(&handle).await;
            }
            for stripe in StripeIndex::each(stripes.start..end) {
                if is_ending() {
                    reply = BlockReply::Failed(BlockFailure::Stopping);
                    break;
                }
                if !verify::stripe(&handle, stripe).await {
                    reply = BlockReply::Failed(BlockFailure::Io);
                }
            }
            handle.with(|state| {
                state.io.replies.push_back((id, reply));
                state.scheduler.unfinished -= 1;
                state.scheduler.wake(WaitList::Idle);
            });
        });
    }

    /// Takes a member out. The caller checks [`Volume::can_spare`] first: a volume that fails a member it cannot spare is
    /// broken, and refuses writes until it is started again.
    pub fn fail(&mut self, now: Nanos, member: MemberIndex) {
        let handle = self.handle.clone();
        let disk = handle.with(|state| state.membership.disk(member));
        self.begin(now, async move { persist::fail_member(&handle, disk, FailureReason::ByAdministrator).await });
    }

    /// Takes in a new disk of `bytes` bytes for a member that is out, and rebuilds it while the volume serves. The pump has
    /// already put the disk in the old one's place.
    ///
    /// # Panics
    /// Unless [`Volume::can_take_in`].
    pub fn replace(&mut self, now: Nanos, member: MemberIndex, uuid: Uuid, bytes: u64) {
        self.take_in(now, member, uuid, bytes, false);
    }

    /// Takes a member that is out back in with the content it had when it left: only what was written since is rebuilt. The
    /// pump has already put the disk in its place; `theirs` is its superblock.
    ///
    /// # Errors
    /// Why it may not come back with that content; it can be taken in as a new disk ([`Volume::replace`]).
    ///
    /// # Panics
    /// Unless [`Volume::can_take_in`].
    pub fn readd(&mut self, now: Nanos, theirs: &Superblock, uuid: Uuid, bytes: u64) -> Result<(), ReturnRefusal> {
        self.check_return(theirs)?;
        self.take_in(now, theirs.member, uuid, bytes, true);
        Ok(())
    }

    /// Whether the member with superblock `theirs` may come back now with the content it had when it left.
    ///
    /// # Errors
    /// Why it may not.
    pub fn check_return(&self, theirs: &Superblock) -> Result<(), ReturnRefusal> {
        self.handle.with(|state| state.membership.superblock.check_return(theirs))?;
        if self.has_unfinished_operations(theirs.member) { Err(ReturnRefusal::Busy) } else { Ok(()) }
    }

    /// Whether a disk in this place was taken out and has not ended all its operations yet.
    pub fn has_unfinished_operations(&self, member: MemberIndex) -> bool {
        self.handle.with(|state| state.io.groups.is_late(member))
    }

    /// Whether this member is out and a disk may take its place now. Not while the volume opens or is taking one in there.
    pub fn can_take_in(&self, member: MemberIndex) -> bool {
        self.handle.with(|state| {
            // No place had that many members: a term at its maximum was made up.
            let is_countable = state.membership.superblock.members[member].term < u16::MAX;
            state.membership.is_serving()
                && !state.options.is_read_only
                && !state.membership.is_attached(member)
                && !state.membership.take_in_pending.contains(member)
                && is_countable
        })
    }

    fn take_in(&mut self, now: Nanos, member: MemberIndex, uuid: Uuid, bytes: u64, is_back: bool) {
        assert!(self.can_take_in(member), "only a member that is out is taken in");
        self.handle.with(|state| {
            state.membership.take_in_pending.insert(member);
            // A stop waits for it.
            state.scheduler.unfinished += 1;
            let least = state.geometry.member_bytes;
            state
                .options
                .member_bytes
                .resize(state.membership.members.len().max(state.options.member_bytes.len()), least);
            state.options.member_bytes[member.get()] = bytes;
        });
        let handle = self.handle.clone();
        self.begin(now, async move { rebuild::take_in(handle, member, uuid, is_back).await });
    }

    /// Uses no write number below `below` from now on. A disk that was a member before may have gone on without the others:
    /// with its write mark passed here before it is taken in, nothing that it still holds looks newer than later writes.
    pub fn skip_write_numbers(&mut self, below: u64) {
        // Whatever a disk says, there must be room for all later writes below the numbers that a start accepts.
        let below = below.min(NUMBER_WRITABLE_END / 2);
        self.handle.with(|state| state.maps.write_number = state.maps.write_number.max(below));
    }

    /// Whether the volume could do without this member and hold everything.
    pub fn can_spare(&self, member: MemberIndex) -> bool {
        self.handle.with(|state| state.membership.can_spare(member))
    }

    /// Whether this stripe was ever written; true where that is not known (while the volume opens, and after a crash until
    /// the stripe is resynced).
    pub fn is_written(&self, stripe: StripeIndex) -> bool {
        self.handle.with(|state| state.maps.may_be_written(stripe))
    }

    /// Whether the volume is open, and a crash left nothing half written in this stripe that is not resynced yet.
    pub fn is_resynced(&self, stripe: StripeIndex) -> bool {
        self.handle.with(|state| state.membership.is_serving() && !state.maps.needs_resync(stripe))
    }

    /// Whether the volume is open for reading only.
    pub fn is_read_only(&self) -> bool {
        self.handle.with(|state| state.options.is_read_only)
    }

    /// Findings dropped since the last call because nothing fetched them in time (count).
    pub fn take_findings_dropped(&mut self) -> u64 {
        self.handle.with(|state| std::mem::take(&mut state.findings.records_dropped))
    }

    /// Removes and returns the oldest finding.
    pub fn poll_finding(&mut self) -> Option<VolumeFinding> {
        self.handle.with(|state| state.findings.records.pop_front())
    }

    /// The state of the volume.
    pub fn status(&self) -> VolumeStatus {
        self.handle.with(|state| VolumeStatus {
            is_open: state.membership.is_serving(),
            is_broken: state.membership.is_broken,
            members: state
                .membership
                .members
                .iter()
                .zip(&state.membership.superblock.members)
                .map(|(member, record)| (member.state, record.faults))
                .collect(),
            unreliable: MemberIndex::first(state.membership.members.len())
                .filter(|&member| state.is_unreliable(member))
                .collect(),
            hanging: state.overdue().into_iter().map(|disk| disk.member).collect(),
            stripes_written: state.maps.written.count(),
            stripes_undecided: state.maps.undecided_written,
            regions_to_resync: state.maps.pending_resync.regions().len() as u64,
            stripes: state.geometry.stripes,
            regions_dirty: state.maps.intents.dirty.count(),
            records_dropped: state.findings.records_dropped,
            stripes_lost: state.membership.superblock.losses.count(),
            is_lost_at_most: state.membership.superblock.losses.is_coarse(),
        })
    }

    /// The state of each member, by index.
    pub fn member_states(&self) -> Vec<MemberState> {
        self.handle.with(|state| state.membership.members.iter().map(|member| member.state).collect())
    }

    /// Whether the volume serves, and whether it is broken.
    pub fn is_open_or_broken(&self) -> (bool, bool) {
        self.handle.with(|state| (state.membership.is_serving(), state.membership.is_broken))
    }

    /// The superblock that the volume would write now.
    pub fn superblock(&self) -> Superblock {
        self.handle.with(|state| state.membership.superblock.clone())
    }

    fn begin(&mut self, now: Nanos, task: impl Future<Output = ()> + 'static) {
        self.handle.with(|state| state.scheduler.advance(now));
        self.handle.spawn(task);
        self.run();
    }

    /// Runs tasks until all of them wait.
    fn run(&mut self) {
        loop {
            for stripe in self.handle.with(|state| std::mem::take(&mut state.findings.suspects)) {
                let handle = self.handle.clone();
                handle.with(|state| state.scheduler.unfinished += 1);
                self.handle.spawn(async move {
                    verify::stripe(&handle, stripe).await;
                    handle.with(|state| {
                        state.scheduler.unfinished -= 1;
                        state.scheduler.wake(WaitList::Idle);
                    });
                });
            }
            let is_due = |state: &mut VolumeState| {
                state.membership.is_serving() && std::mem::replace(&mut state.findings.are_losses_unwritten, false)
            };
            if self.handle.with(is_due) {
                let handle = self.handle.clone();
                handle.with(|state| state.scheduler.unfinished += 1);
                self.handle.spawn(async move {
                    persist::commit(&handle, |_| ()).await;
                    handle.with(|state| {
                        state.scheduler.unfinished -= 1;
                        state.scheduler.wake(WaitList::Idle);
                    });
                });
            }
            for task in self.handle.with(|state| std::mem::take(&mut state.scheduler.spawned)) {
                let id = self.tasks.insert(task);
                self.handle.with(|state| state.scheduler.ready.push_back(id));
            }
            let next = self.handle.with(|state| {
                let next = state.scheduler.ready.pop_front()?;
                state.scheduler.current = next;
                Some(next)
            });
            match next {
                Some(id) => self.tasks.poll(id),
                None if self
                    .handle
                    .with(|state| state.scheduler.spawned.is_empty() && state.findings.suspects.is_empty()) =>
                {
                    return;
                }
                None => (),
            }
        }
    }
}

impl ArrayMachine for Volume {
    fn size(&self) -> u64 {
        self.handle.with(|state| state.geometry.size())
    }

    fn submit(&mut self, now: Nanos, id: RequestId, request: BlockRequest) {
        self.handle.with(|state| state.scheduler.unfinished += 1);
        let handle = self.handle.clone();
        self.begin(now, requests::run(handle, id, request));
    }

    fn handle(&mut self, now: Nanos, done: MemberOpDone) {
        self.handle.with(|state| {
            state.scheduler.advance(now);
            state.sync_ended(&done);
            match state.io.groups.end(now, done) {
                OpEnd::Noted => {}
                OpEnd::Last(task) => state.scheduler.ready.push_back(task),
                OpEnd::Late(buffer) => state.io.recycle(buffer),
            }
        });
        self.run();
    }

    fn tick(&mut self, now: Nanos) {
        let hung = self.handle.with(|state| {
            state.scheduler.advance(now);
            state.check_hung()
        });
        for disk in hung {
            // Failing an earlier disk of this list may have taken out members that are not in it.
            if !self.handle.with(|state| state.membership.can_spare(disk.member)) {
                continue;
            }
            let handle = self.handle.clone();
            self.begin(now, async move { persist::fail_member(&handle, disk, FailureReason::Hung).await });
        }
        let is_due = self.handle.with(|state| state.scheduler.wake_due());
        if is_due {
            self.run();
        }
    }

    fn poll_op(&mut self, now: Nanos) -> Option<MemberOp> {
        self.tick(now);
        loop {
            let (disk, op) = self.handle.with(|state| state.io.out.pop_front())?;
            if self.handle.with(|state| state.membership.is_current(disk)) {
                return Some(op);
            }
            // The operation is not for the disk that may be in its place by now.
            let buffer = op.kind.buffer();
            self.handle(now, MemberOpDone { id: op.id, buffer, result: Err(DiskFault::Gone) });
        }
    }

    fn poll_reply(&mut self) -> Option<(RequestId, BlockReply)> {
        self.handle.with(|state| state.io.replies.pop_front())
    }

    fn poll_timeout(&self) -> Option<Nanos> {
        self.handle.with(|state| {
            let timer = state.scheduler.next_timer();
            let check_time = (!state.io.groups.is_idle()).then(|| state.io.next_check(state.options.op_deadline));
            timer.into_iter().chain(check_time).min()
        })
    }

    fn buffer(&mut self, len: usize) -> Buffer {
        self.handle.with(|state| state.io.pool.take(len))
    }

    fn recycle(&mut self, buffer: Buffer) {
        self.handle.with(|state| state.io.pool.give(buffer));
    }

    /// Takes no more requests. When those taken are done, flushes, and writes a superblock that says that the volume was
    /// stopped in order.
    fn stop(&mut self, now: Nanos) {
        let handle = self.handle.clone();
        self.begin(now, async move {
            while handle.with(|state| state.membership.phase == VolumePhase::Opening) {
                handle.park(WaitList::Open).await;
            }
            let is_broken = handle.with(|state| {
                state.membership.phase =
                    if state.membership.is_broken { VolumePhase::Stopped } else { VolumePhase::Stopping };
                state.membership.is_broken
            });
            if is_broken {
                return;
            }
            while handle.with(|state| state.scheduler.unfinished > 0 || !state.membership.rebuilds.is_empty()) {
                handle.park(WaitList::Idle).await;
            }
            if handle.with(|state| !state.options.is_read_only) {
                persist::clean(&handle, Nanos::MAX).await;
                let is_clean = handle.with(|state| !state.maps.intents.is_any_dirty() && !state.membership.is_broken);
                let map_sum = handle.with(|state| written::sum(&state.geometry, &state.maps.written));
                persist::commit(&handle, |superblock| {
                    superblock.is_clean = is_clean;
                    superblock.map_sum = if is_clean { map_sum } else { 0 };
                })
                .await;
            }
            handle.with(|state| state.membership.phase = VolumePhase::Stopped);
        });
    }

    /// Whether the volume is stopped, so that the pump may end.
    fn is_stopped(&self) -> bool {
        self.handle.with(|state| state.membership.phase == VolumePhase::Stopped && state.io.groups.is_idle())
    }
}

/// The superblock of the array, with the state that each member has in this assembly.
fn superblock_of(assembly: &Assembly) -> Superblock {
    let mut superblock = assembly.superblock.clone();
    for (record, member) in superblock.members.iter_mut().zip(&assembly.members) {
        record.state = match *member {
            SlotState::Active(_) => MemberState::Active,
            SlotState::Rebuilding { stripes_done, .. } => MemberState::Rebuilding { stripes_done },
            SlotState::Absent => MemberState::Missing,
            SlotState::Out(state) => state,
        };
        if let SlotState::Absent = member {
            record.departure_generation = assembly.superblock.generation;
        }
    }
    superblock
}

/// Breaks a cycle: tasks hold the state, and the state holds the tasks that were not begun.
impl Drop for Volume {
    fn drop(&mut self) {
        self.tasks = Tasks::default();
        let spawned = self.handle.with(|state| std::mem::take(&mut state.scheduler.spawned));
        drop(spawned);
    }
}
