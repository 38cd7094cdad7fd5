//! The lines for people: of the start, of what happens, of the end.

use crate::cost::{budget, requests, show_delay, times, verdict};
use scrubjay_core::quantity::{show_count, show_rest, show_time};
use scrubjay_core::scrub::idle::Goal;
use scrubjay_core::scrub::work::{WorkActivity, WorkReport};
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_device::pace::{FreezerKind, Keeps, Paced, PacedEnd, PacedNews};
use scrubjay_words::{CostWords, Count, PaceWords, Said};

/// Fewer response times than these are not summed up.
const TIMES_MIN: u64 = 100;

/// Of a program that wrote less nothing is said: output, a log.
const WRITTEN_MIN: Bytes = Bytes::mib(16);

/// What the lines are about.
pub struct Teller {
    /// The program's name.
    pub program: String,
    /// The budget.
    pub goal: Goal,
    /// The longest hold.
    pub longest: Nanos,
}

impl Teller {
    /// One piece of news.
    pub fn news(&self, news: &PacedNews<'_>) -> String {
        match news {
            PacedNews::Begun(paced) => self.begun(paced).into(),
            PacedNews::Disks(disks) => PaceWords::WorksOn { disks: disks.join(", ") }.to_string(),
            PacedNews::Keeps(keeps) => {
                PaceWords::Keeps { what: what_is_kept(keeps), longest: show_rest(self.longest) }.to_string()
            }
            PacedNews::Released(reason) => PaceWords::Released { reason: (*reason).to_owned() }.to_string(),
            PacedNews::Progress { report, read } => self.progress(report, *read),
        }
    }

    fn begun(&self, paced: &Paced) -> Said {
        let reason = |reason: &String| String::from(Said::from(PaceWords::NoCgroup { reason: reason.clone() }));
        let how = match paced.freezer {
            FreezerKind::Cgroup => PaceWords::ByCgroup,
            FreezerKind::Signals => {
                PaceWords::BySignals { reason: paced.no_cgroup.as_ref().map(reason).unwrap_or_default() }
            }
        };
        PaceWords::Begun { program: self.program.clone(), how: how.into(), budget: budget(self.goal) }.into()
    }

    /// How things stand, in one line.
    fn progress(&self, report: &WorkReport, read: Bytes) -> String {
        let now = match report.activity {
            WorkActivity::Held => "held",
            WorkActivity::Going | WorkActivity::Holding => "runs",
        };
        let mean = report.slowdown.mean_seconds(report.foreground_requests) * 1e3;
        let share = 100.0 * report.ran.as_secs_f64() / report.elapsed.as_secs_f64().max(1e-9);
        format!(
            "{now}  {read} read  ran {share:.0} % of {}  delay {mean:.2} of {} ms",
            show_rest(report.elapsed),
            self.goal.mean.as_millis_f64()
        )
    }

    /// The lines of the end.
    pub fn end(&self, end: &PacedEnd) -> Vec<Said> {
        let report = &end.report;
        let seconds = report.elapsed.as_secs_f64().max(1e-9);
        let rate = Bytes((end.read.0 as f64 / seconds) as u64).to_string();
        let (program, read, time) = (self.program.clone(), end.read.to_string(), show_time(report.elapsed));
        let mut lines: Vec<Said> = vec![PaceWords::Got { program, read, time, rate }.into()];
        lines.push(match report.hold_median {
            None => PaceWords::NeverHeld.into(),
            Some(hold) => PaceWords::Held {
                held: show_time(report.held),
                times: Count(report.holds, "time"),
                hold: show_time(hold),
                longest: show_time(report.held_longest),
            }
            .into(),
        });
        if report.respites > 0 {
            lines.push(PaceWords::Respites { times: Count(report.respites, "time") }.into());
        }
        if let Some(hold) = report.hold_median.filter(|hold| *hold > self.goal.max) {
            let (hold, most) = (show_time(hold), show_time(self.goal.max));
            lines.push(PaceWords::HoldsTooLong { hold, most }.into());
        }
        if end.written >= WRITTEN_MIN {
            lines.push(PaceWords::Wrote { written: end.written.to_string() }.into());
        }
        if report.requests == 0 && end.read > Bytes(0) {
            lines.push(PaceWords::NothingOfIt.into());
        }
        lines.push(self.lost(end));
        let latency = report.latency.as_ref().filter(|_| report.foreground_requests >= TIMES_MIN);
        if let Some(latency) = latency {
            lines.push(CostWords::TheyTook { times: times(&latency.with_scrub) }.into());
            lines.push(CostWords::AndWithout { times: times(&latency.without_scrub) }.into());
        }
        match end.left {
            0 => {}
            1 => lines.push(PaceWords::LeftOne.into()),
            count => lines.push(PaceWords::Left { count: show_count(count as u64) }.into()),
        }
        lines
    }

    fn lost(&self, end: &PacedEnd) -> Said {
        let report = &end.report;
        let (count, slowdown) = (report.foreground_requests, &report.slowdown);
        if count == 0 {
            return PaceWords::NoneSeen.into();
        }
        if slowdown.max == Nanos::ZERO && end.lost == 0 {
            return PaceWords::LostNothing { requests: requests(count) }.into();
        }
        let mean = Nanos::from_secs_f64(slowdown.mean_seconds(count));
        PaceWords::Lost {
            requests: requests(count),
            about: if slowdown.is_estimate { "about ".to_owned() } else { String::new() },
            mean: show_delay(mean),
            most: show_delay(slowdown.max),
            collisions: show_count(slowdown.collisions),
            verdict: verdict(self.goal, count, slowdown, end.lost).to_string(),
        }
        .into()
    }
}

fn what_is_kept(keeps: &Keeps) -> String {
    let parts = [
        (keeps.locks > 0).then(|| Count(keeps.locks as u64, "lock on files").to_string()),
        (keeps.connections > 0).then(|| Count(keeps.connections as u64, "network connection").to_string()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" and ")
}
