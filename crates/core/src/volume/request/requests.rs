//! Handles client requests: cuts them into stripes, does them, and replies.

use crate::buffer::Buffer;
use crate::index::StripeIndex;
use crate::units::VolumeOffset;
use crate::volume::block::{AllocationRun, BlockFailure, BlockReply, BlockRequest, ReadPart, RequestId};
use crate::volume::durable::persist;
use crate::volume::membership::VolumePhase;
use crate::volume::repair::resync;
use crate::volume::request::parts::{ChunkBytes, cut};
use crate::volume::request::read;
use crate::volume::request::write;
use crate::volume::request::writes::{PendingWrite, Ticket};
use crate::volume::tasks::handle::VolumeHandle;
use crate::volume::tasks::scheduler::WaitList;
use crate::volume::tasks::state::VolumeState;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Runs in one allocation reply, at most (count): a client asks again from where the reply ends.
const RUNS_MAX: usize = 1024;
/// Stripes written with zeros at a time (count).
const ZEROED_AT_ONCE: u64 = 64;

/// Does a request and queues its reply.
pub async fn run(handle: VolumeHandle, id: RequestId, request: BlockRequest) {
    while handle.with(|state| state.membership.phase == VolumePhase::Opening) {
        handle.park(WaitList::Open).await;
    }
    let reply = match handle.with(|state| refusal(state, &request)) {
        Some(failure) => BlockReply::Failed(failure),
        None => perform(&handle, request).await,
    };
    handle.with(|state| {
        state.io.replies.push_back((id, reply));
        state.scheduler.unfinished -= 1;
        state.scheduler.wake(WaitList::Idle);
    });
}

/// The reason to refuse a request before it begins; `None`: it can begin.
fn refusal(state: &VolumeState, request: &BlockRequest) -> Option<BlockFailure> {
    let size = state.geometry.size();
    let (offset, len, writes) = match request {
        BlockRequest::Read { offset, len } | BlockRequest::Allocation { offset, len } => (*offset, *len, false),
        BlockRequest::Write { offset, data, .. } => (*offset, data.len() as u64, true),
        BlockRequest::Trim { offset, len } | BlockRequest::Zero { offset, len, .. } => (*offset, *len, true),
        BlockRequest::Flush => (VolumeOffset(0), 1, false),
    };
    if writes && state.options.is_read_only {
        return Some(BlockFailure::ReadOnly);
    }
    if len == 0 || offset.get().checked_add(len).is_none_or(|end| end > size) {
        return Some(BlockFailure::OutOfRange);
    }
    match state.membership.phase {
        VolumePhase::Stopped | VolumePhase::Stopping => Some(BlockFailure::Stopping),
        _ if writes && state.membership.is_broken => Some(BlockFailure::Io),
        _ => None,
    }
}

async fn perform(handle: &VolumeHandle, request: BlockRequest) -> BlockReply {
    match request {
        BlockRequest::Read { offset, len } => BlockReply::Read(read_all(handle, offset, len).await),
        BlockRequest::Write { offset, data, is_durable } => {
            let len = data.len() as u64;
            let data = Rc::new(data);
            let is_done = write_all(handle, offset, len, Some(data.clone())).await;
            if let Some(data) = Rc::into_inner(data) {
                handle.with(|state| state.io.pool.give(data));
            }
            finish(handle, is_done, is_durable).await
        }
        BlockRequest::Zero { offset, len, is_durable } => {
            let is_done = zero(handle, offset, len).await;
            finish(handle, is_done, is_durable).await
        }
        BlockRequest::Trim { offset, len } => {
            deallocate(handle, offset, len).await;
            BlockReply::Done
        }
        BlockRequest::Flush => finish(handle, true, true).await,
        BlockRequest::Allocation { offset, len } => {
            BlockReply::Allocation(handle.with(|state| allocation(state, offset, len)))
        }
    }
}

async fn finish(handle: &VolumeHandle, is_done: bool, is_durable: bool) -> BlockReply {
    let is_ok = is_done && (!is_durable || persist::flush(handle).await);
    if is_ok { BlockReply::Done } else { BlockReply::Failed(BlockFailure::Io) }
}

/// Reads all stripes of a range concurrently.
async fn read_all(handle: &VolumeHandle, offset: VolumeOffset, len: u64) -> Vec<ReadPart> {
    let (chunk_bytes, data) = handle.with(|state| (state.geometry.chunk_bytes, state.shape().data));
    let mut wants: Vec<read::StripePieces> = cut(offset, len, chunk_bytes, data).collect();
    if wants.len() <= read::STRIPES_MAX {
        return read::stripes(handle, &wants).await;
    }
    let task = handle.current();
    let count = wants.len().div_ceil(read::STRIPES_MAX);
    let left = Rc::new(Cell::new(count));
    let answers: Rc<RefCell<Vec<Vec<ReadPart>>>> = Rc::new(RefCell::new((0..count).map(|_| Vec::new()).collect()));
    for index in (0..count).rev() {
        let wants = wants.split_off(index * read::STRIPES_MAX);
        let (own, left, answers) = (handle.clone(), left.clone(), answers.clone());
        handle.spawn(async move {
            let parts = read::stripes(&own, &wants).await;
            answers.borrow_mut()[index] = parts;
            left.set(left.get() - 1);
            if left.get() == 0 {
                own.with(|state| state.scheduler.ready.push_back(task));
            }
        });
    }
    while left.get() > 0 {
        handle.pause().await;
    }
    answers.take().into_iter().flatten().collect()
}

/// Writes all stripes of a range; each write joins those already waiting for its stripe. Returns true if all succeeded.
async fn write_all(handle: &VolumeHandle, offset: VolumeOffset, len: u64, data: Option<Rc<Buffer>>) -> bool {
    let (chunk_bytes, count) = handle.with(|state| (state.geometry.chunk_bytes, state.shape().data));
    let stripes: Vec<(StripeIndex, Vec<ChunkBytes>)> = cut(offset, len, chunk_bytes, count).collect();
    let task = handle.current();
    let ticket = Rc::new(Ticket { task, left: Cell::new(stripes.len()), is_failed: Cell::new(false) });
    for (stripe, pieces) in stripes {
        let pending = PendingWrite { pieces, data: data.clone(), ticket: ticket.clone() };
        if handle.with(|state| state.scheduler.writes.push(stripe, pending)) {
            let own = handle.clone();
            handle.spawn(async move { write::drain(own, stripe).await });
        }
    }
    drop(data);
    while ticket.left.get() > 0 {
        handle.pause().await;
    }
    !ticket.is_failed.get()
}

/// Zeroes a range: whole stripes are deallocated, the edges are written. (All of it is written where the written map
/// cannot be changed yet.)
async fn zero(handle: &VolumeHandle, offset: VolumeOffset, len: u64) -> bool {
    let stripe_bytes = handle.with(|state| state.geometry.stripe_bytes());
    let end = (offset + len).get();
    let (start, end) = (offset.get().next_multiple_of(stripe_bytes), end / stripe_bytes * stripe_bytes);
    let is_held_back = handle.with(|state| {
        let page = |offset: u64| state.geometry.written_page_of(StripeIndex(offset / stripe_bytes));
        start < end && (page(start)..=page(end - 1)).any(|page| state.maps.is_held_back(page))
    });
    if start >= end || is_held_back {
        return write_zeros(handle, offset, len).await;
    }
    let mut is_done = true;
    for (from, to) in [(offset, VolumeOffset(start)), (VolumeOffset(end), offset + len)] {
        if from < to {
            is_done &= write_all(handle, from, to - from, None).await;
        }
    }
    deallocate(handle, VolumeOffset(start), end - start).await;
    // Flush: a trim may come undone if this process is killed, zeroing may not. Also if an edge failed: the zeros may
    // have been read by now.
    persist::flush(handle).await && is_done
}

/// Writes zeros as data, a few stripes at a time, because each stripe holds its rows in memory.
async fn write_zeros(handle: &VolumeHandle, offset: VolumeOffset, len: u64) -> bool {
    let stripe_bytes = handle.with(|state| state.geometry.stripe_bytes());
    let (mut at, mut is_done) = (offset.get(), true);
    let range_end = (offset + len).get();
    while at < range_end {
        let end = ((at / stripe_bytes + ZEROED_AT_ONCE) * stripe_bytes).min(range_end);
        is_done &= write_all(handle, VolumeOffset(at), end - at, None).await;
        at = end;
    }
    is_done
}

/// Makes the stripes that lie wholly in this range unwritten: they read as zeros, and hold nothing to be verified. A trim
/// announces no intent: a crash may undo it until its page is durable, and afterwards the page's trim horizon hides the old rows.
async fn deallocate(handle: &VolumeHandle, offset: VolumeOffset, len: u64) {
    let stripe_bytes = handle.with(|state| state.geometry.stripe_bytes());
    let whole = StripeIndex(offset.get().div_ceil(stripe_bytes))..StripeIndex((offset + len).get() / stripe_bytes);
    for stripe in StripeIndex::each(whole) {
        resync::ensure_resynced(handle, stripe).await;
        if !handle.with(|state| state.maps.written.get(stripe)) {
            continue;
        }
        let _guard = handle.lock(stripe, true).await;
        handle.with(|state| {
            // A page that a resync holds back cannot record the trim yet, and need not: a trim is only a hint.
            let is_held_back = state.maps.is_held_back(state.geometry.written_page_of(stripe));
            if !state.membership.is_broken && !is_held_back {
                state.maps.written.set(stripe, false);
                state.note_loss(stripe, false);
                state.maps.written_changed.insert(state.geometry.written_page_of(stripe));
                state.shape().data_positions().for_each(|position| {
                    let chunk = state.maps.chunk(stripe, position);
                    state.maps.read_status.clear(chunk);
                });
            }
        });
    }
}

/// Runs of written and unwritten stripes, from `offset` on.
fn allocation(state: &VolumeState, offset: VolumeOffset, len: u64) -> Vec<AllocationRun> {
    let stripe_bytes = state.geometry.stripe_bytes();
    let mut runs: Vec<AllocationRun> = Vec::new();
    let (mut at, range_end) = (offset.get(), (offset + len).get());
    while at < range_end {
        let stripe = StripeIndex(at / stripe_bytes);
        let end = ((at / stripe_bytes + 1) * stripe_bytes).min(range_end);
        let is_written = state.maps.may_be_written(stripe);
        let is_full = runs.len() == RUNS_MAX;
        match runs.last_mut() {
            Some(run) if run.is_written == is_written => run.len += end - at,
            _ if is_full => break,
            _ => runs.push(AllocationRun { len: end - at, is_written }),
        }
        at = end;
    }
    runs
}
