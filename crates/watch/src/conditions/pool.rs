//! The problems of pools of ZFS that their members do not show: lost data, errors, scrubs that are overdue, and what is not known.

use crate::calendar::{DAY, after, elapsed};
use crate::facts::ArrayActivity;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::known::ArrayState;
use crate::pool::{LastScrub, PoolDamage, PoolLosses, ZpoolFacts};
use crate::problem::{PoolTrouble, Problem};
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

/// Seconds beyond the time in which everything is to be read once, after which a scrub is called overdue. Timers that scrub once a
/// month may be 35 days apart, and a scrub takes days.
const SCRUB_GRACE: u64 = 7 * DAY;

impl Watch {
    /// The problems of a pool that its members do not show.
    pub(super) fn pool_conditions(&self, array: &ArrayState, now: UnixSeconds) -> Vec<Condition> {
        let Some(pool) = &array.facts.pool else { return Vec::new() };
        let found =
            [lost(array, pool), member_errors(array, pool), unknown(array, pool), self.unscrubbed(array, pool, now)];
        found.into_iter().flatten().collect()
    }

    /// When a scrub of all of it is overdue; `None`: that is not known, as ZFS cannot be asked.
    fn scrub_due(&self, pool: &ZpoolFacts) -> Option<UnixSeconds> {
        let last = match (&pool.losses, pool.scrubbed) {
            (_, LastScrub::Ended(at)) => at,
            // Nobody can tell: that is a problem of its own.
            (PoolLosses::Unknown(_), _) => return None,
            (_, LastScrub::Unknown | LastScrub::Never) => pool.since,
        };
        Some(after(last, self.settings.every + SCRUB_GRACE))
    }

    fn unscrubbed(&self, array: &ArrayState, pool: &ZpoolFacts, now: UnixSeconds) -> Option<Condition> {
        let due = self.scrub_due(pool)?;
        // A scrub or a resilver that is under way: what it brings is not known yet.
        if due > now || array.facts.activity != ArrayActivity::Idle {
            return None;
        }
        let days = if let LastScrub::Ended(at) = pool.scrubbed { elapsed(now, at) / DAY } else { 0 };
        let problem =
            Problem::Unscrubbed { array: array.card(), last: pool.scrubbed, days, since: pool.since, scan: pool.scan };
        Some(Condition::of(Urgency::Notice, problem))
    }
}

/// The condition of a pool that has lost data, or does not serve them.
fn lost(array: &ArrayState, pool: &ZpoolFacts) -> Option<Condition> {
    let lost = pool.damage();
    if lost.is_none() && pool.failed.is_none() {
        return None;
    }
    let failed = pool.failed.iter().map(|_| ("failed".to_owned(), 1));
    let blocks = lost.iter().map(|PoolDamage { blocks, .. }| ("lost".to_owned(), *blocks));
    let amounts = failed.chain(blocks).collect();
    let trouble = PoolTrouble { array: array.card(), lost, errors: pool.errors.clone(), failed: pool.failed.clone() };
    Some(Condition::of(Urgency::Loss, Problem::PoolLost(Box::new(trouble))).with_amounts(amounts))
}

/// The condition of a pool at whose members ZFS has counted errors.
fn member_errors(array: &ArrayState, pool: &ZpoolFacts) -> Option<Condition> {
    if pool.errors.is_empty() {
        return None;
    }
    // Where data are lost, these errors are how that was found.
    let subject = IncidentSubject::Array(array.facts.key.clone());
    let has_lost = matches!(pool.losses, PoolLosses::Lost { .. });
    let cause = has_lost.then_some(IncidentKey { subject, kind: IncidentKind::Lost });
    let problem = Problem::PoolErrors(array.card(), pool.errors.clone());
    Some(Condition { cause, ..Condition::of(Urgency::Notice, problem).with_amounts(pool.errors.clone()) })
}

/// The condition of a pool of which nobody can tell whether it has lost data.
fn unknown(array: &ArrayState, pool: &ZpoolFacts) -> Option<Condition> {
    let PoolLosses::Unknown(why) = &pool.losses else { return None };
    Some(Condition::of(Urgency::Notice, Problem::PoolUnknown(array.card(), why.clone())))
}
