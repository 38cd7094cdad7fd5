//! Refuses options without effect: parameters that the policy does not use.

use crate::exit::Usage;
use scrubjay_core::scrub::idle::{Parameter, ParameterValue};
use scrubjay_jobs::parameter::UnusedParameter;

/// Refuses the first given parameter that `policy`, which uses `uses`, does not use.
///
/// # Errors
/// The text names the option, the policy, and the options that it uses.
pub fn check(
    policy: &'static str,
    uses: &'static [Parameter],
    given: &[(Parameter, ParameterValue)],
) -> Result<(), Usage> {
    UnusedParameter::check(policy, uses, given).map_err(refusal)
}

/// The refusal in one line.
pub fn refusal(unused: UnusedParameter) -> Usage {
    Usage(unused.describe("--policy", |parameter| format!("--{}", parameter.name())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::units::Nanos;

    #[test]
    fn an_option_without_effect_is_refused_by_name() {
        const USED: &[Parameter] = &[Parameter::Wait, Parameter::Request];
        let time = ParameterValue::Time(Nanos(1));
        assert!(check("waiting", USED, &[(Parameter::Wait, time)]).is_ok());
        let refused = |uses| check("p", uses, &[(Parameter::Pause, time)]).unwrap_err().0;
        assert_eq!(refused(USED), "--delay has no effect with --policy p: its options are --wait and --request");
        assert_eq!(refused(&USED[..1]), "--delay has no effect with --policy p: its only option is --wait");
        assert_eq!(refused(&[]), "--delay has no effect with --policy p: it has no options");
    }
}
