//! Gathers how things stand: the verdict, the lights, what to do, each disk and array.

use crate::calendar::{DAY, days, elapsed};
use crate::channel::ProofState;
use crate::events::WatchBug;
use crate::exposure::{Exposure, KnownMember, exposure};
use crate::facts::{ArrayActivity, ArrayFacts};
use crate::forecast::{AllForeseen, ForeseenPass};
use crate::health::HealthState;
use crate::incident::{IncidentKey, IncidentKind, IncidentRow, IncidentSubject, Urgency};

use crate::known::{ArrayState, DiskState};
use crate::outbox::WAITS_LONG;
use crate::pool::{PoolLosses, ZpoolFacts};
use crate::reading::SessionPhase;
use crate::rows::MessageRow;
use crate::state::Watch;
use crate::status::*;
use crate::subject::WatchedSubject;
use scrubjay_core::units::UnixSeconds;

/// Entries of `to_do` in the status, at most.
const TO_DO_MAX: usize = 3;

/// Is it being rebuilt, or resynced after a crash, so that it lacks redundancy?
fn is_rebuilding(array: &ArrayFacts) -> bool {
    array.activity == ArrayActivity::Rebuilding
}

impl Watch {
    /// What would have to be read if one more member of a present array died.
    fn exposure(&self, array: &ArrayState, now: UnixSeconds) -> Option<Exposure> {
        let known = |name: &str| {
            let disk = self.seen.names.get(name).and_then(|key| self.seen.disks.get(key))?;
            Some(KnownMember { health: self.health(disk, now).0, passes: &disk.reading.row.passes })
        };
        let is_there = array.absent_since.is_none();
        is_there.then(|| exposure(&array.facts, now, self.settings.every, known)).flatten()
    }

    /// The status now.
    pub fn status(&self, now: UnixSeconds) -> WatchStatus {
        let foreseen = self.foresee(now);
        let disks: Vec<DiskStanding> =
            self.seen.disks.values().map(|disk| self.disk_standing(disk, &foreseen, now)).collect();
        let arrays: Vec<ArrayStanding> = self
            .seen
            .arrays
            .values()
            .map(|array| ArrayStanding {
                facts: array.facts.clone(),
                is_there: array.absent_since.is_none(),
                reading: WatchedSubject::of_array(array).map(|subject| self.standing(subject, &foreseen, now)),
                exposure: self.exposure(array, now),
            })
            .collect();
        let mut lights = [
            self.disks_light(&disks),
            self.redundancy_light(),
            self.read_light(&disks, &arrays, now),
            self.alerts_light(now),
        ];
        // By a clock that is not trusted, old data cannot be told from new.
        for light in lights.iter_mut().filter(|light| light.colour == LightColour::Green && self.clock.is_doubted()) {
            light.colour = LightColour::Grey;
        }
        // Whether alerts arrive is known all the same.
        let is_blind = self.seen.blind_since.is_some();
        for light in lights[..3].iter_mut().filter(|light| light.colour == LightColour::Green && is_blind) {
            (light.colour, light.is_of_before) = (LightColour::Grey, true);
        }
        let present = || self.book.incidents.values().filter(|incident| incident.is_present(now));
        let mut open: Vec<_> = present().filter(|incident| !incident.is_accepted).collect();
        open.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        let verdict = self.verdict(now, &open, present().next().is_some(), &lights);
        let to_do = self.to_do(&open, lights[3].colour);
        let mut incidents: Vec<IncidentRow> = self.book.incidents.values().cloned().collect();
        incidents.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        WatchStatus {
            verdict,
            lights,
            to_do,
            disks,
            arrays,
            incidents,
            channels: self.outgoing.channels.values().cloned().collect(),
            waiting: self.outgoing.outbox.keys().copied().collect(),
            paused_until: Some(self.host.paused_until).filter(|&until| until > now),
            is_clock_doubted: self.clock.is_doubted(),
        }
    }

    /// The answer to "Am I safe?", from the open incidents that nobody accepted, whether there are any at all, and the lights.
    fn verdict(
        &self,
        now: UnixSeconds,
        open: &[&IncidentRow],
        is_any_open: bool,
        lights: &[StatusLight; 4],
    ) -> StatusVerdict {
        let problems = open
            .first()
            .map(|incident| ProblemsShown { count: open.len(), first: Box::new(incident.condition.clone()) });
        let is_all_known = !lights.iter().any(|light| light.colour == LightColour::Grey);
        // Problems that a light shows although no incident reports them yet, and none was accepted.
        let is_unreported = |light: &&StatusLight| {
            matches!(light.colour, LightColour::Yellow | LightColour::Red) && !self.is_accepted(light.name)
        };
        let is_well = |light: &StatusLight| matches!(light.colour, LightColour::Green | LightColour::None);
        match (problems, self.seen.blind_since) {
            _ if self.clock.is_doubted() => StatusVerdict::ClockDoubted(now),
            (problems, Some(since)) => StatusVerdict::Blind(since, problems),
            (Some(problems), None) => StatusVerdict::Problems(problems),
            _ if lights.iter().all(is_well) && !is_any_open => StatusVerdict::Well,
            _ => match lights[..3].iter().find(is_unreported) {
                Some(light) => StatusVerdict::Unreported(light.name, light.shows.clone()),
                None if lights[3].colour == LightColour::Red => StatusVerdict::NobodyTold,
                None if is_any_open => StatusVerdict::Accepted(is_all_known),
                None if !is_all_known => StatusVerdict::NotAllKnown,
                None => StatusVerdict::NothingNew,
            },
        }
    }

    /// Is an accepted incident among those that this light shows?
    fn is_accepted(&self, light: LightName) -> bool {
        self.book.incidents.keys().any(|IncidentKey { subject, kind }| match (light, subject) {
            (LightName::Disks, IncidentSubject::Disk(_)) => {
                matches!(
                    kind,
                    IncidentKind::Health | IncidentKind::Missing | IncidentKind::Unknown | IncidentKind::Failures
                )
            }
            (LightName::Redundancy, IncidentSubject::Array(_)) => {
                matches!(
                    kind,
                    IncidentKind::Degraded | IncidentKind::Stripes | IncidentKind::Missing | IncidentKind::Lost
                )
            }
            (LightName::Read, _) => *kind == IncidentKind::Unread,
            _ => false,
        })
    }

    /// What to do now: what cannot wait first, then alerts that would not arrive, then the rest.
    fn to_do(&self, open: &[&IncidentRow], alerts: LightColour) -> ToDoList {
        let entry =
            |incident: &&&IncidentRow| ToDo::Incident(incident.key.clone(), Box::new(incident.condition.clone()));
        let (notices, urgent): (Vec<&&IncidentRow>, Vec<&&IncidentRow>) =
            open.iter().partition(|incident| incident.condition.urgency == Urgency::Notice);
        let is_failing = self.outgoing.channels.values().any(|channel| channel.failing_since.is_some());
        let alerts = match alerts {
            LightColour::Green => None,
            _ if self.outgoing.channels.is_empty() => Some(ToDo::SetUpChannel),
            _ if is_failing => Some(ToDo::SeeWhyNotAccepted),
            _ => Some(ToDo::ProveAlerts),
        };
        let is_not_of_alerts = |incident: &&&&IncidentRow| {
            !matches!(incident.key.kind, IncidentKind::Unproven | IncidentKind::Undelivered)
        };
        let notices = notices.iter().filter(is_not_of_alerts).map(entry);
        let mut first: Vec<ToDo> = urgent.iter().map(entry).chain(alerts).chain(notices).collect();
        let more = first.len().saturating_sub(TO_DO_MAX);
        first.truncate(TO_DO_MAX);
        ToDoList { first, more }
    }

    fn disk_standing(&self, disk: &DiskState, foreseen: &AllForeseen, now: UnixSeconds) -> DiskStanding {
        let (health, signs) = self.health(disk, now);
        DiskStanding {
            key: disk.row.facts.key.clone(),
            name: disk.live.name.clone(),
            facts: disk.row.facts.clone(),
            health,
            signs,
            reading: self.standing(WatchedSubject::Disk(disk), foreseen, now),
        }
    }

    fn standing(&self, subject: WatchedSubject<'_>, foreseen: &AllForeseen, now: UnixSeconds) -> ReadingStanding {
        let reading = subject.reading();
        let passes = &reading.row.passes;
        let ForeseenPass { starts, rest, ends } = foreseen[&subject.key()];
        let is_read = matches!(reading.live.session, SessionPhase::Running | SessionPhase::Foreign);
        ReadingStanding {
            unreadable: passes.unreadable_sectors(),
            flaws: passes.known_flaws(),
            pass_share: (passes.begun.0 > 0).then(|| 1.0 - passes.rest()),
            budget: self.budget_of(subject),
            oldest_read: passes.oldest(),
            due: passes.due(self.settings.every),
            is_read,
            held: if is_read { None } else { self.hold_back(subject, now) },
            forecast: ends,
            lateness: rest.map(|rest| passes.lateness(starts, rest, self.settings.every)),
        }
    }

    fn disks_light(&self, disks: &[DiskStanding]) -> StatusLight {
        let count = |state| disks.iter().filter(|disk| disk.health == state).count();
        let counts = HealthState::ALL.into_iter().map(|state| (state, count(state))).filter(|(_, count)| *count > 0);
        let shows = LightShows::Disks(counts.collect());
        let colour = match disks.iter().map(|disk| disk.health).max() {
            Some(HealthState::Ok) => LightColour::Green,
            None | Some(HealthState::Unknown | HealthState::Virtual | HealthState::Asleep) => LightColour::Grey,
            Some(HealthState::Watch | HealthState::Worn) => LightColour::Yellow,
            Some(HealthState::Hot | HealthState::Missing | HealthState::Replace) => LightColour::Red,
        };
        StatusLight::of(LightName::Disks, colour, shows)
    }

    fn redundancy_light(&self) -> StatusLight {
        let light = |colour, shows| StatusLight::of(LightName::Redundancy, colour, shows);
        // The worst array of all: absent, then degraded, then the least redundancy, then rebuilding.
        let worst = self.seen.arrays.values().min_by_key(|array| {
            let facts = &array.facts;
            (array.absent_since.is_none(), !facts.is_degraded(), facts.redundancy_left(), !is_rebuilding(facts))
        });
        let Some(worst) = worst else {
            let colour = if self.seen.are_arrays_known { LightColour::None } else { LightColour::Grey };
            return light(colour, LightShows::NoArray);
        };
        if self.is_planted(WatchBug::RedundancyGreen) {
            return light(LightColour::Green, LightShows::NoArray);
        }
        let facts = &worst.facts;
        if worst.absent_since.is_some() {
            return light(LightColour::Red, LightShows::ArrayGone(facts.card()));
        }
        let pools = || self.seen.present_arrays().filter_map(|array| Some((&array.name, array.pool.as_ref()?)));
        if let Some((name, state)) = pools().find_map(|(name, pool)| Some((name, pool.failed.clone()?))) {
            return light(LightColour::Red, LightShows::PoolFailed(name.clone(), state));
        }
        let of_pools = pools().filter_map(|(name, pool)| Some(LossShown::Pool(name.clone(), pool.damage()?)));
        let of_volumes = self.seen.present_arrays().filter_map(|array| {
            let stripes = array.lost_stripes.filter(|stripes| *stripes > 0)?;
            Some(LossShown::Volume(array.name.clone(), stripes))
        });
        let lost: Vec<LossShown> = of_pools.chain(of_volumes).collect();
        if !lost.is_empty() {
            return light(LightColour::Red, LightShows::DataLost(lost));
        }
        let is_unknown = |(_, pool): &(&String, &ZpoolFacts)| matches!(pool.losses, PoolLosses::Unknown(_));
        let unknown = pools().find(is_unknown).map(|(name, _)| name.clone());
        let rebuilding = self.seen.arrays.values().map(|array| &array.facts).find(|facts| is_rebuilding(facts));
        let shared: usize = self.seen.arrays.values().map(|array| self.risk(&array.facts).shared.len()).sum();
        let left = facts.redundancy_left();
        let shows = |unknown| LightShows::Redundancy { array: facts.card(), left, shared, unknown };
        match rebuilding {
            _ if facts.is_degraded() || shared > 0 => light(LightColour::Red, shows(None)),
            Some(rebuilding) => light(LightColour::Yellow, LightShows::Rebuilding(rebuilding.name.clone())),
            None if facts.redundancy == 0 => light(LightColour::Yellow, shows(None)),
            None if unknown.is_some() => light(LightColour::Grey, shows(unknown)),
            None => light(LightColour::Green, shows(None)),
        }
    }

    fn read_light(&self, disks: &[DiskStanding], arrays: &[ArrayStanding], now: UnixSeconds) -> StatusLight {
        let light = |colour, shows| StatusLight::of(LightName::Read, colour, shows);
        let disks: Vec<_> = disks.iter().filter(|disk| disk.name.is_some()).map(|disk| &disk.reading).collect();
        let arrays = arrays.iter().filter(|array| array.is_there);
        let arrays: Vec<_> = arrays.filter_map(|array| array.reading.as_ref()).collect();
        let count = |predicate: &dyn Fn(&ReadingStanding) -> bool| {
            let number = |all: &[&ReadingStanding]| all.iter().filter(|reading| predicate(reading)).count();
            Some((number(&disks), number(&arrays))).filter(|counts| *counts != (0, 0))
        };
        let late = count(&|reading| reading.due <= now);
        let never = count(&|reading| reading.oldest_read.is_none());
        match (disks.iter().chain(&arrays).filter_map(|reading| reading.oldest_read).min(), late, never) {
            (_, Some((disks, arrays)), _) => light(LightColour::Yellow, LightShows::Overdue(disks, arrays)),
            (None, ..) => light(LightColour::Grey, LightShows::NoPass),
            (_, _, Some((disks, arrays))) => light(LightColour::Grey, LightShows::FirstPass(disks, arrays)),
            // As many days as the table of the disks and `check` say.
            (Some(oldest), ..) => {
                light(LightColour::Green, LightShows::Oldest(days(now, oldest), self.settings.every / DAY))
            }
        }
    }

    fn alerts_light(&self, now: UnixSeconds) -> StatusLight {
        let light = |colour, shows| StatusLight::of(LightName::Alerts, colour, shows);
        if self.outgoing.channels.is_empty() {
            return light(LightColour::Red, LightShows::NoChannel);
        }
        let waits_long = |row: &&MessageRow| row.attempts > 0 && elapsed(now, row.written) >= WAITS_LONG;
        let waiting = self.outgoing.outbox.values().filter(waits_long).count();
        let shown = self.outgoing.channels.values().map(|channel| ChannelShown {
            name: channel.name.clone(),
            failing_since: channel.failing_since,
            proof: channel.proof(now),
            refused: channel.refused.iter().map(|(to, _)| to.clone()).collect(),
        });
        let shown: Vec<ChannelShown> = shown.collect();
        let is_good =
            |channel: &&ChannelShown| matches!(channel.proof, ProofState::Proven(_)) && channel.failing_since.is_none();
        let has_refusals = shown.iter().any(|channel| !channel.refused.is_empty());
        let colour = match shown.iter().filter(is_good).count() {
            _ if self.is_planted(WatchBug::AlertsGreen) => LightColour::Green,
            0 => LightColour::Red,
            count if count < shown.len() || waiting > 0 || has_refusals => LightColour::Yellow,
            _ => LightColour::Green,
        };
        light(colour, LightShows::Channels(shown, waiting))
    }
}

impl StatusLight {
    fn of(name: LightName, colour: LightColour, shows: LightShows) -> StatusLight {
        StatusLight { name, colour, shows, is_of_before: false }
    }
}
