//! What the watch learns from events: SMART readings and reports of sessions.

use crate::calendar::{HOUR, MINUTE, after};
use crate::counters::{self, CounterHistory};
use crate::events::WatchBug;
use crate::facts::{
    MediaKind, PassReport, SessionNews, SessionSubject, SmartFacts, SmartReading, SmartRefusal, SubjectKey,
};
use crate::health::DriveReport;
use crate::reading::{ReadingState, SessionPhase};
use crate::rows::{RowKey, SessionRefusal};
use crate::state::{DiskLive, DiskState, Watch};
use scrubjay_core::units::UnixSeconds;

/// Degrees Celsius by which a disk that was too hot must cool down before it is read again.
const COOL_DOWN: i32 = 5;
/// Seconds until the next attempt after reads failed.
const READS_RETRY: u64 = 6 * HOUR;
/// Sessions in sequence without progress after which a pass that covers most of the disk is closed without the rest.
const CLOSED_AFTER: u32 = 3;
/// Seconds until the next attempt after a session could not begin, or ended by itself without progress.
const BEGIN_RETRY: u64 = HOUR;
/// Seconds until the next attempt after a session ended by itself with progress.
const PROGRESS_RETRY: u64 = MINUTE;

impl Watch {
    /// Takes the result of a SMART reading. Returns whether anything in it has changed since the last one.
    pub(crate) fn smart(&mut self, now: UnixSeconds, name: &str, reading: SmartReading) -> bool {
        let (spinning, flash) = (self.settings.celsius_max, self.settings.celsius_max_flash);
        let Some(disk) = self.disk_by_name(name) else { return false };
        let limit = if disk.row.facts.media == MediaKind::Flash { flash } else { spinning };
        if disk.live.smart_requested.0 == 0 {
            return false; // this disk was not asked yet: the answer is of the disk that had the name before
        }
        let mut is_news = !std::mem::replace(&mut disk.live.is_answered, true);
        let state = |disk: &DiskState| {
            let DiskLive { refused, asleep, is_hot, is_self_testing, .. } = disk.live;
            (refused, asleep, is_hot, is_self_testing, disk.row.word.clone(), disk.row.unknown_since)
        };
        let before = state(disk);
        let unknown_since = disk.row.unknown_since;
        match reading {
            SmartReading::Asleep => {
                disk.live.asleep.get_or_insert(now);
                (disk.live.refused, disk.live.is_hot, disk.live.is_self_testing) = (None, false, false);
            }
            SmartReading::Refused(reason) => {
                (disk.live.refused, disk.live.asleep) = (Some(reason), None);
                if unknown_since.0 == 0 {
                    disk.row.unknown_since = now;
                }
                (disk.live.is_hot, disk.live.is_self_testing) = (false, false);
            }
            SmartReading::Facts(facts) if !facts.has_health_data() => {
                (disk.live.smart_received, disk.live.is_self_testing) = (now, facts.is_self_testing);
                note_temperature(disk, &facts, limit);
                (disk.live.refused, disk.live.asleep) = (Some(SmartRefusal::NotSupported), None);
                if unknown_since.0 == 0 {
                    disk.row.unknown_since = now;
                }
            }
            SmartReading::Facts(facts) => {
                disk.live.smart_received = now;
                (disk.live.refused, disk.live.asleep) = (None, None);
                note_temperature(disk, &facts, limit);
                disk.live.is_self_testing = facts.is_self_testing;
                for (kind, value) in counters::decode(&facts) {
                    is_news |= disk.row.counters.get(&kind).is_none_or(|history| history.value != value);
                    let history = disk.row.counters.entry(kind).or_insert(CounterHistory::new(value));
                    history.read(now, value, kind.only_rises());
                }
                disk.row.word = drive_word(&facts).after(&disk.row.word, facts.nvme.is_some());
                (disk.row.smart_read, disk.row.unknown_since) = (now, UnixSeconds(0));
            }
        }
        is_news |= state(disk) != before;
        let key = RowKey::Disk(disk.row.facts.key.clone());
        if disk.row.unknown_since != unknown_since || disk.row.smart_read == now {
            self.changed.insert(key);
        }
        is_news
    }

    pub(crate) fn idle_hour(&mut self, subject: &SessionSubject, hour: usize, share: f32) {
        let key = self.key_of(subject);
        if let Some(reading) = key.and_then(|key| self.reading_mut(&key)) {
            reading.idle.observe(hour, share);
        }
    }

    pub(crate) fn session(&mut self, now: UnixSeconds, subject: &SessionSubject, news: SessionNews) {
        let stop_finishes = self.is_planted(WatchBug::StoppedIsFinished);
        let Some(key) = self.key_of(subject) else { return };
        let Some(reading) = self.reading_mut(&key) else { return };
        let is_own_session =
            reading.live.session != SessionPhase::None && reading.live.session != SessionPhase::Foreign;
        let before = reading.row.passes.clone();
        match (news.report(), &news) {
            (None, SessionNews::Refused(reason)) if is_own_session => {
                reading.live.session = SessionPhase::None;
                delay_next_session(reading, now, reason);
            }
            (None, _) => return, // of a session that the watch did not begin
            (Some(report), _) if report.pass == 0 => take_foreign_news(reading, now, &news, report),
            (Some(report), _) if reading.live.is_resized && report.pass == before.finished + 1 && news.is_end() => {
                (reading.live.session, reading.live.is_resized) = (SessionPhase::None, false);
            }
            (Some(report), _) if is_current(reading, report) => take_news(reading, now, &news, report, stop_finishes),
            _ => return, // of a pass that is over, or of another disk that had the name
        }
        let passes = &reading.row.passes;
        let is_news = news.is_end()
            || passes.read != before.read
            || passes.touched != before.touched
            || passes.known_unreadable() != before.known_unreadable()
            || passes.known_flaws() != before.known_flaws();
        let is_pass_over = passes.finished != before.finished;
        if is_pass_over {
            self.note_forecast(now, &key);
            self.are_passes_planned = false;
            self.reading_mut(&key).into_iter().for_each(|reading| reading.live.is_wanted = false);
        }
        if is_news {
            self.changed.insert(RowKey::Reading(key.clone()));
        }
        if let (SubjectKey::Disk(key), SessionNews::Finished(report)) = (key, &news)
            && is_pass_over
            && report.service_nanos > 0
            && let Some(disk) = self.disks.get_mut(&key)
        {
            note_service(disk, report.service_nanos);
            self.changed.insert(RowKey::Disk(key));
        }
    }
}

/// Is this report of the pass that is under way? The date in the report decides; if it has none, the pump vouches for
/// it while the session runs.
fn is_current(reading: &ReadingState, report: &PassReport) -> bool {
    let passes = &reading.row.passes;
    let is_running = matches!(reading.live.session, SessionPhase::Running | SessionPhase::Stopping);
    let is_of_this_pass = if report.begun.0 == 0 { is_running } else { report.begun >= passes.begun };
    passes.begun.0 > 0 && report.pass == passes.finished + 1 && is_of_this_pass && !reading.live.is_resized
}

/// Takes news of the pass that is under way.
fn take_news(
    reading: &mut ReadingState,
    now: UnixSeconds,
    news: &SessionNews,
    report: &PassReport,
    stop_finishes: bool,
) {
    let has_progress = report.done > reading.row.passes.done;
    let was_running = reading.live.session == SessionPhase::Running;
    if was_running {
        reading.live.has_news = true; // progress of a session that was told to end is no sign of its end
    }
    reading.idle.measure(report.bytes_per_second);
    if has_progress {
        reading.row.failed_sessions = 0; // the disk answers
    }
    if has_progress || matches!(news, SessionNews::Failed(_) | SessionNews::Finished(_)) {
        reading.row.refused = None; // the session could begin
    }
    match news {
        SessionNews::Stopped(_) if stop_finishes => reading.row.passes.finish(now, report),
        SessionNews::Progress(_) | SessionNews::Stopped(_) | SessionNews::Refused(_) => {
            reading.row.passes.report(now, report);
        }
        SessionNews::Failed(_) => {
            reading.row.passes.report(now, report);
            reading.row.failed_sessions += 1;
            reading.live.retry_reads_at = after(now, READS_RETRY);
            let passes = &mut reading.row.passes;
            if reading.row.failed_sessions >= CLOSED_AFTER && passes.done > passes.sectors / 2 {
                passes.close(); // so that the rest of the disk is read again when it is due
                (reading.row.failed_sessions, reading.row.forecast) = (0, None);
            }
        }
        SessionNews::Finished(_) => {
            reading.row.failed_sessions = 0;
            reading.row.passes.finish(now, report);
        }
    }
    if matches!(news, SessionNews::Stopped(_)) && was_running && reading.row.passes.begun.0 > 0 {
        match report.done > reading.live.done_before {
            true => reading.live.refusal = Some((ENDED_BY_ITSELF.to_owned(), after(now, PROGRESS_RETRY))),
            false => delay_next_session(reading, now, ENDED_BY_ITSELF),
        }
    }
    if news.is_end() {
        reading.live.session = SessionPhase::None;
    }
}

/// Takes news of a session that another program or a person began.
fn take_foreign_news(reading: &mut ReadingState, now: UnixSeconds, news: &SessionNews, report: &PassReport) {
    let is_whole = matches!(news, SessionNews::Finished(_)) && report.begun.0 > 0;
    reading.row.passes.report_foreign(now, report, is_whole);
    match reading.live.session {
        SessionPhase::None | SessionPhase::Foreign if !news.is_end() => {
            (reading.live.session, reading.live.has_news) = (SessionPhase::Foreign, true);
        }
        SessionPhase::Foreign if news.is_end() => reading.live.session = SessionPhase::None,
        _ => {}
    }
}

/// The reason for a delay after a session ended that was not told to stop.
const ENDED_BY_ITSELF: &str = "its session ended by itself";

/// Delays the next session after one that did not begin, or made no progress. A pass without any read sectors has not begun.
fn delay_next_session(reading: &mut ReadingState, now: UnixSeconds, reason: &str) {
    let since = reading.row.refused.as_ref().map_or(now, |refused| refused.since);
    reading.row.refused = Some(SessionRefusal { since, last: now, why: reason.to_owned() });
    reading.live.refusal = Some((reason.to_owned(), after(now, BEGIN_RETRY)));
    if reading.row.passes.retract() {
        reading.row.forecast = None;
    }
}

fn note_temperature(disk: &mut DiskState, facts: &SmartFacts, limit: i32) {
    disk.live.celsius = counters::celsius(facts);
    let Some(celsius) = disk.live.celsius else {
        disk.live.is_hot = false; // there is no measurement
        return;
    };
    if celsius > limit {
        disk.live.is_hot = true;
    } else if celsius <= limit - COOL_DOWN {
        disk.live.is_hot = false;
    }
}

fn note_service(disk: &mut DiskState, nanos: u64) {
    disk.row.service_last = nanos;
    if disk.row.service_first.len() < 3 {
        disk.row.service_first.push(nanos);
    }
}

pub(crate) fn drive_word(facts: &SmartFacts) -> DriveReport {
    let nvme = facts.nvme;
    DriveReport {
        passed: facts.passed,
        nvme_warning: nvme.map_or(0, |log| log.critical_warning),
        spare_low: nvme.filter(|log| log.spare < log.spare_threshold).map(|log| log.spare),
        used: nvme.map_or(0, |log| log.used),
        is_self_test_failed: facts.is_self_test_failed,
    }
}
