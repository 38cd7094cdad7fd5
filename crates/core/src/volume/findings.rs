//! The findings that were not fetched yet, and the stripes to verify next.

use crate::index::StripeIndex;
use crate::volume::finding::VolumeFinding;
use std::collections::VecDeque;

/// Findings kept until they are fetched, at most; beyond these the oldest is dropped and counted.
const RECORDS_MAX: usize = 4096;

/// The log of findings, and the stripes under suspicion.
#[derive(Default)]
pub(super) struct FindingLog {
    pub records: VecDeque<VolumeFinding>,
    pub records_dropped: u64,
    /// Stripes to verify: a misdirected write named them as its true target; or they held lost chunks, and were written to.
    pub suspects: Vec<StripeIndex>,
    /// Has the register of losses changed since the superblocks were last written?
    pub are_losses_unwritten: bool,
}

impl FindingLog {
    /// Records a finding; drops the oldest one when the log is full.
    pub fn record(&mut self, record: VolumeFinding) {
        if self.records.len() == RECORDS_MAX {
            self.records.pop_front();
            self.records_dropped += 1;
        }
        self.records.push_back(record);
    }
}
