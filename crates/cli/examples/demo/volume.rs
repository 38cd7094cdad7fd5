//! The second half: a volume whose members silently lie, and one of them is lost; and nobody notices.
//!
//! Six files make a volume of 4+2 chunks a stripe. It is served as a network block device, written, damaged in all the
//! ways of Li & Lee (MSST 2014), Table I, and read back. All is what ships, but for the clients, and for the reads that
//! go astray on their way to the disks.

use crate::client::Nbd;
use crate::faults::{DemoFaultInjector, Fault, fill};
use crate::served::serve;
use anyhow::{Context, Result, anyhow, bail, ensure};
use scrubjay_core::finding::Finding;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_device::clock;
use scrubjay_device::member::{self, Access, OpenMember};
use scrubjay_serve::remote::client::ControlClient;
use scrubjay_serve::volume::commands::{CommandAnswer, Status, VolumeCommand, VolumeEvent};
use scrubjay_serve::volume::conditions::VolumeCondition;
use scrubjay_serve::volume::gather::gather;
use scrubjay_serve::volume::offline;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

const SHAPE: Shape = Shape { data: 4, parity: 2 };
const MEMBERS: usize = 6;
const MEMBER: Bytes = Bytes::mib(64);
const CHUNK: Bytes = Bytes::kib(4);
/// What is written, from byte 0 on.
const WRITTEN: Bytes = Bytes::mib(32);
/// Of one request.
const REQUEST: Bytes = Bytes::mib(1);
/// The member whose file is deleted. The others have the silent faults: two wrong rows a stripe are all that two
/// parities make up for.
const LOST: usize = 5;
/// A rebuild takes no longer, or something is wrong.
const REBUILD_MAX: Duration = Duration::from_secs(60);
const SEED: u64 = 2014;

/// Runs it, and tells what happened.
pub fn run() -> Result<()> {
    let folder = tempfile::tempdir().context("no room for a temporary folder")?;
    let mut members: Vec<PathBuf> = (0..MEMBERS).map(|slot| folder.path().join(format!("{slot}.img"))).collect();
    let geometry = make(&members)?;
    let (size, Shape { data, parity }) = (Bytes(geometry.size()), SHAPE);
    println!(
        "A volume of {size} on {MEMBERS} members, files of {MEMBER}: {data} data and {parity} parity chunks of {CHUNK} a stripe.\n"
    );

    println!("3. {WRITTEN} are written over NBD, and then the members lie, in all seven ways of the literature ...");
    let mut written = vec![0; WRITTEN.0 as usize];
    let (faults, misdirected_reads) = serve(folder.path(), &members, &[], |nbd, control| {
        let mut rng = Rng::new(SEED);
        fill(&mut written, &mut rng);
        for (index, data) in written.chunks(REQUEST.0 as usize).enumerate() {
            nbd.write(index as u64 * REQUEST.0, data)?;
        }
        nbd.flush()?;
        let (members, written) = (&members, &mut written);
        let (faults, misdirected_reads) = (Vec::new(), Vec::new());
        let mut injector =
            DemoFaultInjector { geometry: &geometry, members, nbd, written, rng, faults, misdirected_reads };
        injector.plant()?;
        let DemoFaultInjector { faults, misdirected_reads, .. } = injector;
        ensure!(findings(control)?.is_empty(), "something was found before anything was read");
        Ok((faults, misdirected_reads))
    })?;
    let lost = members.remove(LOST);
    fs::remove_file(&lost)?;
    println!("   ... and the file of member {LOST} is deleted while nobody serves.\n");

    println!("4. Five members are served, and everything is read ...");
    let new = folder.path().join("new.img");
    let (wrong, found) = serve(folder.path(), &members, &misdirected_reads, |nbd, control| {
        let wrong = compare(nbd, &written)?;
        let found = findings(control)?;
        print_findings(&faults, &found, &status(control)?);
        println!("\n5. A new file takes the place of member {LOST} ...");
        println!("   rebuilt in {:.1} s, while the volume is served.\n", rebuild(control, &new)?.as_secs_f64());
        Ok((wrong, found))
    })?;
    members.insert(LOST, new);
    judge(&faults, &found, wrong, &members)
}

/// Makes an empty volume of new files.
fn make(paths: &[PathBuf]) -> Result<Geometry> {
    for path in paths {
        File::create(path)?.set_len(MEMBER.0).with_context(|| format!("no room for a file of {MEMBER}"))?;
    }
    let members: Vec<OpenMember> =
        paths.iter().map(|path| OpenMember::open(path, Access::ReadWrite)).collect::<Result<_, _>>()?;
    let block_bytes = members.iter().map(|member| member.block_bytes).max().unwrap_or(512);
    let layout = Layout::new(LayoutKind::Rotating, SHAPE, MEMBERS).map_err(|error| anyhow!("{error}"))?;
    let parameters = ArrayParameters { layout, scheme: Scheme::Stamp, chunk_bytes: CHUNK.0, block_bytes };
    let geometry = Geometry::fit(&parameters, MEMBER.0, None).map_err(|error| anyhow!("{error}"))?;
    let names = paths.iter().map(|_| member::new_uuid()).collect::<Result<Vec<_>, _>>()?;
    let superblock = blank::superblock(geometry, member::new_uuid()?, "demo", clock::today(), &names);
    member::make(&members, &superblock).map_err(|(_, error)| error)?;
    Ok(geometry)
}

/// Reads everything that was written; how many bytes are not what they were.
fn compare(nbd: &mut Nbd, written: &[u8]) -> Result<usize> {
    let mut read = vec![0; REQUEST.0 as usize];
    let mut wrong = 0;
    for (index, expected) in written.chunks(read.len()).enumerate() {
        nbd.read(index as u64 * REQUEST.0, &mut read)?;
        wrong += read.iter().zip(expected).filter(|(read, expected)| read != expected).count();
    }
    Ok(wrong)
}

fn findings(control: &mut ControlClient) -> Result<Vec<Finding>> {
    match control.ask(&VolumeCommand::Events { since: 0, wait: false })? {
        CommandAnswer::Events(log) => {
            let findings = log.events.into_iter().filter_map(|event| match event {
                VolumeEvent::Finding(finding) => Some(finding),
                _ => None,
            });
            Ok(findings.collect())
        }
        answer => bail!("not what was asked for: {answer:?}"),
    }
}

fn status(control: &mut ControlClient) -> Result<Status> {
    match control.ask(&VolumeCommand::Status)? {
        CommandAnswer::Status(status) => Ok(*status),
        answer => bail!("not what was asked for: {answer:?}"),
    }
}

/// Replaces the lost member, and waits until it is rebuilt. Returns how long that took.
fn rebuild(control: &mut ControlClient, new: &Path) -> Result<Duration> {
    File::create(new)?.set_len(MEMBER.0)?;
    let begun = Instant::now();
    control.ask(&VolumeCommand::Replace { member: LOST, path: new.display().to_string(), force: false })?;
    while status(control)?.state != VolumeCondition::Open {
        ensure!(begun.elapsed() < REBUILD_MAX, "the rebuild does not come to an end");
        thread::sleep(Duration::from_millis(50));
    }
    Ok(begun.elapsed())
}

/// What was done, and what the volume says of it, line by line.
fn print_findings(faults: &[Fault], found: &[Finding], status: &Status) {
    let line = |description: &str, member: usize, at: &str, found: [&str; 3]| {
        let [place, kind, end] = found;
        println!("   {description:<37}  {member:<6}  {at:>8}   {place:<14}  {kind:<17}  {end}");
    };
    println!("   what was done                          member   at byte   found in        as what            and");
    for fault in faults {
        let finding = found.iter().find(|finding| fault.is_at(finding));
        let place = finding.map_or("nowhere".to_owned(), |found| scrubjay_words::place_of(&found.content).into());
        let (kind, end) = finding.map_or(("-", "-"), |found| (found.kind.name(), found.resolution.name()));
        line(fault.description, fault.member, &fault.offset.to_string(), [&place, kind, end]);
    }
    for found in found.iter().filter(|finding| !faults.iter().any(|fault| fault.is_at(finding))) {
        let place = scrubjay_words::place_of(&found.content);
        let words = [&place, found.kind.name(), found.resolution.name()];
        line("(nothing)", found.member_number(), &found.member_offset().to_string(), words);
    }
    line(
        "a file that was deleted",
        LOST,
        "all",
        ["every stripe", &status.members[LOST].state.to_string(), "done without"],
    );
}

/// Is all as it should be?
fn judge(faults: &[Fault], found: &[Finding], wrong: usize, members: &[PathBuf]) -> Result<()> {
    let is_each_found_once =
        faults.iter().all(|fault| found.iter().filter(|finding| fault.matches(finding)).count() == 1);
    let is_exact = is_each_found_once && found.len() == faults.len();
    let exactly = if is_exact { "exactly those" } else { "NOT those" };
    println!("   Planted {} wrong rows, found {}: {exactly}.", faults.len(), found.len());
    println!("   Of {WRITTEN} that were read back, {wrong} bytes were not what was written.");
    let mut gathered = gather(members, true)?;
    let checked = offline::check(&mut gathered, true, clock::today(), |_, _| true)?;
    println!("   Checked all {} stripes once more, without clients: {} are clean.", checked.stripes, checked.clean);
    let is_clean = checked.clean == checked.stripes && checked.findings.is_empty() && gathered.notes.is_empty();
    ensure!(is_exact, "the volume did not find what was planted");
    ensure!(wrong == 0, "the volume gave back what was never written");
    ensure!(is_clean && checked.stripes == WRITTEN.0 / (SHAPE.data as u64 * CHUNK.0), "the volume is not whole again");
    Ok(())
}
