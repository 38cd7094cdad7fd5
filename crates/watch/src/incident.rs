//! Incidents: one for each subject and kind; reported when something changes, and again at growing intervals.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
use crate::facts::DiskKey;
use scrubjay_core::units::UnixSeconds;

/// The subject of an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IncidentSubject {
    /// A disk.
    Disk(DiskKey),
    /// An array, by its UUID.
    Array(String),
    /// A channel for messages, by its name.
    Channel(String),
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IncidentKind {
    /// A disk is to be watched or replaced.
    Health,
    /// A disk or an array is missing.
    Missing,
    /// A disk's state has not been known for a day or longer.
    Unknown,
    /// Sectors of a disk or an array will not be read by their date, or were not.
    Unread,
    /// A disk's or an array's sessions cannot begin for a day or longer, or one hangs.
    Stuck,
    /// An array has lost some of its redundancy.
    Degraded,
    /// Unreadable sectors of several members meet in a stripe.
    Stripes,
    /// An array's own checker found data that cannot be rebuilt.
    Lost,
    /// An array's own checker found copies or parity that disagree: repaired from the others, or left as they are.
    Disagreement,
    /// It is not proven that messages arrive by this channel.
    Unproven,
    /// This channel has accepted no message for a day or longer.
    Undelivered,
}

impl IncidentKind {
    /// The kind in one word.
    pub fn word(self) -> &'static str {
        match self {
            IncidentKind::Health => "health",
            IncidentKind::Missing => "missing",
            IncidentKind::Unknown => "unknown",
            IncidentKind::Unread => "unread",
            IncidentKind::Stuck => "stuck",
            IncidentKind::Degraded => "degraded",
            IncidentKind::Stripes => "stripes",
            IncidentKind::Lost => "lost",
            IncidentKind::Disagreement => "disagreement",
            IncidentKind::Unproven => "unproven",
            IncidentKind::Undelivered => "undelivered",
        }
    }
}

/// The key of an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct IncidentKey {
    /// Its subject.
    pub subject: IncidentSubject,
    /// What is wrong with it.
    pub kind: IncidentKind,
}

/// How much it matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Urgency {
    /// Can wait for working hours.
    Notice,
    /// Should be known soon: not held in quiet hours.
    Replace,
    /// Data are lost, or the next failure will lose some: not held in quiet hours.
    Loss,
}

impl Urgency {
    /// The urgency in one word.
    pub fn word(self) -> &'static str {
        match self {
            Urgency::Notice => "notice",
            Urgency::Replace => "replace",
            Urgency::Loss => "loss",
        }
    }
}

/// The present condition of the subject of an incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How much it matters.
    pub urgency: Urgency,
    /// The signs with their amounts, ascending by name: the condition has "grown" when one of them has risen, or is
    /// new. Unlike things are never summed: thousands of errors of a cable must not hide a few sectors.
    pub amounts: Vec<(String, u64)>,
    /// The condition in one line, without the first word: for a lock screen.
    pub headline: String,
    /// Further lines of the message.
    pub lines: Vec<String>,
    /// The controller that the subject is attached to.
    pub controller: Option<String>,
}

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageReason {
    /// An incident has opened.
    Opened,
    /// It has grown.
    Grown,
    /// It is unchanged: the number of the reminder, from 1.
    Reminder(u32),
    /// It is over.
    Resolved,
    /// The monthly report.
    Report,
    /// A test, with a code.
    Test,
}

/// Seconds between the opening of an incident and its message: incidents with one cause open together.
pub const GATHER: u64 = 5 * MINUTE;
/// Growth is reported once in this many seconds at most, unless the urgency rises.
pub const GROWN_EVERY: u64 = DAY;
/// From this number on, incidents of one kind behind one controller are one message: the cause is likely the
/// controller, a cable or a power supply.
pub const TOGETHER_MIN: usize = 3;

/// The pause before the reminder of this number (from 0), in seconds: 1, 2, 4, 8, 16, 32 days and 32 from then on (smartd's
/// `-M diminishing`).
pub fn reminder_pause(number: u32) -> u64 {
    DAY << number.min(5)
}

/// An open incident.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IncidentRow {
    /// Its key.
    pub key: IncidentKey,
    /// When it opened.
    pub opened: UnixSeconds,
    /// Its latest condition.
    pub condition: Condition,
    /// When its last message was written; `None`: never.
    pub last_message: Option<UnixSeconds>,
    /// The amounts that were reported or accepted, ascending by sign. They follow amounts that fall, so that a return
    /// is reported.
    pub known: Vec<(String, u64)>,
    /// The urgency that was reported or accepted.
    pub known_urgency: Urgency,
    /// Since when an amount has been below `known`; `None`: none is.
    pub less_since: Option<UnixSeconds>,
    /// Reminders since the last message of another kind.
    pub reminders: u32,
    /// Has a person accepted it, until it grows beyond `known`?
    pub is_accepted: bool,
    /// The number of the message that began its thread.
    pub thread: Option<u64>,
}

/// The amount of a sign.
fn amount(amounts: &[(String, u64)], sign: &str) -> u64 {
    amounts.iter().find(|(known, _)| known == sign).map_or(0, |(_, amount)| *amount)
}

impl Condition {
    /// Is an amount or the urgency above what was known, or is a sign new?
    pub fn is_beyond(&self, known: &[(String, u64)], urgency: Urgency) -> bool {
        self.urgency > urgency || self.amounts.iter().any(|(sign, present)| *present > amount(known, sign))
    }
}

impl IncidentRow {
    /// Opens an incident.
    pub fn new(key: IncidentKey, now: UnixSeconds, condition: Condition) -> IncidentRow {
        let (known, known_urgency) = (condition.amounts.clone(), condition.urgency);
        IncidentRow {
            key,
            opened: now,
            condition,
            last_message: None,
            known,
            known_urgency,
            less_since: None,
            reminders: 0,
            is_accepted: false,
            thread: None,
        }
    }

    /// Has it grown beyond what was reported or accepted?
    pub fn is_grown(&self) -> bool {
        self.condition.is_beyond(&self.known, self.known_urgency)
    }

    /// Is an amount or the urgency below what was reported or accepted?
    fn is_less(&self) -> bool {
        let present_amount = |sign: &String| amount(&self.condition.amounts, sign);
        self.condition.urgency < self.known_urgency
            || self.known.iter().any(|(sign, known)| present_amount(sign) < *known)
    }

    /// For how many seconds amounts must stay lower until a rise is reported again: what comes and goes within the hour
    /// is one event. One slice of a pass after the other may be late, for a week.
    fn flap_seconds(&self) -> u64 {
        if self.key.kind == IncidentKind::Unread { 7 * DAY } else { HOUR }
    }

    /// Lowers the known amounts to the present ones, once those have stayed lower. Returns whether the row has changed,
    /// and when to check again.
    pub fn lower_known(&mut self, now: UnixSeconds) -> (bool, Option<UnixSeconds>) {
        if !self.is_less() {
            return (self.less_since.take().is_some(), None);
        }
        let (is_new, since) = (self.less_since.is_none(), *self.less_since.get_or_insert(now));
        if elapsed(now, since) < self.flap_seconds() {
            return (is_new, Some(after(since, self.flap_seconds())));
        }
        let present_amount = |sign: &String| amount(&self.condition.amounts, sign);
        self.known = self.known.iter().map(|(sign, known)| (sign.clone(), present_amount(sign).min(*known))).collect();
        self.known.retain(|(_, known)| *known > 0);
        self.known_urgency = self.known_urgency.min(self.condition.urgency);
        self.less_since = None;
        (true, None)
    }

    /// When the next message is due, and why, if nothing changes.
    pub fn next_message(&self) -> Option<(UnixSeconds, MessageReason)> {
        if self.is_accepted && !self.is_grown() {
            return None;
        }
        let Some(last_message) = self.last_message else {
            return Some((after(self.opened, GATHER), MessageReason::Opened));
        };
        if self.is_grown() {
            let is_worse = self.condition.urgency > self.known_urgency;
            return Some((
                if is_worse { last_message } else { after(last_message, GROWN_EVERY) },
                MessageReason::Grown,
            ));
        }
        Some((after(last_message, reminder_pause(self.reminders)), MessageReason::Reminder(self.reminders + 1)))
    }

    /// Days from a message of this kind to the reminder after it.
    pub fn next_reminder_days(&self, reason: MessageReason) -> u64 {
        let number = if let MessageReason::Reminder(number) = reason { number } else { 0 };
        reminder_pause(number) / DAY
    }

    /// Raises the known amounts to the present ones.
    fn raise_known(&mut self) {
        let Condition { amounts, urgency, .. } = &self.condition;
        self.known.retain(|(sign, known)| amount(amounts, sign) < *known);
        self.known
            .extend(amounts.iter().filter(|(sign, _)| amount(&self.known, sign) == 0).cloned().collect::<Vec<_>>());
        self.known.sort();
        self.known_urgency = self.known_urgency.max(*urgency);
    }

    /// Records that a message was written.
    pub fn record_message(&mut self, now: UnixSeconds, reason: MessageReason, message: u64) {
        self.last_message = Some(now);
        self.raise_known();
        match reason {
            MessageReason::Reminder(number) => self.reminders = number,
            _ => (self.reminders, self.is_accepted) = (0, false),
        }
        self.thread.get_or_insert(message);
    }

    /// Records that a person has seen it, and wants messages only if it grows.
    pub fn accept(&mut self) {
        self.raise_known();
        self.is_accepted = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(level: u64, urgency: Urgency) -> Condition {
        Condition {
            urgency,
            amounts: vec![("one".into(), level)],
            headline: "so".into(),
            lines: Vec::new(),
            controller: None,
        }
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
        let mut days = Vec::new();
        for number in 0..8 {
            let (due, reason) = incident.next_message().unwrap();
            days.push((due.0 - at(GATHER).0) / DAY);
            assert_eq!(reason, if number == 0 { MessageReason::Opened } else { MessageReason::Reminder(number) });
            incident.record_message(due, reason, 7);
        }
        assert_eq!(days, [0, 1, 3, 7, 15, 31, 63, 95]);
        assert_eq!(incident.thread, Some(7));
    }

    #[test]
    fn growth_is_reported_once_a_day_and_a_higher_urgency_at_once() {
        let mut incident = incident(1);
        incident.record_message(at(GATHER), MessageReason::Opened, 1);
        incident.condition = condition(2, Urgency::Notice);
        assert_eq!(incident.next_message(), Some((at(GATHER + DAY), MessageReason::Grown)));
        incident.condition = condition(2, Urgency::Replace);
        assert_eq!(incident.next_message(), Some((at(GATHER), MessageReason::Grown)));
        incident.record_message(at(GATHER + 60), MessageReason::Grown, 2);
        assert_eq!(incident.next_message(), Some((at(GATHER + 60 + DAY), MessageReason::Reminder(1))));
        incident.condition = condition(1, Urgency::Replace);
        assert!(!incident.is_grown(), "what becomes less is not told");
        incident.condition = condition(2, Urgency::Replace);
        assert!(!incident.is_grown(), "nor what comes back to what was told within the hour");
    }

    #[test]
    fn an_amount_that_was_lower_for_an_hour_is_reported_when_it_rises_again() {
        let mut incident = incident(3);
        incident.record_message(at(GATHER), MessageReason::Opened, 1);
        incident.condition = condition(1, Urgency::Notice);
        assert_eq!(incident.lower_known(at(DAY)), (true, Some(at(DAY + HOUR))));
        incident.condition = condition(3, Urgency::Notice);
        assert_eq!(incident.lower_known(at(DAY + HOUR - 1)), (true, None));
        assert!(!incident.is_grown(), "it only flapped");
        incident.condition = condition(1, Urgency::Notice);
        assert!(incident.lower_known(at(2 * DAY)).0 && incident.lower_known(at(2 * DAY + HOUR)).0);
        assert_eq!(incident.known, [("one".to_owned(), 1)]);
        incident.condition = condition(2, Urgency::Notice);
        assert_eq!(incident.next_message(), Some((at(GATHER + DAY), MessageReason::Grown)));
    }

    #[test]
    fn a_new_sign_is_growth_whatever_the_amount_of_another_sign() {
        let mut incident = incident(5000);
        incident.record_message(at(GATHER), MessageReason::Opened, 1);
        incident.accept();
        incident.condition.amounts = vec![("other".into(), 1)];
        assert!(incident.is_grown());
        incident.record_message(at(DAY), MessageReason::Grown, 2);
        assert_eq!(incident.known, [("one".to_owned(), 5000), ("other".to_owned(), 1)]);
        assert!(incident.lower_known(at(DAY)).0 && incident.lower_known(at(DAY + HOUR)).0);
        assert_eq!(incident.known, [("other".to_owned(), 1)], "one that went away drops its mark");
    }

    #[test]
    fn an_accepted_incident_sends_no_message_until_it_grows() {
        let mut incident = incident(87);
        incident.record_message(at(GATHER), MessageReason::Opened, 1);
        incident.accept();
        assert_eq!(incident.next_message(), None);
        incident.condition = condition(88, Urgency::Notice);
        let (due, reason) = incident.next_message().unwrap();
        assert_eq!(reason, MessageReason::Grown);
        incident.record_message(due, reason, 2);
        assert!(!incident.is_accepted && incident.next_message().is_some());
    }
}
