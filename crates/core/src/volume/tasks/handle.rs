//! What a task can do: start disk operations, take locks, wait, and start other tasks.

use crate::buffer::Buffer;
use crate::index::StripeIndex;
use crate::units::{MemberOffset, Nanos};
use crate::volume::disk::PlacedDisk;
use crate::volume::durable::syncs::Sync;
use crate::volume::member::{DiskFault, MemberIndex, MemberOp, MemberOpDone, MemberOpId, OpKind};
use crate::volume::tasks::ops::{Groups, RequestedOp};
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use crate::volume::tasks::task_set::TaskId;
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::rc::Rc;
use std::task::Poll;

/// The volume's state, shared by its tasks. A borrow never outlives a step: tasks run one at a time.
#[derive(Clone)]
pub struct VolumeHandle(Rc<RefCell<VolumeState>>);

/// The end of an operation, and the disk it was for.
pub struct EndedOp {
    pub disk: PlacedDisk,
    /// The operation's buffer. `None` if it had none, or if the disk was given up and still has it.
    pub buffer: Option<Buffer>,
    pub result: Result<(), DiskFault>,
}

/// A lock on a stripe, held by a task; dropping it releases the lock.
pub struct Guard {
    handle: VolumeHandle,
    stripe: StripeIndex,
    is_exclusive: bool,
}

impl VolumeHandle {
    pub fn new(state: VolumeState) -> VolumeHandle {
        VolumeHandle(Rc::new(RefCell::new(state)))
    }

    /// Reads or changes the state.
    pub fn with<T>(&self, step: impl FnOnce(&mut VolumeState) -> T) -> T {
        step(&mut self.0.borrow_mut())
    }

    /// Starts another task.
    pub fn spawn(&self, task: impl Future<Output = ()> + 'static) {
        self.with(|state| state.scheduler.spawned.push(Box::pin(task)));
    }

    /// Starts all these operations at once and waits for all of them. Disks may do them in any order; the results are in the
    /// order of `ops`.
    pub async fn ops(&self, ops: Vec<(MemberIndex, OpKind)>) -> Vec<EndedOp> {
        // For each write that is not durable: `None`. For each flush: how many of those writes had ended when it was queued.
        let mut cache_updates: Vec<(usize, Option<u64>)> = Vec::new();
        let group = self.with(|state| {
            let requested = |(member, kind): &(MemberIndex, OpKind)| RequestedOp {
                disk: state.membership.disk(*member),
                is_read: matches!(kind, OpKind::Read { .. }),
            };
            let requested = ops.iter().map(requested).collect();
            let group = state.io.groups.begin(state.scheduler.now, state.scheduler.current, requested);
            for (index, (member, kind)) in ops.into_iter().enumerate() {
                let is_read = matches!(kind, OpKind::Read { .. });
                assert!(
                    is_read || !state.options.is_read_only,
                    "a volume that is open for reading only writes nothing"
                );
                let disk = state.membership.disk(member);
                let cache = &mut state.membership.members[member].cache;
                match kind {
                    OpKind::Write { is_durable: false, .. } => {
                        cache.begin();
                        cache_updates.push((index, None));
                    }
                    OpKind::Flush => cache_updates.push((index, Some(cache.mark()))),
                    _ => (),
                }
                let id = Groups::id(group, index);
                let begun_if_empty = cache.is_empty().then(|| cache.begun());
                match kind {
                    OpKind::Flush => state.io.syncs.begin(id, Sync { disk, begun_if_empty: None }),
                    OpKind::Write { is_durable: true, .. } => state.io.syncs.begin(id, Sync { disk, begun_if_empty }),
                    _ => (),
                }
                state.io.out.push_back((disk, MemberOp { id, member, kind }));
            }
            group
        });
        let done = poll_fn(|_| match self.with(|state| state.io.groups.take(group)) {
            Some(done) => Poll::Ready(done),
            None => Poll::Pending,
        })
        .await;
        let mut done = done;
        let flushed = cache_updates.iter().filter(|(_, mark)| mark.is_some());
        self.wait_for_syncs(flushed.map(|&(index, _)| done[index].0).collect()).await;
        self.with(|state| {
            for (index, mark) in cache_updates {
                let (disk, done) = &mut done[index];
                let is_current = state.membership.is_current(*disk);
                let cache = &mut state.membership.members[disk.member].cache;
                if mark.is_some() && is_current && cache.has_lost() && done.result.is_ok() {
                    done.result = Err(DiskFault::Medium);
                }
                match mark {
                    None => cache.end(),
                    Some(mark) if done.result.is_ok() => cache.flushed(mark),
                    Some(_) => (),
                }
            }
        });
        let ended =
            |(disk, done): (PlacedDisk, MemberOpDone)| EndedOp { disk, buffer: done.buffer, result: done.result };
        done.into_iter().map(ended).collect()
    }

    /// Waits for the end of all flushes and durable writes that are under way on these disks now.
    async fn wait_for_syncs(&self, disks: Vec<PlacedDisk>) {
        let ids: Vec<MemberOpId> =
            self.with(|state| disks.into_iter().flat_map(|disk| state.io.syncs.on(disk).collect::<Vec<_>>()).collect());
        while self.with(|state| state.io.syncs.is_any(&ids)) {
            self.park(WaitList::Sync).await;
        }
    }

    /// Like [`VolumeHandle::ops`], but repeats once each write that its disk refused, because errors may pass. A durable
    /// write is not repeated while the disk may have lost volatile writes: the error may be that of a flush, which a disk
    /// reports only once.
    pub async fn ops_twice(&self, ops: Vec<(MemberIndex, OpKind)>) -> Vec<EndedOp> {
        let place = |kind: &OpKind| match kind {
            OpKind::Write { offset, is_durable, .. } => Some((*offset, *is_durable)),
            _ => None,
        };
        let places: Vec<Option<(MemberOffset, bool)>> = ops.iter().map(|(_, kind)| place(kind)).collect();
        let mut done = self.ops(ops).await;
        let (mut refused, mut again) = (Vec::new(), Vec::new());
        for (index, (ended, place)) in done.iter_mut().zip(places).enumerate() {
            if let (Err(DiskFault::Medium), Some((offset, is_durable))) = (ended.result, place)
                && self.with(|state| {
                    state.membership.is_current(ended.disk)
                        && (!is_durable || !state.membership.members[ended.disk.member].cache.has_lost())
                })
                && let Some(buffer) = ended.buffer.take()
            {
                again.push((ended.disk.member, OpKind::Write { offset, buffer, is_durable }));
                refused.push(index);
            }
        }
        if !again.is_empty() {
            for (index, ended) in refused.into_iter().zip(self.ops(again).await) {
                done[index] = ended;
            }
        }
        done
    }

    /// Locks a stripe, exclusively (`is_exclusive`) or shared with other readers; waits for it.
    pub async fn lock(&self, stripe: StripeIndex, is_exclusive: bool) -> Guard {
        let is_taken = self.with(|state| state.scheduler.locks.take(stripe, state.scheduler.current, is_exclusive));
        if !is_taken {
            poll_fn(|_| match self.with(|state| state.scheduler.locks.take_grant(state.scheduler.current)) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            })
            .await;
        }
        Guard { handle: self.clone(), stripe, is_exclusive }
    }

    /// Locks a stripe, shared with other readers, if that needs no waiting; otherwise `None`.
    pub fn share(&self, stripe: StripeIndex) -> Option<Guard> {
        let is_taken = self.with(|state| state.scheduler.locks.share(stripe));
        is_taken.then(|| Guard { handle: self.clone(), stripe, is_exclusive: false })
    }

    /// Waits on a list until it is woken. That may be without cause: the caller checks again, and parks again.
    pub async fn park(&self, queue: WaitList) {
        let mut is_parked = false;
        poll_fn(|_| match std::mem::replace(&mut is_parked, true) {
            true => Poll::Ready(()),
            false => {
                self.with(|state| state.scheduler.park(queue));
                Poll::Pending
            }
        })
        .await;
    }

    /// Waits until another task makes this one ready by its ID; perhaps without cause, like [`VolumeHandle::park`].
    pub async fn pause(&self) {
        let mut is_paused = false;
        poll_fn(|_| match std::mem::replace(&mut is_paused, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// Waits until `time`.
    pub async fn sleep_until(&self, time: Nanos) {
        self.with(|state| state.scheduler.set_timer(time));
        poll_fn(|_| match self.with(|state| state.scheduler.now >= time) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        })
        .await;
    }

    /// The ID of the running task.
    pub fn current(&self) -> TaskId {
        self.with(|state| state.scheduler.current)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.handle.with(|state| {
            let granted = state.scheduler.locks.give(self.stripe, self.is_exclusive);
            state.scheduler.ready.extend(granted);
        });
    }
}
