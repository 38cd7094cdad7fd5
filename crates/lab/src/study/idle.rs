//! `scrubjay study idle`: the idle intervals of traces.

use super::spinner::Spinner;
use super::{output_folder, source};
use crate::args::StudyIdle;
use anyhow::Result;
use scrubjay_cli::exit::Exit;
use scrubjay_cli::page::StudyProvenance;
use scrubjay_research::parallel;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_study::idleness::{IdleStudy, page};
use scrubjay_trace::idleness::{Idleness, MinuteCounts};

/// Studies the traces.
pub fn run(args: &StudyIdle) -> Result<Exit> {
    output_folder::check(&args.out)?;
    let mut facts = StudyProvenance::of_this_run();
    let loads = source::read(&args.traces, &args.disk, &mut facts)?;
    let spinner = Spinner::with("studying idle intervals");
    let studies = parallel::share(&loads, study);
    drop(spinner);
    output_folder::write(&page(&studies), &args.out, &facts, &["idle-numbers", "idle-hazard", "idle-lorenz"])
}

fn study(load: &DeviceLoad) -> IdleStudy {
    let mut counts = MinuteCounts::default();
    load.requests.iter().for_each(|request| counts.add(request.at));
    IdleStudy { name: load.name.clone(), idleness: Idleness::of(&load.periods, &counts) }
}
