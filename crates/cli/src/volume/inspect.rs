//! `scrubjay volume inspect`: the metadata of members, and whether they form a volume.

use super::document::{GeometryDocument, document};
use super::refused::Refused;
use crate::args::volume::Inspect;
use crate::exit::Exit;
use crate::say::print_line;
use anyhow::{Context, Result};
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::format::assemble::{AssembleError, Assembly, GivenMember, SlotState, assemble};
use scrubjay_core::volume::format::geometry::{AreaPages, Geometry, MetadataArea};
use scrubjay_core::volume::format::superblock::{MemberState, Superblock};
use scrubjay_device::member::{Access, OpenMember};
use serde::Serialize;
use std::io::{self, Write};

/// Prints the metadata.
pub fn run(args: &Inspect) -> Result<Exit> {
    let mut given = Vec::new();
    for path in &args.members {
        given.push(OpenMember::open(path, Access::Inspect).map_err(Refused::from)?.given());
    }
    let assembled = assemble(&given);
    let mut out = io::stdout().lock();
    let printed = if args.json {
        writeln!(out, "{}", document(&Inspected::new(&given, &assembled))?)
    } else {
        print(&given, &assembled, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    Ok(exit(&assembled))
}

/// The exit code. Members that were not named are no problem.
fn exit(assembled: &Result<Assembly, AssembleError>) -> Exit {
    let is_well = match assembled {
        Ok(assembly) => assembly.stale.is_empty(),
        Err(AssembleError::TooFew { stale, .. }) => stale.is_empty(),
        Err(_) => false,
    };
    if is_well { Exit::Clean } else { Exit::Found }
}

fn print(given: &[GivenMember], assembled: &Result<Assembly, AssembleError>, out: &mut impl Write) -> io::Result<()> {
    for GivenMember { label, bytes, superblock } in given {
        match superblock {
            Ok(superblock) => print_member(label, *bytes, superblock, out)?,
            Err(error) => print_line(out, format_args!("{label} {error}"))?,
        }
    }
    match assembled {
        Ok(assembly) => print_assembly(given, assembly, out),
        Err(error) => match named_only(given, error) {
            Some(named) => print_line(out, format_args!("{named}")),
            None => print_line(out, format_args!("together: no volume: {error}")),
        },
    }
}

/// Which members were named, if nothing is against them but that they are too few to serve the volume: whoever looks at one
/// member has named one on purpose.
fn named_only(given: &[GivenMember], error: &AssembleError) -> Option<String> {
    let AssembleError::TooFew { absent, parity, stale } = error else { return None };
    if !stale.is_empty() || absent.iter().any(|(_, state)| *state != MemberState::Missing) {
        return None;
    }
    let superblocks: Option<Vec<&Superblock>> = given.iter().map(|given| given.superblock.as_ref().ok()).collect();
    let superblocks = superblocks?;
    let all = superblocks.first()?.members.len();
    let mut named: Vec<usize> = superblocks.iter().map(|superblock| superblock.member.get()).collect();
    named.sort_unstable();
    let numbers: Vec<String> = named.iter().map(usize::to_string).collect();
    let numbers = numbers.join(", ");
    Some(format!(
        "named: {} of {all} members: {numbers} (to serve it, name all; it can do without {parity})",
        named.len()
    ))
}

fn print_member(label: &str, bytes: u64, superblock: &Superblock, out: &mut impl Write) -> io::Result<()> {
    let Superblock { geometry, array, name, member: own, generation, .. } = superblock;
    let name = if name.is_empty() { String::new() } else { format!("{name} ") };
    let shape = geometry.layout.shape();
    let stopped = if superblock.is_clean { "stopped in order" } else { "being served, or not stopped in order" };
    print_line(out, format_args!("{label} ({}) is member {own} of volume {name}{array}", Bytes(bytes)))?;
    writeln!(out, "  generation {generation}, {stopped}; member {}", superblock.own().uuid)?;
    writeln!(
        out,
        "  {} in stripes of {}+{} chunks of {}, layout {}, scheme {}",
        Bytes(geometry.size()),
        shape.data,
        shape.parity,
        Bytes(geometry.chunk_bytes),
        geometry.layout.kind(),
        geometry.scheme
    )?;
    let areas: Vec<String> =
        areas(geometry).map(|area| format!("{} from byte {} on", area.name, area.offset)).collect();
    writeln!(out, "  metadata: {}; rows from byte {} on", areas.join(", "), geometry.data_offset)?;
    for (index, member) in superblock.members.iter().enumerate() {
        if member.state != MemberState::Active || member.faults > 0 {
            writeln!(out, "  member {index}: {}, faults on it: {}", member.state, member.faults)?;
        }
    }
    Ok(())
}

fn print_assembly(given: &[GivenMember], assembly: &Assembly, out: &mut impl Write) -> io::Result<()> {
    let members = assembly.members.iter().enumerate();
    let not_active: Vec<String> = members
        .filter_map(|(index, state)| match state {
            SlotState::Active(_) => None,
            SlotState::Rebuilding { stripes_done, .. } => {
                Some(format!("{index} (rebuilding: {stripes_done} stripes done)"))
            }
            SlotState::Absent => Some(format!("{index} (not here)")),
            SlotState::Out(state) => Some(format!("{index} ({state})")),
        })
        .collect();
    if not_active.is_empty() {
        writeln!(out, "together: complete")?;
    } else {
        writeln!(out, "together: degraded: member {}", not_active.join(", "))?;
    }
    for stale in &assembly.stale {
        let state = match stale.state {
            None => "replaced".to_owned(),
            Some(MemberState::Active) => "of an earlier time".to_owned(),
            Some(state) => state.to_string(),
        };
        print_line(out, format_args!("left out: {} ({state})", given[stale.given].label))?;
    }
    Ok(())
}

/// The JSON of `volume inspect`.
#[derive(Debug, Serialize)]
struct Inspected {
    members: Vec<InspectedMember>,
    /// Can the volume be started with these members?
    startable: bool,
    /// Are all its members among them?
    complete: bool,
    /// Members among these that would be left out.
    stale: Vec<String>,
    /// Why the volume cannot be started.
    error: Option<String>,
}

#[derive(Debug, Serialize)]
struct InspectedMember {
    path: String,
    bytes: u64,
    /// Why this is no member.
    error: Option<String>,
    superblock: Option<SuperblockFields>,
}

#[derive(Debug, Serialize)]
struct SuperblockFields {
    volume: String,
    name: String,
    created: u64,
    last_started: u64,
    generation: u64,
    write_mark: u64,
    clean: bool,
    slot: usize,
    geometry: GeometryDocument,
    areas: Vec<AreaFields>,
    members: Vec<RecordFields>,
}

/// An area of metadata, the same on each member.
#[derive(Debug, Serialize)]
struct AreaFields {
    /// As findings call its pages: `intents`, `while-out`, `map`.
    name: &'static str,
    /// The offset of its first page, in bytes.
    offset: u64,
    pages: u64,
    page_bytes: u64,
    /// 1: a page is rewritten in place; 2: in two places in turn.
    places: u64,
}

fn areas(geometry: &Geometry) -> impl Iterator<Item = AreaFields> {
    MetadataArea::ALL.into_iter().map(|area| {
        let AreaPages { offset, pages, page_bytes, places } = geometry.area(area);
        AreaFields { name: area.name(), offset, pages, page_bytes, places }
    })
}

#[derive(Debug, Serialize)]
struct RecordFields {
    uuid: String,
    /// The member's state: `active`, `missing`, `failed: ...`, `rebuilding: ...`.
    state: String,
    faults: u32,
}

impl Inspected {
    fn new(given: &[GivenMember], assembled: &Result<Assembly, AssembleError>) -> Inspected {
        let stale = assembled.as_ref().map_or(&[][..], |assembly| &assembly.stale);
        let is_active = |slot: &SlotState| matches!(slot, SlotState::Active(_));
        Inspected {
            members: given.iter().map(InspectedMember::new).collect(),
            startable: assembled.is_ok(),
            complete: assembled.as_ref().is_ok_and(|assembly| assembly.members.iter().all(is_active)),
            stale: stale.iter().map(|stale| given[stale.given].label.clone()).collect(),
            error: assembled.as_ref().err().map(AssembleError::to_string),
        }
    }
}

impl InspectedMember {
    fn new(given: &GivenMember) -> InspectedMember {
        InspectedMember {
            path: given.label.clone(),
            bytes: given.bytes,
            error: given.superblock.as_ref().err().map(ToString::to_string),
            superblock: given.superblock.as_ref().ok().map(SuperblockFields::new),
        }
    }
}

impl SuperblockFields {
    fn new(superblock: &Superblock) -> SuperblockFields {
        let members = superblock.members.iter().map(|member| RecordFields {
            uuid: member.uuid.to_string(),
            state: member.state.to_string(),
            faults: member.faults,
        });
        SuperblockFields {
            volume: superblock.array.to_string(),
            name: superblock.name.clone(),
            created: superblock.created.0,
            last_started: superblock.last_started.0,
            generation: superblock.generation,
            areas: areas(&superblock.geometry).collect(),
            write_mark: superblock.write_mark,
            clean: superblock.is_clean,
            slot: superblock.member.get(),
            geometry: GeometryDocument::of(&superblock.geometry),
            members: members.collect(),
        }
    }
}
