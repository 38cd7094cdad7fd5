//! `scrubjay explain DISK SECTOR`: what lies there, layer by layer, and what its loss means.

use super::sector_document::SectorDocument;
use crate::exit::{Exit, Usage};
use crate::say::{print_line, shown};
use anyhow::{Context, Result};
use scrubjay_core::units::SectorRange;
use scrubjay_device::above::{self, BlockNode, EndKind, SectorStory};
use scrubjay_device::completion::own_uid;
use scrubjay_device::inventory;
use scrubjay_jobs::sector;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Prints the explanation.
pub fn run(disk: &str, sectors: &str, is_json: bool) -> Result<Exit> {
    let range = sector::parse(sectors).map_err(Usage)?;
    let node = find(disk)?;
    if range.end.0 > node.sectors {
        let (name, all) = (shown(disk), node.sectors);
        return Err(Usage(format!(
            "{name} has {all} sectors, the last is {}: {range} is not there",
            all.saturating_sub(1)
        ))
        .into());
    }
    let story = above::look_up(&node, range);
    let mut out = io::stdout().lock();
    let printed = if is_json {
        let document =
            serde_json::to_string(&SectorDocument::of(&node, range, &story)).context("the answer as JSON")?;
        writeln!(out, "{document}")
    } else {
        print(&node, range, &story, &mut out)
    };
    printed.context("cannot write the answer to standard output")?;
    Ok(exit(&story, own_uid() == 0))
}

/// The exit code; what is not known is never clean.
fn exit(story: &SectorStory, is_root: bool) -> Exit {
    match story.ends.iter().any(|end| end.kind == EndKind::Unknown) {
        false => Exit::Clean,
        true if is_root => Exit::Found,
        true => Exit::Permission,
    }
}

/// Finds a device by its path or the kernel's name (partitions and arrays, too), or a disk by its serial number.
fn find(name: &str) -> Result<BlockNode> {
    let shown_name = shown(name);
    for path in [PathBuf::from(name), Path::new("/dev").join(name)] {
        match above::device(&path) {
            Ok(Some(node)) => return Ok(node),
            Ok(None) => {
                let kind = if path.is_dir() { "folder" } else { "file" };
                return Err(Usage(format!(
                    "{shown_name} is a {kind}, not a disk: name a block device, such as /dev/sda"
                ))
                .into());
            }
            Err(_) => {}
        }
    }
    let mut disks = inventory::find(name).context("cannot list the disks in /sys/block")?;
    let node = match disks.len() {
        1 => above::device(&disks.remove(0).path).ok().flatten(),
        0 => None,
        _ => return Err(Usage(format!("{shown_name}: several disks are called so: name one by its path")).into()),
    };
    node.ok_or_else(|| Usage(format!("{shown_name}: no such disk: `scrubjay status` lists them")).into())
}

fn print(node: &BlockNode, range: SectorRange, story: &SectorStory, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "{}, {}:", node.device().display(), sectors(range))?;
    for layer in &story.layers {
        let indent = "  ".repeat(layer.depth + 1);
        let at = layer.range.filter(|_| layer.depth > 0).map_or(String::new(), |range| format!(", {}", sectors(range)));
        print_line(out, format_args!("{indent}{}{at}: {}", layer.device, layer.words))?;
    }
    writeln!(out, "What lies there:")?;
    for end in &story.ends {
        print_line(out, format_args!("  {}, {}: {}", end.device, sectors(end.range), end.words))?;
        for file in &end.files {
            print_line(out, format_args!("    {file}"))?;
        }
    }
    writeln!(out, "What it means, if that cannot be read:")?;
    let mut printed: Vec<String> = Vec::new();
    for meaning in story.ends.iter().map(sector::meaning) {
        if !printed.contains(&meaning) {
            print_line(out, format_args!("  {meaning}"))?;
            printed.push(meaning);
        }
    }
    Ok(())
}

fn sectors(range: SectorRange) -> String {
    match range.count() {
        1 => format!("sector {}", range.start),
        _ => format!("sectors {range}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_device::above::SectorEnd;

    #[test]
    fn sectors_with_an_unknown_end_are_never_clean() {
        let range = SectorRange::at(3, 1);
        let story = |kinds: &[EndKind]| SectorStory {
            ends: kinds.iter().map(|kind| SectorEnd::of("sda", range, *kind, "")).collect(),
            ..SectorStory::default()
        };
        assert_eq!(exit(&story(&[EndKind::Free, EndKind::File]), true), Exit::Clean);
        assert_eq!(exit(&story(&[EndKind::Free, EndKind::Unknown]), true), Exit::Found);
        assert_eq!(exit(&story(&[EndKind::Unknown]), false), Exit::Permission);
    }
}
