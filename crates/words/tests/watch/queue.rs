//! The ends of passes that wait for one another.

use super::rig::{Rig, array, disk, settings};
use scrubjay_watch::calendar::HOUR;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::settings::WatchSettings;

/// Hours from now until the most likely end of each disk's pass.
fn hours(rig: &Rig, count: usize) -> Vec<u64> {
    let ends = (0..count).map(|number| rig.standing(&format!("S{number}")).reading.forecast.expect("it ends").likely.0);
    ends.map(|end| (end - rig.now.0 + HOUR / 2) / HOUR).collect()
}

#[test]
fn disks_that_wait_for_other_disks_end_after_them() {
    let mut rig = Rig::new(WatchSettings { controller_max: 1, ..settings() });
    for number in 0..3 {
        rig.feed(WatchEvent::DiskSeen(disk(&format!("sd{number}"), &format!("S{number}"))));
    }
    rig.wait(2 * HOUR);
    assert_eq!(rig.running.len(), 1, "the others wait");
    let single = {
        let mut single_rig = Rig::with_disks(1);
        single_rig.wait(2 * HOUR);
        hours(&single_rig, 1)[0]
    };
    let mut all = hours(&rig, 3);
    all.sort_unstable();
    assert_eq!(all, [single, 2 * single, 3 * single]);
    let running = rig.running[0].replace("sd", "S");
    assert_eq!(hours(&rig, 3)[running[1..].parse::<usize>().unwrap()], single, "the one that is read is the first");
}

#[test]
fn members_of_an_array_end_one_after_the_other_and_another_disk_waits_for_none() {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraySeen(array(&["sda", "sdb"])));
    rig.wait(2 * HOUR);
    let all = hours(&rig, 3);
    let single = all[2];
    assert_eq!((all[0].min(all[1]), all[0].max(all[1])), (single, 2 * single));
}
