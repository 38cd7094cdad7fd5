//! `scrubjay volume create`: checks all members, then makes a volume of them.

use super::document::{GeometryDocument as GeometryFields, document};
use super::refused::Refused;
use crate::args::volume::Create;
use crate::exit::Exit;
use crate::say::print_line;
use anyhow::{Context, Result};
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::format::blank;
use scrubjay_core::volume::format::geometry::{ArrayParameters, Geometry};
use scrubjay_core::volume::format::superblock::{NAME_BYTES_MAX, Superblock};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_device::clock;
use scrubjay_device::member::{self, Access, MemberError, OpenMember};
use serde::Serialize;
use std::io::{self, Write};
use std::path::Path;

/// Creates the volume.
pub fn run(args: &Create) -> Result<Exit> {
    let layout = layout(args)?;
    check_name(&args.name)?;
    if args.scheme == Scheme::Pure && layout.shape().parity == 0 {
        return Err(Refused::usage(
            "scheme pure protects nothing without parities: take stamp, or none if that is what you want".to_owned(),
        )
        .into());
    }
    if args.size.is_some_and(|size| size.0 == 0) {
        return Err(Refused::usage("--size 0: a volume has room for something".to_owned()).into());
    }
    let members = open(args)?;
    let smallest = members.iter().map(|member| member.bytes).min().expect("there is a member for each disk");
    let greatest = |block: fn(&OpenMember) -> u64| members.iter().map(block).max().expect("there is one");
    let preferred = greatest(OpenMember::block_to_make);
    // A small chunk may be wanted on disks with large physical sectors.
    let block_bytes = if args.chunk.0 < preferred { greatest(|member| member.block_bytes) } else { preferred };
    let parameters = ArrayParameters { layout, scheme: args.scheme, chunk_bytes: args.chunk.0, block_bytes };
    let geometry = Geometry::fit(&parameters, smallest, args.size.map(|size| size.0)).map_err(Refused::from)?;
    let superblock = superblock(&args.name, geometry).context("cannot make up a name for the volume")?;
    member::make(&members, &superblock)
        .map_err(|(slot, error)| error_of(&members[slot].path, error))
        .context("the volume was not made, and what its members held is lost")?;
    let mut out = io::stdout().lock();
    let printed = if args.json {
        writeln!(out, "{}", document(&created_document(&superblock, &members))?)
    } else {
        print(&superblock, &members, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    Ok(Exit::Clean)
}

/// The layout that was asked for, or the one that suits the numbers.
fn layout(args: &Create) -> Result<Layout, Refused> {
    let (shape, disks) = (Shape { data: args.data, parity: args.parity }, args.members.len());
    if args.layout.is_none() && disks != shape.width() && (shape.data, shape.parity) != (1, 1) {
        let Shape { data, parity } = shape;
        let needed = shape.width();
        let were = if disks == 1 { "was" } else { "were" };
        return Err(Refused::usage(format!("{data}+{parity} needs {needed} members, and {disks} {were} named")));
    }
    let kind = args.layout.unwrap_or(match (shape.data, shape.parity) {
        (_, 0) => LayoutKind::Raid0,
        (1, 1) if disks > 2 => LayoutKind::Raid1,
        _ => LayoutKind::Rotating,
    });
    Ok(Layout::new(kind, shape, disks)?)
}

fn check_name(name: &str) -> Result<(), Refused> {
    if name.len() > NAME_BYTES_MAX || name.contains(|letter: char| letter.is_control() || letter == '/') {
        return Err(Refused::usage(format!(
            "--name is {NAME_BYTES_MAX} bytes of text at the most, in one line and without a slash"
        )));
    }
    Ok(())
}

/// Opens all members, each of which may be overwritten; or refuses, with all that may not.
fn open(args: &Create) -> Result<Vec<OpenMember>, Refused> {
    let mut members = Vec::new();
    for path in &args.members {
        members.push(OpenMember::open(path, Access::ReadWrite).map_err(|error| match error {
            MemberError::Absent { .. } => {
                Refused::usage(format!("{error} (a file is made with: truncate -s 1G {})", path.display()))
            }
            error => error.into(),
        })?);
    }
    let is_meant = |force: &Path, member: &OpenMember| {
        force == member.path || member.serial().is_some_and(|serial| force == Path::new(&serial))
    };
    if let Some(force) = args.force.iter().find(|force| !members.iter().any(|member| is_meant(force, member))) {
        return Err(Refused::usage(format!("--force {}: no member is called so", force.display())));
    }
    let mut not_empty = Vec::new();
    for member in members.iter().filter(|member| !args.force.iter().any(|force| is_meant(force, member))) {
        if let Some(contents) = member.contents().map_err(|error| error_of(&member.path, error))? {
            not_empty
                .push((format!("{} {contents}", member.path.display()), format!("--force {}", member.path.display())));
        }
    }
    let (descriptions, forces): (Vec<String>, Vec<String>) = not_empty.into_iter().unzip();
    match descriptions.len() {
        0 => Ok(members),
        1 => Err(Refused::usage(format!("{}: to overwrite it, add {}", descriptions[0], forces[0]))),
        _ => Err(Refused::usage(format!("{}: to overwrite them, add {}", descriptions.join(", "), forces.join(" ")))),
    }
}

fn error_of(path: &Path, error: io::Error) -> Refused {
    Refused { text: format!("{}: {error}", path.display()), exit: Exit::Failed }
}

/// The first superblock of the volume.
fn superblock(name: &str, geometry: Geometry) -> io::Result<Superblock> {
    let names = (0..geometry.layout.disks()).map(|_| member::new_uuid()).collect::<io::Result<Vec<_>>>()?;
    Ok(blank::superblock(geometry, member::new_uuid()?, name, clock::today(), &names))
}

fn print(superblock: &Superblock, members: &[OpenMember], out: &mut impl Write) -> io::Result<()> {
    let Superblock { geometry, array, name, .. } = superblock;
    let shape = geometry.layout.shape();
    let name = if name.is_empty() { String::new() } else { format!("{name} ") };
    print_line(out, format_args!("volume {name}{array}: {} of user data", Bytes(geometry.size())))?;
    writeln!(
        out,
        "{} data and {} parity chunks of {} a stripe, layout {}, scheme {}",
        shape.data,
        shape.parity,
        Bytes(geometry.chunk_bytes),
        geometry.layout.kind(),
        geometry.scheme
    )?;
    for (slot, member) in members.iter().enumerate() {
        let cached = if member.is_direct { "" } else { ", through the page cache" };
        let (path, bytes) = (member.path.display(), Bytes(member.bytes));
        print_line(out, format_args!("member {slot}: {path}, {bytes}{cached}"))?;
    }
    Ok(())
}

/// The JSON of `volume create`.
#[derive(Debug, Serialize)]
struct CreatedDocument {
    volume: String,
    name: String,
    #[serde(flatten)]
    geometry: GeometryFields,
    members: Vec<CreatedMember>,
}

#[derive(Debug, Serialize)]
struct CreatedMember {
    slot: usize,
    path: String,
    uuid: String,
    bytes: u64,
    /// Is it read and written with direct I/O, without the page cache?
    direct: bool,
}

fn created_document(superblock: &Superblock, members: &[OpenMember]) -> CreatedDocument {
    let member = |(slot, member): (usize, &OpenMember)| CreatedMember {
        slot,
        path: member.path.display().to_string(),
        uuid: superblock.members[slot].uuid.to_string(),
        bytes: member.bytes,
        direct: member.is_direct,
    };
    CreatedDocument {
        volume: superblock.array.to_string(),
        name: superblock.name.clone(),
        geometry: GeometryFields::of(&superblock.geometry),
        members: members.iter().enumerate().map(member).collect(),
    }
}
