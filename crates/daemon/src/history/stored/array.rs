//! Rows of arrays.

use super::pool::{pool_of, pool_text};
use crate::history::nested;
use crate::history::values::{all, kind, not_understood, put, signed, unsigned, unsigned_or_none};
use rusqlite::{Connection, Result, Row};
use scrubjay_core::layout::{Layout, LayoutKind, Shape};
use scrubjay_watch::facts::ArrayFacts;
use scrubjay_watch::rows::WatchRow;

pub fn keep_array(database: &Connection, facts: &ArrayFacts) -> Result<()> {
    let ArrayFacts { key, name, level, redundancy, members, activity, layout, check_sectors, pool, lost_stripes } =
        facts;
    let kind = layout.map(|(layout, _)| layout.kind().name());
    // An array has at most 256 disks.
    let data = layout.map(|(layout, _)| signed(layout.shape().data as u64));
    let parity = layout.map(|(layout, _)| signed(layout.shape().parity as u64));
    let disks = layout.map(|(layout, _)| signed(layout.disks() as u64));
    put(
        database,
        "array",
        &[
            ("array", key),
            ("name", name),
            ("level", level),
            ("redundancy", redundancy),
            ("activity", &activity.word()),
            ("members", &nested::members(members)),
            ("layout", &kind),
            ("layout_data", &data),
            ("layout_parity", &parity),
            ("layout_disks", &disks),
            ("chunk_sectors", &layout.map(|(_, chunk)| signed(chunk))),
            ("check_sectors", &check_sectors.map(signed)),
            ("pool", &pool.as_ref().map(pool_text)),
            ("lost_stripes", &lost_stripes.map(signed)),
        ],
    )
}

pub fn load_arrays(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM array ORDER BY array", &[], |row| {
        Ok(WatchRow::Array(ArrayFacts {
            key: row.get("array")?,
            name: row.get("name")?,
            level: row.get("level")?,
            redundancy: row.get("redundancy")?,
            members: nested::members_of(&row.get::<_, String>("members")?)?,
            activity: kind(row, "activity")?,
            layout: layout(row)?,
            check_sectors: unsigned_or_none(row, "check_sectors")?,
            pool: row.get::<_, Option<String>>("pool")?.map(|text| pool_of(&text)).transpose()?,
            lost_stripes: unsigned_or_none(row, "lost_stripes")?,
        }))
    })
}

fn layout(row: &Row) -> Result<Option<(Layout, u64)>> {
    let Some(name) = row.get::<_, Option<String>>("layout")? else { return Ok(None) };
    let kind = LayoutKind::by_name(&name).ok_or_else(|| not_understood(format!("the layout \"{name}\"")))?;
    let count = |column: &str| row.get::<_, u16>(column).map(usize::from);
    let shape = Shape { data: count("layout_data")?, parity: count("layout_parity")? };
    let layout = Layout::new(kind, shape, count("layout_disks")?);
    let layout = layout.map_err(|error| not_understood(format!("a layout ({error})")))?;
    Ok(Some((layout, unsigned(row, "chunk_sectors")?)))
}
