//! `scrubjay study scrub`: plays every policy against traces.

use super::spinner::Spinner;
use super::{output_folder, source};
use crate::args::StudyScrub;
use anyhow::Result;
use scrubjay_cli::exit::Exit;
use scrubjay_cli::page::StudyProvenance;
use scrubjay_core::scrub::idle::{Goal, GoalForm};
use scrubjay_research::parallel;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_study::scrub::{GOALS, page, steps, study};

/// Makes the study.
pub fn run(args: &StudyScrub) -> Result<Exit> {
    output_folder::check(&args.out)?;
    let mut facts = StudyProvenance::of_this_run();
    let loads = source::read(&args.traces, &args.disk, &mut facts)?;
    let mut goals: Vec<Goal> =
        args.slowdown.iter().map(|&mean| Goal::new(mean, args.max_slowdown).form(GoalForm::Average)).collect();
    if goals.is_empty() {
        goals = GOALS.iter().map(|goal| Goal { max: args.max_slowdown, ..*goal }).collect();
    }
    goals.sort_by_key(|goal| goal.mean);
    goals.dedup();
    let spinner = Spinner::counting("trying every policy", loads.len() as u64 * steps(goals.len()));
    let findings = parallel::share(&loads, |load: &DeviceLoad| {
        study(&load.name, &load.periods, args.disk.disk, &goals, &|| spinner.step())
    });
    drop(spinner);
    output_folder::write(&page(&findings), &args.out, &facts, &["scrub-times", "scrub-goals", "scrub-predictors"])
}
