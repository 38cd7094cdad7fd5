//! Reads what an array is from its files in `/sys`: level, size, members; and whether it may be checked.

use super::knobs::MdKnobs;
use crate::verify::REQUEST_MAX;
use scrubjay_core::units::{Bytes, SECTOR_BYTES};

/// The levels of md that have redundancy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MdLevel {
    /// Copies of everything.
    Raid1,
    /// Copies of chunks.
    Raid10,
    /// Parity on one disk.
    Raid4,
    /// Parity on all disks in turn.
    Raid5,
    /// Two parities.
    Raid6,
}

impl MdLevel {
    const ALL: [MdLevel; 5] = [MdLevel::Raid1, MdLevel::Raid10, MdLevel::Raid4, MdLevel::Raid5, MdLevel::Raid6];

    /// Its name in `md/level`.
    pub fn name(self) -> &'static str {
        match self {
            MdLevel::Raid1 => "raid1",
            MdLevel::Raid10 => "raid10",
            MdLevel::Raid4 => "raid4",
            MdLevel::Raid5 => "raid5",
            MdLevel::Raid6 => "raid6",
        }
    }

    /// Whether it keeps copies, not parities.
    pub fn is_mirror(self) -> bool {
        matches!(self, MdLevel::Raid1 | MdLevel::Raid10)
    }

    /// The level with this name in `md/level`, if it has redundancy.
    pub fn of_name(word: &str) -> Option<MdLevel> {
        MdLevel::ALL.into_iter().find(|level| level.name() == word)
    }
}

/// A disk that is in its place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdMember {
    /// The kernel's name of the disk or partition: `sda1`.
    pub name: String,
    /// Its place in the array, from 0.
    pub slot: usize,
    /// First sector of its data, in sectors of the disk or partition.
    pub data_start: u64,
}

/// Facts about an array, known before it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MdGeometry {
    /// Its level.
    pub level: MdLevel,
    /// `md/layout`, whose meaning depends on the level.
    pub layout: u64,
    /// Sectors of a chunk; 0 for RAID-1, which has none.
    pub chunk: u64,
    /// The end of a check, in md's positions: sectors of each member's data for RAID-1, 4, 5 and 6, and of the array for
    /// RAID-10.
    pub sectors: u64,
    /// The disks, in the order of their places.
    pub members: Vec<MdMember>,
}

/// Sectors of a page, the unit of RAID-4, 5 and 6 comparisons, to which the kernel rounds `sync_min` down.
pub const PAGE_SECTORS: u64 = 8;

/// Why an array is not checked. Nothing was changed then. Its text continues the array's name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MdRefusal {
    /// This level has no redundancy.
    #[error("is {0}, which keeps nothing twice")]
    NoRedundancy(String),
    /// The kernel is too old to steer a check.
    #[error("cannot be checked in steps: this kernel has no md/{0} (Linux 2.6.26 and later have it)")]
    NoFeature(&'static str),
    /// Members are missing.
    #[error(
        "is degraded: {0} of its {1} members are missing: replace them first (mdadm --manage /dev/NAME --add DISK); the members that are left can be read one by one, as disks"
    )]
    Degraded(u64, u64),
    /// It is not in an active state.
    #[error("is {0}: {advice}", advice = state_advice(.0))]
    State(String),
    /// md is already busy with it.
    #[error(
        "is busy ({0}): another program, or the kernel itself, has begun it: try again when /proc/mdstat shows it done"
    )]
    Busy(String),
    /// Its geometry is being changed.
    #[error("is being reshaped: try again when /proc/mdstat shows it done")]
    Reshaping,
    /// A member has blocks that md knows to be bad, which a check skips.
    #[error(
        "has bad blocks in the list of its member {0} (md/dev-{0}/bad_blocks), which a check passes over: replace that member"
    )]
    BadBlocks(String),
    /// Its chunks are larger than any request.
    #[error("has chunks of {0}, the most that can be checked is {max}", max = REQUEST_MAX)]
    Chunk(Bytes),
    /// The user may not write to its files.
    #[error(
        "cannot be checked: /sys/block/NAME/md may not be written ({0}): run as root, where /sys is not read-only (a container?)"
    )]
    Permission(String),
    /// A file has an unexpected value.
    #[error("cannot be checked: md/{0} says nothing that makes sense")]
    Nonsense(&'static str),
}

fn state_advice(state: &str) -> &'static str {
    match state {
        "read-auto" => "nothing has written to it since it was assembled: mount it, or mdadm --readwrite it",
        "readonly" => "mdadm --readwrite makes it one that can be checked",
        _ => "start it first (see mdadm --detail)",
    }
}

impl MdGeometry {
    /// How many members a position can do without.
    pub fn spare_members(&self) -> usize {
        match self.level {
            MdLevel::Raid1 => self.members.len() - 1,
            MdLevel::Raid4 | MdLevel::Raid5 | MdLevel::Raid10 => 1,
            MdLevel::Raid6 => 2,
        }
    }

    /// Reads what an array is, and checks that it may be checked now. `array_sectors` is the size of its device.
    ///
    /// # Errors
    /// [`MdRefusal`].
    pub fn read(knobs: &dyn MdKnobs, array_sectors: u64) -> Result<MdGeometry, MdRefusal> {
        let geometry = MdGeometry::read_unchecked(knobs, array_sectors)?;
        is_healthy(knobs)?;
        // With RAID-10, it is not computed which of the array's sectors are affected.
        let has_bad = |member: &&MdMember| {
            knobs.read(&format!("dev-{}/bad_blocks", member.name)).is_ok_and(|list| !list.is_empty())
        };
        if let Some(member) = geometry.members.iter().find(has_bad).filter(|_| geometry.level == MdLevel::Raid10) {
            return Err(MdRefusal::BadBlocks(member.name.clone()));
        }
        match knobs.read("sync_action").unwrap_or_default().as_str() {
            "idle" => Ok(geometry),
            action => Err(MdRefusal::Busy(action.to_owned())),
        }
    }

    /// Reads what an array is, whether or not it may be checked now.
    ///
    /// # Errors
    /// [`MdRefusal`], when it can never be checked.
    pub fn read_unchecked(knobs: &dyn MdKnobs, array_sectors: u64) -> Result<MdGeometry, MdRefusal> {
        let text = |file| knobs.read(file).map_err(|_| MdRefusal::Nonsense(file));
        let number = |file: &'static str| text(file)?.parse::<u64>().map_err(|_| MdRefusal::Nonsense(file));
        let word = text("level")?;
        let level = MdLevel::of_name(&word).ok_or(MdRefusal::NoRedundancy(word))?;
        for file in ["sync_min", "sync_max", "sync_completed", "sync_action", "mismatch_cnt"] {
            knobs.read(file).map_err(|_| MdRefusal::NoFeature(file))?;
        }
        let chunk = if level == MdLevel::Raid1 { 0 } else { number("chunk_size")? / SECTOR_BYTES };
        if Bytes(chunk * SECTOR_BYTES) > REQUEST_MAX {
            return Err(MdRefusal::Chunk(Bytes(chunk * SECTOR_BYTES)));
        }
        if level != MdLevel::Raid1 && (chunk < PAGE_SECTORS || !chunk.is_power_of_two()) {
            return Err(MdRefusal::Nonsense("chunk_size"));
        }
        // In KiB; for a mirror the size of the device is exact to the sector.
        let component = number("component_size")?.saturating_mul(2);
        let sectors = match level {
            MdLevel::Raid1 => component.max(array_sectors),
            MdLevel::Raid10 => array_sectors,
            _ => component,
        };
        let geometry =
            MdGeometry { level, layout: number("layout").unwrap_or(0), chunk, sectors, members: members(knobs) };
        if geometry.whole_sectors() == 0 {
            return Err(MdRefusal::Nonsense("component_size"));
        }
        Ok(geometry)
    }

    /// The smallest range that can be checked, in sectors.
    pub fn block(&self) -> u64 {
        self.chunk.max(PAGE_SECTORS)
    }

    /// Sectors of the whole blocks. The rest is checked together with the last of them.
    pub fn whole_sectors(&self) -> u64 {
        self.sectors / self.block() * self.block()
    }
}

/// Checks that the members and the state of the array allow a check.
///
/// # Errors
/// [`MdRefusal`].
pub fn is_healthy(knobs: &dyn MdKnobs) -> Result<(), MdRefusal> {
    let number = |file| knobs.read(file).ok().and_then(|text| text.parse::<u64>().ok());
    let state = knobs.read("array_state").unwrap_or_default();
    if !["clean", "active", "active-idle", "write-pending"].contains(&state.as_str()) {
        return Err(MdRefusal::State(if state.is_empty() { "gone".to_owned() } else { state }));
    }
    if knobs.read("reshape_position").is_ok_and(|at| at != "none") {
        return Err(MdRefusal::Reshaping);
    }
    let places = knobs.read("raid_disks").unwrap_or_default();
    let places: u64 = places.split(' ').next().and_then(|count| count.parse().ok()).unwrap_or(0);
    let (degraded, in_sync) = (number("degraded").unwrap_or(u64::MAX), members(knobs).len() as u64);
    match (degraded, places.saturating_sub(in_sync)) {
        (0, 0) => Ok(()),
        // md notices that a disk was pulled only when it next uses it.
        (degraded, missing) => Err(MdRefusal::Degraded(degraded.min(places).max(missing), places)),
    }
}

/// The disks in their places, by place.
pub(super) fn members(knobs: &dyn MdKnobs) -> Vec<MdMember> {
    let mut members: Vec<MdMember> = knobs
        .devices()
        .into_iter()
        .filter_map(|device| {
            let text = |file: &str| knobs.read(&format!("{device}/{file}")).unwrap_or_default();
            let state = text("state");
            let has_state = |word: &str| state.split(',').any(|state| state == word);
            // The link of a disk that was pulled leads nowhere, but md calls it in sync until it next uses it.
            let is_present = knobs.read(&format!("{device}/block/dev")).is_ok();
            let is_usable = is_present && has_state("in_sync") && !has_state("faulty") && !has_state("replacement");
            Some(MdMember {
                slot: text("slot").parse().ok().filter(|_| is_usable)?,
                data_start: text("offset").parse().unwrap_or(0),
                name: device.strip_prefix("dev-")?.to_owned(),
            })
        })
        .collect();
    members.sort_by_key(|member| member.slot);
    members
}
