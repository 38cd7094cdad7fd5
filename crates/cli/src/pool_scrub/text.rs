//! The lines for people.

use super::facts::{errors_of, lost_of};
use crate::cost::{requests, show_delay};
use scrubjay_core::quantity::show_time;
use scrubjay_core::scrub::work::{WorkActivity, WorkReport};
use scrubjay_core::units::Nanos;
use scrubjay_daemon::zfs::Zpool;
use scrubjay_daemon::zfs::pool::Vdev;
use scrubjay_daemon::zfs::scrub::{PoolScrubEnd, PoolScrubbed};
use scrubjay_watch::pool::PoolScan;
use scrubjay_words::{Count, PoolScrubWords, Said, typed};

/// The lines of the start.
pub fn begin(name: &str, pool: &Zpool, goal: Nanos, is_tuned: bool) -> Vec<Said> {
    let disks = pool.vdevs.iter().flat_map(Vdev::leaves).filter(|leaf| leaf.path.is_some() && leaf.works()).count();
    let (pool_name, goal) = (name.to_owned(), shown_goal(goal));
    let mut lines: Vec<Said> =
        vec![PoolScrubWords::Begun { pool: pool_name.clone(), disks: Count(disks as u64, "disk"), goal }.into()];
    if is_tuned {
        lines.push(PoolScrubWords::Tunes { pool: pool_name.clone() }.into());
    }
    if !matches!(pool.scan, PoolScan::Scrub(_)) {
        lines.push(PoolScrubWords::Observes { pool: pool_name }.into());
    }
    lines
}

/// How things stand, in one line.
pub fn progress(name: &str, goal: Nanos, pool: &Zpool, report: &WorkReport) -> String {
    let does = match report.activity {
        WorkActivity::Going => PoolScrubWords::Runs,
        WorkActivity::Holding => PoolScrubWords::Holds,
        WorkActivity::Held => PoolScrubWords::Rests,
    };
    let mean = format!("{:.2}", report.slowdown.mean_seconds(report.foreground_requests) * 1e3);
    let (share, goal) = (share(Some(pool)), shown_goal(goal));
    PoolScrubWords::Progress { pool: name.to_owned(), share, does: does.into(), mean, goal }.to_string()
}

/// Is nothing wrong with it that is known, and nothing unknown?
pub fn is_clean(pool: Option<&Zpool>) -> bool {
    pool.is_some_and(|pool| lost_of(pool) == Some(0) && errors_of(pool) == 0)
}

/// The lines of the result.
pub fn result(name: &str, goal: Nanos, scrubbed: &PoolScrubbed) -> Vec<String> {
    let PoolScrubbed { end, pool, said, report } = scrubbed;
    let said = said.clone().unwrap_or_default();
    let (lost, errors) = (pool.as_ref().map(lost_of), pool.as_ref().map_or(0, errors_of));
    let first = match end {
        PoolScrubEnd::Complete => match lost {
            None | Some(None) => PoolScrubWords::Unknown { said },
            Some(Some(0)) if errors == 0 => PoolScrubWords::Clean { said },
            Some(Some(0)) => PoolScrubWords::Errors { errors: Count(errors, "error"), said },
            Some(Some(blocks)) => PoolScrubWords::Lost { blocks: Count(blocks, "block"), said },
        },
        PoolScrubEnd::Paused => PoolScrubWords::Paused { share: share(pool.as_ref()) },
        PoolScrubEnd::PausedByOthers => PoolScrubWords::PausedByOthers,
        PoolScrubEnd::Cancelled => PoolScrubWords::Cancelled,
        PoolScrubEnd::Resilver => PoolScrubWords::Resilver,
        PoolScrubEnd::Gone => PoolScrubWords::Gone { pool: typed(name) },
        PoolScrubEnd::Failed(why) => PoolScrubWords::Failed { why: why.clone() },
    };
    let mut lines = vec![format!("{name}: {first}")];
    let mut add = |words: PoolScrubWords| lines.push(format!("  {words}"));
    if !matches!(end, PoolScrubEnd::Complete | PoolScrubEnd::Paused) {
        match pool.as_ref().map(|pool| pool.scan) {
            Some(PoolScan::Paused(_)) => add(PoolScrubWords::LeftPaused),
            Some(PoolScan::Scrub(_)) => add(PoolScrubWords::LeftRunning),
            _ => {}
        }
    }
    if lost.flatten().is_some_and(|blocks| blocks > 0) {
        add(PoolScrubWords::Files { name: typed(name) });
    }
    if errors > 0 {
        add(PoolScrubWords::Members { name: typed(name) });
    }
    add(PoolScrubWords::Ran {
        time: show_time(report.elapsed),
        ran: show_time(report.ran),
        rests: Count(report.holds, "rest"),
    });
    add(cost(goal, report));
    lines
}

fn cost(goal: Nanos, report: &WorkReport) -> PoolScrubWords {
    let count = report.foreground_requests;
    if count == 0 {
        return PoolScrubWords::NoOthers;
    }
    let mean = Nanos::from_secs_f64(report.slowdown.mean_seconds(count));
    let goal_words = shown_goal(goal);
    let verdict = match mean <= goal {
        true => PoolScrubWords::Kept { goal: goal_words },
        false => PoolScrubWords::NotKept { goal: goal_words },
    };
    let (requests, most) = (requests(count), show_delay(report.slowdown.max));
    PoolScrubWords::Cost { requests, mean: show_delay(mean), most, verdict: verdict.into() }
}

fn shown_goal(goal: Nanos) -> String {
    format!("{} ms", goal.as_millis_f64())
}

/// How far ZFS says its scrub is.
fn share(pool: Option<&Zpool>) -> String {
    match pool.map(|pool| pool.scan) {
        Some(PoolScan::Scrub(Some(share)) | PoolScan::Paused(Some(share))) => format!("{share} %"),
        _ => "an unknown share".to_owned(),
    }
}
