//! The outcome of a btrfs scrub: its additional parts of JSON and text.

use scrubjay_core::finding::{Finding, FoundContent, FoundList, Resolution};
use scrubjay_core::quantity::show_time;
use scrubjay_core::scrub::ScrubState;
use scrubjay_core::scrub::verdict::{Cause, Unreadable};
use scrubjay_core::units::Nanos;
use scrubjay_device::btrfs::{DeviceRange, PoolCounts, PoolFacts, ScrubCounts};
use serde::Serialize;

/// The outcome of a btrfs scrub.
#[derive(Clone, Copy, Debug)]
pub struct PoolOutcome<'a> {
    /// Its facts at the start.
    pub facts: &'a PoolFacts,
    /// Its counts.
    pub counts: &'a PoolCounts,
    /// What its pass found.
    pub found: &'a FoundList,
}

/// Linux: operation now in progress.
const EINPROGRESS: i32 = 115;
/// Linux: operation cancelled.
const ECANCELED: i32 = 125;
/// Linux: read-only file system.
const EROFS: i32 = 30;
/// Linux: structure needs cleaning.
const EUCLEAN: i32 = 117;
/// Linux: input/output error.
const EIO: i32 = 5;
/// Linux: text file busy.
const ETXTBSY: i32 = 26;
/// Linux: try again.
const EAGAIN: i32 = 11;
/// Linux: out of memory.
const ENOMEM: i32 = 12;

impl PoolOutcome<'_> {
    /// Why the scrub could not be done, where btrfs gives a better reason than a disk would.
    pub fn error(&self, state: ScrubState) -> Option<String> {
        let why = match state {
            ScrubState::Gone => "it is no longer mounted, or a device of it is gone",
            ScrubState::Failed(Cause::Errno(EINPROGRESS)) => {
                "another scrub of it has been running for minutes: run this again when that is over"
            }
            ScrubState::Failed(Cause::Errno(ECANCELED)) => {
                "btrfs's own scrub was cancelled, by `btrfs scrub cancel`, a suspend or a freeze: run this again"
            }
            ScrubState::Failed(Cause::Errno(EROFS)) => {
                "btrfs has become read-only, mostly because of an error: see the kernel's log"
            }
            ScrubState::Failed(Cause::Errno(EUCLEAN | EIO)) => {
                "the trees that say what is right cannot be read: see the kernel's log and `btrfs check`"
            }
            ScrubState::Failed(Cause::Errno(ETXTBSY)) => {
                "btrfs leaves out the chunk of a swap file that is in use: `swapoff` it, and run this again"
            }
            ScrubState::Failed(Cause::Errno(EAGAIN)) => {
                "its chunks moved faster than they could be looked at (a balance?): run this again"
            }
            ScrubState::Failed(Cause::Errno(ENOMEM)) => "btrfs's own scrub had too little memory: run this again",
            _ => return None,
        };
        Some(why.to_owned())
    }

    /// What else the user should know.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.counts.has_waited {
            notes.push("another scrub of it was running, and was waited for".to_owned());
        }
        if self.counts.chunks_new > 0 {
            notes.push(format!(
                "{} chunks were allocated since this pass began, for new data or by a balance: some were perhaps not read, the next \
                 pass reads them",
                self.counts.chunks_new
            ));
        }
        if self.counts.unwatched > Nanos::ZERO {
            notes.push(format!(
                "for {} of it, while btrfs's own scrub did chunks with parities, requests of others could not be told from its \
                 own: what they lost then is not known",
                show_time(self.counts.unwatched)
            ));
        }
        if self.counts.unused_unreadable > 0 {
            notes.push(format!(
                "{} blocks cannot be read where btrfs stores nothing: nothing is lost, but the disk is not sound",
                self.counts.unused_unreadable
            ));
        }
        notes
    }

    /// Where blocks have no right copy, and no finding that is kept tells of them.
    pub fn lost_untold(&self, unreadable: &[Unreadable]) -> Vec<DeviceRange> {
        let mut parts: Vec<_> = unreadable.iter().flat_map(|found| self.facts.space.parts(found.range)).collect();
        let lost: Vec<_> = self.found.all().iter().filter(|found| found.resolution == Resolution::Lost).collect();
        parts.retain(|part| {
            let place = self.facts.space.range_of(part.device, &part.bytes);
            lost.iter().all(|found| found.place.intersection(place).is_empty())
        });
        parts
    }

    /// A device's number, and its path if that is known.
    pub fn device(&self, number: u64) -> String {
        let known = self.facts.paths.iter().find(|(device, _)| *device == number);
        known.map_or_else(|| format!("device {number}"), |(_, path)| format!("device {number} ({path})"))
    }
}

/// The btrfs part of the JSON.
#[derive(Debug, Serialize)]
pub struct PoolDocument {
    devices: usize,
    /// Numbers of devices that are missing, and were not checked.
    devices_missing: Vec<u64>,
    /// Bytes that were allocated at the start: the rest of the devices holds nothing.
    allocated_bytes: u64,
    read_only: bool,
    /// What btrfs's own scrub counted in this run, wherever it was run.
    counts: CountsDocument,
    /// Device extents that btrfs was asked to scrub.
    extents_given: u64,
    /// Where something was wrong, in this pass.
    places: Vec<PlaceDocument>,
    /// Places that did not fit into the list.
    places_untold: u64,
    /// Bytes without a correct copy, in this pass.
    lost_bytes: u64,
    unused_unreadable_blocks: u64,
    /// Chunks that were allocated since the pass began, and may not have been checked.
    chunks_new: u64,
}

#[derive(Debug, Serialize)]
struct CountsDocument {
    csum_errors: u64,
    read_errors: u64,
    verify_errors: u64,
    super_errors: u64,
    corrected_errors: u64,
    uncorrectable_errors: u64,
    unverified_errors: u64,
}

#[derive(Debug, Serialize)]
struct PlaceDocument {
    device: u64,
    physical: u64,
    logical: Option<u64>,
    bytes: u64,
    what: &'static str,
    end: &'static str,
    files: Vec<String>,
    files_untold: u64,
}

impl PoolDocument {
    /// Makes the document of an outcome.
    pub fn new(outcome: &PoolOutcome<'_>) -> PoolDocument {
        let PoolOutcome { facts, counts, found } = outcome;
        PoolDocument {
            devices: facts.devices,
            devices_missing: facts.missing.clone(),
            allocated_bytes: facts.allocated.0,
            read_only: facts.is_read_only,
            counts: CountsDocument::new(&counts.counts),
            extents_given: counts.extents_given,
            places: found.all().iter().map(PlaceDocument::new).collect(),
            places_untold: found.untold(),
            lost_bytes: counts.lost_bytes,
            unused_unreadable_blocks: counts.unused_unreadable,
            chunks_new: counts.chunks_new,
        }
    }
}

impl CountsDocument {
    fn new(counts: &ScrubCounts) -> CountsDocument {
        let ScrubCounts { csum_errors, read_errors, verify_errors, super_errors, .. } = *counts;
        let ScrubCounts { corrected_errors, uncorrectable_errors, unverified_errors, .. } = *counts;
        CountsDocument {
            csum_errors,
            read_errors,
            verify_errors,
            super_errors,
            corrected_errors,
            uncorrectable_errors,
            unverified_errors,
        }
    }
}

impl PlaceDocument {
    fn new(found: &Finding) -> PlaceDocument {
        let (logical, files, files_untold) = match &found.content {
            FoundContent::Extent { logical, files, files_untold } => (*logical, files.clone(), *files_untold),
            _ => (None, Vec::new(), 0),
        };
        PlaceDocument {
            device: found.member.as_ref().and_then(|on| on.number).unwrap_or(0),
            physical: found.member_offset(),
            logical,
            bytes: found.member.as_ref().map_or(0, |on| on.bytes.0),
            what: found.kind.name(),
            end: match found.resolution {
                Resolution::Reconstructed => "unrepaired",
                resolution => resolution.name(),
            },
            files,
            files_untold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::{Bytes, SectorRange};
    use scrubjay_device::btrfs::AddressSpace;

    #[test]
    fn known_errnos_of_a_btrfs_scrub_have_their_own_error_messages() {
        let facts = PoolFacts {
            devices: 2,
            missing: vec![2],
            allocated: Bytes::mib(1),
            space: AddressSpace::new(vec![(1, 1 << 30)], 4096),
            is_read_only: false,
            paths: vec![(1, "/dev/sda".to_owned())],
        };
        let (counts, found) = (PoolCounts::default(), FoundList::default());
        let outcome = PoolOutcome { facts: &facts, counts: &counts, found: &found };
        let error_of = |errno| outcome.error(ScrubState::Failed(Cause::Errno(errno))).unwrap_or_default();
        assert!(error_of(EINPROGRESS).starts_with("another scrub of it"));
        assert!(error_of(ECANCELED).contains("cancelled") && error_of(EROFS).contains("read-only"));
        assert_eq!((error_of(1), outcome.error(ScrubState::Complete)), (String::new(), None));
        let lost = [Unreadable { range: SectorRange::at(16, 8), cause: Cause::Lost }];
        let parts: Vec<_> = outcome.lost_untold(&lost).into_iter().map(|part| (part.device, part.bytes)).collect();
        assert_eq!(parts, [(1, 8192..12_288)]);
        assert_eq!((outcome.device(1), outcome.device(2)), ("device 1 (/dev/sda)".into(), "device 2".into()));
    }
}
