//! Every state of small stripes: the shipped code never answers wrongly, and the known mistakes do, in the known way.

use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::model::{
    Increment, Lists, ModelSetup, SchemeFinding, SearchOutcome, SilentCorruption, StoryStep, check, crash, table_one,
};

/// Chunks of a checked stripe, at most. Unoptimized test runs check smaller stripes.
const SLOTS_MAX: usize = if cfg!(debug_assertions) { 4 } else { 6 };

fn assert_right(setup: &ModelSetup) {
    let outcome = check(setup);
    assert!(outcome.is_complete, "{setup:?}: there is an end of states");
    assert!(outcome.is_right(), "{setup:?}:\n{}", stories(&outcome));
    assert!(outcome.states >= 10 && outcome.steps > 100, "{setup:?}: something happens");
}

fn lines(story: &[StoryStep]) -> Vec<String> {
    story.iter().map(StoryStep::to_string).collect()
}

fn stories(outcome: &SearchOutcome) -> String {
    outcome.stories.iter().map(|story| lines(story).join("\n")).collect::<Vec<_>>().join("\n--\n")
}

#[test]
fn stamp_is_right_in_every_state() {
    ModelSetup::all(Scheme::Stamp, SLOTS_MAX).for_each(|setup| assert_right(&setup));
}

#[test]
fn hybrid2_is_right_in_every_state() {
    ModelSetup::all(Scheme::Hybrid2, SLOTS_MAX).for_each(|setup| assert_right(&setup));
}

#[test]
fn hybrid1_is_right_when_versions_are_taken_from_all_lists() {
    let setups = ModelSetup::all(Scheme::Hybrid1, SLOTS_MAX);
    setups.for_each(|setup| assert_right(&ModelSetup { increment: Increment::Greatest, ..setup }));
}

#[test]
fn a_literal_hybrid1_gives_one_version_to_two_contents() {
    for (data, rest) in [(2, "D1"), (3, "D1 D2")] {
        let setup =
            ModelSetup { writes_degraded: false, steps_max: Some(4), ..ModelSetup::new(Scheme::Hybrid1, data, 2) };
        let outcome = check(&setup);
        let survivors = format!("D0{} P0", &rest[2..]);
        let expected = [
            format!("write D0 (reconstruct-write, reads {rest} and appendices of D0 P0); the write of D0 is lost"),
            format!("write D0 (reconstruct-write, reads {rest} and appendices of D0); the write of P0 is lost"),
            "the member of D1 fails".to_owned(),
            format!("read D1 (reconstruct, reads {survivors} and appendices of P1): WRONG CONTENT of D1"),
        ];
        assert_eq!(
            outcome.stories.iter().map(|story| lines(story)).collect::<Vec<_>>(),
            [expected.to_vec()],
            "{data}+2"
        );
    }
}

#[test]
fn a_literal_hybrid1_is_not_saved_by_read_modify_write_once_it_is_degraded() {
    // k = m + 2: read-modify-write is the plan for one chunk, and reads its old version and all lists.
    let healthy = ModelSetup {
        every_mode: false,
        writes_degraded: false,
        steps_max: Some(5),
        ..ModelSetup::new(Scheme::Hybrid1, 4, 2)
    };
    assert_eq!(check(&healthy).wrong, 0);
    let degraded = check(&ModelSetup { writes_degraded: true, steps_max: Some(4), ..healthy });
    assert!(degraded.wrong > 0, "a missing chunk's version is found in one list alone");
}

#[test]
fn a_rebuild_by_one_list_is_wrong_with_versions_and_stuck_with_checksums() {
    for scheme in [Scheme::Hybrid1, Scheme::Stamp, Scheme::Hybrid2, Scheme::Pure] {
        let outcome = check(&ModelSetup { lists: Lists::One, steps_max: Some(4), ..ModelSetup::new(scheme, 2, 2) });
        assert!(!outcome.is_right(), "{scheme}");
        assert_eq!(outcome.wrong > 0, scheme.has_versions(), "{scheme}: a neighbour's copy contradicts a stale list");
    }
}

#[test]
fn a_bare_array_is_wrong_and_pure_cannot_do_without_its_parities() {
    assert!(check(&ModelSetup::new(Scheme::None, 2, 1)).wrong > 0);
    let pure = check(&ModelSetup::new(Scheme::Pure, 2, 2));
    assert!(pure.is_complete && pure.wrong == 0 && pure.errors > 0, "its parities do not check themselves");
    assert_right(&ModelSetup::new(Scheme::Pure, 3, 1));
}

#[test]
fn checksum_mirroring_needs_a_neighbour() {
    for parity in 1..=3 {
        let outcome = check(&ModelSetup::new(Scheme::Hybrid2, 1, parity));
        assert!(outcome.is_complete && outcome.wrong == 0 && outcome.errors > 0, "1+{parity}");
    }
}

#[test]
fn a_crash_alone_loses_nothing() {
    for scheme in Scheme::ALL {
        for (data, parity, writes_max) in [(1, 1, 2), (2, 1, 2), (3, 1, 1), (2, 2, 2), (3, 2, 1), (4, 2, 1), (3, 3, 1)]
        {
            let crashes = crash(&ModelSetup::new(scheme, data, parity), writes_max, 0);
            let text = crashes.stories.concat().join("\n");
            assert_eq!((crashes.wrong, crashes.errors), (0, 0), "{scheme} {data}+{parity}:\n{text}");
            assert!(crashes.cases > 10);
        }
    }
}

#[test]
fn after_a_crash_with_members_missing_a_chunk_is_right_or_an_error() {
    for scheme in Scheme::ALL {
        for (data, parity, writes_max) in [(1, 1, 2), (2, 1, 2), (3, 1, 1), (2, 2, 1), (3, 2, 1)] {
            let crashes = crash(&ModelSetup::new(scheme, data, parity), writes_max, parity);
            assert_eq!(crashes.wrong, 0, "{scheme} {data}+{parity}:\n{}", crashes.stories.concat().join("\n"));
            assert!(crashes.errors > 0 || data == 1, "the write hole is open when something is missing");
        }
    }
}

/// Li & Lee 2014, Table I, as corrected in docs/decisions.md.
#[test]
fn broken_rows_give_table_1_of_the_paper_as_corrected() {
    let table = table_one();
    let letters =
        table.primitives.map(|row| row.map(|is_found| if is_found { 'Y' } else { '-' }).iter().collect::<String>());
    assert_eq!(letters, ["-Y-YY-Y", "--Y-YYY", "Y------", "YYYYYYY"]);
    for row in &table.schemes {
        let expected = match (row.scheme, row.is_parity) {
            (Scheme::None, _) => [SchemeFinding::Missed; 7],
            // Nothing protects the part of a parity's row in front of its list.
            (Scheme::Pure, true) => SilentCorruption::ALL.map(|kind| match kind {
                SilentCorruption::TornWrite | SilentCorruption::MisdirectedWriteFront => SchemeFinding::Missed,
                _ => SchemeFinding::Located,
            }),
            _ => [SchemeFinding::Located; 7],
        };
        assert_eq!(row.found, expected, "{} {}", row.scheme, if row.is_parity { "parity" } else { "data" });
    }
}
