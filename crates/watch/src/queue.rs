//! When each pass will begin, or go on: who waits for whom, played forward in the schedule's own order.

use crate::calendar::{DAY, after};
use crate::facts::DiskKey;
use crate::forecast::PassForecast;
use crate::state::{DiskState, Watch};
use scrubjay_core::units::UnixSeconds;
use std::collections::BTreeMap;

/// What is expected of a disk's pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ForeseenPass {
    /// It begins, or goes on, then.
    pub starts: UnixSeconds,
    /// Seconds that what is left of it takes from then on, most likely; none: more than a year, or not within one.
    pub rest: Option<u64>,
    /// When it ends; none: not within a year.
    pub ends: Option<PassForecast>,
}

/// Disks of which only so many are read at a time: when each of these places is free.
type Places = Vec<UnixSeconds>;

impl Watch {
    /// What is expected of the passes of all disks that are there.
    pub(crate) fn foresee(&self, now: UnixSeconds) -> BTreeMap<DiskKey, ForeseenPass> {
        let arrays: Vec<_> = self.arrays_there().collect();
        let mut of_arrays: Vec<Places> = vec![vec![now]; arrays.len()];
        let mut of_controllers: BTreeMap<&str, Places> = BTreeMap::new();
        let mut order: Vec<(bool, UnixSeconds, UnixSeconds, &DiskState)> = Vec::new();
        for disk in self.disks.values() {
            let ready = if disk.is_busy() { now } else { self.ready(disk, now) };
            order.push((!disk.is_busy(), ready, disk.row.passes.due(self.settings.every), disk));
        }
        // As the schedule does: those that are being read, then whoever may begin first; of several the one that is due first.
        order.sort_by_key(|&(is_idle, ready, due, disk)| (is_idle, ready, due, &disk.row.facts.key));
        let mut foreseen = BTreeMap::new();
        for (_, ready, _, disk) in order {
            let name = disk.live.name.as_deref();
            let controller = disk.row.facts.controller.as_deref().filter(|_| name.is_some());
            let mut shared: Vec<&mut Places> = Vec::new();
            let member_of =
                arrays.iter().zip(&mut of_arrays).filter(|(array, _)| name.is_some_and(|name| array.has(name)));
            shared.extend(member_of.map(|(_, places)| places));
            let free = || vec![now; self.settings.controller_max.max(1)];
            shared.extend(controller.map(|controller| of_controllers.entry(controller).or_insert_with(free)));
            let mut firsts: Vec<&mut UnixSeconds> =
                shared.into_iter().filter_map(|places| places.iter_mut().min()).collect();
            let starts = firsts.iter().map(|first| **first).fold(ready, UnixSeconds::max);
            // A pause without an end has no forecast.
            let rest = self.rest_seconds(disk, starts).filter(|_| starts < after(now, 366 * DAY));
            let ends = starts.0.saturating_add(rest.unwrap_or(u64::MAX));
            firsts.iter_mut().for_each(|first| **first = UnixSeconds(ends));
            // What was wrong with forecasts so far is wrong with those of the disks that it waits for, too.
            let wait = starts.0 - ready.0;
            let ends = rest.map(|rest| self.forecast_from(ready, wait.saturating_add(rest)));
            foreseen.insert(disk.row.facts.key.clone(), ForeseenPass { starts, rest, ends });
        }
        foreseen
    }

    /// When a disk could be read if no other stood in its way: now, if it is not known until when it is held.
    fn ready(&self, disk: &DiskState, now: UnixSeconds) -> UnixSeconds {
        let begins = if disk.row.passes.begun.0 > 0 { now } else { self.begins(disk) };
        let held = self.held(disk, now).and_then(|why| why.until());
        held.map_or(begins, |until| begins.max(until)).max(now)
    }
}
