//! Incidents: one for each subject and kind; told when something changes, and again, ever more seldom, while nothing does.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
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
    /// Sectors of a disk or an array will not have been read in time, or have not.
    Unread,
    /// A disk's or an array's sessions cannot begin for a day or longer, or one hangs.
    Stuck,
    /// An array has lost some of its redundancy.
    Degraded,
    /// Unreadable sectors of several members meet in a stripe.
    Stripes,
    /// An array's own checker found data that cannot be rebuilt.
    Lost,
    /// It found copies or parity that disagree: made right from the others, or left as they are.
    Disagreement,
    /// It is not proven that messages arrive this way.
    Unproven,
    /// Messages are not accepted this way, for a day or longer.
    Undelivered,
}

impl IncidentKind {
    /// One word for it.
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

impl Urgency {
    /// One word for it.
    pub fn word(self) -> &'static str {
        match self {
            Urgency::Notice => "notice",
            Urgency::Replace => "replace",
            Urgency::Loss => "loss",
        }
    }
}

/// How things stand with the subject of an incident, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// How much it matters.
    pub urgency: Urgency,
    /// What speaks for it, and how much of each there is, ascending by name: "grown" is when one of them has risen, or is new.
    /// Unlike things are never summed: thousands of errors of a cable must not hide a few sectors.
    pub amounts: Vec<(String, u64)>,
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
    /// What was told, or accepted, sign by sign, ascending by name. It follows what becomes less, so that what comes back is told.
    pub known: Vec<(String, u64)>,
    /// How urgent that was.
    pub known_urgency: Urgency,
    /// Since when there is less of something than is known; none: there is not.
    pub less_since: Option<UnixSeconds>,
    /// Reminders since it was told.
    pub reminders: u32,
    /// A person accepts it, until it grows beyond what is known.
    pub is_accepted: bool,
    /// The message that began the thread, by its number.
    pub thread: Option<u64>,
}

/// How much of a sign there is.
fn amount(amounts: &[(String, u64)], sign: &str) -> u64 {
    amounts.iter().find(|(known, _)| known == sign).map_or(0, |(_, amount)| *amount)
}

impl Condition {
    /// Is there more of something than was known, or something new?
    pub fn is_beyond(&self, known: &[(String, u64)], urgency: Urgency) -> bool {
        self.urgency > urgency || self.amounts.iter().any(|(sign, now)| *now > amount(known, sign))
    }
}

impl IncidentRow {
    /// Opens one.
    pub fn new(key: IncidentKey, now: UnixSeconds, condition: Condition) -> IncidentRow {
        let (known, known_urgency) = (condition.amounts.clone(), condition.urgency);
        IncidentRow {
            key,
            opened: now,
            condition,
            told: None,
            known,
            known_urgency,
            less_since: None,
            reminders: 0,
            is_accepted: false,
            thread: None,
        }
    }

    /// Has it become more than was told, or accepted?
    pub fn is_grown(&self) -> bool {
        self.condition.is_beyond(&self.known, self.known_urgency)
    }

    /// Is there less of something than was told, or accepted?
    fn is_less(&self) -> bool {
        let now = |sign: &String| amount(&self.condition.amounts, sign);
        self.condition.urgency < self.known_urgency || self.known.iter().any(|(sign, known)| now(sign) < *known)
    }

    /// How long there must be less of it until more is told anew: what comes and goes within the hour is one thing. Of dates, one
    /// slice of a pass after the other may be late, for a week.
    fn flaps_within(&self) -> u64 {
        if self.key.kind == IncidentKind::Unread { 7 * DAY } else { HOUR }
    }

    /// Forgets what was known of something that has become less, once it has stayed so. Gives whether the row has changed, and
    /// when to look again.
    pub fn ease(&mut self, now: UnixSeconds) -> (bool, Option<UnixSeconds>) {
        if !self.is_less() {
            return (self.less_since.take().is_some(), None);
        }
        let (is_new, since) = (self.less_since.is_none(), *self.less_since.get_or_insert(now));
        if elapsed(now, since) < self.flaps_within() {
            return (is_new, Some(after(since, self.flaps_within())));
        }
        let now = |sign: &String| amount(&self.condition.amounts, sign);
        self.known = self.known.iter().map(|(sign, known)| (sign.clone(), now(sign).min(*known))).collect();
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
        let Some(told) = self.told else { return Some((after(self.opened, GATHER), MessageReason::Opened)) };
        if self.is_grown() {
            let is_worse = self.condition.urgency > self.known_urgency;
            return Some((if is_worse { told } else { after(told, GROWN_EVERY) }, MessageReason::Grown));
        }
        Some((after(told, reminder_pause(self.reminders)), MessageReason::Reminder(self.reminders + 1)))
    }

    /// Days from a message of this kind to the reminder after it.
    pub fn next_reminder_days(&self, reason: MessageReason) -> u64 {
        let number = if let MessageReason::Reminder(number) = reason { number } else { 0 };
        reminder_pause(number) / DAY
    }

    /// What is so now is known, besides what was.
    fn learn(&mut self) {
        let Condition { amounts, urgency, .. } = &self.condition;
        self.known.retain(|(sign, known)| amount(amounts, sign) < *known);
        self.known
            .extend(amounts.iter().filter(|(sign, _)| amount(&self.known, sign) == 0).cloned().collect::<Vec<_>>());
        self.known.sort();
        self.known_urgency = self.known_urgency.max(*urgency);
    }

    /// It has been told.
    pub fn tell(&mut self, now: UnixSeconds, reason: MessageReason, message: u64) {
        self.told = Some(now);
        self.learn();
        match reason {
            MessageReason::Reminder(number) => self.reminders = number,
            _ => (self.reminders, self.is_accepted) = (0, false),
        }
        self.thread.get_or_insert(message);
    }

    /// A person has seen it, and wants to hear of it only if it becomes more.
    pub fn accept(&mut self) {
        self.learn();
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
        assert!(!incident.is_grown(), "nor what comes back to what was told within the hour");
    }

    #[test]
    fn what_stays_less_for_an_hour_is_told_when_it_comes_back() {
        let mut incident = incident(3);
        incident.tell(at(GATHER), MessageReason::Opened, 1);
        incident.condition = condition(1, Urgency::Notice);
        assert_eq!(incident.ease(at(DAY)), (true, Some(at(DAY + HOUR))));
        incident.condition = condition(3, Urgency::Notice);
        assert_eq!(incident.ease(at(DAY + HOUR - 1)), (true, None));
        assert!(!incident.is_grown(), "it only flapped");
        incident.condition = condition(1, Urgency::Notice);
        assert!(incident.ease(at(2 * DAY)).0 && incident.ease(at(2 * DAY + HOUR)).0);
        assert_eq!(incident.known, [("one".to_owned(), 1)]);
        incident.condition = condition(2, Urgency::Notice);
        assert_eq!(incident.next_message(), Some((at(GATHER + DAY), MessageReason::Grown)));
    }

    #[test]
    fn a_sign_that_is_new_is_growth_however_much_there_is_of_another() {
        let mut incident = incident(5000);
        incident.tell(at(GATHER), MessageReason::Opened, 1);
        incident.accept();
        incident.condition.amounts = vec![("other".into(), 1)];
        assert!(incident.is_grown());
        incident.tell(at(DAY), MessageReason::Grown, 2);
        assert_eq!(incident.known, [("one".to_owned(), 5000), ("other".to_owned(), 1)]);
        assert!(incident.ease(at(DAY)).0 && incident.ease(at(DAY + HOUR)).0);
        assert_eq!(incident.known, [("other".to_owned(), 1)], "one that went away drops its mark");
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
        assert!(!incident.is_accepted && incident.next_message().is_some());
    }
}
