//! The colour of each word. The word itself is always shown, too.

use crate::feed::PictureTime;
use scrubjay_control::past::CounterEntry;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::status::LightColour;

/// The class of a light.
pub fn of_light(colour: LightColour, time: PictureTime) -> &'static str {
    match colour {
        _ if time == PictureTime::Old => "unknown",
        LightColour::Green => good(time),
        LightColour::Yellow => "look",
        LightColour::Red => "act",
        LightColour::None => "none",
        LightColour::Grey => "unknown",
    }
}

/// The class of a disk's state.
pub fn of_health(health: HealthState, time: PictureTime) -> &'static str {
    match health {
        _ if time == PictureTime::Old => "unknown",
        HealthState::Ok => good(time),
        HealthState::Watch | HealthState::Worn => "look",
        HealthState::Replace | HealthState::Missing | HealthState::Hot => "act",
        HealthState::Asleep => "asleep",
        HealthState::Unknown | HealthState::Virtual => "unknown",
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
pub fn rank(health: HealthState) -> u8 {
    HealthState::Replace as u8 - health as u8
}

/// Is a counter worth showing?
pub fn is_raised(counter: &CounterEntry) -> bool {
    if counter.is_of_medium { counter.value > 0 } else { counter.growth > 0 }
}
