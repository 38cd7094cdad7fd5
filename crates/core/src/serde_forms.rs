//! Values in serde's forms: they are read through what checks them, so that a damaged text makes an error and no impossible value.

use crate::layout::{Layout, LayoutKind, Shape};
use crate::units::SectorRange;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// `[start, end]`, the end being one past the last sector.
impl Serialize for SectorRange {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (self.start.0, self.end.0).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for SectorRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<SectorRange, D::Error> {
        let (start, end) = Deserialize::deserialize(deserializer)?;
        let is_forwards = start <= end;
        is_forwards
            .then(|| SectorRange::new(start, end))
            .ok_or_else(|| D::Error::custom("a run of sectors goes backwards"))
    }
}

/// By its name.
impl Serialize for LayoutKind {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for LayoutKind {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<LayoutKind, D::Error> {
        let name = String::deserialize(deserializer)?;
        LayoutKind::by_name(&name).ok_or_else(|| D::Error::custom(format!("there is no layout \"{name}\"")))
    }
}

/// What a layout is made from.
#[derive(Serialize, Deserialize)]
struct LayoutParts {
    kind: LayoutKind,
    data: usize,
    parity: usize,
    disks: usize,
}

impl Serialize for Layout {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Shape { data, parity } = self.shape();
        LayoutParts { kind: self.kind(), data, parity, disks: self.disks() }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Layout {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Layout, D::Error> {
        let LayoutParts { kind, data, parity, disks } = Deserialize::deserialize(deserializer)?;
        Layout::new(kind, Shape { data, parity }, disks).map_err(D::Error::custom)
    }
}
