//! Rows of open incidents.

use crate::history::nested;
use crate::history::spelling::Spelled;
use crate::history::values::{all, date, date_or_none, kind, put, second, second_or_none, signed, unsigned_or_none};
use rusqlite::{Connection, Result};
use scrubjay_watch::incident::{Condition, IncidentKey, IncidentRow};
use scrubjay_watch::rows::WatchRow;

pub fn keep_incident(database: &Connection, row: &IncidentRow) -> Result<()> {
    let IncidentRow {
        key,
        opened,
        condition,
        last_message,
        known,
        known_urgency,
        less_since,
        reminders,
        is_accepted,
        thread,
    } = row;
    let IncidentKey { subject, kind } = key;
    let Condition { urgency, amounts, headline, lines, controller } = condition;
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
            ("amounts", &nested::amounts(amounts)),
            ("headline", headline),
            ("lines", &nested::lines(lines)),
            ("controller", controller),
            ("told", &second_or_none(*last_message)),
            ("known", &nested::amounts(known)),
            ("known_urgency", &known_urgency.spelled()),
            ("less_since", &second_or_none(*less_since)),
            ("reminders", reminders),
            ("is_accepted", is_accepted),
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
                amounts: nested::amounts_of(&row.get::<_, String>("amounts")?)?,
                headline: row.get("headline")?,
                lines: nested::lines_of(&row.get::<_, String>("lines")?)?,
                controller: row.get("controller")?,
            },
            last_message: date_or_none(row, "told")?,
            known: nested::amounts_of(&row.get::<_, String>("known")?)?,
            known_urgency: kind(row, "known_urgency")?,
            less_since: date_or_none(row, "less_since")?,
            reminders: row.get("reminders")?,
            is_accepted: row.get("is_accepted")?,
            thread: unsigned_or_none(row, "thread")?,
        })))
    })
}
