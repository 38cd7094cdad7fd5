//! docs/json.md has every field that the program prints.

use crate::bench::Bench;
use crate::served::{NAMES, Served};
use serde_json::Value;
use std::collections::BTreeSet;

const DOCUMENT: &str = include_str!("../../../../docs/json.md");

/// The fields in the table below a heading.
fn documented(heading: &str) -> BTreeSet<String> {
    let section = DOCUMENT.split(&format!("\n## {heading}\n")).nth(1).expect("a section").split("\n## ").next();
    let section = section.unwrap_or_default().split("\n### ").next().unwrap_or_default();
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    let names = rows.flat_map(|row| row.split('|').nth(1).unwrap_or_default().split(','));
    names.map(|name| name.trim().trim_matches('`').to_owned()).collect()
}

/// Adds the fields of a value, `a.b` for the field `b` of `a` or of each object in `a`.
fn fields(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| fields(item, path, found)),
        Value::Object(object) => {
            for (name, value) in object {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                fields(value, &path, found);
                found.insert(path);
            }
        }
        _ => {}
    }
}

/// The fields of each line of JSON.
fn printed(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    text.lines().for_each(|line| fields(&serde_json::from_str(line).expect("JSON"), "", &mut found));
    assert!(found.contains("schema"), "{text}");
    found
}

fn is_part_of(printed: &BTreeSet<String>, documented: &BTreeSet<String>) {
    let missing: Vec<&String> = printed.difference(documented).collect();
    assert!(missing.is_empty(), "docs/json.md lacks {missing:?}");
}

#[test]
fn the_document_has_each_field_of_a_scrub() {
    let bench = Bench::with_image(1);
    let printed = printed(&bench.run(&["scrub", "disk.img", "--json"]).stdout);
    let documented = documented("scrub");
    is_part_of(&printed, &documented);
    // Fields of objects and lists that this scrub does not have are documented beyond.
    let is_beyond = |field: &&String| field.matches('.').count() > 1;
    let unknown: Vec<&String> = documented.difference(&printed).filter(|field| !is_beyond(field)).collect();
    assert!(unknown.is_empty(), "the program prints no {unknown:?}");
}

#[test]
fn the_document_has_each_field_of_a_probe() {
    let bench = Bench::with_image(8);
    let printed = printed(&bench.run(&["probe", "disk.img", "--budget-ios", "100", "--json"]).stdout);
    let documented = documented("probe");
    is_part_of(&printed, &documented);
    let is_optional = |field: &&String| field.starts_with("kernel.") || field.starts_with("findings.");
    let unknown: Vec<&String> = documented.difference(&printed).filter(|field| !is_optional(field)).collect();
    assert!(unknown.is_empty(), "the program prints no {unknown:?}");
}

#[test]
fn the_document_has_each_field_of_tune_and_simulate() {
    let bench = Bench::with_image(1);
    assert_eq!(bench.run(&["trace", "generate", "--model", "memoryless", "--hours", "0.5", "t.csv"]).code, Some(0));
    let ran = bench.run(&["tune", "t.csv", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let tuned = printed(&ran.stdout);
    let documented_tune = documented("tune");
    // Those of a candidate, which the document names once.
    let is_repeated = |field: &str| {
        let last = field.rsplit('.').next().unwrap_or_default();
        ["candidates.", "idle_class.", "near.steady."].iter().any(|start| field.starts_with(start))
            && documented_tune.contains(last)
    };
    is_part_of(&tuned.iter().filter(|field| !is_repeated(field)).cloned().collect(), &documented_tune);
    let unknown: Vec<&String> = documented_tune.difference(&tuned).collect();
    assert!(unknown.is_empty(), "the program prints no {unknown:?}");

    let mut documented_simulation = documented("simulate scrub");
    documented_simulation.extend(documented_tune);
    for policy in [&["--policy", "budget"][..], &["--policy", "budget", "--p99-slowdown", "5ms"]] {
        let ran = bench.run(&[&["simulate", "scrub", "t.csv", "--json"], policy].concat());
        assert_eq!(ran.code, Some(0), "{ran:?}");
        let simulated = printed(&ran.stdout).into_iter().filter(|field| !field.starts_with("parameters."));
        is_part_of(&simulated.collect(), &documented_simulation);
    }
}

#[test]
fn the_document_has_each_field_of_a_volume() {
    let mut served = Served::new();
    let documented = documented("volume status");
    is_part_of(&printed(&served.run(&["volume", "status", "--json"]).stdout), &documented);
    served.serve(&NAMES[..6]);
    let status = printed(&served.run(&["volume", "status", "--json"]).stdout);
    is_part_of(&status, &documented);
    let is_optional = |field: &&String| ["device", "socket", "error"].contains(&field.as_str());
    let unknown: Vec<&String> = documented.difference(&status).filter(|field| !is_optional(field)).collect();
    assert!(unknown.is_empty(), "the program prints no {unknown:?}");
    let scrubbed = printed(&served.run(&["scrub", "photos", "--policy", "none", "--json"]).stdout);
    is_part_of(&scrubbed, &self::documented("scrub"));
    served.kill();
    let silent = served.run(&["volume", "status", "--json"]);
    if !silent.stdout.is_empty() {
        is_part_of(&printed(&silent.stdout), &documented);
    }
}
