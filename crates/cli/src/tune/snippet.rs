//! The answer as a configuration file for `scrub`.

use super::found::TuneTask;
use crate::costs::{self, rate};
use crate::say::shown;
use scrubjay_core::units::Nanos;
use scrubjay_jobs::quantity::{show_count, show_time};
use scrubjay_jobs::workload::DeviceLoad;
use scrubjay_sim::tune::Pair;

/// A `[scrub]` table, and what it was tuned on.
pub fn snippet(load: &DeviceLoad, task: &TuneTask, pair: &Pair) -> String {
    let outcome = &pair.outcome;
    // Names come from files and from whoever made them; none may end the comment.
    let name = shown(&load.name);
    let (requests, span) = (show_count(outcome.requests), show_time(outcome.span));
    let (goal_mean, goal_max) = (exact_millis(task.goal.mean), exact_millis(task.goal.max));
    let (mean, max) = (show_time(costs::slowdown_mean(outcome)), show_time(outcome.slowdown_max));
    format!(
        "# Tuned on {name}: {requests} requests in {span}.\n\
         # Goal: foreground requests lose {goal_mean} on average, {goal_max} at most.\n\
         # On that trace: {}, {mean} on average, {max} at most.\n\
         [scrub]\n\
         policy = \"waiting\"\n\
         wait = \"{}\"\n\
         request = \"{}KiB\"\n",
        rate(outcome.bytes_per_second()),
        exact_millis(pair.wait),
        pair.size.0 >> 10,
    )
}

/// To the nanosecond, in milliseconds: `361.75872ms`.
pub fn exact_millis(time: Nanos) -> String {
    let (millis, rest) = (time.0 / 1_000_000, time.0 % 1_000_000);
    if rest == 0 {
        return format!("{millis}ms");
    }
    format!("{}ms", format!("{millis}.{rest:06}").trim_end_matches('0'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_jobs::quantity;
    use scrubjay_sim::tune;

    #[test]
    fn times_are_read_back_to_the_nanosecond() {
        assert_eq!(exact_millis(Nanos(361_758_720)), "361.75872ms");
        assert_eq!((exact_millis(Nanos::ZERO), exact_millis(Nanos(5_000_001))), ("0ms".into(), "5.000001ms".into()));
        for wait in tune::thresholds() {
            assert_eq!(quantity::time(&exact_millis(wait)), Ok(wait));
        }
    }
}
