//! Every sentence that Scrubjay says of disks, arrays and alerts: facts in, words out.
//!
//! **Never:** I/O, a clock, a thread; a decision. Whoever has facts asks here, at the last door, for their words: the pump for those of
//! a message, once, when it keeps it; the daemon for those of a document.
//!
//! ```text
//! watch: Condition, Letter, WatchStatus --> sentences (tables with examples) --> Said, MessageText --> mail, documents, logs
//!                                                        |
//!                                                        +--> catalogue --> docs/messages.md (`cargo xtask messages`)
//! ```
//!
//! A sentence is a row of a table (`sentence`), with its text and an example of what stands in it. [`Said`] and [`MessageText`] have
//! no other source but what was made so before and kept, or read from a document; so no other crate can say anything in their place. A new sentence is a row; a new table is one line more in
//! `catalogue`.

mod advice;
mod array;
mod card;
mod catalogue;
mod channel;
mod condition;
mod date;
mod doing;
mod exposure;
mod failures;
mod found;
mod health;
mod history;
mod hold;
mod letter;
mod line;
mod paced;
mod pool;
mod pool_scrub;
mod reading;
mod scrubbed;
mod sentence;
mod status;
mod surface;
mod texts;

pub use array::mismatched;
pub use catalogue::{Chapter, catalogue, page};
pub use channel::proof;
pub use condition::{example_conditions, headline};
pub use date::{show_date, show_time};
pub use doing::{doing, held_up, is_waiting_for_first_request};
pub use exposure::exposure;
pub use found::{
    MdContent, btrfs_counts, disagreement, extent, lost_earlier, lost_stripes_at, made_to_agree, mismatch, place_of,
    rewritten, row, rows, unread,
};
pub use health::{base_rate, counter, nvme_warnings, refusal, sign};
pub use hold::{hold_back, pool_scan, session_fault};
pub use letter::{LINES_MAX, MessageText, SUBJECT_MAX, Wording, repeated};
pub use paced::PaceWords;
pub use pool::damage;
pub use pool_scrub::PoolScrubWords;
pub use scrubbed::{CostWords, ResultWords, ScrubAdvice, WrongWords};
pub use sentence::{Count, Said, counted, typed, with_command};
pub use status::{
    NotKnownWhy, and_more, light, not_known, observed_reads, observed_sends, of_before, overdue, scrub_begins, to_do,
    to_do_line, verdict, would_be_read,
};
pub use surface::SpeedWords;
pub use texts::MessageTexts;
