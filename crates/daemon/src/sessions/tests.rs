//! Sessions on image files: reports on a pass, and what is known of it after a stop.

use super::*;
use scrubjay_device::clock;
use scrubjay_watch::facts::DiskKey;
use std::fs::File;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;
use tempfile::TempDir;

const SECTORS: u64 = 64 << 11;

struct Scene {
    folder: TempDir,
    pool: SessionPool,
    messages: Receiver<SessionMessage>,
}

impl Scene {
    fn new() -> Scene {
        let folder = tempfile::tempdir().unwrap();
        let image = File::create(folder.path().join("disk.img")).unwrap();
        image.set_len(SECTORS * SECTOR_BYTES).unwrap();
        let (sender, messages) = channel();
        let pool = SessionPool::new(folder.path().join("state"), false, sender);
        Scene { folder, pool, messages }
    }

    fn order(&self, pass: u32, begun: UnixSeconds) -> PassOrder {
        let target = self.folder.path().join("disk.img");
        let budget = Nanos::from_millis(2);
        PassOrder {
            subject: SessionSubject::Disk("sda".into()),
            name: "sda".into(),
            key: SubjectKey::Disk(DiskKey("S0".into())),
            target,
            pass,
            begun,
            begun_by_system: begun,
            pace: 1,
            is_twin: false,
            is_pool: false,
            budget,
            imagined: None,
        }
    }

    fn run(&mut self, order: PassOrder) -> SessionNews {
        self.pool.begin(order);
        let message = self.messages.recv_timeout(Duration::from_secs(60)).expect("it ends");
        assert!(self.pool.ended(&message) && !self.pool.ended(&message), "it is the one, once");
        message.news
    }
}

#[test]
fn a_finished_pass_is_reported_again_without_being_read_again() {
    let mut scene = Scene::new();
    let begun = clock::today();
    let order = scene.order(1, begun);
    let SessionNews::Finished(report) = scene.run(order.clone()) else { panic!("it is read") };
    assert_eq!((report.pass, report.done, report.unreadable.len()), (1, SECTORS, 0));
    assert!(report.bytes_per_second > 0);
    let SessionNews::Finished(again) = scene.run(order) else { panic!("it was read") };
    assert_eq!((again.done, again.bytes_per_second), (SECTORS, 0), "nothing was read once more");
    assert!(again.is_found && !report.is_found && again.begun >= report.begun);
    let twin = PassOrder { is_twin: true, ..scene.order(1, begun) };
    let SessionNews::Finished(of_twin) = scene.run(twin) else { panic!("it is read") };
    assert!(of_twin.bytes_per_second > 0, "what is kept may be another disk's");
    // The resolution of dates is ten minutes: a pass that begins later than that is read.
    let later = scene.order(2, UnixSeconds(begun.0 + 601));
    let SessionNews::Finished(next) = scene.run(later) else { panic!("it is read") };
    assert!(next.bytes_per_second > 0 && next.pass == 2);
}

#[test]
fn a_session_that_cannot_begin_is_refused_with_the_reason() {
    let mut scene = Scene::new();
    let missing = PassOrder { target: scene.folder.path().join("none"), ..scene.order(1, clock::today()) };
    let SessionNews::Refused(why) = scene.run(missing) else { panic!("there is no such disk") };
    assert!(why.contains("no such device"), "{why}");
    std::fs::write(scene.folder.path().join("state"), "a file").unwrap();
    let SessionNews::Refused(why) = scene.run(scene.order(1, clock::today())) else { panic!("no state folder") };
    assert!(why.contains("state"), "{why}");
}

#[test]
fn saved_state_counts_only_for_the_pass_in_which_it_was_begun() {
    use scrubjay_core::scrub::Pass;
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::tour::Grid;
    let coverage = Coverage::new(Grid::new(1000, 100, 10));
    let mut pass = Pass { begun: UnixSeconds(5000), transient_errors: 2, corrected: 3, ..Pass::default() };
    pass.done.insert(SectorRange::at(0, 70));
    pass.unreadable.insert(8, (2, Cause::Errno(5)));
    pass.unreadable.insert(20, (8, Cause::Skipped));
    let saved =
        Saved { disk: "d".into(), at: UnixSeconds(6000), coverage, pass: Some(pass), ended: EndedPass::default() };
    // What md could not compare is not lost.
    let unreadable = vec![SectorRange::at(8, 2)];
    let report = PassReport { done: 70, unreadable, mismatched: 8, retries: 2, ..PassReport::default() };
    assert_eq!(KeptPass::of_saved(&saved, UnixSeconds(5000), UnixSeconds(7000)), KeptPass::UnderWay(report));
    assert_eq!(KeptPass::of_saved(&saved, UnixSeconds(5001), UnixSeconds(7000)), KeptPass::Older);
    let mut whole = Saved { pass: None, ..saved };
    assert_eq!(
        KeptPass::of_saved(&whole, UnixSeconds(5000), UnixSeconds(7000)),
        KeptPass::Nothing,
        "nothing was ever read"
    );
    (0..10).for_each(|region| whole.coverage.complete(region, UnixSeconds(5400), 0));
    assert_eq!(
        KeptPass::of_saved(&whole, UnixSeconds(5999), UnixSeconds(7000)),
        KeptPass::Complete(UnixSeconds(5400), 0)
    );
    assert_eq!(
        KeptPass::of_saved(&whole, UnixSeconds(6000), UnixSeconds(7000)),
        KeptPass::Nothing,
        "it is of an earlier pass"
    );
    whole.ended = EndedPass { transient_errors: 2, corrected: 0 };
    let kept = KeptPass::of_saved(&whole, UnixSeconds(5999), UnixSeconds(7000));
    assert_eq!(kept, KeptPass::Complete(UnixSeconds(5400), 2));
    whole.ended.corrected = 3;
    let kept = KeptPass::of_saved(&whole, UnixSeconds(5999), UnixSeconds(7000));
    assert_eq!(kept, KeptPass::Nothing, "which of them are still wrong nobody knows");
    whole.ended.corrected = 0;
    let mut early = whole.clone();
    early.coverage.touch(7, UnixSeconds(1000));
    early.coverage.complete(7, UnixSeconds(5400), 0);
    let kept = KeptPass::of_saved(&early, UnixSeconds(5999), UnixSeconds(7000));
    assert_eq!(kept, KeptPass::Nothing, "a part of a region was read before the pass began");
    whole.coverage.complete(3, UnixSeconds(5400), 1);
    assert_eq!(
        KeptPass::of_saved(&whole, UnixSeconds(5400), UnixSeconds(7000)),
        KeptPass::Nothing,
        "which sector it is nobody knows"
    );
    whole.coverage.complete(3, UnixSeconds(5400), 0);
    let early = KeptPass::of_saved(&whole, UnixSeconds(5400), UnixSeconds(4000));
    assert_eq!(early, KeptPass::Nothing, "a clock was ahead: who knows when it was read");
}

#[test]
fn what_is_only_observed_is_neither_read_nor_claimed() {
    let mut scene = Scene::new();
    let target = scene.folder.path().join("disk.img");
    std::fs::remove_file(&target).unwrap();
    // A file with a hole, far larger than what other tests of this process read meanwhile.
    std::fs::File::create(&target).unwrap().set_len(256 << 20).unwrap();
    let read_before = read_bytes();
    let order = PassOrder { imagined: Some(MediaKind::Flash), ..scene.order(1, clock::today()) };
    let SessionNews::Finished(report) = scene.run(order) else { panic!("an imagined pass comes to its end") };
    assert_eq!(report.done, (256 << 20) / 512);
    assert!(read_bytes() - read_before < 256 << 20, "the medium was not read");
}

/// Bytes that this process asked of files so far.
fn read_bytes() -> u64 {
    let counts = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    counts.lines().find_map(|line| line.strip_prefix("rchar: ")?.parse().ok()).unwrap_or(0)
}
