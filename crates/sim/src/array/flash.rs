//! A flash drive as a prober meets it: many dies that read at the same time, and one link. A model of the device_class, not of a
//! product: it has no mapping, no garbage collection and no writes that differ from reads.

use scrubjay_core::units::Nanos;

/// What a flash drive is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chips {
    /// Dies.
    pub dies: usize,
    /// Bytes that lie on one die, one behind the other.
    pub page_bytes: u64,
    /// How long a die takes for a page or a part of it.
    pub page_time: Nanos,
    /// The way to it and back: of a network. Many requests are on it at a time.
    pub way: Nanos,
    /// The link's rate in bytes a second.
    pub link_rate: f64,
    /// Its size in bytes.
    pub bytes: u64,
}

impl Chips {
    /// A SATA drive of 16 dies.
    pub const SATA: Chips = Chips {
        dies: 16,
        page_bytes: 16 << 10,
        page_time: Nanos(70_000),
        way: Nanos::ZERO,
        link_rate: 560e6,
        bytes: 64 << 30,
    };
    /// An NVMe drive of 64 dies.
    pub const NVME: Chips = Chips {
        dies: 64,
        page_bytes: 16 << 10,
        page_time: Nanos(60_000),
        way: Nanos::ZERO,
        link_rate: 6.9e9,
        bytes: 64 << 30,
    };
}

/// One at work.
#[derive(Clone, Debug)]
pub struct Flash {
    chips: Chips,
    dies_free: Vec<Nanos>,
    link_free: Nanos,
}

impl Flash {
    /// An idle one.
    pub fn new(chips: Chips) -> Flash {
        Flash { chips, dies_free: vec![Nanos::ZERO; chips.dies], link_free: Nanos::ZERO }
    }

    /// What it is made of.
    pub fn chips(&self) -> &Chips {
        &self.chips
    }

    /// Does a request that came at `now`, none before which came later: when it is done.
    pub fn work(&mut self, now: Nanos, offset: u64, len: u64) -> Nanos {
        let page = self.chips.page_bytes;
        let (mut at, end, mut done) = (offset, offset + len, now);
        while at < end {
            let here = (page - at % page).min(end - at);
            // Spread as a mapping spreads what was written at random.
            let die = (at / page).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let free = &mut self.dies_free[die as usize % self.chips.dies];
            *free = (*free).max(now).saturating_add(self.chips.page_time);
            let crossing = Nanos((here as f64 / self.chips.link_rate * 1e9) as u64);
            self.link_free = self.link_free.max(*free).saturating_add(crossing);
            done = done.max(self.link_free);
            at += here;
        }
        done.saturating_add(self.chips.way)
    }
}
