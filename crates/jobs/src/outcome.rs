//! The outcome of one target: the source of JSON, text and alerts.

use crate::pool::PoolOutcome;
use crate::target::TargetLogs;
use scrubjay_control::wording;
use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::idle::Goal;
use scrubjay_core::scrub::{ScrubReport, ScrubState};
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange};
use scrubjay_core::volume::finding::Resolution;
use scrubjay_device::md::{MdFound, MdLog, MdMismatch, MdRepair, Overwritten};
use scrubjay_device::session::{SessionEnded, SessionInfo};
use scrubjay_serve::remote::FindingsFeed;
use scrubjay_serve::volume::commands::{Finding, Status};
use scrubjay_serve::volume::conditions::{MemberCondition, VolumeCondition};
use std::collections::BTreeSet;

/// From this share (0..=1) of the planned cost of delays on, the goal for the maximum is what shapes the plan. In
/// simulated loads where one request in 10,000 to 100 takes 60 ms longer the share is mostly .4 and more; it is 0 where
/// none does.
const FOR_MAX_SHARE: f64 = 0.4;
/// A scrub that used no more than this share of the goal for the mean was not held back by that goal. A guess.
const MEAN_LEFT_SHARE: f64 = 0.75;

/// The outcome of one target in one word; the outcome of several targets is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum OutcomeKind {
    /// Every sector was verified, and nothing was wrong.
    Clean,
    /// Every sector was verified; what was wrong is repaired, or was right when it was read again. Nothing is left to do.
    Mended,
    /// Every sector was judged, and something is still wrong, or may be.
    Found,
    /// It was stopped, and resumes when it is started again.
    Paused,
    /// It could not be done, or its results could not be kept.
    Failed,
}

/// The outcome of one target.
#[derive(Debug)]
pub struct TargetOutcome {
    /// What was known when the session began.
    pub facts: SessionInfo,
    /// How it ended.
    pub ended: SessionEnded,
    /// For a volume: what it found wrong since this run began, by the scrub or in other requests.
    pub found: Option<Vec<Finding>>,
    /// For a volume: its status at the end, if its server answers.
    pub volume: Option<Status>,
    /// For a volume: was it served for reading only when this run began? Known also if its server has died since.
    is_volume_read_only: bool,
    /// For a btrfs: its facts, and what was found wrong in this run.
    pub pool: Option<PoolOutcome>,
    /// For an array that md checked: what was found in this run.
    pub checked: Option<MdFound>,
    /// Why the findings may be incomplete.
    incomplete_note: Option<String>,
}

impl TargetOutcome {
    /// The outcome of a session that has ended; asks a volume's server for the last of its findings.
    pub fn new(facts: SessionInfo, ended: SessionEnded, logs: &TargetLogs) -> TargetOutcome {
        let TargetLogs { findings, pool, checked } = logs;
        if let Some(checked) = checked {
            checked.recall(&ended.report.mismatched);
        }
        let error = findings.as_ref().and_then(|findings| findings.fetch().err());
        let incomplete_note = error.map(|error| format!("there may be more findings than are listed: {error}"));
        let volume = findings.as_ref().and_then(|findings| findings.status().ok());
        let is_volume_read_only = findings.as_ref().is_some_and(FindingsFeed::is_read_only);
        TargetOutcome {
            facts,
            ended,
            found: findings.as_ref().map(FindingsFeed::all),
            volume,
            is_volume_read_only,
            pool: pool.as_ref().map(PoolOutcome::new),
            checked: checked.as_ref().map(MdLog::found),
            incomplete_note,
        }
    }

    /// Was the scrub held back by the goal for the maximum, and not by the one for the mean, because some scrub
    /// requests take longer than any foreground request may lose?
    pub fn is_held_back_by_max(&self) -> bool {
        let report = &self.ended.report;
        let requests = report.foreground_requests;
        let lost = report.slowdown.mean_seconds(requests);
        let is_mean_left = |goal: Goal| lost <= MEAN_LEFT_SHARE * goal.mean.as_secs_f64();
        requests >= Goal::WARM_UP_REQUESTS
            && report.setting.for_max >= FOR_MAX_SHARE
            && self.facts.goal.is_some_and(is_mean_left)
    }

    /// The volume's state, if it runs without a member. Less was verified then than there should be.
    pub fn reduced(&self) -> Option<VolumeCondition> {
        self.volume.as_ref().map(|volume| volume.state).filter(|state| state.is_reduced())
    }

    /// The members that the volume runs without: number, path if it is known, and state.
    pub fn inactive_members(&self) -> Vec<String> {
        let members = self.volume.iter().flat_map(|volume| volume.members.iter().enumerate());
        let out = members.filter(|(_, member)| member.state != MemberCondition::Active);
        out.map(|(number, member)| {
            let path = member.path.as_deref().map(|path| format!(" ({path})")).unwrap_or_default();
            format!("member {number}{path} is {}", member.state.predicate())
        })
        .collect()
    }

    /// Rows that were wrong, and were repaired from the others.
    pub fn repaired(&self) -> impl Iterator<Item = &Finding> {
        self.findings(|end| end == Resolution::Repaired)
    }

    /// Rows that were wrong or unreadable once, and right when they were read again.
    pub fn transient(&self) -> impl Iterator<Item = &Finding> {
        self.findings(|end| end == Resolution::Transient)
    }

    /// Rows that are still wrong on their members, though the others give what they should hold: a disk did not take the
    /// repair, or the volume is read-only.
    pub fn unrepaired(&self) -> impl Iterator<Item = &Finding> {
        self.findings(|end| end == Resolution::Reconstructed)
    }

    fn findings(&self, is_wanted: impl Fn(Resolution) -> bool) -> impl Iterator<Item = &Finding> {
        self.found.iter().flatten().filter(move |finding| is_wanted(finding.end))
    }

    /// How many rows (of a btrfs: blocks) are known to be still wrong on their members.
    pub fn rows_unrepaired(&self) -> u64 {
        let (report, found) = (&self.ended.report, self.found.iter().flatten());
        rows_unrepaired(report, self.pool.as_ref(), self.is_volume_read_only, found)
    }

    /// Rows that could not be repaired.
    pub fn lost(&self) -> impl Iterator<Item = &Finding> {
        self.findings(|end| end == Resolution::Lost)
    }

    /// How many rows (of a btrfs: blocks) were repaired in this pass, as far as is known: earlier runs count, too.
    pub fn rows_repaired(&self) -> u64 {
        let transient = self.transient().count() as u64 + self.pool.as_ref().map_or(0, |pool| pool.found.transient);
        let repaired = self.ended.report.corrected.saturating_sub(self.rows_unrepaired() + transient);
        if self.checked.is_some() { 0 } else { repaired.max(self.repaired().count() as u64) }
    }

    /// For an array: how many sectors md rewrote in this pass because a member could not read them, as far as is known.
    pub fn sectors_repaired(&self) -> u64 {
        let corrected = self.ended.report.corrected.saturating_sub(self.overwritten().counted);
        self.checked.as_ref().map_or(0, |checked| corrected.max(checked.repaired_sectors()))
    }

    /// For an array: where this member could not be read in this run, in its own sectors, as far as the kernel's log shows.
    pub fn errors_of(&self, member: &str) -> impl Iterator<Item = SectorRange> {
        let errors = self.checked.iter().flat_map(|checked| &checked.errors);
        errors.filter(move |error| error.member == member).map(|error| error.range)
    }

    /// For an array: what md's repairs overwrote in this pass.
    pub fn overwritten(&self) -> Overwritten {
        self.checked.as_ref().map(|checked| checked.overwritten).unwrap_or_default()
    }

    /// For an array: where members did not agree in this run, and md made them agree, as far as was seen.
    pub fn agreed(&self) -> impl Iterator<Item = &MdMismatch> {
        let still = &self.ended.report.mismatched;
        let agrees = move |found: &MdMismatch| match found.repair {
            MdRepair::Agree => true,
            MdRepair::Unchecked => still.iter().all(|range| range.intersection(found.range).is_empty()),
            MdRepair::NotRun | MdRepair::StillDiffer => false,
        };
        let found = self.checked.iter().flat_map(|checked| &checked.mismatches);
        found.filter(move |found| agrees(found))
    }

    /// For an array: where its members do not agree in this pass, and what is known of it. A place that cannot be
    /// narrowed down is given in whole blocks.
    pub fn mismatches(&self) -> Vec<(SectorRange, Option<&MdMismatch>)> {
        let found = self.checked.iter().flat_map(|checked| &checked.mismatches);
        let known: Vec<&MdMismatch> = found.filter(|found| found.repair != MdRepair::Agree).collect();
        let block = self.facts.block.sectors();
        let mut places: Vec<(SectorRange, Option<&MdMismatch>)> = Vec::new();
        for whole in &self.ended.report.mismatched {
            for start in (whole.start.0..whole.end.0).step_by(block as usize) {
                let range = SectorRange::at(start, block).intersection(*whole);
                let mut of_block: Vec<&MdMismatch> =
                    known.iter().copied().filter(|found| !found.range.intersection(range).is_empty()).collect();
                of_block.sort_by_key(|found| found.range.start);
                // A mismatch may span several blocks.
                of_block.retain(|found| places.last().is_none_or(|(last, _)| *last != found.range));
                let is_known = known.iter().any(|found| !found.range.intersection(range).is_empty());
                match places.last_mut() {
                    _ if is_known => places.extend(of_block.into_iter().map(|found| (found.range, Some(found)))),
                    Some((last, None)) if last.end == range.start => last.end = range.end,
                    _ => places.push((range, None)),
                }
            }
        }
        places
    }

    /// For an array: why its check ended before it was done.
    pub fn stopped(&self) -> Option<&str> {
        self.checked.as_ref()?.stopped.as_deref()
    }

    /// Why the job was not done, or its result could not be kept.
    pub fn error(&self) -> Option<String> {
        let report = &self.ended.report;
        let kept = match self.ended.is_saved {
            true => "what was verified is saved",
            false => "what was verified COULD NOT BE SAVED",
        };
        if let Some(why) = self.pool.as_ref().and_then(|pool| pool.error(report.state)) {
            return Some(format!("{why}; {kept}"));
        }
        match self.ended.report.state {
            ScrubState::Gone if self.found.is_some() => {
                Some(format!("the volume is no longer served, or is broken; {kept}"))
            }
            ScrubState::Gone if self.stopped().is_some() => {
                Some(format!("the array {}; {kept}", self.stopped().unwrap_or_default()))
            }
            ScrubState::Gone => Some(format!("the device is gone; {kept}")),
            ScrubState::Failed(cause) => {
                let bad = report.unreadable_sectors() + report.mismatched_sectors();
                let left = report.bytes.0 - report.bytes_verified.0 - bad * SECTOR_BYTES;
                Some(format!("{} could not be judged: the device does not answer as it should ({cause})", Bytes(left)))
            }
            ScrubState::Running if !self.ended.is_saved => {
                Some("paused, but its progress could not be saved".to_owned())
            }
            ScrubState::Complete if !self.ended.is_saved => Some(
                "the pass is complete, but could not be saved: the next run reads again what is not saved".to_owned(),
            ),
            ScrubState::Running | ScrubState::Complete if !self.ended.is_recorded => {
                Some("the record could not be written".to_owned())
            }
            ScrubState::Running | ScrubState::Complete => None,
        }
    }

    /// What else the user should know.
    pub fn notes(&self) -> Vec<String> {
        let lost = (self.ended.foreground_lost > 0).then(|| {
            format!("{} foreground requests went by uncounted: what they lost is not known", self.ended.foreground_lost)
        });
        let troubles = self.ended.troubles.iter().cloned();
        let unanswered = self.ended.report.unanswered_cause.map(|cause| {
            let requests = match self.ended.report.unanswered {
                1 => "one request".to_owned(),
                count => format!("{} requests", show_count(count)),
            };
            let hint = if self.pool.is_none() && self.checked.is_none() { ": see the kernel's log" } else { "" };
            format!("{requests} timed out, or ended without an answer about the sectors ({cause}), and had to be repeated{hint}")
        });
        let resumed = self.facts.resumed_from.map(|begun| {
            format!("this pass was begun on {}: what it read first, it read then", wording::date(begun.0))
        });
        let pool = self.pool.iter().flat_map(PoolOutcome::notes);
        let cached = self.checked.as_ref().map_or(0, |checked| checked.cached_sectors);
        let cached = (cached > 0).then(|| {
            let bytes = Bytes(cached * SECTOR_BYTES);
            format!("{bytes} were compared as md still had them in memory, and not read again (as with any check of a RAID-5 or 6)")
        });
        let notes = self.facts.notes.iter().cloned();
        notes
            .chain(pool)
            .chain(troubles)
            .chain(resumed)
            .chain(unanswered)
            .chain(lost)
            .chain(cached)
            .chain(self.incomplete_note.clone())
            .collect()
    }

    /// The outcome in one word.
    pub fn kind(&self) -> OutcomeKind {
        let report = &self.ended.report;
        let is_pool_clean = self.pool.as_ref().is_none_or(PoolOutcome::is_clean);
        let is_read = report.unreadable.is_empty() && report.mismatched.is_empty();
        let is_spotless = is_pool_clean && is_read && report.transient_errors == 0 && report.corrected == 0;
        let is_spotless = is_spotless
            && self.checked.as_ref().is_none_or(|found| {
                found.repaired.is_empty() && found.mismatches.is_empty() && found.overwritten == Overwritten::default()
            });
        match report.state {
            ScrubState::Gone | ScrubState::Failed(_) => OutcomeKind::Failed,
            ScrubState::Running | ScrubState::Complete if !self.ended.is_saved => OutcomeKind::Failed,
            ScrubState::Running => OutcomeKind::Paused,
            ScrubState::Complete
                if is_spotless && self.found.iter().flatten().next().is_none() && self.reduced().is_none() =>
            {
                if self.ended.is_recorded { OutcomeKind::Clean } else { OutcomeKind::Failed }
            }
            ScrubState::Complete if self.ended.is_recorded && self.is_mended() => OutcomeKind::Mended,
            ScrubState::Complete => OutcomeKind::Found,
        }
    }

    /// Is all that was wrong repaired, or was right when it was read again? What md overwrote is not known to be right, and a place
    /// that cannot be read is a fault of the disk even where nothing is stored.
    fn is_mended(&self) -> bool {
        let report = &self.ended.report;
        let is_pool_whole = self.pool.as_ref().is_none_or(PoolOutcome::is_mended);
        let is_array_whole = self.checked.as_ref().is_none_or(|found| {
            let all_agree = found.mismatches.iter().all(|found| found.repair == MdRepair::Agree);
            all_agree && found.overwritten == Overwritten::default()
        });
        let is_judged_right = report.unreadable.is_empty() && report.mismatched.is_empty();
        let is_left =
            self.rows_unrepaired() > 0 || self.found.iter().flatten().any(|finding| !finding.end.is_settled());
        is_judged_right && is_pool_whole && is_array_whole && !is_left && self.reduced().is_none()
    }
}

/// How many rows (of a btrfs: blocks) of this pass are still wrong on their members, though readers get the right contents. A
/// volume's findings of this run name them, each row counted once; where nothing can be repaired, the report counts them.
pub fn rows_unrepaired<'a>(
    report: &ScrubReport,
    pool: Option<&PoolOutcome>,
    is_volume_read_only: bool,
    found: impl Iterator<Item = &'a Finding>,
) -> u64 {
    match pool {
        Some(pool) if pool.facts.is_read_only => report.found_only.saturating_sub(pool.found.transient),
        None if is_volume_read_only => report
            .found_only
            .saturating_sub(found.filter(|finding| finding.end == Resolution::Transient).count() as u64),
        Some(pool) => pool.found.unrepaired.min(report.corrected),
        None => {
            let unrepaired = found.filter(|finding| finding.end == Resolution::Reconstructed);
            unrepaired.map(|finding| (finding.member, finding.offset)).collect::<BTreeSet<_>>().len() as u64
        }
    }
}
