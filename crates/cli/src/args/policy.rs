//! Options that set parameters of idle policies: one for each row of the library's table that a policy uses.

use clap::builder::ValueParser;
use clap::error::ErrorKind;
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches};
use scrubjay_core::scrub::idle::{GoalForm, Parameter, ParameterRange, ParameterValue};
use scrubjay_jobs::parameter::{self, PolicyChoice};
use scrubjay_sim::play::Playable;

use super::named;

/// Options of the policies for real disks.
pub type ScrubParameters = ParameterArgs<false>;

/// Options of all policies that can be simulated.
pub type SimulatedParameters = ParameterArgs<true>;

/// The parameters that were given.
#[derive(Clone, Debug, Default)]
pub struct ParameterArgs<const SIMULATED: bool> {
    /// Each parameter that was given, and its value.
    pub given: Vec<(Parameter, ParameterValue)>,
}

impl<const SIMULATED: bool> ParameterArgs<SIMULATED> {
    /// The policies that can be chosen.
    fn policies() -> PolicyChoice {
        match SIMULATED {
            true => PolicyChoice::of(Playable::all().map(|playable| (playable.name(), playable.uses()))),
            false => PolicyChoice::offered(),
        }
    }
}

impl<const SIMULATED: bool> Args for ParameterArgs<SIMULATED> {
    fn augment_args(command: Command) -> Command {
        let policies = Self::policies();
        policies.parameters().map(|parameter| option(parameter, &policies)).fold(command, Command::arg)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const SIMULATED: bool> FromArgMatches for ParameterArgs<SIMULATED> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let mut parameters = ParameterArgs::default();
        parameters.update_from_arg_matches(matches)?;
        Ok(parameters)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        for parameter in Self::policies().parameters() {
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
    use scrubjay_core::units::{Bytes, Nanos};

    #[derive(Parser)]
    struct Simulated {
        #[command(flatten)]
        parameters: SimulatedParameters,
    }

    #[derive(Parser)]
    struct Scrubbed {
        #[command(flatten)]
        parameters: ScrubParameters,
    }

    #[test]
    fn each_parameter_has_an_option_and_given_values_are_parsed() {
        let given = Simulated::try_parse_from(["x", "--wait", "2ms", "--request", "64KiB", "--percentile", "50"]);
        let expected = [
            (Parameter::Wait, ParameterValue::Time(Nanos::from_millis(2))),
            (Parameter::Request, ParameterValue::Size(Bytes::kib(64))),
            (Parameter::Percentile, ParameterValue::Number(50.0)),
        ];
        assert_eq!(given.unwrap().parameters.given, expected);
        for parameter in Parameter::ALL {
            let option = format!("--{}", parameter.name());
            let complaint = Simulated::try_parse_from(["x", &option, "?"]).err().unwrap().to_string();
            assert!(complaint.contains(&option), "{complaint}");
        }
    }

    #[test]
    fn two_ways_to_set_the_same_exclude_each_other() {
        assert!(Simulated::try_parse_from(["x", "--cutoff", "1s", "--percentile", "80"]).is_err());
    }

    #[test]
    fn parameters_of_simulated_policies_only_are_no_options_of_a_scrub() {
        assert!(Scrubbed::try_parse_from(["x", "--cutoff", "1s"]).is_err());
        let given = Scrubbed::try_parse_from(["x", "--goal", "average"]).unwrap().parameters.given;
        assert_eq!(given, [(Parameter::GoalForm, ParameterValue::GoalForm(GoalForm::Average))]);
    }
}
