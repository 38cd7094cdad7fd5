//! `scrubjay probe`: infers the layout of an array from the times of its requests.

mod advice;
mod document;
mod facts;
mod kernel;
mod mode;
mod plot;
mod text;
mod words;

pub use advice::FormatPlace;
pub use document::ProbeDocument;
pub use mode::prober;
pub use text::print;

use crate::args::{Probe, ProbeMode};
use crate::echo::{self, EchoOff};
use crate::exit::{Exit, Usage};
use crate::page::check_folder;
use crate::say::say;
use crate::signals;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::Kernel;
use scrubjay_core::probe::io::{ProbeBudget, Prober};
use scrubjay_core::probe::known::{KnownArray, ProbeFinding, ProbeStage};
use scrubjay_core::quantity::{show_exact, show_time};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_device::member::MemberError;
use scrubjay_device::output::{self, Existing, OutputError};
use scrubjay_device::probing::{ProbedSubject, ProbingError, RewriteRefusal};
use scrubjay_device::target::TargetError;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;

/// The default time limit of a fast probe: nine of ten are done in a tenth of it.
const FAST_TIME_MAX: Nanos = Nanos::from_secs(180);
/// Copies of one block that are saved in one folder, at most.
const SAVED_MAX: usize = 100;

/// Probes a device.
pub fn run(args: &Probe) -> Result<Exit> {
    let stop = signals::flag()?;
    if let Some(why) = args.how.refusal() {
        return Err(Usage(why).into());
    }
    if let Some(folder) = &args.plot {
        check_folder("--plot", folder, args.force)?;
    }
    let mut subject = match ProbedSubject::open(&args.device, args.allow_writes) {
        Ok(subject) => subject,
        Err(error) => {
            say(format_args!("scrubjay: {error}"));
            return Ok(exit_of(&error));
        }
    };
    let device = subject.device();
    if args.allow_writes {
        say(format_args!("scrubjay: {} will be written to: blocks get what they hold", args.device.display()));
    }
    let time = args.budget.unwrap_or(match args.how.mode {
        ProbeMode::Fast => FAST_TIME_MAX,
        ProbeMode::Paper => Nanos::MAX,
    });
    let budget = ProbeBudget { requests: args.budget_ios.unwrap_or(u64::MAX), time };
    let mut prober = prober(&args.how, device, budget, args.allow_writes);
    let progress = ProbeProgress::new(!args.no_progress, time, args.how.max_pattern);
    let mut echo = (!progress.line.is_hidden()).then(EchoOff::new);
    let served = subject.serve(&mut prober, &stop, &mut |prober| {
        echo::restore_at(&stop, &mut echo);
        progress.draw(prober);
    });
    progress.finish();
    if let Err(ProbingError::Lost { blocks, .. }) = &served {
        blocks.iter().for_each(|(offset, data)| save(*offset, data));
    }
    // Results so far are printed, whatever happened.
    let (known, spent) = (prober.known(), prober.spent());
    let kernel = subject.block_device().and_then(|disk| Kernel::of(disk, subject.alignment_offset()));
    let name = args.device.display().to_string();
    let sector_bytes = if subject.block_device().is_some() { device.block } else { 512 };
    let place = FormatPlace { name: name.clone(), sector_bytes, is_partition: subject.is_partition() };
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let document = ProbeDocument::new(&known, spent, kernel, &place);
        writeln!(out, "{}", serde_json::to_string(&document).context("the result as JSON")?)
    } else {
        text::print(&known, spent, args.allow_writes, kernel.as_ref(), &name, Some(device.bytes), &mut out)
            .and_then(|()| text::advise(&known, &place, &mut out))
    };
    let plotted = args.plot.as_deref().map_or(Ok(()), |folder| {
        plot::write(&known, spent, args.allow_writes, kernel.as_ref(), &name, folder)
            .map(|files| name_files(folder, &files))
    });
    printed.context("cannot write the result to standard output")?;
    if let Err(error) = served {
        say(format_args!("scrubjay: {error}"));
        return Ok(exit_of(&error));
    }
    plotted?;
    Ok(exit(&known, stop.load(Ordering::Relaxed)))
}

/// Names the files of a page on standard error, as standard output may be JSON.
fn name_files(folder: &Path, files: &[PathBuf]) {
    match files {
        [] => say(format_args!("scrubjay: --plot {}: nothing is known that could be drawn", folder.display())),
        [page, more @ ..] => {
            say(format_args!("scrubjay: {}: pictures, and {} files beside it", page.display(), more.len()));
        }
    }
}

/// Saves data that could not be written back: there is no other copy, and only the owner may read it.
fn save(offset: u64, data: &[u8]) {
    let mut name = format!("scrubjay-block-at-{offset}");
    let mut saved = output::write_private(Path::new(&name), Existing::Kept, data);
    for number in 2..=SAVED_MAX {
        let Err(OutputError::Exists { .. } | OutputError::Unfit { .. }) = saved else { break };
        name = format!("scrubjay-block-at-{offset}-{number}");
        saved = output::write_private(Path::new(&name), Existing::Kept, data);
    }
    match saved {
        Ok(()) => {
            say(format_args!("scrubjay: what was there is in the file {name} now: write it back when the disk is well"))
        }
        Err(error) => say(format_args!("scrubjay: what was there cannot be saved either: {error}")),
    }
}

fn exit(known: &KnownArray, is_stopped: bool) -> Exit {
    let is_problem = |finding: &ProbeFinding| {
        !matches!(finding, ProbeFinding::Unknown | ProbeFinding::Fast { .. } | ProbeFinding::NoLevel { .. })
    };
    match is_stopped {
        true => Exit::Paused,
        false if known.findings.iter().any(|finding| is_problem(&finding.value)) => Exit::Found,
        false => Exit::Clean,
    }
}

fn exit_of(error: &ProbingError) -> Exit {
    match error {
        ProbingError::Target(TargetError::Permission { .. })
        | ProbingError::Member(MemberError::Permission { .. })
        | ProbingError::Shared {
            shared: RewriteRefusal::Unseen | RewriteRefusal::Contained | RewriteRefusal::NoLease(_),
            ..
        } => Exit::Permission,
        ProbingError::Target(TargetError::Io { .. })
        | ProbingError::NoRing(_)
        | ProbingError::Io { .. }
        | ProbingError::Taken { .. }
        | ProbingError::Came { .. }
        | ProbingError::Changing { .. }
        | ProbingError::Lost { .. } => Exit::Failed,
        ProbingError::Target(_)
        | ProbingError::Member(_)
        | ProbingError::Cached { .. }
        | ProbingError::Shared { .. } => Exit::Usage,
    }
}

/// A line that shows the results so far.
struct ProbeProgress {
    line: ProgressBar,
    time_max: Nanos,
    pattern_max: Bytes,
}

impl ProbeProgress {
    fn new(is_wanted: bool, time_max: Nanos, pattern_max: Bytes) -> ProbeProgress {
        let is_shown = is_wanted && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
        let line = ProgressBar::with_draw_target(None, target);
        line.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
        ProbeProgress { line, time_max, pattern_max }
    }

    fn draw(&self, prober: &Prober<KnownArray>) {
        if self.line.is_hidden() {
            return;
        }
        let (known, spent) = (prober.known(), prober.spent());
        let mut stage = known.stage.to_string();
        if known.stage == ProbeStage::Pattern {
            stage += &format!(", sizes up to {}", self.pattern_max);
        }
        let mut words = vec![format!("{stage}: {}, {}", words::requests(spent.requests), show_time(spent.time))];
        if self.time_max < Nanos::MAX {
            words[0] += &format!(" of at most {}", show_time(self.time_max).replace(" min 0 s", " min"));
        }
        words.extend(known.pattern_bytes.as_ref().map(|claim| format!("pattern {}", show_exact(claim.value))));
        words.extend(known.chunk_bytes.as_ref().map(|claim| format!("chunk {}", show_exact(claim.value))));
        words.extend(known.disks.as_ref().map(|claim| format!("{} disks", claim.value)));
        self.line.set_message(words.join(", "));
        self.line.tick();
    }

    fn finish(&self) {
        self.line.finish_and_clear();
    }
}
