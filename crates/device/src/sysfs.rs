//! Small readers of what `/sys` reports about a block device; no policy.

use std::path::{Path, PathBuf};
use std::{fs, io};

/// A whole disk as the kernel knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiskNode {
    /// Its name in `/sys/block`: `sda`, `nvme0n1`, `loop3`.
    pub name: String,
    /// Major device number.
    pub major: u32,
    /// Minor device number.
    pub minor: u32,
}

impl DiskNode {
    /// The whole disk that is, or contains as a partition, the block device `major:minor`.
    ///
    /// # Errors
    /// When the kernel knows no such block device.
    pub fn of_device(major: u32, minor: u32) -> io::Result<DiskNode> {
        let mut folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}"))?;
        if folder.join("partition").exists() {
            folder.pop();
        }
        DiskNode::of_folder(&folder)
    }

    /// The disk whose folder in `/sys` is `folder`.
    ///
    /// # Errors
    /// When the folder holds no readable `dev` file.
    pub fn of_folder(folder: &Path) -> io::Result<DiskNode> {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let dev = fs::read_to_string(folder.join("dev"))?;
        let (major, minor) = dev.trim().split_once(':').ok_or(io::ErrorKind::InvalidData)?;
        let number = |text: &str| text.parse().map_err(|_| io::Error::from(io::ErrorKind::InvalidData));
        Ok(DiskNode { name, major: number(major)?, minor: number(minor)? })
    }

    /// Its folder in `/sys/block`.
    pub fn folder(&self) -> PathBuf {
        Path::new("/sys/block").join(&self.name)
    }

    /// The trimmed text of one of its attributes, such as `queue/rotational`; `None` when absent or unreadable.
    pub fn attribute(&self, path: &str) -> Option<String> {
        attribute(&self.folder(), path)
    }

    /// The serial number, where the disk reports one: an attribute, or page 0x80 of SCSI's vital product data.
    pub fn serial(&self) -> Option<String> {
        serial(&self.folder())
    }

    /// Whether the disk exists and its driver still talks to it. A disk that was taken offline answers reads with the same
    /// error as a bad sector.
    pub fn is_alive(&self) -> bool {
        self.folder().exists() && self.attribute("device/state").is_none_or(|state| is_live_state(&state))
    }

    /// The value of a numeric attribute; `None` when absent or no number.
    pub fn number(&self, path: &str) -> Option<u64> {
        self.attribute(path)?.parse().ok()
    }
}

/// [`DiskNode::attribute`] of the disk with this folder.
pub(crate) fn attribute(folder: &Path, path: &str) -> Option<String> {
    let text = fs::read_to_string(folder.join(path)).ok()?;
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// [`DiskNode::serial`] of the disk with this folder.
pub(crate) fn serial(folder: &Path) -> Option<String> {
    let page = || fs::read(folder.join("device/vpd_pg80")).ok().and_then(|page| unit_serial(&page));
    attribute(folder, "serial").or_else(|| attribute(folder, "device/serial")).or_else(page)
}

/// The words of SCSI (`sdev_states`, drivers/scsi/scsi_sysfs.c) and of NVMe (`nvme_sysfs_show_state`, drivers/nvme/host) for a
/// device that is given up or being removed: its requests fail.
const DEAD_STATES: [&str; 7] =
    ["offline", "transport-offline", "cancel", "deleted", "deleting", "deleting (no IO)", "dead"];

/// Whether the driver of a device in this state (`device/state`) still talks to it. It does while requests wait: for a blocked
/// path, or for a controller that is reset. Other buses have words of their own (Xen: `Connected`), which are no bad news.
pub fn is_live_state(state: &str) -> bool {
    !DEAD_STATES.contains(&state)
}

/// The serial number in page 0x80 of SCSI's vital product data: four bytes of header, then text.
pub fn unit_serial(page: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(page.get(4..)?).into_owned();
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    (!text.is_empty()).then(|| text.to_owned())
}

/// The redundant md array (of any RAID level except 0) of which this disk or partition, or one of its partitions, is a member.
pub fn array_above(major: u32, minor: u32) -> Option<String> {
    let folder = fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    let names = |folder: &Path| -> Vec<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    let parts = names(&folder).into_iter().map(|name| folder.join(name)).filter(|part| part.join("partition").exists());
    let holders = parts.chain([folder.clone()]).flat_map(|part| names(&part.join("holders")));
    let is_redundant = |name: &String| {
        let level = fs::read_to_string(format!("/sys/block/{name}/md/level")).unwrap_or_default();
        level.starts_with("raid") && level.trim() != "raid0"
    };
    holders.into_iter().find(is_redundant)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_waits_is_alive_and_one_that_was_given_up_is_not() {
        let scsi = ["created", "running", "quiesce", "blocked", "created-blocked"];
        let nvme = ["new", "live", "resetting", "connecting"];
        for state in scsi.into_iter().chain(nvme).chain(["Connected", "Initialised"]) {
            assert!(is_live_state(state), "{state}");
        }
        for state in DEAD_STATES {
            assert!(!is_live_state(state), "{state}");
        }
    }
}
