//! Tests stepping, giving way, putting back and refusing on a model of md.

mod model;

use super::geometry::{MdGeometry, MdRefusal};
use super::guard::MdGuard;
use super::judge::MemberFiles;
use super::kernel_log::KernelLog;
use super::knobs::{MdKnobs, SyncAction};
use super::log::MdLog;
use super::stepper::{MdStepper, StepObstacle};
use super::undo::put_back_with;
use super::verifier::MdVerifier;
use crate::verify::Verifier;
use model::ModelArray;
use scrubjay_core::finding::{Finding, FindingKind, FoundList, Resolution};
use scrubjay_core::scrub::machine::OpId;
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Nanos, SectorRange};
use std::os::unix::fs::FileExt;
use std::path::Path;

const CHUNK: u64 = 128;
const SECTORS: u64 = 64 * CHUNK;

fn raid6() -> ModelArray {
    ModelArray::new("raid6", 4, SECTORS, CHUNK)
}

fn stepper(array: &ModelArray, folder: &Path) -> MdStepper {
    let guard = MdGuard::of(array, "md0", "some key").unwrap();
    MdStepper::new(Box::new(array.clone()), guard, MdGuard::path(folder, "some key"), array.with(|state| state.sectors))
}

/// A verifier, and its findings.
struct Checked {
    verifier: MdVerifier,
    log: MdLog,
    found: FoundList,
    folder: tempfile::TempDir,
}

fn checked(array: &ModelArray) -> Checked {
    with_files(array, MemberFiles::default(), false)
}

fn with_files(array: &ModelArray, files: MemberFiles, is_repairing: bool) -> Checked {
    let folder = tempfile::tempdir().unwrap();
    let geometry = MdGeometry::read(array, array.with(|state| state.sectors)).unwrap();
    let log = MdLog::default();
    let silent = KernelLog::open("md0", &[]);
    let verifier = MdVerifier::new(stepper(array, folder.path()), geometry, files, silent, log.clone(), is_repairing);
    Checked { verifier, log, found: FoundList::default(), folder }
}

impl Checked {
    fn verify(&mut self, start: u64, end: u64) -> VerifyOutcome {
        self.verifier.submit(OpId(start), SectorRange::new(start, end));
        let answer = self.verifier.wait(Nanos::from_secs(60)).expect("an answer");
        assert_eq!((answer.id, answer.counted), (OpId(start), 0));
        answer.outcome
    }

    /// All findings so far, as a pass keeps them.
    fn found(&mut self) -> &[Finding] {
        self.verifier.findings(false).into_iter().for_each(|finding| self.found.add(finding));
        self.found.all()
    }

    fn mismatches(&mut self) -> Vec<Finding> {
        let is_mismatch = |found: &&Finding| matches!(found.kind, FindingKind::Mismatch(_));
        self.found().iter().filter(is_mismatch).cloned().collect()
    }

    /// Sectors that md rewrote, by member.
    fn rewritten(&mut self) -> Vec<(String, u64)> {
        let of = |found: &Finding| Some((found.member_name()?.to_owned(), found.member.as_ref()?.bytes.sectors()));
        self.found().iter().filter_map(of).collect()
    }

    fn guards(&self) -> usize {
        std::fs::read_dir(self.folder.path()).unwrap().count()
    }

    fn stopped(&self) -> String {
        self.log.facts().stopped.unwrap_or_default()
    }
}

const AT_REST: (&str, u64, Option<u64>) = ("idle", 0, None);

fn assert_at_rest(array: &ModelArray) {
    let (action, min, max) = array.knobs();
    assert_eq!((action.as_str(), min, max), AT_REST);
}

#[test]
fn ranges_that_follow_each_other_are_one_check() {
    let array = raid6();
    let mut checked = checked(&array);
    for chunk in 0..64 {
        assert_eq!(checked.verify(chunk * CHUNK, (chunk + 1) * CHUNK), VerifyOutcome::Clean, "{chunk}");
        assert_eq!(checked.guards(), 1);
    }
    assert_eq!(array.with(|state| (state.begun.clone(), state.read)), (vec![0], SECTORS));
    let folder = checked.folder;
    drop(checked.verifier);
    assert_at_rest(&array);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn ranges_in_any_order_are_all_checked_and_mismatches_are_found_in_their_ranges() {
    let array = raid6();
    array.with(|state| {
        state.mismatched = [8, 24 * CHUNK, 24 * CHUNK + 120, SECTORS - 8].into();
        state.busy = 3;
    });
    let mut checked = checked(&array);
    let mut found = Vec::new();
    // 27 and 64 have no common divisor: every chunk once.
    for chunk in (0..64).map(|step| step * 27 % 64) {
        match checked.verify(chunk * CHUNK, (chunk + 1) * CHUNK) {
            VerifyOutcome::Clean => {}
            outcome => found.push((chunk, outcome)),
        }
    }
    found.sort_by_key(|(chunk, _)| *chunk);
    let mismatch = VerifyOutcome::Unreadable(Cause::Mismatch);
    assert_eq!(found, [(0, mismatch), (24, mismatch), (63, mismatch)]);
    assert_eq!(array.with(|state| state.read), SECTORS, "nothing twice");
    let noted: Vec<u64> = checked.mismatches().iter().map(|found| found.place.count()).collect();
    assert_eq!(noted, [CHUNK; 3], "without members to read, whole chunks are named");
    drop(checked.verifier);
    assert_at_rest(&array);
}

#[test]
fn sectors_after_the_last_whole_page_are_checked_with_that_page() {
    let array = ModelArray::new("raid1", 2, 1005, 0);
    array.with(|state| state.mismatched = [1001].into());
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, 992), VerifyOutcome::Clean);
    assert_eq!(checked.verify(992, 1000), VerifyOutcome::Unreadable(Cause::Mismatch));
    assert_eq!(array.with(|state| state.read), 1005);
}

#[test]
fn read_errors_that_md_repairs_are_counted_by_member() {
    let array = raid6();
    array.with(|state| state.failing = [5 * CHUNK, 5 * CHUNK + 64].into());
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, 5 * CHUNK), VerifyOutcome::Clean);
    assert_eq!(checked.verify(5 * CHUNK, 6 * CHUNK), VerifyOutcome::Corrected(16));
    assert_eq!(checked.rewritten(), [("sda".to_owned(), 16)]);
    assert_eq!(checked.verify(5 * CHUNK, 6 * CHUNK), VerifyOutcome::Clean);
}

/// Members of a mirror, of which some have other data in a page.
fn copies(members: usize, sectors: u64, differing: &[usize], page: u64) -> MemberFiles {
    let file = |place: usize| {
        let file = tempfile::tempfile().unwrap();
        file.set_len((2048 + sectors) * 512).unwrap();
        if differing.contains(&place) {
            file.write_all_at(&[7; 512], (2048 + page) * 512).unwrap();
        }
        file
    };
    MemberFiles::of((0..members).map(file).collect())
}

#[test]
fn a_mismatch_is_repaired_only_if_the_copy_that_md_spreads_is_not_the_wrong_one() {
    // Of two copies, it is unknown which is right, and repair was requested. Of three, md spreads the first, unless that one differs.
    for (members, differing, is_repaired) in
        [(2, &[1][..], true), (3, &[1], true), (3, &[0], false), (3, &[0, 1], true)]
    {
        let array = ModelArray::new("raid1", members, 1024, 0);
        array.with(|state| state.mismatched = [64].into());
        let mut checked = with_files(&array, copies(members, 1024, differing, 64), true);
        let outcome = checked.verify(64, 72);
        let found = checked.mismatches();
        let resolution = if is_repaired { Resolution::MadeToAgree } else { Resolution::Spared };
        assert_eq!((found.len(), found[0].resolution), (1, resolution), "{members} {differing:?}: {found:?}");
        let overwritten = checked.log.facts().overwritten;
        assert_eq!((overwritten.sectors > 0, overwritten.counted), (is_repaired, if is_repaired { 8 } else { 0 }));
        let (expected, begun) = match is_repaired {
            true => (VerifyOutcome::Corrected(8), ["check", "repair", "check"].as_slice()),
            false => (VerifyOutcome::Unreadable(Cause::Mismatch), ["check"].as_slice()),
        };
        assert_eq!(outcome, expected);
        assert_eq!(array.with(|state| state.actions.clone()), begun);
        assert_eq!(checked.verify(72, 1024), VerifyOutcome::Clean);
        drop(checked.verifier);
        assert_at_rest(&array);
    }
    // Without a request, and without members to read, nothing is repaired.
    for (files, is_repairing) in [(copies(2, 1024, &[1], 64), false), (MemberFiles::default(), true)] {
        let array = ModelArray::new("raid1", 2, 1024, 0);
        array.with(|state| state.mismatched = [64].into());
        let mut checked = with_files(&array, files, is_repairing);
        assert_eq!(checked.verify(64, 72), VerifyOutcome::Unreadable(Cause::Mismatch));
        assert_eq!(array.with(|state| state.actions.clone()), ["check"]);
    }
}

#[test]
fn sectors_that_md_rewrites_without_counting_an_error_are_counted_too() {
    let array = ModelArray::new("raid10", 4, SECTORS, CHUNK);
    array.with(|state| (state.failing, state.is_silent) = ([5 * CHUNK].into(), true));
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, 5 * CHUNK), VerifyOutcome::Clean);
    assert_eq!(checked.verify(5 * CHUNK, 6 * CHUNK), VerifyOutcome::Corrected(128));
    assert_eq!(checked.rewritten(), [("sda".to_owned(), 128)]);
}

#[test]
fn a_range_that_md_skips_is_not_clean() {
    let array = ModelArray::new("raid1", 2, SECTORS, 0);
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, 512), VerifyOutcome::Clean);
    array.with(|state| state.skips = true);
    assert!(matches!(checked.verify(512, 1024), VerifyOutcome::Inconclusive(_)));
    array.with(|state| state.skips = false);
    array.set_file("dev-sdb/bad_blocks", "3100 4\n");
    assert_eq!(checked.verify(1024, 1088), VerifyOutcome::Unreadable(Cause::Skipped), "3100 less 2048 lies in there");
    // On both members no copy is left.
    array.set_file("dev-sda/bad_blocks", "3096 8\n");
    assert_eq!(checked.verify(1024, 1088), VerifyOutcome::Unreadable(Cause::Lost));
    array.set_file("dev-sda/bad_blocks", "3108 8\n");
    assert_eq!(
        checked.verify(1024, 1088),
        VerifyOutcome::Unreadable(Cause::Skipped),
        "side by side, not the same sectors"
    );
    array.set_file("dev-sda/bad_blocks", "");
    assert_eq!(checked.verify(2048, 2560), VerifyOutcome::Clean);
}

#[test]
fn a_raid_10_that_gains_bad_blocks_meanwhile_is_checked_no_further() {
    let array = ModelArray::new("raid10", 4, SECTORS, CHUNK);
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, CHUNK), VerifyOutcome::Clean);
    array.set_file("dev-sdb/bad_blocks", "3100 4\n");
    assert_eq!(checked.verify(CHUNK, 2 * CHUNK), VerifyOutcome::Gone);
    let stopped = checked.log.facts().stopped.unwrap();
    assert!(stopped.contains("list of its member sdb"), "{stopped}");
}

#[test]
fn a_repair_that_ran_is_told_whatever_came_of_it() {
    // The page is written all the time, so that they differ again.
    let array = ModelArray::new("raid1", 2, 1024, 0);
    array.with(|state| (state.mismatched, state.is_rewritten) = ([64].into(), true));
    let mut checked = with_files(&array, copies(2, 1024, &[1], 64), true);
    assert_eq!(checked.verify(64, 72), VerifyOutcome::Unreadable(Cause::Mismatch));
    let found = checked.mismatches();
    assert_eq!((found.len(), found[0].resolution), (1, Resolution::StillDiffers), "{found:?}");
    assert_eq!(checked.log.facts().overwritten.in_vain, 1);
    // What is read again, and not repaired again, was overwritten all the same.
    checked.log.note(Finding { resolution: Resolution::Left, ..found[0].clone() });
    assert_eq!(checked.mismatches()[0].resolution, Resolution::DiffersAgain);
    // The next run of the pass knows how often.
    drop(checked.verifier);
    let next = MdLog::default();
    next.resume(&checked.log.tallies());
    assert_eq!(next.facts().overwritten.in_vain, 1);
}

#[test]
fn a_repair_whose_check_is_cut_short_is_told() {
    let array = ModelArray::new("raid1", 2, 1024, 0);
    array.with(|state| (state.mismatched, state.cuts_check_after_repair) = ([64].into(), true));
    let mut checked = with_files(&array, copies(2, 1024, &[1], 64), true);
    assert!(matches!(checked.verify(64, 72), VerifyOutcome::Gone | VerifyOutcome::Inconclusive(_)));
    let found = checked.mismatches();
    assert_eq!((found.len(), found[0].resolution), (1, Resolution::Unchecked), "{found:?}");
    assert_eq!(checked.log.facts().overwritten.in_vain, 1);
}

#[test]
fn a_last_step_that_another_program_ended_and_reset_is_inconclusive() {
    let array = raid6();
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, 32 * CHUNK), VerifyOutcome::Clean);
    checked.verifier.submit(OpId(1), SectorRange::new(32 * CHUNK, SECTORS));
    array.read("sync_completed").unwrap();
    array.write("sync_action", "idle").unwrap();
    array.write("sync_max", "max").unwrap();
    array.write("sync_min", "0").unwrap();
    let answer = checked.verifier.wait(Nanos::from_secs(60)).unwrap();
    assert!(matches!(answer.outcome, VerifyOutcome::Inconclusive(_)), "{:?}", answer.outcome);
    assert_eq!(checked.verify(32 * CHUNK, SECTORS), VerifyOutcome::Clean);
}

#[test]
fn a_check_that_another_program_began_in_between_goes_first() {
    let array = raid6();
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, CHUNK), VerifyOutcome::Clean);
    // Another check would stop at the scrub's sync_max for ever.
    array.with(model::ModelState::interrupt);
    array.write("sync_action", "check").unwrap();
    array.read("sync_completed").unwrap();
    assert_eq!(checked.verify(CHUNK, 2 * CHUNK), VerifyOutcome::Gone);
    assert!(checked.stopped().contains("by another program"), "{}", checked.stopped());
    drop(checked.verifier);
    assert_eq!(array.knobs(), ("check".to_owned(), CHUNK, None), "theirs goes on, and to the end");
}

#[test]
fn a_check_that_another_program_ended_is_not_continued() {
    let array = raid6();
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, CHUNK), VerifyOutcome::Clean);
    array.write("sync_action", "idle").unwrap();
    assert_eq!(checked.verify(CHUNK, 2 * CHUNK), VerifyOutcome::Gone);
    assert!(checked.stopped().contains("its check stopped"), "{}", checked.stopped());
    drop(checked.verifier);
    assert_at_rest(&array);
}

#[test]
fn a_check_that_was_cut_short_counts_for_nothing() {
    let array = raid6();
    let folder = tempfile::tempdir().unwrap();
    let mut stepper = stepper(&array, folder.path());
    stepper.begin(SectorRange::new(0, 8 * CHUNK), SyncAction::Check).unwrap();
    assert!(stepper.poll().is_none() && stepper.poll().is_none());
    array.with(model::ModelState::interrupt);
    assert!(matches!(stepper.poll(), Some(Err(StepObstacle::CutShort))));
    // Another program interrupts it and begins a check of its own, behind the end of the range.
    stepper.begin(SectorRange::new(0, 8 * CHUNK), SyncAction::Check).unwrap();
    assert!(stepper.poll().is_none());
    array.with(model::ModelState::interrupt);
    array.write("sync_max", "max").unwrap();
    array.write("sync_min", &(20 * CHUNK).to_string()).unwrap();
    array.write("sync_action", "check").unwrap();
    let ended = loop {
        if let Some(ended) = stepper.poll() {
            break ended;
        }
    };
    assert!(matches!(ended, Err(StepObstacle::NotOwn(_))), "{ended:?}");
    drop(stepper);
    assert_eq!(array.knobs(), ("check".to_owned(), 20 * CHUNK, None), "his is left alone");
}

#[test]
fn values_that_the_owner_sets_while_the_scrub_has_no_check_are_kept() {
    let array = raid6();
    let folder = tempfile::tempdir().unwrap();
    let mut stepper = stepper(&array, folder.path());
    let check = |stepper: &mut MdStepper, start: u64| {
        stepper.begin(SectorRange::at(start, CHUNK), SyncAction::Check).unwrap();
        while stepper.poll().is_none() {}
    };
    check(&mut stepper, 512);
    assert!(stepper.is_resting());
    stepper.release().unwrap();
    assert_at_rest(&array);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    array.write("sync_min", "2048").unwrap();
    check(&mut stepper, 512 + CHUNK);
    drop(stepper);
    assert_eq!(array.knobs(), ("idle".to_owned(), 2048, None));
}

#[test]
fn a_member_that_is_lost_in_between_ends_the_check() {
    let array = raid6();
    let mut checked = checked(&array);
    assert_eq!(checked.verify(0, CHUNK), VerifyOutcome::Clean);
    array.with(model::ModelState::interrupt);
    array.set_file("degraded", "1");
    assert_eq!(checked.verify(CHUNK, 2 * CHUNK), VerifyOutcome::Gone);
    assert!(checked.stopped().contains("1 of its 4 members are missing"), "{}", checked.stopped());
}

#[test]
fn knobs_of_a_killed_scrub_are_put_back_once_and_not_after_another_boot() {
    let folder = tempfile::tempdir().unwrap();
    let boot = crate::clock::name();
    let open = |array: &ModelArray| {
        let array = array.clone();
        move |name: &str| (name == "md0").then(|| Box::new(array.clone()) as Box<dyn MdKnobs>)
    };
    // Whether it was resting, running or about to begin; its owner's knobs do not have the default values.
    for polls in 0..6 {
        let array = raid6();
        array.write("sync_max", "4096").unwrap();
        array.write("sync_min", "1024").unwrap();
        let mut killed = stepper(&array, folder.path());
        killed.begin(SectorRange::new(2048, 2048 + CHUNK), SyncAction::Check).unwrap();
        while killed.poll().is_none() {}
        killed.begin(SectorRange::new(2048 + CHUNK, 2048 + 8 * CHUNK), SyncAction::Check).unwrap();
        (0..polls).for_each(|_| drop(killed.poll()));
        std::mem::forget(killed);
        let lines = put_back_with(folder.path(), &boot, open(&array));
        assert!(lines.len() == 1 && lines[0].contains("are put back"), "{lines:?}");
        assert_eq!(array.knobs(), ("idle".to_owned(), 1024, Some(4096)), "{polls}");
        assert_eq!(put_back_with(folder.path(), &boot, open(&array)), Vec::<String>::new());
    }
    // Another program has begun a check since: it is not ended, but let run beyond the scrub's end.
    let array = raid6();
    let mut killed = stepper(&array, folder.path());
    killed.begin(SectorRange::new(0, CHUNK), SyncAction::Check).unwrap();
    while killed.poll().is_none() {}
    std::mem::forget(killed);
    array.write("sync_action", "idle").unwrap();
    array.write("sync_action", "check").unwrap();
    put_back_with(folder.path(), &boot, open(&array));
    assert_eq!(array.knobs(), ("check".to_owned(), CHUNK, None));
    array.with(model::ModelState::interrupt);
    put_back_with(folder.path(), &boot, open(&array));
    // After a boot there is nothing to put back.
    let array = raid6();
    let mut killed = stepper(&array, folder.path());
    killed.begin(SectorRange::new(0, CHUNK), SyncAction::Check).unwrap();
    std::mem::forget(killed);
    assert_eq!(put_back_with(folder.path(), "another boot", open(&array)), Vec::<String>::new());
    assert_eq!(array.knobs(), ("check".to_owned(), 0, Some(CHUNK)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_guard_that_makes_no_sense_touches_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for array in ["../../kernel", "sda", "md0/../md1"] {
        let text = format!("scrubjay md guard 1\narray {array}\nkey k\nboot b\nbefore 0 max\nwindow 0 128\n");
        std::fs::write(folder.path().join("x.md-guard"), text).unwrap();
        let lines = put_back_with(folder.path(), "b", |_| panic!("it is not opened"));
        assert!(lines.len() == 1 && lines[0].contains("makes no sense"), "{lines:?}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn an_array_that_may_not_be_checked_is_refused_and_left_unchanged() {
    let refused = |file: &str, text: &str| {
        let array = raid6();
        array.set_file(file, text);
        let refusal = MdGeometry::read(&array, 2 * SECTORS).expect_err("refused");
        assert_at_rest(&array);
        refusal.to_string()
    };
    assert!(refused("degraded", "1").starts_with("is degraded: 1 of its 4 members"));
    assert!(refused("dev-sdb/state", "faulty").starts_with("is degraded: 1 of its 4"));
    assert!(refused("array_state", "read-auto").contains("mount it"));
    assert!(refused("array_state", "inactive").starts_with("is inactive"));
    assert!(refused("reshape_position", "1024").starts_with("is being reshaped"));
    assert!(refused("level", "raid0").contains("keeps nothing twice"));
    assert!(refused("chunk_size", "33554432").contains("chunks of 32 MiB"));
    let array = raid6();
    array.write("sync_action", "check").unwrap();
    assert_eq!(MdGeometry::read(&array, 0), Err(MdRefusal::Busy("check".to_owned())));
    let array = raid6();
    array.with(|state| drop(state.files.remove("dev-sdc/block/dev")));
    assert_eq!(MdGeometry::read(&array, 0), Err(MdRefusal::Degraded(1, 4)), "it was pulled");
    let array = ModelArray::new("raid10", 4, SECTORS, CHUNK);
    array.set_file("dev-sdd/bad_blocks", "4000 8\n");
    assert_eq!(MdGeometry::read(&array, SECTORS), Err(MdRefusal::BadBlocks("sdd".to_owned())));
}

#[test]
fn positions_are_those_of_a_member_or_of_a_raid_10() {
    let read = |level: &str, chunk, array_sectors| {
        let geometry = MdGeometry::read(&ModelArray::new(level, 4, SECTORS, chunk), array_sectors).unwrap();
        (geometry.sectors, geometry.block())
    };
    assert_eq!(read("raid1", 0, SECTORS), (SECTORS, 8));
    assert_eq!(read("raid10", CHUNK, 2 * SECTORS), (2 * SECTORS, CHUNK));
    assert_eq!(read("raid5", CHUNK, 3 * SECTORS), (SECTORS, CHUNK));
}
