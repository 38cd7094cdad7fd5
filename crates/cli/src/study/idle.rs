//! `scrubjay study idle`: the idle intervals of traces.

use super::busy::Busy;
use super::facts::Facts;
use super::{outlet, source};
use crate::args::StudyIdle;
use crate::crew;
use crate::exit::Exit;
use crate::load::Load;
use anyhow::Result;
use scrubjay_study::idleness::{Study, page};
use scrubjay_trace::idleness::{Counts, Idleness};

/// Studies them.
pub fn run(args: &StudyIdle) -> Result<Exit> {
    outlet::check(&args.out)?;
    let mut facts = Facts::new();
    let loads = source::read(&args.traces, &args.disk, &mut facts)?;
    let busy = Busy::with("studying idle intervals");
    let studies = crew::share(&loads, study);
    drop(busy);
    outlet::write(&page(&studies), &args.out, &facts, &["idle-numbers", "idle-hazard", "idle-lorenz"])
}

fn study(load: &Load) -> Study {
    let mut counts = Counts::default();
    load.requests.iter().for_each(|request| counts.add(request.at));
    Study { name: load.name.clone(), idleness: Idleness::of(&load.periods, &counts) }
}
