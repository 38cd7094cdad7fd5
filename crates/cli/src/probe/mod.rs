//! `scrubjay probe`: how an array is laid out, from the times that its requests take.

mod advice;
mod document;
mod kernel;
mod mode;
mod text;
mod words;

pub use document::Document;
pub use mode::prober;
pub use text::print;

use crate::args::Probe;
use crate::exit::{Exit, Usage};
use crate::quantity::{show_count, show_time};
use crate::say::say;
use anyhow::{Context, Result};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use kernel::Kernel;
use scrubjay_core::probe::bench::{Budget, Prober};
use scrubjay_core::probe::known::{Finding, Known};
use scrubjay_core::units::Nanos;
use scrubjay_device::member::MemberError;
use scrubjay_device::probing::{ProbingError, Subject};
use scrubjay_device::target::TargetError;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Probes a device.
pub fn run(args: &Probe) -> Result<Exit> {
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        // The second one ends it on the spot.
        signal_hook::flag::register_conditional_shutdown(signal, Exit::Paused as i32, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let mut subject = match Subject::open(&args.device, args.allow_writes) {
        Ok(subject) => subject,
        Err(error) => {
            say(format_args!("scrubjay: {error}"));
            return Ok(exit_of(&error));
        }
    };
    if args.allow_writes {
        say(format_args!("scrubjay: {} will be written to: blocks get what they hold", args.device.display()));
    }
    let device = subject.device();
    if args.how.is_empty() || args.how.max_pattern.0 < device.block {
        return Err(Usage("--max-pattern, --requests, --repeats and --block must be more than 0".to_owned()).into());
    }
    let budget = Budget { requests: args.budget_ios.unwrap_or(u64::MAX), time: args.budget.unwrap_or(Nanos::MAX) };
    let mut prober = prober(&args.how, device, budget, args.allow_writes);
    let progress = Progress::new(!args.no_progress);
    let served = subject.serve(&mut prober, &stop, &mut |prober| progress.draw(prober));
    progress.finish();
    // What is known is told, whatever happened then.
    let (known, spent) = (prober.known(), prober.spent());
    let kernel = subject.block_device().and_then(Kernel::of);
    let name = args.device.display().to_string();
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let document = Document::new(&known, spent, kernel, &name);
        writeln!(out, "{}", serde_json::to_string(&document).context("the result as JSON")?)
    } else {
        text::print(&known, spent, kernel.as_ref(), &name, Some(device.bytes), &mut out)
            .and_then(|()| text::advise(&known, &name, &mut out))
    };
    printed.context("cannot write the result to standard output")?;
    if let Err(error) = served {
        say(format_args!("scrubjay: {error}"));
        return Ok(Exit::Failed);
    }
    Ok(exit(&known, stop.load(Ordering::Relaxed)))
}

fn exit(known: &Known, is_stopped: bool) -> Exit {
    let is_problem = |finding: &Finding| !matches!(finding, Finding::Unknown | Finding::Fast { .. });
    match is_stopped {
        true => Exit::Paused,
        false if known.findings.iter().any(|finding| is_problem(&finding.value)) => Exit::Found,
        false => Exit::Clean,
    }
}

fn exit_of(error: &ProbingError) -> Exit {
    match error {
        ProbingError::Target(TargetError::Permission { .. }) | ProbingError::Member(MemberError::Permission { .. }) => {
            Exit::Permission
        }
        ProbingError::Target(TargetError::Io { .. }) | ProbingError::NoRing(_) | ProbingError::Io { .. } => {
            Exit::Failed
        }
        ProbingError::Target(_) | ProbingError::Member(_) | ProbingError::Cached { .. } => Exit::Usage,
    }
}

/// One line that says what is known so far.
struct Progress {
    line: ProgressBar,
}

impl Progress {
    fn new(is_wanted: bool) -> Progress {
        let is_shown = is_wanted && io::stderr().is_terminal();
        let target = if is_shown { ProgressDrawTarget::stderr_with_hz(5) } else { ProgressDrawTarget::hidden() };
        let line = ProgressBar::with_draw_target(None, target);
        line.set_style(ProgressStyle::with_template("{spinner} {msg}").expect("a constant template"));
        Progress { line }
    }

    fn draw(&self, prober: &Prober<Known>) {
        if self.line.is_hidden() {
            return;
        }
        let (known, spent) = (prober.known(), prober.spent());
        let mut words =
            vec![format!("{}: {} requests, {}", known.stage, show_count(spent.requests), show_time(spent.time))];
        let size = |bytes: u64| scrubjay_core::units::Bytes(bytes).to_string();
        words.extend(known.pattern_bytes.as_ref().map(|claim| format!("pattern {}", size(claim.value))));
        words.extend(known.chunk_bytes.as_ref().map(|claim| format!("chunk {}", size(claim.value))));
        words.extend(known.disks.as_ref().map(|claim| format!("{} disks", claim.value)));
        self.line.set_message(words.join(", "));
        self.line.tick();
    }

    fn finish(&self) {
        self.line.finish_and_clear();
    }
}
