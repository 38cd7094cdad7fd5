//! `scrubjay study shear`: how an unknown array is laid out, told by timing alone.

use super::busy::Spinner;
use super::facts::StudyProvenance;
use super::outlet;
use crate::args::StudyShear;
use crate::crew;
use crate::exit::Exit;
use anyhow::Result;
use scrubjay_study::shear::{Effort, PIECES, page};

/// What is said of the page: the captions of these exhibits.
const FINDINGS: [&str; 3] = ["shear-verdicts", "shear-fig07-counts", "shear-versus"];

/// Studies them.
pub fn run(args: &StudyShear) -> Result<Exit> {
    outlet::check(&args.out)?;
    let effort = Effort { requests: args.requests as usize, repeats: args.repeats as usize, seed: args.seed };
    let mut facts = StudyProvenance::new();
    facts.add("seed", effort.seed.to_string());
    facts.add("requests", format!("N = {}, R = {}", effort.requests, effort.repeats));
    let busy = Spinner::with("probing modelled arrays");
    let found = crew::share(&PIECES, |piece| piece.work(effort));
    drop(busy);
    outlet::write(&page(found, effort), &args.out, &facts, &FINDINGS)
}
