//! Which disk is read now, and what holds the others back.

use crate::calendar::{DAY, HOUR, MINUTE, WEEK_HOURS, after};
use crate::events::{WatchBug, WatchOp};
use crate::facts::{ArrayActivity, ArrayFacts, DiskKey};
use crate::forecast::PassForecast;
use crate::hold::HoldBack;
use crate::rows::RowKey;
use crate::settings;
use crate::state::{DiskState, SessionPhase, Watch};
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

    /// The bytes of a disk.
    fn bytes(disk: &DiskState) -> f64 {
        disk.row.passes.sectors as f64 * SECTOR_BYTES as f64
    }

    /// How long each disk's pass takes, and when it must begin so that it, and those that wait for it (members of one array; disks
    /// behind one controller), are read by their dates: the latest schedule in the order of the dates, from the last one back.
    pub(crate) fn reckon_needs(&mut self, now: UnixSeconds) {
        let open = self.open_hours();
        let hour = self.calendar.local(now).week_hour();
        for disk in self.disks.values_mut() {
            disk.live.need = disk.idle.seconds_for(Self::bytes(disk), hour, &open);
        }
        let mut controllers: BTreeMap<&str, Vec<&DiskKey>> = BTreeMap::new();
        for (key, disk) in self.disks.iter().filter(|(_, disk)| disk.live.name.is_some()) {
            if let Some(controller) = &disk.row.facts.controller {
                controllers.entry(controller).or_default().push(key);
            }
        }
        let members = |array: &'_ ArrayFacts| -> Vec<&DiskKey> {
            array.members.iter().filter_map(|member| self.names.get(member.disk.as_deref()?)).collect()
        };
        let alone = self.disks.keys().map(|key| (vec![key], 1));
        let arrays = self.arrays_there().map(|array| (members(array), 1));
        let behind = controllers.into_values().map(|keys| (keys, self.settings.controller_max.max(1) as u64));
        let mut latest: BTreeMap<DiskKey, UnixSeconds> = BTreeMap::new();
        for (keys, at_a_time) in alone.chain(arrays).chain(behind) {
            let due = |key: &DiskKey| self.disks[key].row.passes.planned_due(self.settings.every);
            let mut by_date: Vec<(UnixSeconds, &DiskKey)> = keys.into_iter().map(|key| (due(key), key)).collect();
            by_date.sort();
            let mut next = UnixSeconds(u64::MAX);
            for (due, key) in by_date.into_iter().rev() {
                let need = self.disks[key].live.need.unwrap_or(self.settings.every);
                next = UnixSeconds(next.min(due).0.saturating_sub((need as f64 * PATIENCE) as u64 / at_a_time));
                let begin = latest.entry(key.clone()).or_insert(next);
                *begin = next.min(*begin);
            }
        }
        for (key, begin) in latest {
            if let Some(disk) = self.disks.get_mut(&key) {
                disk.live.begin_by = begin;
            }
        }
    }

    /// When the pass to come should begin: a margin before it must, and spread.
    fn should_begin(&self, disk: &DiskState) -> UnixSeconds {
        let spread = (disk.row.facts.key.spread() * SPREAD as f64) as u64;
        UnixSeconds(disk.live.begin_by.0.saturating_sub(self.margin() + spread))
    }

    /// When the next pass of a disk begins. The first one at once, but for the spread: nobody has read the disk yet.
    pub(crate) fn begins(&self, disk: &DiskState) -> UnixSeconds {
        let passes = &disk.row.passes;
        match passes.is_read() {
            true => self.should_begin(disk),
            false => after(passes.known_since, (disk.row.facts.key.spread() * FIRST_SPREAD) as u64),
        }
    }

    /// What holds a disk back by itself, whether or not it is being read.
    pub(crate) fn held(&self, disk: &DiskState, now: UnixSeconds) -> Option<HoldBack> {
        let Some(name) = disk.live.name.as_deref() else { return Some(HoldBack::Missing) };
        if disk.live.is_resized {
            return Some(HoldBack::Resized);
        }
        if self.host.paused_until > now && !self.is_planted(WatchBug::IgnorePause) {
            return Some(HoldBack::Paused(self.host.paused_until));
        }
        if self.is_on_battery {
            return Some(HoldBack::OnBattery);
        }
        let is_heeded = !self.is_planted(WatchBug::IgnoreArrays);
        for array in self.arrays_there().filter(|array| is_heeded && array.has(name)) {
            let of = array.name.clone();
            match array.activity {
                ArrayActivity::Rebuilding => return Some(HoldBack::Rebuilding(of)),
                ArrayActivity::Checking => return Some(HoldBack::OtherCheck(of)),
                ArrayActivity::Idle if array.is_degraded() => return Some(HoldBack::Degraded(of)),
                ArrayActivity::Idle => {}
            }
        }
        if disk.is_self_testing(now) {
            return Some(HoldBack::SelfTest);
        }
        if disk.is_hot(now) {
            return Some(HoldBack::TooHot(disk.live.celsius.unwrap_or_default()));
        }
        if disk.live.reads_again > now {
            return Some(HoldBack::NoReads(disk.live.reads_again));
        }
        if let Some((why, again)) = disk.live.refusal.as_ref().filter(|(_, again)| *again > now) {
            return Some(HoldBack::Refused(why.clone(), *again));
        }
        let hours = self.settings.between.filter(|_| !self.is_planted(WatchBug::IgnoreHours));
        let hours = hours.filter(|hours| !hours.holds(now, &*self.calendar));
        if let Some(hours) = hours {
            return Some(HoldBack::WindowClosed(hours.next_edge(now, &*self.calendar)));
        }
        // One that is being read is awake, whatever was heard of it before.
        if disk.live.asleep.is_some() && disk.live.session == SessionPhase::None && now < self.should_begin(disk) {
            // It is woken so early that its pass ends in time.
            return Some(HoldBack::Asleep(self.should_begin(disk)));
        }
        None
    }

    /// Who else is being read that may not be read beside it.
    fn in_the_way(&self, disk: &DiskState) -> Option<HoldBack> {
        let name = disk.live.name.as_deref()?;
        let is_busy = |other: &DiskState| other.is_busy() && other.row.facts.key != disk.row.facts.key;
        if !self.is_planted(WatchBug::ReadMembersTogether) {
            let mut arrays = self.arrays_there().filter(|array| array.has(name));
            let busy = arrays.find(|array| {
                let others = array.members.iter().filter_map(|member| self.names.get(member.disk.as_deref()?));
                others.filter_map(|key| self.disks.get(key)).any(is_busy)
            });
            if let Some(array) = busy {
                return Some(HoldBack::MemberBusy(array.name.clone()));
            }
        }
        let controller = disk.row.facts.controller.as_ref()?;
        let beside = self.disks.values().filter(|other| other.row.facts.controller.as_ref() == Some(controller));
        let is_full = beside.filter(|other| is_busy(other)).count() >= self.settings.controller_max.max(1);
        (is_full && !self.is_planted(WatchBug::IgnoreController)).then_some(HoldBack::ControllerBusy)
    }

    /// What holds a disk back that is not being read; none: it could begin.
    pub(crate) fn hold_back(&self, disk: &DiskState, now: UnixSeconds) -> Option<HoldBack> {
        let begins = self.begins(disk);
        if disk.live.name.is_some() && disk.row.passes.sectors == 0 {
            return Some(HoldBack::SizeUnknown);
        }
        if disk.live.name.is_some() && disk.row.passes.begun.0 == 0 && now < begins {
            return Some(HoldBack::NotDue(begins));
        }
        self.held(disk, now).or_else(|| self.in_the_way(disk))
    }

    /// Stops what must not go on, and begins what may, the oldest first.
    pub(crate) fn schedule(&mut self, now: UnixSeconds) {
        let mut waiting: Vec<(UnixSeconds, DiskKey)> = Vec::new();
        let mut stops = Vec::new();
        let mut wake = after(now, DAY);
        for (key, disk) in &self.disks {
            match disk.live.session {
                SessionPhase::Running => {
                    let hangs = disk.hangs().then_some(HoldBack::Hangs);
                    stops.extend(hangs.or_else(|| self.held(disk, now)).map(|why| (key.clone(), why)));
                }
                SessionPhase::Stopping => wake = wake.min(after(now, LOOK_AGAIN)),
                SessionPhase::Foreign => {}
                SessionPhase::None => match self.hold_back(disk, now) {
                    None | Some(HoldBack::MemberBusy(_) | HoldBack::ControllerBusy) => {
                        waiting.push((disk.row.passes.due(self.settings.every), key.clone()));
                    }
                    Some(why) => wake = wake.min(why.until().unwrap_or(wake)),
                },
            }
        }
        if let Some(hours) = self.settings.between {
            wake = wake.min(hours.next_edge(now, &*self.calendar));
        }
        for (key, why) in stops {
            let Some(disk) = self.disks.get_mut(&key) else { continue };
            // One that hung before it was told to end hangs on.
            disk.live.silence = if disk.hangs() { disk.live.silence } else { 0 };
            disk.live.session = SessionPhase::Stopping;
            wake = after(now, LOOK_AGAIN);
            self.acts.extend(disk.live.name.clone().map(|name| WatchOp::StopSession(name, why)));
        }
        self.wake_at(wake);
        waiting.sort();
        for (_, key) in waiting {
            if self.in_the_way(&self.disks[&key]).is_none() {
                self.begin(now, &key);
            }
        }
    }

    fn begin(&mut self, now: UnixSeconds, key: &DiskKey) {
        let is_new = self.disks[key].row.passes.begun.0 == 0;
        let forecast = if is_new { self.forecast_of(&self.disks[key], now) } else { None };
        let Some(disk) = self.disks.get_mut(key) else { return };
        if is_new {
            disk.row.forecast = forecast;
        }
        disk.row.passes.begin(now);
        (disk.live.session, disk.live.refusal) = (SessionPhase::Running, None);
        (disk.live.silence, disk.live.is_heard) = (0, false);
        disk.live.done_before = disk.row.passes.done;
        let (pass, begun) = (disk.row.passes.finished + 1, disk.row.passes.begun);
        let budget: Nanos = settings::budget(disk.row.facts.media);
        self.acts.extend(disk.live.name.clone().map(|name| WatchOp::BeginSession(name, pass, begun, budget)));
        self.changed.insert(RowKey::Disk(key.clone()));
    }

    /// Seconds that the rest of a pass takes from now on, most likely.
    pub(crate) fn rest_seconds(&self, disk: &DiskState, now: UnixSeconds) -> Option<u64> {
        let hour = self.calendar.local(now).week_hour();
        disk.idle.seconds_for(Self::bytes(disk) * disk.row.passes.rest(), hour, &self.open_hours())
    }

    /// When a pass will end that goes on, or begins, now; and how many seconds that most likely are.
    fn forecast_of(&self, disk: &DiskState, now: UnixSeconds) -> Option<(PassForecast, u64)> {
        let seconds = self.rest_seconds(disk, now)?;
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
    pub(crate) fn note_forecast(&mut self, now: UnixSeconds, key: &DiskKey) {
        let Some(disk) = self.disks.get_mut(key) else { return };
        if let Some((forecast, seconds)) = disk.row.forecast.take() {
            let begun = forecast.likely.0.saturating_sub(seconds);
            self.host.errors.add(now.0.saturating_sub(begun) as f32 / seconds.max(1) as f32);
            self.changed.insert(RowKey::Host);
        }
    }

    /// What would help a disk that is not read in time.
    pub(crate) fn help(&self, disk: &DiskState) -> String {
        let open = self.open_hours();
        let seen = disk.idle.hours_a_week(&open);
        let weeks = self.settings.every.saturating_sub(self.margin()).max(DAY) as f64 / (7 * DAY) as f64;
        let read = disk.idle.bytes_per_second.max(1) as f64;
        let needs = Self::bytes(disk) / read / HOUR as f64 / weeks;
        let all = disk.idle.hours_a_week(&[1.0; WEEK_HOURS]);
        let even = Self::bytes(disk) / (weeks * (7 * DAY) as f64) / 1e6;
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
