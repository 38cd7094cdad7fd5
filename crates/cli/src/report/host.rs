//! What the kernel says of the machine: itself, controllers, queues of disks; and the names that people gave it.

use crate::bench::machine::{HostMachine, total_memory};
use scrubjay_jobs::report::{Pseudonyms, SecretKind};
use serde_json::{Map, Value, json};
use std::fs;
use std::path::{Path, PathBuf};

/// User numbers of people.
const PEOPLE: std::ops::Range<u32> = 1000..60_000;

/// Files of a disk below `/sys/block/NAME`, each under the last part of its name.
const BLOCK_FILES: [&str; 17] = [
    "size",
    "removable",
    "queue/rotational",
    "queue/scheduler",
    "queue/nr_requests",
    "queue/logical_block_size",
    "queue/physical_block_size",
    "queue/max_sectors_kb",
    "queue/write_cache",
    "queue/discard_max_bytes",
    "queue/zoned",
    "device/model",
    "device/vendor",
    "device/state",
    "device/timeout",
    "device/queue_depth",
    "device/firmware_rev",
];

/// Notes the names of host and people: they are replaced wherever they stand.
pub fn note_names(names: &mut Pseudonyms) {
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    // A full name's first part is the host's as well.
    host.split('.').take(1).chain([host.as_str()]).for_each(|name| names.note(SecretKind::Host, name));
    for line in text_of(Path::new("/etc/passwd")).unwrap_or_default().lines() {
        let fields: Vec<&str> = line.split(':').collect();
        let [user, _, number, _, full, home, ..] = fields[..] else { continue };
        if number.parse().is_ok_and(|number| PEOPLE.contains(&number)) {
            names.note(SecretKind::Name, user);
            full.split([',', ' ']).for_each(|part| names.note(SecretKind::Name, part));
            names.note(SecretKind::Path, home);
        }
    }
}

/// Kernel, distribution, processor, memory.
pub fn machine() -> Value {
    let kernel = rustix::system::uname();
    let release = text_of(Path::new("/etc/os-release")).unwrap_or_default();
    let system = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    json!({
        "kernel": kernel.release().to_string_lossy(),
        "architecture": kernel.machine().to_string_lossy(),
        "page_bytes": rustix::param::page_size(),
        "system": system.map(|name| name.trim_matches('"')),
        "machine": HostMachine::read(),
        "memory_bytes": total_memory(),
        "is_container": Path::new("/.dockerenv").exists() || Path::new("/run/.containerenv").exists(),
        "mdstat": text_of(Path::new("/proc/mdstat")),
    })
}

/// The storage controllers on PCI, and the drivers of SCSI hosts.
pub fn controllers() -> Value {
    let pci = entries("/sys/bus/pci/devices").into_iter().filter_map(|path| {
        let class = text_of(&path.join("class")).filter(|class| class.starts_with("0x01"))?;
        let about = |file: &str| text_of(&path.join(file));
        Some(json!({
            "class": class, "vendor": about("vendor"), "device": about("device"),
            "subsystem": [about("subsystem_vendor"), about("subsystem_device")],
            "driver": name_of_link(&path.join("driver")),
        }))
    });
    let hosts = entries("/sys/class/scsi_host").into_iter().filter_map(|path| text_of(&path.join("proc_name")));
    json!({"pci": pci.collect::<Vec<_>>(), "scsi_hosts": hosts.collect::<Vec<_>>()})
}

/// The block devices that are in use, with their queues.
pub fn blocks() -> Value {
    let in_use =
        entries("/sys/block").into_iter().filter(|path| text_of(&path.join("size")).is_some_and(|size| size != "0"));
    let blocks = in_use.filter_map(|path| {
        let name = path.file_name()?.to_string_lossy().into_owned();
        Some((name, block(&path)))
    });
    Value::Object(blocks.filter(|(name, _)| !name.starts_with("ram")).collect())
}

fn block(path: &Path) -> Value {
    let mut about: Map<String, Value> = BLOCK_FILES
        .iter()
        .filter_map(|file| Some((file.rsplit('/').next()?.to_owned(), json!(text_of(&path.join(file))?))))
        .collect();
    for links in ["holders", "slaves"] {
        let names = entries(path.join(links))
            .into_iter()
            .filter_map(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
        about.insert(links.to_owned(), json!(names.collect::<Vec<_>>()));
    }
    about.insert("usb".to_owned(), json!(usb_bridge(path)));
    about.insert("driver".to_owned(), json!(name_of_link(&path.join("device/driver"))));
    Value::Object(about)
}

/// Vendor and product of the USB device that the disk is behind.
fn usb_bridge(path: &Path) -> Option<String> {
    let place = fs::canonicalize(path.join("device")).ok()?;
    let vendor = |folder: &&Path| folder.join("idVendor").exists();
    let bridge = place.ancestors().find(vendor)?;
    Some(format!("{}:{}", text_of(&bridge.join("idVendor"))?, text_of(&bridge.join("idProduct"))?))
}

/// The entries of a folder, in order; none if there is no such folder.
fn entries(folder: impl AsRef<Path>) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.sort();
    paths
}

fn text_of(path: &Path) -> Option<String> {
    let text = String::from_utf8_lossy(&fs::read(path).ok()?).trim().to_owned();
    (!text.is_empty()).then_some(text)
}

fn name_of_link(path: &Path) -> Option<String> {
    Some(fs::read_link(path).ok()?.file_name()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_says_which_kernel_it_runs_and_not_its_name() {
        let machine = machine();
        assert!(machine["kernel"].as_str().is_some_and(|kernel| kernel.contains('.')), "{machine}");
        assert!(machine["page_bytes"].as_u64() >= Some(4096));
    }

    #[test]
    fn a_block_device_has_its_queue_and_what_lies_on_it() {
        let folder = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("size", "4096\n");
        write("queue/scheduler", "[none] mq-deadline\n");
        write("holders/md0", "");
        let about = block(folder.path());
        assert_eq!((&about["size"], &about["scheduler"]), (&json!("4096"), &json!("[none] mq-deadline")));
        assert_eq!((&about["holders"], &about["usb"]), (&json!(["md0"]), &Value::Null));
    }
}
