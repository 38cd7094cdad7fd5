//! Resets of the way to a drive, as the kernel's log tells of them: how many make a sign against the cable, the port or the power supply.
//!
//! One is no news: a command that took too long makes one, and so does a look for new drives. Several within a day are.

use crate::calendar::{DAY, elapsed};
use scrubjay_core::units::UnixSeconds;

/// Resets within so many seconds are one: the kernel tries several times, the last time at once before it gives the drive up.
const TOGETHER: u64 = 30;
/// So many, each within a day of the one before, are a sign.
const SIGN_FROM: u64 = 3;
/// A sign is over when there was none for so long.
const OVER_AFTER: u64 = 7 * DAY;

/// The resets of the way to a drive that count together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LinkResets {
    /// How many.
    pub count: u64,
    /// When the last one was.
    pub last: UnixSeconds,
}

impl LinkResets {
    /// Was there none?
    pub fn is_none(&self) -> bool {
        *self == LinkResets::default()
    }

    /// Takes a reset; whether that changes anything.
    pub(crate) fn add(&mut self, now: UnixSeconds) -> bool {
        let before = *self;
        let since = elapsed(now, self.last);
        if self.count == 0 || since > self.lasts() {
            *self = LinkResets { count: 1, last: now };
        } else if since > TOGETHER {
            *self = LinkResets { count: self.count.saturating_add(1), last: now };
        }
        *self != before
    }

    /// How many there were, if that is a sign.
    pub(crate) fn sign(&self, now: UnixSeconds) -> Option<u64> {
        (self.count >= SIGN_FROM && elapsed(now, self.last) <= OVER_AFTER).then_some(self.count)
    }

    /// For how long after the last one another counts with these.
    fn lasts(&self) -> u64 {
        if self.count >= SIGN_FROM { OVER_AFTER } else { DAY }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::calendar::HOUR;

    #[test]
    fn three_within_a_day_of_each_other_are_a_sign_for_a_week() {
        let at = |seconds: u64| UnixSeconds(1_800_000_000 + seconds);
        let mut resets = LinkResets::default();
        assert!(resets.add(at(0)) && !resets.add(at(5)) && !resets.add(at(30)), "one event");
        assert_eq!(resets.count, 1);
        assert!(resets.add(at(HOUR)));
        assert_eq!(resets.sign(at(HOUR)), None);
        assert!(resets.add(at(20 * HOUR)));
        assert_eq!(resets.sign(at(20 * HOUR)), Some(3));
        assert_eq!(resets.sign(at(20 * HOUR + OVER_AFTER)), Some(3));
        assert_eq!(resets.sign(at(20 * HOUR + OVER_AFTER + 1)), None);
        resets.add(at(30 * DAY));
        assert_eq!(resets.count, 1, "from the beginning");
        resets.add(at(31 * DAY + 1));
        assert_eq!(resets.count, 1, "one a day says nothing");
    }
}
