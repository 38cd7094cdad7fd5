//! `scrubjay locate`: makes the light of a disk's bay blink.

use crate::args::LocateArgs;
use crate::exit::{Exit, Usage};
use crate::say::print_line;
use anyhow::{Context, Result};
use scrubjay_daemon::discovery::{SeenDisk, SystemRoot, locate, survey};
use scrubjay_daemon::pump::is_called;
use std::io;

/// Makes the light blink, or prints how else to find the disk.
pub fn run(args: &LocateArgs) -> Result<Exit> {
    let survey = survey(&SystemRoot::default(), &[args.disk.clone().into()]);
    let mut found: Vec<&SeenDisk> = survey.disks_meant(|disk| is_called(disk, &args.disk));
    let disk = match found.len() {
        1 => found.remove(0),
        0 => return gone(&args.disk),
        _ => return Err(Usage(format!("{}: several disks are called so: use the kernel's name", args.disk)).into()),
    };
    let mut out = io::stdout().lock();
    let facts = &disk.facts;
    let serial = disk.serial.as_deref().unwrap_or("not reported");
    if let Some(file) = &disk.locate {
        locate(file, !args.off).with_context(|| format!("{}: its light cannot be switched", facts.name))?;
        let bay = facts.bay.as_deref().unwrap_or("?");
        let (effect, hint) = match args.off {
            true => ("does not blink any more", String::new()),
            false => ("blinks", format!(" (scrubjay locate {} --off)", args.disk)),
        };
        print_line(&mut out, format_args!("{}: bay {bay} {effect}; serial {serial}{hint}", facts.name))?;
        return Ok(Exit::Clean);
    }
    print_line(&mut out, format_args!("{}: no light that could blink. Look for this on its label:", facts.name))?;
    print_line(&mut out, format_args!("  serial   {serial}"))?;
    print_line(&mut out, format_args!("  model    {}", facts.model))?;
    if let Some(bay) = &facts.bay {
        print_line(&mut out, format_args!("  bay      {bay}"))?;
    }
    if let Some(place) = &disk.by_path {
        print_line(&mut out, format_args!("  place    {place}"))?;
    }
    if args.off {
        return Ok(Exit::Clean);
    }
    let warning = match disk.serial {
        Some(_) => "Before you pull it: compare the serial number. The wrong disk is data lost.",
        None => "It reports no serial number: look twice. The wrong disk is data lost.",
    };
    print_line(&mut out, format_args!("{warning}"))?;
    Ok(Exit::Clean)
}

/// Prints what the watch knows of an absent disk.
fn gone(name: &str) -> Result<Exit> {
    let watch = super::watch_status_or_reason().ok();
    let Some(disk) = super::gone(watch.as_deref(), name)? else {
        return Err(Usage(format!("{name}: no such disk: `scrubjay status` lists them")).into());
    };
    let mut out = io::stdout().lock();
    print_line(&mut out, format_args!("{name}: it is not there. Look for this on its label:"))?;
    match &disk.serial {
        Some(serial) => print_line(&mut out, format_args!("  serial   {serial}"))?,
        None => print_line(&mut out, format_args!("  WWN      {}", disk.key))?,
    }
    print_line(&mut out, format_args!("  model    {}", disk.model))?;
    if let Some(bay) = &disk.bay {
        print_line(&mut out, format_args!("  bay      {bay}"))?;
    }
    Ok(Exit::Clean)
}
