//! What a scrub does at the moment, or why it does nothing: the same in a terminal and in the watch's status.

use crate::sentence::{Said, sentences};
use scrubjay_core::quantity::{show_rest, show_time};
use scrubjay_core::scrub::ScrubReport;
use scrubjay_core::scrub::idle::{Parameter, PolicyKind, WaitReason};
use scrubjay_core::units::Nanos;

sentences! {
    pub(crate) DoingWords: "What a scrub does, or what it waits for" {
        NoAnswer { time: String = "30 s" } => "NO ANSWER from the disk for {time}",
        Reading => "reading",
        InUse => "waiting: disk in use",
        Learning => "learning this disk's load",
        ForIdleness { wait: String = "31 s" } => "waiting for {wait} of idleness",
        ForAnyIdleness => "waiting for idleness",
        Pausing { pause: String = "5 ms" } => "pausing {pause} between requests",
        AMinute => "waiting a minute to see whether the disk is in use",
        BudgetUsedUp => "waiting: budget used up",
        TooSlow => "waiting: requests take longer than the maximum",
        HeldUp { wait: String = "31 s", longest: String = "2 s" } =>
            "nothing was read: it waits for {wait} of idleness, and the longest so far was {longest}; try a shorter wait, or the \
             policy budget",
    }
}

/// A request that takes longer than this is reported as unanswered.
const ANSWER_LATE: Nanos = Nanos::from_secs(10);

/// No foreground request was seen yet, and the allowance of the start is spent: the budget waits for a minute without
/// foreground.
pub fn is_waiting_for_first_request(report: &ScrubReport) -> bool {
    report.foreground_requests == 0 && report.waits_for == Some(WaitReason::Budget)
}

/// So long without a read, and a reason is given.
const HELD_UP_FROM: Nanos = Nanos::from_secs(60);
/// Waits shorter than this are not named: the disk is hardly ever seen in them.
const WAIT_NAMED: Nanos = Nanos::from_millis(1);

/// Why nothing was read since the session began, and what to do, if a policy whose wait can be set ([`Parameter::Wait`])
/// waits for longer idleness than there has been. (The budget chooses its wait itself.)
pub fn held_up(report: &ScrubReport, policy: &str) -> Option<Said> {
    let has_wait = PolicyKind::named(policy).is_some_and(|kind| kind.uses.contains(&Parameter::Wait));
    let (verified, longest) = (report.bytes_verified_now.0, report.idle_longest);
    match report.waits_for {
        Some(WaitReason::Idleness(Some(wait)))
            if has_wait && verified == 0 && report.elapsed >= HELD_UP_FROM && longest < wait =>
        {
            Some(DoingWords::HeldUp { wait: show_time(wait), longest: show_time(longest) }.into())
        }
        _ => None,
    }
}

/// What the scrub does, or why it does nothing.
pub fn doing(report: &ScrubReport) -> Said {
    if report.in_flight_for > ANSWER_LATE {
        return DoingWords::NoAnswer { time: show_rest(report.in_flight_for) }.into();
    }
    let words = match report.waits_for {
        None => DoingWords::Reading,
        Some(WaitReason::InUse) => DoingWords::InUse,
        Some(WaitReason::Idleness(_)) if report.setting.cautious => DoingWords::Learning,
        Some(WaitReason::Idleness(Some(wait))) if wait >= WAIT_NAMED => {
            DoingWords::ForIdleness { wait: show_time(wait) }
        }
        Some(WaitReason::Idleness(_)) => DoingWords::ForAnyIdleness,
        Some(WaitReason::Pause(pause)) if pause < WAIT_NAMED => DoingWords::Reading,
        Some(WaitReason::Pause(pause)) => DoingWords::Pausing { pause: show_time(pause) },
        Some(WaitReason::Budget) if is_waiting_for_first_request(report) => DoingWords::AMinute,
        Some(WaitReason::Budget) => DoingWords::BudgetUsedUp,
        Some(WaitReason::TooSlow) => DoingWords::TooSlow,
    };
    words.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use scrubjay_core::scrub::coverage::Coverage;
    use scrubjay_core::scrub::idle::{IntervalAdapter, POLICIES, Waiting};
    use scrubjay_core::scrub::tour::{Grid, OrderKind, REGION_BYTES, SEGMENT_BYTES};
    use scrubjay_core::scrub::{Config, Pass, Scrub};
    use scrubjay_core::units::{Bytes, UnixSeconds};

    /// A scrub that waited for 31 s of idleness for a minute, and saw 2 s.
    fn waiting() -> ScrubReport {
        let grid = Grid::new(Bytes::gib(1).sectors(), REGION_BYTES.sectors(), SEGMENT_BYTES.sectors());
        let (started, today) = (Nanos::ZERO, UnixSeconds(1));
        let config = Config { range: grid.disk(), granule: 1, depth: 1, held_max: None, started, today };
        let wait = Nanos::from_secs(31);
        let policy = Box::new(IntervalAdapter::new(Waiting { wait, size: Bytes::mib(1) }));
        let scrub = Scrub::new(config, OrderKind::SEQUENTIAL.order(&[]), policy, Coverage::new(grid), Pass::default());
        let (waits_for, idle_longest) = (Some(WaitReason::Idleness(Some(wait))), Nanos::from_secs(2));
        ScrubReport { waits_for, idle_longest, ..scrub.report(HELD_UP_FROM) }
    }

    #[test]
    fn a_shorter_wait_is_advised_where_the_wait_can_be_set() {
        let report = waiting();
        let advised = |is_offered: bool| {
            let kinds = POLICIES.iter().filter(move |kind| kind.is_offered == is_offered);
            kinds.map(|kind| kind.name).filter(|name| held_up(&report, name).is_some()).collect::<Vec<_>>()
        };
        assert_eq!(advised(true), ["waiting"], "and neither budget, delay nor none");
        assert_eq!(advised(false), ["exponential", "linear", "swapping", "ar-waiting"]);
        assert_eq!(held_up(&ScrubReport { idle_longest: Nanos::from_secs(31), ..report.clone() }, "waiting"), None);
        assert_eq!(held_up(&ScrubReport { elapsed: Nanos::from_secs(59), ..report }, "waiting"), None);
    }
}
