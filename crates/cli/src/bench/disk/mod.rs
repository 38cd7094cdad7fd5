//! `scrubjay bench disk`: IOPS with latency, by depth and by position, and a verdict on them.

mod page;
mod progress;
mod text;

use crate::args::{BenchDiskArgs, BenchEngine};
use crate::echo::{self, EchoOff};
use crate::exit::{Exit, Usage};
use crate::page::check_folder;
use crate::say::{say, shown};
use crate::signals;
use crate::unwritable::unwritable;
use anyhow::{Context, Result};
use progress::BenchProgress;
use scrubjay_core::bench::compare::{BenchComparison, compare};
use scrubjay_core::bench::machine::{BenchRecord, BenchState, DiskBench};
use scrubjay_core::bench::plan::BenchPlan;
use scrubjay_core::bench::verdict::{BenchContext, BenchGrade, judge, usual_budget};
use scrubjay_core::units::Nanos;
use scrubjay_device::bench::{BenchError, BenchedDisk, clock_step, put_back_all};
use scrubjay_device::clock;
use scrubjay_device::inventory;
use scrubjay_device::member::MemberError;
use scrubjay_device::output::{self, Existing};
use scrubjay_device::probing::RewriteRefusal;
use scrubjay_device::store;
use scrubjay_device::target::TargetError;
use scrubjay_jobs::bench::{BenchDiskDocument, BenchOutcome};
use scrubjay_jobs::bench_log::BenchLog;
use scrubjay_jobs::fio::{self, FioFile};
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// Measures a disk.
pub fn run(args: &BenchDiskArgs) -> Result<Exit> {
    let stop = signals::flag()?;
    for (name, folder) in [("--page", &args.page), ("--fio-logs", &args.fio_logs)] {
        folder.as_deref().map_or(Ok(()), |folder| check_folder(name, folder, args.force))?;
    }
    let path = path_of(&args.target)?;
    put_back_all().iter().for_each(|line| say(format_args!("scrubjay: {line}")));
    let mut disk = match open(&path, args) {
        Ok(disk) => disk,
        Err(error) => {
            let Some(refused) = error.downcast_ref::<BenchError>() else { return Err(error) };
            say(format_args!("scrubjay: {error}"));
            return Ok(exit_of(refused));
        }
    };
    let (bytes, block) = disk.geometry();
    let plan = BenchPlan::new(bytes, block, &args.depth.0, Nanos::from_secs_f64(args.seconds), args.write);
    let begun = clock::now();
    let (record, engine, ended) = match args.engine {
        BenchEngine::Own => {
            let (record, ended) = measure(&mut disk, plan, args, &stop);
            (record, "own (io_uring)".to_owned(), ended.map_err(anyhow::Error::new))
        }
        BenchEngine::Fio => {
            let engine = fio::version()?;
            let progress = BenchProgress::new(!args.no_progress, plan.time());
            let mut echo = progress.is_shown().then(EchoOff::new);
            let (record, ended) = fio::measure(&mut disk, &path, plan, &stop, &mut |result| {
                echo::restore_at(&stop, &mut echo);
                progress.show(result);
            });
            progress.finish();
            (record, format!("{engine} (io_uring)"), ended.map_err(anyhow::Error::new))
        }
    };
    let processor = processor_share(clock::now().since(begun));
    let outcome = outcome(args, &disk, record, engine);
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let document = BenchDiskDocument::new(&outcome);
        writeln!(out, "{}", serde_json::to_string(&document).context("the result as JSON")?)
    } else {
        text::print(&outcome, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    drop(out);
    keep(args, &outcome);
    if let Err(error) = ended {
        let Some(known) = error.downcast_ref::<BenchError>() else { return Err(error) };
        say(format_args!("scrubjay: {error}"));
        return Ok(exit_of(known));
    }
    if let Some(folder) = &args.page {
        let files = page::write(&outcome, &text::method(&outcome), folder)?;
        say(format_args!("scrubjay: {}: figures, and {} files beside it", files[0].display(), files.len() - 1));
    }
    if let Some(folder) = &args.fio_logs {
        write_fio_files(&outcome, processor, folder)?;
    }
    Ok(exit(&outcome))
}

/// Measures the disk; returns what was measured, even if it failed.
fn measure(
    disk: &mut BenchedDisk,
    plan: BenchPlan,
    args: &BenchDiskArgs,
    stop: &AtomicBool,
) -> (BenchRecord, Result<(), BenchError>) {
    let progress = BenchProgress::new(!args.no_progress, plan.time());
    let mut bench = DiskBench::new(plan, args.seed.unwrap_or_else(|| clock::now().0));
    let mut echo = progress.is_shown().then(EchoOff::new);
    let ended = disk.run(&mut bench, stop, &mut |bench| {
        echo::restore_at(stop, &mut echo);
        progress.draw(bench);
    });
    progress.finish();
    (bench.into_record(), ended)
}

fn outcome(args: &BenchDiskArgs, disk: &BenchedDisk, record: BenchRecord, engine: String) -> BenchOutcome {
    let facts = disk.facts().clone();
    let budget = args.budget.unwrap_or_else(|| usual_budget(&record, facts.class, facts.is_rotational));
    let context = BenchContext {
        class: facts.class,
        intermediary: facts.intermediary.clone(),
        is_rotational: facts.is_rotational,
        span_share: disk.span_share(),
        hole_share: disk.hole_share(),
        served_share: disk.served_share(),
        raid_driver: facts
            .is_raid_controller
            .then(|| facts.driver.clone().unwrap_or_else(|| "its model says so".into())),
        is_thin: facts.is_thin,
        budget,
        clock_step: clock_step(),
        is_scrubbed: disk.is_scrubbed(),
    };
    let verdict = judge(&record, &context);
    let mut outcome = BenchOutcome {
        target: args.target.clone(),
        key: disk.key(),
        engine,
        facts,
        span: disk.span(),
        record,
        budget,
        verdict,
        comparison: BenchComparison::default(),
        at: clock::today(),
    };
    if let Some(result) = outcome.to_keep() {
        outcome.comparison = compare(&result, &log(args).read());
    }
    outcome
}

/// Writes the files that fio would have written.
fn write_fio_files(outcome: &BenchOutcome, processor: (f64, f64), folder: &Path) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("cannot create the folder {}", folder.display()))?;
    let files = fio::files(outcome, processor);
    for FioFile { name, text } in &files {
        output::write(&folder.join(name), Existing::Replaced, text.as_bytes()).map_err(unwritable)?;
    }
    say(format_args!("scrubjay: {}: {} files as fio writes them", folder.display(), files.len()));
    Ok(())
}

/// The share of one processor that this process used since its measurement began, in user mode and in the kernel.
fn processor_share(elapsed: Nanos) -> (f64, f64) {
    /// `USER_HZ`: the unit of times in `/proc`, the same on all architectures that are supported.
    const TICKS: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // Counted from behind the name, which may have spaces: utime and stime are the 14th and 15th field.
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().filter_map(|word| word.parse().ok()).collect();
    let share = |ticks: Option<&f64>| ticks.map_or(0.0, |ticks| ticks / TICKS / elapsed.as_secs_f64().max(1e-3));
    (share(fields.get(10)), share(fields.get(11)))
}

/// Keeps the result. An error here is no reason to fail.
fn keep(args: &BenchDiskArgs, outcome: &BenchOutcome) {
    let Some(result) = outcome.to_keep().filter(|_| !args.no_history) else { return };
    let log = log(args);
    if let Err(error) = log.add(result) {
        say(format_args!("scrubjay: the result is not kept: {}: {error}", log.path().display()));
    }
}

fn log(args: &BenchDiskArgs) -> BenchLog {
    BenchLog::new(&args.state.clone().unwrap_or_else(store::default_folder))
}

/// The path of a disk: given as a path, or found by a name of the disk.
pub fn path_of(name: &str) -> Result<PathBuf> {
    let path = PathBuf::from(name);
    if path.exists() || name.contains('/') {
        return Ok(path);
    }
    // The kernel's name of a partition means the partition, not its disk.
    let device = Path::new("/dev").join(name);
    if std::fs::metadata(&device).is_ok_and(|metadata| metadata.file_type().is_block_device()) {
        return Ok(device);
    }
    match inventory::find(name).context("cannot list the disks")?.as_slice() {
        [] => Ok(path), // it does not exist, which is reported when it is opened
        [disk] => Ok(disk.path.clone()),
        several => {
            let names: Vec<String> = several.iter().map(|disk| disk.path.display().to_string()).collect();
            Err(Usage(format!("{} disks are called {name}: name one of {}", several.len(), names.join(", "))).into())
        }
    }
}

/// Opens the disk for reading; for writing only if the user confirms what is lost.
fn open(path: &Path, args: &BenchDiskArgs) -> Result<BenchedDisk> {
    if !args.write {
        return Ok(BenchedDisk::open(path)?);
    }
    if args.engine == BenchEngine::Fio {
        return Err(
            Usage("--write needs --engine own: fio does not check whether the disk is in use".to_owned()).into()
        );
    }
    let looked_at = BenchedDisk::open(path)?;
    let name = match looked_at.is_block_device() {
        true => looked_at.facts().serial.clone().or_else(|| looked_at.facts().disk.clone()),
        false => path.file_name().map(|name| name.to_string_lossy().into_owned()),
    };
    drop(looked_at);
    let name = name.unwrap_or_default();
    if let Some(wrong) = args.known.iter().find(|known| **known != name) {
        let label = if path.is_file() { "its name" } else { "its serial number (or its name, where it has none)" };
        let refusal = format!(
            "--i-know {wrong}: that is not what {} is called: with --write all that is on it is lost, so say {label}",
            path.display()
        );
        return Err(Usage(shown(&refusal).into_owned()).into());
    }
    Ok(BenchedDisk::open_to_write(path, args.known.len() > 1)?)
}

fn exit(outcome: &BenchOutcome) -> Exit {
    let has_faults = outcome.record.results.iter().any(|result| result.fault_count > 0);
    match outcome.record.state {
        BenchState::Stopped | BenchState::Running => Exit::Paused,
        BenchState::Gone | BenchState::Failing => Exit::Failed,
        BenchState::Complete if has_faults => Exit::Found,
        BenchState::Complete if matches!(outcome.verdict.grade, BenchGrade::Slow | BenchGrade::Impossible) => {
            Exit::Found
        }
        BenchState::Complete => Exit::Clean,
    }
}

/// The exit code of an error.
pub fn exit_of(error: &BenchError) -> Exit {
    match error {
        BenchError::Target(TargetError::Permission { .. })
        | BenchError::Member(MemberError::Permission { .. })
        | BenchError::Shared {
            shared: RewriteRefusal::Unseen | RewriteRefusal::Contained | RewriteRefusal::NoLease(_),
            ..
        } => Exit::Permission,
        BenchError::Target(TargetError::Io { .. })
        | BenchError::NoRing(_)
        | BenchError::Hanging { .. }
        | BenchError::Taken { .. }
        | BenchError::Io { .. } => Exit::Failed,
        BenchError::Target(_)
        | BenchError::Member(_)
        | BenchError::Cached { .. }
        | BenchError::Shared { .. }
        | BenchError::Scrubbed { .. } => Exit::Usage,
    }
}
