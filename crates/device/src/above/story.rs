//! What is found above a sector of a disk: the layers on the way up, and what lies at each end. Values only.

use scrubjay_core::units::SectorRange;

/// The way up from some sectors of a disk, and all its ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectorStory {
    /// The layers, each below what lies on it.
    pub layers: Vec<SectorLayer>,
    /// What lies there in the end; pieces of the sectors may end in different places.
    pub ends: Vec<SectorEnd>,
}

/// One device on the way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectorLayer {
    /// How many devices lie below it.
    pub depth: usize,
    /// The kernel's name of the device: `md0`.
    pub device: String,
    /// Which sectors of that device; none where what lies below is none of its data.
    pub range: Option<SectorRange>,
    /// What it is.
    pub kind: LayerKind,
    /// What there is to say, in words.
    pub words: String,
    /// Of an array or a volume: the place in it.
    pub place: Option<StripePlace>,
}

/// What a device on the way up is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// Where the way begins.
    Device,
    /// A partition.
    Partition,
    /// An array of md.
    Md,
    /// A device of the device mapper.
    Mapper,
    /// A Scrubjay volume.
    Volume,
    /// A btrfs, which is an array and a file system in one.
    Btrfs,
}

impl LayerKind {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            LayerKind::Device => "device",
            LayerKind::Partition => "partition",
            LayerKind::Md => "md",
            LayerKind::Mapper => "device-mapper",
            LayerKind::Volume => "volume",
            LayerKind::Btrfs => "btrfs",
        }
    }
}

/// A place in an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StripePlace {
    /// The number of the member.
    pub member: usize,
    /// The number of the stripe, where there are stripes.
    pub stripe: Option<u64>,
    /// Bytes of a chunk, where there are chunks.
    pub chunk_bytes: Option<u64>,
    /// What lies there: data, P, Q, mirror.
    pub role: String,
}

/// What lies at the end of a way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectorEnd {
    /// The kernel's name of the device,
    pub device: String,
    /// and its sectors.
    pub range: SectorRange,
    /// What lies there.
    pub kind: EndKind,
    /// The same in words.
    pub words: String,
    /// Of files: their paths, as they may be shown.
    pub files: Vec<String>,
    /// The file system that says so, if one does: `ext4`, `xfs`, `btrfs`.
    pub file_system: Option<&'static str>,
    /// Who holds the same bytes elsewhere, too, the lowest first.
    pub keepers: Vec<Keeper>,
}

/// What lies at the end of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// Part of a file, or of several that share it.
    File,
    /// A file system's own structures.
    Metadata,
    /// The file system says that nothing is stored there.
    Free,
    /// Parity only, which can be reckoned anew.
    Parity,
    /// What belongs to no file system: a partition table, an array's own notes, what is left over.
    Outside,
    /// Data of a Scrubjay volume, whose client alone knows what they are.
    VolumeData,
    /// It is not known.
    Unknown,
}

impl EndKind {
    /// In one word.
    pub const fn word(self) -> &'static str {
        match self {
            EndKind::File => "file",
            EndKind::Metadata => "metadata",
            EndKind::Free => "free",
            EndKind::Parity => "parity",
            EndKind::Outside => "outside",
            EndKind::VolumeData => "volume-data",
            EndKind::Unknown => "unknown",
        }
    }
}

/// An array, or a file system that is one, through which the way went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeper {
    /// As it is called: `/dev/md0`, a mount point, a volume's name.
    pub name: String,
    /// What it is: `RAID5`.
    pub what: String,
    /// Can it make these bytes again, if its other members can be read?
    pub is_able: bool,
    /// If not, why.
    pub why_not: String,
    /// What has it do so.
    pub command: String,
}

impl SectorEnd {
    /// Something that is not known.
    pub fn unknown(device: &str, range: SectorRange, why: impl Into<String>) -> SectorEnd {
        SectorEnd::of(device, range, EndKind::Unknown, why)
    }

    /// Something without files and, so far, without keepers.
    pub fn of(device: &str, range: SectorRange, kind: EndKind, words: impl Into<String>) -> SectorEnd {
        let (files, keepers) = (Vec::new(), Vec::new());
        SectorEnd { device: device.to_owned(), range, kind, words: words.into(), files, file_system: None, keepers }
    }

    /// The same, said by this file system.
    pub fn said_by(mut self, file_system: &'static str) -> SectorEnd {
        self.file_system = Some(file_system);
        self
    }

    /// Can somebody on the way make the bytes again?
    pub fn is_kept(&self) -> bool {
        self.keepers.iter().any(|keeper| keeper.is_able)
    }
}
