//! Reads the text of `zpool status -Pvp` (OpenZFS 0.8 to 2.4), with dates in UTC. 2.1 and 2.2 have no JSON.

use super::pool::{Vdev, VdevClass, Zpool};
use super::status_json::FILES_MAX;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::pool::{LastScrub, PoolLosses, PoolScan};

/// The states of vdevs: a row of the table is known by one of them.
const STATES: [&str; 9] =
    ["ONLINE", "DEGRADED", "FAULTED", "OFFLINE", "UNAVAIL", "REMOVED", "SUSPENDED", "AVAIL", "INUSE"];
/// The headings of other vdevs than those of data.
const SECTIONS: [(&str, VdevClass); 5] = [
    ("special", VdevClass::Special),
    ("dedup", VdevClass::Special),
    ("logs", VdevClass::Log),
    ("cache", VdevClass::Cache),
    ("spares", VdevClass::Spare),
];
/// The keys at the beginning of a line, whose text goes on in the lines below.
const KEYS: [&str; 12] =
    ["pool", "id", "state", "status", "action", "see", "scan", "scrub", "remove", "expand", "config", "errors"];
const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The pools in the text, in its order.
///
/// # Errors
/// In words: it is no such text.
pub fn pools(text: &str) -> Result<Vec<Zpool>, String> {
    if text.trim() == "no pools available" {
        return Ok(Vec::new());
    }
    let mut blocks: Vec<Vec<&str>> = Vec::new();
    for line in text.lines() {
        match (key_of(line), blocks.last_mut()) {
            (Some(("pool", _)), _) => blocks.push(vec![line]),
            (_, Some(block)) => block.push(line),
            (_, None) if line.trim().is_empty() => {}
            (_, None) => return Err(format!("{:?} instead of a pool", line.trim())),
        }
    }
    if blocks.is_empty() {
        return Err("it printed nothing".to_owned());
    }
    blocks.iter().map(|block| pool_of(block)).collect()
}

/// The key and the text behind it, of a line such as ` state: ONLINE`.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, rest) = line.split_once(':').filter(|_| !line.starts_with('\t'))?;
    let key = key.trim_start();
    KEYS.contains(&key).then(|| (key, rest.trim()))
}

fn pool_of(block: &[&str]) -> Result<Zpool, String> {
    // Each key with its lines.
    let mut parts: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in block {
        match (key_of(line), parts.last_mut()) {
            (Some((key, rest)), _) => parts.push((key, vec![rest])),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    let of_key = |wanted: &str| parts.iter().find(|(key, _)| *key == wanted).map(|(_, lines)| &lines[..]);
    let first = |key: &str| of_key(key).and_then(|lines| lines.first().copied()).filter(|text| !text.is_empty());
    let name = first("pool").ok_or("a pool without a name")?.to_owned();
    let state = first("state").ok_or_else(|| format!("pool {name} without a state"))?.to_owned();
    let (mut scan, mut scrubbed) = scan(of_key("scan").unwrap_or_default());
    // A scrub of known errors (`-e`) is shown in place of the last scan.
    if scrubbed == LastScrub::Never && of_key("scrub").is_some() {
        scrubbed = LastScrub::Unknown;
    }
    let is_moving = ["remove", "expand"].iter().any(|key| first(key).is_some_and(|text| text.contains("in progress")));
    if is_moving && scan == PoolScan::Idle {
        scan = PoolScan::Moving;
    }
    Ok(Zpool {
        losses: losses(of_key("errors").unwrap_or_default()),
        vdevs: tree(of_key("config").unwrap_or_default()),
        guid: None,
        name,
        state,
        scan,
        scrubbed,
        bytes: None,
    })
}

fn losses(lines: &[&str]) -> PoolLosses {
    let first = lines.first().copied().unwrap_or_default();
    if first == "No known data errors" {
        return PoolLosses::None;
    }
    if first.starts_with("Permanent errors have been detected") {
        let files: Vec<String> =
            lines[1..].iter().map(|line| line.trim()).filter(|line| !line.is_empty()).map(str::to_owned).collect();
        let blocks = (files.len() as u64).max(1);
        return PoolLosses::Lost { blocks, files: files.into_iter().take(FILES_MAX).collect() };
    }
    // `194 data errors, use '-v' for a list`
    if let Some((count, _)) = first.split_once(" data errors") {
        return PoolLosses::Lost { blocks: count.parse().unwrap_or(1), files: Vec::new() };
    }
    let said = if first.is_empty() { "nothing of errors" } else { first };
    PoolLosses::Unknown(format!("zpool status says: {said}"))
}

/// The table's rows as a tree.
fn tree(lines: &[&str]) -> Vec<Vdev> {
    let mut tops: Vec<Vdev> = Vec::new();
    let mut class = VdevClass::Data;
    for line in lines {
        let Some(row) = line.strip_prefix('\t') else { continue };
        let depth = (row.len() - row.trim_start_matches(' ').len()) / 2;
        let row = row.trim();
        if row.is_empty() || row.split_whitespace().take(2).eq(["NAME", "STATE"]) {
            continue;
        }
        if let Some((_, of_section)) = SECTIONS.iter().find(|(section, _)| depth == 0 && *section == row) {
            class = *of_section;
        } else if let Some(vdev) = vdev_of(row, class).filter(|_| depth > 0) {
            put(&mut tops, vdev, depth - 1);
        }
    }
    tops
}

/// Puts a vdev below the last one of the depth above.
fn put(vdevs: &mut Vec<Vdev>, vdev: Vdev, depth: usize) {
    match vdevs.last_mut() {
        Some(last) if depth > 0 => put(&mut last.children, vdev, depth - 1),
        _ => vdevs.push(vdev),
    }
}

/// A row such as `/dev/sda1  ONLINE  0  0  3  (resilvering)`, or `1234  UNAVAIL  0  0  0  was /dev/sdb1`.
fn vdev_of(row: &str, class: VdevClass) -> Option<Vdev> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let at = words.iter().skip(1).position(|word| STATES.contains(word))? + 1;
    // A path may have blanks.
    let name = row[..row.find(&format!(" {}", words[at]))?].trim();
    let counts = words[at + 1..].iter().take(3).filter_map(|word| count(word));
    let was = words.iter().skip(at).position(|word| *word == "was").and_then(|was| words.get(at + was + 1));
    let path = was.copied().or_else(|| name.starts_with('/').then_some(name));
    Some(Vdev {
        path: path.map(str::to_owned),
        errors: counts.fold(0, u64::saturating_add),
        ..Vdev::new(name, class, words[at])
    })
}

/// A count, with ZFS's units of 1024 where `-p` was not heeded: `1.20K`. Rounded then.
fn count(word: &str) -> Option<u64> {
    let digits = word.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let power = match &word[digits.len()..] {
        "" => return digits.parse().ok(),
        "K" => 1,
        "M" => 2,
        "G" => 3,
        _ => return None,
    };
    Some((digits.parse::<f64>().ok()? * 1024_f64.powi(power)) as u64)
}

/// What the scan does, and when a scrub last covered everything. (ZFS without JSON scrubs no parts of a pool.)
fn scan(lines: &[&str]) -> (PoolScan, LastScrub) {
    let first = lines.first().copied().unwrap_or_default();
    let share = || {
        let percent =
            lines.iter().find_map(|line| line.split(", ").find_map(|part| part.trim().strip_suffix("% done")))?;
        Some(percent.parse::<f64>().ok()?.clamp(0.0, 100.0).round() as u8)
    };
    let ended = || first.rsplit_once(" on ").and_then(|(_, date)| date_of(date));
    if first.contains("resilver") && first.contains("in progress") {
        return (PoolScan::Resilver(share()), LastScrub::Unknown);
    }
    if first.starts_with("scrub in progress") {
        return (PoolScan::Scrub(share()), LastScrub::Unknown);
    }
    if first.starts_with("scrub paused") {
        return (PoolScan::Paused(share()), LastScrub::Unknown);
    }
    if first.starts_with("scrub repaired") {
        return (PoolScan::Idle, ended().map_or(LastScrub::Unknown, LastScrub::Ended));
    }
    let is_none = first.is_empty() || first.starts_with("none requested");
    (PoolScan::Idle, if is_none { LastScrub::Never } else { LastScrub::Unknown })
}

/// A date such as `Sat Nov 28 00:17:18 2026`, in UTC.
fn date_of(text: &str) -> Option<UnixSeconds> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, month, day, time, year] = words[..] else { return None };
    let month = MONTHS.iter().position(|name| *name == month)? as u64 + 1;
    let (day, year): (u64, u64) = (day.parse().ok()?, year.parse().ok()?);
    let clock: Vec<u64> = time.split(':').map(str::parse).collect::<Result<_, _>>().ok()?;
    let [hour, minute, second] = clock[..] else { return None };
    if !(1970..=9999).contains(&year) || !(1..=31).contains(&day) || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    // Days from 1970 to a date: Hinnant, "chrono-Compatible Low-Level Date Algorithms" (2013).
    let (shifted_year, shifted_month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let era_day = 365 * (shifted_year % 400) + shifted_year % 400 / 4 - shifted_year % 400 / 100
        + (153 * shifted_month + 2) / 5
        + day
        - 1;
    let days = shifted_year / 400 * 146_097 + era_day - 719_468;
    Some(UnixSeconds(days * 86_400 + hour * 3600 + minute * 60 + second))
}

#[cfg(test)]
mod tests;
