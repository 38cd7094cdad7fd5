//! Holds and polls the volume's tasks: each request, repair or rebuild is one `async` task.
//!
//! Nothing here knows of threads, clocks or wakers. A task waits for a group of disk operations, for a lock, in a list
//! of the volume's scheduler, or for a time; the code that ends the wait puts the task's number on the list of ready
//! tasks. Tasks run in the order of that list, so one sequence of events always gives one sequence of operations.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Identifies a task while it lives.
pub type TaskId = usize;

/// A task, as a value.
pub type Task = Pin<Box<dyn Future<Output = ()>>>;

/// The tasks that have begun and not ended.
#[derive(Default)]
pub struct Tasks {
    slots: Vec<Option<Task>>,
    free: Vec<TaskId>,
}

impl Tasks {
    /// Adds a task; it runs when it is polled for the first time.
    pub fn insert(&mut self, task: Task) -> TaskId {
        match self.free.pop() {
            Some(id) => {
                self.slots[id] = Some(task);
                id
            }
            None => {
                self.slots.push(Some(task));
                self.slots.len() - 1
            }
        }
    }

    /// Runs a task until it waits again or ends.
    pub fn poll(&mut self, id: TaskId) {
        // A task may be listed as ready twice, and have ended by the second time.
        let Some(task) = self.slots.get_mut(id).and_then(Option::as_mut) else { return };
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(()) {
            self.slots[id] = None;
            self.free.push(id);
        }
    }
}
