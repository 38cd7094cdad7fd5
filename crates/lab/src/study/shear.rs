//! `scrubjay study shear`: inferring the layout of an unknown array from timing alone.

use super::output_folder;
use super::spinner::Spinner;
use crate::args::StudyShear;
use anyhow::Result;
use scrubjay_cli::exit::Exit;
use scrubjay_cli::page::StudyProvenance;
use scrubjay_research::parallel;
use scrubjay_study::shear::{Effort, PIECES, page};

/// The exhibits whose captions are printed.
const FINDINGS: [&str; 3] = ["shear-verdicts", "shear-fig07-counts", "shear-versus"];

/// Makes the study.
pub fn run(args: &StudyShear) -> Result<Exit> {
    output_folder::check(&args.out)?;
    let effort = Effort { requests: args.requests as usize, repeats: args.repeats as usize, seed: args.seed };
    let mut facts = StudyProvenance::of_this_run();
    facts.add("seed", effort.seed.to_string());
    facts.add("requests", format!("N = {}, R = {}", effort.requests, effort.repeats));
    let spinner = Spinner::with("probing modelled arrays");
    let results = parallel::share(&PIECES, |piece| piece.work(effort));
    drop(spinner);
    output_folder::write(&page(results, effort), &args.out, &facts, &FINDINGS)
}
