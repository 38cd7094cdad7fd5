//! What the watch learns from events: SMART readings and reports of sessions.

use crate::calendar::{HOUR, MINUTE, after};
use crate::counters::{self, CounterHistory};
use crate::events::WatchBug;
use crate::facts::{
    AtaAttribute, MediaKind, PassReport, ScsiSense, SessionNews, SessionSubject, SmartFacts, SmartReading,
    SmartRefusal, SubjectKey,
};
use crate::health::{DriveReport, NVME_TEMPERATURE};
use crate::hold::SessionFault;
use crate::known::{DiskLive, DiskState};
use crate::reading::{ReadingState, SessionPhase};
use crate::rows::{RowKey, SessionRefusal};
use crate::state::Watch;
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
    pub(crate) fn smart(&mut self, now: UnixSeconds, name: &str, mut reading: SmartReading) -> bool {
        if let SmartReading::Facts(facts) = &mut reading
            && self.is_planted(WatchBug::AttributesByNumber)
        {
            facts.attributes.iter_mut().for_each(|line| *line = AtaAttribute::usual(line.id, line.raw));
        }
        let (spinning, flash) = (self.settings.celsius_max, self.settings.celsius_max_flash);
        let Some(disk) = self.seen.disk_by_name(name) else { return false };
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
                disk.row.word = drive_word(&facts, limit, &disk.row.word);
                match counters::has_evidence(&facts) {
                    true => (disk.row.smart_read, disk.row.unknown_since) = (now, UnixSeconds(0)),
                    // All that it says is kept; whether it is well is not known.
                    false => {
                        disk.live.refused = Some(SmartRefusal::NoCounters);
                        if unknown_since.0 == 0 {
                            disk.row.unknown_since = now;
                        }
                    }
                }
            }
        }
        is_news |= state(disk) != before;
        let key = RowKey::Disk(disk.row.facts.key.clone());
        if disk.row.unknown_since != unknown_since || disk.row.smart_read == now || disk.row.word != before.4 {
            self.pending.change(key);
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
                delay_next_session(reading, now, SessionFault::Said(reason.clone()));
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
            self.timing.are_passes_planned = false;
            self.reading_mut(&key).into_iter().for_each(|reading| reading.live.is_wanted = false);
        }
        if is_news {
            self.pending.change(RowKey::Reading(key.clone()));
        }
        if let (SubjectKey::Disk(key), SessionNews::Finished(report)) = (key, &news)
            && is_pass_over
            && report.service_nanos > 0
            && let Some(disk) = self.seen.disks.get_mut(&key)
        {
            note_service(disk, report.service_nanos);
            self.pending.change(RowKey::Disk(key));
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
            true => reading.live.refusal = Some((SessionFault::EndedByItself, after(now, PROGRESS_RETRY))),
            false => delay_next_session(reading, now, SessionFault::EndedByItself),
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

/// Delays the next session after one that did not begin, or made no progress. A pass without any read sectors has not begun.
fn delay_next_session(reading: &mut ReadingState, now: UnixSeconds, why: SessionFault) {
    let since = reading.row.refused.as_ref().map_or(now, |refused| refused.since);
    reading.row.refused = Some(SessionRefusal { since, last: now, why: why.clone() });
    reading.live.refusal = Some((why, after(now, BEGIN_RETRY)));
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
}

/// Degrees above the temperature at which a disk is not read from which on it is too hot, if the drive names no limit of its own:
/// 60 degrees for hard disks, where most are specified to end, and 80 for flash.
const HOT_ABOVE: i32 = 10;

/// The drive's report, with what an earlier one said where this one is silent: a log that was not read is no good news. (Of self-tests
/// and temperatures the latest report counts.) `limit`: the temperature in degrees Celsius at which it is not read.
pub(crate) fn drive_word(facts: &SmartFacts, limit: i32, earlier: &DriveReport) -> DriveReport {
    let spare_low = match facts.spare_blocks() {
        Some(spare) => (spare.left < spare.threshold).then_some(spare.left),
        None => earlier.spare_low,
    };
    let hot_from = facts.celsius_max.unwrap_or(limit + HOT_ABOVE);
    let celsius = counters::celsius(facts);
    let says_hot = facts.nvme.is_some_and(|log| log.critical_warning & NVME_TEMPERATURE != 0)
        || facts.sense.is_some_and(ScsiSense::is_heat);
    // NVMe's bit says "above or below": a cold drive is not hot.
    let is_hot = match celsius {
        Some(celsius) if earlier.hot.is_some() => celsius > hot_from - COOL_DOWN || says_hot && celsius > COLD,
        Some(celsius) => celsius >= hot_from || says_hot && celsius > COLD,
        None => says_hot,
    };
    DriveReport {
        passed: facts.passed.or(earlier.passed),
        nvme_warning: facts.nvme.map_or(earlier.nvme_warning, |log| log.critical_warning),
        spare_low,
        used: facts.endurance_used().unwrap_or(earlier.used),
        is_self_test_failed: facts.is_self_test_failed,
        self_test_lba: facts.self_test_lba.filter(|_| facts.is_self_test_failed),
        is_self_test_old: facts.is_self_test_failed && facts.is_self_test_old,
        sense: facts.sense,
        hot: is_hot.then_some(celsius.unwrap_or(hot_from)),
    }
}

/// A drive that warns of its temperature at this many degrees Celsius or less is too cold.
const COLD: i32 = 20;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts::NvmeLog;

    #[test]
    fn a_report_that_says_nothing_keeps_what_the_earlier_one_said() {
        let earlier = DriveReport { passed: Some(false), nvme_warning: 4, used: 90, ..DriveReport::default() };
        assert_eq!(drive_word(&SmartFacts::default(), 70, &earlier), earlier);
        let log = NvmeLog { critical_warning: 0, spare: 100, spare_threshold: 10, used: 91, media_errors: 0 };
        let better = SmartFacts { passed: Some(true), nvme: Some(log), ..SmartFacts::default() };
        let expected = DriveReport { passed: Some(true), used: 91, ..DriveReport::default() };
        assert_eq!(drive_word(&better, 70, &earlier), expected);
    }

    #[test]
    fn a_drive_is_hot_by_its_own_word_or_by_a_limit_and_stays_so_until_it_has_cooled_down() {
        let hot = |facts: &SmartFacts, earlier: Option<i32>| {
            drive_word(facts, 50, &DriveReport { hot: earlier, ..DriveReport::default() }).hot
        };
        let at = |celsius| SmartFacts { celsius: Some(celsius), ..SmartFacts::default() };
        assert_eq!([59, 60].map(|celsius| hot(&at(celsius), None)), [None, Some(60)]);
        assert_eq!([56, 55].map(|celsius| hot(&at(celsius), Some(60))), [Some(56), None]);
        let own = SmartFacts { celsius_max: Some(65), ..at(64) };
        assert_eq!(hot(&own, None), None, "the drive's own limit counts");
        let sense = Some(ScsiSense { asc: 0x0b, ascq: 1 });
        assert_eq!(hot(&SmartFacts { sense, ..own }, None), Some(64));
        let log = NvmeLog { critical_warning: 2, spare: 100, spare_threshold: 10, used: 0, media_errors: 0 };
        let nvme = |celsius| SmartFacts { nvme: Some(log), ..at(celsius) };
        assert_eq!([hot(&nvme(4), None), hot(&nvme(45), None)], [None, Some(45)], "it may be too cold");
    }
}
