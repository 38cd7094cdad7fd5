//! The messages about one incident in one channel: may this message be the next?

const DAY: u64 = 86_400;
/// How late a reminder may be, in seconds: turns of the watch may be an hour apart, and incidents are gathered for minutes.
const LATE: u64 = 2 * 3600;

/// Messages about one thing by one channel within a day, and within 30 days, at most.
const MESSAGES_MAX: [(u64, usize); 2] = [(DAY, 3), (30 * DAY, 12)];
/// From so many on within a day, and within 30 days, reminders wait.
const ROUTINE_MAX: [(u64, usize); 2] = [(DAY, 2), (30 * DAY, 8)];

/// Why a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageCause {
    Opened,
    Grown,
    Reminder(u32),
    Resolved,
}

/// An incident as a reader of one channel knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct ThreadTruth {
    pub is_open: bool,
    pub is_accepted: bool,
    /// When its last message that it has opened, or grown, was written.
    pub news: u64,
    /// When its last message was written, and by how many seconds clocks had jumped by then.
    last: (u64, u64),
    reminders: u32,
    /// When messages were written, by a clock that never jumps: each with the jumps by then.
    written: Vec<(u64, u64)>,
    /// When it was last seen that it is not so in truth: reminders begin again some time after it is.
    pub untrue: u64,
}

/// The seconds from the message before to reminder number `reminder`, from 1.
fn pause(reminder: u32) -> u64 {
    [1, 2, 4, 8, 16, 32][(reminder as usize - 1).min(5)] * DAY
}

impl ThreadTruth {
    /// Takes the next message about the incident; an error says what is wrong with it. What a person made the watch forget ends at once.
    pub fn next(&mut self, cause: MessageCause, at: u64, jumped: u64, is_forgotten: bool) -> Result<(), String> {
        let since = at - self.last.0;
        let jumps = jumped - self.last.1;
        let was = self.clone();
        self.last = (at, jumped);
        self.written.retain(|&(before, _)| at - before < 30 * DAY);
        self.written.push((at, jumped));
        for (span, most) in MESSAGES_MAX {
            let count = self.written_within(span, at, jumped);
            if count > most && !is_forgotten {
                return Err(format!("{count} messages within {} days", span / DAY));
            }
        }
        if matches!(cause, MessageCause::Opened | MessageCause::Grown) {
            self.news = at;
        }
        match cause {
            MessageCause::Opened => {
                let written = std::mem::take(&mut self.written);
                *self = ThreadTruth { is_open: true, last: self.last, news: at, written, ..ThreadTruth::default() };
                if was.is_open { Err("opened twice".into()) } else { Ok(()) }
            }
            MessageCause::Grown => {
                (self.reminders, self.is_accepted) = (0, false);
                if was.is_open { Ok(()) } else { Err("grown, and never opened".into()) }
            }
            MessageCause::Resolved => {
                self.is_open = false;
                if was.is_open { Ok(()) } else { Err("over, and never opened".into()) }
            }
            MessageCause::Reminder(number) => {
                self.reminders = number;
                if !was.is_open {
                    Err("a reminder of what was never reported".into())
                } else if was.is_accepted {
                    Err("a reminder of what was accepted".into())
                } else if number != was.reminders + 1 {
                    Err(format!("reminder {number} after {}", was.reminders))
                } else if since + jumps < pause(number) {
                    Err(format!("reminder {number} after {since} s"))
                } else {
                    Ok(())
                }
            }
        }
    }

    /// How many messages were written in a span that ends now, as far as no clock jumped in it.
    fn written_within(&self, span: u64, at: u64, jumped: u64) -> usize {
        self.written.iter().filter(|(written, before)| at - written + (jumped - before) < span).count()
    }

    /// When the next reminder becomes late, if the machine is on until then; `None`: none is due at `at`.
    pub fn reminder_due(&self, at: u64, jumped: u64) -> Option<u64> {
        // What is true again counts from two days on. They may end while the machine is off: then it is due when that is on.
        let since = self.untrue + 2 * DAY;
        let is_due = self.is_open && !self.is_accepted && since <= at;
        let with_jumps = |time: u64, before: u64| time + (jumped - before);
        let (last, before) = self.last;
        let due = with_jumps(last + pause(self.reminders + 1), before);
        // The budget may allow none before.
        let allowed = ROUTINE_MAX.iter().filter_map(|&(span, most)| {
            let (written, before) = *self.written.get(self.written.len().checked_sub(most)?)?;
            Some(with_jumps(written + span, before))
        });
        is_due.then(|| (allowed.fold(due, u64::max) + LATE).max(since))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fourth_message_within_a_day_is_a_fault() {
        let mut thread = ThreadTruth::default();
        assert_eq!(thread.next(MessageCause::Opened, 10 * DAY, 0, false), Ok(()));
        assert_eq!(thread.next(MessageCause::Resolved, 10 * DAY + 100, 0, false), Ok(()));
        assert_eq!(thread.next(MessageCause::Opened, 10 * DAY + 200, 0, false), Ok(()));
        assert!(thread.next(MessageCause::Resolved, 10 * DAY + 300, 0, false).is_err());
    }

    #[test]
    fn what_is_true_again_is_due_two_days_later_also_if_that_is_while_the_machine_is_off() {
        let mut thread = ThreadTruth { is_open: true, last: (10 * DAY, 0), untrue: 20 * DAY, ..ThreadTruth::default() };
        assert_eq!(thread.reminder_due(21 * DAY, 0), None);
        assert_eq!(thread.reminder_due(50 * DAY, 0), Some(22 * DAY));
        thread.untrue = 0;
        assert_eq!(thread.reminder_due(50 * DAY, 0), Some(11 * DAY + LATE));
    }

    #[test]
    fn a_thread_opens_reminds_grows_and_ends() {
        let mut thread = ThreadTruth::default();
        assert!(thread.next(MessageCause::Reminder(1), DAY, 0, false).is_err());
        assert_eq!(thread.next(MessageCause::Opened, 10 * DAY, 0, false), Ok(()));
        assert_eq!(thread.reminder_due(10 * DAY, 0), Some(11 * DAY + LATE));
        assert_eq!(thread.next(MessageCause::Reminder(1), 11 * DAY, 0, false), Ok(()));
        assert!(thread.next(MessageCause::Reminder(2), 12 * DAY, 0, false).is_err(), "too early");
        assert_eq!(thread.next(MessageCause::Grown, 13 * DAY, 0, false), Ok(()));
        assert!(thread.next(MessageCause::Reminder(2), 20 * DAY, 0, false).is_err(), "the first comes first");
        thread.is_accepted = true;
        assert!(
            thread.next(MessageCause::Reminder(3), 50 * DAY, 0, false).is_err()
                && thread.reminder_due(51 * DAY, 0).is_none()
        );
        assert_eq!(thread.next(MessageCause::Resolved, 60 * DAY, 0, false), Ok(()));
        assert!(thread.next(MessageCause::Resolved, 61 * DAY, 0, false).is_err());
    }
}
