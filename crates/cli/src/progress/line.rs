//! The progress line of one target: the most important parts stay in a narrow terminal.

use scrubjay_core::quantity::{show_count, show_rest, show_time};
use scrubjay_core::scrub::idle::WaitReason;
use scrubjay_core::scrub::{Forecast, ScrubReport, ScrubState};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_words::{doing, is_waiting_for_first_request};
use std::collections::VecDeque;

/// The time over which the rate is averaged.
const RATE_WINDOW: Nanos = Nanos::from_secs(60);
/// The interval at which the rate is sampled.
const RATE_STEP: Nanos = Nanos::from_secs(1);

/// The gap between two parts of a line.
const GAP: &str = "  ";

/// The progress line of one target.
#[derive(Debug)]
pub struct ProgressLine {
    /// The target's name, on one line.
    name: String,
    /// The goal for the mean slowdown, if there is one.
    goal: Option<Nanos>,
    /// Are the requests of others watched?
    is_watched: bool,
    recent: VecDeque<(Nanos, Bytes)>,
}

impl ProgressLine {
    /// The line of a target.
    pub fn new(name: String, goal: Option<Nanos>, is_watched: bool) -> ProgressLine {
        ProgressLine { name, goal, is_watched, recent: VecDeque::new() }
    }

    /// The line, such as `/dev/sda  43.2 %  0 unreadable  ETA 9 h (8 h to 11 h)  reading  61 MiB/s  delay 0.34 of 1 ms
    /// 1.6 of 3.6 TiB  for 2 h  plan: wait 20 ms, read 1 MiB`. If it is longer than `width` characters, the least important
    /// parts are left out.
    pub fn text(&mut self, report: &ScrubReport, width: usize) -> String {
        self.note_rate(report);
        let mut parts = self.parts(report);
        let length = |parts: &[(u8, String)]| {
            parts.iter().map(|(_, part)| part.chars().count() + GAP.len()).sum::<usize>().saturating_sub(GAP.len())
        };
        while length(&parts) > width && parts.len() > 1 {
            let least = (0..parts.len()).max_by_key(|&at| parts[at].0).expect("two parts");
            parts.remove(least);
        }
        parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>().join(GAP)
    }

    /// The parts in the order of the line, each with its rank: the highest rank is left out first.
    fn parts(&self, report: &ScrubReport) -> Vec<(u8, String)> {
        let percent = format!("{:.1} %", (report.share_done() * 1000.0).floor() / 10.0);
        let unreadable = format!("{} unreadable", show_count(report.unreadable_sectors()));
        let mut parts = vec![(2, self.name.clone()), (0, percent), (1, unreadable)];
        if report.mismatched_sectors() > 0 {
            parts.push((1, format!("{} do not agree", show_count(report.mismatched_sectors()))));
        }
        if report.corrected > 0 {
            parts.push((1, format!("{} found wrong", show_count(report.corrected))));
        }
        let end = match report.state {
            ScrubState::Complete => Some("done"),
            ScrubState::Gone => Some("GONE"),
            ScrubState::Failed(_) => Some("NOT DONE"),
            ScrubState::Running => None,
        };
        match end {
            Some(end) => parts.push((0, end.to_owned())),
            None => {
                // While the policy waits to see the foreground, there is no forecast.
                let forecast = report.forecast.filter(|_| !is_waiting_for_first_request(report));
                // Nor while it waits for an idle time the like of which has not been seen.
                let unseen = match report.waits_for {
                    Some(WaitReason::Idleness(Some(wait))) => report.idle_longest < wait,
                    _ => false,
                };
                let forecast = forecast.filter(|_| !unseen);
                parts.push((3, forecast.map_or("ETA not known yet".to_owned(), eta)));
                parts.push((4, String::from(doing(report))));
                if unseen {
                    parts.push((4, format!("(longest so far {})", show_time(report.idle_longest))));
                }
                parts.push((6, format!("{}/s", self.rate(report))));
            }
        }
        let mean = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
        let about = if report.slowdown.is_estimate { "about " } else { "" };
        parts.push((
            5,
            match self.goal {
                _ if !self.is_watched => "others are not watched".to_owned(),
                _ if report.foreground_requests == 0 => "no other I/O seen".to_owned(),
                Some(goal) => format!("delay {about}{mean:.2} of {} ms", goal.as_millis_f64()),
                None => format!("delay {about}{mean:.2} ms"),
            },
        ));
        parts.push((8, format!("{} of {}", report.bytes_verified, report.bytes)));
        parts.push((7, format!("for {}", show_rest(report.elapsed))));
        if report.state == ScrubState::Running && report.setting.in_idle_only && !report.setting.cautious {
            let (wait, size) = (show_time(report.setting.wait), report.setting.size);
            parts.push((10, format!("plan: wait {wait}, read {size}")));
        }
        parts
    }

    fn note_rate(&mut self, report: &ScrubReport) {
        let is_due = self.recent.back().is_none_or(|(at, _)| report.elapsed.since(*at) >= RATE_STEP);
        if is_due {
            self.recent.push_back((report.elapsed, report.bytes_verified));
        }
        while self.recent.len() > 2 && report.elapsed.since(self.recent[0].0) > RATE_WINDOW {
            self.recent.pop_front();
        }
    }

    fn rate(&self, report: &ScrubReport) -> Bytes {
        let Some(&(at, bytes)) = self.recent.front() else { return Bytes(0) };
        let seconds = report.elapsed.since(at).as_secs_f64();
        if seconds > 0.0 { Bytes(((report.bytes_verified.0 - bytes.0) as f64 / seconds) as u64) } else { Bytes(0) }
    }
}

/// The forecast as `ETA 9 h (8 h to 11 h)`, rounded to its precision. It stays in one piece: without its range it would claim too much.
fn eta(Forecast { low, likely, high }: Forecast) -> String {
    const STEPS: [u64; 10] = [1, 5, 10, 60, 300, 600, 3_600, 7_200, 21_600, 86_400];
    let spread = high.since(low).as_secs_f64() / 3.0;
    let step = STEPS.into_iter().rev().find(|&step| step as f64 <= spread).unwrap_or(1);
    let rounded = |time: Nanos| (time.as_secs_f64() / step as f64).round().max(1.0) as u64 * step;
    let (low, likely, high) = (rounded(low), rounded(likely), rounded(high));
    let show = |seconds: u64| {
        let text = show_rest(Nanos::from_secs(seconds));
        // "2 h 0 min" claims more precision than "2 h".
        match text.rsplit_once(" 0 ") {
            Some((text, _)) => text.to_owned(),
            None => text,
        }
    };
    let range = if low == high { String::new() } else { format!(" ({} to {})", show(low), show(high)) };
    format!("ETA {}{range}", show(likely))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::idle::{IntervalAdapter, Waiting};
    use scrubjay_core::scrub::machine::{Event, Machine, Op};
    use scrubjay_core::scrub::tour::{Grid, OrderKind, REGION_BYTES, SEGMENT_BYTES};
    use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
    use scrubjay_core::scrub::{Config, Pass, Scrub};
    use scrubjay_core::units::UnixSeconds;

    /// A scrub of 1 GiB that has found one bad sector, and waits.
    fn report() -> ScrubReport {
        let grid = Grid::new(Bytes::gib(1).sectors(), REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
        let config = Config {
            range: grid.disk(),
            granule: 1,
            depth: 1,
            held_max: None,
            started: Nanos::ZERO,
            today: UnixSeconds(1),
        };
        let policy = Box::new(IntervalAdapter::new(Waiting { wait: Nanos::from_secs(31), size: Bytes::mib(1) }));
        let order = OrderKind::SEQUENTIAL.order(&[]);
        let mut scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default());
        let mut now = Nanos::from_secs(60);
        for _ in 0..400 {
            let Some(Op::Verify { id, range }) = scrub.poll_op(now) else { break };
            let (started, finished) = (now, now + Nanos::from_millis(15));
            let is_bad = range.start.0 <= 4711 && 4711 < range.end.0;
            let outcome = if is_bad { VerifyOutcome::Unreadable(Cause::Errno(5)) } else { VerifyOutcome::Clean };
            now = finished;
            scrub.handle(now, Event::Completed { id, outcome, started, finished });
        }
        scrub.handle(now, Event::ForegroundArrived { at: now, count: 1 });
        scrub.handle(now, Event::ForegroundCompleted { at: now, count: 1 });
        scrub.report(now)
    }

    #[test]
    fn a_narrow_terminal_loses_the_least_important_parts() {
        let report = ScrubReport { idle_longest: Nanos::from_millis(1200), ..report() };
        assert_eq!(report.unreadable_sectors(), 1);
        let line =
            |width| ProgressLine::new("/dev/sda".to_owned(), Some(Nanos::from_millis(1)), true).text(&report, width);
        for width in [1, 20, 40, 60, 80, 120, 200] {
            let line = line(width);
            assert!(line.contains(" %"), "{width}: {line}");
            assert!(width < 20 || line.contains("1 unreadable"), "{width}: {line}");
            assert!(width < 20 || line.chars().count() <= width, "{width}: {line}");
        }
        assert!(line(40).starts_with("/dev/sda  "), "{}", line(40));
        assert!(line(80).contains("ETA") && line(80).contains("waiting for 31 s of idleness"), "{}", line(80));
        assert!(line(200).contains("delay 0.00 of 1 ms") && line(200).contains(" of 1.1 GB"), "{}", line(200));
        assert!(line(200).contains("waiting for 31 s of idleness  (longest so far 1.2 s)"), "{}", line(200));
        assert!(line(240).contains("plan: wait 31 s, read 1 MiB"), "{}", line(240));
    }

    #[test]
    fn before_any_foreground_was_seen_no_budget_is_used_up() {
        let report = ScrubReport { waits_for: Some(WaitReason::Budget), ..report() };
        let line = |report: &ScrubReport| ProgressLine::new("/dev/sda".to_owned(), None, true).text(report, 200);
        assert!(line(&report).contains("waiting: budget used up"));
        let text = line(&ScrubReport { foreground_requests: 0, ..report });
        assert!(text.contains("ETA not known yet  waiting a minute to see whether the disk is in use"), "{text}");
    }

    #[test]
    fn an_eta_is_no_finer_than_what_is_known() {
        let eta = |low, likely, high| {
            let [low, likely, high] = [low, likely, high].map(Nanos::from_secs);
            eta(Forecast { low, likely, high })
        };
        assert_eq!(eta(27_600, 33_120, 39_900), "ETA 9 h (8 h to 11 h)");
        assert_eq!(eta(7_000, 7_312, 7_650), "ETA 2 h 2 min (1 h 57 min to 2 h 8 min)");
        assert_eq!(eta(100, 118, 140), "ETA 2 min (1 min 40 s to 2 min 20 s)");
        assert_eq!(eta(4, 4, 5), "ETA 4 s (4 s to 5 s)");
        assert_eq!(eta(0, 0, 0), "ETA 1 s");
        assert_eq!(eta(100_000, 300_000, 900_000), "ETA 3 d (1 d to 10 d)");
    }
}
