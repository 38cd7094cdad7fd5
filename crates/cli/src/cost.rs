//! What others lost, in words: the same of a scrub and of a paced program.

use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::scrub::idle::{Goal, GoalForm, Slowdown};
use scrubjay_core::stats::DurationHistogram;
use scrubjay_core::units::Nanos;
use scrubjay_words::{CostWords, Said};

/// So many foreground requests; not none.
pub fn requests(count: u64) -> Said {
    match count {
        1 => CostWords::OneRequest,
        count => CostWords::Requests { count: show_count(count) },
    }
    .into()
}

/// A slowdown in milliseconds, like the goals.
pub fn show_delay(delay: Nanos) -> String {
    format!("{:.2} ms", delay.as_millis_f64())
}

/// Response times in words.
pub fn times(times: &DurationHistogram) -> Said {
    let show = |seconds: f64| show_time(Nanos::from_secs_f64(seconds));
    let (mean, most) = (show(times.moments().mean()), show(times.moments().max));
    CostWords::Times { mean, p50: show(times.quantile(0.5)), p99: show(times.quantile(0.99)), most }.into()
}

/// Was the budget kept among this many requests? `events_lost`: the number of foreground events that were lost.
pub fn verdict(goal: Goal, requests: u64, slowdown: &Slowdown, events_lost: u64) -> CostWords {
    let mean = Nanos::from_secs_f64(slowdown.mean_seconds(requests));
    let budget = budget(goal);
    let is_mean_kept = mean <= goal.mean;
    let late = goal.p99.map_or(0, |p99| slowdown.longer_than(p99));
    let is_p99_kept = late as f64 <= Goal::P99_SHARE * requests.max(Goal::WARM_UP_REQUESTS) as f64;
    if slowdown.max <= goal.max && is_p99_kept && !is_mean_kept && requests < Goal::WARM_UP_REQUESTS {
        return CostWords::Few { least: Goal::WARM_UP_REQUESTS, budget };
    }
    if !is_p99_kept {
        return CostWords::NotKeptTail { budget, late: show_count(late) };
    }
    if !is_mean_kept || slowdown.max > goal.max {
        return CostWords::NotKept { budget };
    }
    let few = if requests < Goal::WARM_UP_REQUESTS { ", among few requests" } else { "" }.to_owned();
    let was_above = goal.form == GoalForm::Strict && slowdown.mean_worst > goal.mean;
    match (was_above, events_lost) {
        (true, _) => CostWords::KeptInTheEnd { budget, worst: show_delay(slowdown.mean_worst) },
        (false, 0) if slowdown.is_estimate => CostWords::KeptByCounters { budget, few },
        (false, 0) => CostWords::Kept { budget, few },
        (false, _) => CostWords::KeptAsSeen { budget, few },
    }
}

/// The budget.
pub fn budget(goal: Goal) -> Said {
    let limit = |time: Nanos| format!("{} ms", time.as_millis_f64());
    let p99 = goal.p99.map_or(String::new(), |p99| format!(", {} for 99 of 100", limit(p99)));
    CostWords::Budget { mean: limit(goal.mean), p99, most: limit(goal.max) }.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verdict_claims_no_more_than_was_measured() {
        let goal = Goal::default();
        let verdict_for = |goal: Goal, requests: u64, lost: u64, worst: u64, max: u64, events_lost: u64| {
            let (total, mean_worst) = (Nanos::from_millis(lost), Nanos::from_millis(worst));
            let slowdown = Slowdown { total, mean_worst, max: Nanos::from_millis(max), ..Slowdown::default() };
            verdict(goal, requests, &slowdown, events_lost).to_string()
        };
        let budget = "the budget of 1 ms and 50 ms";
        assert_eq!(verdict_for(goal, 500, 400, 1, 20, 0), format!(": {budget} was kept"));
        let counted = Slowdown { is_estimate: true, ..Slowdown::default() };
        assert_eq!(
            verdict(goal, 500, &counted, 0).to_string(),
            format!(": as far as counters show, {budget} was kept")
        );
        assert_eq!(verdict_for(goal, 500, 400, 1, 20, 7), format!(": as far as was seen, {budget} was kept"));
        assert_eq!(verdict_for(goal, 500, 600, 2, 20, 0), format!(": {budget} was NOT kept"));
        assert_eq!(verdict_for(goal, 500, 400, 1, 51, 0), format!(": {budget} was NOT kept"), "the longest");
        let recovered = verdict_for(goal, 500, 400, 3, 20, 0);
        assert!(recovered.ends_with("was kept in the end; for a while the mean so far was 3.00 ms"), "{recovered}");
        assert_eq!(verdict_for(goal.form(GoalForm::Average), 500, 400, 3, 20, 0), format!(": {budget} was kept"));
        assert_eq!(verdict_for(goal, 50, 40, 0, 20, 0), format!(": {budget} was kept, among few requests"));
        assert!(verdict_for(goal, 50, 70, 0, 20, 0).starts_with(": fewer than the 100 requests"));
        assert!(verdict_for(goal, 50, 70, 0, 60, 0).ends_with("was NOT kept"));
        let mut late = Slowdown::default();
        (0..6).for_each(|_| late.add_with_queue(Nanos::from_millis(8), 1));
        let p99 = |millis| verdict(goal.p99(Some(Nanos::from_millis(millis))), 500, &late, 0).to_string();
        assert_eq!(p99(9), ": the budget of 1 ms, 9 ms for 99 of 100 and 50 ms was kept");
        assert!(p99(5).ends_with("was NOT kept: 6 of them lost more than the second"), "{}", p99(5));
    }
}
