//! What a watch that only observes would have done: as it is kept, and as status documents have it.

use crate::zone::ZonedCalendar;
use scrubjay_core::quantity::show_count;
use scrubjay_core::units::{Bytes, UnixSeconds};
use scrubjay_watch::incident::MessageReason;
use scrubjay_words::{counted, show_time};
use serde::{Deserialize, Serialize};

/// Hours of a day.
const HOURS: usize = 24;
/// Disks and messages that are named, at most.
const NAMED_MAX: usize = 5;
/// Headlines that are kept, at most.
const HEADLINES_MAX: usize = 100;
const DAY_SECONDS: u64 = 86_400;

/// All of it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedDocument {
    /// Since when it observes, in seconds since 1970.
    pub since: u64,
    /// After how many days it last told of it.
    pub told_days: u64,
    /// The disks.
    pub disks: Vec<ObservedDisk>,
    /// Messages that would have been sent about disks and arrays (count).
    pub messages: u64,
    /// The subjects of the first of them, each once: reminders are counted, and not named.
    pub headlines: Vec<String>,
}

/// What it would have read of a disk.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ObservedDisk {
    /// The kernel's name.
    pub name: String,
    /// Bytes.
    pub bytes: u64,
    /// How long its requests would have been at the disk, in seconds.
    pub reading_seconds: f64,
    /// Requests of others that were seen meanwhile.
    pub foreground_requests: u64,
    /// What these would have lost, in sum, in seconds.
    pub lost_seconds: f64,
    /// Could requests of others not be seen at all at some time?
    #[serde(default)]
    pub is_blind: bool,
    /// Were they seen by counters only at some time? Then what they lost is approximate.
    #[serde(default)]
    pub is_estimate: bool,
    /// Bytes by hour of the day.
    pub bytes_by_hour: [u64; HOURS],
    /// Passes that would have come to their end.
    pub passes: u64,
}

/// What a session did since the last look.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SessionWork {
    /// Bytes that it asked for.
    pub bytes: u64,
    /// How long its requests were at the disk, in seconds.
    pub reading_seconds: f64,
    /// Requests of others that it saw.
    pub foreground_requests: u64,
    /// What these lost, in sum, in seconds.
    pub lost_seconds: f64,
    /// Could they not be seen at all?
    pub is_blind: bool,
    /// Were they seen by counters only?
    pub is_estimate: bool,
}

impl ObservedDocument {
    /// The days after which it is told.
    pub const TELL_DAYS: [u64; 3] = [1, 7, 14];

    /// Adds work on a disk, in this hour of the day.
    pub fn add(&mut self, name: &str, work: &SessionWork, hour: usize) {
        let disk = self.disk(name);
        disk.bytes += work.bytes;
        disk.reading_seconds += work.reading_seconds;
        disk.foreground_requests += work.foreground_requests;
        disk.lost_seconds += work.lost_seconds;
        disk.is_blind |= work.is_blind;
        disk.is_estimate |= work.is_estimate;
        disk.bytes_by_hour[hour % HOURS] += work.bytes;
    }

    /// A pass over a disk has come to its end.
    pub fn add_pass(&mut self, name: &str) {
        self.disk(name).passes += 1;
    }

    /// A message that would have been sent. A reminder counts, and is no news to be named.
    pub fn add_message(&mut self, subject: &str, reason: MessageReason) {
        self.messages += 1;
        let is_news = !matches!(reason, MessageReason::Reminder(_));
        if is_news && self.headlines.len() < HEADLINES_MAX && self.headlines.iter().all(|known| known != subject) {
            self.headlines.push(subject.to_owned());
        }
    }

    fn disk(&mut self, name: &str) -> &mut ObservedDisk {
        let index = self.disks.iter().position(|disk| disk.name == name).unwrap_or_else(|| {
            self.disks.push(ObservedDisk { name: name.to_owned(), ..ObservedDisk::default() });
            self.disks.len() - 1
        });
        &mut self.disks[index]
    }

    /// Is it time to tell of it? Then it counts as told.
    pub fn is_to_be_told(&mut self, now: u64) -> bool {
        let days = now.saturating_sub(self.since) / DAY_SECONDS;
        let due = ObservedDocument::TELL_DAYS.into_iter().filter(|&tell| tell <= days).max().unwrap_or(0);
        let is_due = due > self.told_days;
        self.told_days = self.told_days.max(due);
        is_due
    }

    /// In sentences, without full stops.
    pub fn lines(&self, now: u64) -> Vec<String> {
        let passed = now.saturating_sub(self.since);
        let time = match (passed / DAY_SECONDS, passed / 3600) {
            (days, _) if days >= 2 => format!("{days} days"),
            (_, 1) => "an hour".to_owned(),
            (_, hours) if hours > 0 => format!("{hours} hours"),
            _ => "less than an hour".to_owned(),
        };
        let bytes: u64 = self.disks.iter().map(|disk| disk.bytes).sum();
        let reading: f64 = self.disks.iter().map(|disk| disk.reading_seconds).sum();
        let passes: u64 = self.disks.iter().map(|disk| disk.passes).sum();
        let disks = self.disks.iter().filter(|disk| disk.bytes > 0).count() as u64;
        let since = show_time(&ZonedCalendar::system(), UnixSeconds(self.since));
        let mut lines = vec![format!("only observed since {since}: no disk is read, and nothing is sent")];
        match disks {
            0 => lines.push(format!("in {time} it would have read nothing yet")),
            _ => lines.push(format!(
                "in {time} it would have read {} of {} in {:.1} h of reading, {}; passes that would be over: {passes}",
                Bytes(bytes),
                counted(disks, "disk"),
                reading / 3600.0,
                self.busiest()
            )),
        }
        lines.extend(self.delay());
        lines.push(match self.messages {
            0 => "it would have sent no message".to_owned(),
            count => {
                let more = self.headlines.len().saturating_sub(NAMED_MAX);
                let named = self.headlines.iter().take(NAMED_MAX).cloned().collect::<Vec<_>>().join("; ");
                let more = if more > 0 { format!("; and {more} more") } else { String::new() };
                format!("it would have sent {}: {named}{more}", counted(count, "message"))
            }
        });
        lines
    }

    /// What requests of others would have lost; `None`: nothing would have been read.
    fn delay(&self) -> Option<String> {
        let read: Vec<&ObservedDisk> = self.disks.iter().filter(|disk| disk.bytes > 0).collect();
        if read.is_empty() {
            return None;
        }
        if read.iter().any(|disk| disk.is_blind) {
            let names = read.iter().filter(|disk| disk.is_blind).map(|disk| disk.name.as_str()).collect::<Vec<_>>();
            let names = names.join(", ");
            return Some(format!(
                "requests of others cannot be seen on {names}: what they would have lost is not known"
            ));
        }
        let requests: u64 = self.disks.iter().map(|disk| disk.foreground_requests).sum();
        let worst = self.disks.iter().filter(|disk| disk.foreground_requests > 0);
        let mean = |disk: &ObservedDisk| 1e3 * disk.lost_seconds / disk.foreground_requests as f64;
        let Some(worst) = worst.max_by(|one, other| mean(one).total_cmp(&mean(other))) else {
            return Some("no request of others was seen meanwhile, so none would have been delayed".to_owned());
        };
        Some(format!(
            "{} requests of others were seen meanwhile; they would have lost {}{:.2} ms on average on {}{}",
            show_count(requests),
            if worst.is_estimate { "about " } else { "" },
            mean(worst),
            worst.name,
            if self.disks.len() > 1 { ", no more elsewhere" } else { "" }
        ))
    }

    /// The four hours of the day in which most would be read.
    fn busiest(&self) -> String {
        const WINDOW: usize = 4;
        let of = |hour: usize| -> u64 { self.disks.iter().map(|disk| disk.bytes_by_hour[hour % HOURS]).sum() };
        let window = |begin: usize| -> u64 { (begin..begin + WINDOW).map(of).sum() };
        let all: u64 = (0..HOURS).map(of).sum();
        let best = (0..HOURS).max_by_key(|&begin| window(begin)).unwrap_or(0);
        let share = 100.0 * window(best) as f64 / all.max(1) as f64;
        format!("{share:.0} % of it between {best:02}:00 and {:02}:00", (best + WINDOW) % HOURS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn observed() -> ObservedDocument {
        let mut observed = ObservedDocument { since: 1_796_000_000, ..ObservedDocument::default() };
        let work = SessionWork {
            bytes: 1 << 40,
            reading_seconds: 7200.0,
            foreground_requests: 1000,
            lost_seconds: 0.5,
            ..SessionWork::default()
        };
        observed.add("sda", &work, 2);
        observed.add("sda", &SessionWork { bytes: 1 << 30, ..SessionWork::default() }, 14);
        observed.add("sdb", &SessionWork { lost_seconds: 0.1, ..work }, 3);
        observed.add_pass("sda");
        observed
    }

    #[test]
    fn it_is_told_after_a_day_a_week_and_a_fortnight_once_each() {
        let mut observed = observed();
        let told: Vec<u64> =
            (0..40).filter(|days| observed.is_to_be_told(1_796_000_000 + days * DAY_SECONDS)).collect();
        assert_eq!(told, ObservedDocument::TELL_DAYS);
        let mut late = self::observed();
        assert!(late.is_to_be_told(1_796_000_000 + 9 * DAY_SECONDS), "the machine was off meanwhile");
        assert!(!late.is_to_be_told(1_796_000_000 + 9 * DAY_SECONDS + 1));
    }

    #[test]
    fn sentences_say_what_when_and_with_what_delay() {
        let mut observed = observed();
        let lines = observed.lines(1_796_000_000 + 7 * DAY_SECONDS).join("\n");
        assert!(lines.contains("no disk is read, and nothing is sent"), "{lines}");
        assert!(
            lines.contains("in 7 days it would have read 2.2 TB of 2 disks in 4.0 h of reading, 100 % of it between"),
            "{lines}"
        );
        assert!(lines.contains("2,000 requests") || lines.contains("2000 requests"), "{lines}");
        assert!(lines.contains("lost 0.50 ms on average on sda"), "{lines}");
        assert!(lines.ends_with("it would have sent no message"), "{lines}");
        let mut blind = observed.clone();
        blind.add("sdb", &SessionWork { is_blind: true, ..SessionWork::default() }, 3);
        let lines = blind.lines(1_796_000_000 + 3600).join("\n");
        assert!(lines.contains("cannot be seen on sdb: what they would have lost is not known"), "{lines}");
        let mut quiet = ObservedDocument::default();
        quiet.add("sdc", &SessionWork { bytes: 1, is_estimate: true, ..SessionWork::default() }, 3);
        assert!(quiet.lines(3600).join("\n").contains("no request of others was seen"));
        quiet.add("sdc", &SessionWork { foreground_requests: 1, lost_seconds: 1e-3, ..SessionWork::default() }, 3);
        assert!(quiet.lines(3600).join("\n").contains("lost about 1.00 ms"));
        (0..7).for_each(|number| observed.add_message(&format!("REPLACE {number}"), MessageReason::Opened));
        observed.add_message("REPLACE 0, and now in 4 days (reminder 2)", MessageReason::Reminder(2));
        let lines = observed.lines(1_796_000_000 + 3600).join("\n");
        assert!(
            lines.contains("in an hour") && lines.contains("8 messages: REPLACE 0; ") && lines.ends_with("and 2 more"),
            "{lines}"
        );
    }

    #[test]
    fn it_survives_a_restart() {
        let observed = observed();
        let text = serde_json::to_string(&observed).unwrap();
        assert_eq!(serde_json::from_str::<ObservedDocument>(&text).unwrap(), observed);
    }
}
