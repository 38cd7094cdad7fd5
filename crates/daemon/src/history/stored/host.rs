//! The row of the machine as a whole, and those of channels.

use crate::history::nested;
use crate::history::values::{all, date, date_or_none, put, second, second_or_none, signed, unsigned};
use rusqlite::{Connection, Result};
use scrubjay_watch::channel::ChannelRow;
use scrubjay_watch::forecast::ForecastErrors;
use scrubjay_watch::rows::{HostRow, WatchRow};

pub fn keep_host(database: &Connection, row: &HostRow) -> Result<()> {
    let HostRow { latest, next_message, paused_until, paused_for, reported_month, checked, errors, history_lost } = row;
    let ForecastErrors { ratios } = errors;
    put(
        database,
        "host",
        &[
            ("one", &1),
            ("latest", &second(*latest)),
            ("next_message", &signed(*next_message)),
            ("paused_until", &second(*paused_until)),
            ("paused_for", &signed(*paused_for)),
            ("reported_month", reported_month),
            ("checked", &second(*checked)),
            ("ratios", &nested::shares(ratios)),
            ("history_lost", &history_lost.as_ref().map(nested::loss)),
        ],
    )
}

pub fn load_host(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM host", &[], |row| {
        let ratios: Vec<u8> = row.get("ratios")?;
        Ok(WatchRow::Host(HostRow {
            latest: date(row, "latest")?,
            next_message: unsigned(row, "next_message")?,
            paused_until: date(row, "paused_until")?,
            paused_for: unsigned(row, "paused_for")?,
            reported_month: row.get("reported_month")?,
            checked: date(row, "checked")?,
            errors: ForecastErrors { ratios: nested::shares_of(&ratios)?.into() },
            history_lost: row
                .get::<_, Option<String>>("history_lost")?
                .map(|text| nested::loss_of(&text))
                .transpose()?,
        }))
    })
}

pub fn keep_channel(database: &Connection, row: &ChannelRow) -> Result<()> {
    let ChannelRow { name, fingerprint, known_since, code, proven, failing_since, delivered, is_caught_up, refused } =
        row;
    put(
        database,
        "channel",
        &[
            ("channel", name),
            ("fingerprint", &signed(*fingerprint)),
            ("known_since", &second(*known_since)),
            ("is_caught_up", is_caught_up),
            ("refused", &nested::pairs(refused)),
            ("code", code),
            ("proven", &second_or_none(*proven)),
            ("failing_since", &second_or_none(*failing_since)),
            ("delivered", &second_or_none(*delivered)),
        ],
    )
}

pub fn load_channels(database: &Connection) -> Result<Vec<WatchRow>> {
    all(database, "SELECT * FROM channel ORDER BY channel", &[], |row| {
        Ok(WatchRow::Channel(ChannelRow {
            name: row.get("channel")?,
            fingerprint: unsigned(row, "fingerprint")?,
            known_since: date(row, "known_since")?,
            is_caught_up: row.get("is_caught_up")?,
            refused: nested::pairs_of(&row.get::<_, String>("refused")?)?,
            code: row.get("code")?,
            proven: date_or_none(row, "proven")?,
            failing_since: date_or_none(row, "failing_since")?,
            delivered: date_or_none(row, "delivered")?,
        }))
    })
}
