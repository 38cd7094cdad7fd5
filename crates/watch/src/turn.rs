//! The contract with the pump: `restore`, `handle`, `poll_op`, `poll_timeout`.

use crate::calendar::{Calendar, DAY, HOUR, after, elapsed};
use crate::channel::WRONG_MAX;
use crate::clock::ClockTrust;
use crate::events::{PersonCommand, WatchBug, WatchEvent, WatchOp};
use crate::facts::{MediaKind, SessionNews, SubjectKey};
use crate::forecast::IdleWeek;
use crate::incident::{GATHER, IncidentKey, IncidentKind, IncidentRow, IncidentSubject, MessageReason};
use crate::incident_book::IncidentBook;
use crate::known::{ArrayState, DiskState};
use crate::loss::HistoryLoss;
use crate::outgoing::OutgoingMail;
use crate::pending::Pending;
use crate::problem::MISSING_AFTER;
use crate::reading::{ReadingState, SessionPhase};
use crate::rows::{CLOCK_SLACK, HostRow, ReadingRow, RowKey, WatchRow};
use crate::seen::Seen;
use crate::settings::WatchSettings;
use crate::state::Watch;
use crate::timing::Timing;
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, BTreeSet};

impl Watch {
    /// Restores the machine from the rows that were kept; without rows it starts new. Messages that were under way may
    /// be repeated, and are marked.
    pub fn restore(
        now: UnixSeconds,
        settings: WatchSettings,
        calendar: Box<dyn Calendar>,
        rows: impl IntoIterator<Item = WatchRow>,
    ) -> Watch {
        let mut watch = Watch {
            settings,
            calendar,
            clock: ClockTrust::default(),
            host: HostRow::default(),
            seen: Seen::default(),
            book: IncidentBook::default(),
            outgoing: OutgoingMail::default(),
            pending: Pending::default(),
            timing: Timing::new(now),
            #[cfg(feature = "planted")]
            planted: None,
        };
        let (mut idle, mut readings): (BTreeMap<_, IdleWeek>, BTreeMap<_, ReadingRow>) = Default::default();
        for row in rows {
            match row {
                WatchRow::Host(row) => watch.host = row,
                WatchRow::Disk(row) => {
                    let reading = ReadingState::new(row.facts.sectors, row.facts.media, now);
                    watch.seen.disks.insert(row.facts.key.clone(), DiskState::restored(*row, reading, now));
                }
                WatchRow::Reading(key, row) => drop(readings.insert(key, *row)),
                WatchRow::Idle(key, week) => drop(idle.insert(key, *week)),
                WatchRow::Array(facts) => {
                    let sectors = facts.check_sectors.unwrap_or(0);
                    let reading = ReadingState::new(sectors, MediaKind::Spinning, now);
                    let array =
                        ArrayState { facts, absent_since: Some(now), reading: Some(reading), places: BTreeMap::new() };
                    watch.seen.arrays.insert(array.facts.key.clone(), array);
                }
                WatchRow::Incident(row) => drop(watch.book.incidents.insert(row.key.clone(), *row)),
                WatchRow::Past(row) => drop(watch.book.past.insert(row.key.clone(), *row)),
                WatchRow::Message(row) => drop(watch.outgoing.outbox.insert(row.number, *row)),
                WatchRow::Channel(row) => drop(watch.outgoing.channels.insert(row.name.clone(), row)),
            }
        }
        for array in watch.seen.arrays.values_mut() {
            // If the array's checker was never driven there is no such row.
            if !readings.contains_key(&SubjectKey::Array(array.facts.key.clone())) {
                array.reading = None;
            }
        }
        for (key, row) in readings {
            if let Some(reading) = watch.reading_mut(&key) {
                let week = idle.remove(&key).unwrap_or_else(|| reading.idle.clone());
                *reading = ReadingState::restored(row, week);
            }
        }
        if watch.clock.trusts(now, watch.host.latest) {
            watch.resume(now);
        }
        watch
    }

    /// Marks messages that were under way, which may have arrived.
    fn mark_repeats(&mut self, now: UnixSeconds) {
        if self.is_planted(WatchBug::ForgetUnderWay) {
            self.pending.drop_rows(
                self.outgoing.outbox.values().filter(|row| row.is_under_way).map(|row| RowKey::Message(row.number)),
            );
            self.outgoing.outbox.retain(|_, row| !row.is_under_way);
        }
        let is_marked = !self.is_planted(WatchBug::RepeatUnmarked);
        for row in self.outgoing.outbox.values_mut().filter(|row| row.is_under_way) {
            (row.is_under_way, row.next_attempt) = (false, now);
            row.may_be_repeated = is_marked;
            self.pending.change(RowKey::Message(row.number));
        }
    }

    /// Resumes at the first trusted time.
    fn resume(&mut self, now: UnixSeconds) {
        self.timing.is_resumed = true;
        self.check_clock(now);
        self.count_absence_from(now);
        if self.host.checked.0 == 0 {
            self.host.checked = now;
        }
        (self.timing.last_turn, self.timing.wake) = (now, now);
        let channels = self.settings.channels.clone();
        self.take_channels(now, &channels);
        self.flush();
    }

    /// Lets the absence of what is not there count from now on.
    fn count_absence_from(&mut self, now: UnixSeconds) {
        self.seen.disks.values_mut().filter(|disk| disk.live.name.is_none()).for_each(|disk| disk.live.since = now);
        self.seen
            .arrays
            .values_mut()
            .filter(|array| array.absent_since.is_some())
            .for_each(|array| array.absent_since = Some(now));
    }

    /// After a suspend things are as after a start: what was not seen or read meanwhile is no one's fault, and nothing is told
    /// before it was looked at again.
    fn woken(&mut self, now: UnixSeconds) {
        self.book.tells_from = after(now, GATHER);
        self.count_absence_from(now);
        for disk in self.seen.disks.values_mut().filter(|disk| disk.live.name.is_some()) {
            (disk.live.is_answered, disk.live.since) = (false, now);
        }
    }

    /// Takes an event. `now` may run backwards: then no date is left in the future. While `now` is not trusted, events
    /// are kept, and nothing is done.
    pub fn handle(&mut self, now: UnixSeconds, event: WatchEvent) {
        if let WatchEvent::ClockSynchronised(is_synchronised) = event {
            self.clock.set_synchronised(is_synchronised);
        }
        if let WatchEvent::Suspended(seconds) = event
            && !self.is_planted(WatchBug::SuspendIsWrongClock)
        {
            self.clock.add_suspended(seconds);
        }
        if !self.clock.trusts(now, self.host.latest) {
            self.clock.keep_event(event);
            self.timing.wake = self.clock.next_check().unwrap_or(now);
            return;
        }
        if !self.timing.is_resumed {
            self.resume(now);
        }
        for kept in self.clock.take_events() {
            self.handle_trusted(now, kept);
        }
        self.handle_trusted(now, event);
    }

    /// Takes an event at a trusted time.
    fn handle_trusted(&mut self, now: UnixSeconds, event: WatchEvent) {
        if !std::mem::replace(&mut self.timing.is_marked, true) {
            self.mark_repeats(now);
        }
        self.check_clock(now);
        // Events that report no change need no decision.
        let is_usual = matches!(
            event,
            WatchEvent::IdleHour(..) | WatchEvent::Smart(..) | WatchEvent::Session(_, SessionNews::Progress(_))
        );
        if !is_usual {
            self.timing.wake_at(now);
        }
        match event {
            WatchEvent::DiskSeen(facts) => self.disk_seen(now, facts),
            WatchEvent::DiskGone(name) => self.disk_gone(now, &name, false),
            WatchEvent::DiskPulled(name) => self.disk_gone(now, &name, true),
            WatchEvent::ArraySeen(facts) => self.array_seen(now, facts),
            WatchEvent::ArrayGone(key) => self.array_gone(now, &key),
            WatchEvent::Smart(name, reading) => {
                if self.smart(now, &name, reading) {
                    self.timing.wake_at(now);
                }
            }
            WatchEvent::Failures(name, failed) => self.failures(now, &name, failed),
            WatchEvent::Slow(name, slowness) => self.slow(&name, slowness),
            WatchEvent::LinkReset(name) => self.link_reset(now, &name),
            WatchEvent::Session(subject, news) => self.session(now, &subject, news),
            WatchEvent::IdleHour(subject, hour, share) => self.idle_hour(&subject, hour, share),
            WatchEvent::Recipients(channel, refused) => self.recipients_refused(&channel, refused),
            WatchEvent::HistoryLost(loss) => {
                self.host.history_lost = Some(HistoryLoss { at: now, ..loss }); // of several the last one
                self.pending.change(RowKey::Host);
            }
            WatchEvent::ArraysKnown(are_known) => self.seen.are_arrays_known = are_known,
            WatchEvent::OnBattery(is_on_battery) => self.seen.is_on_battery = is_on_battery,
            WatchEvent::Blind(since) => self.seen.blind_since = since.map(|since| since.min(now)),
            WatchEvent::Command(command) => self.command(now, command),
            WatchEvent::Settings(settings) => {
                self.take_channels(now, &settings.channels);
                self.settings = *settings;
                self.timing.are_passes_planned = false;
            }
            WatchEvent::MessageSent(number) => self.message_sent(now, number),
            WatchEvent::MessageFailed(number) => self.message_failed(now, number),
            WatchEvent::Suspended(_) => self.woken(now),
            WatchEvent::ClockSynchronised(_) => {}
            WatchEvent::Tick => self.turn(now),
        }
        self.flush();
    }

    /// The next operation, in order.
    pub fn poll_op(&mut self) -> Option<WatchOp> {
        self.pending.next_op()
    }

    /// When to send the next tick at the latest.
    pub fn poll_timeout(&self) -> UnixSeconds {
        self.timing.wake
    }

    /// The time zone.
    pub fn calendar(&self) -> &dyn Calendar {
        &*self.calendar
    }

    /// Changes the time zone.
    pub fn change_calendar(&mut self, calendar: Box<dyn Calendar>) {
        self.calendar = calendar;
    }

    /// The number of messages that were not accepted yet.
    pub fn messages_waiting(&self) -> usize {
        self.outgoing.outbox.len()
    }

    fn turn(&mut self, now: UnixSeconds) {
        self.timing.wake = after(now, DAY);
        let passed = self.timing.begin(now);
        let pace = self.settings.pace.max(1);
        self.readings_mut().for_each(|reading| reading.note_silence(passed / pace));
        if elapsed(now, self.host.checked) >= DAY {
            self.host.checked = now;
            self.pending.change(RowKey::Host);
            let idle: Vec<RowKey> = self.subjects().map(|subject| RowKey::Idle(subject.key())).collect();
            self.pending.change_all(idle);
            self.timing.are_passes_planned = false;
            self.pending.after_rows((!self.is_planted(WatchBug::NoHeartbeat)).then_some(WatchOp::Heartbeat));
        }
        self.timing.wake_at(after(self.host.checked, DAY));
        self.register_twins(now);
        if !std::mem::replace(&mut self.timing.are_passes_planned, true) {
            self.plan_passes(now);
        }
        if self.host.paused_until > now {
            self.timing.wake_at(self.host.paused_until);
        }
        self.read_smart(now);
        self.schedule(now);
        let conditions = self.conditions(now);
        self.update_incidents(now, conditions);
        self.report_when_due(now);
        self.send_due(now);
    }

    fn read_smart(&mut self, now: UnixSeconds) {
        let mut wake = UnixSeconds(u64::MAX);
        let busy = self.seen.arrays.values().filter(|array| array.reading.as_ref().is_some_and(ReadingState::is_busy));
        let members = busy.flat_map(|array| array.facts.members.iter().filter_map(|member| member.disk.clone()));
        let checked_members: BTreeSet<String> = members.collect();
        for disk in self.seen.disks.values_mut() {
            let Some(name) = &disk.live.name else {
                let missing = after(disk.live.since, MISSING_AFTER);
                if missing > now {
                    wake = wake.min(missing);
                }
                continue;
            };
            let is_idle = disk.reading.live.session == SessionPhase::None && !checked_members.contains(name);
            let every = if is_idle { self.settings.smart_every } else { self.settings.smart_every.min(HOUR) };
            if disk.live.smart_requested.0 == 0
                || elapsed(now, disk.live.smart_requested) >= every
                || disk.live.smart_requested > now
            {
                disk.live.smart_requested = now;
                self.pending.after_rows([WatchOp::ReadSmart(name.clone())]);
            }
            wake = wake.min(after(disk.live.smart_requested, every));
        }
        let missing = self.seen.arrays.values().filter_map(|array| Some(after(array.absent_since?, MISSING_AFTER)));
        let wake = missing.filter(|&at| at > now).fold(wake, UnixSeconds::min);
        self.timing.wake_at(wake);
    }

    fn command(&mut self, now: UnixSeconds, command: PersonCommand) {
        match command {
            PersonCommand::PauseFor(seconds) => {
                (self.host.paused_until, self.host.paused_for) = (after(now, seconds), seconds);
                self.pending.change(RowKey::Host);
            }
            PersonCommand::Resume => {
                (self.host.paused_until, self.host.paused_for) = (UnixSeconds(0), 0);
                self.pending.change(RowKey::Host);
            }
            PersonCommand::ScrubNow(key) => self.bring_forward(now, &key),
            // That is all that there is to do about it.
            PersonCommand::Accept(IncidentSubject::Watch) => {
                self.host.history_lost = None;
                let key = IncidentKey { subject: IncidentSubject::Watch, kind: IncidentKind::History };
                if self.book.incidents.remove(&key).is_some() {
                    self.pending.drop_row(RowKey::Incident(key));
                }
                self.pending.change(RowKey::Host);
            }
            PersonCommand::Accept(subject) => {
                // If anything was reported, only that is accepted: the person cannot have seen incidents that opened later. Nor is what was
                // silent for its cause's sake: once that is over, it is to be told.
                let is_meant = |incident: &IncidentRow| {
                    incident.key.subject == subject && (!incident.is_accepted || incident.is_grown())
                };
                let is_reported =
                    |incident: &IncidentRow| incident.key.subject == subject && incident.last_message.is_some();
                let any_reported = self.book.incidents.values().any(is_reported);
                for incident in self.book.incidents.values_mut().filter(|incident| is_meant(incident)) {
                    if incident.last_message.is_none() && (any_reported || incident.held_until > now) {
                        continue;
                    }
                    incident.accept();
                    self.pending.change(RowKey::Incident(incident.key.clone()));
                }
            }
            PersonCommand::TestAlerts => self.write_with_codes(now, MessageReason::Test),
            PersonCommand::Confirm(code) => self.confirm(now, &code),
            PersonCommand::Forget(IncidentSubject::Disk(key)) => {
                // A disk that is present would be seen again at once.
                if self.seen.disks.get(&key).is_some_and(|disk| disk.live.name.is_none()) {
                    self.seen.disks.remove(&key);
                    let subject = SubjectKey::Disk(key.clone());
                    self.pending.drop_rows([
                        RowKey::Disk(key),
                        RowKey::Reading(subject.clone()),
                        RowKey::Idle(subject),
                    ]);
                }
            }
            PersonCommand::Forget(IncidentSubject::Array(key)) => {
                if self.seen.arrays.get(&key).is_some_and(|array| array.absent_since.is_some()) {
                    self.seen.arrays.remove(&key);
                    let subject = SubjectKey::Array(key.clone());
                    self.pending.drop_rows([
                        RowKey::Array(key),
                        RowKey::Reading(subject.clone()),
                        RowKey::Idle(subject),
                    ]);
                }
            }
            // The settings define the channels.
            PersonCommand::Forget(IncidentSubject::Channel(_) | IncidentSubject::Watch) => {}
        }
    }

    /// Takes a code that was typed by a person, or by somebody who guesses.
    fn confirm(&mut self, now: UnixSeconds, code: &str) {
        if let Some(channel) =
            self.outgoing.channels.values_mut().find(|channel| channel.code.as_deref() == Some(code.trim()))
        {
            channel.confirm(now, code);
            self.outgoing.wrong_codes.remove(&channel.name);
            self.pending.change(RowKey::Channel(channel.name.clone()));
            return;
        }
        for channel in self.outgoing.channels.values_mut().filter(|channel| channel.code.is_some()) {
            let wrong = self.outgoing.wrong_codes.entry(channel.name.clone()).or_default();
            *wrong += 1;
            if *wrong >= WRONG_MAX {
                channel.code = None;
                self.outgoing.wrong_codes.remove(&channel.name);
                self.pending.change(RowKey::Channel(channel.name.clone()));
            }
        }
    }

    /// If the clock was set back, moves all later dates to `now`.
    fn check_clock(&mut self, now: UnixSeconds) {
        if after(now, CLOCK_SLACK) >= self.host.latest {
            self.host.latest = self.host.latest.max(now);
            return;
        }
        let month = self.calendar.local(now).day.month_number();
        let mut rows: Vec<WatchRow> = vec![WatchRow::Host(self.host.clone())];
        rows.extend(self.seen.disks.values().map(|disk| WatchRow::Disk(Box::new(disk.row.clone()))));
        rows.extend(
            self.subjects().map(|subject| WatchRow::Reading(subject.key(), Box::new(subject.reading().row.clone()))),
        );
        rows.extend(self.book.incidents.values().map(|row| WatchRow::Incident(Box::new(row.clone()))));
        rows.extend(self.book.past.values().map(|row| WatchRow::Past(Box::new(row.clone()))));
        rows.extend(self.outgoing.outbox.values().map(|row| WatchRow::Message(Box::new(row.clone()))));
        rows.extend(self.outgoing.channels.values().map(|row| WatchRow::Channel(row.clone())));
        for mut row in rows {
            row.clamp(now);
            self.pending.change(row.key());
            match row {
                // A month may begin twice; a report of a month far ahead was written by a wrong clock.
                WatchRow::Host(row) => {
                    self.host = HostRow { latest: now, reported_month: row.reported_month.min(month + 1), ..row }
                }
                WatchRow::Disk(row) => {
                    if let Some(disk) = self.seen.disks.get_mut(&row.facts.key) {
                        disk.row = *row;
                    }
                }
                WatchRow::Reading(key, row) => {
                    if let Some(reading) = self.reading_mut(&key) {
                        reading.row = *row;
                    }
                }
                WatchRow::Incident(row) => drop(self.book.incidents.insert(row.key.clone(), *row)),
                WatchRow::Past(row) => drop(self.book.past.insert(row.key.clone(), *row)),
                WatchRow::Message(row) => drop(self.outgoing.outbox.insert(row.number, *row)),
                WatchRow::Channel(row) => drop(self.outgoing.channels.insert(row.name.clone(), row)),
                WatchRow::Idle(..) | WatchRow::Array(_) => {}
            }
        }
        let clamp_date = |date: &mut UnixSeconds| *date = (*date).min(now);
        for disk in self.seen.disks.values_mut() {
            clamp_date(&mut disk.live.since);
            clamp_date(&mut disk.live.smart_requested);
            clamp_date(&mut disk.live.smart_received);
            disk.live.asleep.as_mut().map(clamp_date);
            if let Some(failures) = &mut disk.live.failures {
                clamp_date(&mut failures.since);
                clamp_date(&mut failures.last);
            }
        }
        for reading in self.readings_mut() {
            reading.live.retry_reads_at = reading.live.retry_reads_at.min(after(now, 6 * HOUR));
            if let Some((_, retry_at)) = &mut reading.live.refusal {
                *retry_at = (*retry_at).min(after(now, HOUR));
            }
        }
        self.seen.sightings.values_mut().for_each(|(_, since)| clamp_date(since));
        clamp_date(&mut self.book.tells_from);
        self.seen.blind_since.as_mut().map(clamp_date);
        for array in self.seen.arrays.values_mut() {
            array.absent_since.as_mut().map(clamp_date);
        }
        self.timing.wake = now;
    }
}
