//! A pool: its tree of vdevs, and what it says of itself.

use scrubjay_watch::pool::{LastScrub, PoolLosses, PoolScan};

/// A pool.
#[derive(Clone, Debug, PartialEq)]
pub struct Zpool {
    /// Its name.
    pub name: String,
    /// Its permanent identity, as far as it is known.
    pub guid: Option<u64>,
    /// Its state in ZFS's word: ONLINE, DEGRADED, FAULTED, UNAVAIL, SUSPENDED. It says nothing of lost data.
    pub state: String,
    /// The top-level vdevs of all classes.
    pub vdevs: Vec<Vdev>,
    /// Whether data are lost.
    pub losses: PoolLosses,
    /// What its scan does.
    pub scan: PoolScan,
    /// When a scrub last covered all of it.
    pub scrubbed: LastScrub,
    /// Its size, redundancy included where ZFS counts that; `None`: not known.
    pub bytes: Option<u64>,
}

/// What a vdev is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VdevKind {
    /// A disk, a partition or a file.
    Leaf,
    /// Copies.
    Mirror,
    /// Parity, of this many devices.
    Raidz(u32),
    /// The same with distributed spares.
    Draid(u32),
    /// A device and its replacement, or a spare in its place.
    Stand,
    /// A place in a dRAID that serves as a spare.
    DistributedSpare,
    /// The place of a device that was removed.
    Hole,
}

impl VdevKind {
    /// From ZFS's name of it: `mirror-0`, `raidz2-1`, `draid1:2d:5c:1s-0`, `spare-3`, `/dev/sda1`.
    pub fn of_name(name: &str) -> VdevKind {
        let numbered = |kind: &str| {
            let rest = name.strip_prefix(kind)?;
            rest.strip_prefix('-').filter(|number| !number.is_empty() && number.bytes().all(|c| c.is_ascii_digit()))
        };
        let parity =
            |rest: &str| rest.bytes().next().filter(u8::is_ascii_digit).map_or(1, |digit| u32::from(digit - b'0'));
        if numbered("mirror").is_some() {
            return VdevKind::Mirror;
        }
        if numbered("spare").is_some() || numbered("replacing").is_some() {
            return VdevKind::Stand;
        }
        if numbered("indirect").is_some() || numbered("hole").is_some() {
            return VdevKind::Hole;
        }
        match (name.strip_prefix("raidz"), name.strip_prefix("draid")) {
            (Some(rest), _) => VdevKind::Raidz(parity(rest)),
            (_, Some(rest)) if rest.contains(':') => VdevKind::Draid(parity(rest)),
            (_, Some(_)) => VdevKind::DistributedSpare,
            _ => VdevKind::Leaf,
        }
    }
}

/// What a top-level vdev is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VdevClass {
    /// Data.
    Data,
    /// Metadata and small blocks, or the tables of what is stored once: without them the pool is lost, too.
    Special,
    /// The intent log: without it, at most the last seconds before a crash are lost.
    Log,
    /// Copies of what is read often.
    Cache,
    /// A spare.
    Spare,
}

/// A vdev and those below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vdev {
    /// Its name, as ZFS prints it.
    pub name: String,
    /// What it is.
    pub kind: VdevKind,
    /// What it is for.
    pub class: VdevClass,
    /// Its state in ZFS's word; empty: ZFS gives none.
    pub state: String,
    /// Its identity, as far as it is known.
    pub guid: Option<u64>,
    /// The path of its device or file.
    pub path: Option<String>,
    /// Errors that were counted at it: reads, writes, checksums.
    pub errors: u64,
    /// Those below it.
    pub children: Vec<Vdev>,
}

impl Vdev {
    /// A vdev of this name without anything below.
    pub fn new(name: &str, class: VdevClass, state: &str) -> Vdev {
        Vdev {
            name: name.to_owned(),
            kind: VdevKind::of_name(name),
            class,
            state: state.to_owned(),
            guid: None,
            path: None,
            errors: 0,
            children: Vec::new(),
        }
    }

    /// Does it hold its data and serve them?
    pub fn works(&self) -> bool {
        match self.children.is_empty() {
            // One with many errors is DEGRADED, and still used.
            true => matches!(self.state.as_str(), "ONLINE" | "DEGRADED" | ""),
            false => self.children.iter().any(Vdev::works),
        }
    }

    /// The devices, files and places at the bottom, in order.
    pub fn leaves(&self) -> Vec<&Vdev> {
        match self.children.is_empty() {
            true => vec![self],
            false => self.children.iter().flat_map(Vdev::leaves).collect(),
        }
    }

    /// How many of its children it can do without.
    pub fn redundancy(&self) -> u32 {
        match self.kind {
            VdevKind::Mirror => u32::try_from(self.children.len().saturating_sub(1)).unwrap_or(u32::MAX),
            VdevKind::Raidz(parity) | VdevKind::Draid(parity) => parity,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_vdev_is() {
        for (name, kind) in [
            ("mirror-0", VdevKind::Mirror),
            ("mirror-of-my-dreams", VdevKind::Leaf),
            ("raidz1-0", VdevKind::Raidz(1)),
            ("raidz3-12", VdevKind::Raidz(3)),
            ("draid2:4d:8c:1s-0", VdevKind::Draid(2)),
            ("draid1-0-0", VdevKind::DistributedSpare),
            ("spare-1", VdevKind::Stand),
            ("replacing-0", VdevKind::Stand),
            ("indirect-1", VdevKind::Hole),
            ("/dev/disk/by-id/ata-X-part1", VdevKind::Leaf),
            ("12535689221088430430", VdevKind::Leaf),
        ] {
            assert_eq!(VdevKind::of_name(name), kind, "{name}");
        }
    }
}
