//! Reads the kernel's log for sectors of members that md and the block layer could not read during a check.
//!
//! Counters report how much md rewrote ([`super::verifier`]), but only the log reports where. It is incomplete: its lines are
//! limited in rate, for mirrors the block layer names only the first sector of a request, and reading it needs a privilege.

use super::geometry::MdMember;
use crate::kmsg::LogReader;
use scrubjay_core::units::SectorRange;
use std::fs;
use std::path::Path;

/// A line about a read of a disk.
#[derive(Clone, Debug, PartialEq, Eq)]
enum LogLine {
    /// md rewrote these sectors of a member; its name, and the member's own sectors.
    Corrected { array: String, member: String, range: SectorRange },
    /// A read of a disk failed; its first sector.
    Failed { disk: String, sector: u64 },
}

/// A range of a member that could not be read, in the member's own sectors.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LoggedError {
    /// The kernel's name of the member.
    pub member: String,
    /// The sectors that md rewrote; where only the request is known, its first sector.
    pub range: SectorRange,
}

/// The place of a member in the block layer's terms: the disk that it is, or is a part of, and its start there.
#[derive(Debug)]
struct MemberPlace {
    member: String,
    disk: String,
    start: u64,
    sectors: u64,
}

/// The log, from when it is opened.
#[derive(Debug)]
pub(super) struct KernelLog {
    reader: Option<LogReader>,
    array: String,
    members: Vec<MemberPlace>,
}

impl KernelLog {
    /// Opens the log for the array that the kernel calls `array`, from now on. Yields nothing where the log cannot be read.
    pub fn open(array: &str, members: &[MdMember]) -> KernelLog {
        let members = members.iter().filter_map(|member| place(&member.name)).collect();
        KernelLog { reader: LogReader::open().ok(), array: array.to_owned(), members }
    }

    /// The errors logged since the last call.
    pub fn drain(&mut self) -> Vec<LoggedError> {
        let mut errors = Vec::new();
        let KernelLog { reader, array, members } = self;
        reader
            .iter_mut()
            .for_each(|reader| reader.drain(|record| errors.extend(logged_error(&record.text, array, members))));
        errors
    }
}

/// The place of the member with this kernel name.
fn place(member: &str) -> Option<MemberPlace> {
    let folder = fs::canonicalize(Path::new("/sys/class/block").join(member)).ok()?;
    let number = |file: &str| fs::read_to_string(folder.join(file)).ok()?.trim().parse::<u64>().ok();
    let disk = match folder.join("partition").exists() {
        true => folder.parent()?.file_name()?.to_string_lossy().into_owned(),
        false => member.to_owned(),
    };
    let start = number("start").unwrap_or(0);
    Some(MemberPlace { member: member.to_owned(), disk, start, sectors: number("size")? })
}

/// The error in a line about these members.
fn logged_error(line: &str, array: &str, members: &[MemberPlace]) -> Option<LoggedError> {
    match parse(line)? {
        LogLine::Corrected { array: logging_array, member, range } if logging_array == array => {
            members.iter().any(|known| known.member == member).then_some(LoggedError { member, range })
        }
        LogLine::Corrected { .. } => None,
        LogLine::Failed { disk, sector } => {
            let contains_sector = |known: &&MemberPlace| {
                known.disk == disk && sector >= known.start && sector - known.start < known.sectors
            };
            let known = members.iter().find(contains_sector)?;
            Some(LoggedError { member: known.member.clone(), range: SectorRange::at(sector - known.start, 1) })
        }
    }
}

/// Parses lines of drivers/md/raid{1,10,5}.c (`read error corrected`), and of block/blk-mq.c (`blk_print_req_error`).
fn parse(line: &str) -> Option<LogLine> {
    if let Some((_, rest)) = line.strip_prefix("md/raid").and_then(|rest| rest.split_once(':')) {
        let (array, rest) = rest.split_once(": read error corrected (")?;
        let (count, rest) = rest.split_once(" sectors at ")?;
        let (start, member) = rest.split_once(" on ")?;
        let (start, count): (u64, u64) = (start.parse().ok()?, count.parse().ok()?);
        start.checked_add(count)?;
        let member = member.trim_end_matches(')').to_owned();
        return Some(LogLine::Corrected { array: array.to_owned(), member, range: SectorRange::at(start, count) });
    }
    let (_, rest) = line.split_once("error, dev ")?;
    let (disk, rest) = rest.split_once(", sector ")?;
    let mut words = rest.split(' ');
    let sector = words.next()?.parse().ok()?;
    // Older kernels print the operation as a number only, or not at all. Operations other than reads are ignored here.
    let is_other = words.any(|word| word.contains(":(") && !word.ends_with(":(READ)"));
    (!is_other).then(|| LogLine::Failed { disk: disk.to_owned(), sector })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members() -> Vec<MemberPlace> {
        let member = |name: &str, disk: &str, start| MemberPlace {
            member: name.into(),
            disk: disk.into(),
            start,
            sectors: 1000,
        };
        vec![member("vdb", "vdb", 0), member("sda1", "sda", 2048)]
    }

    #[test]
    fn lines_of_md_and_of_the_block_layer_are_understood() {
        let logged = |text: &str| {
            let error = logged_error(text, "md0", &members());
            error.map(|error| (error.member, error.range.start.0, error.range.count()))
        };
        let of = |member: &str, start, count| Some((member.to_owned(), start, count));
        for (line, expected) in [
            ("md/raid:md0: read error corrected (8 sectors at 128 on vdb)", of("vdb", 128, 8)),
            ("md/raid1:md0: read error corrected (16 sectors at 7 on sda1)", of("sda1", 7, 16)),
            ("md/raid10:md1: read error corrected (8 sectors at 128 on vdb)", None),
            ("md/raid:md0: read error corrected (8 sectors at 128 on vdc)", None),
            ("md/raid:md0: read error corrected (8 sectors at 18446744073709551615 on vdb)", None),
            ("md/raid:md0: read error NOT corrected!! (sector 128 on vdb).", None),
            ("I/O error, dev vdb, sector 999 op 0x0:(READ) flags 0x800 phys_seg 1 prio class 2", of("vdb", 999, 1)),
            ("critical medium error, dev sda, sector 2050 op 0x0:(READ) flags 0x0 phys_seg 1", of("sda1", 2, 1)),
            ("blk_update_request: I/O error, dev sda, sector 2050", of("sda1", 2, 1)),
            ("I/O error, dev sda, sector 2047 op 0x0:(READ) flags 0x0", None), // before the partition
            ("I/O error, dev sda, sector 3048 op 0x0:(READ) flags 0x0", None), // behind it
            ("I/O error, dev vdb, sector 1 op 0x1:(WRITE) flags 0x0", None),
            ("operation not supported error, dev vdb, sector 1 op 0x9:(WRITE_ZEROES) flags 0x0", None),
            ("I/O error, dev vdb, sector x op 0x0:(READ)", None),
            ("md/raid: nothing", None),
            ("", None),
        ] {
            assert_eq!(logged(line), expected, "{line}");
        }
        assert_eq!(logged("no record"), None);
    }
}
