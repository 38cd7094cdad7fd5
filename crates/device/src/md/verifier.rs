//! The verifier of an md array: a range is one step of md's own check.

use super::geometry::{self, MdGeometry, MdLevel, MdMember, MdRefusal, PAGE_SECTORS};
use super::judge::{self, JudgedPlace, MemberFiles};
use super::kernel_log::KernelLog;
use super::knobs::{MdKnobs, SyncAction};
use super::log::{MdLog, Overwritten};
use super::stepper::{MdStepper, StepDone, StepObstacle};
use crate::clock;
use crate::verify::{Verifier, VerifyCompletion};
use scrubjay_core::finding::{Finding, FindingKind, FoundContent, Judgement, Resolution};
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Nanos, SectorRange, UnixSeconds};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

/// A check that rests for longer is ended, and all is put back, because it blocks other checks of the array, and of arrays on
/// the same disks. (Not sooner: the kernel logs each beginning and each end.)
const REST_MAX: Nanos = Nanos::from_secs(30);
/// Interval at which that is checked.
const REST_CHECK_INTERVAL: Duration = Duration::from_millis(250);

/// Longest single wait in the loop that waits for a repair of a block.
const REPAIR_WAIT_MAX: Nanos = Nanos::from_millis(20);

/// Linux: I/O error, connection timed out.
const EIO: i32 = 5;
const ETIMEDOUT: i32 = 110;

/// Verifies ranges by md's check.
pub(super) struct MdVerifier {
    stepper: Arc<Mutex<MdStepper>>,
    geometry: MdGeometry,
    files: MemberFiles,
    kernel_log: KernelLog,
    log: MdLog,
    at_work: Option<StepAtWork>,
    answer: Option<VerifyCompletion>,
    /// Whether the kernel was seen to count the reads of members.
    is_counted: bool,
    /// Whether md is to repair mismatches.
    is_repairing: bool,
}

/// A range being checked, and the members' counters before it.
struct StepAtWork {
    id: OpId,
    range: SectorRange,
    started: Nanos,
    before: MemberCounts,
}

/// For each member: sectors rewritten, read and written so far.
#[derive(Clone, Debug, Default)]
struct MemberCounts {
    errors: BTreeMap<String, u64>,
    read: BTreeMap<String, u64>,
    written: BTreeMap<String, u64>,
    /// Sectors that were written to the array itself; `None` if a request was at it while these counters were read.
    array_written: Option<u64>,
}

/// A member that wrote at least this many sectors more than the others, while the array itself was not written to, was rewritten
/// by md's check. (md writes a superblock, 1 to 8 sectors, to each of them at about the same time.)
const REWRITTEN_MIN: u64 = 32;

impl MdVerifier {
    /// For an array at rest. `is_repairing`: where members do not agree, and nothing speaks against what md takes for right, md's
    /// repair is run.
    pub fn new(
        stepper: MdStepper,
        geometry: MdGeometry,
        files: MemberFiles,
        kernel_log: KernelLog,
        log: MdLog,
        is_repairing: bool,
    ) -> MdVerifier {
        let stepper = Arc::new(Mutex::new(stepper));
        let watched = Arc::downgrade(&stepper);
        // Where no thread can be started, a check may rest for longer.
        let _ = std::thread::Builder::new().name("md-rest".to_owned()).spawn(move || end_rests(&watched));
        MdVerifier {
            stepper,
            geometry,
            files,
            kernel_log,
            log,
            at_work: None,
            answer: None,
            is_counted: false,
            is_repairing,
        }
    }

    fn counts(&self) -> MemberCounts {
        let stepper = lock(&self.stepper);
        let of = |name: &str, file: &str| stepper.knobs.read(&format!("dev-{name}/{file}"));
        let mut counts = MemberCounts::default();
        let written_before = written_while_idle(&*stepper.knobs);
        for member in &self.geometry.members {
            let name = &member.name;
            let errors = of(name, "errors").ok().and_then(|text| text.parse().ok());
            let stat = of(name, "block/stat").unwrap_or_default();
            counts.errors.extend(errors.map(|errors: u64| (name.clone(), errors)));
            counts.read.extend(stat_number(&stat, 2).map(|read| (name.clone(), read)));
            counts.written.extend(stat_number(&stat, 6).map(|written| (name.clone(), written)));
        }
        counts.array_written = written_before.filter(|_| written_before == written_while_idle(&*stepper.knobs));
        counts
    }

    /// md's positions of a range: the last block includes the rest of the array.
    fn positions(&self, range: SectorRange) -> SectorRange {
        let is_last = range.end.0 == self.geometry.whole_sectors();
        SectorRange::new(range.start.0, if is_last { self.geometry.sectors } else { range.end.0 })
    }

    /// Notes what md rewrote in a range since `before`; returns how many sectors that were.
    fn note_repaired(&self, range: SectorRange, before: &MemberCounts, after: &MemberCounts) -> u64 {
        let mut all = 0;
        for (name, &errors) in &after.errors {
            let new = errors.saturating_sub(before.errors.get(name).copied().unwrap_or(errors));
            if new > 0 {
                self.log.note_rewritten(range, name, new);
                all += new;
            }
        }
        for (name, sectors) in self.rewritten(before, after) {
            self.log.note_rewritten(range, &name, sectors);
            all += sectors;
        }
        all
    }

    /// Sectors of a mirror that md rewrote without counting an error of the member, as it does when another copy could be read:
    /// a RAID-1 then counts a mismatch, a RAID-10 nothing at all (Linux, raid1.c `process_checks`, raid10.c
    /// `sync_request_write`). A check writes nothing else to a single member.
    fn rewritten(&self, before: &MemberCounts, after: &MemberCounts) -> Vec<(String, u64)> {
        let is_quiet = after.array_written.is_some() && after.array_written == before.array_written;
        if !self.geometry.level.is_mirror() || !is_quiet {
            return Vec::new();
        }
        let since =
            |name: &String, written: u64| written.saturating_sub(before.written.get(name).copied().unwrap_or(written));
        let all: Vec<(String, u64)> =
            after.written.iter().map(|(name, &written)| (name.clone(), since(name, written))).collect();
        let least = all.iter().map(|(_, written)| *written).min().unwrap_or(0);
        // Rounded to whole pages: one member may have its superblock a moment earlier than the others.
        let pages = |sectors: u64| (sectors + PAGE_SECTORS / 2) / PAGE_SECTORS * PAGE_SECTORS;
        let more = all.into_iter().map(|(name, written)| (name, pages(written - least)));
        more.filter(|(_, written)| *written >= REWRITTEN_MIN).collect()
    }

    /// Whether all of the range was read from the members, as far as their counters show. With parities, some may have been compared
    /// in md's cache, as in any check: that is noted, if the check was seen at the end.
    fn is_read(&mut self, range: SectorRange, work: &StepAtWork, after: &MemberCounts, is_seen: bool) -> bool {
        let read: Vec<u64> = after
            .read
            .iter()
            .filter_map(|(name, &read)| Some(read.saturating_sub(*work.before.read.get(name)?)))
            .collect();
        if read.len() < self.geometry.members.len() {
            return true; // not known
        }
        let least = read.iter().copied().min().unwrap_or(0).min(range.count());
        let missing = range.count() - least;
        let is_all = match self.geometry.level {
            // Each sector is on at least two members; which ones is not computed.
            MdLevel::Raid10 => read.iter().sum::<u64>() >= 2 * range.count(),
            _ => missing == 0,
        };
        self.is_counted |= is_all;
        if is_all || !self.is_counted {
            return true;
        }
        if self.geometry.level.is_mirror() || !is_seen {
            return false;
        }
        self.log.note_cached(missing);
        true
    }

    fn judge(&mut self, work: &StepAtWork, result: Result<StepDone, StepObstacle>) -> VerifyOutcome {
        let after = self.counts();
        let repaired = self.note_repaired(work.range, &work.before, &after);
        self.log.note_errors(work.range, self.kernel_log.drain());
        let positions = self.positions(work.range);
        let listed = self.bad_blocks(positions);
        match result {
            // Some of it was skipped, so not all was compared.
            Ok(done) if !self.is_read(positions, work, &after, done.is_seen) && done.mismatches == 0 => {
                VerifyOutcome::Inconclusive(Cause::Errno(EIO))
            }
            Ok(StepDone { mismatches: 0, .. }) if listed.is_any() => match self.geometry.level {
                // Where they lie in the array is not computed, so what was compared is not known.
                MdLevel::Raid10 => {
                    let refusal = MdRefusal::BadBlocks(listed.member.unwrap_or_default());
                    self.stopped(StepObstacle::NotOwn(refusal.to_string()))
                }
                _ if listed.members > self.geometry.spare_members() => VerifyOutcome::Unreadable(Cause::Lost),
                _ => VerifyOutcome::Unreadable(Cause::Skipped),
            },
            Ok(StepDone { mismatches: 0, .. }) if repaired > 0 => {
                VerifyOutcome::Corrected(u32::try_from(repaired).unwrap_or(u32::MAX))
            }
            Ok(StepDone { mismatches: 0, .. }) => VerifyOutcome::Clean,
            Ok(StepDone { mismatches: counted, .. }) if work.range.count() <= self.geometry.block() => {
                self.handle_mismatch(work.range, counted, listed.members == 0)
            }
            Ok(_) => VerifyOutcome::Unreadable(Cause::Mismatch),
            Err(obstacle) => self.stopped(obstacle),
        }
    }

    /// Handles a block that does not agree: explains it, and has it repaired if requested, unless a member's list of bad blocks has a
    /// part of it (`is_whole_read` is false then).
    fn handle_mismatch(&self, range: SectorRange, counted: u64, is_whole_read: bool) -> VerifyOutcome {
        if self.is_repairing && self.members_now() != self.geometry.members {
            return self
                .stopped(StepObstacle::NotOwn("has other members than before: run the same command again".to_owned()));
        }
        let explained = judge::explain(&self.geometry, &self.files, range);
        // The rest behind the last whole block was not compared here.
        let is_whole = self.positions(range) == range;
        let is_repairable =
            self.is_repairing && is_whole && is_whole_read && explained.iter().all(|place| place.is_repairable);
        // A block that cannot be judged is not written to.
        let (resolution, obstacle) = match is_repairable && !explained.is_empty() {
            true => self.repair(range),
            false if self.is_repairing => (Resolution::Spared, None),
            false => (Resolution::Left, None),
        };
        let differing = explained.iter().map(|place| place.range.count()).sum();
        let mismatch = |place, judgement, member| Finding {
            place,
            kind: FindingKind::Mismatch(judgement),
            resolution,
            member,
            content: FoundContent::Unknown,
            since: UnixSeconds(0),
        };
        if explained.is_empty() && obstacle.is_none() {
            self.log.note(mismatch(range, Judgement::NotCompared, None));
        }
        if resolution.is_overwritten() || obstacle.is_none() {
            for JudgedPlace { range, judgement, member, .. } in explained {
                self.log.note(mismatch(range, judgement, member));
            }
        }
        match resolution {
            Resolution::MadeToAgree => {
                self.log.note_overwritten(Overwritten { sectors: differing, counted, ..Overwritten::default() });
                return VerifyOutcome::Corrected(u32::try_from(counted).unwrap_or(u32::MAX));
            }
            Resolution::StillDiffers | Resolution::Unchecked => {
                self.log.note_overwritten(Overwritten { in_vain: 1, ..Overwritten::default() });
            }
            _ => {}
        }
        match obstacle {
            Some(obstacle) => self.stopped(obstacle),
            None => VerifyOutcome::Unreadable(Cause::Mismatch),
        }
    }

    /// The members that the array has now, in the order of their places.
    fn members_now(&self) -> Vec<MdMember> {
        let stepper = lock(&self.stepper);
        geometry::members(&*stepper.knobs)
    }

    /// Has md repair a block and check it again. Returns what was done, and what came in between, if anything did.
    fn repair(&self, range: SectorRange) -> (Resolution, Option<StepObstacle>) {
        let mut stepper = lock(&self.stepper);
        if let Err(obstacle) = stepper.begin(self.positions(range), SyncAction::Repair) {
            return (Resolution::Left, Some(obstacle));
        }
        let ended = finish(&mut stepper).and_then(|_| {
            stepper.begin(self.positions(range), SyncAction::Check)?;
            finish(&mut stepper)
        });
        match ended {
            Ok(StepDone { mismatches: 0, .. }) => (Resolution::MadeToAgree, None),
            Ok(_) => (Resolution::StillDiffers, None),
            Err(obstacle) => (Resolution::Unchecked, Some(obstacle)),
        }
    }

    fn stopped(&self, obstacle: StepObstacle) -> VerifyOutcome {
        match obstacle {
            StepObstacle::NotOwn(reason) => {
                self.log.note_stopped(reason);
                VerifyOutcome::Gone
            }
            StepObstacle::CutShort => VerifyOutcome::Inconclusive(Cause::Errno(EIO)),
            StepObstacle::Stalled => {
                let _ = lock(&self.stepper).rest();
                VerifyOutcome::Inconclusive(Cause::Errno(ETIMEDOUT))
            }
            StepObstacle::Io(error) => match error.kind() {
                std::io::ErrorKind::NotFound => VerifyOutcome::Gone,
                _ => VerifyOutcome::Inconclusive(Cause::Errno(error.raw_os_error().unwrap_or(EIO))),
            },
        }
    }

    /// What the members' lists of bad blocks, which md skips, have in common with the range. For a RAID-10 their place in the array is
    /// not computed: any bad block counts.
    fn bad_blocks(&self, positions: SectorRange) -> ListedBad {
        let stepper = lock(&self.stepper);
        let is_mapped = self.geometry.level != MdLevel::Raid10;
        let runs_of = |member: &MdMember| -> Vec<SectorRange> {
            let list = stepper.knobs.read(&format!("dev-{}/bad_blocks", member.name)).unwrap_or_default();
            let runs = list.lines().filter_map(|line| {
                let (start, count) = line.trim().split_once(' ')?;
                let start = start.parse::<u64>().ok()?.saturating_sub(member.data_start);
                Some(SectorRange::at(start, count.parse().ok()?))
            });
            runs.filter(|run| !is_mapped || !run.intersection(positions).is_empty()).collect()
        };
        let all: Vec<(&MdMember, Vec<SectorRange>)> =
            self.geometry.members.iter().map(|member| (member, runs_of(member))).collect();
        // Where the most lists overlap, one of them begins, or the range does.
        let starts = all.iter().flat_map(|(_, runs)| runs).map(|run| run.start.max(positions.start));
        let lists_at = |at| all.iter().filter(|(_, runs)| runs.iter().any(|run| run.contains(at))).count();
        let members = starts.map(|at| lists_at(at).max(1)).max().unwrap_or(0);
        let member = all.iter().find(|(_, runs)| !runs.is_empty()).map(|(member, _)| member.name.clone());
        ListedBad { members, member }
    }
}

/// What lists of bad blocks have in common with a range.
struct ListedBad {
    /// The greatest number of members in whose lists one position is.
    members: usize,
    /// The first of these members.
    member: Option<String>,
}

impl ListedBad {
    fn is_any(&self) -> bool {
        self.members > 0
    }
}

impl Verifier for MdVerifier {
    fn findings(&mut self, _is_last: bool) -> Vec<Finding> {
        self.log.take()
    }

    fn submit(&mut self, id: OpId, range: SectorRange) {
        let before = self.counts();
        self.kernel_log.drain(); // earlier messages do not belong to this range
        let started = clock::now();
        let begun = lock(&self.stepper).begin(self.positions(range), SyncAction::Check);
        match begun {
            Ok(()) => self.at_work = Some(StepAtWork { id, range, started, before }),
            Err(obstacle) => {
                let outcome = self.stopped(obstacle);
                self.answer = Some(VerifyCompletion { id, outcome, started, finished: clock::now(), counted: 0 });
            }
        }
    }

    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion> {
        if let Some(answer) = self.answer.take() {
            return Some(answer);
        }
        let until = clock::now() + timeout;
        self.at_work.as_ref()?;
        loop {
            let polled = {
                let mut stepper = lock(&self.stepper);
                let polled = stepper.poll();
                if polled.is_none() {
                    stepper.knobs.wait(until.since(clock::now()));
                }
                polled
            };
            if let Some(result) = polled {
                let finished = clock::now();
                let work = self.at_work.take()?;
                let outcome = self.judge(&work, result);
                return Some(VerifyCompletion { id: work.id, outcome, started: work.started, finished, counted: 0 });
            }
            if clock::now() >= until {
                return None;
            }
        }
    }
}

impl Drop for MdVerifier {
    fn drop(&mut self) {
        // Released here, since the thread that ends rests may hold the last reference, and dies with this process.
        let _ = lock(&self.stepper).release();
    }
}

/// Sectors that were written to the array; `None` while a request is at it.
fn written_while_idle(knobs: &dyn MdKnobs) -> Option<u64> {
    let stat = knobs.read("../stat").ok()?;
    let is_quiet = stat_number(&stat, 8)? == 0;
    stat_number(&stat, 6).filter(|_| is_quiet)
}

/// A number of a line of counters: Documentation/block/stat.rst.
fn stat_number(stat: &str, index: usize) -> Option<u64> {
    stat.split_whitespace().nth(index)?.parse().ok()
}

/// Waits for the end of a step.
fn finish(stepper: &mut MdStepper) -> Result<StepDone, StepObstacle> {
    loop {
        match stepper.poll() {
            Some(done) => return done,
            None => stepper.knobs.wait(REPAIR_WAIT_MAX),
        }
    }
}

fn lock(stepper: &Mutex<MdStepper>) -> MutexGuard<'_, MdStepper> {
    stepper.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends checks that rest for long, until the verifier is dropped.
fn end_rests(stepper: &Weak<Mutex<MdStepper>>) {
    while let Some(stepper) = stepper.upgrade() {
        {
            let mut stepper = lock(&stepper);
            if stepper.is_resting() && clock::now().since(stepper.rested_since) > REST_MAX {
                let _ = stepper.release(); // the next range will find out what is wrong
            }
        }
        drop(stepper);
        std::thread::sleep(REST_CHECK_INTERVAL);
    }
}
