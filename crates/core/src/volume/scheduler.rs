//! Which task runs when: those that are ready, those that wait, and for what; and the time.

use super::locks::Locks;
use super::tasks::{Task, TaskId};
use super::writes::Writes;
use crate::units::Nanos;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// Lists of tasks that wait for something of the volume's to change; each looks again when it is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WaitList {
    /// For the volume to be open.
    Open,
    /// For the superblock that was asked for to be durable.
    Superblock,
    /// For a page of the intents to be durable.
    Intent,
    /// For a round of flushing to be over.
    Flush,
    /// For the end of writes that were under way.
    Idle,
    /// For the end of a flush or of a durable write.
    Sync,
}

const QUEUES: usize = 6;

/// Who runs, and who waits.
#[derive(Default)]
pub(super) struct Scheduler {
    /// The latest time that the pump has told.
    pub now: Nanos,
    /// The task that runs.
    pub current: TaskId,
    /// Tasks that go on as soon as the one that runs waits, in this order.
    pub ready: VecDeque<TaskId>,
    /// Tasks that were not begun.
    pub spawned: Vec<Task>,
    timers: BinaryHeap<Reverse<(Nanos, TaskId)>>,
    parked: [Vec<TaskId>; QUEUES],
    /// Stripes that tasks hold, or wait for.
    pub locks: Locks,
    /// Writes that wait for their stripe.
    pub writes: Writes,
    /// Requests that were taken and not replied to, and whatever else may write: stopping waits for it.
    pub requests: usize,
}

impl Scheduler {
    /// Time does not run backwards, whatever the pump says.
    pub fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }

    /// The task that runs waits in a queue.
    pub fn park(&mut self, queue: WaitList) {
        self.parked[queue as usize].push(self.current);
    }

    /// Lets all that wait in a queue look again.
    pub fn wake(&mut self, queue: WaitList) {
        self.ready.extend(self.parked[queue as usize].drain(..));
    }

    /// The task that runs waits until it is so late.
    pub fn set_timer(&mut self, time: Nanos) {
        self.timers.push(Reverse((time, self.current)));
    }

    /// The earliest time that a task waits for.
    pub fn next_timer(&self) -> Option<Nanos> {
        self.timers.peek().map(|Reverse((time, _))| *time)
    }

    /// Makes the tasks ready whose time has come; true if there were any.
    pub fn wake_due(&mut self) -> bool {
        let before = self.ready.len();
        while self.next_timer().is_some_and(|time| time <= self.now) {
            let Reverse((_, task)) = self.timers.pop().expect("it was looked at");
            self.ready.push_back(task);
        }
        self.ready.len() > before
    }
}
