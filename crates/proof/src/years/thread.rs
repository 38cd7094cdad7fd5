//! The messages about one incident in one channel: may this message be the next?

const DAY: u64 = 86_400;
/// How late a reminder may be, in seconds: turns of the watch may be an hour apart, and incidents are gathered for minutes.
const LATE: u64 = 2 * 3600;

/// Why a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MessageCause {
    Opened,
    Grown,
    Reminder(u32),
    Resolved,
}

/// An incident as a reader of one channel knows it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ThreadTruth {
    pub is_open: bool,
    pub is_accepted: bool,
    /// When its last message that it has opened, or grown, was written.
    pub news: u64,
    /// When its last message was written, and by how many seconds clocks had jumped by then.
    last: (u64, u64),
    reminders: u32,
}

/// The seconds from the message before to reminder number `reminder`, from 1.
fn pause(reminder: u32) -> u64 {
    [1, 2, 4, 8, 16, 32][(reminder as usize - 1).min(5)] * DAY
}

impl ThreadTruth {
    /// Takes the next message about the incident; an error says what is wrong with it.
    pub fn next(&mut self, cause: MessageCause, at: u64, jumped: u64) -> Result<(), String> {
        let since = at - self.last.0;
        let jumps = jumped - self.last.1;
        let was = *self;
        self.last = (at, jumped);
        if matches!(cause, MessageCause::Opened | MessageCause::Grown) {
            self.news = at;
        }
        match cause {
            MessageCause::Opened => {
                *self = ThreadTruth { is_open: true, last: self.last, news: at, ..ThreadTruth::default() };
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

    /// When the next reminder becomes late, if the machine is on until then.
    pub fn reminder_due(&self, jumped: u64) -> Option<u64> {
        let is_due = self.is_open && !self.is_accepted;
        is_due.then(|| self.last.0 + pause(self.reminders + 1) + (jumped - self.last.1) + LATE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_opens_reminds_grows_and_ends() {
        let mut thread = ThreadTruth::default();
        assert!(thread.next(MessageCause::Reminder(1), DAY, 0).is_err());
        assert_eq!(thread.next(MessageCause::Opened, 10 * DAY, 0), Ok(()));
        assert_eq!(thread.reminder_due(0), Some(11 * DAY + LATE));
        assert_eq!(thread.next(MessageCause::Reminder(1), 11 * DAY, 0), Ok(()));
        assert!(thread.next(MessageCause::Reminder(2), 12 * DAY, 0).is_err(), "too early");
        assert_eq!(thread.next(MessageCause::Grown, 13 * DAY, 0), Ok(()));
        assert!(thread.next(MessageCause::Reminder(2), 20 * DAY, 0).is_err(), "the first comes first");
        thread.is_accepted = true;
        assert!(thread.next(MessageCause::Reminder(3), 50 * DAY, 0).is_err() && thread.reminder_due(0).is_none());
        assert_eq!(thread.next(MessageCause::Resolved, 60 * DAY, 0), Ok(()));
        assert!(thread.next(MessageCause::Resolved, 61 * DAY, 0).is_err());
    }
}
