//! The JSON of `probe`, and of each trial of `simulate array`.

use super::advice::{self, FormatPlace};
use super::kernel::Kernel;
use super::words;
use scrubjay_core::probe::io::ProbeBudget;
use scrubjay_core::probe::known::{Claim, KnownArray, ProbeFinding};
use serde::Serialize;

/// One line of JSON. What is not known is null.
#[derive(Debug, Serialize)]
pub struct ProbeDocument {
    schema: u32,
    /// Release, commit and date of the program.
    version: &'static str,
    pattern_bytes: Option<u64>,
    chunk_bytes: Option<u64>,
    phase_bytes: Option<u64>,
    disks: Option<usize>,
    /// Where each disk begins, if they are concatenated.
    joined: Option<Vec<u64>>,
    copies: Option<usize>,
    /// The layouts that fit, by name, joined by `|`; `free` where none does.
    layout: Option<String>,
    /// `raid0`, `mirror-2`, `raid5`, `raid6`.
    level: Option<String>,
    write_ratio: Option<f64>,
    /// The class of each chunk of the pattern.
    classes: Option<Vec<usize>>,
    /// Median read times of each class.
    class_times: Vec<f64>,
    findings: Vec<FindingDocument>,
    /// Why nothing could be measured.
    unmeasurable: Option<String>,
    confidence: Confidence,
    ios: u64,
    seconds: f64,
    kernel: Option<Kernel>,
    advice: Vec<String>,
}

/// How sure each statement is, 0 to 1.
#[derive(Debug, Serialize)]
struct Confidence {
    pattern: Option<f64>,
    chunk: Option<f64>,
    phase: Option<f64>,
    disks: Option<f64>,
    copies: Option<f64>,
    layout: Option<f64>,
    level: Option<f64>,
    classes: Option<f64>,
}

/// Something that the user should know.
#[derive(Debug, Serialize)]
struct FindingDocument {
    /// `unequal`, `slow`, `fast`, `lost`, `lost_copy`, `no_level`, `unknown`.
    kind: &'static str,
    class: Option<usize>,
    factor: Option<f64>,
    sizes: Option<Vec<usize>>,
    confidence: f64,
    text: String,
}

impl ProbeDocument {
    /// Makes the document.
    pub fn new(known: &KnownArray, spent: ProbeBudget, kernel: Option<Kernel>, place: &FormatPlace) -> ProbeDocument {
        ProbeDocument {
            schema: 1,
            version: scrubjay_control::version::version(),
            pattern_bytes: value(&known.pattern_bytes),
            chunk_bytes: value(&known.chunk_bytes),
            phase_bytes: value(&known.phase_bytes),
            disks: value(&known.disks),
            joined: value(&known.joined),
            copies: value(&known.copies),
            layout: words::layout(known, "|"),
            level: known.level.as_ref().map(|level| words::level(level.value)),
            write_ratio: value(&known.write_ratio),
            classes: value(&known.classes),
            class_times: known.class_times.clone(),
            findings: known.findings.iter().map(finding).collect(),
            unmeasurable: known.unmeasurable.as_ref().map(words::unmeasurable),
            confidence: Confidence {
                pattern: confidence(&known.pattern_bytes),
                chunk: confidence(&known.chunk_bytes),
                phase: confidence(&known.phase_bytes),
                disks: confidence(&known.disks),
                copies: confidence(&known.copies),
                layout: confidence(&known.fits),
                level: confidence(&known.level),
                classes: confidence(&known.classes),
            },
            ios: spent.requests,
            seconds: spent.time.as_secs_f64(),
            kernel,
            advice: advice::lines(known, place),
        }
    }
}

fn value<T: Clone>(claim: &Option<Claim<T>>) -> Option<T> {
    claim.as_ref().map(|claim| claim.value.clone())
}

fn confidence<T>(claim: &Option<Claim<T>>) -> Option<f64> {
    claim.as_ref().map(|claim| claim.confidence)
}

fn finding(claim: &Claim<ProbeFinding>) -> FindingDocument {
    let (kind, class, factor, sizes) = match &claim.value {
        ProbeFinding::Unequal { sizes } => ("unequal", None, None, Some(sizes.clone())),
        ProbeFinding::Slow { class, factor } => ("slow", Some(*class), Some(*factor), None),
        ProbeFinding::Fast { class, factor } => ("fast", Some(*class), Some(*factor), None),
        ProbeFinding::Lost { class } => ("lost", Some(*class), None, None),
        ProbeFinding::LostCopy { class } => ("lost_copy", Some(*class), None, None),
        ProbeFinding::Unknown => ("unknown", None, None, None),
        ProbeFinding::NoLevel { .. } => ("no_level", None, None, None),
    };
    FindingDocument { kind, class, factor, sizes, confidence: claim.confidence, text: words::finding(&claim.value) }
}
