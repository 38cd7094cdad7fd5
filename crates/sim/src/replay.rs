//! Replay: feeds a recorded run to a machine again, without a disk and without a clock.
//!
//! The recording holds the events that the machine received, with their times; its ticks are the moments at which the
//! machine was asked for operations until it had none. The same machine gives the same operations; a different one
//! shows where it would have acted differently ([`Recording::difference`]).

use scrubjay_core::scrub::machine::{Event, Machine};
use scrubjay_core::scrub::recording::{Recording, RecordingEntry};

/// Passes all events of `recorded` to the machine, and returns the recording of *this* run: the same events, and the
/// operations that this machine gave.
///
/// After the first difference the machine receives answers to questions that it did not ask: only a machine that gives
/// the recorded operations has been replayed.
///
/// # Panics
/// When the machine gives more than 1024 operations at one tick.
pub fn replay(machine: &mut impl Machine, recorded: &Recording) -> Recording {
    const OPS_MAX: usize = 1024;
    let mut recording = Recording::new();
    for entry in recorded.entries() {
        let RecordingEntry::Handled { now, event } = *entry else { continue };
        recording.push(*entry);
        machine.handle(now, event);
        if event == Event::Tick {
            let before = recording.entries().len();
            while let Some(op) = machine.poll_op(now) {
                recording.push(RecordingEntry::Issued { now, op });
                assert!(recording.entries().len() - before <= OPS_MAX, "the machine floods the disk");
            }
        }
    }
    recording
}
