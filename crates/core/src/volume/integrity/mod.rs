//! Silent corruption: the schemes that find it, what they write beside each chunk, and how what is read is judged.
//!
//! Words and schemes of Li & Lee, "Integrity Protection for RAID" (MSST 2014); what is corrected is in docs/notes.md.
//!
//! ```text
//! rows -> tag (what a row says of itself) -> evidence -> judge   (after acknowledged writes: which rows are wrong)
//!                                                     -> reconcile (after a crash: what the stripe is to be)
//! ```

pub mod evidence;
pub mod judge;
pub mod reconcile;
pub mod scheme;
pub mod tag;
