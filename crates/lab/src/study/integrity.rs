//! `scrubjay study integrity`: the I/Os that integrity schemes add to an array.

use super::output_folder;
use super::spinner::Spinner;
use crate::args::StudyIntegrity;
use anyhow::Result;
use scrubjay_cli::bench;
use scrubjay_cli::exit::Exit;
use scrubjay_cli::page::StudyProvenance;
use scrubjay_core::units::Bytes;
use scrubjay_research::parallel;
use scrubjay_sim::integrity::table3::{WORKLOADS, Workload};
use scrubjay_study::integrity::{CHUNKS, IntegrityCase, page};

/// The exhibits whose captions are printed.
const FINDINGS: [&str; 4] = ["integrity-volume", "integrity-table2", "integrity-workloads-8k", "integrity-chooser"];

/// Makes the study.
pub fn run(args: &StudyIntegrity) -> Result<Exit> {
    output_folder::check(&args.out)?;
    let machine = bench::HostMachine::read(); // before this process itself keeps it busy
    let mut facts = StudyProvenance::of_this_run();
    facts.add("seed", args.seed.to_string());
    facts.add("requests", format!("{} of each workload", args.requests));
    let pieces: Vec<(Workload, Bytes)> =
        WORKLOADS.iter().flat_map(|workload| CHUNKS.map(|chunk| (*workload, chunk))).collect();
    let spinner = Spinner::with("counting the disk I/Os of twelve workloads");
    let count = |&(workload, chunk): &(Workload, Bytes)| {
        IntegrityCase::count(workload, chunk, args.requests as usize, args.seed)
    };
    let cases = parallel::share(&pieces, count);
    drop(spinner);
    let speeds = if args.no_speed {
        Vec::new()
    } else {
        let _spinner = Spinner::with("measuring how fast stripes are encoded");
        bench::figures(&bench::sweep(&bench::BenchSetting::PAGE)?, &machine.describe())
    };
    let spinner = Spinner::with("damaging rows of small stripes");
    let page = page(&cases, speeds);
    drop(spinner);
    output_folder::write(&page, &args.out, &facts, &FINDINGS)
}
