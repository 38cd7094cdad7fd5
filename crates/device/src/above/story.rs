//! The result of a look-up above a sector of a disk: the layers on the way up, and what lies at each end. Values only.

use scrubjay_core::units::SectorRange;

/// The way up from some sectors of a disk, and all its ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SectorStory {
    /// The layers, each before those that lie on it.
    pub layers: Vec<SectorLayer>,
    /// What lies at the top; pieces of the sectors may have different ends.
    pub ends: Vec<SectorEnd>,
}

/// One device on the way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectorLayer {
    /// Number of layers below it.
    pub depth: usize,
    /// The kernel's name of the device: `md0`.
    pub device: String,
    /// The sectors of that device; `None` if the sectors below hold none of its data.
    pub range: Option<SectorRange>,
    /// The kind of the layer.
    pub kind: LayerKind,
    /// A description for people.
    pub words: String,
    /// The place in it, for an array or a volume.
    pub place: Option<StripePlace>,
}

/// The kind of a device on the way up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayerKind {
    /// The device at which the way begins.
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
    /// Its name in one word.
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
    /// Contents of the place: data, P, Q, mirror.
    pub role: String,
}

/// What lies at one end of the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SectorEnd {
    /// The kernel's name of the device.
    pub device: String,
    /// The sectors of the device.
    pub range: SectorRange,
    /// The kind of contents.
    pub kind: EndKind,
    /// A description for people.
    pub words: String,
    /// The paths of the files, escaped for display.
    pub files: Vec<String>,
    /// The file system that was asked, if any: `ext4`, `xfs`, `btrfs`.
    pub file_system: Option<&'static str>,
    /// The arrays on the way that may be able to restore the bytes, the lowest first.
    pub keepers: Vec<Keeper>,
}

/// The kind of contents at an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndKind {
    /// Part of a file, or of several that share it.
    File,
    /// A file system's own structures.
    Metadata,
    /// Nothing is stored there, according to the file system.
    Free,
    /// Parity only, which can be recomputed.
    Parity,
    /// No file system's: a partition table, an array's metadata, unused space.
    Outside,
    /// Data of a Scrubjay volume, whose meaning only its client knows.
    VolumeData,
    /// Not known.
    Unknown,
}

impl EndKind {
    /// Its name in one word.
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

/// An array, or a file system that is one, on the way up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Keeper {
    /// Its name: `/dev/md0`, a mount point, a volume's name.
    pub name: String,
    /// Its kind: `RAID5`.
    pub what: String,
    /// Whether it can restore these bytes, if its other members can be read.
    pub is_able: bool,
    /// Why it cannot; empty if it can.
    pub why_not: String,
    /// The command that makes it do so.
    pub command: String,
}

impl SectorEnd {
    /// An end with unknown contents, for this reason.
    pub fn unknown(device: &str, range: SectorRange, reason: impl Into<String>) -> SectorEnd {
        SectorEnd::of(device, range, EndKind::Unknown, reason)
    }

    /// An end without files and, so far, without keepers.
    pub fn of(device: &str, range: SectorRange, kind: EndKind, words: impl Into<String>) -> SectorEnd {
        let (files, keepers) = (Vec::new(), Vec::new());
        SectorEnd { device: device.to_owned(), range, kind, words: words.into(), files, file_system: None, keepers }
    }

    /// The same end, as reported by this file system.
    pub fn said_by(mut self, file_system: &'static str) -> SectorEnd {
        self.file_system = Some(file_system);
        self
    }

    /// Whether any array on the way can restore the bytes.
    pub fn is_kept(&self) -> bool {
        self.keepers.iter().any(|keeper| keeper.is_able)
    }
}
