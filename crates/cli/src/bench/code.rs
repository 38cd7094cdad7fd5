//! `scrubjay bench code`: parities, checksums and appendices of one shape of stripe, compared with memcpy and ISA-L.

use super::machine::HostMachine;
use super::rounds::{self, BenchSetting, Entrant, Rate};
use super::sealer::Sealer;
use super::speed::ChecksumWay;
use crate::args::BenchCode;
use crate::columns::{self, TextTable};
use crate::exit::Exit;
use crate::say::{print_line, print_prose};
use anyhow::{Context, Result};
use scrubjay_code::bench::{BenchStripe, Contender, Rival};
use scrubjay_code::{Code, Path, path, paths};
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// Bytes that fit into the second-level cache of any processor with AVX2. (One stripe may be more.)
const CACHED_BYTES: usize = 256 << 10;

/// The shortest length of a turn.
const TURN: Duration = Duration::from_millis(20);

/// Measures, and prints the table.
pub fn run(args: &BenchCode) -> Result<Exit> {
    let machine = HostMachine::read(); // before this process itself keeps it busy
    let setting = BenchSetting::of(args, TURN);
    let code = Code::new(args.data.into(), args.parity.into()).expect("the arguments are in range");
    let chunk = args.chunk.0 as usize;
    let mut memory = setting.take_memory()?;
    let sets = [CACHED_BYTES, setting.memory.0 as usize];
    let touched = sets.map(|set| memory.stripes(code.clone(), chunk, 0, set).map_or(set, |stripes| stripes.bytes()));

    let rival = Rival::load(&code);
    let (labels, mut entrants): (Vec<MeasuredLabel>, Vec<Entrant>) =
        entrants(&code, chunk, rival.as_ref()).into_iter().unzip();
    let rates = rounds::measure(&mut memory, &setting, chunk, &sets, &mut entrants)?;
    let result = CodeBenchDocument {
        schema: 1,
        version: scrubjay_control::version::version(),
        machine,
        data: code.data(),
        parity: code.parity(),
        chunk_bytes: chunk,
        rounds: setting.rounds,
        has_isal: rival.is_some(),
        sets: touched,
        results: labels.into_iter().zip(rates).map(|(label, rates)| RateRow { label, rates }).collect(),
    };
    let mut out = io::stdout().lock();
    let printed = if args.json {
        writeln!(out, "{}", serde_json::to_string(&result).context("the result as JSON")?)
    } else {
        print(&result, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    Ok(Exit::Clean)
}

/// The label of a measurement.
#[derive(Clone, Debug, Serialize)]
struct MeasuredLabel {
    /// Whose code it is: a code path of Scrubjay, or ISA-L.
    by: &'static str,
    what: String,
}

/// All entrants, in the order of the table.
fn entrants<'r>(code: &Code, chunk: usize, rival: Option<&'r Rival>) -> Vec<(MeasuredLabel, Entrant<'r>)> {
    let entrant = |by, contender: Contender, code: Code| {
        let stripe_bytes = contender.data_bytes(&code, chunk);
        let work = Box::new(move |stripe: &mut BenchStripe| contender.work(rival, stripe));
        (MeasuredLabel { by, what: contender.to_string() }, Entrant { code, appendix: 0, stripe_bytes, work })
    };
    let mut all = vec![entrant("memory", Contender::Copy, code.clone())];
    for path in paths().into_iter().rev() {
        let code = code.clone().with_path(path);
        all.extend([Contender::Parity, Contender::Fused].map(|contender| entrant(name(path), contender, code.clone())));
    }
    let best = name(path());
    all.extend([Contender::ParityThenSums, Contender::Sums].map(|contender| entrant(best, contender, code.clone())));
    all.extend(Scheme::ALL.map(|scheme| {
        let mut sealer = Sealer::new(code, scheme, ChecksumWay::Instructions);
        let (appendix, stripe_bytes) = (sealer.appendix_bytes(), code.data() * chunk);
        let work = Box::new(move |stripe: &mut BenchStripe| sealer.seal(stripe));
        let label = MeasuredLabel { by: best, what: format!("full stripe, scheme {scheme}") };
        (label, Entrant { code: code.clone(), appendix, stripe_bytes, work })
    }));
    // pq_gen wants its chunks at multiples of 32, which the smallest chunk is.
    let isal = Contender::ISAL.into_iter().filter(|&contender| contender != Contender::IsalTwo || code.parity() == 2);
    all.extend(isal.filter(|_| rival.is_some()).map(|contender| entrant("ISA-L", contender, code.clone())));
    all.sort_by_key(|(label, _)| order(label.by));
    all
}

const fn name(path: Path) -> &'static str {
    match path {
        Path::Scalar => "scalar",
        Path::Avx2 => "AVX2",
        Path::Avx512 => "AVX-512",
        Path::Neon => "NEON",
    }
}

/// The order of the table: the yardstick, the best code path, the others, the rival.
fn order(by: &str) -> usize {
    ["memory", "AVX-512", "AVX2", "NEON", "scalar", "ISA-L"]
        .into_iter()
        .position(|known| known == by)
        .expect("a known one")
}

/// The JSON of `--json`: schema 1. Fields are added, never renamed or taken away, within a schema.
#[derive(Debug, Serialize)]
struct CodeBenchDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    machine: HostMachine,
    data: usize,
    parity: usize,
    chunk_bytes: usize,
    rounds: u32,
    has_isal: bool,
    /// Bytes of the two working sets that are touched repeatedly, without appendices.
    #[serde(rename = "set_bytes")]
    sets: [usize; 2],
    results: Vec<RateRow>,
}

/// The rates of one entrant, in the order of the sets.
#[derive(Debug, Serialize)]
struct RateRow {
    #[serde(flatten)]
    label: MeasuredLabel,
    rates: Vec<Rate>,
}

fn print(result: &CodeBenchDocument, out: &mut impl Write) -> io::Result<()> {
    let CodeBenchDocument { machine, data, parity, chunk_bytes, rounds, sets, results, .. } = result;
    let chunk = Bytes(*chunk_bytes as u64);
    print_line(out, format_args!("{data} + {parity}, chunks of {chunk}, one core of {}", machine.describe()))?;
    print_line(out, format_args!("GB/s of data, median of {rounds} rounds"))?;
    let [cached, memory] = sets.map(|set| Bytes(set as u64));
    let headings = ["", &format!("cached, {cached}"), &format!("memory, {memory}")];
    let mut rows = Vec::new();
    let mut by = "";
    for RateRow { label, rates } in results {
        if by != label.by {
            by = label.by;
            rows.extend([vec![String::new()], vec![by.to_owned()]]);
        }
        rows.push([format!("  {}", label.what)].into_iter().chain(rates.iter().map(show)).collect());
    }
    let table = TextTable { headings: &headings, least_important: &[], figures: 1..3, indent: 0 };
    table.print(&rows, columns::width(), out)?;
    writeln!(out)?;
    if !result.has_isal {
        let missing = "No ISA-L to compare with: libisal.so.2 is not here (Debian, Ubuntu: apt install libisal2).";
        print_prose(out, "", missing, columns::width())?;
    }
    warn_of_noise(machine, results.iter().flat_map(|row| &row.rates), out)
}

/// A rate in GB/s, such as `12.3`, with a mark if the rounds differ.
pub(super) fn show(rate: &Rate) -> String {
    let giga = rate.median / 1e9;
    let mark = if rate.is_noisy() { "~" } else { "" };
    if giga < 9.95 { format!("{mark}{giga:.2}") } else { format!("{mark}{giga:.1}") }
}

/// Warns if the figures are not to be trusted.
pub(super) fn warn_of_noise<'r>(
    machine: &HostMachine,
    rates: impl Iterator<Item = &'r Rate> + Clone,
    out: &mut impl Write,
) -> io::Result<()> {
    let (noisy, all) = (rates.clone().filter(|rate| rate.is_noisy()).count(), rates.count());
    if noisy > 0 {
        let words =
            format!("~ {noisy} of {all} figures are noisy: the middle half of their rounds differs by more than 10 %.");
        print_prose(out, "", &words, columns::width())?;
    }
    if machine.is_busy() {
        let words = "Others kept the machine busy in the last minute: measure again when nothing else runs.";
        print_prose(out, "", words, columns::width())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entrant_is_in_the_table_once_and_in_order() {
        let code = Code::new(6, 2).unwrap();
        let rival = Rival::load(&code);
        let labels: Vec<(usize, String)> =
            entrants(&code, 4096, rival.as_ref()).into_iter().map(|(label, _)| (order(label.by), label.what)).collect();
        assert_eq!(labels[0].1, "memcpy");
        assert!(labels.is_sorted_by_key(|(order, _)| *order));
        assert_eq!(labels.len(), 1 + 2 * paths().len() + 2 + 5 + if rival.is_some() { 4 } else { 0 });
        let mut unique = labels.clone();
        unique.sort();
        unique.dedup();
        assert_eq!(unique.len(), labels.len());
    }
}
