//! The watch's status for people: the sentence, what to do, four lights, arrays, disks, alerts.

use crate::columns;
use crate::say::{print_line, print_prose};
use scrubjay_control::wording::{
    self, ago, array_checked, array_now, can_lose, disk_bad, disk_called, disk_now, in_order, is_deviant, moment,
};
use scrubjay_control::{ArrayEntry, DiskEntry, DoNowEntry, WatchDocument};
use scrubjay_words::with_command;
use std::io::{self, Write};

const ARRAYS: [&str; 6] = ["ARRAY", "LEVEL", "MEMBERS", "CAN LOSE", "LAST FULL CHECK", "NOW"];
const DISKS: [&str; 7] = ["DISK", "SERIAL", "MODEL", "STATE", "LAST FULL READ", "BAD SECTORS", "NOW"];
/// Columns that are left out first in a narrow terminal.
const LEAST_IMPORTANT: [&str; 2] = ["MODEL", "SERIAL"];
/// Disks that are listed one by one; if there are more, only those that deviate are.
const LISTED_MAX: usize = 24;

/// Writes the whole status.
pub fn write(status: &WatchDocument, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    print_line(out, format_args!("{}  {}", status.host, moment(status.time)))?;
    print_prose(out, "", &status.sentence, width)?;
    writeln!(out)?;
    for light in &status.lights {
        print_prose(out, &format!("{:<18}", light.name.word()), &light.words, width)?;
    }
    if let Some(observed) = &status.observed {
        writeln!(out, "\nObserved")?;
        for line in observed.lines(status.time) {
            print_prose(out, "  ", &format!("{line}."), width)?;
        }
    }
    let DoNowEntry { first, more } = status.things_to_do();
    for (number, thing) in first.iter().enumerate() {
        if number == 0 {
            writeln!(out, "\nDo now")?;
        }
        print_prose(out, &format!("  {}. ", number + 1), &with_command(&thing.words, thing.command.as_deref()), width)?;
    }
    if more > 0 {
        writeln!(out, "     and {more} more")?;
    }
    for (number, line) in wording::accepted(status).iter().enumerate() {
        if number == 0 {
            writeln!(out, "\nAccepted")?;
        }
        print_prose(out, "  ", line, width)?;
    }
    if !status.arrays.is_empty() {
        writeln!(out)?;
        let rows: Vec<Vec<String>> = status.arrays.iter().map(|array| array_row(array, status.time)).collect();
        columns::print(&ARRAYS, &["MEMBERS", "LEVEL"], &rows, width, out)?;
        for (name, exposure) in status.arrays.iter().filter_map(|array| Some((&array.name, array.exposure.as_ref()?))) {
            print_prose(out, "", &format!("{name}: {exposure}"), width)?;
        }
    }
    if !status.disks.is_empty() {
        writeln!(out)?;
        let listed: Vec<&DiskEntry> = in_order(&status.disks)
            .into_iter()
            .filter(|disk| status.disks.len() <= LISTED_MAX || is_deviant(disk))
            .collect();
        let rows: Vec<Vec<String>> = listed.iter().map(|disk| disk_row(disk, status.time)).collect();
        columns::print(&DISKS, &LEAST_IMPORTANT, &rows, width, out)?;
        if listed.len() < status.disks.len() {
            writeln!(out, "and {} more that are ok and not being read", status.disks.len() - listed.len())?;
        }
    }
    write_rest(status, width, out)
}

fn write_rest(status: &WatchDocument, width: Option<usize>, out: &mut impl Write) -> io::Result<()> {
    let lines = wording::rest(status);
    for (number, line) in lines.iter().enumerate() {
        if number == 0 {
            writeln!(out)?;
        }
        print_prose(out, "", &with_command(&line.words, line.command), width)?;
    }
    Ok(())
}

fn array_row(array: &ArrayEntry, now: u64) -> Vec<String> {
    let members: Vec<&str> = array.members.iter().map(|member| member.as_deref().unwrap_or("-")).collect();
    let (name, level) = (array.name.clone(), array.level.clone());
    vec![name, level, members.join(" "), can_lose(array), array_checked(array, now), array_now(array)]
}

fn disk_row(disk: &DiskEntry, now: u64) -> Vec<String> {
    vec![
        disk_called(disk),
        disk.key.clone(),
        if disk.model.is_empty() { "-".to_owned() } else { disk.model.clone() },
        disk.health.word().to_owned(),
        ago(now, disk.reading.oldest_read),
        disk_bad(disk),
        disk_now(disk),
    ]
}

#[cfg(test)]
mod tests;
