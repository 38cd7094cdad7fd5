//! Tables of the device mapper: maps sectors of a device below to the device above. Pure, except for the call of `dmsetup`.

use super::nodes::BlockNode;
use crate::tool::{self, ToolError};
use scrubjay_core::units::SectorRange;

/// A run of sectors of the device below, and its place in the device above.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MappedRun {
    /// Sectors of the device below.
    pub below: SectorRange,
    /// The first of them in the device above.
    pub above: u64,
    /// The kind of target: `linear`, `striped`, `crypt`.
    pub target: String,
}

/// The parts of a table that use a range of a device below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MappedRange {
    /// Runs in targets that can be mapped.
    pub runs: Vec<MappedRun>,
    /// Targets that use the device and cannot be mapped.
    pub foreign: Vec<String>,
}

/// The table of a device of the device mapper, as `dmsetup table` prints it.
///
/// # Errors
/// When `dmsetup` fails.
pub fn table(node: &BlockNode) -> Result<String, ToolError> {
    let (major, minor) = node.numbers;
    // Without another option, keys are not shown.
    let (major, minor) = (major.to_string(), minor.to_string());
    let output = tool::run("dmsetup", &["table", "--major", &major, "--minor", &minor])?;
    Ok(String::from_utf8_lossy(&output).into_owned())
}

/// Maps `range` of the device with these numbers to the device above.
pub fn mapped(table: &str, (major, minor): (u32, u32), range: SectorRange) -> MappedRange {
    let numbers = format!("{major}:{minor}");
    let mut found = MappedRange::default();
    for line in table.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [start, length, target, arguments @ ..] = &words[..] else { continue };
        let (Ok(start), Ok(length)) = (start.parse::<u64>(), length.parse::<u64>()) else { continue };
        if !arguments.contains(&numbers.as_str()) || start.checked_add(length).is_none() {
            continue;
        }
        let runs = match (*target, arguments) {
            ("linear", [_, offset]) => offset.parse().ok().map(|offset| linear(start, length, offset, range)),
            // cipher, key, offset of the vectors, device, offset, options
            ("crypt", [_, _, _, device, offset, options @ ..]) if is_plain(device, &numbers, options) => {
                offset.parse().ok().map(|offset| linear(start, length, offset, range))
            }
            ("striped", [count, chunk, places @ ..]) => striped(start, length, count, chunk, places, &numbers, range),
            _ => None,
        };
        match runs {
            Some(runs) => found.runs.extend(runs.into_iter().map(|(below, above)| MappedRun {
                below,
                above,
                target: (*target).to_owned(),
            })),
            None => found.foreign.push((*target).to_owned()),
        }
    }
    found
}

/// Whether a crypt target maps sectors one to one: with checksums between them, it does not.
fn is_plain(device: &str, numbers: &str, options: &[&str]) -> bool {
    device == numbers && !options.iter().any(|option| option.starts_with("integrity"))
}

type Runs = Vec<(SectorRange, u64)>;

fn linear(start: u64, length: u64, offset: u64, range: SectorRange) -> Runs {
    let Some(end) = offset.checked_add(length) else { return Vec::new() };
    let below = range.intersection(SectorRange::new(offset, end));
    if below.is_empty() { Vec::new() } else { vec![(below, start + below.start.0 - offset)] }
}

/// drivers/md/dm-stripe.c, `stripe_map_sector`.
fn striped(
    start: u64,
    length: u64,
    count: &str,
    chunk: &str,
    places: &[&str],
    numbers: &str,
    range: SectorRange,
) -> Option<Runs> {
    let (count, chunk) = (count.parse::<u64>().ok()?, chunk.parse::<u64>().ok()?);
    let is_sound =
        count > 0 && chunk > 0 && places.len() as u64 == count.checked_mul(2)? && length.is_multiple_of(count);
    if !is_sound {
        return None;
    }
    let mut runs = Runs::new();
    for (column, place) in places.chunks(2).enumerate().filter(|(_, place)| place[0] == numbers) {
        let offset: u64 = place[1].parse().ok()?;
        let below = range.intersection(SectorRange::new(offset, offset.checked_add(length / count)?));
        let mut at = below.start.0;
        while at < below.end.0 {
            let (row, within) = ((at - offset) / chunk, (at - offset) % chunk);
            let end = below.end.0.min(at.checked_add(chunk - within)?);
            let above = row.checked_mul(count)?.checked_add(column as u64)?.checked_mul(chunk)?.checked_add(within)?;
            runs.push((SectorRange::new(at, end), start.checked_add(above)?));
            at = end;
        }
    }
    Some(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(table: &str, start: u64, count: u64) -> Vec<(u64, u64, u64)> {
        let found = mapped(table, (8, 1), SectorRange::at(start, count));
        found.runs.iter().map(|run| (run.below.start.0, run.below.count(), run.above)).collect()
    }

    #[test]
    fn a_logical_volume_in_two_pieces() {
        let table = "0 8192 linear 8:1 2048\n8192 4096 linear 8:17 2048\n12288 8192 linear 8:1 20480\n";
        assert_eq!(runs(table, 2050, 3), [(2050, 3, 2)]);
        assert_eq!(runs(table, 20479, 3), [(20480, 2, 12288)]);
        assert_eq!(runs(table, 10240, 8), [], "behind the first piece");
    }

    #[test]
    fn stripes_and_ciphers() {
        let table = "0 1024 striped 2 128 8:17 0 8:1 384\n";
        assert_eq!(runs(table, 384, 1), [(384, 1, 128)]);
        assert_eq!(runs(table, 384 + 120, 16), [(504, 8, 248), (512, 8, 384)]);
        let crypt = "0 99 crypt aes-xts-plain64 :64:logon:x 0 8:1 32768 1 allow_discards\n";
        assert_eq!(runs(crypt, 32770, 1), [(32770, 1, 2)]);
        let sealed = "0 99 crypt aes-xts-plain64 k 0 8:1 32768 1 integrity:28:aead\n";
        assert_eq!(mapped(sealed, (8, 1), SectorRange::at(32770, 1)).foreign, ["crypt"]);
    }

    #[test]
    fn unknown_targets_are_listed_and_invalid_lines_are_ignored() {
        let table = "0 100 thin-pool 8:1 8:2 128 0\n0 9 linear\nx y z\n18446744073709551615 9 linear 8:1 0\n\
            0 18446744073709551615 linear 8:1 9\n0 7 striped 2 0 8:1 0 8:1 0\n";
        let found = mapped(table, (8, 1), SectorRange::at(3, 4));
        assert_eq!((found.runs.len(), &found.foreign[..]), (0, &["thin-pool".to_owned(), "striped".to_owned()][..]));
        assert_eq!(mapped(table, (8, 9), SectorRange::at(3, 4)), MappedRange::default());
    }
}
