//! The verifier of a served volume: ranges of sectors become ranges of stripes, which its server reads.

use super::client::{ClientError, ControlClient};
use super::findings_feed::FindingsFeed;
use crate::volume::commands::{CommandAnswer, Verified, VolumeCommand};
use scrubjay_core::finding::Finding;
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Nanos, SectorRange};
use scrubjay_device::clock;
use scrubjay_device::verify::{self, Verifier};
use std::collections::BTreeSet;
use std::ops::Range;
use std::time::Duration;

/// Lost stripes that are remembered, at most.
const LOST_MAX: usize = 1 << 16;

/// Verifies by commands to the volume's server.
pub(super) struct ServedVerifier {
    client: ControlClient,
    chunk_sectors: u64,
    findings: FindingsFeed,
    /// Has the server found something since it was asked what?
    is_news: bool,
    in_flight: Option<(OpId, Nanos)>,
    /// A completion that needs no answer of the server.
    known: Option<verify::VerifyCompletion>,
    /// Stripes found lost. Verifications that narrow the place down are answered from here: the server would read the stripes
    /// again, and count faults of the same members again.
    lost: BTreeSet<u64>,
}

impl ServedVerifier {
    pub fn new(client: ControlClient, chunk_sectors: u64, findings: FindingsFeed) -> ServedVerifier {
        ServedVerifier {
            client,
            chunk_sectors,
            findings,
            is_news: false,
            in_flight: None,
            known: None,
            lost: BTreeSet::new(),
        }
    }

    /// The stripes of a range, which is whole chunks.
    fn stripes(&self, range: SectorRange) -> Range<u64> {
        assert!(
            range.start.0.is_multiple_of(self.chunk_sectors) && range.end.0.is_multiple_of(self.chunk_sectors),
            "verifications are of whole stripes"
        );
        range.start.0 / self.chunk_sectors..range.end.0 / self.chunk_sectors
    }

    fn judge(&mut self, verified: &Verified) -> VerifyOutcome {
        self.is_news |= verified.corrected > 0 || !verified.lost.is_empty();
        let room = LOST_MAX.saturating_sub(self.lost.len());
        self.lost.extend(verified.lost.iter().take(room));
        match verified {
            Verified { lost, .. } if !lost.is_empty() => VerifyOutcome::Unreadable(Cause::Lost),
            Verified { corrected: 1.., .. } => {
                VerifyOutcome::Corrected(u32::try_from(verified.corrected).unwrap_or(u32::MAX))
            }
            Verified { read: 0, .. } => VerifyOutcome::Unwritten,
            _ => VerifyOutcome::Clean,
        }
    }
}

impl Verifier for ServedVerifier {
    fn submit(&mut self, id: OpId, range: SectorRange) {
        let Range { start, end } = self.stripes(range);
        let now = clock::now();
        let completion =
            |outcome| Some(verify::VerifyCompletion { id, outcome, started: now, finished: now, counted: 0 });
        if self.lost.range(start..end).next().is_some() {
            self.known = completion(VerifyOutcome::Unreadable(Cause::Lost));
            return;
        }
        self.in_flight = Some((id, now));
        if self.client.send(&VolumeCommand::Verify { start, end }).is_err() {
            self.in_flight = None;
            self.known = completion(VerifyOutcome::Gone);
        }
    }

    fn wait(&mut self, timeout: Nanos) -> Option<verify::VerifyCompletion> {
        if let Some(answer) = self.known.take() {
            return Some(answer);
        }
        let (id, started) = self.in_flight?;
        let received = self.client.receive(Duration::from_nanos(timeout.0));
        let finished = clock::now();
        let outcome = match received {
            Ok(None) => return None,
            Ok(Some(CommandAnswer::Verified(verified))) => self.judge(&verified),
            // The answer does not fit, which says nothing about the volume.
            Ok(Some(_)) | Err(ClientError::Nonsense(_)) => VerifyOutcome::Inconclusive(Cause::Errno(EPROTO)),
            // The volume is stopping or broken, or the server has ended.
            Err(_) => VerifyOutcome::Gone,
        };
        self.in_flight = None;
        Some(verify::VerifyCompletion { id, outcome, started, finished, counted: 0 })
    }

    fn findings(&mut self, is_last: bool) -> Vec<Finding> {
        if is_last || std::mem::take(&mut self.is_news) { self.findings.fetch() } else { Vec::new() }
    }
}

/// Linux: protocol error.
const EPROTO: i32 = 71;
