//! Surveys of built and of recorded machines.

use super::super::changes::changes;
use super::super::fixture::MachineFiles;
use super::super::seen::SeenDisk;
use super::*;
use scrubjay_watch::events::WatchEvent;
use scrubjay_watch::facts::MediaKind;

const AHCI: &str = "pci0000:00/0000:00:17.0";

fn ata(port: u32) -> String {
    let host = port - 1;
    format!("{AHCI}/ata{port}/host{host}/target{host}:0:0/{host}:0:0:0")
}

/// Four SATA disks behind one AHCI, two NVMe disks, a disk behind a USB bridge, a CD, a card reader, a loop device, memory.
fn machine() -> MachineFiles {
    let machine = MachineFiles::new();
    for (port, name) in [(1, "sda"), (2, "sdb"), (3, "sdc"), (4, "sdd")] {
        machine.disk(name, &ata(port));
        machine.set(name, "device/vendor", "ATA     ");
        machine.set(name, "device/model", "ST16000NM001G-2K");
        machine.set(name, "device/wwid", &format!("naa.5000c500a1b2c3d{port}"));
        machine.set(name, "device/vpd_pg80", &format!("\0\u{1}\0\u{8}ZL2ABCD{port}"));
    }
    for (index, slot) in [(0, "01"), (1, "02")] {
        let device = format!("pci0000:00/0000:00:1d.0/0000:{slot}:00.0/nvme/nvme{index}");
        let name = format!("nvme{index}n1");
        let folder = format!("sys/devices/{device}/{name}");
        machine.file(&format!("{folder}/size"), "2000");
        machine.file(&format!("{folder}/queue/rotational"), "0");
        machine.file(&format!("{folder}/wwid"), &format!("eui.002538b511b0d0c{index}"));
        machine.link(&format!("{folder}/device"), "..");
        machine.link(&format!("sys/block/{name}"), &format!("../devices/{device}/{name}"));
        machine.set(&name, "device/serial", &format!("S4EWNX0N{index}     "));
        machine.set(&name, "device/model", "Samsung SSD 970");
    }
    machine.disk("sde", "pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:0");
    machine.set("sde", "device/vendor", "ASMT");
    machine.set("sde", "device/model", "2115");
    machine.set("sde", "dev", "8:64");
    machine.file("run/udev/data/b8:64", "E:ID_BUS=usb\nE:ID_SERIAL_SHORT=000000000000");
    machine.disk("sr0", &ata(5));
    machine.disk("mmcblk0", "platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:0001");
    for (attribute, text) in
        [("queue/rotational", "0"), ("device/name", "BJTD4R"), ("device/type", "MMC"), ("device/serial", "0x5d2e0f8a")]
    {
        machine.set("mmcblk0", attribute, text);
    }
    machine.disk("mmcblk0boot0", "platform/soc/fe340000.mmc/mmc_host/mmc0/mmc0:0001");
    machine.disk("sdf", "pci0000:00/0000:00:14.0/usb2/2-2/2-2:1.0/host7/target7:0:0/7:0:0:0");
    machine.set("sdf", "removable", "1");
    for name in ["loop0", "ram0", "zram0", "dm-0", "nbd0"] {
        machine.file(&format!("sys/devices/virtual/block/{name}/size"), "8000");
        machine.link(&format!("sys/block/{name}"), &format!("../devices/virtual/block/{name}"));
    }
    machine.file("sys/devices/virtual/block/loop0/loop/backing_file", "/srv/image");
    machine
}

fn look(machine: &MachineFiles) -> HostSurvey {
    survey(&machine.root(), &[])
}

fn disk<'s>(survey: &'s HostSurvey, name: &str) -> &'s SeenDisk {
    survey.disks.iter().find(|disk| disk.facts.name == name).expect(name)
}

#[test]
fn hardware_is_seen_with_its_identity_and_its_controller() {
    let seen = look(&machine());
    let names: Vec<&str> = seen.disks.iter().map(|disk| disk.facts.name.as_str()).collect();
    assert_eq!(names, ["mmcblk0", "nvme0n1", "nvme1n1", "sda", "sdb", "sdc", "sdd", "sde"]);
    let sdb = disk(&seen, "sdb");
    assert_eq!((sdb.facts.key.0.as_str(), sdb.serial.as_deref()), ("5000c500a1b2c3d2", Some("ZL2ABCD2")));
    assert_eq!((sdb.facts.model.as_str(), sdb.facts.media), ("ST16000NM001G-2K", MediaKind::Spinning));
    assert_eq!((sdb.facts.controller.as_deref(), sdb.device.to_str()), (Some("0000:00:17.0"), Some("/dev/sdb")));
    let nvme = disk(&seen, "nvme1n1");
    assert_eq!((nvme.facts.key.0.as_str(), nvme.serial.as_deref()), ("eui.002538b511b0d0c1", Some("S4EWNX0N1")));
    assert_eq!((nvme.facts.controller.clone(), nvme.facts.media), (None, MediaKind::Flash), "it shares nothing");
    let card = disk(&seen, "mmcblk0");
    assert_eq!((card.facts.model.as_str(), card.serial.as_deref()), ("eMMC BJTD4R", Some("0x5d2e0f8a")));
    assert_eq!((card.facts.media, card.facts.controller.as_deref()), (MediaKind::Flash, None));
    let usb = disk(&seen, "sde");
    assert_eq!(usb.facts.key.0, "at 0000:00:14.0 usb 2-1:1.0 scsi 0:0:0", "zeros are no serial number");
    assert_eq!((usb.serial.clone(), usb.facts.model.as_str()), (None, "ASMT 2115"));
    assert_eq!((seen.warnings.len(), seen.is_on_battery, seen.arrays.len()), (0, false, 0), "{:?}", seen.warnings);
}

#[test]
fn a_device_that_the_user_names_is_watched_whatever_its_kind() {
    let machine = machine();
    machine.link("dev/disk/by-id/card", "../../sdf");
    machine.file("dev/sdf", "");
    let also = ["/dev/loop0", "/dev/disk/by-id/card", "/dev/loop9"].map(PathBuf::from);
    let seen = survey(&machine.root(), &also);
    assert_eq!(disk(&seen, "loop0").facts.key.0, "at loop on /srv/image");
    assert_eq!(disk(&seen, "loop0").facts.model, "/srv/image");
    assert_eq!(disk(&seen, "sdf").facts.sectors, 1000);
    assert_eq!(disk(&seen, "sdf").facts.controller.as_deref(), Some("0000:00:14.0"), "with sde");
    assert_eq!(seen.warnings, ["/dev/loop9 is to be watched, but there is no such disk now"]);
    machine.set("loop0", "size", "0");
    assert!(survey(&machine.root(), &also[..1]).disks.iter().all(|disk| disk.facts.name != "loop0"), "nothing in it");
}

const GIVEN_UP: &str = "is offline: the kernel has given it up; look at its cable and power, then at `dmesg`";

#[test]
fn a_disk_that_the_kernel_took_offline_is_absent_and_a_warning_says_why() {
    let machine = machine();
    let before = look(&machine);
    // What waits for a while is present, and so is a disk of a bus with other words.
    for (name, states) in [
        ("sdb", ["running", "blocked", "created-blocked", "quiesce"]),
        ("nvme0n1", ["live", "resetting", "connecting", "Connected"]),
    ] {
        for state in states {
            machine.set(name, "device/state", state);
            assert_eq!(look(&machine), before, "{name} {state}");
        }
    }
    for state in ["offline", "transport-offline"] {
        machine.set("sdb", "device/state", state);
        let seen = look(&machine);
        assert_eq!(changes(&before, &seen), [WatchEvent::DiskGone("sdb".into())], "{state}");
        assert_eq!(seen.warnings, [format!("sdb {GIVEN_UP}")]);
        let meant =
            |name: &str| seen.disks_meant(|disk| disk.facts.name == name).into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(meant("sdb"), [disk(&before, "sdb").clone()], "it is found by its bay and its label");
        assert_eq!(meant("sda"), [disk(&before, "sda").clone()]);
        let requested = survey(&machine.root(), &["/dev/sdb".into()]);
        assert_eq!((requested.disks, requested.warnings), (seen.disks, seen.warnings), "it is there, only not working");
    }
    machine.set("sdb", "device/state", "running");
    assert_eq!(look(&machine), before);
}

#[test]
fn a_path_that_works_stands_for_a_disk_with_one_that_was_given_up() {
    let machine = MachineFiles::new();
    let paths = "sys/devices/virtual/block/dm-0";
    for (name, host) in [("sda", 1), ("sdb", 2)] {
        machine.disk(name, &format!("pci0000:00/0000:0{host}:00.0/host{host}/target{host}:0:0/{host}:0:0:0"));
        machine.set(name, "device/wwid", "naa.5000cca0aaaa1111");
        machine.set(name, "device/serial", "K1X1");
        machine.link(&format!("{paths}/slaves/{name}"), &format!("/sys/block/{name}"));
    }
    machine.file(&format!("{paths}/dm/uuid"), "mpath-35000cca0aaaa1111");
    machine.link("sys/block/dm-0", "../devices/virtual/block/dm-0");
    machine.md("md1", "raid1", 0, &[("dm-0", "0", "in_sync"), ("sda", "1", "in_sync")]);
    machine.remove("sys/devices/virtual/block/md1/md/dev-dm-0/block");
    machine.link("sys/devices/virtual/block/md1/md/dev-dm-0/block", "/sys/block/dm-0");
    let members = |seen: &HostSurvey| {
        let members = seen.arrays[0].members.iter();
        members.map(|member| (member.disk.clone(), member.is_in_sync)).collect::<Vec<_>>()
    };
    let on = |disk: &str| (Some(disk.to_owned()), true);
    assert_eq!(members(&look(&machine)), [on("sda"), on("sda")]);
    machine.set("sda", "device/state", "offline");
    let seen = look(&machine);
    assert_eq!((seen.disks.len(), disk(&seen, "sdb").facts.key.0.as_str()), (1, "5000cca0aaaa1111"));
    let words = "sda is another path to sdb: it is read by the first path";
    assert_eq!(seen.warnings, [words.to_owned(), format!("sda {GIVEN_UP}")]);
    assert_eq!(members(&seen), [on("sdb"), (None, false)], "what uses that path alone is without its disk");
    machine.set("sdb", "device/state", "offline");
    let seen = look(&machine);
    assert_eq!((seen.disks.len(), seen.offline.len()), (0, 1));
    assert_eq!(members(&seen), [(None, false), (None, false)]);
}

#[test]
fn two_paths_are_one_disk_and_twins_are_two() {
    let machine = MachineFiles::new();
    let sas =
        |host: u32, unit: u32| format!("pci0000:00/0000:0{host}:00.0/host{host}/target{host}:0:0/{host}:0:{unit}:0");
    for (name, host, unit, serial) in [("sda", 1, 0, "K1X1"), ("sdb", 1, 1, "K1X2"), ("sdc", 2, 0, "K1X1")] {
        machine.disk(name, &sas(host, unit));
        machine.set(name, "device/wwid", &format!("naa.5000cca0{serial:0>8}").replace(['K', 'X'], "a"));
        machine.set(name, "device/serial", serial);
    }
    machine.md("md1", "raid1", 0, &[("sdc", "0", "in_sync"), ("sdb", "1", "in_sync")]);
    let seen = look(&machine);
    assert_eq!(seen.disks.len(), 2);
    assert_eq!(seen.warnings, ["sdc is another path to sda: it is read by the first path"]);
    assert_eq!(seen.arrays[0].members[0].disk.as_deref(), Some("sda"), "arrays know it by the path that is kept");
    // Two disks in a bridge that gives both the same names are not two paths; nor are two with one WWN and two serial
    // numbers.
    let machine = MachineFiles::new();
    for unit in 0..2 {
        let name = ["sda", "sdb"][unit];
        machine.disk(name, &format!("pci0000:00/0000:00:14.0/usb2/2-1/2-1:1.0/host6/target6:0:0/6:0:0:{unit}"));
        machine.set(name, "device/wwid", "naa.5000cca0aaaa1111");
        machine.set(name, "device/serial", "20170331000DA");
    }
    let twins = look(&machine);
    assert_eq!((twins.disks.len(), twins.warnings.len()), (2, 1));
    assert!(twins.warnings[0].starts_with("sda and sdb say that they are 5000cca0aaaa1111"), "{:?}", twins.warnings);
    machine.set("sdb", "device/serial", "20170331000DB");
    let distinct = look(&machine);
    assert_eq!(disk(&distinct, "sda").facts.key.0, "20170331000DA");
    assert_eq!(disk(&distinct, "sdb").facts.key.0, "20170331000DB");
}

#[test]
fn an_nvme_namespace_with_two_controllers_is_one_disk() {
    let machine = MachineFiles::new();
    let subsystem = "sys/devices/virtual/nvme-subsystem/nvme-subsys0";
    machine.file(&format!("{subsystem}/nvme0n1/size"), "4000");
    machine.file(&format!("{subsystem}/nvme0n1/wwid"), "eui.0011223344556677");
    machine.file(&format!("{subsystem}/serial"), "S1");
    machine.link(&format!("{subsystem}/nvme0n1/device"), "..");
    machine.link("sys/block/nvme0n1", "../devices/virtual/nvme-subsystem/nvme-subsys0/nvme0n1");
    for (number, slot) in [(0, "01"), (1, "02")] {
        let controller = format!("sys/devices/pci0000:00/0000:{slot}:00.0/nvme/nvme{number}");
        machine.link(&format!("{subsystem}/nvme{number}"), &format!("/{controller}"));
        machine.file(&format!("{controller}/nvme0c{number}n1/size"), "4000");
        machine.file(&format!("{controller}/nvme0c{number}n1/hidden"), "1");
        machine.link(&format!("{controller}/nvme0c{number}n1/device"), "..");
        machine.link(&format!("sys/block/nvme0c{number}n1"), &format!("/{controller}/nvme0c{number}n1"));
    }
    let seen = look(&machine);
    assert_eq!((seen.disks.len(), seen.disks[0].facts.key.0.as_str()), (1, "eui.0011223344556677"));
    machine.disk("sda", "pci0000:00/0000:01:00.0/host0/target0:0:0/0:0:0:0");
    assert_eq!(disk(&look(&machine), "nvme0n1").facts.controller.as_deref(), Some("0000:01:00.0"), "the first path's");
}

#[test]
fn bays_are_those_of_the_enclosure_and_their_lights_are_found() {
    let machine = machine();
    let bay = |enclosure: &str, slot: &str, port: u32| {
        machine.link(&format!("sys/class/enclosure/{enclosure}/{slot}/device"), &format!("/sys/devices/{}", ata(port)));
        machine.file(&format!("sys/class/enclosure/{enclosure}/{slot}/locate"), "0");
    };
    bay("0:0:12:0", "Slot 07", 2);
    machine.file("sys/class/enclosure/0:0:12:0/id", "0x500304801f0b2d3f");
    machine.file("sys/class/enclosure/0:0:12:0/Slot 08/locate", "0");
    let seen = look(&machine);
    assert_eq!(disk(&seen, "sdb").facts.bay.as_deref(), Some("07"));
    assert_eq!(disk(&seen, "sda").facts.bay, None);
    let light = disk(&seen, "sdb").locate.clone().unwrap();
    super::super::bays::locate(&light, true).unwrap();
    assert_eq!(std::fs::read_to_string(light).unwrap(), "1\n");
    // Bays 7 of two enclosures are different bays.
    bay("1:0:12:0", "Slot 07", 3);
    let seen = look(&machine);
    assert_eq!(disk(&seen, "sdb").facts.bay.as_deref(), Some("07 of enclosure 2d3f"));
    assert_eq!(disk(&seen, "sdc").facts.bay.as_deref(), Some("07 of enclosure 1:0:12:0"));
}

#[test]
fn only_the_machines_own_batteries_count() {
    let machine = MachineFiles::new();
    let set =
        |supply: &str, file: &str, text: &str| machine.file(&format!("sys/class/power_supply/{supply}/{file}"), text);
    let is_on_battery = || look(&machine).is_on_battery;
    set("hid", "type", "Battery");
    set("hid", "scope", "Device");
    set("hid", "status", "Discharging");
    assert!(!is_on_battery());
    set("BAT0", "type", "Battery");
    set("BAT0", "status", "Discharging");
    set("AC", "type", "Mains");
    set("AC", "online", "1");
    assert!(!is_on_battery(), "some batteries are calibrated");
    set("AC", "online", "0");
    assert!(is_on_battery());
    set("BAT0", "status", "Charging");
    assert!(!is_on_battery());
}

mod arrays;
