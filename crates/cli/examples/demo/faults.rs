//! The faults of the demo: each of the seven kinds of Li & Lee (MSST 2014), Table I, done to the files of a volume while
//! it is served, and what the volume should say of each.
//!
//! A row is a chunk and its appendix. Member and row of each fault are chosen so that no stripe has two of them.

use crate::client::Nbd;
use crate::served::MisdirectedRead;
use anyhow::{Context, Result};
use scrubjay_core::finding::{Finding, FindingKind};
use scrubjay_core::index::RowIndex;
use scrubjay_core::rng::Rng;
use scrubjay_core::volume::format::geometry::Geometry;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

/// A fault that was planted, as far as one row shows it, and how it should be found.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What was done.
    pub description: &'static str,
    /// On which member.
    pub member: usize,
    /// Where its row begins, in bytes.
    pub offset: u64,
    /// As which kind it should be found.
    pub kind: &'static str,
    /// What should come of it.
    pub end: &'static str,
    /// Of a row that belongs elsewhere: where, member and byte.
    pub target: Option<(usize, u64)>,
}

impl Fault {
    /// Was this one found, as it should be?
    pub fn matches(&self, finding: &Finding) -> bool {
        let target = match finding.kind {
            FindingKind::MisdirectedWrite { member, offset } => Some((member.get(), offset.get())),
            _ => None,
        };
        let found = (finding.kind.name(), finding.resolution.name(), target);
        self.is_at(finding) && (self.kind, self.end, self.target) == found
    }

    /// Was something found where this one is?
    pub fn is_at(&self, finding: &Finding) -> bool {
        (self.member, self.offset) == (finding.member_number(), finding.member_offset())
    }
}

/// The files of a served volume, what its clients have written, and what was done to it.
pub struct DemoFaultInjector<'a> {
    pub geometry: &'a Geometry,
    pub members: &'a [PathBuf],
    pub nbd: &'a mut Nbd,
    /// What should be read back, from byte 0 on.
    pub written: &'a mut [u8],
    pub rng: Rng,
    /// What was done.
    pub faults: Vec<Fault>,
    /// Reads that will go astray.
    pub misdirected_reads: Vec<MisdirectedRead>,
}

/// A row that holds a data chunk, and so does the next one of its member.
#[derive(Clone, Copy)]
struct Row {
    member: usize,
    row: u64,
}

impl DemoFaultInjector<'_> {
    /// Does everything.
    pub fn plant(&mut self) -> Result<()> {
        self.lose_write(0)?;
        self.tear_write(1)?;
        self.misdirect_write(2)?;
        self.misdirect_write_unaligned(3)?;
        self.misdirect_reads(4);
        Ok(())
    }

    /// The disk says that it wrote, and did not.
    fn lose_write(&mut self, member: usize) -> Result<()> {
        let row = self.row(member, 200);
        let (old, _) = self.overwrite(row)?;
        self.put(row, 0, &old)?;
        self.note("a write that was lost", row, "lost-write");
        Ok(())
    }

    /// The beginning of a write came to the medium, its end did not.
    fn tear_write(&mut self, member: usize) -> Result<()> {
        let row = self.row(member, 400);
        let (old, _) = self.overwrite(row)?;
        let half = self.half();
        self.put(row, half, &old[half as usize..])?;
        self.note("a write that was cut short", row, "torn-write");
        Ok(())
    }

    /// A write went over another row.
    fn misdirect_write(&mut self, member: usize) -> Result<()> {
        let (row, victim) = (self.row(member, 600), self.row(member, 800));
        let (old, new) = self.overwrite(row)?;
        self.put(row, 0, &old)?;
        self.put(victim, 0, &new)?;
        self.note("a write that went over another row", victim, "misdirected-write");
        self.faults.last_mut().expect("it was noted").target = Some((member, self.offset(row)));
        self.note("  ... and never came to its own", row, "lost-write");
        Ok(())
    }

    /// A write went over the end of a row and the beginning of the next one.
    fn misdirect_write_unaligned(&mut self, member: usize) -> Result<()> {
        let (row, victim) = (self.row(member, 1000), self.row(member, 1200));
        let next = Row { row: victim.row + 1, ..victim };
        let (old, new) = self.overwrite(row)?;
        self.put(row, 0, &old)?;
        self.put(victim, self.half(), &new)?;
        self.note("a write that went over a row's tail", victim, "corrupt");
        self.note("  ... and over the next one's head", next, "torn-write");
        self.note("  ... and never came to its own", row, "lost-write");
        Ok(())
    }

    /// One read will bring another row, and one the end of a row and the beginning of the next one. The medium is right.
    fn misdirect_reads(&mut self, member: usize) {
        let (whole, split, other) = (self.row(member, 1400), self.row(member, 1600), self.row(member, 1800));
        // Only what names another place is known to be of there; parts of two rows name none.
        for (description, row, actual, kind) in [
            ("a read that brought another row", whole, self.offset(other), "misdirected-read"),
            ("a read that brought parts of two rows", split, self.offset(split) + self.half(), "corrupt"),
        ] {
            self.misdirected_reads.push(MisdirectedRead { member, wanted: self.offset(row), actual });
            self.note(description, row, kind);
            self.faults.last_mut().expect("it was noted").end = "transient";
        }
    }

    fn note(&mut self, description: &'static str, row: Row, kind: &'static str) {
        let offset = self.offset(row);
        self.faults.push(Fault { description, member: row.member, offset, kind, end: "repaired", target: None });
    }

    /// The first fit row of a member from this one on.
    fn row(&self, member: usize, from: u64) -> Row {
        let is_data = |row| self.geometry.layout.chunk_at(member, row).is_some_and(|(_, slot)| slot < self.data());
        let row = (from..).find(|&row| is_data(row) && is_data(row + 1)).expect("parities move on with every stripe");
        Row { member, row }
    }

    /// Overwrites the chunk of a row as any client would. Returns what the member held of it before, and after.
    fn overwrite(&mut self, row: Row) -> Result<(Vec<u8>, Vec<u8>)> {
        let (stripe, slot) = self.geometry.layout.chunk_at(row.member, row.row).context("no such row")?;
        let chunk_bytes = self.geometry.chunk_bytes;
        let offset = (stripe * self.data() as u64 + slot as u64) * chunk_bytes;
        let chunk = &mut self.written[offset as usize..(offset + chunk_bytes) as usize];
        fill(chunk, &mut self.rng);
        let old = read(&self.members[row.member], self.geometry, row.row)?;
        self.nbd.write(offset, chunk)?;
        self.nbd.flush()?;
        Ok((old, read(&self.members[row.member], self.geometry, row.row)?))
    }

    /// Writes into a member's file, `shift` bytes after the beginning of a row.
    fn put(&self, row: Row, shift: u64, bytes: &[u8]) -> Result<()> {
        let file = File::options().write(true).open(&self.members[row.member])?;
        file.write_all_at(bytes, self.offset(row) + shift)?;
        Ok(file.sync_all()?)
    }

    fn offset(&self, row: Row) -> u64 {
        (self.geometry.chunk_offset(RowIndex(row.row))).get()
    }

    fn data(&self) -> usize {
        self.geometry.layout.shape().data
    }

    fn half(&self) -> u64 {
        self.geometry.chunk_bytes / 2
    }
}

/// A row of a member, as its file has it.
fn read(member: &PathBuf, geometry: &Geometry, row: u64) -> Result<Vec<u8>> {
    let mut bytes = vec![0; geometry.row_bytes() as usize];
    File::open(member)?.read_exact_at(&mut bytes, (geometry.chunk_offset(RowIndex(row))).get())?;
    Ok(bytes)
}

/// Fills it with chance.
pub fn fill(bytes: &mut [u8], rng: &mut Rng) {
    bytes.chunks_mut(8).for_each(|word| word.copy_from_slice(&rng.bits().to_le_bytes()[..word.len()]));
}
