//! Recognises an array that lacks members.
//!
//! Data of a missing member are rebuilt from all others, so a read of them waits for any other read, wherever that is;
//! other places do not.

use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};

/// Places that are probed: if one disk of twelve is missing, two of them wait.
const PLACES: usize = 24;
/// Places that are probed at a time: more of them would delay each other.
const PROBES: usize = 3;
/// Hammers for each place, on random other places: on two disks, one place in 250 waits for all of them by chance.
const HAMMERS: usize = 8;
/// The least number of places that wait for every hammer.
const WAITING_MIN: usize = 2;
/// At least one place in this many must wait for half of the hammers or fewer. Behind a limit, or in a queue without
/// overtaking, all places wait.
const FREE_ONE_IN: usize = 4;

/// The share of places, in percent, that wait for every other read; `None` if the array does not lack members. For one copy only.
///
/// # Errors
/// Those of [`Sampler::run`].
pub async fn rebuilt_percent(sampler: &mut Sampler, hammer: Hammer) -> Result<Option<u8>, EarlyEnd> {
    let block = sampler.device().block;
    let random_place = |sampler: &mut Sampler| sampler.rng.below((hammer.pattern / block).max(1)) * block;
    let mut late = Vec::new();
    while late.len() < PLACES {
        let probes: Vec<u64> = (0..PROBES).map(|_| random_place(sampler)).collect();
        let mut waited = [0; PROBES];
        for _ in 0..HAMMERS {
            let at = random_place(sampler);
            for (waited, odds) in waited.iter_mut().zip(hammer.strike(sampler, &[at], &probes).await?) {
                *waited += usize::from(odds > 0.0);
            }
        }
        late.extend(waited);
    }
    let waiting = late.iter().filter(|waited| **waited == HAMMERS).count();
    let free = late.iter().filter(|waited| **waited * 2 <= HAMMERS).count();
    let is_degraded = waiting >= WAITING_MIN && free * FREE_ONE_IN >= late.len();
    Ok(is_degraded.then_some((waiting * 100 / late.len()) as u8))
}
