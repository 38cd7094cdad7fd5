//! Parameters: all that idle policies can be set to. Each policy heeds some of it ([`super::PolicyKind::heeds`]).

use super::{Cutoff, Goal, GoalForm};
use crate::units::{Bytes, Nanos};

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The idle time before the first request.
    Wait,
    /// The size of a request, or of the first one.
    Request,
    /// The size of the largest request.
    RequestMax,
    /// The mean slowdown allowed.
    Slowdown,
    /// The slowdown allowed to any one request.
    SlowdownMax,
    /// The slowdown that one request in 100 may exceed.
    SlowdownP99,
    /// When the mean is to be kept.
    GoalForm,
    /// The pause after each request.
    Delay,
    /// How long a predicted interval must be.
    Cutoff,
    /// How many times as large as the last each request is.
    Factor,
    /// How much larger than that.
    Plus,
    /// The idle time from which requests are of the largest size.
    SwapAfter,
    /// The share of the idle intervals that is used.
    Share,
}

impl Parameter {
    /// All.
    pub const ALL: [Parameter; 13] = [
        Parameter::Wait,
        Parameter::Request,
        Parameter::RequestMax,
        Parameter::Slowdown,
        Parameter::SlowdownMax,
        Parameter::SlowdownP99,
        Parameter::GoalForm,
        Parameter::Delay,
        Parameter::Cutoff,
        Parameter::Factor,
        Parameter::Plus,
        Parameter::SwapAfter,
        Parameter::Share,
    ];
}

/// What a parameter is set to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// A time.
    Time(Nanos),
    /// A size.
    Size(Bytes),
    /// A number without a unit.
    Number(f64),
    /// One of a few words.
    Word(&'static str),
}

/// A value for each parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyParameters {
    /// [`Parameter::Wait`].
    pub wait: Nanos,
    /// [`Parameter::Request`]; `None`: the policy's own, [`super::PolicyKind::request`].
    pub request: Option<Bytes>,
    /// [`Parameter::RequestMax`].
    pub request_max: Bytes,
    /// [`Parameter::Slowdown`], [`Parameter::SlowdownMax`], [`Parameter::SlowdownP99`] and [`Parameter::GoalForm`].
    pub goal: Goal,
    /// [`Parameter::Delay`].
    pub delay: Nanos,
    /// [`Parameter::Cutoff`].
    pub cutoff: Cutoff,
    /// [`Parameter::Factor`]; 1 or more.
    pub factor: f64,
    /// [`Parameter::Plus`].
    pub plus: Bytes,
    /// [`Parameter::SwapAfter`].
    pub swap_after: Nanos,
    /// [`Parameter::Share`]; 0 to 1.
    pub share: f64,
}

impl Default for PolicyParameters {
    fn default() -> PolicyParameters {
        PolicyParameters {
            wait: Nanos::from_millis(100),
            request: None,
            // The largest request of the paper's tuner (Amvrosiadis et al., DSN'12, Table III).
            request_max: Bytes::mib(4),
            goal: Goal::default(),
            // A choice: with requests of 1 MiB about half of the time of a disk of 100 MB/s.
            delay: Nanos::from_millis(16),
            // The paper's `AR (80th)`.
            cutoff: Cutoff::Percentile(8000),
            factor: 2.0,
            plus: Bytes::kib(64),
            swap_after: Nanos::from_secs(1),
            share: 0.1,
        }
    }
}

impl PolicyParameters {
    /// What a parameter is called and set to; `None` where it is not set.
    pub fn get(&self, parameter: Parameter) -> Option<(&'static str, ParameterValue)> {
        Some(match parameter {
            Parameter::Wait => ("wait", ParameterValue::Time(self.wait)),
            Parameter::Request => ("request", ParameterValue::Size(self.request?)),
            Parameter::RequestMax => ("max-request", ParameterValue::Size(self.request_max)),
            Parameter::Slowdown => ("slowdown", ParameterValue::Time(self.goal.mean)),
            Parameter::SlowdownMax => ("max-slowdown", ParameterValue::Time(self.goal.max)),
            Parameter::SlowdownP99 => ("p99-slowdown", ParameterValue::Time(self.goal.p99?)),
            Parameter::GoalForm => ("goal", ParameterValue::Word(self.goal.form.name())),
            Parameter::Delay => ("delay", ParameterValue::Time(self.delay)),
            Parameter::Cutoff => match self.cutoff {
                Cutoff::Length(length) => ("cutoff", ParameterValue::Time(length)),
                Cutoff::Percentile(hundredths) => ("percentile", ParameterValue::Number(f64::from(hundredths) / 100.0)),
            },
            Parameter::Factor => ("factor", ParameterValue::Number(self.factor)),
            Parameter::Plus => ("plus", ParameterValue::Size(self.plus)),
            Parameter::SwapAfter => ("swap-after", ParameterValue::Time(self.swap_after)),
            Parameter::Share => ("share", ParameterValue::Number(self.share)),
        })
    }
}

impl GoalForm {
    /// Both.
    pub const ALL: [GoalForm; 2] = [GoalForm::Strict, GoalForm::Average];

    /// Its name on the command line and in reports.
    pub const fn name(self) -> &'static str {
        match self {
            GoalForm::Strict => "strict",
            GoalForm::Average => "average",
        }
    }

    /// A line of help.
    pub const fn about(self) -> &'static str {
        match self {
            GoalForm::Strict => {
                "At every moment: nothing is sent that is likely to take the mean so far above the goal"
            }
            GoalForm::Average => "At the end: on the way 4 % more may be lost than the goal allows",
        }
    }
}
