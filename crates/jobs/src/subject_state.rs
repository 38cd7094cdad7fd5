//! What a subject tells beside verdicts and findings: while it is scrubbed, and as it was at the end.

use scrubjay_core::scrub::ScrubReport;
use scrubjay_device::btrfs::{PoolCounts, PoolFacts, PoolLog};
use scrubjay_device::md::{MdFacts, MdLevel, MdLog};
use scrubjay_serve::remote::FindingsFeed;
use scrubjay_serve::volume::commands::Status;

/// What a subject tells while it is scrubbed.
#[derive(Clone, Debug, Default)]
pub enum SubjectLog {
    /// A disk or a file tells nothing more.
    #[default]
    Plain,
    /// A served volume.
    Volume(FindingsFeed),
    /// A btrfs, with its facts at the start.
    Btrfs(Box<PoolFacts>, PoolLog),
    /// An array that md checks.
    Md(MdLevel, MdLog),
}

/// A subject as it was at the end.
#[derive(Clone, Debug, Default)]
pub enum SubjectState {
    /// A disk or a file.
    #[default]
    Plain,
    /// A served volume.
    Volume {
        /// Its status, if its server answers.
        status: Option<Box<Status>>,
        /// Was it served for reading only when this run began? Known also if its server has died since.
        is_read_only: bool,
        /// Why there may be more findings than are known.
        obstacle: Option<String>,
    },
    /// A btrfs: its facts at the start, and its counts.
    Btrfs(Box<PoolFacts>, Box<PoolCounts>),
    /// An array that md checked.
    Md(MdLevel, MdFacts),
}

impl SubjectLog {
    /// The state now; asks a volume's server for its status.
    pub fn state(&self) -> SubjectState {
        match self {
            SubjectLog::Plain => SubjectState::Plain,
            SubjectLog::Volume(feed) => SubjectState::Volume {
                status: feed.status().ok().map(Box::new),
                is_read_only: feed.is_read_only(),
                obstacle: feed.obstacle(),
            },
            SubjectLog::Btrfs(facts, log) => SubjectState::Btrfs(facts.clone(), Box::new(log.counts())),
            SubjectLog::Md(level, log) => SubjectState::Md(*level, log.facts()),
        }
    }

    /// How many rows (of a btrfs: blocks) of a pass are still wrong on their members, though readers get the right contents: of what
    /// may not be repaired, all that the report counts.
    pub fn rows_unrepaired(&self, report: &ScrubReport) -> u64 {
        match self {
            SubjectLog::Btrfs(facts, log) => of_btrfs(facts.is_read_only, &log.counts(), report),
            SubjectLog::Volume(feed) => of_volume(feed.is_read_only(), report),
            SubjectLog::Plain | SubjectLog::Md(..) => 0,
        }
    }
}

impl SubjectState {
    /// The same as [`SubjectLog::rows_unrepaired`].
    pub fn rows_unrepaired(&self, report: &ScrubReport) -> u64 {
        match self {
            SubjectState::Btrfs(facts, counts) => of_btrfs(facts.is_read_only, counts, report),
            SubjectState::Volume { is_read_only, .. } => of_volume(*is_read_only, report),
            SubjectState::Plain | SubjectState::Md(..) => 0,
        }
    }
}

fn of_btrfs(is_read_only: bool, counts: &PoolCounts, report: &ScrubReport) -> u64 {
    match is_read_only {
        true => report.found_only.saturating_sub(counts.transient),
        false => counts.unrepaired.min(report.corrected),
    }
}

fn of_volume(is_read_only: bool, report: &ScrubReport) -> u64 {
    if is_read_only { report.found_only.saturating_sub(report.transient) } else { report.unrepaired }
}
