//! "Am I safe?": one verdict, four lights, and what to do, as facts.

use crate::calendar::{DAY, days, elapsed};
use crate::channel::{ChannelRow, ProofState};
use crate::events::WatchBug;
use crate::facts::{ArrayActivity, ArrayFacts, DiskFacts, DiskKey};
use crate::forecast::{AllForeseen, ForeseenPass, PassForecast};
use crate::health::{HealthSign, HealthState};
use crate::hold::HoldBack;
use crate::incident::{Condition, IncidentKey, IncidentKind, IncidentRow, IncidentSubject, Urgency};
use crate::outbox::WAITS_LONG;
use crate::passes::ArrayFlaws;
use crate::pool::{PoolDamage, PoolLosses, ZpoolFacts};
use crate::problem::ArrayCard;
use crate::reading::SessionPhase;
use crate::rows::MessageRow;
use crate::state::{DiskState, Watch};
use crate::subject::WatchedSubject;
use crate::worded;
use scrubjay_core::units::{Nanos, UnixSeconds};

/// The colour of a light. What is not known is grey, never green.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LightColour {
    /// All is well, and known to be.
    Green,
    /// Not known.
    #[default]
    Grey,
    /// Something is to be attended to.
    Yellow,
    /// Something is to be done.
    Red,
    /// There is nothing of this kind.
    None,
}

worded!(LightColour { Green = "green", Grey = "grey", Yellow = "yellow", Red = "red", None = "none", });

/// What a light is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum LightName {
    /// How the disks are.
    Disks,
    /// What the arrays may lose.
    Redundancy,
    /// Whether all was read in time.
    Read,
    /// Whether alerts arrive.
    Alerts,
}

worded!(LightName { Disks = "Disks", Redundancy = "Redundancy", Read = "All sectors read", Alerts = "Alerts", });

/// Something to do now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToDo {
    /// What this incident asks for.
    Incident(IncidentKey, Box<Condition>),
    /// Set up a channel for alerts.
    SetUpChannel,
    /// See why alerts are not accepted.
    SeeWhyNotAccepted,
    /// Prove that alerts arrive.
    ProveAlerts,
}

/// What to do now: the first of all, and how many there are besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToDoList {
    /// The first three, at most.
    pub first: Vec<ToDo>,
    /// How many more there are.
    pub more: usize,
}

/// One of the four lights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLight {
    /// What it is about.
    pub name: LightName,
    /// Its colour.
    pub colour: LightColour,
    /// What it shows.
    pub shows: LightShows,
    /// Is what it shows of an earlier time, because nothing is seen of the machine now?
    pub is_of_before: bool,
}

/// What a light shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LightShows {
    /// How many disks are in each state; empty: no disk is seen.
    Disks(Vec<(HealthState, usize)>),
    /// No array is seen.
    NoArray,
    /// This one is not there.
    ArrayGone(ArrayCard),
    /// A pool is in this state, in ZFS's word, and serves nothing.
    PoolFailed(String, String),
    /// Data are lost; not empty.
    DataLost(Vec<LossShown>),
    /// What the array with the least redundancy may lose.
    Redundancy {
        /// The array.
        array: ArrayCard,
        /// How many more of its members may be lost; negative: too many are.
        left: i64,
        /// Stripes of all arrays that are bad on two disks.
        shared: usize,
        /// A pool of which nobody can tell whether it has lost data.
        unknown: Option<String>,
    },
    /// This array is being rebuilt.
    Rebuilding(String),
    /// So many disks and arrays are overdue.
    Overdue(usize, usize),
    /// Not one pass is over yet.
    NoPass,
    /// The first pass of so many disks and arrays is not over yet.
    FirstPass(usize, usize),
    /// The oldest sector was read so many days ago; the limit, in days.
    Oldest(u64, u64),
    /// No alert can reach anybody.
    NoChannel,
    /// The channels for alerts, and how many messages wait for hours.
    Channels(Vec<ChannelShown>, usize),
}

/// Lost data of an array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LossShown {
    /// Of a pool of this name.
    Pool(String, PoolDamage),
    /// So many stripes of a volume of this name.
    Volume(String, u64),
}

/// A channel, as a light shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChannelShown {
    /// Its name.
    pub name: String,
    /// Since when it has not accepted anything.
    pub failing_since: Option<UnixSeconds>,
    /// Whether it is proven.
    pub proof: ProofState,
    /// Recipients that are refused.
    pub refused: Vec<String>,
}

/// The answer to "Am I safe?".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The clock shows this date, which is not likely: nothing is decided.
    ClockDoubted(UnixSeconds),
    /// Nothing is seen of the machine since then; what was wrong before.
    Blind(UnixSeconds, Option<ProblemsShown>),
    /// Something is wrong.
    Problems(ProblemsShown),
    /// All is well, and known to be.
    Well,
    /// A light shows a problem that no incident reports yet, and none was accepted.
    Unreported(LightName, LightShows),
    /// Nothing new is known to be wrong, but nobody would be told.
    NobodyTold,
    /// Nothing is wrong but what was accepted; is all known?
    Accepted(bool),
    /// Nothing is known to be wrong, but not all is known.
    NotAllKnown,
    /// Nothing new is wrong.
    NothingNew,
}

/// The problems that nobody has accepted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProblemsShown {
    /// How many there are, from 1 on.
    pub count: usize,
    /// The most urgent one.
    pub first: Box<Condition>,
}

/// The status of a disk.
#[derive(Clone, Debug, PartialEq)]
pub struct DiskStanding {
    /// Its identity.
    pub key: DiskKey,
    /// The kernel's name, while it is present.
    pub name: Option<String>,
    /// Its facts when it was last seen.
    pub facts: DiskFacts,
    /// Its state.
    pub health: HealthState,
    /// The signs against it.
    pub signs: Vec<HealthSign>,
    /// The status of its reading.
    pub reading: ReadingStanding,
}

/// The status of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct ArrayStanding {
    /// Its facts when it was last seen.
    pub facts: ArrayFacts,
    /// Is it present?
    pub is_there: bool,
    /// The status of its own check; `None`: the watch cannot drive one.
    pub reading: Option<ReadingStanding>,
}

/// The status of reading a disk, or an array by its own checker.
#[derive(Clone, Debug, PartialEq)]
pub struct ReadingStanding {
    /// Sectors that could not be read; for an array: nor rebuilt.
    pub unreadable: u64,
    /// Further findings of an array's checker.
    pub flaws: ArrayFlaws,
    /// The share of the pass under way that is read, 0 to 1; `None`: it has not begun.
    pub pass_share: Option<f64>,
    /// The goal for the mean slowdown of foreground requests.
    pub budget: Nanos,
    /// When its oldest sector was read; `None`: some were never read.
    pub oldest_read: Option<UnixSeconds>,
    /// When the first of its sectors is due.
    pub due: UnixSeconds,
    /// Is it being read?
    pub is_read: bool,
    /// If not, why not.
    pub held: Option<HoldBack>,
    /// When the next pass ends.
    pub forecast: Option<PassForecast>,
    /// By how many seconds its first due sector will most likely be late; 0: none will be. `None`: no end is in sight.
    pub lateness: Option<u64>,
}

/// The status that is shown to a person.
#[derive(Clone, Debug, PartialEq)]
pub struct WatchStatus {
    /// The answer to "Am I safe?".
    pub verdict: Verdict,
    /// One light each for disks, redundancy, sectors and alerts.
    pub lights: [StatusLight; 4],
    /// What to do now.
    pub to_do: ToDoList,
    /// Each disk, by identity.
    pub disks: Vec<DiskStanding>,
    /// Each array, by UUID.
    pub arrays: Vec<ArrayStanding>,
    /// Open incidents, accepted or not: the most urgent first.
    pub incidents: Vec<IncidentRow>,
    /// The channels for messages.
    pub channels: Vec<ChannelRow>,
    /// The numbers of messages that wait to be accepted.
    pub waiting: Vec<u64>,
    /// When the pause that a person asked for ends.
    pub paused_until: Option<UnixSeconds>,
    /// Is the clock not trusted, so that nothing is decided?
    pub is_clock_doubted: bool,
}

/// Entries of `to_do` in the status, at most.
const TO_DO_MAX: usize = 3;

/// Is it being rebuilt, or resynced after a crash, so that it lacks redundancy?
fn is_rebuilding(array: &ArrayFacts) -> bool {
    array.activity == ArrayActivity::Rebuilding
}

impl Watch {
    /// The status now.
    pub fn status(&self, now: UnixSeconds) -> WatchStatus {
        let foreseen = self.foresee(now);
        let disks: Vec<DiskStanding> =
            self.disks.values().map(|disk| self.disk_standing(disk, &foreseen, now)).collect();
        let arrays: Vec<ArrayStanding> = self
            .arrays
            .values()
            .map(|array| ArrayStanding {
                facts: array.facts.clone(),
                is_there: array.absent_since.is_none(),
                reading: WatchedSubject::of_array(array).map(|subject| self.standing(subject, &foreseen, now)),
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
        let is_blind = self.blind_since.is_some();
        for light in lights[..3].iter_mut().filter(|light| light.colour == LightColour::Green && is_blind) {
            (light.colour, light.is_of_before) = (LightColour::Grey, true);
        }
        let present = || self.incidents.values().filter(|incident| incident.is_present(now));
        let mut open: Vec<_> = present().filter(|incident| !incident.is_accepted).collect();
        open.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        let verdict = self.verdict(now, &open, present().next().is_some(), &lights);
        let to_do = self.to_do(&open, lights[3].colour);
        let mut incidents: Vec<IncidentRow> = self.incidents.values().cloned().collect();
        incidents.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        WatchStatus {
            verdict,
            lights,
            to_do,
            disks,
            arrays,
            incidents,
            channels: self.channels.values().cloned().collect(),
            waiting: self.outbox.keys().copied().collect(),
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
    ) -> Verdict {
        let problems = open
            .first()
            .map(|incident| ProblemsShown { count: open.len(), first: Box::new(incident.condition.clone()) });
        let is_all_known = !lights.iter().any(|light| light.colour == LightColour::Grey);
        // Problems that a light shows although no incident reports them yet, and none was accepted.
        let is_unreported = |light: &&StatusLight| {
            matches!(light.colour, LightColour::Yellow | LightColour::Red) && !self.is_accepted(light.name)
        };
        let is_well = |light: &StatusLight| matches!(light.colour, LightColour::Green | LightColour::None);
        match (problems, self.blind_since) {
            _ if self.clock.is_doubted() => Verdict::ClockDoubted(now),
            (problems, Some(since)) => Verdict::Blind(since, problems),
            (Some(problems), None) => Verdict::Problems(problems),
            _ if lights.iter().all(is_well) => Verdict::Well,
            _ => match lights[..3].iter().find(is_unreported) {
                Some(light) => Verdict::Unreported(light.name, light.shows.clone()),
                None if lights[3].colour == LightColour::Red => Verdict::NobodyTold,
                None if is_any_open => Verdict::Accepted(is_all_known),
                None if !is_all_known => Verdict::NotAllKnown,
                None => Verdict::NothingNew,
            },
        }
    }

    /// Is an accepted incident among those that this light shows?
    fn is_accepted(&self, light: LightName) -> bool {
        self.incidents.keys().any(|IncidentKey { subject, kind }| match (light, subject) {
            (LightName::Disks, IncidentSubject::Disk(_)) => {
                matches!(kind, IncidentKind::Health | IncidentKind::Missing | IncidentKind::Unknown)
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
        let is_failing = self.channels.values().any(|channel| channel.failing_since.is_some());
        let alerts = match alerts {
            LightColour::Green => None,
            _ if self.channels.is_empty() => Some(ToDo::SetUpChannel),
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
        let worst = self.arrays.values().min_by_key(|array| {
            let facts = &array.facts;
            (array.absent_since.is_none(), !facts.is_degraded(), facts.redundancy_left(), !is_rebuilding(facts))
        });
        let Some(worst) = worst else {
            let colour = if self.are_arrays_known { LightColour::None } else { LightColour::Grey };
            return light(colour, LightShows::NoArray);
        };
        if self.is_planted(WatchBug::RedundancyGreen) {
            return light(LightColour::Green, LightShows::NoArray);
        }
        let facts = &worst.facts;
        if worst.absent_since.is_some() {
            return light(LightColour::Red, LightShows::ArrayGone(facts.card()));
        }
        let pools = || self.present_arrays().filter_map(|array| Some((&array.name, array.pool.as_ref()?)));
        if let Some((name, state)) = pools().find_map(|(name, pool)| Some((name, pool.failed.clone()?))) {
            return light(LightColour::Red, LightShows::PoolFailed(name.clone(), state));
        }
        let of_pools = pools().filter_map(|(name, pool)| Some(LossShown::Pool(name.clone(), pool.damage()?)));
        let of_volumes = self.present_arrays().filter_map(|array| {
            let stripes = array.lost_stripes.filter(|stripes| *stripes > 0)?;
            Some(LossShown::Volume(array.name.clone(), stripes))
        });
        let lost: Vec<LossShown> = of_pools.chain(of_volumes).collect();
        if !lost.is_empty() {
            return light(LightColour::Red, LightShows::DataLost(lost));
        }
        let is_unknown = |(_, pool): &(&String, &ZpoolFacts)| matches!(pool.losses, PoolLosses::Unknown(_));
        let unknown = pools().find(is_unknown).map(|(name, _)| name.clone());
        let rebuilding = self.arrays.values().map(|array| &array.facts).find(|facts| is_rebuilding(facts));
        let shared: usize = self.arrays.values().map(|array| self.risk(&array.facts).shared.len()).sum();
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
        if self.channels.is_empty() {
            return light(LightColour::Red, LightShows::NoChannel);
        }
        let waits_long = |row: &&MessageRow| row.attempts > 0 && elapsed(now, row.written) >= WAITS_LONG;
        let waiting = self.outbox.values().filter(waits_long).count();
        let shown = self.channels.values().map(|channel| ChannelShown {
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
