//! Incidents: one for each subject and kind; told when something changes, and again, ever more seldom, while nothing does.

use crate::calendar::{DAY, MINUTE, after};
use crate::facts::DiskKey;
use scrubjay_core::units::UnixSeconds;

/// What an incident is about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IncidentSubject {
    /// A disk.
    Disk(DiskKey),
    /// An array, by its UUID.
    Array(String),
    /// A way for messages, by its name.
    Channel(String),
}

/// What has happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IncidentKind {
    /// A disk is to be watched or replaced.
    Health,
    /// A disk or an array is not there.
    Missing,
    /// Nobody knows how a disk is, for a day or longer.
    Unknown,
    /// Sectors of a disk will not have been read in time, or have not.
    Unread,
    /// An array has lost some of its redundancy.
    Degraded,
    /// Unreadable sectors of several members meet in a stripe.
    Stripes,
    /// It is not proven that messages arrive this way.
    Unproven,
    /// Messages are not accepted this way, for a day or longer.
    Undelivered,
}

/// Names an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IncidentKey {
    /// What it is about.
    pub subject: IncidentSubject,
    /// What happened.
    pub kind: IncidentKind,
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// In working hours.
    Notice,
    /// Soon: quiet hours do not hold it.
    Replace,
    /// Data are lost, or the next failure will lose some: quiet hours do not hold it.
    Loss,
}

/// How things stand with the subject of an incident, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How much it matters.
    pub urgency: Urgency,
    /// How much of it there is: "grown" is when this has risen.
    pub level: u64,
    /// In one line, without the first word: for a lock screen.
    pub headline: String,
    /// What is to be said besides, line by line.
    pub lines: Vec<String>,
    /// The controller that the subject hangs on.
    pub controller: Option<String>,
}

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageReason {
    /// It has happened.
    Opened,
    /// It has become more.
    Grown,
    /// It is still so: the how-manieth reminder, from 1.
    Reminder(u32),
    /// It is over.
    Resolved,
    /// The report of the month.
    Report,
    /// A test, with a code.
    Test,
}

/// Incidents are told so long after they open: those with one cause open together.
pub const GATHER: u64 = 5 * MINUTE;
/// What grows is told once a day at most, unless it matters more than before.
pub const GROWN_EVERY: u64 = DAY;
/// From so many on, incidents of one kind behind one controller are told as one: the cause is likely the controller's, a
/// cable's or a power supply's.
pub const TOGETHER_MIN: usize = 3;

/// The pause before the reminder of this number (from 0), in seconds: 1, 2, 4, 8, 16, 32 days and 32 from then on (smartd's
/// `-M diminishing`).
pub fn reminder_pause(number: u32) -> u64 {
    DAY << number.min(5)
}

/// An incident that is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRow {
    /// Which.
    pub key: IncidentKey,
    /// Since when.
    pub opened: UnixSeconds,
    /// How things stood last.
    pub condition: Condition,
    /// When it was last told; none: never.
    pub told: Option<UnixSeconds>,
    /// What was told then.
    pub told_level: u64,
    /// How urgent it was then.
    pub told_urgency: Urgency,
    /// Reminders since.
    pub reminders: u32,
    /// A person accepts it, until it grows beyond this.
    pub accepted: Option<u64>,
    /// The message that began the thread, by its number.
    pub thread: Option<u64>,
}

impl IncidentRow {
    /// Opens one.
    pub fn new(key: IncidentKey, now: UnixSeconds, condition: Condition) -> IncidentRow {
        let (told_level, told_urgency) = (condition.level, condition.urgency);
        let (told, reminders, accepted, thread) = (None, 0, None, None);
        IncidentRow { key, opened: now, condition, told, told_level, told_urgency, reminders, accepted, thread }
    }

    /// Has it become more than was told, or accepted?
    pub fn is_grown(&self) -> bool {
        let known = self.accepted.map_or(self.told_level, |accepted| accepted.max(self.told_level));
        self.condition.level > known || self.condition.urgency > self.told_urgency
    }

    /// When the next message is due, and why, if nothing changes.
    pub fn next_message(&self) -> Option<(UnixSeconds, MessageReason)> {
        let Some(told) = self.told else { return Some((after(self.opened, GATHER), MessageReason::Opened)) };
        if self.is_grown() {
            let is_worse = self.condition.urgency > self.told_urgency;
            return Some((if is_worse { told } else { after(told, GROWN_EVERY) }, MessageReason::Grown));
        }
        if self.accepted.is_some() {
            return None;
        }
        Some((after(told, reminder_pause(self.reminders)), MessageReason::Reminder(self.reminders + 1)))
    }

    /// Days from a message of this kind to the reminder after it.
    pub fn next_reminder_days(&self, reason: MessageReason) -> u64 {
        let number = if let MessageReason::Reminder(number) = reason { number } else { 0 };
        reminder_pause(number) / DAY
    }

    /// It has been told.
    pub fn tell(&mut self, now: UnixSeconds, reason: MessageReason, message: u64) {
        self.told = Some(now);
        (self.told_level, self.told_urgency) = (self.told_level.max(self.condition.level), self.condition.urgency);
        match reason {
            MessageReason::Reminder(number) => self.reminders = number,
            _ => (self.reminders, self.accepted) = (0, None),
        }
        self.thread.get_or_insert(message);
    }

    /// A person has seen it, and wants to hear of it only if it becomes more.
    pub fn accept(&mut self) {
        self.accepted = Some(self.condition.level);
        self.told_urgency = self.told_urgency.max(self.condition.urgency);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(level: u64, urgency: Urgency) -> Condition {
        Condition { urgency, level, headline: "so".into(), lines: Vec::new(), controller: None }
    }

    fn at(seconds: u64) -> UnixSeconds {
        UnixSeconds(1_000_000 + seconds)
    }

    fn incident(level: u64) -> IncidentRow {
        let key = IncidentKey { subject: IncidentSubject::Array("a".into()), kind: IncidentKind::Degraded };
        IncidentRow::new(key, at(0), condition(level, Urgency::Notice))
    }

    #[test]
    fn reminders_come_after_1_2_4_8_16_32_and_32_days() {
        let mut incident = incident(1);
        let mut told = Vec::new();
        for number in 0..8 {
            let (due, reason) = incident.next_message().unwrap();
            told.push((due.0 - at(GATHER).0) / DAY);
            assert_eq!(reason, if number == 0 { MessageReason::Opened } else { MessageReason::Reminder(number) });
            incident.tell(due, reason, 7);
        }
        assert_eq!(told, [0, 1, 3, 7, 15, 31, 63, 95]);
        assert_eq!(incident.thread, Some(7));
    }

    #[test]
    fn growth_is_told_once_a_day_and_what_matters_more_at_once() {
        let mut incident = incident(1);
        incident.tell(at(GATHER), MessageReason::Opened, 1);
        incident.condition = condition(2, Urgency::Notice);
        assert_eq!(incident.next_message(), Some((at(GATHER + DAY), MessageReason::Grown)));
        incident.condition = condition(2, Urgency::Replace);
        assert_eq!(incident.next_message(), Some((at(GATHER), MessageReason::Grown)));
        incident.tell(at(GATHER + 60), MessageReason::Grown, 2);
        assert_eq!(incident.next_message(), Some((at(GATHER + 60 + DAY), MessageReason::Reminder(1))));
        incident.condition = condition(1, Urgency::Replace);
        assert!(!incident.is_grown(), "what becomes less is not told");
        incident.condition = condition(2, Urgency::Replace);
        assert!(!incident.is_grown(), "nor what comes back to what was told");
    }

    #[test]
    fn what_was_accepted_is_silent_until_it_grows() {
        let mut incident = incident(87);
        incident.tell(at(GATHER), MessageReason::Opened, 1);
        incident.accept();
        assert_eq!(incident.next_message(), None);
        incident.condition = condition(88, Urgency::Notice);
        let (due, reason) = incident.next_message().unwrap();
        assert_eq!(reason, MessageReason::Grown);
        incident.tell(due, reason, 2);
        assert!(incident.accepted.is_none() && incident.next_message().is_some());
    }
}
