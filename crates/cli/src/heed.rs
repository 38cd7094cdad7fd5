//! Options that would have no effect are refused: a parameter that the policy does not heed.

use crate::exit::Usage;
use scrubjay_core::scrub::idle::{Parameter, ParameterValue};

/// Refuses the first parameter that was given and that `policy`, which heeds `heeds`, does not heed.
///
/// # Errors
/// The option, the policy, and the options that it does heed.
pub fn check(policy: &str, heeds: &[Parameter], given: &[(Parameter, ParameterValue)]) -> Result<(), Usage> {
    let Some((unheeded, _)) = given.iter().find(|(parameter, _)| !heeds.contains(parameter)) else {
        return Ok(());
    };
    let options: Vec<String> = heeds.iter().map(|parameter| format!("--{}", parameter.name())).collect();
    let instead = match &options[..] {
        [] => "it has no options".to_owned(),
        [one] => format!("its only option is {one}"),
        [rest @ .., last] => format!("its options are {} and {last}", rest.join(", ")),
    };
    Err(Usage(format!("--{} has no effect with --policy {policy}: {instead}", unheeded.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Nanos;

    #[test]
    fn what_has_no_effect_is_refused_by_name() {
        let time = ParameterValue::Time(Nanos(1));
        let heeds = [Parameter::Wait, Parameter::Request];
        assert!(check("waiting", &heeds, &[(Parameter::Wait, time)]).is_ok());
        let refused = |heeds: &[Parameter]| check("p", heeds, &[(Parameter::Delay, time)]).unwrap_err().0;
        assert_eq!(refused(&heeds), "--delay has no effect with --policy p: its options are --wait and --request");
        assert_eq!(refused(&heeds[..1]), "--delay has no effect with --policy p: its only option is --wait");
        assert_eq!(refused(&[]), "--delay has no effect with --policy p: it has no options");
    }
}
