//! The events of a served volume, numbered in order: findings, and changes of the volume and its members. A client follows
//! them by asking from the number where it left off; its answer may wait for the next event.

use super::commands::{MemberEvent, VolumeEvent, VolumeEvents};
use super::conditions::{MemberCondition, VolumeCondition};
use crate::control::CommandId;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::UnixSeconds;
use std::collections::VecDeque;

/// Events kept, at most (count); older ones are only counted.
const EVENTS_MAX: usize = 10_000;
/// Events in one answer, at most (count): the length of a line is limited, and a client can ask again.
const EVENTS_PER_ANSWER: usize = 200;

/// The event log of a volume.
#[derive(Debug, Default)]
pub(super) struct EventLog {
    /// The newest events, with the time at which each was noticed.
    kept: VecDeque<(UnixSeconds, VolumeEvent)>,
    /// Number of the next event, which is the count of those so far.
    next: u64,
    /// Commands that wait for an event of this number or a later one.
    waiting: Vec<(CommandId, u64)>,
    /// The conditions at the last [`EventLog::record_changes`].
    members: Vec<MemberCondition>,
    volume: Option<VolumeCondition>,
}

impl EventLog {
    /// Number of the next event.
    pub fn next(&self) -> u64 {
        self.next
    }

    /// Appends an event that was noticed now.
    pub fn push(&mut self, now: UnixSeconds, event: VolumeEvent) {
        self.kept.push_back((now, event));
        self.next += 1;
        if self.kept.len() > EVENTS_MAX {
            self.kept.pop_front();
        }
    }

    /// Skips the numbers of findings that the volume dropped because they were not taken in time, and all events before.
    pub fn skip(&mut self, count: u64) {
        if count > 0 {
            self.kept.clear();
            self.next += count;
        }
    }

    /// Compares the conditions with those of the last call, and appends events for the changes. The first call appends none.
    pub fn record_changes(
        &mut self,
        now: UnixSeconds,
        volume: VolumeCondition,
        members: Vec<(MemberCondition, Option<String>)>,
        path: impl Fn(MemberIndex) -> Option<String>,
    ) {
        let is_first = self.volume.is_none();
        let conditions: Vec<MemberCondition> = members.iter().map(|(condition, _)| *condition).collect();
        for (index, (state, detail)) in members.into_iter().enumerate() {
            if !is_first && self.members.get(index) != Some(&state) {
                // The progress of a rebuild changes all the time.
                let detail = detail.filter(|_| state != MemberCondition::Rebuilding);
                let path = path(MemberIndex(index));
                self.push(now, VolumeEvent::Member(MemberEvent { member: index, path, state, detail }));
            }
        }
        if !is_first && self.volume != Some(volume) {
            self.push(now, VolumeEvent::Volume(volume));
        }
        (self.members, self.volume) = (conditions, Some(volume));
    }

    /// Events from number `since` on.
    pub fn report(&self, since: u64) -> VolumeEvents {
        let first = self.next - self.kept.len() as u64;
        let from = since.clamp(first, self.next);
        let reported = self.kept.iter().skip((from - first) as usize).take(EVENTS_PER_ANSWER).cloned();
        let (times, events): (Vec<u64>, Vec<VolumeEvent>) =
            reported.map(|(UnixSeconds(time), event)| (time, event)).unzip();
        VolumeEvents { next: from + events.len() as u64, dropped: first.saturating_sub(since), events, times }
    }

    /// Events from number `since` on. `None`: there are none yet; the answer follows by [`EventLog::take_ready`].
    pub fn report_or_wait(&mut self, id: CommandId, since: u64) -> Option<VolumeEvents> {
        if since < self.next {
            return Some(self.report(since));
        }
        self.waiting.push((id, since));
        None
    }

    /// Commands that waited, and their answers, where there are events now.
    pub fn take_ready(&mut self) -> Vec<(CommandId, VolumeEvents)> {
        let next = self.next;
        let ready: Vec<(CommandId, u64)> = self.waiting.extract_if(.., |(_, since)| *since < next).collect();
        ready.into_iter().map(|(id, since)| (id, self.report(since))).collect()
    }

    /// All commands that still wait, and their answers: the server ends.
    pub fn take_waiting(&mut self) -> Vec<(CommandId, VolumeEvents)> {
        let waiting = std::mem::take(&mut self.waiting);
        waiting.into_iter().map(|(id, since)| (id, self.report(since))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixSeconds = UnixSeconds(1_773_320_400);

    fn record(log: &mut EventLog, volume: VolumeCondition, members: &[MemberCondition]) {
        let members = members.iter().map(|&member| (member, Some("why".to_owned()))).collect();
        log.record_changes(NOW, volume, members, |member| (member.get() == 1).then(|| "b.img".to_owned()));
    }

    #[test]
    fn only_changes_of_conditions_are_events() {
        use MemberCondition::{Active, Failed, Rebuilding};
        let mut log = EventLog::default();
        record(&mut log, VolumeCondition::Open, &[Active, Active]);
        assert_eq!((log.report(0), log.report_or_wait(CommandId(7), 0)), (VolumeEvents::default(), None));
        record(&mut log, VolumeCondition::Open, &[Active, Active]);
        assert_eq!(log.take_ready(), []);
        record(&mut log, VolumeCondition::Degraded, &[Active, Failed]);
        let member = |state, detail: Option<&str>| {
            let (path, detail) = (Some("b.img".to_owned()), detail.map(str::to_owned));
            VolumeEvent::Member(MemberEvent { member: 1, path, state, detail })
        };
        let both = vec![member(Failed, Some("why")), VolumeEvent::Volume(VolumeCondition::Degraded)];
        assert_eq!(
            log.take_ready(),
            [(CommandId(7), VolumeEvents { next: 2, dropped: 0, events: both, times: vec![NOW.0; 2] })]
        );
        record(&mut log, VolumeCondition::Rebuilding, &[Active, Rebuilding]);
        record(&mut log, VolumeCondition::Rebuilding, &[Active, Rebuilding]);
        assert_eq!(log.report(2).events, [member(Rebuilding, None), VolumeEvent::Volume(VolumeCondition::Rebuilding)]);
        assert_eq!(log.report(4), VolumeEvents { next: 4, ..VolumeEvents::default() });
        assert_eq!(log.report_or_wait(CommandId(8), 4), None);
        assert_eq!(log.take_waiting().len(), 1);
    }

    #[test]
    fn events_that_are_no_longer_kept_are_counted() {
        let mut log = EventLog::default();
        (0..=EVENTS_MAX).for_each(|_| log.push(NOW, VolumeEvent::Volume(VolumeCondition::Open)));
        let report = log.report(0);
        assert_eq!(
            (report.dropped, report.events.len(), report.next),
            (1, EVENTS_PER_ANSWER, 1 + EVENTS_PER_ANSWER as u64)
        );
        log.skip(5);
        let report = log.report(report.next);
        assert_eq!((report.events.len(), report.next, log.next()), (0, EVENTS_MAX as u64 + 6, EVENTS_MAX as u64 + 6));
    }
}
