//! `scrubjay study mlet`: how long latent errors stay undetected.

use super::spinner::Spinner;
use super::{output_folder, source};
use crate::args::{StudyMlet, Traces};
use anyhow::Result;
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::page::StudyProvenance;
use scrubjay_cli::say::say;
use scrubjay_core::quantity::show_count;
use scrubjay_core::scrub::idle::{Goal, GoalForm};
use scrubjay_research::parallel;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_study::mlet::{Driven, Sweep, SweepSetup, page};

/// Makes the study.
pub fn run(args: &StudyMlet) -> Result<Exit> {
    output_folder::check(&args.out)?;
    let mut facts = StudyProvenance::of_this_run();
    let goal = Goal::new(args.slowdown, args.max_slowdown).form(GoalForm::Average);
    let setup = SweepSetup { disk: args.disk_size, disks: args.disks, seed: args.seed };
    facts.add("seed", args.seed.to_string());
    let loads = if args.files.is_empty() {
        Vec::new()
    } else {
        let (files, format, device) = (args.files.clone(), args.format.clone(), args.device.clone());
        let traces = Traces { files, format, time_unit: args.time_unit, block: args.block, device };
        source::read(&traces, &args.disk, &mut facts)?
    };

    let spinner =
        Spinner::with(format!("drawing {} disks with errors, again and again", show_count(args.disks.into())));
    let pieces: Vec<MletPiece> = std::iter::once(MletPiece::Sweep).chain(loads.iter().map(MletPiece::Load)).collect();
    let results = parallel::share(&pieces, |piece| match piece {
        MletPiece::Sweep => MletResult::Sweep(Box::new(Sweep::of(setup))),
        MletPiece::Load(load) => {
            let DeviceLoad { name, requests, periods, .. } = load;
            MletResult::Driven(Driven::of(name, requests, periods, args.disk.disk, goal, setup).map(Box::new), name)
        }
    });
    drop(spinner);

    let (mut sweep, mut driven, mut left_out) = (None, Vec::new(), Vec::new());
    for result in results {
        match result {
            MletResult::Sweep(computed) => sweep = Some(*computed),
            MletResult::Driven(Some(run), _) => driven.push(*run),
            MletResult::Driven(None, name) => left_out.push(name),
        }
    }
    let sweep = sweep.expect("it is the first piece");
    if driven.is_empty() && !loads.is_empty() {
        return Err(Usage("within this goal no trace leaves anything to a scrub".to_owned()).into());
    }
    for name in left_out {
        say(format_args!("scrubjay: {name}: left out: nothing can be read within the goal"));
    }
    let findings = if driven.is_empty() {
        ["mlet-orders", "mlet-region", "mlet-segment"]
    } else {
        ["mlet-hours", "mlet-progress", "mlet-orders"]
    };
    output_folder::write(&page(&sweep, &driven), &args.out, &facts, &findings)
}

/// An independent piece of the computation.
enum MletPiece<'a> {
    Sweep,
    Load(&'a DeviceLoad),
}

/// The result of a piece.
enum MletResult<'a> {
    Sweep(Box<Sweep>),
    Driven(Option<Box<Driven>>, &'a str),
}
