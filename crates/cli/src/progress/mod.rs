//! Progress on standard error: a live line a target on a terminal, a plain line now and then elsewhere.

use crate::say::{say, shown, shown_path};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_core::scrub::{ScrubActivity, ScrubReport, ScrubState};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_device::session::SessionInfo;
use scrubjay_jobs::quantity::{show_count, show_rest};
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

/// The rate shown is that of the last so many seconds.
const RATE_WINDOW: Nanos = Nanos::from_secs(10);
/// Plain lines come so often.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);

/// A request that takes longer than this is worth a word.
const ANSWER_LATE: Nanos = Nanos::from_secs(10);

/// Draws progress.
pub struct ScrubProgress {
    lines: Vec<ProgressLine>,
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

struct ProgressLine {
    name: String,
    goal: Option<Nanos>,
    troubles_said: usize,
    is_ended: bool,
    recent: VecDeque<(Nanos, Bytes)>,
    printed_at: Nanos,
}

impl ScrubProgress {
    /// For these targets. Says first which detector watches each, and why.
    pub fn new(facts: &[SessionInfo], show: bool) -> ScrubProgress {
        let lines = facts
            .iter()
            .map(|facts| ProgressLine {
                name: shown_path(&facts.path),
                goal: facts.goal.map(|goal| goal.mean),
                troubles_said: 0,
                is_ended: false,
                recent: VecDeque::new(),
                printed_at: Nanos::ZERO,
            })
            .collect();
        if !show {
            return ScrubProgress { lines, kind: ProgressKind::Silent, has_said_stopping: false };
        }
        for facts in facts {
            let resumed = if facts.resumed { "going on with" } else { "scrubbing" };
            let path = facts.path.display();
            say(format_args!(
                "{path}: {resumed} {} ({}), foreground seen by {}",
                facts.bytes, facts.id, facts.detector
            ));
            facts.notes.iter().for_each(|note| say(format_args!("{path}: note: {note}")));
        }
        if !std::io::stderr().is_terminal() {
            return ScrubProgress { lines, kind: ProgressKind::Plain, has_said_stopping: false };
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
        let bars = facts.iter().map(|_| all.add(ProgressBar::new(0).with_style(style.clone()))).collect();
        ScrubProgress { lines, kind: ProgressKind::Live(all, bars), has_said_stopping: false }
    }

    /// How often to draw.
    pub fn period(&self) -> Duration {
        if matches!(self.kind, ProgressKind::Live(..)) { Duration::from_millis(200) } else { Duration::from_millis(20) }
    }

    /// Draws the latest, one a target in order.
    pub fn draw(&mut self, updates: impl Iterator<Item = Option<Update>>) {
        for (index, update) in updates.enumerate() {
            let (line, Some(Update { report, troubles })) = (&mut self.lines[index], update) else { continue };
            let news: Vec<String> =
                troubles.iter().skip(line.troubles_said).map(|news| format!("{}: {news}", line.name)).collect();
            line.troubles_said = troubles.len();
            let text = line.text(&report);
            let has_ended = report.activity == ScrubActivity::Ended && !std::mem::replace(&mut line.is_ended, true);
            line.is_ended = report.activity == ScrubActivity::Ended;
            let is_due = report.elapsed.since(line.printed_at) >= PLAIN_EVERY && !line.is_ended;
            match &self.kind {
                ProgressKind::Silent => news.iter().for_each(|news| say(format_args!("{news}"))),
                ProgressKind::Live(all, bars) => {
                    news.into_iter().for_each(|news| drop(all.println(shown(&news))));
                    bars[index].set_message(text);
                }
                ProgressKind::Plain => {
                    news.iter().for_each(|news| say(format_args!("{news}")));
                    if is_due || has_ended {
                        line.printed_at = report.elapsed;
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

impl ProgressLine {
    /// `/dev/sda  43.2 %  0 unreadable  slowdown 0.40 of 1 ms  ETA 3 h 10 min (2 h 40 min to 4 h)  61 MiB/s  waiting`:
    /// what matters most comes first, since narrow terminals cut the end.
    fn text(&mut self, report: &ScrubReport) -> String {
        let mean = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
        let slowdown = match self.goal {
            Some(goal) => format!("slowdown {mean:.2} of {} ms", goal.as_millis_f64()),
            None => format!("slowdown {mean:.2} ms"),
        };
        let percent = (report.share_done() * 1000.0).floor() / 10.0;
        let mut unreadable = show_count(report.unreadable_sectors());
        if report.corrected > 0 {
            unreadable = format!("{} rows healed  {unreadable}", show_count(report.corrected));
        }
        let rate = self.rate(report);
        let doing = match (report.state, report.activity) {
            (ScrubState::Complete, _) => return format!("{}  done  {unreadable} unreadable  {slowdown}", self.name),
            (ScrubState::Gone, _) => return format!("{}  {percent:.1} %  GONE  {unreadable} unreadable", self.name),
            (ScrubState::Failed(_), _) => {
                return format!("{}  {percent:.1} %  NOT DONE  {unreadable} unreadable", self.name);
            }
            _ if report.in_flight_for > ANSWER_LATE => {
                format!("NO ANSWER from the disk for {}", show_rest(report.in_flight_for))
            }
            (ScrubState::Running, ScrubActivity::Reading) => format!("{rate}/s  reading"),
            (ScrubState::Running, _) => format!("{rate}/s  waiting"),
        };
        let eta = match report.forecast {
            None => "ETA not known yet".to_owned(),
            Some(f) => format!("ETA {} ({} to {})", show_rest(f.likely), show_rest(f.low), show_rest(f.high)),
        };
        format!("{}  {percent:.1} %  {unreadable} unreadable  {slowdown}  {eta}  {doing}", self.name)
    }

    fn rate(&mut self, report: &ScrubReport) -> Bytes {
        self.recent.push_back((report.elapsed, report.bytes_verified));
        while self.recent.len() > 2 && report.elapsed.since(self.recent[0].0) > RATE_WINDOW {
            self.recent.pop_front();
        }
        let (at, bytes) = self.recent[0];
        let seconds = report.elapsed.since(at).as_secs_f64();
        if seconds > 0.0 { Bytes(((report.bytes_verified.0 - bytes.0) as f64 / seconds) as u64) } else { Bytes(0) }
    }
}
