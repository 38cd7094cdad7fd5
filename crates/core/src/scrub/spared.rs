//! Places whose requests are known to stall the drive: they are read last, by small requests, and only while the disk is quiet.
//!
//! A drive that tries a weak place again and again answers nobody meanwhile, for seconds, and nothing can recall the request. So all else is read
//! first; then each request is small, and waits until nobody has used the disk for a minute. An hour later it is sent all the same, as the policy
//! allows: what is never read is never known.

use crate::range_set::RangeSet;
use crate::units::{Bytes, Nanos, SectorRange};

/// The size of a request there, at most.
const REQUEST_MAX: Bytes = Bytes::kib(64);
/// For how long nobody must have used the disk.
const QUIET: Nanos = Nanos::from_secs(60);
/// The longest wait for that, in all. (A session may be short, and the rest of an array may wait for it.)
const WAIT_MAX: Nanos = Nanos::from_secs(3600);

/// The places, and since when nothing else is left to be read.
#[derive(Clone, Debug, Default)]
pub(super) struct SparedPlaces {
    places: RangeSet,
    waits_since: Option<Nanos>,
    waits_until: Option<Nanos>,
}

impl SparedPlaces {
    /// Adds a place.
    pub(super) fn add(&mut self, place: SectorRange) {
        self.places.insert(place);
    }

    /// All that is spared.
    pub(super) fn bytes(&self) -> Bytes {
        Bytes(self.places.iter().map(|place| place.bytes().0).sum())
    }

    /// How many sectors a request for what was put off may have, that begins with `next`.
    pub(super) fn limit(&self, next: SectorRange, sectors_max: u64, granule: u64) -> u64 {
        match self.contains(next) {
            true => sectors_max.min(REQUEST_MAX.sectors()).max(granule),
            false => sectors_max,
        }
    }

    /// Whether the range lies in such a place.
    pub(super) fn contains(&self, range: SectorRange) -> bool {
        self.places.iter().any(|place| place.contains(range.start))
    }

    /// Whether a request for `next`, which was put off, has to wait; `idle`: for how long nobody has used the disk.
    pub(super) fn has_to_wait(&mut self, now: Nanos, next: SectorRange, idle: Nanos) -> bool {
        self.waits_until = None;
        if !self.contains(next) {
            return false;
        }
        let since = *self.waits_since.get_or_insert(now);
        let has_to_wait = idle < QUIET && now.since(since) < WAIT_MAX;
        self.waits_until = has_to_wait.then(|| (now + QUIET.since(idle)).min(since + WAIT_MAX));
        has_to_wait
    }

    /// When to ask again.
    pub(super) fn waits_until(&self) -> Nanos {
        self.waits_until.unwrap_or(Nanos::ZERO)
    }
}
