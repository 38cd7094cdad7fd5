//! Incidents: one for each subject and kind; reported when something changes, and again at growing intervals.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
use crate::facts::DiskKey;
use crate::problem::{Problem, SubjectCard};
use crate::worded;
use scrubjay_core::units::UnixSeconds;

pub use crate::problem::IncidentKind;

/// The subject of an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum IncidentSubject {
    /// A disk.
    Disk(DiskKey),
    /// An array, by its UUID.
    Array(String),
    /// A channel for messages, by its name.
    Channel(String),
    /// The watch itself.
    Watch,
}

/// The key of an incident.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

worded!(Urgency { Notice = "notice", Replace = "replace", Loss = "loss", });

/// The present condition of the subject of an incident, as facts: whoever shows it puts it in words.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Condition {
    /// How much it matters.
    pub urgency: Urgency,
    /// The signs with their amounts, ascending by name: the condition has "grown" when one of them has risen, or is
    /// new. Unlike things are never summed: thousands of errors of a cable must not hide a few sectors.
    pub amounts: Vec<(String, u64)>,
    /// What is wrong.
    pub problem: Problem,
    /// The controller that the subject is attached to.
    pub controller: Option<String>,
    /// The incident of which this is a consequence: it is listed there, and sends no messages of its own meanwhile.
    #[cfg_attr(feature = "serde", serde(skip))] // it is found anew
    pub cause: Option<IncidentKey>,
    /// What is not read meanwhile because of it, though due: the first of all.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub held: Vec<SubjectCard>,
    /// How much more is not.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub held_more: usize,
}

/// What identifies a message, on any machine and after any loss of the history: numbers begin again with a new history, so the run
/// of the daemon that wrote it, which is a random number, goes with them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MessageId {
    /// Its number.
    pub number: u64,
    /// The run: [`crate::settings::WatchSettings::run`].
    pub run: u64,
}

impl MessageId {
    /// As a Message-ID by this channel of this host.
    pub fn text(self, channel: &str, host: &str) -> String {
        format!("<scrubjay-{}.{:x}.{channel}@{host}>", self.number, self.run)
    }
}

/// Why a message is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "kebab-case"))]
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
/// The same of what happens to a program now: many such come in a second.
const GATHER_SHORT: u64 = 3;
/// Growth is reported once in this many seconds at most, unless the urgency rises.
pub const GROWN_EVERY: u64 = DAY;
/// From this number on, incidents of one kind are one message; where a controller, a cable or a power supply is likely their cause, those
/// behind one controller.
pub const TOGETHER_MIN: usize = 3;

/// Messages about one incident within a day, and within 30 days, at most, however it comes and goes.
pub const MESSAGES_MAX: (usize, usize) = (3, 12);
/// As many of them may be reminders, or tell of more of the same: the others are for what is new, and for ends.
pub const ROUTINE_MAX: (usize, usize) = (2, 8);
/// The seconds of the longer of these limits.
pub const BUDGET_MONTH: u64 = 30 * DAY;
/// Seconds for which a consequence stays silent after its cause is over: what was held back is caught up with.
pub const CATCH_UP: u64 = 14 * DAY;

/// For how many seconds an incident that has come back this many times must be away before it is over: 0, then 1, 3, 7, 14 and
/// 28 days.
pub fn settles_after(returns: u32) -> u64 {
    [0, 1, 3, 7, 14, 28][returns.min(5) as usize] * DAY
}

/// The pause before the reminder of this number (from 0), in seconds: 1, 2, 4, 8, 16, 32 days and 32 from then on (smartd's
/// `-M diminishing`).
pub fn reminder_pause(number: u32) -> u64 {
    DAY << number.min(5)
}

/// An open incident.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IncidentRow {
    /// Its key.
    pub key: IncidentKey,
    /// When it opened.
    pub opened: UnixSeconds,
    /// Its latest condition.
    pub condition: Condition,
    /// When its last message was written; `None`: never.
    pub last_message: Option<UnixSeconds>,
    /// The amounts that were reported or accepted (before the first message: those at its opening), ascending by sign. They follow amounts that fall, so that a return
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
    /// The message that began its thread.
    pub thread: Option<MessageId>,
    /// When messages about it were written in the last 30 days, the latest last; also before it came back.
    pub written: Vec<UnixSeconds>,
    /// How often it came back within 30 days of its end.
    pub returns: u32,
    /// Since when its condition is gone, while it is not known yet whether it comes back; `None`: it is there.
    pub away_since: Option<UnixSeconds>,
    /// It sends no messages until then, because its cause does; 0: it has none.
    pub held_until: UnixSeconds,
}

/// An incident that is over, for as long as it is the same one if it comes back: [`BUDGET_MONTH`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PastIncident {
    /// Its key.
    pub key: IncidentKey,
    /// When it ended.
    pub ended: UnixSeconds,
    /// How often it had come back.
    pub returns: u32,
    /// When messages about it were written in the last 30 days, the latest last.
    pub written: Vec<UnixSeconds>,
    /// The message that began its thread.
    pub thread: Option<MessageId>,
}

/// The amount of a sign.
fn amount(amounts: &[(String, u64)], sign: &str) -> u64 {
    amounts.iter().find(|(known, _)| known == sign).map_or(0, |(_, amount)| *amount)
}

impl Condition {
    /// A condition with a single sign.
    pub fn of(urgency: Urgency, problem: Problem) -> Condition {
        let amounts = vec![("so".to_owned(), 1)];
        Condition { urgency, amounts, problem, controller: None, cause: None, held: Vec::new(), held_more: 0 }
    }

    /// The same with these signs.
    pub fn with_amounts(self, amounts: Vec<(String, u64)>) -> Condition {
        Condition { amounts, ..self }
    }

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
            written: Vec::new(),
            returns: 0,
            away_since: None,
            held_until: UnixSeconds(0),
        }
    }

    /// The same incident as one that was over, if that is not long ago.
    pub fn returned(self, past: Option<&PastIncident>) -> IncidentRow {
        match past.filter(|past| elapsed(self.opened, past.ended) < BUDGET_MONTH) {
            Some(past) => {
                let PastIncident { returns, written, thread, .. } = past.clone();
                IncidentRow { returns: returns + 1, written, thread, ..self }
            }
            None => self,
        }
    }

    /// What is left of it when it is over.
    pub fn past(self, now: UnixSeconds) -> PastIncident {
        let IncidentRow { key, returns, written, thread, .. } = self;
        PastIncident { key, ended: now, returns, written, thread }
    }

    /// Is it there, and more than a consequence that its cause lists, or that is being caught up with?
    pub fn is_present(&self, now: UnixSeconds) -> bool {
        let is_silent = self.last_message.is_none() && self.held_until > now;
        self.away_since.is_none() && self.condition.cause.is_none() && !is_silent
    }

    /// Notes that its condition is there. Returns whether the row has changed.
    ///
    /// Sectors that were read in time for a week, and are not again, are news, whatever was known or accepted of the last time.
    pub fn note_there(&mut self, now: UnixSeconds) -> bool {
        let Some(since) = self.away_since.take() else { return false };
        self.returns += 1;
        if self.key.kind == IncidentKind::Unread && elapsed(now, since) >= self.flap_seconds() {
            self.known.clear();
        }
        true
    }

    /// Notes that its condition is gone. `Ok`: it is over; else when to look again, and whether the row has changed.
    ///
    /// # Errors
    /// When to look again: it may come back, or its end may not be told yet.
    pub fn note_gone(&mut self, now: UnixSeconds) -> Result<(), (UnixSeconds, bool)> {
        let is_new = self.away_since.is_none();
        let since = *self.away_since.get_or_insert(now);
        let settled = after(since, settles_after(self.returns));
        let at = if self.last_message.is_some() { settled.max(self.allowed_from(MESSAGES_MAX)) } else { settled };
        if at <= now { Ok(()) } else { Err((at, is_new)) }
    }

    /// From when on the budget of (a day, 30 days) allows another message.
    pub fn allowed_from(&self, (a_day, a_month): (usize, usize)) -> UnixSeconds {
        let nth_last = |count: usize| self.written.len().checked_sub(count).map(|place| self.written[place]);
        let by_day = nth_last(a_day).map_or(UnixSeconds(0), |at| after(at, DAY));
        let by_month = nth_last(a_month).map_or(UnixSeconds(0), |at| after(at, BUDGET_MONTH));
        by_day.max(by_month)
    }

    /// Has it grown beyond what was reported or accepted?
    pub fn is_grown(&self) -> bool {
        self.condition.is_beyond(&self.known, self.known_urgency)
    }

    /// Is there a sign of which nothing is known?
    fn has_new_sign(&self) -> bool {
        self.condition.amounts.iter().any(|(sign, present)| *present > 0 && amount(&self.known, sign) == 0)
    }

    /// Is an amount or the urgency below what was reported or accepted?
    fn is_less(&self) -> bool {
        let present_amount = |sign: &String| amount(&self.condition.amounts, sign);
        self.condition.urgency < self.known_urgency
            || self.known.iter().any(|(sign, known)| present_amount(sign) < *known)
    }

    /// For how many seconds amounts must stay lower until a rise is reported again: what comes and goes within the hour
    /// is one event; what has made some messages of late has to stay away for a day, or a week. One slice of a pass after the
    /// other may be late, for a week.
    fn flap_seconds(&self) -> u64 {
        match self.written.len() {
            _ if self.key.kind == IncidentKind::Unread => 7 * DAY,
            0..3 => HOUR,
            3..6 => DAY,
            _ => 7 * DAY,
        }
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

    /// Seconds between its opening and its message.
    fn gathers_for(&self) -> u64 {
        if self.condition.problem.is_of_now(self.opened) { GATHER_SHORT } else { GATHER }
    }

    /// When the next message is due, and why, if nothing changes.
    pub fn next_message(&self) -> Option<(UnixSeconds, MessageReason)> {
        if self.is_accepted && !self.is_grown() || self.away_since.is_some() {
            return None;
        }
        let (at, reason, limits) = match self.last_message {
            None => (after(self.opened, self.gathers_for()), MessageReason::Opened, MESSAGES_MAX),
            Some(last) if self.is_grown() && self.condition.urgency > self.known_urgency => {
                (last, MessageReason::Grown, MESSAGES_MAX)
            }
            Some(last) if self.is_grown() => {
                let limits = if self.has_new_sign() { MESSAGES_MAX } else { ROUTINE_MAX };
                (after(last, GROWN_EVERY), MessageReason::Grown, limits)
            }
            Some(last) => {
                let reason = MessageReason::Reminder(self.reminders + 1);
                (after(last, reminder_pause(self.reminders)), reason, ROUTINE_MAX)
            }
        };
        Some((at.max(self.held_until).max(self.allowed_from(limits)), reason))
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
    pub fn record_message(&mut self, now: UnixSeconds, reason: MessageReason, message: MessageId) {
        self.last_message = Some(now);
        self.note_written(now);
        self.raise_known();
        match reason {
            MessageReason::Reminder(number) => self.reminders = number,
            _ => (self.reminders, self.is_accepted) = (0, false),
        }
        self.thread.get_or_insert(message);
    }

    /// Records that a message about it was written, and forgets those of long ago.
    pub fn note_written(&mut self, now: UnixSeconds) {
        self.written.retain(|&at| elapsed(now, at) < BUDGET_MONTH);
        self.written.push(now);
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
        let problem = Problem::Unproven("email".into(), crate::channel::ProofState::Never);
        Condition::of(urgency, problem).with_amounts(vec![("one".into(), level)])
    }

    fn id(number: u64) -> MessageId {
        MessageId { number, run: 0 }
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
            incident.record_message(due, reason, id(7));
        }
        assert_eq!(days, [0, 1, 3, 7, 15, 31, 63, 95]);
        assert_eq!(incident.thread, Some(id(7)));
    }

    #[test]
    fn growth_is_reported_once_a_day_and_a_higher_urgency_at_once() {
        let mut incident = incident(1);
        incident.record_message(at(GATHER), MessageReason::Opened, id(1));
        incident.condition = condition(2, Urgency::Notice);
        assert_eq!(incident.next_message(), Some((at(GATHER + DAY), MessageReason::Grown)));
        incident.condition = condition(2, Urgency::Replace);
        assert_eq!(incident.next_message(), Some((at(GATHER), MessageReason::Grown)));
        incident.record_message(at(GATHER + 60), MessageReason::Grown, id(2));
        assert_eq!(incident.next_message(), Some((at(GATHER + 60 + DAY), MessageReason::Reminder(1))));
        incident.condition = condition(1, Urgency::Replace);
        assert!(!incident.is_grown(), "what becomes less is not told");
        incident.condition = condition(2, Urgency::Replace);
        assert!(!incident.is_grown(), "nor what comes back to what was told within the hour");
    }

    #[test]
    fn an_amount_that_was_lower_for_an_hour_is_reported_when_it_rises_again() {
        let mut incident = incident(3);
        incident.record_message(at(GATHER), MessageReason::Opened, id(1));
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
        incident.record_message(at(GATHER), MessageReason::Opened, id(1));
        incident.accept();
        incident.condition.amounts = vec![("other".into(), 1)];
        assert!(incident.is_grown());
        incident.record_message(at(DAY), MessageReason::Grown, id(2));
        assert_eq!(incident.known, [("one".to_owned(), 5000), ("other".to_owned(), 1)]);
        assert!(incident.lower_known(at(DAY)).0 && incident.lower_known(at(DAY + HOUR)).0);
        assert_eq!(incident.known, [("other".to_owned(), 1)], "one that went away drops its mark");
    }

    #[test]
    fn sectors_that_were_in_time_for_a_week_and_are_not_again_are_news_though_accepted() {
        let unread = |days: u64| {
            let key = IncidentKey { kind: IncidentKind::Unread, ..incident(1).key };
            let mut row = IncidentRow { key, returns: 5, ..incident(1) };
            row.record_message(at(0), MessageReason::Opened, id(1));
            row.accept();
            assert!(row.note_gone(at(DAY)).is_err() && row.note_there(at((1 + days) * DAY)));
            row.next_message().map(|(_, reason)| reason)
        };
        assert_eq!((unread(6), unread(7)), (None, Some(MessageReason::Grown)));
    }

    #[test]
    fn what_comes_and_goes_is_over_later_each_time_and_has_a_budget_of_messages() {
        let (mut now, mut written, mut past) = (at(0), Vec::new(), None);
        // Six hours there, six hours away, for 60 days; it is told of as soon as that is due.
        let mut row: Option<IncidentRow> = None;
        for hour in 0..60 * 24_u64 {
            now = at(hour * HOUR);
            let is_there = hour / 6 % 2 == 0;
            if is_there {
                let new = || incident(1).returned(past.as_ref());
                let opened = |new: IncidentRow| IncidentRow { opened: now, ..new };
                let row = row.get_or_insert_with(|| opened(new()));
                row.note_there(now);
            } else if let Some(gone) = &mut row
                && gone.note_gone(now).is_ok()
            {
                gone.note_written(now);
                written.push(now);
                past = row.take().map(|row| row.past(now));
            }
            if let Some(row) = &mut row
                && let Some((due, reason)) = row.next_message()
                && due <= now
            {
                row.record_message(now, reason, id(1));
                written.push(now);
            }
        }
        let within = |seconds: u64, from: UnixSeconds| {
            written.iter().filter(|at| at.0 >= from.0 && at.0 - from.0 < seconds).count()
        };
        assert!(written.iter().all(|&from| within(DAY, from) <= 3 && within(BUDGET_MONTH, from) <= 12), "{written:?}");
        assert!(written.len() >= 4 && now > at(0), "{written:?}");
    }

    #[test]
    fn a_consequence_is_silent_while_its_cause_lasts() {
        let mut row = incident(1);
        row.held_until = at(3 * DAY);
        assert_eq!(row.next_message(), Some((at(3 * DAY), MessageReason::Opened)));
    }

    #[test]
    fn an_accepted_incident_sends_no_message_until_it_grows() {
        let mut incident = incident(87);
        incident.record_message(at(GATHER), MessageReason::Opened, id(1));
        incident.accept();
        assert_eq!(incident.next_message(), None);
        incident.condition = condition(88, Urgency::Notice);
        let (due, reason) = incident.next_message().unwrap();
        assert_eq!(reason, MessageReason::Grown);
        incident.record_message(due, reason, id(2));
        assert!(!incident.is_accepted && incident.next_message().is_some());
    }
}
