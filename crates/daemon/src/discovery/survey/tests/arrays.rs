//! Arrays of md and btrfs that were built, and those of a recorded machine.

use super::*;
use scrubjay_core::layout::LayoutKind;
use scrubjay_watch::facts::{ArrayActivity, ArrayFacts};
use std::path::Path;

const IN_SYNC: &str = "in_sync";

fn array<'s>(survey: &'s HostSurvey, name: &str) -> &'s ArrayFacts {
    survey.arrays.iter().find(|array| array.name == name).expect(name)
}

/// Level, layout and sectors of a chunk, redundancy left, full redundancy, and activity.
fn summary(survey: &HostSurvey, name: &str) -> (String, Option<(LayoutKind, u64)>, i64, u32, ArrayActivity) {
    let array = array(survey, name);
    let map = array.layout.map(|(layout, chunk)| (layout.kind(), chunk));
    (array.level.clone(), map, array.redundancy_left(), array.redundancy, array.activity)
}

/// By place: the disk, whether it is in sync, and the start of its data.
fn places(survey: &HostSurvey, name: &str) -> Vec<(Option<String>, bool, u64)> {
    let members = array(survey, name).members.iter();
    members.map(|member| (member.disk.clone(), member.is_in_sync, member.data_start)).collect()
}

fn at(disk: &str, is_in_sync: bool, start: u64) -> (Option<String>, bool, u64) {
    (Some(disk.to_owned()), is_in_sync, start)
}

#[test]
fn members_that_are_partitions_begin_where_the_partition_does() {
    let machine = machine();
    machine.partition("sda", 2, 10_000);
    machine.partition("sdb", 2, 20_000);
    machine.md(
        "md5",
        "raid5",
        2,
        &[("sda2", "0", IN_SYNC), ("sdb2", "1", IN_SYNC), ("sdc", "2", "in_sync,write_mostly")],
    );
    machine.link("dev/md/tank", "../md5");
    machine.link("dev/md/5", "../md5");
    let seen = look(&machine);
    assert_eq!(summary(&seen, "tank"), ("RAID5".into(), Some((LayoutKind::Raid5Ls, 128)), 1, 1, ArrayActivity::Idle));
    assert_eq!(places(&seen, "tank"), [at("sda", true, 12_048), at("sdb", true, 22_048), at("sdc", true, 2048)]);
    assert_eq!(array(&seen, "tank").key, "10000000:00000000:00000000:00000005");
}

#[test]
fn a_member_that_is_missing_faulty_or_being_filled_is_not_in_sync() {
    let machine = machine();
    machine.md(
        "md6",
        "raid6",
        2,
        &[("sda", "0", IN_SYNC), ("", "", ""), ("sdb", "none", "faulty"), ("sdc", "3", "spare")],
    );
    machine.set("md6", "md/sync_action", "recover");
    let seen = look(&machine);
    assert_eq!(
        summary(&seen, "md6"),
        ("RAID6".into(), Some((LayoutKind::Raid6Md, 128)), -1, 2, ArrayActivity::Rebuilding)
    );
    let nothing = (None, false, 0);
    assert_eq!(places(&seen, "md6"), [at("sda", true, 2048), nothing.clone(), nothing, at("sdc", false, 2048)]);
    // A disk is filled as a replacement of one that is still present: the old one counts.
    machine.md("md7", "raid1", 0, &[("sda", "0", IN_SYNC), ("sdb", "0", "spare,replacement")]);
    machine.set("md7", "md/raid_disks", "1");
    assert_eq!(places(&look(&machine), "md7"), [at("sda", true, 2048)]);
}

#[test]
fn a_disk_that_was_pulled_is_missing_before_md_knows_it() {
    let machine = machine();
    machine.md("md1", "raid1", 0, &[("sda", "0", IN_SYNC), ("sdz", "1", IN_SYNC)]);
    let seen = look(&machine);
    assert_eq!(places(&seen, "md1"), [at("sda", true, 2048), (None, false, 2048)]);
    assert_eq!(summary(&seen, "md1").1, Some((LayoutKind::Raid1, 8)), "where the others' chunks lie is known");
}

#[test]
fn a_running_check_a_reshape_and_a_stopped_array_are_recognised() {
    let machine = machine();
    machine.md("md0", "raid1", 0, &[("sda", "0", IN_SYNC), ("sdb", "1", IN_SYNC)]);
    machine.set("md0", "md/sync_action", "check");
    assert_eq!(look(&machine).arrays[0].activity, ArrayActivity::Checking);
    assert_eq!(look(&machine).arrays[0].layout.map(|(_, chunk)| chunk), Some(8));
    machine.md("md1", "raid5", 2, &[("sda", "0", IN_SYNC), ("sdb", "1", IN_SYNC), ("sdc", "2", IN_SYNC)]);
    machine.set("md1", "md/raid_disks", "3 (2)");
    machine.set("md1", "md/reshape_position", "4096");
    machine.set("md1", "md/sync_action", "reshape");
    assert_eq!(summary(&look(&machine), "md1"), ("RAID5".into(), None, 1, 1, ArrayActivity::Rebuilding));
    machine.set("md1", "md/array_state", "inactive");
    let seen = look(&machine);
    assert_eq!((seen.arrays.len(), seen.warnings.len()), (1, 1));
    assert_eq!(seen.warnings[0], "array md1 is not running: see `mdadm --detail /dev/md1`");
}

#[test]
fn without_a_uuid_from_the_kernel_that_of_udev_or_mdadm_is_used() {
    let machine = machine();
    machine.md("md0", "raid1", 0, &[("sda", "0", IN_SYNC), ("sdb", "1", IN_SYNC)]);
    machine.remove("sys/devices/virtual/block/md0/md/uuid");
    let seen = look(&machine);
    assert_eq!((seen.arrays[0].key.as_str(), seen.warnings.len()), ("md0", 1));
    machine.set("sda", "dev", "8:0");
    machine.file(
        "run/udev/data/b8:0",
        "E:ID_FS_TYPE=linux_raid_member\nE:ID_FS_UUID=ab3bd15b-f102-f5c4-a2fe-e69e8cd2b8e2",
    );
    assert_eq!(look(&machine).arrays[0].key, "ab3bd15b:f102f5c4:a2fee69e:8cd2b8e2");
    machine.file("run/mdadm/map", "md1 1.2 1:1:1:1 /dev/md1\nmd0 1.2 bb3bd15b:f102f5c4:a2fee69e:8cd2b8e2 /dev/md/tank");
    assert_eq!(look(&machine).arrays[0].key, "bb3bd15b:f102f5c4:a2fee69e:8cd2b8e2");
}

#[test]
fn below_encryption_the_disk_is_known_but_not_where_its_data_begin() {
    let machine = machine();
    let crypt = "sys/devices/virtual/block/dm-0";
    machine.partition("sda", 1, 2048);
    machine.link(&format!("{crypt}/slaves/sda1"), "/sys/block/sda/sda1");
    machine.file(&format!("{crypt}/dm/uuid"), "CRYPT-LUKS2-1");
    machine.md("md0", "raid5", 2, &[("dm-0", "0", IN_SYNC), ("sdb", "1", IN_SYNC), ("sdc", "2", IN_SYNC)]);
    machine.remove("sys/devices/virtual/block/md0/md/dev-dm-0/block");
    machine.link("sys/devices/virtual/block/md0/md/dev-dm-0/block", "/sys/block/dm-0");
    let seen = look(&machine);
    assert_eq!(array(&seen, "md0").members[0].disk.as_deref(), Some("sda"));
    assert_eq!(summary(&seen, "md0").1, None);
    // A path has the whole disk.
    machine.file(&format!("{crypt}/dm/uuid"), "mpath-3500");
    assert_eq!(summary(&look(&machine), "md0").1, Some((LayoutKind::Raid5Ls, 128)));
    assert_eq!(places(&look(&machine), "md0")[0], at("sda", true, 4096));
}

const TANK: &str = "sys/fs/btrfs/0f1e2d3c-0000-4000-8000-0123456789ab";

fn btrfs(machine: &MachineFiles, devices: &[&str], numbers: u32) {
    for device in devices {
        machine.link(&format!("{TANK}/devices/{device}"), &format!("/sys/block/{device}"));
    }
    for number in 1..=numbers {
        let is_missing = u32::from(number as usize > devices.len());
        machine.file(&format!("{TANK}/devinfo/{number}/missing"), &is_missing.to_string());
        machine.file(&format!("{TANK}/devinfo/{number}/error_stats"), "write_errs 0\nread_errs 0\ncorruption_errs 0");
    }
    machine.file(&format!("{TANK}/label"), "tank");
    machine.file(&format!("{TANK}/exclusive_operation"), "none");
    machine.file("sys/fs/btrfs/features/raid1c34", "0");
    let profile = |kind: &str, profile: &str, bytes: &str| {
        machine.file(&format!("{TANK}/allocation/{kind}/{profile}/used_bytes"), bytes);
    };
    profile("data", "single", "0");
    profile("data", "raid1", "1000000");
    profile("metadata", "raid1c3", "1000");
}

#[test]
fn btrfs_with_a_missing_device_is_degraded() {
    let machine = machine();
    btrfs(&machine, &["sda", "sdb"], 3);
    let seen = look(&machine);
    assert_eq!(summary(&seen, "tank"), ("btrfs RAID1".into(), None, 0, 1, ArrayActivity::Idle));
    assert_eq!(places(&seen, "tank"), [at("sda", true, 0), at("sdb", true, 0), (None, false, 0)]);
    assert_eq!(array(&seen, "tank").key, "0f1e2d3c-0000-4000-8000-0123456789ab");
    machine.file(&format!("{TANK}/allocation/data/single/used_bytes"), "4096");
    machine.file(&format!("{TANK}/devinfo/2/error_stats"), "write_errs 3\nread_errs 0\ncorruption_errs 1");
    let seen = look(&machine);
    assert_eq!(seen.arrays[0].redundancy, 1);
    assert_eq!(seen.warnings.len(), 2, "{:?}", seen.warnings);
    assert!(seen.warnings[0].contains("some of its data are single, most are RAID1"));
    assert!(seen.warnings[1].contains("3 write errors, 1 corruption errors on device 2"));
    // One copy that is lost with one disk decides, however many copies the rest has.
    machine.file(&format!("{TANK}/allocation/metadata/dup/used_bytes"), "9000");
    assert_eq!(look(&machine).arrays[0].redundancy, 0);
}

#[test]
fn a_disk_that_the_kernel_took_offline_is_missing_in_its_arrays() {
    let machine = machine();
    btrfs(&machine, &["sda", "sdb"], 2);
    machine.md("md1", "raid1", 0, &[("sdb", "0", IN_SYNC), ("sdc", "1", IN_SYNC)]);
    machine.set("sdb", "device/state", "blocked");
    let seen = look(&machine);
    assert_eq!(places(&seen, "tank"), [at("sda", true, 0), at("sdb", true, 0)], "it waits for its path");
    assert!(seen.arrays.iter().all(|array| !array.is_degraded()) && seen.warnings.is_empty());
    machine.set("sdb", "device/state", "offline");
    let seen = look(&machine);
    assert_eq!(summary(&seen, "tank"), ("btrfs RAID1".into(), None, 0, 1, ArrayActivity::Idle));
    assert_eq!(places(&seen, "tank"), [at("sda", true, 0), (None, false, 0)]);
    assert_eq!(places(&seen, "md1"), [(None, false, 2048), at("sdc", true, 2048)], "md calls it in sync");
    assert!(seen.arrays.iter().all(ArrayFacts::is_degraded) && seen.are_arrays_known);
    assert_eq!(seen.warnings, [format!("sdb {GIVEN_UP}")]);
}

#[test]
fn the_activity_of_btrfs_is_recognised() {
    let machine = machine();
    btrfs(&machine, &["sda", "sdb"], 2);
    let activity = || look(&machine).arrays[0].activity;
    assert_eq!(activity(), ArrayActivity::Idle);
    machine.file(&format!("{TANK}/exclusive_operation"), "balance");
    assert_eq!(activity(), ArrayActivity::Rebuilding);
    machine.file(&format!("{TANK}/exclusive_operation"), "balance paused");
    assert_eq!(activity(), ArrayActivity::Idle);
    let socket = format!("/var/lib/btrfs/scrub.progress.{}", &TANK[13..]);
    machine.file(&socket, ""); // left by a process that was killed
    assert_eq!(activity(), ArrayActivity::Idle);
    machine.file("proc/net/unix", &format!("Num RefCount\n0000: 00000002 00000000 00010000 0001 01 26 {socket}"));
    assert_eq!(activity(), ArrayActivity::Checking);
}

#[test]
fn btrfs_on_one_device_is_no_array() {
    let machine = machine();
    btrfs(&machine, &["sda"], 1);
    assert!(look(&machine).arrays.is_empty());
}

/// A Debian guest with Linux 6.12 (tests/fixtures/record-tree.sh): nine md arrays, a btrfs, the output of `mdadm -E` as
/// comments.
const GUEST: &str = include_str!("../../../../tests/fixtures/guest-md.tree");

#[test]
fn a_recorded_machine_is_seen_as_mdadm_made_it() {
    use ArrayActivity::*;
    let seen = survey(&MachineFiles::recorded(GUEST).root(), &[]);
    let names: Vec<&str> = seen.disks.iter().map(|disk| disk.facts.name.as_str()).collect();
    assert_eq!(names, ["nvme0n1", "nvme1n1", "sda", "sdb", "vda", "vdb", "vdc", "vdd", "vde", "vdf"]);
    let keys: Vec<&str> = seen.disks.iter().map(|disk| disk.facts.key.0.as_str()).collect();
    assert_eq!(keys, ["lab-6", "lab-7", "lab-8", "lab-9", "lab-0", "lab-1", "lab-2", "lab-3", "lab-4", "lab-5"]);
    let expect_array = |name, level: &str, map, left, redundancy, activity| {
        assert_eq!(summary(&seen, name), (level.to_owned(), map, left, redundancy, activity), "{name}");
    };
    expect_array("mirror", "RAID1", Some((LayoutKind::Raid1, 8)), 1, 1, Idle);
    expect_array("md1", "RAID5", Some((LayoutKind::Raid5Ls, 128)), 1, 1, Checking);
    expect_array("md2", "RAID6", Some((LayoutKind::Raid6Md, 1024)), 1, 2, Idle); // one was removed
    expect_array("md3", "RAID10", Some((LayoutKind::Raid1, 1024)), 0, 1, Rebuilding);
    expect_array("md4", "RAID10", Some((LayoutKind::Near, 1024)), 1, 1, Idle);
    expect_array("md5", "RAID10", Some((LayoutKind::Chained, 1024)), 1, 1, Idle);
    expect_array("md6", "RAID10", None, 1, 1, Idle); // far copies
    expect_array("md7", "RAID0", Some((LayoutKind::Raid0, 1024)), 0, 0, Idle);
    expect_array("md8", "RAID1", Some((LayoutKind::Rotating, 8)), 2, 2, Idle);
    expect_array("md9", "RAID5", Some((LayoutKind::Raid5La, 1024)), 0, 1, Idle); // one was never present
    expect_array("tank", "btrfs RAID1", None, 1, 1, Idle);
    assert_eq!(seen.warnings, [""; 0]);
}

/// The starts of the members' data, and their places, by their superblocks.
#[test]
fn superblocks_agree_about_places_and_starts() {
    let machine = MachineFiles::recorded(GUEST);
    let seen = survey(&machine.root(), &[]);
    let field_of = |device: &str, field: &str| {
        let start = format!("# /dev/{device} {field} : ");
        GUEST.lines().find_map(|line| line.strip_prefix(&start)).map(str::to_owned)
    };
    let mut devices: Vec<&str> =
        GUEST.lines().filter_map(|line| line.strip_prefix("# /dev/")?.split(' ').next()).collect();
    devices.dedup();
    let mut checked = 0;
    for device in devices {
        let disk = device.trim_end_matches(|c: char| c.is_ascii_digit());
        let begin = machine.root().number(Path::new(&format!("/sys/block/{disk}/{device}/start"))).unwrap_or(0);
        let array =
            seen.arrays.iter().find(|array| Some(&array.key) == field_of(device, "Array UUID").as_ref()).unwrap();
        let role = field_of(device, "Device Role").unwrap();
        let Some(place) = role.strip_prefix("Active device ") else { continue };
        // Version 1.0 has its superblock at the end, and does not mention that the data begin at 0.
        let offset =
            field_of(device, "Data Offset").map_or(0, |words| words.split(' ').next().unwrap().parse().unwrap());
        let member = &array.members[place.parse::<usize>().unwrap()];
        if member.is_in_sync {
            assert_eq!((member.disk.as_deref(), member.data_start), (Some(disk), begin + offset), "{device}");
            checked += 1;
        }
    }
    assert_eq!(checked, 27, "members that are in sync");
}
