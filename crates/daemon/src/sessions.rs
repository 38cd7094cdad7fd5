//! Sessions: one scrub a disk or array, each in a thread of its own, begun and ended by the watch.
//!
//! The saved state of a scrub knows the watch's pass by its date only: state that began no earlier counts as that pass.
//! So reads by a person meanwhile count as well, and earlier reads do not.

mod pool;
mod report;

pub use report::{PassOrder, SessionRemarks};
use report::{SessionReport, pass_report};
use scrubjay_control::SessionWork;
use scrubjay_core::scrub::coverage::DATE_STEP;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::saved::Saved;
use scrubjay_core::scrub::verdict::Cause;
use scrubjay_core::scrub::{EndedPass, ScrubReport, ScrubState};
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES, SectorRange, UnixSeconds};
use scrubjay_device::clock;
use scrubjay_device::control::SessionControl;
use scrubjay_device::detector::DetectorKind;
use scrubjay_device::observed::ObservedSubject;
use scrubjay_device::session::{ScrubSession, SessionEnded};
use scrubjay_device::store::StateStore;
use scrubjay_device::target::TargetIdentity;
use scrubjay_jobs::settings::{RunOptions, Settings};
use scrubjay_jobs::target::{RepairWish, ResolvedTarget};
use scrubjay_watch::facts::{MediaKind, PassReport, SessionNews, SessionSubject, SubjectKey};
use scrubjay_watch::rows::CLOCK_SLACK;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// The news of a session.
#[derive(Debug)]
pub struct SessionMessage {
    /// The number of the session.
    pub number: u64,
    /// Its disk or array.
    pub subject: SessionSubject,
    /// The identity of that.
    pub key: SubjectKey,
    /// The news.
    pub news: SessionNews,
}

/// A running session.
struct RunningSession {
    number: u64,
    order: PassOrder,
    control: Arc<SessionControl>,
    latest: Arc<Mutex<Option<SessionReport>>>,
    /// The report at the last glance.
    before: Option<ScrubReport>,
    /// The notes at the last glance.
    noted: Vec<String>,
}

/// The progress of a session.
#[derive(Clone, Debug)]
pub struct SessionGlance {
    /// The report on its pass.
    pub pass: PassReport,
    /// The share of the time since the last glance in which it was reading.
    pub share: Option<f32>,
    /// Are there more unreadable sectors than at the last glance?
    pub is_worse: bool,
    /// What it says of itself that it did not say before.
    pub new_notes: Vec<String>,
    /// What it did since the last glance.
    pub work: SessionWork,
}

/// All running sessions.
pub struct SessionPool {
    folder: PathBuf,
    is_full_speed: bool,
    messages: Sender<SessionMessage>,
    running: BTreeMap<SessionSubject, RunningSession>,
    next: u64,
}

impl SessionPool {
    /// A pool without sessions. States are kept in `folder`. At full speed (for tests) sessions do not wait for the
    /// foreground.
    pub fn new(folder: PathBuf, is_full_speed: bool, messages: Sender<SessionMessage>) -> SessionPool {
        SessionPool { folder, is_full_speed, messages, running: BTreeMap::new(), next: 1 }
    }

    /// Begins or continues a pass. The result is sent as news.
    pub fn begin(&mut self, order: PassOrder) {
        self.stop(&order.subject);
        let number = self.next;
        self.next += 1;
        let (control, latest) = (Arc::new(SessionControl::default()), Arc::new(Mutex::new(None)));
        let running = RunningSession {
            number,
            order: order.clone(),
            control: control.clone(),
            latest: latest.clone(),
            before: None,
            noted: Vec::new(),
        };
        self.running.insert(order.subject.clone(), running);
        let (folder, messages, is_full_speed) = (self.folder.clone(), self.messages.clone(), self.is_full_speed);
        let builder = thread::Builder::new().name(format!("scrub {}", order.name));
        let spawned = builder.spawn({
            let (order, messages) = (order.clone(), messages.clone());
            move || {
                let run = AssertUnwindSafe(|| read(&folder, &order, is_full_speed, &control, &latest));
                let news = panic::catch_unwind(run).unwrap_or_else(|_| {
                    SessionNews::Refused("its scrub failed inside of Scrubjay: report it, with the journal".to_owned())
                });
                // The receiver is gone when the daemon ends.
                let _ = messages.send(SessionMessage { number, subject: order.subject, key: order.key, news });
            }
        });
        if let Err(error) = spawned {
            let news = SessionNews::Refused(format!("no thread for its scrub: {error}"));
            let _ = messages.send(SessionMessage { number, subject: order.subject, key: order.key, news });
        }
    }

    /// Asks the session on this subject to end; its progress is saved and reported. False: there is none.
    pub fn stop(&self, subject: &SessionSubject) -> bool {
        self.running.get(subject).map(|running| running.control.stop()).is_some()
    }

    /// Asks all sessions to end.
    pub fn stop_all(&self) {
        self.running.values().for_each(|running| running.control.stop());
    }

    /// Drops the session of a disk that is gone: it ends by itself, and its news no longer matters.
    pub fn forget(&mut self, subject: &SessionSubject) {
        if let Some(running) = self.running.remove(subject) {
            running.control.stop();
        }
    }

    /// Removes a session that has ended. False: it is no longer the session of its subject.
    pub fn ended(&mut self, message: &SessionMessage) -> bool {
        let is_current = self.running.get(&message.subject).is_some_and(|running| running.number == message.number);
        if is_current {
            self.running.remove(&message.subject);
        }
        is_current
    }

    /// Is there a session on this subject?
    pub fn is_running(&self, subject: &SessionSubject) -> bool {
        self.running.contains_key(subject)
    }

    /// What is being read.
    pub fn subjects(&self) -> impl Iterator<Item = &SessionSubject> {
        self.running.keys()
    }

    /// Is no session running?
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// The progress of the session on this subject, if there is a new report since the last glance.
    pub fn glance(&mut self, subject: &SessionSubject) -> Option<SessionGlance> {
        let running = self.running.get_mut(subject)?;
        let latest = running.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let report = &latest.report;
        if running.before.as_ref().is_some_and(|before| before.elapsed == report.elapsed) {
            return None; // no new report: the watch finds out by itself that a session hangs
        }
        let share = running.before.as_ref().and_then(|before| share_read(before, report));
        let pass = pass_report(&running.order, &latest);
        let work = SessionWork { is_blind: latest.remarks.is_blind, ..work_since(running.before.as_ref(), report) };
        let known = running.before.as_ref().map_or(0, ScrubReport::unreadable_sectors);
        let is_worse = report.unreadable_sectors() > known;
        running.before = Some(latest.report);
        let new_notes = latest.remarks.notes.iter().filter(|note| !running.noted.contains(note)).cloned().collect();
        running.noted = latest.remarks.notes;
        Some(SessionGlance { pass, share, is_worse, new_notes, work })
    }

    /// The last report of the session on this subject; does not count as a glance.
    pub fn latest(&self, subject: &SessionSubject) -> Option<ScrubReport> {
        let latest = self.running.get(subject)?.latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        latest.map(|session| session.report)
    }

    /// What the session on this subject says of itself.
    pub fn remarks(&self, subject: &SessionSubject) -> SessionRemarks {
        let latest =
            self.running.get(subject).map(|running| running.latest.lock().unwrap_or_else(PoisonError::into_inner));
        latest.and_then(|latest| latest.as_ref().map(|session| session.remarks.clone())).unwrap_or_default()
    }
}

/// What was done between two reports; without a first one, since the session's beginning.
fn work_since(before: Option<&ScrubReport>, after: &ScrubReport) -> SessionWork {
    let of = |report: &ScrubReport| {
        (report.bytes_requested.0, report.reading, report.foreground_requests, report.slowdown.lost())
    };
    let (bytes, reading, requests, lost) = of(after);
    let (bytes_before, reading_before, requests_before, lost_before) = before.map(of).unwrap_or_default();
    SessionWork {
        bytes: bytes.saturating_sub(bytes_before),
        reading_seconds: reading.since(reading_before).as_secs_f64(),
        foreground_requests: requests.saturating_sub(requests_before),
        lost_seconds: lost.since(lost_before).as_secs_f64(),
        is_blind: false,
        is_estimate: after.slowdown.is_estimate,
    }
}

/// The share of the time between two reports in which scrub requests were at the disk.
fn share_read(before: &ScrubReport, after: &ScrubReport) -> Option<f32> {
    let elapsed = after.elapsed.since(before.elapsed);
    (elapsed > Nanos::ZERO)
        .then(|| after.reading.since(before.reading).as_secs_f64() / elapsed.as_secs_f64())
        .map(|share| share as f32)
}

/// Opens the disk, and reads it until its pass is over or it is to stop.
fn read(
    folder: &Path,
    order: &PassOrder,
    is_full_speed: bool,
    control: &SessionControl,
    latest: &Mutex<Option<SessionReport>>,
) -> SessionNews {
    if order.is_pool {
        return pool::read(order, is_full_speed, control, latest);
    }
    let opened: Result<ResolvedTarget, String> = match order.subject {
        SessionSubject::Disk(_) => ResolvedTarget::disk(&order.target).map_err(|error| error.to_string()),
        SessionSubject::Array(_) => {
            ResolvedTarget::open(&order.target, folder, RepairWish::AsUsual).map_err(|error| error.to_string())
        }
    };
    let ResolvedTarget { subject, log } = match opened {
        Ok(opened) => opened,
        Err(why) => return SessionNews::Refused(why),
    };
    let subject = match order.imagined {
        Some(media) => Box::new(ObservedSubject::new(subject, media == MediaKind::Spinning)),
        None => subject,
    };
    let kept = match order.is_twin {
        true => KeptPass::Older,
        false => KeptPass::of(folder, subject.id(), subject.sectors(), order.begun_by_system),
    };
    if let KeptPass::Complete(since, retries) = kept {
        let (begun, is_found, done) = (order.by_watch(since), true, subject.sectors());
        let (pass, report) = (order.pass, PassReport::default());
        return SessionNews::Finished(PassReport { pass, begun, is_found, done, retries, ..report });
    }
    let settings = Settings { state: Some(folder.to_owned()), ..Settings::default() };
    let run = RunOptions { fresh: matches!(kept, KeptPass::Older), ..RunOptions::default() };
    let mut options = settings.options(&*subject, &run);
    options.policy = match is_full_speed {
        true => PolicyConfig::full_speed(Bytes::mib(1)),
        false => PolicyConfig::budget(Goal { mean: order.budget, ..Goal::default() }),
    };
    let session = match ScrubSession::prepare(subject, &options) {
        Ok(session) => session,
        Err(error) => return SessionNews::Refused(error.to_string()),
    };
    let is_blind = session.facts().detector_kind == DetectorKind::Blind;
    let notes = session.facts().notes.clone();
    let remarks = |troubles: &[String]| SessionRemarks { is_blind, notes: [&notes[..], troubles].concat() };
    let SessionEnded { report, is_saved, troubles, .. } = session.run(control, &mut |report, troubles| {
        let session = SessionReport::new(report, &log, remarks(troubles));
        *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    });
    let pass = pass_report(order, &SessionReport::new(&report, &log, SessionRemarks::default()));
    match report.state {
        // Reads that are not saved would be unknown after a restart, so they do not count.
        _ if !is_saved => SessionNews::Refused(troubles.join("; ")),
        ScrubState::Complete => SessionNews::Finished(pass),
        ScrubState::Running | ScrubState::Gone => SessionNews::Stopped(pass),
        ScrubState::Failed(_) => SessionNews::Failed(pass),
    }
}

/// What the saved state has of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptPass {
    /// Nothing: the pass has not begun, or the state cannot be used.
    Nothing,
    /// A pass that was begun earlier.
    Older,
    /// A part of the pass.
    UnderWay(PassReport),
    /// All of the pass, the first region since this date; nothing was wrong but this many reads, which succeeded when repeated.
    Complete(UnixSeconds, u64),
}

impl KeptPass {
    /// What is kept of the pass that began at `begun`, by the system's clock. Opens no device.
    pub fn of(folder: &Path, id: &TargetIdentity, sectors: u64, begun: UnixSeconds) -> KeptPass {
        if !id.is_certain {
            return KeptPass::Nothing; // the saved state may be another disk's
        }
        match StateStore::at(folder, &id.key(), None).load(&id.key(), sectors) {
            Ok(Some(saved)) => KeptPass::of_saved(&saved, begun, clock::today()),
            // Errors of reading it are reported when the session is prepared.
            Ok(None) | Err(_) => KeptPass::Nothing,
        }
    }

    fn of_saved(saved: &Saved, begun: UnixSeconds, today: UnixSeconds) -> KeptPass {
        // A date from a clock that was ahead would count as read in every pass until that date.
        let latest = today.0 + CLOCK_SLACK;
        if let Some(pass) = &saved.pass {
            if pass.begun < begun || pass.begun.0 > latest {
                return KeptPass::Older;
            }
            let runs = pass.unreadable.iter().map(|(&start, &(count, cause))| (SectorRange::at(start, count), cause));
            let (mismatched, unreadable): (Vec<_>, Vec<_>) =
                runs.partition(|(_, cause)| matches!(cause, Cause::Mismatch | Cause::Skipped));
            return KeptPass::UnderWay(PassReport {
                done: pass.done.count(),
                unreadable: unreadable.into_iter().map(|(run, _)| run).collect(),
                mismatched: mismatched.iter().map(|(run, _)| run.count()).sum(),
                retries: pass.transient_errors,
                // Corrections are not reported here, as a read-only btrfs has only found them; the session that
                // continues knows.
                ..PassReport::default()
            });
        }
        let since = begun.0 / DATE_STEP * DATE_STEP;
        // Of a region that a person began earlier, a part was read before the pass.
        let is_read = saved
            .coverage
            .runs()
            .all(|run| run.record.begun.0 >= since && (since..=latest).contains(&run.record.verified.0));
        // Neither does the coverage say which sectors are unreadable, nor the last pass what of the wrong places is still wrong: what
        // has any is read once more.
        let oldest = saved.coverage.oldest(0..saved.coverage.grid().region_count());
        let EndedPass { transient_errors, corrected } = saved.ended;
        match is_read && saved.coverage.unreadable() == 0 && corrected == 0 {
            true => KeptPass::Complete(oldest, transient_errors),
            false => KeptPass::Nothing,
        }
    }
}

/// The bytes of this many sectors.
pub fn bytes_of(sectors: u64) -> Bytes {
    Bytes(sectors * SECTOR_BYTES)
}

#[cfg(test)]
mod tests;
