//! Replay: feeds a recorded run to a machine again, without a disk and without a clock.
//!
//! The journal says what the machine was told and when; its ticks are the moments at which it was asked for operations
//! until it had none. The same machine gives the same operations; a different one shows where it would have acted
//! otherwise ([`Journal::difference`]).

use scrubjay_core::scrub::journal::{Journal, JournalEntry};
use scrubjay_core::scrub::machine::{Event, Machine};

/// Tells the machine all that `recorded` was told, and returns the journal of *this* run: the same events, and the
/// operations that this machine gave.
///
/// What follows the first difference is what the machine does with answers to questions that it did not ask: only a
/// machine that gives the recorded operations has been replayed.
///
/// # Panics
/// When the machine gives more than 1024 operations at one tick.
pub fn replay(machine: &mut impl Machine, recorded: &Journal) -> Journal {
    const OPS_MAX: usize = 1024;
    let mut journal = Journal::new();
    for entry in recorded.entries() {
        let JournalEntry::Told { now, event } = *entry else { continue };
        journal.push(*entry);
        machine.handle(now, event);
        if event == Event::Tick {
            let before = journal.entries().len();
            while let Some(op) = machine.poll_op(now) {
                journal.push(JournalEntry::Gave { now, op });
                assert!(journal.entries().len() - before <= OPS_MAX, "the machine floods the disk");
            }
        }
    }
    journal
}
