//! Converts numbers whose units differ from their format's usual ones.

use crate::formats::Units;
use crate::record::Record;
use scrubjay_core::units::{Bytes, Nanos};

/// The factors for times and for places, as (numerator, denominator).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TraceScale {
    time: (u64, u64),
    block: (u64, u64),
}

impl Default for TraceScale {
    fn default() -> TraceScale {
        TraceScale { time: (1, 1), block: (1, 1) }
    }
}

impl TraceScale {
    /// The factors from the format's usual units to the given ones.
    pub(super) fn between(usual: Units, time: Option<Nanos>, block: Option<Bytes>) -> TraceScale {
        TraceScale {
            time: (time.unwrap_or(usual.time).0, usual.time.0),
            block: (block.unwrap_or(usual.block).0, usual.block.0),
        }
    }

    /// The record in the given units; `None`: a value exceeds 64 bits.
    pub(super) fn applied(self, record: Record) -> Option<Record> {
        if self == TraceScale::default() {
            return Some(record);
        }
        let scaled = |value: u64, (times, by): (u64, u64)| {
            u64::try_from(u128::from(value) * u128::from(times) / u128::from(by)).ok()
        };
        let time = |value: Nanos| scaled(value.0, self.time).map(Nanos);
        let (offset, length) = (scaled(record.offset.0, self.block)?, scaled(record.length.0, self.block)?);
        let response = match record.response {
            Some(response) => Some(time(response)?),
            None => None,
        };
        let (offset, length) = (Bytes(offset), Bytes(length));
        offset.0.checked_add(length.0)?;
        Some(Record { arrival: time(record.arrival)?, response, offset, length, ..record })
    }
}
