//! Every state of a pool, in both forms of `zpool status`.

use super::*;
use crate::zfs::{status_json, status_text};
use scrubjay_watch::pool::{LastScrub, PoolLosses};
use scrubjay_words::pool_scan;

/// The pools of a fixture as its JSON and its text show them.
macro_rules! forms {
    ($name:literal) => {
        [
            ("JSON", status_json::pools(include_str!(concat!("../fixtures/", $name, ".json"))).unwrap()),
            ("text", status_text::pools(include_str!(concat!("../fixtures/", $name, ".txt"))).unwrap()),
        ]
    };
}

/// The disk by the path: `ata-LAB_A-part1` is `A`, `vda1` is `vda`.
fn facts(pool: &Zpool) -> ArrayFacts {
    let disk = |path: &str| {
        let name = path.strip_prefix("/dev/")?.rsplit('/').next()?;
        Some(name.trim_start_matches("ata-LAB_").trim_end_matches('1').trim_end_matches("-part").to_owned())
    };
    array_facts(pool, |_, path| disk(path?))
}

/// `A B! -`: the members in order, `!` where one does not hold its data, `-` where its disk is not known.
fn members(facts: &ArrayFacts) -> String {
    let words = facts.members.iter().map(|member| {
        let mark = if member.is_in_sync { "" } else { "!" };
        format!("{}{mark}", member.disk.as_deref().unwrap_or("-"))
    });
    words.collect::<Vec<_>>().join(" ")
}

const ENDED: LastScrub = LastScrub::Ended(UnixSeconds(1_800_003_600));

#[test]
fn both_forms_of_each_state_say_the_same() {
    use ArrayActivity::{Checking, Idle, Rebuilding};
    type Expected = (&'static str, i64, ArrayActivity, LastScrub, &'static str);
    type Forms = [(&'static str, Vec<Zpool>); 2];
    let all: [(Forms, Expected); 10] = [
        (forms!("healthy"), ("A B", 1, Idle, ENDED, "")),
        (forms!("new"), ("A B", 1, Idle, LastScrub::Never, "")),
        (forms!("scrubbing"), ("A B", 1, Checking, LastScrub::Unknown, "scrub 16 %")),
        (forms!("paused"), ("A B", 1, Idle, LastScrub::Unknown, "scrub paused at 16 %")),
        (forms!("canceled"), ("A B", 1, Idle, LastScrub::Unknown, "")),
        (forms!("offline"), ("A B!", 0, Idle, ENDED, "")),
        (forms!("missing"), ("A B!", 0, Idle, ENDED, "")),
        (forms!("resilvering"), ("A B", 0, Rebuilding, LastScrub::Unknown, "resilver 10 %")),
        (forms!("resilvered"), ("A B", 1, Idle, LastScrub::Unknown, "")),
        (forms!("healed"), ("A B", 1, Idle, ENDED, "")),
    ];
    for (number, (forms, (disks, left, activity, scrubbed, scan))) in all.into_iter().enumerate() {
        for (form, pools) in forms {
            let facts = facts(&pools[0]);
            let pool = facts.pool.as_ref().unwrap();
            let shown = pool_scan(pool.scan);
            let found = (members(&facts), facts.redundancy_left(), facts.activity, pool.scrubbed, shown.as_str());
            assert_eq!(found, (disks.to_owned(), left, activity, scrubbed, scan), "{number}, {form}");
            assert_eq!((pool.losses.clone(), pool.failed.clone()), (PoolLosses::None, None), "{number}, {form}");
            assert_eq!((facts.level.as_str(), facts.redundancy), ("ZFS mirror", 1), "{number}, {form}");
        }
    }
}

#[test]
fn errors_are_counted_by_device() {
    for (form, pools) in forms!("healed") {
        let facts = facts(&pools[0]);
        assert_eq!(facts.pool.unwrap().errors, [("ata-LAB_B-part1".to_owned(), 100)], "{form}");
    }
}

#[test]
fn lost_data_are_named_although_every_device_is_online() {
    let names = ["/tank/photos/2019/a b.jpg", "tank/home@monday:/letters.odt", "<metadata>:<0x3d>"];
    for ((form, pools), (blocks, count)) in forms!("damaged").into_iter().zip([(194, 0), (3, 3)]) {
        let facts = facts(&pools[0]);
        let pool = facts.pool.as_ref().unwrap();
        let files = names.iter().take(count).map(|name| (*name).to_owned()).collect();
        assert_eq!(pool.losses, PoolLosses::Lost { blocks, files }, "{form}");
        assert_eq!((pool.failed.as_ref(), facts.is_degraded()), (None, false), "{form}");
    }
}

#[test]
fn a_pool_that_serves_nothing_says_so() {
    for (form, pools) in forms!("suspended") {
        let facts = facts(&pools[0]);
        assert_eq!(facts.pool.as_ref().unwrap().failed.as_deref(), Some("SUSPENDED"), "{form}");
        assert_eq!((members(&facts), facts.redundancy_left()), ("A! B!".to_owned(), -1), "{form}");
    }
}

#[test]
fn vdevs_of_every_class_have_their_places_and_only_some_count() {
    for (form, pools) in forms!("many-vdevs") {
        let facts = facts(&pools[0]);
        // The spare in use is read one at a time, too; cache and waiting spares are no members.
        let mut found: Vec<String> = members(&facts).split(' ').map(str::to_owned).collect();
        found.sort();
        assert_eq!(found.join(" "), "vda vdb vdc vdd vde vdf vdg vdi", "{form}");
        assert_eq!((facts.level.as_str(), facts.redundancy, facts.redundancy_left()), ("ZFS raidz2", 1, 1), "{form}");
        assert_eq!(facts.pool.unwrap().errors, [("vdb1".to_owned(), 240)], "{form}");
    }
}

#[test]
fn a_distributed_spare_makes_good_and_the_pool_still_is_degraded() {
    for (form, pools) in forms!("draid") {
        let facts = facts(&pools[0]);
        assert_eq!((facts.redundancy_left(), facts.is_degraded()), (1, true), "{form}");
        assert_eq!(facts.level, "ZFS draid1", "{form}");
    }
}

#[test]
fn several_pools_are_told_apart() {
    for (form, pools) in forms!("several") {
        let all: Vec<ArrayFacts> = pools.iter().map(facts).collect();
        let words: Vec<_> = all
            .iter()
            .map(|facts| (facts.name.as_str(), facts.level.as_str(), facts.redundancy_left(), members(facts)))
            .collect();
        let expected = [
            ("fast", "ZFS 2 single disks", 0, "vda vdb".to_owned()),
            ("files", "ZFS raidz1", 1, "- -".to_owned()),
            ("tank", "ZFS mirror", 1, "A B".to_owned()),
        ];
        assert_eq!(words, expected, "{form}");
    }
}

#[test]
fn groups_lose_their_own_members() {
    let [(_, pools), _] = forms!("healthy");
    let mut pool = pools[0].clone();
    let second = pool.vdevs[0].clone();
    pool.vdevs.push(second);
    let lose = |pool: &mut Zpool, top: usize, child: usize| {
        pool.vdevs[top].children[child].state = "FAULTED".into();
        pool.state = "DEGRADED".into();
    };
    lose(&mut pool, 0, 0);
    assert_eq!((facts(&pool).level.as_str(), facts(&pool).redundancy_left()), ("ZFS 2 mirrors", 0));
    lose(&mut pool, 1, 1);
    assert_eq!(facts(&pool).redundancy_left(), 0, "one of each");
    lose(&mut pool, 1, 0);
    assert_eq!(facts(&pool).redundancy_left(), -1);
}

/// In a resilver everything calls itself ONLINE: it lacks one device of unknown place, unless one that works is exchanged.
#[test]
fn a_resilver_lacks_a_device_where_one_may_lack() {
    let leaf = |name: &str, state: &str| Vdev::new(name, VdevClass::Data, state);
    let above = |name: &str, children: Vec<Vdev>| Vdev { children, ..Vdev::new(name, VdevClass::Data, "ONLINE") };
    let mirror = |children| above("mirror-0", children);
    let pairs = || mirror(vec![leaf("a", "ONLINE"), leaf("b", "ONLINE")]);
    let replacing =
        |old: &str| mirror(vec![leaf("a", "ONLINE"), above("replacing-0", vec![leaf("b", old), leaf("c", "ONLINE")])]);
    for (vdevs, left, is_degraded, why) in [
        (vec![pairs()], 0, true, "a device comes back"),
        (vec![pairs(), leaf("d", "ONLINE")], 0, true, "a device alone is never filled"),
        (vec![replacing("ONLINE")], 1, false, "a device that works is exchanged"),
        (vec![replacing("OFFLINE")], 0, true, "a device that is dead is replaced"),
    ] {
        let [healthy, ..] = &forms!("healthy")[0].1[..] else { panic!("a pool") };
        let pool = Zpool { vdevs, scan: PoolScan::Resilver(None), ..healthy.clone() };
        let facts = array_facts(&pool, |_, path| path.map(str::to_owned));
        assert_eq!((facts.redundancy_left(), facts.is_degraded()), (left, is_degraded), "{why}");
        assert!(array_facts(&Zpool { scan: PoolScan::Moving, ..pool }, |_, _| None).redundancy_left() >= 0, "{why}");
    }
}
