//! Verifies stripes: reads every row, compares every list, and encodes the parity again.
//!
//! For the scrub, and for places that a misdirected write named as its true target.

use crate::finding::{FindingKind, Resolution};
use crate::index::StripeIndex;
use crate::position_set::PositionSet;
use crate::volume::options::SeededBug;
use crate::volume::repair::marks;
use crate::volume::repair::remains;
use crate::volume::repair::resync;
use crate::volume::repair::stripe_repair::{self, StripeContent};
use crate::volume::tasks::handle::VolumeHandle;

/// Reads a stripe whole and repairs it. Returns true if it then has all of its content, as reads would find it. A
/// stripe that was never written has nothing to lose.
pub async fn stripe(handle: &VolumeHandle, stripe: StripeIndex) -> bool {
    resync::ensure_resynced(handle, stripe).await;
    let _guard = handle.lock(stripe, true).await;
    let (is_written, is_undecided) =
        handle.with(|state| (state.maps.written.get(stripe), state.maps.is_undecided(stripe)));
    if is_undecided {
        let lost = remains::lost(handle, stripe).await;
        report(handle, stripe, lost, FindingKind::HalfWritten);
        handle.with(|state| state.note_loss(stripe, !lost.is_empty()));
        return lost.is_empty();
    }
    if !is_written {
        // A first write that the written map of a read-only volume does not know, and that is not resynced.
        let is_begun = handle.with(|state| state.maps.may_have_unmapped_write(stripe))
            && !resync::is_unwritten(handle, stripe).await;
        if is_begun {
            let data = handle.with(|state| state.shape().data_set());
            report(handle, stripe, data, FindingKind::HalfWritten);
        }
        handle.with(|state| state.note_loss(stripe, is_begun));
        return !is_begun;
    }
    let resolved: StripeContent = marks::repair_and_mark(handle, stripe).await;
    if resolved.is_clean {
        handle.with(|state| resolved.flushed.iter().for_each(|position| state.maps.note_read(stripe, position)));
    }
    let lost = resolved.all_lost();
    // Chunks that were just found lost are recorded already.
    if !handle.with(|state| state.is_planted(SeededBug::PassOverMarks)) {
        report(handle, stripe, lost - resolved.lost, FindingKind::MarkedLost);
    }
    resolved.recycle(handle);
    lost.is_empty()
}

/// Records the chunks that cannot be read, so that the findings show all that a reader would meet.
fn report(handle: &VolumeHandle, stripe: StripeIndex, lost: PositionSet, kind: FindingKind) {
    handle.with(|state| {
        lost.iter().for_each(|position| stripe_repair::record(state, stripe, position, kind, Resolution::Lost))
    });
}
