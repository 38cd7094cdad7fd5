//! The pump: starts a program, and carries out what [`Work`] wants until it has ended.

use super::freezer::{self, Cgroup, Freezer, FreezerKind, StoppedProcesses};
use super::guardian::Guardian;
use super::keeps::{self, Keeps};
use super::signals::{self, Received, SignalMask, Signals};
use super::tree::{self, send};
use crate::clock;
use crate::detector::work::{WorkDetector, WorkDetectorError, WorkSenders};
use crate::ioprio;
use crate::sysfs::DiskNode;
use scrubjay_core::scrub::idle::PolicyConfig;
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::scrub::work::{Work, WorkActivity, WorkConfig, WorkEvent, WorkHolding, WorkOp, WorkReport};
use scrubjay_core::units::{Bytes, Nanos};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// The longest wait of a turn.
const TURN_MAX: Nanos = Nanos::from_millis(50);
/// How often the guardian is told that the program is still held.
const HEARTBEAT: Nanos = Nanos::from_secs(1);
/// For how long it may hear nothing while the program is held: this process was stopped, or hangs.
const SILENCE_MAX: Duration = Duration::from_secs(5);
/// How often the locks of a held program are looked at.
const LOCKS_EVERY: Nanos = Nanos::from_millis(200);
/// How often progress is published.
const PUBLISH_EVERY: Nanos = Nanos::from_millis(500);
/// The times that the first holds are taken to need: while a disk seeks, and later.
const HOLD_GUESS: [Nanos; 2] = [Nanos::from_millis(10), Nanos::from_millis(3)];

/// What to run, and how.
#[derive(Clone, Debug)]
pub struct PaceOptions {
    /// The program and its arguments.
    pub command: Vec<OsString>,
    /// The disks whose users are spared; `None`: those at which the program is seen.
    pub disks: Option<Vec<DiskNode>>,
    /// When it may run.
    pub policy: PolicyConfig,
    /// The longest that it is held without a respite.
    pub longest: Nanos,
    /// How to hold it; `None`: by a cgroup where one can be made.
    pub freezer: Option<FreezerKind>,
}

/// Why a program was not started.
#[derive(Debug, thiserror::Error)]
pub enum PaceError {
    /// It cannot be executed.
    #[error("{}: {source}", .program.display())]
    Program {
        /// Its name.
        program: OsString,
        /// The system's reason.
        source: io::Error,
    },
    /// The requests of others cannot be seen.
    #[error(transparent)]
    Detector(#[from] WorkDetectorError),
    /// No cgroup can be made, and no other way was allowed.
    #[error("no cgroup can be made: {0}")]
    Cgroup(io::Error),
    /// The system refused something else.
    #[error("{what}: {source}")]
    System {
        /// What.
        what: &'static str,
        /// The system's reason.
        source: io::Error,
    },
}

/// A program that runs.
#[derive(Clone, Debug)]
pub struct Paced {
    /// Its process ID.
    pub pid: i32,
    /// How it is held.
    pub freezer: FreezerKind,
    /// Why it is not held by a cgroup, if it is not by wish.
    pub no_cgroup: Option<String>,
}

/// What is told while it runs.
#[derive(Debug)]
pub enum PacedNews<'a> {
    /// It runs.
    Begun(&'a Paced),
    /// Several times a second.
    Progress {
        /// How things stand.
        report: &'a WorkReport,
        /// What it has read from disks.
        read: Bytes,
    },
    /// The disks at which it is seen, and whose users are spared: those, and no others any more.
    Disks(Vec<&'a str>),
    /// What it keeps from others while it is held.
    Keeps(Keeps),
    /// It is held no longer, for this reason.
    Released(&'a str),
}

/// How it ended.
#[derive(Clone, Debug)]
pub struct PacedEnd {
    /// The facts of its start.
    pub paced: Paced,
    /// The last report.
    pub report: WorkReport,
    /// As `wait(2)` has it.
    pub status: i32,
    /// What it, and all it waited for, read from disks.
    pub read: Bytes,
    /// What it, and all it waited for, wrote, to the page cache or to disks.
    pub written: Bytes,
    /// Processes that it started and left behind: they run on, unpaced (count).
    pub left: usize,
    /// Why it was held no longer from some time on.
    pub released: Option<String>,
    /// Sightings that were lost.
    pub lost: u64,
    /// The disks at which it was seen last.
    pub disks: Vec<String>,
}

/// Runs the program until it has ended. To be called while this process has one thread, which keeps the signals blocked that it
/// receives for the program.
///
/// # Errors
/// [`PaceError`]; the program was not started then.
pub fn run(options: &PaceOptions, tell: &mut dyn FnMut(PacedNews<'_>)) -> Result<PacedEnd, PaceError> {
    let system = |what| move |source| PaceError::System { what, source };
    freezer::let_go_what_was_left();
    let (mut freezer, no_cgroup) = match options.freezer {
        Some(FreezerKind::Signals) => (Freezer::Signals(StoppedProcesses::default()), None),
        Some(FreezerKind::Cgroup) => (Freezer::Cgroup(Cgroup::make().map_err(PaceError::Cgroup)?), None),
        None => match Cgroup::make() {
            Ok(group) => (Freezer::Cgroup(group), None),
            Err(error) => (Freezer::Signals(StoppedProcesses::default()), Some(error.to_string())),
        },
    };
    let detector = open_detector(&freezer, options).inspect_err(|_| freezer.leave())?;
    let signals = Signals::receive().map_err(system("signals cannot be received"))?;
    let start = || {
        // SAFETY: plain numbers. Orphans below this process become its children, so that they are held, too.
        unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1) };
        let guardian = Guardian::start(switch(&freezer), SILENCE_MAX).map_err(system("no guardian can be started"))?;
        let pid = spawn(options, &freezer, signals.before())?;
        Ok((guardian, pid))
    };
    let (guardian, pid) = start().inspect_err(|_: &PaceError| freezer.leave())?;
    let paced = Paced { pid, freezer: freezer.kind(), no_cgroup };
    tell(PacedNews::Begun(&paced));
    let now = clock::now();
    let config = WorkConfig {
        started: now,
        hold_guess: HOLD_GUESS,
        longest: Some(options.longest),
        holding: WorkHolding::AtOnce,
    };
    let mut pump = Pump {
        work: Work::new(config, options.policy.policy()),
        policy: options.policy,
        detector,
        freezer,
        guardian,
        paced,
        read: 0,
        written: 0,
        status: None,
        is_suspended: false,
        released: None,
        told_at: Nanos::ZERO,
        looked_at: Nanos::ZERO,
        kept: Keeps::default(),
        disks: Vec::new(),
    };
    pump.work.handle(now, WorkEvent::Free { at: now });
    pump.pump(&signals, tell);
    pump.tell_disks(tell);
    let left = pump.freezer.processes(&pump.guardian);
    pump.read += left.iter().map(|&pid| tree::read_bytes(pid)).sum::<u64>();
    pump.freezer.leave();
    let now = clock::now();
    Ok(PacedEnd {
        report: pump.work.report(now),
        paced: pump.paced,
        status: pump.status.unwrap_or_default(),
        read: Bytes(pump.read),
        written: Bytes(pump.written),
        left: left.len(),
        released: pump.released,
        lost: pump.detector.lost(),
        disks: pump.disks,
    })
}

fn open_detector(freezer: &Freezer, options: &PaceOptions) -> Result<WorkDetector, PaceError> {
    let senders = match freezer {
        Freezer::Cgroup(group) => WorkSenders::Cgroup(group.id().map_err(PaceError::Cgroup)?),
        Freezer::Signals(_) => WorkSenders::IdleClass,
    };
    Ok(WorkDetector::open(senders, options.disks.as_deref())?)
}

fn switch(freezer: &Freezer) -> Option<&File> {
    match freezer {
        Freezer::Cgroup(group) => Some(group.switch()),
        Freezer::Signals(_) => None,
    }
}

/// Starts the program: in the idle I/O class, in its cgroup, with the signals blocked that were blocked before.
fn spawn(options: &PaceOptions, freezer: &Freezer, blocked: SignalMask) -> Result<i32, PaceError> {
    let [program, arguments @ ..] = &options.command[..] else { unreachable!("the command line has a program") };
    let mut command = Command::new(program);
    command.args(arguments);
    let entrance = match freezer {
        Freezer::Cgroup(group) => Some(group.entrance().map_err(PaceError::Cgroup)?),
        Freezer::Signals(_) => None,
    };
    let prepare = move || {
        blocked.set();
        ioprio::enter_idle_class()?;
        match &entrance {
            Some(entrance) => (&*entrance).write_all(b"0")?,
            // If this process and the guardian die together, at least the program itself goes on.
            // SAFETY: plain numbers.
            None => drop(unsafe { libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGCONT) }),
        }
        Ok(())
    };
    // SAFETY: it calls sigprocmask(2), ioprio_set(2), write(2) and prctl(2) only, which are safe after a fork.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn().map_err(|source| PaceError::Program { program: program.clone(), source })?;
    Ok(child.id() as i32)
}

struct Pump {
    work: Work,
    policy: PolicyConfig,
    detector: WorkDetector,
    freezer: Freezer,
    guardian: Guardian,
    paced: Paced,
    /// Bytes read by what has ended.
    read: u64,
    /// Bytes written by what has ended.
    written: u64,
    /// How the program ended.
    status: Option<i32>,
    /// Somebody else has stopped it: the terminal, or a person.
    is_suspended: bool,
    /// Why it is held no longer.
    released: Option<String>,
    told_at: Nanos,
    looked_at: Nanos,
    kept: Keeps,
    /// The disks that were told of.
    disks: Vec<String>,
}

impl Pump {
    fn pump(&mut self, signals: &Signals, tell: &mut dyn FnMut(PacedNews<'_>)) {
        let (mut events, mut published_at, mut timeout) = (Vec::new(), Nanos::ZERO, Nanos::ZERO);
        while self.status.is_none() {
            let was_released = self.released.is_some();
            for received in signals.wait(Duration::from_nanos(timeout.0)) {
                self.on_signal(received);
            }
            events.clear();
            self.detector.drain(&mut events);
            let now = clock::now();
            events.iter().for_each(|&event| self.work.handle(now, event));
            if self.detector.take_loaded() {
                self.work.learn_anew(self.policy.policy());
            }
            self.work.handle(now, WorkEvent::Foreground(Event::Tick));
            match self.turn(now, tell) {
                Ok(()) => {}
                // The guardian has died, and that signal is still on its way.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => self.replace_guardian(),
                Err(error) => self.release(format!("it cannot be held: {error}")),
            }
            if let Some(reason) = self.released.as_ref().filter(|_| !was_released) {
                tell(PacedNews::Released(reason));
            }
            if now.since(published_at) >= PUBLISH_EVERY {
                published_at = now;
                self.tell_disks(tell);
                let live = self.freezer.processes(&self.guardian).into_iter().map(tree::read_bytes).sum::<u64>();
                tell(PacedNews::Progress { report: &self.work.report(now), read: Bytes(self.read + live) });
            }
            let is_paced = self.released.is_none() && !self.is_suspended;
            timeout = if is_paced { self.work.poll_timeout(now).since(now).min(TURN_MAX) } else { TURN_MAX };
        }
    }

    /// One turn of what is held or goes on.
    fn turn(&mut self, now: Nanos, tell: &mut dyn FnMut(PacedNews<'_>)) -> io::Result<()> {
        if self.released.is_some() || self.is_suspended || self.status.is_some() {
            return Ok(());
        }
        let activity = self.work.activity();
        if activity == WorkActivity::Holding && self.freezer.is_still(&mut self.guardian)? {
            self.work.handle(now, WorkEvent::Frozen { at: now });
        }
        while let Some(op) = self.work.poll_op(now) {
            match op {
                WorkOp::GoOn => self.freezer.let_go(&mut self.guardian)?,
                WorkOp::Hold => {
                    self.freezer.hold(&mut self.guardian)?;
                    self.told_at = now;
                }
            }
        }
        let is_held = self.work.activity() != WorkActivity::Going;
        if is_held && now.since(self.told_at) >= Nanos(SILENCE_MAX.as_nanos() as u64) {
            // This process was stopped, or slept with the machine: the guardian has let the program go.
            self.freezer.let_go(&mut self.guardian)?;
            self.work.handle(now, WorkEvent::Free { at: now });
            return Ok(());
        }
        if is_held && now.since(self.told_at) >= HEARTBEAT {
            self.guardian.held()?;
            self.told_at = now;
        }
        if now.since(self.looked_at) >= LOCKS_EVERY {
            self.looked_at = now;
            if self.freezer.has_lost(self.paced.pid)
                && tree::state(self.paced.pid).is_some_and(|(state, _)| state != 'Z')
            {
                self.release("it has left its cgroup".to_owned());
                return Ok(());
            }
            let processes = self.freezer.processes(&self.guardian);
            self.work.handle(now, WorkEvent::Wanted(keeps::waiter(&processes).is_some()));
            if is_held {
                let keeps = Keeps::of(&processes);
                if keeps.locks > self.kept.locks || keeps.connections > self.kept.connections {
                    self.kept = keeps.clone();
                    tell(PacedNews::Keeps(keeps));
                }
            }
        }
        Ok(())
    }

    fn tell_disks(&mut self, tell: &mut dyn FnMut(PacedNews<'_>)) {
        let disks = self.detector.disks();
        if !disks.is_empty() && disks != self.disks {
            self.disks = disks.iter().map(|&name| name.to_owned()).collect();
            tell(PacedNews::Disks(disks));
        }
    }

    /// Holds it no longer.
    fn release(&mut self, reason: String) {
        let _ = self.freezer.let_go(&mut self.guardian);
        let now = clock::now();
        self.work.handle(now, WorkEvent::Free { at: now });
        self.released.get_or_insert(reason);
    }

    fn on_signal(&mut self, Received { signal, is_sent }: Received) {
        match signal {
            libc::SIGCHLD => {
                while let Some(changed) = signals::changed_child() {
                    self.on_changed(changed);
                }
            }
            libc::SIGTSTP => {
                // The terminal stops the program itself; what it is held by must not outlast that. SIGCONT has taken that back.
                let was_stopped =
                    self.freezer.kind() == FreezerKind::Signals && self.work.activity() != WorkActivity::Going;
                let _ = self.freezer.let_go(&mut self.guardian);
                if was_stopped || is_sent {
                    let _ = send(self.paced.pid, libc::SIGTSTP);
                }
                signals::stop_self();
                let now = clock::now();
                self.work.handle(now, WorkEvent::Free { at: now });
            }
            _ => {
                if is_sent || signal == libc::SIGHUP && signals::is_session_leader() {
                    let _ = send(self.paced.pid, signal);
                }
                if !matches!(signal, libc::SIGUSR1 | libc::SIGUSR2) {
                    self.release("a signal asks it to end".to_owned());
                }
            }
        }
    }

    fn on_changed(&mut self, changed: signals::Changed) {
        let signals::Changed { pid, status, read, written } = changed;
        let has_ended = libc::WIFEXITED(status) || libc::WIFSIGNALED(status);
        if pid == self.guardian.pid() {
            if has_ended {
                self.replace_guardian();
            }
            return;
        }
        if has_ended {
            self.read += read;
            self.written += written;
            if pid == self.paced.pid {
                self.status = Some(status);
            }
            return;
        }
        if pid != self.paced.pid {
            return;
        }
        let activity = self.work.activity();
        let is_ours = self.freezer.kind() == FreezerKind::Signals && activity != WorkActivity::Going;
        if libc::WIFSTOPPED(status) && !(is_ours && libc::WSTOPSIG(status) == libc::SIGSTOP) {
            let is_stopped = tree::state(pid).is_some_and(|(state, _)| matches!(state, 'T' | 't'));
            self.is_suspended = is_stopped && (self.freezer.kind() == FreezerKind::Cgroup || !is_ours);
        } else if libc::WIFCONTINUED(status) {
            let was_let_go = is_ours && activity == WorkActivity::Held && !tree::stands_still(pid);
            if self.is_suspended || was_let_go {
                self.is_suspended = false;
                let _ = self.freezer.let_go(&mut self.guardian);
                let now = clock::now();
                self.work.handle(now, WorkEvent::Free { at: now });
            }
        }
    }

    /// Without a guardian the program must not be held.
    fn replace_guardian(&mut self) {
        let _ = self.freezer.let_go(&mut self.guardian);
        let now = clock::now();
        self.work.handle(now, WorkEvent::Free { at: now });
        if let Err(error) = self.guardian.again(switch(&self.freezer)) {
            self.release(format!("its guardian has died, and there can be no other one: {error}"));
        }
    }
}

impl PacedEnd {
    /// The program's exit code; `None`: a signal ended it.
    pub fn exit_code(&self) -> Option<i32> {
        libc::WIFEXITED(self.status).then(|| libc::WEXITSTATUS(self.status))
    }

    /// The signal that ended it.
    pub fn signal(&self) -> Option<i32> {
        libc::WIFSIGNALED(self.status).then(|| libc::WTERMSIG(self.status))
    }
}

/// Ends this process as the signal ended the program: who started it sees the same. Returns if the signal does not end it.
pub fn die_of(signal: i32) {
    // SAFETY: plain numbers and valid structures. No core of this process: it did nothing wrong.
    unsafe {
        let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        libc::signal(signal, libc::SIG_DFL);
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, signal);
        libc::raise(signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const set, std::ptr::null_mut());
    }
}
