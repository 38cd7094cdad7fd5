//! Asks mounted btrfs in a thread of its own, because one of which a disk hangs may never answer. A survey does not wait for that.

use crate::discovery::HostSurvey;
use crate::discovery::checks::{ArrayCheck, add_check};
use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_watch::counted;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long a survey waits for an answer. The kernel gives it from memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// After how long without an answer the survey says so.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// Asks mounted btrfs how they are checked. Its thread is the only one that asks, and is asked again only when it has answered:
/// so one thread hangs at most.
pub(super) struct PoolAsker {
    requests: Sender<()>,
    answers: Receiver<Vec<ArrayCheck>>,
    patience: Duration,
    silence_max: Duration,
    /// When it was asked for what it has not answered yet.
    asked: Option<Instant>,
    /// Its last answer.
    known: Vec<ArrayCheck>,
}

impl PoolAsker {
    /// Starts the thread, which asks by `ask`.
    pub(super) fn new(ask: impl Fn() -> Vec<ArrayCheck> + Send + 'static) -> PoolAsker {
        let (requests, queue) = mpsc::channel::<()>();
        let (sender, answers) = mpsc::channel();
        let builder = thread::Builder::new().name("btrfs".into());
        // Without the thread there is no answer, and that is what the survey says.
        let _ = builder.spawn(move || {
            for () in queue {
                if sender.send(ask()).is_err() {
                    return;
                }
            }
        });
        PoolAsker { requests, answers, patience: PATIENCE, silence_max: SILENCE_MAX, asked: None, known: Vec::new() }
    }

    /// Sets how long a survey waits for an answer, and after how long it says that there is none.
    #[cfg(test)]
    pub(super) fn with_limits(self, patience: Duration, silence_max: Duration) -> PoolAsker {
        PoolAsker { patience, silence_max, ..self }
    }

    /// Adds to a survey how the btrfs in it are checked: as they answer now, or as they last did.
    pub(super) fn add_to(&mut self, seen: &mut HostSurvey) {
        let (asked, patience) = match self.asked {
            Some(asked) => (asked, Duration::ZERO),
            None => {
                let _ = self.requests.send(()); // a thread that is gone does not answer
                (Instant::now(), self.patience)
            }
        };
        self.asked = Some(asked);
        if let Ok(answer) = self.answers.recv_timeout(patience) {
            (self.known, self.asked) = (answer, None);
        } else if asked.elapsed() >= self.silence_max {
            seen.warnings.push(silence_words(asked.elapsed()));
        }
        self.known.iter().for_each(|check| add_check(seen, check));
    }
}

/// That there was no answer for so long. The words change seldom, as each change is a line in the journal.
fn silence_words(silence: Duration) -> String {
    let time = match silence.as_secs() {
        seconds if seconds >= DAY => counted(seconds / DAY, "day"),
        seconds if seconds >= HOUR => counted(seconds / HOUR, "hour"),
        _ => "ten minutes".to_owned(),
    };
    let words = "one of its disks may hang (see `dmesg`); its size and its mount point are as last known";
    format!("btrfs has not answered for more than {time}: {words}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery::CheckWay;
    use scrubjay_device::target::TargetIdentity;
    use scrubjay_watch::facts::{ArrayActivity, ArrayFacts};

    /// Longer than any answer of a test takes.
    const LONG: Duration = Duration::from_secs(600);

    fn check(sectors: u64) -> ArrayCheck {
        let identity = TargetIdentity::new("btrfs u", String::new(), true);
        ArrayCheck { key: "u".into(), way: CheckWay { target: "/mnt/pool".into(), identity }, sectors }
    }

    /// A survey of one btrfs, with what was answered.
    fn surveyed(pools: &mut PoolAsker) -> HostSurvey {
        let array = ArrayFacts {
            key: "u".into(),
            name: "pool".into(),
            level: "btrfs RAID1".into(),
            redundancy: 1,
            members: Vec::new(),
            activity: ArrayActivity::Idle,
            layout: None,
            check_sectors: None,
        };
        let mut seen = HostSurvey { arrays: vec![array], ..HostSurvey::default() };
        pools.add_to(&mut seen);
        seen
    }

    #[test]
    fn the_last_answer_stays_known_while_there_is_no_other_and_that_is_said() {
        let (sender, answers) = mpsc::channel();
        let ask = move || answers.recv().unwrap_or_default();
        let mut pools = PoolAsker::new(ask).with_limits(LONG, Duration::ZERO);
        sender.send(vec![check(1000)]).unwrap();
        let seen = surveyed(&mut pools);
        assert_eq!((seen.arrays[0].check_sectors, seen.checks.len()), (Some(1000), 1));
        assert_eq!(seen.warnings, [""; 0]);
        pools = pools.with_limits(Duration::ZERO, Duration::ZERO);
        for _ in 0..3 {
            let seen = surveyed(&mut pools);
            assert_eq!((seen.arrays[0].check_sectors, seen.checks.len()), (Some(1000), 1));
            assert!(seen.warnings[0].starts_with("btrfs has not answered"), "{:?}", seen.warnings);
        }
        // The disk answers again: some later survey has what is new.
        sender.send(vec![check(2000)]).unwrap();
        let mut later = std::iter::repeat_with(|| surveyed(&mut pools));
        let seen = later.find(|seen| seen.arrays[0].check_sectors == Some(2000)).unwrap();
        assert_eq!(seen.warnings, [""; 0]);
    }

    #[test]
    fn the_words_of_silence_change_seldom() {
        let words = |seconds| silence_words(Duration::from_secs(seconds));
        assert!(words(600).starts_with("btrfs has not answered for more than ten minutes: "));
        assert!(words(600) == words(HOUR - 1) && words(HOUR) == words(2 * HOUR - 1));
        assert!(words(HOUR).contains("more than 1 hour:") && words(3 * DAY).contains("more than 3 days:"));
    }
}
