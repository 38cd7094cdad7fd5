//! All disks that were ever seen, by identity and not by the kernel's names; and their places in arrays.

use super::event;
use super::stored;
use super::values::{all, second, signed};
use rusqlite::{Connection, OptionalExtension, Result, params};
use scrubjay_control::past::HistoryEventKind;
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::{ArrayFacts, DiskFacts, DiskKey};

/// A disk that was seen.
pub struct KnownDisk {
    /// Its number, by which the event tables refer to it.
    pub id: i64,
    /// Its last kernel name; empty: only its key is known.
    pub name: String,
    is_present: bool,
    is_forgotten: bool,
}

impl KnownDisk {
    /// What people know it by: its name or, without one, its key.
    pub fn display_name<'a>(&'a self, key: &'a DiskKey) -> &'a str {
        if self.name.is_empty() { &key.0 } else { &self.name }
    }
}

/// The disk with this key, if it was ever seen.
pub fn find(database: &Connection, key: &DiskKey) -> Result<Option<KnownDisk>> {
    let sql = "SELECT id, name, is_there, forgotten IS NOT NULL FROM known_disk WHERE disk = ?1";
    let read = |row: &rusqlite::Row| {
        Ok(KnownDisk { id: row.get(0)?, name: row.get(1)?, is_present: row.get(2)?, is_forgotten: row.get(3)? })
    };
    database.query_row(sql, [&key.0], read).optional()
}

/// The disk with this key; it is added if it was never seen.
pub fn find_or_add(database: &Connection, now: UnixSeconds, key: &DiskKey) -> Result<KnownDisk> {
    if let Some(known) = find(database, key)? {
        return Ok(known);
    }
    let sql = "INSERT INTO known_disk (disk, name, model, named, first_seen, is_there) VALUES (?1, '', '', 0, ?2, 1)";
    database.execute(sql, params![key.0, second(now)])?;
    let id = database.last_insert_rowid();
    Ok(KnownDisk { id, name: String::new(), is_present: true, is_forgotten: false })
}

/// Records events for a disk's row that is about to be kept: the disk is new, renamed, or no longer forgotten.
pub fn note_facts(database: &Connection, now: UnixSeconds, facts: &DiskFacts) -> Result<()> {
    let known = find_or_add(database, now, &facts.key)?;
    let name = &facts.name;
    let (kind, words) = if known.name.is_empty() {
        (HistoryEventKind::DiskSeen, format!("{}, {} sectors", facts.model, facts.sectors))
    } else if known.is_forgotten {
        (HistoryEventKind::DiskBack, "it had been forgotten".to_owned())
    } else if known.name != *name {
        (HistoryEventKind::DiskRenamed, format!("was {}", known.name))
    } else {
        return Ok(());
    };
    let sql = "UPDATE known_disk SET model = ?2, is_there = 1, forgotten = NULL WHERE id = ?1";
    database.execute(sql, params![known.id, facts.model])?;
    set_name(database, known.id, name)?;
    event::add(database, now, kind, Some(known.id), name, &words)
}

/// Gives a name to a disk. If several disks had the name, the last one to get it has it.
fn set_name(database: &Connection, id: i64, name: &str) -> Result<()> {
    let sql = "UPDATE known_disk SET name = ?2, named = (SELECT max(named) + 1 FROM known_disk) WHERE id = ?1";
    database.execute(sql, params![id, name]).map(drop)
}

/// Records whether a disk is present.
pub fn note_presence(database: &Connection, now: UnixSeconds, key: &DiskKey, is_present: bool) -> Result<()> {
    let known = find_or_add(database, now, key)?;
    if is_present {
        let name = known.name.clone();
        set_name(database, known.id, &name)?;
    }
    if known.is_present == is_present {
        return Ok(());
    }
    database.execute("UPDATE known_disk SET is_there = ?2 WHERE id = ?1", params![known.id, is_present])?;
    let kind = if is_present { HistoryEventKind::DiskBack } else { HistoryEventKind::DiskGone };
    event::add(database, now, kind, Some(known.id), known.display_name(key), "")
}

/// Records that a disk's row is removed, because a person took the disk out.
pub fn note_forgotten(database: &Connection, now: UnixSeconds, key: &DiskKey) -> Result<()> {
    let Some(known) = find(database, key)?.filter(|known| !known.is_forgotten) else { return Ok(()) };
    let sql = "UPDATE known_disk SET is_there = 0, forgotten = ?2 WHERE id = ?1";
    database.execute(sql, params![known.id, second(now)])?;
    event::add(database, now, HistoryEventKind::DiskForgotten, Some(known.id), known.display_name(key), "")
}

/// Records the disks' places in the stored arrays. A disk that was not in an array, and takes the place of one that is
/// no longer in it, replaces that one.
pub fn note_members(database: &Connection, now: UnixSeconds) -> Result<()> {
    for ArrayFacts { key: array, name, members, .. } in stored::arrays(database)? {
        let before: Vec<(i64, i64)> =
            all(database, "SELECT place, disk FROM array_place WHERE array = ?1", &[&array], |row| {
                Ok((row.get(0)?, row.get(1)?))
            })?;
        let mut after: Vec<(i64, i64)> = Vec::new();
        for (place, member) in members.into_iter().enumerate() {
            let Some(disk) = member.disk else { continue };
            let sql = "SELECT id FROM known_disk WHERE name = ?1 ORDER BY named DESC LIMIT 1";
            if let Some(id) = database.query_row(sql, [&disk], |row| row.get(0)).optional()? {
                after.push((signed(place as u64), id));
            }
        }
        let is_in = |places: &[(i64, i64)], disk: i64| places.iter().any(|&(_, other)| other == disk);
        for &(place, disk) in &after {
            let old = before.iter().find(|(other, _)| *other == place).map(|&(_, old)| old);
            if old == Some(disk) {
                continue;
            }
            let sql = "INSERT OR REPLACE INTO array_place (array, place, disk) VALUES (?1, ?2, ?3)";
            database.execute(sql, params![array, place, disk])?;
            if let Some(old) = old.filter(|&old| !is_in(&before, disk) && !is_in(&after, old)) {
                note_replacement(database, now, (old, disk), &name)?;
            }
        }
    }
    Ok(())
}

fn note_replacement(database: &Connection, now: UnixSeconds, (old, new): (i64, i64), array: &str) -> Result<()> {
    let identity = |id: i64| {
        let sql = "SELECT disk, name FROM known_disk WHERE id = ?1";
        database.query_row(sql, [id], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
    };
    let ((old_key, _), (new_key, new_name)) = (identity(old)?, identity(new)?);
    let words = format!("{new_key} takes the place of {old_key} in {array}");
    event::add(database, now, HistoryEventKind::DiskReplaced, Some(new), &new_name, &words)
}
