//! Progress on standard error: a live line a target on a terminal, a plain line now and then elsewhere.

use crate::quantity::{show_count, show_rest};
use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget, ProgressStyle};
use scrubjay_core::scrub::{Activity, Report};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_device::session::Facts;
use std::collections::VecDeque;
use std::io::IsTerminal;
use std::time::Duration;

/// The rate shown is that of the last so many seconds.
const RATE_WINDOW: Nanos = Nanos::from_secs(10);
/// Plain lines come so often.
const PLAIN_EVERY: Nanos = Nanos::from_secs(10);

/// Draws progress.
pub struct Progress {
    lines: Vec<Line>,
    kind: Kind,
}

enum Kind {
    Silent,
    Plain,
    Live(MultiProgress, Vec<ProgressBar>),
}

struct Line {
    name: String,
    goal: Option<Nanos>,
    recent: VecDeque<(Nanos, Bytes)>,
    printed_at: Nanos,
}

impl Progress {
    /// For these targets. Says first which detector watches each, and why.
    pub fn new(facts: &[Facts], show: bool) -> Progress {
        let lines = facts
            .iter()
            .map(|facts| Line {
                name: facts.path.display().to_string(),
                goal: facts.goal_mean,
                recent: VecDeque::new(),
                printed_at: Nanos::ZERO,
            })
            .collect();
        if !show {
            return Progress { lines, kind: Kind::Silent };
        }
        for facts in facts {
            let resumed = if facts.resumed { "going on with" } else { "scrubbing" };
            eprintln!(
                "{}: {resumed} {} ({}), foreground seen by {}",
                facts.path.display(),
                facts.bytes,
                facts.id,
                facts.detector
            );
            facts.notes.iter().for_each(|note| eprintln!("{}: note: {note}", facts.path.display()));
        }
        if !std::io::stderr().is_terminal() {
            return Progress { lines, kind: Kind::Plain };
        }
        let all = MultiProgress::with_draw_target(ProgressDrawTarget::stderr_with_hz(5));
        let style = ProgressStyle::with_template("{wide_msg}").expect("a constant template");
        let bars = facts.iter().map(|_| all.add(ProgressBar::new(0).with_style(style.clone()))).collect();
        Progress { lines, kind: Kind::Live(all, bars) }
    }

    /// How often to draw.
    pub fn period(&self) -> Duration {
        if matches!(self.kind, Kind::Live(..)) { Duration::from_millis(200) } else { Duration::from_millis(20) }
    }

    /// Draws the latest reports, one a target in order.
    pub fn draw(&mut self, reports: impl Iterator<Item = Option<Report>>) {
        for (index, report) in reports.enumerate() {
            let (line, Some(report)) = (&mut self.lines[index], report) else { continue };
            let text = line.text(&report);
            match &self.kind {
                Kind::Silent => {}
                Kind::Live(_, bars) => bars[index].set_message(text),
                Kind::Plain => {
                    if report.elapsed.since(line.printed_at) >= PLAIN_EVERY {
                        line.printed_at = report.elapsed;
                        eprintln!("{text}");
                    }
                }
            }
        }
    }

    /// Takes the live lines away: the result follows.
    pub fn finish(&mut self) {
        if let Kind::Live(all, _) = &self.kind {
            let _ = all.clear();
        }
    }
}

impl Line {
    /// `/dev/sda  43.2 %  waiting  61 MiB/s  0 unreadable  slowdown 0.40 of 1 ms  ETA 3 h 10 min (2 h 40 min to 4 h)`
    fn text(&mut self, report: &Report) -> String {
        let doing = match report.activity {
            Activity::Reading => "reading",
            Activity::Waiting => "waiting",
            Activity::Ended => "ended",
        };
        let rate = self.rate(report);
        let mean = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
        let slowdown = match self.goal {
            Some(goal) => format!("slowdown {mean:.2} of {} ms", goal.as_millis_f64()),
            None => format!("slowdown {mean:.2} ms"),
        };
        let eta = match report.forecast {
            None => "ETA not known yet".to_owned(),
            Some(f) => format!("ETA {} ({} to {})", show_rest(f.likely), show_rest(f.low), show_rest(f.high)),
        };
        let percent = (report.share_done() * 1000.0).floor() / 10.0;
        let unreadable = show_count(report.unreadable_sectors());
        format!("{}  {percent:.1} %  {doing}  {rate}/s  {unreadable} unreadable  {slowdown}  {eta}", self.name)
    }

    fn rate(&mut self, report: &Report) -> Bytes {
        self.recent.push_back((report.elapsed, report.bytes_verified));
        while self.recent.len() > 2 && report.elapsed.since(self.recent[0].0) > RATE_WINDOW {
            self.recent.pop_front();
        }
        let (at, bytes) = self.recent[0];
        let seconds = report.elapsed.since(at).as_secs_f64();
        if seconds > 0.0 { Bytes(((report.bytes_verified.0 - bytes.0) as f64 / seconds) as u64) } else { Bytes(0) }
    }
}
