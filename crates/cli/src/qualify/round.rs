//! One round: the client alone, beside a scrub at a goal, and alone again; and what follows from that.

use super::client::ClientLatencies;
use super::load::QualifyLoad;
use scrubjay_core::units::Nanos;
use serde::Serialize;

/// What the scrub said of a round.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScrubSaid {
    /// What requests of others lost, on average; `None`: it saw none.
    pub mean_slowdown_seconds: Option<f64>,
    /// Requests of others that it saw.
    pub foreground_requests: u64,
    /// Are these figures of counters, and so approximate?
    pub is_estimate: bool,
    /// How it saw them: `bpf`, `perf`, `stat`, `none`.
    pub detector: String,
    /// Bytes that it asked of the disk.
    pub bytes_requested: u64,
    /// How long it ran.
    pub seconds: f64,
    /// Did it come to the end of the disk before the client did? Then the client was alone for the rest.
    pub has_ended_early: bool,
    /// Sectors that it could not read.
    pub unreadable_sectors: u64,
}

/// A round.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct QualifiedRound {
    /// The client's load.
    pub load: QualifyLoad,
    /// The goal for the mean slowdown.
    pub goal_seconds: f64,
    /// The client before and after.
    pub alone: [ClientLatencies; 2],
    /// The client beside the scrub.
    pub beside: ClientLatencies,
    /// What the scrub said.
    pub scrub: ScrubSaid,
    /// How much longer a request of the client took beside the scrub, on average.
    pub felt_mean_seconds: f64,
    /// By how much that may be wrong: twice the standard error, and half of what lies between both runs alone.
    pub felt_error_seconds: f64,
    /// What follows.
    pub verdict: RoundVerdict,
}

/// Whether the goal was kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RoundVerdict {
    /// The client lost no more than the goal.
    Kept,
    /// It lost more, and that is no accident.
    Exceeded,
    /// The error is larger than the goal, or the scrub ended early: nothing can be told.
    Unclear,
    /// The scrub saw less than nine tenths of the client's requests.
    Unseen,
}

impl RoundVerdict {
    /// In a table.
    pub const fn word(self) -> &'static str {
        match self {
            RoundVerdict::Kept => "kept",
            RoundVerdict::Exceeded => "EXCEEDED",
            RoundVerdict::Unclear => "unclear",
            RoundVerdict::Unseen => "NOT SEEN",
        }
    }
}

/// The share of the client's requests that must have been seen.
const SEEN_MIN: f64 = 0.9;

impl QualifiedRound {
    /// Judges a round.
    pub fn of(
        load: QualifyLoad,
        goal: Nanos,
        alone: [ClientLatencies; 2],
        beside: ClientLatencies,
        scrub: ScrubSaid,
    ) -> QualifiedRound {
        let [before, after] = &alone;
        let goal_seconds = goal.as_secs_f64();
        let alone_mean = f64::midpoint(before.mean_seconds, after.mean_seconds);
        let felt_mean_seconds = beside.mean_seconds - alone_mean;
        let alone_error = before.error_seconds.hypot(after.error_seconds) / 2.0;
        let drift = (before.mean_seconds - after.mean_seconds).abs() / 2.0;
        let felt_error_seconds = 2.0 * beside.error_seconds.hypot(alone_error) + drift;
        let sent = beside.requests + beside.errors;
        let verdict = if scrub.has_ended_early && felt_mean_seconds - felt_error_seconds <= goal_seconds {
            RoundVerdict::Unclear
        } else if (scrub.foreground_requests as f64) < SEEN_MIN * sent as f64 {
            RoundVerdict::Unseen
        } else if felt_mean_seconds - felt_error_seconds > goal_seconds {
            RoundVerdict::Exceeded
        } else if felt_error_seconds > goal_seconds {
            RoundVerdict::Unclear
        } else {
            RoundVerdict::Kept
        };
        QualifiedRound { load, goal_seconds, alone, beside, scrub, felt_mean_seconds, felt_error_seconds, verdict }
    }

    /// The client's mean latency alone, in seconds.
    pub fn alone_mean(&self) -> f64 {
        f64::midpoint(self.alone[0].mean_seconds, self.alone[1].mean_seconds)
    }

    /// Bytes a second that the scrub read.
    pub fn scrub_rate(&self) -> f64 {
        self.scrub.bytes_requested as f64 / self.scrub.seconds.max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn client(millis: f64) -> ClientLatencies {
        ClientLatencies {
            requests: 100,
            mean_seconds: millis / 1e3,
            error_seconds: 0.05 / 1e3,
            ..ClientLatencies::default()
        }
    }

    fn judged(alone: [f64; 2], beside: f64, seen: u64) -> QualifiedRound {
        let scrub = ScrubSaid { foreground_requests: seen, ..ScrubSaid::default() };
        QualifiedRound::of(QualifyLoad::Even, Nanos::from_millis(1), alone.map(client), client(beside), scrub)
    }

    #[test]
    fn a_goal_is_exceeded_only_beyond_the_error() {
        assert_eq!(judged([8.0, 8.0], 8.7, 100).verdict, RoundVerdict::Kept);
        assert_eq!(judged([8.0, 8.0], 9.1, 100).verdict, RoundVerdict::Kept, "within the error");
        assert_eq!(judged([8.0, 8.0], 9.4, 100).verdict, RoundVerdict::Exceeded);
        let drifts = judged([7.0, 10.0], 9.9, 100);
        assert_eq!(drifts.verdict, RoundVerdict::Unclear);
        assert!((drifts.felt_mean_seconds - 0.0014).abs() < 1e-9 && drifts.felt_error_seconds > 0.0015);
    }

    #[test]
    fn a_scrub_that_ends_early_proves_nothing() {
        let scrub = ScrubSaid { has_ended_early: true, foreground_requests: 3, ..ScrubSaid::default() };
        let alone = [8.0, 8.0].map(client);
        let round = QualifiedRound::of(QualifyLoad::Even, Nanos::from_millis(1), alone, client(8.0), scrub);
        assert_eq!(round.verdict, RoundVerdict::Unclear);
    }

    #[test]
    fn a_scrub_that_does_not_see_the_client_is_told_of() {
        assert_eq!(judged([8.0, 8.0], 8.0, 80).verdict, RoundVerdict::Unseen);
        assert_eq!(judged([8.0, 8.0], 8.0, 91).verdict, RoundVerdict::Kept);
    }
}
