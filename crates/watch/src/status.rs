//! "Am I safe?": one sentence, four lights, and what to do.

use crate::calendar::{DAY, days, elapsed, show_date, show_time};
use crate::channel::{ChannelRow, ProofState};
use crate::events::WatchBug;
use crate::facts::{ArrayActivity, ArrayFacts, DiskFacts, DiskKey};
use crate::forecast::{AllForeseen, ForeseenPass, PassForecast};
use crate::health::{HealthSign, HealthState};
use crate::hold::HoldBack;
use crate::incident::{IncidentKey, IncidentKind, IncidentRow, IncidentSubject, Urgency};
use crate::outbox::WAITS_LONG;
use crate::passes::ArrayFlaws;
use crate::pool::{PoolLosses, ZpoolFacts};
use crate::reading::SessionPhase;
use crate::rows::MessageRow;
use crate::state::{DiskState, Watch};
use crate::subject::WatchedSubject;
use crate::volume_condition::lost_words;
use crate::worded;
use crate::words::{counted, typed, with_command};
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
pub struct ToDo {
    /// The incident that asks for it; `None`: it is about alerts.
    pub incident: Option<IncidentKey>,
    /// What it is, in one line, without the command.
    pub words: String,
    /// What to type, if one command is the next step.
    pub command: Option<String>,
}

/// What to do now: the first of all, and how many there are besides.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToDoList {
    /// The first three, at most.
    pub first: Vec<ToDo>,
    /// How many more there are.
    pub more: usize,
}

impl ToDoList {
    /// One line each, and one that says how many more there are.
    pub fn lines(&self) -> Vec<String> {
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        let line = |thing: &ToDo| with_command(&thing.words, thing.command.as_deref());
        self.first.iter().map(line).chain(more).collect()
    }
}

/// One of the four lights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusLight {
    /// What it is about.
    pub name: LightName,
    /// Its colour.
    pub colour: LightColour,
    /// What it shows, in words.
    pub words: String,
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
    /// The answer to "Am I safe?", in one sentence.
    pub sentence: String,
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
            (light.colour, light.words) = (LightColour::Grey, format!("not known now; was: {}", light.words));
        }
        let present = || self.incidents.values().filter(|incident| incident.is_present(now));
        let mut open: Vec<_> = present().filter(|incident| !incident.is_accepted).collect();
        open.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        let worst = open.first().map(|incident| incident.condition.urgency);
        let first = open.first().map_or(String::new(), |incident| incident.condition.headline.clone());
        let count = open.len();
        let problems = if count == 1 { "1 problem".to_owned() } else { format!("{count} problems") };
        let unknown = lights.iter().filter(|light| light.colour == LightColour::Grey).count();
        // Problems that a light shows although no incident reports them yet, and none was accepted.
        let is_unreported = |light: &&StatusLight| {
            matches!(light.colour, LightColour::Yellow | LightColour::Red) && !self.is_accepted(light.name)
        };
        let unreported =
            lights[..3].iter().find(is_unreported).map(|light| format!("{}: {}.", light.name.word(), light.words));
        let sentence = match worst {
            _ if self.clock.is_doubted() => {
                let date = show_date(&*self.calendar, now);
                format!(
                    "The clock says {date}, which it is not likely to be: nothing is decided until it is set, or stays so."
                )
            }
            Some(_) if is_blind => format!("{} Besides, {problems}: {first}", self.blind_words().unwrap_or_default()),
            None if is_blind => self.blind_words().unwrap_or_default(),
            Some(Urgency::Loss) => format!("{problems}, and data are at risk: {first}"),
            Some(_) => format!("{problems}: {first}"),
            None if lights.iter().all(|light| matches!(light.colour, LightColour::Green | LightColour::None)) => {
                "All is well: every disk is ok, every sector was read in time, alerts are proven.".to_owned()
            }
            None if unreported.is_some() => unreported.unwrap_or_default(),
            None if lights[3].colour == LightColour::Red => {
                "Nothing new is known to be wrong, but nobody would be told if it were.".to_owned()
            }
            None if present().next().is_some() && unknown > 0 => {
                "Nothing is wrong but what you have accepted, and not all is known.".to_owned()
            }
            None if present().next().is_some() => "Nothing is wrong but what you have accepted.".to_owned(),
            None if unknown > 0 => "Nothing is known to be wrong, but not all is known.".to_owned(),
            None => "Nothing new is wrong.".to_owned(),
        };
        let to_do = self.to_do(&open, lights[3].colour);
        let mut incidents: Vec<IncidentRow> = self.incidents.values().cloned().collect();
        incidents.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        WatchStatus {
            sentence,
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

    /// That nothing is seen of the machine, and since when; `None`: it is seen.
    pub(crate) fn blind_words(&self) -> Option<String> {
        let since = show_time(&*self.calendar, self.blind_since?);
        Some(format!(
            "The watch has not been able to check the disks of this machine since {since}: how they are now is not known."
        ))
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
        let entry = |incident: &&&IncidentRow| ToDo {
            incident: Some(incident.key.clone()),
            words: incident.condition.headline.clone(),
            command: match (&incident.key.subject, incident.key.kind) {
                (IncidentSubject::Disk(key), IncidentKind::Unknown) => {
                    Some(format!("sudo scrubjay explain {}", typed(&key.0)))
                }
                _ => None,
            },
        };
        let (notices, urgent): (Vec<&&IncidentRow>, Vec<&&IncidentRow>) =
            open.iter().partition(|incident| incident.condition.urgency == Urgency::Notice);
        let is_failing = self.channels.values().any(|channel| channel.failing_since.is_some());
        let alerts = match alerts {
            LightColour::Green => None,
            _ if self.channels.is_empty() => Some(("set up a channel for alerts", "sudo scrubjay setup")),
            _ if is_failing => Some(("see why alerts are not accepted", "sudo scrubjay alert list")),
            _ => Some(("prove that alerts arrive", "sudo scrubjay alert test")),
        };
        let alerts = alerts.map(|(words, command)| ToDo {
            incident: None,
            words: words.to_owned(),
            command: Some(command.to_owned()),
        });
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
        let words: Vec<String> = HealthState::ALL
            .into_iter()
            .filter(|&state| count(state) > 0)
            .map(|state| format!("{} {}", count(state), state.word()))
            .collect();
        let colour = match disks.iter().map(|disk| disk.health).max() {
            Some(HealthState::Ok) => LightColour::Green,
            None | Some(HealthState::Unknown | HealthState::Virtual | HealthState::Asleep) => LightColour::Grey,
            Some(HealthState::Watch | HealthState::Worn) => LightColour::Yellow,
            Some(HealthState::Hot | HealthState::Missing | HealthState::Replace) => LightColour::Red,
        };
        let words = if words.is_empty() { "no disk is seen".to_owned() } else { words.join(", ") };
        StatusLight { name: LightName::Disks, colour, words }
    }

    fn redundancy_light(&self) -> StatusLight {
        let light = |colour, words| StatusLight { name: LightName::Redundancy, colour, words };
        // The worst array of all: absent, then degraded, then the least redundancy, then rebuilding.
        let worst = self.arrays.values().min_by_key(|array| {
            let facts = &array.facts;
            (array.absent_since.is_none(), !facts.is_degraded(), facts.redundancy_left(), !is_rebuilding(facts))
        });
        let Some(worst) = worst else {
            let colour = if self.are_arrays_known { LightColour::None } else { LightColour::Grey };
            return light(colour, "no array is seen (md, btrfs, ZFS, volumes)".to_owned());
        };
        if self.is_planted(WatchBug::RedundancyGreen) {
            return light(LightColour::Green, String::new());
        }
        let facts = &worst.facts;
        if worst.absent_since.is_some() {
            return light(LightColour::Red, format!("{} {} is not there", facts.noun(), facts.name));
        }
        let pools = || self.present_arrays().filter_map(|array| Some((&array.name, array.pool.as_ref()?)));
        if let Some((name, state)) = pools().find_map(|(name, pool)| Some((name, pool.failed.as_ref()?))) {
            return light(LightColour::Red, format!("pool {name} is {state}"));
        }
        let has_lost = |(_, pool): &(&String, &ZpoolFacts)| matches!(pool.losses, PoolLosses::Lost { .. });
        let of_pools =
            pools().filter(has_lost).filter_map(|(name, pool)| Some(format!("{}: {}", name, pool.loss_words()?)));
        let of_volumes = self.present_arrays().filter_map(|array| {
            let stripes = array.lost_stripes.filter(|stripes| *stripes > 0)?;
            Some(format!("{}: {}", array.name, lost_words(stripes)))
        });
        let lost: Vec<String> = of_pools.chain(of_volumes).collect();
        if !lost.is_empty() {
            return light(LightColour::Red, lost.join(", "));
        }
        let unknown = pools().find(|(_, pool)| matches!(pool.losses, PoolLosses::Unknown(_)));
        let rebuilding = self.arrays.values().map(|array| &array.facts).find(|facts| is_rebuilding(facts));
        let shared: usize = self.arrays.values().map(|array| self.risk(&array.facts).shared.len()).sum();
        let stripes = if shared > 0 { format!(", {shared} stripes bad on two disks") } else { String::new() };
        let left = format!("{} of {} left in {}{stripes}", facts.redundancy_left(), facts.redundancy, facts.name);
        match rebuilding {
            _ if facts.is_degraded() || shared > 0 => light(LightColour::Red, left),
            Some(rebuilding) => light(LightColour::Yellow, format!("{} is being rebuilt", rebuilding.name)),
            None if facts.redundancy == 0 => {
                light(LightColour::Yellow, format!("none in {} ({})", facts.name, facts.level))
            }
            None => match unknown {
                Some((name, _)) => {
                    light(LightColour::Grey, format!("{left}; whether pool {name} has lost data is not known"))
                }
                None => light(LightColour::Green, left),
            },
        }
    }

    fn read_light(&self, disks: &[DiskStanding], arrays: &[ArrayStanding], now: UnixSeconds) -> StatusLight {
        let light = |colour, words| StatusLight { name: LightName::Read, colour, words };
        let disks: Vec<_> = disks.iter().filter(|disk| disk.name.is_some()).map(|disk| &disk.reading).collect();
        let arrays = arrays.iter().filter(|array| array.is_there);
        let arrays: Vec<_> = arrays.filter_map(|array| array.reading.as_ref()).collect();
        let count = |predicate: &dyn Fn(&ReadingStanding) -> bool| {
            let number = |all: &[&ReadingStanding]| all.iter().filter(|reading| predicate(reading)).count();
            let words = |count: usize, noun: &str| (count > 0).then(|| counted(count as u64, noun));
            let words: Vec<String> =
                [words(number(&disks), "disk"), words(number(&arrays), "array")].into_iter().flatten().collect();
            words.join(" and ")
        };
        let late = count(&|reading| reading.due <= now);
        let never = count(&|reading| reading.oldest_read.is_none());
        match disks.iter().chain(&arrays).filter_map(|reading| reading.oldest_read).min() {
            _ if !late.is_empty() => light(LightColour::Yellow, format!("{late} overdue")),
            None => light(LightColour::Grey, "not one pass is over yet".to_owned()),
            Some(_) if !never.is_empty() => {
                light(LightColour::Grey, format!("the first pass of {never} is not over yet"))
            }
            Some(oldest) => {
                // As many days as the table of the disks and `check` say.
                let age = match days(now, oldest) {
                    0 => "today".to_owned(),
                    days => format!("{days} d ago"),
                };
                light(LightColour::Green, format!("the oldest {age}, the limit is {} d", self.settings.every / DAY))
            }
        }
    }

    fn alerts_light(&self, now: UnixSeconds) -> StatusLight {
        let light = |colour, words| StatusLight { name: LightName::Alerts, colour, words };
        if self.channels.is_empty() {
            return light(LightColour::Red, "no alert can reach you".to_owned());
        }
        let waits_long = |row: &&MessageRow| row.attempts > 0 && elapsed(now, row.written) >= WAITS_LONG;
        let waiting = self.outbox.values().filter(waits_long).count();
        let mut words: Vec<String> = self
            .channels
            .values()
            .map(|channel| match channel.failing_since {
                Some(since) => format!("{} failing since {}", channel.name, show_date(&*self.calendar, since)),
                None if !channel.refused.is_empty() => {
                    let who: Vec<&str> = channel.refused.iter().map(|(to, _)| to.as_str()).collect();
                    format!("{} {}, not for {}", channel.name, channel.words(now, &*self.calendar), who.join(", "))
                }
                None => format!("{} {}", channel.name, channel.words(now, &*self.calendar)),
            })
            .collect();
        let is_proven = |proof| matches!(proof, ProofState::Proven(_));
        let proven =
            self.channels.values().filter(|channel| is_proven(channel.proof(now)) && channel.failing_since.is_none());
        let has_refusals = self.channels.values().any(|channel| !channel.refused.is_empty());
        let colour = match proven.count() {
            _ if self.is_planted(WatchBug::AlertsGreen) => LightColour::Green,
            0 => LightColour::Red,
            count if count < self.channels.len() || waiting > 0 || has_refusals => LightColour::Yellow,
            _ => LightColour::Green,
        };
        if waiting > 0 {
            let wait = if waiting == 1 { "waits" } else { "wait" };
            words.push(format!("{} {wait} for hours", counted(waiting as u64, "message")));
        }
        light(colour, words.join(", "))
    }
}
