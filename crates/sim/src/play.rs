//! Every policy that can be simulated, by name: those of the scrubber, and two that know the future.

use crate::exact::{self, Lossless, Oracle, ScrubFigures};
use crate::online;
use scrubjay_core::scrub::disk_server::{ForegroundRequest, ServiceModel};
use scrubjay_core::scrub::idle::{
    MadePolicy, POLICIES, Pacing, Parameter, ParameterValue, PolicyConfig, PolicyKind, PolicyParameters, Slowdown,
};
use scrubjay_core::units::Bytes;
use scrubjay_trace::Periods;
use std::fmt;

/// A policy that knows the length of each idle interval.
#[derive(Clone, Copy)]
pub struct Clairvoyant {
    name: &'static str,
    about: &'static str,
    uses: &'static [Parameter],
    play: fn(&PolicyParameters, Bytes, &Periods, ServiceModel) -> ScrubFigures,
}

/// Both clairvoyant policies (Amvrosiadis et al., DSN'12, V-B).
pub const CLAIRVOYANTS: &[Clairvoyant] = &[
    Clairvoyant {
        name: "oracle",
        about: "Know the longest idle intervals, and use them",
        uses: &[Parameter::Share, Parameter::Request],
        play: |parameters, size, periods, disk| {
            exact::simulate(periods, disk, &mut Oracle::longest(parameters.share, periods.intervals(), size))
        },
    },
    Clairvoyant {
        name: "lossless",
        about: "Waiting that gets back the time it waited",
        uses: &[Parameter::Wait, Parameter::Request],
        play: |parameters, size, periods, disk| {
            exact::simulate(periods, disk, &mut Lossless { wait: parameters.wait, size })
        },
    },
];

/// The size of a clairvoyant policy's requests if none is given.
const REQUEST: Bytes = Bytes::mib(1);

impl PartialEq for Clairvoyant {
    fn eq(&self, other: &Clairvoyant) -> bool {
        self.name == other.name
    }
}

impl fmt::Debug for Clairvoyant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A policy that can be simulated.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Playable {
    /// A policy of the scrubber, which knows the past only.
    Policy(&'static PolicyKind),
    /// A policy that knows the future.
    Clairvoyant(&'static Clairvoyant),
}

scrubjay_core::named_row!(Playable, Playable::all().collect());

/// The result of playing a policy.
#[derive(Clone, Debug)]
pub struct PlayedPolicy {
    /// The figures of the run.
    pub outcome: ScrubFigures,
    /// How many requests lost how much: of policies that wait for idleness and decide at each request, because
    /// [`exact::learner`] counts it for them. `None`: of all others.
    pub slowdown: Option<Slowdown>,
}

impl Playable {
    /// All policies.
    pub fn all() -> impl Iterator<Item = Playable> {
        POLICIES.iter().map(Playable::Policy).chain(CLAIRVOYANTS.iter().map(Playable::Clairvoyant))
    }

    /// The policy of this name.
    pub fn named(name: &str) -> Option<Playable> {
        Playable::all().find(|playable| playable.name() == name)
    }

    /// Its name on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            Playable::Policy(kind) => kind.name,
            Playable::Clairvoyant(kind) => kind.name,
        }
    }

    /// A line of help about it.
    pub fn about(self) -> &'static str {
        match self {
            Playable::Policy(kind) => kind.about,
            Playable::Clairvoyant(kind) => kind.about,
        }
    }

    /// The parameters that change its behaviour.
    pub fn uses(self) -> &'static [Parameter] {
        match self {
            Playable::Policy(kind) => kind.uses,
            Playable::Clairvoyant(kind) => kind.uses,
        }
    }

    /// Does it need each request of the trace, not only the busy periods?
    pub fn needs_requests(self) -> bool {
        matches!(self, Playable::Policy(kind) if kind.pacing != Pacing::IdleTime)
    }

    /// Its settings, by the names of the parameters.
    pub fn named_values(self, parameters: &PolicyParameters) -> Vec<(&'static str, ParameterValue)> {
        match self {
            Playable::Policy(kind) => PolicyConfig::new(kind, *parameters).named_values(),
            Playable::Clairvoyant(kind) => {
                let set = PolicyParameters { request: Some(parameters.request.unwrap_or(REQUEST)), ..*parameters };
                set.named_values(kind.uses)
            }
        }
    }

    /// Plays it on the busy periods of a trace, or on its `requests` if it needs them.
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn play(
        self,
        parameters: &PolicyParameters,
        periods: &Periods,
        requests: &[ForegroundRequest],
        disk: ServiceModel,
    ) -> PlayedPolicy {
        let (outcome, slowdown) = match self {
            Playable::Clairvoyant(kind) => {
                ((kind.play)(parameters, parameters.request.unwrap_or(REQUEST), periods, disk), None)
            }
            Playable::Policy(kind) => match PolicyConfig::new(kind, *parameters).make() {
                MadePolicy::Interval(mut policy) => (exact::simulate(periods, disk, policy.as_mut()), None),
                MadePolicy::EachRequest(policy) if self.needs_requests() => {
                    (online::play(requests, disk, policy), None)
                }
                MadePolicy::EachRequest(mut policy) => {
                    let learned = exact::learner(periods, disk, policy.as_mut());
                    (learned.outcome, Some(learned.slowdown))
                }
            },
        };
        PlayedPolicy { outcome, slowdown }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Nanos;

    /// A request every second for a minute.
    fn requests() -> Vec<ForegroundRequest> {
        let service = Nanos::from_millis(5);
        (0..60).map(|second| ForegroundRequest { at: Nanos::from_secs(second), service }).collect()
    }

    #[test]
    fn each_policy_has_a_name_of_its_own_and_reads_something() {
        let (requests, disk) = (requests(), ServiceModel::default());
        let periods: Periods = requests.iter().copied().collect();
        for playable in Playable::all() {
            assert_eq!(Playable::named(playable.name()), Some(playable));
            let played = playable.play(&PolicyParameters::default(), &periods, &requests, disk).outcome;
            // No prediction can be made from so few intervals of equal length.
            let is_predicting = playable.uses().contains(&Parameter::Cutoff);
            assert!(is_predicting || played.scrub_bytes > 0, "{playable:?}");
            assert_eq!(played.requests, 60, "{playable:?}");
            assert!(!playable.named_values(&PolicyParameters::default()).is_empty());
        }
    }
}
