//! SD cards and eMMC: their names, and what an eMMC says about its wear, from the kernel's files. No command is sent to them.
//!
//! smartctl knows neither. An eMMC of version 5.0 or later has three bytes (JESD84-B50, 7.4, EXT_CSD 267 to 269), which the kernel
//! shows: `pre_eol_info` (reserved blocks: 1 normal, 2 80 % used up, 3 90 %), and `life_time` (two kinds of cells: 1 is at most 10 %
//! of the endurance, 10 is 90 to 100 %, 11 is more). SD cards say nothing.

use crate::discovery::root::SystemRoot;
use crate::smartctl::obstacle::SmartObstacle;
use crate::smartctl::parse::SmartctlAnswer;
use scrubjay_watch::facts::{SmartFacts, SpareBlocks};
use std::path::Path;

/// Is this the kernel's name of a whole card or eMMC (`mmcblk0`)? Its boot areas (`mmcblk0boot0`) are devices of their own, which the
/// card's reads do not reach: they are small, and no file lies there.
pub fn is_mmc(name: &str) -> bool {
    let number = name.strip_prefix("mmcblk").unwrap_or_default();
    !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit())
}

/// Is this one of its other areas?
pub fn is_mmc_area(name: &str) -> bool {
    name.starts_with("mmcblk") && !is_mmc(name)
}

/// Does a card or eMMC belong to the machine? An eMMC is soldered in. A card in a slot belongs to it if the machine lives on it (`/` or
/// `/boot` lies there); others come from cameras, and nobody is to be told when they are taken out. (`removable` is 0 for all.)
pub fn is_of_the_machine(root: &SystemRoot, folder: &Path) -> bool {
    if root.text(&folder.join("device/type")).as_deref() == Some("MMC") {
        return true;
    }
    let number = |folder: &Path| root.text(&folder.join("dev"));
    let parts = root.names(folder).into_iter().filter(|name| name.starts_with("mmcblk"));
    let numbers: Vec<String> = parts.filter_map(|part| number(&folder.join(part))).chain(number(folder)).collect();
    let mounts = root.text(Path::new("/proc/self/mountinfo")).unwrap_or_default();
    mounts.lines().any(|line| {
        let words: Vec<&str> = line.split(' ').collect();
        let [_, _, device, _, place, ..] = words[..] else { return false };
        ["/", "/boot", "/boot/firmware"].contains(&place) && numbers.iter().any(|number| number == device)
    })
}

/// What it is called: `SD card SC64G`. `folder` is its folder in `/sys/block`.
pub fn model(root: &SystemRoot, folder: &Path) -> Option<String> {
    let name = root.text(&folder.join("device/name"))?;
    let kind = match root.text(&folder.join("device/type")).as_deref() {
        Some("MMC") => "eMMC",
        _ => "SD card",
    };
    Some(format!("{kind} {name}"))
}

/// What the device at `path` says about itself, if it is a card or an eMMC.
pub fn read(root: &SystemRoot, path: &Path) -> Option<SmartctlAnswer> {
    let path = root.resolve(path)?;
    let name = path.file_name()?.to_str().filter(|name| is_mmc(name))?;
    let device = Path::new("/sys/block").join(name).join("device");
    let bytes = |file: &str| -> Vec<u8> {
        let text = root.text(&device.join(file)).unwrap_or_default();
        let parse = |word: &str| u8::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        text.split_whitespace().filter_map(parse).collect()
    };
    // 0 is "not defined", and so is all above what the standard names.
    let life_time = bytes("life_time").into_iter().filter(|life| (1..=11).contains(life)).max();
    let reserve = bytes("pre_eol_info").first().copied().filter(|state| (1..=3).contains(state));
    if life_time.is_none() && reserve.is_none() {
        return Some(SmartctlAnswer::refused(SmartObstacle::NotSupported));
    }
    let facts = SmartFacts {
        passed: reserve.map(|_| true),
        used: life_time.map(|life| (life - 1) * 10),
        spare: reserve.filter(|state| *state > 1).map(|state| SpareBlocks { left: 40 - 10 * state, threshold: 20 }),
        ..SmartFacts::default()
    };
    Some(SmartctlAnswer { outcome: Ok(facts), ..SmartctlAnswer::refused(SmartObstacle::NotSupported) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::fixture::MachineFiles;

    fn facts(life_time: &str, reserve: &str) -> Result<SmartFacts, SmartObstacle> {
        let machine = MachineFiles::new();
        machine.disk("mmcblk0", "platform/mmc/mmc0:0001");
        machine.file("dev/mmcblk0", "");
        machine.set("mmcblk0", "device/life_time", life_time);
        machine.set("mmcblk0", "device/pre_eol_info", reserve);
        read(&machine.root(), Path::new("/dev/mmcblk0")).unwrap().outcome
    }

    #[test]
    fn wear_is_what_the_standard_says_it_is_at_least() {
        let used = |life_time: &str| facts(life_time, "0x01").unwrap().used;
        assert_eq!(used("0x01 0x01"), Some(0));
        assert_eq!(used("0x02 0x0a"), Some(90), "the kind of cells that is worn more");
        assert_eq!(used("0x0b 0x01"), Some(100));
        assert_eq!(used("0x00 0x00"), None);
    }

    #[test]
    fn reserved_blocks_that_are_used_up_are_told() {
        let spare = |reserve: &str| facts("0x01 0x01", reserve).unwrap().spare.map(|spare| spare.left);
        assert_eq!((spare("0x01"), spare("0x02"), spare("0x03"), spare("0x00")), (None, Some(20), Some(10), None));
    }

    #[test]
    fn what_says_nothing_is_not_called_well() {
        assert_eq!(facts("0x00 0x00", "0x00"), Err(SmartObstacle::NotSupported));
        assert_eq!(facts("", ""), Err(SmartObstacle::NotSupported));
    }

    #[test]
    fn a_card_from_a_camera_is_no_disk_of_the_machine_and_the_one_that_it_lives_on_is() {
        let machine = MachineFiles::new();
        machine.disk("mmcblk0", "platform/mmc/mmc0:0001");
        machine.set("mmcblk0", "device/type", "SD");
        machine.set("mmcblk0", "mmcblk0p2/dev", "179:2");
        let is_own = || is_of_the_machine(&machine.root(), Path::new("/sys/block/mmcblk0"));
        assert!(!is_own());
        machine.file(
            "proc/self/mountinfo",
            "30 1 8:2 / / rw - ext4 /dev/root rw\n31 30 179:2 / /media/camera rw - vfat x rw\n",
        );
        assert!(!is_own());
        machine.file("proc/self/mountinfo", "30 1 179:2 / / rw,noatime shared:1 - ext4 /dev/root rw\n");
        assert!(is_own());
        machine.set("mmcblk0", "device/type", "MMC");
        machine.file("proc/self/mountinfo", "");
        assert!(is_own(), "an eMMC is soldered in");
    }

    #[test]
    fn areas_of_a_card_are_no_cards() {
        let names = ["mmcblk0", "mmcblk12", "mmcblk0boot0", "mmcblk0gp1", "mmcblk", "sda"];
        assert_eq!(names.map(is_mmc), [true, true, false, false, false, false]);
        assert_eq!(names.map(is_mmc_area), [false, false, true, true, true, false]);
    }
}
