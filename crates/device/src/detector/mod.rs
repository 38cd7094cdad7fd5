//! The foreground detector: tells the machine when *others* use the disk, never when we do.
//!
//! Three signals, best first; each is one file and one line in the table of [`open`]:
//!
//! | detector | sees | needs |
//! |---|---|---|
//! | [`bpf`] | every arrival and completion, with its time | CAP_BPF and CAP_PERFMON (or root) |
//! | [`perf`] | the same, through a ring per CPU | CAP_PERFMON (or root) |
//! | [`stat`] | counts, dated when they are polled | nothing |
//!
//! No detector wakes the pump: a request at the disk cannot be recalled, so the time to look is just before the next
//! one is sent. [`Detector::drain`] is called then, and at least every 100 ms.

use scrubjay_core::machine::Event;

/// Watches one whole disk for requests that are not ours.
pub trait Detector: Send {
    /// Appends all that has happened since the last call to `events`, in the order of `at`: only `Foreground*` events.
    fn drain(&mut self, own: OwnTraffic, events: &mut Vec<Event>);

    /// How many foreground requests went by unseen (a ring that was full), so far.
    fn lost(&self) -> u64 {
        0
    }
}

/// What we ourselves have done to the watched disk, for detectors that can only count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OwnTraffic {
    /// 512-byte sectors that our completed reads transferred, failed ones included.
    pub sectors: u64,
    /// Our reads that were completed.
    pub requests: u64,
    /// Our reads that are at the disk now.
    pub in_flight: u32,
}
