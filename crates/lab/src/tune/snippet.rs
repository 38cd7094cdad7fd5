//! The answer as a configuration file for `scrub`.

use crate::costs::{self, rate};
use scrubjay_cli::say::shown;
use scrubjay_core::quantity::{show_count, show_time, write_time};
use scrubjay_core::units::Nanos;
use scrubjay_research::tune::TuneTask;
use scrubjay_research::workload::DeviceLoad;
use scrubjay_sim::tune::Pair;

/// A `[scrub]` table, with comments about its trace.
pub fn snippet(load: &DeviceLoad, task: &TuneTask, pair: &Pair) -> String {
    let outcome = &pair.outcome;
    // A name may have any characters, but it must not end the comment.
    let name = shown(&load.name);
    let (requests, span) = (show_count(outcome.requests), show_time(outcome.span));
    let (goal_mean, goal_max) = (write_time(task.goal.mean), write_time(task.goal.max));
    let (mean, max) = (show_time(costs::slowdown_mean(outcome)), show_time(outcome.slowdown_max));
    format!(
        "# Tuned on {name}: {requests} requests in {span}, idle by {}.\n\
         # Goal: foreground requests lose {goal_mean} on average, {goal_max} at most.\n\
         # On that trace: {}, {mean} on average, {max} at most.\n\
         [scrub]\n\
         policy = \"waiting\"\n\
         wait = \"{}\"\n\
         request = \"{}KiB\"\n",
        load.service.about(),
        rate(outcome.bytes_per_second()),
        show_wait(pair.wait),
        pair.size.0 >> 10,
    )
}

/// A wait as the file has it, so that it has one value wherever it is shown.
pub fn show_wait(wait: Nanos) -> String {
    write_time(rounded(wait))
}

/// Rounds a wait to five digits, for people. A ten-thousandth of the wait is shorter than a request of most disks, and
/// a result that depends on so little is marked as luck.
fn rounded(wait: Nanos) -> Nanos {
    let step = 10_u64.pow(wait.0.max(1).ilog10().saturating_sub(4));
    Nanos((wait.0 + step / 2) / step * step)
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_sim::tune;

    #[test]
    fn a_wait_is_rounded_by_a_ten_thousandth_at_most() {
        assert_eq!(write_time(rounded(Nanos(30_601_641_984))), "30.602s");
        assert_eq!((rounded(Nanos::ZERO), rounded(Nanos(1))), (Nanos::ZERO, Nanos(1)));
        for wait in tune::thresholds() {
            assert!(rounded(wait).0.abs_diff(wait.0) <= wait.0 / 10_000, "{wait:?}");
        }
    }
}
