//! The schedule: which disk or array is read now, and what holds the others back.

use crate::calendar::{DAY, HOUR, MINUTE, WEEK_HOURS, after};
use crate::events::{WatchBug, WatchOp};
use crate::facts::{ArrayActivity, ArrayFacts, MediaKind, SubjectKey};
use crate::forecast::PassForecast;
use crate::hold::HoldBack;
use crate::known::DiskState;
use crate::problem::ReadingHelp;
use crate::reading::{ReadingState, SessionPhase};
use crate::rows::RowKey;
use crate::settings;
use crate::state::Watch;
use crate::subject::WatchedSubject;
use scrubjay_core::units::{Nanos, SECTOR_BYTES, UnixSeconds};
use std::collections::BTreeMap;

/// Seconds before their due date at which passes are planned to end; what is unread then is reported. A week, and a day
/// for the message to be late.
pub const MARGIN: u64 = 8 * DAY;
/// The time that is planned for a pass, as a multiple of its most likely time.
const PLANNED_TIME_FACTOR: f64 = 1.5;
/// Seconds over which passes are spread that would begin at the same time.
const SPREAD: u64 = 3 * DAY;
/// Seconds within which first passes begin: a person who has just installed it wants to see that it reads.
const FIRST_SPREAD: f64 = HOUR as f64;

/// Seconds between checks while a session is to end.
const RECHECK: u64 = 10 * MINUTE;

impl Watch {
    /// The margin in seconds; shorter in proportion if sectors are due more often.
    pub(crate) fn margin(&self) -> u64 {
        MARGIN.min(self.settings.every / 4)
    }

    /// The share of each hour of the week in which reading is allowed.
    pub(crate) fn open_hours(&self) -> [f32; WEEK_HOURS] {
        let hours = self.settings.between;
        let of_day: [f32; 24] =
            std::array::from_fn(|hour| hours.map_or(1.0, |hours| hours.share_of_hour(hour as u32) as f32));
        std::array::from_fn(|hour| of_day[hour % 24])
    }

    /// The bytes of a disk, or those that an array's checker covers.
    fn bytes(reading: &ReadingState) -> f64 {
        reading.row.passes.sectors as f64 * SECTOR_BYTES as f64
    }

    /// Computes how long each pass takes, and when it must begin at the latest so that it, and those that wait for it
    /// (an array and its members; disks behind one controller), are read by their dates: planned backwards from the
    /// last due date.
    pub(crate) fn plan_passes(&mut self, now: UnixSeconds) {
        let open = self.open_hours();
        let hour = self.calendar.local(now).week_hour();
        for reading in self.readings_mut() {
            reading.live.pass_seconds = reading.idle.seconds_for(Self::bytes(reading), hour, &open);
        }
        let mut controllers: BTreeMap<&str, Vec<WatchedSubject<'_>>> = BTreeMap::new();
        for disk in self.seen.disks.values().filter(|disk| disk.live.name.is_some()) {
            if let Some(controller) = &disk.row.facts.controller {
                controllers.entry(controller).or_default().push(WatchedSubject::Disk(disk));
            }
        }
        let in_array = |array: &ArrayFacts| -> Vec<WatchedSubject<'_>> {
            self.subjects().filter(|subject| subject.is_present() && subject.is_in(array)).collect()
        };
        let single_subjects = self.subjects().map(|subject| (vec![subject], 1));
        let arrays = self.seen.present_arrays().map(|array| (in_array(array), 1));
        let by_controller = controllers.into_values().map(|disks| (disks, self.settings.controller_max.max(1) as u64));
        let mut latest: BTreeMap<SubjectKey, UnixSeconds> = BTreeMap::new();
        for (subjects, at_a_time) in single_subjects.chain(arrays).chain(by_controller) {
            let due = |subject: &WatchedSubject<'_>| subject.reading().row.passes.planned_due(self.settings.every);
            let mut by_date: Vec<_> = subjects.iter().map(|subject| (due(subject), subject.key(), subject)).collect();
            by_date.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
            let mut next = UnixSeconds(u64::MAX);
            for (due, key, subject) in by_date.into_iter().rev() {
                let pass_seconds = subject.reading().live.pass_seconds.unwrap_or(self.settings.every);
                next = UnixSeconds(
                    next.min(due).0.saturating_sub((pass_seconds as f64 * PLANNED_TIME_FACTOR) as u64 / at_a_time),
                );
                let begin = latest.entry(key).or_insert(next);
                *begin = next.min(*begin);
            }
        }
        for (key, begin) in latest {
            if let Some(reading) = self.reading_mut(&key) {
                reading.live.begin_by = begin;
            }
        }
    }

    /// When the next pass should begin: earlier than it must by the margin and the spread.
    fn should_begin(&self, subject: WatchedSubject<'_>) -> UnixSeconds {
        let spread = (subject.spread() * SPREAD as f64) as u64;
        UnixSeconds(subject.reading().live.begin_by.0.saturating_sub(self.margin() + spread))
    }

    /// When the next pass begins. The first pass begins at once, except for the spread, because nothing was read yet.
    pub(crate) fn begins(&self, subject: WatchedSubject<'_>) -> UnixSeconds {
        let passes = &subject.reading().row.passes;
        match passes.is_read() {
            true => self.should_begin(subject),
            false => after(passes.known_since, (subject.spread() * FIRST_SPREAD) as u64),
        }
    }

    /// The disks that are read with a subject: itself, or the members of an array that are present.
    fn disks_of<'a>(&'a self, subject: WatchedSubject<'a>) -> Vec<&'a DiskState> {
        match subject {
            WatchedSubject::Disk(disk) => vec![disk],
            WatchedSubject::Array(array, _) => {
                let names = array.facts.members.iter().filter_map(|member| member.disk.as_deref());
                names.filter_map(|name| self.seen.disks.get(self.seen.names.get(name)?)).collect()
            }
        }
    }

    /// What holds a subject back, other subjects aside, whether or not it is being read.
    pub(crate) fn own_hold_back(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<HoldBack> {
        let reading = subject.reading();
        if !subject.is_present() {
            return Some(HoldBack::Missing);
        }
        if reading.live.is_resized {
            return Some(HoldBack::Resized);
        }
        if self.host.paused_until > now && !self.is_planted(WatchBug::IgnorePause) {
            return Some(HoldBack::Paused(self.host.paused_until));
        }
        if self.seen.is_on_battery {
            return Some(HoldBack::OnBattery);
        }
        let heeds_arrays = !self.is_planted(WatchBug::IgnoreArrays);
        for array in self.seen.present_arrays().filter(|array| heeds_arrays && subject.is_in(array)) {
            let array_name = || array.name.clone();
            match array.activity {
                ArrayActivity::Rebuilding => return Some(HoldBack::Rebuilding(array_name())),
                ArrayActivity::Checking => return Some(HoldBack::OtherCheck(array_name())),
                ArrayActivity::Idle if array.is_degraded() => return Some(HoldBack::Degraded(array_name())),
                ArrayActivity::Idle => {}
            }
        }
        if matches!(subject, WatchedSubject::Array(array, _) if array.facts.check_sectors.is_none()) {
            return Some(HoldBack::SizeUnknown);
        }
        let disks = self.disks_of(subject);
        if disks.iter().any(|disk| disk.is_self_testing(now)) {
            return Some(HoldBack::SelfTest);
        }
        if let Some(hot) = disks.iter().find(|disk| disk.is_hot(now)) {
            return Some(HoldBack::TooHot(hot.live.celsius.unwrap_or_default()));
        }
        if reading.live.retry_reads_at > now {
            return Some(HoldBack::NoReads(reading.live.retry_reads_at));
        }
        if let Some((reason, retry_at)) = reading.live.refusal.as_ref().filter(|(_, retry_at)| *retry_at > now) {
            return Some(HoldBack::Refused(reason.clone(), *retry_at));
        }
        let hours = self.settings.between.filter(|_| !self.is_planted(WatchBug::IgnoreHours));
        let hours = hours.filter(|hours| !hours.holds(now, &*self.calendar));
        if let Some(hours) = hours {
            return Some(HoldBack::WindowClosed(hours.next_edge(now, &*self.calendar)));
        }
        // A disk that is being read is awake, whatever its last SMART reading was.
        let is_asleep = disks.iter().any(|disk| disk.live.asleep.is_some());
        if is_asleep && reading.live.session == SessionPhase::None && now < self.should_begin(subject) {
            // It is woken early enough for its pass to end in time.
            return Some(HoldBack::Asleep(self.should_begin(subject)));
        }
        None
    }

    /// Another subject being read that excludes reading this one at the same time.
    fn exclusion(&self, subject: WatchedSubject<'_>) -> Option<HoldBack> {
        let key = subject.key();
        let is_busy = |other: &WatchedSubject<'_>| other.reading().is_busy() && other.key() != key;
        if !self.is_planted(WatchBug::ReadMembersTogether) {
            for array in self.seen.present_arrays().filter(|array| subject.is_in(array)) {
                match self.subjects().filter(is_busy).find(|other| other.is_in(array)) {
                    Some(WatchedSubject::Disk(_)) => return Some(HoldBack::MemberBusy(array.name.clone())),
                    Some(WatchedSubject::Array(busy, _)) => return Some(HoldBack::ArrayBusy(busy.facts.name.clone())),
                    None => {}
                }
            }
        }
        let WatchedSubject::Disk(disk) = subject else { return None };
        let controller = disk.row.facts.controller.as_ref()?;
        let is_behind = |disk: &DiskState| disk.row.facts.controller.as_ref() == Some(controller);
        // An array's check reads all its members at once, so nothing else is read behind their controllers.
        let is_full = self
            .subjects()
            .filter(is_busy)
            .any(|other| matches!(other, WatchedSubject::Array(..)) && self.disks_of(other).into_iter().any(is_behind));
        let busy_disks =
            self.seen.disks.values().filter(|other| is_behind(other) && is_busy(&WatchedSubject::Disk(other)));
        let is_full = is_full || busy_disks.count() >= self.settings.controller_max.max(1);
        (is_full && !self.is_planted(WatchBug::IgnoreController)).then_some(HoldBack::ControllerBusy)
    }

    /// What holds a subject back that is not being read; `None`: it can begin.
    pub(crate) fn hold_back(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<HoldBack> {
        let (begins, passes) = (self.begins(subject), &subject.reading().row.passes);
        if subject.is_present() && passes.sectors == 0 {
            return Some(HoldBack::SizeUnknown);
        }
        let is_wanted = subject.reading().live.is_wanted;
        if subject.is_present() && passes.begun.0 == 0 && now < begins && !is_wanted {
            // Not before its hours.
            let opens = self.settings.between.filter(|hours| !hours.holds(begins, &*self.calendar));
            let begins = opens.map_or(begins, |hours| hours.next_edge(begins, &*self.calendar));
            let paused = self.host.paused_until;
            let is_paused = begins < paused && !self.is_planted(WatchBug::IgnorePause);
            return Some(if is_paused { HoldBack::Paused(paused) } else { HoldBack::NotDue(begins) });
        }
        self.own_hold_back(subject, now).or_else(|| self.exclusion(subject))
    }

    /// Lets a subject be read now because a person wants it: its pass begins, which survives a restart, and comes
    /// before others that wait. All hold-backs except its turn remain.
    pub(crate) fn bring_forward(&mut self, now: UnixSeconds, key: &SubjectKey) {
        if !self.subject(key).is_some_and(WatchedSubject::is_present) {
            return;
        }
        let Some(reading) = self.reading_mut(key).filter(|reading| reading.row.passes.sectors > 0) else { return };
        reading.live.is_wanted = true;
        // Reads of a session are dated by its reports, so the beginning of its pass must not change.
        if reading.live.session == SessionPhase::None && reading.row.passes.begun.0 == 0 {
            reading.row.passes.begin(now);
            self.pending.change(RowKey::Reading(key.clone()));
        }
    }

    /// Stops sessions that must not go on, and begins those that may: what a person wants first, then by due date.
    pub(crate) fn schedule(&mut self, now: UnixSeconds) {
        let mut waiting: Vec<(bool, UnixSeconds, SubjectKey)> = Vec::new();
        let mut stops = Vec::new();
        let mut wake = after(now, DAY);
        for subject in self.subjects() {
            let reading = subject.reading();
            match reading.live.session {
                SessionPhase::Running => {
                    let hangs = reading.hangs().then_some(HoldBack::Hangs);
                    stops.extend(
                        hangs.or_else(|| self.own_hold_back(subject, now)).map(|hold_back| (subject.key(), hold_back)),
                    );
                }
                SessionPhase::Stopping => wake = wake.min(after(now, RECHECK)),
                SessionPhase::Foreign => {}
                SessionPhase::None => match self.hold_back(subject, now) {
                    None | Some(HoldBack::MemberBusy(_) | HoldBack::ArrayBusy(_) | HoldBack::ControllerBusy) => {
                        let due = reading.row.passes.due(self.settings.every);
                        waiting.push((!reading.live.is_wanted, due, subject.key()));
                    }
                    Some(hold_back) => wake = wake.min(hold_back.until().unwrap_or(wake)),
                },
            }
        }
        if let Some(hours) = self.settings.between {
            wake = wake.min(hours.next_edge(now, &*self.calendar));
        }
        for (key, hold_back) in stops {
            let name = self.subject(&key).and_then(WatchedSubject::name);
            let Some(reading) = self.reading_mut(&key) else { continue };
            // A session that hung before it was told to end still hangs.
            reading.live.silence = if reading.hangs() { reading.live.silence } else { 0 };
            reading.live.session = SessionPhase::Stopping;
            wake = after(now, RECHECK);
            self.pending.after_rows(name.map(|name| WatchOp::StopSession(name, hold_back)));
        }
        self.timing.wake_at(wake);
        waiting.sort();
        // While an array waits for some of its members, its other members do not begin again before it.
        let mut reserved: Vec<String> = Vec::new();
        for (.., key) in waiting {
            let Some(subject) = self.subject(&key) else { continue };
            let is_reserved = self
                .disks_of(subject)
                .iter()
                .any(|disk| disk.live.name.as_ref().is_some_and(|name| reserved.contains(name)));
            if !is_reserved && self.exclusion(subject).is_none() {
                self.begin(now, &key);
            } else if let WatchedSubject::Array(array, _) = subject {
                reserved.extend(array.facts.members.iter().filter_map(|member| member.disk.clone()));
            }
        }
    }

    /// The goal for the mean slowdown of a session on a subject.
    pub(crate) fn budget_of(&self, subject: WatchedSubject<'_>) -> Nanos {
        let media = match subject {
            WatchedSubject::Disk(disk) => disk.row.facts.media,
            // The slowdown by an array's check is that of its slowest member.
            WatchedSubject::Array(..) => {
                let disks = self.disks_of(subject);
                let is_flash = !disks.is_empty() && disks.iter().all(|disk| disk.row.facts.media == MediaKind::Flash);
                if is_flash { MediaKind::Flash } else { MediaKind::Spinning }
            }
        };
        settings::budget(media)
    }

    fn begin(&mut self, now: UnixSeconds, key: &SubjectKey) {
        let Some(subject) = self.subject(key) else { return };
        // For a subject that a person asked for, reading starts only here.
        let ReadingState { row, live, .. } = subject.reading();
        let is_new = row.passes.begun.0 == 0 || live.is_wanted && row.passes.done == 0 && row.forecast.is_none();
        let forecast = if is_new { self.forecast_of(subject, now) } else { None };
        let (name, budget) = (subject.name(), self.budget_of(subject));
        let Some(reading) = self.reading_mut(key) else { return };
        if is_new {
            reading.row.forecast = forecast;
        }
        reading.row.passes.begin(now);
        (reading.live.session, reading.live.refusal) = (SessionPhase::Running, None);
        (reading.live.silence, reading.live.has_news) = (0, false);
        reading.live.done_before = reading.row.passes.done;
        let (pass, begun) = (reading.row.passes.finished + 1, reading.row.passes.begun);
        self.pending.after_rows(name.map(|name| WatchOp::BeginSession(name, pass, begun, budget)));
        self.pending.change(RowKey::Reading(key.clone()));
    }

    /// The most likely seconds that the rest of a pass takes from now on, in these open hours.
    pub(crate) fn rest_seconds(
        &self,
        subject: WatchedSubject<'_>,
        now: UnixSeconds,
        open: &[f32; WEEK_HOURS],
    ) -> Option<u64> {
        let hour = self.calendar.local(now).week_hour();
        let reading = subject.reading();
        reading.idle.seconds_for(Self::bytes(reading) * reading.row.passes.rest(), hour, open)
    }

    /// The forecast of a pass that continues or begins now, and its most likely seconds.
    fn forecast_of(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<(PassForecast, u64)> {
        let seconds = self.rest_seconds(subject, now, &self.open_hours())?;
        Some((self.forecast_from(now, seconds), seconds))
    }

    /// The forecast of something that most likely takes `seconds` from `from` on.
    pub(crate) fn forecast_from(&self, from: UnixSeconds, seconds: u64) -> PassForecast {
        let mut forecast = PassForecast::new(from, seconds, &self.host.errors);
        if self.is_planted(WatchBug::NarrowForecasts) {
            let third = |end: UnixSeconds| UnixSeconds((forecast.likely.0 * 2 + end.0) / 3);
            (forecast.low, forecast.high) = (third(forecast.low), third(forecast.high));
        }
        forecast
    }

    /// Records the error of the forecast of a pass that is over.
    pub(crate) fn note_forecast(&mut self, now: UnixSeconds, key: &SubjectKey) {
        let Some(reading) = self.reading_mut(key) else { return };
        if let Some((forecast, seconds)) = reading.row.forecast.take() {
            let begun = forecast.likely.0.saturating_sub(seconds);
            self.host.errors.add(now.0.saturating_sub(begun) as f32 / seconds.max(1) as f32);
            self.pending.change(RowKey::Host);
        }
    }

    /// What would help a subject that is not read in time.
    pub(crate) fn help(&self, reading: &ReadingState) -> ReadingHelp {
        let open = self.open_hours();
        let allowed = reading.idle.hours_a_week(&open);
        let weeks = self.settings.every.saturating_sub(self.margin()).max(DAY) as f64 / (7 * DAY) as f64;
        let rate = reading.idle.bytes_per_second.max(1) as f64;
        let needed = Self::bytes(reading) / rate / HOUR as f64 / weeks;
        let total = reading.idle.hours_a_week(&[1.0; WEEK_HOURS]);
        let whole = |hours: f64| hours.round() as u64;
        if allowed >= needed * PLANNED_TIME_FACTOR {
            return ReadingHelp::Cause;
        }
        let (is_enough, needed, allowed) = (total > needed * PLANNED_TIME_FACTOR, whole(needed), whole(allowed));
        match is_enough {
            true => ReadingHelp::Hours { needed, allowed, total: whole(total) },
            false => ReadingHelp::Time { needed, allowed },
        }
    }
}
