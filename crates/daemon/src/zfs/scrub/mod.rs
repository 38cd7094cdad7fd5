//! ZFS's own scrub, inside the budget: begun, held and let go by `zpool scrub`, as [`Work`] wants it.
//!
//! ```text
//! detector::work (requests of ZFS's scrub are told by their threads) --> core::scrub::work::Work -- GoOn, Hold --> orders --> zpool scrub
//! zpool status: how far, and whether it has ended <-- orders                                     tuning: bytes in flight, put back at the end
//! ```
//!
//! ZFS needs seconds to hold a scrub, and each hold and each return write to the pool, so it runs and rests for minutes. **Invariant:**
//! nothing but `zpool scrub` and, if that was asked for, two parameters of ZFS are changed; a file says beforehand what the parameters were.

mod orders;
#[cfg(test)]
mod tests;
mod tuning;
mod world;

pub use orders::PoolOrders;
pub use tuning::{ScanTuning, TuningError, put_back};
pub use world::{PoolDisks, PoolDisksError};

use super::pool::Zpool;
use scrubjay_core::scrub::work::{
    Spending, Work, WorkActivity, WorkConfig, WorkEvent, WorkHolding, WorkOp, WorkReport,
};
use scrubjay_core::units::Nanos;
use scrubjay_watch::pool::PoolScan;

/// The shortest run and the shortest rest: each change of them writes to the pool and to its history.
pub const RUN: Nanos = Nanos::from_secs(120);
/// See [`RUN`].
pub const REST: Nanos = Nanos::from_secs(60);
/// The time that the first hold is taken to need: 1.3 to 5 s were measured with OpenZFS 2.3 and 2.4.
const HOLD_GUESS: [Nanos; 2] = [Nanos::from_secs(5); 2];
/// How often `zpool status` is asked.
const LOOK_EVERY: Nanos = Nanos::from_secs(5);
/// A pool that is not listed so many times in a row is gone.
const GONE_AFTER: u32 = 3;

/// What to do.
#[derive(Clone, Debug)]
pub struct PoolScrubOptions {
    /// The goal for the mean.
    pub goal: Nanos,
    /// The shortest run, and the shortest rest.
    pub run_and_rest: [Nanos; 2],
    /// Only blocks that are known to be wrong.
    pub only_errors: bool,
}

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolScrubEnd {
    /// ZFS has scrubbed all.
    Complete,
    /// It was held, to go on later.
    Paused,
    /// Somebody else held it.
    PausedByOthers,
    /// Somebody else ended it.
    Cancelled,
    /// A resilver took its place.
    Resilver,
    /// The pool is not imported any more, or serves nothing.
    Gone,
    /// ZFS refused.
    Failed(String),
}

/// The result.
#[derive(Clone, Debug)]
pub struct PoolScrubbed {
    /// How it ended.
    pub end: PoolScrubEnd,
    /// The pool as ZFS described it last.
    pub pool: Option<Zpool>,
    /// What ZFS says of its scan, in its words.
    pub said: Option<String>,
    /// What the scrub got and what others lost.
    pub report: WorkReport,
}

/// The world in which a pool is scrubbed: time, the requests at its disks, its parameters.
pub trait PoolWorld {
    /// The time.
    fn now(&self) -> Nanos;

    /// Waits for this long.
    fn wait(&mut self, time: Nanos);

    /// Appends what was seen at the pool's disks since the last call; `is_going`: its scrub runs, or did until a moment ago.
    fn drain(&mut self, is_going: bool, events: &mut Vec<WorkEvent>);

    /// Is it to be held, and left?
    fn is_stopped(&self) -> bool;

    /// The scrub is about to go on, or goes on: are others there?
    fn adapt(&mut self, report: &WorkReport);

    /// How things stand.
    fn publish(&mut self, pool: &Zpool, report: &WorkReport);
}

/// Scrubs a pool until that has ended. `pool`: as ZFS describes it now.
pub fn run(orders: &PoolOrders, pool: Zpool, options: &PoolScrubOptions, world: &mut dyn PoolWorld) -> PoolScrubbed {
    let [run, rest] = options.run_and_rest;
    let config = WorkConfig {
        started: world.now(),
        hold_guess: HOLD_GUESS,
        longest: None,
        holding: WorkHolding::Slowly { run, rest },
    };
    let work = Work::new(config, Box::new(Spending::new(options.goal)));
    let mut scrub = PoolScrub { orders, options, work, has_begun: false, pool, missing: 0 };
    if matches!(scrub.pool.scan, PoolScan::Scrub(_)) {
        let now = world.now();
        scrub.has_begun = true;
        scrub.work.handle(now, WorkEvent::Free { at: now });
    }
    let end = scrub.pump(world);
    PoolScrubbed {
        end,
        said: orders.said(),
        report: scrub.work.report(world.now()),
        pool: orders.look().or(Some(scrub.pool)),
    }
}

struct PoolScrub<'a> {
    orders: &'a PoolOrders,
    options: &'a PoolScrubOptions,
    work: Work,
    has_begun: bool,
    pool: Zpool,
    /// How many times in a row the pool was not listed.
    missing: u32,
}

impl PoolScrub<'_> {
    fn pump(&mut self, world: &mut dyn PoolWorld) -> PoolScrubEnd {
        let (mut events, mut looked_at) = (Vec::new(), world.now());
        loop {
            events.clear();
            world.drain(self.work.activity() != WorkActivity::Held, &mut events);
            let now = world.now();
            events.iter().for_each(|&event| self.work.handle(now, event));
            if world.is_stopped() {
                return self.leave();
            }
            if let Some(end) = self.turn(now, world) {
                return end;
            }
            if now.since(looked_at) >= LOOK_EVERY {
                looked_at = now;
                if let Some(end) = self.look() {
                    return end;
                }
                world.publish(&self.pool, &self.work.report(now));
            }
            let wake = self.work.poll_timeout(now).since(now);
            world.wait(wake.clamp(Nanos::from_millis(100), Nanos::from_millis(500)));
        }
    }

    /// Carries out what the machine wants.
    fn turn(&mut self, now: Nanos, world: &mut dyn PoolWorld) -> Option<PoolScrubEnd> {
        if self.work.activity() != WorkActivity::Held {
            world.adapt(&self.work.report(now));
        }
        match self.work.poll_op(now)? {
            WorkOp::GoOn => {
                world.adapt(&self.work.report(now));
                let is_again = std::mem::replace(&mut self.has_begun, true);
                if let Err(error) = self.orders.go_on(self.options.only_errors && !is_again) {
                    return Some(self.ended().unwrap_or(PoolScrubEnd::Failed(error)));
                }
            }
            WorkOp::Hold => {
                if let Err(error) = self.orders.hold() {
                    return Some(self.ended().unwrap_or(PoolScrubEnd::Failed(error)));
                }
                let at = world.now();
                self.work.handle(at, WorkEvent::Frozen { at });
            }
        }
        None
    }

    /// Asks ZFS how far it is; has it ended?
    fn look(&mut self) -> Option<PoolScrubEnd> {
        let Some(pool) = self.orders.look() else {
            self.missing += 1;
            return (self.missing >= GONE_AFTER).then_some(PoolScrubEnd::Gone);
        };
        (self.missing, self.pool) = (0, pool);
        if !matches!(self.pool.state.as_str(), "ONLINE" | "DEGRADED") {
            return Some(PoolScrubEnd::Gone);
        }
        match self.pool.scan {
            PoolScan::Resilver(_) => Some(PoolScrubEnd::Resilver),
            PoolScan::Paused(_) if self.work.activity() == WorkActivity::Going => Some(PoolScrubEnd::PausedByOthers),
            PoolScan::Idle | PoolScan::Moving if self.has_begun => self.ended(),
            _ => None,
        }
    }

    /// How the scrub ended, if it has.
    fn ended(&self) -> Option<PoolScrubEnd> {
        let said = self.orders.said()?;
        if said.contains("resilver") {
            return Some(PoolScrubEnd::Resilver);
        }
        if said.contains("in progress") || said.contains("paused") {
            return None;
        }
        Some(if said.contains("cancel") { PoolScrubEnd::Cancelled } else { PoolScrubEnd::Complete })
    }

    /// Holds it, to be gone on with later; it may have ended since the last look.
    fn leave(&mut self) -> PoolScrubEnd {
        if let Some(end) = self.look() {
            return end;
        }
        if self.work.activity() == WorkActivity::Held {
            return PoolScrubEnd::Paused;
        }
        match self.orders.hold() {
            Ok(()) => PoolScrubEnd::Paused,
            Err(error) => self.ended().unwrap_or(PoolScrubEnd::Failed(error)),
        }
    }
}
