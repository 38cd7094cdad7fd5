//! What the schemes find: Table I by injection, the check of all states of small stripes, and the ways to wrong answers.

use crate::figure::Table;
use crate::model::{Crashes, Finding, Increment, Kind, Lists, Outcome, Primitive, Setup, check, crash, table_one};
use scrubjay_core::integrity::scheme::Scheme;

/// Stripes up to this many chunks are checked for a page; the tests check larger ones.
const SLOTS_MAX: usize = 5;
/// Pure rows do not check themselves, so there are far more states.
const PURE_SLOTS_MAX: usize = 4;
/// Literal versions can lag ever further behind: there is no end of states.
const LITERAL_STEPS_MAX: usize = 5;

/// The tables, in the order in which they are read.
pub fn tables() -> [Table; 3] {
    [found(), states(), holes()]
}

/// Table I.
fn found() -> Table {
    let table = table_one();
    let name = |name: &str| name.to_owned();
    let primitives = Primitive::ALL.iter().zip(table.primitives).map(|(primitive, found)| {
        let cells = found.map(|is_found| if is_found { "detected" } else { "-" });
        std::iter::once(name(primitive.name())).chain(cells.map(name)).collect()
    });
    let schemes = table.schemes.iter().map(|row| {
        let cells = row.found.map(|found| match found {
            Finding::Missed => "-",
            Finding::Detected => "detected",
            Finding::Located => "located",
        });
        let victim = if row.is_parity { "parity" } else { "data" };
        std::iter::once(format!("{}, {victim}", row.scheme)).chain(cells.map(name)).collect()
    });
    Table {
        name: "integrity-table1".into(),
        title: "What is found of each kind of silent corruption".into(),
        caption:
            "Rows of a stripe 4+2 were broken in every variant of each kind, and read by the code that ships. Located: \
                  the broken row is named, and no other. Stray rows carry the version that the right row has."
                .into(),
        head: std::iter::once(String::new()).chain(Kind::ALL.map(|kind| name(kind.name()))).collect(),
        rows: primitives.chain(schemes).collect(),
    }
}

/// How many states there are, and what is wrong in them.
fn states() -> Table {
    let greatest = |setup: Setup| Setup { increment: Increment::Greatest, ..setup };
    let checked = [
        row("pure", Setup::all(Scheme::Pure, PURE_SLOTS_MAX)),
        row("hybrid1, versions from all lists", Setup::all(Scheme::Hybrid1, SLOTS_MAX).map(greatest)),
        row("hybrid2", Setup::all(Scheme::Hybrid2, SLOTS_MAX)),
        row("stamp", Setup::all(Scheme::Stamp, SLOTS_MAX)),
    ];
    let cut = "Pure only up to 4 chunks";
    Table {
        name: "integrity-states".into(),
        title: "All states of small stripes".into(),
        caption: format!(
            "Every state that a stripe of up to {SLOTS_MAX} chunks can reach (reads, writes in either mode, scrubs, failing \
             and rebuilt members), with one silently corrupt row at a time and up to m - 1 others missing. {cut}. Crash: \
             every way in which one write of a stripe 2+2 can be cut off, nothing else being wrong."
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

fn row(name: &str, setups: impl Iterator<Item = Setup>) -> Vec<String> {
    let setups: Vec<Setup> = setups.collect();
    let outcomes: Vec<Outcome> = setups.iter().map(check).collect();
    let sum = |count: fn(&Outcome) -> u64| outcomes.iter().map(count).sum::<u64>().to_string();
    let Crashes { cases, wrong, errors, .. } = crash(&Setup::new(setups[0].scheme, 2, 2), 1, 0);
    vec![
        name.to_owned(),
        setups.len().to_string(),
        sum(|outcome| outcome.states as u64),
        sum(|outcome| outcome.steps),
        sum(|outcome| outcome.wrong),
        sum(|outcome| outcome.errors + outcome.unplanned),
        cases.to_string(),
        (wrong + errors).to_string(),
    ]
}

/// The two holes, as what happens one after the other.
fn holes() -> Table {
    let one = |scheme| Setup { lists: Lists::One, steps_max: Some(LITERAL_STEPS_MAX), ..Setup::new(scheme, 2, 2) };
    let literal = |data, writes_degraded| Setup {
        writes_degraded,
        steps_max: Some(LITERAL_STEPS_MAX),
        ..Setup::new(Scheme::Hybrid1, data, 2)
    };
    let cases = [
        ("hybrid1, one list", one(Scheme::Hybrid1)),
        ("stamp, one list", one(Scheme::Stamp)),
        ("hybrid2, one list", one(Scheme::Hybrid2)),
        ("hybrid1, version found + 1, 2+2", literal(2, false)),
        ("hybrid1, version found + 1, 3+2", literal(3, false)),
        ("hybrid1, version found + 1, degraded", literal(2, true)),
    ];
    let rows = cases.iter().flat_map(|(name, setup)| {
        let story = check(setup).stories.into_iter().next().unwrap_or_default();
        let line = |(at, step): (usize, String)| vec![(*name).to_owned(), (at + 1).to_string(), step];
        story.into_iter().enumerate().map(line).collect::<Vec<_>>()
    });
    Table {
        name: "integrity-holes".into(),
        title: "The shortest ways to a wrong answer".into(),
        caption: "One list: what is missing is rebuilt by a parity whose list was not compared with the others'; where \
                  checksums are mirrored, a neighbour contradicts it, and nothing decides. Version found + 1: after a lost \
                  write the same number is given to two contents. As shipped, all lists are compared, and stamp numbers \
                  the writes of the whole array."
            .into(),
        head: ["mistake", "step", "what happens"].map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mistake_has_its_story_and_what_ships_has_none() {
        let [_, states, holes] = tables();
        let steps = |name: &str| holes.rows.iter().filter(|row| row[0].starts_with(name)).count();
        assert!(steps("hybrid1, one") >= 3 && steps("stamp, one") >= 3 && steps("hybrid2, one") >= 3);
        assert_eq!((steps("hybrid1, version found + 1, 2+2"), steps("hybrid1, version found + 1, 3+2")), (4, 4));
        let stamp = states.rows.iter().find(|row| row[0] == "stamp").unwrap();
        assert_eq!((&stamp[4][..], &stamp[5][..]), ("0", "0"));
    }
}
