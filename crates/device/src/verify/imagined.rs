//! Requests that are never sent: they end when a usual disk would have ended them. Nothing is verified; for a watch that only observes.

use super::{OpenedVerifier, Verifier, VerifyCompletion};
use crate::clock;
use scrubjay_core::scrub::imagined::ImaginedDisk;
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::VerifyOutcome;
use scrubjay_core::units::{Nanos, SectorRange};
use std::collections::VecDeque;
use std::thread;
use std::time::Duration;

/// Opens it.
pub(crate) fn open(is_rotational: bool) -> OpenedVerifier {
    let verifier = Box::new(Imagined { disk: ImaginedDisk::new(is_rotational), ending: VecDeque::new() });
    OpenedVerifier { verifier, name: "imagined", engine: "none", depth: 1, note: None }
}

struct Imagined {
    disk: ImaginedDisk,
    /// In the order of their ends.
    ending: VecDeque<VerifyCompletion>,
}

impl Verifier for Imagined {
    fn submit(&mut self, id: OpId, range: SectorRange) {
        let served = self.disk.serve(clock::now(), range);
        let (started, finished) = (served.started, served.finished);
        self.ending.push_back(VerifyCompletion { id, outcome: VerifyOutcome::Clean, started, finished, counted: 0 });
    }

    fn wait(&mut self, timeout: Nanos) -> Option<VerifyCompletion> {
        let first = self.ending.front()?;
        let left = first.finished.since(clock::now());
        thread::sleep(Duration::from_nanos(left.min(timeout).0));
        if left > timeout {
            return None;
        }
        self.ending.pop_front()
    }

    fn is_at_disk(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_when_a_disk_would_have_ended_it() {
        let mut opened = open(true);
        assert!(!opened.verifier.is_at_disk());
        assert_eq!(opened.verifier.wait(Nanos::ZERO), None, "nothing is out");
        opened.verifier.submit(OpId(3), SectorRange::at(0, 2048));
        assert_eq!(opened.verifier.wait(Nanos::ZERO), None, "not yet");
        let ended = opened.verifier.wait(Nanos::from_secs(60)).unwrap();
        assert_eq!((ended.id, ended.outcome, ended.counted), (OpId(3), VerifyOutcome::Clean, 0));
        assert!(clock::now() >= ended.finished && ended.finished > ended.started);
    }
}
