//! Which block devices have a mounted file system: a disk that goes while it has one was not taken out in order.

use super::root::SystemRoot;
use std::collections::BTreeSet;
use std::path::Path;

/// The names below `/dev` of mounted devices, such as `sda2`. What lies between (LVM, encryption) is not seen through.
pub fn mounted(root: &SystemRoot) -> BTreeSet<String> {
    // The real path of a process's own folder has its number.
    sources(&root.text(Path::new("/proc/self/mountinfo")).unwrap_or_default())
}

/// The same of a list of mounts (proc_pid_mountinfo(5)).
fn sources(mounts: &str) -> BTreeSet<String> {
    let source = |line: &str| Some(line.split_once(" - ")?.1.split(' ').nth(1)?.strip_prefix("/dev/")?.to_owned());
    mounts.lines().filter_map(source).collect()
}

/// Is one of these devices the disk of this name, or a part of it?
pub fn has_any_of(devices: &BTreeSet<String>, disk: &str) -> bool {
    devices.iter().any(|device| is_of(device, disk))
}

fn is_of(device: &str, disk: &str) -> bool {
    let Some(rest) = device.strip_prefix(disk) else { return false };
    // After a digit there is a "p": nvme0n1p2, but sda2.
    let part = if disk.ends_with(|last: char| last.is_ascii_digit()) { rest.strip_prefix('p') } else { Some(rest) };
    rest.is_empty() || part.is_some_and(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_mounted_by_itself_or_by_a_part() {
        let mounts = "22 27 0:20 / /sys rw,nosuid shared:7 - sysfs sysfs rw\n\
                      90 27 8:18 / /srv/data rw,relatime shared:50 - ext4 /dev/sdb2 rw\n\
                      91 27 259:1 / /boot rw - vfat /dev/nvme0n1p1 rw,fmask=0022\n\
                      92 27 8:32 / /mnt/a\\040b rw - xfs /dev/sdc rw\n";
        let devices = sources(mounts);
        for name in ["sdb", "nvme0n1", "sdc"] {
            assert!(has_any_of(&devices, name), "{name}");
        }
        for name in ["sd", "sda", "sdb2x", "nvme0n", "sdbx", ""] {
            assert!(!has_any_of(&devices, name), "{name}");
        }
    }
}
