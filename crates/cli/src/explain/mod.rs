//! `scrubjay explain`: the state of one disk, why, and what to do.
//! It asks the drive by smartctl, or reads a recording of smartctl's output.

mod document;
mod explained;
mod sector;
mod sector_document;
mod text;

use crate::args::ExplainArgs;
use crate::exit::{Exit, Usage};
use crate::say::{print_prose, shown, shown_path};
use crate::{columns, verbs, zfs};
use anyhow::{Context, Result};
use explained::Explained;
use scrubjay_control::ArrayEntry;
use scrubjay_daemon::discovery::root::SystemRoot;
use scrubjay_daemon::mmc;
use scrubjay_daemon::smartctl::obstacle::SmartObstacle;
use scrubjay_daemon::smartctl::parse::{self, SmartctlAnswer};
use scrubjay_daemon::smartctl::run::{OUTPUT_MAX, Smartctl};
use scrubjay_device::clock;
use scrubjay_device::completion::own_uid;
use scrubjay_device::inventory::{self, InventoryDisk};
use scrubjay_jobs::zfs_pool;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Explains the disk that the arguments name.
pub fn run(args: &ExplainArgs) -> Result<Exit> {
    if let (Some(disk), Some(sector)) = (&args.disk, &args.sector) {
        return sector::run(disk, sector, args.json);
    }
    if let Some(pool) = args.disk.as_deref().and_then(pool_named) {
        return explain_pool(&pool, args.json);
    }
    let disk = args.disk.as_deref().map(find).transpose()?;
    let answer = match (&args.smart, &disk) {
        (Some(file), _) => recorded(file)?,
        (None, Some(disk)) => ask(&disk.path, args.device_type.as_deref()),
        (None, None) => return Err(Usage("name a disk, or a file with --smart".to_owned()).into()),
    };
    if let (Some(file), Some(disk)) = (&args.smart, &disk) {
        check_same(file, &answer, disk)?;
    }
    let watch = disk.as_ref().and_then(|_| verbs::watch_status_or_reason().ok());
    let explained = Explained::of(disk, answer, watch.as_deref());
    let mut out = io::stdout().lock();
    if args.json {
        let document = document::ExplainDocument::of(&explained);
        writeln!(out, "{}", serde_json::to_string(&document).context("the disk as JSON")?)?;
    } else {
        text::write(&explained, columns::width(), &mut out)?;
    }
    Ok(explained.exit())
}

/// The imported pool of ZFS with this name, if no disk has it.
fn pool_named(name: &str) -> Option<ArrayEntry> {
    let pool = zfs_pool::pool_of(Path::new(name))?;
    let is_no_disk = inventory::find(name).is_ok_and(|disks| disks.is_empty());
    zfs::pools().into_iter().find(|entry| is_no_disk && entry.name == pool)
}

/// Explains a pool.
fn explain_pool(pool: &ArrayEntry, is_json: bool) -> Result<Exit> {
    let mut out = io::stdout().lock();
    if is_json {
        let document =
            serde_json::json!({ "schema": 1, "version": scrubjay_control::version::version(), "pool": pool });
        writeln!(out, "{document}")?;
    } else {
        print_prose(&mut out, "ZFS pool ", &format!("{}.", zfs::words(pool, clock::today().0)), columns::width())?;
        let files = pool.pool.iter().flat_map(|said| &said.damaged_files);
        for file in files {
            writeln!(out, "damaged  {}", shown(file))?;
        }
        if let Some(advice) = zfs::advice(pool) {
            print_prose(&mut out, "Do       ", &advice, columns::width())?;
        }
    }
    Ok(if zfs::is_faulty(pool) { Exit::Found } else { Exit::Clean })
}

/// Asks the drive. If a user other than root gets no answer at all, the permission for commands to it is missing.
fn ask(path: &Path, device_type: Option<&str>) -> SmartctlAnswer {
    let of_card = mmc::read(&SystemRoot::default(), path).filter(|_| device_type.is_none());
    let mut answer = of_card.unwrap_or_else(|| Smartctl::default().with_device_type(device_type).read(path));
    if answer.outcome == Err(SmartObstacle::Silent) && own_uid() != 0 {
        answer.outcome = Err(SmartObstacle::NoPermission);
    }
    answer
}

/// Finds the disk of this name.
fn find(name: &str) -> Result<InventoryDisk> {
    let mut disks = inventory::find(name).context("cannot list the disks in /sys/block")?;
    match disks.len() {
        1 => Ok(disks.remove(0)),
        0 if Path::new(name).is_file() => {
            Err(Usage(format!("{name} is a file, not a disk: for what smartctl once printed, say --smart {name}"))
                .into())
        }
        0 => Err(Usage(format!("{name}: no such disk: `scrubjay status` lists them")).into()),
        _ => {
            let paths: Vec<String> = disks.iter().map(|disk| shown_path(&disk.path)).collect();
            Err(Usage(format!("{name}: which one, {}?", paths.join(" or "))).into())
        }
    }
}

/// Parses a file with smartctl's output.
fn recorded(file: &Path) -> Result<SmartctlAnswer> {
    let mut output = Vec::new();
    let mut open = || File::open(file)?.take(OUTPUT_MAX as u64 + 1).read_to_end(&mut output);
    open().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => anyhow::Error::new(error).context(shown_path(file)),
        _ => Usage(format!("{}: {error}", shown_path(file))).into(),
    })?;
    if output.len() > OUTPUT_MAX {
        return Err(
            Usage(format!("{} has more than {OUTPUT_MAX} bytes: smartctl prints less", shown_path(file))).into()
        );
    }
    Ok(parse::answer(&output, None))
}

/// Refuses a recording of another disk.
fn check_same(file: &Path, answer: &SmartctlAnswer, disk: &InventoryDisk) -> Result<()> {
    match (&answer.about.serial, &disk.serial) {
        (Some(recorded), Some(named)) if recorded != named => {
            let (file, path) = (shown_path(file), shown_path(&disk.path));
            Err(Usage(format!(
                "{file} is of another disk than {path} (serial number {recorded}, not {named}): name one of them only"
            ))
            .into())
        }
        _ => Ok(()),
    }
}
