//! Which disks are behind a part of a path in sysfs: a link, a port, a controller.

use super::root::SystemRoot;
use std::path::Path;

/// Of these disks, by their names, those with this part in their path: `ata3`, `2-1.4`, `nvme0`, `6:0:0:0`.
pub fn behind<'a>(root: &SystemRoot, disks: impl Iterator<Item = &'a str>, part: &str) -> Vec<String> {
    let is_behind = |name: &&str| {
        let path = root.resolve(&Path::new("/sys/block").join(name));
        let is_below = path.is_some_and(|path| path.components().any(|component| component.as_os_str() == part));
        // A namespace that several controllers may serve lies below none of them.
        is_below || part.starts_with("nvme") && name.strip_prefix(part).is_some_and(|rest| rest.starts_with('n'))
    };
    disks.filter(is_behind).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::super::fixture::MachineFiles;
    use super::*;

    #[test]
    fn a_link_has_its_disks() {
        let machine = MachineFiles::new();
        machine.disk("sda", "pci0000:00/0000:00:17.0/ata1/host0/target0:0:0/0:0:0:0");
        machine.disk("sdb", "pci0000:00/0000:00:17.0/ata11/host1/target1:0:0/1:0:0:0");
        machine.disk("sdc", "pci0000:00/0000:00:14.0/usb2/2-1/2-1.4/2-1.4:1.0/host2/target2:0:0/2:0:0:0");
        let names = ["sda", "sdb", "sdc", "nvme0n1", "nvme01n1"];
        let of = |part: &str| behind(&machine.root(), names.into_iter(), part);
        assert_eq!(of("ata1"), ["sda"]);
        assert_eq!(of("ata11"), ["sdb"]);
        assert_eq!(of("2-1.4"), ["sdc"]);
        assert_eq!(of("2-1"), ["sdc"], "a hub");
        assert_eq!(of("1:0:0:0"), ["sdb"]);
        assert_eq!(of("nvme0"), ["nvme0n1"]);
        assert_eq!(of("ata2"), [""; 0]);
    }
}
