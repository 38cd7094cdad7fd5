//! Forecasts when each pass begins or continues, by playing the schedule forward in its own order.

use crate::calendar::{DAY, after};
use crate::forecast::{AllForeseen, ForeseenPass};
use crate::reading::ReadingState;
use crate::state::Watch;
use crate::subject::WatchedSubject;
use scrubjay_core::units::UnixSeconds;
use std::collections::{BTreeMap, BTreeSet};

/// When each of the places is free, for subjects of which only a limited number is read at a time.
type Places = Vec<UnixSeconds>;

impl Watch {
    /// The expected course of all passes.
    pub(crate) fn foresee(&self, now: UnixSeconds) -> AllForeseen {
        let arrays: Vec<_> = self.seen.present_arrays().collect();
        let mut array_places: Vec<Places> = vec![vec![now]; arrays.len()];
        // For most disks one look-up shows that they are members of no array.
        let members: BTreeSet<&str> =
            arrays.iter().flat_map(|array| &array.members).filter_map(|member| member.disk.as_deref()).collect();
        let mut controller_places: BTreeMap<&str, Places> = BTreeMap::new();
        let mut order: Vec<_> = Vec::new();
        for subject in self.subjects() {
            let is_busy = subject.reading().is_busy();
            let ready = if is_busy { now } else { self.ready(subject, now) };
            let ReadingState { row, live, .. } = subject.reading();
            order.push((
                (!is_busy, ready, !live.is_wanted, row.passes.due(self.settings.every), subject.key()),
                subject,
            ));
        }
        // The schedule's order: subjects being read, then by the earliest possible beginning, wanted ones first, then
        // by due date.
        order.sort_by(|(one, _), (other, _)| one.cmp(other));
        let (mut foreseen, open) = (BTreeMap::new(), self.open_hours());
        for ((_, ready, .., key), subject) in order {
            let mut shared_places: Vec<&mut Places> = Vec::new();
            let is_no_member = match subject {
                WatchedSubject::Disk(disk) => !disk.live.name.as_deref().is_some_and(|name| members.contains(name)),
                WatchedSubject::Array(..) => !subject.is_present(),
            };
            let member_of = arrays.iter().zip(&mut array_places).filter(|_| !is_no_member);
            shared_places.extend(member_of.filter(|(array, _)| subject.is_in(array)).map(|(_, places)| places));
            if let WatchedSubject::Disk(disk) = subject
                && let Some(controller) = disk.row.facts.controller.as_deref().filter(|_| subject.is_present())
            {
                let free = || vec![now; self.settings.controller_max.max(1)];
                shared_places.push(controller_places.entry(controller).or_insert_with(free));
            }
            let mut next_free: Vec<&mut UnixSeconds> =
                shared_places.into_iter().filter_map(|places| places.iter_mut().min()).collect();
            let starts = next_free.iter().map(|first| **first).fold(ready, UnixSeconds::max);
            // Without an end of the pause there is no forecast.
            let rest = self.rest_seconds(subject, starts, &open).filter(|_| starts < after(now, 366 * DAY));
            let ends = starts.0.saturating_add(rest.unwrap_or(u64::MAX));
            next_free.iter_mut().for_each(|first| **first = UnixSeconds(ends));
            // The errors of earlier forecasts apply to the subjects that it waits for, too.
            let wait = starts.0 - ready.0;
            let ends = rest.map(|rest| self.forecast_from(ready, wait.saturating_add(rest)));
            foreseen.insert(key, ForeseenPass { starts, rest, ends });
        }
        foreseen
    }

    /// When a subject could be read if no other stood in its way: now, if the end of its hold-back is not known.
    fn ready(&self, subject: WatchedSubject<'_>, now: UnixSeconds) -> UnixSeconds {
        let ReadingState { row, live, .. } = subject.reading();
        let begins = if row.passes.begun.0 > 0 || live.is_wanted { now } else { self.begins(subject) };
        let held_until = self.own_hold_back(subject, now).and_then(|why| why.until());
        held_until.map_or(begins, |until| begins.max(until)).max(now)
    }
}
