//! Options that set parameters of idle policies: one for each row of the library's table that a policy uses.

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use scrubjay_core::scrub::idle::{GoalForm, Parameter, ParameterRange, ParameterValue};
use scrubjay_jobs::parameter::{self, PolicyChoice};
use std::fmt::Debug;
use std::marker::PhantomData;

use super::named;

/// Policies among which can be chosen.
pub trait PolicySet: Clone + Debug + Default + Send + Sync + 'static {
    /// The policies.
    fn policies() -> PolicyChoice;
}

/// The policies for real disks.
#[derive(Clone, Debug, Default)]
pub struct OfferedPolicies;

impl PolicySet for OfferedPolicies {
    fn policies() -> PolicyChoice {
        PolicyChoice::offered()
    }
}

/// The parameters that were given, of the policies of a set.
#[derive(Clone, Debug, Default)]
pub struct ParameterArgs<P: PolicySet> {
    /// Each parameter that was given, and its value.
    pub given: Vec<(Parameter, ParameterValue)>,
    set: PhantomData<P>,
}

impl<P: PolicySet> Args for ParameterArgs<P> {
    fn augment_args(command: Command) -> Command {
        let policies = P::policies();
        policies.parameters().map(|parameter| option(parameter, &policies)).fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<P: PolicySet> FromArgMatches for ParameterArgs<P> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut parameters = ParameterArgs::default();
        parameters.update_from_arg_matches(matches)?;
        Ok(parameters)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for parameter in P::policies().parameters() {
            let value = matches.try_get_one::<ParameterValue>(parameter.name());
            let value = value.map_err(|error| Error::raw(ErrorKind::UnknownArgument, error))?;
            self.given.extend(value.map(|&value| (parameter, value)));
        }
        Ok(())
    }
}

/// The option that sets `parameter`.
fn option(parameter: Parameter, policies: &PolicyChoice) -> Arg {
    let row = parameter.row();
    let (unit, values) = match row.takes {
        ParameterRange::Time | ParameterRange::TimeNotZero => ("TIME", None),
        ParameterRange::RequestSize | ParameterRange::Size => ("SIZE", None),
        ParameterRange::Number { unit, .. } => (unit, None),
        ParameterRange::GoalForm => {
            use clap::builder::TypedValueParser;
            ("FORM", Some(ValueParser::new(named::parser::<GoalForm>().map(ParameterValue::GoalForm))))
        }
    };
    let values = values.unwrap_or_else(|| ValueParser::new(move |text: &str| parameter::parse(parameter, text)));
    let option = Arg::new(row.name).long(row.name).value_name(unit).value_parser(values);
    // A negative value is refused as a value, not as an unknown option.
    let option = option.help(policies.help(parameter)).help_heading(row.heading).allow_hyphen_values(true);
    match row.instead_of {
        Some(other) => option.conflicts_with(other.name()),
        None => option,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Scrubbed {
        #[command(flatten)]
        parameters: ParameterArgs<OfferedPolicies>,
    }

    #[test]
    fn parameters_of_simulated_policies_only_are_no_options_of_a_scrub() {
        assert!(Scrubbed::try_parse_from(["x", "--cutoff", "1s"]).is_err());
        let given = Scrubbed::try_parse_from(["x", "--goal", "average"]).unwrap().parameters.given;
        assert_eq!(given, [(Parameter::GoalForm, ParameterValue::GoalForm(GoalForm::Average))]);
    }
}
