//! Which writes of a block device may be the first of their stripe: they are made durable before they are acknowledged.
//!
//! When a server is killed while a stripe that was never written before is being written, an acknowledged and unflushed
//! write of it may be lost (docs/known-limits.md). A client that loses its connection by that knows that something happened.
//! A user of a recovered block device does not, and the next flush would report success.

use std::ops::Range;

/// The stripes of which a write is known to be durable.
#[derive(Debug)]
pub(super) struct FirstWrites {
    stripe_bytes: u64,
    /// One bit per stripe.
    known: Vec<u64>,
    /// Counts the starts and ends of trims, to detect those that overlap a write.
    era: u64,
    trims_in_flight: usize,
}

impl FirstWrites {
    /// For a volume of `size` bytes with `stripe_bytes` bytes of data per stripe. No stripe is known yet.
    ///
    /// # Panics
    /// When `stripe_bytes` is 0.
    pub fn new(size: u64, stripe_bytes: u64) -> FirstWrites {
        assert!(stripe_bytes > 0, "stripes hold something");
        let words = size.div_ceil(stripe_bytes).div_ceil(64) as usize;
        FirstWrites { stripe_bytes, known: vec![0; words], era: 0, trims_in_flight: 0 }
    }

    /// May a write of these bytes be the first of a stripe? Then it must be durable.
    pub fn is_first(&self, bytes: Range<u64>) -> bool {
        self.stripes(bytes).any(|stripe| self.known.get(stripe / 64).is_none_or(|word| word >> (stripe % 64) & 1 == 0))
    }

    /// The current era, to be kept from the start of a write for [`FirstWrites::written`].
    pub fn era(&self) -> u64 {
        self.era
    }

    /// A write of these bytes, started in the era `begun_era`, is durable. Its stripes are known now, unless a trim
    /// overlapped it.
    pub fn written(&mut self, bytes: Range<u64>, begun_era: u64) {
        if self.trims_in_flight > 0 || self.era != begun_era {
            return;
        }
        for stripe in self.stripes(bytes) {
            if let Some(word) = self.known.get_mut(stripe / 64) {
                *word |= 1 << (stripe % 64);
            }
        }
    }

    /// A trim or zeroing of these bytes starts: the next write there may be a first write again.
    pub fn trim(&mut self, bytes: Range<u64>) {
        self.era += 1;
        self.trims_in_flight += 1;
        for stripe in self.stripes(bytes) {
            if let Some(word) = self.known.get_mut(stripe / 64) {
                *word &= !(1 << (stripe % 64));
            }
        }
    }

    /// A trim or zeroing has ended.
    pub fn trimmed(&mut self) {
        self.era += 1;
        self.trims_in_flight -= 1;
    }

    fn stripes(&self, bytes: Range<u64>) -> Range<usize> {
        (bytes.start / self.stripe_bytes) as usize..bytes.end.div_ceil(self.stripe_bytes) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STRIPE: u64 = 256 << 10;

    #[test]
    fn a_stripe_is_known_once_a_write_of_it_is_durable() {
        let mut writes = FirstWrites::new(100 * STRIPE, STRIPE);
        assert!(writes.is_first(0..4096));
        writes.written(0..4096, writes.era());
        assert!(!writes.is_first(STRIPE - 512..STRIPE), "the same stripe");
        assert!(writes.is_first(STRIPE - 512..STRIPE + 512), "and the next one, too");
        writes.written(63 * STRIPE..66 * STRIPE, writes.era());
        assert!(!writes.is_first(64 * STRIPE..66 * STRIPE));
        assert!(writes.is_first(66 * STRIPE..66 * STRIPE + 512) && writes.is_first(62 * STRIPE..63 * STRIPE));
        assert!(writes.is_first(1000 * STRIPE..1001 * STRIPE), "behind the end nothing is known");
    }

    #[test]
    fn a_trimmed_stripe_is_not_known_any_more() {
        let mut writes = FirstWrites::new(100 * STRIPE, STRIPE);
        writes.written(0..10 * STRIPE, writes.era());
        writes.trim(STRIPE..STRIPE + 4096);
        writes.trimmed();
        assert!(
            writes.is_first(STRIPE..STRIPE + 1)
                && !writes.is_first(0..STRIPE)
                && !writes.is_first(2 * STRIPE..3 * STRIPE)
        );
    }

    #[test]
    fn a_write_that_overlaps_a_trim_makes_no_stripe_known() {
        let mut writes = FirstWrites::new(100 * STRIPE, STRIPE);
        let before = writes.era();
        writes.trim(0..STRIPE);
        let during = writes.era();
        writes.written(0..STRIPE, before);
        writes.written(0..STRIPE, during);
        assert!(writes.is_first(0..STRIPE), "the trim goes on, and may come after it");
        writes.trimmed();
        writes.written(0..STRIPE, during);
        assert!(writes.is_first(0..STRIPE), "the trim may have come after it");
        writes.written(0..STRIPE, writes.era());
        assert!(!writes.is_first(0..STRIPE));
    }
}
