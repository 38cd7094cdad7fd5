//! Pools of ZFS: what is told of them, and how their members are read.

use super::rig::*;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::*;
use scrubjay_watch::hold::HoldBack;
use scrubjay_watch::incident::IncidentKind;
use scrubjay_watch::pool::{LastScrub, MemberGroup, PoolLack, PoolLosses, PoolScan, ZpoolFacts};
use scrubjay_watch::problem::Problem;
use scrubjay_watch::status::LightColour;

/// A mirror of two disks with which nothing is wrong, altered.
fn pool(alter: impl FnOnce(&mut ArrayFacts, &mut ZpoolFacts)) -> ArrayFacts {
    let mut array = ArrayFacts { level: "ZFS mirror".into(), layout: None, ..array(&["sda", "sdb"]) };
    let mut pool = ZpoolFacts {
        groups: vec![MemberGroup { redundancy: 1, places: vec![0, 1] }],
        lack: PoolLack::Nothing,
        failed: None,
        losses: PoolLosses::None,
        errors: Vec::new(),
        scrubbed: LastScrub::Ended(UnixSeconds(START)),
        scan: PoolScan::Idle,
        since: UnixSeconds(0),
    };
    alter(&mut array, &mut pool);
    ArrayFacts { pool: Some(pool), ..array }
}

fn rig(array: ArrayFacts) -> Rig {
    let mut rig = Rig::with_disks(3);
    rig.feed(WatchEvent::ArraysKnown(true));
    rig.feed(WatchEvent::ArraySeen(array));
    rig
}

fn see(rig: &mut Rig, array: ArrayFacts) -> usize {
    let before = rig.sent.len();
    rig.feed(WatchEvent::ArraySeen(array));
    rig.wait(HOUR);
    before
}

fn light(rig: &Rig) -> (LightColour, String) {
    let light = rig.lights()[1].clone();
    (light.colour, light.words)
}

fn lose(files: &[&str]) -> impl FnOnce(&mut ArrayFacts, &mut ZpoolFacts) {
    let files: Vec<String> = files.iter().map(|file| (*file).to_owned()).collect();
    |_, pool| pool.losses = PoolLosses::Lost { blocks: 194, files }
}

#[test]
fn a_healthy_pool_is_plainly_fine() {
    let mut rig = rig(pool(|_, _| ()));
    rig.wait(DAY);
    assert_eq!(light(&rig), (LightColour::Green, "1 of 1 left in tank".into()));
    let about_pool: Vec<&str> = rig.subjects().into_iter().filter(|subject| subject.contains("tank")).collect();
    assert_eq!(about_pool, [""; 0]);
}

#[test]
fn lost_data_are_an_incident_with_the_names_of_the_files_and_not_over_while_nobody_can_be_asked() {
    let mut rig = rig(pool(|_, _| ()));
    let before = see(
        &mut rig,
        pool(|array, pool| {
            lose(&["/tank/a", "tank/b:<0x3>"])(array, pool);
            pool.errors = vec![("sdb1".into(), 460)];
        }),
    );
    let told = rig.subjects_since(before);
    assert_eq!(
        told,
        ["[nas1] DATA LOST in pool tank: 1 file and 1 other object damaged"],
        "and no message of the errors"
    );
    let body = &rig.sent.last().unwrap().body;
    for words in [
        "File      /tank/a",
        "File      tank/b:<0x3>",
        "Errors    sdb1: 460",
        "sudo zpool status -v tank",
        "sudo zpool scrub tank",
    ] {
        assert!(body.contains(words), "{words}: {body}");
    }
    assert_eq!(light(&rig), (LightColour::Red, "tank: 1 file and 1 other object damaged".into()));
    // `zpool` does not answer for a day: nothing is over.
    let before = see(&mut rig, pool(|_, pool| pool.losses = PoolLosses::Unknown("zpool did not end".into())));
    rig.wait(DAY);
    assert_eq!(rig.subjects_of(before, IncidentKind::Lost).iter().filter(|s| s.contains("resolved")).count(), 0);
    assert_eq!(light(&rig).0, LightColour::Grey);
    let before = see(&mut rig, pool(|_, _| ()));
    assert_eq!(rig.subjects_of(before, IncidentKind::Lost).len(), 1, "{:?}", rig.subjects_since(before));
}

#[test]
fn where_lost_data_cannot_be_known_that_is_said_and_no_light_is_green() {
    let mut rig = rig(pool(|_, pool| {
        (pool.losses, pool.scrubbed) = (PoolLosses::Unknown("zpool is not installed".into()), LastScrub::Unknown);
    }));
    rig.wait(HOUR);
    let colour_and_words =
        (LightColour::Grey, "1 of 1 left in tank; whether pool tank has lost data is not known".into());
    assert_eq!(light(&rig), colour_and_words);
    let told = rig.subjects_of(0, IncidentKind::Unknown);
    assert_eq!(told, ["[nas1] NOTICE pool tank: whether it has lost data is not known"]);
    assert!(rig.sent.iter().any(|message| message.body.contains("zpool is not installed")));
    // A pool that is only not asked is not called overdue.
    rig.wait(60 * DAY);
    assert_eq!(rig.subjects_of(0, IncidentKind::Unread).iter().filter(|s| s.contains("scrub")).count(), 0);
}

#[test]
fn members_are_read_one_at_a_time_and_none_in_a_scrub_or_a_resilver_or_of_a_degraded_pool() {
    let held = |array: ArrayFacts| {
        let mut rig = rig(array);
        rig.wait(HOUR);
        let members = rig.running.iter().filter(|name| *name == "sda" || *name == "sdb").count();
        (members, rig.standing("S0").reading.held, rig.running.contains(&"sdc".to_owned()))
    };
    let (members, first, _) = held(pool(|_, _| ()));
    assert_eq!(members, 1, "{first:?}");
    let scrub = held(pool(|array, _| array.activity = ArrayActivity::Checking));
    assert_eq!(scrub, (0, Some(HoldBack::OtherCheck("tank".into())), true));
    let resilver = held(pool(|array, _| array.activity = ArrayActivity::Rebuilding));
    assert_eq!(resilver, (0, Some(HoldBack::Rebuilding("tank".into())), true));
    let degraded = held(pool(|array, _| array.members[1].is_in_sync = false));
    assert_eq!(degraded, (0, Some(HoldBack::Degraded("tank".into())), true));
}

#[test]
fn groups_lose_members_of_their_own() {
    let two_mirrors = |lost: &[usize]| {
        pool(|array, pool| {
            array.members = (0..4)
                .map(|place| ArrayMember { disk: None, is_in_sync: !lost.contains(&place), data_start: 0 })
                .collect();
            pool.groups = [vec![0, 1], vec![2, 3]].map(|places| MemberGroup { redundancy: 1, places }).to_vec();
        })
    };
    let left = |lost: &[usize]| two_mirrors(lost).redundancy_left();
    assert_eq!([left(&[]), left(&[0]), left(&[0, 3]), left(&[0, 1])], [1, 0, 0, -1]);
    let mut rig = rig(two_mirrors(&[]));
    let before = see(&mut rig, two_mirrors(&[2]));
    let told = rig.subjects_of(before, IncidentKind::Degraded);
    assert_eq!(told, ["[nas1] DATA AT RISK pool tank: degraded, the next failure loses data"]);
    assert!(rig.sent.last().unwrap().body.contains("sudo zpool online tank DEVICE"));
}

#[test]
fn a_pool_that_serves_nothing_is_a_loss() {
    let mut rig = rig(pool(|_, _| ()));
    let before = see(&mut rig, pool(|_, pool| pool.failed = Some("SUSPENDED".into())));
    let told = rig.subjects_of(before, IncidentKind::Lost);
    assert_eq!(told, ["[nas1] DATA AT RISK pool tank: it is SUSPENDED, and does not serve its data"]);
    assert_eq!(light(&rig), (LightColour::Red, "pool tank is SUSPENDED".into()));
}

#[test]
fn errors_that_were_healed_are_a_notice_for_their_device() {
    let mut rig = rig(pool(|_, _| ()));
    let before = see(&mut rig, pool(|_, pool| pool.errors = vec![("sdb1".into(), 100)]));
    let told = rig.subjects_of(before, IncidentKind::Disagreement);
    assert_eq!(told, ["[nas1] WATCH pool tank: 100 errors at sdb1"]);
}

#[test]
fn the_last_whole_scrub_is_remembered_over_resilvers_and_restarts_and_told_when_it_is_old() {
    let mut rig = rig(pool(|_, _| ()));
    // A resilver takes its place in ZFS's own memory.
    see(&mut rig, pool(|_, pool| pool.scrubbed = LastScrub::Unknown));
    rig.restart(settings());
    rig.feed(WatchEvent::ArraySeen(pool(|_, pool| pool.scrubbed = LastScrub::Unknown)));
    let overdue = |rig: &Rig| -> Vec<String> {
        let told = rig.subjects_of(0, IncidentKind::Unread);
        told.into_iter().filter(|subject| subject.contains("pool tank")).map(str::to_owned).collect()
    };
    let every = settings().every;
    rig.wait(every + 5 * DAY);
    assert_eq!(overdue(&rig), [""; 0], "a timer that scrubs once a month is in time");
    rig.wait(3 * DAY);
    let days = every / DAY + 7;
    assert_eq!(overdue(&rig)[0], format!("[nas1] NOTICE pool tank: not scrubbed for {days} days"));
    let now = rig.now;
    let before = see(&mut rig, pool(|_, pool| pool.scrubbed = LastScrub::Ended(now)));
    assert_eq!(rig.subjects_of(before, IncidentKind::Unread).len(), 1, "it is over");
}

#[test]
fn a_pool_that_was_never_scrubbed_has_as_long_as_any_disk() {
    let mut rig = rig(pool(|_, pool| pool.scrubbed = LastScrub::Never));
    rig.wait(settings().every + 5 * DAY);
    let told = |rig: &Rig| {
        rig.subjects_of(0, IncidentKind::Unread).iter().filter(|s| s.contains("never been scrubbed")).count()
    };
    assert_eq!(told(&rig), 0);
    rig.wait(4 * DAY);
    assert!(told(&rig) >= 1);
}

/// A resilver: each device calls itself ONLINE, and so does the pool.
#[test]
fn a_pool_that_fills_a_device_is_not_whole_before_it_is_over() {
    let mut rig = rig(pool(|array, _| array.members[1].is_in_sync = false));
    rig.wait(HOUR);
    let filling = pool(|array, pool| {
        array.activity = ArrayActivity::Rebuilding;
        pool.lack = PoolLack::Filling;
    });
    assert_eq!((filling.redundancy_left(), filling.is_degraded()), (0, true));
    let before = see(&mut rig, filling);
    assert!(
        !rig.subjects_since(before).iter().any(|subject| subject.contains("resolved")),
        "{:?}",
        rig.subjects_since(before)
    );
    let status = rig.watch.status(rig.now);
    let degraded = status.incidents.iter().find(|incident| incident.key.kind == IncidentKind::Degraded).unwrap();
    let Problem::Degraded(lost) = &degraded.condition.problem else { panic!("{degraded:?}") };
    assert_eq!(lost.lack, PoolLack::Filling);
    let before = see(&mut rig, pool(|_, _| ()));
    rig.wait(DAY);
    let told = rig.subjects_since(before);
    assert!(told.iter().any(|subject| subject.contains("resolved: DATA AT RISK pool tank")), "{told:?}");
}

/// As [`pool`], scrubbed by the watch, as the settings say.
fn chosen(alter: impl FnOnce(&mut ArrayFacts, &mut ZpoolFacts)) -> ArrayFacts {
    ArrayFacts { check_sectors: Some(SECTORS), ..pool(alter) }
}

/// Waits until the pool is scrubbed, and lets each disk that is read meanwhile be finished; the days that it took.
fn days_until_scrubbed(rig: &mut Rig) -> u64 {
    for hour in 0..60 * 24 {
        if rig.running.iter().any(|name| name == "uuid") {
            return hour / 24;
        }
        let disks: Vec<String> = rig.running.clone();
        disks.iter().for_each(|name| rig.finish(name, &[]));
        rig.wait(HOUR);
    }
    panic!("never: {:?}", rig.watch.status(rig.now).arrays);
}

#[test]
fn a_pool_of_the_settings_is_scrubbed_when_its_last_scrub_is_old_whoever_did_that() {
    let ten_days_ago = UnixSeconds(START - 10 * DAY);
    let mut rig = rig(chosen(|_, pool| pool.scrubbed = LastScrub::Ended(ten_days_ago)));
    let every = settings().every / DAY;
    let days = days_until_scrubbed(&mut rig);
    assert!((every - 22..=every - 10).contains(&days), "{days} days");
    rig.finish("uuid", &[]);
    let at = rig.now;
    rig.feed(WatchEvent::ArraySeen(chosen(|_, pool| pool.scrubbed = LastScrub::Ended(at))));
    // Somebody else scrubs it: then it is not due so soon.
    rig.wait(12 * DAY);
    let at = rig.now;
    rig.feed(WatchEvent::ArraySeen(chosen(|_, pool| pool.scrubbed = LastScrub::Ended(at))));
    let days = days_until_scrubbed(&mut rig);
    assert!((every - 12..=every).contains(&days), "{days} days");
}

#[test]
fn a_scrub_that_is_paused_goes_on_although_the_last_one_is_young() {
    let mut rig = rig(chosen(|_, pool| pool.scrubbed = LastScrub::Ended(UnixSeconds(START - DAY))));
    let paused = || chosen(|_, pool| (pool.scan, pool.scrubbed) = (PoolScan::Paused(Some(0)), LastScrub::Unknown));
    rig.feed(WatchEvent::ArraySeen(paused()));
    assert_eq!(days_until_scrubbed(&mut rig), 0);
    rig.finish("uuid", &[]);
    let at = rig.now;
    rig.feed(WatchEvent::ArraySeen(chosen(|_, pool| pool.scrubbed = LastScrub::Ended(at))));
    assert!(days_until_scrubbed(&mut rig) > 10);
}

#[test]
fn a_scrub_of_the_watch_gives_way_to_a_resilver_and_is_not_begun_beside_one() {
    let mut rig = rig(chosen(|_, pool| pool.scrubbed = LastScrub::Never));
    days_until_scrubbed(&mut rig);
    let resilver = || {
        chosen(|array, pool| {
            (array.activity, pool.scan, pool.scrubbed) =
                (ArrayActivity::Rebuilding, PoolScan::Resilver(Some(5)), LastScrub::Unknown);
        })
    };
    rig.feed(WatchEvent::ArraySeen(resilver()));
    rig.wait(HOUR);
    assert!(rig.stopped.iter().any(|(name, why)| name == "uuid" && *why == HoldBack::Rebuilding("tank".into())));
    let begun = rig.begun.len();
    rig.wait(3 * DAY);
    assert!(rig.begun[begun..].iter().all(|name| name == "sdc"), "{:?}", &rig.begun[begun..]);
}
