//! Rows of open incidents.

use crate::history::nested;
use crate::history::values::{all, date, date_or_none, kind, put, second, second_or_none, signed, unsigned_or_none};
use rusqlite::{Connection, Result, Row};
use scrubjay_watch::incident::{Condition, IncidentKey, IncidentRow, MessageId};
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
        written,
        returns,
        away_since,
        held_until,
    } = row;
    let IncidentKey { subject, kind } = key;
    // The cause is found anew.
    let Condition { urgency, amounts, headline, lines, controller, cause: _ } = condition;
    let (sort, subject) = nested::subject(subject);
    put(
        database,
        "incident",
        &[
            ("sort", &sort),
            ("subject", &subject),
            ("kind", &kind.word()),
            ("opened", &second(*opened)),
            ("urgency", &urgency.word()),
            ("amounts", &nested::amounts(amounts)),
            ("headline", headline),
            ("lines", &nested::lines(lines)),
            ("controller", controller),
            ("told", &second_or_none(*last_message)),
            ("known", &nested::amounts(known)),
            ("known_urgency", &known_urgency.word()),
            ("less_since", &second_or_none(*less_since)),
            ("reminders", reminders),
            ("is_accepted", is_accepted),
            ("thread", &thread.map(|id| signed(id.number))),
            ("thread_run", &thread.map(|id| signed(id.run))),
            ("written", &nested::dates(written)),
            ("returns", returns),
            ("away_since", &second_or_none(*away_since)),
            ("held_until", &second(*held_until)),
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
                cause: None,
            },
            last_message: date_or_none(row, "told")?,
            known: nested::amounts_of(&row.get::<_, String>("known")?)?,
            known_urgency: kind(row, "known_urgency")?,
            less_since: date_or_none(row, "less_since")?,
            reminders: row.get("reminders")?,
            is_accepted: row.get("is_accepted")?,
            thread: thread(row)?,
            written: nested::dates_of(&row.get::<_, String>("written")?)?,
            returns: row.get("returns")?,
            away_since: date_or_none(row, "away_since")?,
            held_until: date(row, "held_until")?,
        })))
    })
}

/// The message that began a thread; one of before runs were counted is of run 0.
fn thread(row: &Row) -> Result<Option<MessageId>> {
    let run = unsigned_or_none(row, "thread_run")?.unwrap_or(0);
    Ok(unsigned_or_none(row, "thread")?.map(|number| MessageId { number, run }))
}
