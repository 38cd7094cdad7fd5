//! A watch that is restored from the file continues like the one that wrote it.

use super::samples::{NOW, WORDING, database, disk, later};
use crate::history::{HistoryDatabase, HistoryEventKind};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::Watch;
use scrubjay_watch::calendar::{HOUR, UtcCalendar};
use scrubjay_watch::events::{WatchEvent, WatchOp};
use scrubjay_watch::facts::{AtaAttribute, SmartFacts, SmartReading};
use scrubjay_watch::rows::{MessageRow, RowKey, WatchRow};
use scrubjay_watch::settings::{AlertChannel, WatchSettings};
use std::collections::BTreeMap;

fn settings() -> WatchSettings {
    let channels = vec![AlertChannel { name: "email".into(), fingerprint: u64::MAX, proven_elsewhere: None }];
    WatchSettings { channels, ..WatchSettings::default() }
}

/// A pump that keeps rows in the file and in memory, reads SMART of a disk that gets worse, and delivers every other message.
fn pump(watch: &mut Watch, now: UnixSeconds, history: &mut HistoryDatabase, memory: &mut BTreeMap<RowKey, WatchRow>) {
    watch.handle(now, WatchEvent::Tick);
    while let Some(op) = watch.poll_op() {
        match op {
            WatchOp::Keep(rows, dropped) => {
                history.keep(now, &rows, &dropped, &WORDING).unwrap();
                dropped.iter().for_each(|key| drop(memory.remove(key)));
                // What a message says is kept in words.
                let without_letter = |row| match row {
                    WatchRow::Message(row) => WatchRow::Message(Box::new(MessageRow { letter: None, ..*row })),
                    row => row,
                };
                memory.extend(rows.into_iter().map(without_letter).map(|row| (row.key(), row)));
            }
            WatchOp::ReadSmart(name) => {
                let raw = (now.0 - NOW.0) / HOUR / 24;
                let attributes = vec![AtaAttribute::usual(197, raw), AtaAttribute::usual(194, 31)];
                let facts = SmartFacts { passed: Some(true), attributes, ..SmartFacts::default() };
                history.note_smart(now, &disk("ZL2", "sda").facts.key, &facts).unwrap();
                watch.handle(now, WatchEvent::Smart(name, SmartReading::Facts(facts)));
            }
            WatchOp::Send(message) if message.number % 2 == 0 => {
                history.note_delivered(now, message.number).unwrap();
                watch.handle(now, WatchEvent::MessageSent(message.number));
            }
            WatchOp::Send(message) => watch.handle(now, WatchEvent::MessageFailed(message.number)),
            WatchOp::BeginSession(..) | WatchOp::StopSession(..) | WatchOp::Heartbeat => {}
        }
    }
}

#[test]
fn a_watch_restored_from_the_file_continues_like_the_one_that_wrote_it() {
    let (folder, mut history) = database();
    let mut memory = BTreeMap::new();
    let mut watch = Watch::restore(NOW, settings(), Box::new(UtcCalendar), []);
    watch.handle(NOW, WatchEvent::DiskSeen(disk("ZL2", "sda").facts));
    for hour in 0..24 * 6 {
        pump(&mut watch, later(hour * HOUR), &mut history, &mut memory);
        if hour % 24 == 23 {
            // It is killed and restarted.
            drop(history);
            history = HistoryDatabase::open(&folder.path().join("history.db")).unwrap();
            let rows: BTreeMap<RowKey, WatchRow> =
                history.rows().unwrap().into_iter().map(|row| (row.key(), row)).collect();
            assert_eq!(rows, memory);
            watch = Watch::restore(later(hour * HOUR), settings(), Box::new(UtcCalendar), rows.into_values());
            watch.handle(later(hour * HOUR), WatchEvent::DiskSeen(disk("ZL2", "sda").facts));
        }
    }
    let events = history.events(1000, None).unwrap();
    let count = |kind| events.iter().filter(|event| event.kind == kind).count();
    assert_eq!((count(HistoryEventKind::DiskSeen), count(HistoryEventKind::DiskRenamed)), (1, 0));
    assert!(count(HistoryEventKind::IncidentGrown) >= 4, "a pending sector more each day: {events:#?}");
    assert!(count(HistoryEventKind::MessageDelivered) > 0 && count(HistoryEventKind::MessageDropped) == 0);
}
