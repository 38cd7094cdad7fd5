//! The colour of each word. The word itself is always shown, too.

use crate::feed::PictureTime;
use scrubjay_jobs::control::past::CounterEntry;

/// The class of a light.
pub fn of_light(colour: &str, time: PictureTime) -> &'static str {
    match colour {
        _ if time == PictureTime::Old => "unknown",
        "green" => good(time),
        "yellow" => "look",
        "red" => "act",
        "none" => "none",
        _ => "unknown",
    }
}

/// The class of a disk's state.
pub fn of_health(health: &str, time: PictureTime) -> &'static str {
    match health {
        _ if time == PictureTime::Old => "unknown",
        "ok" => good(time),
        "watch" | "worn" => "look",
        "replace" | "missing" | "hot" => "act",
        "asleep" => "asleep",
        _ => "unknown",
    }
}

/// The class of a good state. Green is for the present only.
fn good(time: PictureTime) -> &'static str {
    match time {
        PictureTime::Now => "good",
        PictureTime::Old => "unknown",
        PictureTime::Recorded => "was",
    }
}

/// The rank of a disk's state, the worst first.
pub fn rank(health: &str) -> u8 {
    match health {
        "replace" => 0,
        "missing" => 1,
        "hot" => 2,
        "worn" => 3,
        "watch" => 4,
        "unknown" => 5,
        "virtual" => 6,
        "asleep" => 7,
        "ok" => 9,
        _ => 8,
    }
}

/// Is a counter worth showing?
pub fn is_raised(counter: &CounterEntry) -> bool {
    if counter.is_of_medium { counter.value > 0 } else { counter.growth > 0 }
}
