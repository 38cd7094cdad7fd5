//! When each part of a disk was last read: sixteen slices of the tour, each with a date.

use crate::calendar::{after, elapsed};
use crate::facts::PassReport;
use scrubjay_core::units::{SectorRange, UnixSeconds};

/// Slices of a pass. A slice's date is early by the time that one slice takes, at most; with sixteen that is two days
/// of a pass that takes a whole month.
pub const SLICES: usize = 16;

/// Runs of unreadable sectors that are remembered of a disk, at most. A disk with more must be replaced in any case.
pub const RUNS_MAX: usize = 256;

/// The history of one subject's passes. Every pass takes the sectors in the same order, so a slice has the same sectors
/// each time; its date is when its reading began.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PassHistory {
    /// The disk's size in sectors.
    pub sectors: u64,
    /// Since when the disk is known: a slice that was never read is due as if it had been read then.
    pub known_since: UnixSeconds,
    /// When the pass under way began; 0: none is.
    pub begun: UnixSeconds,
    /// Sectors of the pass under way with a verdict.
    pub done: u64,
    /// When the reading of each slice of the pass under way began; 0: not yet.
    pub touched: [UnixSeconds; SLICES],
    /// When the last complete reading of each slice began; 0: never.
    pub read: [UnixSeconds; SLICES],
    /// Passes that were finished.
    pub finished: u32,
    /// Unreadable sectors of the pass under way.
    pub unreadable: Vec<SectorRange>,
    /// Unreadable sectors of the last finished pass.
    pub unreadable_before: Vec<SectorRange>,
    /// Reads of the pass under way that succeeded only at the second attempt.
    pub retries: u64,
    /// Reads of the last finished pass that succeeded only at the second attempt.
    pub retries_before: u64,
    /// What an array's checker found in the pass under way.
    pub flaws: ArrayFlaws,
    /// What an array's checker found in the last finished pass.
    pub flaws_before: ArrayFlaws,
    /// Sectors at the end of the tour on which the last pass got no verdict, as it was closed without them. 0: it was
    /// complete.
    pub unjudged: u64,
    /// When the latest report came.
    pub reported: UnixSeconds,
}

/// Findings of an array's checker that a disk does not have: its members disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct ArrayFlaws {
    /// Rows or copies that were wrong, and were repaired from the others, or right when read again.
    pub corrected: u64,
    /// Sectors whose copies or parity disagree, and were left as they are.
    pub mismatched: u64,
}

impl ArrayFlaws {
    /// The flaws in a report.
    fn of(report: &PassReport) -> ArrayFlaws {
        ArrayFlaws { corrected: report.corrected, mismatched: report.mismatched }
    }

    /// The larger count of each kind.
    fn max(self, other: ArrayFlaws) -> ArrayFlaws {
        ArrayFlaws { corrected: self.corrected.max(other.corrected), mismatched: self.mismatched.max(other.mismatched) }
    }
}

impl PassHistory {
    /// The history of a disk of which nothing was read yet.
    pub fn new(sectors: u64, now: UnixSeconds) -> PassHistory {
        PassHistory {
            sectors,
            known_since: now,
            begun: UnixSeconds(0),
            done: 0,
            touched: [UnixSeconds(0); SLICES],
            read: [UnixSeconds(0); SLICES],
            finished: 0,
            unreadable: Vec::new(),
            unreadable_before: Vec::new(),
            retries: 0,
            retries_before: 0,
            flaws: ArrayFlaws::default(),
            flaws_before: ArrayFlaws::default(),
            unjudged: 0,
            reported: now,
        }
    }

    /// Records that the disk's size has changed. Its slices are other sectors now, so none of them counts as read;
    /// findings stay known until a whole pass is finished.
    pub fn resize(&mut self, sectors: u64, now: UnixSeconds) {
        let new = PassHistory::new(sectors, now);
        let (finished, known) = (self.finished, self.known_unreadable());
        let retries_before = self.retries.max(self.retries_before);
        let flaws_before = self.known_flaws();
        *self = PassHistory { finished, unreadable_before: known, retries_before, flaws_before, ..new };
    }

    /// Records that a session begins or continues.
    pub fn begin(&mut self, now: UnixSeconds) {
        if self.begun.0 == 0 {
            self.begun = now;
        }
        self.reported = now;
    }

    /// Takes the beginning of a pass back if nothing of it was read. Returns whether it did.
    pub fn retract(&mut self) -> bool {
        let is_unread = self.done == 0 && self.touched[0].0 == 0;
        if is_unread {
            self.begun = UnixSeconds(0);
        }
        is_unread
    }

    /// The first sector of a slice in the order of the tour; for [`SLICES`], the number of sectors.
    fn start(&self, slice: usize) -> u64 {
        (u128::from(self.sectors) * slice as u128 / SLICES as u128) as u64
    }

    /// Takes a report of the watch's session. Newly read sectors were read since its last report; sectors that it found
    /// read by others, since the date in the report.
    pub fn report(&mut self, now: UnixSeconds, report: &PassReport) {
        let done = report.done.min(self.sectors);
        if done < self.done {
            // The session lost its state and began again, so slices it had begun are unread.
            let kept = (0..SLICES).filter(|&slice| self.start(slice) < done).count();
            self.touched[kept..].fill(UnixSeconds(0));
        }
        // A session dates its pass by the clock of that time, which may have been ahead; so `is_found` decides.
        let since = if report.is_found { report.begun } else { self.reported }.min(now);
        for slice in 0..SLICES {
            if self.start(slice) >= done {
                break;
            }
            if self.touched[slice].0 == 0 {
                self.touched[slice] = since;
            }
            if self.start(slice + 1) <= done && self.read[slice] < self.touched[slice] {
                self.read[slice] = self.touched[slice];
            }
        }
        (self.done, self.reported, self.retries) = (done, now, report.retries);
        // A finding once reported stays, even if the session's count falls.
        self.flaws = self.flaws.max(ArrayFlaws::of(report));
        self.unreadable = union(&self.unreadable, &report.unreadable);
    }

    /// Takes a report of a session of others. Its findings count; its reads count only if it read all of the disk,
    /// because their order is not known, and as if all was read when it began.
    pub fn report_foreign(&mut self, now: UnixSeconds, report: &PassReport, is_whole: bool) {
        if !is_whole {
            self.unreadable_before = union(&self.unreadable_before, &report.unreadable);
            self.flaws_before = self.flaws_before.max(ArrayFlaws::of(report));
            return;
        }
        let begun = report.begun.min(now);
        self.read.iter_mut().for_each(|read| *read = (*read).max(begun));
        self.unjudged = 0;
        if self.begun.0 == 0 {
            (self.unreadable_before, self.retries_before) = (union(&[], &report.unreadable), report.retries);
            self.flaws_before = ArrayFlaws::of(report);
        } else {
            self.unreadable_before = union(&self.unreadable_before, &report.unreadable);
            self.flaws_before = self.flaws_before.max(ArrayFlaws::of(report));
        }
    }

    /// Ends a complete pass.
    pub fn finish(&mut self, now: UnixSeconds, report: &PassReport) {
        self.report(now, &PassReport { done: self.sectors, ..report.clone() });
        // All sectors were read: those that this pass does not list are readable again.
        (self.unreadable_before, self.unreadable) = (union(&[], &report.unreadable), Vec::new());
        (self.unjudged, self.retries_before) = (0, std::mem::take(&mut self.retries));
        self.flaws_before = std::mem::take(&mut self.flaws);
        self.end();
    }

    /// Ends a pass that makes no progress, without a verdict on the rest. Complete slices are dated, the open slice is
    /// not, and earlier findings in the rest stay known.
    pub fn close(&mut self) {
        self.unjudged = self.sectors - self.done;
        (self.unreadable_before, self.unreadable) = (self.known_unreadable(), Vec::new());
        self.retries_before = std::mem::take(&mut self.retries);
        (self.flaws_before, self.flaws) = (self.known_flaws(), ArrayFlaws::default());
        self.end();
    }

    fn end(&mut self) {
        (self.begun, self.done, self.touched) = (UnixSeconds(0), 0, [UnixSeconds(0); SLICES]);
        self.finished += 1;
    }

    /// The slices that the last pass could judge: all except those that it was closed without.
    fn judged(&self) -> impl Iterator<Item = usize> {
        let end = self.sectors.saturating_sub(self.unjudged);
        (0..SLICES).filter(move |&slice| self.unjudged == 0 || self.start(slice + 1) <= end)
    }

    /// When the first slice is due that can be judged; one that cannot is tried again with the others, not earlier.
    pub fn planned_due(&self, every: u64) -> UnixSeconds {
        self.judged().map(|slice| after(self.date_of(slice), every)).min().unwrap_or_else(|| self.due(every))
    }

    /// Were all slices read that can be judged?
    pub fn is_read(&self) -> bool {
        self.judged().all(|slice| self.read[slice].0 > 0)
    }

    /// When the sector that has waited longest was read; `None`: some were never read.
    pub fn oldest(&self) -> Option<UnixSeconds> {
        self.read.iter().copied().min().filter(|oldest| oldest.0 > 0)
    }

    /// Sectors that were never read.
    pub fn never_read(&self) -> u64 {
        let is_unread = |slice: &usize| self.read[*slice].0 == 0;
        (0..SLICES).filter(is_unread).map(|slice| self.start(slice + 1) - self.start(slice)).sum()
    }

    /// Sectors that were never read, or not for so many seconds.
    pub fn unread_longer(&self, now: UnixSeconds, seconds: u64) -> u64 {
        let is_old = |slice: &usize| self.read[*slice].0 == 0 || elapsed(now, self.read[*slice]) > seconds;
        (0..SLICES).filter(is_old).map(|slice| self.start(slice + 1) - self.start(slice)).sum()
    }

    /// The date from which a slice's due date is computed.
    fn date_of(&self, slice: usize) -> UnixSeconds {
        if self.read[slice].0 == 0 { self.known_since } else { self.read[slice] }
    }

    /// When the first slice is due if each must be read every `every` seconds.
    pub fn due(&self, every: u64) -> UnixSeconds {
        (0..SLICES).map(|slice| after(self.date_of(slice), every)).min().unwrap_or_default()
    }

    /// The unread share of the pass, 0 to 1.
    pub fn rest(&self) -> f64 {
        1.0 - self.done as f64 / self.sectors.max(1) as f64
    }

    /// The largest lateness of a slice in seconds, if the rest takes `rest_seconds` from `begin` on, at a constant
    /// rate; 0: none is late.
    pub fn lateness(&self, begin: UnixSeconds, rest_seconds: u64, every: u64) -> u64 {
        let rest = self.rest().max(1e-9);
        let done = 1.0 - rest;
        let late = (0..SLICES).map(|slice| {
            let until = (slice + 1) as f64 / SLICES as f64;
            let ends = after(begin, ((until - done) / rest * rest_seconds as f64).max(0.0) as u64);
            if until <= done { 0 } else { elapsed(ends, after(self.date_of(slice), every)) }
        });
        late.max().unwrap_or(0)
    }

    /// The known unreadable runs: those of the pass under way and, until it is over, those of the last one.
    pub fn known_unreadable(&self) -> Vec<SectorRange> {
        union(&self.unreadable, &self.unreadable_before)
    }

    /// The known flaws of an array: the larger counts of the pass under way and, until it is over, of the last one.
    pub fn known_flaws(&self) -> ArrayFlaws {
        self.flaws.max(self.flaws_before)
    }

    /// The number of known unreadable sectors.
    pub fn unreadable_sectors(&self) -> u64 {
        self.known_unreadable().iter().map(|run| run.count()).sum()
    }

    /// Moves dates later than `now` to `now`, because the clock was set back.
    pub fn clamp(&mut self, now: UnixSeconds) {
        let dates = [&mut self.known_since, &mut self.begun, &mut self.reported];
        for date in dates.into_iter().chain(&mut self.touched).chain(&mut self.read) {
            *date = (*date).min(now);
        }
    }
}

/// The sectors of both lists, in runs, ascending; beyond [`RUNS_MAX`] runs the first.
fn union(first: &[SectorRange], second: &[SectorRange]) -> Vec<SectorRange> {
    let mut all: Vec<SectorRange> = first.iter().chain(second).copied().filter(|run| !run.is_empty()).collect();
    all.sort_by_key(|run| run.start);
    let mut joined: Vec<SectorRange> = Vec::with_capacity(all.len());
    for run in all {
        match joined.last_mut() {
            Some(last) if run.start <= last.end => last.end = last.end.max(run.end),
            _ => joined.push(run),
        }
    }
    joined.truncate(RUNS_MAX);
    joined
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::DAY;

    fn day(day: u64) -> UnixSeconds {
        UnixSeconds(day * DAY)
    }

    fn report(done: u64) -> PassReport {
        PassReport { done, ..PassReport::default() }
    }

    #[test]
    fn a_slice_has_the_date_of_the_last_report_before_its_reading_began() {
        let mut passes = PassHistory::new(1600, day(100));
        assert_eq!((passes.oldest(), passes.due(35 * DAY)), (None, day(135)));
        passes.begin(day(101));
        passes.report(day(102), &report(150));
        assert_eq!((passes.read[0], passes.read[1]), (day(101), UnixSeconds(0)));
        passes.report(day(103), &report(250));
        assert_eq!(passes.read[1], day(101), "it was begun before the report of day 102");
        passes.finish(day(110), &report(1600));
        assert_eq!((passes.oldest(), passes.finished), (Some(day(101)), 1));
        assert_eq!((passes.read[15], passes.due(35 * DAY)), (day(103), day(136)));
    }

    #[test]
    fn slices_that_a_session_finds_already_read_get_the_date_in_its_report() {
        let mut passes = PassHistory::new(1600, day(100));
        passes.begin(day(101));
        passes.report(day(102), &report(100));
        passes.begin(day(128));
        passes.finish(day(128), &PassReport { begun: day(103), is_found: true, ..report(1600) });
        assert_eq!((passes.oldest(), passes.read[15]), (Some(day(101)), day(103)), "not of day 128");
    }

    #[test]
    fn a_session_that_lost_its_state_reads_again_and_unread_slices_get_no_date() {
        let mut passes = PassHistory::new(1600, day(100));
        passes.begin(day(101));
        passes.report(day(102), &report(850));
        passes.begin(day(103));
        passes.report(day(104), &report(90));
        assert_eq!((passes.read[0], passes.read[7], passes.read[8]), (day(101), day(101), UnixSeconds(0)));
        passes.report(day(105), &report(900));
        assert_eq!(passes.read[8], day(104));
    }

    #[test]
    fn runs_are_joined_and_none_is_counted_twice() {
        let at = SectorRange::at;
        assert_eq!(union(&[at(8, 8), at(100, 8)], &[at(12, 8), at(108, 8)]), [at(8, 12), at(100, 16)]);
        assert_eq!(union(&[at(0, 100)], &[at(5, 1)]), [at(0, 100)]);
    }

    #[test]
    fn a_foreign_pass_counts_from_when_it_began_and_only_if_it_was_complete() {
        let mut passes = PassHistory::new(1600, day(100));
        let foreign_report = |done, begun| PassReport { begun: day(begun), ..report(done) };
        passes.report_foreign(day(103), &foreign_report(1500, 102), false);
        assert_eq!(passes.oldest(), None);
        passes.report_foreign(day(103), &foreign_report(1600, 102), true);
        assert_eq!((passes.oldest(), passes.due(35 * DAY)), (Some(day(102)), day(137)));
        passes.report_foreign(day(103), &foreign_report(1600, 50), true);
        assert_eq!(passes.oldest(), Some(day(102)), "an older one takes nothing away");
    }

    #[test]
    fn lateness_is_that_of_the_first_slice_to_be_late() {
        let mut passes = PassHistory::new(1600, day(100));
        assert_eq!(passes.lateness(day(101), 10 * DAY, 35 * DAY), 0);
        assert_eq!(passes.lateness(day(130), 16 * DAY, 35 * DAY), 11 * DAY, "the last slice ends on day 146");
        passes.begin(day(101));
        passes.report(day(102), &report(800));
        assert_eq!(passes.lateness(day(130), 8 * DAY, 35 * DAY), 3 * DAY);
    }

    #[test]
    fn a_clock_that_is_set_back_leaves_no_date_in_the_future() {
        let mut passes = PassHistory::new(1600, day(100));
        passes.begin(day(101));
        passes.finish(day(102), &report(1600));
        passes.clamp(day(90));
        assert_eq!((passes.oldest(), passes.due(35 * DAY)), (Some(day(90)), day(125)));
    }
}
