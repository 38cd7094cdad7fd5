//! The differences of two surveys, as events for the watch.

use super::mounted::has_any_of;
use super::seen::HostSurvey;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::{ArrayFacts, DiskFacts};
use std::collections::BTreeMap;

/// The events that lead from one survey to the next; empty if the watch would see no difference. Disks that are gone
/// come before those that are present, so that no name passes to another disk before the event that its disk is gone.
/// The first survey is compared with an empty one.
pub fn changes(before: &HostSurvey, after: &HostSurvey) -> Vec<WatchEvent> {
    let (disks_before, disks_after) = (disks(before), disks(after));
    let (arrays_before, arrays_after) = (arrays(before), arrays(after));
    let mut events = Vec::new();
    if before.is_on_battery != after.is_on_battery {
        events.push(WatchEvent::OnBattery(after.is_on_battery));
    }
    if before.are_arrays_known != after.are_arrays_known {
        events.push(WatchEvent::ArraysKnown(after.are_arrays_known));
    }
    for (name, disk) in &disks_before {
        // The name belongs to another disk, or to none.
        if disks_after.get(name).is_none_or(|now| now.key != disk.key) {
            // A service manager unmounts what has lost its disk, so that it may be over by now.
            let is_pulled = [before, after].into_iter().any(|survey| has_any_of(&survey.mounted, name));
            let event = if is_pulled { WatchEvent::DiskPulled } else { WatchEvent::DiskGone };
            events.push(event((*name).to_owned()));
        }
    }
    let gone = arrays_before.keys().filter(|key| !arrays_after.contains_key(*key));
    events.extend(gone.map(|key| WatchEvent::ArrayGone((*key).to_owned())));
    let seen = disks_after.into_iter().filter(|(name, disk)| disks_before.get(name) != Some(disk));
    events.extend(seen.map(|(_, disk)| WatchEvent::DiskSeen(disk.clone())));
    let seen = arrays_after.into_iter().filter(|(key, array)| arrays_before.get(key) != Some(array));
    events.extend(seen.map(|(_, array)| WatchEvent::ArraySeen(array.clone())));
    events
}

fn disks(survey: &HostSurvey) -> BTreeMap<&str, &DiskFacts> {
    survey.disks.iter().map(|disk| (disk.facts.name.as_str(), &disk.facts)).collect()
}

fn arrays(survey: &HostSurvey) -> BTreeMap<&str, &ArrayFacts> {
    survey.arrays.iter().map(|array| (array.key.as_str(), array)).collect()
}

#[cfg(test)]
mod tests {
    use super::super::seen::SeenDisk;
    use super::*;
    use scrubjay_watch::facts::{ArrayActivity, DiskKey, MediaKind};

    fn disk(name: u8, key: u8, sectors: u64) -> SeenDisk {
        let facts = DiskFacts {
            key: DiskKey(format!("key{key}")),
            name: format!("sd{name}"),
            model: "model".into(),
            serial: None,
            bay: None,
            place: None,
            controller: None,
            media: MediaKind::Spinning,
            sectors,
        };
        SeenDisk { device: format!("/dev/sd{name}").into(), facts, by_path: None, serial: None, locate: None }
    }

    fn array(key: u8, redundancy: u32) -> ArrayFacts {
        ArrayFacts {
            key: format!("array{key}"),
            name: "md".into(),
            level: "RAID6".into(),
            redundancy,
            members: Vec::new(),
            activity: ArrayActivity::Idle,
            layout: None,
            check_sectors: None,
            pool: None,
            lost_stripes: None,
        }
    }

    /// All surveys of three names and three identities, so that disks swap places, and several share one identity;
    /// arrays and power depend on the number.
    fn surveys() -> Vec<HostSurvey> {
        let survey_of = |number: usize| {
            let disk_at = |name: u8| {
                let choice = (number / 7usize.pow(u32::from(name)) % 7) as u8;
                (choice > 0).then(|| disk(name, (choice - 1) / 2, u64::from(choice % 2) + 1))
            };
            HostSurvey {
                disks: (0..3).filter_map(disk_at).collect(),
                arrays: [number % 3, number % 5 % 3]
                    .into_iter()
                    .zip(0..)
                    .filter(|(choice, _)| *choice > 0)
                    .map(|(choice, key)| array(key, choice as u32))
                    .collect(),
                are_arrays_known: number % 4 < 2,
                is_on_battery: number % 2 == 1,
                ..HostSurvey::default()
            }
        };
        (0..343).map(survey_of).collect()
    }

    /// Applies the events to a model of one survey, which must become the other; no name changes its disk without a
    /// gone event.
    fn apply(before: &HostSurvey, after: &HostSurvey) {
        let (mut names, mut keys) = (disks(before), arrays(before));
        let (mut is_on_battery, mut are_known) = (before.is_on_battery, before.are_arrays_known);
        let events = changes(before, after);
        for event in &events {
            match event {
                WatchEvent::DiskGone(name) | WatchEvent::DiskPulled(name) => {
                    assert!(names.remove(name.as_str()).is_some())
                }
                WatchEvent::DiskSeen(disk) => {
                    let previous = names.insert(&disk.name, disk);
                    assert!(previous.is_none_or(|previous| previous.key == disk.key && previous != disk));
                }
                WatchEvent::ArrayGone(key) => assert!(keys.remove(key.as_str()).is_some()),
                WatchEvent::ArraySeen(array) => assert_ne!(keys.insert(&array.key, array), Some(array)),
                WatchEvent::OnBattery(is_on) => is_on_battery = *is_on,
                WatchEvent::ArraysKnown(now) => are_known = *now,
                other => panic!("{other:?}"),
            }
        }
        assert_eq!((names, keys), (disks(after), arrays(after)));
        assert_eq!((is_on_battery, are_known), (after.is_on_battery, after.are_arrays_known));
        assert_eq!(events.is_empty(), before == after);
    }

    #[test]
    fn changes_applied_to_one_survey_give_the_next() {
        let all = surveys();
        for before in &all {
            all.iter().for_each(|after| apply(before, after));
        }
    }

    #[test]
    fn gone_events_come_before_seen_events() {
        let two = |first: u8, second: u8| HostSurvey {
            disks: vec![disk(0, first, 8), disk(1, second, 8)],
            ..HostSurvey::default()
        };
        let events = changes(&two(0, 1), &two(1, 0));
        let gone = |name: &str| WatchEvent::DiskGone(name.into());
        let seen = |disk: SeenDisk| WatchEvent::DiskSeen(disk.facts);
        assert_eq!(events, [gone("sd0"), gone("sd1"), seen(disk(0, 1, 8)), seen(disk(1, 0, 8))]);
    }
}
