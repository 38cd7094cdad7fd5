//! What is known of a device, as facts in the order in which people read them.

use super::advice;
use super::kernel::{Kernel, KernelJudgement};
use super::words;
use scrubjay_core::probe::known::{Claim, KnownArray};
use scrubjay_core::quantity::show_exact;
use scrubjay_core::units::Bytes;

/// The confidence that the prober's last check can give; higher ones are not told apart.
const CHECKED: f64 = 0.998;

/// A fact, with its name.
#[derive(Clone, Debug, PartialEq)]
pub struct ProbeFact {
    /// Its name, such as `chunk`.
    pub name: &'static str,
    /// What is known.
    pub value: String,
    /// How sure that is, 0 to 1, if that is known.
    pub confidence: Option<f64>,
    /// A remark; empty for none.
    pub remark: &'static str,
}

/// A limit of the kernel, as it compares with what was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelLimit {
    /// The name of its file in `/sys/block/X/queue`.
    pub file: &'static str,
    /// Its value, in bytes.
    pub value: i64,
    /// How it compares.
    pub judgement: KernelJudgement,
}

/// The confidence as a percentage; `None` if it is as high as the prober's last check can make it, or higher.
pub fn doubt(confidence: f64) -> Option<String> {
    (confidence < CHECKED).then(|| format!("{:.1} %", confidence * 100.0))
}

/// The confidence of a table's cell.
pub fn confidence_cell(confidence: Option<f64>) -> String {
    confidence
        .map_or("-".to_owned(), |confidence| doubt(confidence).unwrap_or_else(|| format!("≥ {:.1} %", CHECKED * 100.0)))
}

/// The facts, but for the classes of chunks. Where reads do not suffice, writes are proposed, unless they were allowed.
pub fn facts(known: &KnownArray, allows_writes: bool) -> Vec<ProbeFact> {
    let mut facts = Vec::new();
    let mut add = |name, value, confidence| facts.push(ProbeFact { name, value, confidence, remark: "" });
    if let Some(pattern) =
        known.pattern_bytes.as_ref().filter(|_| known.disks.as_ref().is_none_or(|disks| disks.value > 1))
    {
        add("pattern", show_exact(pattern.value), Some(pattern.confidence));
    }
    if let Some(chunk) = &known.chunk_bytes {
        add("chunk", show_exact(chunk.value), Some(chunk.confidence));
    }
    if let Some(phase) = &known.phase_bytes {
        add("phase", format!("a chunk begins at byte {}", phase.value), Some(phase.confidence));
    }
    if let Some(disks) = &known.disks {
        add("disks", disks.value.to_string(), Some(disks.confidence));
    }
    if let Some(joined) = &known.joined {
        let starts: Vec<String> = joined.value.iter().map(|start| Bytes(*start).to_string()).collect();
        add("they begin at", starts.join(", "), Some(joined.confidence));
    }
    if let Some(copies) = &known.copies {
        add("copies", copies.value.to_string(), Some(copies.confidence));
    }
    if let Some(layout) = words::layout(known, " or ") {
        let is_open = known.level.is_none() && advice::cases(known).len() > 1;
        facts.push(ProbeFact {
            name: "layout",
            value: layout,
            confidence: known.fits.as_ref().map(|fits| fits.confidence),
            remark: match (is_open, allows_writes) {
                (true, false) => "reads cannot tell them apart; --allow-writes can",
                (true, true) => "reads cannot tell them apart",
                (false, _) => "",
            },
        });
    }
    let mut add = |name, value, confidence| facts.push(ProbeFact { name, value, confidence, remark: "" });
    if let Some(ratio) = &known.write_ratio {
        add("writes", format!("{:.2} times a read", ratio.value), Some(ratio.confidence));
    }
    if let Some(level) = &known.level {
        add("level", words::level(level.value), Some(level.confidence));
    }
    facts
}

/// The chunk, if it is certain enough to be compared with.
fn sure_chunk(known: &KnownArray) -> Option<u64> {
    known.chunk_bytes.as_ref().filter(|claim| claim.confidence >= advice::SURE_MIN).map(|claim| claim.value)
}

/// The bytes of data that a stripe may have: one width for each case that fits.
pub fn widths(known: &KnownArray) -> Vec<u64> {
    sure_chunk(known).map_or_else(Vec::new, |chunk| advice::cases(known).iter().map(|case| case.data * chunk).collect())
}

/// The kernel's minimum, which is a chunk, its optimum, which is the width of a stripe, and its alignment.
pub fn limits(known: &KnownArray, kernel: &Kernel) -> [KernelLimit; 3] {
    // Uncertain values are not used for comparison.
    let is_sure = |claim: &&Claim<u64>| claim.confidence >= advice::SURE_MIN;
    let chunk = sure_chunk(known);
    let phase = known.phase_bytes.as_ref().filter(is_sure).map(|claim| claim.value);
    let bytes = |value: u64| i64::try_from(value).unwrap_or(i64::MAX);
    let limit = |file, value, judgement| KernelLimit { file, value, judgement };
    [
        limit("minimum_io_size", bytes(kernel.minimum_io_size), kernel.minimum(chunk)),
        limit("optimal_io_size", bytes(kernel.optimal_io_size), kernel.optimum(&widths(known))),
        limit("alignment_offset", kernel.alignment_offset, kernel.alignment(chunk.zip(phase))),
    ]
}
