//! The problems of arrays: that one is missing, what it lacks, what its own checker found, stripes that are bad on two disks.

use super::Conditions;
use super::causes::HELD_SHOWN_MAX;
use crate::calendar::elapsed;
use crate::events::WatchBug;
use crate::facts::{ArrayActivity, ArrayFacts, ArrayMember};
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentSubject, Urgency};
use crate::known::{ArrayState, DiskState};
use crate::passes::ArrayFlaws;
use crate::pool::{PoolLack, ZpoolFacts};
use crate::problem::{LostRedundancy, MISSING_AFTER, Problem, SharedDamage};
use crate::reading::ReadingState;
use crate::risk::{StripeRisk, stripe_risk};
use crate::state::Watch;
use crate::subject::WatchedSubject;
use scrubjay_core::units::{Bytes, UnixSeconds};

/// Runs of lost sectors that one message lists, at most.
const RUNS_SHOWN_MAX: usize = 5;

impl Watch {
    pub(super) fn check_array(&self, array: &ArrayState, now: UnixSeconds, conditions: &mut Conditions) {
        let facts = &array.facts;
        let subject = IncidentSubject::Array(facts.key.clone());
        if let Some(absent_since) = array.absent_since {
            let others = [
                IncidentKind::Degraded,
                IncidentKind::Stripes,
                IncidentKind::Lost,
                IncidentKind::Disagreement,
                IncidentKind::Unread,
                IncidentKind::Stuck,
                IncidentKind::Unknown,
            ];
            conditions.leave(&subject, others);
            if elapsed(now, absent_since) >= MISSING_AFTER {
                let problem = Problem::ArrayMissing(array.card(), self.missing_since(&subject, absent_since));
                conditions.add(&subject, Condition::of(Urgency::Loss, problem));
            } else {
                // After a start nothing has been seen yet.
                conditions.leave(&subject, [IncidentKind::Missing]);
            }
            return;
        }
        let mut found: Vec<Condition> = self.pool_conditions(array, now);
        found.extend(self.degraded(array));
        found.extend(volume_lost(array));
        if facts.pool.as_ref().is_some_and(ZpoolFacts::is_unanswered) {
            // What is not known now has not ended.
            let kinds = [IncidentKind::Lost, IncidentKind::Disagreement, IncidentKind::Unread];
            conditions.leave(&subject, kinds);
        }
        if let Some(watched) = WatchedSubject::of_array(array) {
            let reading = watched.reading();
            let of_reading = [lost(array, reading), disagreement(array, reading)];
            found.extend(of_reading.into_iter().flatten());
            // A pool that the settings name no longer has others that scrub it.
            if facts.pool.is_none() || facts.check_sectors.is_some() {
                found.extend([self.unread(watched, now), self.stuck(watched)].into_iter().flatten());
            }
        }
        let stripes = self.stripes(facts);
        // Unreadable sectors of an absent disk may be unknown: the incident stays as it was, and can only grow.
        let key = IncidentKey { subject: subject.clone(), kind: IncidentKind::Stripes };
        let known = self.book.incidents.get(&key).map(|incident| &incident.condition);
        let is_less =
            |present: &Condition| known.is_some_and(|known| !present.is_beyond(&known.amounts, known.urgency));
        if !self.are_all_present(facts) && stripes.as_ref().is_none_or(is_less) {
            conditions.unjudged.insert(key);
        } else {
            found.extend(stripes);
        }
        found.into_iter().for_each(|condition| conditions.add(&subject, condition));
    }

    pub(crate) fn risk(&self, array: &ArrayFacts) -> StripeRisk {
        stripe_risk(array, |name| {
            let disk = self.seen.names.get(name).and_then(|key| self.seen.disks.get(key));
            disk.map(|disk| disk.reading.row.passes.known_unreadable()).unwrap_or_default()
        })
    }

    fn degraded(&self, state: &ArrayState) -> Option<Condition> {
        let array = &state.facts;
        if !array.is_degraded() {
            return None;
        }
        let is_lost = |member: &ArrayMember| !member.is_in_sync;
        let left = array.redundancy_left();
        let lack = array.pool.as_ref().map_or(PoolLack::Nothing, |pool| pool.lack);
        let gone =
            self.seen.disks.values().filter(|disk| disk.live.name.is_none() && state.misses(&disk.row.facts.key));
        // Each place has a sign of its own: another lost member is news, even if one has come back meanwhile.
        let lost = array.members.iter().enumerate().filter(|(_, member)| is_lost(member));
        let mut amounts: Vec<(String, u64)> = lost.map(|(place, _)| (format!("member {place}"), 1)).collect();
        if lack != PoolLack::Nothing {
            amounts.push(("a member".to_owned(), 1));
        }
        amounts.sort();
        let problem = Problem::Degraded(Box::new(LostRedundancy {
            array: array.card(),
            left,
            missing: array.members.iter().filter(|member| is_lost(member)).count() as u64,
            lack,
            is_layout_known: array.layout.is_some(),
            is_rebuilding: array.activity == ArrayActivity::Rebuilding,
            gone: gone.take(HELD_SHOWN_MAX).map(DiskState::card).collect(),
        }));
        let urgency = if left <= 0 { Urgency::Loss } else { Urgency::Replace };
        Some(Condition::of(urgency, problem).with_amounts(amounts))
    }

    /// Are the disks of all members that are in sync present? If not, fewer damaged stripes may be known than there are.
    fn are_all_present(&self, array: &ArrayFacts) -> bool {
        let is_present = |name: &String| self.seen.names.contains_key(name);
        let mut in_sync = array.members.iter().filter(|member| member.is_in_sync);
        in_sync.all(|member| member.disk.as_ref().is_some_and(is_present))
    }

    fn stripes(&self, array: &ArrayFacts) -> Option<Condition> {
        let member_keys = array.members.iter().filter_map(|member| self.seen.names.get(member.disk.as_deref()?));
        let mut disks = member_keys.filter_map(|key| self.seen.disks.get(key));
        let is_suppressed = self.is_planted(WatchBug::StripesUnreported);
        if is_suppressed || !disks.any(|disk| disk.reading.row.passes.unreadable_sectors() > 0) {
            return None;
        }
        let risk = self.risk(array);
        let worst = risk.shared.iter().min_by_key(|shared| shared.left)?;
        let (lost, bytes) = risk.lost().fold((0, 0), |(count, bytes), shared| (count + 1, bytes + shared.bytes.0));
        let shared = risk.shared.len() as u64;
        let names = worst.members.iter().filter_map(|&place| array.members[place].disk.clone());
        let problem = Problem::Stripes(Box::new(SharedDamage {
            array: array.card(),
            damaged: risk.damaged,
            shared,
            lost,
            stripe: worst.stripe,
            disks: names.collect(),
            bytes: Bytes(if lost == 0 { worst.bytes.0 } else { bytes }),
        }));
        let urgency = if lost == 0 { Urgency::Replace } else { Urgency::Loss };
        let amounts = [("lost", lost), ("shared", shared)].map(|(sign, count)| (sign.to_owned(), count));
        Some(Condition::of(urgency, problem).with_amounts(amounts.to_vec()))
    }
}

/// The condition of a volume that holds lost data, by its own register.
fn volume_lost(array: &ArrayState) -> Option<Condition> {
    let stripes = array.facts.lost_stripes.filter(|stripes| *stripes > 0)?;
    let condition = Condition::of(Urgency::Loss, Problem::VolumeLost(array.card(), stripes));
    Some(condition.with_amounts(vec![("lost".to_owned(), stripes)]))
}

/// The condition of an array whose checker found data that cannot be rebuilt.
fn lost(array: &ArrayState, reading: &ReadingState) -> Option<Condition> {
    let sectors = reading.row.passes.unreadable_sectors();
    // A volume's own register knows better: what was written since is not lost any more.
    if sectors == 0 || array.facts.lost_stripes.is_some() {
        return None;
    }
    let runs = reading.row.passes.known_unreadable().into_iter().take(RUNS_SHOWN_MAX).collect();
    let condition = Condition::of(Urgency::Loss, Problem::Lost(array.card(), sectors, runs));
    Some(condition.with_amounts(vec![("lost".to_owned(), sectors)]))
}

/// The condition of an array whose checker found copies or parity that disagree.
fn disagreement(array: &ArrayState, reading: &ReadingState) -> Option<Condition> {
    let ArrayFlaws { corrected, mismatched } = reading.row.passes.known_flaws();
    let amounts = [("corrected", corrected), ("mismatched", mismatched)].into_iter().filter(|(_, count)| *count > 0);
    let amounts: Vec<(String, u64)> = amounts.map(|(sign, count)| (sign.to_owned(), count)).collect();
    let problem = Problem::Disagreement { array: array.card(), corrected, mismatched };
    (!amounts.is_empty()).then(|| Condition::of(Urgency::Notice, problem).with_amounts(amounts))
}
