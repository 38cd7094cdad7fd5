//! A disk or an image file as the subject of a scrub: each of its sectors is read.

use crate::btrfs::label;
use crate::subject::Subject;
use crate::target::{Target, TargetIdentity};
use crate::verify::{self, VerifierError};
use crate::{detector, sysfs};
use scrubjay_core::scrub::idle::{Pacing, PolicyConfig};
use scrubjay_core::units::Bytes;
use std::path::Path;

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

    fn has_surface(&self) -> bool {
        true
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
            depth: if self.is_rotational || policy.kind().pacing != Pacing::Unthrottled { 1 } else { 2 },
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
