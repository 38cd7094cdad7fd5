//! The saved state of a scrub: conversion to and from its text form. No file is accessed here.
//!
//! ```text
//! scrubjay scrub state 1              the format's version
//! disk wwn-0x5000c500a1b2c3d4         the disk's identity; the state of another disk is refused
//! sectors 7814037168                  its size in 512-byte sectors
//! region 262144 16384                 sectors per region, per segment
//! saved 1763722222                    Unix seconds
//! pass 1763720000                     when the pass under way began; 0: there is none
//! done 0+16384 245760+16384*1023      sectors with a verdict: gap+length, *times when repeated
//! transient 2 errno:5                 requests that failed at first, and the first cause; left out when there were none
//! corrected 3                         rows or blocks that were wrong, their right content known; left out when there were none
//! found-only 2                        those of them that were not repaired, because nothing could be; left out when there were none
//! tally chunks-known 7340032           what the subject counts over all runs of a pass, under its own names, in their order
//! unreadable 70000+1 errno:5          one line per run of sectors, with its cause (`Cause::code`)
//! ended 2 3                           only without a pass under way: what the last one counted, as `transient` and `corrected`;
//!                                     left out when that was nothing
//! regions 4096 1763000400 1763010000 0 0   count of equal regions in a row: begun, verified, unreadable, touched in this pass
//! checksum 1c291ca3                   CRC-32C of all lines above
//! ```
//!
//! Dates of regions are rounded down to ten minutes, so that neighbours share a line: a sector is never reported
//! younger than it is. The state of a 20 TB disk takes a few KiB.

use crate::scrub::coverage::{Coverage, CoverageRun, DATE_STEP, RegionRecord};
use crate::scrub::tour::Grid;
use crate::scrub::verdict::Cause;
use crate::scrub::{EndedPass, Pass};
use crate::units::{SectorRange, UnixSeconds};
use scrubjay_code::crc32c;
use std::fmt::{self, Write};
use std::str::FromStr;

const MAGIC: &str = "scrubjay scrub state 1";
/// Runs of done sectors accepted, at most: a tour leaves about one per region, and one more for each unreadable spot in it.
const RUNS_MAX: u64 = 4 * Grid::REGIONS_MAX;
/// Tallies of a subject, at most.
const TALLIES_MAX: usize = 16;

/// The state of a scrub that survives a stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Saved {
    /// The identity of the disk: a serial number, WWN or path; no line breaks.
    pub disk: String,
    /// When it was saved.
    pub at: UnixSeconds,
    /// The coverage map, and with it the grid.
    pub coverage: Coverage,
    /// The pass under way, if there is one.
    pub pass: Option<Pass>,
    /// What the last complete pass found; saved only while no other one is under way.
    pub ended: EndedPass,
}

/// Why a text is not a saved state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SavedError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for SavedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

impl std::error::Error for SavedError {}

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.encode(&mut text)?;
        writeln!(f, "{text}checksum {:08x}", crc32c(text.as_bytes()))
    }
}

impl Saved {
    fn encode(&self, text: &mut String) -> fmt::Result {
        let grid = self.coverage.grid();
        writeln!(text, "{MAGIC}\ndisk {}", self.disk.replace(['\n', '\r'], " "))?;
        writeln!(text, "sectors {}", grid.disk().count())?;
        writeln!(text, "region {} {}", grid.region_sectors(), grid.segment_sectors())?;
        writeln!(text, "saved {}", self.at.0)?;
        writeln!(text, "pass {}", self.pass.as_ref().map_or(0, |pass| pass.begun.0))?;
        if let Some(pass) = &self.pass {
            write!(text, "done")?;
            let mut end = 0;
            let gaps = pass.done.iter().map(|run| {
                let gap = run.start.0 - end;
                end = run.end.0;
                (gap, run.count())
            });
            for ((gap, count), times) in repeated(gaps) {
                write!(text, " {gap}+{count}")?;
                if times > 1 {
                    write!(text, "*{times}")?;
                }
            }
            writeln!(text)?;
            if let Some(cause) = pass.transient_cause {
                writeln!(text, "transient {} {}", pass.transient_errors, cause.code())?;
            }
            if pass.corrected > 0 {
                writeln!(text, "corrected {}", pass.corrected)?;
            }
            if pass.found_only > 0 {
                writeln!(text, "found-only {}", pass.found_only)?;
            }
            for (name, count) in &pass.tallies {
                writeln!(text, "tally {name} {count}")?;
            }
            for (start, (count, cause)) in &pass.unreadable {
                writeln!(text, "unreadable {start}+{count} {}", cause.code())?;
            }
        } else if self.ended != EndedPass::default() {
            writeln!(text, "ended {} {}", self.ended.transient_errors, self.ended.corrected)?;
        }
        let date = |date: UnixSeconds| date.0 / DATE_STEP * DATE_STEP;
        // Runs that the dates told apart may be one now.
        let mut lines: Vec<(u64, [u64; 4])> = Vec::new();
        for CoverageRun { regions, record: RegionRecord { begun, verified, unreadable }, touched } in
            self.coverage.runs()
        {
            let (times, line) =
                (regions.count() as u64, [date(begun), date(verified), unreadable.into(), date(touched)]);
            match lines.last_mut().filter(|(_, last)| *last == line) {
                Some((before, _)) => *before += times,
                None => lines.push((times, line)),
            }
        }
        for (times, [begun, verified, unreadable, touched]) in lines {
            writeln!(text, "regions {times} {begun} {verified} {unreadable} {touched}")?;
        }
        Ok(())
    }
}

impl FromStr for Saved {
    type Err = SavedError;

    fn from_str(text: &str) -> Result<Saved, SavedError> {
        let body_end = text.trim_end_matches('\n').rfind('\n').map_or(0, |at| at + 1);
        let (body, last) = text.split_at(body_end);
        let line = body.lines().count() + 1;
        let fail = |what: &str| SavedError { line, what: what.to_owned() };
        let sum = last.trim_end().strip_prefix("checksum ").ok_or_else(|| fail("cut short: no checksum at the end"))?;
        if sum != format!("{:08x}", crc32c(body.as_bytes())) {
            return Err(fail("the checksum does not match: the file was changed or damaged"));
        }
        SavedReader { lines: body.lines().enumerate().peekable(), line: 0 }.read()
    }
}

struct SavedReader<'a> {
    lines: std::iter::Peekable<std::iter::Enumerate<std::str::Lines<'a>>>,
    line: usize,
}

impl<'a> SavedReader<'a> {
    fn read(mut self) -> Result<Saved, SavedError> {
        if self.lines.next().map(|(_, line)| line) != Some(MAGIC) {
            self.line = 1;
            return Err(self.fail("not a scrub state of this version"));
        }
        let disk = self.field("disk")?.to_owned();
        let [sectors] = self.numbers("sectors")?;
        let [region, segment] = self.numbers("region")?;
        let is_grid = sectors > 0 && segment > 0 && segment <= region && sectors.div_ceil(region) <= Grid::REGIONS_MAX;
        if !is_grid {
            return Err(self.fail("these sizes do not make a grid"));
        }
        let grid = Grid::new(sectors, region, segment);
        let [at] = self.numbers("saved")?;
        let [begun] = self.numbers("pass")?;
        let pass = if begun == 0 { None } else { Some(self.pass(begun, &grid)?) };
        let ended = if pass.is_none() { self.ended()? } else { EndedPass::default() };
        let coverage = self.coverage(grid)?;
        if self.lines.next().is_some() {
            self.line += 1;
            return Err(self.fail("nothing was expected here"));
        }
        Ok(Saved { disk, at: UnixSeconds(at), coverage, pass, ended })
    }

    fn pass(&mut self, begun: u64, grid: &Grid) -> Result<Pass, SavedError> {
        let mut pass = Pass { begun: UnixSeconds(begun), ..Pass::default() };
        let (mut end, mut runs) = (0, 0u64);
        for word in self.field("done")?.split_whitespace() {
            let (run, times) = word.split_once('*').unwrap_or((word, "1"));
            let (gap, count) = self.run(run)?;
            let times = self.number(times)?;
            runs = runs.saturating_add(times);
            if runs > RUNS_MAX {
                return Err(self.fail("more runs than any tour leaves"));
            }
            for _ in 0..times {
                let range = self.range(end, gap, count, grid)?;
                pass.done.insert(range);
                end = range.end.0;
            }
        }
        if let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with("transient ")) {
            self.line += 1;
            let (count, cause) = line["transient ".len()..].split_once(' ').ok_or_else(|| self.fail("no cause"))?;
            pass.transient_errors = self.number(count)?;
            pass.transient_cause = Some(Cause::of_code(cause).ok_or_else(|| self.fail("no such cause"))?);
        }
        if let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with("corrected ")) {
            self.line += 1;
            pass.corrected = self.number(&line["corrected ".len()..])?;
        }
        if let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with("found-only ")) {
            self.line += 1;
            pass.found_only = self.number(&line["found-only ".len()..])?;
        }
        while let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with("tally ")) {
            self.line += 1;
            let (name, count) = line["tally ".len()..].split_once(' ').ok_or_else(|| self.fail("no count"))?;
            let is_name = !name.is_empty() && name.bytes().all(|byte| byte == b'-' || byte.is_ascii_lowercase());
            let is_next = pass.tallies.last_key_value().is_none_or(|(last, _)| last.as_str() < name);
            if !is_name || !is_next || pass.tallies.len() == TALLIES_MAX {
                return Err(self.fail("not a tally, or not in its place"));
            }
            pass.tallies.insert(name.to_owned(), self.number(count)?);
        }
        while let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with("unreadable ")) {
            self.line += 1;
            let (run, cause) = line["unreadable ".len()..].split_once(' ').ok_or_else(|| self.fail("no cause"))?;
            let (start, count) = self.run(run)?;
            let range = self.range(0, start, count, grid)?;
            let cause = Cause::of_code(cause).ok_or_else(|| self.fail("no such cause"))?;
            if !pass.done.covers(range) {
                return Err(self.fail("unreadable, but not done"));
            }
            pass.unreadable.insert(range.start.0, (range.count(), cause));
        }
        Ok(pass)
    }

    fn ended(&mut self) -> Result<EndedPass, SavedError> {
        let Some((_, line)) = self.lines.next_if(|(_, line)| line.starts_with("ended ")) else {
            return Ok(EndedPass::default());
        };
        self.line += 1;
        let counts = line["ended ".len()..].split_once(' ');
        let (transient, corrected) = counts.ok_or_else(|| self.fail("2 numbers were expected"))?;
        Ok(EndedPass { transient_errors: self.number(transient)?, corrected: self.number(corrected)? })
    }

    fn coverage(&mut self, grid: Grid) -> Result<Coverage, SavedError> {
        let (mut runs, mut count) = (Vec::new(), 0);
        while count < grid.region_count() {
            let [times, begun, verified, unreadable, touch] = self.numbers("regions")?;
            let record = RegionRecord {
                begun: UnixSeconds(begun),
                verified: UnixSeconds(verified),
                unreadable: u32::try_from(unreadable).map_err(|_| self.fail("too many unreadable sectors"))?,
            };
            if times == 0 || times > grid.region_count() - count {
                return Err(self.fail("more regions than the disk has, or none"));
            }
            runs.push((times, record, UnixSeconds(touch)));
            count += times;
        }
        Coverage::restore(grid, runs).ok_or_else(|| self.fail("a record for each region is needed"))
    }

    fn field(&mut self, name: &str) -> Result<&'a str, SavedError> {
        let line = self.lines.next().map_or("", |(_, line)| line);
        self.line += 1;
        let rest = line.strip_prefix(name).ok_or_else(|| self.fail(&format!("`{name}` was expected")))?;
        Ok(rest.strip_prefix(' ').unwrap_or(rest))
    }

    fn numbers<const N: usize>(&mut self, name: &str) -> Result<[u64; N], SavedError> {
        let words: Vec<&str> = self.field(name)?.split_whitespace().collect();
        let numbers = words.into_iter().map(|word| self.number(word)).collect::<Result<Vec<u64>, _>>()?;
        numbers.try_into().map_err(|_| self.fail(&format!("{N} numbers were expected")))
    }

    fn number(&self, word: &str) -> Result<u64, SavedError> {
        word.parse().map_err(|_| self.fail(&format!("`{word}` is not a number")))
    }

    fn run(&self, word: &str) -> Result<(u64, u64), SavedError> {
        let (start, count) = word.split_once('+').ok_or_else(|| self.fail(&format!("`{word}` is not a run")))?;
        Ok((self.number(start)?, self.number(count)?))
    }

    fn range(&self, base: u64, gap: u64, count: u64, grid: &Grid) -> Result<SectorRange, SavedError> {
        let start = base.checked_add(gap);
        let end = start.and_then(|start| start.checked_add(count)).filter(|&end| end <= grid.disk().end.0 && count > 0);
        let range = start.zip(end).map(|(start, end)| SectorRange::new(start, end));
        range.ok_or_else(|| self.fail("a run outside the disk, or an empty one"))
    }

    fn fail(&self, what: &str) -> SavedError {
        SavedError { line: self.line + 1, what: what.to_owned() }
    }
}

/// Groups equal neighbours into (value, count).
fn repeated<T: PartialEq>(values: impl Iterator<Item = T>) -> impl Iterator<Item = (T, u64)> {
    let mut values = values.peekable();
    std::iter::from_fn(move || {
        let value = values.next()?;
        let mut times = 1;
        while values.next_if(|next| *next == value).is_some() {
            times += 1;
        }
        Some((value, times))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::range_set::RangeSet;
    use crate::scrub::verdict::Sense;
    use proptest::prelude::*;

    #[test]
    fn the_checksum_is_crc_32c() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    fn staggered(disk_sectors: u64) -> Saved {
        let grid = Grid::new(disk_sectors, 262_144, 16_384);
        let done = (0..grid.region_count()).map(|region| {
            SectorRange::at(region * 262_144, if region < 1000 { 32_768 } else { 16_384 }).intersection(grid.disk())
        });
        let mut coverage = Coverage::new(grid);
        (0..grid.region_count()).for_each(|region| coverage.touch(region, UnixSeconds(1_763_720_000 + region * 6)));
        let pass = Pass { begun: UnixSeconds(1_763_720_000), done: done.collect(), ..Pass::default() };
        Saved {
            disk: "wwn-0x5000c500a1b2c3d4".to_owned(),
            at: UnixSeconds(1_763_800_000),
            coverage,
            pass: Some(pass),
            ended: EndedPass::default(),
        }
    }

    #[test]
    fn a_state_of_a_20_tb_disk_is_small() {
        let text = staggered(39_063_650_304).to_string();
        assert!(text.len() < 100_000, "{} bytes", text.len());
        let back: Saved = text.parse().unwrap();
        assert_eq!(back.pass, staggered(39_063_650_304).pass);
    }

    #[test]
    fn dates_are_restored_never_later_and_less_than_ten_minutes_earlier() {
        let grid = Grid::new(30, 10, 5);
        let dates = [1_763_719_799, 1_763_719_800, 1_763_719_801].map(UnixSeconds);
        let records = dates.map(|date| RegionRecord { begun: date, verified: UnixSeconds(date.0 + 60), unreadable: 0 });
        let coverage =
            Coverage::restore(grid, records.into_iter().zip(dates).map(|(record, date)| (1, record, date))).unwrap();
        let saved = Saved {
            disk: String::new(),
            at: UnixSeconds(1_763_800_000),
            coverage,
            pass: None,
            ended: EndedPass::default(),
        };
        let back: Saved = saved.to_string().parse().unwrap();
        let all = |coverage: &Coverage| {
            let dates = |run: CoverageRun| [run.record.begun, run.record.verified, run.touched];
            let runs = coverage.runs().flat_map(|run| run.regions.clone().map(move |_| run.clone()));
            runs.flat_map(dates).collect::<Vec<_>>()
        };
        for (before, after) in all(&saved.coverage).into_iter().zip(all(&back.coverage)) {
            assert!((before.0 - 599..=before.0).contains(&after.0), "{} came back as {}", before.0, after.0);
        }
    }

    proptest! {
        #[test]
        fn a_saved_state_is_restored_unchanged(
            disk in "[ -~]{0,20}", sectors in 1u64..5000, region in 1u64..600,
            runs in prop::collection::vec((0u64..5000, 1u64..50), 0..20),
            bad in prop::collection::vec((0u64..5000, 0usize..5), 0..5), corrected in 0u64..3, found_only in 0u64..3,
            dates in prop::collection::vec(0u64..100, 1..20), under_way in any::<bool>(),
        ) {
            let grid = Grid::new(sectors, region, region.div_ceil(3));
            let mut done: RangeSet = runs.iter().map(|&(s, n)| SectorRange::at(s, n).intersection(grid.disk())).collect();
            let sense = |block| Cause::Sense(Sense { key: 3, asc: 17, ascq: 0, block });
            let tallies = (0..corrected).map(|at| (["agreed", "chunks-known"][at as usize].to_owned(), at + sectors)).collect();
            let causes = [Cause::Errno(61), Cause::NvmeStatus(0x281), sense(None), sense(Some(77)), Cause::Lost];
            let mut pass = Pass { begun: UnixSeconds(5), corrected, found_only, tallies, ..Pass::default() };
            if sectors % 2 == 0 {
                (pass.transient_errors, pass.transient_cause) = (sectors, Some(Cause::Errno(5)));
            }
            for (sector, cause) in bad.into_iter().filter(|&(sector, _)| sector < sectors) {
                done.insert(SectorRange::at(sector, 1));
                pass.unreadable.insert(sector, (1, causes[cause]));
            }
            pass.done = done;
            let date = |i: u64| UnixSeconds(dates[i as usize % dates.len()] * DATE_STEP);
            let record = |i| RegionRecord { begun: date(i), verified: date(i / 2), unreadable: (i % 3) as u32 };
            let runs = (0..grid.region_count()).map(|i| (1, record(i), date(i / 4)));
            let coverage = Coverage::restore(grid, runs).unwrap();
            let ended = if under_way { EndedPass::default() } else { pass.ended() };
            let saved = Saved { disk, at: UnixSeconds(99), coverage, pass: under_way.then_some(pass), ended };
            prop_assert_eq!(saved.to_string().parse::<Saved>(), Ok(saved));
        }

        /// Damage (a byte changed, or the end cut off) is an error: it is never accepted, and never causes a panic.
        #[test]
        fn damage_is_an_error(at in 0usize..400, byte in 1u8..128, cut in any::<bool>()) {
            let mut bytes = staggered(3_000_000).to_string().into_bytes();
            let at = at % (bytes.len() - 1);
            if cut { bytes.truncate(at) } else { bytes[at] ^= byte }
            if let Ok(text) = String::from_utf8(bytes) {
                prop_assert!(text.parse::<Saved>().is_err());
            }
        }

        /// Any text with a correct checksum gives a result, never a panic.
        #[test]
        fn nonsense_with_a_right_checksum_does_not_panic(
            lines in prop::collection::vec(
                "(sectors|region|saved|pass|done|corrected|found-only|tally|ended|regions|unreadable)( [a-c0-9+*-]{0,12}){0,5}", 0..10,
            ),
        ) {
            let body = format!("{MAGIC}\ndisk x\nsectors 100\nregion 10 5\n{}\n", lines.join("\n"));
            let _ = format!("{body}checksum {:08x}\n", crc32c(body.as_bytes())).parse::<Saved>();
        }
    }
}
