//! The oracle of years: it sees what happens to a host, and what the watch does, and says what is against the promises.

use super::reading::{DiskTruth, PowerTruth};
use super::thread::{ThreadTruth, Told};
use scrubjay_sim::host::fact::{HostFact, HostObserver};
use scrubjay_sim::host::run::HostSummary;
use scrubjay_sim::host::setup::EPOCH;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKey, IncidentKind, IncidentSubject, MessageReason};
use scrubjay_watch::rows::MessageRow;
use scrubjay_watch::status::{LightColour, WatchStatus};
use std::collections::{BTreeMap, BTreeSet};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// A warning comes so long before the date.
const WARNING: u64 = 7 * DAY;
/// What is announced as late has its date so soon: a warning may come a day early, and what a sixteenth of a pass took.
const SOON: u64 = 9 * DAY;
/// Faults that are told of one seed.
const FAULTS_MAX: usize = 20;

/// What came of a seed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct YearOutcome {
    /// What is against the promises, in words; empty: nothing.
    pub faults: Vec<String>,
    /// Forecasts whose pass ended,
    pub forecasts: u64,
    /// and of them those that held.
    pub held: u64,
    /// Passes that ended.
    pub passes: u64,
    /// How it went.
    pub summary: HostSummary,
}

#[derive(Debug, Default)]
struct ArrayTruth {
    members: Vec<usize>,
    degraded_since: Option<u64>,
}

#[derive(Debug, Default)]
struct ChannelTruth {
    known_since: u64,
    confirmed: Option<u64>,
    is_down: bool,
    up_since: u64,
}

/// Knows the truth.
#[derive(Debug)]
pub struct YearOracle {
    every: u64,
    disks: Vec<DiskTruth>,
    arrays: BTreeMap<String, ArrayTruth>,
    channels: BTreeMap<String, ChannelTruth>,
    power: PowerTruth,
    /// How far clocks have jumped, in all.
    jumped: u64,
    threads: BTreeMap<(String, IncidentKey), ThreadTruth>,
    /// Messages that were written and have not arrived: number and channel.
    missing: BTreeMap<u64, String>,
    arrived: BTreeSet<(String, String)>,
    outcome: YearOutcome,
}

impl YearOracle {
    /// Of a host whose sectors are to be read every `every` seconds.
    pub fn new(every: u64) -> YearOracle {
        YearOracle {
            every,
            disks: Vec::new(),
            arrays: BTreeMap::new(),
            channels: BTreeMap::new(),
            power: PowerTruth::default(),
            jumped: 0,
            threads: BTreeMap::new(),
            missing: BTreeMap::new(),
            arrived: BTreeSet::new(),
            outcome: YearOutcome::default(),
        }
    }

    /// What is to be said of the year.
    pub fn outcome(self, summary: HostSummary) -> YearOutcome {
        YearOutcome { summary, ..self.outcome }
    }

    fn fault(&mut self, at: u64, what: String) {
        if self.outcome.faults.len() < FAULTS_MAX {
            self.outcome.faults.push(format!("day {:.2}: {what}", (at - EPOCH) as f64 / DAY as f64));
        }
    }

    /// A point of a disk was read at `last`, and at `at` it is read again, or not yet: is that in time, or was it said?
    fn judge_age(&mut self, disk: usize, last: u64, at: u64) {
        let due = last + self.every + self.jumped;
        if at <= due {
            return;
        }
        let said_by = self.power.after_stretch(due - WARNING - DAY, HOUR).max(due - WARNING);
        let truth = &self.disks[disk];
        if truth.warned.is_none_or(|warned| warned > said_by) && at > said_by {
            let (key, warned) = (truth.key.clone(), truth.warned.map(|warned| at.saturating_sub(warned) / DAY));
            let age = (at - last) / DAY;
            self.fault(at, format!("a sector of {key} was not read for {age} days; said so {warned:?} days before"));
        }
    }

    fn on_written(&mut self, at: u64, row: &MessageRow) {
        self.missing.insert(row.number, row.channel.clone());
        let told = match row.reason {
            MessageReason::Opened => Told::Opened,
            MessageReason::Grown => Told::Grown,
            MessageReason::Reminder(number) => Told::Reminder(number),
            MessageReason::Resolved => Told::Resolved,
            MessageReason::Report | MessageReason::Test => return,
        };
        for key in &row.about {
            // A channel that is new hears of what is open, and is reminded of it with the others from then on.
            let others = self.threads.iter().find(|((_, known), thread)| known == key && thread.is_open);
            let others = others.map(|(_, thread)| *thread).filter(|_| told == Told::Opened);
            let thread = self.threads.entry((row.channel.clone(), key.clone())).or_default();
            if let Err(what) = thread.next(told, at, self.jumped) {
                self.fault(at, format!("{key:?} by {}: {what}", row.channel));
            } else if let Some(others) = others {
                self.threads.insert((row.channel.clone(), key.clone()), others);
            }
            if told != Told::Resolved && !self.has_cause(at, key) {
                self.fault(at, format!("{key:?} without a cause: {}", row.subject));
            }
            if let (IncidentKind::Unread, IncidentSubject::Disk(disk)) = (key.kind, &key.subject)
                && let Some(disk) = self.disks.iter_mut().find(|known| known.key == disk.0)
            {
                disk.warned = if told == Told::Resolved { None } else { Some(disk.warned.unwrap_or(at)) };
            }
        }
    }

    /// Is there something in truth that an incident of this kind may be about?
    fn has_cause(&self, at: u64, key: &IncidentKey) -> bool {
        let jumped = self.jumped;
        match &key.subject {
            IncidentSubject::Disk(disk) => {
                let Some(disk) = self.disks.iter().find(|known| known.key == disk.0) else { return false };
                match key.kind {
                    IncidentKind::Health => disk.evidence.is_some(),
                    IncidentKind::Missing => !disk.is_in,
                    IncidentKind::Unknown => {
                        disk.smart.is_none_or(|(read, before)| at - read + jumped - before + HOUR > DAY)
                    }
                    IncidentKind::Stuck => disk.refused.is_some_and(|since| since + DAY <= at + jumped),
                    IncidentKind::Unread => disk.oldest_sixteenth() + self.every < at + SOON + jumped,
                    _ => false,
                }
            }
            IncidentSubject::Array(array) => {
                let Some(array) = self.arrays.get(array) else { return false };
                let bad = array.members.iter().filter(|&&member| self.disks[member].evidence.is_some()).count();
                match key.kind {
                    IncidentKind::Degraded => array.degraded_since.is_some(),
                    IncidentKind::Stripes => bad + usize::from(array.degraded_since.is_some()) > 1,
                    _ => false,
                }
            }
            IncidentSubject::Channel(channel) => {
                let Some(channel) = self.channels.get(channel) else { return false };
                let is_just_on = self.power.on_since.is_some_and(|on| at - on < 6 * HOUR);
                match key.kind {
                    IncidentKind::Unproven => {
                        let since = channel.confirmed.map_or(channel.known_since, |confirmed| confirmed + 90 * DAY);
                        since < at + jumped
                    }
                    // A server refuses one in twenty for no reason that anybody knows; then the next attempt is four hours later.
                    IncidentKind::Undelivered => channel.is_down || at - channel.up_since < 10 * HOUR || is_just_on,
                    _ => false,
                }
            }
        }
    }

    fn on_delivered(&mut self, at: u64, row: &MessageRow) {
        self.missing.remove(&row.number);
        if !self.arrived.insert((row.channel.clone(), row.id.clone())) && !row.may_be_repeated {
            self.fault(at, format!("{} arrived twice by {}, and was not marked", row.id, row.channel));
        }
    }

    /// What is so for so long must have been told, by every channel.
    fn must_be_told(&mut self, at: u64, since: Option<u64>, subject: IncidentSubject, kind: IncidentKind) {
        let Some(since) = since.filter(|&since| self.power.after_stretch(since + DAY, HOUR) + self.jumped <= at) else {
            return;
        };
        let key = IncidentKey { subject, kind };
        let silent: Vec<String> = self.channels.keys().cloned().collect();
        for channel in silent {
            let is_told = self.threads.get(&(channel.clone(), key.clone())).is_some_and(|thread| thread.is_open);
            if !is_told {
                self.fault(at, format!("{key:?}, so for {} days, was not told by {channel}", (at - since) / DAY));
            }
        }
    }

    fn on_status(&mut self, at: u64, status: &WatchStatus) {
        for disk in 0..self.disks.len() {
            let DiskTruth { key, is_in, since, lasting, is_forgotten, .. } = self.disks[disk].clone();
            if is_forgotten {
                continue;
            }
            let subject = || IncidentSubject::Disk(scrubjay_watch::facts::DiskKey(key.clone()));
            self.must_be_told(at, (!is_in).then_some(since), subject(), IncidentKind::Missing);
            self.must_be_told(at, lasting, subject(), IncidentKind::Health);
        }
        let degraded: Vec<_> = self.arrays.iter().map(|(key, array)| (key.clone(), array.degraded_since)).collect();
        for (key, since) in degraded {
            self.must_be_told(at, since, IncidentSubject::Array(key), IncidentKind::Degraded);
        }
        let jumped = self.jumped;
        let late = |thread: &ThreadTruth| {
            thread.reminder_due(jumped).is_some_and(|due| self.power.after_stretch(due, HOUR) <= at)
        };
        let late: Vec<String> =
            self.threads.iter().filter(|(_, thread)| late(thread)).map(|(key, _)| format!("{key:?}")).collect();
        late.into_iter().for_each(|key| self.fault(at, format!("{key}: a reminder did not come")));
        self.judge_green(at, status);
    }

    fn judge_green(&mut self, at: u64, status: &WatchStatus) {
        let mut faults = Vec::new();
        for standing in status.disks.iter().filter(|standing| standing.health == HealthState::Ok) {
            let Some(disk) = self.disks.iter().rev().find(|disk| disk.key == standing.key.0) else {
                faults.push(format!("{} is called ok, and does not exist", standing.key));
                continue;
            };
            let is_fresh = disk.smart.is_some_and(|(read, before)| at - read <= 27 * HOUR + self.jumped - before);
            // A reading that was under way when the watch was killed never reached it.
            let is_told = disk.lasting.is_some_and(|since| since + DAY <= at);
            if !disk.is_in || !is_fresh || is_told {
                faults.push(format!("{} is called ok: {disk:?}", standing.key));
            }
        }
        let read = status.lights.iter().find(|light| light.name == "All sectors read");
        if read.is_some_and(|light| light.colour == LightColour::Green) {
            let limit = self.every + self.jumped + DAY;
            for disk in self.disks.iter().filter(|disk| disk.is_in && disk.oldest() + limit < at) {
                faults.push(format!("all sectors read is green, and one of {} was not for long", disk.key));
            }
        }
        faults.into_iter().for_each(|what| self.fault(at, what));
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
    }

    fn on_end(&mut self, at: u64, waiting: &[u64]) {
        for disk in 0..self.disks.len() {
            if self.disks[disk].is_in {
                self.judge_age(disk, self.disks[disk].oldest(), at);
            }
        }
        let lost = self.missing.iter().filter(|(number, channel)| {
            !waiting.contains(number) && self.channels.contains_key(*channel) // a channel that was removed takes its messages along
        });
        let lost: Vec<u64> = lost.map(|(number, _)| *number).collect();
        lost.into_iter().for_each(|number| self.fault(at, format!("message {number} was lost")));
    }
}

impl HostObserver for YearOracle {
    fn observe(&mut self, at: u64, fact: &HostFact<'_>) {
        match *fact {
            HostFact::DiskIn(_, key) => {
                let mut disk = DiskTruth::new(key.0.clone(), at);
                if self.power.on_since.is_some() {
                    disk.seen(at);
                }
                self.disks.push(disk);
            }
            HostFact::DiskOut(disk) => {
                let disk = &mut self.disks[disk];
                (disk.is_in, disk.since) = (false, at);
            }
            // Of a machine that is off it is told once more, when it is on again.
            HostFact::DiskBack(disk) if self.power.on_since.is_some() => self.disks[disk].seen(at),
            HostFact::DiskBack(disk) => self.disks[disk].put_back(at),
            HostFact::Read(disk, from, to, begin, end) => {
                for (last, at) in self.disks[disk].read((from, to), (begin, end)) {
                    self.judge_age(disk, last, at);
                }
            }
            HostFact::Refused(disk) => drop(self.disks[disk].refused.get_or_insert(at)),
            HostFact::SessionBegun(disk) => self.on_session_begun(at, disk),
            HostFact::SessionEnded(disk) => self.disks[disk].is_read = false,
            HostFact::Foretold(disk, low, high) => self.disks[disk].foretold = Some((low, high)),
            HostFact::PassOver(disk) => {
                self.outcome.passes += 1;
                // Hosts look once an hour, so the end is known to the hour; of passes of a few hours that says too little.
                if let Some((low, high)) = self.disks[disk]
                    .foretold
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
            HostFact::Smart(disk, is_real) => {
                if is_real {
                    self.disks[disk].smart = Some((at, self.jumped));
                }
            }
            HostFact::Array(key, members) => self.arrays.entry(key.to_owned()).or_default().members = members.to_vec(),
            HostFact::Degraded(key, is_degraded) => {
                let array = self.arrays.entry(key.to_owned()).or_default();
                array.degraded_since = is_degraded.then_some(array.degraded_since.unwrap_or(at));
            }
            HostFact::Power(is_on) => self.power.switch(at, is_on),
            HostFact::Clock(step) => self.jumped += step.unsigned_abs(),
            HostFact::Channels(names) => {
                self.channels.retain(|name, _| names.contains(name));
                self.threads.retain(|(channel, _), _| names.contains(channel));
                // What a person accepted needs not be told to a channel that is new; when it grows, or is over, it is.
                let known: BTreeMap<IncidentKey, ThreadTruth> = self
                    .threads
                    .iter()
                    .filter(|(_, thread)| thread.is_open && thread.is_accepted)
                    .map(|((_, key), thread)| (key.clone(), *thread))
                    .collect();
                for name in names.iter().filter(|name| !self.channels.contains_key(*name)) {
                    for (key, thread) in &known {
                        self.threads.insert((name.clone(), key.clone()), *thread);
                    }
                }
                for name in names {
                    self.channels
                        .entry(name.clone())
                        .or_insert(ChannelTruth { known_since: at, ..ChannelTruth::default() });
                }
            }
            HostFact::Accepts(name, is_up) => {
                if let Some(channel) = self.channels.get_mut(name) {
                    (channel.is_down, channel.up_since) = (!is_up, at);
                }
            }
            HostFact::Confirmed(name) => {
                if let Some(channel) = self.channels.get_mut(name) {
                    channel.confirmed = Some(at);
                }
            }
            HostFact::Accepted(subject) => {
                let of = self.threads.iter_mut().filter(|((_, key), _)| key.subject == *subject);
                of.for_each(|(_, thread)| thread.is_accepted = true);
            }
            HostFact::Forgotten(disk) => self.disks[disk].is_forgotten = true,
            HostFact::Written(row) => self.on_written(at, row),
            HostFact::Delivered(row) => self.on_delivered(at, row),
            HostFact::Status(status) => self.on_status(at, status),
            HostFact::End(waiting) => self.on_end(at, waiting),
        }
    }
}
