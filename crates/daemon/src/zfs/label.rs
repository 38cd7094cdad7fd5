//! The label of a device of ZFS: the pool, the device's own identity, and the tree of its top-level vdev.
//!
//! ```text
//! label, 256 KiB    8 KiB blank, 8 KiB for boot loaders, 112 KiB nvlist (the last 40 bytes: magic and SHA-256), 128 KiB uberblocks
//! device            two labels at its beginning, two at its end
//! ```
//! Source: OpenZFS, `vdev_impl.h` (`vdev_label_t`, `vdev_phys_t`) and `zio_checksum.c` (checksums of labels).

use super::nvlist::{self, NvList, NvValue};
use super::pool::{Vdev, VdevClass, VdevKind};
use ring::digest::{SHA256, digest};
use scrubjay_core::units::SECTOR_BYTES;
use scrubjay_device::above::labels::{LabelReader, PAGE};
use std::path::Path;

/// Bytes of a label.
const LABEL: u64 = 256 << 10;
/// Where its list begins, and how long it is.
const LIST: (u64, usize) = (16 << 10, 112 << 10);
/// The magic number before a checksum.
const CHECKSUM_MAGIC: u64 = 0x0210_da7a_b10c_7a11;
/// Bytes of magic number and checksum.
const TAIL: usize = 40;
/// Top-level vdevs of a pool, at most: a greater number makes no sense.
const TOPS_MAX: u64 = 4096;
/// Vdevs inside one another, at most.
const DEPTH_MAX: usize = 8;

/// What a device's label says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberLabel {
    /// The pool's name and identity; both are absent in the labels of spares and caches.
    pub pool: Option<(String, u64)>,
    /// The device's own identity.
    pub guid: u64,
    /// What it is in the pool.
    pub role: LabelRole,
    /// When the label was written, in ZFS's count of transaction groups.
    pub txg: u64,
    /// How many top-level vdevs the pool has, as far as it is known.
    pub tops: Option<u64>,
    /// The places of top-level vdevs that were removed.
    pub holes: Vec<u64>,
    /// Its top-level vdev with those below, and the place of that in the pool.
    pub top: Option<(u64, Vdev)>,
}

/// The role of a device, by its label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LabelRole {
    /// It is part of a pool, imported or not.
    Member,
    /// It is part of a pool that was destroyed.
    Destroyed,
    /// It is a spare.
    Spare,
    /// It caches reads.
    Cache,
}

/// Reads the newest label that proves itself of a device with this many sectors. `None`: there is none.
pub fn read(device: &Path, sectors: u64) -> Option<MemberLabel> {
    let mut reader = LabelReader::open(device).ok()?;
    let bytes = sectors.saturating_mul(SECTOR_BYTES) / LABEL * LABEL;
    let places = [0, LABEL, bytes.saturating_sub(2 * LABEL), bytes.saturating_sub(LABEL)];
    let labels = places.into_iter().filter_map(|place| {
        let mut list = Vec::with_capacity(LIST.1);
        for page in 0..LIST.1 / PAGE {
            list.extend_from_slice(reader.page(place + LIST.0 + (page * PAGE) as u64)?);
        }
        label(&list, place + LIST.0)
    });
    labels.max_by_key(|label| label.txg)
}

/// The label whose list lies at byte `place` of a device; `None`: it does not prove itself, or makes no sense.
pub fn label(list: &[u8], place: u64) -> Option<MemberLabel> {
    if !is_proven(list, place) {
        return None;
    }
    let list = nvlist::decode(list).ok()?;
    let number = |key: &str| list.get(key).and_then(NvValue::number);
    let role = match number("state")? {
        0 | 1 => LabelRole::Member,
        2 => LabelRole::Destroyed,
        3 => LabelRole::Spare,
        4 => LabelRole::Cache,
        _ => return None,
    };
    let name = list.get("name").and_then(NvValue::text).map(str::to_owned);
    let tree = match list.get("vdev_tree") {
        Some(NvValue::List(tree)) => {
            Some((tree.get("id").and_then(NvValue::number).unwrap_or(0), vdev(tree, class(tree), 0)))
        }
        _ => None,
    };
    Some(MemberLabel {
        pool: name.zip(number("pool_guid")),
        guid: number("guid")?,
        role,
        txg: number("txg").unwrap_or(0),
        tops: number("vdev_children").filter(|tops| *tops <= TOPS_MAX),
        holes: match list.get("hole_array") {
            Some(NvValue::Numbers(holes)) => holes.clone(),
            _ => Vec::new(),
        },
        top: tree,
    })
}

/// Does the checksum fit? It is SHA-256 of the list, with the place of the list where the checksum lies.
fn is_proven(list: &[u8], place: u64) -> bool {
    let Some(start) = list.len().checked_sub(TAIL) else { return false };
    let (magic, stored) = list[start..].split_at(8);
    let to_u64 = |bytes: &[u8], is_little: bool| {
        let array = <[u8; 8]>::try_from(bytes).unwrap_or_default();
        if is_little { u64::from_le_bytes(array) } else { u64::from_be_bytes(array) }
    };
    let Some(is_little) = [true, false].into_iter().find(|&is_little| to_u64(magic, is_little) == CHECKSUM_MAGIC)
    else {
        return false;
    };
    let mut verified = list.to_vec();
    verified[start + 8..].fill(0);
    let place = if is_little { place.to_le_bytes() } else { place.to_be_bytes() };
    verified[start + 8..start + 16].copy_from_slice(&place);
    let sum = digest(&SHA256, &verified);
    // The sum's words are stored in the order of the machine that wrote them.
    let words = sum.as_ref().chunks_exact(8).zip(stored.chunks_exact(8));
    words.into_iter().all(|(sum, stored)| to_u64(sum, false) == to_u64(stored, is_little))
}

fn class(tree: &NvList) -> VdevClass {
    let is_log = tree.get("is_log").and_then(NvValue::number) == Some(1);
    match tree.get("alloc_bias").and_then(NvValue::text) {
        Some("special" | "dedup") => VdevClass::Special,
        _ if is_log => VdevClass::Log,
        _ => VdevClass::Data,
    }
}

fn vdev(tree: &NvList, class: VdevClass, depth: usize) -> Vdev {
    let number = |key: &str| tree.get(key).and_then(NvValue::number);
    let (kind, id) = (tree.get("type").and_then(NvValue::text).unwrap_or_default(), number("id").unwrap_or(0));
    let parity = u32::try_from(number("nparity").unwrap_or(1)).unwrap_or(1);
    let (kind, named) = match kind {
        "mirror" => (VdevKind::Mirror, format!("mirror-{id}")),
        "raidz" => (VdevKind::Raidz(parity), format!("raidz{parity}-{id}")),
        "draid" => (VdevKind::Draid(parity), format!("draid{parity}-{id}")),
        "replacing" | "spare" => (VdevKind::Stand, format!("{kind}-{id}")),
        "dspare" => (VdevKind::DistributedSpare, format!("{kind}-{id}")),
        "hole" | "missing" | "indirect" => (VdevKind::Hole, format!("{kind}-{id}")),
        _ => (VdevKind::Leaf, String::new()),
    };
    let path = tree.get("path").and_then(NvValue::text).map(str::to_owned);
    let flags = [("offline", "OFFLINE"), ("faulted", "FAULTED"), ("removed", "REMOVED")];
    let state = flags.into_iter().find(|(flag, _)| number(flag) == Some(1)).map_or("", |(_, state)| state);
    let children = match tree.get("children") {
        Some(NvValue::Lists(children)) if depth < DEPTH_MAX => {
            children.iter().map(|child| vdev(child, class, depth + 1)).collect()
        }
        _ => Vec::new(),
    };
    let name = path.clone().filter(|_| kind == VdevKind::Leaf).unwrap_or(named);
    Vdev { kind, guid: number("guid"), path, children, ..Vdev::new(&name, class, state) }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A device of `bytes` with its four labels, which say this.
    pub(crate) fn labelled_device(bytes: usize, list: &NvList) -> Vec<u8> {
        let mut device = vec![0; bytes];
        for place in [0, LABEL as usize, bytes - 2 * LABEL as usize, bytes - LABEL as usize] {
            let at = place + LIST.0 as usize;
            let mut encoded = vec![1, 1, 0, 0];
            encoded.extend(nvlist::tests::encoded(list));
            encoded.resize(LIST.1, 0);
            encoded[LIST.1 - TAIL..LIST.1 - TAIL + 8].copy_from_slice(&CHECKSUM_MAGIC.to_le_bytes());
            encoded[LIST.1 - TAIL + 8..LIST.1 - TAIL + 16].copy_from_slice(&(at as u64).to_le_bytes());
            let sum = digest(&SHA256, &encoded);
            let words = sum.as_ref().chunks_exact(8).flat_map(|word| word.iter().rev().copied());
            let words: Vec<u8> = words.collect();
            encoded[LIST.1 - TAIL + 8..].copy_from_slice(&words);
            device[at..at + LIST.1].copy_from_slice(&encoded);
        }
        device
    }

    /// The list of a member with this identity of a mirror of two, `offline`: the identity of the device that is.
    pub(crate) fn mirror_list(guid: u64, offline: Option<u64>) -> NvList {
        let number = |number: u64| NvValue::Number(number);
        let text = |text: &str| NvValue::Text(text.to_owned());
        let leaf = |id: u64, guid: u64| {
            let mut leaf = NvList::from([
                ("type".into(), text("disk")),
                ("id".into(), number(id)),
                ("guid".into(), number(guid)),
                ("path".into(), text(&format!("/dev/disk/by-id/disk{id}-part1"))),
            ]);
            if offline == Some(guid) {
                leaf.insert("offline".into(), number(1));
            }
            leaf
        };
        let tree = NvList::from([
            ("type".into(), text("mirror")),
            ("id".into(), number(0)),
            ("guid".into(), number(99)),
            ("children".into(), NvValue::Lists(vec![leaf(0, 11), leaf(1, 12)])),
        ]);
        NvList::from([
            ("version".into(), number(5000)),
            ("name".into(), text("tank")),
            ("state".into(), number(0)),
            ("txg".into(), number(7)),
            ("pool_guid".into(), number(42)),
            ("guid".into(), number(guid)),
            ("vdev_children".into(), number(1)),
            ("vdev_tree".into(), NvValue::List(tree)),
        ])
    }

    #[test]
    fn a_label_is_read_wherever_it_is_whole_and_never_where_it_does_not_prove_itself() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("device");
        let mut device = labelled_device(2 << 20, &mirror_list(12, Some(12)));
        let sectors = (2 << 20) / SECTOR_BYTES;
        for place in [0, LABEL, (2 << 20) - 2 * LABEL] {
            std::fs::write(&path, &device).unwrap();
            let label = read(&path, sectors).unwrap();
            assert_eq!((label.pool, label.guid, label.role), (Some(("tank".into(), 42)), 12, LabelRole::Member));
            let (id, top) = label.top.unwrap();
            assert_eq!((id, top.kind, top.redundancy()), (0, VdevKind::Mirror, 1));
            let leaves: Vec<_> = top.leaves().into_iter().map(|leaf| (leaf.guid, leaf.works())).collect();
            assert_eq!(leaves, [(Some(11), true), (Some(12), false)]);
            // One bit of the name of the pool.
            let name = device.windows(4).skip(place as usize).position(|bytes| bytes == b"tank").unwrap();
            device[place as usize + name] ^= 1;
        }
        let last = (2 << 20) - LABEL as usize;
        device[last + LIST.0 as usize + 5000] ^= 1;
        std::fs::write(&path, &device).unwrap();
        assert_eq!(read(&path, sectors), None);
    }

    #[test]
    fn a_label_at_another_place_is_a_copy_of_another_devices() {
        let device = labelled_device(2 << 20, &mirror_list(11, None));
        let list = &device[LIST.0 as usize..][..LIST.1];
        assert!(label(list, LIST.0).is_some());
        assert_eq!(label(list, LIST.0 + LABEL), None);
    }
}
