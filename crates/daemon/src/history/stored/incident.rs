//! Rows of open incidents.

use crate::history::nested;
use crate::history::spelling::Spelled;
use crate::history::values::{
    all, date, date_or_none, kind, put, second, second_or_none, signed, unsigned, unsigned_or_none,
};
use rusqlite::{Connection, Result};
use scrubjay_watch::incident::{Condition, IncidentKey, IncidentRow};
use scrubjay_watch::rows::WatchRow;

pub fn keep_incident(database: &Connection, row: &IncidentRow) -> Result<()> {
    let IncidentRow { key, opened, condition, told, told_level, told_urgency, reminders, accepted, thread } = row;
    let IncidentKey { subject, kind } = key;
    let Condition { urgency, level, headline, lines, controller } = condition;
    let (sort, subject) = nested::subject(subject);
    put(
        database,
        "incident",
        &[
            ("sort", &sort),
            ("subject", &subject),
            ("kind", &kind.spelled()),
            ("opened", &second(*opened)),
            ("urgency", &urgency.spelled()),
            ("level", &signed(*level)),
            ("headline", headline),
            ("lines", &nested::lines(lines)),
            ("controller", controller),
            ("told", &second_or_none(*told)),
            ("told_level", &signed(*told_level)),
            ("told_urgency", &told_urgency.spelled()),
            ("reminders", reminders),
            ("accepted", &accepted.map(signed)),
            ("thread", &thread.map(signed)),
        ],
    )
}

pub fn load_incidents(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM incident ORDER BY sort, subject, kind", &[], |row| {
        let subject = nested::subject_of(&row.get::<_, String>("sort")?, row.get("subject")?)?;
        Ok(WatchRow::Incident(Box::new(IncidentRow {
            key: IncidentKey { subject, kind: kind(row, "kind")? },
            opened: date(row, "opened")?,
            condition: Condition {
                urgency: kind(row, "urgency")?,
                level: unsigned(row, "level")?,
                headline: row.get("headline")?,
                lines: nested::lines_of(&row.get::<_, String>("lines")?)?,
                controller: row.get("controller")?,
            },
            told: date_or_none(row, "told")?,
            told_level: unsigned(row, "told_level")?,
            told_urgency: kind(row, "told_urgency")?,
            reminders: row.get("reminders")?,
            accepted: unsigned_or_none(row, "accepted")?,
            thread: unsigned_or_none(row, "thread")?,
        })))
    })
}
