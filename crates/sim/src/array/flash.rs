//! A flash drive as a prober sees it: many dies that read in parallel, and one link.
//!
//! It models the device class, not a product: it has no mapping, no garbage collection and no writes that differ from reads.

use scrubjay_core::units::Nanos;

/// The parts of a flash drive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Chips {
    /// The number of dies.
    pub dies: usize,
    /// Successive bytes that lie on one die.
    pub page_bytes: u64,
    /// The time that a die takes for a page or a part of it.
    pub page_time: Nanos,
    /// The time to the drive and back, as over a network. Many requests travel at the same time.
    pub travel_time: Nanos,
    /// The link's rate in bytes a second.
    pub link_rate: f64,
    /// The drive's size in bytes.
    pub bytes: u64,
}

impl Chips {
    /// A SATA drive of 16 dies.
    pub const SATA: Chips = Chips {
        dies: 16,
        page_bytes: 16 << 10,
        page_time: Nanos(70_000),
        travel_time: Nanos::ZERO,
        link_rate: 560e6,
        bytes: 64 << 30,
    };
    /// An NVMe drive of 64 dies.
    pub const NVME: Chips = Chips {
        dies: 64,
        page_bytes: 16 << 10,
        page_time: Nanos(60_000),
        travel_time: Nanos::ZERO,
        link_rate: 6.9e9,
        bytes: 64 << 30,
    };
}

/// A flash drive at work.
#[derive(Clone, Debug)]
pub struct Flash {
    chips: Chips,
    dies_free: Vec<Nanos>,
    link_free: Nanos,
}

impl Flash {
    /// An idle drive.
    pub fn new(chips: Chips) -> Flash {
        Flash { chips, dies_free: vec![Nanos::ZERO; chips.dies], link_free: Nanos::ZERO }
    }

    /// Its parts.
    pub fn chips(&self) -> &Chips {
        &self.chips
    }

    /// When a request that arrives at `now` is done. Requests must be given in the order of their arrivals.
    pub fn work(&mut self, now: Nanos, offset: u64, len: u64) -> Nanos {
        let page = self.chips.page_bytes;
        let (mut at, end, mut done) = (offset, offset + len, now);
        while at < end {
            let part_len = (page - at % page).min(end - at);
            // Pages are spread as a mapping spreads random writes.
            let die = (at / page).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
            let free = &mut self.dies_free[die as usize % self.chips.dies];
            *free = (*free).max(now).saturating_add(self.chips.page_time);
            let crossing = Nanos((part_len as f64 / self.chips.link_rate * 1e9) as u64);
            self.link_free = self.link_free.max(*free).saturating_add(crossing);
            done = done.max(self.link_free);
            at += part_len;
        }
        done.saturating_add(self.chips.travel_time)
    }
}
