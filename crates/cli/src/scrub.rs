//! `scrubjay scrub`: one session for each target, in parallel; progress while they run, the result at the end.

use crate::args::ScrubArgs;
use crate::exit::{Exit, Usage};
use crate::progress::{ScrubProgress, Update};
use crate::say::{print_text, say, shown_path};
use crate::{columns, pool_scrub, result, signals, unused_option};
use anyhow::{Context, Result};
use scrubjay_core::scrub::ScrubReport;
use scrubjay_core::scrub::idle::PolicyKind;
use scrubjay_device::btrfs::PoolError;
use scrubjay_device::claim::ClaimError;
use scrubjay_device::control::SessionControl;
use scrubjay_device::md;
use scrubjay_device::output::OutputError;
use scrubjay_device::session::{ScrubSession, SessionError, SessionInfo};
use scrubjay_device::store::StoreError;
use scrubjay_device::target::TargetError;
use scrubjay_device::verify;
use scrubjay_jobs::outcome::{OutcomeKind, TargetOutcome};
use scrubjay_jobs::settings::{RunOptions, Settings};
use scrubjay_jobs::subject_state::SubjectLog;
use scrubjay_jobs::target::{RepairWish, ResolvedTarget, TargetNameError};
use scrubjay_jobs::{config, json};
use scrubjay_serve::remote::RemoteError;
use scrubjay_serve::remote::client::ClientError;
use signal_hook::consts::SIGCONT;
use std::collections::HashSet;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Scrubs all targets.
pub fn run(args: &ScrubArgs) -> Result<Exit> {
    if args.record.is_some() && args.targets.len() > 1 {
        say(format_args!("scrubjay: --record takes one target"));
        return Ok(Exit::Usage);
    }
    let file = args.config.as_deref().map(config::read).transpose()?.unwrap_or_default();
    let settings = args.settings.settings().or(file);
    if let Some(pool) = pool_scrub::pool_of(args)? {
        return pool_scrub::run(args, &settings, &pool);
    }
    let PolicyKind { name, uses, .. } = settings.kind();
    unused_option::check(name, uses, &args.settings.parameters.given)?;
    let stop = PauseSignal::on_signals()?;
    md::put_back_all(&settings.state_folder()).iter().for_each(|line| say(format_args!("scrubjay: {line}")));
    // A target that is named twice is scrubbed once.
    let mut seen = HashSet::new();
    let is_new = |path: &&PathBuf| seen.insert(path.canonicalize().unwrap_or_else(|_| path.to_path_buf()));
    let mut targets: Vec<&PathBuf> = args.targets.iter().filter(is_new).collect();
    let (mut ended, mut refusal) = (Vec::new(), None);
    while !targets.is_empty() && refusal.is_none() && !stop.is_requested() {
        let (prepared, later) = match prepare_all(args, &settings, &targets) {
            Ok(ready) => ready,
            Err(NotReady { text, exit, .. }) => {
                say(format_args!("scrubjay: {text}"));
                refusal = Some(exit);
                continue;
            }
        };
        if args.repair && !args.yes && ended.is_empty() {
            ask_for_repair(&args.targets)?;
        }
        for path in &later {
            say(format_args!(
                "{}: on the same disk as another target: it begins when the others have ended",
                shown_path(path)
            ));
        }
        ended.extend(run_all(prepared, &stop, !args.no_progress));
        targets = later;
    }
    if let Some(exit) = refusal.filter(|_| ended.is_empty()) {
        return Ok(exit);
    }
    for path in &targets {
        let path = shown_path(path);
        say(format_args!("{path}: not begun"));
    }
    // Of several targets that were prepared one after the other the last may be refused: it was not done, like one that failed.
    let all_ended = refusal.is_none() && ended.iter().all(Option::is_some);
    let mut outcomes: Vec<TargetOutcome> = ended.into_iter().flatten().collect();
    outcomes.sort_by_key(|outcome| args.targets.iter().position(|path| *path == outcome.facts.path));
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let document = serde_json::to_string(&json::ScrubDocument::new(&outcomes)).context("the result as JSON")?;
        writeln!(out, "{document}")
    } else {
        let mut text = Vec::new();
        result::print(&outcomes, &mut text)
            .and_then(|()| print_text(&mut out, &String::from_utf8_lossy(&text), columns::width()))
    };
    printed.context("cannot write the result to standard output")?;
    if !all_ended {
        return Ok(Exit::Failed);
    }
    // The worst outcome decides; targets that were not begun are paused.
    let not_begun = targets.first().map(|_| OutcomeKind::Paused);
    Ok(match outcomes.iter().map(TargetOutcome::kind).chain(not_begun).max() {
        None | Some(OutcomeKind::Clean | OutcomeKind::Mended) => Exit::Clean,
        Some(OutcomeKind::Found) => Exit::Found,
        Some(OutcomeKind::Paused) => Exit::Paused,
        Some(OutcomeKind::Failed) => Exit::Failed,
    })
}

/// What md does when it is ordered to repair (Linux, md(4)).
const REPAIR_WORDS: &str = "where members do not agree, md will make them agree: of a mirror it writes the first copy over the others, of \
RAID-4, 5 and 6 it computes the parities again from the data. Where the first copy or the data are what is wrong, that makes the wrong \
ones final: compare with a backup first. What can be told to be such a place (RAID-6, three copies) is left as it is, and named.";

/// A session that is ready to run, with the findings feeds of its target.
struct Prepared {
    session: ScrubSession,
    log: SubjectLog,
}

/// Why a session is not ready, and the exit code.
struct NotReady {
    text: String,
    exit: Exit,
    /// Does another target of this command hold its disk?
    is_held_here: bool,
}

impl From<TargetNameError> for NotReady {
    fn from(error: TargetNameError) -> NotReady {
        let hint = match &error {
            TargetNameError::Absent(name) if Path::new("/dev").join(name).exists() => {
                format!("; did you mean {}?", Path::new("/dev").join(name).display())
            }
            // What has a dot or a slash is a file's name, and sdX is a disk's.
            TargetNameError::Absent(name) if may_be_volume(name) => {
                " (start a volume with `scrubjay volume serve`)".to_owned()
            }
            _ => String::new(),
        };
        NotReady { text: format!("{error}{hint}"), exit: exit_of_name(&error), is_held_here: false }
    }
}

/// Is this more likely a volume's name than a mistyped file or disk?
fn may_be_volume(name: &Path) -> bool {
    let name = name.to_string_lossy();
    let is_disk = ["sd", "nvme", "vd", "md", "loop"].iter().any(|kind| name.starts_with(kind));
    !is_disk && !name.contains(['.', '/'])
}

impl From<SessionError> for NotReady {
    fn from(error: SessionError) -> NotReady {
        let is_held_here = matches!(error, SessionError::Claim { source: ClaimError::HeldByThisProcess, .. });
        NotReady { text: format!("{error}{}", hint(&error)), exit: exit_of(&error), is_held_here }
    }
}

/// Prepares the targets that can run beside each other; of several on one disk the first. Returns the others, too.
fn prepare_all<'a>(
    args: &ScrubArgs,
    settings: &Settings,
    targets: &[&'a PathBuf],
) -> Result<(Vec<Prepared>, Vec<&'a PathBuf>), NotReady> {
    let (mut prepared, mut later) = (Vec::new(), Vec::new());
    for &path in targets {
        match prepare(args, settings, path) {
            Ok(target) => prepared.push(target),
            Err(refusal) if refusal.is_held_here && !prepared.is_empty() => later.push(path),
            Err(refusal) => return Err(refusal),
        }
    }
    Ok((prepared, later))
}

fn prepare(args: &ScrubArgs, settings: &Settings, path: &Path) -> Result<Prepared, NotReady> {
    let wish = match (args.read_only, args.repair) {
        (true, _) => RepairWish::None,
        (false, true) => RepairWish::Disagreements,
        (false, false) => RepairWish::AsUsual,
    };
    let ResolvedTarget { subject, log } = ResolvedTarget::open(path, &settings.state_folder(), wish)?;
    let run = RunOptions { range: args.range.clone(), fresh: args.fresh, record: args.record.clone() };
    let options = settings.options(&*subject, &run);
    Ok(Prepared { session: ScrubSession::prepare(subject, &options)?, log })
}

/// Explains what md will do, and asks for confirmation.
fn ask_for_repair(targets: &[PathBuf]) -> Result<()> {
    let names: Vec<String> = targets.iter().map(|target| shown_path(target)).collect();
    let mut err = io::stderr().lock();
    print_text(&mut err, &format!("{}: {REPAIR_WORDS}", names.join(", ")), columns::width().or(Some(80)))?;
    write!(err, "Go on? Type yes: ")?;
    let mut answer = String::new();
    match io::stdin().read_line(&mut answer)? {
        0 => Err(Usage("--repair asks before it begins, and there is no terminal: add --yes".to_owned()).into()),
        _ if answer.trim() == "yes" => Ok(()),
        _ => Err(Usage("nothing was begun".to_owned()).into()),
    }
}

/// Runs each target in a thread; this thread draws.
fn run_all(prepared: Vec<Prepared>, stop: &PauseSignal, show: bool) -> Vec<Option<TargetOutcome>> {
    let (sessions, logs): (Vec<ScrubSession>, Vec<_>) =
        prepared.into_iter().map(|Prepared { session, log }| (session, log)).unzip();
    let facts: Vec<SessionInfo> = sessions.iter().map(|session| session.facts().clone()).collect();
    let latest: Vec<Mutex<Option<Update>>> = sessions.iter().map(|_| Mutex::new(None)).collect();
    thread::scope(|scope| {
        let threads: Vec<_> = sessions
            .into_iter()
            .zip(&latest)
            .map(|(session, latest)| {
                scope.spawn(move || {
                    let mut publish = |report: &ScrubReport, troubles: &[String]| {
                        *lock(latest) = Some(Update { report: report.clone(), troubles: troubles.to_vec() });
                    };
                    let control = SessionControl::stopped_by(Arc::clone(&stop.is_requested));
                    // Without the signal the time in which it was stopped counts as the scrub's.
                    let _ = signal_hook::flag::register(SIGCONT, control.continued_flag());
                    session.run(&control, &mut publish)
                })
            })
            .collect();
        let mut progress = ScrubProgress::new(&facts, show);
        let mut stop_requested_at: Option<Instant> = None;
        while !threads.iter().all(thread::ScopedJoinHandle::is_finished) {
            progress.draw(latest.iter().map(|update| lock(update).clone()));
            if stop.is_requested() {
                progress.say_stopping();
                let is_grace_over = stop_requested_at.get_or_insert_with(Instant::now).elapsed() > SAME_SIGNAL;
                stop.is_shutdown_armed.store(is_grace_over, Ordering::Relaxed);
            }
            thread::park_timeout(progress.period());
        }
        progress.draw(latest.iter().map(|update| lock(update).clone()));
        progress.finish();
        // A thread that panicked does not take the results of other targets with it.
        let ended = threads.into_iter().map(|thread| thread.join().ok());
        let targets = facts.into_iter().zip(logs).zip(ended);
        targets.map(|((facts, log), ended)| ended.map(|ended| TargetOutcome::new(facts, ended, &log))).collect()
    })
}

fn lock(update: &Mutex<Option<Update>>) -> MutexGuard<'_, Option<Update>> {
    update.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The first SIGINT, SIGTERM or SIGHUP pauses; a later one ends the process at once (the saved state is then a few
/// seconds old).
#[derive(Default)]
struct PauseSignal {
    is_requested: Arc<AtomicBool>,
    is_shutdown_armed: Arc<AtomicBool>,
}

/// A signal within this time after the first counts as the same: `timeout` sends it to the process, and then to its group.
const SAME_SIGNAL: Duration = Duration::from_millis(500);

impl PauseSignal {
    fn on_signals() -> Result<PauseSignal> {
        let stop = PauseSignal::default();
        for signal in signals::stop_signals() {
            let is_armed = Arc::clone(&stop.is_shutdown_armed);
            signal_hook::flag::register_conditional_shutdown(signal, Exit::Paused as i32, is_armed)?;
            signal_hook::flag::register(signal, Arc::clone(&stop.is_requested))?;
        }
        Ok(stop)
    }

    fn is_requested(&self) -> bool {
        self.is_requested.load(Ordering::Relaxed)
    }
}

/// The exit code: a wrong name, a missing permission, or a failure.
fn exit_of_name(error: &TargetNameError) -> Exit {
    match error {
        TargetNameError::Target(TargetError::Permission { .. })
        | TargetNameError::Pool(PoolError::Permission { .. }) => Exit::Permission,
        TargetNameError::Remote { source: RemoteError::Client(ClientError::Io { source, .. }), .. }
            if source.kind() == ErrorKind::PermissionDenied =>
        {
            Exit::Permission
        }
        TargetNameError::Target(TargetError::Io { .. })
        | TargetNameError::Remote { .. }
        | TargetNameError::Pool(PoolError::Io { .. }) => Exit::Failed,
        TargetNameError::Target(_)
        | TargetNameError::Pool(_)
        | TargetNameError::Repairs(_)
        | TargetNameError::NothingToRepair(_)
        | TargetNameError::Array(_)
        | TargetNameError::Absent(_)
        | TargetNameError::Zfs { .. }
        | TargetNameError::Both { .. }
        | TargetNameError::Several { .. } => Exit::Usage,
    }
}

/// The option that may help, or an empty text.
fn hint(error: &SessionError) -> &'static str {
    match error {
        SessionError::Store(StoreError::Folder { .. } | StoreError::Meddled { .. }) => " (--state DIR)",
        SessionError::Store(StoreError::Damaged { .. } | StoreError::Foreign { .. }) => " (--fresh)",
        SessionError::Verifier { source, .. } => match source.other() {
            Some(verify::VerifierKind::Read) => " (--verify read)",
            Some(verify::VerifierKind::Auto) => " (--verify auto)",
            _ => "",
        },
        _ => "",
    }
}

/// The exit code: wrong usage, a missing permission, or a failure.
fn exit_of(error: &SessionError) -> Exit {
    match error {
        SessionError::Usage { .. } => Exit::Usage,
        SessionError::Verifier { source: verify::VerifierError::NotPermitted(_), .. } => Exit::Permission,
        SessionError::Store(StoreError::Folder { source, .. }) if source.kind() == ErrorKind::PermissionDenied => {
            Exit::Permission
        }
        SessionError::Claim { .. } | SessionError::Store(_) | SessionError::Verifier { .. } => Exit::Failed,
        SessionError::Record(OutputError::Io { source, .. }) => match source.kind() {
            ErrorKind::PermissionDenied => Exit::Permission,
            _ => Exit::Failed,
        },
        SessionError::Record(_) => Exit::Usage,
    }
}
