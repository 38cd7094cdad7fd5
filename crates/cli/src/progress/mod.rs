//! Progress on standard error: a live line for each target on a terminal, plain lines at intervals elsewhere.

mod line;
mod news;

use crate::columns;
use crate::echo::EchoOff;
use crate::say::{print_prose, say, shown, shown_path};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use line::ProgressLine;
use news::News;
use scrubjay_core::scrub::{ScrubActivity, ScrubReport};
use scrubjay_core::units::Nanos;
use scrubjay_device::detector::DetectorKind;
use scrubjay_device::session::SessionInfo;
use std::io::IsTerminal;
use std::time::Duration;

/// The interval of the first plain lines; later ones come after a tenth more of the elapsed time.
const PLAIN_MIN: Nanos = Nanos::from_secs(10);
/// The longest interval of plain lines.
const PLAIN_MAX: Nanos = Nanos::from_secs(600);

/// Columns of a terminal of unknown width.
const COLUMNS: usize = 80;

/// Characters of a plain line, at most.
const WIDTH: usize = 200;

/// Draws the progress of all targets.
pub struct ScrubProgress {
    targets: Vec<TargetProgress>,
    kind: ProgressKind,
    has_announced_stop: bool,
    echo: Option<EchoOff>,
}

/// The latest state of one target.
#[derive(Clone, Debug)]
pub struct Update {
    /// Its report.
    pub report: ScrubReport,
    /// Troubles of Scrubjay itself so far.
    pub troubles: Vec<String>,
}

enum ProgressKind {
    Silent,
    Plain,
    Live(MultiProgress, Vec<ProgressBar>),
}

struct TargetProgress {
    line: ProgressLine,
    news: News,
    is_ended: bool,
    printed_at: Nanos,
}

impl ScrubProgress {
    /// Progress for these targets. First prints what is scrubbed, with hints.
    pub fn new(facts: &[SessionInfo], show: bool) -> ScrubProgress {
        let target = |facts: &SessionInfo| {
            let (name, goal) = (shown_path(&facts.path), facts.goal.map(|goal| goal.mean));
            TargetProgress {
                line: ProgressLine::new(name.clone(), goal, facts.detector_kind != DetectorKind::Blind),
                news: News::new(name, goal, facts.policy, facts.resumed),
                is_ended: false,
                printed_at: Nanos::ZERO,
            }
        };
        let targets = facts.iter().map(target).collect();
        if !show {
            return ScrubProgress { targets, kind: ProgressKind::Silent, has_announced_stop: false, echo: None };
        }
        facts.iter().for_each(say_first);
        if !std::io::stderr().is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return ScrubProgress { targets, kind: ProgressKind::Plain, has_announced_stop: false, echo: None };
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
        let bars = facts.iter().map(|_| all.add(ProgressBar::new(0).with_style(style.clone()))).collect();
        ScrubProgress {
            targets,
            kind: ProgressKind::Live(all, bars),
            has_announced_stop: false,
            echo: Some(EchoOff::new()),
        }
    }

    /// The interval of drawing.
    pub fn period(&self) -> Duration {
        if matches!(self.kind, ProgressKind::Live(..)) { Duration::from_millis(200) } else { Duration::from_millis(20) }
    }

    /// Draws the latest updates, one for each target in order.
    pub fn draw(&mut self, updates: impl Iterator<Item = Option<Update>>) {
        for (index, update) in updates.enumerate() {
            let (target, Some(Update { report, troubles })) = (&mut self.targets[index], update) else { continue };
            let news = target.news.since(&report, &troubles);
            let has_ended = report.activity == ScrubActivity::Ended && !std::mem::replace(&mut target.is_ended, true);
            target.is_ended = report.activity == ScrubActivity::Ended;
            match &self.kind {
                ProgressKind::Silent => troubles_only(&news).for_each(|news| say(format_args!("{news}"))),
                ProgressKind::Live(all, bars) => {
                    // The line first: news is printed above it, and the line drawn anew.
                    let columns = columns::of_stderr().unwrap_or(COLUMNS);
                    bars[index].set_message(target.line.text(&report, columns));
                    news.iter().for_each(|(_, news)| drop(all.println(shown(news))));
                }
                ProgressKind::Plain => {
                    news.iter().for_each(|(_, news)| say(format_args!("{news}")));
                    let text = target.line.text(&report, WIDTH);
                    let pause = Nanos(report.elapsed.0 / 10).clamp(PLAIN_MIN, PLAIN_MAX);
                    let is_due = report.elapsed.since(target.printed_at) >= pause && !target.is_ended;
                    if is_due || has_ended {
                        target.printed_at = report.elapsed;
                        say(format_args!("{text}"));
                    }
                }
            }
        }
    }

    /// Prints once that a stop was requested, and what it waits for.
    pub fn say_stopping(&mut self) {
        const TEXT: &str = "pausing as soon as the disk has answered; once more to leave at once";
        if std::mem::replace(&mut self.has_announced_stop, true) {
            return;
        }
        // A second Ctrl-C ends the process at once: the terminal must be as it was.
        self.echo = None;
        match &self.kind {
            ProgressKind::Silent => {}
            ProgressKind::Plain => say(format_args!("{TEXT}")),
            ProgressKind::Live(all, ..) => drop(all.println(TEXT)),
        }
    }

    /// Removes the live lines before the result is printed.
    pub fn finish(&mut self) {
        if let ProgressKind::Live(all, ..) = &self.kind {
            let _ = all.clear();
        }
    }
}

/// The troubles: with `--no-progress` other news is left out, as the result repeats it.
fn troubles_only(news: &[(bool, String)]) -> impl Iterator<Item = &String> {
    news.iter().filter(|(is_trouble, _)| *is_trouble).map(|(_, news)| news)
}

/// Prints one short line, and hints only if a better setting is one command away.
fn say_first(facts: &SessionInfo) {
    let path = shown_path(&facts.path);
    let resumed = if facts.resumed { "going on with" } else { "scrubbing" };
    let first = format!("{resumed} {} ({})", facts.bytes, facts.id);
    let notes = facts.notes.iter().map(|note| format!("note: {note}"));
    // A longer label would leave no room for words in a narrow terminal.
    let (label, name) = if path.chars().count() < LABEL_MAX {
        (format!("{path}: "), String::new())
    } else {
        ("".into(), format!("{path}: "))
    };
    for line in [first].into_iter().chain(hint(facts)).chain(notes) {
        let _ = print_prose(&mut std::io::stderr().lock(), &label, &format!("{name}{line}"), columns::of_stderr());
    }
}

/// Paths up to this length stand beside what is printed of them.
const LABEL_MAX: usize = 20;

/// What would make the delays exact, where they are estimates and the user did not wish for that.
fn hint(facts: &SessionInfo) -> Option<String> {
    let is_estimate =
        facts.detector_kind == DetectorKind::Stat && facts.goal.is_some() && facts.detector_wish.is_none();
    let advice = if rustix::process::geteuid().is_root() { "" } else { ": run as root for exact ones" };
    let reason = facts.detector.split_once(", because ").map_or(String::new(), |(_, reason)| format!(" ({reason})"));
    is_estimate.then(|| format!("hint: delays are estimates from the kernel's counters{advice}{reason}"))
}
