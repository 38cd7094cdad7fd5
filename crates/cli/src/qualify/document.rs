//! The result, as it is written, and in rows and sentences.

use super::by_hand::HandTrial;
use super::round::{QualifiedRound, RoundVerdict};
use crate::bench::HostMachine;
use scrubjay_core::bench::class::MediumClass;
use scrubjay_core::bench::words;
use scrubjay_device::bench::BenchedFacts;
use serde::Serialize;
use serde_json::Value;

/// The disk, as far as it matters to a reader of the result.
#[derive(Debug, Serialize)]
pub struct QualifiedDisk {
    pub model: Option<String>,
    pub serial: Option<String>,
    pub class: String,
    pub driver: Option<String>,
    pub scheduler: Option<String>,
    pub write_cache: Option<String>,
    pub bytes: u64,
    /// Is it a disk that something else makes (a hypervisor, a loop device)? Then it proves nothing of real ones.
    pub is_emulated: bool,
}

/// The result, as it is written and printed by `--json`.
#[derive(Debug, Serialize)]
pub struct QualifyDocument {
    pub schema: u32,
    pub version: &'static str,
    pub kernel: String,
    pub machine: HostMachine,
    pub disk: QualifiedDisk,
    pub minutes: f64,
    /// Did all rounds come to their end?
    pub is_complete: bool,
    pub rounds: Vec<QualifiedRound>,
    /// What `bench verify --json` said, if that was asked for.
    pub verify: Option<Value>,
    pub by_hand: Vec<HandTrial>,
}

impl QualifiedDisk {
    /// What is known of it without a command to it.
    pub fn of(facts: &BenchedFacts, bytes: u64) -> QualifiedDisk {
        let is_emulated = facts.intermediary.is_some()
            || matches!(facts.class, MediumClass::Virtual | MediumClass::Layered | MediumClass::Remote);
        QualifiedDisk {
            model: facts.model.clone(),
            serial: facts.serial.clone(),
            class: facts.class.to_string(),
            driver: facts.driver.clone(),
            scheduler: facts.scheduler.clone(),
            write_cache: facts.write_cache.clone(),
            bytes,
            is_emulated,
        }
    }
}

/// A row of the table.
pub fn row(round: &QualifiedRound) -> Vec<String> {
    let sent = round.beside.requests + round.beside.errors;
    vec![
        round.load.name().to_owned(),
        words::latency(round.goal_seconds),
        words::latency(round.alone_mean()),
        words::latency(round.beside.mean_seconds),
        format!("{:+.2} ±{:.2} ms", 1e3 * round.felt_mean_seconds, 1e3 * round.felt_error_seconds),
        round.scrub.mean_slowdown_seconds.map_or_else(|| "-".to_owned(), |mean| format!("{:.2} ms", 1e3 * mean)),
        words::throughput(round.scrub_rate()),
        format!("{} of {sent}", round.scrub.foreground_requests),
        round.verdict.word().to_owned(),
    ]
}

/// What follows, in a sentence or two.
pub fn summary(document: &QualifyDocument) -> String {
    let count = |verdict: RoundVerdict| document.rounds.iter().filter(|round| round.verdict == verdict).count();
    let all = document.rounds.len();
    let mut words = format!("The client lost no more than the goal in {} of {all} rounds", count(RoundVerdict::Kept));
    for (verdict, what) in [
        (RoundVerdict::Exceeded, "lost more"),
        (
            RoundVerdict::Unclear,
            "cannot be told: the client's own latency varies by more than the goal, or the scrub was done before",
        ),
        (RoundVerdict::Unseen, "not all of its requests were seen"),
    ] {
        match count(verdict) {
            0 => {}
            rounds => words += &format!("; in {rounds} {what}"),
        }
    }
    words += ".";
    if !document.is_complete {
        words += " It was stopped before its end.";
    }
    if document.disk.is_emulated {
        words += " This disk is emulated: it says nothing of real ones.";
    }
    words
}
