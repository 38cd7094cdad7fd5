//! Groups of disk operations that one task awaits together, and abandoned operations that no task awaits any more.
//!
//! When a disk hangs or is taken out, the volume ends all of its operations at once, as failed. The pump may still
//! return them much later, or never: the group's number is not reused before they have returned.

use crate::buffer::Buffer;
use crate::units::Nanos;
use crate::volume::disk::PlacedDisk;
use crate::volume::member::{DiskFault, MemberIndex, MemberOpDone, MemberOpId};
use crate::volume::tasks::task_set::TaskId;

/// Operations in one group, at most: a [`MemberOpId`] holds the group's number and the operation's index in it.
pub const GROUP_OPS_MAX: usize = 1 << 16;

/// All groups of operations in flight.
#[derive(Default)]
pub struct Groups {
    groups: Vec<OpGroup>,
    free: Vec<usize>,
    /// By member: when its last operation ended; `[0]`: of any kind except reads, `[1]`: of reads. (A disk whose file
    /// system is frozen still answers reads, but no writes.)
    answered: Vec<[Nanos; 2]>,
}

/// An operation requested of a disk.
#[derive(Clone, Copy, Debug)]
pub struct RequestedOp {
    /// The disk it is for.
    pub disk: PlacedDisk,
    /// True for a read; false for a write, flush or discard.
    pub is_read: bool,
}

#[derive(Default)]
struct OpGroup {
    task: TaskId,
    /// When the group was submitted.
    begun: Nanos,
    left: usize,
    requested: Vec<RequestedOp>,
    done: Vec<Option<MemberOpDone>>,
    /// Abandoned operations that the pump has not returned yet: index in the group, and disk.
    late: Vec<(usize, PlacedDisk)>,
    is_taken: bool,
}

/// What the end of an operation means for its group.
#[derive(Debug)]
pub enum OpEnd {
    /// Other operations of its group are still in flight.
    Noted,
    /// It was the group's last: this task can continue.
    Last(TaskId),
    /// The operation had been abandoned earlier. Its buffer can be reused.
    Late(Option<Buffer>),
}

impl Groups {
    /// Begins a group of operations, which `task` will await. Returns the group's number.
    pub fn begin(&mut self, now: Nanos, task: TaskId, requested: Vec<RequestedOp>) -> usize {
        let count = requested.len();
        assert!(count <= GROUP_OPS_MAX, "a group of {count} operations");
        let group = self.free.pop().unwrap_or_else(|| {
            self.groups.push(OpGroup::default());
            self.groups.len() - 1
        });
        let entry = &mut self.groups[group];
        (entry.task, entry.begun, entry.left, entry.requested, entry.is_taken) = (task, now, count, requested, false);
        entry.done.resize_with(count, || None);
        group
    }

    /// The ID of the `index`-th operation of a group.
    pub fn id(group: usize, index: usize) -> MemberOpId {
        MemberOpId((group * GROUP_OPS_MAX + index) as u64)
    }

    /// Records the end of an operation.
    pub fn end(&mut self, now: Nanos, done: MemberOpDone) -> OpEnd {
        let (group, index) = (done.id.0 as usize / GROUP_OPS_MAX, done.id.0 as usize % GROUP_OPS_MAX);
        let entry = &mut self.groups[group];
        if let Some(place) = entry.late.iter().position(|&(late, _)| late == index) {
            entry.late.swap_remove(place);
            if entry.is_taken && entry.late.is_empty() {
                self.free.push(group);
            }
            return OpEnd::Late(done.buffer);
        }
        assert!(entry.done[index].is_none(), "an operation ends once");
        let RequestedOp { disk: PlacedDisk { member, .. }, is_read } = entry.requested[index];
        let member = member.get();
        self.answered.resize(self.answered.len().max(member + 1), [Nanos::ZERO; 2]);
        self.answered[member][usize::from(is_read)] = now;
        entry.done[index] = Some(done);
        entry.left -= 1;
        if entry.left == 0 { OpEnd::Last(entry.task) } else { OpEnd::Noted }
    }

    /// Abandons all operations in flight on a disk: they end as [`DiskFault::Gone`]. Returns the tasks that can continue.
    pub fn give_up(&mut self, disk: PlacedDisk) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        for (group, entry) in self.groups.iter_mut().enumerate().filter(|(_, entry)| entry.left > 0) {
            for (index, done) in entry.done.iter_mut().enumerate() {
                if done.is_none() && entry.requested[index].disk == disk {
                    *done =
                        Some(MemberOpDone { id: Groups::id(group, index), buffer: None, result: Err(DiskFault::Gone) });
                    entry.late.push((index, disk));
                    entry.left -= 1;
                }
            }
            if entry.left == 0 {
                tasks.push(entry.task);
            }
        }
        tasks
    }

    /// The disks that owe an answer to an operation submitted at `before` or earlier and have answered no operation of
    /// that kind (reads; everything else) since `before`; and those that owe an answer to one submitted at
    /// `long_before` or earlier (`None`: no such limit).
    pub fn overdue(&self, before: Nanos, long_before: Option<Nanos>) -> Vec<PlacedDisk> {
        let is_silent = |op: &RequestedOp| {
            let answered = self.answered.get(op.disk.member.get());
            answered.is_none_or(|answered| answered[usize::from(op.is_read)] <= before)
        };
        let mut disks: Vec<PlacedDisk> = Vec::new();
        for entry in self.groups.iter().filter(|entry| entry.left > 0 && entry.begun <= before) {
            let unanswered = entry.done.iter().zip(&entry.requested).filter(|(done, _)| done.is_none());
            let overdue = unanswered
                .map(|(_, op)| op)
                .filter(|op| long_before.is_some_and(|long_before| entry.begun <= long_before) || is_silent(op));
            disks.extend(overdue.map(|op| op.disk));
        }
        disks.sort_unstable();
        disks.dedup();
        disks
    }

    /// Restarts the time limit of every operation in flight: each counts as submitted at `now`.
    pub fn excuse(&mut self, now: Nanos) {
        self.groups.iter_mut().for_each(|entry| entry.begun = now);
    }

    /// Is no task awaiting any operation?
    pub fn is_idle(&self) -> bool {
        self.groups.iter().all(|group| group.left == 0)
    }

    /// Does this member's disk, or an earlier disk in its place, still owe the return of an abandoned operation?
    pub fn is_late(&self, member: MemberIndex) -> bool {
        self.groups.iter().flat_map(|group| &group.late).any(|(_, disk)| disk.member == member)
    }

    /// All ends of a group, in the order of its operations, and the group is closed; `None` while some are still in flight.
    pub fn take(&mut self, group: usize) -> Option<Vec<(PlacedDisk, MemberOpDone)>> {
        let entry = &mut self.groups[group];
        if entry.left > 0 {
            return None;
        }
        let done = entry.done.drain(..).map(|done| done.expect("all have ended"));
        let done = std::mem::take(&mut entry.requested).into_iter().map(|op| op.disk).zip(done).collect();
        entry.is_taken = true;
        if entry.late.is_empty() {
            self.free.push(group);
        }
        Some(done)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(disk: PlacedDisk) -> RequestedOp {
        RequestedOp { disk, is_read: true }
    }

    fn done(group: usize, index: usize) -> MemberOpDone {
        MemberOpDone { id: Groups::id(group, index), buffer: None, result: Ok(()) }
    }

    #[test]
    fn abandoned_operations_end_at_once_and_their_late_results_reach_no_task() {
        let (slow, quick) =
            (PlacedDisk { member: MemberIndex(0), term: 0 }, PlacedDisk { member: MemberIndex(1), term: 0 });
        let mut groups = Groups::default();
        let group = groups.begin(Nanos(5), 7, vec![read(slow), read(quick)]);
        assert!(matches!(groups.end(Nanos(5), done(group, 1)), OpEnd::Noted));
        let overdue = |groups: &Groups, before| groups.overdue(Nanos(before), None);
        assert_eq!((overdue(&groups, 4), overdue(&groups, 5)), (vec![], vec![slow]));
        assert_eq!((groups.give_up(quick), groups.give_up(slow)), (vec![], vec![7]));
        let ends: Vec<_> = groups.take(group).unwrap().into_iter().map(|(disk, done)| (disk, done.result)).collect();
        assert_eq!(ends, [(slow, Err(DiskFault::Gone)), (quick, Ok(()))]);
        let next = groups.begin(Nanos(6), 8, vec![read(slow)]);
        assert!(
            next != group && groups.is_late(MemberIndex(0)) && !groups.is_late(MemberIndex(1)),
            "its number is not used again before"
        );
        assert!(matches!(groups.end(Nanos(7), done(group, 0)), OpEnd::Late(None)));
        assert!(matches!(groups.end(Nanos(7), done(next, 0)), OpEnd::Last(8)) && !groups.is_late(MemberIndex(0)));
        assert_eq!(groups.begin(Nanos(6), 9, vec![read(slow)]), group);
    }

    #[test]
    fn a_disk_with_a_long_queue_is_not_hanging_unless_one_operation_never_ends() {
        let disk = PlacedDisk { member: MemberIndex(0), term: 0 };
        let mut groups = Groups::default();
        let group = groups.begin(Nanos(5), 7, vec![read(disk), read(disk)]);
        assert_eq!(groups.overdue(Nanos(30), None), [disk]);
        groups.end(Nanos(31), done(group, 1));
        assert_eq!(groups.overdue(Nanos(30), None), []);
        // The disk ends other operations, but never this one.
        assert_eq!(groups.overdue(Nanos(30), Some(Nanos(5))), [disk]);
    }

    #[test]
    fn a_disk_that_answers_reads_but_no_writes_is_overdue() {
        let disk = PlacedDisk { member: MemberIndex(0), term: 0 };
        let mut groups = Groups::default();
        let write = groups.begin(Nanos(5), 7, vec![RequestedOp { disk, is_read: false }]);
        let reads = groups.begin(Nanos(20), 7, vec![read(disk)]);
        groups.end(Nanos(31), done(reads, 0));
        assert_eq!(groups.overdue(Nanos(30), None), [disk]);
        groups.end(Nanos(32), done(write, 0));
        assert_eq!(groups.overdue(Nanos(30), None), []);
    }
}
