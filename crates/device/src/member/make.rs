//! Making members: the first bytes of a new volume, in an order in which a crash leaves no half-made one.

use super::open::Member;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::format::bits::Bits;
use scrubjay_core::format::geometry::WRITTEN_PAGE_BYTES;
use scrubjay_core::format::superblock::Superblock;
use scrubjay_core::format::uuid::Uuid;
use scrubjay_core::format::{intent, written};
use std::fs::File;
use std::io::{self, Read};

/// What lay there before is wiped out so far from either end: whatever says what a disk was for.
const WIPE_BYTES: u64 = 1 << 20;
/// So many pages of the written map are written at once: 1 MiB, with their other places.
const PAGES_AT_ONCE: u64 = 128;

/// A new name.
///
/// # Errors
/// When the kernel has no random bytes.
pub fn new_uuid() -> io::Result<Uuid> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Uuid::of_random(bytes))
}

/// Makes these, in the order of their slots, the members of the volume that `superblock` describes. First all of them get
/// an empty map and no superblock, durably, then all get their superblocks.
///
/// # Errors
/// Which one could not be written, by its place in `members`; the others may be members already.
///
/// # Panics
/// When there are more or fewer members than the volume has slots.
pub fn make(members: &[Member], superblock: &Superblock) -> Result<(), (usize, io::Error)> {
    assert_eq!(members.len(), superblock.members.len(), "a member for each slot");
    let each = |step: &dyn Fn(usize, &Member) -> io::Result<()>| {
        members.iter().enumerate().try_for_each(|(slot, member)| step(slot, member).map_err(|error| (slot, error)))
    };
    each(&|_, member| member.wipe())?;
    each(&|_, member| member.sync())?;
    each(&|_, member| write_maps(member, superblock))?;
    each(&|_, member| member.sync())?;
    each(&|slot, member| write_superblock(member, &superblock.of_slot(slot)))?;
    each(&|_, member| member.sync())
}

impl Member {
    /// Zeros both ends: whatever it was, it is no more. Not durable before a [`Member::sync`].
    ///
    /// # Errors
    /// What the kernel says.
    pub fn wipe(&self) -> io::Result<()> {
        let zeros = Buffer::zeroed(WIPE_BYTES.min(self.bytes) as usize);
        self.write(self.bytes - zeros.len() as u64, &zeros)?;
        self.write(0, &zeros)
    }
}

/// Nothing is dirty, nothing was written.
fn write_maps(member: &Member, superblock: &Superblock) -> io::Result<()> {
    let Superblock { geometry, array, .. } = superblock;
    let dirty = Bits::zeros(geometry.regions());
    for index in 0..geometry.intent_pages {
        member.write(geometry.intent_page_offset(index), &intent::encode(geometry, *array, index, &dirty))?;
    }
    let stripes = Bits::zeros(geometry.stripes);
    for start in (0..geometry.written_pages).step_by(PAGES_AT_ONCE as usize) {
        let end = (start + PAGES_AT_ONCE).min(geometry.written_pages);
        let mut pages = Buffer::zeroed((2 * (end - start) * WRITTEN_PAGE_BYTES) as usize);
        let offset = geometry.written_page_offset(start, 0);
        for index in start..end {
            let at = (geometry.written_page_offset(index, 1) - offset) as usize;
            let page = written::encode(geometry, *array, index, 1, &stripes);
            pages[at..at + page.len()].copy_from_slice(&page);
        }
        member.write(offset, &pages)?;
    }
    Ok(())
}

fn write_superblock(member: &Member, superblock: &Superblock) -> io::Result<()> {
    let block = superblock.encode();
    superblock.places(member.bytes).into_iter().try_for_each(|place| member.write(place, &block))
}
