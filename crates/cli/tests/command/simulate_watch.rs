//! `simulate watch`: what it prints, that the same seed gives the same year, and refusals.

use crate::bench::{Bench, RunResult};
use serde_json::Value;

fn watched(arguments: &[&str]) -> RunResult {
    Bench::with_image(1).run(&[&["simulate", "watch"], arguments].concat())
}

#[test]
fn a_year_is_shown_month_by_month_on_eighty_columns() {
    let ran = watched(&["--disks", "2", "--days", "90", "--trouble", "20"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    for line in ["2 disks, 90 days, seed 1: a model\n", "2026-03", "in time.\n", "monthly report"] {
        assert!(ran.stdout.contains(line), "`{line}` in {ran:?}");
    }
    assert!(ran.stdout.lines().all(|line| line.chars().count() <= 80), "{ran:?}");
}

#[test]
fn the_same_seed_gives_the_same_year_and_the_json_has_all_of_it() {
    let run = |seed: &str| watched(&["--disks", "1", "--days", "60", "--seed", seed, "--json"]).stdout;
    assert_eq!(run("4"), run("4"));
    assert_ne!(run("4"), run("5"));
    let document: Value = serde_json::from_str(&run("4")).expect("JSON and nothing else");
    assert_eq!((&document["schema"], &document["scrub_every_days"]), (&Value::from(1), &Value::from(35)));
    assert_eq!(document["months"].as_array().map(Vec::len), Some(3), "January, February, a day of March");
    assert!(document["messages"].as_array().is_some_and(|messages| !messages.is_empty()));
}

#[test]
fn impossible_models_are_refused() {
    watched(&["--disks", "0"]).refused(2, "1 to 60");
    watched(&["--disks", "61"]).refused(2, "1 to 60");
    watched(&["--days", "0"]).refused(2, "1 to 3660");
    assert_eq!(watched(&["--trouble", "0"]).code, Some(2));
}
