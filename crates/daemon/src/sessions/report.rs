//! A pass as the watch wants it read, and what a session reports on it.

use scrubjay_core::scrub::ScrubReport;
use scrubjay_core::scrub::verdict::{Cause, Unreadable};
use scrubjay_core::units::{Bytes, Nanos, UnixSeconds};
use scrubjay_jobs::subject_state::SubjectLog;
use scrubjay_watch::facts::{MediaKind, PassReport, SessionSubject, SubjectKey};
use std::path::PathBuf;

/// The bytes that must be read before the mean time of a read is reported.
const MEASURED_MIN: Bytes = Bytes::gib(1);
/// The size of the read whose mean time is reported.
const USUAL_READ: Bytes = Bytes::mib(1);

/// A pass, as the watch wants it read.
#[derive(Clone, Debug)]
pub struct PassOrder {
    /// The disk or array.
    pub subject: SessionSubject,
    /// Its name for people.
    pub name: String,
    /// Its identity.
    pub key: SubjectKey,
    /// What to open: a disk's device, or the target that drives the array's own checker.
    pub target: PathBuf,
    /// The number of the pass.
    pub pass: u32,
    /// When it began, by the watch's clock.
    pub begun: UnixSeconds,
    /// When it began, by the system's clock: earlier reads do not count.
    pub begun_by_system: UnixSeconds,
    /// Seconds of the watch's clock that pass in one of the system's.
    pub pace: u64,
    /// Does another disk here give the same identity? Then the kept state may be of that disk.
    pub is_twin: bool,
    /// The goal for the mean slowdown of foreground requests.
    pub budget: Nanos,
    /// Is it a pool of ZFS, by its name?
    pub is_pool: bool,
    /// Of a disk that is only observed: what it is imagined to be.
    pub imagined: Option<MediaKind>,
}

impl PassOrder {
    /// A date of the system's clock by the watch's clock; never before the beginning of the pass.
    pub(super) fn by_watch(&self, at: UnixSeconds) -> UnixSeconds {
        let since = at.0.saturating_sub(self.begun_by_system.0);
        UnixSeconds(self.begun.0.saturating_add(since.saturating_mul(self.pace)))
    }
}

/// A session's report, with how much it did not repair, and what it says of itself.
#[derive(Clone)]
pub(super) struct SessionReport {
    pub(super) report: ScrubReport,
    /// How many of the corrections that it counts were only found: by a btrfs that is mounted read-only, for instance.
    pub(super) unrepaired: u64,
    pub(super) remarks: SessionRemarks,
}

/// What a session says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionRemarks {
    /// Are requests of others not seen at all?
    pub is_blind: bool,
    /// Notes from its beginning, then its troubles.
    pub notes: Vec<String>,
}

impl SessionReport {
    pub(super) fn new(report: &ScrubReport, log: &SubjectLog, remarks: SessionRemarks) -> SessionReport {
        let unrepaired = log.rows_unrepaired(report).min(report.corrected);
        SessionReport { report: report.clone(), unrepaired, remarks }
    }
}

/// The report on a pass for the watch.
pub(super) fn pass_report(order: &PassOrder, session: &SessionReport) -> PassReport {
    let report = &session.report;
    let (bytes, seconds) = (report.bytes_requested, report.reading.as_secs_f64());
    // What md could not compare is not lost: it counts with what disagrees.
    let (skipped, unreadable): (Vec<Unreadable>, Vec<Unreadable>) =
        report.unreadable.iter().partition(|found| found.cause == Cause::Skipped);
    let skipped: u64 = skipped.iter().map(|found| found.range.count()).sum();
    let is_measured = bytes >= MEASURED_MIN && seconds > 0.0;
    PassReport {
        pass: order.pass,
        begun: order.begun,
        is_found: false,
        done: report.bytes_verified.sectors() + report.unreadable_sectors() + report.mismatched_sectors(),
        unreadable: unreadable.iter().map(|found| found.range).collect(),
        retries: report.transient_errors,
        corrected: report.corrected - session.unrepaired,
        mismatched: report.mismatched_sectors() + skipped + session.unrepaired,
        bytes_per_second: if seconds > 0.0 { (bytes.0 as f64 / seconds) as u64 } else { 0 },
        service_nanos: match is_measured {
            true => (seconds * 1e9 * USUAL_READ.0 as f64 / bytes.0 as f64) as u64,
            false => 0,
        },
    }
}
