//! Finds what lies at some sectors of an XFS. If it is mounted, the kernel is asked (`GETFSMAP`, and where that has no record of
//! owners, the extents of each file); else xfs_db, which only reads.

use super::ext::LARGER_THAN_DEVICE;
use super::fsmap::{self, OwnedRun, RunOwner};
use super::labels::LabelReader;
use super::mounted::{FOR_RESCUE, MountedAt};
use super::nodes::BlockNode;
use super::search::{self, SearchedNames, Wanted};
use super::story::{EndKind, SectorEnd};
use super::xfs_words::{self, BlockUse, XfsShape};
use crate::tool;
use scrubjay_core::units::{SECTOR_BYTES, SectorRange};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Names of one file that are returned, at most.
const NAMES_MAX: usize = 16;

/// Finds what lies in these sectors of the device.
pub fn find_ends(node: &BlockNode, range: SectorRange, mount: Option<&MountedAt>) -> Vec<SectorEnd> {
    let shape = LabelReader::open(&node.device()).map_err(|error| error.to_string()).and_then(|mut reader| {
        reader.page(0).and_then(XfsShape::of).ok_or("its superblock cannot be read, or makes no sense".to_owned())
    });
    let ends = shape.and_then(|shape| {
        if mount.is_some_and(|mount| mount.is_for_rescue) {
            return Err(FOR_RESCUE.to_owned());
        }
        if shape.blocks.saturating_mul(shape.block_bytes) > node.sectors.saturating_mul(SECTOR_BYTES) {
            return Err(LARGER_THAN_DEVICE.to_owned());
        }
        let end = shape.blocks.saturating_mul(shape.block_bytes / SECTOR_BYTES);
        let inside = range.intersection(SectorRange::new(0, end));
        let mut ends = match mount {
            _ if inside.is_empty() => Vec::new(),
            Some(mount) => mounted(node, inside, mount, &shape)?,
            None => unmounted(node, inside, shape)?,
        };
        let after_end = SectorRange::new(range.start.0.max(end).min(range.end.0), range.end.0);
        if !after_end.is_empty() {
            ends.push(SectorEnd::of(&node.name, after_end, EndKind::Outside, "behind the end of the XFS: left over"));
        }
        Ok(ends)
    });
    ends.unwrap_or_else(|reason| {
        vec![SectorEnd::unknown(&node.name, range, format!("what lies there in the XFS is not known: {reason}"))]
    })
}

fn mounted(
    node: &BlockNode,
    range: SectorRange,
    mount: &MountedAt,
    shape: &XfsShape,
) -> Result<Vec<SectorEnd>, String> {
    let top = File::open(&mount.point).map_err(|error| format!("{}: {error}", mount.point))?;
    let bytes = range.start.byte()..range.end.byte();
    let runs =
        fsmap::owners(&top, node.numbers, &bytes).map_err(|error| format!("the kernel does not say: {error}"))?;
    let inodes: BTreeSet<u64> = runs.iter().filter_map(|run| inode(run.owner)).collect();
    let names = match inodes.is_empty() {
        true => SearchedNames::default(),
        false => search::search(Path::new(&mount.point), &Wanted::Inodes(inodes)),
    };
    let mut ends = Vec::new();
    for run in &runs {
        match run.owner {
            RunOwner::Unrecorded => ends.extend(unrecorded(node, run, mount, shape)),
            owner => ends.push(owned(node, sectors(&run.bytes), owner, mount, &names)),
        }
    }
    // Bytes on which the kernel reported nothing become unknown ends.
    let mut at = range.start.0;
    let mut reported: Vec<SectorRange> = runs.iter().map(|run| sectors(&run.bytes)).collect();
    reported.sort();
    for gap in reported.into_iter().chain([SectorRange::new(range.end.0, range.end.0)]) {
        if gap.start.0 > at {
            let gap = SectorRange::new(at, gap.start.0);
            ends.push(SectorEnd::unknown(&node.name, gap, "the kernel does not say what lies there in the XFS"));
        }
        at = at.max(gap.end.0);
    }
    Ok(ends)
}

fn sectors(bytes: &Range<u64>) -> SectorRange {
    SectorRange::new(bytes.start / SECTOR_BYTES, bytes.end.div_ceil(SECTOR_BYTES))
}

fn inode(owner: RunOwner) -> Option<u64> {
    match owner {
        RunOwner::Inode(inode) => Some(inode),
        _ => None,
    }
}

fn owned(node: &BlockNode, range: SectorRange, owner: RunOwner, mount: &MountedAt, names: &SearchedNames) -> SectorEnd {
    match owner {
        RunOwner::Free => {
            SectorEnd::of(&node.name, range, EndKind::Free, "XFS says that it is free: nothing is stored there")
        }
        RunOwner::Own(structure) => {
            SectorEnd::of(&node.name, range, EndKind::Metadata, format!("metadata of XFS: {structure}"))
        }
        RunOwner::Unrecorded => SectorEnd::unknown(&node.name, range, "in use, says XFS"),
        RunOwner::Inode(inode) => {
            let paths: Vec<&Vec<u8>> = names
                .names
                .iter()
                .filter(|(number, _)| *number == inode)
                .map(|(_, name)| name)
                .take(NAMES_MAX)
                .collect();
            let is_folder = paths.first().is_some_and(|name| is_folder(mount, name));
            let (kind, words) = match (paths.is_empty(), is_folder) {
                (true, _) if names.is_whole => {
                    (EndKind::File, "a file or folder of the XFS, which has no name below the mount point")
                }
                (true, _) => (EndKind::File, "a file or folder of the XFS, whose name was not found in time"),
                (false, true) => (EndKind::Metadata, "metadata of XFS: the names in a folder"),
                (false, false) => (EndKind::File, "a file of the XFS"),
            };
            let mut end = SectorEnd::of(&node.name, range, kind, format!("{words} (inode {inode})"));
            end.files = paths.into_iter().map(|name| below(mount, name)).collect();
            end
        }
    }
}

fn is_folder(mount: &MountedAt, name: &[u8]) -> bool {
    let inside = name.strip_prefix(b"/").unwrap_or(name);
    fs::symlink_metadata(Path::new(&mount.point).join(OsStr::from_bytes(inside)))
        .is_ok_and(|metadata| metadata.is_dir())
}

/// Handles a run whose owner is not recorded (`mkfs.xfs -m rmapbt=1` records owners): checks the extents of each file.
fn unrecorded(node: &BlockNode, run: &OwnedRun, mount: &MountedAt, shape: &XfsShape) -> Vec<SectorEnd> {
    let range = sectors(&run.bytes);
    if let Some(structure) = shape.structure_at(&run.bytes) {
        return vec![SectorEnd::of(&node.name, range, EndKind::Metadata, format!("metadata of XFS: {structure}"))];
    }
    let found = search::search(Path::new(&mount.point), &Wanted::Places(vec![run.bytes.clone()]));
    if !found.names.is_empty() {
        let more = if range.count() > 8 { ", in part or whole" } else { "" };
        // The search ends at a number of names, or after a time.
        let rest =
            if found.is_whole && found.names.len() <= NAMES_MAX { "" } else { "; there may be more than are named" };
        let words = format!("a file of the XFS{more}, found by asking {} files where they lie{rest}", found.files);
        let mut end = SectorEnd::of(&node.name, range, EndKind::File, words);
        end.files = found.names.iter().take(NAMES_MAX).map(|(_, name)| below(mount, name)).collect();
        return vec![end];
    }
    // Files outside of the folder that is mounted here were not checked.
    let reason = match found.is_whole && mount.root == "/" {
        true => {
            "in use, says XFS, and no file's data: a folder, metadata, or a deleted file that is still open (this XFS keeps no record of owners)"
        }
        false => "in use, says XFS, which keeps no record of owners; not all files could be asked where they lie",
    };
    vec![SectorEnd::unknown(&node.name, range, reason)]
}

/// The path of a file below the mount point, whichever folder is mounted there.
fn below(mount: &MountedAt, name: &[u8]) -> String {
    MountedAt { root: "/".to_owned(), ..mount.clone() }.path_of(name)
}

fn unmounted(node: &BlockNode, range: SectorRange, shape: XfsShape) -> Result<Vec<SectorEnd>, String> {
    let device = node.device().display().to_string();
    let log = tool::run("xfs_logprint", &["-t", &device]).map_err(|error| error.to_string())?;
    if !xfs_words::is_log_clean(&String::from_utf8_lossy(&log)) {
        return Err("it was not unmounted in order, so its journal has to be replayed first: mount it, and ask again"
            .to_owned());
    }
    let per_block = shape.block_bytes / SECTOR_BYTES;
    let mut ends: Vec<SectorEnd> = Vec::new();
    for block in range.start.0 / per_block..range.end.0.div_ceil(per_block) {
        let piece = range.intersection(SectorRange::new(block * per_block, (block + 1) * per_block));
        let end = block_end(node, &device, piece, block * per_block)?;
        match ends.last_mut() {
            Some(last) if (last.kind, &last.words, &last.files) == (end.kind, &end.words, &end.files) => {
                last.range.end = piece.end;
            }
            _ => ends.push(end),
        }
    }
    Ok(ends)
}

fn block_end(node: &BlockNode, device: &str, piece: SectorRange, sector: u64) -> Result<SectorEnd, String> {
    let convert = format!("convert daddr {sector} fsblock");
    let output = tool::run("xfs_db", &["-r", "-c", &convert, device]).map_err(|error| error.to_string())?;
    let output = String::from_utf8_lossy(&output).into_owned();
    // `0x18 (24)`
    let number = output.split_once('(').and_then(|(_, rest)| rest.split_once(')')?.0.parse::<u64>().ok());
    let number = number.ok_or("xfs_db does not say which block that is")?;
    let (daddr, arguments) = (format!("daddr {sector}"), ["-r", "-c", "blockget -n", "-c"]);
    let output = tool::run("xfs_db", &[&arguments[..], &[&daddr, "-c", "blockuse -n", device]].concat());
    let output = output.map_err(|error| error.to_string())?;
    let found = xfs_words::block_use(&output, number)
        .ok_or("xfs_db does not say what lies there, which it does not of a damaged XFS")?;
    Ok(end_of_use(node, device, piece, &found))
}

fn end_of_use(node: &BlockNode, device: &str, range: SectorRange, found: &BlockUse) -> SectorEnd {
    let metadata =
        |structure: &str| SectorEnd::of(&node.name, range, EndKind::Metadata, format!("metadata of XFS: {structure}"));
    // xfs_db's db/check.c, `typename`.
    match (found.kind.as_str(), found.inode) {
        ("free2", _) => {
            SectorEnd::of(&node.name, range, EndKind::Free, "XFS says that it is free: nothing is stored there")
        }
        ("data" | "dir" | "attr" | "btbmapa" | "btbmapd" | "symlink", Some(inode)) => {
            let is_data = found.kind == "data";
            let kind = if is_data { EndKind::File } else { EndKind::Metadata };
            let words = if is_data {
                "a file of the XFS".to_owned()
            } else {
                format!("metadata of a file or folder of the XFS ({})", found.kind)
            };
            let nameless = if found.name.is_some() { "" } else { ", whose name is not known" };
            let mut end = SectorEnd::of(&node.name, range, kind, format!("{words} (inode {inode}{nameless})"));
            let path = |name: &Vec<u8>| MountedAt::path_without(&[b"/", &name[..]].concat(), device);
            end.files = found.name.iter().map(path).collect();
            end
        }
        ("inode", _) => metadata("inodes (which files there are, and where they lie)"),
        ("log", _) => metadata("its journal, which is replayed only after a crash"),
        ("sb" | "agf" | "agi" | "agfl", _) => metadata("a superblock, or what stands beside it in its group"),
        ("btbno" | "btcnt" | "freelist", _) => metadata("a list or tree of what is free in a group"),
        ("btino" | "btfino", _) => metadata("a tree of inodes"),
        ("btrmap" | "btrefcnt" | "btrefc", _) => metadata("a tree of who owns or shares what"),
        ("quota", _) => metadata("its quotas"),
        (kind, _) => SectorEnd::unknown(&node.name, range, format!("xfs_db calls it \"{kind}\"")),
    }
}
