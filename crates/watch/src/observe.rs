//! What the watch learns from events: disks come and go, SMART is read, sessions report.

use crate::calendar::{HOUR, after};
use crate::counters::{self, CounterHistory};
use crate::events::WatchBug;
use crate::facts::{ArrayFacts, DiskFacts, DiskKey, PassReport, SessionNews, SmartFacts, SmartReading};
use crate::health::DriveWord;
use crate::rows::RowKey;
use crate::state::{ArrayState, DiskState, SessionPhase, Watch};
use scrubjay_core::units::UnixSeconds;

/// A disk that was too hot is read again when it is so many degrees cooler.
const COOLER: i32 = 5;
/// After reads failed, the next attempt is so much later.
const READS_AGAIN: u64 = 6 * HOUR;
/// After a session could not begin, the next attempt is so much later.
const BEGIN_AGAIN: u64 = HOUR;

impl Watch {
    pub(crate) fn disk_seen(&mut self, now: UnixSeconds, mut facts: DiskFacts) {
        let is_elsewhere = self
            .disks
            .get(&facts.key)
            .is_some_and(|disk| disk.live.name.as_ref().is_some_and(|name| *name != facts.name));
        if is_elsewhere {
            // Two disks with one identity: the second is told from the first by where it is.
            facts.key = DiskKey(format!("{}@{}", facts.key, facts.name));
        }
        if self.names.get(&facts.name).is_some_and(|key| *key != facts.key) {
            self.disk_gone(now, &facts.name.clone());
        }
        let (key, name) = (facts.key.clone(), facts.name.clone());
        self.names.insert(name.clone(), key.clone());
        let disk = self.disks.entry(key.clone()).or_insert_with(|| DiskState::new(facts.clone(), now));
        if disk.row.facts.sectors != facts.sectors {
            disk.row.passes = crate::passes::PassHistory::new(facts.sectors, now);
        }
        disk.row.facts = facts;
        if disk.live.name.is_none() {
            // What was known of it while it was there before is old.
            let (row, idle) = (disk.row.clone(), disk.idle.clone());
            *disk = DiskState::restored(row, idle, now);
        }
        disk.live.name = Some(name);
        self.changed.insert(RowKey::Disk(key.clone()));
        self.is_reckoned = false;
    }

    pub(crate) fn disk_gone(&mut self, now: UnixSeconds, name: &str) {
        let Some(disk) = self.names.remove(name).and_then(|key| self.disks.get_mut(&key)) else { return };
        (disk.live.name, disk.live.since, disk.live.session) = (None, now, SessionPhase::None);
    }

    pub(crate) fn array_seen(&mut self, facts: ArrayFacts) {
        self.changed.insert(RowKey::Array(facts.key.clone()));
        self.arrays.insert(facts.key.clone(), ArrayState { facts, gone: None });
        self.is_reckoned = false;
    }

    pub(crate) fn array_gone(&mut self, now: UnixSeconds, key: &str) {
        if let Some(array) = self.arrays.get_mut(key) {
            array.gone.get_or_insert(now);
        }
    }

    pub(crate) fn smart(&mut self, now: UnixSeconds, name: &str, reading: SmartReading) {
        let limit = self.settings.celsius_max;
        let Some(disk) = self.disk_by_name(name) else { return };
        match reading {
            SmartReading::Asleep => {
                disk.live.asleep.get_or_insert(now);
                disk.live.refused = None;
            }
            SmartReading::Refused(why) => (disk.live.refused, disk.live.asleep) = (Some(why), None),
            SmartReading::Facts(facts) => {
                (disk.live.refused, disk.live.asleep) = (None, None);
                note_temperature(disk, &facts, limit);
                disk.live.is_self_testing = facts.is_self_testing;
                for (kind, value) in counters::decode(&facts) {
                    let history = disk.row.counters.entry(kind).or_insert(CounterHistory::new(value));
                    history.read(now, value);
                }
                disk.row.word = word(&facts);
                disk.row.smart_read = now;
                let key = RowKey::Disk(disk.row.facts.key.clone());
                self.changed.insert(key);
            }
        }
    }

    pub(crate) fn idle_hour(&mut self, name: &str, hour: usize, share: f32) {
        if let Some(disk) = self.disk_by_name(name) {
            disk.idle.observe(hour, share);
        }
    }

    pub(crate) fn session(&mut self, now: UnixSeconds, name: &str, news: SessionNews) {
        let is_hasty = self.is_planted(WatchBug::StoppedIsFinished);
        let Some(disk) = self.disk_by_name(name) else { return };
        let (sectors, before) = (disk.row.passes.sectors, disk.row.passes.clone());
        let report = match &news {
            SessionNews::Refused(why) => {
                disk.live.session = SessionPhase::None;
                disk.live.refusal = Some((why.clone(), after(now, BEGIN_AGAIN)));
                return;
            }
            SessionNews::Progress(report)
            | SessionNews::Finished(report)
            | SessionNews::Stopped(report)
            | SessionNews::Failed(report) => report,
        };
        if report.pass != 0 && report.pass != disk.row.passes.finished + 1 {
            // Of a pass that is over.
            if !matches!(news, SessionNews::Progress(_)) {
                disk.live.session = SessionPhase::None;
            }
            return;
        }
        if disk.row.passes.begun.0 == 0 {
            disk.row.passes.begin(now); // a session that somebody else began
        }
        note_reads(disk, report, sectors);
        match &news {
            SessionNews::Progress(report) => {
                disk.row.passes.report(now, report);
                if disk.live.session == SessionPhase::None {
                    disk.live.session = SessionPhase::Running;
                }
            }
            SessionNews::Stopped(report) if is_hasty => disk.row.passes.finish(now, report),
            SessionNews::Stopped(report) => disk.row.passes.report(now, report),
            SessionNews::Failed(report) => {
                disk.row.passes.report(now, report);
                disk.row.failed_sessions += 1;
                disk.live.reads_again = after(now, READS_AGAIN);
            }
            SessionNews::Refused(_) => {} // it has no report: see above
            SessionNews::Finished(report) => {
                disk.row.failed_sessions = 0;
                note_service(disk, report.service_nanos);
                disk.row.passes.finish(now, report);
            }
        }
        if !matches!(news, SessionNews::Progress(_)) {
            disk.live.session = SessionPhase::None;
        }
        let passes = &disk.row.passes;
        let is_news = !matches!(news, SessionNews::Progress(_))
            || passes.read != before.read
            || passes.touched != before.touched
            || passes.unreadable != before.unreadable;
        let key = disk.row.facts.key.clone();
        if matches!(news, SessionNews::Finished(_)) {
            self.note_forecast(now, &key);
            self.is_reckoned = false;
        }
        if is_news {
            self.changed.insert(RowKey::Disk(key));
        }
    }
}

fn note_temperature(disk: &mut DiskState, facts: &SmartFacts, limit: i32) {
    disk.live.celsius = counters::celsius(facts);
    let Some(celsius) = disk.live.celsius else {
        disk.live.is_hot = false; // nobody measures it
        return;
    };
    if celsius > limit {
        disk.live.is_hot = true;
    } else if celsius <= limit - COOLER {
        disk.live.is_hot = false;
    }
}

fn note_reads(disk: &mut DiskState, report: &PassReport, sectors: u64) {
    disk.idle.measure(report.bytes_per_second);
    if report.done > disk.row.passes.done && sectors > 0 {
        disk.row.failed_sessions = 0; // it does answer
    }
}

fn note_service(disk: &mut DiskState, nanos: u64) {
    if nanos > 0 {
        disk.row.service_last = nanos;
        if disk.row.service_first.len() < 3 {
            disk.row.service_first.push(nanos);
        }
    }
}

pub(crate) fn word(facts: &SmartFacts) -> DriveWord {
    let nvme = facts.nvme;
    DriveWord {
        passed: facts.passed,
        nvme_warning: nvme.map_or(0, |log| log.critical_warning),
        spare_low: nvme.filter(|log| log.spare < log.spare_threshold).map(|log| log.spare),
        used: nvme.map_or(0, |log| log.used),
        is_self_test_failed: facts.is_self_test_failed,
    }
}
