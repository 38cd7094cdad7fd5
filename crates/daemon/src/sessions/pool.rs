//! The session of a pool of ZFS: its own scrub, begun or taken up, held and let go inside the budget ([`crate::zfs::scrub`]).
//!
//! How far it is, ZFS remembers: no state of ours is kept. A scrub that others have finished since the pass began is this pass.

use super::report::{PassOrder, SessionRemarks, SessionReport, pass_report};
use crate::zfs::Zpool;
use crate::zfs::scrub::{self, PoolDisks, PoolOrders, PoolScrubEnd, PoolScrubOptions, PoolScrubbed, REST, RUN};
use scrubjay_core::scrub::work::{WorkActivity, WorkReport};
use scrubjay_core::scrub::{ScrubActivity, ScrubReport, ScrubState};
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES, UnixSeconds};
use scrubjay_device::claim::{self, DiskClaim};
use scrubjay_device::control::SessionControl;
use scrubjay_watch::facts::{PassReport, SessionNews};
use scrubjay_watch::pool::{LastScrub, PoolScan};
use std::sync::{Mutex, PoisonError};

/// A mean that is never exceeded: for tests that do not wait for the foreground.
const FULL_SPEED: Nanos = Nanos::from_secs(3600);

/// Scrubs the pool until its pass is over or it is to stop.
pub(super) fn read(
    order: &PassOrder,
    is_full_speed: bool,
    control: &SessionControl,
    latest: &Mutex<Option<SessionReport>>,
) -> SessionNews {
    let name = order.target.to_string_lossy();
    let orders = PoolOrders::new(&name, false);
    let pool = match orders.look() {
        Ok(Some(pool)) => pool,
        Ok(None) => return SessionNews::Refused("the pool is not imported any more".to_owned()),
        Err(why) => return SessionNews::Refused(why),
    };
    if let Some(begun) = finished_by_others(&pool, order.begun_by_system) {
        let done = pool.bytes.unwrap_or(0) / SECTOR_BYTES;
        let (begun, pass) = (order.by_watch(begun), order.pass);
        return SessionNews::Finished(PassReport { pass, begun, is_found: true, done, ..PassReport::default() });
    }
    if orders.is_read_only() {
        return SessionNews::Refused("the pool is imported for reading only".to_owned());
    }
    let _claim = match DiskClaim::take(&claim::name_of(&format!("zfs pool {name}"))) {
        Ok(claim) => claim,
        Err(error) => return SessionNews::Refused(format!("{name} {error}")),
    };
    let before = share_of(&pool);
    let mut publish = |pool: &Zpool, report: &WorkReport| {
        let report = scrub_report(pool, report, before, ScrubState::Running);
        let session = SessionReport { report, unrepaired: 0, remarks: SessionRemarks::default() };
        *latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(session);
    };
    let mut world = match PoolDisks::open(&pool, None, control.stop_flag(), &mut publish) {
        Ok(world) => world,
        Err(error) => return SessionNews::Refused(error.to_string()),
    };
    let goal = if is_full_speed { FULL_SPEED } else { order.budget };
    let options = PoolScrubOptions { goal, run_and_rest: [RUN, REST] };
    let scrubbed = scrub::run(&orders, pool.clone(), &options, &mut world);
    news_of(order, &pool, before, scrubbed)
}

/// When a scrub ended that others have done since this date.
fn finished_by_others(pool: &Zpool, begun: UnixSeconds) -> Option<UnixSeconds> {
    match (pool.scan, pool.scrubbed) {
        (PoolScan::Idle, LastScrub::Ended(at)) if at >= begun => Some(at),
        _ => None,
    }
}

/// What the watch is told of the end.
fn news_of(order: &PassOrder, first: &Zpool, before: f64, scrubbed: PoolScrubbed) -> SessionNews {
    let PoolScrubbed { end, pool, report, .. } = scrubbed;
    let pool = pool.unwrap_or_else(|| first.clone());
    let pass = |state| {
        let report = scrub_report(&pool, &report, before, state);
        pass_report(order, &SessionReport { report, unrepaired: 0, remarks: SessionRemarks::default() })
    };
    match end {
        PoolScrubEnd::Complete => SessionNews::Finished(pass(ScrubState::Complete)),
        PoolScrubEnd::Paused => SessionNews::Stopped(pass(ScrubState::Running)),
        // What others want goes first: it is tried again later, and they may have had their reasons.
        PoolScrubEnd::PausedByOthers => SessionNews::Refused("somebody else has paused its scrub".to_owned()),
        PoolScrubEnd::Cancelled => SessionNews::Refused("somebody else has ended its scrub".to_owned()),
        PoolScrubEnd::Resilver => SessionNews::Refused("ZFS began to fill a device, which ended its scrub".to_owned()),
        PoolScrubEnd::Gone => SessionNews::Refused("the pool is not imported any more, or serves nothing".to_owned()),
        PoolScrubEnd::Failed(why) => SessionNews::Refused(why),
    }
}

/// How much of the scrub is done, 0..=1.
fn share_of(pool: &Zpool) -> f64 {
    match pool.scan {
        PoolScan::Scrub(share) | PoolScan::Paused(share) => f64::from(share.unwrap_or(0)) / 100.0,
        _ => 0.0,
    }
}

/// The report of a scrub of ranges, as far as one of a pool has what that says. `before`: the share that was done at its beginning.
fn scrub_report(pool: &Zpool, work: &WorkReport, before: f64, state: ScrubState) -> ScrubReport {
    let whole = |bytes: u64| Bytes(bytes / SECTOR_BYTES * SECTOR_BYTES);
    let bytes = whole(pool.bytes.unwrap_or(0));
    let is_complete = state == ScrubState::Complete;
    let share = if is_complete { 1.0 } else { share_of(pool) };
    let of = |share: f64| whole((bytes.0 as f64 * share) as u64);
    let now = of((share - before).max(0.0));
    ScrubReport {
        state,
        activity: match work.activity {
            _ if is_complete => ScrubActivity::Ended,
            WorkActivity::Going => ScrubActivity::Reading,
            WorkActivity::Holding | WorkActivity::Held => ScrubActivity::Waiting,
        },
        waits_for: work.waits_for,
        bytes,
        bytes_verified: if is_complete { bytes } else { of(share) },
        bytes_verified_now: now,
        bytes_requested: now,
        reading: work.ran,
        in_flight_for: Nanos::ZERO,
        unreadable: Vec::new(),
        mismatched: Vec::new(),
        transient_errors: 0,
        transient_cause: None,
        unanswered: 0,
        unanswered_cause: None,
        spared: Bytes(0),
        corrected: 0,
        found_only: 0,
        unrepaired: 0,
        transient: 0,
        elapsed: work.elapsed,
        foreground_requests: work.foreground_requests,
        slowdown: work.slowdown.clone(),
        latency: work.latency.clone(),
        idle: work.idle,
        idle_longest: Nanos::ZERO,
        setting: work.setting,
        forecast: None,
        oldest_unread_seconds: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::work::{Spending, Work, WorkConfig, WorkHolding};
    use scrubjay_watch::facts::{SessionSubject, SubjectKey};
    use scrubjay_watch::pool::PoolLosses;
    use std::path::PathBuf;

    fn order() -> PassOrder {
        PassOrder {
            subject: SessionSubject::Array("42".into()),
            name: "tank".into(),
            key: SubjectKey::Array("42".into()),
            target: PathBuf::from("tank"),
            pass: 3,
            begun: UnixSeconds(5000),
            begun_by_system: UnixSeconds(1000),
            pace: 1,
            is_twin: false,
            is_pool: true,
            budget: Nanos::from_millis(1),
            imagined: None,
        }
    }

    fn pool(scan: PoolScan, scrubbed: LastScrub) -> Zpool {
        Zpool {
            name: "tank".into(),
            guid: Some(42),
            state: "ONLINE".into(),
            vdevs: Vec::new(),
            losses: PoolLosses::None,
            scan,
            scrubbed,
            bytes: Some(512_000_300),
        }
    }

    fn news(end: PoolScrubEnd, scan: PoolScan) -> SessionNews {
        let holding = WorkHolding::Slowly { run: RUN, rest: REST };
        let config = WorkConfig { started: Nanos::ZERO, hold_guess: [Nanos::from_secs(5); 2], longest: None, holding };
        let report = Work::new(config, Box::new(Spending::new(Nanos::from_millis(1)))).report(Nanos::from_secs(1));
        let first = pool(PoolScan::Paused(Some(10)), LastScrub::Unknown);
        let scrubbed = PoolScrubbed { end, pool: Some(pool(scan, LastScrub::Unknown)), said: None, report };
        news_of(&order(), &first, share_of(&first), scrubbed)
    }

    #[test]
    fn only_a_scrub_that_ended_since_the_pass_began_is_the_pass() {
        let ended = |at| LastScrub::Ended(UnixSeconds(at));
        let of = |scan, scrubbed| finished_by_others(&pool(scan, scrubbed), UnixSeconds(1000));
        assert_eq!(of(PoolScan::Idle, ended(2000)), Some(UnixSeconds(2000)));
        assert_eq!(of(PoolScan::Idle, ended(999)), None);
        assert_eq!(of(PoolScan::Paused(Some(50)), ended(2000)), None, "another one is under way");
        assert_eq!(of(PoolScan::Idle, LastScrub::Never), None);
    }

    #[test]
    fn a_pass_is_over_when_zfs_has_scrubbed_all_and_what_others_want_is_no_pass() {
        let SessionNews::Stopped(part) = news(PoolScrubEnd::Paused, PoolScan::Paused(Some(40))) else { panic!() };
        assert_eq!((part.pass, part.begun, part.done), (3, UnixSeconds(5000), 400_000));
        for share in 0..=100 {
            let SessionNews::Stopped(part) = news(PoolScrubEnd::Paused, PoolScan::Paused(Some(share))) else {
                panic!()
            };
            assert!(part.done <= 1_000_000, "{share} %");
        }
        let SessionNews::Finished(whole) = news(PoolScrubEnd::Complete, PoolScan::Idle) else { panic!() };
        assert_eq!((whole.pass, whole.is_found, whole.done), (3, false, 1_000_000));
        for end in [
            PoolScrubEnd::PausedByOthers,
            PoolScrubEnd::Cancelled,
            PoolScrubEnd::Resilver,
            PoolScrubEnd::Gone,
            PoolScrubEnd::Failed("no".into()),
        ] {
            assert!(matches!(news(end.clone(), PoolScan::Idle), SessionNews::Refused(_)), "{end:?}");
        }
    }
}
