//! The problems of disks: what speaks against one, that it is missing, that its state is not known.

use super::Conditions;
use crate::calendar::elapsed;
use crate::events::WatchBug;
use crate::facts::{ArrayMember, DiskFacts};
use crate::health::{self, HealthSign, HealthState};
use crate::incident::{Condition, IncidentKind, IncidentSubject, Urgency};
use crate::known::{DiskState, STALE_AFTER};
use crate::problem::{DiskEvidence, DiskMembership, Problem};
use crate::state::Watch;
use crate::subject::WatchedSubject;
use scrubjay_core::units::UnixSeconds;

impl Watch {
    pub(super) fn check_disk(&self, disk: &DiskState, now: UnixSeconds, conditions: &mut Conditions) {
        let DiskFacts { key, controller, .. } = &disk.row.facts;
        let subject = IncidentSubject::Disk(key.clone());
        let add = |conditions: &mut Conditions, condition: Condition| {
            conditions.add(&subject, Condition { controller: controller.clone(), ..condition });
        };
        if let Some(condition) = self.signs_against(disk, now) {
            add(conditions, condition);
        }
        if disk.live.name.is_some() {
            self.failed_at(disk, now).into_iter().for_each(|condition| add(conditions, condition));
        } else {
            // What fails while a disk is pulled out is that; what was told before stays.
            let key = crate::incident::IncidentKey { subject: subject.clone(), kind: IncidentKind::Failures };
            let is_told = self.book.incidents.get(&key).is_some_and(|known| known.last_message.is_some());
            conditions.leave(&subject, is_told.then_some(IncidentKind::Failures));
        }
        if disk.live.name.is_none() {
            let consequences = [IncidentKind::Unknown, IncidentKind::Unread, IncidentKind::Stuck];
            conditions.leave(&subject, consequences);
            let keys = consequences.map(|kind| crate::incident::IncidentKey { subject: subject.clone(), kind });
            conditions.held.extend(keys);
            if !disk.is_missing(now) || self.is_planted(WatchBug::MissingUnreported) {
                conditions.leave(&subject, [IncidentKind::Missing]);
            } else {
                let since = self.missing_since(&subject, disk.live.since);
                // An array that lacks it says so, and names it.
                let mut arrays = self.seen.arrays.values().filter(|array| array.misses(key));
                let cause = arrays.next().map(|array| super::causes::degraded_key(&array.facts));
                let problem = Problem::DiskMissing(disk.card(), since);
                add(conditions, Condition { cause, ..Condition::of(Urgency::Replace, problem) });
            }
            return;
        }
        // The date is kept with the disk, because machines that are off at night start every day.
        let since = match disk.row.unknown_since.0 {
            0 => disk.row.smart_read.max(disk.live.since),
            _ => disk.row.unknown_since,
        };
        let is_stale = elapsed(now, since) >= STALE_AFTER;
        let is_pending = !disk.live.is_answered && elapsed(now, disk.live.since) < STALE_AFTER;
        if is_pending || disk.live.asleep.is_some() {
            conditions.leave(&subject, [IncidentKind::Unknown]);
        } else if is_stale {
            let problem = Problem::DiskUnknown(disk.card(), disk.live.refused);
            add(conditions, Condition::of(Urgency::Notice, problem));
        }
        let watched = WatchedSubject::Disk(disk);
        for condition in [self.unread(watched, now), self.stuck(watched)].into_iter().flatten() {
            add(conditions, condition);
        }
    }

    /// The condition of a disk with signs against it; `None`: there are none.
    fn signs_against(&self, disk: &DiskState, now: UnixSeconds) -> Option<Condition> {
        let (_, mut signs) = self.health(disk, now);
        signs.retain(|sign| !matches!(sign, HealthSign::FailedRequests { .. }));
        let urgency = match health::gravest(&signs)? {
            HealthState::Replace | HealthState::Hot => Urgency::Replace,
            _ => Urgency::Notice,
        };
        // What the drive counts because of sectors that our own reads met is no news beside them.
        let own =
            signs.iter().map(|sign| if let HealthSign::UnreadableSectors(count) = sign { *count } else { 0 }).max();
        let is_news = |sign: &&HealthSign| match sign {
            HealthSign::Growth { kind, value, .. } | HealthSign::Level { kind, value, .. } => {
                !kind.counts_bad_reads() || Some(*value) > own
            }
            _ => true,
        };
        let mut amounts: Vec<(String, u64)> = signs.iter().filter(is_news).flat_map(HealthSign::amounts).collect();
        amounts.sort();
        let evidence = DiskEvidence {
            disk: disk.card(),
            signs,
            passed: disk.row.word.passed,
            arrays: disk.live.name.as_deref().map(|name| self.memberships(name)).unwrap_or_default(),
        };
        Some(Condition::of(urgency, Problem::Disk(Box::new(evidence))).with_amounts(amounts))
    }

    /// The arrays that the disk of this name is a member of.
    pub(crate) fn memberships(&self, name: &str) -> Vec<DiskMembership> {
        let member_arrays = self.seen.present_arrays().filter(|array| array.has_member(name));
        let membership = member_arrays.map(|array| {
            let risk = self.risk(array);
            let is_here = |member: &ArrayMember| member.disk.as_deref() == Some(name);
            let place = array.members.iter().position(is_here).unwrap_or_default();
            DiskMembership {
                array: array.card(),
                place,
                is_in_sync: array.members.get(place).is_some_and(|member| member.is_in_sync),
                left: array.redundancy_left(),
                is_degraded: array.is_degraded(),
                damaged: risk.is_known.then_some((risk.damaged, risk.shared.len() as u64)),
            }
        });
        membership.collect()
    }
}
