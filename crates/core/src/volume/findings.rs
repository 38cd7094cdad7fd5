//! What was found wrong and nobody has taken yet, and where to look next.

use super::finding::VolumeFinding;
use crate::index::StripeIndex;
use std::collections::VecDeque;

/// So many findings are kept until somebody takes them; beyond these the oldest is dropped, and counted.
const RECORDS_MAX: usize = 4096;

/// Records, and suspicions.
#[derive(Default)]
pub(super) struct FindingLog {
    pub records: VecDeque<VolumeFinding>,
    pub records_dropped: u64,
    /// Stripes to be looked at: a misdirected write named them as its true target.
    pub suspects: Vec<StripeIndex>,
}

impl FindingLog {
    /// Takes note of a finding; the oldest one goes when there are too many.
    pub fn record(&mut self, record: VolumeFinding) {
        if self.records.len() == RECORDS_MAX {
            self.records.pop_front();
            self.records_dropped += 1;
        }
        self.records.push_back(record);
    }
}
