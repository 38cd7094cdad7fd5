//! The result of a pool's scrub as JSON: schema 1.

use super::facts::{errors_of, lost_of};
use scrubjay_core::scrub::idle::Goal;
use scrubjay_core::units::Nanos;
use scrubjay_daemon::zfs::scrub::{PoolScrubEnd, PoolScrubbed};
use scrubjay_jobs::json::{LatencyDocument, SlowdownDocument};
use scrubjay_watch::pool::PoolLosses;
use serde::Serialize;

/// The JSON object of one run.
#[derive(Debug, Serialize)]
pub struct PoolScrubDocument {
    schema: u32,
    version: &'static str,
    pool: String,
    /// Has ZFS scrubbed all of it?
    complete: bool,
    /// `complete`, `paused`, `paused by others`, `cancelled`, `resilver`, `gone` or `failed`.
    end: &'static str,
    error: Option<String>,
    /// What ZFS says of its scan.
    said: Option<String>,
    /// Blocks that are lost; null: not known.
    lost_blocks: Option<u64>,
    /// The files, in ZFS's words.
    files: Vec<String>,
    /// Errors counted at members since they were cleared.
    member_errors: u64,
    seconds: f64,
    /// For how long the scrub ran.
    ran_seconds: f64,
    /// How often it rested.
    rests: u64,
    slowdown: SlowdownDocument,
    latency: Option<LatencyDocument>,
}

impl PoolScrubDocument {
    /// Makes the document of a run.
    pub fn new(name: &str, goal: Nanos, scrubbed: &PoolScrubbed) -> PoolScrubDocument {
        let PoolScrubbed { end, pool, said, report } = scrubbed;
        let (end, error) = match end {
            PoolScrubEnd::Complete => ("complete", None),
            PoolScrubEnd::Paused => ("paused", None),
            PoolScrubEnd::PausedByOthers => ("paused by others", None),
            PoolScrubEnd::Cancelled => ("cancelled", None),
            PoolScrubEnd::Resilver => ("resilver", None),
            PoolScrubEnd::Gone => ("gone", None),
            PoolScrubEnd::Failed(why) => ("failed", Some(why.clone())),
        };
        let files = match pool.as_ref().map(|pool| &pool.losses) {
            Some(PoolLosses::Lost { files, .. }) => files.clone(),
            _ => Vec::new(),
        };
        // The goal of one request is none of this scrub's.
        let goal = Goal::new(goal, Nanos::MAX);
        let mut slowdown = SlowdownDocument::of(&report.slowdown, Some(goal), report.foreground_requests);
        slowdown.without_max();
        PoolScrubDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            pool: name.to_owned(),
            complete: end == "complete",
            end,
            error,
            said: said.clone(),
            lost_blocks: pool.as_ref().and_then(lost_of),
            files,
            member_errors: pool.as_ref().map_or(0, errors_of),
            seconds: report.elapsed.as_secs_f64(),
            ran_seconds: report.ran.as_secs_f64(),
            rests: report.holds,
            slowdown,
            latency: report.latency.as_ref().map(LatencyDocument::of),
        }
    }
}
