//! Machines for tests, made of files: a folder that stands for `/`.

use super::root::SystemRoot;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// The root folder of a machine.
pub struct MachineFiles(tempfile::TempDir);

impl MachineFiles {
    /// An empty machine.
    pub fn new() -> MachineFiles {
        let machine = MachineFiles(tempfile::tempdir().unwrap());
        fs::create_dir_all(machine.0.path().join("sys/block")).unwrap();
        machine
    }

    /// A machine that was recorded by `tests/fixtures/record-tree.sh`.
    pub fn recorded(text: &str) -> MachineFiles {
        let machine = MachineFiles::new();
        for line in text.lines() {
            match line.splitn(3, ' ').collect::<Vec<_>>()[..] {
                ["link", path, target] => machine.link(path, target),
                ["file", path, text] => machine.file(path, &text.replace("\\n", "\n")),
                ["file", path] => machine.file(path, ""),
                ["hex", path, digits] => fs::write(machine.place(path), bytes(digits)).unwrap(),
                _ => assert!(line.starts_with('#') || line.is_empty(), "{line}"),
            }
        }
        machine
    }

    pub fn root(&self) -> SystemRoot {
        SystemRoot::below(self.0.path())
    }

    fn place(&self, path: &str) -> std::path::PathBuf {
        let place = self.0.path().join(path.trim_start_matches('/'));
        fs::create_dir_all(place.parent().unwrap()).unwrap();
        place
    }

    pub fn file(&self, path: &str, text: &str) {
        fs::write(self.place(path), format!("{text}\n")).unwrap();
    }

    pub fn link(&self, path: &str, target: &str) {
        symlink(target, self.place(path)).unwrap();
    }

    pub fn remove(&self, path: &str) {
        let place = self.place(path);
        if place.is_dir() && !place.is_symlink() { fs::remove_dir_all(place) } else { fs::remove_file(place) }.unwrap();
    }

    /// Adds a disk of 1000 sectors whose device has this path below `/sys/devices`.
    pub fn disk(&self, name: &str, device: &str) {
        let folder = format!("sys/devices/{device}/block/{name}");
        self.file(&format!("{folder}/size"), "1000");
        self.file(&format!("{folder}/removable"), "0");
        self.file(&format!("{folder}/queue/rotational"), "1");
        self.link(&format!("{folder}/device"), "../..");
        self.link(&format!("sys/block/{name}"), &format!("../devices/{device}/block/{name}"));
    }

    /// Sets an attribute of a disk, or of its device (`device/serial`).
    pub fn set(&self, name: &str, attribute: &str, text: &str) {
        let folder = self.root().resolve(&Path::new("/sys/block").join(name)).unwrap();
        self.file(&folder.join(attribute).to_string_lossy(), text);
    }

    /// Adds a partition.
    pub fn partition(&self, disk: &str, number: u32, start: u64) {
        self.set(disk, &format!("{disk}{number}/partition"), &number.to_string());
        self.set(disk, &format!("{disk}{number}/start"), &start.to_string());
    }

    /// Adds an array of md with these members: `sda` or `sda1`, slot, state.
    pub fn md(&self, name: &str, level: &str, layout: u64, members: &[(&str, &str, &str)]) {
        let folder = format!("sys/devices/virtual/block/{name}/md");
        let places = members.len().to_string();
        for (file, text) in [
            ("level", level),
            ("raid_disks", &places),
            ("layout", &layout.to_string()),
            ("chunk_size", "65536"),
            ("sync_action", "idle"),
            ("array_state", "clean"),
            ("reshape_position", "none"),
            ("uuid", &format!("10000000-0000-0000-0000-{:0>12}", name.trim_start_matches("md"))),
        ] {
            self.file(&format!("{folder}/{file}"), text);
        }
        self.link(&format!("sys/block/{name}"), &format!("../devices/virtual/block/{name}"));
        for (device, slot, state) in members.iter().filter(|(device, ..)| !device.is_empty()) {
            let device_folder = format!("{folder}/dev-{device}");
            for (file, text) in [("slot", *slot), ("state", *state), ("offset", "2048"), ("size", "500")] {
                self.file(&format!("{device_folder}/{file}"), text);
            }
            let disk = device.trim_end_matches(|c: char| c.is_ascii_digit());
            let below = if disk == *device { disk.to_owned() } else { format!("{disk}/{device}") };
            self.link(&format!("{device_folder}/block"), &format!("/sys/block/{below}"));
        }
    }
}

/// Bytes from hexadecimal digits: `4a4b` is `JK`.
fn bytes(digits: &str) -> Vec<u8> {
    (0..digits.len() / 2).map(|at| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap()).collect()
}
