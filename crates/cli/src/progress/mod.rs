//! Progress on standard error: a live line a target on a terminal, a plain line now and then elsewhere.

mod line;
mod news;

use crate::say::{say, shown, shown_path};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use line::ProgressLine;
use news::News;
use scrubjay_core::scrub::{ScrubActivity, ScrubReport};
use scrubjay_core::units::Nanos;
use scrubjay_device::detector::DetectorKind;
use scrubjay_device::session::SessionInfo;
use std::io::IsTerminal;
use std::time::Duration;

/// The first plain lines come so often; later ones after a tenth more of the time,
const PLAIN_MIN: Nanos = Nanos::from_secs(10);
/// and at least so often.
const PLAIN_MAX: Nanos = Nanos::from_secs(600);

/// Of a plain line, at most.
const WIDTH: usize = 200;

/// Draws progress.
pub struct ScrubProgress {
    targets: Vec<TargetProgress>,
    kind: ProgressKind,
    has_said_stopping: bool,
}

/// The latest of one target.
#[derive(Clone, Debug)]
pub struct Update {
    /// How far it is.
    pub report: ScrubReport,
    /// What went wrong on our side, so far.
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
    /// For these targets. Says first what is scrubbed, and what would be better.
    pub fn new(facts: &[SessionInfo], show: bool) -> ScrubProgress {
        let target = |facts: &SessionInfo| {
            let (name, goal) = (shown_path(&facts.path), facts.goal.map(|goal| goal.mean));
            TargetProgress {
                line: ProgressLine::new(name.clone(), goal),
                news: News::new(name, goal, facts.resumed),
                is_ended: false,
                printed_at: Nanos::ZERO,
            }
        };
        let targets = facts.iter().map(target).collect();
        if !show {
            return ScrubProgress { targets, kind: ProgressKind::Silent, has_said_stopping: false };
        }
        facts.iter().for_each(say_first);
        if !std::io::stderr().is_terminal() || std::env::var_os("TERM").is_some_and(|term| term == "dumb") {
            return ScrubProgress { targets, kind: ProgressKind::Plain, has_said_stopping: false };
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
        let bars = facts.iter().map(|_| all.add(ProgressBar::new(0).with_style(style.clone()))).collect();
        ScrubProgress { targets, kind: ProgressKind::Live(all, bars), has_said_stopping: false }
    }

    /// How often to draw.
    pub fn period(&self) -> Duration {
        if matches!(self.kind, ProgressKind::Live(..)) { Duration::from_millis(200) } else { Duration::from_millis(20) }
    }

    /// Draws the latest, one a target in order.
    pub fn draw(&mut self, updates: impl Iterator<Item = Option<Update>>) {
        for (index, update) in updates.enumerate() {
            let (target, Some(Update { report, troubles })) = (&mut self.targets[index], update) else { continue };
            let news = target.news.since(&report, &troubles);
            let has_ended = report.activity == ScrubActivity::Ended && !std::mem::replace(&mut target.is_ended, true);
            target.is_ended = report.activity == ScrubActivity::Ended;
            match &self.kind {
                ProgressKind::Silent => troubles_only(&news).for_each(|news| say(format_args!("{news}"))),
                ProgressKind::Live(all, bars) => {
                    news.iter().for_each(|(_, news)| drop(all.println(shown(news))));
                    // Where it is not known: 80.
                    let width = usize::from(console::Term::stderr().size().1);
                    bars[index].set_message(target.line.text(&report, width));
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

    /// Says once that a stop was asked for, and what it waits for.
    pub fn say_stopping(&mut self) {
        const TEXT: &str = "pausing as soon as the disk has answered; once more to leave at once";
        if std::mem::replace(&mut self.has_said_stopping, true) {
            return;
        }
        match &self.kind {
            ProgressKind::Silent => {}
            ProgressKind::Plain => say(format_args!("{TEXT}")),
            ProgressKind::Live(all, _) => drop(all.println(TEXT)),
        }
    }

    /// Takes the live lines away: the result follows.
    pub fn finish(&mut self) {
        if let ProgressKind::Live(all, _) = &self.kind {
            let _ = all.clear();
        }
    }
}

/// `--no-progress` leaves out what the result tells, too.
fn troubles_only(news: &[(bool, String)]) -> impl Iterator<Item = &String> {
    news.iter().filter(|(is_trouble, _)| *is_trouble).map(|(_, news)| news)
}

/// One short line; hints only where something better is one command away.
fn say_first(facts: &SessionInfo) {
    let path = facts.path.display();
    let resumed = if facts.resumed { "going on with" } else { "scrubbing" };
    say(format_args!("{path}: {resumed} {} ({})", facts.bytes, facts.id));
    if facts.detector_kind != DetectorKind::Bpf && facts.goal.is_some() {
        say(format_args!("{path}: note: requests of others are seen by {}", facts.detector));
    }
    facts.notes.iter().for_each(|note| say(format_args!("{path}: note: {note}")));
}
