//! Settings of a scrub: what a file or a command line may say, and what a session gets.

use crate::serde_words;
use scrubjay_core::scrub::idle::{Goal, GoalForm, PolicyConfig, PolicyKind, PolicyParameters};
use scrubjay_core::scrub::tour::{OrderKind, REGION_BYTES, SEGMENT_BYTES};
use scrubjay_core::units::{Bytes, Nanos, SECTOR_BYTES};
use scrubjay_device::session::SessionOptions;
use scrubjay_device::store;
use scrubjay_device::subject::Subject;
use scrubjay_device::{detector, verify};
use serde::Deserialize;
use std::ops::Range;
use std::path::PathBuf;

/// How disks are scrubbed, as the `[scrub]` table of a file has it. What is not given has its default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct Settings {
    /// Mean latency that the scrub may add to a request of others (policy budget)
    #[serde(deserialize_with = "serde_words::time_not_zero")]
    pub slowdown: Option<Nanos>,
    /// Latency that it may add to any one request, but for 1 in 10,000 (policy budget)
    #[serde(deserialize_with = "serde_words::time")]
    pub max_slowdown: Option<Nanos>,
    /// Latency that it may add, but for 1 request in 100 (policy budget; no such goal unless given)
    #[serde(deserialize_with = "serde_words::time")]
    pub p99_slowdown: Option<Nanos>,
    /// When the mean must be kept: at any time, or at the end (policy budget)
    #[serde(deserialize_with = "serde_words::name")]
    pub goal: Option<GoalForm>,
    /// When to send requests
    #[serde(deserialize_with = "serde_words::name")]
    pub policy: Option<&'static PolicyKind>,
    /// Start after so long an idle time (policy waiting)
    #[serde(deserialize_with = "serde_words::time")]
    pub wait: Option<Nanos>,
    /// Pause after each request (policy delay)
    #[serde(deserialize_with = "serde_words::time")]
    pub delay: Option<Nanos>,
    /// Request size (all policies but budget, which chooses it)
    #[serde(deserialize_with = "serde_words::bytes")]
    pub request: Option<Bytes>,

    /// Order in which to read
    #[serde(deserialize_with = "serde_words::name")]
    pub order: Option<OrderKind>,
    /// Region size: what is read at once around an error
    #[serde(deserialize_with = "serde_words::bytes")]
    pub region: Option<Bytes>,
    /// Segment size: the piece of each region that is read in one round
    #[serde(deserialize_with = "serde_words::bytes")]
    pub segment: Option<Bytes>,
    /// How to verify: reading is the only reliable way
    #[serde(deserialize_with = "serde_words::name")]
    pub verify: Option<verify::VerifierKind>,

    /// Folder for progress and what was learnt; for root, one that only root may write to
    pub state: Option<PathBuf>,
    /// How to see the requests of others
    #[serde(deserialize_with = "serde_words::name")]
    pub detector: Option<detector::DetectorKind>,
}

impl Settings {
    /// These, and what they leave open from `others`.
    pub fn or(self, others: Settings) -> Settings {
        Settings {
            slowdown: self.slowdown.or(others.slowdown),
            max_slowdown: self.max_slowdown.or(others.max_slowdown),
            p99_slowdown: self.p99_slowdown.or(others.p99_slowdown),
            goal: self.goal.or(others.goal),
            policy: self.policy.or(others.policy),
            wait: self.wait.or(others.wait),
            delay: self.delay.or(others.delay),
            request: self.request.or(others.request),
            order: self.order.or(others.order),
            region: self.region.or(others.region),
            segment: self.segment.or(others.segment),
            verify: self.verify.or(others.verify),
            state: self.state.or(others.state),
            detector: self.detector.or(others.detector),
        }
    }

    /// The policy, and what it is set to; `block` is the least that can be verified at once.
    pub fn policy(&self, block: Bytes) -> PolicyConfig {
        let usual = PolicyParameters::default();
        let kind = self.kind();
        let (mean, max) = (self.slowdown.unwrap_or(usual.goal.mean), self.max_slowdown.unwrap_or(usual.goal.max));
        let form = self.goal.unwrap_or(usual.goal.form);
        let parameters = PolicyParameters {
            goal: Goal::new(mean, max).p99(self.p99_slowdown).form(form),
            wait: self.wait.unwrap_or(usual.wait),
            delay: self.delay.unwrap_or(usual.delay),
            // A volume's chunk may be greater.
            request: self.request.or(Some(kind.request.max(block))),
            ..usual
        };
        PolicyConfig::new(kind, parameters)
    }

    /// The policy.
    pub fn kind(&self) -> &'static PolicyKind {
        self.policy.unwrap_or_else(|| PolicyConfig::budget(Goal::default()).kind())
    }

    /// What they mean for one subject.
    pub fn options(&self, subject: &dyn Subject, run: &RunOptions) -> SessionOptions {
        let whole = subject.sectors() * SECTOR_BYTES;
        let range = run.range.as_ref().map(|Range { start, end }| start.unwrap_or(0)..end.unwrap_or(whole));
        SessionOptions {
            policy: self.policy(subject.block()),
            order: self.order.unwrap_or_default(),
            region: self.region.unwrap_or(REGION_BYTES),
            segment: self.segment.unwrap_or(SEGMENT_BYTES),
            verify: self.verify.unwrap_or_default(),
            range,
            state_folder: self.state.clone().unwrap_or_else(store::default_folder),
            fresh: run.fresh,
            detector: self.detector,
            record: run.record.clone(),
        }
    }
}

/// What concerns one run only.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// Only these bytes of each target, from the first to before the last.
    pub range: Option<Range<Option<u64>>>,
    /// Begin a new pass, and forget what was learnt.
    pub fresh: bool,
    /// Write a recording of the run to this file.
    pub record: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_first_wins() {
        let given =
            Settings { wait: Some(Nanos::from_millis(2)), order: Some(OrderKind::OLDEST), ..Settings::default() };
        let file = Settings { wait: Some(Nanos(1)), request: Some(Bytes(2)), ..Settings::default() };
        let both = given.or(file);
        assert_eq!((both.wait, both.request), (Some(Nanos::from_millis(2)), Some(Bytes(2))));
        assert_eq!((both.order, both.region), (Some(OrderKind::OLDEST), None));
    }
}
