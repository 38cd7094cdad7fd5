//! Groups of disk operations that one task waits for together.

use super::tasks::TaskId;
use crate::member::{Done, OpId};

/// How many operations one group may have: their numbers share an [`OpId`] with the group's.
pub(super) const GROUP_OPS_MAX: usize = 1 << 16;

/// The groups under way.
#[derive(Default)]
pub(super) struct Groups {
    groups: Vec<Group>,
    free: Vec<usize>,
}

#[derive(Default)]
struct Group {
    task: TaskId,
    left: usize,
    done: Vec<Option<Done>>,
}

impl Groups {
    /// A new group of `count` operations for which `task` waits.
    pub fn begin(&mut self, task: TaskId, count: usize) -> usize {
        assert!(count <= GROUP_OPS_MAX, "a group of {count} operations");
        let group = self.free.pop().unwrap_or_else(|| {
            self.groups.push(Group::default());
            self.groups.len() - 1
        });
        let entry = &mut self.groups[group];
        (entry.task, entry.left) = (task, count);
        entry.done.resize_with(count, || None);
        group
    }

    /// The name of the `index`-th operation of a group.
    pub fn id(group: usize, index: usize) -> OpId {
        OpId((group * GROUP_OPS_MAX + index) as u64)
    }

    /// Takes note of an end; the waiting task, if it was the last of its group.
    pub fn end(&mut self, done: Done) -> Option<TaskId> {
        let (group, index) = (done.id.0 as usize / GROUP_OPS_MAX, done.id.0 as usize % GROUP_OPS_MAX);
        let entry = &mut self.groups[group];
        assert!(entry.done[index].is_none(), "an operation ends once");
        entry.done[index] = Some(done);
        entry.left -= 1;
        (entry.left == 0).then_some(entry.task)
    }

    /// Is no operation under way?
    pub fn is_idle(&self) -> bool {
        self.groups.iter().all(|group| group.left == 0)
    }

    /// All ends of a group, in the order of its operations, once there are no more to come; the group is over then.
    pub fn take(&mut self, group: usize) -> Option<Vec<Done>> {
        let entry = &mut self.groups[group];
        if entry.left > 0 {
            return None;
        }
        let done = entry.done.drain(..).map(|done| done.expect("all have ended")).collect();
        self.free.push(group);
        Some(done)
    }
}
