//! Sessions: one scrub a disk or array, each on a thread of its own, begun and ended as the watch says.
//!
//! A pass of the watch is known to the scrub by its date alone: what the saved state holds counts as that pass if it was
//! begun no earlier. So whatever a person reads by hand meanwhile counts as well, and nothing that was read before does.

use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::saved::Saved;
use scrubjay_core::scrub::verdict::Cause;
use scrubjay_core::scrub::{ScrubReport, ScrubState};
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES, SectorRange, UnixSeconds};
use scrubjay_device::clock;
use scrubjay_device::control::SessionControl;
use scrubjay_device::session::{ScrubSession, SessionEnded};
use scrubjay_device::store::StateStore;
use scrubjay_device::target::TargetIdentity;
use scrubjay_jobs::pool::WatchedPool;
use scrubjay_jobs::settings::{RunOptions, Settings};
use scrubjay_jobs::target::{RepairWish, ResolvedTarget};
use scrubjay_watch::facts::{PassReport, SessionNews, SessionSubject, SubjectKey};
use scrubjay_watch::rows::CLOCK_SLACK;
use std::collections::BTreeMap;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Dates of regions are kept to ten minutes.
const DATE_STEP: u64 = 600;
/// The mean time of a read says something once so much was read.
const MEASURED_MIN: Bytes = Bytes::gib(1);
/// The size of the read whose time is told.
const USUAL_READ: Bytes = Bytes::mib(1);

/// What a session told.
#[derive(Debug)]
pub struct SessionTold {
    /// Which session.
    pub number: u64,
    /// Of which disk or array,
    pub subject: SessionSubject,
    /// and its identity.
    pub key: SubjectKey,
    /// What it told.
    pub news: SessionNews,
}

/// A pass, as the watch wants it read.
#[derive(Clone, Debug)]
pub struct PassOrder {
    /// The disk or array,
    pub subject: SessionSubject,
    /// what people call it,
    pub name: String,
    /// and its identity.
    pub key: SubjectKey,
    /// What to open: a disk's device, or whatever drives the array's own checker.
    pub target: PathBuf,
    /// The number of the pass.
    pub pass: u32,
    /// When it began, as the watch says it,
    pub begun: UnixSeconds,
    /// and by the system's clock: what was read before does not count.
    pub begun_by_system: UnixSeconds,
    /// Seconds of the watch that pass in one of the system's.
    pub pace: u64,
    /// Another disk here gives the same identity: what is kept may be that one's.
    pub is_twin: bool,
    /// What others may lose, as a mean over their requests.
    pub budget: Nanos,
}

impl PassOrder {
    /// A date of the system's clock, as the watch says it; none lies before the pass's beginning.
    fn by_watch(&self, at: UnixSeconds) -> UnixSeconds {
        let since = at.0.saturating_sub(self.begun_by_system.0);
        UnixSeconds(self.begun.0.saturating_add(since.saturating_mul(self.pace)))
    }
}

/// What a session says of itself.
#[derive(Clone)]
struct SaidReport {
    report: ScrubReport,
    /// Of what its report counts as corrected so much was only found: a btrfs that is mounted read-only, say.
    unrepaired: u64,
}

impl SaidReport {
    fn new(report: &ScrubReport, pool: Option<&WatchedPool>) -> SaidReport {
        let unrepaired = match pool {
            // Then it was so with all that earlier runs of this pass found, too.
            Some(pool) if pool.facts.is_read_only => report.corrected,
            Some(pool) => pool.findings.all().unrepaired.min(report.corrected),
            None => 0,
        };
        SaidReport { report: report.clone(), unrepaired }
    }
}

/// A session that runs.
struct RunningSession {
    number: u64,
    order: PassOrder,
    control: Arc<SessionControl>,
    latest: Arc<Mutex<Option<SaidReport>>>,
    /// What was looked at last time.
    before: Option<ScrubReport>,
}

/// What a session is at.
#[derive(Clone, Debug)]
pub struct SessionGlance {
    /// What it tells of its pass.
    pub pass: PassReport,
    /// Of the time since the last glance: the share in which it was reading.
    pub share: Option<f32>,
    /// Are there more unreadable sectors than at the last glance?
    pub is_worse: bool,
}

/// All sessions that run.
pub struct SessionPool {
    folder: PathBuf,
    is_full_speed: bool,
    tell: Sender<SessionTold>,
    running: BTreeMap<SessionSubject, RunningSession>,
    next: u64,
}

impl SessionPool {
    /// None runs yet. States are kept in `folder`. At full speed (for tests) they wait for nobody.
    pub fn new(folder: PathBuf, is_full_speed: bool, tell: Sender<SessionTold>) -> SessionPool {
        SessionPool { folder, is_full_speed, tell, running: BTreeMap::new(), next: 1 }
    }

    /// Begins, or goes on with, a pass. Whatever comes of it is told.
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
        };
        self.running.insert(order.subject.clone(), running);
        let (folder, tell, is_full_speed) = (self.folder.clone(), self.tell.clone(), self.is_full_speed);
        let named = thread::Builder::new().name(format!("scrub {}", order.name));
        let spawned = named.spawn({
            let (order, tell) = (order.clone(), tell.clone());
            move || {
                let run = AssertUnwindSafe(|| read(&folder, &order, is_full_speed, &control, &latest));
                let news = panic::catch_unwind(run).unwrap_or_else(|_| {
                    SessionNews::Refused("its scrub failed inside of Scrubjay: report it, with the journal".to_owned())
                });
                // Nobody listens any more when the daemon ends.
                let _ = tell.send(SessionTold { number, subject: order.subject, key: order.key, news });
            }
        });
        if let Err(error) = spawned {
            let news = SessionNews::Refused(format!("no thread for its scrub: {error}"));
            let _ = tell.send(SessionTold { number, subject: order.subject, key: order.key, news });
        }
    }

    /// Asks the session on this subject to end; what it has read is kept, and told. False: there is none.
    pub fn stop(&self, subject: &SessionSubject) -> bool {
        self.running.get(subject).map(|running| running.control.stop()).is_some()
    }

    /// Asks all of them.
    pub fn stop_all(&self) {
        self.running.values().for_each(|running| running.control.stop());
    }

    /// The disk is gone: its session ends by itself, and nothing it tells matters.
    pub fn forget(&mut self, subject: &SessionSubject) {
        if let Some(running) = self.running.remove(subject) {
            running.control.stop();
        }
    }

    /// Is this still the session of its subject, or one of what is not there any more? It has ended.
    pub fn ended(&mut self, told: &SessionTold) -> bool {
        let is_current = self.running.get(&told.subject).is_some_and(|running| running.number == told.number);
        if is_current {
            self.running.remove(&told.subject);
        }
        is_current
    }

    /// Is there a session on this subject?
    pub fn is_running(&self, subject: &SessionSubject) -> bool {
        self.running.contains_key(subject)
    }

    /// Does none run?
    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// What the session on this subject is at, if it has said anything since the last glance.
    pub fn glance(&mut self, subject: &SessionSubject) -> Option<SessionGlance> {
        let running = self.running.get_mut(subject)?;
        let said = running.latest.lock().unwrap_or_else(PoisonError::into_inner).clone()?;
        let report = &said.report;
        if running.before.as_ref().is_some_and(|before| before.elapsed == report.elapsed) {
            return None; // it says nothing more: that it hangs is the watch's to find out
        }
        let share = running.before.as_ref().and_then(|before| share_read(before, report));
        let pass = told_of(&running.order, &said);
        let known = running.before.as_ref().map_or(0, ScrubReport::unreadable_sectors);
        let is_worse = report.unreadable_sectors() > known;
        running.before = Some(said.report);
        Some(SessionGlance { pass, share, is_worse })
    }

    /// The last report of the session on this subject, without taking note of it.
    pub fn latest(&self, subject: &SessionSubject) -> Option<ScrubReport> {
        let latest = self.running.get(subject)?.latest.lock().unwrap_or_else(PoisonError::into_inner).clone();
        latest.map(|said| said.report)
    }
}

/// The share of the time between two reports in which requests of ours were at the disk.
fn share_read(before: &ScrubReport, after: &ScrubReport) -> Option<f32> {
    let elapsed = after.elapsed.since(before.elapsed);
    (elapsed > Nanos::ZERO)
        .then(|| after.reading.since(before.reading).as_secs_f64() / elapsed.as_secs_f64())
        .map(|share| share as f32)
}

/// Opens the disk, and reads it until its pass is over, or it was told to stop.
fn read(
    folder: &Path,
    order: &PassOrder,
    is_full_speed: bool,
    control: &SessionControl,
    latest: &Mutex<Option<SaidReport>>,
) -> SessionNews {
    let opened: Result<ResolvedTarget, String> = match order.subject {
        SessionSubject::Disk(_) => ResolvedTarget::disk(&order.target).map_err(|error| error.to_string()),
        SessionSubject::Array(_) => {
            ResolvedTarget::open(&order.target, folder, RepairWish::AsUsual).map_err(|error| error.to_string())
        }
    };
    let ResolvedTarget { subject, logs } = match opened {
        Ok(opened) => opened,
        Err(why) => return SessionNews::Refused(why),
    };
    let kept = match order.is_twin {
        true => KeptPass::Older,
        false => KeptPass::of(folder, subject.id(), subject.sectors(), order.begun_by_system),
    };
    if let KeptPass::Complete(since) = kept {
        let (begun, is_found, done) = (order.by_watch(since), true, subject.sectors());
        return SessionNews::Finished(PassReport { pass: order.pass, begun, is_found, done, ..PassReport::default() });
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
    let SessionEnded { report, is_saved, troubles, .. } = session.run(control, &mut |report, _| {
        *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(SaidReport::new(report, logs.pool.as_ref()));
    });
    let told = told_of(order, &SaidReport::new(&report, logs.pool.as_ref()));
    match report.state {
        // Nothing counts as read that a restart would not know of.
        _ if !is_saved => SessionNews::Refused(troubles.join("; ")),
        ScrubState::Complete => SessionNews::Finished(told),
        ScrubState::Running | ScrubState::Gone => SessionNews::Stopped(told),
        ScrubState::Failed(_) => SessionNews::Failed(told),
    }
}

/// What is told of a pass.
fn told_of(order: &PassOrder, said: &SaidReport) -> PassReport {
    let report = &said.report;
    let (bytes, seconds) = (report.bytes_requested, report.reading.as_secs_f64());
    let is_measured = bytes >= MEASURED_MIN && seconds > 0.0;
    PassReport {
        pass: order.pass,
        begun: order.begun,
        is_found: false,
        done: report.bytes_verified.sectors() + report.unreadable_sectors() + report.mismatched_sectors(),
        unreadable: report.unreadable.iter().map(|found| found.range).collect(),
        retries: report.transient_errors,
        corrected: report.corrected - said.unrepaired,
        mismatched: report.mismatched_sectors() + said.unrepaired,
        bytes_per_second: if seconds > 0.0 { (bytes.0 as f64 / seconds) as u64 } else { 0 },
        service_nanos: match is_measured {
            true => (seconds * 1e9 * USUAL_READ.0 as f64 / bytes.0 as f64) as u64,
            false => 0,
        },
    }
}

/// What the saved state holds of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptPass {
    /// Nothing: it has not begun.
    Nothing,
    /// Of one that was begun earlier.
    Older,
    /// So much of it.
    UnderWay(PassReport),
    /// All of it, the first region from then on, and nothing unreadable.
    Complete(UnixSeconds),
}

impl KeptPass {
    /// What is kept of the pass that began then, by the system's clock. Opens no device.
    pub fn of(folder: &Path, id: &TargetIdentity, sectors: u64, begun: UnixSeconds) -> KeptPass {
        if !id.is_certain {
            return KeptPass::Nothing; // what is saved may be another disk's
        }
        match StateStore::at(folder, &id.key(), None).load(&id.key(), sectors) {
            Ok(Some(saved)) => KeptPass::of_saved(&saved, begun, clock::today()),
            // What cannot be read is told when the session is prepared.
            Ok(None) | Err(_) => KeptPass::Nothing,
        }
    }

    fn of_saved(saved: &Saved, begun: UnixSeconds, today: UnixSeconds) -> KeptPass {
        // What a clock that was ahead has dated would count as read in every pass until that date.
        let latest = today.0 + CLOCK_SLACK;
        if let Some(pass) = &saved.pass {
            if pass.begun < begun || pass.begun.0 > latest {
                return KeptPass::Older;
            }
            let runs = pass.unreadable.iter().map(|(&start, &(count, cause))| (SectorRange::at(start, count), cause));
            let (mismatched, unreadable): (Vec<_>, Vec<_>) = runs.partition(|(_, cause)| *cause == Cause::Mismatch);
            return KeptPass::UnderWay(PassReport {
                done: pass.done.count(),
                unreadable: unreadable.into_iter().map(|(run, _)| run).collect(),
                mismatched: mismatched.iter().map(|(run, _)| run.count()).sum(),
                retries: pass.transient_errors,
                // What it counts as corrected a read-only btrfs has only found: the session that goes on knows.
                ..PassReport::default()
            });
        }
        let since = begun.0 / DATE_STEP * DATE_STEP;
        let is_read = saved.coverage.regions().iter().all(|region| (since..=latest).contains(&region.verified.0));
        // Where sectors are unreadable it is not known any more which: it is read once more, and then it is.
        let oldest = saved.coverage.regions().iter().map(|region| region.begun).min().unwrap_or_default();
        if is_read && saved.coverage.unreadable() == 0 { KeptPass::Complete(oldest) } else { KeptPass::Nothing }
    }
}

/// The bytes of so many sectors.
pub fn bytes_of(sectors: u64) -> Bytes {
    Bytes(sectors * SECTOR_BYTES)
}

#[cfg(test)]
mod tests;
