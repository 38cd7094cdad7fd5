//! Saves the state on a thread of its own: a save waits for a disk, and a scrub with a latency budget must not.
//!
//! The thread is started before the scrub enters the idle I/O class, which threads inherit: if the disk with the state
//! folder is busy, a save of that class would wait behind all other requests.

use crate::speed::VisitBatch;
use crate::store::{SaveMethod, StateStore};
use scrubjay_core::finding::FoundList;
use scrubjay_core::scrub::idle::SavedObservations;
use scrubjay_core::scrub::saved::Saved;
use scrubjay_core::units::UnixSeconds;
use std::io;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread;

/// Name of the thread.
const NAME: &str = "scrubjay-saver";

/// One save to do.
#[derive(Debug)]
pub struct SaveJob {
    /// The state.
    pub saved: Saved,
    /// What the idle policy has learnt, if that is to be saved too. A failure to save it is not reported.
    pub learnt: Option<SavedObservations>,
    /// What the pass has found, if that is to be saved too: when the pass began, and the list.
    pub found: Option<(UnixSeconds, FoundList)>,
    /// What was measured since the last save. A failure to save it is not reported.
    pub visits: VisitBatch,
    /// How durable the save is.
    pub method: SaveMethod,
}

impl SaveJob {
    /// Saves state and learnt values, on the calling thread.
    ///
    /// # Errors
    /// The kernel's error when the state cannot be written.
    pub fn save(&self, store: &StateStore) -> io::Result<()> {
        if let Some(learnt) = &self.learnt {
            let _ = store.save_learnt(learnt);
        }
        let speed = store.speed();
        let _ = speed.add(&self.visits);
        // Before the state: a finding that is kept twice counts once, one that is not kept would be lost.
        let found = self.found.as_ref().map_or(Ok(()), |(begun, list)| store.save_found(*begun, list, self.method));
        match self.method {
            SaveMethod::Durably => store.save(&self.saved)?,
            SaveMethod::Unsynced => store.save_unsynced(&self.saved)?,
        }
        if self.saved.pass.is_none() {
            store.remove_found();
            if let Some(grid) = &self.visits.grid {
                let _ = speed.end_pass(grid, self.visits.begun, self.saved.at);
            }
        }
        found
    }
}

/// Handle on the thread, which ends when this is dropped.
#[derive(Debug)]
pub struct Saver {
    jobs: Sender<SaveJob>,
    ends: Receiver<io::Result<()>>,
    is_busy: bool,
}

impl Saver {
    /// Starts the thread.
    ///
    /// # Errors
    /// When no thread can be started.
    pub fn new(store: StateStore) -> io::Result<Saver> {
        let (jobs, queue) = channel::<SaveJob>();
        let (done, ends) = channel();
        let work = move || {
            for job in queue {
                if done.send(job.save(&store)).is_err() {
                    return;
                }
            }
        };
        thread::Builder::new().name(NAME.to_owned()).spawn(work)?;
        Ok(Saver { jobs, ends, is_busy: false })
    }

    /// Whether a save is under way.
    pub fn is_busy(&self) -> bool {
        self.is_busy
    }

    /// Begins a save; only one at a time.
    ///
    /// # Panics
    /// When one is under way.
    pub fn start(&mut self, job: SaveJob) {
        assert!(!self.is_busy, "one save at a time");
        // If the thread is gone, `poll` and `wait` report it.
        let _ = self.jobs.send(job);
        self.is_busy = true;
    }

    /// The result of the save under way, if it has ended. Never waits.
    pub fn poll(&mut self) -> Option<io::Result<()>> {
        if !self.is_busy {
            return None;
        }
        let ended = match self.ends.try_recv() {
            Ok(ended) => ended,
            Err(TryRecvError::Empty) => return None,
            Err(TryRecvError::Disconnected) => Err(gone()),
        };
        self.is_busy = false;
        Some(ended)
    }

    /// Waits for the save under way, if there is one, and returns its result.
    pub fn wait(&mut self) -> Option<io::Result<()>> {
        if !self.is_busy {
            return None;
        }
        self.is_busy = false;
        Some(self.ends.recv().unwrap_or_else(|_| Err(gone())))
    }
}

fn gone() -> io::Error {
    io::Error::other("the thread that saves has died")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::SessionControl;
    use crate::detector;
    use crate::ioprio;
    use crate::session::{ScrubSession, SessionOptions};
    use crate::target::Target;
    use crate::verify;
    use scrubjay_core::scrub::EndedPass;
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::idle::{Observed, PolicyConfig};
    use scrubjay_core::scrub::tour::{Grid, OrderKind};
    use scrubjay_core::units::{Bytes, UnixSeconds};
    use std::fs;
    use std::path::Path;

    #[test]
    fn a_state_can_be_loaded_once_its_save_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let store = StateStore::open(folder.path(), "wwn-1", None).unwrap();
        let mut saver = Saver::new(store.clone()).unwrap();
        assert!(saver.poll().is_none() && saver.wait().is_none());
        for (at, method) in [(10, SaveMethod::Durably), (12, SaveMethod::Unsynced), (14, SaveMethod::Durably)] {
            let coverage = Coverage::new(Grid::new(1000, 100, 10));
            let saved = Saved {
                disk: "wwn-1".to_owned(),
                at: UnixSeconds(at),
                coverage,
                pass: None,
                ended: EndedPass::default(),
            };
            saver.start(SaveJob {
                saved,
                learnt: Some(SavedObservations::of(&Observed::default(), None, UnixSeconds(at))),
                found: None,
                visits: VisitBatch::default(),
                method,
            });
            saver.wait().expect("one is under way").unwrap();
            assert_eq!(store.load("wwn-1", 1000).unwrap().unwrap().at, UnixSeconds(at));
            assert_eq!(store.load_learnt().unwrap().at, UnixSeconds(at));
        }
        fs::remove_dir_all(folder.path()).unwrap();
        let coverage = Coverage::new(Grid::new(1000, 100, 10));
        let saved =
            Saved { disk: "wwn-1".to_owned(), at: UnixSeconds(16), coverage, pass: None, ended: EndedPass::default() };
        saver.start(SaveJob {
            saved,
            learnt: None,
            found: None,
            visits: VisitBatch::default(),
            method: SaveMethod::Durably,
        });
        assert!(saver.wait().expect("one is under way").is_err());
    }

    /// The I/O classes of all saver threads of this process.
    fn classes() -> Vec<u16> {
        let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap());
        let savers =
            tasks.filter(|task| fs::read_to_string(task.path().join("comm")).is_ok_and(|name| name.trim() == NAME));
        savers.filter_map(|task| ioprio::class_of(task.file_name().to_string_lossy().parse().unwrap()).ok()).collect()
    }

    /// Full speed, without regard to the foreground.
    fn options(folder: &Path) -> SessionOptions {
        SessionOptions {
            policy: PolicyConfig::full_speed(Bytes::kib(64)),
            order: OrderKind::SEQUENTIAL,
            region: Bytes::mib(1),
            segment: Bytes::mib(1),
            verify: verify::VerifierKind::Auto,
            range: None,
            state_folder: folder.join("state"),
            fresh: false,
            detector: Some(detector::DetectorKind::Blind),
            record: None,
        }
    }

    #[test]
    fn a_session_pauses_resumes_and_takes_another_policy() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk.img");
        fs::write(&image, vec![0; 1 << 20]).unwrap();
        let session = ScrubSession::prepare(Box::new(Target::open(&image).unwrap()), &options(folder.path())).unwrap();
        let ended = thread::spawn(move || {
            let control = SessionControl::default();
            control.pause();
            let mut reports = 0;
            session.run(&control, &mut |report, _| {
                reports += 1;
                if control.is_paused() {
                    assert_eq!(report.bytes_requested, Bytes(0), "nothing is read in a pause");
                }
                if reports == 2 {
                    control.change_policy(PolicyConfig::full_speed(Bytes::kib(4)));
                    control.resume();
                }
            })
        });
        let ended = ended.join().unwrap();
        assert_eq!(ended.report.bytes_verified, Bytes::mib(1));
        assert_eq!(ended.report.setting.size, Bytes::kib(4), "the policy that came later");
        assert!(ended.is_saved && !ended.paused, "{ended:?}");
    }

    #[test]
    fn a_scrub_saves_outside_the_idle_class() {
        let folder = tempfile::tempdir().unwrap();
        let image = folder.path().join("disk.img");
        fs::write(&image, vec![0; 1 << 20]).unwrap();
        let options = options(folder.path());
        let session = ScrubSession::prepare(Box::new(Target::open(&image).unwrap()), &options).unwrap();
        // On a thread of its own: the class must not stick to a thread that the test harness reuses.
        let seen = thread::spawn(move || {
            let mut seen = Vec::new();
            let ended = session.run(&SessionControl::default(), &mut |_, _| seen.extend(classes()));
            assert!(ended.is_saved && ended.troubles.is_empty(), "{ended:?}");
            seen
        });
        let seen = seen.join().unwrap();
        assert!(!seen.is_empty() && !seen.contains(&ioprio::IDLE_CLASS), "{seen:?}");
    }
}
