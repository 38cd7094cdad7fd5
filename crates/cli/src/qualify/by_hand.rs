//! What only a person can do: unplug the disk, suspend the machine.

use super::trial::{Trials, end_scrub};
use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use std::io::{self, Write};

/// What the person is asked to do, and its name in the result.
const TRIALS: [(&str, &str); 2] = [
    ("unplug", "A scrub runs. Unplug the disk now, wait ten seconds, plug it in again"),
    ("suspend", "A scrub runs. Suspend the machine now (systemctl suspend), and wake it after a minute"),
];

/// What became of a scrub meanwhile.
#[derive(Debug, Serialize)]
pub struct HandTrial {
    /// What was done: `unplug`, `suspend`.
    what: &'static str,
    /// Was it skipped?
    is_skipped: bool,
    /// The object of the scrub that ran meanwhile; null if it printed none.
    scrub: Option<Value>,
    /// Whether a later scrub went on with what it had read; null if that cannot be told.
    goes_on: Option<bool>,
    /// What a later scrub said, if it could not begin.
    trouble: Option<String>,
}

impl HandTrial {
    /// In a sentence.
    pub fn words(&self) -> String {
        let what = self.what;
        match (self.is_skipped, self.goes_on, &self.trouble) {
            (true, ..) => format!("{what}: skipped."),
            (_, _, Some(trouble)) => format!("{what}: a scrub afterwards could not begin: {trouble}."),
            (_, Some(true), _) => format!("{what}: a scrub afterwards went on where that one was."),
            (_, Some(false), _) => format!("{what}: a scrub afterwards began anew."),
            (_, None, _) => format!("{what}: what became of a scrub afterwards cannot be told."),
        }
    }
}

/// Asks for each, and sees what a scrub makes of it.
///
/// # Errors
/// There is nobody who answers, or no scrub can begin at all.
pub fn run(trials: &Trials) -> Result<Vec<HandTrial>> {
    let mut done = Vec::new();
    for (what, ask) in TRIALS {
        let mut scrub = trials.begin_scrub(&[])?;
        let answer = asked(&format!("{ask}; then press Enter (or type s to skip it): "));
        let during = end_scrub(&mut scrub).ok();
        let answer = answer?;
        if answer == "s" {
            done.push(HandTrial { what, is_skipped: true, scrub: None, goes_on: None, trouble: None });
            continue;
        }
        let mut later = trials.begin_scrub(&[])?;
        std::thread::sleep(std::time::Duration::from_secs(2));
        let later = end_scrub(&mut later);
        let goes_on = later.as_ref().ok().and_then(|object| object["targets"].get(0)?["resumed"].as_bool());
        let trouble = later.err().map(|error| format!("{error:#}"));
        done.push(HandTrial { what, is_skipped: false, scrub: during, goes_on, trouble });
    }
    Ok(done)
}

fn asked(question: &str) -> Result<String> {
    let mut out = io::stderr().lock();
    write!(out, "{question}")?;
    out.flush()?;
    let mut answer = String::new();
    anyhow::ensure!(io::stdin().read_line(&mut answer)? > 0, "--by-hand: there is nobody who answers");
    Ok(answer.trim().to_lowercase())
}
