//! `scrubjay bench code --figure7`: encoding under each scheme, by the disks of a stripe and by the chunk size.
//!
//! After Li & Lee 2014, section VII-A and Figure 7. They compute parities with GF-Complete and checksums with Crcutil,
//! or with the CRC32 instruction; here it is done as in a volume, and with table-driven checksums (slicing-by-8) for
//! comparison. The sums of the appendices' own fields, some 30 to 200 bytes a chunk, use instructions in both cases.

use super::code::{show, warn_of_noise};
use super::machine::HostMachine;
use super::rounds::{self, BenchSetting, Entrant, Rate};
use super::sealer::Sealer;
use super::speed::{ChecksumWay, Speed, curves, points};
use crate::args::BenchCode;
use crate::columns::{self, TextTable};
use crate::exit::Exit;
use crate::say::{print_line, say};
use anyhow::{Context, Result};
use scrubjay_code::Code;
use scrubjay_core::layout::Shape;
use scrubjay_core::units::Bytes;
use scrubjay_core::volume::integrity::scheme::Scheme;
use serde::Serialize;
use std::io::{self, Write};
use std::time::Duration;

/// The shortest length of a turn; there are many turns.
const TURN: Duration = Duration::from_millis(10);

/// Measures, and prints the tables.
pub fn run(args: &BenchCode) -> Result<Exit> {
    let machine = HostMachine::read(); // before this process itself keeps it busy
    let setting = BenchSetting::of(args, TURN);
    let seconds = setting.turn.as_secs_f64() * f64::from(setting.rounds) * (points().len() * curves().len()) as f64;
    if seconds > 1.0 {
        say(format_args!("scrubjay: measuring for at least {seconds:.0} s ..."));
    }
    let measured = measure(&setting)?;
    let mut out = io::stdout().lock();
    let printed = if args.json {
        let rows = measured.iter().map(Figure7Row::new).collect();
        let document = Figure7Document {
            schema: 1,
            version: scrubjay_control::version::version(),
            machine,
            rounds: setting.rounds,
            results: rows,
        };
        writeln!(out, "{}", serde_json::to_string(&document).context("the result as JSON")?)
    } else {
        print(&measured, &machine, &setting, &mut out)
    };
    printed.context("cannot write the result to standard output")?;
    Ok(Exit::Clean)
}

/// Measures the speeds for a page.
///
/// # Errors
/// When there is not enough memory.
pub fn sweep(setting: &BenchSetting) -> Result<Vec<Speed>> {
    Ok(measure(setting)?.iter().map(|measured| measured.speed).collect())
}

/// One speed of the figure, with its rate.
struct Measured {
    speed: Speed,
    rate: Rate,
}

fn measure(setting: &BenchSetting) -> Result<Vec<Measured>> {
    let mut memory = setting.take_memory()?;
    let mut all = Vec::new();
    for (shape, chunk) in points() {
        let bytes = chunk.0 as usize;
        let mut entrants: Vec<Entrant> = curves().into_iter().map(|curve| entrant(shape, bytes, curve)).collect();
        let sets = [setting.memory.0 as usize];
        let rates = rounds::measure(&mut memory, setting, bytes, &sets, &mut entrants)?;
        all.extend(curves().into_iter().zip(rates).map(|((scheme, sums), rates)| {
            let rate = rates[0];
            Measured { speed: Speed { shape, chunk, scheme, sums, bytes_per_second: rate.median }, rate }
        }));
    }
    Ok(all)
}

fn entrant(shape: Shape, chunk: usize, (scheme, sums): (Scheme, ChecksumWay)) -> Entrant<'static> {
    let code = Code::new(shape.data, shape.parity).expect("the shapes of the figure are in range");
    let mut sealer = Sealer::new(&code, scheme, sums);
    let appendix = sealer.appendix_bytes();
    Entrant { code, appendix, stripe_bytes: shape.data * chunk, work: Box::new(move |stripe| sealer.seal(stripe)) }
}

/// The JSON of `--json`: schema 1. Fields are added, never renamed or taken away, within a schema.
#[derive(Debug, Serialize)]
struct Figure7Document {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    machine: HostMachine,
    rounds: u32,
    results: Vec<Figure7Row>,
}

#[derive(Debug, Serialize)]
struct Figure7Row {
    data: usize,
    parity: usize,
    chunk_bytes: u64,
    scheme: &'static str,
    sums_by_tables: bool,
    #[serde(flatten)]
    rate: Rate,
}

impl Figure7Row {
    fn new(Measured { speed, rate }: &Measured) -> Figure7Row {
        Figure7Row {
            data: speed.shape.data,
            parity: speed.shape.parity,
            chunk_bytes: speed.chunk.0,
            scheme: speed.scheme.name(),
            sums_by_tables: speed.sums == ChecksumWay::Tables,
            rate: *rate,
        }
    }
}

/// Prints a table for each number of parities and each way to compute sums.
fn print(measured: &[Measured], machine: &HostMachine, setting: &BenchSetting, out: &mut impl Write) -> io::Result<()> {
    print_line(out, format_args!("One core of {}", machine.describe()))?;
    print_line(
        out,
        format_args!("GB/s of data, median of {} rounds, on {} of stripes", setting.rounds, setting.memory),
    )?;
    let lines: Vec<&[Measured]> = measured.chunks(curves().len()).collect();
    for parity in [1, 2] {
        for (sums, words) in
            [(ChecksumWay::Instructions, "sums by instructions"), (ChecksumWay::Tables, "sums by tables")]
        {
            writeln!(out, "\nRAID-{}, {words}", parity + 4)?;
            print_table(lines.iter().copied().filter(|line| line[0].speed.shape.parity == parity), sums, out)?;
        }
    }
    writeln!(out)?;
    warn_of_noise(machine, measured.iter().map(|cell| &cell.rate), out)
}

/// Prints a line for each shape and chunk, a column for each scheme with these sums.
fn print_table<'m>(
    lines: impl Iterator<Item = &'m [Measured]>,
    sums: ChecksumWay,
    out: &mut impl Write,
) -> io::Result<()> {
    // Without a checksum there is but one way.
    let is_shown = |(scheme, way): &(Scheme, ChecksumWay)| *way == sums || *scheme == Scheme::None;
    let schemes: Vec<String> =
        curves().iter().filter(|curve| is_shown(curve)).map(|(scheme, _)| scheme.to_string()).collect();
    let headings: Vec<&str> = ["disks", "chunk"].into_iter().chain(schemes.iter().map(String::as_str)).collect();
    let row = |line: &[Measured]| {
        let Speed { shape, chunk, .. } = line[0].speed;
        let rates =
            line.iter().filter(|cell| is_shown(&(cell.speed.scheme, cell.speed.sums))).map(|cell| show(&cell.rate));
        [shape.width().to_string(), Bytes(chunk.0).to_string()].into_iter().chain(rates).collect()
    };
    let rows: Vec<Vec<String>> = lines.map(row).collect();
    let figures = 0..headings.len();
    TextTable { headings: &headings, least_important: &[], figures, indent: 0 }.print(&rows, columns::width(), out)
}
