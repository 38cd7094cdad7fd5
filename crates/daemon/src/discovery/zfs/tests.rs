//! Pools by labels and by a fake `zpool`, on a machine made of files.

use super::super::fixture::MachineFiles;
use super::super::survey::survey;
use super::*;
use crate::zfs::label::tests::{labelled_device, mirror_list};
use crate::zfs::status_json;
use scrubjay_watch::pool::{LastScrub, PoolLosses};
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A machine with the two disks of a mirror, `tank`, as labels and udev show them.
fn machine() -> MachineFiles {
    let machine = MachineFiles::new();
    for (number, (disk, guid)) in [("sda", 11), ("sdb", 12)].into_iter().enumerate() {
        let device = format!("pci0000:00/0000:00:17.0/ata{number}/host{number}/target{number}:0:0/{number}:0:0:0");
        machine.disk(disk, &device);
        machine.partition(disk, 1, 2048);
        machine.set(disk, &format!("{disk}1/dev"), &format!("8:{}", 16 * number + 1));
        machine.set(disk, &format!("{disk}1/size"), "4096");
        machine.link(&format!("sys/class/block/{disk}1"), &format!("../../block/{disk}/{disk}1"));
        let notes = format!("E:ID_FS_TYPE=zfs_member\nE:ID_FS_LABEL=tank\nE:ID_FS_UUID=42\nE:ID_FS_UUID_SUB={guid}");
        machine.file(&format!("run/udev/data/b8:{}", 16 * number + 1), &notes);
        machine.file(&format!("dev/{disk}1"), "");
        let label = labelled_device(2 << 20, &mirror_list(guid, None));
        fs::write(machine.root().real(Path::new(&format!("/dev/{disk}1"))), label).unwrap();
    }
    kernel_says(&machine, "ONLINE");
    machine.file("/proc/spl/kstat/zfs/tank/guid", "42");
    machine.file("/proc/spl/kstat/zfs/arcstats", "no pool");
    machine
}

fn kernel_says(machine: &MachineFiles, state: &str) {
    machine.file("/proc/spl/kstat/zfs/tank/state", state);
}

fn disks(array: &ArrayFacts) -> Vec<(Option<&str>, bool)> {
    array.members.iter().map(|member| (member.disk.as_deref(), member.is_in_sync)).collect()
}

#[test]
fn members_and_redundancy_are_known_without_any_program_of_zfs_and_lost_data_are_not() {
    let machine = machine();
    let mut looker = PoolLooker::new(machine.root(), || Err("zpool is not installed".into()));
    let pools = looker.look();
    let tank = &pools[0];
    assert_eq!((tank.key.as_str(), tank.name.as_str(), tank.level.as_str()), ("42", "tank", "ZFS mirror"));
    assert_eq!(disks(tank), [(Some("sda"), true), (Some("sdb"), true)]);
    let pool = tank.pool.as_ref().unwrap();
    assert_eq!(pool.losses, PoolLosses::Unknown("zpool is not installed".into()), "ONLINE says nothing of them");
    assert_eq!(pool.scrubbed, LastScrub::Unknown);

    let mut seen = survey(&machine.root(), &[]);
    add_pools(&mut seen, &pools);
    assert_eq!((seen.arrays.len(), seen.are_arrays_known, seen.warnings.len()), (1, true, 0));

    // A disk is gone, and the kernel has noticed.
    machine.remove("sys/class/block/sdb1");
    kernel_says(&machine, "DEGRADED");
    let pools = looker.look();
    assert_eq!(disks(&pools[0]), [(Some("sda"), true), (None, false)]);
    assert_eq!(pools[0].redundancy_left(), 0);
}

#[test]
fn a_pool_of_which_nothing_is_known_yet_is_told() {
    let mut seen = survey(&machine().root(), &[]);
    assert_eq!(seen.pools, ["tank"]);
    add_pools(&mut seen, &[]);
    assert!(!seen.are_arrays_known);
    assert!(seen.warnings[0].starts_with("ZFS pool tank: nothing is known of it yet"), "{:?}", seen.warnings);
}

#[test]
fn zpool_is_asked_again_when_the_kernel_says_something_else() {
    let machine = machine();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let ask = move || {
        counter.fetch_add(1, Ordering::Relaxed);
        status_json::pools(include_str!("../../zfs/fixtures/healthy.json"))
    };
    let mut looker = PoolLooker::new(machine.root(), ask);
    for _ in 0..3 {
        assert_eq!(looker.look()[0].pool.as_ref().unwrap().losses, PoolLosses::None);
    }
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    kernel_says(&machine, "DEGRADED");
    looker.look();
    assert_eq!(asked.load(Ordering::Relaxed), 2);
}

#[test]
fn labels_are_not_read_again_and_again() {
    let machine = machine();
    let mut looker = PoolLooker::new(machine.root(), || Err("no".into()));
    looker.look();
    // What is on the disks now would be noticed if it was read.
    for disk in ["sda1", "sdb1"] {
        fs::write(machine.root().real(Path::new(&format!("/dev/{disk}"))), vec![0; 2 << 20]).unwrap();
    }
    assert_eq!(looker.look()[0].members.len(), 2);
}

#[test]
fn where_no_pool_is_imported_nothing_is_asked() {
    let machine = machine();
    machine.remove("proc/spl/kstat/zfs/tank");
    let mut looker = PoolLooker::new(machine.root(), || panic!("it was asked"));
    assert_eq!(looker.look(), []);
}
