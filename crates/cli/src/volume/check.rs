//! `scrubjay volume check`: reads every stripe of a volume that is not served.

use super::admin::summaries;
use super::serve::{members, today};
use crate::args::volume::Check;
use crate::exit::Exit;
use crate::say::print_line;
use crate::signals;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use scrubjay_core::volume::finding::Resolution;
use scrubjay_serve::volume::commands::Finding;
use scrubjay_serve::volume::offline::{self, Checked};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The result, as JSON.
#[derive(Serialize)]
struct CheckDocument<'a> {
    schema: u32,
    /// Was every stripe read?
    complete: bool,
    stripes: u64,
    clean: u64,
    /// Stripes of a write that a crash interrupted, which were not judged.
    undecided: u64,
    repaired: Vec<&'a Finding>,
    /// Findings that were not repaired: without `--repair`, or because a disk did not accept the write.
    damaged: Vec<&'a Finding>,
    lost: Vec<&'a Finding>,
    /// Slots of members that are missing, failed, or being rebuilt.
    degraded: &'a [usize],
}

/// Checks a volume.
pub fn run(args: &Check) -> Result<Exit> {
    let mut gathered = members(&args.members, !args.repair)?;
    let is_stop_requested = Arc::new(AtomicBool::new(false));
    for signal in signals::stop_signals() {
        signal_hook::flag::register(signal, Arc::clone(&is_stop_requested))?;
    }
    let bar = ProgressBar::new(gathered.assembly.superblock.geometry.stripes);
    bar.set_style(ProgressStyle::with_template("{bar:30} {percent:>3} %  {eta} left")?);
    let checked = offline::check(&mut gathered, !args.repair, today(), |done, _| {
        bar.set_position(done);
        !is_stop_requested.load(Ordering::Relaxed)
    })
    .context("io_uring is refused")?;
    bar.finish_and_clear();
    let mut out = io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&document(&checked))?)?;
    } else {
        print(&checked, args.repair, &mut out)?;
    }
    let is_well = checked.findings.is_empty() && checked.undecided == 0 && checked.degraded.is_empty();
    Ok(match (checked.is_stopped, is_well) {
        (true, _) => Exit::Paused,
        (false, true) => Exit::Clean,
        (false, false) => Exit::Found,
    })
}

fn document(checked: &Checked) -> CheckDocument<'_> {
    let findings_with = |wanted: &'static [Resolution]| {
        checked.findings.iter().filter(move |finding| wanted.contains(&finding.end)).collect()
    };
    CheckDocument {
        schema: 1,
        complete: !checked.is_stopped,
        stripes: checked.stripes,
        clean: checked.clean,
        undecided: checked.undecided,
        repaired: findings_with(&[Resolution::Repaired]),
        damaged: findings_with(&[Resolution::Reconstructed, Resolution::Transient]),
        lost: findings_with(&[Resolution::Lost]),
        degraded: &checked.degraded,
    }
}

fn print(checked: &Checked, may_repair: bool, out: &mut impl Write) -> Result<()> {
    if !checked.degraded.is_empty() {
        let slots: Vec<String> = checked.degraded.iter().map(usize::to_string).collect();
        let members = if slots.len() == 1 { "member" } else { "members" };
        writeln!(out, "DEGRADED: it does without {members} {}", slots.join(", "))?;
    }
    for line in summaries(&checked.findings) {
        print_line(out, format_args!("{line}"))?;
    }
    let stopped = if checked.is_stopped { "; stopped early, the rest was not read" } else { "" };
    writeln!(out, "{} of {} stripes clean{stopped}", checked.clean, checked.stripes)?;
    if checked.undecided > 0 {
        let hint = if may_repair { "" } else { ": serve the volume, or check it with --repair" };
        writeln!(
            out,
            "{} stripes were being written when the server ended, and are not decided{hint}",
            checked.undecided
        )?;
    }
    if !may_repair && checked.findings.iter().any(|finding| finding.end == Resolution::Reconstructed) {
        writeln!(out, "nothing was written; with --repair what can be rebuilt is")?;
    }
    Ok(())
}
