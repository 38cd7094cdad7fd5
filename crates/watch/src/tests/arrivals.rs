//! Disks and arrays that appear and disappear, and names that are given to other disks.

use super::rig::*;
use crate::calendar::{DAY, HOUR, MINUTE};
use crate::events::{PersonCommand, WatchEvent, WatchOp};
use crate::facts::*;
use crate::health::HealthState;
use crate::incident::IncidentSubject;
use scrubjay_core::units::{SectorRange, UnixSeconds};
use std::collections::VecDeque;

#[test]
fn the_last_words_of_a_session_begin_none() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.progress("sda", SECTORS / 4, &[]);
    let last = rig.report("sda", SECTORS / 4, &[]);
    rig.tell(WatchEvent::DiskGone("sda".into()));
    rig.running.clear();
    rig.tell(WatchEvent::DiskSeen(disk("sda", "S0")));
    rig.tell(WatchEvent::Session(on("sda"), SessionNews::Progress(last.clone())));
    let unknown = PassReport { begun: UnixSeconds(0), ..last };
    rig.tell(WatchEvent::Session(on("sda"), SessionNews::Progress(unknown)));
    rig.tell(WatchEvent::Tick);
    assert_eq!(rig.begun.len(), 2);
}

#[test]
fn news_of_a_disk_are_not_put_down_to_the_one_that_has_its_name_now() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    let report = rig.report("sda", SECTORS / 2, &[SectorRange::at(8, 64)]);
    rig.tell(WatchEvent::DiskGone("sda".into()));
    rig.tell(WatchEvent::DiskSeen(disk("sda", "NEW")));
    rig.tell(WatchEvent::Session(on("sda"), SessionNews::Failed(report.clone())));
    rig.tell(WatchEvent::Session(on("sda"), SessionNews::Stopped(report)));
    rig.tell(WatchEvent::Smart("sda".into(), pending(200)));
    rig.tell(WatchEvent::Tick);
    let new = rig.standing("NEW");
    assert_eq!((new.health, new.reading.unreadable, new.reading.pass_share), (HealthState::Ok, 0, None));
}

#[test]
fn the_end_of_an_older_pass_ends_no_session() {
    let mut rig = Rig::with_disks(3);
    rig.tell(WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
    rig.wait(2 * DAY);
    let first = rig.running[0].clone();
    let older = PassReport { pass: 7, done: SECTORS, ..PassReport::default() };
    rig.tell(WatchEvent::Session(on(&first), SessionNews::Finished(older)));
    rig.tell(WatchEvent::Tick);
    assert_eq!(rig.running, [first], "and no other member is begun beside it");
}

#[test]
fn an_array_that_is_gone_holds_back_nothing_that_has_a_name_of_its_members() {
    let mut rig = Rig::with_disks(2);
    let mut facts = array(&["sda", "sdb"]);
    facts.members[0].is_in_sync = false;
    rig.tell(WatchEvent::ArraySeen(facts));
    rig.wait(HOUR);
    rig.tell(WatchEvent::ArrayGone("uuid".into()));
    rig.wait(HOUR);
    rig.tell(WatchEvent::Command(PersonCommand::Accept(IncidentSubject::Array("uuid".into()))));
    rig.restart(settings());
    rig.begun.clear();
    rig.tell(WatchEvent::DiskSeen(disk("sda", "OTHER")));
    rig.wait(2 * DAY);
    assert_eq!((rig.standing("OTHER").reading.held, rig.begun.len()), (None, 1));
}

#[test]
fn a_disk_that_is_seen_under_a_new_name_first_has_moved() {
    let mut rig = Rig::with_disks(1);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.wait(HOUR);
    for old_goes in [0, 5 * MINUTE] {
        let (new, old) = if old_goes == 0 { ("sdb", "sda") } else { ("sdc", "sdb") };
        rig.tell(WatchEvent::DiskSeen(disk(new, "S0")));
        rig.wait(old_goes);
        rig.tell(WatchEvent::DiskGone(old.into()));
        for _ in 0..48 {
            rig.wait(HOUR);
            rig.tell(WatchEvent::DiskSeen(disk(new, "S0"))); // as reported now and then
        }
        let there = rig.watch.status(rig.now).disks;
        assert_eq!(there.len(), 1);
        assert_eq!((there[0].name.as_deref(), there[0].health), (Some(new), HealthState::Replace));
    }
    assert!(!rig.subjects().iter().any(|subject| subject.contains("missing")), "{:?}", rig.subjects());
}

#[test]
fn two_disks_that_have_changed_names_in_one_picture_are_still_themselves() {
    let mut rig = Rig::with_disks(2);
    rig.wait(2 * DAY);
    rig.finish("sda", &[SectorRange::at(8, 8)]);
    rig.tell(WatchEvent::DiskSeen(disk("sda", "S1")));
    rig.tell(WatchEvent::DiskSeen(disk("sdb", "S0")));
    rig.wait(2 * DAY);
    let there: Vec<_> = rig.watch.status(rig.now).disks.into_iter().map(|disk| (disk.key.0, disk.name)).collect();
    assert_eq!(there, [("S0".into(), Some("sdb".into())), ("S1".into(), Some("sda".into()))]);
    assert_eq!(rig.standing("S0").health, HealthState::Replace);
}

#[test]
fn what_is_as_it_was_is_not_written_down_again() {
    let mut rig = Rig::with_disks(4);
    rig.wait(2 * DAY);
    ["sda", "sdb", "sdc", "sdd"].iter().for_each(|name| rig.finish(name, &[]));
    rig.wait(DAY);
    let mut keeps = 0;
    for _ in 0..24 * 60 {
        rig.now = UnixSeconds(rig.now.0 + 60);
        for number in 0..4u8 {
            let name = format!("sd{}", char::from(b'a' + number));
            rig.watch.handle(rig.now, WatchEvent::DiskSeen(disk(&name, &format!("S{number}"))));
        }
        rig.watch.handle(rig.now, WatchEvent::ArraySeen(array(&["sda", "sdb", "sdc"])));
        rig.watch.handle(rig.now, WatchEvent::Tick);
        while let Some(op) = rig.watch.poll_op() {
            keeps += usize::from(matches!(op, WatchOp::Keep(..)));
            rig.act(op, &mut VecDeque::new());
        }
    }
    assert!(keeps < 20, "{keeps} transactions in a day at rest");
}
