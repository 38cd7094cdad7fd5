//! What the schemes find: Table I on rows, all states of small stripes, and the shortest ways to wrong answers.

use super::kinds;
use crate::say;
use scrubjay_chart::Table;
use scrubjay_core::volume::integrity::scheme::Scheme;
use scrubjay_sim::model::{
    Crashes, Increment, Lists, ModelSetup, Primitive, SchemeFinding, SearchOutcome, SilentCorruption, StoryPlan,
    StoryStep, check, crash, table_one,
};

/// The largest stripe, in chunks, whose states are checked for the page; the tests check larger ones.
const SLOTS_MAX: usize = 5;
/// The largest stripe under pure, in chunks: its rows do not check themselves, so there are far more states.
const PURE_SLOTS_MAX: usize = 4;
/// The number of steps to search with literal versions: these can lag ever further behind, so the states have no end.
const LITERAL_STEPS_MAX: usize = 5;

/// The paper's Table I, by [`Primitive::ALL`], then by [`SilentCorruption::ALL`]; `Y`: detected.
const PAPER: [&str; 4] = ["-Y-YY-Y", "--Y-YYY", "Y------", "YYYYYYY"];

/// Table I: the corruptions of a data chunk that each primitive alone detects.
pub(super) fn primitives() -> Table {
    let found = table_one().primitives;
    let letters = |found: [bool; 7]| found.map(|is_found| if is_found { 'Y' } else { '-' }).iter().collect::<String>();
    let agrees = match found.map(letters) == PAPER {
        true => "Every cell is the paper's.",
        false => "Not every cell is the paper's.",
    };
    let row = |(at, kind): (usize, &SilentCorruption)| {
        let cells = found.iter().map(|found| if found[at] { "detected" } else { "-" });
        std::iter::once(kind.name()).chain(cells).map(str::to_owned).collect()
    };
    Table {
        name: "integrity-table1".into(),
        title: "What each primitive detects".into(),
        caption: format!(
            "A data chunk was broken in every variant of each kind of silent corruption, and its row opened by the code that \
             ships. Stray rows carry the version that the right row has. {agrees}"
        ),
        head: std::iter::once("").chain(Primitive::ALL.map(Primitive::name)).map(str::to_owned).collect(),
        rows: SilentCorruption::ALL.iter().enumerate().map(row).collect(),
    }
}

/// The corruptions that whole schemes detect or locate.
pub(super) fn schemes() -> Table {
    let found = table_one().schemes;
    let name = |finding| match finding {
        SchemeFinding::Missed => "-",
        SchemeFinding::Detected => "detected",
        SchemeFinding::Located => "located",
    };
    Table {
        name: "integrity-schemes".into(),
        title: "What each scheme finds in a stripe".into(),
        caption:
            "Rows of a stripe 4+2 were broken in the same ways, data chunks and parities, and judged by the code that \
                  ships. Located: the broken row is named, and no other."
                .into(),
        head: kinds::head(),
        rows: kinds::rows(|scheme, is_parity, at| {
            let row = found.iter().find(|row| (row.scheme, row.is_parity) == (scheme, is_parity));
            name(row.expect("all schemes are in it").found[at])
        }),
    }
}

/// The number of states, and of wrong answers in them.
pub(super) fn states() -> Table {
    let greatest = |setup: ModelSetup| ModelSetup { increment: Increment::Greatest, ..setup };
    let checked = [
        row(ModelSetup::all(Scheme::Pure, PURE_SLOTS_MAX)),
        row(ModelSetup::all(Scheme::Hybrid1, SLOTS_MAX).map(greatest)),
        row(ModelSetup::all(Scheme::Hybrid2, SLOTS_MAX)),
        row(ModelSetup::all(Scheme::Stamp, SLOTS_MAX)),
    ];
    Table {
        name: "integrity-states".into(),
        title: "All states of small stripes".into(),
        caption: format!(
            "Every state that a stripe of up to {SLOTS_MAX} chunks can reach (reads, writes in either mode, scrubs, failing \
             and rebuilt members), with one silently corrupt row at a time and up to m - 1 others missing; under pure, up to \
             {PURE_SLOTS_MAX} chunks. hybrid1 takes its versions from all lists here. Crash: every way in which one write of \
             a stripe 2+2 can be cut off, nothing else being wrong."
        ),
        head: [
            "scheme",
            "stripes",
            "states",
            "steps",
            "wrong answers",
            "needless errors",
            "crashes",
            "lost in a crash",
        ]
        .map(str::to_owned)
        .to_vec(),
        rows: checked.into_iter().collect(),
    }
}

fn row(setups: impl Iterator<Item = ModelSetup>) -> Vec<String> {
    let setups: Vec<ModelSetup> = setups.collect();
    let outcomes: Vec<SearchOutcome> = setups.iter().map(check).collect();
    let sum = |count: fn(&SearchOutcome) -> u64| say::count(outcomes.iter().map(count).sum::<u64>() as f64);
    let Crashes { cases, wrong, errors, .. } = crash(&ModelSetup::new(setups[0].scheme, 2, 2), 1, 0);
    vec![
        setups[0].scheme.name().to_owned(),
        setups.len().to_string(),
        sum(|outcome| outcome.states as u64),
        sum(|outcome| outcome.steps),
        sum(|outcome| outcome.wrong),
        sum(|outcome| outcome.errors + outcome.unplanned),
        say::count(cases as f64),
        (wrong + errors).to_string(),
    ]
}

/// The first hole: missing chunks are rebuilt from one list only.
pub(super) fn one_list() -> Table {
    let setup =
        |scheme| ModelSetup { lists: Lists::One, steps_max: Some(LITERAL_STEPS_MAX), ..ModelSetup::new(scheme, 2, 2) };
    let schemes = [Scheme::Hybrid1, Scheme::Stamp, Scheme::Hybrid2];
    Table {
        name: "integrity-hole-list".into(),
        title: "A hole: rebuilt by one list".into(),
        caption: "The shortest ways to a wrong answer on 2+2 if what is missing is rebuilt by a parity whose list was not \
                  compared with the others'. (Where checksums are mirrored, a neighbour contradicts it, and nothing decides: \
                  an error that need not be.) As shipped, all lists are compared."
            .into(),
        head: head("scheme, step"),
        rows: schemes.into_iter().flat_map(|scheme| story(scheme.name(), &setup(scheme))).collect(),
    }
}

/// The second hole: Hybrid-1 takes the new version from the chunk being written.
pub(super) fn versions() -> Table {
    let setup = |data| ModelSetup {
        writes_degraded: false,
        steps_max: Some(LITERAL_STEPS_MAX),
        ..ModelSetup::new(Scheme::Hybrid1, data, 2)
    };
    let degraded = ModelSetup { every_mode: false, writes_degraded: true, ..setup(4) };
    let cases = [("2+2", setup(2)), ("3+2", setup(3)), ("degraded 4+2", degraded)];
    Table {
        name: "integrity-hole-version".into(),
        title: "A hole: one version of two contents".into(),
        caption: "The shortest ways to a wrong answer of hybrid1 if a new version is the one found on the chunk, plus 1: after \
                  a lost write the same number is given twice. Degraded: written while a member is missing; with \
                  all members 4+2 has none so short. stamp numbers the writes of the whole array."
            .into(),
        head: head("stripe, step"),
        rows: cases.iter().flat_map(|(name, setup)| story(name, setup)).collect(),
    }
}

fn head(first: &str) -> Vec<String> {
    [first, "what happens", "how", "reads", "appendices"].map(str::to_owned).to_vec()
}

/// The shortest sequence of steps to a wrong answer, a table row per step.
fn story(name: &str, setup: &ModelSetup) -> Vec<Vec<String>> {
    let story = check(setup).stories.into_iter().next().unwrap_or_default();
    let row = |(at, step): (usize, &StoryStep)| {
        let StoryPlan { mode, chunks, appendices } = step.plan.clone().unwrap_or_default();
        let event = format!("{}{}", step.event, step.wrong);
        vec![format!("{name}, {}", at + 1), event, mode.to_owned(), chunks, appendices]
    };
    story.iter().enumerate().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn table_1_is_the_papers() {
        let table = primitives();
        let column = |at: usize| table.rows.iter().map(move |row| if row[at] == "detected" { 'Y' } else { '-' });
        assert_eq!([1, 2, 3, 4].map(|at| column(at).collect::<String>()), PAPER);
        assert!(table.caption.contains("Every cell is the paper's."));
    }

    #[test]
    fn schemes_locate_every_kind_but_in_pures_parities() {
        for row in schemes().rows {
            let [none, pure, others @ ..] = &row[1..] else { panic!("five schemes") };
            // Under pure, the content of a parity is not protected; the list next to it is.
            let is_open = ["torn write, parity", "misdirected write, front, parity"].contains(&&row[0][..]);
            assert_eq!((&none[..], &pure[..]), ("-", if is_open { "-" } else { "located" }), "{row:?}");
            assert!(others.len() == 3 && others.iter().all(|cell| cell == "located"), "{row:?}");
        }
    }

    #[test]
    fn every_known_mistake_leads_to_a_wrong_answer_and_the_shipped_code_to_none() {
        let ends = |table: Table| {
            let is_last = |at: &usize| table.rows.get(at + 1).is_none_or(|next| next[0].ends_with(", 1"));
            let rows = (0..table.rows.len()).filter(is_last);
            rows.map(|at| format!("{}: {}", table.rows[at][0], table.rows[at][1])).collect::<Vec<_>>()
        };
        let expected = [
            "hybrid1, 3: read D0: WRONG CONTENT of D0",
            "stamp, 3: read D0: WRONG CONTENT of D0",
            "hybrid2, 3: rebuild D0 on a new member: ERROR",
        ];
        assert_eq!(ends(one_list()), expected);
        let expected = [
            "2+2, 4: read D1: WRONG CONTENT of D1",
            "3+2, 4: read D1: WRONG CONTENT of D1",
            "degraded 4+2, 4: read D0: WRONG CONTENT of D0",
        ];
        assert_eq!(ends(versions()), expected);
        let whole = ModelSetup { every_mode: false, writes_degraded: false, ..ModelSetup::new(Scheme::Hybrid1, 4, 2) };
        let outcome = check(&ModelSetup { steps_max: Some(LITERAL_STEPS_MAX), ..whole });
        assert_eq!((outcome.wrong, outcome.states > 1000), (0, true), "what the caption says of 4+2: {outcome:?}");
    }

    #[test]
    fn the_shipped_schemes_answer_correctly_in_every_state() {
        for row in states().rows {
            let [_, _, states, _, wrong, errors, crashes, lost] = &row[..] else { panic!("eight columns") };
            let number = |cell: &str| cell.replace(',', "").parse::<u64>().unwrap();
            assert!(number(states) > 1000 && number(crashes) > 10, "{row:?}");
            assert_eq!((&wrong[..], &lost[..]), ("0", "0"), "{row:?}");
            assert_eq!(errors == "0", row[0] != "pure", "its parities do not check themselves: {row:?}");
        }
    }
}
