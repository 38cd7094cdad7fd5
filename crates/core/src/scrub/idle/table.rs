//! The table of idle policies: for each its name, its parameters and how it is made. A new policy is a file and a row,
//! and its type's name in `use super` here.

use super::{
    BackToBack, Budget, FixedDelay, Goal, GrowingRequests, IdleClass, IdlePattern, IdlePolicy, IntervalAdapter,
    IntervalPolicy, Method, Parameter, ParameterValue, PolicyParameters, Predicted, RequestGrowth, Waiting,
};
use crate::named::NamedRow;
use crate::units::{Bytes, Nanos};
use std::fmt;

/// One idle policy.
#[derive(Clone, Copy)]
pub struct PolicyKind {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// A line of help.
    pub about: &'static str,
    /// The parameters that affect it, in the order of reports.
    pub uses: &'static [Parameter],
    /// The size of a request, or of the first one, if none is given.
    pub request_size: Bytes,
    /// What its pace depends on.
    pub pacing: Pacing,
    /// Is it offered for scrubs of real disks? The others are for study only.
    pub is_offered: bool,
    make: Make,
}

/// What the pace of a policy depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pacing {
    /// It waits for the foreground to be idle, with pauses or without, so it must detect idleness.
    IdleTime,
    /// It pauses after each request and never waits for idleness.
    FixedPause,
    /// Nothing: it sends at full speed.
    Unthrottled,
}

#[derive(Clone, Copy)]
enum Make {
    /// Decides at every request; may pause.
    EachRequest(fn(&PolicyParameters) -> Box<dyn IdlePolicy>),
    /// Decides when an idle interval begins: how long to wait, and the sizes of requests that then follow back to back.
    Interval(fn(&PolicyParameters) -> Box<dyn IntervalPolicy>),
}

/// A policy, ready for use.
#[derive(Debug)]
pub enum MadePolicy {
    /// A policy that decides at every request.
    EachRequest(Box<dyn IdlePolicy>),
    /// A policy that decides when an idle interval begins.
    Interval(Box<dyn IntervalPolicy>),
}

/// Only the policies that are offered for real disks can be chosen; [`POLICIES`] has them all.
impl NamedRow for &'static PolicyKind {
    fn choices() -> Vec<&'static PolicyKind> {
        POLICIES.iter().filter(|kind| kind.is_offered).collect()
    }

    fn name(self) -> &'static str {
        self.name
    }

    fn about(self) -> &'static str {
        self.about
    }
}

/// All idle policies.
pub const POLICIES: &[PolicyKind] = &[
    PolicyKind {
        name: "budget",
        about: "Tune wait, size and pace to the slowdown goals",
        uses: &[Parameter::Slowdown, Parameter::SlowdownMax, Parameter::SlowdownP99, Parameter::GoalForm],
        ..offered(Make::EachRequest(|with| Box::new(Budget::new(with.goal))))
    },
    PolicyKind {
        name: "waiting",
        about: "Wait for idleness, then read until a request comes",
        uses: &[Parameter::Wait, Parameter::Request],
        ..offered(Make::Interval(|with| Box::new(Waiting { wait: with.wait, size: first_size(with) })))
    },
    PolicyKind {
        name: "delay",
        about: "Pause after each request, whether the disk is in use or not",
        uses: &[Parameter::Pause, Parameter::Request],
        pacing: Pacing::FixedPause,
        ..offered(Make::EachRequest(|with| Box::new(FixedDelay { pause: with.pause, size: first_size(with) })))
    },
    PolicyKind {
        name: "none",
        about: "Full speed, whether the disk is in use or not",
        uses: &[Parameter::Request],
        pacing: Pacing::Unthrottled,
        ..offered(Make::EachRequest(|with| Box::new(BackToBack { size: first_size(with) })))
    },
    PolicyKind {
        name: "idle-class",
        about: "What Linux's CFQ did: 10 ms, 64 KiB",
        uses: &[],
        ..studied(Make::Interval(|_| Box::new(IdleClass)))
    },
    PolicyKind {
        name: "exponential",
        about: "Wait; then requests that grow by a factor",
        uses: &[Parameter::Wait, Parameter::Request, Parameter::Factor, Parameter::RequestMax],
        request_size: FIRST_OF_GROWING,
        ..studied(Make::Interval(|with| growing_by(with, Bytes(0))))
    },
    PolicyKind {
        name: "linear",
        about: "Wait; then requests that grow by a factor and a fixed amount",
        uses: &[Parameter::Wait, Parameter::Request, Parameter::Factor, Parameter::Plus, Parameter::RequestMax],
        request_size: FIRST_OF_GROWING,
        ..studied(Make::Interval(|with| growing_by(with, with.plus)))
    },
    PolicyKind {
        name: "swapping",
        about: "Wait; then small requests, and large ones after a while",
        uses: &[Parameter::Wait, Parameter::Request, Parameter::SwapAfter, Parameter::RequestMax],
        request_size: FIRST_OF_GROWING,
        ..studied(Make::Interval(|with| {
            growing_requests(with, RequestGrowth::Swap { after: with.swap_after, to: with.request_max })
        }))
    },
    PolicyKind {
        name: "ar",
        about: "Predict each idle interval by auto-regression; use the long ones at once",
        uses: &[Parameter::Cutoff, Parameter::Percentile, Parameter::Request],
        ..studied(Make::Interval(|with| predicted(with, Method::AutoRegressive, Nanos::ZERO)))
    },
    PolicyKind {
        name: "ar-waiting",
        about: "Predict as `ar` does, after a wait",
        uses: &[Parameter::Wait, Parameter::Cutoff, Parameter::Percentile, Parameter::Request],
        ..studied(Make::Interval(|with| predicted(with, Method::AutoRegressive, with.wait)))
    },
    PolicyKind {
        name: "acd",
        about: "Predict by an autoregressive conditional duration model",
        uses: &[Parameter::Cutoff, Parameter::Percentile, Parameter::Request],
        ..studied(Make::Interval(|with| predicted(with, Method::Acd, Nanos::ZERO)))
    },
];

/// The rest of a row for real disks: what is made, and the defaults.
const fn offered(make: Make) -> PolicyKind {
    PolicyKind { is_offered: true, ..studied(make) }
}

/// The rest of a row for study only: what is made, and the defaults.
const fn studied(make: Make) -> PolicyKind {
    PolicyKind {
        name: "",
        about: "",
        uses: &[],
        request_size: Bytes::mib(1),
        pacing: Pacing::IdleTime,
        is_offered: false,
        make,
    }
}

/// Requests that grow begin with the size of the idle class (Amvrosiadis et al., DSN'12, V-C).
const FIRST_OF_GROWING: Bytes = Bytes::kib(64);

fn first_size(parameters: &PolicyParameters) -> Bytes {
    parameters.request.expect("PolicyConfig::new sets it")
}

fn growing_by(parameters: &PolicyParameters, plus: Bytes) -> Box<dyn IntervalPolicy> {
    growing_requests(parameters, RequestGrowth::By { factor: parameters.factor, plus, max: parameters.request_max })
}

fn growing_requests(parameters: &PolicyParameters, growth: RequestGrowth) -> Box<dyn IntervalPolicy> {
    Box::new(GrowingRequests { pattern: IdlePattern { wait: parameters.wait, first: first_size(parameters), growth } })
}

fn predicted(parameters: &PolicyParameters, method: Method, wait: Nanos) -> Box<dyn IntervalPolicy> {
    Box::new(Predicted::new(method, parameters.cutoff, wait, first_size(parameters)))
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

/// A policy and its parameters as a value, which can be stored and sent, and from which policies can be made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyConfig {
    kind: &'static PolicyKind,
    parameters: PolicyParameters,
}

impl PolicyConfig {
    /// The configuration of a policy; a request size that is not given is the policy's own.
    pub fn new(kind: &'static PolicyKind, parameters: PolicyParameters) -> PolicyConfig {
        let request = Some(parameters.request.unwrap_or(kind.request_size));
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

    /// The policy's row of the table.
    pub fn kind(&self) -> &'static PolicyKind {
        self.kind
    }

    /// The policy's parameters.
    pub fn parameters(&self) -> &PolicyParameters {
        &self.parameters
    }

    /// A new policy of this kind, in the form in which it decides. The simulators compute whole idle intervals of an
    /// interval policy at once; the scrubber takes [`PolicyConfig::policy`].
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn make(&self) -> MadePolicy {
        match self.kind.make {
            Make::EachRequest(make) => MadePolicy::EachRequest(make(&self.parameters)),
            Make::Interval(make) => MadePolicy::Interval(make(&self.parameters)),
        }
    }

    /// A new policy of this kind, as the scrubber plays it: one that decides when an idle interval begins is asked at
    /// every request, through an [`IntervalAdapter`].
    ///
    /// # Panics
    /// When a percentile is above 100 %.
    pub fn policy(&self) -> Box<dyn IdlePolicy> {
        match self.make() {
            MadePolicy::EachRequest(policy) => policy,
            MadePolicy::Interval(policy) => Box::new(IntervalAdapter::new(policy)),
        }
    }

    /// The slowdown goal, if the policy has one.
    pub fn goal(&self) -> Option<Goal> {
        self.kind.uses.contains(&Parameter::Slowdown).then_some(self.parameters.goal)
    }

    /// The largest request that it will ask for.
    pub fn size_max(&self) -> Bytes {
        match self.make() {
            MadePolicy::EachRequest(policy) => policy.size_max(),
            MadePolicy::Interval(policy) => policy.size_max(),
        }
    }

    /// The parameters that the policy uses, by name; for an interval policy without parameters, its fixed wait and
    /// request size. Empty for one without parameters that decides at every request: there is none yet.
    pub fn named_values(&self) -> Vec<(&'static str, ParameterValue)> {
        if let ([], MadePolicy::Interval(policy)) = (self.kind.uses, self.make()) {
            let IdlePattern { wait, first, .. } = policy.pattern();
            return vec![("wait", ParameterValue::Time(wait)), ("request", ParameterValue::Size(first))];
        }
        self.parameters.named_values(self.kind.uses)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scrub::idle::{AccessPattern, DiskView, Observed, WaitReason};
    use std::collections::BTreeSet;

    /// Request sizes that differ from every policy's defaults.
    fn other_sizes() -> PolicyParameters {
        let (request, request_max) = (Some(Bytes::kib(96)), Bytes::mib(3));
        PolicyParameters { request, request_max, ..PolicyParameters::default() }
    }

    #[test]
    fn policy_names_are_distinct_and_find_their_row() {
        let names: BTreeSet<&str> = POLICIES.iter().map(|kind| kind.name).collect();
        assert_eq!(names.len(), POLICIES.len());
        for kind in POLICIES {
            assert_eq!(PolicyKind::named(kind.name), Some(kind));
            assert!(!kind.about.is_empty() && kind.name.bytes().all(|byte| byte.is_ascii_lowercase() || byte == b'-'));
        }
        assert_eq!(PolicyKind::named("oracle"), None, "nobody in core knows the future");
    }

    /// A parameter changes a policy if and only if the policy's row lists it in `uses`.
    #[test]
    fn each_policy_uses_exactly_the_parameters_of_its_row() {
        for kind in POLICIES {
            let usual = PolicyConfig::new(kind, PolicyParameters::default());
            for parameter in Parameter::ALL {
                let mut changed = usual.parameters;
                changed.set(parameter, parameter.row().takes.another());
                let made = |parameters| format!("{:?}", PolicyConfig::new(kind, parameters).make());
                let is_used = made(changed) != made(usual.parameters);
                assert_eq!(is_used, kind.uses.contains(&parameter), "{kind:?} and {parameter:?}");
            }
        }
    }

    /// The scrubber looks for arrivals by `in_idle_only`; the simulators, and the choice of a detector, go by the pacing.
    #[test]
    fn policies_whose_pace_depends_on_idle_time_say_that_they_send_in_it_only() {
        for kind in POLICIES {
            let policy = PolicyConfig::new(kind, PolicyParameters::default()).policy();
            assert_eq!(policy.state().in_idle_only, kind.pacing == Pacing::IdleTime, "{kind:?}");
        }
    }

    /// The default of [`IdlePolicy::waits_for`] does not know a pause beside a wait.
    #[test]
    fn a_policy_that_pauses_says_so_during_its_pause() {
        let now = Nanos::from_secs(3600);
        let view = DiskView {
            now,
            outstanding: 0,
            idle_since: Nanos::ZERO,
            own_finished: now,
            own_service: Nanos::from_millis(5),
            own_size: Some(Bytes::mib(1)),
            access: AccessPattern::Sequential,
        };
        for kind in POLICIES {
            let policy = PolicyConfig::new(kind, PolicyParameters::default()).policy();
            let state = policy.state();
            let is_pause = policy.waits_for(&view, &Observed::default()) == WaitReason::Pause(state.pause);
            assert_eq!(is_pause, state.pause > Nanos::ZERO || !state.in_idle_only, "{kind:?}");
        }
    }

    #[test]
    fn the_largest_request_is_known_beforehand() {
        let size_max = |name| {
            let kind = PolicyKind::named(name).unwrap();
            PolicyConfig::new(kind, other_sizes()).size_max()
        };
        assert_eq!([size_max("waiting"), size_max("delay"), size_max("ar")], [Bytes::kib(96); 3]);
        assert_eq!([size_max("exponential"), size_max("swapping")], [Bytes::mib(3); 2]);
        assert_eq!([size_max("idle-class"), size_max("budget")], [Bytes::kib(64), Bytes::mib(4)]);
    }

    #[test]
    fn the_parameters_of_a_policy_are_listed_by_name() {
        let names = |name| {
            let values =
                PolicyConfig::new(PolicyKind::named(name).unwrap(), PolicyParameters::default()).named_values();
            values.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(names("budget"), ["slowdown", "max-slowdown", "goal"], "and no percentile, if none is given");
        assert_eq!(names("idle-class"), ["wait", "request"]);
        assert_eq!(names("ar-waiting"), ["wait", "percentile", "request"]);
    }
}
