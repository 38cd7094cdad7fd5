//! Opens the members of a volume, and assembles them, in any order.

use crate::members::MemberTable;
use scrubjay_core::index::MemberIndex;
use scrubjay_core::units::UnixSeconds;
use scrubjay_core::volume::format::assemble::{AssembleError, Assembly, GivenMember, assemble};
use scrubjay_core::volume::format::superblock::MemberState;
use scrubjay_core::volume::{Volume, VolumeOptions};
use scrubjay_device::member::{Access, MemberError, OpenMember, new_uuid};
use std::io;
use std::path::PathBuf;

/// A volume that can be started: what its members' superblocks state, and their disks.
#[derive(Debug)]
pub struct Gathered {
    /// What the members' superblocks state together.
    pub assembly: Assembly,
    /// The members' disks.
    pub members: MemberTable,
    /// Paths of the disks, by member index.
    pub paths: Vec<Option<String>>,
    /// Sizes of the disks in bytes, by member index; 0: there is none.
    pub member_bytes: Vec<u64>,
    /// Notes for the user: which members were left out, and which are missing.
    pub notes: Vec<String>,
}

/// Why there is no volume.
#[derive(Debug, thiserror::Error)]
pub enum GatherError {
    /// The members that were left out are needed.
    #[error("{error}; left out: {}", left_out.join(", "))]
    Rest {
        /// Why the other members make no array.
        error: Box<AssembleError>,
        /// Each member that was left out, and why.
        left_out: Vec<String>,
    },
    /// None of the members that were named can be used.
    #[error("no member can be used: {}", .0.join(", "))]
    NoneLeft(Vec<String>),
    /// Some of its members are missing or left out.
    #[error("the volume is not whole: {}", .0.join(", "))]
    Degraded(Vec<String>),
    /// A member cannot be opened.
    #[error(transparent)]
    Member(#[from] MemberError),
    /// The members make no array.
    #[error("{0}")]
    Assemble(Box<AssembleError>),
    /// It was not stopped in order. That takes a resync, which writes, and the volume is opened for reading only.
    #[error("the volume was not stopped in order: serve it for writing, or check and repair it, first")]
    Unclean,
}

/// Opens all members, and assembles them. Nothing is written.
///
/// # Errors
/// [`GatherError`].
pub fn gather(paths: &[PathBuf], is_read_only: bool) -> Result<Gathered, GatherError> {
    let opened: Vec<OpenMember> =
        paths.iter().map(|path| OpenMember::open(path, access(is_read_only))).collect::<Result<_, _>>()?;
    let given: Vec<_> = opened.iter().map(OpenMember::given).collect();
    let assembly = assemble(&given).map_err(|error| GatherError::Assemble(Box::new(error)))?;
    put_together(opened, &given, assembly, is_read_only, Vec::new())
}

/// Like [`gather`], but leaves out members that cannot be opened, have no readable superblock or have shrunk, if the rest is
/// enough: redundancy is there for dead disks. A disk that another program holds, or that this user may not open, is not dead,
/// and is an error.
///
/// # Errors
/// [`GatherError`], which names all members that were left out.
pub fn gather_usable(paths: &[PathBuf], is_read_only: bool) -> Result<Gathered, GatherError> {
    let (mut opened, mut given, mut left_out) = (Vec::new(), Vec::new(), Vec::new());
    for path in paths {
        let member = match OpenMember::open(path, access(is_read_only)) {
            Ok(member) => member,
            Err(
                error @ (MemberError::Absent { .. }
                | MemberError::Io { .. }
                | MemberError::Kind { .. }
                | MemberError::Permission { is_for_all: true, .. }),
            ) => {
                left_out.push(error.to_string());
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let entry = member.given();
        match &entry.superblock {
            Ok(_) => {
                opened.push(member);
                given.push(entry);
            }
            Err(error) => left_out.push(format!("{} {error}", entry.label)),
        }
    }
    let assembly = loop {
        match assemble(&given) {
            Ok(assembly) => break assembly,
            Err(AssembleError::Nothing) if !left_out.is_empty() => return Err(GatherError::NoneLeft(left_out)),
            Err(error @ AssembleError::Shrunk { .. }) if given.len() > 1 => {
                let AssembleError::Shrunk { label, .. } = &error else { unreachable!("it was just now") };
                let index = given.iter().position(|given| given.label == *label).expect("it was given");
                left_out.push(error.to_string());
                opened.remove(index);
                given.remove(index);
            }
            Err(error) if left_out.is_empty() => return Err(GatherError::Assemble(Box::new(error))),
            Err(error) => return Err(GatherError::Rest { error: Box::new(error), left_out }),
        }
    };
    let notes = left_out.into_iter().map(|why| format!("left out: {why}")).collect();
    put_together(opened, &given, assembly, is_read_only, notes)
}

fn access(is_read_only: bool) -> Access {
    if is_read_only { Access::ReadOnly } else { Access::ReadWrite }
}

fn put_together(
    opened: Vec<OpenMember>,
    given: &[GivenMember],
    assembly: Assembly,
    is_read_only: bool,
    mut notes: Vec<String>,
) -> Result<Gathered, GatherError> {
    if is_read_only && !assembly.superblock.is_clean {
        return Err(GatherError::Unclean);
    }
    let block_bytes = assembly.superblock.geometry.block_bytes;
    for stale in &assembly.stale {
        let (label, slot) = (&given[stale.given].label, stale.member);
        let why = match stale.state {
            Some(MemberState::Missing) => {
                format!(
                    "it was missing when the volume was last written: `scrubjay volume readd {label}` takes it back"
                )
            }
            Some(MemberState::Failed(_)) => format!("it was taken out: `scrubjay volume readd {label}` takes it back"),
            Some(_) => format!(
                "it is of an earlier time than the others (a copy was put back, or it lost what was written to it): \
                 `scrubjay volume replace {slot} {label} --force {label}` rebuilds it"
            ),
            None => "another disk has its place".to_owned(),
        };
        notes.push(format!("{label} is left out: {why} (member {slot})"));
    }
    for slot in assembly.old().iter() {
        let label = assembly.members[slot].given().map_or("", |index| &given[index].label);
        notes.push(format!(
            "{label} is of an earlier time than the others, and cannot be done without: what was written since may read as it \
             was before (member {slot}): scrub the volume"
        ));
    }
    let mut opened: Vec<Option<OpenMember>> = opened.into_iter().map(Some).collect();
    let (mut members, mut names, mut member_bytes) = (MemberTable::default(), Vec::new(), Vec::new());
    for (slot, state) in assembly.members.iter().enumerate() {
        let member = state.given().and_then(|index| opened[index].take());
        let Some(mut member) = member else {
            if state.given().is_none() {
                notes.push(format!("member {slot} is not here: what it held is rebuilt when it is asked for"));
            }
            names.push(None);
            member_bytes.push(0);
            continue;
        };
        member.use_block(block_bytes)?;
        names.push(Some(member.path.display().to_string()));
        member_bytes.push(member.bytes);
        members.set(MemberIndex(slot), Some(member.into_file()));
    }
    Ok(Gathered { assembly, members, paths: names, member_bytes, notes })
}

impl Gathered {
    /// Checks that every member has a disk, and that none was left out.
    ///
    /// # Errors
    /// [`GatherError::Degraded`].
    pub fn check_whole(&self) -> Result<(), GatherError> {
        if self.notes.is_empty() { Ok(()) } else { Err(GatherError::Degraded(self.notes.clone())) }
    }

    /// Starts the volume; its disks stay here.
    ///
    /// # Errors
    /// When the kernel gives no random number, which distinguishes this start from all others.
    pub fn start(&self, is_read_only: bool, today: UnixSeconds) -> io::Result<Volume> {
        let start_number = new_uuid()?.id().max(1);
        let member_bytes = self.member_bytes.clone();
        let options = VolumeOptions { is_read_only, today, member_bytes, start_number, ..VolumeOptions::default() };
        Ok(Volume::start(self.assembly.clone(), options))
    }
}
