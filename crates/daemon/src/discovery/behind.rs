//! Which disks are behind a part of a path in sysfs: a link, a port, a controller.

use super::root::SystemRoot;
use std::path::Path;

/// Of these disks, by their names, those with this part in their path: `ata3`, `nvme0`, `6:0:0:0`. None that is on USB, where bridges turn drives off
/// and on as they like.
pub fn behind<'a>(root: &SystemRoot, disks: impl Iterator<Item = &'a str>, part: &str) -> Vec<String> {
    let is_behind = |name: &&str| {
        let path = root.resolve(&Path::new("/sys/block").join(name));
        let parts: Vec<String> =
            path.iter().flat_map(|path| path.iter()).map(|part| part.to_string_lossy().into_owned()).collect();
        let is_on_usb = parts.iter().any(|part| part.strip_prefix("usb").is_some_and(|bus| bus.parse::<u32>().is_ok()));
        let is_below = !is_on_usb && parts.iter().any(|of| of == part);
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
        assert_eq!(of("2:0:0:0"), [""; 0], "on USB");
        assert_eq!(of("1:0:0:0"), ["sdb"]);
        assert_eq!(of("nvme0"), ["nvme0n1"]);
        assert_eq!(of("ata2"), [""; 0]);
    }
}
