//! Silent corruption: the schemes that find it, what they write behind each chunk, and how the rows read are judged.
//!
//! Terms and schemes of Li & Lee, "Integrity Protection for RAID" (MSST 2014); docs/decisions.md has the corrections.
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
