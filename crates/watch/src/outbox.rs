//! Messages on their way: when each is sent, how its delivery ends, and what changes of channels do to it.

use crate::calendar::{DAY, HOUR, MINUTE, after, elapsed};
use crate::channel::ChannelRow;
use crate::events::{WatchBug, WatchOp};
use crate::incident::{IncidentKey, MessageReason, Urgency};
use crate::letter::LetterContent;
use crate::rows::{MessageRow, RowKey};
use crate::settings::AlertChannel;
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeSet;

/// Seconds after which an unanswered message counts as not accepted: mail servers take no longer (RFC 5321, 4.5.3.2:
/// ten minutes for the end of the data).
const ANSWER_MAX: u64 = 15 * MINUTE;
/// Seconds for which a message that was tried must wait until the lights show it.
pub(crate) const WAITS_LONG: u64 = 4 * HOUR;

impl Watch {
    /// Sends messages that are due, one at a time by each channel, the oldest first.
    pub(crate) fn send_due(&mut self, now: UnixSeconds) {
        let is_timed_out = |row: &&mut MessageRow| row.is_under_way && row.next_attempt <= now;
        let timed_out: Vec<u64> =
            self.outgoing.outbox.values_mut().filter(is_timed_out).map(|row| row.number).collect();
        for number in timed_out {
            self.message_failed(now, number);
            self.outgoing.outbox.entry(number).and_modify(|row| row.may_be_repeated = true); // it may have arrived
        }
        let quiet = self.settings.quiet.filter(|_| !self.is_planted(WatchBug::IgnoreQuiet));
        let quiet = quiet.filter(|quiet| quiet.holds(now, &*self.calendar));
        let mut busy: BTreeSet<String> =
            self.outgoing.outbox.values().filter(|row| row.is_under_way).map(|row| row.channel.clone()).collect();
        let mut wake = UnixSeconds(u64::MAX);
        let mut sends = Vec::new();
        for row in self.outgoing.outbox.values_mut().filter(|row| self.outgoing.channels.contains_key(&row.channel)) {
            let is_held = row.urgency == Urgency::Notice && row.reason != MessageReason::Test;
            // If quiet hours never end, a message is held for a day at most.
            let is_held = is_held && elapsed(now, row.written) < DAY;
            if let Some(quiet) = quiet.filter(|_| is_held) {
                wake = wake.min(quiet.next_edge(now, &*self.calendar)).min(after(row.written, DAY));
            } else if row.next_attempt > now {
                wake = wake.min(row.next_attempt);
            } else if busy.insert(row.channel.clone()) {
                (row.is_under_way, row.next_attempt) =
                    (true, after(now, ANSWER_MAX.saturating_mul(self.settings.pace)));
                wake = wake.min(row.next_attempt);
                self.pending.change(RowKey::Message(row.number));
                sends.push(WatchOp::Send(Box::new(row.clone())));
            }
        }
        self.pending.after_rows(sends);
        self.timing.wake_at(wake);
    }

    pub(crate) fn message_sent(&mut self, now: UnixSeconds, number: u64) {
        let Some(row) = self.outgoing.outbox.remove(&number) else { return };
        self.pending.drop_row(RowKey::Message(number));
        if let Some(channel) = self.outgoing.channels.get_mut(&row.channel) {
            (channel.failing_since, channel.delivered) = (None, Some(now));
            self.pending.change(RowKey::Channel(row.channel.clone()));
        }
        // The channel accepts again: its waiting messages go now, in order.
        for waiting in
            self.outgoing.outbox.values_mut().filter(|waiting| waiting.channel == row.channel && waiting.attempts > 0)
        {
            if !waiting.is_under_way && waiting.next_attempt > now {
                waiting.next_attempt = now;
                self.pending.change(RowKey::Message(waiting.number));
            }
        }
    }

    /// Brings a channel's oldest waiting message forward because a new one was written, so that the order is kept.
    pub(crate) fn try_oldest_of(&mut self, now: UnixSeconds, channel: &str) {
        let oldest = self.outgoing.outbox.values_mut().find(|row| row.channel == channel && row.attempts > 0);
        if let Some(row) = oldest.filter(|row| !row.is_under_way && row.next_attempt > now) {
            row.next_attempt = now;
            self.pending.change(RowKey::Message(row.number));
        }
    }

    pub(crate) fn message_failed(&mut self, now: UnixSeconds, number: u64) {
        let Some(row) = self.outgoing.outbox.get_mut(&number) else { return };
        row.failed(now);
        self.pending.change(RowKey::Message(number));
        if let Some(channel) = self.outgoing.channels.get_mut(&row.channel)
            && channel.failing_since.is_none()
        {
            channel.failing_since = Some(now);
            self.pending.change(RowKey::Channel(row.channel.clone()));
        }
    }

    /// Notes whom a channel's other side refuses for good.
    pub(crate) fn recipients_refused(&mut self, channel: &str, mut refused: Vec<(String, String)>) {
        refused.sort();
        if let Some(row) = self.outgoing.channels.get_mut(channel).filter(|row| row.refused != refused) {
            row.refused = refused;
            self.pending.change(RowKey::Channel(channel.to_owned()));
        }
    }

    /// Replaces the channels by these.
    pub(crate) fn take_channels(&mut self, now: UnixSeconds, channels: &[AlertChannel]) {
        let is_same = |row: &ChannelRow| {
            channels.iter().any(|channel| channel.name == row.name && channel.fingerprint == row.fingerprint)
        };
        let removed: Vec<String> =
            self.outgoing.channels.values().filter(|row| !is_same(row)).map(|row| row.name.clone()).collect();
        for name in removed {
            self.outgoing.channels.remove(&name);
            self.pending.drop_row(RowKey::Channel(name));
        }
        for AlertChannel { name, fingerprint, proven_elsewhere } in channels {
            if !self.outgoing.channels.contains_key(name) {
                self.outgoing.channels.insert(name.clone(), ChannelRow::new(name.clone(), *fingerprint, now));
                self.pending.change(RowKey::Channel(name.clone()));
            }
            // A date to come proves nothing.
            let Some(on) = proven_elsewhere.filter(|on| *on <= now) else { continue };
            if let Some(row) =
                self.outgoing.channels.get_mut(name).filter(|row| row.proven.is_none_or(|proven| proven < on))
            {
                row.proven = Some(on);
                self.pending.change(RowKey::Channel(name.clone()));
            }
        }
        // Without any channel all messages wait for one.
        if !self.outgoing.channels.is_empty() {
            self.pass_on_messages(now);
        }
    }

    /// Passes on messages for channels that are new or gone: open incidents will be reported to new channels in their
    /// present state, so those messages are dropped; a message that an incident is over is passed on, once.
    fn pass_on_messages(&mut self, now: UnixSeconds) {
        let is_new = |channel: Option<&ChannelRow>| channel.is_none_or(|channel| !channel.is_caught_up);
        let waiting: Vec<u64> = self
            .outgoing
            .outbox
            .values()
            .filter(|row| is_new(self.outgoing.channels.get(&row.channel)))
            .map(|row| row.number)
            .collect();
        let mut passed_on: Vec<(String, MessageReason, Vec<IncidentKey>, UnixSeconds)> = Vec::new();
        for number in waiting {
            let Some(row) = self.outgoing.outbox.get(&number).cloned() else { continue };
            let is_open = |key: &IncidentKey| {
                self.book.incidents.get(key).is_some_and(|incident| incident.last_message.is_some())
            };
            let is_reported_again = row.reason != MessageReason::Resolved && row.about.iter().any(is_open);
            if !is_reported_again && self.outgoing.channels.contains_key(&row.channel) {
                continue; // the channel still exists, whatever its settings are now
            }
            self.outgoing.outbox.remove(&number);
            self.pending.drop_row(RowKey::Message(number));
            if row.reason != MessageReason::Resolved {
                continue; // if the incident is over, its last message reports that
            }
            let new_channels = self.outgoing.channels.values().filter(|channel| channel.known_since >= row.written);
            for channel in new_channels.map(|channel| channel.name.clone()).collect::<Vec<_>>() {
                let copy = (channel.clone(), row.reason, row.about.clone(), row.written);
                if passed_on.contains(&copy) {
                    continue;
                }
                passed_on.push(copy);
                let (number, is_under_way, next_attempt) = (self.host.next_message, false, now);
                let letter = Some(Box::new(self.letter(LetterContent::CopyOf(row.number))));
                let copy = MessageRow { number, channel, letter, is_under_way, next_attempt, ..row.clone() };
                self.outgoing.outbox.insert(number, copy);
                self.host.next_message += 1;
                self.pending.change_all([RowKey::Message(number), RowKey::Host]);
            }
        }
    }
}
