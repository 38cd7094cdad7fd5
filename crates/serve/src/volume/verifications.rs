//! Verifications that were requested by commands: stripes are handed to the volume one by one, some at a time.

use super::commands::Verified;
use crate::control::CommandId;
use scrubjay_core::finding::Resolution;
use scrubjay_core::index::StripeIndex;
use scrubjay_core::units::Nanos;
use scrubjay_core::volume::Volume;
use scrubjay_core::volume::block::{BlockFailure, BlockReply, RequestId};
use scrubjay_core::volume::finding::VolumeFinding;
use std::collections::{BTreeSet, HashMap};
use std::ops::Range;

/// Stripes of one verification, at most (count): more are refused. A scrub's largest request has as many, at the smallest chunk.
pub(super) const STRIPES_MAX: u64 = 1 << 15;
/// Bytes of each member that are read at a time: enough to keep a disk busy, and little to wait behind.
const MEMBER_BYTES_AT_ONCE: u64 = 512 << 10;
/// Limits of the stripes at a time (counts), whatever their size. The volume takes faults in neighbouring rows for one
/// incident, and if more than a few stripes were read at once, out of order, their faults would not look like neighbours.
const STRIPES_AT_ONCE: (u64, u64) = (2, 8);
/// Request ids of verifications begin here; those of clients lie below.
pub(super) const FIRST_OWN_ID: u64 = 1 << 63;

/// The verifications that are under way.
#[derive(Debug)]
pub(super) struct Verifications {
    stripes_at_once: u64,
    jobs: Vec<VerificationJob>,
    /// By request: the command of the verification, and the stripe.
    under_way: HashMap<RequestId, (CommandId, StripeIndex)>,
    next_id: u64,
}

/// A verification that is under way.
#[derive(Debug)]
struct VerificationJob {
    id: CommandId,
    range: Range<StripeIndex>,
    /// Stripes that were not handed out yet.
    rest: Range<u64>,
    under_way: u64,
    read: u64,
    corrected: u64,
    lost: BTreeSet<StripeIndex>,
    is_stopped: bool,
}

impl Verifications {
    /// None yet, for a volume with chunks of this size in bytes.
    pub fn new(chunk_bytes: u64) -> Verifications {
        let (least, most) = STRIPES_AT_ONCE;
        let stripes_at_once = (MEMBER_BYTES_AT_ONCE / chunk_bytes).clamp(least, most);
        Verifications { stripes_at_once, jobs: Vec::new(), under_way: HashMap::new(), next_id: FIRST_OWN_ID }
    }

    /// Is no verification under way?
    pub fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Begins a verification. A connection waits for its answer, so there are no more verifications than connections.
    pub fn begin(&mut self, id: CommandId, range: Range<u64>) {
        let (rest, range) = (range.clone(), StripeIndex(range.start)..StripeIndex(range.end));
        let lost = BTreeSet::new();
        self.jobs.push(VerificationJob {
            id,
            range,
            rest,
            under_way: 0,
            read: 0,
            corrected: 0,
            lost,
            is_stopped: false,
        });
    }

    /// Hands stripes to the volume, as many as may be under way; true if there were any. Stripes that were never written hold
    /// nothing and are skipped, except the first one, with which all metadata is verified.
    pub fn start(&mut self, now: Nanos, volume: &mut Volume) -> bool {
        let mut is_any = false;
        for job in &mut self.jobs {
            while job.under_way < self.stripes_at_once
                && !job.is_stopped
                && let Some(stripe) = job.rest.by_ref().map(StripeIndex).find(|&stripe| is_verified(volume, stripe))
            {
                self.next_id += 1;
                let request = RequestId(self.next_id);
                self.under_way.insert(request, (job.id, stripe));
                job.read += u64::from(volume.is_written(stripe));
                (job.under_way, is_any) = (job.under_way + 1, true);
                volume.verify(now, request, stripe..stripe + 1);
            }
        }
        is_any
    }

    /// The volume has verified a stripe.
    pub fn ended(&mut self, request: RequestId, reply: &BlockReply) {
        let (id, stripe) = self.under_way.remove(&request).expect("it was handed out");
        let job = self.jobs.iter_mut().find(|job| job.id == id).expect("a job waits for all of its stripes");
        job.under_way -= 1;
        match reply {
            BlockReply::Failed(BlockFailure::Stopping) => job.is_stopped = true,
            BlockReply::Failed(_) => drop(job.lost.insert(stripe)),
            _ => (),
        }
    }

    /// Counts a finding of the volume for all verifications that cover it.
    pub fn found(&mut self, record: &VolumeFinding) {
        // The metadata is verified with the first stripe.
        let stripe = record.place.stripe().unwrap_or(StripeIndex(0));
        for job in self.jobs.iter_mut().filter(|job| job.range.contains(&stripe)) {
            match record.resolution {
                Resolution::Lost => drop(job.lost.insert(stripe)),
                _ => job.corrected += 1,
            }
        }
    }

    /// Removes a verification that has ended, and returns its result; no result: the volume is stopping.
    pub fn take_ended(&mut self) -> Option<(CommandId, Option<Verified>)> {
        let is_over = |job: &VerificationJob| job.under_way == 0 && (job.is_stopped || job.rest.is_empty());
        let job = self.jobs.swap_remove(self.jobs.iter().position(is_over)?);
        let VerificationJob { id, read, corrected, lost, is_stopped, .. } = job;
        let verified = Verified { read, corrected, lost: lost.into_iter().map(StripeIndex::get).collect() };
        Some((id, (!is_stopped).then_some(verified)))
    }
}

/// Is there anything to verify in a stripe, or with it?
fn is_verified(volume: &Volume, stripe: StripeIndex) -> bool {
    stripe == StripeIndex(0) || volume.is_written(stripe)
}
