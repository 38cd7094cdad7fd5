//! `scrubjay` without a verb: the disks it sees, and what to do next. Reads no disk, writes nothing, needs no root.

use crate::exit::Exit;
use crate::say::{shown, shown_path};
use anyhow::{Context, Result};
use scrubjay_core::units::{Nanos, SectorRange};
use scrubjay_device::inventory::{self, InventoryDisk};
use scrubjay_device::store::{self, StateStore};
use scrubjay_device::{clock, target::TargetError};
use scrubjay_jobs::quantity::{show_count, show_time};
use std::io::{self, Write};

const HEADINGS: [&str; 7] = ["DISK", "SIZE", "KIND", "MODEL", "SERIAL", "OLDEST UNREAD SECTOR", "CAN BE READ"];

/// Dates of regions are kept to ten minutes; a younger age says nothing.
const AGE_FINE: u64 = 20 * 60;

/// Prints the table and the next step.
pub fn run() -> Result<Exit> {
    let disks = inventory::disks().context("cannot list the disks in /sys/block")?;
    let mut out = io::stdout().lock();
    if disks.is_empty() {
        writeln!(
            out,
            "No disks here (/sys/block lists none with a size). An image file can be scrubbed all the same:"
        )?;
        writeln!(out, "\n  scrubjay scrub disk.img")?;
        return Ok(Exit::Clean);
    }
    let rows: Vec<[String; 7]> = disks.iter().map(row).collect();
    let headings = HEADINGS.map(str::to_owned);
    let widths: Vec<usize> = (0..HEADINGS.len())
        .map(|column| rows.iter().chain([&headings]).map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for row in [&headings].into_iter().chain(&rows) {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{:width$}", shown(cell))).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    let advice = disks.iter().find_map(|disk| match &disk.obstacle {
        Some(TargetError::Permission { advice, .. }) => Some(advice),
        _ => None,
    });
    if let Some(advice) = advice {
        writeln!(out, "\nPermission denied: {advice}.")?;
    }
    let disk = disks.iter().find(|disk| disk.obstacle.is_none());
    let (sudo, disk) = disk.map_or(("sudo ", &disks[0]), |disk| ("", disk));
    let first = format!("{sudo}scrubjay scrub {}", shown_path(&disk.path));
    writeln!(out, "\nNext:")?;
    writeln!(out, "  {first:<32}  read every sector of it while it is idle; nothing is written to it")?;
    writeln!(out, "  {:<32}  all options, with examples", "scrubjay scrub --help")?;
    Ok(Exit::Clean)
}

fn row(disk: &InventoryDisk) -> [String; 7] {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    [
        disk.path.display().to_string(),
        disk.bytes.to_string(),
        if disk.is_rotational { "spins" } else { "flash" }.to_owned(),
        text(&disk.model),
        text(&disk.serial),
        oldest_unread(disk),
        match &disk.obstacle {
            None => "yes".to_owned(),
            Some(TargetError::Permission { .. }) => "no: permission denied".to_owned(),
            Some(error) => format!("no: {error}"),
        },
    ]
}

/// How long ago the oldest sector was read, as far as the saved state says, and how many are known to be unreadable.
fn oldest_unread(disk: &InventoryDisk) -> String {
    let sectors = disk.bytes.sectors();
    let Ok(saved) = StateStore::at(&store::default_folder(), &disk.id.key(), None).load(&disk.id.key(), sectors) else {
        return "unknown (state not readable)".to_owned();
    };
    let Some(saved) = saved.filter(|_| disk.id.is_certain) else { return "never read".to_owned() };
    let whole = SectorRange::at(0, sectors);
    let pass_unreadable = saved.pass.as_ref().map_or(0, |pass| pass.unreadable_in(whole));
    let read = match (saved.coverage.oldest_unread_seconds(whole, clock::today()), &saved.pass) {
        (Some(seconds), _) if seconds < AGE_FINE => "read just now".to_owned(),
        (Some(seconds), _) => format!("read {} ago", show_time(Nanos::from_secs(seconds / 60 * 60))),
        (None, Some(pass)) => {
            format!("never read ({:.0} % are)", (pass.done.count() as f64 / sectors as f64 * 100.0).floor())
        }
        (None, None) => "never read".to_owned(),
    };
    match saved.coverage.unreadable().max(pass_unreadable) {
        0 => read,
        count => format!("{read}, {} UNREADABLE", show_count(count)),
    }
}
