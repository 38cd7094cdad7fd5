//! The disks of a volume's members, by their places: a table that may change while the volume is served.

use scrubjay_core::volume::member::MemberIndex;
use scrubjay_device::completion::MemberFile;

/// The table. Where no disk is, every operation ends with `DiskFault::Gone`.
#[derive(Debug, Default)]
pub struct MemberTable {
    files: Vec<Option<MemberFile>>,
}

impl MemberTable {
    /// Puts a disk in its place, or takes one out. Operations under way go on with the disk that they were begun on.
    pub fn set(&mut self, slot: MemberIndex, file: Option<MemberFile>) {
        if slot >= self.files.len() {
            self.files.resize_with(slot + 1, || None);
        }
        self.files[slot] = file;
    }

    /// The disk in a place.
    pub fn file(&self, slot: MemberIndex) -> Option<&MemberFile> {
        self.files.get(slot)?.as_ref()
    }
}
