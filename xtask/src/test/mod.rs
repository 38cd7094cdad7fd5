//! `cargo xtask test`: runs all checks, in steps; steps that cannot be run here are reported.

mod leavings;
mod packages;
mod steps;

use crate::place;
use anyhow::{Result, ensure};
use leavings::Checkout;
use std::fmt;
use std::io::{self, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;
use std::time::{Duration, Instant};
pub use steps::BUILD;
pub use steps::PROFILE;
use steps::{LONG_STEPS, Lane, STEPS, TestStep};

/// The exit status by which a step's command reports "this cannot be run here" (as in Automake's test protocol).
pub const STATUS_NOT_RUN: i32 = 77;

/// The argument for the daily loop: only the steps with a short form, in that form.
const SMOKE: &str = "smoke";

/// The argument for the steps that take too long for every run.
const LAB_LONG: &str = "lab-long";

/// How a step ended.
#[derive(Debug, PartialEq, Eq)]
enum StepOutcome {
    Passed,
    Failed,
    NotRun(String),
}

/// A step's row in the summary.
struct SummaryRow {
    name: &'static str,
    outcome: StepOutcome,
    took: Duration,
    /// The end of its output, if it failed in a lane whose output is captured.
    tail: String,
}

/// So many lines of the output of a step that failed are repeated in the summary.
const TAIL_LINES: usize = 12;

impl SummaryRow {
    /// Is it the build, and did it fail?
    fn is_no_build(&self) -> bool {
        self.name == BUILD && self.outcome == StepOutcome::Failed
    }
}

/// Runs all steps, or those with every word of `arguments` in their name; with the word `smoke`, their short forms, if they
/// have one; with the word `lab-long`, the long steps instead. True when none failed, and nothing was left in the checkout.
///
/// # Errors
/// When no step has such a name.
pub fn run(arguments: &[String]) -> Result<bool> {
    let chosen = chosen(arguments);
    ensure!(
        !chosen.is_empty(),
        "no step is called that; there are: {}",
        STEPS.iter().map(|step| step.name).collect::<Vec<_>>().join("; ")
    );

    let (begun, before) = (Instant::now(), Checkout::now());
    packages::install(&packages::missing(&chosen.iter().flat_map(|step| step.packages).copied().collect::<Vec<_>>()));
    let mut rows = run_all(&chosen);
    let start = Instant::now();
    let outcome = left(before, Checkout::now());
    rows.push(SummaryRow {
        name: "nothing is left in the checkout",
        outcome,
        took: start.elapsed(),
        tail: String::new(),
    });
    println!("\n=== summary");
    // What failed comes last, where a reader who sees only the end of a long log finds it.
    rows.sort_by_key(|row| row.outcome == StepOutcome::Failed);
    for row in &rows {
        println!("{row}{}", row.tail);
    }
    println!("in all   {:6.1} s", begun.elapsed().as_secs_f64());
    println!("{}", counts(&rows));
    Ok(!rows.iter().any(|row| row.outcome == StepOutcome::Failed))
}

/// Runs the steps of each lane one after the other, and the lanes beside each other. A lane's step begins when the main lane has come
/// to its place in the table, or later.
fn run_all(steps: &[TestStep]) -> Vec<SummaryRow> {
    let rows: Mutex<Vec<(usize, SummaryRow)>> = Mutex::default();
    let run_step = |index: usize, output: &mut Option<String>| {
        let step = &steps[index];
        let start = Instant::now();
        let is_built = !rows.lock().unwrap_or_else(PoisonError::into_inner).iter().any(|(_, row)| row.is_no_build());
        let outcome = outcome(step, is_built, output);
        let tail =
            if outcome == StepOutcome::Failed { tail(output.as_deref().unwrap_or_default()) } else { String::new() };
        let row = SummaryRow { name: step.name, outcome, took: start.elapsed(), tail };
        let captured = output.as_deref().map(|text| format!("\n{}{text}", head(steps, index))).unwrap_or_default();
        println!("{captured}=== {row}");
        rows.lock().unwrap_or_else(PoisonError::into_inner).push((index, row));
    };
    thread::scope(|scope| {
        let run_step = &run_step;
        let lane = || {
            let (sender, queue) = mpsc::channel();
            scope.spawn(move || queue.iter().for_each(|index| run_step(index, &mut Some(String::new()))));
            sender
        };
        let (waits, apart) = (lane(), lane());
        for (index, step) in steps.iter().enumerate() {
            match step.lane {
                Lane::Waits => waits.send(index).expect("it listens until we are done"),
                Lane::Apart => apart.send(index).expect("it listens until we are done"),
                Lane::Main => {
                    print!("\n{}", head(steps, index));
                    run_step(index, &mut None);
                }
            }
        }
    });
    let mut rows = rows.into_inner().unwrap_or_else(PoisonError::into_inner);
    rows.sort_by_key(|(index, _)| *index);
    rows.into_iter().map(|(_, row)| row).collect()
}

/// The lines printed before a step.
fn head(steps: &[TestStep], index: usize) -> String {
    let TestStep { name, command, .. } = steps[index];
    format!("=== {}/{} {name}\n    {}\n", index + 1, steps.len(), command.join(" "))
}

/// The names of all steps, the long ones included.
pub fn step_names() -> Vec<&'static str> {
    STEPS.iter().chain(LONG_STEPS).map(|step| step.name).collect()
}

/// The steps to run, with the commands to run.
fn chosen(arguments: &[String]) -> Vec<TestStep> {
    let (smoke, words): (Vec<&String>, Vec<&String>) = arguments.iter().partition(|word| *word == SMOKE);
    let (long, words): (Vec<&String>, Vec<&String>) = words.into_iter().partition(|word| *word == LAB_LONG);
    let all = if long.is_empty() { STEPS } else { LONG_STEPS };
    let is_named = |step: &TestStep| words.iter().all(|word| step.name.contains(word.as_str()));
    let needs_build = all.iter().any(|step| is_named(step) && step.needs_build);
    let named = all.iter().filter(|step| is_named(step) || needs_build && step.name == BUILD).copied();
    if smoke.is_empty() { named.collect() } else { named.filter_map(TestStep::short).collect() }
}

/// Whether the run left anything in the checkout.
fn left(before: Result<Checkout, String>, after: Result<Checkout, String>) -> StepOutcome {
    let (before, after) = match (before, after) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => return StepOutcome::NotRun(why),
    };
    let left = after.since(&before);
    for entry in &left {
        println!("left in the checkout, or changed by somebody meanwhile: {entry}");
    }
    if left.is_empty() { StepOutcome::Passed } else { StepOutcome::Failed }
}

/// Runs a step; its output goes to the terminal, or is added to `output` if there is one.
fn outcome(step: &TestStep, is_built: bool, output: &mut Option<String>) -> StepOutcome {
    if step.needs_build && !is_built {
        return StepOutcome::NotRun("nothing was built".to_owned());
    }
    let missing = packages::missing(step.packages);
    if !missing.is_empty() {
        return StepOutcome::NotRun(format!("needs: {}", packages::install_line(&missing)));
    }
    if let Some(component) = step.component.filter(|component| !has_component(step, component)) {
        return StepOutcome::NotRun(format!("needs: rustup component add {component}"));
    }
    let built = place::target_folder().join(step.profile);
    let program =
        step.command[0].strip_prefix("built/").map_or_else(|| step.command[0].into(), |path| built.join(path));
    // What computes gives way: the virtual machines beside it have a processor's work to do one thing after the other, and a time limit.
    let mut command = Command::new("nice");
    command.args(["-n", if step.lane == Lane::Main { "10" } else { "0" }]).arg(program);
    command.args(&step.command[1..]).envs(step.environment.iter().copied()).stdin(Stdio::null());
    // The program that the lab's scripts run.
    command.env("SCRUBJAY", built.join("scrubjay"));
    // What types documents' commands in the lab's virtual machines is this program.
    if let Ok(xtask) = std::env::current_exe() {
        command.env("XTASK", xtask);
    }
    let ended = match output {
        None => command.status(),
        Some(text) => read(command, text),
    };
    match ended {
        Ok(status) if status.success() => StepOutcome::Passed,
        Ok(status) if status.code() == Some(STATUS_NOT_RUN) => {
            StepOutcome::NotRun("this machine cannot; see above".to_owned())
        }
        Ok(_) => StepOutcome::Failed,
        Err(error) => {
            println!("{}: {error}", step.command[0]);
            StepOutcome::Failed
        }
    }
}

/// Runs a command to its end; all its output is added to `text`.
fn read(mut command: Command, text: &mut String) -> io::Result<ExitStatus> {
    let (mut output, writer) = io::pipe()?;
    let mut child = command.stdout(writer.try_clone()?).stderr(writer).spawn()?;
    drop(command); // it holds this process's write ends of the pipe
    let mut bytes = Vec::new();
    output.read_to_end(&mut bytes)?;
    text.push_str(&String::from_utf8_lossy(&bytes));
    child.wait()
}

/// Whether the step's cargo command exists; asks rustup to install it if necessary.
fn has_component(step: &TestStep, component: &str) -> bool {
    let runs = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let is_there = || runs(step.command[0], &[step.command[1], "--version"]);
    is_there() || (runs("rustup", &["component", "add", component]) && is_there())
}

/// The last [`TAIL_LINES`] lines of a step's output, indented, each behind a line break.
fn tail(output: &str) -> String {
    let lines: Vec<&str> = output.lines().collect();
    lines[lines.len().saturating_sub(TAIL_LINES)..].iter().map(|line| format!("\n    {line}")).collect()
}

/// The last line, which is machine-readable.
fn counts(rows: &[SummaryRow]) -> String {
    let count = |wanted: fn(&StepOutcome) -> bool| rows.iter().filter(|row| wanted(&row.outcome)).count();
    let passed = count(|outcome| *outcome == StepOutcome::Passed);
    let failed = count(|outcome| *outcome == StepOutcome::Failed);
    let skipped = count(|outcome| matches!(outcome, StepOutcome::NotRun(_)));
    format!("{passed} passed, {failed} failed, {skipped} skipped")
}

impl fmt::Display for SummaryRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.took.as_secs_f64();
        match &self.outcome {
            StepOutcome::Passed => write!(f, "passed   {seconds:6.1} s  {}", self.name),
            StepOutcome::Failed => write!(f, "FAILED   {seconds:6.1} s  {}", self.name),
            StepOutcome::NotRun(why) => write!(f, "NOT RUN            {} ({why})", self.name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(outcome: StepOutcome) -> SummaryRow {
        SummaryRow { name: "a step", outcome, took: Duration::from_millis(1250), tail: String::new() }
    }

    #[test]
    fn the_last_line_counts_every_outcome() {
        let rows = [
            row(StepOutcome::Passed),
            row(StepOutcome::NotRun("no root".into())),
            row(StepOutcome::Passed),
            row(StepOutcome::Failed),
        ];
        assert_eq!(counts(&rows), "2 passed, 1 failed, 1 skipped");
        assert_eq!(counts(&[]), "0 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn a_row_shows_the_time_or_the_reason() {
        assert_eq!(row(StepOutcome::Failed).to_string(), "FAILED      1.2 s  a step");
        assert_eq!(row(StepOutcome::NotRun("no root".into())).to_string(), "NOT RUN            a step (no root)");
    }

    #[test]
    fn the_end_of_a_failed_steps_output_is_repeated() {
        let output: String = (0..50).map(|line| format!("line {line}\n")).collect();
        let tail = tail(&output);
        assert!(tail.starts_with("\n    line 38\n") && tail.ends_with("\n    line 49"), "{tail}");
    }

    #[test]
    fn steps_that_need_the_build_are_not_run_without_it() {
        let lab = STEPS.iter().find(|step| step.needs_build).expect("the lab needs a build");
        assert_eq!(outcome(lab, false, &mut None), StepOutcome::NotRun("nothing was built".into()));
        let row = |name, outcome| SummaryRow { name, outcome, took: Duration::ZERO, tail: String::new() };
        assert!(row(BUILD, StepOutcome::Failed).is_no_build());
        assert!(!row(BUILD, StepOutcome::Passed).is_no_build() && !row(lab.name, StepOutcome::Failed).is_no_build());
    }

    #[test]
    fn parallel_steps_are_listed_in_order_with_all_their_output() {
        let command = &["sh", "-c", "echo out; echo err >&2; exit 77"];
        let mut output = Some(String::new());
        let parallel = TestStep { name: "b", command, lane: Lane::Waits, ..STEPS[0] };
        let parallel = TestStep { component: None, ..parallel };
        assert!(matches!(outcome(&parallel, true, &mut output), StepOutcome::NotRun(_)));
        assert_eq!(output.as_deref(), Some("out\nerr\n"));
        let step = |name, command| TestStep { name, command, lane: Lane::Main, ..parallel };
        let rows = run_all(&[step("a", &["true"]), parallel, step("c", &["false"])]);
        assert_eq!(rows.iter().map(|row| row.name).collect::<String>(), "abc");
        assert_eq!(counts(&rows), "1 passed, 1 failed, 1 skipped");
    }

    #[test]
    fn the_daily_loop_is_the_steps_that_have_a_short_form() {
        let names = |words: &[&str]| -> Vec<&str> {
            let words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
            chosen(&words).iter().map(|step| step.name).collect()
        };
        assert_eq!(names(&[]).len(), STEPS.len());
        let smoke = names(&[SMOKE]);
        assert!(["format", "tidy"].iter().all(|name| smoke.contains(name)) && smoke.len() < STEPS.len(), "{smoke:?}");
        assert!(smoke.iter().any(|name| name.starts_with("storm: ")));
        assert_eq!(names(&[SMOKE, "tidy"]), ["tidy"]);
        assert!(names(&["storm"]).len() > names(&["storm", SMOKE]).len());
        assert_eq!(names(&[LAB_LONG]).len(), LONG_STEPS.len());
        assert_eq!(names(&[LAB_LONG, "100 times"]), [BUILD, "the watch, killed 100 times"]);
        assert_eq!(names(&["bad sectors on"]), [BUILD, "lab: bad sectors on a block device"]);
        assert_eq!(names(&["licences"]).len(), 1);
        let is_free = |step: &TestStep| [SMOKE, LAB_LONG].iter().all(|word| !step.name.contains(word));
        assert!(STEPS.iter().chain(LONG_STEPS).all(is_free), "each word has one meaning");
    }

    #[test]
    fn files_left_in_the_checkout_fail_and_without_git_nothing_is_checked() {
        let why = || Err("no git here".to_owned());
        assert_eq!(left(why(), why()), StepOutcome::NotRun("no git here".to_owned()));
        let checkout = || Checkout::read("?? notes\0", |_| false);
        assert_eq!(left(Ok(checkout()), Ok(checkout())), StepOutcome::Passed);
        assert_eq!(left(Ok(Checkout::read("", |_| false)), Ok(checkout())), StepOutcome::Failed);
    }

    #[test]
    fn names_are_unique_and_the_build_comes_before_the_lab() {
        for steps in [STEPS, LONG_STEPS] {
            for (index, step) in steps.iter().enumerate() {
                assert!(steps[..index].iter().all(|other| other.name != step.name));
                assert!(!step.needs_build || steps[..index].iter().any(|other| other.name == BUILD));
            }
        }
    }
}
