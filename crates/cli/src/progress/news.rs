//! News that is printed as it happens: new bad sectors, a budget that is exceeded, and troubles.

use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::ScrubReport;
use scrubjay_core::scrub::verdict::{Cause, Unreadable};
use scrubjay_core::units::{Nanos, Sector};
use scrubjay_words::held_up;
use std::collections::BTreeSet;

/// New places that are named at a time, at most; the result names all.
const NAMED_MAX: usize = 8;
/// Foreground requests before which the mean is not reliable.
const REQUESTS_MIN: u64 = 100;
/// The share of the goal below which the mean must fall before an excess is printed again.
const KEPT_SHARE: f64 = 0.9;

/// The news of one target that was printed so far.
#[derive(Debug)]
pub struct News {
    name: String,
    goal: Option<Nanos>,
    troubles_printed: usize,
    /// The known runs of unreadable sectors and of mismatches: their beginnings and ends.
    unreadable: BTreeSet<(Sector, Sector)>,
    /// Were the first findings printed by an earlier run?
    is_known: bool,
    is_exceeded: bool,
    policy: &'static str,
    is_held_up: bool,
}

impl News {
    /// The news of a target; `resumed`: does it continue a pass?
    pub fn new(name: String, goal: Option<Nanos>, policy: &'static str, resumed: bool) -> News {
        let (is_exceeded, is_held_up) = (false, false);
        News {
            name,
            goal,
            troubles_printed: 0,
            unreadable: BTreeSet::new(),
            is_known: resumed,
            is_exceeded,
            policy,
            is_held_up,
        }
    }

    /// New lines, and for each whether it is a trouble of Scrubjay itself.
    pub fn since(&mut self, report: &ScrubReport, troubles: &[String]) -> Vec<(bool, String)> {
        let name = self.name.clone();
        let mut news: Vec<(bool, String)> =
            troubles.iter().skip(self.troubles_printed).map(|news| (true, format!("{name}: {news}"))).collect();
        self.troubles_printed = troubles.len();
        news.extend(self.sectors(report).into_iter().map(|line| (false, format!("{name}: {line}"))));
        let held_up = held_up(report, self.policy).filter(|_| !self.is_held_up);
        self.is_held_up |= held_up.is_some();
        news.extend(held_up.map(|line| (false, format!("{name}: {line}"))));
        news.extend(self.budget(report).map(|line| (false, format!("{name}: {line}"))));
        news
    }

    /// A line for each new place.
    fn sectors(&mut self, report: &ScrubReport) -> Vec<String> {
        let mismatched = report.mismatched.iter().map(|&range| Unreadable { range, cause: Cause::Mismatch });
        let all: Vec<Unreadable> = report.unreadable.iter().copied().chain(mismatched).collect();
        let runs: BTreeSet<(Sector, Sector)> = all.iter().map(|found| (found.range.start, found.range.end)).collect();
        let is_resumed = std::mem::take(&mut self.is_known);
        if runs == self.unreadable {
            return Vec::new();
        }
        // A place grows sector by sector while it is read again in small pieces: it is named when its first sector is found.
        let is_known = |found: &Unreadable| {
            let touches = |&(start, end): &(Sector, Sector)| start <= found.range.end && found.range.start <= end;
            self.unreadable.iter().any(touches)
        };
        let new = all.iter().filter(|found| !is_known(found));
        let mut lines: Vec<String> = match is_resumed {
            true => Vec::new(),
            false => new
                .map(|found| {
                    let kind = match found.cause {
                        Cause::Mismatch => "MISMATCH",
                        Cause::Skipped => "NOT COMPARED",
                        _ => "UNREADABLE",
                    };
                    format!("{kind} at sector {} ({})", found.range.start, found.cause)
                })
                .collect(),
        };
        self.unreadable = runs;
        if lines.len() > NAMED_MAX {
            let more = lines.len() - NAMED_MAX;
            lines.truncate(NAMED_MAX);
            lines.push(format!("{} more places; the result lists all", show_count(more as u64)));
        }
        lines
    }

    fn budget(&mut self, report: &ScrubReport) -> Option<String> {
        let goal = self.goal?.as_secs_f64();
        let mean = report.slowdown.mean_seconds(report.foreground_requests);
        let (was_exceeded, requests) = (self.is_exceeded, report.foreground_requests);
        self.is_exceeded = requests >= REQUESTS_MIN && mean > goal * if was_exceeded { KEPT_SHARE } else { 1.0 };
        let about = if report.slowdown.is_estimate { "about " } else { "" };
        (self.is_exceeded && !was_exceeded).then(|| {
            format!(
                "BUDGET EXCEEDED so far: requests of others were delayed by {about}{:.2} ms on average, the goal is {} ms",
                mean * 1e3,
                goal * 1e3
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::idle::{IntervalAdapter, Waiting};
    use scrubjay_core::scrub::tour::{Grid, OrderKind};
    use scrubjay_core::scrub::{Config, Pass, Scrub};
    use scrubjay_core::units::{Bytes, SectorRange, UnixSeconds};

    /// The lines for each of these lists of runs, one after the other.
    fn lines(resumed: bool, steps: &[&[(u64, u64)]]) -> Vec<Vec<String>> {
        let grid = Grid::new(Bytes::mib(1).sectors(), Bytes::mib(1).sectors(), Bytes::mib(1).sectors());
        let (range, today) = (grid.disk(), UnixSeconds(1));
        let config = Config { range, granule: 1, depth: 1, held_max: None, started: Nanos::ZERO, today };
        let policy = Box::new(IntervalAdapter::new(Waiting { wait: Nanos::ZERO, size: Bytes::mib(1) }));
        let order = OrderKind::SEQUENTIAL.order(&[]);
        let scrub = Scrub::new(config, order, policy, Coverage::new(grid), Pass::default()).report(Nanos::ZERO);
        let report = |runs: &[(u64, u64)]| ScrubReport {
            unreadable: (runs.iter())
                .map(|&(from, to)| Unreadable { range: SectorRange::new(from, to), cause: Cause::Errno(5) })
                .collect(),
            ..scrub.clone()
        };
        let mut news = News::new("sda".to_owned(), None, "budget", resumed);
        steps.iter().map(|runs| news.since(&report(runs), &[]).into_iter().map(|(_, line)| line).collect()).collect()
    }

    #[test]
    fn a_place_that_grows_is_named_once() {
        let place = |sector: u64| vec![format!("sda: UNREADABLE at sector {sector} (EIO)")];
        let steps: [&[_]; 5] = [&[(100, 101)], &[(100, 103)], &[(98, 104)], &[(98, 104), (300, 301)], &[(98, 302)]];
        assert_eq!(lines(false, &steps), [place(100), vec![], vec![], place(300), vec![]]);
    }

    #[test]
    fn a_resumed_pass_names_what_is_new() {
        let new = vec!["sda: UNREADABLE at sector 300 (EIO)".to_owned()];
        assert_eq!(lines(true, &[&[(100, 101)], &[(100, 101), (300, 301)]]), [vec![], new.clone()]);
        assert_eq!(lines(true, &[&[], &[(300, 301)]]), [vec![], new], "it was clean so far");
    }
}
