//! "Am I safe?" in words: the sentence, the lights, what to do.

use crate::condition::headline;
use crate::date::{show_date, show_time};
use crate::health::{DiskWords, SignWords};
use crate::sentence::{Count, Said, joined, sentences, typed};
use crate::{array, card, channel, pool};
use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::incident::{IncidentKey, IncidentKind, IncidentSubject, Urgency};
use scrubjay_watch::status::{ChannelShown, LightShows, LossShown, ProblemsShown, StatusLight, StatusVerdict, ToDo};

sentences! {
    pub(crate) VerdictWords: "The answer to \"Am I safe?\"" {
        ClockDoubted { date: String = "1 Jan 1970" } =>
            "The clock says {date}, which is unlikely: nothing is decided until it is set right, or has stayed so for hours.",
        Blind { time: String = "12 Mar 2026 03:41" } =>
            "The watch has not been able to check the disks of this machine since {time}: how they are now is not known.",
        BlindBesides { blind: Said = VerdictWords::Blind { time: "12 Mar 2026 03:41".into() }, problems: Said = example_problems() } =>
            "{blind} Besides, {problems}",
        AtRisk { count: Count = Count(2, "problem"), first: Said = example_headline() } => "{count}, and data are at risk: {first}",
        Problems { count: Count = Count(2, "problem"), first: Said = example_headline() } => "{count}: {first}",
        Well => "All is well: every disk is ok, every sector was read in time, alerts are proven.",
        Unreported { light: String = "Disks", shows: Said = LightWords::NoDisk } => "{light}: {shows}.",
        NobodyTold => "Nothing new is known to be wrong, but nobody would be told if it were.",
        AcceptedNotAllKnown => "Nothing is wrong but what you have accepted, and not all is known.",
        Accepted => "Nothing is wrong but what you have accepted.",
        NotAllKnown => "Nothing is known to be wrong, but not all is known.",
        NothingNew => "Nothing new is wrong.",
    }
}

fn example_headline() -> DiskWords {
    let sign = SignWords::Unreadable { sectors: Count(8, "unreadable sector") }.into();
    DiskWords::Replace { disk: card::example_label().into(), sign }
}

fn example_problems() -> VerdictWords {
    VerdictWords::Problems { count: Count(2, "problem"), first: example_headline().into() }
}

sentences! {
    pub(crate) LightWords: "What the four lights show" {
        NoDisk => "no disk is seen",
        State { count: usize = 4usize, state: String = "ok" } => "{count} {state}",
        NoArray => "no array is seen (md, btrfs, ZFS, volumes)",
        ArrayGone { array: Said = card::Called::Array { name: "md0".into() } } => "{array} is not there",
        PoolFailed { pool: String = "tank", state: String = "SUSPENDED" } => "pool {pool} is {state}",
        Lost { name: String = "tank", lost: Said = pool::DamageWords::Blocks { blocks: Count(194, "block") } } => "{name}: {lost}",
        Left { left: i64 = 2i64, redundancy: u32 = 2u32, array: String = "md0" } => "{left} of {redundancy} left in {array}",
        LeftAndStripes { left: Said = LightWords::Left { left: 2, redundancy: 2, array: "md0".into() }, shared: Count = Count(3, "stripe") } =>
            "{left}, {shared} bad on two or more disks",
        LeftAndUnknown { left: Said = LightWords::Left { left: 2, redundancy: 2, array: "md0".into() }, pool: String = "tank" } =>
            "{left}; whether pool {pool} has lost data is not known",
        Rebuilding { array: String = "md0" } => "{array} is being rebuilt",
        NoRedundancy { array: String = "md0", level: String = "RAID0" } => "none in {array} ({level})",
        Disks { disks: Count = Count(2, "disk") } => "{disks}",
        Arrays { arrays: Count = Count(1, "array") } => "{arrays}",
        Overdue { what: Said = LightWords::Disks { disks: Count(2, "disk") } } => "{what} overdue",
        NoPass => "nothing has been read completely yet",
        FirstPass { what: Said = LightWords::Disks { disks: Count(2, "disk") } } => "the first pass of {what} is not over yet",
        OldestToday { limit: u64 = 30u64 } => "the oldest today, the limit is {limit} d",
        Oldest { days: u64 = 23u64, limit: u64 = 30u64 } => "the oldest {days} d ago, the limit is {limit} d",
        NoChannel => "no alert can reach you",
        Channel { name: String = "email", proof: Said = channel::ProofWords::Never } => "{name} {proof}",
        ChannelFails { name: String = "email", date: String = "12 Mar 2026" } => "{name} has failed since {date}",
        ChannelRefused { name: String = "email", proof: Said = channel::ProofWords::Never, who: String = "you@example.org" } =>
            "{name} {proof}, not for {who}",
        OneWaits => "1 message has been waiting for hours",
        Wait { messages: Count = Count(3, "message") } => "{messages} have been waiting for hours",
        OfBefore { shows: Said = LightWords::State { count: 4, state: "ok".into() } } => "not known now; was: {shows}",
        ObservedReads => "only observed: nothing is read",
        ObservedSends => "only observed: nothing is sent",
    }
}

sentences! {
    pub(crate) StandingWords: "What a document says where less is known" {
        NotKnown { why: Said = StandingWords::HistoryNotWritten } => "Not known now: {why}",
        HistoryNotWritten => "the history cannot be written, and nothing is decided meanwhile",
        OnlyObserves => "this watch only observes: no disk is read, and nothing is sent",
        WouldBeRead => "would be read now",
        ScrubBegins => "its scrub begins",
        Overdue => "some of its sectors are overdue to be read",
    }
}

/// Why how things stand is not known now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotKnownWhy {
    /// The history cannot be written.
    HistoryNotWritten,
    /// The watch only observes.
    OnlyObserves,
}

/// The answer to "Am I safe?" where that is not known now.
pub fn not_known(why: NotKnownWhy) -> Said {
    let why = match why {
        NotKnownWhy::HistoryNotWritten => StandingWords::HistoryNotWritten,
        NotKnownWhy::OnlyObserves => StandingWords::OnlyObserves,
    };
    StandingWords::NotKnown { why: why.into() }.into()
}

/// Of a watch that only observes: that it would read now.
pub fn would_be_read() -> Said {
    StandingWords::WouldBeRead.into()
}

/// That a scrub has begun of which there is no report yet.
pub fn scrub_begins() -> Said {
    StandingWords::ScrubBegins.into()
}

/// That some sectors of a disk are overdue.
pub fn overdue() -> Said {
    StandingWords::Overdue.into()
}

sentences! {
    pub(crate) ToDoWords: "What to do about alerts" {
        SetUpChannel => "set up a channel for alerts",
        SeeWhyNotAccepted => "see why alerts are not accepted",
        ProveAlerts => "prove that alerts arrive",
        WithCommand { what: Said = ToDoWords::ProveAlerts, command: String = "sudo scrubjay alert test" } => "{what}: {command}",
        AndMore { count: usize = 3usize } => "and {count} more",
    }
}

/// That nothing is seen of the machine, and since when.
pub(crate) fn blind(since: UnixSeconds, calendar: &dyn Calendar) -> Said {
    VerdictWords::Blind { time: show_time(calendar, since) }.into()
}

/// The answer to "Am I safe?".
pub fn verdict(verdict: &StatusVerdict, calendar: &dyn Calendar) -> Said {
    let first = |problems: &ProblemsShown| headline(&problems.first, calendar);
    let count = |problems: &ProblemsShown| Count(problems.count as u64, "problem");
    let words = match verdict {
        StatusVerdict::ClockDoubted(now) => VerdictWords::ClockDoubted { date: show_date(calendar, *now) },
        StatusVerdict::Blind(since, None) => VerdictWords::Blind { time: show_time(calendar, *since) },
        StatusVerdict::Blind(since, Some(problems)) => VerdictWords::BlindBesides {
            blind: blind(*since, calendar),
            problems: VerdictWords::Problems { count: count(problems), first: first(problems) }.into(),
        },
        StatusVerdict::Problems(problems) if problems.first.urgency == Urgency::Loss => {
            VerdictWords::AtRisk { count: count(problems), first: first(problems) }
        }
        StatusVerdict::Problems(problems) => VerdictWords::Problems { count: count(problems), first: first(problems) },
        StatusVerdict::Well => VerdictWords::Well,
        StatusVerdict::Unreported(name, shows) => {
            VerdictWords::Unreported { light: name.word().to_owned(), shows: light_shows(shows, calendar) }
        }
        StatusVerdict::NobodyTold => VerdictWords::NobodyTold,
        StatusVerdict::Accepted(false) => VerdictWords::AcceptedNotAllKnown,
        StatusVerdict::Accepted(true) => VerdictWords::Accepted,
        StatusVerdict::NotAllKnown => VerdictWords::NotAllKnown,
        StatusVerdict::NothingNew => VerdictWords::NothingNew,
    };
    words.into()
}

/// What a light shows.
pub fn light(light: &StatusLight, calendar: &dyn Calendar) -> Said {
    let shows = light_shows(&light.shows, calendar);
    if light.is_of_before { of_before(shows) } else { shows }
}

/// What a light showed when more was known.
pub fn of_before(shows: Said) -> Said {
    LightWords::OfBefore { shows }.into()
}

/// What the light of what is read shows of a watch that only observes.
pub fn observed_reads() -> Said {
    LightWords::ObservedReads.into()
}

/// What the light of alerts shows of a watch that only observes.
pub fn observed_sends() -> Said {
    LightWords::ObservedSends.into()
}

fn light_shows(shows: &LightShows, calendar: &dyn Calendar) -> Said {
    let words = match shows {
        LightShows::Disks(counts) if counts.is_empty() => LightWords::NoDisk,
        LightShows::Disks(counts) => {
            let state = |&(state, count): &(scrubjay_watch::health::HealthState, usize)| {
                LightWords::State { count, state: state.word().to_owned() }.into()
            };
            return joined(counts.iter().map(state), ", ");
        }
        LightShows::NoArray => LightWords::NoArray,
        LightShows::ArrayGone(array) => LightWords::ArrayGone { array: card::array_label(array) },
        LightShows::PoolFailed(pool, state) => LightWords::PoolFailed { pool: pool.clone(), state: state.clone() },
        LightShows::DataLost(lost) => return joined(lost.iter().map(loss), ", "),
        LightShows::Redundancy { array, left: 0, shared: 0, unknown: None } if array.redundancy == 0 => {
            LightWords::NoRedundancy { array: array.name.clone(), level: array.level.clone() }
        }
        LightShows::Redundancy { array, left, shared, unknown } => {
            let left = LightWords::Left { left: *left, redundancy: array.redundancy, array: array.name.clone() };
            match (*shared, unknown.clone()) {
                (0, None) => left,
                (0, Some(pool)) => LightWords::LeftAndUnknown { left: left.into(), pool },
                (shared, _) => LightWords::LeftAndStripes { left: left.into(), shared: Count(shared as u64, "stripe") },
            }
        }
        LightShows::Rebuilding(array) => LightWords::Rebuilding { array: array.clone() },
        LightShows::Overdue(disks, arrays) => LightWords::Overdue { what: disks_and_arrays(*disks, *arrays) },
        LightShows::NoPass => LightWords::NoPass,
        LightShows::FirstPass(disks, arrays) => LightWords::FirstPass { what: disks_and_arrays(*disks, *arrays) },
        LightShows::Oldest(0, limit) => LightWords::OldestToday { limit: *limit },
        LightShows::Oldest(days, limit) => LightWords::Oldest { days: *days, limit: *limit },
        LightShows::NoChannel => LightWords::NoChannel,
        LightShows::Channels(channels, waiting) => {
            let wait: Option<Said> = match *waiting {
                0 => None,
                1 => Some(LightWords::OneWaits.into()),
                count => Some(LightWords::Wait { messages: Count(count as u64, "message") }.into()),
            };
            return joined(channels.iter().map(|channel| channel_shown(channel, calendar)).chain(wait), ", ");
        }
    };
    words.into()
}

fn disks_and_arrays(disks: usize, arrays: usize) -> Said {
    let disks = (disks > 0).then(|| LightWords::Disks { disks: Count(disks as u64, "disk") }.into());
    let arrays = (arrays > 0).then(|| LightWords::Arrays { arrays: Count(arrays as u64, "array") }.into());
    joined(disks.into_iter().chain(arrays), " and ")
}

fn loss(loss: &LossShown) -> Said {
    let words = match loss {
        LossShown::Pool(name, damage) => LightWords::Lost { name: name.clone(), lost: pool::damage(damage) },
        LossShown::Volume(name, stripes) => {
            LightWords::Lost { name: name.clone(), lost: array::lost_stripes(*stripes) }
        }
    };
    words.into()
}

fn channel_shown(shown: &ChannelShown, calendar: &dyn Calendar) -> Said {
    let (name, proof) = (shown.name.clone(), channel::proof(shown.proof, calendar));
    let words = match shown.failing_since {
        Some(since) => LightWords::ChannelFails { name, date: show_date(calendar, since) },
        None if !shown.refused.is_empty() => LightWords::ChannelRefused { name, proof, who: shown.refused.join(", ") },
        None => LightWords::Channel { name, proof },
    };
    words.into()
}

/// What to do, in one line.
pub fn to_do_line(what: &Said, command: Option<&str>) -> Said {
    let with = |command: &str| ToDoWords::WithCommand { what: what.clone(), command: command.to_owned() }.into();
    command.map_or_else(|| what.clone(), with)
}

/// That there is more to do.
pub fn and_more(count: usize) -> Said {
    ToDoWords::AndMore { count }.into()
}

/// What to do, in one line without the command; and what to type, if one command is the next step.
pub fn to_do(thing: &ToDo, calendar: &dyn Calendar) -> (Said, Option<String>) {
    let command = |command: &str| Some(command.to_owned());
    match thing {
        ToDo::Incident(key, condition) => {
            let command = match key {
                IncidentKey {
                    subject: IncidentSubject::Disk(key),
                    kind: IncidentKind::Unknown | IncidentKind::Failures,
                } => Some(format!("sudo scrubjay explain {}", typed(&key.0))),
                _ => None,
            };
            (headline(condition, calendar), command)
        }
        ToDo::SetUpChannel => (ToDoWords::SetUpChannel.into(), command("sudo scrubjay setup")),
        ToDo::SeeWhyNotAccepted => (ToDoWords::SeeWhyNotAccepted.into(), command("sudo scrubjay alert list")),
        ToDo::ProveAlerts => (ToDoWords::ProveAlerts.into(), command("sudo scrubjay alert test")),
    }
}
