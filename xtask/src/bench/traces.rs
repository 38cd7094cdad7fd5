//! `cargo xtask bench-traces`: the speed of reading, simulating and tuning with traces, and of reading compared with polars.
//!
//! All programs that read the same file take turns, each round in another order, every time in a new process that measures
//! itself: a neighbour that becomes active favours none of them, and none finds memory that is already mapped.

use super::{Scratch, build, median, number_after, output_of};
use crate::place::target_folder;
use anyhow::{Context, Result, bail, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Rounds (count); odd, so that the median is one of them.
const ROUNDS: usize = 5;
/// Hours of the model `mid-read`: ten million rows.
const HOURS: &str = "151";
/// The space needed for both files, in bytes, with some reserve: an MSR row has some 70 bytes.
const DISK_BYTES: u64 = 2 << 30;
/// How often the peak memory of a process is sampled. The kernel keeps the peak, so only the last sample matters.
const SAMPLE_INTERVAL: Duration = Duration::from_millis(5);
/// The competitor: time, kind, offset, length and response, one thread, batches as small as it likes.
const POLARS: &str = "\
import sys, time, polars
begin = time.perf_counter()
rows = polars.read_csv(sys.argv[1], has_header=False, columns=[0, 3, 4, 5, 6]).height
print(f'{rows} rows; median {time.perf_counter() - begin:.4f}')";

/// The command's options.
struct TraceBenchOptions {
    hours: String,
    millions: String,
    keep: Option<PathBuf>,
}

/// Makes the files, measures, and prints a table.
///
/// # Errors
/// When something does not build or run, or has unexpected output.
pub fn run(arguments: &[String]) -> Result<bool> {
    let options = TraceBenchOptions::of(arguments)?;
    let (folder, _scratch) = match &options.keep {
        Some(folder) => {
            std::fs::create_dir_all(folder)?;
            (folder.clone(), None)
        }
        None => {
            let scratch = Scratch::folder("bench-traces")?;
            (scratch.0.clone(), Some(scratch))
        }
    };
    build(&["--package", "scrubjay", "--package", "scrubjay-lab"])?;
    build(&["--package", "scrubjay-trace", "--example", "rate"])?;
    build(&["--package", "scrubjay-sim", "--example", "speed"])?;
    println!("{:<56} {:>8} {:>8} {:>8}  unit", "", "median", "least", "most");
    if let Some(files) = Files::make(&folder, &options.hours)? {
        reading(&files)?;
        tuning(&files)?;
    }
    simulating(&options.millions)?;
    Ok(true)
}

impl TraceBenchOptions {
    fn of(arguments: &[String]) -> Result<TraceBenchOptions> {
        let mut options = TraceBenchOptions { hours: HOURS.to_owned(), millions: "100".to_owned(), keep: None };
        for pair in arguments.chunks(2) {
            match pair {
                [name, value] if name == "--hours" => options.hours.clone_from(value),
                [name, value] if name == "--millions" => options.millions.clone_from(value),
                [name, value] if name == "--keep" => options.keep = Some(PathBuf::from(value)),
                _ => bail!("usage: cargo xtask bench-traces [--hours H] [--millions N] [--keep DIR]"),
            }
        }
        Ok(options)
    }
}

/// Two files with the same rows.
struct Files {
    msr: PathBuf,
    parquet: PathBuf,
}

impl Files {
    /// Makes the files that do not exist. `None`: the disk has no room for them.
    fn make(folder: &Path, hours: &str) -> Result<Option<Files>> {
        let name = |ending: &str| folder.join(format!("mid-read-{hours}h.{ending}"));
        let files = Files { msr: name("csv"), parquet: name("parquet") };
        if files.msr.exists() && files.parquet.exists() {
            return Ok(Some(files));
        }
        let free = output_of(Command::new("df").args(["--output=avail", "-B1"]).arg(folder))?;
        let free: u64 = free.lines().nth(1).and_then(|line| line.trim().parse().ok()).context("df")?;
        if free < DISK_BYTES {
            println!("SKIPPED reading and tuning: {} has {} MiB free, not 2 GiB", folder.display(), free >> 20);
            return Ok(None);
        }
        let generate = ["trace", "generate", "--force", "--model", "mid-read", "--seed", "1", "--hours", hours];
        output_of(scrubjay().args(generate).arg(&files.msr))?;
        output_of(scrubjay().args(["trace", "convert", "--force"]).arg(&files.msr).arg(&files.parquet))?;
        Ok(Some(files))
    }
}

fn reading(files: &Files) -> Result<()> {
    let rate = || Command::new(target_folder().join("release/examples/rate"));
    let reader = |format: &'static str, file: &Path| {
        let file = file.to_owned();
        move || rows_a_second(rate().arg(format).arg(&file).arg("1"))
    };
    let mut racers: Vec<Racer> = vec![
        Racer::new("MSR CSV, the reader alone", reader("msr", &files.msr)),
        Racer::new("MSR CSV, through `open`", reader("open", &files.msr)),
        Racer::new("Parquet, the reader alone", reader("parquet", &files.parquet)),
        Racer::new("Parquet, through `open`", reader("open", &files.parquet)),
    ];
    let polars = || Command::new("python3").args(["-c", "import polars"]).stderr(Stdio::null()).status();
    if polars().is_ok_and(|status| status.success()) {
        let msr = files.msr.clone();
        let one_thread = ("POLARS_MAX_THREADS", "1");
        racers.push(Racer::new("MSR CSV, polars, one thread", move || {
            rows_a_second(Command::new("python3").env(one_thread.0, one_thread.1).args(["-c", POLARS]).arg(&msr))
        }));
    } else {
        println!("polars is not installed: python3 -m pip install polars; going on without it");
    }
    race(&mut racers)?;
    for racer in &mut racers {
        print(racer.name, &mut racer.figures, "M rows/s");
    }
    if let [msr, _, _, _, polars] = &mut racers[..] {
        let ratio = median(&mut msr.figures) / median(&mut polars.figures);
        println!("{:<56} {ratio:>8.2}", "MSR CSV, the reader alone / polars");
    }
    Ok(())
}

/// Million rows per second, from the output of `rate` or of the competitor.
fn rows_a_second(command: &mut Command) -> Result<f64> {
    let text = output_of(command)?;
    let rows: Option<f64> = text.split(' ').next().and_then(|rows| rows.parse().ok());
    let (rows, seconds) = rows.zip(number_after(&text, "median")).with_context(|| format!("no figures in {text}"))?;
    Ok(rows / seconds / 1e6)
}

/// A program to be measured.
struct Racer<'a> {
    name: &'static str,
    measure: Box<dyn FnMut() -> Result<f64> + 'a>,
    figures: Vec<f64>,
}

impl<'a> Racer<'a> {
    fn new(name: &'static str, measure: impl FnMut() -> Result<f64> + 'a) -> Racer<'a> {
        Racer { name, measure: Box::new(measure), figures: Vec::new() }
    }
}

/// Runs the rounds, after one that is not counted and brings the files into the page cache.
fn race(racers: &mut [Racer]) -> Result<()> {
    let count = racers.len();
    for round in 0..=ROUNDS {
        for turn in 0..count {
            let racer = &mut racers[(round + turn) % count];
            let figure = (racer.measure)()?;
            if round > 0 {
                racer.figures.push(figure);
            }
        }
    }
    Ok(())
}

fn tuning(files: &Files) -> Result<()> {
    for (name, file) in [("MSR CSV", &files.msr), ("Parquet", &files.parquet)] {
        for cores in ["all cores", "one core"] {
            let (mut reads, mut tunes, mut ratios, mut bytes) = (vec![], vec![], vec![], vec![]);
            for _ in 0..ROUNDS {
                let tuned = tune(file, cores == "one core")?;
                reads.push(tuned.read_seconds);
                tunes.push(tuned.tune_seconds);
                ratios.push(tuned.tune_seconds / tuned.read_seconds);
                bytes.push(tuned.peak_bytes / tuned.requests);
            }
            let row = |quantity: &str, figures: &mut [f64], unit: &str| {
                print(&format!("tune, {name}, {cores}: {quantity}"), figures, unit);
            };
            row("reading", &mut reads, "s");
            row("tuning", &mut tunes, "s");
            row("tuning / reading", &mut ratios, "");
            row("peak memory", &mut bytes, "bytes a request");
        }
    }
    Ok(())
}

/// What `tune` reports of itself, and its peak memory by the kernel.
struct TuneFigure {
    requests: f64,
    read_seconds: f64,
    tune_seconds: f64,
    peak_bytes: f64,
}

fn tune(file: &Path, on_one_core: bool) -> Result<TuneFigure> {
    let program = target_folder().join("release/scrubjay");
    let mut tune = if on_one_core {
        // taskset becomes the program by exec, so the process sampled is the right one.
        let mut taskset = Command::new("taskset");
        taskset.args(["-c", "0"]).arg(program);
        taskset
    } else {
        Command::new(program)
    };
    // Not a pipe, which could fill up before it is read.
    let answer = file.with_extension("json");
    let mut child = tune.arg("tune").arg(file).arg("--json").stdout(File::create(&answer)?).spawn().context("tune")?;
    let mut peak_kib = 0.0f64;
    while child.try_wait()?.is_none() {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        peak_kib = peak_kib.max(number_after(&status, "VmHWM:").unwrap_or(0.0));
        std::thread::sleep(SAMPLE_INTERVAL);
    }
    let status = child.wait()?;
    ensure!(status.success(), "scrubjay tune: {status}");
    let text = std::fs::read_to_string(answer)?;
    let number = |key: &str| number_after(&text, &format!("\"{key}\":")).with_context(|| format!("no {key} in {text}"));
    Ok(TuneFigure {
        requests: number("requests")?,
        read_seconds: number("read_seconds")?,
        tune_seconds: number("tune_seconds")?,
        peak_bytes: peak_kib * 1024.0,
    })
}

/// Prints the example's own rounds, one per line: names and numbers.
fn simulating(millions: &str) -> Result<()> {
    let speed = target_folder().join("release/examples/speed");
    let text = output_of(Command::new(speed).args(["--millions", millions]))?;
    let mut rows: Vec<(&str, Vec<f64>)> = Vec::new();
    for line in text.lines() {
        for (at, column) in line.split(" | ").enumerate() {
            let unexpected = || format!("no figure in {column}");
            let (name, figure) = column.rsplit_once(' ').with_context(unexpected)?;
            if at == rows.len() {
                rows.push((name, Vec::new()));
            }
            rows[at].1.push(figure.parse().with_context(unexpected)?);
        }
    }
    for (name, figures) in &mut rows {
        let unit = if *name == "held" { "bytes a request" } else { "M requests/s" };
        print(&format!("simulation, {millions} M requests, {name}"), figures, unit);
    }
    Ok(())
}

fn scrubjay() -> Command {
    Command::new(target_folder().join("release/scrubjay"))
}

fn print(name: &str, figures: &mut [f64], unit: &str) {
    let middle = median(figures); // sorts
    println!("{name:<56} {middle:>8.2} {:>8.2} {:>8.2}  {unit}", figures[0], figures[figures.len() - 1]);
}
