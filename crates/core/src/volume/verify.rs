//! Verifying stripes: every row read, every list compared, the parity reckoned up again; for the scrub, and for places
//! that a misdirected write named as its true target.

use super::handle::Handle;
use super::resolve::{self, Resolved};

/// Reads a stripe whole and puts right what is wrong in it. Stripes that were never written hold nothing.
pub(super) async fn stripe(handle: &Handle, stripe: u64) {
    let _guard = handle.lock(stripe, true).await;
    if !handle.with(|state| state.written.get(stripe) && !state.unresolved.contains(&stripe)) {
        return;
    }
    let resolved: Resolved = resolve::resolve(handle, stripe).await;
    if resolved.is_clean {
        handle.with(|state| resolved.settled.iter().for_each(|slot| state.note_read(stripe, slot)));
    }
    resolved.recycle(handle);
}
