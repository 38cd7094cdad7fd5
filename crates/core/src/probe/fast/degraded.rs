//! Is it an array that lacks members? What they held is reckoned from all others, so a read of it waits for whatever else is
//! asked for, wherever that is; and there are places that do not.

use super::hammer::Hammer;
use super::sampler::{EarlyEnd, Sampler};

/// Places that are asked for: of an array that lacks one disk of twelve, two wait.
const PLACES: usize = 24;
/// So many at a time: more of them would hold each other up.
const PROBES: usize = 3;
/// Hammers for each, at places drawn anew: on one disk of two, one place in 250 waits for all of them by chance.
const HAMMERS: usize = 8;
/// Places that wait for every hammer, at least,
const WAITING_MIN: usize = 2;
/// and places that wait for half of them or fewer, as a share of all: one in so many at least. Behind a limit, or in a queue that
/// lets nobody pass, all wait.
const FREE_ONE_IN: usize = 4;

/// The share of the places, in percent, that wait for whatever is asked for, if there are such and others. Of one copy only.
///
/// # Errors
/// Of [`Sampler::run`].
pub async fn rebuilt_percent(sampler: &mut Sampler, hammer: Hammer) -> Result<Option<u8>, EarlyEnd> {
    let block = sampler.device().block;
    let anywhere = |sampler: &mut Sampler| sampler.rng.below((hammer.pattern / block).max(1)) * block;
    let mut late = Vec::new();
    while late.len() < PLACES {
        let probes: Vec<u64> = (0..PROBES).map(|_| anywhere(sampler)).collect();
        let mut waited = [0; PROBES];
        for _ in 0..HAMMERS {
            let at = anywhere(sampler);
            for (waited, odds) in waited.iter_mut().zip(hammer.strike(sampler, &[at], &probes).await?) {
                *waited += usize::from(odds > 0.0);
            }
        }
        late.extend(waited);
    }
    let waiting = late.iter().filter(|waited| **waited == HAMMERS).count();
    let free = late.iter().filter(|waited| **waited * 2 <= HAMMERS).count();
    let is_so = waiting >= WAITING_MIN && free * FREE_ONE_IN >= late.len();
    Ok(is_so.then_some((waiting * 100 / late.len()) as u8))
}
