//! The errors of making a code or a decoder.

use std::fmt;

/// Why a [`crate::Code`] or [`crate::Decoder`] cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeError {
    /// A code needs at least one data slot.
    NoData,
    /// More parities than the construction has rows.
    TooManyParities {
        /// The parity slots asked for.
        parity: usize,
    },
    /// More slots than a stripe may have.
    TooManySlots {
        /// The slots asked for.
        slots: usize,
    },
    /// The code has no such slot.
    NoSuchSlot {
        /// The slot's number.
        slot: usize,
    },
    /// A slot is named twice: among the missing, among the survivors, or in both.
    NamedTwice {
        /// The slot's number.
        slot: usize,
    },
    /// Decoding takes exactly as many survivors as there are data slots.
    SurvivorCount {
        /// The survivors given.
        given: usize,
        /// The survivors needed.
        needed: usize,
    },
}

impl fmt::Display for CodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CodeError::NoData => write!(f, "a code needs at least one data slot"),
            CodeError::TooManyParities { parity } => write!(f, "{parity} parities are too many: 6 at most"),
            CodeError::TooManySlots { slots } => write!(f, "{slots} slots are too many: 255 at most"),
            CodeError::NoSuchSlot { slot } => write!(f, "there is no slot {slot}"),
            CodeError::NamedTwice { slot } => write!(f, "slot {slot} is named twice"),
            CodeError::SurvivorCount { given, needed } => {
                write!(f, "decoding takes exactly {needed} surviving slots, not {given}")
            }
        }
    }
}

impl std::error::Error for CodeError {}
