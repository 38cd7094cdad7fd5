//! Finds what lies on a device that no other device uses: a file system, a member of a volume, or something unknown.

use super::ext;
use super::labels::{LabelKind, LabelReader};
use super::mounted::{FOR_RESCUE, MountedAt};
use super::nodes::BlockNode;
use super::story::{EndKind, Keeper, LayerKind, SectorEnd, SectorLayer};
use super::volume;
use super::xfs;
use crate::btrfs::{BtrfsPool, PoolPiece, PoolUse};
use scrubjay_core::shown::{shown, shown_path};
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};
use std::fs;

/// Finds what lies in these sectors of the device.
pub fn find_ends(node: &BlockNode, range: SectorRange, depth: usize) -> (Vec<SectorLayer>, Vec<SectorEnd>) {
    let ends = |ends: Vec<SectorEnd>| (Vec::new(), ends);
    let unknown = |reason: String| ends(vec![SectorEnd::unknown(&node.name, range, reason)]);
    let mount = MountedAt::of(node.numbers);
    match mount.as_ref().map(|mount| mount.kind.as_str()) {
        Some("ext2" | "ext3" | "ext4") => return ends(of_ext(node, range, mount.as_ref())),
        Some("xfs") => return ends(of_xfs(node, range, mount.as_ref())),
        Some(kind) => return unknown(format!("a file system of the kind {}, which is not looked into", shown(kind))),
        None => {}
    }
    match pool(node, range, depth) {
        Ok(Some(found)) => return found,
        Ok(None) => {}
        Err(reason) => return unknown(format!("what lies there in the btrfs is not known: {reason}")),
    }
    if is_swap(node) {
        let words = "swap space that is in use: memory of programs, no file";
        return ends(vec![SectorEnd::of(&node.name, range, EndKind::Outside, words)]);
    }
    let labels = match LabelReader::open(&node.device()) {
        Ok(mut reader) => reader.labels(),
        Err(error) => {
            return unknown(format!("what lies on {} is not known: {error}", node.name));
        }
    };
    match labels[..] {
        [] => unknown(format!("{} has no label that is known, is not mounted, and nothing else uses it", node.name)),
        [LabelKind::Ext] => ends(of_ext(node, range, None)),
        [LabelKind::Xfs] => ends(of_xfs(node, range, None)),
        [LabelKind::Volume] => volume::find_ends(node, range, depth),
        [LabelKind::Btrfs] => {
            unknown("a btrfs that is not mounted: mount it (read-only will do), and ask again".to_owned())
        }
        [LabelKind::Swap] => {
            let words = "swap space that is not in use: no file";
            ends(vec![SectorEnd::of(&node.name, range, EndKind::Outside, words)])
        }
        [LabelKind::Lvm] => unknown(
            "a physical volume of LVM of which no logical volume is active: activate it (vgchange -ay), and ask again"
                .to_owned(),
        ),
        [label] => unknown(format!("{}, which is not looked into", label.words())),
        ref several => {
            let words: Vec<&str> = several.iter().map(|label| label.words()).collect();
            unknown(format!("it has the labels of {}: which one holds is not guessed", words.join(", and of ")))
        }
    }
}

fn of_ext(node: &BlockNode, range: SectorRange, mount: Option<&MountedAt>) -> Vec<SectorEnd> {
    ext::find_ends(node, range, mount).into_iter().map(|end| end.said_by("ext4")).collect()
}

fn of_xfs(node: &BlockNode, range: SectorRange, mount: Option<&MountedAt>) -> Vec<SectorEnd> {
    xfs::find_ends(node, range, mount).into_iter().map(|end| end.said_by("xfs")).collect()
}

fn is_swap(node: &BlockNode) -> bool {
    let swaps = fs::read_to_string("/proc/swaps").unwrap_or_default();
    let device = node.device();
    swaps.lines().skip(1).filter_map(|line| line.split_whitespace().next()).any(|path| device.as_os_str() == path)
}

type Found = (Vec<SectorLayer>, Vec<SectorEnd>);

/// Finds it in the btrfs that the device belongs to, if that is mounted.
fn pool(node: &BlockNode, range: SectorRange, depth: usize) -> Result<Option<Found>, String> {
    let mut open_error = None;
    for point in BtrfsPool::mount_points() {
        let pool = match BtrfsPool::look(&point, true) {
            Ok(pool) => pool,
            Err(error) => {
                open_error = Some(error.to_string());
                continue;
            }
        };
        let Some(device) = pool.device_at(node.numbers) else { continue };
        if pool.is_for_rescue() {
            return Err(FOR_RESCUE.to_owned());
        }
        let bytes = range.start.byte()..range.end.byte();
        let pieces = pool.lookup().and_then(|mut lookup| lookup.pieces(device, &bytes));
        let pieces = pieces.map_err(|error| format!("its trees cannot be searched ({error})"))?;
        let point = shown_path(pool.mount_point());
        let layer = SectorLayer {
            depth,
            device: point.clone(),
            range: None,
            kind: LayerKind::Btrfs,
            words: format!("device {device} of the btrfs that is mounted at {point}"),
            place: None,
        };
        let is_whole = pool.facts().missing.is_empty();
        let ends = pieces.into_iter().map(|piece| pool_end(node, piece, &point, is_whole)).collect();
        return Ok(Some((vec![layer], ends)));
    }
    // The one that could not be opened may be the right one.
    let is_btrfs = || LabelReader::open(&node.device()).is_ok_and(|mut reader| reader.labels() == [LabelKind::Btrfs]);
    match open_error {
        Some(reason) if is_btrfs() => Err(reason),
        _ => Ok(None),
    }
}

fn pool_end(node: &BlockNode, piece: PoolPiece, point: &str, is_whole: bool) -> SectorEnd {
    let range = SectorRange::new(piece.bytes.start / SECTOR_BYTES, piece.bytes.end.div_ceil(SECTOR_BYTES));
    let profile = piece.profile.unwrap_or("single");
    let keeper = |kind: String, why_not: &str| Keeper {
        name: point.to_owned(),
        what: kind,
        is_able: why_not.is_empty(),
        why_not: why_not.to_owned(),
        command: format!("scrubjay scrub {point}"),
    };
    let is_stored = matches!(piece.usage, PoolUse::Data | PoolUse::TreeBlock);
    let keepers = match (&piece.usage, piece.copies) {
        // Where a device may be missing, it is not known whether the chunk can be restored.
        (PoolUse::OnlyChunk(_), _) if matches!(profile, "RAID5" | "RAID6") && is_whole => {
            vec![keeper(format!("btrfs {profile}"), "")]
        }
        (_, 0) if is_stored && piece.copies_missing > 0 => {
            vec![keeper(format!("btrfs {profile}"), "the device with the other copy is missing")]
        }
        (_, 0) if is_stored => vec![keeper(format!("btrfs {profile}"), "it keeps one copy of this")],
        (_, copies) if is_stored => vec![keeper(format!("btrfs {profile}, {} copies", copies + 1), "")],
        (PoolUse::Superblock, _) => vec![keeper("btrfs, with several superblocks".to_owned(), "")],
        _ => Vec::new(),
    };
    let (kind, words) = match piece.usage {
        PoolUse::Superblock => (EndKind::Metadata, "metadata of btrfs: a superblock".to_owned()),
        PoolUse::Reserved => (EndKind::Outside, "the first MiB, which btrfs leaves to boot loaders".to_owned()),
        PoolUse::Unallocated => {
            (EndKind::Free, "btrfs says that it is allocated to no chunk: nothing is stored there".to_owned())
        }
        PoolUse::Unused => (
            EndKind::Free,
            format!("btrfs says that no extent lies there, in a chunk ({profile}): nothing is stored there"),
        ),
        PoolUse::TreeBlock => (EndKind::Metadata, format!("metadata of btrfs: a tree block ({profile})")),
        PoolUse::Data if piece.files.is_empty() => (
            EndKind::File,
            format!("data of the btrfs ({profile}) that no file uses now: part of an extent that was written over"),
        ),
        PoolUse::Data if piece.files_omitted > 0 => (
            EndKind::File,
            format!("a file of the btrfs ({profile}), and of {} more that are not named", piece.files_omitted),
        ),
        PoolUse::Data => (EndKind::File, format!("a file of the btrfs ({profile})")),
        PoolUse::OnlyChunk(reason) => {
            (EndKind::Unknown, format!("a chunk of the btrfs ({profile}); what in it is not known: {reason}"))
        }
    };
    let mut end = SectorEnd::of(&node.name, range, kind, words);
    (end.files, end.keepers) = (piece.files, keepers);
    end.said_by("btrfs")
}
