//! `scrubjay simulate array`: probes modelled arrays whose layout is known.

use crate::args::{ArrayNoise, ArrayQueue, SimulateArray};
use anyhow::{Context, Result};
use scrubjay_cli::args::ProbeMethodArgs;
use scrubjay_cli::exit::{Exit, Usage};
use scrubjay_cli::probe::{FormatPlace, ProbeDocument, prober};
use scrubjay_cli::say::print_line;
use scrubjay_core::layout::Shape;
use scrubjay_core::layout::{Layout, LayoutKind};
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::KnownArray;
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::rng::Rng;
use scrubjay_core::units::{Bytes, Nanos};
use scrubjay_research::parallel;
use scrubjay_sim::array::Array;
use scrubjay_sim::array::map::ChunkMap;
use scrubjay_sim::array::noise::Noise;
use scrubjay_sim::array::queue::Discipline;
use scrubjay_sim::array::setup::{ArraySetup, Odd};
use scrubjay_sim::array::truth::{Agreement, Truth};
use serde::Serialize;
use std::io::{self, Write};

/// Sectors in which the beginning of a partition is drawn: the first half of a gigabyte.
const PHASE_SECTORS_MAX: u64 = 1 << 20;

/// One probed array.
struct Trial {
    seed: u64,
    known: KnownArray,
    spent: ProbeBudget,
    agreement: Agreement,
}

/// Probes the arrays.
pub fn run(args: &SimulateArray) -> Result<Exit> {
    let model = refusal(args).map_or_else(|| model(args), Err).map_err(Usage)?;
    let seeds: Vec<u64> = (0..args.trials).map(|trial| args.how.seed.wrapping_add(trial)).collect();
    let trials = parallel::share(&seeds, |&seed| probe(args, &model, seed));
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let summary = TrialsDocument::new(&trials);
        writeln!(out, "{}", serde_json::to_string(&summary).context("the result as JSON")?)
    } else {
        print(&trials, args.allow_writes, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    Ok(Exit::Clean)
}

fn probe(args: &SimulateArray, model: &ArraySetup, seed: u64) -> Trial {
    let mut rng = Rng::new(seed);
    let phase = args.phase.unwrap_or(Bytes(rng.below(PHASE_SECTORS_MAX) * 512));
    let setup = ArraySetup { phase_bytes: phase.0, seed, ..model.clone() };
    let mut array = Array::new(setup.clone());
    let method = ProbeMethodArgs { seed: rng.bits(), ..args.how.clone() };
    let mut prober = prober(&method, array.device(), ProbeBudget::UNLIMITED, args.allow_writes);
    array.serve(&mut prober);
    let (known, spent) = (prober.known(), prober.spent());
    let agreement = Truth::of(&setup).agreement(&setup, &known);
    Trial { seed, known, spent, agreement }
}

/// Why the arguments make no sense, in one line.
fn refusal(args: &SimulateArray) -> Option<String> {
    let disks = args.disks;
    let is_absent = |disk: usize| disk >= disks;
    let no_such_disk = |option: String, disk: usize| {
        Some(format!("{option}: there is no disk {disk}; {disks} disks are numbered 0 to {}", disks.saturating_sub(1)))
    };
    if args.trials == 0 {
        return Some("--trials must be more than 0".to_owned());
    }
    if disks == 0 {
        return Some("--disks must be more than 0".to_owned());
    }
    if args.chunk.0 == 0 || !args.chunk.0.is_multiple_of(512) {
        return Some(format!("--chunk {}: a chunk is a multiple of 512 bytes, and not empty", args.chunk));
    }
    if let Some(phase) = args.phase.filter(|phase| !phase.0.is_multiple_of(512)) {
        return Some(format!("--phase {phase}: a partition begins at a multiple of 512 bytes"));
    }
    if let Some((disk, factor)) = args.slow.iter().find(|(disk, _)| is_absent(*disk)) {
        return no_such_disk(format!("--slow {disk}:{factor}"), *disk);
    }
    if let Some(disk) = args.lost.filter(|disk| is_absent(*disk)) {
        return no_such_disk(format!("--lost {disk}"), disk);
    }
    if let Some((first, second)) = args.same {
        let option = format!("--same {first},{second}");
        if first == second {
            return Some(format!("{option}: name two different disks"));
        }
        if let Some(disk) = [first, second].into_iter().find(|disk| is_absent(*disk)) {
            return no_such_disk(option, disk);
        }
    }
    args.how.refusal()
}

/// The array that the arguments describe, without the beginning of its partition.
fn model(args: &SimulateArray) -> Result<ArraySetup, String> {
    let disks = args.disks;
    let (data, parity) = match args.layout {
        LayoutKind::Raid0 | LayoutKind::ZigZag => (disks, 0),
        LayoutKind::Raid1 | LayoutKind::Chained | LayoutKind::Near => (1, 1),
        LayoutKind::Raid5Ls | LayoutKind::Raid5La | LayoutKind::Raid5Rs | LayoutKind::Raid5Ra => {
            (disks.wrapping_sub(1), 1)
        }
        LayoutKind::Raid6Md | LayoutKind::Raid6Pq => (disks.wrapping_sub(2), 2),
        LayoutKind::Rotating => {
            let parity = args.parity.ok_or("--layout rotating needs --parity")?;
            (disks.checked_sub(parity).ok_or("more parities than disks")?, parity)
        }
    };
    if args.parity.is_some_and(|wanted| wanted != parity) {
        let parities = if parity == 1 { "parity" } else { "parities" };
        return Err(format!(
            "--layout {} has {parity} {parities}, not --parity {}",
            args.layout,
            args.parity.unwrap_or(0)
        ));
    }
    if data == 0 || data > disks {
        return Err(format!("--layout {} needs {} disks or more, not --disks {disks}", args.layout, parity + 1));
    }
    let layout = Layout::new(args.layout, Shape { data, parity }, disks).map_err(|error| error.to_string())?;
    let setup = ArraySetup {
        discipline: match args.queue {
            ArrayQueue::Fcfs => Discipline::Fcfs,
            ArrayQueue::Clook => Discipline::CLook,
            ArrayQueue::Sstf => Discipline::Sstf,
        },
        noise: match args.noise {
            ArrayNoise::Clean => Noise::Clean,
            ArrayNoise::Tail => Noise::Tail,
            ArrayNoise::Heavy => Noise::Heavy,
        },
        odd: args.slow.iter().map(|&(disk, factor)| Odd { disk, rotation: factor, seek: factor }).collect(),
        same: args.same,
        lost: args.lost,
        phase_bytes: args.phase.map_or(PHASE_SECTORS_MAX * 512, |phase| phase.0),
        ..ArraySetup::new(ChunkMap::Layout(layout), args.chunk.0)
    };
    setup.refusal().map_or(Ok(setup), |why| Err(why.to_owned()))
}

fn print(trials: &[Trial], allows_writes: bool, out: &mut impl Write) -> io::Result<()> {
    if let [trial] = trials {
        let name = format!("seed {}", trial.seed);
        scrubjay_cli::probe::print(&trial.known, trial.spent, allows_writes, None, &name, None, out)?;
        let wrong = trial.agreement.parts().into_iter().filter(|(_, is_right)| !is_right);
        let wrong: Vec<&str> = wrong.map(|(name, _)| name).collect();
        return match wrong.is_empty() {
            true => writeln!(out, "all that was found is right"),
            false => print_line(out, format_args!("wrong, or not stated: {}", wrong.join("; "))),
        };
    }
    let count = |holds: &dyn Fn(&Agreement) -> bool| trials.iter().filter(|trial| holds(&trial.agreement)).count();
    let total = trials.len();
    writeln!(out, "right: {} of {total}", count(&Agreement::is_whole))?;
    for (part, (name, _)) in Agreement::default().parts().into_iter().enumerate() {
        writeln!(out, "  {name:13} {} of {total}", count(&|agreement| agreement.parts()[part].1))?;
    }
    writeln!(out, "wrong layouts accepted: {}", count(&|agreement| agreement.is_layout_wrong))?;
    let requests: u64 = trials.iter().map(|trial| trial.spent.requests).sum();
    let time: u64 = trials.iter().map(|trial| trial.spent.time.0).sum();
    let (requests, time) = (requests / total as u64, Nanos(time / total as u64));
    writeln!(out, "each took {} requests and {} of the array's time", show_count(requests), show_time(time))
}

/// The JSON of all trials.
#[derive(Debug, Serialize)]
struct TrialsDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    trials: usize,
    /// Trials in which everything was right.
    right: usize,
    wrong_layouts: usize,
    ios_mean: f64,
    seconds_mean: f64,
    runs: Vec<TrialDocument>,
}

#[derive(Debug, Serialize)]
struct TrialDocument {
    seed: u64,
    right: bool,
    pattern_right: bool,
    chunk_right: bool,
    classes_right: bool,
    copies_right: bool,
    disks_right: bool,
    layout_right: bool,
    findings_right: bool,
    said: ProbeDocument,
}

impl TrialsDocument {
    fn new(trials: &[Trial]) -> TrialsDocument {
        let mean = |value: fn(&Trial) -> f64| trials.iter().map(value).sum::<f64>() / trials.len() as f64;
        TrialsDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            trials: trials.len(),
            right: trials.iter().filter(|trial| trial.agreement.is_whole()).count(),
            wrong_layouts: trials.iter().filter(|trial| trial.agreement.is_layout_wrong).count(),
            ios_mean: mean(|trial| trial.spent.requests as f64),
            seconds_mean: mean(|trial| trial.spent.time.as_secs_f64()),
            runs: trials.iter().map(trial_document).collect(),
        }
    }
}

fn trial_document(trial: &Trial) -> TrialDocument {
    let agreement = &trial.agreement;
    TrialDocument {
        seed: trial.seed,
        right: agreement.is_whole(),
        pattern_right: agreement.pattern,
        chunk_right: agreement.chunk,
        classes_right: agreement.classes,
        copies_right: agreement.copies,
        disks_right: agreement.disks,
        layout_right: agreement.layout,
        findings_right: agreement.findings,
        said: ProbeDocument::new(&trial.known, trial.spent, None, &FormatPlace::modelled()),
    }
}
