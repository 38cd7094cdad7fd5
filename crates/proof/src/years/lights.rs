//! What the oracle requires of the status: nothing may be green that is not as it should be.

use super::oracle::YearOracle;
use super::reading::DiskTruth;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::status::{LightColour, LightName, WatchStatus};

const HOUR: u64 = 3600;
const DAY: u64 = 24 * HOUR;
/// How long a channel's confirmation is valid, in seconds.
const PROVEN: u64 = 90 * DAY;

/// Is this light green?
fn is_green(status: &WatchStatus, name: LightName) -> bool {
    status.lights.iter().any(|light| light.name == name && light.colour == LightColour::Green)
}

impl YearOracle {
    /// Reports disks that are called ok, and a green "All sectors read", that should not be.
    pub(super) fn judge_green(&mut self, at: u64, status: &WatchStatus) {
        let mut faults = Vec::new();
        for standing in status.disks.iter().filter(|standing| standing.health == HealthState::Ok) {
            let Some(disk) = self.disks.iter().rev().find(|disk| disk.key == standing.key.0) else {
                faults.push(format!("{} is called ok, and does not exist", standing.key));
                continue;
            };
            let is_fresh = disk.smart.is_some_and(|(read, before)| at - read <= 27 * HOUR + self.jumped - before);
            // Evidence read just before the watch was killed may not have reached it.
            let is_known_bad = disk.lasting.is_some_and(|since| since + DAY <= at);
            if !disk.is_in || !is_fresh || is_known_bad {
                let DiskTruth { is_in, smart, lasting, .. } = disk;
                let state = format!("in {is_in}, SMART read {smart:?}, bad since {lasting:?}");
                faults.push(format!("{} is called ok: {state}", standing.key));
            }
        }
        if is_green(status, LightName::Read) {
            let limit = self.every + self.jumped + DAY;
            for disk in self.disks.iter().filter(|disk| disk.is_in && disk.oldest() + limit < at) {
                faults.push(format!("all sectors read is green, and one of {} was not for long", disk.key));
            }
        }
        faults.into_iter().for_each(|text| self.fault(at, text));
    }

    /// Judges the lights of arrays and of alerts, at a time at which the watch has run for hours.
    pub(super) fn judge_lights(&mut self, at: u64, status: &WatchStatus) {
        if is_green(status, LightName::Redundancy) {
            let is_bad = |since: Option<u64>, slack| since.is_some_and(|since| since + slack <= at);
            let bad = self
                .arrays
                .iter()
                .find(|(_, array)| is_bad(array.degraded_since, HOUR) || is_bad(array.stripes_since, DAY))
                .map(|(key, _)| format!("redundancy is green, and {key} has lost some"));
            bad.into_iter().for_each(|text| self.fault(at, text));
        }
        if is_green(status, LightName::Alerts) {
            let jumped = self.jumped;
            let is_long = |since: u64, span: u64| since.saturating_add(span + DAY + jumped) <= at;
            let bad = self.mail.channels.iter().find_map(|(name, channel)| {
                let is_unproven = match channel.confirmed {
                    Some(confirmed) => is_long(confirmed, PROVEN),
                    None => is_long(channel.known_since, 0),
                };
                let is_failing = self.mail.failing_since(name).is_some_and(|since| is_long(since, 0));
                (is_unproven || is_failing).then(|| format!("alerts are green, and nothing is known to come by {name}"))
            });
            bad.into_iter().for_each(|text| self.fault(at, text));
            if !self.mail.all_late(at, jumped, &self.power).is_empty() {
                self.fault(at, "alerts are green, and messages wait for hours".to_owned());
            }
        }
    }
}
