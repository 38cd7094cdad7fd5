//! `scrubjay volume check`: reads every stripe of a volume that is not served.

use super::serve::{members, today};
use crate::args::volume::Check;
use crate::exit::Exit;
use crate::say::print_line;
use crate::signals;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressStyle};
use scrubjay_core::finding::Resolution;
use scrubjay_core::quantity::show_count;
use scrubjay_serve::volume::finding_words::FindingWords;
use scrubjay_serve::volume::offline::{self, Checked};
use serde::Serialize;
use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The result, as JSON.
#[derive(Serialize)]
struct CheckDocument<'a> {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    /// Was every stripe read?
    complete: bool,
    stripes: u64,
    clean: u64,
    /// Stripes of a write that a crash interrupted, which were not judged.
    undecided: u64,
    repaired: Vec<FindingWords>,
    /// Findings that were not repaired: without `--repair`, or because a disk did not accept the write.
    damaged: Vec<FindingWords>,
    lost: Vec<FindingWords>,
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
    let stripes = gathered.assembly.superblock.geometry.stripes;
    let bar = ProgressBar::new(stripes);
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
        print(&checked, stripes, args.repair, &mut out)?;
    }
    let is_settled = checked.findings.iter().all(|finding| finding.resolution.is_settled());
    let is_well = is_settled && checked.undecided == 0 && checked.degraded.is_empty();
    Ok(match (checked.is_stopped, is_well) {
        (true, _) => Exit::Paused,
        (false, true) => Exit::Clean,
        (false, false) => Exit::Found,
    })
}

fn document(checked: &Checked) -> CheckDocument<'_> {
    let findings_with = |wanted: &'static [Resolution]| {
        checked
            .findings
            .iter()
            .filter(move |finding| wanted.contains(&finding.resolution))
            .map(FindingWords::from)
            .collect()
    };
    CheckDocument {
        schema: 1,
        version: scrubjay_control::version::version(),
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

/// Prints the result of a check of a volume with this many stripes.
fn print(checked: &Checked, stripes: u64, may_repair: bool, out: &mut impl Write) -> Result<()> {
    if !checked.degraded.is_empty() {
        let slots: Vec<String> = checked.degraded.iter().map(usize::to_string).collect();
        let members = if slots.len() == 1 { "member" } else { "members" };
        writeln!(out, "DEGRADED: it does without {members} {}", slots.join(", "))?;
    }
    for line in scrubjay_words::rows(&checked.findings) {
        print_line(out, format_args!("{line}"))?;
    }
    let stopped = if checked.is_stopped { "; stopped early, the rest was not read" } else { "" };
    let (clean, written) = (show_count(checked.clean), show_count(checked.stripes));
    match checked.stripes {
        0 => {
            let stripes = show_count(stripes);
            writeln!(
                out,
                "nothing was ever written to it: there is nothing to verify in its {stripes} stripes{stopped}"
            )?;
        }
        _ => writeln!(out, "{clean} of {written} written stripes clean{stopped}")?,
    }
    if checked.undecided > 0 {
        let hint = if may_repair { "" } else { ": serve the volume, or check it with --repair" };
        writeln!(
            out,
            "{} stripes were being written when the server ended, and are not decided{hint}",
            checked.undecided
        )?;
    }
    if !may_repair && checked.findings.iter().any(|finding| finding.resolution == Resolution::Reconstructed) {
        writeln!(out, "nothing was written; with --repair what can be rebuilt is")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(checked: &Checked) -> String {
        let mut out = Vec::new();
        print(checked, 1999, false, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_volume_that_was_never_written_is_not_called_clean() {
        let text = printed(&Checked::default());
        assert_eq!(text, "nothing was ever written to it: there is nothing to verify in its 1,999 stripes\n");
        let text = printed(&Checked { stripes: 1240, clean: 1239, ..Checked::default() });
        assert_eq!(text, "1,239 of 1,240 written stripes clean\n");
    }
}
