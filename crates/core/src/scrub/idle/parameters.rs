//! Parameters: all settings of the idle policies. Each policy uses some of them ([`super::PolicyKind::uses`]).
//!
//! A new parameter is a variant here, its place in [`Parameter::ALL`], a field of [`PolicyParameters`] with its
//! default, and an arm of [`Parameter::row`]. Options on the command line, keys of settings files, help and reports are
//! made from that.

use super::{Cutoff, Goal, GoalForm};
use crate::units::{Bytes, Nanos};

/// One parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// The mean slowdown that is allowed.
    Slowdown,
    /// The slowdown that is allowed to any one foreground request.
    SlowdownMax,
    /// The slowdown that one foreground request in 100 may exceed.
    SlowdownP99,
    /// When the mean must be kept.
    GoalForm,
    /// The idle time before the first request.
    Wait,
    /// The pause after each request; its option is `delay`, as the paper calls it.
    Pause,
    /// The size of a request, or of the first one if they grow.
    Request,
    /// How long a predicted interval must be.
    Cutoff,
    /// How long a predicted interval must be, as a percentile of predictions: 0..=100.
    Percentile,
    /// The share of the idle intervals that is used, the longest first: 0..=1.
    Share,
    /// The size of a request as a multiple of the one before, 1 or more.
    Factor,
    /// Bytes added to each next request, after the growth by [`Parameter::Factor`].
    Plus,
    /// The idle time from which requests are of the largest size.
    SwapAfter,
    /// The size of the largest request.
    RequestMax,
}

/// The description of a parameter.
#[derive(Clone, Copy, Debug)]
pub struct ParameterRow {
    /// Its name: the option, the key of a settings file, and the name in reports.
    pub name: &'static str,
    /// A line of help.
    pub about: &'static str,
    /// The heading under which the help lists it.
    pub heading: &'static str,
    /// The values that it takes.
    pub takes: ParameterRange,
    /// Another parameter that sets the same field.
    pub instead_of: Option<Parameter>,
    get: fn(&PolicyParameters) -> Option<ParameterValue>,
    set: fn(&mut PolicyParameters, ParameterValue),
}

/// The values that a parameter takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterRange {
    /// A time, zero included.
    Time,
    /// A time above zero.
    TimeNotZero,
    /// The size of a request, in bytes. The caller checks which sizes the disk accepts.
    RequestSize,
    /// A number of bytes.
    Size,
    /// A number within a range.
    Number {
        /// The unit, for the help: one word in capitals.
        unit: &'static str,
        /// The least value allowed.
        least: f64,
        /// The greatest value allowed.
        most: f64,
    },
    /// When a mean goal must be kept.
    GoalForm,
}

/// The value of a parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ParameterValue {
    /// A time.
    Time(Nanos),
    /// A size in bytes.
    Size(Bytes),
    /// A number without a unit.
    Number(f64),
    /// When a mean goal must be kept.
    GoalForm(GoalForm),
}

/// A value for each parameter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyParameters {
    /// [`Parameter::Slowdown`], [`Parameter::SlowdownMax`], [`Parameter::SlowdownP99`] and [`Parameter::GoalForm`].
    pub goal: Goal,
    /// [`Parameter::Wait`].
    pub wait: Nanos,
    /// [`Parameter::Pause`].
    pub pause: Nanos,
    /// [`Parameter::Request`]; `None`: the policy's own, [`super::PolicyKind::request_size`].
    pub request: Option<Bytes>,
    /// [`Parameter::Cutoff`] or [`Parameter::Percentile`].
    pub cutoff: Cutoff,
    /// [`Parameter::Share`]; 0..=1.
    pub share: f64,
    /// [`Parameter::Factor`]; 1 or more.
    pub factor: f64,
    /// [`Parameter::Plus`].
    pub plus: Bytes,
    /// [`Parameter::SwapAfter`].
    pub swap_after: Nanos,
    /// [`Parameter::RequestMax`].
    pub request_max: Bytes,
}

impl Default for PolicyParameters {
    fn default() -> PolicyParameters {
        PolicyParameters {
            goal: Goal::default(),
            wait: Nanos::from_millis(100),
            // A choice: with requests of 1 MiB it uses about half of the time of a disk of 100 MB/s.
            pause: Nanos::from_millis(16),
            request: None,
            // The paper's `AR (80th)`.
            cutoff: Cutoff::Percentile(8000),
            share: 0.1,
            factor: 2.0,
            plus: Bytes::kib(64),
            swap_after: Nanos::from_secs(1),
            // The largest request of the paper's tuner (Amvrosiadis et al., DSN'12, Table III).
            request_max: Bytes::mib(4),
        }
    }
}

impl PolicyParameters {
    /// The value of a parameter; `None` if it is not set.
    pub fn get(&self, parameter: Parameter) -> Option<ParameterValue> {
        (parameter.row().get)(self)
    }

    /// Sets a parameter.
    ///
    /// # Panics
    /// When the value is of another kind than the parameter takes ([`ParameterRange`]).
    pub fn set(&mut self, parameter: Parameter, value: ParameterValue) {
        (parameter.row().set)(self, value);
    }

    /// The values of these parameters, by name; a parameter that is not set is left out.
    pub fn named_values(&self, parameters: &[Parameter]) -> Vec<(&'static str, ParameterValue)> {
        let named = |parameter: &Parameter| Some((parameter.name(), self.get(*parameter)?));
        parameters.iter().filter_map(named).collect()
    }

    /// The defaults, except for the values given.
    ///
    /// # Panics
    /// If a value is of another kind than its parameter takes, as [`PolicyParameters::set`].
    pub fn with(given: &[(Parameter, ParameterValue)]) -> PolicyParameters {
        let mut parameters = PolicyParameters::default();
        for &(parameter, value) in given {
            parameters.set(parameter, value);
        }
        parameters
    }
}

impl Parameter {
    /// All, in the order of the help.
    pub const ALL: [Parameter; 14] = [
        Parameter::Slowdown,
        Parameter::SlowdownMax,
        Parameter::SlowdownP99,
        Parameter::GoalForm,
        Parameter::Wait,
        Parameter::Pause,
        Parameter::Request,
        Parameter::Cutoff,
        Parameter::Percentile,
        Parameter::Share,
        Parameter::Factor,
        Parameter::Plus,
        Parameter::SwapAfter,
        Parameter::RequestMax,
    ];

    /// Its name: the option, the key of a settings file, and the name in reports.
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The description of this parameter.
    pub fn row(self) -> ParameterRow {
        const GROWTH: ParameterRow = ParameterRow { heading: "Growth", ..BASE };
        const PREDICTION: ParameterRow = ParameterRow { heading: "Prediction", ..BASE };
        match self {
            Parameter::Slowdown => ParameterRow {
                name: "slowdown",
                about: "Mean latency that may be added to a request of others",
                takes: ParameterRange::TimeNotZero,
                get: |with| Some(ParameterValue::Time(with.goal.mean)),
                set: |with, value| with.goal.mean = value.time(),
                ..BASE
            },
            Parameter::SlowdownMax => ParameterRow {
                name: "max-slowdown",
                about: "Latency that it may add to any one request, but for 1 in 10,000",
                takes: ParameterRange::TimeNotZero,
                get: |with| Some(ParameterValue::Time(with.goal.max)),
                set: |with, value| with.goal.max = value.time(),
                ..BASE
            },
            Parameter::SlowdownP99 => ParameterRow {
                name: "p99-slowdown",
                about: "Latency that it may add, but for 1 request in 100, and in the mean a tenth of it; no such goal unless given",
                takes: ParameterRange::TimeNotZero,
                get: |with| with.goal.p99.map(ParameterValue::Time),
                set: |with, value| with.goal.p99 = Some(value.time()),
                ..BASE
            },
            Parameter::GoalForm => ParameterRow {
                name: "goal",
                about: "When the mean must be kept: at any time, or over a long run",
                takes: ParameterRange::GoalForm,
                get: |with| Some(ParameterValue::GoalForm(with.goal.form)),
                set: |with, value| with.goal.form = value.goal_form(),
                ..BASE
            },
            Parameter::Wait => ParameterRow {
                name: "wait",
                about: "Start after so long an idle time",
                get: |with| Some(ParameterValue::Time(with.wait)),
                set: |with, value| with.wait = value.time(),
                ..BASE
            },
            Parameter::Pause => ParameterRow {
                name: "delay",
                about: "Pause after each request",
                get: |with| Some(ParameterValue::Time(with.pause)),
                set: |with, value| with.pause = value.time(),
                ..BASE
            },
            Parameter::Request => ParameterRow {
                name: "request",
                about: "Request size, or that of the first one if they grow",
                takes: ParameterRange::RequestSize,
                get: |with| with.request.map(ParameterValue::Size),
                set: |with, value| with.request = Some(value.size()),
                ..BASE
            },
            Parameter::Cutoff => ParameterRow {
                name: "cutoff",
                about: "Use idle intervals that are predicted to be longer than this",
                get: |with| match with.cutoff {
                    Cutoff::Length(length) => Some(ParameterValue::Time(length)),
                    Cutoff::Percentile(_) => None,
                },
                set: |with, value| with.cutoff = Cutoff::Length(value.time()),
                ..PREDICTION
            },
            Parameter::Percentile => ParameterRow {
                name: "percentile",
                about: "Use idle intervals whose predicted length is above this percentile of predictions",
                takes: ParameterRange::Number { unit: "PERCENT", least: 0.0, most: 100.0 },
                instead_of: Some(Parameter::Cutoff),
                get: |with| match with.cutoff {
                    Cutoff::Percentile(hundredths) => Some(ParameterValue::Number(f64::from(hundredths) / 100.0)),
                    Cutoff::Length(_) => None,
                },
                set: |with, value| with.cutoff = Cutoff::Percentile((value.number() * 100.0).round() as u16),
                ..PREDICTION
            },
            Parameter::Share => ParameterRow {
                name: "share",
                about: "Use the longest idle intervals, this share of them: 0 to 1",
                takes: ParameterRange::Number { unit: "SHARE", least: 0.0, most: 1.0 },
                get: |with| Some(ParameterValue::Number(with.share)),
                set: |with, value| with.share = value.number(),
                ..PREDICTION
            },
            Parameter::Factor => ParameterRow {
                name: "factor",
                about: "Growth factor from one request to the next",
                takes: ParameterRange::Number { unit: "X", least: 1.0, most: 1000.0 },
                get: |with| Some(ParameterValue::Number(with.factor)),
                set: |with, value| with.factor = value.number(),
                ..GROWTH
            },
            Parameter::Plus => ParameterRow {
                name: "plus",
                about: "Growth step from one request to the next",
                takes: ParameterRange::Size,
                get: |with| Some(ParameterValue::Size(with.plus)),
                set: |with, value| with.plus = value.size(),
                ..GROWTH
            },
            Parameter::SwapAfter => ParameterRow {
                name: "swap-after",
                about: "Send the largest size from this idle time on",
                get: |with| Some(ParameterValue::Time(with.swap_after)),
                set: |with, value| with.swap_after = value.time(),
                ..GROWTH
            },
            Parameter::RequestMax => ParameterRow {
                name: "max-request",
                about: "Largest request size",
                takes: ParameterRange::RequestSize,
                get: |with| Some(ParameterValue::Size(with.request_max)),
                set: |with, value| with.request_max = value.size(),
                ..GROWTH
            },
        }
    }
}

/// The defaults of a row: a time, under "When".
const BASE: ParameterRow = ParameterRow {
    name: "",
    about: "",
    heading: "When",
    takes: ParameterRange::Time,
    instead_of: None,
    get: |_| None,
    set: |_, _| {},
};

impl ParameterValue {
    fn time(self) -> Nanos {
        let ParameterValue::Time(time) = self else { panic!("{self:?} is no time") };
        time
    }

    fn size(self) -> Bytes {
        let ParameterValue::Size(size) = self else { panic!("{self:?} is no size") };
        size
    }

    fn number(self) -> f64 {
        let ParameterValue::Number(number) = self else { panic!("{self:?} is no number") };
        number
    }

    fn goal_form(self) -> GoalForm {
        let ParameterValue::GoalForm(form) = self else { panic!("{self:?} is no form of a goal") };
        form
    }
}

impl ParameterRange {
    /// A value of this kind that no parameter has by default.
    #[cfg(test)]
    pub(super) fn another(self) -> ParameterValue {
        match self {
            ParameterRange::Time | ParameterRange::TimeNotZero => ParameterValue::Time(Nanos::from_millis(7)),
            ParameterRange::RequestSize | ParameterRange::Size => ParameterValue::Size(Bytes::kib(96)),
            ParameterRange::Number { least, most, .. } => ParameterValue::Number(least + (most - least) * 0.25),
            ParameterRange::GoalForm => ParameterValue::GoalForm(GoalForm::Average),
        }
    }
}

impl GoalForm {
    /// All forms.
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
            GoalForm::Average => "At the end; the policy budget lets it be 4 % above the goal, at any time",
        }
    }
}

crate::named_row!(GoalForm, GoalForm::ALL.to_vec());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setting_a_parameter_changes_it_and_no_other() {
        for parameter in Parameter::ALL {
            let value = parameter.row().takes.another();
            let with = PolicyParameters::with(&[(parameter, value)]);
            assert_eq!(with.get(parameter), Some(value), "{parameter:?}");
            let changed = |other: &Parameter| with.get(*other) != PolicyParameters::default().get(*other);
            let others: Vec<Parameter> =
                Parameter::ALL.into_iter().filter(changed).filter(|other| *other != parameter).collect();
            let same_field = parameter
                .row()
                .instead_of
                .into_iter()
                .chain(Parameter::ALL.into_iter().filter(|other| other.row().instead_of == Some(parameter)));
            assert!(
                others.iter().all(|other| same_field.clone().any(|same| same == *other)),
                "{parameter:?}: {others:?}"
            );
        }
    }

    #[test]
    fn parameter_names_are_distinct() {
        for (n, parameter) in Parameter::ALL.into_iter().enumerate() {
            let row = parameter.row();
            assert!(!row.name.is_empty() && !row.about.is_empty(), "{parameter:?}");
            assert!(Parameter::ALL[..n].iter().all(|other| other.name() != row.name), "{}", row.name);
        }
    }
}
