//! Runs md's own `check` step by step: begins it at the start of a range, lets it run to the end, and proves that it got there.
//!
//! ```text
//! sync_min <- start, sync_max <- end, sync_action <- check     a range that does not follow the last one
//! sync_max <- end                                              one that does: the check continues
//! sync_completed: "2048 / 129024"                              its progress; all before that is compared
//! ```
//!
//! A range counts only if the check that reached its end is the one that was begun here. Whatever interrupts a check
//! (a write of `idle`, the removal of a member) makes the kernel move `sync_min` to where it was, so while `sync_min` and
//! `sync_max` are as they were set, it was not interrupted. (Linux, drivers/md/md.c, `md_do_sync`.)
//!
//! Each change is recorded in the guard before it is made, and undone by [`put_back`], if need be in a later process.

use super::geometry::{MdRefusal, is_healthy};
use super::guard::{MdGuard, SyncWindow};
use super::knobs::{BUSY_MAX, MdKnobs, RETRY_PAUSE, SyncAction, read_window, write_with_retries};
use super::undo::put_back;
use crate::clock;
use scrubjay_core::units::{Nanos, SectorRange};
use std::io;
use std::path::PathBuf;

/// The longest time that a check may wait for another one on the same disks before it gives up.
const DELAYED_MAX: Nanos = Nanos::from_secs(2);
/// The longest time without progress.
const STALLED_MAX: Nanos = Nanos::from_secs(120);

/// Why a range was not checked.
#[derive(Debug, thiserror::Error)]
pub(super) enum StepObstacle {
    /// The check is not the scrub's any more. The text continues the array's name.
    #[error("{0}")]
    NotOwn(String),
    /// The check ended early, without a sign of who ended it.
    #[error("md ended the check before it came to the end")]
    CutShort,
    /// The check makes no progress.
    #[error("md's check does not come any further")]
    Stalled,
    /// The kernel returned an error.
    #[error(transparent)]
    Io(#[from] io::Error),
}

impl From<MdRefusal> for StepObstacle {
    fn from(refusal: MdRefusal) -> StepObstacle {
        StepObstacle::NotOwn(refusal.to_string())
    }
}

/// The check that is under way, or rests at its `sync_max`.
#[derive(Clone, Copy, Debug)]
struct MdRun {
    action: SyncAction,
    window: SyncWindow,
    /// `mismatch_cnt` when the check reached `window.max`.
    mismatches: u64,
}

/// The result of one checked range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StepDone {
    /// Increase of `mismatch_cnt`.
    pub mismatches: u64,
    /// Whether the check was seen at the end. In the last range of all, the check may be over before it is polled: then only the
    /// members' counters distinguish it from one that another program ended and whose knobs it reset.
    pub is_seen: bool,
}

/// A range being checked.
#[derive(Clone, Copy, Debug)]
struct MdStep {
    end: u64,
    /// Its position, and when it got there.
    at: (u64, Nanos),
    delayed_since: Option<Nanos>,
}

/// Steps an array's check.
pub(super) struct MdStepper {
    pub knobs: Box<dyn MdKnobs>,
    guard: MdGuard,
    guard_path: PathBuf,
    /// The end of a check.
    sectors: u64,
    run: Option<MdRun>,
    step: Option<MdStep>,
    /// When the last range was done.
    pub rested_since: Nanos,
}

impl MdStepper {
    /// For an array at rest. `guard` records the present values of its knobs; it is kept in `guard_path` while they are changed.
    pub fn new(knobs: Box<dyn MdKnobs>, guard: MdGuard, guard_path: PathBuf, sectors: u64) -> MdStepper {
        MdStepper { knobs, guard, guard_path, sectors, run: None, step: None, rested_since: Nanos::ZERO }
    }

    /// Begins to check or repair a range: whole blocks, or up to the end of the array.
    pub fn begin(&mut self, range: SectorRange, action: SyncAction) -> Result<(), StepObstacle> {
        let (start, end) = (range.start.0, range.end.0);
        is_healthy(&*self.knobs)?;
        self.check_ownership()?;
        if self.guard.is_blank() {
            self.guard.refresh_before(&*self.knobs)?; // its owner may have changed it since
        }
        match self.run {
            Some(run) if run.window.max == start && run.action == action => {
                let window = SyncWindow { min: run.window.min, max: end };
                self.note(window)?;
                self.write_knob("sync_max", &end.to_string())?;
                self.run = Some(MdRun { window, ..run });
            }
            _ => {
                self.rest()?;
                let window = SyncWindow { min: start, max: end };
                self.note(window)?;
                self.set_window(window)?;
                self.expect_idle()?;
                self.write_knob("sync_action", action.word())?;
                self.run = Some(MdRun { action, window, mismatches: 0 });
            }
        }
        self.step = Some(MdStep { end, at: (0, clock::now()), delayed_since: None });
        Ok(())
    }

    /// The result, if the check has reached the end of the range; `None`: not yet.
    pub fn poll(&mut self) -> Option<Result<StepDone, StepObstacle>> {
        let result = self.check_progress().transpose()?;
        self.step = None;
        self.rested_since = clock::now();
        Some(result)
    }

    /// Whether a check rests at its `sync_max`. It blocks other checks of the array, and of arrays on the same disks.
    pub fn is_resting(&self) -> bool {
        self.run.is_some() && self.step.is_none()
    }

    fn check_progress(&mut self) -> Result<Option<StepDone>, StepObstacle> {
        let (Some(step), Some(run)) = (self.step, self.run) else { return Err(StepObstacle::CutShort) };
        let now = clock::now();
        let completed = self.knobs.read("sync_completed")?;
        let action = self.knobs.read("sync_action")?;
        let mut numbers = completed.split(" / ").map(|number| number.trim().parse::<u64>());
        let position = match (numbers.next(), numbers.next()) {
            (Some(Ok(position)), Some(Ok(sectors))) if sectors == self.sectors => Some(position),
            (Some(Ok(_)), Some(Ok(sectors))) => {
                let message = format!("has another size than before ({sectors} sectors, not {})", self.sectors);
                return Err(StepObstacle::NotOwn(message));
            }
            _ => None,
        };
        let is_own = action == run.action.word();
        match (action.as_str(), position) {
            (_, Some(position)) if is_own && position >= step.end && self.is_in_window(run.window, position)? => {
                return self.done(run, true).map(Some);
            }
            (_, Some(position)) if is_own => {
                if step.at.0 != position {
                    self.step = Some(MdStep { at: (position, now), delayed_since: None, ..step });
                }
            }
            (_, None) if is_own && completed == "delayed" => {
                let since = step.delayed_since.unwrap_or(now);
                self.step = Some(MdStep { delayed_since: Some(since), ..step });
                if now.since(since) > DELAYED_MAX {
                    let message =
                        "shares disks with another array that is being checked or rebuilt: let that be done first";
                    return Err(StepObstacle::NotOwn(message.to_owned()));
                }
            }
            (_, None) if is_own => {}
            ("idle", _) if self.has_ended(step, run)? => {
                let done = self.done(run, false)?;
                self.run = None; // the kernel itself ended it, and forgot its window
                return Ok(Some(done));
            }
            ("idle", _) => {
                self.run = None;
                is_healthy(&*self.knobs)?;
                return Err(StepObstacle::CutShort);
            }
            (action, _) => return Err(StepObstacle::NotOwn(MdRefusal::Busy(action.to_owned()).to_string())),
        }
        if now.since(step.at.1) > STALLED_MAX {
            return Err(StepObstacle::Stalled);
        }
        Ok(None)
    }

    /// Checks that the window is as it was set. At the very end the kernel resets it.
    fn is_in_window(&self, window: SyncWindow, position: u64) -> Result<bool, StepObstacle> {
        let now = self.window()?;
        let is_at_end = position >= self.sectors;
        if now == (window.min, Some(window.max)) || is_at_end && now == (0, None) {
            return Ok(true);
        }
        Err(StepObstacle::NotOwn(OTHER_CHECK.to_owned()))
    }

    /// Whether the check reached the end of the array and ended by itself: only then does the kernel reset the window.
    fn has_ended(&self, step: MdStep, run: MdRun) -> Result<bool, StepObstacle> {
        let is_last = step.end >= self.sectors && run.window.max >= self.sectors;
        Ok(is_last
            && self.window()? == (0, None)
            && self.knobs.read("last_sync_action").map_or(true, |was| was == run.action.word()))
    }

    fn done(&mut self, run: MdRun, is_seen: bool) -> Result<StepDone, StepObstacle> {
        let text = self.knobs.read("mismatch_cnt")?;
        let mismatches: u64 = text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        self.run = Some(MdRun { mismatches, ..run });
        // It only rises while a check runs; if it fell, it is that of another check.
        let increase = mismatches.checked_sub(run.mismatches);
        let increase = increase.ok_or_else(|| StepObstacle::NotOwn(OTHER_CHECK.to_owned()))?;
        Ok(StepDone { mismatches: increase, is_seen })
    }

    /// Checks that the array's action is the one that was left there.
    fn check_ownership(&mut self) -> Result<(), StepObstacle> {
        let action = self.knobs.read("sync_action")?;
        match (action.as_str(), self.run) {
            ("idle", None) => Ok(()),
            ("idle", Some(run)) if run.window.max >= self.sectors && self.window()? == (0, None) => {
                self.run = None;
                Ok(())
            }
            (action, Some(run)) if action == run.action.word() => {
                // A check that reached the end of the array is about to end.
                let is_over = run.window.max >= self.sectors;
                let is_own = self.window()? == (run.window.min, Some(run.window.max));
                if is_own || is_over { Ok(()) } else { Err(StepObstacle::NotOwn(OTHER_CHECK.to_owned())) }
            }
            ("idle", Some(_)) => Err(StepObstacle::NotOwn(
                "had its check stopped by another program: run the same command again to go on".to_owned(),
            )),
            (action, _) => Err(StepObstacle::NotOwn(MdRefusal::Busy(action.to_owned()).to_string())),
        }
    }

    /// Ends the scrub's check, if there is one.
    pub fn rest(&mut self) -> Result<(), StepObstacle> {
        self.step = None;
        if self.run.take().is_some() {
            if self.knobs.read("sync_action")? != "idle" {
                self.write_knob("sync_action", "idle")?;
            }
            self.expect_idle()?;
        }
        Ok(())
    }

    /// Waits until the kernel has ended the previous action.
    fn expect_idle(&self) -> Result<(), StepObstacle> {
        let until = clock::now() + BUSY_MAX;
        loop {
            let action = self.knobs.read("sync_action")?;
            if action == "idle" {
                return Ok(());
            }
            if clock::now() > until {
                return Err(StepObstacle::NotOwn(MdRefusal::Busy(action).to_string()));
            }
            std::thread::sleep(RETRY_PAUSE);
        }
    }

    /// Writes the window and reads it back. `sync_max` is lifted first, because neither may pass the other.
    fn set_window(&self, window: SyncWindow) -> Result<(), StepObstacle> {
        self.write_knob("sync_max", "max")?;
        self.write_knob("sync_min", &window.min.to_string())?;
        self.write_knob("sync_max", &window.max.to_string())?;
        match self.window()? == (window.min, Some(window.max)) {
            true => Ok(()),
            false => Err(StepObstacle::NotOwn(OTHER_CHECK.to_owned())),
        }
    }

    fn window(&self) -> Result<(u64, Option<u64>), StepObstacle> {
        Ok(read_window(&*self.knobs)?)
    }

    fn write_knob(&self, file: &str, value: &str) -> Result<(), StepObstacle> {
        Ok(write_with_retries(&*self.knobs, file, value)?)
    }

    fn note(&mut self, window: SyncWindow) -> Result<(), StepObstacle> {
        self.guard.push(window);
        Ok(self.guard.save(&self.guard_path)?)
    }

    /// Ends the scrub's check and puts all back; other programs' checks and values are left alone. Then removes the guard.
    pub fn release(&mut self) -> io::Result<()> {
        (self.run, self.step) = (None, None);
        if self.guard.is_blank() {
            return Ok(());
        }
        if put_back(&*self.knobs, &self.guard)? {
            self.guard.clear();
            MdGuard::remove(&self.guard_path)?;
        }
        Ok(())
    }
}

impl Drop for MdStepper {
    fn drop(&mut self) {
        // If something cannot be put back now, the guard remains for the next process.
        let _ = self.release();
    }
}

const OTHER_CHECK: &str = "is being checked by another program: that goes first";
