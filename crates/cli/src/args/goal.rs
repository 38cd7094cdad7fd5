//! The form of a slowdown goal: one word for `scrub`, `simulate` and `tune`.

use clap::ValueEnum;
use scrubjay_core::idle::Form;

/// When the mean goal is to be kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GoalForm {
    /// At every moment: nothing is sent that is likely to take the mean so far above the goal
    Strict,
    /// At the end: on the way 4 % more may be lost than the goal allows
    Average,
}

impl From<GoalForm> for Form {
    fn from(form: GoalForm) -> Form {
        match form {
            GoalForm::Strict => Form::Strict,
            GoalForm::Average => Form::Average,
        }
    }
}
