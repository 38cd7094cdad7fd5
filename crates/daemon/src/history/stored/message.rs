//! Rows of messages that wait or are under way.

use crate::history::nested;
use crate::history::values::{all, date, kind, not_understood, put, second, signed, unsigned};
use rusqlite::{Connection, Result, Row};
use scrubjay_watch::incident::MessageReason;
use scrubjay_watch::rows::{MessageRow, WatchRow};

pub fn keep_message(database: &Connection, row: &MessageRow) -> Result<()> {
    let MessageRow {
        number,
        channel,
        id,
        reply_to,
        reason,
        about,
        urgency,
        letter: _,
        written,
        attempts,
        next_attempt,
        is_under_way,
        may_be_repeated,
    } = row;
    let (reason, reminder) = nested::reason(*reason);
    put(
        database,
        "message",
        &[
            ("number", &signed(*number)),
            ("channel", channel),
            ("id", id),
            ("reply_to", reply_to),
            ("reason", &reason),
            ("reminder", &reminder),
            ("about", &nested::about(about)),
            ("urgency", &urgency.word()),
            ("subject", &""),
            ("body", &""),
            ("written", &second(*written)),
            ("attempts", attempts),
            ("next_attempt", &second(*next_attempt)),
            ("is_under_way", is_under_way),
            ("may_be_repeated", may_be_repeated),
        ],
    )
}

fn reason(row: &Row) -> Result<MessageReason> {
    let (word, reminder): (String, Option<u32>) = (row.get("reason")?, row.get("reminder")?);
    nested::reason_of(&word, reminder).ok_or_else(|| not_understood(format!("the reason \"{word}\" of a message")))
}

pub fn load_messages(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM message ORDER BY number", &[], |row| {
        Ok(WatchRow::Message(Box::new(MessageRow {
            number: unsigned(row, "number")?,
            channel: row.get("channel")?,
            id: row.get("id")?,
            reply_to: row.get("reply_to")?,
            reason: reason(row)?,
            about: nested::about_of(&row.get::<_, String>("about")?)?,
            urgency: kind(row, "urgency")?,
            letter: None,
            written: date(row, "written")?,
            attempts: row.get("attempts")?,
            next_attempt: date(row, "next_attempt")?,
            is_under_way: row.get("is_under_way")?,
            may_be_repeated: row.get("may_be_repeated")?,
        })))
    })
}
