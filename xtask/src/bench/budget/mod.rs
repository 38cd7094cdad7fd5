//! `cargo xtask bench-budget`: what a scrub costs a program that reads the same disk, and what it reads meanwhile, on disks
//! with a hard disk's timing (tests/lab/faulty-disk). The source of tables in docs/budget.md.
//!
//! Each load is played alone, together with the scrub at each goal, and alone again. "By the client" is the difference of the means,
//! with its statistical error. Reads during which the machine stalled (`stalls`) are left out of both, and counted.
//! "What the goal allows" is what the best window in hindsight reads of the load (`allowed`); `--allowed` prints only that, for
//! all loads, disks and goals. `--short` prints the tables of docs/budget.md, and a summary of all their rows.
//! `--sensitivity [WORD]` plays the budget with each of its constants halved and doubled (`sensitivity`).
//! `SCRUBJAY=path` measures another program than this tree's.

mod allowed;
mod client;
mod sensitivity;
mod stalls;

use super::{Scratch, build, number_after, output_of};
use crate::place::{root, target_folder};
use allowed::{AllowedRead, DiskService};
use anyhow::{Context, Result, bail, ensure};
use client::{ClientLoad, Latencies, Think};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

const fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// The loads.
const LOADS: &[ClientLoad] = &[
    ClientLoad { name: "5 ms", burst: 1, parts: &[Some(Think::After(ms(5)))] },
    ClientLoad { name: "5 ms +-50 %", burst: 1, parts: &[Some(Think::Around(ms(5)))] },
    ClientLoad { name: "20 ms", burst: 1, parts: &[Some(Think::After(ms(20)))] },
    ClientLoad { name: "20 ms +-50 %", burst: 1, parts: &[Some(Think::Around(ms(20)))] },
    ClientLoad { name: "50 ms", burst: 1, parts: &[Some(Think::After(ms(50)))] },
    ClientLoad { name: "50 ms +-50 %", burst: 1, parts: &[Some(Think::Around(ms(50)))] },
    ClientLoad { name: "200 ms", burst: 1, parts: &[Some(Think::After(ms(200)))] },
    ClientLoad { name: "200 ms +-50 %", burst: 1, parts: &[Some(Think::Around(ms(200)))] },
    ClientLoad { name: "bursts of 10", burst: 10, parts: &[Some(Think::After(ms(400)))] },
    ClientLoad { name: "bursts of 200", burst: 200, parts: &[Some(Think::After(ms(400)))] },
    ClientLoad {
        name: "starts and stops",
        burst: 1,
        parts: &[None, Some(Think::After(ms(50))), None, Some(Think::After(ms(50)))],
    },
    ClientLoad { name: "doubles", burst: 1, parts: &[Some(Think::Around(ms(100))), Some(Think::Around(ms(50)))] },
    ClientLoad { name: "beat of 1 s", burst: 1, parts: &[Some(Think::Beat(ms(1000)))] },
];

/// The disks: name, seek in microseconds, kB per second, and whether it is rotational.
const DISKS: &[(&str, &str, &str, bool)] =
    &[("8 ms", "8000", "100000", true), ("4 ms", "4000", "200000", true), ("flash", "100", "500000", false)];

/// Goals for the mean, in milliseconds.
const GOALS: &[&str] = &["0.5", "1", "3"];
/// Simulated seconds of a load from which it is computed what a goal allows.
const ALLOWED_SECONDS: f64 = 600.0;
/// The goal for the maximum, in seconds: the default.
const GOAL_MAX: f64 = 0.050;
/// Fewer requests than this give no reliable mean.
const JUDGED_FROM: usize = 300;
/// The column heads of the long table.
const COLUMNS: &str = "| disk | load | goal | by the client | the scrub says | so far | longest | > 50 ms | alone | left out | read | of what \
                       idle time offers | of what the goal allows | processor | detector |";
/// The load alone runs for the time of a run divided by this, before the runs and after them.
const CONTROL_SHARE: u32 = 6;

/// The command's options.
struct BudgetBenchOptions {
    time: Duration,
    disk: String,
    load: String,
    goal: String,
    detector: Option<String>,
    busy: bool,
    allowed: bool,
    short: bool,
}

impl BudgetBenchOptions {
    fn of(arguments: &[String]) -> Result<BudgetBenchOptions> {
        let all = String::new;
        let time = Duration::from_secs(60);
        let mut options = BudgetBenchOptions {
            time,
            disk: all(),
            load: all(),
            goal: all(),
            detector: None,
            busy: false,
            allowed: false,
            short: false,
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            match word.as_str() {
                "--busy" => {
                    options.busy = true;
                    continue;
                }
                "--allowed" => {
                    options.allowed = true;
                    continue;
                }
                "--short" => {
                    options.short = true;
                    continue;
                }
                _ => {}
            }
            let value = words.next().with_context(|| format!("{word} needs a value"))?.clone();
            match word.as_str() {
                "--seconds" => options.time = Duration::from_secs(value.parse().context("--seconds")?),
                "--disk" => options.disk = value,
                "--load" => options.load = value,
                "--goal" => options.goal = value,
                "--detector" => options.detector = Some(value),
                _ => {
                    bail!(
                        "{word} is unknown: --seconds N, --disk, --load, --goal, --detector WORD, --busy, --allowed, --short"
                    )
                }
            }
        }
        Ok(options)
    }
}

/// Measures, and prints a row for each run.
///
/// # Errors
/// When a disk cannot be made, or a run fails.
pub fn run(arguments: &[String]) -> Result<bool> {
    if let [first, words @ ..] = arguments
        && first == "--sensitivity"
    {
        sensitivity::print(words.first().map_or("", String::as_str))?;
        return Ok(true);
    }
    let options = BudgetBenchOptions::of(arguments)?;
    if options.allowed {
        print_allowed(&options)?;
        return Ok(true);
    }
    let program = program()?;
    let scratch = Scratch::folder("bench-budget")?;
    let _busy = options.busy.then(BusyThreads::new);
    let goals: Vec<&str> =
        GOALS.iter().copied().filter(|goal| options.goal.is_empty() || *goal == options.goal).collect();
    match options.short {
        true => println!(
            "| load |{}\n|---|{}",
            goals.iter().map(|goal| format!(" {goal} ms |")).collect::<String>(),
            "---|".repeat(goals.len())
        ),
        false => println!("{COLUMNS}\n|{}", "---|".repeat(COLUMNS.matches('|').count() - 1)),
    }
    for &(name, seek, rate, is_rotational) in DISKS.iter().filter(|disk| disk.0.contains(&options.disk)) {
        let disk = LabDisk::new(seek, rate, is_rotational)?;
        let scrub =
            |goal: &[&str]| ScrubProcess::start(&program, &disk.device, &scratch.0, goal, options.detector.as_deref());
        let timing = timing_of(&disk, seek, rate)?;
        let mut summary = BudgetSummary::default();
        for load in LOADS.iter().filter(|load| load.name.contains(&options.load)) {
            let control = |seed| client::run(&disk.device, *load, options.time / CONTROL_SHARE, seed);
            let before = control(1)?;
            let mut runs = Vec::new();
            for &goal in &goals {
                let running = scrub(&["--slowdown", &format!("{goal}ms")])?;
                let with_scrub = client::run(&disk.device, *load, options.time, 2)?;
                runs.push((goal, with_scrub, running.stop()?));
            }
            let control = before.combined_with(control(3)?);
            // What reads in an idle interval begins with a seek.
            let pauses = control.count() as f64 / f64::from(load.burst) / control.time;
            let offered = timing.nominal_rate * (control.idle() - pauses * timing.seek).max(0.0);
            if options.short {
                print!("| {} |", load.name);
                for (goal, with_scrub, scrub_run) in runs {
                    print!(" {} |", cell(&control, &with_scrub, &scrub_run, offered));
                    summary.add(goal, load.name, &control, &with_scrub, &scrub_run)?;
                }
                println!();
                continue;
            }
            for (goal, with_scrub, scrub_run) in runs {
                let allowed = offer(load, timing, goal)?.allowed;
                println!(
                    "| {name} | {} | {goal} ms {}",
                    load.name,
                    row(&control, &with_scrub, &scrub_run, [offered, allowed])
                );
            }
        }
        if options.short {
            println!("<!-- {name}: {summary} -->");
        }
    }
    Ok(true)
}

/// The program to measure: that of `SCRUBJAY`, or else this tree's, which is built.
fn program() -> Result<PathBuf> {
    if let Some(program) = std::env::var_os("SCRUBJAY") {
        return Ok(PathBuf::from(program));
    }
    build(&["--package", "scrubjay"])?;
    Ok(target_folder().join("release/scrubjay"))
}

/// A disk's configuration (microseconds, kB per second), and the measured time of its requests.
fn timing_of(disk: &LabDisk, seek: &str, rate: &str) -> Result<DiskService> {
    const SHORT: usize = 64 << 10;
    const LONG: usize = 1 << 20;
    let seek = seek.parse::<f64>().context("a seek in microseconds")? / 1e6;
    let nominal_rate = rate.parse::<f64>().context("a rate in kB/s")? * 1e3;
    let (short, long) = (client::sequential(&disk.device, SHORT, 201)?, client::sequential(&disk.device, LONG, 51)?);
    let rate = (LONG - SHORT) as f64 / (long - short).max(f64::MIN_POSITIVE);
    let command = (short - SHORT as f64 / rate).max(0.0);
    println!("<!-- requests of 64 KiB take {:.2} ms, of 1 MiB {:.2} ms -->", short * 1e3, long * 1e3);
    Ok(DiskService { seek, command, rate, nominal_rate })
}

/// What a goal, in milliseconds, allows.
fn offer(load: &ClientLoad, disk: DiskService, goal: &str) -> Result<AllowedRead> {
    let goal = goal.parse::<f64>().context("a goal in milliseconds")? / 1e3;
    Ok(AllowedRead::of(&load.idle_intervals(ALLOWED_SECONDS, disk.seek, 4), load.burst, disk, goal, GOAL_MAX))
}

/// Prints a table of what the goals allow, and of its share of what idle time offers.
fn print_allowed(options: &BudgetBenchOptions) -> Result<()> {
    println!("| load |{}", GOALS.iter().map(|goal| format!(" {goal} ms |")).collect::<String>());
    println!("|---|{}", "---|".repeat(GOALS.len()));
    for &(name, seek, rate, is_rotational) in DISKS.iter().filter(|disk| disk.0.contains(&options.disk)) {
        let timing = timing_of(&LabDisk::new(seek, rate, is_rotational)?, seek, rate)?;
        for load in LOADS.iter().filter(|load| load.name.contains(&options.load)) {
            print!("| {name}, {} |", load.name);
            for goal in GOALS {
                let offer = offer(load, timing, goal)?;
                let share = offer.share().map_or_else(String::new, |share| format!(" ({:.0} %)", 100.0 * share));
                print!(" {:.0} MB/s{share} |", offer.allowed / 1e6);
            }
            println!();
        }
    }
    Ok(())
}

/// A cell of the short table. `offered`: what idle time offers, in bytes per second.
fn cell(control: &Latencies, with_scrub: &Latencies, scrub: &ScrubRun, offered: f64) -> String {
    let share = if offered > 0.0 { format!(" ({:.0} %)", 100.0 * scrub.rate / offered) } else { String::new() };
    let late = with_scrub.above(control.upper_quantile(0.01) + GOAL_MAX);
    format!(
        "{:+.2} ±{:.2}, {:.2}; {:.0}{share}{}{}",
        1e3 * (with_scrub.mean() - control.mean()),
        2e3 * control.error().hypot(with_scrub.error()),
        1e3 * scrub.mean,
        scrub.rate / 1e6,
        if scrub.is_held_back_by_max { " m" } else { "" },
        if late > 0 { format!(", **{late}** (scrub: {:.0} ms)", 1e3 * scrub.max) } else { String::new() },
    )
}

/// The summary of all rows.
#[derive(Default)]
struct BudgetSummary {
    requests: usize,
    late: usize,
    /// Of these, those of runs in which no scrub request delayed an arrival by more than [`GOAL_MAX`], by its own account: the
    /// client or the disk waited for something else.
    late_without_cause: usize,
    /// The load without the scrub, counted once for each goal: requests, and how many of them took that long.
    control: [usize; 2],
    left_out: usize,
    /// The largest slowdown of a client with [`JUDGED_FROM`] requests or more, as a share of the goal, and where.
    worst: (f64, String),
    /// The largest mean so far that a scrub reported, as a share of the goal, and where.
    worst_reported: (f64, String),
}

impl BudgetSummary {
    fn add(
        &mut self,
        goal: &str,
        load: &str,
        control: &Latencies,
        with_scrub: &Latencies,
        scrub: &ScrubRun,
    ) -> Result<()> {
        self.requests += with_scrub.count();
        let late_from = control.upper_quantile(0.01) + GOAL_MAX;
        let late = with_scrub.above(late_from);
        self.late += late;
        self.late_without_cause += if scrub.max <= GOAL_MAX { late } else { 0 };
        self.control = [self.control[0] + control.count(), self.control[1] + control.above(late_from)];
        self.left_out += with_scrub.left_out;
        let seconds = goal.parse::<f64>().context("a goal in milliseconds")? / 1e3;
        let place = || format!("{load}, {goal} ms");
        let share = (with_scrub.mean() - control.mean()) / seconds;
        if with_scrub.count() >= JUDGED_FROM && share > self.worst.0 {
            self.worst = (share, place());
        }
        if scrub.worst_mean / seconds > self.worst_reported.0 {
            self.worst_reported = (scrub.worst_mean / seconds, place());
        }
        Ok(())
    }
}

impl std::fmt::Display for BudgetSummary {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let BudgetSummary { requests, late, late_without_cause, control, left_out, worst, worst_reported } = self;
        write!(
            out,
            "{requests} requests, {late} lost more than 50 ms, {late_without_cause} of them in runs in which the "
        )?;
        write!(out, "scrub delayed none by that much (without a scrub {} of {}); ", control[1], control[0])?;
        write!(out, "{left_out} left out; from {JUDGED_FROM} requests on ")?;
        write!(out, "no client lost more than {:.2} of the goal ({}), ", worst.0, worst.1)?;
        write!(
            out,
            "the mean so far was {:.2} of it at the most, as the scrub says ({})",
            worst_reported.0, worst_reported.1
        )
    }
}

/// The rest of a row of the long table. What idle time offers, and what the goal allows, are in bytes per second.
fn row(control: &Latencies, with_scrub: &Latencies, scrub: &ScrubRun, [offered, allowed]: [f64; 2]) -> String {
    let share = |all: f64| if all > 0.0 { format!("{:.0} %", 100.0 * scrub.rate / all) } else { "-".to_owned() };
    let millis = |seconds: f64| seconds * 1e3;
    // The 99th percentile alone, plus the goal for the maximum.
    let late = control.upper_quantile(0.01) + GOAL_MAX;
    let error = 2.0 * control.error().hypot(with_scrub.error());
    format!(
        "| {:+.2} +-{:.2} ms | {:.2} ms | {:.2} ms | {:.0} ms | {} of {} | {} of {} | {} | {:.1} MB/s | {} | {} | {:.1} % | {} |",
        millis(with_scrub.mean() - control.mean()),
        millis(error),
        millis(scrub.mean),
        millis(scrub.worst_mean),
        millis(scrub.max),
        with_scrub.above(late),
        with_scrub.count(),
        control.above(late),
        control.count(),
        with_scrub.left_out,
        scrub.rate / 1e6,
        share(offered),
        share(allowed),
        100.0 * scrub.processor,
        scrub.detector,
    )
}

/// A disk of the lab; dropping it destroys it.
struct LabDisk {
    name: String,
    device: PathBuf,
}

impl LabDisk {
    fn new(seek: &str, rate: &str, is_rotational: bool) -> Result<LabDisk> {
        let lab_name = format!("bench-budget-{seek}");
        let mut make = Command::new(root().join("tests/lab/faulty-disk"));
        make.args(["create", &lab_name, "64G"]).arg(format!("seek_us={seek}")).arg(format!("kbps={rate}"));
        let device = PathBuf::from(output_of(&mut make)?.trim());
        let name = device.file_name().context("a device has a name")?;
        let rotational = Path::new("/sys/block").join(name).join("queue/rotational");
        let disk = LabDisk { name: lab_name, device };
        fs::write(&rotational, if is_rotational { "1" } else { "0" })
            .with_context(|| rotational.display().to_string())?;
        prioritize(&disk.name)?;
        Ok(disk)
    }
}

/// A disk has a processor of its own, so the processes that play one must not wait for a processor: they get priority.
fn prioritize(lab_name: &str) -> Result<()> {
    for name in ["pid", "nbdkit.pid"] {
        let path = Path::new("/tmp/scrubjay-faulty-disk").join(lab_name).join(name);
        let id = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut first = Command::new("chrt");
        output_of(first.args(["--fifo", "--all-tasks", "--pid", "1", id.trim()]))?;
    }
    Ok(())
}

impl Drop for LabDisk {
    fn drop(&mut self) {
        // Best effort: the next disk of this name replaces it.
        let _ = Command::new(root().join("tests/lab/faulty-disk")).args(["destroy", &self.name]).status();
    }
}

/// A running scrub.
struct ScrubProcess(Child);

/// What the scrub reported, in seconds where nothing else is stated, and its processor time.
struct ScrubRun {
    mean: f64,
    worst_mean: f64,
    max: f64,
    /// Bytes read per second.
    rate: f64,
    /// Processor time, as a share of one processor.
    processor: f64,
    detector: String,
    is_held_back_by_max: bool,
}

impl ScrubProcess {
    fn start(
        program: &Path,
        disk: &Path,
        state: &Path,
        words: &[&str],
        detector: Option<&str>,
    ) -> Result<ScrubProcess> {
        let mut scrub = Command::new(program);
        scrub.arg("scrub").arg(disk).args(["--json", "--no-progress", "--fresh", "--state"]).arg(state).args(words);
        if let Some(detector) = detector {
            scrub.args(["--detector", detector]);
        }
        Ok(ScrubProcess(scrub.stdout(Stdio::piped()).spawn().context("scrubjay")?))
    }

    fn stop(self) -> Result<ScrubRun> {
        let ScrubProcess(child) = self;
        let ticks = processor_ticks(child.id())?;
        let pid = Pid::from_raw(child.id() as i32).context("a process has a number")?;
        kill_process(pid, Signal::TERM).context("stopping the scrub")?;
        let text = String::from_utf8(child.wait_with_output()?.stdout)?;
        let number = |key: &str| number_after(&text, key).with_context(|| format!("no {key} in {text}"));
        let seconds = number("\"seconds\":")?;
        let detector = text.split_once("\"detector\":\"").and_then(|(_, rest)| rest.split('"').next());
        let bytes = number("\"bytes_requested\":")?;
        ensure!(bytes < number("\"bytes\":")?, "the disk was read to its end: the rate says nothing");
        Ok(ScrubRun {
            mean: number("\"mean_seconds\":")?,
            worst_mean: number("\"worst_mean_so_far_seconds\":")?,
            max: number("\"max_seconds\":")?,
            rate: bytes / seconds,
            processor: ticks as f64 / rustix::param::clock_ticks_per_second() as f64 / seconds,
            detector: detector.unwrap_or("?").to_owned(),
            is_held_back_by_max: text.contains("\"held_back_by_max\":true"),
        })
    }
}

/// Processor time of a process in clock ticks: fields 14 and 15 of proc(5)'s stat, counted from behind the name.
fn processor_ticks(id: u32) -> Result<u64> {
    let text = fs::read_to_string(format!("/proc/{id}/stat"))?;
    let fields = text.rsplit_once(')').context("a name in brackets")?.1;
    let ticks = fields.split_whitespace().skip(11).take(2).map(str::parse);
    Ok(ticks.collect::<Result<Vec<u64>, _>>()?.iter().sum())
}

/// Two threads that compute until this is dropped.
struct BusyThreads(std::sync::Arc<AtomicBool>);

impl BusyThreads {
    fn new() -> BusyThreads {
        let stop = std::sync::Arc::new(AtomicBool::new(false));
        for _ in 0..2 {
            let stop = stop.clone();
            std::thread::spawn(move || while !stop.load(Ordering::Relaxed) {});
        }
        BusyThreads(stop)
    }
}

impl Drop for BusyThreads {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
