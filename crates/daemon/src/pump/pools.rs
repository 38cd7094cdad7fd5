//! Asks file systems and pools in a thread for each kind, because one of which a disk hangs may never answer. A survey does not
//! wait for that.

use scrubjay_watch::calendar::{DAY, HOUR};
use scrubjay_words::counted;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread;
use std::time::{Duration, Instant};

/// How long a survey waits for an answer. The kernel gives it from memory.
const PATIENCE: Duration = Duration::from_secs(5);
/// After how long without an answer the survey says so.
const SILENCE_MAX: Duration = Duration::from_secs(600);

/// Asks those of one kind. Its thread is the only one that asks, and is asked again only when it has answered: so one thread
/// hangs at most.
pub(super) struct PoolAsker<T> {
    kind: &'static str,
    requests: Sender<()>,
    answers: Receiver<T>,
    patience: Duration,
    silence_max: Duration,
    /// When it was asked for what it has not answered yet.
    asked: Option<Instant>,
    /// Its last answer.
    known: T,
}

impl<T: Default + Send + 'static> PoolAsker<T> {
    /// Starts the thread, which asks those of this kind by `ask`.
    pub(super) fn new(kind: &'static str, mut ask: impl FnMut() -> T + Send + 'static) -> PoolAsker<T> {
        let (requests, queue) = mpsc::channel::<()>();
        let (sender, answers) = mpsc::channel();
        let builder = thread::Builder::new().name(kind.into());
        // Without the thread there is no answer, and that is what the survey says.
        let _ = builder.spawn(move || {
            for () in queue {
                if sender.send(ask()).is_err() {
                    return;
                }
            }
        });
        PoolAsker {
            kind,
            requests,
            answers,
            patience: PATIENCE,
            silence_max: SILENCE_MAX,
            asked: None,
            known: T::default(),
        }
    }

    /// Sets how long a survey waits for an answer, and after how long it says that there is none.
    #[cfg(test)]
    pub(super) fn with_limits(self, patience: Duration, silence_max: Duration) -> PoolAsker<T> {
        PoolAsker { patience, silence_max, ..self }
    }

    /// The answer: that of now, or the last one. A silence that lasts is told in `warnings`.
    pub(super) fn answer(&mut self, warnings: &mut Vec<String>) -> &T {
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
            warnings.push(silence_words(self.kind, asked.elapsed()));
        }
        &self.known
    }
}

/// That there was no answer for so long. The words change seldom, as each change is a line in the journal.
fn silence_words(kind: &str, silence: Duration) -> String {
    let time = match silence.as_secs() {
        seconds if seconds >= DAY => counted(seconds / DAY, "day"),
        seconds if seconds >= HOUR => counted(seconds / HOUR, "hour"),
        _ => "ten minutes".to_owned(),
    };
    let words = "one of its disks may hang (see `dmesg`); what is said of it is as last known";
    format!("{kind} has not answered for more than {time}: {words}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Longer than any answer of a test takes.
    const LONG: Duration = Duration::from_secs(600);

    /// The answer, and what is told of silence.
    fn asked(pools: &mut PoolAsker<u32>) -> (u32, Vec<String>) {
        let mut warnings = Vec::new();
        (*pools.answer(&mut warnings), warnings)
    }

    #[test]
    fn the_last_answer_stays_known_while_there_is_no_other_and_that_is_said() {
        let (sender, answers) = mpsc::channel();
        let mut pools = PoolAsker::new("btrfs", move || answers.recv().unwrap_or_default());
        pools = pools.with_limits(LONG, Duration::ZERO);
        sender.send(1000).unwrap();
        assert_eq!(asked(&mut pools), (1000, vec![]));
        pools = pools.with_limits(Duration::ZERO, Duration::ZERO);
        for _ in 0..3 {
            let (known, warnings) = asked(&mut pools);
            assert_eq!(known, 1000);
            assert!(warnings[0].starts_with("btrfs has not answered"), "{warnings:?}");
        }
        // The disk answers again: some later survey has what is new.
        sender.send(2000).unwrap();
        let mut later = std::iter::repeat_with(|| asked(&mut pools));
        let (_, warnings) = later.find(|(known, _)| *known == 2000).unwrap();
        assert_eq!(warnings, [""; 0]);
    }

    #[test]
    fn the_words_of_silence_change_seldom() {
        let words = |seconds| silence_words("btrfs", Duration::from_secs(seconds));
        assert!(words(600).starts_with("btrfs has not answered for more than ten minutes: "));
        assert!(words(600) == words(HOUR - 1) && words(HOUR) == words(2 * HOUR - 1));
        assert!(words(HOUR).contains("more than 1 hour:") && words(3 * DAY).contains("more than 3 days:"));
    }
}
