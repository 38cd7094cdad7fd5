//! `cargo xtask test`: everything that must hold, in steps; what cannot be run here is said loudly.

mod packages;
mod steps;

use crate::place;
use anyhow::{Result, ensure};
use std::fmt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use steps::{BUILD, STEPS, Step};

/// The exit status by which a lab script says "this cannot be run here" (as in Automake's test protocol).
const STATUS_NOT_RUN: i32 = 77;

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    Failed,
    NotRun(String),
}

/// What the summary tells of a step.
struct Row {
    name: &'static str,
    outcome: Outcome,
    took: Duration,
}

/// Runs all steps, or those with every word of `arguments` in their name. True when none failed.
///
/// # Errors
/// When no step has that name.
pub fn run(arguments: &[String]) -> Result<bool> {
    let is_chosen = |step: &&Step| arguments.iter().all(|word| step.name.contains(word.as_str()));
    let chosen: Vec<&Step> = STEPS.iter().filter(is_chosen).collect();
    ensure!(
        !chosen.is_empty(),
        "no step is called that; there are: {}",
        STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join("; ")
    );

    packages::install(&packages::missing(&chosen.iter().flat_map(|step| step.packages).copied().collect::<Vec<_>>()));
    let mut rows: Vec<Row> = Vec::new();
    for (index, step) in chosen.iter().enumerate() {
        println!("\n=== {}/{} {}\n    {}", index + 1, chosen.len(), step.name, step.command.join(" "));
        let start = Instant::now();
        let outcome = outcome(step, &rows);
        let row = Row { name: step.name, outcome, took: start.elapsed() };
        println!("=== {row}");
        rows.push(row);
    }
    println!("\n=== summary");
    for row in &rows {
        println!("{row}");
    }
    println!("{}", counts(&rows));
    Ok(!rows.iter().any(|row| row.outcome == Outcome::Failed))
}

fn outcome(step: &Step, before: &[Row]) -> Outcome {
    let has_failed = |name: &str| before.iter().any(|row| row.name == name && row.outcome == Outcome::Failed);
    if step.needs_build && has_failed(BUILD) {
        return Outcome::NotRun("nothing was built".to_owned());
    }
    let missing = packages::missing(step.packages);
    if !missing.is_empty() {
        return Outcome::NotRun(format!("needs: {}", packages::install_line(&missing)));
    }
    if let Some(component) = step.component.filter(|component| !has_component(step, component)) {
        return Outcome::NotRun(format!("needs: rustup component add {component}"));
    }
    let mut command = Command::new(step.command[0]);
    command.args(&step.command[1..]).envs(step.environment.iter().copied()).stdin(Stdio::null());
    command.env("SCRUBJAY", place::target_folder().join("release/scrubjay")); // what the lab's scripts run
    match command.status() {
        Ok(status) if status.success() => Outcome::Passed,
        Ok(status) if status.code() == Some(STATUS_NOT_RUN) => {
            Outcome::NotRun("this machine cannot; see above".to_owned())
        }
        Ok(_) => Outcome::Failed,
        Err(error) => {
            println!("{}: {error}", step.command[0]);
            Outcome::Failed
        }
    }
}

/// Whether the step's cargo command is there, if need be after asking rustup for it.
fn has_component(step: &Step, component: &str) -> bool {
    let runs = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let is_there = || runs(step.command[0], &[step.command[1], "--version"]);
    is_there() || (runs("rustup", &["component", "add", component]) && is_there())
}

/// The very last line, which machines read.
fn counts(rows: &[Row]) -> String {
    let count = |wanted: fn(&Outcome) -> bool| rows.iter().filter(|row| wanted(&row.outcome)).count();
    let passed = count(|outcome| *outcome == Outcome::Passed);
    let failed = count(|outcome| *outcome == Outcome::Failed);
    let skipped = count(|outcome| matches!(outcome, Outcome::NotRun(_)));
    format!("{passed} passed, {failed} failed, {skipped} skipped")
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        match &self.outcome {
            Outcome::Passed => write!(f, "passed   {seconds:6.1} s  {}", self.name),
            Outcome::Failed => write!(f, "FAILED   {seconds:6.1} s  {}", self.name),
            Outcome::NotRun(why) => write!(f, "NOT RUN            {} ({why})", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: Outcome) -> Row {
        Row { name: "a step", outcome, took: Duration::from_millis(1250) }
    }

    #[test]
    fn the_last_line_counts_every_outcome() {
        let rows =
            [row(Outcome::Passed), row(Outcome::NotRun("no root".into())), row(Outcome::Passed), row(Outcome::Failed)];
        assert_eq!(counts(&rows), "2 passed, 1 failed, 1 skipped");
        assert_eq!(counts(&[]), "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_row_tells_time_or_reason() {
        assert_eq!(row(Outcome::Failed).to_string(), "FAILED      1.2 s  a step");
        assert_eq!(row(Outcome::NotRun("no root".into())).to_string(), "NOT RUN            a step (no root)");
    }

    #[test]
    fn what_needs_the_build_is_not_run_without_it() {
        let lab = STEPS.iter().find(|step| step.needs_build).expect("the lab needs a build");
        let built = [Row { name: BUILD, outcome: Outcome::Failed, took: Duration::ZERO }];
        assert_eq!(outcome(lab, &built), Outcome::NotRun("nothing was built".into()));
    }

    #[test]
    fn names_are_unique_and_the_build_comes_before_the_lab() {
        for (index, step) in STEPS.iter().enumerate() {
            assert!(STEPS[..index].iter().all(|other| other.name != step.name));
            assert!(!step.needs_build || STEPS[..index].iter().any(|other| other.name == BUILD));
        }
    }
}
