//! Durable state: rows, each with a key. A machine that was killed is rebuilt from them.

use crate::calendar::{HOUR, MINUTE, after};
use crate::channel::ChannelRow;
use crate::counters::{CounterHistory, CounterKind};
use crate::facts::{ArrayFacts, DiskFacts, DiskKey, SubjectKey};
use crate::forecast::{ForecastErrors, IdleWeek, PassForecast};
use crate::health::DriveReport;
use crate::hold::SessionFault;
use crate::incident::{CATCH_UP, IncidentKey, IncidentRow, MessageReason, PastIncident, Urgency};
use crate::letter::Letter;
use crate::links::LinkResets;
use crate::loss::HistoryLoss;
use crate::passes::PassHistory;
use crate::slowness::Slowness;
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// The state of the machine as a whole.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HostRow {
    /// The latest trusted time.
    pub latest: UnixSeconds,
    /// The number of the next message.
    pub next_message: u64,
    /// When a person's pause ends; 0: there is none.
    pub paused_until: UnixSeconds,
    /// The length of the pause, in seconds.
    pub paused_for: u64,
    /// The month of the last report ([`crate::calendar::LocalDay::month_number`]); 0: there was none.
    pub reported_month: i64,
    /// When the last daily check was made.
    pub checked: UnixSeconds,
    /// The errors of forecasts.
    pub errors: ForecastErrors,
    /// The last loss of the history that nobody has taken note of.
    pub history_lost: Option<HistoryLoss>,
}

/// Sessions in sequence that could not begin, or made no progress.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SessionRefusal {
    /// When the first one failed.
    pub since: UnixSeconds,
    /// When the last one failed.
    pub last: UnixSeconds,
    /// Why the last one failed.
    pub why: SessionFault,
}

/// The state of reading a disk, or an array by its own checker.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ReadingRow {
    /// When each part was last read.
    pub passes: PassHistory,
    /// Sessions in sequence that could read nothing more.
    pub failed_sessions: u32,
    /// Sessions that could not begin or made no progress; `None`: the last one did.
    pub refused: Option<SessionRefusal>,
    /// The forecast when the pass under way began, and its length in seconds.
    pub forecast: Option<(PassForecast, u64)>,
}

/// The state of a disk.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DiskRow {
    /// Its facts when it was last seen.
    pub facts: DiskFacts,
    /// Its counters.
    pub counters: BTreeMap<CounterKind, CounterHistory>,
    /// The drive's latest report.
    pub word: DriveReport,
    /// When SMART was last read; 0: never.
    pub smart_read: UnixSeconds,
    /// Since when SMART could not be read, of a disk that does not sleep; 0: the last reading succeeded.
    pub unknown_since: UnixSeconds,
    /// The mean time of a read in its last pass, in nanoseconds.
    pub service_last: u64,
    /// How slow it is.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Slowness::is_none"))]
    pub slowness: Slowness,
    /// How often the kernel has reset the way to it.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "LinkResets::is_none"))]
    pub link_resets: LinkResets,
}

/// A message on its way by one channel.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MessageRow {
    /// Its number: unique, rising.
    pub number: u64,
    /// The name of the channel.
    pub channel: String,
    /// Its Message-ID, the same at every attempt.
    pub id: String,
    /// The Message-ID of the first message of its thread; `None`: this is the first.
    pub reply_to: Option<String>,
    /// Why it is sent.
    pub reason: MessageReason,
    /// The incidents that it is about.
    pub about: Vec<IncidentKey>,
    /// The highest urgency of these.
    pub urgency: Urgency,
    /// What it says, in the operation that keeps it for the first time; `None`: the pump has been given it, and has its words.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub letter: Option<Box<Letter>>,
    /// When it was written.
    pub written: UnixSeconds,
    /// Attempts that failed.
    pub attempts: u32,
    /// No attempt before this time; while it is under way: it has failed if there is no answer by then.
    pub next_attempt: UnixSeconds,
    /// Was it handed to the channel, without an answer yet?
    pub is_under_way: bool,
    /// Is it not known whether it arrived, as the machine was killed or nothing answered in time? Then it may arrive twice.
    pub may_be_repeated: bool,
}

/// The longest pause between attempts, in seconds: after a failure the next attempt is a minute later, then two, four,
/// and so on.
const RETRY_MAX: u64 = 4 * HOUR;

impl MessageRow {
    /// Records that an attempt failed.
    pub fn failed(&mut self, now: UnixSeconds) {
        self.is_under_way = false;
        self.next_attempt = after(now, RETRY_MAX.min(60 << self.attempts.min(10)));
        self.attempts = self.attempts.saturating_add(1);
    }
}

/// A row.
#[derive(Clone, Debug, PartialEq)]
pub enum WatchRow {
    /// The state of the machine.
    Host(HostRow),
    /// The state of a disk.
    Disk(Box<DiskRow>),
    /// The state of reading a disk or an array.
    Reading(SubjectKey, Box<ReadingRow>),
    /// The idleness of a disk or an array.
    Idle(SubjectKey, Box<IdleWeek>),
    /// An array as it was when last seen.
    Array(ArrayFacts),
    /// An open incident.
    Incident(Box<IncidentRow>),
    /// An incident that is over.
    Past(Box<PastIncident>),
    /// A message that is not accepted yet.
    Message(Box<MessageRow>),
    /// A channel.
    Channel(ChannelRow),
}

/// The key of a row.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum RowKey {
    /// The machine's row.
    Host,
    /// A disk's row.
    Disk(DiskKey),
    /// The row of reading a disk or an array.
    Reading(SubjectKey),
    /// The idleness of a disk or an array.
    Idle(SubjectKey),
    /// An array.
    Array(String),
    /// An incident.
    Incident(IncidentKey),
    /// An incident that is over.
    Past(IncidentKey),
    /// A message.
    Message(u64),
    /// A channel.
    Channel(String),
}

impl WatchRow {
    /// Its key: a row replaces the one with the same key.
    pub fn key(&self) -> RowKey {
        match self {
            WatchRow::Host(_) => RowKey::Host,
            WatchRow::Disk(row) => RowKey::Disk(row.facts.key.clone()),
            WatchRow::Reading(key, _) => RowKey::Reading(key.clone()),
            WatchRow::Idle(key, _) => RowKey::Idle(key.clone()),
            WatchRow::Array(facts) => RowKey::Array(facts.key.clone()),
            WatchRow::Incident(row) => RowKey::Incident(row.key.clone()),
            WatchRow::Past(row) => RowKey::Past(row.key.clone()),
            WatchRow::Message(row) => RowKey::Message(row.number),
            WatchRow::Channel(row) => RowKey::Channel(row.name.clone()),
        }
    }

    /// Moves dates later than `now` to `now`, because the clock was set back.
    pub fn clamp(&mut self, now: UnixSeconds) {
        let clamp_date = |date: &mut UnixSeconds| *date = (*date).min(now);
        match self {
            WatchRow::Host(row) => {
                clamp_date(&mut row.latest);
                clamp_date(&mut row.checked);
                row.paused_until = row.paused_until.min(after(now, row.paused_for));
            }
            WatchRow::Disk(row) => {
                clamp_date(&mut row.smart_read);
                clamp_date(&mut row.unknown_since);
                for history in row.counters.values_mut() {
                    clamp_date(&mut history.since);
                    clamp_date(&mut history.grew);
                    clamp_date(&mut history.zero_since);
                }
            }
            WatchRow::Reading(_, row) => {
                row.passes.clamp(now);
                row.refused.iter_mut().flat_map(|refused| [&mut refused.since, &mut refused.last]).for_each(clamp_date);
                row.forecast = None; // it was computed from dates that were wrong
            }
            WatchRow::Idle(..) | WatchRow::Array(_) => {}
            WatchRow::Incident(row) => {
                clamp_date(&mut row.opened);
                let dates = [&mut row.last_message, &mut row.less_since, &mut row.away_since];
                dates.into_iter().flatten().chain(&mut row.written).for_each(clamp_date);
                row.held_until = row.held_until.min(after(now, CATCH_UP));
            }
            WatchRow::Past(row) => {
                clamp_date(&mut row.ended);
                row.written.iter_mut().for_each(clamp_date);
            }
            WatchRow::Message(row) => {
                clamp_date(&mut row.written);
                row.next_attempt = row.next_attempt.min(after(now, RETRY_MAX));
            }
            WatchRow::Channel(row) => {
                clamp_date(&mut row.known_since);
                [&mut row.proven, &mut row.failing_since, &mut row.delivered]
                    .into_iter()
                    .flatten()
                    .for_each(clamp_date);
            }
        }
    }
}

/// A clock that goes back by less, in seconds, is being corrected: no date is changed.
pub const CLOCK_SLACK: u64 = 5 * MINUTE;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_between_attempts_grow_to_four_hours_and_attempts_never_end() {
        let mut row = MessageRow {
            number: 1,
            channel: "email".into(),
            id: "<1>".into(),
            reply_to: None,
            reason: MessageReason::Test,
            about: Vec::new(),
            urgency: Urgency::Notice,
            letter: None,
            written: UnixSeconds(0),
            attempts: 0,
            next_attempt: UnixSeconds(0),
            is_under_way: true,
            may_be_repeated: false,
        };
        let pauses: Vec<u64> = (0..10)
            .map(|_| {
                row.failed(UnixSeconds(1000));
                (row.next_attempt.0 - 1000) / 60
            })
            .collect();
        assert_eq!(pauses, [1, 2, 4, 8, 16, 32, 64, 128, 240, 240]);
        assert!(!row.is_under_way);
    }
}
