//! Decides which messages are written when: incidents open, grow and end.

use crate::calendar::{HOUR, after, elapsed};
use crate::channel;
use crate::conditions::Conditions;
use crate::events::WatchBug;
use crate::incident::{
    BUDGET_MONTH, CATCH_UP, IncidentKey, IncidentKind, IncidentRow, IncidentSubject, MESSAGES_MAX, MessageId,
    MessageReason, PastIncident, TOGETHER_MIN, Urgency,
};
use crate::letter::{Letter, is_common_cause};
use crate::rows::{MessageRow, RowKey};
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, BTreeSet};

/// The hour of the day before which no report is written.
const REPORT_HOUR: u32 = 8;

/// How far the end of a consequence's silence may lag, in seconds: it is not written at each turn.
const HELD_STEP: u64 = 6 * HOUR;

/// Reminders of this many disks at once are one message.
const REMINDERS_MIN: usize = 10;

/// What incidents have in common that are reported in one message: they are of disks, and of one kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct MessageGroup {
    kind: IncidentKind,
    urgency: Urgency,
    /// The controller that may be the cause; `None`: there is none, or the kind has other causes.
    controller: Option<String>,
    reminder: u32,
}

impl MessageGroup {
    /// `None`: the incident is reported by itself.
    fn of(incident: &IncidentRow, reason: MessageReason) -> Option<MessageGroup> {
        let reminder = match reason {
            MessageReason::Opened => 0,
            MessageReason::Reminder(number) => number,
            _ => return None,
        };
        let (kind, urgency) = (incident.key.kind, incident.condition.urgency);
        let controller = incident.condition.controller.clone().filter(|_| is_common_cause(kind, urgency));
        let is_disk = matches!(incident.key.subject, IncidentSubject::Disk(_));
        is_disk.then_some(MessageGroup { kind, urgency, controller, reminder })
    }

    fn reason(&self) -> MessageReason {
        if self.reminder == 0 { MessageReason::Opened } else { MessageReason::Reminder(self.reminder) }
    }

    fn size_min(&self) -> usize {
        if self.reminder == 0 { TOGETHER_MIN } else { REMINDERS_MIN }
    }
}

impl Watch {
    /// Opens, updates and ends incidents according to the conditions, and writes the messages that are due.
    pub(crate) fn update_incidents(&mut self, now: UnixSeconds, conditions: Conditions) {
        for (key, condition) in &conditions.found {
            match self.book.incidents.get_mut(key) {
                Some(incident) if incident.condition == *condition => continue,
                Some(incident) => incident.condition = condition.clone(),
                None => {
                    let incident = IncidentRow::new(key.clone(), now, condition.clone());
                    let past = self.book.past.get(key).filter(|_| !self.is_planted(WatchBug::PastForgotten));
                    self.book.incidents.insert(key.clone(), incident.returned(past));
                    self.forget_past(key);
                }
            }
            self.pending.change(RowKey::Incident(key.clone()));
        }
        self.note_presence(now, &conditions);
        let mut wake = UnixSeconds(u64::MAX);
        for (key, incident) in &mut self.book.incidents {
            let (is_changed, next) = incident.lower_known(now);
            if is_changed {
                self.pending.change(RowKey::Incident(key.clone()));
            }
            wake = next.map_or(wake, |next| wake.min(next));
        }
        self.timing.wake_at(wake);
        let is_over = |key: &&IncidentKey| !conditions.found.contains_key(key) && !conditions.unjudged.contains(key);
        let ended: Vec<IncidentKey> = self.book.incidents.keys().filter(is_over).cloned().collect();
        for key in ended {
            let exists = self.has_subject(&key.subject);
            let Some(incident) = self.book.incidents.get_mut(&key) else { continue };
            // What a person made the watch forget does not come back.
            match incident.note_gone(now) {
                Err((at, is_new)) if exists && !self.is_planted(WatchBug::FlapUnbounded) => {
                    if is_new {
                        self.pending.change(RowKey::Incident(key));
                    }
                    self.timing.wake_at(at);
                }
                _ => self.resolve(now, &key),
            }
        }
        let is_old = |past: &&PastIncident| elapsed(now, past.ended) >= BUDGET_MONTH;
        let old: Vec<IncidentKey> = self.book.past.values().filter(is_old).map(|past| past.key.clone()).collect();
        old.iter().for_each(|key| self.forget_past(key));
        self.catch_up(now);
        self.write_due(now);
    }

    /// Notes which incidents are there again, and which are consequences of others for some time to come.
    fn note_presence(&mut self, now: UnixSeconds, conditions: &Conditions) {
        let held_until = after(now, CATCH_UP);
        let is_for_ever = self.is_planted(WatchBug::HeldForEver);
        let is_told = |watch: &Watch, cause: &IncidentKey| {
            conditions.found.contains_key(cause) || watch.book.incidents.contains_key(cause)
        };
        let with_cause = conditions
            .found
            .iter()
            .filter(|(_, condition)| condition.cause.as_ref().is_some_and(|cause| is_told(self, cause)));
        let mut held: BTreeSet<&IncidentKey> = with_cause.map(|(key, _)| key).chain(&conditions.held).collect();
        if self.is_planted(WatchBug::ConsequencesTold) {
            held.clear();
        }
        for (key, incident) in &mut self.book.incidents {
            let mut is_changed = conditions.found.contains_key(key) && incident.note_there(now);
            // Once in some hours is enough.
            if held.contains(key) && after(incident.held_until, HELD_STEP) < held_until {
                incident.held_until = if is_for_ever { UnixSeconds(u64::MAX / 2) } else { held_until };
                is_changed = true;
            }
            if is_changed {
                self.pending.change(RowKey::Incident(key.clone()));
            }
        }
    }

    /// Does the watch still know of the subject of an incident?
    fn has_subject(&self, subject: &IncidentSubject) -> bool {
        match subject {
            IncidentSubject::Channel(name) => self.outgoing.channels.contains_key(name),
            subject => self.seen.has(subject).unwrap_or(true),
        }
    }

    fn forget_past(&mut self, key: &IncidentKey) {
        if self.book.past.remove(key).is_some() {
            self.pending.drop_row(RowKey::Past(key.clone()));
        }
    }

    /// Ends an incident, and reports that to the channels that had reported it.
    fn resolve(&mut self, now: UnixSeconds, key: &IncidentKey) {
        let Some(mut incident) = self.book.incidents.remove(key) else { return };
        self.pending.drop_row(RowKey::Incident(key.clone()));
        if incident.last_message.is_some() {
            incident.note_written(now);
            let text = self.incident_letter(&incident, MessageReason::Resolved, now);
            let about = vec![key.clone()];
            // A channel that was added beside others has not reported it.
            let caught_up = self.outgoing.channels.values().filter(|channel| channel.is_caught_up);
            let mut channels: Vec<String> = caught_up.map(|channel| channel.name.clone()).collect();
            if channels.is_empty() {
                channels.extend(self.outgoing.channels.keys().cloned());
            }
            self.write_to(channels, now, MessageReason::Resolved, about, Urgency::Notice, incident.thread, |_, _| {
                text.clone()
            });
            if self.has_subject(&key.subject) {
                self.book.past.insert(key.clone(), incident.past(now));
                self.pending.change(RowKey::Past(key.clone()));
            }
        }
    }

    fn write_due(&mut self, now: UnixSeconds) {
        let mut due: Vec<(IncidentKey, MessageReason)> = Vec::new();
        let mut groups: BTreeMap<MessageGroup, Vec<IncidentKey>> = BTreeMap::new();
        let mut wake = UnixSeconds(u64::MAX);
        let reminds_all = self.is_planted(WatchBug::RemindTheAccepted);
        for (key, incident) in &self.book.incidents {
            let unaccepted;
            let judged = if reminds_all && incident.is_accepted {
                unaccepted = IncidentRow { is_accepted: false, ..incident.clone() };
                &unaccepted
            } else {
                incident
            };
            let unbounded;
            let judged = if self.is_planted(WatchBug::BudgetIgnored) {
                unbounded = IncidentRow { written: Vec::new(), ..judged.clone() };
                &unbounded
            } else {
                judged
            };
            let Some((at, reason)) = judged.next_message().filter(|_| self.has_recipient(key)) else { continue };
            if reason == MessageReason::Grown && self.is_planted(WatchBug::GrowthUnreported) {
                continue;
            }
            let at = at.max(self.book.tells_from);
            if at > now {
                wake = wake.min(at);
                continue;
            }
            match MessageGroup::of(incident, reason) {
                Some(group) => groups.entry(group).or_default().push(key.clone()),
                None => due.push((key.clone(), reason)),
            }
        }
        self.timing.wake_at(wake);
        for (group, keys) in groups {
            let reason = group.reason();
            if keys.len() < group.size_min() {
                due.extend(keys.into_iter().map(|key| (key, reason)));
                continue;
            }
            let text = self.common_letter(&keys, reason, group.kind, group.controller.clone());
            self.announce(now, reason, keys, group.urgency, None, &text);
        }
        for (key, reason) in due {
            let Some(incident) = self.book.incidents.get(&key) else { continue };
            let text = self.incident_letter(incident, reason, now);
            let (urgency, thread) = (incident.condition.urgency, incident.thread);
            self.announce(now, reason, vec![key], urgency, thread, &text);
        }
    }

    /// Ends what is away, as far as its end may be told now: a new channel is not told of what is not so.
    fn end_away(&mut self, now: UnixSeconds) {
        let may_end =
            |row: &&IncidentRow| row.away_since.is_some() && !row.is_accepted && row.allowed_from(MESSAGES_MAX) <= now;
        let keys: Vec<IncidentKey> = self.book.incidents.values().filter(may_end).map(|row| row.key.clone()).collect();
        keys.iter().for_each(|key| self.resolve(now, key));
    }

    /// Reports to new channels the open incidents that were reported by others, in their present condition.
    fn catch_up(&mut self, now: UnixSeconds) {
        let new_channels: Vec<String> = self
            .outgoing
            .channels
            .values()
            .filter(|channel| !channel.is_caught_up)
            .map(|channel| channel.name.clone())
            .collect();
        if !new_channels.is_empty() {
            self.end_away(now);
        }
        for name in new_channels {
            if let Some(channel) = self.outgoing.channels.get_mut(&name) {
                channel.is_caught_up = true;
                self.pending.change(RowKey::Channel(name.clone()));
            }
            let open = self
                .book
                .incidents
                .values()
                .filter(|incident| incident.last_message.is_some() && !incident.is_accepted);
            let open: Vec<IncidentRow> =
                open.filter(|incident| Self::is_sent_by(&incident.key, &name)).cloned().collect();
            if open.len() >= TOGETHER_MIN {
                let text = self.open_letter(&open, now);
                let urgency = open.iter().map(|incident| incident.condition.urgency).max().unwrap_or(Urgency::Notice);
                let about = open.into_iter().map(|incident| incident.key).collect();
                self.write_to(vec![name], now, MessageReason::Opened, about, urgency, None, |_, _| text.clone());
                continue;
            }
            for incident in open {
                let text = self.incident_letter(&incident, MessageReason::Opened, now);
                let (about, urgency) = (vec![incident.key], incident.condition.urgency);
                let channels = vec![name.clone()];
                self.write_to(channels, now, MessageReason::Opened, about, urgency, None, |_, _| text.clone());
            }
        }
    }

    /// Writes a message about incidents, and records it with them.
    fn announce(
        &mut self,
        now: UnixSeconds,
        reason: MessageReason,
        about: Vec<IncidentKey>,
        urgency: Urgency,
        thread: Option<MessageId>,
        text: &Letter,
    ) {
        let number = self.write(now, reason, about.clone(), urgency, thread, |_, _| text.clone());
        for key in about {
            if let Some(incident) = self.book.incidents.get_mut(&key) {
                incident.record_message(now, reason, number);
                self.pending.change(RowKey::Incident(key));
            }
        }
    }

    /// Is a message about this incident sent by that channel? Trouble with a channel is reported by the others; that some of its
    /// recipients get nothing also by itself, to the rest.
    fn is_sent_by(key: &IncidentKey, channel: &str) -> bool {
        key.kind == IncidentKind::Recipients || key.subject != IncidentSubject::Channel(channel.to_owned())
    }

    fn has_recipient(&self, key: &IncidentKey) -> bool {
        self.outgoing.channels.keys().any(|channel| Self::is_sent_by(key, channel))
    }

    /// Writes a message for each channel; returns what identifies the first of its thread.
    fn write(
        &mut self,
        now: UnixSeconds,
        reason: MessageReason,
        about: Vec<IncidentKey>,
        urgency: Urgency,
        thread: Option<MessageId>,
        text: impl Fn(&Watch, &str) -> Letter,
    ) -> MessageId {
        let channels = self.outgoing.channels.keys().cloned().collect();
        self.write_to(channels, now, reason, about, urgency, thread, text)
    }

    /// Writes a message for each of these channels.
    #[allow(clippy::too_many_arguments)] // all parts of a message
    fn write_to(
        &mut self,
        channels: Vec<String>,
        now: UnixSeconds,
        reason: MessageReason,
        about: Vec<IncidentKey>,
        urgency: Urgency,
        thread: Option<MessageId>,
        text: impl Fn(&Watch, &str) -> Letter,
    ) -> MessageId {
        let urgency = if self.is_planted(WatchBug::HoldUrgentInQuietHours) { Urgency::Notice } else { urgency };
        let first = MessageId { number: self.host.next_message, run: self.settings.run };
        for channel in channels {
            if about.iter().any(|key| !Self::is_sent_by(key, &channel)) {
                continue;
            }
            self.try_oldest_of(now, &channel);
            let letter = Some(Box::new(text(self, &channel)));
            let id = |id: MessageId| id.text(&channel, &self.settings.host);
            let row = MessageRow {
                number: self.host.next_message,
                id: id(first),
                reply_to: thread.map(id),
                channel: channel.clone(),
                reason,
                about: about.clone(),
                urgency,
                letter,
                written: now,
                attempts: 0,
                next_attempt: now,
                is_under_way: false,
                may_be_repeated: false,
            };
            self.pending.change(RowKey::Message(row.number));
            self.outgoing.outbox.insert(row.number, row);
            self.host.next_message += 1;
        }
        self.host.next_message = self.host.next_message.max(first.number + 1);
        self.pending.change(RowKey::Host);
        first
    }

    /// Writes a test or a report for each channel, with a code for each. A channel whose last code is still to be sent
    /// gets the same again, so that either message has the right one.
    pub(crate) fn write_with_codes(&mut self, now: UnixSeconds, reason: MessageReason) {
        let names: Vec<String> = self.outgoing.channels.keys().cloned().collect();
        let first = self.host.next_message;
        let has_code = |row: &MessageRow| matches!(row.reason, MessageReason::Test | MessageReason::Report);
        let waiting: BTreeSet<String> =
            self.outgoing.outbox.values().filter(|row| has_code(row)).map(|row| row.channel.clone()).collect();
        for (place, name) in names.iter().enumerate() {
            let code = channel::code(self.settings.secret, first + place as u64);
            if let Some(channel) = self.outgoing.channels.get_mut(name) {
                if channel.code.is_some() && waiting.contains(name) {
                    continue;
                }
                channel.code = Some(code);
                self.outgoing.wrong_codes.remove(name);
                self.pending.change(RowKey::Channel(name.clone()));
            }
        }
        self.write(now, reason, Vec::new(), Urgency::Notice, None, |watch, name| {
            let code = watch.outgoing.channels.get(name).and_then(|channel| channel.code.clone()).unwrap_or_default();
            match reason {
                MessageReason::Report => watch.report_letter(name, code, now),
                _ => watch.test_letter(name, code),
            }
        });
    }

    /// Writes the monthly report, once, when the first day of the month has come.
    pub(crate) fn report_when_due(&mut self, now: UnixSeconds) {
        let local = self.calendar.local(now);
        let month = local.day.month_number();
        if self.host.reported_month == 0 {
            self.host.reported_month = month; // the watch began in the middle of its first month
            self.pending.change(RowKey::Host);
        }
        let is_time = local.second >= REPORT_HOUR * HOUR as u32 && !self.is_planted(WatchBug::NoReport);
        if month > self.host.reported_month && is_time && !self.outgoing.channels.is_empty() {
            self.host.reported_month = month;
            self.write_with_codes(now, MessageReason::Report);
        }
        self.timing.wake_at(after(now, HOUR));
    }
}
