//! What a session scrubs, of any kind: a disk, an image file, an md array, a mounted btrfs or a served volume.
//!
//! Disks and files are implemented in `disk_subject`, arrays in [`crate::md`], btrfs in [`crate::btrfs`]; a served volume in the crate
//! that serves volumes.

use crate::detector;
use crate::target::TargetIdentity;
use crate::verify::{self, VerifierError};
use scrubjay_core::scrub::Tallies;
use scrubjay_core::scrub::idle::PolicyConfig;
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::{Bytes, Nanos};
use std::path::Path;

/// Something that can be scrubbed.
pub trait Subject: Send {
    /// The path as the user named it.
    fn path(&self) -> &Path;

    /// Its identity, which does not depend on its current name.
    fn id(&self) -> &TargetIdentity;

    /// Its size in 512-byte sectors, at least 1; a multiple of [`Subject::block`].
    fn sectors(&self) -> u64;

    /// The smallest piece that has an outcome of its own, in bytes: a power of two, at least 512.
    fn block(&self) -> Bytes;

    /// What users call such a piece.
    fn block_name(&self) -> &'static str;

    /// Further names under which it is claimed, besides its identity: those of what lies below it, say.
    fn ways(&self) -> Vec<String>;

    /// Whether only one session at a time may have it. What is not read need not be claimed.
    fn is_claimed(&self) -> bool {
        true
    }

    /// The order of the tour that suits it, unless the user names another one.
    fn order(&self) -> OrderKind {
        OrderKind::default()
    }

    /// The longest time for which one scrub request delays a foreground request, however long it takes itself; `None`: until
    /// its own end.
    fn held_max(&self) -> Option<Nanos> {
        None
    }

    /// Whether its addresses are places of one medium, so that how long each takes is worth a map.
    fn has_surface(&self) -> bool {
        false
    }

    /// Whether what is counted as corrected may be repaired; otherwise it is only found. (A subject that counts none leaves this.)
    fn may_repair(&self) -> bool {
        true
    }

    /// Whether copies or parities that disagree are made to agree.
    fn may_repair_mismatches(&self) -> bool {
        false
    }

    /// What it counts over all runs of a pass; saved with the pass, and given to [`Subject::resume`] in its next run.
    fn tallies(&self) -> Tallies {
        Tallies::new()
    }

    /// Called before a verifier is opened, with what earlier runs of the pass counted: nothing, if there were none.
    fn resume(&self, _tallies: &Tallies) {}

    /// Opens a verifier for it.
    ///
    /// # Errors
    /// When it cannot be verified in this way.
    fn open_verifier(
        &self,
        kind: verify::VerifierKind,
        policy: &PolicyConfig,
    ) -> Result<verify::OpenedVerifier, VerifierError>;

    /// Opens a detector of its foreground, at most as good as `wish`. Never fails, but the detector may see nothing.
    fn open_detector(&self, wish: Option<detector::DetectorKind>) -> detector::OpenedDetector;

    /// Whether it still exists. Checked when a verification failed: a vanished disk answers like a bad sector.
    fn is_present(&self) -> bool;

    /// What a user should know about it before it is scrubbed.
    fn notes(&self) -> Vec<String>;
}
