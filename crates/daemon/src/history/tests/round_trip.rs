//! What is kept is restored, bit for bit; all of it or nothing.

use super::samples::{NOW, WORDING, database, draws, later};
use proptest::prelude::*;
use scrubjay_watch::rows::{RowKey, WatchRow};
use std::collections::BTreeMap;

/// A row in comparable form, with the bits of floats that may be no numbers.
fn bits(row: &WatchRow) -> (WatchRow, Vec<u32>) {
    let mut plain = row.clone();
    let mut floats = Vec::new();
    match &mut plain {
        WatchRow::Host(row) => floats.extend(row.errors.ratios.drain(..).map(f32::to_bits)),
        WatchRow::Idle(_, week) => {
            floats.extend(week.share.iter().map(|share| share.to_bits()));
            week.share.fill(0.0);
        }
        _ => {}
    }
    (plain, floats)
}

/// The rows in comparable form.
pub fn by_key(rows: &[WatchRow]) -> BTreeMap<RowKey, (WatchRow, Vec<u32>)> {
    rows.iter().map(|row| (row.key(), bits(row))).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn every_row_comes_back_as_it_was_is_replaced_and_goes((mut draw, mut other) in (draws(), draws())) {
        let (folder, mut history) = database();
        history.connection.pragma_update(None, "synchronous", "OFF").unwrap();
        let rows = draw.rows();
        history.keep(NOW, &rows, &[], &WORDING).unwrap();
        prop_assert_eq!(by_key(&history.rows().unwrap()), by_key(&rows));
        // Other rows are kept, some in place of these.
        let mut more = other.rows();
        if let (Some(WatchRow::Disk(new)), WatchRow::Disk(old)) = (more.get_mut(1), &rows[1]) {
            new.facts.key = old.facts.key.clone();
        }
        history.keep(later(60), &more, &[], &WORDING).unwrap();
        let mut expected = by_key(&rows);
        expected.extend(by_key(&more));
        drop(history);
        let mut history = crate::history::HistoryDatabase::open(&folder.path().join("history.db")).unwrap();
        history.connection.pragma_update(None, "synchronous", "OFF").unwrap();
        prop_assert_eq!(by_key(&history.rows().unwrap()), expected.clone());
        let keys: Vec<RowKey> = expected.into_keys().collect();
        let (first, rest) = keys.split_at(keys.len() / 2);
        history.keep(later(120), &[], first, &WORDING).unwrap();
        prop_assert_eq!(by_key(&history.rows().unwrap()).into_keys().collect::<Vec<_>>(), rest.to_vec());
        history.keep(later(180), &[], rest, &WORDING).unwrap();
        prop_assert_eq!(history.rows().unwrap(), Vec::new());
        prop_assert!(history.events(1000, None).is_ok());
    }

    #[test]
    fn a_statement_that_fails_leaves_nothing_of_the_others((mut draw, mut other) in (draws(), draws()), table in 0..6_usize) {
        const TABLES: [&str; 6] =
            ["state", "idle_week", "event", "known_disk", "incident_history", "message_history"];
        let (_folder, mut history) = database();
        history.connection.pragma_update(None, "synchronous", "OFF").unwrap();
        let rows = draw.rows();
        history.keep(NOW, &rows, &[], &WORDING).unwrap();
        let before = (by_key(&history.rows().unwrap()), history.events(1000, None).unwrap());
        let sql = format!(
            "CREATE TEMP TRIGGER planted BEFORE INSERT ON main.{} BEGIN SELECT RAISE(ABORT, 'planted'); END",
            TABLES[table]
        );
        history.connection.execute_batch(&sql).unwrap();
        let dropped: Vec<RowKey> = rows.iter().map(WatchRow::key).take(3).collect();
        // Rows of the last three tables are not always new.
        if let Err(error) = history.keep(later(60), &other.clone().rows(), &dropped, &WORDING) {
            prop_assert!(error.to_string().ends_with("planted"), "{}", error);
            prop_assert_eq!(&before, &(by_key(&history.rows().unwrap()), history.events(1000, None).unwrap()));
        } else {
            prop_assert!(table >= 3, "{}", TABLES[table]);
        }
        history.connection.execute_batch("DROP TRIGGER planted").unwrap();
        history.keep(later(120), &other.rows(), &dropped, &WORDING).unwrap();
    }
}
