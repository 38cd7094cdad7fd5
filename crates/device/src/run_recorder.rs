//! What a session does while the pump runs: saves, publishes and records.

use crate::clock;
use crate::control::SessionControl;
use crate::output::OutputFile;
use crate::pump::Watcher;
use crate::saver::{SaveJob, Saver};
use crate::speed::VisitBatch;
use crate::standstill::Standstill;
use crate::store::{SaveMethod, StateStore};
use crate::subject::Subject;
use scrubjay_core::finding::FoundList;
use scrubjay_core::scrub::idle::SavedObservations;
use scrubjay_core::scrub::machine::{Event, Op};
use scrubjay_core::scrub::recording::RecordingEntry;
use scrubjay_core::scrub::saved::Saved;
use scrubjay_core::scrub::{Pass, Scrub, ScrubReport, ScrubState};
use scrubjay_core::units::Nanos;
use std::fmt;
use std::io::{self, BufWriter, Write};

/// Interval of durable saves. "At least every 5 s" is promised.
const SAVE_INTERVAL: Nanos = Nanos::from_secs(4);
/// Shortest interval between hasty saves, which are made in between, whenever another hundredth was verified. Without them a
/// small or fast disk would have little to resume from.
const UNSYNCED_SAVE_INTERVAL: Nanos = Nanos::from_millis(30);
const UNSYNCED_SAVE_SHARE: u64 = 100;
/// Interval of progress reports.
const PUBLISH_INTERVAL: Nanos = Nanos::from_millis(200);

/// Saves, publishes and records while the pump runs.
pub(crate) struct RunRecorder<'a> {
    pub(crate) subject: &'a dyn Subject,
    pub(crate) store: &'a StateStore,
    /// `None` where no thread could be started: saves then happen between turns.
    pub(crate) saver: Option<Saver>,
    pub(crate) record: Option<BufWriter<OutputFile>>,
    pub(crate) publish: &'a mut dyn FnMut(&ScrubReport, &[String]),
    pub(crate) saved_at: Nanos,
    pub(crate) unsynced_at: Nanos,
    pub(crate) saved_count: u64,
    /// Whether a map of the subject's surface is kept.
    pub(crate) is_measured: bool,
    /// The findings that are saved, and how.
    pub(crate) found_saved: (FoundList, SaveMethod),
    /// What earlier runs of the pass had found wrong (count).
    pub(crate) corrected_before: u64,
    pub(crate) published_at: Nanos,
    pub(crate) standstill: Standstill,
    pub(crate) control: &'a SessionControl,
    pub(crate) troubles: Vec<String>,
    pub(crate) is_saved: bool,
    pub(crate) is_recorded: bool,
}

impl RunRecorder<'_> {
    /// Notes a trouble once, however often it occurs.
    pub(crate) fn trouble(&mut self, problem: &str, error: &io::Error) {
        if !self.troubles.iter().any(|trouble| trouble.starts_with(problem)) {
            self.troubles.push(format!("{problem}: {error}"));
        }
    }

    /// The report, without the time for which the whole process was stopped.
    pub(crate) fn report(&self, scrub: &Scrub, now: Nanos) -> ScrubReport {
        let report = scrub.report(now);
        let elapsed = report.elapsed.since(self.standstill.total);
        ScrubReport { elapsed, found_only: self.found_only(scrub), ..report }
    }

    /// Wrong places of the pass that were only found, in this run or in earlier ones (count).
    fn found_only(&self, scrub: &Scrub) -> u64 {
        let Pass { corrected, found_only, .. } = scrub.pass();
        found_only + if self.subject.may_repair() { 0 } else { corrected - self.corrected_before }
    }

    /// Begins a save. No other save may be under way.
    fn save(&mut self, scrub: &mut Scrub, method: SaveMethod, is_last: bool) {
        let is_complete = scrub.state() == ScrubState::Complete;
        let pass = (!is_complete).then(|| Pass {
            found_only: self.found_only(scrub),
            tallies: self.subject.tallies(),
            ..scrub.pass().clone()
        });
        let ended = scrub.pass().ended();
        let coverage = scrub.coverage().clone();
        let saved = Saved { disk: self.subject.id().key(), at: clock::today(), coverage, pass, ended };
        self.saved_count = scrub.pass().done.count();
        let learnt = (method == SaveMethod::Durably).then(|| scrub.learnt(clock::now()).with_clock(&clock::name()));
        let learnt = learnt.filter(SavedObservations::is_any);
        let findings = &scrub.pass().findings;
        // What survives a loss of power must not lose its findings to it.
        let (saved_list, saved_by) = &self.found_saved;
        let is_behind = findings != saved_list || method == SaveMethod::Durably && *saved_by == SaveMethod::Unsynced;
        let found = (!is_complete && is_behind).then(|| (scrub.pass().begun, findings.clone()));
        if let Some((_, list)) = &found {
            self.found_saved = (list.clone(), method);
        }
        let visits = match method {
            SaveMethod::Durably if self.is_measured => VisitBatch {
                grid: Some(*scrub.coverage().grid()),
                begun: scrub.pass().begun,
                visits: scrub.take_visits(is_last),
            },
            _ => VisitBatch::default(),
        };
        let job = SaveJob { saved, learnt, found, visits, method };
        match &mut self.saver {
            Some(saver) => saver.start(job),
            None => self.note_saved(job.save(self.store)),
        }
    }

    /// Saves the state at the end, and waits for it.
    pub(crate) fn save_last(&mut self, scrub: &mut Scrub) {
        self.await_save();
        self.save(scrub, SaveMethod::Durably, true);
        self.await_save();
    }

    fn await_save(&mut self) {
        if let Some(result) = self.saver.as_mut().and_then(Saver::wait) {
            self.note_saved(result);
        }
    }

    fn note_saved(&mut self, result: io::Result<()>) {
        self.is_saved = result.is_ok();
        if !self.is_saved {
            self.found_saved = (FoundList::default(), SaveMethod::Unsynced); // perhaps not saved either
        }
        if let Err(error) = result {
            self.trouble(&format!("STATE NOT SAVED in {}", self.store.path().display()), &error);
        }
    }

    pub(crate) fn record(&mut self, entry: &dyn fmt::Display) {
        if let Some(file) = &mut self.record
            && let Err(error) = writeln!(file, "{entry}")
        {
            self.lose_record(&error);
        }
    }

    /// Puts the recording in its place, if all of it can be written.
    pub(crate) fn end_record(&mut self) {
        let Some(file) = self.record.take() else { return };
        let ended = file.into_inner().map_err(io::IntoInnerError::into_error);
        if let Err(error) = ended.and_then(|output| Ok(output.commit()?)) {
            self.lose_record(&error);
        }
    }

    fn lose_record(&mut self, error: &io::Error) {
        self.trouble("THE RECORD IS NOT WRITTEN", error);
        (self.record, self.is_recorded) = (None, false);
    }
}

impl Watcher<Scrub> for RunRecorder<'_> {
    fn received(&mut self, now: Nanos, event: &Event) {
        self.record(&RecordingEntry::Handled { now, event: *event });
    }

    fn issued(&mut self, now: Nanos, op: &Op) {
        self.record(&RecordingEntry::Issued { now, op: *op });
    }

    fn turned(&mut self, now: Nanos, scrub: &mut Scrub) {
        self.standstill.turned(now, self.control.take_continued());
        if now.since(self.published_at) >= PUBLISH_INTERVAL && !self.standstill.is_uncertain(now) {
            self.published_at = now;
            let report = self.report(scrub, now);
            (self.publish)(&report, &self.troubles);
        }
        if let Some(result) = self.saver.as_mut().and_then(Saver::poll) {
            self.note_saved(result);
        }
        if self.saver.as_ref().is_some_and(Saver::is_busy) {
            return;
        }
        let new = scrub.pass().done.count() - self.saved_count;
        if now.since(self.saved_at) >= SAVE_INTERVAL {
            (self.saved_at, self.unsynced_at) = (now, now);
            self.save(scrub, SaveMethod::Durably, false);
        } else if new > self.subject.sectors() / UNSYNCED_SAVE_SHARE
            && now.since(self.unsynced_at) >= UNSYNCED_SAVE_INTERVAL
        {
            self.unsynced_at = now;
            self.save(scrub, SaveMethod::Unsynced, false);
        }
    }

    fn is_present(&mut self) -> bool {
        self.subject.is_present()
    }
}
