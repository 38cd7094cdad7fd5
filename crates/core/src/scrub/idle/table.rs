//! The table of idle policies: each by name, with what it heeds and how it is made. A new policy is a file and a row.

use super::{
    Adaptive, BackToBack, Budget, FixedDelay, Goal, IdleClass, IdlePattern, IdlePolicy, IntervalAdapter,
    IntervalPolicy, Method, Parameter, ParameterValue, PolicyParameters, Predicted, RequestGrowth, Waiting,
};
use crate::units::{Bytes, Nanos};
use std::fmt;

/// One idle policy.
#[derive(Clone, Copy)]
pub struct PolicyKind {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// A line of help.
    pub about: &'static str,
    /// The parameters that change what it does, in the order of reports.
    pub heeds: &'static [Parameter],
    /// The size of a request, or of the first one, where none is given.
    pub request: Bytes,
    /// How it treats others who use the disk.
    pub regard: Regard,
    /// Is it offered for scrubs of real disks? The others are there to be studied.
    pub is_offered: bool,
    make: Make,
}

/// How a policy treats others who use the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Regard {
    /// It sends while they do not, so it must see them.
    Idleness,
    /// It pauses after each request, whether they are there or not.
    Pauses,
    /// None.
    None,
}

#[derive(Clone, Copy)]
enum Make {
    /// Decides at every request.
    EachRequest(fn(&PolicyParameters) -> Box<dyn IdlePolicy>),
    /// Decides when an idle interval begins.
    Interval(fn(&PolicyParameters) -> Box<dyn IntervalPolicy>),
}

/// A policy that was made.
#[derive(Debug)]
pub enum MadePolicy {
    /// One that decides at every request.
    EachRequest(Box<dyn IdlePolicy>),
    /// One that decides when an idle interval begins.
    Interval(Box<dyn IntervalPolicy>),
}

/// Every idle policy there is.
pub const POLICIES: &[PolicyKind] = &[
    PolicyKind {
        name: "budget",
        about: "Tune wait, size and pace to the slowdown goals",
        heeds: &[Parameter::Slowdown, Parameter::SlowdownMax, Parameter::SlowdownP99, Parameter::GoalForm],
        make: Make::EachRequest(|with| Box::new(Budget::new(with.goal))),
        ..OFFERED
    },
    PolicyKind {
        name: "waiting",
        about: "Wait for idleness, then read until somebody comes",
        heeds: &[Parameter::Wait, Parameter::Request],
        make: Make::Interval(|with| Box::new(Waiting { wait: with.wait, size: first(with) })),
        ..OFFERED
    },
    PolicyKind {
        name: "delay",
        about: "Pause after each request, whoever uses the disk",
        heeds: &[Parameter::Delay, Parameter::Request],
        regard: Regard::Pauses,
        make: Make::EachRequest(|with| Box::new(FixedDelay { delay: with.delay, size: first(with) })),
        ..OFFERED
    },
    PolicyKind {
        name: "none",
        about: "Full speed, whoever uses the disk",
        heeds: &[Parameter::Request],
        regard: Regard::None,
        make: Make::EachRequest(|with| Box::new(BackToBack { size: first(with) })),
        ..OFFERED
    },
    PolicyKind {
        name: "idle-class",
        about: "What Linux's CFQ did: 10 ms, 64 KiB",
        heeds: &[],
        make: Make::Interval(|_| Box::new(IdleClass)),
        ..STUDIED
    },
    PolicyKind {
        name: "exponential",
        about: "Wait; then requests that grow by a factor",
        heeds: &[Parameter::Wait, Parameter::Request, Parameter::Factor, Parameter::RequestMax],
        request: FIRST_OF_GROWING,
        make: Make::Interval(|with| growing(with, Bytes(0))),
        ..STUDIED
    },
    PolicyKind {
        name: "linear",
        about: "Wait; then requests that grow by a factor and a fixed amount",
        heeds: &[Parameter::Wait, Parameter::Request, Parameter::Factor, Parameter::Plus, Parameter::RequestMax],
        request: FIRST_OF_GROWING,
        make: Make::Interval(|with| growing(with, with.plus)),
        ..STUDIED
    },
    PolicyKind {
        name: "swapping",
        about: "Wait; then small requests, and large ones after a while",
        heeds: &[Parameter::Wait, Parameter::Request, Parameter::SwapAfter, Parameter::RequestMax],
        request: FIRST_OF_GROWING,
        make: Make::Interval(|with| {
            adaptive(with, RequestGrowth::Swap { after: with.swap_after, to: with.request_max })
        }),
        ..STUDIED
    },
    PolicyKind {
        name: "ar",
        about: "Predict each idle interval by auto-regression; use the long ones at once",
        heeds: &[Parameter::Cutoff, Parameter::Percentile, Parameter::Request],
        make: Make::Interval(|with| predicted(with, Method::AutoRegressive, Nanos::ZERO)),
        ..STUDIED
    },
    PolicyKind {
        name: "ar-waiting",
        about: "Predict as `ar` does, after a wait",
        heeds: &[Parameter::Wait, Parameter::Cutoff, Parameter::Percentile, Parameter::Request],
        make: Make::Interval(|with| predicted(with, Method::AutoRegressive, with.wait)),
        ..STUDIED
    },
    PolicyKind {
        name: "acd",
        about: "Predict by an autoregressive conditional duration model",
        heeds: &[Parameter::Cutoff, Parameter::Percentile, Parameter::Request],
        make: Make::Interval(|with| predicted(with, Method::Acd, Nanos::ZERO)),
        ..STUDIED
    },
];

/// What the rows of policies for real disks have in common.
const OFFERED: PolicyKind = PolicyKind { is_offered: true, ..STUDIED };

/// What most rows have in common.
const STUDIED: PolicyKind = PolicyKind {
    name: "",
    about: "",
    heeds: &[],
    request: Bytes::mib(1),
    regard: Regard::Idleness,
    is_offered: false,
    make: Make::Interval(|_| Box::new(IdleClass)),
};

/// Requests that grow begin with the idle class's (Amvrosiadis et al., DSN'12, V-C).
const FIRST_OF_GROWING: Bytes = Bytes::kib(64);

fn first(with: &PolicyParameters) -> Bytes {
    with.request.expect("PolicyConfig::new sets it")
}

fn growing(with: &PolicyParameters, plus: Bytes) -> Box<dyn IntervalPolicy> {
    adaptive(with, RequestGrowth::By { factor: with.factor, plus, max: with.request_max })
}

fn adaptive(with: &PolicyParameters, growth: RequestGrowth) -> Box<dyn IntervalPolicy> {
    Box::new(Adaptive { pattern: IdlePattern { wait: with.wait, first: first(with), growth } })
}

fn predicted(with: &PolicyParameters, method: Method, wait: Nanos) -> Box<dyn IntervalPolicy> {
    Box::new(Predicted::new(method, with.cutoff, wait, first(with)))
}

impl PolicyKind {
    /// The policy of this name.
    pub fn named(name: &str) -> Option<&'static PolicyKind> {
        POLICIES.iter().find(|kind| kind.name == name)
    }
}

impl PartialEq for PolicyKind {
    fn eq(&self, other: &PolicyKind) -> bool {
        self.name == other.name
    }
}

impl Eq for PolicyKind {}

impl fmt::Debug for PolicyKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)
    }
}

/// A policy and what it is set to: as a value, to be kept, sent and made a policy of as often as one is needed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyConfig {
    kind: &'static PolicyKind,
    parameters: PolicyParameters,
}

impl PolicyConfig {
    /// This policy, set to these.
    pub fn new(kind: &'static PolicyKind, parameters: PolicyParameters) -> PolicyConfig {
        let request = Some(parameters.request.unwrap_or(kind.request));
        PolicyConfig { kind, parameters: PolicyParameters { request, ..parameters } }
    }

    /// The policy `budget` with this goal.
    pub fn budget(goal: Goal) -> PolicyConfig {
        let kind = PolicyKind::named("budget").expect("a row of the table");
        PolicyConfig::new(kind, PolicyParameters { goal, ..PolicyParameters::default() })
    }

    /// The policy `none` with requests of this size.
    pub fn full_speed(request: Bytes) -> PolicyConfig {
        let kind = PolicyKind::named("none").expect("a row of the table");
        PolicyConfig::new(kind, PolicyParameters { request: Some(request), ..PolicyParameters::default() })
    }

    /// Its row.
    pub fn kind(&self) -> &'static PolicyKind {
        self.kind
    }

    /// What it is set to.
    pub fn parameters(&self) -> &PolicyParameters {
        &self.parameters
    }

    /// A new policy of this kind.
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn make(&self) -> MadePolicy {
        match self.kind.make {
            Make::EachRequest(make) => MadePolicy::EachRequest(make(&self.parameters)),
            Make::Interval(make) => MadePolicy::Interval(make(&self.parameters)),
        }
    }

    /// A new policy of this kind, which is asked at every request.
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn policy(&self) -> Box<dyn IdlePolicy> {
        match self.make() {
            MadePolicy::EachRequest(policy) => policy,
            MadePolicy::Interval(policy) => Box::new(IntervalAdapter::new(policy)),
        }
    }

    /// The goal, if it has one.
    pub fn goal(&self) -> Option<Goal> {
        self.kind.heeds.contains(&Parameter::Slowdown).then_some(self.parameters.goal)
    }

    /// The largest request that it will ask for.
    pub fn size_max(&self) -> Bytes {
        match self.make() {
            MadePolicy::EachRequest(policy) => policy.size_max(),
            MadePolicy::Interval(policy) => policy.size_max(),
        }
    }

    /// What it is set to, by the names of the parameters; for a policy that heeds none, what it does.
    pub fn named_values(&self) -> Vec<(&'static str, ParameterValue)> {
        if let ([], MadePolicy::Interval(policy)) = (self.kind.heeds, self.make()) {
            let IdlePattern { wait, first, .. } = policy.pattern();
            return vec![("wait", ParameterValue::Time(wait)), ("request", ParameterValue::Size(first))];
        }
        self.parameters.named_values(self.kind.heeds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Requests of sizes that no policy has by default.
    fn others() -> PolicyParameters {
        let (request, request_max) = (Some(Bytes::kib(96)), Bytes::mib(3));
        PolicyParameters { request, request_max, ..PolicyParameters::default() }
    }

    #[test]
    fn names_are_told_apart_and_find_their_row() {
        let names: BTreeSet<&str> = POLICIES.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), POLICIES.len());
        for kind in POLICIES {
            assert_eq!(PolicyKind::named(kind.name), Some(kind));
            assert!(!kind.about.is_empty() && kind.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        }
        assert_eq!(PolicyKind::named("oracle"), None, "nobody in core knows the future");
    }

    /// What a row says that it heeds changes the policy, and what it does not say does not.
    #[test]
    fn each_policy_heeds_what_its_row_says() {
        for kind in POLICIES {
            let usual = PolicyConfig::new(kind, PolicyParameters::default());
            for parameter in Parameter::ALL {
                let mut with = usual.parameters;
                with.set(parameter, parameter.row().takes.another());
                let made = |parameters| format!("{:?}", PolicyConfig::new(kind, parameters).make());
                let is_heeded = made(with) != made(usual.parameters);
                assert_eq!(is_heeded, kind.heeds.contains(&parameter), "{kind:?} and {parameter:?}");
            }
        }
    }

    #[test]
    fn the_largest_request_is_known_beforehand() {
        let size_max = |name| {
            let kind = PolicyKind::named(name).unwrap();
            PolicyConfig::new(kind, others()).size_max()
        };
        assert_eq!([size_max("waiting"), size_max("delay"), size_max("ar")], [Bytes::kib(96); 3]);
        assert_eq!([size_max("exponential"), size_max("swapping")], [Bytes::mib(3); 2]);
        assert_eq!([size_max("idle-class"), size_max("budget")], [Bytes::kib(64), Bytes::mib(4)]);
    }

    #[test]
    fn what_it_is_set_to_is_told_by_name() {
        let told = |name| {
            let told = PolicyConfig::new(PolicyKind::named(name).unwrap(), PolicyParameters::default()).named_values();
            told.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(told("budget"), ["slowdown", "max-slowdown", "goal"], "and no percentile, if none is given");
        assert_eq!(told("idle-class"), ["wait", "request"]);
        assert_eq!(told("ar-waiting"), ["wait", "percentile", "request"]);
    }
}
