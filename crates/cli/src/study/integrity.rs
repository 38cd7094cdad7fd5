//! `scrubjay study integrity`: what finding silent corruption costs an array.

use super::busy::Busy;
use super::facts::Facts;
use super::outlet;
use crate::args::StudyIntegrity;
use crate::crew;
use crate::exit::Exit;
use anyhow::Result;
use scrubjay_core::units::Bytes;
use scrubjay_sim::experiment::integrity::{CHUNKS, Case, page};
use scrubjay_sim::integrity::table3::{WORKLOADS, Workload};

/// Studies them.
pub fn run(args: &StudyIntegrity) -> Result<Exit> {
    outlet::check(&args.out)?;
    let mut facts = Facts::new();
    facts.add("seed", args.seed.to_string());
    facts.add("requests", format!("{} of each workload", args.requests));
    let pieces: Vec<(Workload, Bytes)> =
        WORKLOADS.iter().flat_map(|workload| CHUNKS.map(|chunk| (*workload, chunk))).collect();
    let busy = Busy::with("counting the disk I/Os of twelve workloads");
    let count =
        |&(workload, chunk): &(Workload, Bytes)| Case::count(workload, chunk, args.requests as usize, args.seed);
    let cases = crew::share(&pieces, count);
    drop(busy);
    outlet::write(
        &page(&cases),
        &args.out,
        &facts,
        &["integrity-table2", "integrity-workloads-8k", "integrity-chooser"],
    )
}
