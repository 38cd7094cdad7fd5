//! The words by which kinds are stored. They never change, because files of earlier versions have them.

use scrubjay_watch::counters::CounterKind;
use scrubjay_watch::facts::{ArrayActivity, MediaKind};
use scrubjay_watch::incident::{IncidentKind, Urgency};

/// A kind that is stored as a word.
pub trait Spelled: Copy {
    /// Its word.
    fn spelled(self) -> &'static str;

    /// The kind that has this word.
    fn of_word(word: &str) -> Option<Self>;
}

/// Implements [`Spelled`]. A new variant without a word does not compile.
macro_rules! spelled {
    ($kind:ident { $($variant:ident = $word:literal,)+ }) => {
        impl $crate::history::spelling::Spelled for $kind {
            fn spelled(self) -> &'static str {
                match self {
                    $($kind::$variant => $word,)+
                }
            }

            fn of_word(word: &str) -> Option<Self> {
                match word {
                    $($word => Some($kind::$variant),)+
                    _ => None,
                }
            }
        }
    };
}
pub(super) use spelled;

spelled!(MediaKind { Spinning = "spinning", Flash = "flash", });
spelled!(ArrayActivity { Idle = "idle", Checking = "checking", Rebuilding = "rebuilding", });
spelled!(Urgency { Notice = "notice", Replace = "replace", Loss = "loss", });
spelled!(IncidentKind {
    Health = "health",
    Missing = "missing",
    Unknown = "unknown",
    Unread = "unread",
    Stuck = "stuck",
    Degraded = "degraded",
    Stripes = "stripes",
    Lost = "lost",
    Disagreement = "disagreement",
    Unproven = "unproven",
    Undelivered = "undelivered",
    Recipients = "recipients",
    History = "history",
});
spelled!(CounterKind {
    Reallocated = "reallocated",
    Reported = "reported",
    Pending = "pending",
    Uncorrectable = "uncorrectable",
    MediaErrors = "media-errors",
    TimedOut = "timed-out",
    CableErrors = "cable-errors",
});
