//! `cargo xtask bench`: the speed of a scrub without policy, compared with fio reading the same target in the same way.
//!
//! The two take turns, and each round another one goes first, so that a disk that warms up or a neighbour that becomes
//! active favours neither. The medians of the rounds are compared.

use super::{Scratch, build, median, number_after, output_of};
use crate::place::target_folder;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rounds (count); odd, so that the median is one of them.
const ROUNDS: usize = 5;
/// The size of the file made when none is named, in bytes: more than a second on a fast NVMe disk.
const SAMPLE_BYTES: u64 = 4 << 30;
/// The request size of both. fio keeps as many requests at the disk as the scrub reports.
const REQUEST: &str = "1MiB";

/// Compares the two on the file or block device named, or on a file made for it.
///
/// # Errors
/// When one of the two cannot be run, or has unexpected output.
pub fn run(arguments: &[String]) -> Result<bool> {
    if Command::new("fio").arg("--version").output().is_err() {
        println!("fio is not installed; on Debian, as root: apt-get install --no-install-recommends fio");
        return Ok(false);
    }
    build(&["--package", "scrubjay"])?;
    let state = Scratch::folder("bench-state")?;
    let (target, _sample) = match arguments {
        [] => {
            let sample = sample()?;
            (sample.0.clone(), Some(sample))
        }
        [target] => (PathBuf::from(target), None),
        _ => bail!("one file at most"),
    };
    let bytes = File::open(&target).and_then(|mut file| file.seek(SeekFrom::End(0)));
    let bytes = bytes.with_context(|| target.display().to_string())?;

    let (mut scrub_times, mut fio_times, mut depth) = (Vec::new(), Vec::new(), 1);
    for round in 0..ROUNDS {
        if round % 2 == 0 {
            let scrub = scrub(&target, &state.0)?;
            depth = scrub.depth;
            scrub_times.push(scrub.seconds);
            fio_times.push(fio_seconds(&target, depth)?);
        } else {
            fio_times.push(fio_seconds(&target, depth)?);
            scrub_times.push(scrub(&target, &state.0)?.seconds);
        }
    }
    println!(
        "{}: {} MiB, direct reads of {REQUEST}, {depth} at a time, {ROUNDS} rounds",
        target.display(),
        bytes >> 20
    );
    print(bytes, &mut scrub_times, &mut fio_times);
    Ok(true)
}

fn print(bytes: u64, scrub_times: &mut [f64], fio_times: &mut [f64]) {
    let rate = |seconds: f64| bytes as f64 / (1 << 20) as f64 / seconds;
    println!("{:<24} {:>10} {:>10} {:>10}", "MiB/s", "median", "slowest", "fastest");
    for (name, seconds) in [("scrub --policy none", &mut *scrub_times), ("fio", &mut *fio_times)] {
        let middle = median(seconds); // sorts
        let (fastest, slowest) = (seconds[0], seconds[seconds.len() - 1]);
        println!("{name:<24} {:>10.0} {:>10.0} {:>10.0}", rate(middle), rate(slowest), rate(fastest));
    }
    println!("{:<24} {:>10.3}", "scrub / fio", median(fio_times) / median(scrub_times));
}

/// What a scrub reports of itself.
struct ScrubFigure {
    seconds: f64,
    /// Requests at the disk at a time; 1 if the scrub reports none.
    depth: u32,
}

fn scrub(target: &Path, state: &Path) -> Result<ScrubFigure> {
    let mut scrub = Command::new(target_folder().join("release/scrubjay"));
    scrub
        .arg("scrub")
        .arg(target)
        .args(["--policy", "none", "--request", REQUEST, "--json", "--fresh", "--state"])
        .arg(state);
    let text = output_of(&mut scrub)?;
    let seconds = number_after(&text, "\"seconds\":").with_context(|| format!("no seconds in {text}"))?;
    Ok(ScrubFigure { seconds, depth: number_after(&text, "\"depth\":").map_or(1, |depth| depth as u32) })
}

/// fio's own measurement: the run time of the one job, from its terse output (version 3, milliseconds in field 9).
fn fio_seconds(target: &Path, depth: u32) -> Result<f64> {
    let mut fio = Command::new("fio");
    fio.args(["--name=read", "--rw=read", "--direct=1", "--bs=1M", "--ioengine=io_uring", "--readonly"]);
    fio.arg(format!("--iodepth={depth}"));
    fio.args(["--output-format=terse", "--terse-version=3"]).arg(format!("--filename={}", target.display()));
    let text = output_of(&mut fio)?;
    let millis = text.lines().find(|line| line.starts_with("3;")).and_then(|line| line.split(';').nth(8));
    let millis: f64 = millis.and_then(|field| field.parse().ok()).with_context(|| format!("no run time in {text}"))?;
    Ok(millis / 1000.0)
}

/// Makes the file to read, of written bytes that differ: a hole or a run of zeros might not be read from the disk.
fn sample() -> Result<Scratch> {
    let scratch = Scratch(target_folder().join(format!("bench-sample-{}", std::process::id())));
    println!("making {} ({} GiB)", scratch.0.display(), SAMPLE_BYTES >> 30);
    let mut file = File::create(&scratch.0)?;
    let mut state = 0x9e37_79b9_7f4a_7c15_u64; // any odd number: xorshift64 (Marsaglia, 2003) needs one that is not zero
    let mut block = Vec::with_capacity(1 << 20);
    for _ in 0..SAMPLE_BYTES >> 20 {
        block.clear();
        while block.len() < 1 << 20 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            block.extend_from_slice(&state.to_le_bytes());
        }
        file.write_all(&block)?;
    }
    file.sync_all()?;
    Ok(scratch)
}
