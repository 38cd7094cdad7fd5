//! The disks of a volume's members, by member index: a table that may change while the volume is served.

use scrubjay_core::volume::member::MemberIndex;
use scrubjay_device::completion::MemberFile;

/// The disk of each member. Operations on a member without a disk end with `DiskFault::Gone`.
#[derive(Debug, Default)]
pub struct MemberTable {
    files: Vec<Option<MemberFile>>,
}

impl MemberTable {
    /// Sets a member's disk, or removes it. Operations under way go on with the disk that they were started on.
    pub fn set(&mut self, member: MemberIndex, file: Option<MemberFile>) {
        if member.get() >= self.files.len() {
            self.files.resize_with(member.get() + 1, || None);
        }
        self.files[member.get()] = file;
    }

    /// The disk of a member, if it has one.
    pub fn file(&self, member: MemberIndex) -> Option<&MemberFile> {
        self.files.get(member.get())?.as_ref()
    }
}
