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
/// Where ZFS does not answer, or refuses, so many times in a row, it is given up.
const REFUSED_MAX: u32 = 6;

/// What to do.
#[derive(Clone, Debug)]
pub struct PoolScrubOptions {
    /// The goal for the mean.
    pub goal: Nanos,
    /// The shortest run, and the shortest rest.
    pub run_and_rest: [Nanos; 2],
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
    let mut scrub = PoolScrub { orders, work, has_begun: false, pool, missing: 0, refused: 0 };
    scrub.take_up(world.now());
    let end = scrub.pump(world);
    let pool = orders.look().ok().flatten().or(Some(scrub.pool));
    PoolScrubbed { end, said: orders.said(), report: scrub.work.report(world.now()), pool }
}

struct PoolScrub<'a> {
    orders: &'a PoolOrders,
    work: Work,
    has_begun: bool,
    pool: Zpool,
    /// How many times in a row the pool was not listed.
    missing: u32,
    /// How many times in a row ZFS did not answer, or refused.
    refused: u32,
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
                return self.leave(now);
            }
            if let Some(end) = self.turn(now, world) {
                return if world.is_stopped() { self.leave(now) } else { end };
            }
            if now.since(looked_at) >= LOOK_EVERY {
                looked_at = now;
                if let Some(end) = self.look(now) {
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
        let order = self.work.poll_op(now)?;
        world.adapt(&self.work.report(now));
        let done = match order {
            WorkOp::GoOn => self.orders.go_on(),
            WorkOp::Hold => self.orders.hold(),
        };
        let at = world.now();
        match (order, done) {
            (WorkOp::GoOn, Ok(())) => self.has_begun = true,
            (WorkOp::Hold, Ok(())) => self.work.handle(at, WorkEvent::Frozen { at }),
            (_, Err(error)) => return self.on_refusal(at, error),
        }
        self.refused = 0;
        None
    }

    /// An order was not carried out: how things stand shows why, else it is given again.
    fn on_refusal(&mut self, now: Nanos, error: String) -> Option<PoolScrubEnd> {
        self.refused += 1;
        if self.refused >= REFUSED_MAX {
            return Some(PoolScrubEnd::Failed(error));
        }
        let end = self.look(now);
        match self.pool.scan {
            _ if end.is_some() => end,
            PoolScan::Scrub(_) => {
                self.work.handle(now, WorkEvent::Free { at: now });
                None
            }
            // One that cannot be begun at all is not waited for.
            _ if !self.has_begun => Some(PoolScrubEnd::Failed(error)),
            _ => {
                self.work.rest(now);
                None
            }
        }
    }

    /// A scrub that runs, whoever began it, is ours from now on.
    fn take_up(&mut self, now: Nanos) {
        if matches!(self.pool.scan, PoolScan::Scrub(_)) && self.work.activity() == WorkActivity::Held {
            self.has_begun = true;
            self.work.handle(now, WorkEvent::Free { at: now });
        }
    }

    /// Asks ZFS how far it is; has it ended?
    fn look(&mut self, now: Nanos) -> Option<PoolScrubEnd> {
        match self.orders.look() {
            Ok(Some(pool)) => self.pool = pool,
            Ok(None) => {
                self.missing += 1;
                return (self.missing >= GONE_AFTER).then_some(PoolScrubEnd::Gone);
            }
            Err(why) => {
                self.refused += 1;
                return (self.refused >= REFUSED_MAX).then_some(PoolScrubEnd::Failed(why));
            }
        }
        (self.missing, self.refused) = (0, 0);
        if !matches!(self.pool.state.as_str(), "ONLINE" | "DEGRADED") {
            return Some(PoolScrubEnd::Gone);
        }
        self.take_up(now);
        match self.pool.scan {
            PoolScan::Resilver(_) => Some(PoolScrubEnd::Resilver),
            PoolScan::Paused(_) if self.work.activity() == WorkActivity::Going => Some(PoolScrubEnd::PausedByOthers),
            PoolScan::Moving if !self.has_begun => Some(PoolScrubEnd::Failed(
                "data are moved off a device, or it is expanded: try again when that has ended".to_owned(),
            )),
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
    fn leave(&mut self, now: Nanos) -> PoolScrubEnd {
        // Held by somebody else, or by us: it is what was asked for.
        match self.look(now) {
            None | Some(PoolScrubEnd::PausedByOthers) => {}
            Some(end) => return end,
        }
        if !matches!(self.pool.scan, PoolScan::Scrub(_)) {
            return PoolScrubEnd::Paused;
        }
        match self.orders.hold() {
            Ok(()) => PoolScrubEnd::Paused,
            Err(error) => self.ended().unwrap_or(PoolScrubEnd::Failed(error)),
        }
    }
}
