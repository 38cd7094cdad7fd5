//! Runs fio, step by step, and reads its json+ and its latency log.

use scrubjay_core::bench::machine::{BenchRecord, BenchState, LATENCY_MAX, ZoneFigures};
use scrubjay_core::bench::plan::{BenchPattern, BenchPlan, BenchStep, ZoneGrid};
use scrubjay_core::bench::step_result::StepFigures;
use scrubjay_core::units::Nanos;
use scrubjay_device::bench::BenchedDisk;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Why fio gave no result.
#[derive(Debug, thiserror::Error)]
pub enum FioError {
    /// fio is not installed, or cannot be started.
    #[error("fio cannot be run ({0}): install it (Debian, Ubuntu: apt install fio), or use --engine own")]
    Absent(#[source] io::Error),
    /// fio ran and reported an error.
    #[error("fio failed: {0}")]
    Failed(String),
    /// fio's output cannot be understood.
    #[error("fio's answer is not as it should be: {0}")]
    Answer(String),
    /// No folder can be made for its log.
    #[error("no folder for fio's log: {0}")]
    Folder(#[source] io::Error),
}

/// The version of fio, such as `fio-3.33`.
///
/// # Errors
/// When fio cannot be run.
pub fn version() -> Result<String, FioError> {
    let output = Command::new("fio").arg("--version").output().map_err(FioError::Absent)?;
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// Has fio measure all steps except those by position, until `stop` is set. `publish` receives each step as it ends.
///
/// # Errors
/// [`FioError`]; the record holds what was measured before it.
pub fn measure(
    disk: &mut BenchedDisk,
    path: &Path,
    plan: BenchPlan,
    stop: &AtomicBool,
    publish: &mut dyn FnMut(&StepFigures),
) -> (BenchRecord, Result<(), FioError>) {
    let large = plan.steps.last().map_or(1 << 20, |step| step.request);
    let grid = ZoneGrid::new(plan.bytes, large);
    let mut record = BenchRecord {
        state: BenchState::Complete,
        results: Vec::new(),
        left_out: Vec::new(),
        zones: vec![ZoneFigures::default(); grid.zones as usize],
        first: None,
        plan,
    };
    let steps: Vec<BenchStep> =
        record.plan.steps.iter().filter(|step| step.pattern != BenchPattern::Positions).copied().collect();
    for step in steps {
        let last = record.results.iter().rfind(|result| result.step.pattern == step.pattern);
        if last.is_some_and(|last| last.mean() > LATENCY_MAX) {
            record.left_out.push(step);
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            record.state = BenchState::Stopped;
            break;
        }
        // fio's log has time and place of each request: taken for the first depth only, where there are not too many.
        let zones = if record.results.is_empty() { Some((&grid, &mut record.zones)) } else { None };
        let measured = disk.counted(|| run(path, step, record.plan.bytes, zones, stop));
        match measured {
            Ok(Some(result)) => {
                publish(&result);
                record.results.push(result);
            }
            Ok(None) => record.state = BenchState::Stopped,
            Err(error) => {
                record.state = if record.results.is_empty() { BenchState::Failing } else { BenchState::Stopped };
                return (record, Err(error));
            }
        }
    }
    (record, Ok(()))
}

/// Measures one step; `None` when it was stopped.
fn run(
    path: &Path,
    step: BenchStep,
    bytes: u64,
    zones: Option<(&ZoneGrid, &mut Vec<ZoneFigures>)>,
    stop: &AtomicBool,
) -> Result<Option<StepFigures>, FioError> {
    let pattern = if step.pattern == BenchPattern::Random { "randread" } else { "read" };
    let log = match zones {
        Some(_) => Some(LogFolder::new().map_err(FioError::Folder)?),
        None => None,
    };
    let mut command = Command::new("fio");
    command.args(["--name=scrubjay", "--readonly", "--direct=1", "--thread", "--ioengine=io_uring", "--time_based"]);
    command.args(["--random_generator=lfsr", "--randrepeat=0", "--allow_file_create=0", "--continue_on_error=read"]);
    command.args(["--lat_percentiles=1", "--clat_percentiles=0", "--output-format=json+", "--eta=never"]);
    // fio takes `:` in a name for the separator of a list of files.
    let name = path.to_string_lossy().replace('\\', "\\\\").replace(':', "\\:");
    command.arg(format!("--filename={name}")).arg(format!("--rw={pattern}")).arg(format!("--bs={}", step.request));
    command.arg(format!("--iodepth={}", step.depth)).arg(format!("--size={bytes}"));
    command.arg(format!("--runtime={}ms", (step.time.0 / 1_000_000).max(1)));
    if let Some(log) = &log {
        command.arg(format!("--write_lat_log={}", log.0.join("log").display()));
        command.args(["--log_offset=1", "--disable_slat=1", "--disable_clat=1"]);
    }
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = child.map_err(FioError::Absent)?;
    let (out, err) = (child.stdout.take().expect("a pipe"), child.stderr.take().expect("a pipe"));
    let readers = [reader(out), reader(err)];
    let status = loop {
        match child.try_wait().map_err(FioError::Absent)? {
            Some(status) => break status,
            None if stop.load(Ordering::Relaxed) => {
                // fio gets the terminal's signal itself; it must be killed if only this process was told to stop.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(None);
            }
            None => thread::sleep(Duration::from_millis(20)),
        }
    };
    let [out, err] = readers.map(|reader| reader.join().unwrap_or_default());
    let begin = out.find('{');
    let document: Option<Value> = begin.and_then(|begin| serde_json::from_str(&out[begin..]).ok());
    let Some(document) = document else {
        let message = err.lines().chain(out.lines()).find(|line| !line.trim().is_empty()).unwrap_or("it says nothing");
        return Err(FioError::Failed(format!("{message} ({status})")));
    };
    let mut result = parse(step, &document).map_err(|reason| FioError::Answer(reason.to_owned()))?;
    // Beyond the size of the target, fio's map of what was read starts again; and it starts again with each step.
    result.is_repeating = result.bytes_moved > bytes;
    if result.requests == 0 && !status.success() {
        return Err(FioError::Failed(err.lines().next().unwrap_or("no request ended well").to_owned()));
    }
    if let (Some(log), Some((grid, zones))) = (&log, zones) {
        let file = File::open(log.0.join("log_lat.1.log")).map_err(FioError::Folder)?;
        read_log(BufReader::new(file), &mut result, grid, zones);
    }
    Ok(Some(result))
}

fn reader(mut from: impl io::Read + Send + 'static) -> thread::JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Reads the json+ output of one job.
fn parse(step: BenchStep, document: &Value) -> Result<StepFigures, &'static str> {
    let job = document["jobs"].get(0).ok_or("it has no jobs")?;
    let read = &job["read"];
    let number = |value: &Value| value.as_f64();
    let mut result = StepFigures::new(step);
    result.requests = read["total_ios"].as_u64().ok_or("it has no total_ios")?;
    result.sent = result.requests;
    result.bytes_moved = read["io_bytes"].as_u64().ok_or("it has no io_bytes")?;
    result.fault_count = job["total_err"].as_u64().unwrap_or(0);
    let iops = number(&read["iops"]).ok_or("it has no iops")?;
    // The rate is more precise than fio's runtime, which is in milliseconds.
    result.window = if iops > 0.0 { Nanos::from_secs_f64(result.requests as f64 / iops) } else { Nanos::ZERO };
    let latency = &read["lat_ns"];
    let bins = latency["bins"].as_object().ok_or("it has no bins: is it older than 3.0?")?;
    for (nanos, count) in bins {
        let (Ok(nanos), Some(count)) = (nanos.parse(), count.as_u64().and_then(|count| u32::try_from(count).ok()))
        else {
            return Err("its bins are no numbers");
        };
        if count > 0 {
            result.latency.add_times(Nanos(nanos), count);
        }
    }
    let reported = number(&latency["mean"]).zip(number(&latency["stddev"]));
    result.reported = reported.map(|(mean, deviation)| (mean / 1e9, deviation / 1e9));
    result.latency_min = Nanos(latency["min"].as_u64().unwrap_or(0));
    result.latency_max = Nanos(latency["max"].as_u64().unwrap_or(0));
    result.is_complete = true;
    Ok(result)
}

/// Reads lines of `time_ms, latency_ns, direction, bytes, offset, priority`, one a request.
fn read_log(log: impl BufRead, result: &mut StepFigures, grid: &ZoneGrid, zones: &mut [ZoneFigures]) {
    for line in log.lines().map_while(Result::ok) {
        let mut numbers = line.split(',').map(|word| word.trim().parse::<u64>().ok());
        let mut next = || numbers.next().flatten();
        let (Some(millis), Some(nanos), Some(_), Some(_), Some(offset)) = (next(), next(), next(), next(), next())
        else {
            continue;
        };
        result.trace_only(Nanos(nanos), Nanos::from_millis(millis));
        zones[grid.zone_of(offset)].random.add(nanos as f64 / 1e9);
    }
}

/// A folder for a log; it is removed when this is dropped.
struct LogFolder(PathBuf);

impl LogFolder {
    fn new() -> io::Result<LogFolder> {
        for try_number in 0..100 {
            let path = std::env::temp_dir().join(format!("scrubjay-fio-{}-{try_number}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(LogFolder(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

impl Drop for LogFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Output of fio 3.33, shortened.
    const ANSWER: &str = r#"{"fio version":"fio-3.33","jobs":[{"jobname":"x","error":0,"total_err":3,"read":{"io_bytes":2785280,
        "iops":2128.526646,"runtime":319,"total_ios":680,"lat_ns":{"min":60786,"max":20538455,"mean":947843.1,"stddev":2916717.5,
        "N":680,"bins":{"60672":600,"20578304":80}}}}]}"#;

    fn step() -> BenchStep {
        BenchStep { pattern: BenchPattern::Random, depth: 2, request: 4096, time: Nanos::from_millis(300) }
    }

    #[test]
    fn fios_output_is_parsed_and_incomplete_output_is_an_error() {
        let result = parse(step(), &serde_json::from_str(ANSWER).unwrap()).unwrap();
        assert!((result.iops() - 2128.526646).abs() < 0.001 && (result.mean() - 947843.1e-9).abs() < 1e-12);
        assert_eq!((result.requests, result.fault_count, result.quantile(0.5)), (680, 3, Nanos(60_786)));
        assert_eq!(result.latency_max, Nanos(20_538_455));
        for cut in
            [r#"{}"#, r#"{"jobs":[]}"#, r#"{"jobs":[{"read":{"total_ios":1,"io_bytes":1,"iops":1.0,"lat_ns":{}}}]}"#]
        {
            assert!(parse(step(), &serde_json::from_str(cut).unwrap()).is_err(), "{cut}");
        }
    }

    #[test]
    fn the_latency_log_gives_the_time_and_place_of_each_request() {
        let grid = ZoneGrid::new(1 << 30, 1 << 20);
        let mut zones = vec![ZoneFigures::default(); grid.zones as usize];
        let mut result = StepFigures::new(step());
        let log = "0, 9071033, 0, 4096, 0, 0\nnonsense\n200, 2000000, 0, 4096, 1073737728, 0\n";
        read_log(log.as_bytes(), &mut result, &grid, &mut zones);
        assert_eq!((zones[0].random.count, zones[63].random.count), (1.0, 1.0));
        assert_eq!(result.trace.iter().map(|bin| bin.requests).sum::<u64>(), 2);
    }
}
