//! All states that can be reached, breadth first, and the shortest ways to what must not happen.

use super::repair::Failure;
use super::setup::Setup;
use super::step::{Step, steps};
use super::stripe::{Order, Stripe};
use super::tell::tell;
use std::collections::HashMap;

/// What a search found.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// States that were looked at.
    pub states: usize,
    /// Steps that were taken.
    pub steps: u64,
    /// Is there no state left to look at?
    pub is_complete: bool,
    /// Steps that answered with a wrong content.
    pub wrong: u64,
    /// Steps that answered with an error where nothing would have to be lost.
    pub errors: u64,
    /// Steps whose plan left something out.
    pub unplanned: u64,
    /// The shortest way to each of these, one line a step.
    pub stories: Vec<Vec<String>>,
}

impl Outcome {
    /// Was every answer right?
    pub fn is_right(&self) -> bool {
        self.wrong + self.errors + self.unplanned == 0
    }
}

/// A state that was reached, and how.
struct Reached {
    stripe: Stripe,
    /// Where its chunks were in the state before.
    order: Order,
    from: usize,
    step: Option<Step>,
}

/// Looks at every state that can be reached from a stripe as it should be. Beyond a wrong answer nobody looks.
pub fn check(setup: &Setup) -> Outcome {
    let (first, order) = Stripe::new(setup).canonical(setup);
    let mut reached = vec![Reached { stripe: first, order, from: 0, step: None }];
    let mut known = HashMap::from([(first, ())]);
    let mut outcome =
        Outcome { states: 0, steps: 0, is_complete: true, wrong: 0, errors: 0, unplanned: 0, stories: Vec::new() };
    let (mut depth, mut depth_end) = (0, 1);
    while outcome.states < reached.len() {
        if outcome.states == depth_end {
            (depth, depth_end) = (depth + 1, reached.len());
        }
        if setup.steps_max.is_some_and(|max| depth >= max) {
            outcome.is_complete = false;
            break;
        }
        let from = outcome.states;
        outcome.states += 1;
        let stripe = reached[from].stripe;
        steps(setup, &stripe, |next| {
            outcome.steps += 1;
            let Err(failure) = next.answer else {
                let (stripe, order) = next.stripe.canonical(setup);
                if known.insert(stripe, ()).is_none() {
                    reached.push(Reached { stripe, order, from, step: Some(next.step) });
                }
                return;
            };
            let count = match failure {
                Failure::Wrong(_) => &mut outcome.wrong,
                Failure::Error => &mut outcome.errors,
                Failure::Unplanned => &mut outcome.unplanned,
            };
            *count += 1;
            if *count == 1 {
                outcome.stories.push(story(setup, &reached, from, next.step, failure));
            }
        });
    }
    outcome
}

/// How a state was reached, and what happened then, with each chunk under the name it had at first.
fn story(setup: &Setup, reached: &[Reached], from: usize, last: Step, failure: Failure) -> Vec<String> {
    let mut way = vec![from];
    while reached[way[way.len() - 1]].step.is_some() {
        way.push(reached[way[way.len() - 1]].from);
    }
    let mut names: Order = std::array::from_fn(|index| index as u8);
    let mut lines = Vec::new();
    for &at in way.iter().rev() {
        if let Some(step) = reached[at].step {
            lines.push(tell(setup, &names, step, Ok(())));
        }
        names = reached[at].order.map(|before| names[before as usize]);
    }
    lines.push(tell(setup, &names, last, Err(failure)));
    lines
}
