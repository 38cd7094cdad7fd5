//! What became of one target: what the JSON and the text both tell.

use crate::exit::Exit;
use scrubjay_core::scrub::State;
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_device::session::{Ended, Facts};

/// What became of one target.
#[derive(Debug)]
pub struct Outcome {
    /// What was known before.
    pub facts: Facts,
    /// How it ended.
    pub ended: Ended,
}

impl Outcome {
    /// Why the job was not done, if it was not.
    pub fn error(&self) -> Option<String> {
        let report = &self.ended.report;
        match self.ended.report.state {
            State::Gone => Some("the device is gone; what was verified is saved".to_owned()),
            State::Failed(cause) => {
                let left = report.bytes.0 - report.bytes_verified.0 - report.unreadable_sectors() * SECTOR_BYTES;
                Some(format!("{} could not be judged: the device does not answer as it should ({cause})", Bytes(left)))
            }
            State::Running if !self.ended.is_saved => Some("paused, but its progress could not be saved".to_owned()),
            State::Running | State::Complete => None,
        }
    }

    /// What else the user should know.
    pub fn notes(&self) -> Vec<String> {
        let lost = (self.ended.foreground_lost > 0).then(|| {
            format!("{} foreground requests went by uncounted: what they lost is not known", self.ended.foreground_lost)
        });
        self.facts.notes.iter().cloned().chain(self.ended.troubles.iter().cloned()).chain(lost).collect()
    }

    /// As an exit code.
    pub fn exit(&self) -> Exit {
        let report = &self.ended.report;
        match report.state {
            State::Gone | State::Failed(_) => Exit::Failed,
            State::Running if !self.ended.is_saved => Exit::Failed,
            State::Running => Exit::Paused,
            State::Complete if report.unreadable.is_empty() && report.transient_errors == 0 => Exit::Clean,
            State::Complete => Exit::Found,
        }
    }
}
