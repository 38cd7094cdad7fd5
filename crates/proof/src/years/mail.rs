//! What is true of messages and channels: what was written, what arrived, and when it had to.

use super::reading::PowerTruth;
use super::rules::{ClockTruth, length};
use scrubjay_core::units::UnixSeconds;
use scrubjay_sim::host::calendar::DaylightCalendar;
use scrubjay_sim::host::setup::EPOCH;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::hours::DailyHours;
use scrubjay_watch::incident::{IncidentKind, MessageReason, Urgency};
use scrubjay_watch::rows::MessageRow;
use std::collections::{BTreeMap, BTreeSet};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// Seconds within which all waiting messages arrive once a channel accepts again: attempts are at most four hours apart.
const ARRIVES: u64 = 5 * HOUR;
/// How long before its month a report may have been written, in seconds, by a clock that was ahead.
const EARLY: u64 = 8 * DAY;

/// A channel.
#[derive(Debug, Default)]
pub(super) struct ChannelTruth {
    pub known_since: u64,
    pub confirmed: Option<u64>,
    pub is_down: bool,
    /// When it last began to accept messages, or to refuse them.
    pub up_since: u64,
    /// When it last refused a message though it was up.
    bounced: u64,
    /// When the last report was written for it.
    reported: u64,
}

/// A message on its way.
#[derive(Debug)]
struct LetterTruth {
    channel: String,
    written: u64,
    /// By how many seconds clocks had jumped when it was written.
    jumped: u64,
    /// May quiet hours hold it, for a day at most?
    is_patient: bool,
}

/// All channels and messages.
#[derive(Debug, Default)]
pub(super) struct MailTruth {
    quiet: Option<DailyHours>,
    pub channels: BTreeMap<String, ChannelTruth>,
    /// Messages that were written and have not arrived, by number.
    missing: BTreeMap<u64, LetterTruth>,
    arrived: BTreeSet<(String, String)>,
}

/// Is a message about an incident of this kind, while that lasts, more than a notice?
fn is_urgent(kind: IncidentKind) -> bool {
    matches!(kind, IncidentKind::Degraded | IncidentKind::Stripes | IncidentKind::Missing)
}

/// May this message wait for the morning? Decided by its incidents' kinds; of a disk's health, by its own urgency.
fn is_patient(row: &MessageRow) -> bool {
    let is_of_now = !matches!(row.reason, MessageReason::Resolved | MessageReason::Report | MessageReason::Test);
    let is_urgent = is_of_now && row.about.iter().any(|key| is_urgent(key.kind));
    !is_urgent && row.urgency == Urgency::Notice && row.reason != MessageReason::Test
}

impl MailTruth {
    pub fn new(quiet: Option<DailyHours>) -> MailTruth {
        MailTruth { quiet, ..MailTruth::default() }
    }

    /// Takes a new list of channels.
    pub fn take(&mut self, at: u64, is_on: bool, names: &[String]) {
        self.channels.retain(|name, _| names.contains(name));
        for name in names {
            let known_since = if is_on { at } else { u64::MAX };
            let new = ChannelTruth { known_since, ..ChannelTruth::default() };
            self.channels.entry(name.clone()).or_insert(new);
        }
    }

    /// Notes a start of the watch, which then learns of channels that came while it was off.
    pub fn begin(&mut self, at: u64) {
        self.channels.values_mut().for_each(|channel| channel.known_since = channel.known_since.min(at));
    }

    pub fn accepts(&mut self, at: u64, name: &str, is_up: bool) {
        if let Some(channel) = self.channels.get_mut(name) {
            (channel.is_down, channel.up_since) = (!is_up, at);
        }
    }

    pub fn bounced(&mut self, at: u64, name: &str) {
        if let Some(channel) = self.channels.get_mut(name) {
            channel.bounced = at;
        }
    }

    pub fn written(&mut self, at: u64, jumped: u64, row: &MessageRow) {
        let letter = LetterTruth { channel: row.channel.clone(), written: at, jumped, is_patient: is_patient(row) };
        self.missing.insert(row.number, letter);
        if let Some(channel) = self.channels.get_mut(&row.channel).filter(|_| row.reason == MessageReason::Report) {
            channel.reported = at;
        }
    }

    /// Takes a message that arrived; returns what is wrong with that.
    pub fn delivered(
        &mut self,
        at: u64,
        (row, subject): (&MessageRow, &str),
        jumped: u64,
        clock: &ClockTruth,
        power: &PowerTruth,
    ) -> Vec<String> {
        let mut faults = Vec::new();
        if !self.arrived.insert((row.channel.clone(), row.id.clone())) && !row.may_be_repeated {
            faults.push(format!("{} arrived twice by {}, and was not marked", row.id, row.channel));
        }
        let Some(letter) = self.missing.get(&row.number) else { return faults };
        let has_waited = at - letter.written + jumped - letter.jumped >= DAY;
        // One that was on its way when the machine was suspended arrives as soon as it is awake.
        let was_asleep = power.on_since.is_some_and(|since| letter.written < since && at < since + 60);
        if let Some(quiet) = self.quiet
            && letter.is_patient
            && !has_waited
            && !was_asleep
            && at > clock.jumped_at + 60
            && clock.is_inside(at, quiet, 60)
        {
            faults.push(format!("a notice arrived in quiet hours: {subject}"));
        }
        faults.extend(self.late(at, row.number, jumped, power));
        self.missing.remove(&row.number);
        faults
    }

    /// Describes a message that should have arrived by now; `None`: it is not late.
    fn late(&self, at: u64, number: u64, jumped: u64, power: &PowerTruth) -> Option<String> {
        let letter = self.missing.get(&number)?;
        let channel = self.channels.get(&letter.channel).filter(|channel| !channel.is_down)?;
        let held = if letter.is_patient && self.quiet.is_some() { DAY } else { 0 };
        let due = (letter.written + held).max(channel.up_since).max(channel.bounced) + ARRIVES;
        let is_late = power.after_stretch(due, HOUR).saturating_add(jumped - letter.jumped) <= at;
        is_late
            .then(|| format!("message {number} by {} waits for {} hours", letter.channel, (at - letter.written) / HOUR))
    }

    /// Describes all messages that should have arrived by now.
    pub fn all_late(&self, at: u64, jumped: u64, power: &PowerTruth) -> Vec<String> {
        self.missing.keys().filter_map(|&number| self.late(at, number, jumped, power)).collect()
    }

    /// Messages that neither arrived nor wait (are in `waiting`). A channel that was removed takes its messages along.
    pub fn lost(&self, waiting: &[u64]) -> Vec<u64> {
        let is_lost = |(number, letter): &(&u64, &LetterTruth)| {
            !waiting.contains(number) && self.channels.contains_key(&letter.channel)
        };
        self.missing.iter().filter(is_lost).map(|(number, _)| *number).collect()
    }

    /// May the watch believe that this channel refuses messages? One that accepts again, or that refused a single
    /// message (one in twenty is), is tried again four hours later, and not in quiet hours.
    pub fn may_seem_down(&self, at: u64, channel: &ChannelTruth) -> bool {
        let held = self.quiet.map_or(0, length);
        channel.is_down || at - channel.up_since.max(channel.bounced) < ARRIVES + held
    }

    /// Since when, at the latest, a channel that is down has had a message to refuse.
    pub fn failing_since(&self, name: &str) -> Option<u64> {
        let channel = self.channels.get(name).filter(|channel| channel.is_down)?;
        let letters = self.missing.values().filter(|letter| letter.channel == name);
        let held = if self.quiet.is_some() { DAY } else { 0 };
        let tried = letters.map(|letter| letter.written + if letter.is_patient { held } else { 0 });
        tried.min().map(|tried| tried.max(channel.up_since))
    }

    /// Describes the channels without a report in the month that the clock shows: from its second day on, if the watch
    /// was on this morning.
    pub fn unreported(&self, at: u64, clock: &ClockTruth, power: &PowerTruth) -> Vec<String> {
        let shown = DaylightCalendar.local(UnixSeconds(clock.shows(at)));
        let (_, _, of_month) = shown.day.civil();
        let is_time = of_month > 1 && (10 * HOUR..20 * HOUR).contains(&u64::from(shown.second));
        let is_long_ago = |since: u64| since + 4 * HOUR <= at;
        let is_ready = is_long_ago(clock.jumped_at) && power.on_since.is_some_and(is_long_ago);
        let begun = at - u64::from(of_month) * DAY;
        if !is_time || !is_ready || begun < EPOCH + DAY {
            return Vec::new();
        }
        let is_missed =
            |channel: &ChannelTruth| channel.known_since < begun - 2 * DAY && channel.reported + EARLY < begun;
        let missed = self.channels.iter().filter(|(_, channel)| is_missed(channel));
        missed.map(|(name, _)| format!("{name} got no report this month")).collect()
    }
}
