//! Options that would have no effect are refused: a parameter that the policy does not heed.

use crate::exit::Usage;
use scrubjay_core::scrub::idle::Parameter;

/// An option that sets a parameter of policies, and whether it was given.
pub type Given = (&'static str, Parameter, bool);

/// Refuses the first option that was given and that `policy`, which heeds `heeds`, does not heed.
///
/// # Errors
/// The option, the policy, and the options that it does heed.
pub fn check(policy: &str, heeds: &[Parameter], options: &[Given]) -> Result<(), Usage> {
    let Some((option, ..)) = options.iter().find(|(_, parameter, is_given)| *is_given && !heeds.contains(parameter))
    else {
        return Ok(());
    };
    let heeded: Vec<&str> =
        options.iter().filter(|(_, parameter, _)| heeds.contains(parameter)).map(|(name, ..)| *name).collect();
    let instead = match &heeded[..] {
        [] => "it has no options".to_owned(),
        [one] => format!("its only option is {one}"),
        [rest @ .., last] => format!("its options are {} and {last}", rest.join(", ")),
    };
    Err(Usage(format!("{option} has no effect with --policy {policy}: {instead}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_effect_is_refused_by_name() {
        let options = |wait, delay, request| {
            [
                ("--wait", Parameter::Wait, wait),
                ("--delay", Parameter::Delay, delay),
                ("--request", Parameter::Request, request),
            ]
        };
        let heeds = [Parameter::Wait, Parameter::Request];
        assert!(check("waiting", &heeds, &options(true, false, true)).is_ok());
        let refused = |heeds: &[Parameter]| check("p", heeds, &options(false, true, false)).unwrap_err().0;
        assert_eq!(refused(&heeds), "--delay has no effect with --policy p: its options are --wait and --request");
        assert_eq!(refused(&heeds[..1]), "--delay has no effect with --policy p: its only option is --wait");
        assert_eq!(refused(&[]), "--delay has no effect with --policy p: it has no options");
    }
}
