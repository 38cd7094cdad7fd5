//! Rows of the idleness of disks and arrays: floats as they are.

use crate::history::nested;
use crate::history::values::{all, not_understood, put, signed, unsigned};
use rusqlite::{Connection, Result};
use scrubjay_watch::facts::SubjectKey;
use scrubjay_watch::forecast::IdleWeek;
use scrubjay_watch::rows::WatchRow;

pub fn keep_idle(database: &Connection, subject: &SubjectKey, week: &IdleWeek) -> Result<()> {
    let IdleWeek { share, weeks, bytes_per_second } = week;
    let (sort, key) = nested::subject_key(subject);
    put(
        database,
        "idle_week",
        &[
            ("sort", &sort),
            ("subject", &key),
            ("bytes_per_second", &signed(*bytes_per_second)),
            ("share", &nested::shares(share)),
            ("weeks", &nested::weeks(weeks)),
        ],
    )
}

pub fn load_idle(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM idle_week ORDER BY sort, subject", &[], |row| {
        let share: Vec<f32> = nested::shares_of(&row.get::<_, Vec<u8>>("share")?)?;
        let weeks: Vec<u16> = nested::weeks_of(&row.get::<_, Vec<u8>>("weeks")?)?;
        let week = IdleWeek {
            share: share.try_into().map_err(|_| not_understood("a week of other than 168 hours"))?,
            weeks: weeks.try_into().map_err(|_| not_understood("a week of other than 168 hours"))?,
            bytes_per_second: unsigned(row, "bytes_per_second")?,
        };
        let subject = nested::subject_key_of(&row.get::<_, String>("sort")?, row.get("subject")?)?;
        Ok(WatchRow::Idle(subject, Box::new(week)))
    })
}
