//! How the watch sees things, for people: the sentence, what to do, four lights, arrays, disks, alerts.

use super::words::{ago, date, moment};
use crate::columns;
use crate::say::{print_line, print_prose};
use scrubjay_daemon::control::{ArrayEntry, DiskEntry, ReadingEntry, WatchDocument};
use scrubjay_jobs::quantity::show_count;
use std::io::{self, Write};

const ARRAYS: [&str; 6] = ["ARRAY", "LEVEL", "MEMBERS", "CAN LOSE", "LAST FULL CHECK", "NOW"];
const DISKS: [&str; 7] = ["DISK", "SERIAL", "MODEL", "STATE", "LAST FULL READ", "BAD SECTORS", "NOW"];
/// So many things to do are numbered.
const TO_DO_MAX: usize = 3;
/// What is left out first in a narrow terminal.
const LEAST: [&str; 2] = ["MODEL", "SERIAL"];
/// Disks that are listed one by one; of more, only those with something to tell.
const LISTED_MAX: usize = 24;

/// Writes all of it.
pub fn write(seen: &WatchDocument, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    print_line(out, format_args!("{}  {}", seen.host, moment(seen.time)))?;
    print_prose(out, "", &seen.sentence, width)?;
    writeln!(out)?;
    for light in &seen.lights {
        print_prose(out, &format!("{:<18}", light.name), &light.words, width)?;
    }
    for (number, what) in seen.to_do.iter().enumerate() {
        if number == 0 {
            writeln!(out, "\nDo now")?;
        }
        // The last may say how many more there are.
        let label = if number < TO_DO_MAX { format!("  {}. ", number + 1) } else { "     ".to_owned() };
        print_prose(out, &label, what, width)?;
    }
    let accepted: Vec<_> = seen.incidents.iter().filter(|incident| incident.is_accepted).collect();
    for (number, incident) in accepted.iter().enumerate() {
        if number == 0 {
            writeln!(out, "\nAccepted")?;
        }
        print_prose(out, "  ", &format!("{} (since {})", incident.headline, date(incident.since)), width)?;
    }
    if !seen.arrays.is_empty() {
        writeln!(out)?;
        let rows: Vec<Vec<String>> = seen.arrays.iter().map(|array| array_row(array, seen.time)).collect();
        columns::print(&ARRAYS, &["MEMBERS", "LEVEL"], &rows, width, out)?;
    }
    if !seen.disks.is_empty() {
        writeln!(out)?;
        let listed: Vec<&DiskEntry> =
            seen.disks.iter().filter(|disk| seen.disks.len() <= LISTED_MAX || is_deviant(disk)).collect();
        let rows: Vec<Vec<String>> = listed.iter().map(|disk| disk_row(disk, seen.time)).collect();
        columns::print(&DISKS, &LEAST, &rows, width, out)?;
        if listed.len() < seen.disks.len() {
            writeln!(out, "and {} more that are ok and not being read", seen.disks.len() - listed.len())?;
        }
    }
    write_rest(seen, width, out)
}

fn write_rest(seen: &WatchDocument, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let mut lines: Vec<String> = Vec::new();
    lines.extend(seen.paused_until.map(|until| format!("Paused until {}: scrubjay resume", moment(until))));
    for channel in &seen.channels {
        if let Some(last) = channel.last.as_ref().filter(|last| !last.is_accepted) {
            lines.push(format!("Alerts by {} fail: {}", channel.name, last.said));
        }
    }
    if seen.messages_waiting > 0 {
        let messages = if seen.messages_waiting == 1 { "message waits" } else { "messages wait" };
        lines.push(format!("{} {messages} to be sent", seen.messages_waiting));
    }
    lines.extend(seen.troubles.iter().map(|trouble| format!("Trouble: {trouble}")));
    for (number, line) in lines.iter().enumerate() {
        if number == 0 {
            writeln!(out)?;
        }
        print_prose(out, "", line, width)?;
    }
    Ok(())
}

/// Is there something to tell of it?
fn is_deviant(disk: &DiskEntry) -> bool {
    disk.health != "ok" || disk.reading.activity != "held" || disk.scrubbed_by.is_some()
}

fn array_row(array: &ArrayEntry, now: u64) -> Vec<String> {
    let members: Vec<&str> = array.members.iter().map(|member| member.as_deref().unwrap_or("-")).collect();
    let spare = match array.redundancy_left {
        left if left < 0 => "data lost".to_owned(),
        0 => "none".to_owned(),
        1 => "1 disk".to_owned(),
        left => format!("{left} disks"),
    };
    let checked = array.check.as_ref().map_or("-".to_owned(), |check| ago(now, check.oldest_read));
    let now_text = match &array.check {
        _ if !array.is_there => "missing".to_owned(),
        Some(check) if array.activity == "idle" => now_of(check),
        _ => array.activity.clone(),
    };
    vec![array.name.clone(), array.level.clone(), members.join(" "), spare, checked, now_text]
}

fn disk_row(disk: &DiskEntry, now: u64) -> Vec<String> {
    let name = match (&disk.bay, &disk.name) {
        (Some(bay), Some(name)) => format!("{name} bay {bay}"),
        (None, Some(name)) => name.clone(),
        (Some(bay), None) => format!("gone (was {} bay {bay})", disk.last_name),
        (None, None) => format!("gone (was {})", disk.last_name),
    };
    vec![
        name,
        disk.key.clone(),
        if disk.model.is_empty() { "-".to_owned() } else { disk.model.clone() },
        disk.health.clone(),
        ago(now, disk.reading.oldest_read),
        match (disk.reading.unreadable, disk.reading.oldest_read) {
            (0, None) => "-".to_owned(), // not all of it was read yet
            (count, _) => show_count(count),
        },
        match disk.scrubbed_by {
            Some(pid) => format!("scrubbed by process {pid}"),
            None => now_of(&disk.reading),
        },
    ]
}

/// What its scrub does.
pub fn now_of(reading: &ReadingEntry) -> String {
    let share = reading.pass_share.map(|share| format!("{:.0} %", (share * 100.0).floor())).unwrap_or_default();
    let ends = reading.forecast.map(|forecast| format!(", ends {}", date(forecast.likely))).unwrap_or_default();
    match (reading.activity.as_str(), &reading.why) {
        ("reading", _) => format!("reading, {share}{ends}"),
        ("waiting", Some(why)) => format!("{share}, {why}"),
        ("waiting", None) => format!("{share}, waiting"),
        (_, Some(why)) if share.is_empty() => why.clone(),
        (_, Some(why)) => format!("{share} read; {why}"),
        (_, None) => "next in turn".to_owned(),
    }
}

#[cfg(test)]
mod tests;
