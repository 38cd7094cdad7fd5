//! Who is told what, when: incidents open, grow and end; messages wait, are sent, and are tried again.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
use crate::channel::{self, ChannelRow};
use crate::conditions::Conditions;
use crate::events::{WatchBug, WatchOp};
use crate::incident::{IncidentKey, IncidentKind, IncidentRow, IncidentSubject, MessageReason, TOGETHER_MIN, Urgency};
use crate::letter::LetterText;
use crate::rows::{MessageRow, RowKey};
use crate::settings::AlertChannel;
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, BTreeSet};

/// Reports are not written before this hour of the day.
const REPORT_HOUR: u32 = 8;
/// A channel that has not answered for so long has not accepted the message: no mail server takes longer (RFC 5321, 4.5.3.2: ten
/// minutes for the end of the data).
const ANSWER_MAX: u64 = 15 * MINUTE;
/// A message that was tried, and waits for so long, is to be seen in the lights.
pub(crate) const WAITS_LONG: u64 = 4 * HOUR;

impl Watch {
    /// Opens, changes and ends incidents as things stand, and writes the messages that are due.
    pub(crate) fn tell(&mut self, now: UnixSeconds, conditions: Conditions) {
        for (key, condition) in &conditions.found {
            match self.incidents.get_mut(key) {
                Some(incident) if incident.condition == *condition => continue,
                Some(incident) => incident.condition = condition.clone(),
                None => {
                    let incident = IncidentRow::new(key.clone(), now, condition.clone());
                    self.incidents.insert(key.clone(), incident);
                }
            }
            self.changed.insert(RowKey::Incident(key.clone()));
        }
        let mut wake = UnixSeconds(u64::MAX);
        for (key, incident) in &mut self.incidents {
            let (is_changed, next) = incident.ease(now);
            if is_changed {
                self.changed.insert(RowKey::Incident(key.clone()));
            }
            wake = next.map_or(wake, |next| wake.min(next));
        }
        self.wake_at(wake);
        let over = |key: &&IncidentKey| !conditions.found.contains_key(key) && !conditions.unjudged.contains(key);
        let over: Vec<IncidentKey> = self.incidents.keys().filter(over).cloned().collect();
        for key in over {
            self.resolve(now, &key);
        }
        self.tell_due(now);
    }

    /// An incident is over: whoever was told of it is told so.
    fn resolve(&mut self, now: UnixSeconds, key: &IncidentKey) {
        let Some(incident) = self.incidents.remove(key) else { return };
        self.dropped.insert(RowKey::Incident(key.clone()));
        if incident.told.is_some() {
            let text = self.incident_letter(&incident, MessageReason::Resolved, now);
            let about = vec![key.clone()];
            self.write(now, MessageReason::Resolved, about, Urgency::Notice, incident.thread, |_, _| text_of(&text));
        }
    }

    fn tell_due(&mut self, now: UnixSeconds) {
        let mut due: Vec<(IncidentKey, MessageReason)> = Vec::new();
        let mut together: BTreeMap<(IncidentKind, String), Vec<IncidentKey>> = BTreeMap::new();
        let mut wake = UnixSeconds(u64::MAX);
        let reminds_all = self.is_planted(WatchBug::RemindTheAccepted);
        for (key, incident) in &self.incidents {
            let unquiet;
            let judged = if reminds_all && incident.is_accepted {
                unquiet = IncidentRow { is_accepted: false, ..incident.clone() };
                &unquiet
            } else {
                incident
            };
            let Some((at, reason)) = judged.next_message().filter(|_| self.has_recipient(key)) else { continue };
            if at > now {
                wake = wake.min(at);
                continue;
            }
            match (&incident.condition.controller, reason) {
                (Some(controller), MessageReason::Opened) => {
                    together.entry((key.kind, controller.clone())).or_default().push(key.clone());
                }
                _ => due.push((key.clone(), reason)),
            }
        }
        self.wake_at(wake);
        for ((_, controller), keys) in together {
            if keys.len() < TOGETHER_MIN {
                due.extend(keys.into_iter().map(|key| (key, MessageReason::Opened)));
                continue;
            }
            let text = self.common_letter(&keys, &controller);
            let urgent =
                keys.iter().filter_map(|key| self.incidents.get(key)).map(|incident| incident.condition.urgency);
            let urgent = urgent.max().unwrap_or(Urgency::Notice);
            self.announce(now, MessageReason::Opened, keys, urgent, None, &text);
        }
        for (key, reason) in due {
            let Some(incident) = self.incidents.get(&key) else { continue };
            let text = self.incident_letter(incident, reason, now);
            let (urgency, thread) = (incident.condition.urgency, incident.thread);
            self.announce(now, reason, vec![key], urgency, thread, &text);
        }
    }

    /// Writes a message about incidents, and notes that they were told.
    fn announce(
        &mut self,
        now: UnixSeconds,
        reason: MessageReason,
        about: Vec<IncidentKey>,
        urgency: Urgency,
        thread: Option<u64>,
        text: &LetterText,
    ) {
        let number = self.write(now, reason, about.clone(), urgency, thread, |_, _| text_of(text));
        for key in about {
            if let Some(incident) = self.incidents.get_mut(&key) {
                incident.tell(now, reason, number);
                self.changed.insert(RowKey::Incident(key));
            }
        }
    }

    /// Does a message about this incident go by that channel? Of a channel that is not trusted the others tell.
    fn goes_by(key: &IncidentKey, channel: &str) -> bool {
        key.subject != IncidentSubject::Channel(channel.to_owned())
    }

    fn has_recipient(&self, key: &IncidentKey) -> bool {
        self.channels.keys().any(|channel| Self::goes_by(key, channel))
    }

    /// Writes a message for each channel; gives the number of its thread.
    fn write(
        &mut self,
        now: UnixSeconds,
        reason: MessageReason,
        about: Vec<IncidentKey>,
        urgency: Urgency,
        thread: Option<u64>,
        text: impl Fn(&Watch, &str) -> LetterText,
    ) -> u64 {
        let first = self.host.next_message;
        let channels: Vec<String> = self.channels.keys().cloned().collect();
        for channel in channels {
            if about.iter().any(|key| !Self::goes_by(key, &channel)) {
                continue;
            }
            let LetterText { subject, body } = text(self, &channel);
            let id = |number: u64| format!("<scrubjay-{number}.{channel}@{}>", self.settings.host);
            let row = MessageRow {
                number: self.host.next_message,
                id: id(first),
                reply_to: thread.map(id),
                channel: channel.clone(),
                reason,
                about: about.clone(),
                urgency,
                subject,
                body,
                written: now,
                attempts: 0,
                next_attempt: now,
                is_under_way: false,
                may_be_repeated: false,
            };
            self.changed.insert(RowKey::Message(row.number));
            self.outbox.insert(row.number, row);
            self.host.next_message += 1;
        }
        self.host.next_message = self.host.next_message.max(first + 1);
        self.changed.insert(RowKey::Host);
        first
    }

    /// Writes a test for each channel, or a report, with a code for each.
    pub(crate) fn write_with_codes(&mut self, now: UnixSeconds, reason: MessageReason) {
        let names: Vec<String> = self.channels.keys().cloned().collect();
        let first = self.host.next_message;
        for (place, name) in names.iter().enumerate() {
            let code = channel::code(self.settings.secret, first + place as u64);
            if let Some(channel) = self.channels.get_mut(name) {
                channel.code = Some(code);
                self.changed.insert(RowKey::Channel(name.clone()));
            }
        }
        self.write(now, reason, Vec::new(), Urgency::Notice, None, |watch, name| {
            let code = watch.channels.get(name).and_then(|channel| channel.code.clone()).unwrap_or_default();
            match reason {
                MessageReason::Report => watch.report_letter(name, &code, now),
                _ => watch.test_letter(name, &code),
            }
        });
    }

    /// The report of the month, once, when its first day has come.
    pub(crate) fn report_when_due(&mut self, now: UnixSeconds) {
        let local = self.calendar.local(now);
        let month = local.day.month_number();
        if self.host.reported_month == 0 {
            self.host.reported_month = month; // the first month has no beginning
            self.changed.insert(RowKey::Host);
        }
        let is_time = local.second >= REPORT_HOUR * HOUR as u32;
        if month > self.host.reported_month && is_time && !self.channels.is_empty() {
            self.host.reported_month = month;
            self.write_with_codes(now, MessageReason::Report);
        }
        self.wake_at(after(now, HOUR));
    }

    /// Hands out what may be sent now, by each channel one at a time, the oldest first.
    pub(crate) fn send_due(&mut self, now: UnixSeconds) {
        let is_silent = |row: &&mut MessageRow| row.is_under_way && row.next_attempt <= now;
        let silent: Vec<u64> = self.outbox.values_mut().filter(is_silent).map(|row| row.number).collect();
        for number in silent {
            self.message_failed(now, number);
            self.outbox.entry(number).and_modify(|row| row.may_be_repeated = true); // who knows
        }
        let quiet = self.settings.quiet.filter(|quiet| quiet.holds(now, &*self.calendar));
        let mut busy: BTreeSet<String> =
            self.outbox.values().filter(|row| row.is_under_way).map(|row| row.channel.clone()).collect();
        let mut wake = UnixSeconds(u64::MAX);
        let mut sends = Vec::new();
        for row in self.outbox.values_mut() {
            let is_held = row.urgency == Urgency::Notice && row.reason != MessageReason::Test;
            // Quiet hours without an end hold nothing longer than a day.
            let is_held = is_held && elapsed(now, row.written) < DAY;
            if let Some(quiet) = quiet.filter(|_| is_held) {
                wake = wake.min(quiet.next_edge(now, &*self.calendar)).min(after(row.written, DAY));
            } else if row.next_attempt > now {
                wake = wake.min(row.next_attempt);
            } else if busy.insert(row.channel.clone()) {
                (row.is_under_way, row.next_attempt) = (true, after(now, ANSWER_MAX));
                wake = wake.min(row.next_attempt);
                self.changed.insert(RowKey::Message(row.number));
                sends.push(WatchOp::Send(Box::new(row.clone())));
            }
        }
        self.acts.extend(sends);
        self.wake_at(wake);
    }

    pub(crate) fn message_sent(&mut self, now: UnixSeconds, number: u64) {
        let Some(row) = self.outbox.remove(&number) else { return };
        self.dropped.insert(RowKey::Message(number));
        if let Some(channel) = self.channels.get_mut(&row.channel) {
            (channel.failing_since, channel.delivered) = (None, Some(now));
            self.changed.insert(RowKey::Channel(row.channel));
        }
    }

    pub(crate) fn message_failed(&mut self, now: UnixSeconds, number: u64) {
        let Some(row) = self.outbox.get_mut(&number) else { return };
        row.failed(now);
        self.changed.insert(RowKey::Message(number));
        if let Some(channel) = self.channels.get_mut(&row.channel)
            && channel.failing_since.is_none()
        {
            channel.failing_since = Some(now);
            self.changed.insert(RowKey::Channel(row.channel.clone()));
        }
    }

    /// The channels are these. What waits for one that is not there any more goes by those that came after it was written; those
    /// that were there before had it themselves.
    pub(crate) fn take_channels(&mut self, now: UnixSeconds, channels: &[AlertChannel]) {
        for AlertChannel { name, fingerprint } in channels {
            let is_same = self.channels.get(name).is_some_and(|channel| channel.fingerprint == *fingerprint);
            if !is_same {
                self.channels.insert(name.clone(), ChannelRow::new(name.clone(), *fingerprint, now));
                self.changed.insert(RowKey::Channel(name.clone()));
            }
        }
        let is_there = |name: &String| channels.iter().any(|channel| channel.name == *name);
        let removed: Vec<String> = self.channels.keys().filter(|name| !is_there(name)).cloned().collect();
        for name in &removed {
            self.channels.remove(name);
            self.dropped.insert(RowKey::Channel(name.clone()));
        }
        let orphans: Vec<u64> =
            self.outbox.values().filter(|row| !is_there(&row.channel)).map(|row| row.number).collect();
        for number in orphans {
            let Some(row) = self.outbox.remove(&number) else { continue };
            self.dropped.insert(RowKey::Message(number));
            if matches!(row.reason, MessageReason::Test | MessageReason::Report) {
                continue;
            }
            let heirs: Vec<String> = self
                .channels
                .values()
                .filter(|channel| channel.known_since >= row.written)
                .map(|channel| channel.name.clone())
                .collect();
            for channel in heirs {
                let (number, is_under_way, next_attempt) = (self.host.next_message, false, now);
                self.outbox.insert(number, MessageRow { number, channel, is_under_way, next_attempt, ..row.clone() });
                self.host.next_message += 1;
                self.changed.extend([RowKey::Message(number), RowKey::Host]);
            }
        }
    }
}

fn text_of(text: &LetterText) -> LetterText {
    LetterText { subject: text.subject.clone(), body: text.body.clone() }
}
