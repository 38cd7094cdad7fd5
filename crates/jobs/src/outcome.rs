//! The outcome of one target: the source of JSON, text and alerts.

use crate::pool::PoolOutcome;
use crate::subject_state::{SubjectLog, SubjectState};
use scrubjay_control::wording;
use scrubjay_core::finding::{Finding, FindingKind, Resolution};
use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::ScrubState;
use scrubjay_core::scrub::idle::Goal;
use scrubjay_core::units::{Bytes, SECTOR_BYTES, SectorRange};
use scrubjay_device::md::MdLevel;
use scrubjay_device::md::Overwritten;
use scrubjay_device::session::{SessionEnded, SessionInfo};
use scrubjay_serve::volume::commands::Status;
use scrubjay_serve::volume::conditions::{MemberCondition, VolumeCondition};
use scrubjay_words::{MdContent, Said};
use std::collections::BTreeMap;

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
    /// How it ended, and what its pass found.
    pub ended: SessionEnded,
    /// What was scrubbed, as it was at the end.
    pub subject: SubjectState,
}

impl TargetOutcome {
    /// The outcome of a session that has ended; asks a volume's server for its status.
    pub fn new(facts: SessionInfo, ended: SessionEnded, log: &SubjectLog) -> TargetOutcome {
        TargetOutcome { facts, ended, subject: log.state() }
    }

    /// What the pass found, in all its runs, beyond what is unreadable.
    pub fn findings(&self) -> &[Finding] {
        self.ended.findings.all()
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

    /// Is it a volume?
    pub fn is_volume(&self) -> bool {
        matches!(self.subject, SubjectState::Volume { .. })
    }

    /// Is it an array that md checked?
    pub fn is_md(&self) -> bool {
        matches!(self.subject, SubjectState::Md(..))
    }

    /// Of a volume: its status at the end, if its server answered.
    pub fn volume(&self) -> Option<&Status> {
        match &self.subject {
            SubjectState::Volume { status, .. } => status.as_deref(),
            _ => None,
        }
    }

    /// Of a btrfs: its facts and counts.
    pub fn pool(&self) -> Option<PoolOutcome<'_>> {
        match &self.subject {
            SubjectState::Btrfs(facts, counts) => Some(PoolOutcome { facts, counts, found: &self.ended.findings }),
            _ => None,
        }
    }

    /// The volume's state, if it runs without a member. Less was verified then than there should be.
    pub fn reduced(&self) -> Option<VolumeCondition> {
        self.volume().map(|volume| volume.state).filter(|state| state.is_reduced())
    }

    /// The members that the volume runs without: number, path if it is known, and state.
    pub fn inactive_members(&self) -> Vec<String> {
        let members = self.volume().into_iter().flat_map(|volume| volume.members.iter().enumerate());
        let out = members.filter(|(_, member)| member.state != MemberCondition::Active);
        out.map(|(number, member)| {
            let path = member.path.as_deref().map(|path| format!(" ({path})")).unwrap_or_default();
            format!("member {number}{path} is {}", member.state.predicate())
        })
        .collect()
    }

    /// For a volume: rows, and blocks of its metadata, that ended so.
    pub fn rows(&self, resolution: Resolution) -> impl Iterator<Item = &Finding> {
        let rows = if self.is_volume() { self.findings() } else { &[] };
        rows.iter().filter(move |finding| finding.resolution == resolution)
    }

    /// How many rows (of a btrfs: blocks) are known to be still wrong on their members.
    pub fn rows_unrepaired(&self) -> u64 {
        self.subject.rows_unrepaired(&self.ended.report)
    }

    /// How many rows (of a btrfs: blocks) were repaired in this pass, as far as is known: earlier runs count, too.
    pub fn rows_repaired(&self) -> u64 {
        let transient = match &self.subject {
            SubjectState::Btrfs(_, counts) => counts.transient,
            SubjectState::Volume { .. } => self.ended.report.transient,
            SubjectState::Md(..) => return 0,
            SubjectState::Plain => 0,
        };
        let repaired = self.ended.report.corrected.saturating_sub(self.rows_unrepaired() + transient);
        repaired.max(self.rows(Resolution::Repaired).count() as u64)
    }

    /// For an array: how many sectors md rewrote in this pass because a member could not read them, as far as is known.
    pub fn sectors_repaired(&self) -> u64 {
        let corrected = self.ended.report.corrected.saturating_sub(self.overwritten().counted);
        if self.is_md() { corrected.max(self.rewritten().values().sum()) } else { 0 }
    }

    /// For an array: how many sectors of each member md rewrote in this pass because it could not read them all.
    pub fn rewritten(&self) -> BTreeMap<&str, u64> {
        let mut all = BTreeMap::new();
        for (name, _, sectors) in self.unread_members().filter(|(_, start, _)| start.is_none()) {
            *all.entry(name).or_default() += sectors;
        }
        all
    }

    /// For an array: where this member could not be read in this pass, in its own sectors, as far as the kernel's log shows.
    pub fn errors_of(&self, member: &str) -> impl Iterator<Item = SectorRange> {
        let of_member = self.unread_members().filter(move |(name, ..)| *name == member);
        of_member.filter_map(|(_, start, sectors)| Some(SectorRange::at(start?, sectors)))
    }

    /// What members of an array could not read: the member, its first own sector where that is known, and how many.
    fn unread_members(&self) -> impl Iterator<Item = (&str, Option<u64>, u64)> {
        let findings = if self.is_md() { self.findings() } else { &[] };
        findings.iter().filter(|found| found.kind == FindingKind::Unreadable(None)).filter_map(|found| {
            let on = found.member.as_ref()?;
            Some((on.name.as_deref()?, on.offset.map(|offset| offset / SECTOR_BYTES), on.bytes.sectors()))
        })
    }

    /// For an array: what md's repairs overwrote in this pass.
    pub fn overwritten(&self) -> Overwritten {
        match &self.subject {
            SubjectState::Md(_, facts) => facts.overwritten,
            _ => Overwritten::default(),
        }
    }

    /// For an array: where members do not, or did not, agree.
    fn disagreements(&self) -> impl Iterator<Item = &Finding> {
        let findings = if self.is_md() { self.findings() } else { &[] };
        findings.iter().filter(|found| matches!(found.kind, FindingKind::Mismatch(_)))
    }

    /// For an array: where members did not agree in this pass, and md made them agree, as far as was seen.
    pub fn agreed(&self) -> impl Iterator<Item = &Finding> {
        let still = &self.ended.report.mismatched;
        self.disagreements().filter(move |found| match found.resolution {
            Resolution::MadeToAgree => true,
            Resolution::Unchecked => still.iter().all(|range| range.intersection(found.place).is_empty()),
            _ => false,
        })
    }

    /// For an array: where its members do not agree in this pass, and what is known of it. A place that cannot be
    /// narrowed down is given in whole blocks.
    pub fn mismatches(&self) -> Vec<(SectorRange, Option<&Finding>)> {
        let known: Vec<&Finding> =
            self.disagreements().filter(|found| found.resolution != Resolution::MadeToAgree).collect();
        let block = self.facts.block.sectors();
        let mut places: Vec<(SectorRange, Option<&Finding>)> = Vec::new();
        for whole in &self.ended.report.mismatched {
            for start in (whole.start.0..whole.end.0).step_by(block as usize) {
                let range = SectorRange::at(start, block).intersection(*whole);
                let mut of_block: Vec<&Finding> =
                    known.iter().copied().filter(|found| !found.place.intersection(range).is_empty()).collect();
                of_block.sort_by_key(|found| found.place.start);
                // A mismatch may span several blocks.
                of_block.retain(|found| places.last().is_none_or(|(last, _)| *last != found.place));
                let is_known = known.iter().any(|found| !found.place.intersection(range).is_empty());
                match places.last_mut() {
                    _ if is_known => places.extend(of_block.into_iter().map(|found| (found.place, Some(found)))),
                    Some((last, None)) if last.end == range.start => last.end = range.end,
                    _ => places.push((range, None)),
                }
            }
        }
        places
    }

    /// For an array: a place where members do not, or did not, agree, in words.
    pub fn disagreement(&self, found: Option<&Finding>) -> Said {
        let SubjectState::Md(level, _) = &self.subject else { return Said::default() };
        let content = match level {
            MdLevel::Raid1 | MdLevel::Raid10 => MdContent::Copies,
            MdLevel::Raid4 | MdLevel::Raid5 => MdContent::Parity,
            MdLevel::Raid6 => MdContent::Parities,
        };
        scrubjay_words::disagreement(content, found)
    }

    /// For an array: why its check ended before it was done.
    pub fn stopped(&self) -> Option<&str> {
        match &self.subject {
            SubjectState::Md(_, facts) => facts.stopped.as_deref(),
            _ => None,
        }
    }

    /// Why the job was not done, or its result could not be kept.
    pub fn error(&self) -> Option<String> {
        let report = &self.ended.report;
        let kept = match self.ended.is_saved {
            true => "what was verified is saved",
            false => "what was verified COULD NOT BE SAVED",
        };
        if let Some(why) = self.pool().and_then(|pool| pool.error(report.state)) {
            return Some(format!("{why}; {kept}"));
        }
        match self.ended.report.state {
            ScrubState::Gone if self.is_volume() => {
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
            let hint = if self.pool().is_none() && !self.is_md() { ": see the kernel's log" } else { "" };
            format!("{requests} timed out, or ended without an answer about the sectors ({cause}), and had to be repeated{hint}")
        });
        let resumed = self.facts.resumed_from.map(|begun| {
            format!("this pass was begun on {}: what it read first, it read then", wording::date(begun.0))
        });
        let pool = self.pool().map(|pool| pool.notes()).unwrap_or_default();
        let cached = match &self.subject {
            SubjectState::Md(_, facts) => facts.cached_sectors,
            _ => 0,
        };
        let cached = (cached > 0).then(|| {
            let bytes = Bytes(cached * SECTOR_BYTES);
            format!("{bytes} were compared as md still had them in memory, and not read again (as with any check of a RAID-5 or 6)")
        });
        let incomplete = match &self.subject {
            SubjectState::Volume { obstacle: Some(why), .. } => Some(why.clone()),
            _ => None,
        };
        let incomplete = incomplete.map(|why| format!("there may be more findings than are listed: {why}"));
        let untold = self.ended.findings.untold();
        let untold = (untold > 0).then(|| format!("{} more findings are counted, and not listed", show_count(untold)));
        let notes = self.facts.notes.iter().cloned();
        notes
            .chain(pool)
            .chain(troubles)
            .chain(resumed)
            .chain(unanswered)
            .chain(lost)
            .chain(cached)
            .chain(incomplete)
            .chain(untold)
            .collect()
    }

    /// The outcome in one word.
    pub fn kind(&self) -> OutcomeKind {
        let report = &self.ended.report;
        let is_whole = match &self.subject {
            SubjectState::Btrfs(facts, counts) => facts.missing.is_empty() && counts.is_spotless(),
            SubjectState::Md(_, facts) => facts.overwritten == Overwritten::default(),
            SubjectState::Volume { .. } => self.reduced().is_none(),
            SubjectState::Plain => true,
        };
        let is_read = report.unreadable.is_empty() && report.mismatched.is_empty();
        let is_spotless = is_read && report.transient_errors == 0 && report.corrected == 0;
        let is_spotless = is_spotless && is_whole && self.ended.findings.is_empty();
        match report.state {
            ScrubState::Gone | ScrubState::Failed(_) => OutcomeKind::Failed,
            ScrubState::Running | ScrubState::Complete if !self.ended.is_saved => OutcomeKind::Failed,
            ScrubState::Running => OutcomeKind::Paused,
            ScrubState::Complete if is_spotless => {
                if self.ended.is_recorded {
                    OutcomeKind::Clean
                } else {
                    OutcomeKind::Failed
                }
            }
            ScrubState::Complete if self.ended.is_recorded && self.is_mended() => OutcomeKind::Mended,
            ScrubState::Complete => OutcomeKind::Found,
        }
    }

    /// Is all that was wrong repaired, or was right when it was read again? What md overwrote is not known to be right, and a place
    /// that cannot be read is a fault of the disk even where nothing is stored.
    fn is_mended(&self) -> bool {
        let report = &self.ended.report;
        let is_whole = match &self.subject {
            SubjectState::Btrfs(facts, counts) => facts.missing.is_empty() && counts.is_mended(),
            SubjectState::Md(_, facts) => facts.overwritten == Overwritten::default(),
            SubjectState::Volume { .. } => self.reduced().is_none(),
            SubjectState::Plain => true,
        };
        let is_judged_right = report.unreadable.is_empty() && report.mismatched.is_empty();
        is_judged_right && is_whole && self.rows_unrepaired() == 0 && self.ended.findings.is_settled()
    }
}
