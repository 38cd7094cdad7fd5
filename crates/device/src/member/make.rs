//! Makes members: writes the first bytes of a new volume, in an order in which a crash leaves no half-made one.

use super::open::OpenMember;
use scrubjay_core::buffer::Buffer;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::MemberOffset;
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::superblock::Superblock;
use scrubjay_core::volume::format::uuid::Uuid;
use std::fs::File;
use std::io::{self, Read};

/// Bytes that are wiped at either end: everything that identifies the former use of a disk is there.
const WIPE_BYTES: u64 = 1 << 20;
/// Bytes of maps that are written at once, at most.
const BATCH_BYTES: usize = 1 << 20;

/// A new random UUID.
///
/// # Errors
/// When the kernel has no random bytes.
pub fn new_uuid() -> io::Result<Uuid> {
    let mut bytes = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(Uuid::of_random(bytes))
}

/// Makes these, in the order of their slots, the members of the volume that `superblock` describes. First all of them get
/// empty maps and no superblock, durably, then all get their superblocks.
///
/// # Errors
/// The place in `members` of one that could not be written, and why; the others may be members already.
///
/// # Panics
/// When there are more or fewer members than the volume has slots.
pub fn make(members: &[OpenMember], superblock: &Superblock) -> Result<(), (usize, io::Error)> {
    assert_eq!(members.len(), superblock.members.len(), "a member for each slot");
    let each = |step: &dyn Fn(usize, &OpenMember) -> io::Result<()>| {
        members.iter().enumerate().try_for_each(|(slot, member)| step(slot, member).map_err(|error| (slot, error)))
    };
    each(&|_, member| member.wipe())?;
    each(&|_, member| member.sync())?;
    each(&|_, member| write_maps(member, superblock))?;
    each(&|_, member| member.sync())?;
    each(&|slot, member| write_superblock(member, &superblock.of_member(MemberIndex(slot))))?;
    each(&|_, member| member.sync())
}

impl OpenMember {
    /// Zeros both ends, which removes all signs of its former use. Not durable before [`OpenMember::sync`].
    ///
    /// # Errors
    /// The kernel's error.
    pub fn wipe(&self) -> io::Result<()> {
        let zeros = Buffer::zeroed(WIPE_BYTES.min(self.bytes) as usize);
        self.write(MemberOffset(self.bytes - zeros.len() as u64), &zeros)?;
        self.write(MemberOffset(0), &zeros)
    }
}

/// Writes maps in which nothing is dirty and nothing was ever written. Adjacent pages are written at once.
fn write_maps(member: &OpenMember, superblock: &Superblock) -> io::Result<()> {
    let mut batch = vec![0; BATCH_BYTES];
    let (mut start, mut filled) = (MemberOffset(0), 0);
    for (offset, page) in blank::maps(superblock) {
        if offset != start + filled as u64 || filled + page.len() > BATCH_BYTES {
            member.write(start, &Buffer::copy_of(&batch[..filled]))?;
            (start, filled) = (offset, 0);
        }
        batch[filled..filled + page.len()].copy_from_slice(&page);
        filled += page.len();
    }
    member.write(start, &Buffer::copy_of(&batch[..filled]))
}

fn write_superblock(member: &OpenMember, superblock: &Superblock) -> io::Result<()> {
    let block = superblock.encode();
    superblock.places(member.bytes).into_iter().try_for_each(|place| member.write(place, &block))
}
