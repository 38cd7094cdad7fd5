//! Findings: what was wrong, where, and how it ended; of disks, arrays, file systems and volumes, in one shape.
//!
//! ```text
//! a subject's verifier -- Finding --> the scrub: Pass -- FoundList --> saved with the pass, reported, laid out by programs
//! ```
//!
//! - `found`: a finding.
//! - `kind`: what was wrong, a closed list. A new kind is a variant there, and its word in `text`.
//! - `list`: the findings of a pass, bounded, with exact counts.
//! - `text`: a finding as a line of a file, and back.
//!
//! No words for people are here: programs have them.

mod found;
mod kind;
mod list;
mod text;

pub use found::{Finding, FoundChunk, FoundContent, FoundOn};
pub use kind::{FindingKind, Judgement, Resolution};
pub use list::{FOUND_MAX, FoundList};
pub use text::FoundTextError;
