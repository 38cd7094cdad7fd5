//! Which disk, or array, is read now, and what holds the others back.

use crate::calendar::{DAY, HOUR, MINUTE, WEEK_HOURS, after};
use crate::events::{WatchBug, WatchOp};
use crate::facts::{ArrayActivity, ArrayFacts, MediaKind, SubjectKey};
use crate::forecast::PassForecast;
use crate::hold::HoldBack;
use crate::reading::{ReadingState, SessionPhase};
use crate::rows::RowKey;
use crate::settings;
use crate::state::{DiskState, Watch};
use crate::subject::WatchedSubject;
use scrubjay_core::units::{Nanos, SECTOR_BYTES, UnixSeconds};
use std::collections::BTreeMap;

/// Passes are planned to end so long before they are due; whatever is not read then is spoken of. A week, and a day for the
/// message to be late.
pub const MARGIN: u64 = 8 * DAY;
/// A pass is given so many times the time that it most likely takes.
const PATIENCE: f64 = 1.5;
/// Passes that would begin at one time are spread over so long.
const SPREAD: u64 = 3 * DAY;
/// First passes begin within this, in seconds: whoever has just installed it wants to see that it reads.
const FIRST_SPREAD: f64 = HOUR as f64;

/// While a session is to end, it is looked after so often.
const LOOK_AGAIN: u64 = 10 * MINUTE;

impl Watch {
    /// The margin, of settings with shorter terms in proportion.
    pub(crate) fn margin(&self) -> u64 {
        MARGIN.min(self.settings.every / 4)
    }

    /// How much of each hour of the week the hours leave.
    fn open_hours(&self) -> [f32; WEEK_HOURS] {
        let hours = self.settings.between;
        std::array::from_fn(|hour| hours.map_or(1.0, |hours| hours.share_of_hour((hour % 24) as u32) as f32))
    }

    /// The bytes of a disk, or of what an array's checker goes over.
    fn bytes(reading: &ReadingState) -> f64 {
        reading.row.passes.sectors as f64 * SECTOR_BYTES as f64
    }

    /// How long each pass takes, and when it must begin so that it, and those that wait for it (an array and its members; disks
    /// behind one controller), are read by their dates: the latest schedule in the order of the dates, from the last one back.
    pub(crate) fn reckon_needs(&mut self, now: UnixSeconds) {
        let open = self.open_hours();
        let hour = self.calendar.local(now).week_hour();
        for reading in self.readings_mut() {
            reading.live.need = reading.idle.seconds_for(Self::bytes(reading), hour, &open);
        }
        let mut controllers: BTreeMap<&str, Vec<WatchedSubject<'_>>> = BTreeMap::new();
        for disk in self.disks.values().filter(|disk| disk.live.name.is_some()) {
            if let Some(controller) = &disk.row.facts.controller {
                controllers.entry(controller).or_default().push(WatchedSubject::Disk(disk));
            }
        }
        let in_array = |array: &ArrayFacts| -> Vec<WatchedSubject<'_>> {
            self.subjects().filter(|subject| subject.is_there() && subject.is_in(array)).collect()
        };
        let alone = self.subjects().map(|subject| (vec![subject], 1));
        let arrays = self.arrays_there().map(|array| (in_array(array), 1));
        let behind = controllers.into_values().map(|disks| (disks, self.settings.controller_max.max(1) as u64));
        let mut latest: BTreeMap<SubjectKey, UnixSeconds> = BTreeMap::new();
        for (subjects, at_a_time) in alone.chain(arrays).chain(behind) {
            let due = |subject: &WatchedSubject<'_>| subject.reading().row.passes.planned_due(self.settings.every);
            let mut by_date: Vec<_> = subjects.iter().map(|subject| (due(subject), subject.key(), subject)).collect();
            by_date.sort_by(|one, other| (one.0, &one.1).cmp(&(other.0, &other.1)));
            let mut next = UnixSeconds(u64::MAX);
            for (due, key, subject) in by_date.into_iter().rev() {
                let need = subject.reading().live.need.unwrap_or(self.settings.every);
                next = UnixSeconds(next.min(due).0.saturating_sub((need as f64 * PATIENCE) as u64 / at_a_time));
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

    /// When the pass to come should begin: a margin before it must, and spread.
    fn should_begin(&self, subject: WatchedSubject<'_>) -> UnixSeconds {
        let spread = (subject.spread() * SPREAD as f64) as u64;
        UnixSeconds(subject.reading().live.begin_by.0.saturating_sub(self.margin() + spread))
    }

    /// When the next pass begins. The first one at once, but for the spread: nobody has read it yet.
    pub(crate) fn begins(&self, subject: WatchedSubject<'_>) -> UnixSeconds {
        let passes = &subject.reading().row.passes;
        match passes.is_read() {
            true => self.should_begin(subject),
            false => after(passes.known_since, (subject.spread() * FIRST_SPREAD) as u64),
        }
    }

    /// The disks that are read with a subject: itself, or the members of an array that are there.
    fn disks_of<'a>(&'a self, subject: WatchedSubject<'a>) -> Vec<&'a DiskState> {
        match subject {
            WatchedSubject::Disk(disk) => vec![disk],
            WatchedSubject::Array(array, _) => {
                let names = array.facts.members.iter().filter_map(|member| member.disk.as_deref());
                names.filter_map(|name| self.disks.get(self.names.get(name)?)).collect()
            }
        }
    }

    /// What holds a subject back by itself, whether or not it is being read.
    pub(crate) fn held(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<HoldBack> {
        let reading = subject.reading();
        if !subject.is_there() {
            return Some(HoldBack::Missing);
        }
        if reading.live.is_resized {
            return Some(HoldBack::Resized);
        }
        if self.host.paused_until > now && !self.is_planted(WatchBug::IgnorePause) {
            return Some(HoldBack::Paused(self.host.paused_until));
        }
        if self.is_on_battery {
            return Some(HoldBack::OnBattery);
        }
        let is_heeded = !self.is_planted(WatchBug::IgnoreArrays);
        for array in self.arrays_there().filter(|array| is_heeded && subject.is_in(array)) {
            let of = || array.name.clone();
            match array.activity {
                ArrayActivity::Rebuilding => return Some(HoldBack::Rebuilding(of())),
                ArrayActivity::Checking => return Some(HoldBack::OtherCheck(of())),
                ArrayActivity::Idle if array.is_degraded() => return Some(HoldBack::Degraded(of())),
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
        if reading.live.reads_again > now {
            return Some(HoldBack::NoReads(reading.live.reads_again));
        }
        if let Some((why, again)) = reading.live.refusal.as_ref().filter(|(_, again)| *again > now) {
            return Some(HoldBack::Refused(why.clone(), *again));
        }
        let hours = self.settings.between.filter(|_| !self.is_planted(WatchBug::IgnoreHours));
        let hours = hours.filter(|hours| !hours.holds(now, &*self.calendar));
        if let Some(hours) = hours {
            return Some(HoldBack::WindowClosed(hours.next_edge(now, &*self.calendar)));
        }
        // One that is being read is awake, whatever was heard of it before.
        let is_asleep = disks.iter().any(|disk| disk.live.asleep.is_some());
        if is_asleep && reading.live.session == SessionPhase::None && now < self.should_begin(subject) {
            // It is woken so early that its pass ends in time.
            return Some(HoldBack::Asleep(self.should_begin(subject)));
        }
        None
    }

    /// Who else is being read that may not be read beside it.
    fn in_the_way(&self, subject: WatchedSubject<'_>) -> Option<HoldBack> {
        let key = subject.key();
        let is_busy = |other: &WatchedSubject<'_>| other.reading().is_busy() && other.key() != key;
        if !self.is_planted(WatchBug::ReadMembersTogether) {
            for array in self.arrays_there().filter(|array| subject.is_in(array)) {
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
        // An array's check reads all members at once, however many those are: beside it nothing else is read there.
        let is_full = self
            .subjects()
            .filter(is_busy)
            .any(|other| matches!(other, WatchedSubject::Array(..)) && self.disks_of(other).into_iter().any(is_behind));
        let beside = self.disks.values().filter(|other| is_behind(other) && is_busy(&WatchedSubject::Disk(other)));
        let is_full = is_full || beside.count() >= self.settings.controller_max.max(1);
        (is_full && !self.is_planted(WatchBug::IgnoreController)).then_some(HoldBack::ControllerBusy)
    }

    /// What holds a subject back that is not being read; none: it could begin.
    pub(crate) fn hold_back(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<HoldBack> {
        let (begins, passes) = (self.begins(subject), &subject.reading().row.passes);
        if subject.is_there() && passes.sectors == 0 {
            return Some(HoldBack::SizeUnknown);
        }
        let is_wanted = subject.reading().live.is_wanted;
        if subject.is_there() && passes.begun.0 == 0 && now < begins && !is_wanted {
            // Within its hours.
            let opens = self.settings.between.filter(|hours| !hours.holds(begins, &*self.calendar));
            let begins = opens.map_or(begins, |hours| hours.next_edge(begins, &*self.calendar));
            let paused = self.host.paused_until;
            let is_paused = begins < paused && !self.is_planted(WatchBug::IgnorePause);
            return Some(if is_paused { HoldBack::Paused(paused) } else { HoldBack::NotDue(begins) });
        }
        self.held(subject, now).or_else(|| self.in_the_way(subject))
    }

    /// A person wants this subject to be read now: its pass begins, which a restart does not forget, and it comes before others that wait.
    /// Whatever holds it back but its turn holds it back as before.
    pub(crate) fn bring_forward(&mut self, now: UnixSeconds, key: &SubjectKey) {
        if !self.subject(key).is_some_and(WatchedSubject::is_there) {
            return;
        }
        let Some(reading) = self.reading_mut(key).filter(|reading| reading.row.passes.sectors > 0) else { return };
        reading.live.is_wanted = true;
        // What a session reads is dated by its reports: nothing may come between them.
        if reading.live.session == SessionPhase::None && reading.row.passes.begun.0 == 0 {
            reading.row.passes.begin(now);
            self.changed.insert(RowKey::Reading(key.clone()));
        }
    }

    /// Stops what must not go on, and begins what may: what a person wants, then the oldest first.
    pub(crate) fn schedule(&mut self, now: UnixSeconds) {
        let mut waiting: Vec<(bool, UnixSeconds, SubjectKey)> = Vec::new();
        let mut stops = Vec::new();
        let mut wake = after(now, DAY);
        for subject in self.subjects() {
            let reading = subject.reading();
            match reading.live.session {
                SessionPhase::Running => {
                    let hangs = reading.hangs().then_some(HoldBack::Hangs);
                    stops.extend(hangs.or_else(|| self.held(subject, now)).map(|why| (subject.key(), why)));
                }
                SessionPhase::Stopping => wake = wake.min(after(now, LOOK_AGAIN)),
                SessionPhase::Foreign => {}
                SessionPhase::None => match self.hold_back(subject, now) {
                    None | Some(HoldBack::MemberBusy(_) | HoldBack::ArrayBusy(_) | HoldBack::ControllerBusy) => {
                        let due = reading.row.passes.due(self.settings.every);
                        waiting.push((!reading.live.is_wanted, due, subject.key()));
                    }
                    Some(why) => wake = wake.min(why.until().unwrap_or(wake)),
                },
            }
        }
        if let Some(hours) = self.settings.between {
            wake = wake.min(hours.next_edge(now, &*self.calendar));
        }
        for (key, why) in stops {
            let name = self.subject(&key).and_then(WatchedSubject::name);
            let Some(reading) = self.reading_mut(&key) else { continue };
            // One that hung before it was told to end hangs on.
            reading.live.silence = if reading.hangs() { reading.live.silence } else { 0 };
            reading.live.session = SessionPhase::Stopping;
            wake = after(now, LOOK_AGAIN);
            self.acts.extend(name.map(|name| WatchOp::StopSession(name, why)));
        }
        self.wake_at(wake);
        waiting.sort();
        // Members of an array that waits for the last of them do not begin anew before it.
        let mut kept: Vec<String> = Vec::new();
        for (.., key) in waiting {
            let Some(subject) = self.subject(&key) else { continue };
            let is_kept = self
                .disks_of(subject)
                .iter()
                .any(|disk| disk.live.name.as_ref().is_some_and(|name| kept.contains(name)));
            if !is_kept && self.in_the_way(subject).is_none() {
                self.begin(now, &key);
            } else if let WatchedSubject::Array(array, _) = subject {
                kept.extend(array.facts.members.iter().filter_map(|member| member.disk.clone()));
            }
        }
    }

    /// What a session on a subject may cost the requests of others.
    pub(crate) fn budget_of(&self, subject: WatchedSubject<'_>) -> Nanos {
        let media = match subject {
            WatchedSubject::Disk(disk) => disk.row.facts.media,
            // What others feel of an array's check is what the slowest of its members makes them wait.
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
        // One that a person asked for begins to be read only here.
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
        (reading.live.silence, reading.live.is_heard) = (0, false);
        reading.live.done_before = reading.row.passes.done;
        let (pass, begun) = (reading.row.passes.finished + 1, reading.row.passes.begun);
        self.acts.extend(name.map(|name| WatchOp::BeginSession(name, pass, begun, budget)));
        self.changed.insert(RowKey::Reading(key.clone()));
    }

    /// Seconds that the rest of a pass takes from now on, most likely.
    pub(crate) fn rest_seconds(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<u64> {
        let hour = self.calendar.local(now).week_hour();
        let reading = subject.reading();
        reading.idle.seconds_for(Self::bytes(reading) * reading.row.passes.rest(), hour, &self.open_hours())
    }

    /// When a pass will end that goes on, or begins, now; and how many seconds that most likely are.
    fn forecast_of(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<(PassForecast, u64)> {
        let seconds = self.rest_seconds(subject, now)?;
        Some((self.forecast_from(now, seconds), seconds))
    }

    /// When something will end that most likely takes so many seconds from `from` on.
    pub(crate) fn forecast_from(&self, from: UnixSeconds, seconds: u64) -> PassForecast {
        let mut forecast = PassForecast::new(from, seconds, &self.host.errors);
        if self.is_planted(WatchBug::NarrowForecasts) {
            let third = |end: UnixSeconds| UnixSeconds((forecast.likely.0 * 2 + end.0) / 3);
            (forecast.low, forecast.high) = (third(forecast.low), third(forecast.high));
        }
        forecast
    }

    /// A pass is over: how wrong was what was said when it began?
    pub(crate) fn note_forecast(&mut self, now: UnixSeconds, key: &SubjectKey) {
        let Some(reading) = self.reading_mut(key) else { return };
        if let Some((forecast, seconds)) = reading.row.forecast.take() {
            let begun = forecast.likely.0.saturating_sub(seconds);
            self.host.errors.add(now.0.saturating_sub(begun) as f32 / seconds.max(1) as f32);
            self.changed.insert(RowKey::Host);
        }
    }

    /// What would help a disk that is not read in time.
    pub(crate) fn help(&self, reading: &ReadingState) -> String {
        let open = self.open_hours();
        let seen = reading.idle.hours_a_week(&open);
        let weeks = self.settings.every.saturating_sub(self.margin()).max(DAY) as f64 / (7 * DAY) as f64;
        let read = reading.idle.bytes_per_second.max(1) as f64;
        let needs = Self::bytes(reading) / read / HOUR as f64 / weeks;
        let all = reading.idle.hours_a_week(&[1.0; WEEK_HOURS]);
        let even = Self::bytes(reading) / (weeks * (7 * DAY) as f64) / 1e6;
        if seen >= needs * PATIENCE {
            return "there is enough idle time: what holds it back is the cause".to_owned();
        }
        if all > needs * PATIENCE {
            return format!(
                "allow more hours: it needs {needs:.0} idle hours a week, its hours have {seen:.0} of {all:.0}"
            );
        }
        format!(
            "it is idle {seen:.0} of the {needs:.0} hours a week it needs: raise its budget (read at {even:.1} MB/s all day)"
        )
    }
}
