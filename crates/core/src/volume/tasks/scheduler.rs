//! Schedules the volume's tasks: which are ready, which wait and for what; and the current time.

use crate::units::Nanos;
use crate::volume::request::writes::Writes;
use crate::volume::tasks::locks::Locks;
use crate::volume::tasks::task_set::{Task, TaskId};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// What a parked task waits for. Every task of a list checks its condition again when the list is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitList {
    /// The volume is open.
    Open,
    /// A round of superblocks is over.
    Superblock,
    /// A page of the intents is written.
    Intent,
    /// A round of flushing is over.
    Flush,
    /// Requests or writes that were under way have ended.
    Idle,
    /// A flush or a durable write has ended.
    Sync,
}

const QUEUES: usize = 6;

/// Running, ready and waiting tasks.
#[derive(Default)]
pub struct Scheduler {
    /// The latest time that the pump has reported.
    pub now: Nanos,
    /// The running task.
    pub current: TaskId,
    /// Tasks that can continue as soon as the running one waits, in this order.
    pub ready: VecDeque<TaskId>,
    /// Tasks that have not begun.
    pub spawned: Vec<Task>,
    timers: BinaryHeap<Reverse<(Nanos, TaskId)>>,
    parked: [Vec<TaskId>; QUEUES],
    /// Stripes that tasks hold, or wait for.
    pub locks: Locks,
    /// Writes that wait for their stripe.
    pub writes: Writes,
    /// Requests without a reply yet, and other tasks that may write (count): a stop waits until it is 0.
    pub unfinished: usize,
}

impl Scheduler {
    /// Sets the time. It never runs backwards, whatever the pump reports.
    pub fn advance(&mut self, now: Nanos) {
        self.now = self.now.max(now);
    }

    /// Parks the running task in a list.
    pub fn park(&mut self, queue: WaitList) {
        self.parked[queue as usize].push(self.current);
    }

    /// Makes all tasks of a list ready to check again.
    pub fn wake(&mut self, queue: WaitList) {
        self.ready.extend(self.parked[queue as usize].drain(..));
    }

    /// Makes the running task ready at this time.
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
