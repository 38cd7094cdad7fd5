//! `scrubjay` and `scrubjay status`: the disks, when each was last read in full, and what is being scrubbed.
//! It reads no disk, writes nothing, and needs no root.

use crate::exit::Exit;
use crate::say::{print_prose, shown, shown_path};
use crate::{columns, verbs, zfs};
use anyhow::{Context, Result};
use scrubjay_control::{ArrayEntry, WatchDocument};
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::scrub::saved::Saved;
use scrubjay_core::units::{Nanos, SectorRange};
use scrubjay_device::completion::own_uid;
use scrubjay_device::inventory::{self, InventoryDisk};
use scrubjay_device::store::{self, StateStore};
use scrubjay_device::{claim, clock, target::TargetError};
use scrubjay_jobs::sockets;
use scrubjay_serve::volume::commands::Status;
use serde::Serialize;
use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

const HEADINGS: [&str; 8] = ["DISK", "SIZE", "KIND", "MODEL", "SERIAL", "LAST FULL READ", "BAD SECTORS", "NOW"];

/// Columns that are left out of a narrow terminal, in this order.
const LEAST_IMPORTANT: [&str; 4] = ["SERIAL", "MODEL", "KIND", "SIZE"];

/// What a scrub of a disk does.
const READS: &str = "read all of it while idle; writes nothing";

/// How long servers of volumes may take to report their states.
const VOLUMES_TIMEOUT: Duration = Duration::from_secs(1);

/// A day, in seconds.
const DAY: u64 = 86_400;

/// Prints the table and the next step.
pub fn run() -> Result<Exit> {
    let watch = verbs::watch_status_or_reason().ok();
    let disks = listed(disks(watch.as_deref())?);
    let mut out = io::stdout().lock();
    if disks.is_empty() {
        writeln!(out, "No disks here (/sys/block lists none with a size). An image file can be scrubbed:")?;
        writeln!(out, "\n  scrubjay scrub disk.img")?;
        volumes(&mut out)?;
        return Ok(Exit::Clean);
    }
    table(&disks, columns::width(), &mut out)?;
    if let Some(watch) = &watch {
        writeln!(out)?;
        print_prose(&mut out, "The watch: ", &watch.sentence, columns::width())?;
    }
    volumes(&mut out)?;
    pools(watch.is_some(), &mut out)?;
    let advice = disks.iter().find_map(|(disk, _)| match &disk.obstacle {
        Some(TargetError::Permission { advice, .. }) => Some(advice),
        _ => None,
    });
    if let Some(advice) = advice {
        writeln!(out)?;
        print_prose(&mut out, "", &format!("Permission denied: {advice}."), columns::width())?;
    }
    let is_free =
        |(disk, record): &&(InventoryDisk, ScrubRecord)| disk.obstacle.is_none() && record.scrubbed_by.is_none();
    let disk = disks.iter().find(is_free);
    // All disks that can be read are being read; or none can, not even by root.
    let is_nothing_left = own_uid() == 0 || disks.iter().any(|(_, record)| record.scrubbed_by.is_some());
    let (command, description) = match disk {
        Some((disk, _)) => (format!("scrubjay scrub {}", shown_path(&disk.path)), READS),
        None if is_nothing_left => ("scrubjay scrub disk.img".to_owned(), "an image file can be scrubbed, too"),
        None => (format!("sudo scrubjay scrub {}", shown_path(&disks[0].0.path)), READS),
    };
    writeln!(out, "\nNext:")?;
    if watch.is_some() {
        writeln!(out, "  {:<32}  the watch reads them: how it sees them", "scrubjay status")?;
        writeln!(out, "  {:<32}  what it reads when", "scrubjay plan")?;
        return Ok(writeln!(out, "  {:<32}  all that can be done", "scrubjay --help").map(|()| Exit::Clean)?);
    }
    writeln!(out, "  {command:<32}  {description}")?;
    writeln!(out, "  {:<32}  all options, with examples", "scrubjay scrub --help")?;
    writeln!(out, "  {:<32}  every disk each month, by itself, and alerts", "scrubjay watch --help")?;
    Ok(Exit::Clean)
}

/// Prints the watch's status, if it runs; else the table. Or both as one JSON object.
pub fn status(json: bool) -> Result<Exit> {
    let watch = verbs::watch_status_or_reason();
    let mut out = io::stdout().lock();
    if json {
        let watch = watch.ok().map(|status| *status);
        let known = disks(watch.as_ref())?;
        let exit = if watch.is_some() { Exit::Clean } else { exit_of(&known) };
        let disks = known.iter().map(DiskDocument::of).collect();
        let pools = if watch.is_some() { Vec::new() } else { zfs::pools() };
        let document = StatusDocument { schema: 1, version: scrubjay_control::version::version(), disks, pools, watch };
        writeln!(out, "{}", serde_json::to_string(&document).context("the disks as JSON")?)?;
        return Ok(exit);
    }
    match watch {
        Ok(status) => {
            verbs::status::write(&status, columns::width(), &mut out)?;
            Ok(Exit::Clean)
        }
        Err(why) => {
            let disks = listed(disks(None)?);
            let exit = exit_of(&disks);
            table(&disks, columns::width(), &mut out)?;
            volumes(&mut out)?;
            pools(false, &mut out)?;
            writeln!(out)?;
            let why = match exit {
                Exit::Permission => "How the disks are may be seen by root only: sudo scrubjay status",
                _ => &why,
            };
            print_prose(&mut out, "", why, columns::width())?;
            Ok(exit)
        }
    }
}

/// No permission, if that is why a disk cannot be read.
fn exit_of(disks: &[(InventoryDisk, ScrubRecord)]) -> Exit {
    let is_withheld =
        |(disk, _): &(InventoryDisk, ScrubRecord)| matches!(disk.obstacle, Some(TargetError::Permission { .. }));
    if own_uid() != 0 && disks.iter().any(is_withheld) { Exit::Permission } else { Exit::Clean }
}

/// The JSON of `status --json`: schema 1.
#[derive(Serialize)]
struct StatusDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    disks: Vec<DiskDocument>,
    /// The imported pools of ZFS; empty where the watch runs: it has them among its arrays.
    pools: Vec<ArrayEntry>,
    /// The watch's status; null: it does not run, or may not be asked.
    watch: Option<WatchDocument>,
}

#[derive(Serialize)]
struct DiskDocument {
    path: String,
    bytes: u64,
    rotational: bool,
    model: Option<String>,
    serial: Option<String>,
    /// The age of the sector that has waited longest; null: some were never read, or nothing is known.
    oldest_read_seconds: Option<u64>,
    /// Sectors that were unreadable when they were last read; null: nothing is known.
    bad_sectors: Option<u64>,
    /// The share of the pass under way that is done, 0 to 1.
    pass_share: Option<f64>,
    /// The process that scrubs it now.
    scrubbed_by: Option<u32>,
    /// Why it cannot be opened.
    error: Option<String>,
}

impl DiskDocument {
    fn of((disk, record): &(InventoryDisk, ScrubRecord)) -> DiskDocument {
        DiskDocument {
            path: disk.path.display().to_string(),
            bytes: disk.bytes.0,
            rotational: disk.is_rotational,
            model: disk.model.clone(),
            serial: disk.serial.clone(),
            oldest_read_seconds: record.oldest_read_seconds,
            bad_sectors: record.bad_sectors,
            pass_share: record.pass_share,
            scrubbed_by: record.scrubbed_by,
            error: disk.obstacle.as_ref().map(ToString::to_string),
        }
    }
}

/// What is known of a disk's scrubs, from its saved state and its claim.
#[derive(Default)]
pub struct ScrubRecord {
    /// Can its saved state be read?
    pub is_readable: bool,
    /// The age of the sector that has waited longest; `None`: some were never read, or nothing is known.
    pub oldest_read_seconds: Option<u64>,
    /// Sectors that were unreadable when they were last read; `None`: nothing is known.
    pub bad_sectors: Option<u64>,
    /// The place of the first of them, or of its region: 0 is the beginning of the disk, 1 its end.
    pub first_bad_share: Option<f64>,
    /// Reads of the pass under way that succeeded only at the second attempt.
    pub retries: u64,
    /// The share of the pass under way that is done, 0 to 1.
    pub pass_share: Option<f64>,
    /// The process that scrubs it now.
    pub scrubbed_by: Option<u32>,
}

impl ScrubRecord {
    /// Reads the saved state of a disk's scrubs, and finds the process that claims it.
    pub fn of(disk: &InventoryDisk, watch: Option<&WatchDocument>) -> ScrubRecord {
        let (key, sectors) = (disk.id.key(), disk.bytes.sectors());
        let record = ScrubRecord { is_readable: true, scrubbed_by: claim::holder(&key), ..ScrubRecord::default() };
        let Ok(saved) = state_of(disk, watch).load(&key, sectors) else {
            return ScrubRecord { is_readable: false, ..record };
        };
        let Some(saved) = saved.filter(|_| disk.id.is_certain) else { return record };
        let whole = SectorRange::at(0, sectors);
        let pass_unreadable = saved.pass.as_ref().map_or(0, |pass| pass.unreadable_in(whole));
        ScrubRecord {
            oldest_read_seconds: saved.coverage.oldest_unread_seconds(whole, clock::today()),
            bad_sectors: Some(saved.coverage.unreadable().max(pass_unreadable)),
            first_bad_share: first_bad(&saved).map(|sector| sector as f64 / sectors.max(1) as f64),
            retries: saved.pass.as_ref().map_or(0, |pass| pass.transient_errors),
            pass_share: saved.pass.as_ref().map(|pass| pass.done.count() as f64 / sectors.max(1) as f64),
            ..record
        }
    }

    /// Is anything known of it?
    fn is_any(&self) -> bool {
        !self.is_readable || self.bad_sectors.is_some() || self.pass_share.is_some() || self.scrubbed_by.is_some()
    }

    /// When the disk was last read in full, in words.
    pub fn last_full_read(&self) -> String {
        match self.oldest_read_seconds {
            _ if !self.is_readable => "unknown".to_owned(),
            Some(0..DAY) => "today".to_owned(),
            // The resolution of dates is ten minutes.
            Some(seconds) => format!("{} ago", show_time(Nanos::from_secs(seconds / 3_600 * 3_600))),
            None => "never".to_owned(),
        }
    }

    fn now(&self, obstacle: Option<&TargetError>) -> String {
        let share = self.pass_share.map(|share| format!("{:.0} %", (share * 100.0).floor()));
        match (self.scrubbed_by, share, obstacle) {
            (Some(pid), share, _) => {
                format!("scrubbed by process {pid}{}", share.map(|share| format!(", {share} done")).unwrap_or_default())
            }
            (None, Some(share), None) => format!("paused at {share}"),
            (None, _, Some(TargetError::Permission { .. })) => "permission denied".to_owned(),
            (None, _, Some(error)) => format!("cannot be read: {error}"),
            (None, None, None) => "-".to_owned(),
        }
    }
}

/// Where the state of a disk's scrubs is kept. (The watch may keep it in another folder.)
pub fn state_of(disk: &InventoryDisk, watch: Option<&WatchDocument>) -> StateStore {
    let folder = watch.map_or_else(store::default_folder, |watch| PathBuf::from(&watch.folder));
    StateStore::at(&folder, &disk.id.key(), None)
}

/// The first unreadable sector of the pass under way, or of the coverage map the first region that has one.
fn first_bad(saved: &Saved) -> Option<u64> {
    let first_in_pass = saved.pass.as_ref().and_then(|pass| pass.unreadable.keys().next().copied());
    let run = || saved.coverage.runs().find(|run| run.record.unreadable > 0);
    first_in_pass.or_else(|| run().map(|run| run.regions.start * saved.coverage.grid().region_sectors()))
}

fn disks(watch: Option<&WatchDocument>) -> Result<Vec<(InventoryDisk, ScrubRecord)>> {
    let disks = inventory::disks().context("cannot list the disks in /sys/block")?;
    Ok(disks
        .into_iter()
        .map(|disk| (ScrubRecord::of(&disk, watch), disk))
        .map(|(record, disk)| (disk, record))
        .collect())
}

fn table(disks: &[(InventoryDisk, ScrubRecord)], width: Option<usize>, out: &mut impl Write) -> Result<()> {
    let rows: Vec<Vec<String>> = disks.iter().map(|disk| row(disk).to_vec()).collect();
    Ok(columns::print(&HEADINGS, &LEAST_IMPORTANT, &rows, width, out)?)
}

/// Those that are listed: loop devices and the like only if something is known of them, because those of snaps and
/// containers would crowd out the disks; all, if nothing else is there.
fn listed(disks: Vec<(InventoryDisk, ScrubRecord)>) -> Vec<(InventoryDisk, ScrubRecord)> {
    let is_listed = |(disk, record): &(InventoryDisk, ScrubRecord)| !is_hideable(&name_of(disk)) || record.is_any();
    let is_any = disks.iter().any(is_listed);
    disks.into_iter().filter(|disk| !is_any || is_listed(disk)).collect()
}

/// Which volumes are served, what is wrong with them, and how to see more.
fn volumes(out: &mut impl Write) -> Result<()> {
    let sockets = sockets::sockets().unwrap_or_default();
    let count = sockets.len();
    if count == 0 {
        return Ok(());
    }
    let answers = answers(sockets);
    let silent = count - answers.len();
    let silent = match silent {
        0 => None,
        1 => Some("one volume DOES NOT ANSWER: its server hangs, or is gone".to_owned()),
        _ => Some(format!("{silent} volumes DO NOT ANSWER: their servers hang, or are gone")),
    };
    let served = match answers.len() {
        0 => None,
        1 => Some("one volume is served".to_owned()),
        count => Some(format!("{count} volumes are served")),
    };
    let words: Vec<String> = served.into_iter().chain(answers.iter().filter_map(fault)).chain(silent).collect();
    let words = words.join("; ");
    let words = words[..1].to_uppercase() + &words[1..];
    writeln!(out)?;
    Ok(print_prose(out, "", &format!("{words}: see `scrubjay volume status`."), columns::width())?)
}

/// How the pools of ZFS are, and what to do about each. Where the watch runs, its own status says so.
fn pools(is_watched: bool, out: &mut impl Write) -> Result<()> {
    let pools = if is_watched { Vec::new() } else { zfs::pools() };
    for (number, pool) in pools.iter().enumerate() {
        if number == 0 {
            writeln!(out)?;
        }
        print_prose(out, "ZFS pool ", &format!("{}.", zfs::words(pool, clock::today().0)), columns::width())?;
        if let Some(advice) = zfs::advice(pool) {
            print_prose(out, "      -> ", &advice, columns::width())?;
        }
    }
    Ok(())
}

/// The states of volumes, of those whose servers report them in time.
fn answers(sockets: Vec<PathBuf>) -> Vec<Status> {
    let (sender, receiver) = mpsc::channel();
    for socket in sockets {
        let sender = sender.clone();
        // A server that hangs keeps its thread until the process ends, which does not wait for it.
        thread::spawn(move || {
            if let Ok(status) = sockets::status_of(&socket) {
                let _ = sender.send(status); // nobody waits any more
            }
        });
    }
    drop(sender);
    let until = Instant::now() + VOLUMES_TIMEOUT;
    std::iter::from_fn(|| receiver.recv_timeout(until.saturating_duration_since(Instant::now())).ok()).collect()
}

/// What is wrong with a volume, in words.
fn fault(status: &Status) -> Option<String> {
    let name = shown(if status.name.is_empty() { &status.array } else { &status.name });
    let state = status.state.to_string().to_uppercase();
    let bare = if status.redundancy_left() == Some(0) { ", with no redundancy left" } else { "" };
    let lost = if status.is_whole() { "" } else { ", and HAS LOST DATA" };
    (status.state.is_reduced() || !status.is_whole()).then(|| format!("{name} is {state}{bare}{lost}"))
}

fn name_of(disk: &InventoryDisk) -> String {
    disk.path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Devices that are there without a user's doing, and are listed only if something is known of them.
fn is_hideable(name: &str) -> bool {
    ["loop", "zram", "zd"].iter().any(|kind| name.starts_with(kind))
}

/// What a device of this name is. A virtual disk claims to spin, which says nothing of what lies below it.
fn kind(name: &str, is_rotational: bool) -> &'static str {
    const BY_NAME: [(&str, &str); 8] = [
        ("zd", "zvol"),
        ("loop", "file"),
        ("md", "array"),
        ("dm-", "mapped"),
        ("vd", "virtual"),
        ("xvd", "virtual"),
        ("nbd", "network"),
        ("zram", "memory"),
    ];
    let by_name = BY_NAME.iter().find(|(start, _)| name.starts_with(start)).map(|&(_, kind)| kind);
    by_name.unwrap_or(if is_rotational { "hard disk" } else { "flash" })
}

fn row((disk, record): &(InventoryDisk, ScrubRecord)) -> [String; 8] {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "-".to_owned());
    [
        disk.path.display().to_string(),
        disk.bytes.to_string(),
        kind(&name_of(disk), disk.is_rotational).to_owned(),
        text(&disk.model),
        text(&disk.serial),
        record.last_full_read(),
        record.bad_sectors.map_or("-".to_owned(), show_count),
        record.now(disk.obstacle.as_ref()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_full_read_and_the_present_state_are_shown_in_a_few_words() {
        let read = ScrubRecord { is_readable: true, oldest_read_seconds: Some(86_399), ..ScrubRecord::default() };
        assert_eq!((read.last_full_read(), read.now(None)), ("today".to_owned(), "-".to_owned()));
        let long_ago = ScrubRecord { oldest_read_seconds: Some(35 * DAY + 7_199), ..read };
        assert_eq!(long_ago.last_full_read(), "35 d 1 h ago");
        let under_way = ScrubRecord { is_readable: true, pass_share: Some(0.439), ..ScrubRecord::default() };
        assert_eq!(
            (under_way.last_full_read(), under_way.now(None)),
            ("never".to_owned(), "paused at 43 %".to_owned())
        );
        let running = ScrubRecord { scrubbed_by: Some(7), ..under_way };
        assert_eq!(running.now(None), "scrubbed by process 7, 43 % done");
        assert_eq!(ScrubRecord::default().last_full_read(), "unknown");
    }

    #[test]
    fn a_kind_is_claimed_only_of_hardware() {
        let kinds = ["sda", "nvme0n1", "vda", "md127", "dm-0", "loop3"].map(|name| kind(name, true));
        assert_eq!(kinds, ["hard disk", "hard disk", "virtual", "array", "mapped", "file"]);
        assert_eq!(kind("sda", false), "flash");
        assert!(is_hideable("loop3") && !is_hideable("md0") && !is_hideable("dm-0"));
    }
}
