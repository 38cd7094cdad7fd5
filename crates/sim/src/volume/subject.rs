//! What is tried: an array that a world can start on its disks, crash, and start again.

use super::disk::MemberDisk;
use super::setting::Setting;
use scrubjay_core::block::RequestId;
use scrubjay_core::format::superblock::MemberState;
use scrubjay_core::member::{Array, Slot};
use scrubjay_core::units::Nanos;
use std::ops::Range;

/// A volume, or something that stands in for one. What one cannot do, it need not: the defaults do nothing.
pub trait Subject: Array + Sized {
    /// Prepares new disks for the array of this setting.
    fn create(setting: &Setting, disks: &mut [MemberDisk]);

    /// Starts on the disks as they are. `run` counts the starts.
    fn open(setting: &Setting, disks: &[MemberDisk], run: u64, now: Nanos) -> Self;

    /// Has it settled what the last crash left, and does it serve?
    fn is_open(&self) -> bool {
        true
    }

    /// How a member is.
    fn member(&self, _slot: Slot) -> MemberState {
        MemberState::Active
    }

    /// Checks these stripes; the reply comes like others, at once for one that cannot.
    fn verify(&mut self, now: Nanos, id: RequestId, stripes: Range<u64>);

    /// Takes a member out.
    fn fail(&mut self, _now: Nanos, _slot: Slot) {}

    /// Another disk is in the place of a member that is out; makes it one again.
    fn replace(&mut self, _now: Nanos, _slot: Slot, _bytes: u64, _name: u64) {}

    /// Ends in order. True from [`Subject::is_stopped`] once it has.
    fn stop(&mut self, now: Nanos);

    /// Has it ended?
    fn is_stopped(&self) -> bool;
}
