//! "Am I safe?": one verdict, four lights, and what to do, as facts.

use crate::channel::{ChannelRow, ProofState};
use crate::exposure::Exposure;
use crate::facts::{ArrayFacts, DiskFacts, DiskKey};
use crate::forecast::PassForecast;
use crate::health::{HealthSign, HealthState};
use crate::hold::HoldBack;
use crate::incident::{Condition, IncidentKey, IncidentRow};
use crate::passes::ArrayFlaws;
use crate::pool::PoolDamage;
use crate::problem::ArrayCard;
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
pub enum StatusVerdict {
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
    /// What would have to be read if one more member died; `None`: it has no redundancy left, or nothing is known.
    pub exposure: Option<Exposure>,
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
    pub verdict: StatusVerdict,
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
