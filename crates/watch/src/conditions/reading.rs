//! The problems of reading, of disks and arrays: sectors that are not read in time, sessions that cannot begin, or hang.

use crate::calendar::{DAY, HOUR, elapsed};
use crate::events::WatchBug;
use crate::incident::{Condition, Urgency};
use crate::problem::{Problem, UnreadSectors};
use crate::reading::SessionPhase;
use crate::rows::SessionRefusal;
use crate::state::Watch;
use crate::subject::WatchedSubject;
use scrubjay_core::units::UnixSeconds;

/// Seconds for which a subject's sessions cannot begin before it is reported.
const STUCK_AFTER: u64 = DAY;

impl Watch {
    /// Is this date near enough to be reported?
    fn is_late_soon(&self, due: UnixSeconds, now: UnixSeconds) -> bool {
        let margin = if self.is_planted(WatchBug::WarnTooLate) { 0 } else { self.margin() };
        due.0 <= now.0 + margin
    }

    /// Forecasts all passes if one is to be reported; once an hour is enough, as messages give dates to the day.
    pub(super) fn refresh_foreseen(&mut self, now: UnixSeconds) {
        let (at, all) = &self.timing.foreseen;
        let is_fresh = *at <= now && elapsed(now, *at) < HOUR;
        let is_due = |subject: &WatchedSubject<'_>| {
            self.is_late_soon(subject.reading().row.passes.due(self.settings.every), now)
        };
        if self.subjects().filter(is_due).any(|subject| !is_fresh || !all.contains_key(&subject.key())) {
            self.timing.foreseen = (now, self.foresee(now));
        }
    }

    /// The condition of a subject whose sessions cannot begin, or whose session does not end.
    pub(super) fn stuck(&self, subject: WatchedSubject<'_>) -> Option<Condition> {
        let reading = subject.reading();
        if reading.hangs() {
            let condition = Condition::of(Urgency::Notice, Problem::Hangs(subject.card()));
            return Some(condition.with_amounts(vec![("hangs".into(), 1)]));
        }
        // A session that was refused, and then held back for days, has not been tried since.
        let lasts = |refused: &&SessionRefusal| elapsed(refused.last, refused.since) >= STUCK_AFTER;
        let SessionRefusal { since, why, .. } = reading.row.refused.as_ref().filter(lasts)?;
        Some(Condition::of(Urgency::Notice, Problem::Refused(subject.card(), *since, why.clone())))
    }

    /// The condition of a subject of which sectors will not be read by their date, or were not.
    pub(super) fn unread(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> Option<Condition> {
        let reading = subject.reading();
        let due = reading.row.passes.due(self.settings.every);
        if !self.is_late_soon(due, now) {
            return None;
        }
        let is_over = due <= now;
        let forecast = self.timing.foreseen.1.get(&subject.key()).and_then(|foreseen| foreseen.ends);
        let day = |at| self.calendar.local(at).day;
        let sectors = UnreadSectors {
            subject: subject.card(),
            due,
            is_over,
            ends: forecast.map(|forecast| (day(forecast.low), day(forecast.high))),
            held: self.hold_back(subject, now).filter(|_| reading.live.session == SessionPhase::None),
            percent: (100.0 * (1.0 - reading.row.passes.rest())).round() as u8,
            unjudged: reading.row.passes.unjudged,
            help: self.help(reading),
        };
        let amounts = vec![("so".to_owned(), if is_over { 2 } else { 1 })];
        let condition = Condition::of(Urgency::Notice, Problem::Unread(Box::new(sectors))).with_amounts(amounts);
        Some(Condition { cause: self.cause_of(subject), ..condition })
    }
}
