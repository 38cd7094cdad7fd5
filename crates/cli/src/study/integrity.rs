//! `scrubjay study integrity`: what finding silent corruption costs an array.

use super::busy::Busy;
use super::facts::Facts;
use super::outlet;
use crate::args::StudyIntegrity;
use crate::bench;
use crate::crew;
use crate::exit::Exit;
use anyhow::Result;
use scrubjay_core::units::Bytes;
use scrubjay_sim::experiment::integrity::{CHUNKS, Case, page, speed};
use scrubjay_sim::figure::Exhibit;
use scrubjay_sim::integrity::table3::{WORKLOADS, Workload};

/// Studies them.
pub fn run(args: &StudyIntegrity) -> Result<Exit> {
    outlet::check(&args.out)?;
    let machine = bench::Machine::look(); // before we are what keeps it busy
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
    let mut page = page(&cases);
    if !args.no_speed {
        let _busy = Busy::with("measuring how fast stripes are encoded");
        let speeds = bench::sweep(&bench::Setting::PAGE)?;
        page.exhibits.extend(speed::figures(&speeds, &machine.told()).into_iter().map(Exhibit::Figure));
    }
    outlet::write(&page, &args.out, &facts, &["integrity-table2", "integrity-workloads-8k", "integrity-chooser"])
}
