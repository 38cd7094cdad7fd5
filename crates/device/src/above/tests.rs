//! The way up through made-up trees of `/sys`: each layer, each role, and devices that are not followed.

use super::nodes::{BlockNode, BlockTree};
use super::story::{EndKind, SectorEnd, SectorLayer, SectorStory};
use super::walk::{Surroundings, walk};
use scrubjay_core::units::SectorRange;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use tempfile::TempDir;

/// A `/sys` with block devices.
struct Machine {
    folder: TempDir,
    tables: Vec<(&'static str, &'static str)>,
    devices: u32,
}

impl Surroundings for Machine {
    fn table(&self, node: &BlockNode) -> Result<String, String> {
        let table = self.tables.iter().find(|(name, _)| *name == node.name);
        table.map(|(_, table)| (*table).to_owned()).ok_or_else(|| "dmsetup is not installed".to_owned())
    }

    fn ends(&self, node: &BlockNode, range: SectorRange, _: usize) -> (Vec<SectorLayer>, Vec<SectorEnd>) {
        (Vec::new(), vec![SectorEnd::of(&node.name, range, EndKind::File, "a file")])
    }
}

impl Machine {
    fn new() -> Machine {
        Machine { folder: tempfile::tempdir().unwrap(), tables: Vec::new(), devices: 0 }
    }

    fn file(&self, path: &str, text: &str) {
        let path = self.folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn link(&self, from: &str, to: PathBuf) {
        let from = self.folder.path().join(from);
        fs::create_dir_all(from.parent().unwrap()).unwrap();
        symlink(to, from).unwrap();
    }

    /// Adds a device in `devices/PATH`; its numbers are 8 and the count of earlier devices.
    fn device(&mut self, path: &str, sectors: u64) {
        let name = path.rsplit('/').next().unwrap().to_owned();
        self.file(&format!("devices/{path}/size"), &format!("{sectors}\n"));
        self.file(&format!("devices/{path}/dev"), &format!("8:{}\n", self.devices));
        self.link(&format!("class/block/{name}"), self.folder.path().join("devices").join(path));
        self.devices += 1;
    }

    fn partition(&mut self, disk: &str, number: u32, start: u64, sectors: u64) {
        let path = format!("{disk}/{disk}{number}");
        self.device(&path, sectors);
        self.file(&format!("devices/{path}/partition"), &format!("{number}\n"));
        self.file(&format!("devices/{path}/start"), &format!("{start}\n"));
    }

    fn holds(&self, below: &str, above: &str) {
        self.file(&format!("devices/{below}/holders/{above}/x"), "");
    }

    /// Adds an array over existing devices, with chunks of 64 KiB and `used` sectors of each device.
    fn array(&mut self, level: &str, layout: u64, used: u64, sectors: u64, members: &[(&str, &str)]) {
        self.device("md0", sectors);
        let put = |file: &str, text: String| self.file(&format!("devices/md0/md/{file}"), &(text + "\n"));
        put("level", level.to_owned());
        put("layout", layout.to_string());
        put("chunk_size", "65536".to_owned());
        put("component_size", (used / 2).to_string());
        put("raid_disks", members.len().to_string());
        put("reshape_position", "none".to_owned());
        put("array_state", "clean".to_owned());
        put("resync_start", "none".to_owned());
        for (slot, (member, state)) in members.iter().enumerate() {
            let name = member.rsplit('/').next().unwrap();
            put(&format!("dev-{name}/state"), (*state).to_owned());
            put(&format!("dev-{name}/slot"), if *state == "spare" { "none".to_owned() } else { slot.to_string() });
            put(&format!("dev-{name}/offset"), "2048".to_owned());
            put(&format!("dev-{name}/size"), (used / 2).to_string());
            put(&format!("dev-{name}/block/dev"), "8:0".to_owned());
        }
        for (member, _) in members {
            self.holds(member, "md0");
        }
    }

    fn up(&self, name: &str, start: u64, count: u64) -> SectorStory {
        let tree = BlockTree::below(self.folder.path());
        walk(&tree, self, &tree.node(name).unwrap(), SectorRange::at(start, count))
    }
}

/// The ends: device, sectors, kind, whether an array can restore the bytes.
fn ends(story: &SectorStory) -> Vec<(&str, String, EndKind, bool)> {
    story.ends.iter().map(|end| (end.device.as_str(), end.range.to_string(), end.kind, end.is_kept())).collect()
}

fn disks(machine: &mut Machine, names: &[&'static str]) {
    for name in names {
        machine.device(name, 100_000);
    }
}

const SYNC: &str = "in_sync";

#[test]
fn a_disk_by_itself_and_a_partition_of_one() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb"]);
    machine.partition("sdb", 1, 2048, 1000);
    machine.partition("sdb", 2, 4096, 1000);
    assert_eq!(ends(&machine.up("sda", 7, 2)), [("sda", "7+2".into(), EndKind::File, false)]);
    let across = machine.up("sdb", 2040, 2060);
    assert_eq!(
        ends(&across),
        [
            ("sdb", "2040+8".into(), EndKind::Outside, false),
            ("sdb1", "0+1000".into(), EndKind::File, false),
            ("sdb", "3048+1048".into(), EndKind::Outside, false),
            ("sdb2", "0+4".into(), EndKind::File, false),
        ]
    );
    let part = machine.up("sdb1", 5, 1);
    assert_eq!(ends(&part), [("sdb1", "5+1".into(), EndKind::File, false)]);
    assert!(part.layers[0].words.contains("sdb: there it is sector 2053"), "{:?}", part.layers);
}

#[test]
fn members_of_a_raid_5_on_partitions() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb", "sdc"]);
    for disk in ["sda", "sdb", "sdc"] {
        machine.partition(disk, 1, 1000, 90_000);
    }
    let members = [("sda/sda1", SYNC), ("sdb/sdb1", SYNC), ("sdc/sdc1", SYNC)];
    machine.array("raid5", 2, 128 * 100, 128 * 200, &members);
    // Row 0: data on 0 and 1, P on 2. Row 1: P on 1, data on 2 and 0.
    let data = machine.up("sda", 1000 + 2048 + 128 + 3, 1);
    assert_eq!(ends(&data), [("md0", "387+1".into(), EndKind::File, true)], "the fourth chunk");
    let layer = data.layers.last().unwrap();
    let place = layer.place.as_ref().unwrap();
    assert_eq!((place.member, place.stripe, place.role.as_str()), (0, Some(1), "data"));
    let parity = machine.up("sdc", 3048, 128);
    assert_eq!(ends(&parity), [("sdc1", "2048+128".into(), EndKind::Parity, true)]);
    let head = machine.up("sda1", 2046, 4);
    assert_eq!(
        ends(&head),
        [("sda1", "2046+2".into(), EndKind::Outside, false), ("md0", "0+2".into(), EndKind::File, true)]
    );
    let across_end = machine.up("sda1", 2048 + 12_799, 2);
    assert_eq!(across_end.ends.iter().map(|end| end.kind).collect::<Vec<_>>(), [EndKind::Outside, EndKind::File]);
}

#[test]
fn a_degraded_array_restores_nothing_and_needs_each_remaining_member() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb", "sdc", "sdd"]);
    let members = [("sda", SYNC), ("sdb", "faulty"), ("sdc", SYNC)];
    machine.array("raid5", 2, 128 * 100, 128 * 200, &members);
    let data = machine.up("sda", 2048 + 1, 1);
    assert_eq!(
        ends(&data),
        [("md0", "1+1".into(), EndKind::File, false), ("md0", "129+1".into(), EndKind::File, false)]
    );
    assert!(data.ends[0].keepers[0].why_not.contains("of member 1 is missing"), "{:?}", data.ends[0]);
    let parity = machine.up("sdc", 2048 + 1, 1);
    assert_eq!(ends(&parity), [("md0", "129+1".into(), EndKind::File, false)], "what only the parity still tells");
    let other_chunk = machine.up("sda", 2048 + 128, 1);
    assert_eq!(ends(&other_chunk), [("md0", "384+1".into(), EndKind::File, false)], "the parity is missing");
    let faulty = machine.up("sdb", 2048 + 1, 1);
    assert_eq!(ends(&faulty), [("sdb", "2049+1".into(), EndKind::Unknown, false)], "who knows what is needed yet");
}

#[test]
fn bad_blocks_and_unsynced_arrays_restore_nothing() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb", "sdc"]);
    machine.array("raid5", 2, 12_800, 25_600, &[("sda", SYNC), ("sdb", SYNC), ("sdc", SYNC)]);
    let is_restorable = |machine: &Machine, sector: u64| ends(&machine.up("sda", 2048 + sector, 1)).remove(0).3;
    assert!(is_restorable(&machine, 40) && is_restorable(&machine, 48));
    for list in ["bad_blocks", "unacknowledged_bad_blocks"] {
        machine.file(&format!("devices/md0/md/dev-sdb/{list}"), "40 8\n");
        assert!(!is_restorable(&machine, 40), "{list}");
        assert!(is_restorable(&machine, 48) && is_restorable(&machine, 39), "{list}");
        machine.file(&format!("devices/md0/md/dev-sdb/{list}"), "");
    }
    machine.file("devices/md0/md/resync_start", "0\n");
    assert!(!is_restorable(&machine, 40));
}

#[test]
fn a_member_of_an_array_that_does_not_run_is_no_spare() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb"]);
    machine.array("raid5", 2, 12_800, 25_600, &[("sda", "spare"), ("sdb", "spare")]);
    machine.file("devices/md0/md/dev-sda/slot", "none\n");
    assert_eq!(ends(&machine.up("sda", 2050, 1))[0].2, EndKind::Outside, "it runs, and this is a spare");
    for state in ["inactive", "clear", "broken"] {
        machine.file("devices/md0/md/array_state", &format!("{state}\n"));
        let story = machine.up("sda", 2050, 1);
        assert_eq!(ends(&story), [("sda", "2050+1".into(), EndKind::Unknown, false)], "{state}");
        assert!(story.ends[0].words.contains("does not run"), "{:?}", story.ends);
    }
}

#[test]
fn a_disk_that_was_pulled_counts_as_missing() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb"]);
    machine.array("raid1", 0, 1000, 1000, &[("sda", SYNC), ("sdb", SYNC)]);
    assert_eq!(ends(&machine.up("sda", 2050, 1)), [("md0", "2+1".into(), EndKind::File, true)]);
    fs::remove_dir_all(machine.folder.path().join("devices/md0/md/dev-sdb/block")).unwrap();
    assert_eq!(ends(&machine.up("sda", 2050, 1)), [("md0", "2+1".into(), EndKind::File, false)]);
}

#[test]
fn spares_reshaped_arrays_and_unknown_holders_are_not_followed() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "sdb", "sdc"]);
    machine.array("raid5", 2, 12_800, 25_600, &[("sda", SYNC), ("sdb", SYNC), ("sdc", "spare")]);
    assert_eq!(ends(&machine.up("sdc", 2050, 1)), [("sdc", "2050+1".into(), EndKind::Outside, false)]);
    machine.file("devices/md0/md/reshape_position", "1024\n");
    assert_eq!(ends(&machine.up("sda", 2050, 1)), [("sda", "2050+1".into(), EndKind::Unknown, false)]);
    machine.file("devices/md0/md/reshape_position", "none\n");
    machine.file("devices/md0/md/layout", "17\n");
    assert_eq!(ends(&machine.up("sda", 2050, 1)), [("sda", "2050+1".into(), EndKind::Unknown, false)]);
    let mut machine = Machine::new();
    disks(&mut machine, &["sda", "bcache0"]);
    machine.holds("sda", "bcache0");
    machine.holds("sda", "gone");
    let story = machine.up("sda", 5, 1);
    assert_eq!(ends(&story), [("sda", "5+1".into(), EndKind::Unknown, false)]);
    assert!(story.ends[0].words.contains("bcache0"));
}

#[test]
fn logical_volumes_are_followed_where_their_tables_are_plain() {
    let mut machine = Machine::new();
    disks(&mut machine, &["sda"]);
    machine.device("dm-0", 8192);
    machine.device("dm-1", 8192);
    for (device, name) in [("dm-0", "vg-root"), ("dm-1", "vg-home")] {
        machine.file(&format!("devices/{device}/dm/name"), name);
        machine.holds("sda", device);
    }
    machine.tables = vec![("dm-0", "0 8192 linear 8:0 2048\n"), ("dm-1", "0 8192 linear 8:0 10240\n")];
    let story = machine.up("sda", 10_239, 2);
    assert_eq!(
        ends(&story),
        [("dm-0", "8191+1".into(), EndKind::File, false), ("dm-1", "0+1".into(), EndKind::File, false)]
    );
    assert!(story.layers[1].words.contains("vg-root"));
    assert_eq!(ends(&machine.up("sda", 2047, 1)), [("sda", "2047+1".into(), EndKind::Unknown, false)]);
    machine.tables = vec![("dm-0", "0 8192 linear 8:0 2048\n"), ("dm-1", "0 8192 raid raid1 8:0 8:1\n")];
    let both = machine.up("sda", 2048, 1);
    assert_eq!(both.ends.iter().map(|end| end.kind).collect::<Vec<_>>(), [EndKind::File, EndKind::Unknown]);
    machine.tables.clear();
    assert!(machine.up("sda", 2048, 1).ends.iter().all(|end| end.kind == EndKind::Unknown));
}

#[test]
fn a_cycle_of_devices_ends_the_walk() {
    let mut machine = Machine::new();
    machine.device("dm-0", 8192);
    machine.file("devices/dm-0/dm/name", "round");
    machine.holds("dm-0", "dm-0");
    machine.tables = vec![("dm-0", "0 8192 linear 8:0 0\n")];
    let story = machine.up("dm-0", 5, 1);
    assert_eq!(ends(&story), [("dm-0", "5+1".into(), EndKind::Unknown, false)]);
}
