//! The JSON of `explain DISK SECTOR --json`: schema 1.

use scrubjay_core::units::SectorRange;
use scrubjay_device::above::{BlockNode, Keeper, SectorEnd, SectorLayer, SectorStory};
use scrubjay_jobs::sector;
use serde::Serialize;

/// The explanation of some sectors.
#[derive(Serialize)]
pub struct SectorDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    /// The path, such as `/dev/sda`.
    path: String,
    /// The first sector, of 512 bytes.
    start: u64,
    count: u64,
    /// The layers above the disk, the lowest first.
    layers: Vec<LayerDocument>,
    /// What lies there; parts of the sectors may lie in different places.
    ends: Vec<EndDocument>,
}

#[derive(Serialize)]
struct LayerDocument {
    depth: usize,
    device: String,
    /// device, partition, md, device-mapper, volume or btrfs.
    kind: &'static str,
    /// The first sector on this device; null: it is none of its data.
    start: Option<u64>,
    count: Option<u64>,
    member: Option<usize>,
    stripe: Option<u64>,
    chunk_bytes: Option<u64>,
    /// The role of the chunk: data, P, Q, mirror.
    role: Option<String>,
    words: String,
}

#[derive(Serialize)]
struct EndDocument {
    device: String,
    start: u64,
    count: u64,
    /// file, metadata, free, parity, outside, volume-data or unknown.
    kind: &'static str,
    /// The file system that was asked: ext4, xfs or btrfs; null: none.
    file_system: Option<&'static str>,
    words: String,
    files: Vec<String>,
    /// Can an array restore the bytes?
    is_kept: bool,
    keepers: Vec<KeeperDocument>,
    /// What it means, in words for people.
    meaning: String,
}

#[derive(Serialize)]
struct KeeperDocument {
    name: String,
    what: String,
    is_able: bool,
    /// Why it cannot restore the bytes; null: it can.
    why_not: Option<String>,
    command: String,
}

impl SectorDocument {
    /// Makes the document.
    pub fn of(node: &BlockNode, range: SectorRange, story: &SectorStory) -> SectorDocument {
        SectorDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            path: node.device().display().to_string(),
            start: range.start.0,
            count: range.count(),
            layers: story.layers.iter().map(layer).collect(),
            ends: story.ends.iter().map(end).collect(),
        }
    }
}

fn layer(layer: &SectorLayer) -> LayerDocument {
    let place = layer.place.as_ref();
    LayerDocument {
        depth: layer.depth,
        device: layer.device.clone(),
        kind: layer.kind.word(),
        start: layer.range.map(|range| range.start.0),
        count: layer.range.map(SectorRange::count),
        member: place.map(|place| place.member),
        stripe: place.and_then(|place| place.stripe),
        chunk_bytes: place.and_then(|place| place.chunk_bytes),
        role: place.map(|place| place.role.clone()),
        words: layer.words.clone(),
    }
}

fn end(end: &SectorEnd) -> EndDocument {
    EndDocument {
        device: end.device.clone(),
        start: end.range.start.0,
        count: end.range.count(),
        kind: end.kind.word(),
        file_system: end.file_system,
        words: end.words.clone(),
        files: end.files.clone(),
        is_kept: end.is_kept(),
        keepers: end.keepers.iter().map(keeper).collect(),
        meaning: sector::meaning(end),
    }
}

fn keeper(keeper: &Keeper) -> KeeperDocument {
    KeeperDocument {
        name: keeper.name.clone(),
        what: keeper.what.clone(),
        is_able: keeper.is_able,
        why_not: (!keeper.is_able).then(|| keeper.why_not.clone()),
        command: keeper.command.clone(),
    }
}
