//! Runs the processes of a round: the client, and the scrub beside it.

use super::client::ClientLatencies;
use super::load::QualifyLoad;
use super::round::{QualifiedRound, ScrubSaid};
use crate::args::QualifyArgs;
use crate::say::say;
use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use scrubjay_core::quantity::show_time;
use scrubjay_core::units::Nanos;
use serde_json::{Value, json};
use std::env;
use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// How long a scrub may settle before the client begins, and end after it.
const SETTLE: Duration = Duration::from_millis(300);

/// What all rounds share.
pub struct Trials {
    path: PathBuf,
    own: PathBuf,
    goals: Vec<Nanos>,
    /// Of one run of the client.
    seconds: f64,
    is_shown: bool,
    stop: Arc<AtomicBool>,
    /// The scrub's state: what it learns in a round it knows in the next one.
    state: StateFolder,
}

/// A folder that is removed at the end.
struct StateFolder(PathBuf);

impl Drop for StateFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

impl Trials {
    /// Divides the time among the runs: each load alone, then beside each goal and alone again.
    pub fn new(path: PathBuf, args: &QualifyArgs, stop: Arc<AtomicBool>) -> Result<Trials> {
        let runs = QualifyLoad::ALL.len() * (2 * args.goals.len() + 1);
        let state = env::temp_dir().join(format!("scrubjay-qualify-{}", std::process::id()));
        fs::create_dir(&state).with_context(|| format!("cannot create {}", state.display()))?;
        Ok(Trials {
            path,
            own: env::current_exe().context("the program's own path")?,
            goals: args.goals.clone(),
            seconds: args.minutes * 60.0 / runs as f64,
            is_shown: !args.no_progress,
            stop,
            state: StateFolder(state),
        })
    }

    /// Whether a signal asked to stop.
    pub fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// All rounds of a load. False: it was stopped.
    ///
    /// # Errors
    /// The client or the scrub could not do its work.
    pub fn rounds_of(&self, load: QualifyLoad, rounds: &mut Vec<QualifiedRound>) -> Result<bool> {
        self.say(format_args!("{}: the client alone, for {:.0} s", load.name(), self.seconds));
        let Some(mut before) = self.client(load)? else { return Ok(false) };
        for &goal in &self.goals {
            self.say(format_args!("{}: beside a scrub with a goal of {}", load.name(), show_time(goal)));
            let mut scrub = self.begin_scrub(&["--slowdown", &format!("{}ns", goal.0)])?;
            thread::sleep(SETTLE);
            let beside = self.client(load);
            let has_ended = scrub.try_wait()?.is_some();
            let said = end_scrub(&mut scrub)?;
            let Some(beside) = beside? else { return Ok(false) };
            let Some(after) = self.client(load)? else { return Ok(false) };
            let said = ScrubSaid { has_ended_early: has_ended, ..said_of(&said).context("what the scrub said")? };
            rounds.push(QualifiedRound::of(load, goal, [before, after.clone()], beside, said));
            before = after;
        }
        Ok(true)
    }

    /// The client's latencies; `None`: it was stopped.
    fn client(&self, load: QualifyLoad) -> Result<Option<ClientLatencies>> {
        let mut client = Command::new(&self.own);
        client
            .args(["qualify", "--client", load.name(), "--seconds", &self.seconds.to_string(), "--seed", "7"])
            .arg(&self.path);
        let child = client.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().context("the client")?;
        let output = child.wait_with_output().context("the client")?;
        if self.is_stopped() {
            return Ok(None);
        }
        if !output.status.success() {
            bail!("the client failed");
        }
        serde_json::from_slice(&output.stdout).context("the client's latencies").map(Some)
    }

    /// Begins a scrub that keeps its state.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn begin_scrub(&self, options: &[&str]) -> Result<Child> {
        let mut scrub = Command::new(&self.own);
        scrub.arg("scrub").arg(&self.path).args(["--json", "--no-progress"]).args(options);
        scrub.arg("--state").arg(&self.state.0);
        scrub.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("the scrub")
    }

    /// What `bench verify` says.
    pub fn verify(&self) -> Value {
        self.say(format_args!("whether VERIFY reads the medium"));
        let mut verify = Command::new(&self.own);
        verify.args(["bench", "verify", "--json", "--no-progress"]).arg(&self.path).stdin(Stdio::null());
        match verify.output() {
            Ok(output) => serde_json::from_slice(&output.stdout)
                .unwrap_or_else(|_| json!({"error": String::from_utf8_lossy(&output.stderr).trim()})),
            Err(error) => json!({"error": error.to_string()}),
        }
    }

    /// Says what is done now.
    pub fn say(&self, line: std::fmt::Arguments<'_>) {
        if self.is_shown {
            say(line);
        }
    }
}

/// Ends a scrub, and returns its object.
///
/// # Errors
/// It printed none: then the error is what it said.
pub fn end_scrub(scrub: &mut Child) -> Result<Value> {
    if scrub.try_wait()?.is_none() {
        let pid = Pid::from_child(scrub);
        kill_process(pid, Signal::INT).context("cannot end the scrub")?;
    }
    let (mut text, mut error) = (String::new(), String::new());
    if let Some(out) = &mut scrub.stdout {
        out.read_to_string(&mut text)?;
    }
    if let Some(out) = &mut scrub.stderr {
        out.read_to_string(&mut error)?;
    }
    scrub.wait()?;
    match serde_json::from_str(&text) {
        Ok(value) => Ok(value),
        Err(_) => bail!("the scrub failed: {}", error.trim()),
    }
}

/// What the scrub's object says of the round.
fn said_of(object: &Value) -> Option<ScrubSaid> {
    let target = object["targets"].get(0)?;
    let slowdown = &target["slowdown"];
    let unreadable = target["unreadable"].as_array().into_iter().flatten();
    Some(ScrubSaid {
        mean_slowdown_seconds: slowdown["mean_seconds"].as_f64(),
        foreground_requests: slowdown["foreground_requests"].as_u64()?,
        is_estimate: slowdown["is_estimate"].as_bool()?,
        detector: target["detector"].as_str()?.to_owned(),
        bytes_requested: target["bytes_requested"].as_u64()?,
        seconds: target["seconds"].as_f64()?,
        has_ended_early: false,
        unreadable_sectors: unreadable.filter_map(|run| run["count"].as_u64()).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scrubs_object_is_understood() {
        let object = json!({"targets": [{
            "slowdown": {"mean_seconds": 0.0004, "foreground_requests": 81, "is_estimate": false},
            "detector": "bpf", "bytes_requested": 1 << 20, "seconds": 2.5, "unreadable": [{"start": 8, "count": 2}],
        }]});
        let said = said_of(&object).unwrap();
        assert_eq!(
            (said.mean_slowdown_seconds, said.foreground_requests, said.unreadable_sectors),
            (Some(0.0004), 81, 2)
        );
        assert_eq!(said_of(&json!({"targets": []})), None);
    }
}
