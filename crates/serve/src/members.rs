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
    pub fn set(&mut self, member: MemberIndex, file: Option<MemberFile>) {
        if member.get() >= self.files.len() {
            self.files.resize_with(member.get() + 1, || None);
        }
        self.files[member.get()] = file;
    }

    /// The disk in a place.
    pub fn file(&self, member: MemberIndex) -> Option<&MemberFile> {
        self.files.get(member.get())?.as_ref()
    }
}
