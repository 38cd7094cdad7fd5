//! `scrubjay scrub POOL`: ZFS's own scrub, inside the budget.

mod document;
mod facts;
mod text;

use crate::args::ScrubArgs;
use crate::exit::{Exit, Usage};
use crate::say::{print_line, say, shown};
use crate::signals;
use crate::terminal;
use anyhow::{Context, Result};
use document::PoolScrubDocument;
use scrubjay_core::scrub::work::WorkReport;
use scrubjay_core::units::Nanos;
use scrubjay_daemon::zfs::Zpool;
use scrubjay_daemon::zfs::scrub::{
    self, PoolDisks, PoolDisksError, PoolOrders, PoolScrubEnd, PoolScrubOptions, PoolScrubbed, REST, RUN, ScanTuning,
};
use scrubjay_device::claim::{self, ClaimError, DiskClaim};
use scrubjay_jobs::settings::Settings;
use scrubjay_jobs::zfs_pool;
use scrubjay_watch::pool::PoolScan;
use scrubjay_words::{PoolScrubWords, Said};
use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::Path;

/// Without a terminal, how often a line says how things stand.
const SAID_EVERY: Nanos = Nanos::from_secs(600);

/// The pool that is to be scrubbed, if the target is one.
///
/// # Errors
/// Options, or other targets, that do not go with it.
pub fn pool_of(args: &ScrubArgs) -> Result<Option<String>> {
    // A volume (zvol) is part of a pool: its name is refused as any other part's.
    let is_device = |path: &Path| fs::metadata(path).is_ok_and(|metadata| metadata.file_type().is_block_device());
    let pools = args.targets.iter().filter(|path| !is_device(path)).filter_map(|path| zfs_pool::pool_of(path));
    let pools: Vec<String> = pools.collect();
    let refused = |why: &str| Err(Usage(why.to_owned()).into());
    let Some(pool) = pools.first() else {
        return match (args.only_errors, args.tune_zfs) {
            (false, false) => Ok(None),
            (true, _) => refused("--only-errors is for a pool of ZFS"),
            (_, true) => refused("--tune-zfs is for a pool of ZFS"),
        };
    };
    let given = [
        (args.targets.len() > 1, "other targets beside it"),
        (args.range.is_some(), "--range: ZFS cannot be asked for a part"),
        (args.repair, "--repair: ZFS repairs by itself"),
        (args.read_only, "--read-only: ZFS repairs by itself"),
        (args.record.is_some(), "--record"),
        (args.settings.policy.is_some_and(|policy| policy.name != "budget"), "--policy: it keeps a mean"),
        (args.settings.order.is_some(), "--order: ZFS has its own"),
        (args.settings.verify.is_some(), "--verify: ZFS has its own way"),
    ];
    match given.iter().find(|(is_given, _)| *is_given) {
        Some((_, what)) => refused(&format!("{pool}: the scrub of a pool of ZFS takes no {what}")),
        None => Ok(Some(pool.clone())),
    }
}

/// Scrubs it.
pub fn run(args: &ScrubArgs, settings: &Settings, name: &str) -> Result<Exit> {
    let goal = settings.policy(scrubjay_core::units::Bytes(512)).goal().map_or(Nanos::from_millis(1), |goal| goal.mean);
    let state = settings.state_folder();
    scrub::put_back(&state).iter().for_each(|line| say(format_args!("scrubjay: {line}")));
    let orders = PoolOrders::new(name, args.only_errors);
    let pool = match orders.look() {
        Ok(Some(pool)) => pool,
        Ok(None) => return Err(Usage(format!("{}: no such pool is imported", shown(name))).into()),
        Err(why) => return Err(Usage(format!("{}: {why}", shown(name))).into()),
    };
    if orders.is_read_only() {
        let why = "it is imported for reading only, and a scrub writes: import it without readonly=on";
        return Err(Usage(format!("{}: {why}", shown(name))).into());
    }
    if let Some(refusal) = refusal(&pool) {
        return Err(Usage(format!("{}: {refusal}", shown(name))).into());
    }
    let _claim = match DiskClaim::take(&claim::name_of(&format!("zfs pool {name}"))) {
        Ok(claim) => claim,
        Err(error @ ClaimError::Held { .. }) => {
            say(format_args!("scrubjay: {} {error}", shown(name)));
            return Ok(Exit::Failed);
        }
        Err(error) => return Err(error.into()),
    };
    let stop = signals::patient_flag()?;
    let tuning = if args.tune_zfs {
        fs::create_dir_all(&state).with_context(|| format!("cannot make {}", state.display()))?;
        Some(ScanTuning::begin(&state)?)
    } else {
        None
    };
    let mut shown_line = ShownProgress { name, goal, is_shown: !args.no_progress, said_at: Nanos::ZERO };
    let mut publish = |pool: &Zpool, report: &WorkReport| shown_line.draw(pool, report);
    let is_tuned = tuning.is_some();
    let mut world = match PoolDisks::open(&pool, tuning, stop, &mut publish) {
        Ok(world) => world,
        Err(error) => {
            let is_permission = matches!(&error, PoolDisksError::Detector(refused) if refused.is_permission);
            let advice = if is_permission { ": try sudo" } else { "" };
            say(format_args!("scrubjay: {}: {error}{advice}", shown(name)));
            return Ok(if is_permission { Exit::Permission } else { Exit::Failed });
        }
    };
    if !args.no_progress {
        text::begin(name, &pool, goal, is_tuned).iter().for_each(|line| say(format_args!("{line}")));
    }
    let options = PoolScrubOptions { goal, run_and_rest: [RUN, REST] };
    let scrubbed = scrub::run(&orders, pool, &options, &mut world);
    let trouble = world.trouble().map(str::to_owned);
    drop(world);
    if let Some(why) = trouble {
        say(format_args!("{}", Said::from(PoolScrubWords::Parameters { why })));
    }
    shown_line_end(!args.no_progress);
    let mut out = io::stdout().lock();
    if args.json {
        let document =
            serde_json::to_string(&PoolScrubDocument::new(name, goal, &scrubbed)).context("the result as JSON")?;
        writeln!(out, "{document}").context("cannot write the result to standard output")?;
    } else {
        for line in text::result(name, goal, &scrubbed) {
            print_line(&mut out, format_args!("{line}")).context("cannot write the result to standard output")?;
        }
    }
    Ok(exit_of(&scrubbed))
}

/// Why it is not scrubbed now.
fn refusal(pool: &Zpool) -> Option<String> {
    let not_now = match pool.scan {
        PoolScan::Resilver(_) => "ZFS fills a device, which comes first: try again when that has ended",
        PoolScan::Moving => "data are moved off a device, or it is expanded: try again when that has ended",
        _ if pool.state == "SUSPENDED" => "it is SUSPENDED: see to its devices, then sudo zpool clear it",
        _ => return None,
    };
    Some(not_now.to_owned())
}

fn exit_of(scrubbed: &PoolScrubbed) -> Exit {
    match scrubbed.end {
        PoolScrubEnd::Complete if text::is_clean(scrubbed.pool.as_ref()) => Exit::Clean,
        PoolScrubEnd::Complete => Exit::Found,
        PoolScrubEnd::Paused => Exit::Paused,
        _ => Exit::Failed,
    }
}

/// How things stand: on a terminal one line that is drawn again, else a line now and then.
struct ShownProgress<'a> {
    name: &'a str,
    goal: Nanos,
    is_shown: bool,
    said_at: Nanos,
}

impl ShownProgress<'_> {
    fn draw(&mut self, pool: &Zpool, report: &WorkReport) {
        if !self.is_shown {
            return;
        }
        let line = text::progress(self.name, self.goal, pool, report);
        if let Some(width) = terminal::of_stderr() {
            let cut: String = line.chars().take(width.saturating_sub(1)).collect();
            let _ = write!(io::stderr().lock(), "\r\x1b[K{cut}");
        } else if report.elapsed.since(self.said_at) >= SAID_EVERY {
            self.said_at = report.elapsed;
            say(format_args!("{line}"));
        }
    }
}

/// Ends the line that was drawn.
fn shown_line_end(is_shown: bool) {
    if is_shown && terminal::of_stderr().is_some() {
        let _ = write!(io::stderr().lock(), "\r\x1b[K");
    }
}
