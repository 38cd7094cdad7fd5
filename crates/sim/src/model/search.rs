//! The search of all states that can be reached, breadth first, for the shortest ways to a wrong answer.

use super::describe::{StoryStep, describe};
use super::repair::OperationFailure;
use super::setup::ModelSetup;
use super::step::{ModelStep, steps};
use super::stripe::{ModelStripe, Order};
use std::collections::HashMap;

/// The result of a search.
#[derive(Clone, Debug)]
pub struct SearchOutcome {
    /// States that were visited.
    pub states: usize,
    /// Steps that were taken.
    pub steps: u64,
    /// Were all states visited that can be reached?
    pub is_complete: bool,
    /// Steps that answered with a wrong content.
    pub wrong: u64,
    /// Steps that answered with an error where nothing need be lost.
    pub errors: u64,
    /// Steps whose plan left something out.
    pub unplanned: u64,
    /// The shortest way to each of these three, one line a step.
    pub stories: Vec<Vec<StoryStep>>,
}

impl SearchOutcome {
    /// Was every answer right?
    pub fn is_right(&self) -> bool {
        self.wrong + self.errors + self.unplanned == 0
    }
}

/// A state that was reached, and how.
struct ReachedState {
    stripe: ModelStripe,
    /// The index of each of its chunks in the state before.
    order: Order,
    from: usize,
    step: Option<ModelStep>,
}

/// Visits every state that can be reached from a stripe with nothing wrong. States after a wrong answer are not visited.
pub fn check(setup: &ModelSetup) -> SearchOutcome {
    let (first, order) = ModelStripe::new(setup).canonical(setup);
    let mut reached = vec![ReachedState { stripe: first, order, from: 0, step: None }];
    let mut known = HashMap::from([(first, ())]);
    let mut outcome = SearchOutcome {
        states: 0,
        steps: 0,
        is_complete: true,
        wrong: 0,
        errors: 0,
        unplanned: 0,
        stories: Vec::new(),
    };
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
                    reached.push(ReachedState { stripe, order, from, step: Some(next.step) });
                }
                return;
            };
            let count = match failure {
                OperationFailure::Wrong(_) => &mut outcome.wrong,
                OperationFailure::Error => &mut outcome.errors,
                OperationFailure::Unplanned => &mut outcome.unplanned,
            };
            *count += 1;
            if *count == 1 {
                outcome.stories.push(story(setup, &reached, from, next.step, failure));
            }
        });
    }
    outcome
}

/// How a state was reached, and what happened then, with each chunk under its name in the first state.
fn story(
    setup: &ModelSetup,
    reached: &[ReachedState],
    from: usize,
    last: ModelStep,
    failure: OperationFailure,
) -> Vec<StoryStep> {
    let mut path = vec![from];
    while reached[path[path.len() - 1]].step.is_some() {
        path.push(reached[path[path.len() - 1]].from);
    }
    let mut names: Order = std::array::from_fn(|index| index as u8);
    let mut lines = Vec::new();
    for &state in path.iter().rev() {
        if let Some(step) = reached[state].step {
            lines.push(describe(setup, &names, step, Ok(())));
        }
        names = reached[state].order.map(|before| names[before as usize]);
    }
    lines.push(describe(setup, &names, last, Err(failure)));
    lines
}
