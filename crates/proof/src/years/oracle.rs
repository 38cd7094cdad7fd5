//! The oracle of years: it observes what happens to a host and what the watch does, and reports broken promises.

use super::array::ArrayTruth;
use super::mail::MailTruth;
use super::reading::{DiskTruth, PowerTruth};
use super::rules::{ClockTruth, PauseTruth};
use super::thread::{MessageCause, ThreadTruth};
use scrubjay_sim::host::fact::{HostFact, HostObserver};
use scrubjay_sim::host::run::HostSummary;
use scrubjay_sim::host::setup::{EPOCH, HostSetup};
use scrubjay_watch::hours::DailyHours;
use scrubjay_watch::incident::{IncidentKey, IncidentKind, IncidentSubject, MessageReason};
use scrubjay_watch::rows::{MessageRow, WatchRow};
use scrubjay_watch::status::WatchStatus;
use std::collections::{BTreeMap, BTreeSet};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// A warning comes this many seconds before the date.
const WARNING: u64 = 7 * DAY;
/// Seconds within which a heartbeat comes after it is due, or after the machine is switched on: a clock that began in
/// 1970 is not believed at first.
const BEATS_WITHIN: u64 = 4 * HOUR;
/// Faults reported for one seed, at most.
const FAULTS_MAX: usize = 20;

/// The result of a year.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct YearOutcome {
    /// Broken promises, in words; the first 20.
    pub faults: Vec<String>,
    /// Forecasts whose pass ended.
    pub forecasts: u64,
    /// Forecasts that held.
    pub held: u64,
    /// Passes that ended.
    pub passes: u64,
    /// The host's own summary.
    pub summary: HostSummary,
}

/// Knows the truth about a host, and judges the watch by it. Times are seconds since 1970, by a true clock.
#[derive(Debug)]
pub struct YearOracle {
    pub(super) every: u64,
    hours: Option<DailyHours>,
    controller_max: usize,
    pub(super) disks: Vec<DiskTruth>,
    pub(super) arrays: BTreeMap<String, ArrayTruth>,
    pub(super) mail: MailTruth,
    pub(super) power: PowerTruth,
    clock: ClockTruth,
    pause: Option<PauseTruth>,
    /// When the history was lost, until a person takes note.
    pub(super) history_lost: Option<u64>,
    /// The channels of which a recipient is refused, and since when.
    pub(super) refused: BTreeMap<String, u64>,
    /// The sum of all jumps of the clock, in seconds, forwards and backwards alike.
    pub(super) jumped: u64,
    threads: BTreeMap<(String, IncidentKey), ThreadTruth>,
    /// Incidents that the watch takes to be away for a while.
    away: BTreeSet<IncidentKey>,
    /// When the watch last reported that its daily check went well, and the jumps by then.
    beat: (u64, u64),
    outcome: YearOutcome,
}

impl YearOracle {
    /// The oracle of a host as it is when its year begins.
    pub fn new(setup: &HostSetup) -> YearOracle {
        let settings = &setup.settings;
        YearOracle {
            every: settings.every,
            hours: settings.between,
            controller_max: settings.controller_max,
            disks: Vec::new(),
            arrays: setup.arrays.iter().map(|array| (array.key.clone(), ArrayTruth::new(array))).collect(),
            mail: MailTruth::new(settings.quiet),
            power: PowerTruth::default(),
            clock: ClockTruth::default(),
            pause: None,
            history_lost: None,
            refused: BTreeMap::new(),
            jumped: 0,
            threads: BTreeMap::new(),
            away: BTreeSet::new(),
            beat: (EPOCH, 0),
            outcome: YearOutcome::default(),
        }
    }

    /// The oracle's result.
    pub fn outcome(self, summary: HostSummary) -> YearOutcome {
        YearOutcome { summary, ..self.outcome }
    }

    pub(super) fn fault(&mut self, at: u64, text: String) {
        if self.outcome.faults.len() < FAULTS_MAX {
            self.outcome.faults.push(format!("day {:.2}: {text}", (at - EPOCH) as f64 / DAY as f64));
        }
    }

    /// Judges the age of a point of a disk, read at `last` and at `at` (or not yet): was it in time, or was there a warning?
    fn judge_age(&mut self, disk: usize, last: u64, at: u64) {
        let due = last + self.every + self.jumped;
        if at <= due {
            return;
        }
        let warn_by = self.power.after_stretch(due - WARNING - DAY, HOUR).max(due - WARNING);
        if self.is_held(warn_by, disk) {
            return;
        }
        let truth = &self.disks[disk];
        if truth.warned.is_none_or(|warned| warned > warn_by) && at > warn_by {
            let (key, warned) = (truth.key.clone(), truth.warned.map(|warned| at.saturating_sub(warned) / DAY));
            let age = (at - last) / DAY;
            self.fault(at, format!("a sector of {key} was not read for {age} days; said so {warned:?} days before"));
        }
    }

    /// Notes which incidents the watch takes to be away: it sends no reminders of them.
    fn on_kept(&mut self, at: u64, rows: &[WatchRow]) {
        for row in rows {
            let WatchRow::Incident(row) = row else { continue };
            let changes = match row.away_since {
                Some(_) => self.away.insert(row.key.clone()),
                None => self.away.remove(&row.key),
            };
            if changes && self.may_end_unseen(&row.key) {
                let threads = self.threads.iter_mut().filter(|((_, key), _)| *key == row.key);
                threads.for_each(|(_, thread)| thread.untrue = at);
            }
        }
    }

    fn on_written(&mut self, at: u64, row: &MessageRow, subject: &str) {
        self.mail.written(at, self.jumped, row);
        let cause = match row.reason {
            MessageReason::Opened => MessageCause::Opened,
            MessageReason::Grown => MessageCause::Grown,
            MessageReason::Reminder(number) => MessageCause::Reminder(number),
            MessageReason::Resolved => MessageCause::Resolved,
            MessageReason::Report | MessageReason::Test => return,
        };
        for key in &row.about {
            // A new channel receives open incidents, and their reminders together with the other channels from then on.
            let other_thread = self.threads.iter().find(|((_, known), thread)| known == key && thread.is_open);
            let other_thread = other_thread.map(|(_, thread)| thread.clone()).filter(|_| cause == MessageCause::Opened);
            let thread = self.threads.entry((row.channel.clone(), key.clone())).or_default();
            let is_forgotten = matches!(&key.subject, IncidentSubject::Disk(disk)
                if self.disks.iter().any(|known| known.key == disk.0 && known.is_forgotten));
            if let Err(error) = thread.next(cause, at, self.jumped, is_forgotten) {
                self.fault(at, format!("{key:?} by {}: {error}", row.channel));
            } else if let Some(other_thread) = other_thread {
                self.threads.insert((row.channel.clone(), key.clone()), other_thread);
            }
            if matches!(cause, MessageCause::Opened | MessageCause::Reminder(_)) && self.is_long_held(at, key) {
                self.fault(at, format!("{key:?} is told beside its cause: {subject}"));
            }
            // A new channel is told of what is away, and may be back at any time.
            let is_away = cause == MessageCause::Opened && self.away.contains(key);
            if cause != MessageCause::Resolved && !is_away && !self.has_cause(at, key) {
                self.fault(at, format!("{key:?} without a cause: {subject}"));
            }
            if let (IncidentKind::Unread, IncidentSubject::Disk(disk)) = (key.kind, &key.subject)
                && let Some(disk) = self.disks.iter_mut().find(|known| known.key == disk.0)
            {
                disk.warned = if cause == MessageCause::Resolved { None } else { Some(disk.warned.unwrap_or(at)) };
            }
        }
    }

    fn on_delivered(&mut self, at: u64, row: &MessageRow, subject: &str) {
        let faults = self.mail.delivered(at, (row, subject), self.jumped, &self.clock, &self.power);
        faults.into_iter().for_each(|text| self.fault(at, text));
    }

    /// Notes that the watch was killed. A heartbeat that was due just then comes a day later.
    fn on_killed(&mut self, at: u64) {
        let (beat, jumped) = self.beat;
        let jumps = self.jumped - jumped;
        let due = self.power.on_since.map_or(beat + DAY, |on| on.max(beat + DAY));
        if (due.saturating_sub(jumps)..=due + jumps + BEATS_WITHIN).contains(&at) {
            self.beat = (at, self.jumped);
        }
    }

    /// Every channel must know of this incident, if it has lasted for more than a day.
    fn must_be_reported(&mut self, at: u64, since: Option<u64>, subject: IncidentSubject, kind: IncidentKind) {
        self.must_be_reported_since(at, since, 0, subject, kind);
    }

    /// Every channel must know of this incident, if it has lasted for more than a day, by a message since `news` that
    /// it opened or grew.
    fn must_be_reported_since(
        &mut self,
        at: u64,
        since: Option<u64>,
        news: u64,
        subject: IncidentSubject,
        kind: IncidentKind,
    ) {
        let is_due =
            |&since: &u64| self.power.after_stretch(since.saturating_add(DAY), HOUR).saturating_add(self.jumped) <= at;
        let Some(since) = since.filter(is_due) else { return };
        let key = IncidentKey { subject, kind };
        let channels: Vec<String> = self.mail.channels.keys().cloned().collect();
        // The other channels report a channel that is not trusted; of one that is, its other recipients are told, too.
        let tells = |name: &String| {
            key.kind == IncidentKind::Recipients || key.subject != IncidentSubject::Channel(name.clone())
        };
        for channel in channels.into_iter().filter(tells) {
            let thread = self.threads.get(&(channel.clone(), key.clone())).filter(|thread| thread.is_open);
            let days = (at - since) / DAY;
            match thread {
                None => self.fault(at, format!("{key:?}, so for {days} days, was not told by {channel}")),
                Some(thread) if thread.news < news => {
                    self.fault(at, format!("{key:?}, graver for {days} days, was not told by {channel}"));
                }
                Some(_) => {}
            }
        }
    }

    /// Judges the watch at noon, while it runs.
    fn on_noon(&mut self, at: u64, status: &WatchStatus) {
        self.on_status(at, status);
        let (beat, jumped) = self.beat;
        let is_late = |due: u64| {
            let due = self.power.after_stretch(due + 2 * HOUR, HOUR);
            due.saturating_add(self.jumped - jumped) <= at
        };
        if is_late(beat + DAY) {
            self.fault(at, format!("no heartbeat for {} hours", (at - beat) / HOUR));
        }
        let keys: Vec<String> = self.arrays.keys().cloned().collect();
        for key in keys {
            let ArrayTruth { graver_since, stripes_since, .. } = self.arrays[&key];
            let subject = || IncidentSubject::Array(key.clone());
            self.must_be_reported_since(at, graver_since, graver_since.unwrap_or(0), subject(), IncidentKind::Degraded);
            self.must_be_reported(at, stripes_since, subject(), IncidentKind::Stripes);
            let unscrubbed = self.arrays[&key].unscrubbed_since(self.every);
            self.must_be_reported(at, unscrubbed, subject(), IncidentKind::Unread);
        }
        for disk in 0..self.disks.len() {
            let DiskTruth { key, lasting, is_forgotten, accepted, .. } = self.disks[disk].clone();
            let subject = IncidentSubject::Disk(scrubjay_watch::facts::DiskKey(key));
            // A person who accepts knows everything that is true at that time.
            if let Some(since) = lasting.filter(|&since| !is_forgotten && accepted < since) {
                self.must_be_reported_since(at, Some(since), since, subject, IncidentKind::Health);
            }
        }
        self.must_be_reported(at, self.history_lost, IncidentSubject::Watch, IncidentKind::History);
        for (name, since) in self.refused.clone() {
            self.must_be_reported(at, Some(since), IncidentSubject::Channel(name), IncidentKind::Recipients);
        }
        let names: Vec<String> = self.mail.channels.keys().cloned().collect();
        for name in names {
            let channel = &self.mail.channels[&name];
            let unproven = channel.confirmed.map_or(channel.known_since, |confirmed| confirmed + 90 * DAY);
            let failing = self.mail.failing_since(&name);
            let subject = || IncidentSubject::Channel(name.clone());
            // Both are borne for a day.
            self.must_be_reported(at, Some(unproven.saturating_add(DAY)), subject(), IncidentKind::Unproven);
            self.must_be_reported(at, failing.map(|since| since + DAY), subject(), IncidentKind::Undelivered);
        }
        let mut faults = self.mail.all_late(at, self.jumped, &self.power);
        faults.extend(self.mail.unreported(at, &self.clock, &self.power));
        faults.into_iter().for_each(|text| self.fault(at, text));
        if self.power.on_since.is_some_and(|on| on + 4 * HOUR <= at) {
            self.judge_lights(at, status);
        }
    }

    fn on_status(&mut self, at: u64, status: &WatchStatus) {
        self.cover(at);
        for disk in 0..self.disks.len() {
            let DiskTruth { key, is_in, since, lasting, is_forgotten, .. } = self.disks[disk].clone();
            if is_forgotten {
                continue;
            }
            let subject = || IncidentSubject::Disk(scrubjay_watch::facts::DiskKey(key.clone()));
            // An array that lacks it says so for it.
            let is_covered = self.is_covered(at, disk);
            self.must_be_reported(at, (!is_in && !is_covered).then_some(since), subject(), IncidentKind::Missing);
            self.must_be_reported(at, lasting, subject(), IncidentKind::Health);
        }
        let degraded: Vec<_> = self.arrays.iter().map(|(key, array)| (key.clone(), array.degraded_since)).collect();
        for (key, since) in degraded {
            self.must_be_reported(at, since, IncidentSubject::Array(key), IncidentKind::Degraded);
        }
        let keys: Vec<(String, IncidentKey)> = self.threads.keys().cloned().collect();
        for key in keys {
            let is_over = self.away.contains(&key.1) && self.may_end_unseen(&key.1);
            if is_over || !self.has_cause(at, &key.1) || self.is_consequence(at, &key.1) {
                self.threads.entry(key).and_modify(|thread| thread.untrue = at);
            }
        }
        let jumped = self.jumped;
        let late = |thread: &ThreadTruth| {
            thread.reminder_due(at, jumped).is_some_and(|due| self.power.after_stretch(due, HOUR) <= at)
        };
        let late: Vec<String> =
            self.threads.iter().filter(|(_, thread)| late(thread)).map(|(key, _)| format!("{key:?}")).collect();
        late.into_iter().for_each(|key| self.fault(at, format!("{key}: a reminder did not come")));
        self.judge_green(at, status);
    }

    /// Judges the reading of this disk at this time. What has been true for less than `slack` seconds may not be known yet.
    fn judge_reading(&mut self, at: u64, disk: usize, slack: u64) {
        let mut faults = Vec::new();
        if let Some(hours) = self.hours
            && at >= self.clock.jumped_at + slack
            && self.clock.is_outside(at, hours, 60)
        {
            faults.push("outside of its hours".to_owned());
        }
        if self.pause.is_some_and(|pause| pause.holds(at, &self.clock, slack)) {
            faults.push("in a person's pause".to_owned());
        }
        for (key, array) in self.arrays.iter().filter(|(_, array)| array.members.contains(&disk)) {
            let is_long = |since: Option<u64>| since.is_some_and(|since| since + slack <= at);
            if is_long(array.degraded_since) || is_long(array.at_work_since) {
                faults.push(format!("while {key} is not idle and whole"));
            }
        }
        let key = self.disks[disk].key.clone();
        faults.into_iter().for_each(|text| self.fault(at, format!("{key} is read {text}")));
    }

    fn on_session_begun(&mut self, at: u64, disk: usize) {
        self.disks[disk].is_read = true;
        let together =
            self.arrays.iter().filter(|(_, array)| array.members.contains(&disk)).find_map(|(key, array)| {
                let read = array.members.iter().filter(|&&member| self.disks[member].is_read).count();
                (read > 1).then(|| key.clone())
            });
        if let Some(array) = together {
            self.fault(at, format!("two members of {array} are read at a time"));
        }
        if let Some(controller) = self.disks[disk].controller.clone() {
            let busy = self.disks.iter().filter(|disk| disk.is_read && disk.controller.as_ref() == Some(&controller));
            let (count, limit) = (busy.count(), self.controller_max);
            if count > limit {
                self.fault(at, format!("{count} disks behind {controller} are read at a time, and {limit} may be"));
            }
        }
        self.judge_reading(at, disk, 0);
    }

    /// Records in which arrays unreadable sectors meet now.
    fn check_stripes(&mut self, at: u64) {
        let disks = &self.disks;
        for array in self.arrays.values_mut() {
            let is_bad =
                array.has_bad_stripe(|member| disks.get(member).filter(|disk| disk.is_in).map(|disk| &disk.unreadable));
            array.stripes_since = is_bad.then_some(array.stripes_since.unwrap_or(at));
        }
    }

    fn on_end(&mut self, at: u64, waiting: &[u64]) {
        for disk in 0..self.disks.len() {
            if self.disks[disk].is_in {
                self.judge_age(disk, self.disks[disk].oldest(), at);
            }
        }
        self.mail.lost(waiting).into_iter().for_each(|number| self.fault(at, format!("message {number} was lost")));
    }
}

impl HostObserver for YearOracle {
    fn observe(&mut self, at: u64, fact: &HostFact<'_>) {
        match *fact {
            HostFact::DiskIn(_, facts) => {
                let mut disk = DiskTruth::new(facts.key.0.clone(), at);
                disk.controller.clone_from(&facts.controller);
                if self.power.on_since.is_some() {
                    disk.seen(at);
                }
                self.disks.push(disk);
            }
            HostFact::DiskOut(disk) => {
                let disk = &mut self.disks[disk];
                (disk.is_in, disk.since) = (false, at);
                disk.outs.push((at, u64::MAX));
                // It was in until now: what said that it is missing was not so.
                let subject = IncidentSubject::Disk(scrubjay_watch::facts::DiskKey(disk.key.clone()));
                let is_about = |key: &IncidentKey| key.kind == IncidentKind::Missing && key.subject == subject;
                let threads = self.threads.iter_mut().filter(|((_, key), _)| is_about(key));
                threads.for_each(|(_, thread)| thread.untrue = at);
                self.check_stripes(at);
            }
            HostFact::DiskBack(disk) => {
                match self.power.on_since {
                    Some(_) => self.disks[disk].seen(at),
                    None => self.disks[disk].put_back(at),
                }
                self.check_stripes(at);
            }
            HostFact::Read(disk, from, to, begin, end) => {
                if end > begin {
                    self.judge_reading(begin, disk, HOUR); // a session that must stop has an hour to end
                }
                for (last, at) in self.disks[disk].read((from, to), (begin, end)) {
                    self.judge_age(disk, last, at);
                }
            }
            HostFact::Refused(disk) => drop(self.disks[disk].refused.get_or_insert(at)),
            HostFact::SessionBegun(disk) => self.on_session_begun(at, disk),
            HostFact::SessionEnded(disk) => self.disks[disk].is_read = false,
            HostFact::Forecast(disk, low, high) => self.disks[disk].forecast = Some((low, high)),
            HostFact::PassOver(disk) => {
                self.outcome.passes += 1;
                self.disks[disk].refused = None;
                // The end of a pass is known to the hour, which says too little about passes of a few hours.
                if let Some((low, high)) = self.disks[disk]
                    .forecast
                    .take()
                    .filter(|(low, _)| low.saturating_sub(self.disks[disk].begun()) > 12 * HOUR)
                {
                    self.outcome.forecasts += 1;
                    self.outcome.held += u64::from(at >= low && at - HOUR <= high);
                }
            }
            HostFact::Evidence(disk, is_lasting) => {
                let disk = &mut self.disks[disk];
                disk.evidence.get_or_insert(at);
                if is_lasting {
                    disk.lasting.get_or_insert(at);
                }
            }
            HostFact::Hot(disk, true) => self.disks[disk].hots.push((at, u64::MAX)),
            // Heat is known to be over when SMART is read again.
            HostFact::Hot(disk, false) => self.disks[disk].hots.last_mut().into_iter().for_each(|hot| hot.1 = at + DAY),
            HostFact::Unreadable(disk, runs) => {
                self.disks[disk].unreadable.extend(runs.iter().map(|run| (run.start.0, run.end.0)));
                self.check_stripes(at);
            }
            HostFact::Smart(disk, is_real) => {
                if is_real {
                    self.disks[disk].smart = Some((at, self.jumped));
                }
            }
            HostFact::Array(key, members) => {
                if let Some(array) = self.arrays.get_mut(key) {
                    array.members = members.to_vec();
                }
            }
            HostFact::ArrayState(key, lost, is_at_work) => {
                self.cover(at);
                if let Some(array) = self.arrays.get_mut(key) {
                    array.turn(at, lost, is_at_work, self.power.after_stretch(array.lighter_since, 3 * HOUR));
                }
                self.check_stripes(at);
            }
            HostFact::PoolScrubbed(key, ended) => {
                if let Some(array) = self.arrays.get_mut(key) {
                    array.scrubbed = array.scrubbed.max(Some(ended));
                }
            }
            HostFact::Power(is_on) => {
                if is_on {
                    if let Some(off) = self.power.off_since() {
                        self.disks.iter_mut().for_each(|disk| disk.was_off(off, at));
                    }
                    self.mail.begin(at);
                } else {
                    self.on_killed(at);
                }
                self.power.switch(at, is_on);
            }
            HostFact::Clock(step) => {
                self.jumped += step.unsigned_abs();
                let before = self.clock;
                self.clock.jump(at, step);
                self.pause.iter_mut().for_each(|pause| pause.jump(at, &before, &self.clock));
            }
            HostFact::Paused(span) => self.pause = Some(PauseTruth::new(at, &self.clock, span)),
            HostFact::Channels(names) => {
                self.threads.retain(|(channel, _), _| names.contains(channel));
                // A new channel need not report what a person accepted; it must when that grows, or is over.
                let known: BTreeMap<IncidentKey, ThreadTruth> = self
                    .threads
                    .iter()
                    .filter(|(_, thread)| thread.is_open && thread.is_accepted)
                    .map(|((_, key), thread)| (key.clone(), thread.clone()))
                    .collect();
                for name in names.iter().filter(|name| !self.mail.channels.contains_key(*name)) {
                    for (key, thread) in &known {
                        self.threads.insert((name.clone(), key.clone()), thread.clone());
                    }
                }
                self.refused.retain(|name, _| names.contains(name));
                self.mail.take(at, self.power.on_since.is_some(), names);
            }
            HostFact::Accepts(name, is_up) => self.mail.accepts(at, name, is_up),
            HostFact::Bounced(name) => self.mail.bounced(at, name),
            HostFact::Confirmed(name) => {
                if let Some(channel) = self.mail.channels.get_mut(name) {
                    channel.confirmed = Some(at);
                }
            }
            HostFact::HistoryLost => drop(self.history_lost.get_or_insert(at)),
            HostFact::RecipientsRefused(name, true) => {
                self.refused.entry(name.to_owned()).or_insert(at);
            }
            HostFact::RecipientsRefused(name, false) => drop(self.refused.remove(name)),
            HostFact::Woken(status) => {
                if status.is_clock_doubted {
                    self.fault(at, "after a suspend the clock is doubted".to_owned());
                }
            }
            // That is the end of it, without a message.
            HostFact::Accepted(IncidentSubject::Watch) => {
                self.history_lost = None;
                self.threads.retain(|(_, key), _| key.subject != IncidentSubject::Watch);
            }
            HostFact::Accepted(subject) => {
                let threads = self.threads.iter_mut().filter(|((_, key), _)| key.subject == *subject);
                threads.for_each(|(_, thread)| thread.is_accepted = true);
                let is_subject =
                    |disk: &&mut DiskTruth| matches!(subject, IncidentSubject::Disk(key) if key.0 == disk.key);
                self.disks.iter_mut().filter(is_subject).for_each(|disk| disk.accepted = at);
            }
            HostFact::Forgotten(disk) => self.disks[disk].is_forgotten = true,
            HostFact::Written(row, text) => self.on_written(at, row, text.subject()),
            HostFact::Delivered(row, text) => self.on_delivered(at, row, text.subject()),
            HostFact::Heartbeat(status) => {
                self.beat = (at, self.jumped);
                self.on_status(at, status);
            }
            HostFact::Noon(status) => self.on_noon(at, status),
            HostFact::End(waiting) => self.on_end(at, waiting),
            HostFact::Kept(rows, _) => self.on_kept(at, rows),
            HostFact::Event(_) => {} // the watch's inputs are not the truth
        }
    }
}
