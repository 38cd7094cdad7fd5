//! An array of Linux md as a subject: its scrub is the kernel's own `check`, which compares copies and parities, driven step by
//! step within the budget.
//!
//! ```text
//! MdArray: subject::Subject -- verifier::MdVerifier --> stepper::MdStepper --> knobs (/sys/block/md0/md) --> the kernel
//!                           -- the detectors of disks, at md0: md's own reads of its members are not seen there
//!                           -- guard: what to put back if this process is killed
//! log::MdLog <-- verifier, judge (which member is wrong), kernel_log (where one could not be read)
//! ```
//!
//! **Addresses** are md's positions: sectors of each member's data (RAID-1, 4, 5, 6) or of the array (RAID-10). A range is whole
//! chunks, or whole pages of a RAID-1, because `sync_max` takes no others.
//!
//! **Never:** writes to members by this process. During a `check`, md writes only sectors that a member could not read.
//! Mismatches are reported, and repaired by md's `repair`, block by block, if that was requested ([`MdArray::repairing`]).

mod geometry;
mod guard;
mod judge;
mod kernel_log;
mod knobs;
mod log;
mod stepper;
#[cfg(test)]
mod tests;
mod undo;
mod verifier;

pub use geometry::{MdGeometry, MdLevel, MdMember, MdRefusal};
pub use kernel_log::LoggedError;
pub use knobs::{MdFolder, MdKnobs};
pub use log::{MdFacts, MdLog, Overwritten};
pub use undo::put_back_all;

use crate::detector::{self, Detector, OwnTraffic, RequestSources};
use crate::subject::Subject;
use crate::sysfs::DiskNode;
use crate::target::{TargetIdentity, disk_id, numbers};
use crate::verify::{self, VerifierError};
use guard::MdGuard;
use judge::MemberFiles;
use kernel_log::KernelLog;
use rustix::fs::Access;
use scrubjay_core::scrub::Tallies;
use scrubjay_core::scrub::idle::PolicyConfig;
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::scrub::tour::OrderKind;
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};
use std::fs;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};
use stepper::MdStepper;

/// The longest time for which a step of md's check delays a foreground request, however long the step takes. Most of a step
/// is progress notes in the members' superblocks, and foreground requests are served meanwhile; at the disks at a time are a
/// MiB or two of reads and one such note. With a check that never pauses, reads of disks with heads (4 ms a seek, 60 MB/s)
/// took 37 ms longer (docs/lab.md).
const HELD_MAX: Nanos = Nanos::from_millis(40);

/// An array that can be checked.
#[derive(Debug)]
pub struct MdArray {
    path: PathBuf,
    node: DiskNode,
    id: TargetIdentity,
    geometry: MdGeometry,
    guards: PathBuf,
    log: MdLog,
    is_repairing: bool,
}

/// The refusal to check an array. Nothing was changed.
#[derive(Debug, thiserror::Error)]
#[error("{path} {text}", path = path.display(), text = refusal.to_string().replace("NAME", name))]
pub struct MdError {
    /// Path, as the user gave it.
    pub path: PathBuf,
    /// The kernel's name of the array.
    pub name: String,
    /// The reason.
    pub refusal: MdRefusal,
}

impl MdArray {
    /// The array that `path` names; `None` for anything else, a partition of an array, or an array without redundancy.
    /// `guards` is the folder for the guard.
    ///
    /// # Errors
    /// [`MdError`], when it is an array that may not be checked now.
    pub fn open(path: &Path, guards: &Path) -> Result<Option<MdArray>, MdError> {
        let Ok(metadata) = fs::metadata(path) else { return Ok(None) };
        let (major, minor) = numbers(metadata.rdev());
        let is_part = Path::new(&format!("/sys/dev/block/{major}:{minor}/partition")).exists();
        let node =
            DiskNode::of_device(major, minor).ok().filter(|_| metadata.file_type().is_block_device() && !is_part);
        let Some(node) = node.filter(|node| node.folder().join("md/level").exists()) else { return Ok(None) };
        let folder = node.folder().join("md");
        let refused = |refusal| MdError { path: path.to_owned(), name: node.name.clone(), refusal };
        let level = node.attribute("md/level").unwrap_or_default();
        // No redundancy, so a plain read misses nothing.
        if ["linear", "raid0", "faulty", "container", "none", ""].contains(&level.as_str()) {
            return Ok(None);
        }
        let array_sectors = node.number("size").unwrap_or(0);
        let geometry = MdGeometry::read(&MdFolder::new(&folder), array_sectors).map_err(refused)?;
        rustix::fs::access(folder.join("sync_action"), Access::WRITE_OK)
            .map_err(|errno| refused(MdRefusal::Permission(std::io::Error::from(errno).to_string())))?;
        Ok(Some(MdArray {
            path: path.to_owned(),
            id: check_id(&node),
            log: MdLog::default(),
            geometry,
            guards: guards.to_owned(),
            is_repairing: false,
            node,
        }))
    }

    /// Identity and size, in sectors, of the check of the array with this kernel name, whether or not it may be checked now. `None`
    /// where there is no redundancy, or the check cannot be steered from here.
    pub fn outline(name: &str) -> Option<(TargetIdentity, u64)> {
        let node = DiskNode::of_folder(&Path::new("/sys/block").join(name)).ok()?;
        rustix::fs::access(node.folder().join("md/sync_action"), Access::WRITE_OK).ok()?;
        let geometry =
            MdGeometry::read_unchecked(&MdFolder::new(&node.folder().join("md")), node.number("size")?).ok()?;
        Some((check_id(&node), geometry.whole_sectors()))
    }

    /// The same array, with repair: where members do not agree, md writes the first copy over the others, or computes the parities
    /// from the data, except where these are known to be wrong, or known not to be the explanation.
    #[must_use]
    pub fn repairing(self) -> MdArray {
        MdArray { is_repairing: true, ..self }
    }

    /// Its level.
    pub fn level(&self) -> MdLevel {
        self.geometry.level
    }

    /// What its check tells beside its verdicts; a clone is a handle on the same log.
    pub fn log(&self) -> MdLog {
        self.log.clone()
    }
}

/// The identity of an array's check, so that it has another state than a plain read of the array.
fn check_id(node: &DiskNode) -> TargetIdentity {
    let id = disk_id(node);
    TargetIdentity { name: format!("{} md check", id.name), ..id }
}

impl Subject for MdArray {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &TargetIdentity {
        &self.id
    }

    fn sectors(&self) -> u64 {
        self.geometry.whole_sectors()
    }

    fn block(&self) -> Bytes {
        Bytes(self.geometry.block() * SECTOR_BYTES)
    }

    fn block_name(&self) -> &'static str {
        if self.geometry.level == MdLevel::Raid1 { "page" } else { "chunk" }
    }

    /// The numbers of the array and of the disks below: a scrub of one of them would be in its way.
    fn ways(&self) -> Vec<String> {
        let DiskNode { major, minor, .. } = self.node;
        let below = self.geometry.members.iter().filter_map(|member| {
            let link = self.node.folder().join(format!("md/dev-{}/block/dev", member.name));
            let text = fs::read_to_string(link).ok()?;
            let (major, minor) = text.trim().split_once(':')?;
            let disk = DiskNode::of_device(major.parse().ok()?, minor.parse().ok()?).ok()?;
            Some(format!("number/{}:{}", disk.major, disk.minor))
        });
        let mut ways: Vec<String> = below.chain([format!("number/{major}:{minor}")]).collect();
        ways.sort();
        ways.dedup();
        ways
    }

    /// The kernel logs each beginning and each end of a check, and writes superblocks. A range that follows the previous one
    /// needs neither.
    fn order(&self) -> OrderKind {
        OrderKind::SEQUENTIAL
    }

    fn held_max(&self) -> Option<Nanos> {
        Some(HELD_MAX)
    }

    fn may_repair_mismatches(&self) -> bool {
        self.is_repairing
    }

    fn tallies(&self) -> Tallies {
        self.log.tallies()
    }

    fn resume(&self, tallies: &Tallies) {
        self.log.resume(tallies);
    }

    fn open_verifier(
        &self,
        kind: verify::VerifierKind,
        _policy: &PolicyConfig,
    ) -> Result<verify::OpenedVerifier, VerifierError> {
        if !matches!(kind, verify::VerifierKind::Auto | verify::VerifierKind::Read) {
            return Err(VerifierError::OwnMeans(kind, "an array"));
        }
        let knobs = Box::new(MdFolder::new(&self.node.folder().join("md")));
        let key = self.id.key();
        let guard = MdGuard::of(&*knobs, &self.node.name, &key).map_err(VerifierError::Handle)?;
        let stepper = MdStepper::new(knobs, guard, MdGuard::path(&self.guards, &key), self.geometry.sectors);
        let files = MemberFiles::open(&self.geometry);
        let kernel_log = KernelLog::open(&self.node.name, &self.geometry.members);
        let verifier =
            verifier::MdVerifier::new(stepper, self.geometry.clone(), files, kernel_log, self.log(), self.is_repairing);
        let places = match self.geometry.level {
            MdLevel::Raid10 => "of the array",
            _ => "of one of its members, which are read side by side",
        };
        let note = format!(
            "{} of {} members, compared by md's own check; sizes and places are those {places}",
            self.geometry.level.name(),
            self.geometry.members.len()
        );
        Ok(verify::OpenedVerifier {
            verifier: Box::new(verifier),
            name: "md",
            engine: "sync_action",
            depth: 1,
            note: Some(note),
        })
    }

    /// A detector of disks, at the array: md's own reads go to its members, and are not seen there.
    fn open_detector(&self, wish: Option<detector::DetectorKind>) -> detector::OpenedDetector {
        let opened = detector::open(Some(&self.node), wish, RequestSources::OthersOnly);
        detector::OpenedDetector { detector: Box::new(AllForeign(opened.detector)), ..opened }
    }

    fn is_present(&self) -> bool {
        self.node.folder().join("md/array_state").exists()
    }

    fn notes(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A detector on a device that receives no scrub requests.
struct AllForeign(Box<dyn Detector>);

impl Detector for AllForeign {
    fn drain(&mut self, _own: OwnTraffic, events: &mut Vec<Event>) {
        self.0.drain(OwnTraffic::default(), events);
    }

    fn lost(&self) -> u64 {
        self.0.lost()
    }
}
