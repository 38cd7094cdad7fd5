//! Parameters of policies as people write them: texts parsed to values, and their help.

use scrubjay_core::named::{NamedRow, named};
use scrubjay_core::quantity;
use scrubjay_core::scrub::idle::{Goal, POLICIES, Parameter, ParameterRange, ParameterValue, PolicyKind};
use scrubjay_core::scrub::idle::{PolicyConfig, PolicyParameters};

/// Parses `text` as a value of `parameter`.
///
/// # Errors
/// The text is no such value; the error says what is wrong with it, in one line.
pub fn parse(parameter: Parameter, text: &str) -> Result<ParameterValue, String> {
    Ok(match parameter.row().takes {
        ParameterRange::Time => ParameterValue::Time(quantity::time(text)?),
        ParameterRange::TimeNotZero => ParameterValue::Time(quantity::time_not_zero(text)?),
        ParameterRange::RequestSize | ParameterRange::Size => ParameterValue::Size(quantity::bytes(text)?),
        ParameterRange::Number { least, most, .. } => {
            let number = text.parse().ok().filter(|number| (least..=most).contains(number));
            ParameterValue::Number(number.ok_or_else(|| format!("`{text}` is no number from {least} to {most}"))?)
        }
        ParameterRange::GoalForm => ParameterValue::GoalForm(named(text)?),
    })
}

/// Formats a value for people.
pub fn show(value: ParameterValue) -> String {
    match value {
        ParameterValue::Time(time) => quantity::show_time(time),
        ParameterValue::Size(size) => size.to_string(),
        ParameterValue::Number(number) => number.to_string(),
        ParameterValue::GoalForm(form) => form.name().to_owned(),
    }
}

/// Formats a value as [`parse`] reads it.
pub fn write(value: ParameterValue) -> String {
    match value {
        ParameterValue::Time(time) => quantity::write_time(time),
        ParameterValue::Size(size) => quantity::show_exact(size.0).replace(' ', ""),
        _ => show(value),
    }
}

/// A parameter that was given and that the policy does not use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnusedParameter {
    /// The parameter.
    pub parameter: Parameter,
    /// The policy.
    pub policy: &'static str,
    /// The parameters that it does use.
    pub uses: &'static [Parameter],
}

impl UnusedParameter {
    /// Checks that `policy`, which uses `uses`, uses all parameters of `given`.
    ///
    /// # Errors
    /// The first parameter that it does not use.
    pub fn check(
        policy: &'static str,
        uses: &'static [Parameter],
        given: &[(Parameter, ParameterValue)],
    ) -> Result<(), UnusedParameter> {
        match given.iter().find(|(parameter, _)| !uses.contains(parameter)) {
            None => Ok(()),
            Some(&(parameter, _)) => Err(UnusedParameter { parameter, policy, uses }),
        }
    }

    /// The error in one line: `shown` formats an option's name, and `policy` stands before the name of the policy.
    pub fn describe(&self, policy: &str, shown: impl Fn(Parameter) -> String) -> String {
        let options: Vec<String> = self.uses.iter().map(|&parameter| shown(parameter)).collect();
        let alternatives = match &options[..] {
            [] => "it has no options".to_owned(),
            [option] => format!("its only option is {option}"),
            [rest @ .., last] => format!("its options are {} and {last}", rest.join(", ")),
        };
        format!("{} has no effect with {policy} {}: {alternatives}", shown(self.parameter), self.policy)
    }
}

impl std::fmt::Display for UnusedParameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.describe("policy", |parameter| parameter.name().replace('-', "_")))
    }
}

impl std::error::Error for UnusedParameter {}

/// Names of policies, and the parameters that each uses.
#[derive(Clone, Debug)]
pub struct PolicyChoice(Vec<(&'static str, &'static [Parameter])>);

impl PolicyChoice {
    /// The policies that are offered for real disks.
    pub fn offered() -> PolicyChoice {
        PolicyChoice::of(<&PolicyKind>::choices().into_iter().map(|kind| (kind.name, kind.uses)))
    }

    /// The budget alone.
    pub fn budget() -> PolicyChoice {
        let kind = PolicyConfig::budget(Goal::default()).kind();
        PolicyChoice::of(std::iter::once((kind.name, kind.uses)))
    }

    /// A choice of these policies.
    pub fn of(policies: impl Iterator<Item = (&'static str, &'static [Parameter])>) -> PolicyChoice {
        PolicyChoice(policies.collect())
    }

    /// The parameters that any of them uses, in the order of the help.
    pub fn parameters(&self) -> impl Iterator<Item = Parameter> {
        Parameter::ALL.into_iter().filter(|parameter| self.0.iter().any(|(_, uses)| uses.contains(parameter)))
    }

    /// A line of help: what the parameter is, which policies use it, and its default.
    pub fn help(&self, parameter: Parameter) -> String {
        let (using, not_using): (Vec<_>, Vec<_>) = self.0.iter().partition(|(_, uses)| uses.contains(&parameter));
        let names = |rows: &[&(&'static str, _)]| rows.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
        let used_by = match (using.len(), not_using.len()) {
            (_, 1..) if using.len() > not_using.len() => format!("all policies but {}", names(&not_using)),
            (1, _) => format!("policy {}", names(&using)),
            _ => format!("policies {}", names(&using)),
        };
        // The default request size differs by policy.
        let default_of = |name: &str| match POLICIES.iter().find(|kind| kind.name == name) {
            Some(kind) => PolicyConfig::new(kind, PolicyParameters::default()).parameters().get(parameter),
            None => PolicyParameters::default().get(parameter),
        };
        let mut defaults: Vec<String> = Vec::new();
        for (name, _) in &using {
            let default = default_of(name).map(write);
            defaults.extend(default.filter(|default| !defaults.contains(default)));
        }
        let default =
            if defaults.is_empty() { String::new() } else { format!(" [default: {}]", defaults.join(" or ")) };
        let about = parameter.row().about;
        // Where there is no choice, nobody needs to know for which it is.
        if self.0.len() == 1 { format!("{about}{default}") } else { format!("{about} ({used_by}){default}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::idle::GoalForm;
    use scrubjay_core::units::{Bytes, Nanos};

    #[test]
    fn a_text_is_a_value_inside_its_bounds() {
        assert_eq!(parse(Parameter::Wait, "2ms"), Ok(ParameterValue::Time(Nanos::from_millis(2))));
        assert_eq!(parse(Parameter::Request, "64KiB"), Ok(ParameterValue::Size(Bytes::kib(64))));
        assert_eq!(parse(Parameter::Percentile, "80"), Ok(ParameterValue::Number(80.0)));
        assert_eq!(parse(Parameter::GoalForm, "average"), Ok(ParameterValue::GoalForm(GoalForm::Average)));
        for text in ["", "-1", "NaN", "1001", "inf", "word"] {
            for parameter in [Parameter::Percentile, Parameter::Share, Parameter::Factor, Parameter::GoalForm] {
                assert!(parse(parameter, text).is_err(), "{parameter:?} {text}");
            }
        }
        assert_eq!(parse(Parameter::Slowdown, "0ms").unwrap_err(), quantity::time_not_zero("0ms").unwrap_err());
    }

    #[test]
    fn the_help_names_the_policies_that_use_a_parameter() {
        const WAIT: &[Parameter] = &[Parameter::Wait];
        let help = |rows: &[(&'static str, &'static [Parameter])]| {
            let help = PolicyChoice::of(rows.iter().copied()).help(Parameter::Wait);
            help.strip_prefix("Start after so long an idle time ").unwrap().to_owned()
        };
        assert_eq!(help(&[("a", WAIT), ("b", &[])]), "(policy a) [default: 100ms]");
        assert_eq!(help(&[("a", WAIT), ("b", WAIT), ("c", &[]), ("d", &[])]), "(policies a, b) [default: 100ms]");
        assert_eq!(help(&[("a", WAIT), ("b", WAIT), ("c", &[])]), "(all policies but c) [default: 100ms]");
    }

    #[test]
    fn the_default_that_the_help_names_is_the_default() {
        let offered = PolicyChoice::offered();
        for parameter in offered.parameters() {
            let help = offered.help(parameter);
            let Some((_, default)) = help.split_once("[default: ") else { continue };
            let value = parse(parameter, default.trim_end_matches(']')).unwrap();
            let defaults = PolicyParameters { request: Some(Bytes::mib(1)), ..PolicyParameters::default() };
            assert_eq!(defaults.get(parameter), Some(value), "{help}");
        }
        let all = PolicyChoice::of(POLICIES.iter().map(|kind| (kind.name, kind.uses)));
        assert!(all.help(Parameter::Request).ends_with("[default: 1MiB or 64KiB]"), "{}", all.help(Parameter::Request));
    }
}
