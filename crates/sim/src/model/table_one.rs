//! Li & Lee 2014, Table I, by injection: real rows, sealed, broken in each of the seven ways, opened and judged.
//!
//! Each kind of corruption has variants (where a write was cut, by how much a stray one was off); it counts as found
//! only if every variant is. Stray rows carry the same version as the right row, because counts of writes coincide.

use scrubjay_code::crc32c;
use scrubjay_core::index::{MemberIndex, RowIndex, StripePosition};
use scrubjay_core::layout::Shape;
use scrubjay_core::position_set::PositionSet;
use scrubjay_core::rng::Rng;
use scrubjay_core::volume::integrity::evidence::{Evidence, RowEvidence};
use scrubjay_core::volume::integrity::judge::{is_consistent, judge};
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_core::volume::integrity::tag::{self, ListEntry, RowIdentity, RowStatus, Version};

const SECTOR: usize = 512;
const CHUNK: usize = 8 * SECTOR;
const ROW: usize = CHUNK + SECTOR;
/// Six disks that survive two failures: the smallest stripe in which every scheme keeps all its copies on different disks.
const SHAPE: Shape = Shape { data: 4, parity: 2 };
/// The data chunk that is broken, and was written last.
const DATA_VICTIM: StripePosition = StripePosition(2);
const PARITY_VICTIM: StripePosition = SHAPE.parity_position(0);
const VERSION: Version = Version(6);

/// A kind of silent corruption (Li & Lee 2014, section II-B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SilentCorruption {
    /// The row is what it was before the write.
    LostWrite,
    /// Some sectors of the chunk are what they were before the write.
    TornWrite,
    /// Another row lies over the row.
    MisdirectedWrite,
    /// The end of another row lies over the beginning of the row.
    MisdirectedWriteFront,
    /// The beginning of another row lies over the end of the row.
    MisdirectedWriteEnd,
    /// Another row is read.
    MisdirectedRead,
    /// The end of one row and the beginning of the next are read.
    MisdirectedReadUnaligned,
}

impl SilentCorruption {
    /// All kinds, in the order of the table's columns.
    pub const ALL: [SilentCorruption; 7] = [
        SilentCorruption::LostWrite,
        SilentCorruption::TornWrite,
        SilentCorruption::MisdirectedWrite,
        SilentCorruption::MisdirectedWriteFront,
        SilentCorruption::MisdirectedWriteEnd,
        SilentCorruption::MisdirectedRead,
        SilentCorruption::MisdirectedReadUnaligned,
    ];

    /// The head of its column.
    pub const fn name(self) -> &'static str {
        match self {
            SilentCorruption::LostWrite => "lost write",
            SilentCorruption::TornWrite => "torn write",
            SilentCorruption::MisdirectedWrite => "misdirected write",
            SilentCorruption::MisdirectedWriteFront => "misdirected write, front",
            SilentCorruption::MisdirectedWriteEnd => "misdirected write, end",
            SilentCorruption::MisdirectedRead => "misdirected read",
            SilentCorruption::MisdirectedReadUnaligned => "misdirected read, unaligned",
        }
    }
}

/// A means by which a row can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Primitive {
    /// The row's own checksum.
    SelfChecksum,
    /// The place in the row's appendix.
    PhysicalIdentity,
    /// The row's version, and the copy of it in a parity.
    VersionMirroring,
    /// The copy of the row's checksum in a parity.
    ChecksumMirroring,
}

impl Primitive {
    /// All primitives, in the order of the table's rows.
    pub const ALL: [Primitive; 4] = [
        Primitive::SelfChecksum,
        Primitive::PhysicalIdentity,
        Primitive::VersionMirroring,
        Primitive::ChecksumMirroring,
    ];

    /// The head of its row.
    pub const fn name(self) -> &'static str {
        match self {
            Primitive::SelfChecksum => "self-checksum",
            Primitive::PhysicalIdentity => "physical identity",
            Primitive::VersionMirroring => "version mirroring",
            Primitive::ChecksumMirroring => "checksum mirroring",
        }
    }
}

/// What a scheme found out about a broken row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SchemeFinding {
    /// Nothing.
    Missed,
    /// Something is wrong in the stripe.
    Detected,
    /// This row is wrong.
    Located,
}

/// A scheme's row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeRow {
    /// The scheme.
    pub scheme: Scheme,
    /// Was a parity broken (true), or a data chunk?
    pub is_parity: bool,
    /// The result for each of [`SilentCorruption::ALL`].
    pub found: [SchemeFinding; 7],
}

/// The whole table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableOne {
    /// For each of [`Primitive::ALL`], alone: which of [`SilentCorruption::ALL`] it detects.
    pub primitives: [[bool; 7]; 4],
    /// The rows of all schemes, for data chunks and for parities.
    pub schemes: Vec<SchemeRow>,
}

/// Breaks rows in every way, and records which checks find it.
pub fn table_one() -> TableOne {
    let fixture = StripeFixture::new();
    let primitives = Primitive::ALL.map(|primitive| {
        SilentCorruption::ALL
            .map(|kind| fixture.broken(kind, DATA_VICTIM).iter().all(|row| fixture.is_noticed(primitive, row)))
    });
    let rows = Scheme::ALL.into_iter().flat_map(|scheme| [(scheme, false), (scheme, true)]);
    let schemes = rows.map(|(scheme, is_parity)| {
        let victim = if is_parity { PARITY_VICTIM } else { DATA_VICTIM };
        let worst = |kind: SilentCorruption| {
            let broken = fixture.broken(kind, victim);
            broken.iter().map(|row| fixture.found(scheme, victim, row)).min().expect("a kind has a variant")
        };
        SchemeRow { scheme, is_parity, found: SilentCorruption::ALL.map(worst) }
    });
    TableOne { primitives, schemes: schemes.collect() }
}

/// A stripe as it should be, the rows before the last write, and rows of other places.
struct StripeFixture {
    now: Vec<Vec<u8>>,
    before: Vec<Vec<u8>>,
    other: Vec<u8>,
    other_parity: Vec<u8>,
    next: Vec<u8>,
}

impl StripeFixture {
    fn new() -> StripeFixture {
        let mut rng = Rng::new(1);
        let mut contents: Vec<Vec<u8>> = SHAPE.positions().map(|_| content(&mut rng)).collect();
        let before = stripe(&contents, Version(VERSION.0 - 1));
        for position in [DATA_VICTIM, PARITY_VICTIM, SHAPE.parity_position(1)] {
            contents[position.get()] = content(&mut rng);
        }
        let now = stripe(&contents, VERSION);
        let mut stray = |row: u64| {
            // Any sector that comes to lie where an appendix is expected looks like one.
            let mut bytes: Vec<u8> = (0..ROW / SECTOR).flat_map(|_| look_alike(&mut rng, row)).collect();
            bytes[..CHUNK].chunks_mut(SECTOR).for_each(|sector| sector[0] ^= rng.bits() as u8 | 1);
            bytes
        };
        let (mut other, mut other_parity, mut next) = (stray(11), stray(11), stray(8));
        for row in [&mut other, &mut next] {
            let sum = crc32c(&row[..CHUNK]);
            tag::seal_data(
                row,
                CHUNK,
                identity(DATA_VICTIM, 11),
                ListEntry { version: VERSION, sum },
                rng.bits() as u32,
            );
        }
        let sum = crc32c(&other_parity[..CHUNK]);
        let list: Vec<ListEntry> =
            SHAPE.data_positions().map(|_| ListEntry { version: VERSION, sum: rng.bits() as u32 }).collect();
        tag::seal_parity(&mut other_parity, CHUNK, identity(PARITY_VICTIM, 11), sum, &list);
        StripeFixture { now, before, other, other_parity, next }
    }

    /// A row broken in every variant of a kind: on the disk, or as it is read.
    fn broken(&self, kind: SilentCorruption, victim: StripePosition) -> Vec<Vec<u8>> {
        let (now, before) = (&self.now[victim.get()], &self.before[victim.get()]);
        let other = if SHAPE.is_data(victim) { &self.other } else { &self.other_parity };
        let joined = |front: &[u8], end: &[u8]| [front, end].concat();
        let cuts = (1..CHUNK / SECTOR).map(|sector| sector * SECTOR);
        match kind {
            SilentCorruption::LostWrite => vec![before.clone()],
            SilentCorruption::TornWrite => {
                let mut torn: Vec<_> = cuts.map(|cut| joined(&now[..cut], &before[cut..])).collect();
                // Disks write sectors in any order: the appendix may be written when other sectors are not.
                let last = CHUNK - SECTOR..CHUNK;
                let mut appendix_first = now.clone();
                appendix_first[last.clone()].copy_from_slice(&before[last]);
                torn.push(appendix_first);
                torn
            }
            SilentCorruption::MisdirectedWrite | SilentCorruption::MisdirectedRead => vec![other.clone()],
            SilentCorruption::MisdirectedWriteFront => {
                cuts.map(|cut| joined(&other[ROW - cut..], &now[cut..])).collect()
            }
            SilentCorruption::MisdirectedWriteEnd => cuts.map(|cut| joined(&now[..cut], &other[..ROW - cut])).collect(),
            SilentCorruption::MisdirectedReadUnaligned => {
                cuts.map(|cut| joined(&now[cut..], &self.next[..cut])).collect()
            }
        }
    }

    /// Does one primitive alone notice that this is not the right row for the data victim?
    fn is_noticed(&self, primitive: Primitive, row: &[u8]) -> bool {
        let right = open(DATA_VICTIM, &self.now[DATA_VICTIM.get()]);
        let seen = open(DATA_VICTIM, row);
        match primitive {
            Primitive::SelfChecksum => {
                !matches!(seen.status, RowStatus::Sound | RowStatus::Elsewhere { is_whole: true, .. })
            }
            Primitive::PhysicalIdentity => matches!(seen.status, RowStatus::Elsewhere { .. } | RowStatus::Corrupt),
            Primitive::VersionMirroring => seen.entry.version != right.entry.version,
            Primitive::ChecksumMirroring => seen.entry.sum != right.entry.sum,
        }
    }

    /// What a scheme finds out about the stripe with this row in it.
    fn found(&self, scheme: Scheme, victim: StripePosition, row: &[u8]) -> SchemeFinding {
        let rows = SHAPE.positions().map(|position| {
            let mut seen = open(position, if position == victim { row } else { &self.now[position.get()] });
            if !scheme.checks_itself() {
                seen.status = RowStatus::Sound;
                let list = listed(position, if position == victim { row } else { &self.now[position.get()] });
                seen.list = (!SHAPE.is_data(position) && scheme.has_appendix()).then_some(list.1);
            }
            clear_unkept(scheme, seen)
        });
        let evidence = Evidence { scheme, shape: SHAPE, rows: rows.collect() };
        if is_consistent(&evidence, PositionSet::range(0, SHAPE.width())) {
            return SchemeFinding::Missed;
        }
        let diagnosis = judge(&evidence);
        match diagnosis.erased == PositionSet::one(victim) && diagnosis.lost.is_empty() {
            true => SchemeFinding::Located,
            false => SchemeFinding::Detected,
        }
    }
}

/// Clears what the scheme does not keep.
fn clear_unkept(scheme: Scheme, mut seen: RowEvidence) -> RowEvidence {
    let entries = std::iter::once(&mut seen.entry).chain(seen.list.iter_mut().flatten());
    for entry in entries {
        if !scheme.has_versions() {
            entry.version = Version(0);
        }
        if !scheme.lists_sums() {
            entry.sum = 0;
        }
    }
    seen
}

/// What a whole row shows in its position.
fn open(position: StripePosition, row: &[u8]) -> RowEvidence {
    let sum = crc32c(&row[..CHUNK]);
    if SHAPE.is_data(position) {
        let tag = tag::open_data(&row[CHUNK..], identity(position, 7), Some(sum));
        return RowEvidence {
            entry: tag.entry,
            predecessor_sum: tag.predecessor_sum,
            ..RowEvidence::with_status(tag.status)
        };
    }
    let (opened, list) = listed(position, row);
    RowEvidence { list: opened.1.then_some(list), ..RowEvidence::with_status(opened.0) }
}

/// A parity's list, its status, and whether the list can be believed.
fn listed(position: StripePosition, row: &[u8]) -> ((RowStatus, bool), Vec<ListEntry>) {
    let mut list = vec![ListEntry::default(); SHAPE.data];
    let opened = tag::open_parity(&row[CHUNK..], identity(position, 7), Some(crc32c(&row[..CHUNK])), &mut list);
    (opened, list)
}

fn identity(position: StripePosition, row: u64) -> RowIdentity {
    RowIdentity { array: 0x5c_2b, member: MemberIndex(position.get()), row: RowIndex(row), position }
}

/// A stripe of these contents; the data victim, which was written last, has this version.
fn stripe(contents: &[Vec<u8>], version: Version) -> Vec<Vec<u8>> {
    let entry = |position: StripePosition| ListEntry {
        version: if position == DATA_VICTIM { version } else { VERSION },
        sum: crc32c(&contents[position.get()]),
    };
    let entries: Vec<ListEntry> = SHAPE.data_positions().map(entry).collect();
    let sealed = contents.iter().enumerate().map(|(position, content)| {
        let mut row = [&content[..], &[0; SECTOR]].concat();
        match entries.get(position) {
            Some(&entry) => {
                let neighbour = entries[(position + SHAPE.data - 1) % SHAPE.data].sum;
                tag::seal_data(&mut row, CHUNK, identity(StripePosition(position), 7), entry, neighbour);
            }
            None => tag::seal_parity(&mut row, CHUNK, identity(StripePosition(position), 7), crc32c(content), &entries),
        }
        row
    });
    sealed.collect()
}

fn content(rng: &mut Rng) -> Vec<u8> {
    (0..CHUNK / 8).flat_map(|_| rng.bits().to_le_bytes()).collect()
}

/// A sector that looks like the appendix of a data chunk in another row, with the same version as the right one.
fn look_alike(rng: &mut Rng, row: u64) -> Vec<u8> {
    let mut sector = vec![0; SECTOR];
    let entry = ListEntry { version: VERSION, sum: rng.bits() as u32 };
    tag::seal_data(&mut sector, 0, identity(DATA_VICTIM, row), entry, rng.bits() as u32);
    sector
}
