//! What a session scrubs, of any kind: a disk, an image file, an md array, a mounted btrfs or a served volume.
//!
//! Disks and files are implemented here, arrays in [`crate::md`], btrfs in [`crate::btrfs`]; a served volume in the crate
//! that serves volumes.

use crate::btrfs::label;
use crate::target::{Target, TargetIdentity};
use crate::verify::{self, VerifierError};
use crate::{detector, sysfs};
use scrubjay_core::scrub::idle::{PolicyConfig, Regard};
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

    /// The order of the tour that suits it, unless the user names another one.
    fn order(&self) -> OrderKind {
        OrderKind::default()
    }

    /// The longest time for which one scrub request delays a foreground request, however long it takes itself; `None`: until
    /// its own end.
    fn held_max(&self) -> Option<Nanos> {
        None
    }

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

impl Subject for Target {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &TargetIdentity {
        &self.id
    }

    fn sectors(&self) -> u64 {
        self.sectors
    }

    fn block(&self) -> Bytes {
        self.logical_block
    }

    fn block_name(&self) -> &'static str {
        "logical block"
    }

    /// The device number of the whole disk below it: scrubs of two of its partitions would be in each other's way.
    fn ways(&self) -> Vec<String> {
        let disk = self.disk.as_ref().filter(|_| self.is_block_device);
        disk.map(|disk| format!("number/{}:{}", disk.major, disk.minor)).into_iter().collect()
    }

    fn open_verifier(
        &self,
        kind: verify::VerifierKind,
        policy: &PolicyConfig,
    ) -> Result<verify::OpenedVerifier, VerifierError> {
        let setup = verify::VerifierSetup {
            file: self.file.try_clone().map_err(VerifierError::Handle)?,
            is_block_device: self.is_block_device,
            logical_block: self.logical_block,
            depth: if self.is_rotational || policy.kind().regard != Regard::None { 1 } else { 2 },
            request_max: policy.size_max(),
        };
        verify::open(kind, setup)
    }

    fn open_detector(&self, wish: Option<detector::DetectorKind>) -> detector::OpenedDetector {
        detector::open(self.disk.as_ref(), wish, detector::RequestSources::All)
    }

    fn is_present(&self) -> bool {
        Target::is_present(self)
    }

    fn notes(&self) -> Vec<String> {
        const THROUGH_CACHE: &str =
            "read through the page cache (no O_DIRECT here): what lies in memory is not read from the medium";
        const BTRFS: &str = "it belongs to a btrfs, whose checksums a scrub of the disk does not know: mount it, and \
                             `scrubjay scrub MOUNTPOINT` checks them";
        let cached = (!self.is_direct).then(|| THROUGH_CACHE.to_owned());
        let btrfs = label::is_member(&self.file).then(|| BTRFS.to_owned());
        let (name, numbers) = (self.path.display(), self.numbers());
        let above = numbers.and_then(|(major, minor)| sysfs::array_above(major, minor)).map(|array| {
            format!(
                "{name} belongs to /dev/{array}: this reads one member alone, also where the array keeps nothing; `scrubjay scrub \
                 /dev/{array}` compares its copies or parities"
            )
        });
        cached.into_iter().chain(btrfs).chain(above).collect()
    }
}
