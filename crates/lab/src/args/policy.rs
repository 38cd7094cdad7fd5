//! Options of all policies that can be simulated.

use scrubjay_cli::args::policy::{ParameterArgs, PolicySet};
use scrubjay_jobs::parameter::PolicyChoice;
use scrubjay_sim::play::Playable;

/// All policies: of real disks, and those that know the future.
#[derive(Clone, Debug, Default)]
pub struct PlayablePolicies;

impl PolicySet for PlayablePolicies {
    fn policies() -> PolicyChoice {
        PolicyChoice::of(Playable::all().map(|playable| (playable.name(), playable.uses())))
    }
}

/// Their parameters.
pub type SimulatedParameters = ParameterArgs<PlayablePolicies>;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use scrubjay_core::scrub::idle::{Parameter, ParameterValue};
    use scrubjay_core::units::{Bytes, Nanos};

    #[derive(Parser)]
    struct Simulated {
        #[command(flatten)]
        parameters: SimulatedParameters,
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
}
