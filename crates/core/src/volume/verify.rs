//! Verifying stripes: every row read, every list compared, the parity reckoned up again; for the scrub, and for places
//! that a misdirected write named as its true target.

use super::handle::Handle;
use super::resolve::{self, Resolved};

/// Reads a stripe whole and puts right what is wrong in it: true when it then has all of its content. Stripes that were
/// never written hold nothing; of those that a crash left undecided nothing is known.
pub(super) async fn stripe(handle: &Handle, stripe: u64) -> bool {
    let _guard = handle.lock(stripe, true).await;
    let (is_written, is_undecided) =
        handle.with(|state| (state.written.get(stripe), state.unresolved.contains(&stripe)));
    if !is_written || is_undecided {
        return !is_written;
    }
    let resolved: Resolved = resolve::resolve(handle, stripe).await;
    if resolved.is_clean {
        handle.with(|state| resolved.settled.iter().for_each(|slot| state.note_read(stripe, slot)));
    }
    let is_whole = resolved.lost.is_empty() && !resolved.entries.iter().any(|entry| entry.version.is_lost());
    resolved.recycle(handle);
    is_whole
}
