//! Tests with a `zpool` that scrubs in virtual time.

use super::tuning::{ScanTuning, put_back_in};
use super::*;
use scrubjay_device::tool::ToolError;
use std::cell::RefCell;
use std::rc::Rc;

/// A `zpool` that scrubs in virtual time.
#[derive(Debug, Default)]
struct FakePool {
    now: Nanos,
    scan: &'static str,
    /// The time that the scrub has run, and needs.
    ran: Nanos,
    needs: Nanos,
    /// Until when it still reads after a hold.
    reads_until: Nanos,
    orders: Vec<String>,
    state: &'static str,
    is_listed: bool,
    /// What others do to the scrub, and when.
    others: Option<(Nanos, &'static str)>,
}

impl FakePool {
    fn advance(&mut self, time: Nanos) {
        self.now += time;
        if self.scan == "scrub in progress" {
            self.ran += time;
            if self.ran >= self.needs {
                self.scan = "scrub repaired 0B in 00:10:00 with 0 errors on Sun Nov 29 12:00:00 2026";
            }
        }
        if let Some((_, scan)) = self.others.take_if(|(at, _)| *at <= self.now) {
            match scan {
                "gone" => self.is_listed = false,
                "SUSPENDED" => self.state = "SUSPENDED",
                scan => self.scan = scan,
            }
        }
    }

    fn zpool(&mut self, arguments: &[&str]) -> Result<Vec<u8>, ToolError> {
        let refused = |why: &str| Err(ToolError::Failed("zpool", why.to_owned()));
        match arguments {
            ["status", "-Pvj", "--json-int"] => refused("invalid option 'j'"),
            ["status", ..] if !self.is_listed => Ok(b"no pools available\n".to_vec()),
            ["status", ..] => Ok(format!(
                "  pool: tank\n state: {}\n  scan: {}\nconfig:\n\n\tNAME        STATE     READ WRITE CKSUM\n\ttank        {}       0     0     0\n\t  /dev/sda1  ONLINE       0     0     0\n\nerrors: No known data errors\n",
                self.state, self.scan_text(), self.state
            )
            .into_bytes()),
            ["scrub", rest @ ..] => {
                self.orders.push(format!("{:.0} {}", self.now.as_secs_f64(), arguments.join(" ")));
                match (rest, self.scan) {
                    (["-p", _], "scrub in progress") => {
                        (self.scan, self.reads_until) = ("scrub paused", self.now + Nanos::from_secs(2));
                        Ok(Vec::new())
                    }
                    (["-p", _], _) => refused("cannot pause scrubbing tank: there is no active scrub"),
                    (_, "scrub in progress") => refused("cannot scrub tank: currently scrubbing"),
                    (_, "read-only") => refused("cannot scrub tank: pool is read-only"),
                    (_, scan) if scan.contains("resilver in") => refused("cannot scrub tank: currently resilvering"),
                    _ => {
                        self.scan = "scrub in progress";
                        Ok(Vec::new())
                    }
                }
            }
            _ => refused("what?"),
        }
    }

    fn scan_text(&self) -> String {
        match self.scan {
            "scrub in progress" => "scrub in progress since Sun Nov 29 12:00:00 2026\n\t3.0M scanned, 1.0M issued, 10.0M total\n\t0B repaired, 10.00% done, no estimated completion time".to_owned(),
            "scrub paused" => "scrub paused since Sun Nov 29 12:00:00 2026\n\tscrub started on Sun Nov 29 11:00:00 2026\n\t3.0M scanned, 1.0M issued, 10.0M total\n\t0B repaired, 10.00% done".to_owned(),
            "resilver in progress" => "resilver in progress since Sun Nov 29 12:00:00 2026\n\t3.0M scanned, 1.0M issued, 10.0M total\n\t0B resilvered, 10.00% done, no estimated completion time".to_owned(),
            scan => scan.to_owned(),
        }
    }
}

/// Requests of others come so often, and lose so much while the scrub runs.
struct FakeWorld {
    pool: Rc<RefCell<FakePool>>,
    every: Nanos,
    next: Nanos,
    stop_at: Nanos,
}

impl PoolWorld for FakeWorld {
    fn now(&self) -> Nanos {
        self.pool.borrow().now
    }

    fn wait(&mut self, time: Nanos) {
        self.pool.borrow_mut().advance(time);
    }

    fn drain(&mut self, _: bool, events: &mut Vec<WorkEvent>) {
        use scrubjay_core::scrub::machine::Event;
        let pool = self.pool.borrow();
        while self.every > Nanos::ZERO && self.next + Nanos::from_millis(20) <= pool.now {
            let (at, reads) = (self.next, pool.scan == "scrub in progress" || self.next < pool.reads_until);
            let ms = |millis: u64| at + Nanos::from_millis(millis);
            if reads {
                events.push(WorkEvent::OwnArrived { at, count: 1 });
            }
            events.push(WorkEvent::Foreground(Event::ForegroundArrived { at: ms(1), count: 1 }));
            if reads {
                events.push(WorkEvent::OwnCompleted { at: ms(5), count: 1 });
            }
            let end = ms(if reads { 13 } else { 9 });
            events.push(WorkEvent::Foreground(Event::ForegroundCompleted { at: end, count: 1 }));
            events.push(WorkEvent::Foreground(Event::ForegroundDrained { at: end }));
            self.next += self.every;
        }
        events.push(WorkEvent::OwnDrained { at: pool.now });
    }

    fn is_stopped(&self) -> bool {
        self.now() >= self.stop_at
    }

    fn adapt(&mut self, _: &WorkReport) {}

    fn publish(&mut self, _: &Zpool, _: &WorkReport) {}
}

fn pool(scan: &'static str, minutes: u64) -> Rc<RefCell<FakePool>> {
    let needs = Nanos::from_secs(60 * minutes);
    let pool =
        FakePool { scan, needs, state: "ONLINE", is_listed: true, now: Nanos::from_secs(1), ..FakePool::default() };
    Rc::new(RefCell::new(pool))
}

fn scrubbed(pool: &Rc<RefCell<FakePool>>, every: Nanos, stop_at: Nanos) -> PoolScrubbed {
    let zpool = Rc::clone(pool);
    let orders = PoolOrders::by("tank", false, Box::new(move |arguments| zpool.borrow_mut().zpool(arguments)));
    let options = PoolScrubOptions { goal: Nanos::from_millis(1), run_and_rest: [RUN, REST] };
    let described = orders.look().unwrap().expect("it is listed");
    let next = pool.borrow().now;
    let mut world = FakeWorld { pool: Rc::clone(pool), every, next, stop_at };
    run(&orders, described, &options, &mut world)
}

const NEVER: Nanos = Nanos::MAX;

#[test]
fn a_pool_that_nobody_uses_is_scrubbed_in_one_go() {
    let pool = pool("none requested", 60);
    let scrubbed = scrubbed(&pool, Nanos::ZERO, NEVER);
    assert_eq!(scrubbed.end, PoolScrubEnd::Complete);
    assert_eq!(pool.borrow().orders, ["61 scrub tank"]);
    assert!(scrubbed.said.unwrap().starts_with("scrub repaired 0B"));
}

#[test]
fn beside_others_it_runs_and_rests_for_minutes_and_the_mean_is_kept() {
    let pool = pool("none requested", 30);
    let scrubbed = scrubbed(&pool, Nanos::from_millis(50), NEVER);
    assert_eq!(scrubbed.end, PoolScrubEnd::Complete);
    let report = scrubbed.report;
    let mean = report.slowdown.mean_seconds(report.foreground_requests);
    assert!((0.7e-3..1.02e-3).contains(&mean), "{mean} {report:?}");
    let orders = pool.borrow().orders.clone();
    assert!(orders.len() > 6, "{orders:?}");
    let times: Vec<f64> = orders.iter().map(|order| order.split_once(' ').unwrap().0.parse().unwrap()).collect();
    assert!(times[2..].windows(2).all(|pair| pair[1] - pair[0] >= 59.0), "minutes apart: {orders:?}");
    for (index, order) in orders.iter().enumerate() {
        assert!(order.ends_with(if index % 2 == 0 { "scrub tank" } else { "scrub -p tank" }), "{orders:?}");
    }
}

#[test]
fn stopping_pauses_it_and_the_same_command_goes_on() {
    let pool = pool("none requested", 60);
    assert_eq!(scrubbed(&pool, Nanos::ZERO, Nanos::from_secs(600)).end, PoolScrubEnd::Paused);
    assert_eq!((pool.borrow().scan, pool.borrow().orders.len()), ("scrub paused", 2));
    assert_eq!(scrubbed(&pool, Nanos::ZERO, NEVER).end, PoolScrubEnd::Complete);
    assert_eq!(pool.borrow().ran, pool.borrow().needs.max(pool.borrow().ran));
}

#[test]
fn a_scrub_that_somebody_began_is_taken_up() {
    let pool = pool("scrub in progress", 10);
    assert_eq!(scrubbed(&pool, Nanos::ZERO, NEVER).end, PoolScrubEnd::Complete);
    assert_eq!(pool.borrow().orders, [""; 0]);
}

#[test]
fn what_others_do_to_it_ends_it_and_is_said() {
    for (scan, end) in [
        ("scrub paused", PoolScrubEnd::PausedByOthers),
        ("scrub canceled on Sun Nov 29 12:00:00 2026", PoolScrubEnd::Cancelled),
        ("resilver in progress", PoolScrubEnd::Resilver),
        ("gone", PoolScrubEnd::Gone),
        ("SUSPENDED", PoolScrubEnd::Gone),
    ] {
        let pool = pool("none requested", 60);
        pool.borrow_mut().others = Some((Nanos::from_secs(400), scan));
        assert_eq!(scrubbed(&pool, Nanos::ZERO, NEVER).end, end, "{scan}");
        assert_eq!(pool.borrow().orders, ["61 scrub tank"], "{scan}: nothing is ordered after that");
    }
}

#[test]
fn one_that_cannot_be_begun_is_not_waited_for() {
    let pool = pool("read-only", 60);
    let scrubbed = scrubbed(&pool, Nanos::ZERO, NEVER);
    assert!(matches!(&scrubbed.end, PoolScrubEnd::Failed(why) if why.contains("read-only")), "{:?}", scrubbed.end);
    assert_eq!(pool.borrow().orders.len(), 1);
}

#[test]
fn a_pool_that_is_imported_for_reading_only_is_known() {
    let orders = |output: &'static [u8]| PoolOrders::by("tank", false, Box::new(move |_| Ok(output.to_vec())));
    assert!(orders(b"on\n").is_read_only());
    assert!(!orders(b"off\n").is_read_only());
}

#[test]
fn parameters_are_put_back_also_after_a_kill() {
    let folder = tempfile::tempdir().unwrap();
    let (parameters, state) = (folder.path().join("parameters"), folder.path().join("state"));
    std::fs::create_dir_all(&parameters).unwrap();
    std::fs::create_dir_all(&state).unwrap();
    let values = || {
        ["zfs_scan_vdev_limit", "zfs_scrub_min_time_ms"]
            .map(|name| std::fs::read_to_string(parameters.join(name)).unwrap().trim().to_owned())
    };
    for (name, value) in [("zfs_scan_vdev_limit", "16777216\n"), ("zfs_scrub_min_time_ms", "1000\n")] {
        std::fs::write(parameters.join(name), value).unwrap();
    }
    let mut tuning = ScanTuning::begin_in(&parameters, &state).unwrap();
    tuning.set_small(true).unwrap();
    assert_eq!(values(), ["1048576", "10"]);
    tuning.set_small(false).unwrap();
    assert_eq!(values(), ["16777216", "1000"]);
    tuning.set_small(true).unwrap();
    drop(tuning);
    assert_eq!((values(), std::fs::read_dir(&state).unwrap().count()), (["16777216", "1000"].map(str::to_owned), 0));
    // Killed: nothing was dropped.
    let mut tuning = ScanTuning::begin_in(&parameters, &state).unwrap();
    tuning.set_small(true).unwrap();
    std::mem::forget(tuning);
    std::fs::write(parameters.join("zfs_scrub_min_time_ms"), "77").unwrap();
    let lines = put_back_in(&parameters, &state);
    assert_eq!(lines, ["a scrub was killed: ZFS's parameter zfs_scan_vdev_limit is 16777216 again"]);
    assert_eq!(values(), ["16777216", "77"], "what somebody else has set since stays");
    assert!(put_back_in(&parameters, &state).is_empty());
}

#[test]
fn one_that_somebody_lets_go_on_while_it_rests_is_taken_up() {
    let pool = pool("scrub paused", 10);
    pool.borrow_mut().others = Some((Nanos::from_secs(30), "scrub in progress"));
    assert_eq!(scrubbed(&pool, Nanos::ZERO, NEVER).end, PoolScrubEnd::Complete);
    assert_eq!(pool.borrow().orders, [""; 0], "it runs already");
}

#[test]
fn stopping_while_it_rests_leaves_it_paused() {
    let pool = pool("scrub paused", 10);
    assert_eq!(scrubbed(&pool, Nanos::ZERO, Nanos::from_secs(20)).end, PoolScrubEnd::Paused);
    assert_eq!((pool.borrow().scan, pool.borrow().orders.len()), ("scrub paused", 0));
}
