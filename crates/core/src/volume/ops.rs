//! Groups of disk operations that one task waits for together; and those that nobody waits for any more.
//!
//! A disk that hangs, or is taken out, ends all its operations at once, as far as the volume is concerned. Its pump may bring
//! them back much later, or never: until then their group's number is not used again.

use super::disk::PlacedDisk;
use super::tasks::TaskId;
use crate::buffer::Buffer;
use crate::units::Nanos;
use crate::volume::member::{DiskFault, MemberIndex, MemberOpDone, MemberOpId};

/// How many operations one group may have: their numbers share an [`MemberOpId`] with the group's.
pub(super) const GROUP_OPS_MAX: usize = 1 << 16;

/// The groups under way.
#[derive(Default)]
pub(super) struct Groups {
    groups: Vec<OpGroup>,
    free: Vec<usize>,
    /// When each member last ended a read, and when something else: one whose file system is frozen answers reads, and no writes.
    answered: Vec<[Nanos; 2]>,
}

/// An operation that is asked of a disk.
#[derive(Clone, Copy, Debug)]
pub(super) struct RequestedOp {
    /// Of which.
    pub disk: PlacedDisk,
    /// Is it a read?
    pub is_read: bool,
}

#[derive(Default)]
struct OpGroup {
    task: TaskId,
    /// When it was asked for.
    begun: Nanos,
    left: usize,
    asked: Vec<RequestedOp>,
    done: Vec<Option<MemberOpDone>>,
    /// Operations that were given up, and have not come back.
    late: Vec<(usize, PlacedDisk)>,
    is_taken: bool,
}

/// What comes of the end of an operation.
#[derive(Debug)]
pub(super) enum OpEnd {
    /// Others of its group are under way.
    Noted,
    /// It was the last: this task goes on.
    Last(TaskId),
    /// It was given up long ago. Its buffer is of use again.
    Late(Option<Buffer>),
}

impl Groups {
    /// A new group of operations, for which `task` waits.
    pub fn begin(&mut self, now: Nanos, task: TaskId, asked: Vec<RequestedOp>) -> usize {
        let count = asked.len();
        assert!(count <= GROUP_OPS_MAX, "a group of {count} operations");
        let group = self.free.pop().unwrap_or_else(|| {
            self.groups.push(OpGroup::default());
            self.groups.len() - 1
        });
        let entry = &mut self.groups[group];
        (entry.task, entry.begun, entry.left, entry.asked, entry.is_taken) = (task, now, count, asked, false);
        entry.done.resize_with(count, || None);
        group
    }

    /// The name of the `index`-th operation of a group.
    pub fn id(group: usize, index: usize) -> MemberOpId {
        MemberOpId((group * GROUP_OPS_MAX + index) as u64)
    }

    /// Takes note of an end.
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
        let RequestedOp { disk: PlacedDisk { member, .. }, is_read } = entry.asked[index];
        let member = member.get();
        self.answered.resize(self.answered.len().max(member + 1), [Nanos::ZERO; 2]);
        self.answered[member][usize::from(is_read)] = now;
        entry.done[index] = Some(done);
        entry.left -= 1;
        if entry.left == 0 { OpEnd::Last(entry.task) } else { OpEnd::Noted }
    }

    /// Ends all operations of a disk that are under way, as those of one that is gone; the tasks that go on.
    pub fn give_up(&mut self, disk: PlacedDisk) -> Vec<TaskId> {
        let mut tasks = Vec::new();
        for (group, entry) in self.groups.iter_mut().enumerate().filter(|(_, entry)| entry.left > 0) {
            for (index, done) in entry.done.iter_mut().enumerate() {
                if done.is_none() && entry.asked[index].disk == disk {
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

    /// The disks that were asked for something at `before` or earlier and have not answered, nor anything of its kind since; and
    /// those that were asked at `long_before` or earlier, if there was such a time.
    pub fn overdue(&self, before: Nanos, long_before: Option<Nanos>) -> Vec<PlacedDisk> {
        let is_silent = |asked: &RequestedOp| {
            let answered = self.answered.get(asked.disk.member.get());
            answered.is_none_or(|answered| answered[usize::from(asked.is_read)] <= before)
        };
        let mut disks: Vec<PlacedDisk> = Vec::new();
        for entry in self.groups.iter().filter(|entry| entry.left > 0 && entry.begun <= before) {
            let unanswered = entry.done.iter().zip(&entry.asked).filter(|(done, _)| done.is_none());
            let overdue = unanswered
                .map(|(_, asked)| asked)
                .filter(|asked| long_before.is_some_and(|long_before| entry.begun <= long_before) || is_silent(asked));
            disks.extend(overdue.map(|asked| asked.disk));
        }
        disks.sort_unstable();
        disks.dedup();
        disks
    }

    /// All that is under way counts as asked for now.
    pub fn excuse(&mut self, now: Nanos) {
        self.groups.iter_mut().for_each(|entry| entry.begun = now);
    }

    /// Is no operation under way that anybody waits for?
    pub fn is_idle(&self) -> bool {
        self.groups.iter().all(|group| group.left == 0)
    }

    /// Did this member's disk, or one before it, not bring back something that was given up?
    pub fn is_late(&self, member: MemberIndex) -> bool {
        self.groups.iter().flat_map(|group| &group.late).any(|(_, disk)| disk.member == member)
    }

    /// All ends of a group, in the order of its operations, once there are no more to come; the group is over then.
    pub fn take(&mut self, group: usize) -> Option<Vec<(PlacedDisk, MemberOpDone)>> {
        let entry = &mut self.groups[group];
        if entry.left > 0 {
            return None;
        }
        let done = entry.done.drain(..).map(|done| done.expect("all have ended"));
        let done = std::mem::take(&mut entry.asked).into_iter().map(|asked| asked.disk).zip(done).collect();
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
    fn what_was_given_up_ends_at_once_and_comes_back_to_nobody() {
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
    fn a_long_queue_is_no_disk_that_hangs() {
        let disk = PlacedDisk { member: MemberIndex(0), term: 0 };
        let mut groups = Groups::default();
        let group = groups.begin(Nanos(5), 7, vec![read(disk), read(disk)]);
        assert_eq!(groups.overdue(Nanos(30), None), [disk]);
        groups.end(Nanos(31), done(group, 1));
        assert_eq!(groups.overdue(Nanos(30), None), []);
        // It ends others, and never this one.
        assert_eq!(groups.overdue(Nanos(30), Some(Nanos(5))), [disk]);
    }

    #[test]
    fn reads_that_are_answered_do_not_speak_for_writes_that_are_not() {
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
