//! The frame of messages around the words of conditions: the subject fits a lock screen, and a message has at most 20 lines.

use crate::calendar::{days, show_date, show_time};
use crate::incident::{IncidentKey, IncidentKind, IncidentRow, MessageReason, Urgency};
use crate::state::Watch;
use crate::words::counted;
use scrubjay_core::units::UnixSeconds;

/// Lines of a message, at most.
pub const LINES_MAX: usize = 20;
/// Characters of a subject, at most: about as much as a locked phone shows.
pub const SUBJECT_MAX: usize = 120;

/// The text of a message.
pub(crate) struct LetterText {
    pub subject: String,
    pub body: String,
}

/// Cuts a text that is too long, between characters.
fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters - 1).chain(['…']).collect(),
    }
}

/// Appends incidents to lines, as many as there is room for.
fn list(lines: &mut Vec<String>, incidents: &[&IncidentRow], show: impl Fn(&IncidentRow) -> String) {
    let shown = LINES_MAX.saturating_sub(lines.len() + 1);
    lines.extend(incidents.iter().take(shown).map(|incident| show(incident)));
    if incidents.len() > shown {
        lines.push(format!("- and {} more", incidents.len() - shown));
    }
}

/// Is it likely that many of these at once have a common cause in the machine, not in the disks?
pub(crate) fn is_common_cause(kind: IncidentKind, urgency: Urgency) -> bool {
    kind == IncidentKind::Missing || kind == IncidentKind::Health && urgency == Urgency::Replace
}

/// The common problem of several disks, if their kind has no other text.
fn common_problem(kind: IncidentKind) -> &'static str {
    match kind {
        IncidentKind::Unknown => "their state is not known",
        IncidentKind::Unread => "some sectors are unread, and due",
        IncidentKind::Stuck => "they cannot be scrubbed",
        _ => "they are to be watched",
    }
}

/// Puts a message together. The subject is one line, even if a drive's name has control characters.
fn letter(subject: &str, lines: Vec<String>) -> LetterText {
    let subject: String = subject.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let lines: Vec<String> = lines.into_iter().take(LINES_MAX).collect();
    LetterText { subject: cut(&subject, SUBJECT_MAX), body: lines.join("\n") }
}

impl Watch {
    /// The message about one incident.
    pub(crate) fn incident_letter(
        &self,
        incident: &IncidentRow,
        reason: MessageReason,
        now: UnixSeconds,
    ) -> LetterText {
        let host = &self.settings.host;
        let headline = &incident.condition.headline;
        let age_days = days(now, incident.opened);
        let since = if incident.key.kind == IncidentKind::Degraded && age_days > 0 {
            format!(", since {}", counted(age_days, "day"))
        } else {
            String::new()
        };
        let subject = match reason {
            MessageReason::Reminder(number) => format!("[{host}] {headline}{since} (reminder {number})"),
            MessageReason::Resolved => format!("[{host}] resolved: {headline}"),
            _ => format!("[{host}] {headline}{since}"),
        };
        let date = show_time(&*self.calendar, incident.opened);
        let mut lines = vec![match reason {
            MessageReason::Resolved => format!("This is over. It began {date}."),
            _ if incident.key.kind == IncidentKind::Degraded && age_days > 0 => {
                format!("Degraded since {} ({date}).", counted(age_days, "day"))
            }
            _ => format!("Found {date}."),
        }];
        if reason != MessageReason::Resolved {
            lines.extend(incident.condition.lines.iter().cloned());
            let reminder_days = incident.next_reminder_days(reason);
            lines.push(format!(
                "Next      a reminder in {}, unless you accept it, or it changes",
                counted(reminder_days, "day")
            ));
        }
        letter(&subject, lines)
    }

    /// The message about several disks with incidents of one kind: behind one controller, if that is named.
    pub(crate) fn common_letter(
        &self,
        keys: &[IncidentKey],
        reason: MessageReason,
        controller: Option<&str>,
    ) -> LetterText {
        let host = &self.settings.host;
        let incidents: Vec<&IncidentRow> = keys.iter().filter_map(|key| self.incidents.get(key)).collect();
        let Some((first, rest)) = incidents.split_first() else { return letter(host, Vec::new()) };
        let count = incidents.len();
        let behind_controller = controller.map_or(String::new(), |controller| format!(" behind {controller}"));
        let reminder = match reason {
            MessageReason::Reminder(number) => format!(" (reminder {number})"),
            _ => String::new(),
        };
        let kind = first.key.kind;
        let (subject, mut lines) = if is_common_cause(kind, first.condition.urgency) {
            let cause = if behind_controller.is_empty() {
                "the power supply and the cables"
            } else {
                "the controller, its cables and the power supply"
            };
            (
                format!("[{host}] REPLACE? {count} disks at once{behind_controller}{reminder}"),
                vec![
                    format!("{count} disks{behind_controller} have something at the same time."),
                    format!("That is seldom the fault of the disks: look at {cause} first."),
                ],
            )
        } else {
            let is_common = |line: &&String| rest.iter().all(|other| other.condition.lines.contains(line));
            let common = first.condition.lines.iter().filter(is_common).take(LINES_MAX / 3).cloned();
            (format!("[{host}] NOTICE {count} disks: {}{reminder}", common_problem(kind)), common.collect())
        };
        list(&mut lines, &incidents, |incident| format!("- {}", incident.condition.headline));
        letter(&subject, lines)
    }

    /// The message to a new channel about the open incidents.
    pub(crate) fn open_letter(&self, open: &[IncidentRow], now: UnixSeconds) -> LetterText {
        let host = &self.settings.host;
        let mut open: Vec<&IncidentRow> = open.iter().collect();
        open.sort_by_key(|incident| (std::cmp::Reverse(incident.condition.urgency), incident.opened));
        let first = open.first().map_or("", |incident| incident.condition.headline.as_str());
        let subject = format!("[{host}] {} problems are open: {first}", open.len());
        let date = show_date(&*self.calendar, now);
        let mut lines = vec![format!("This channel is new. What is open on {date}, and was reported before:")];
        list(&mut lines, &open, |incident| {
            let since = show_date(&*self.calendar, incident.opened);
            format!("- {} (since {since})", incident.condition.headline)
        });
        letter(&subject, lines)
    }

    /// A test message.
    pub(crate) fn test_letter(&self, channel: &str, code: &str) -> LetterText {
        let host = &self.settings.host;
        let verdict = if self.blind_since.is_none() { " Nothing is wrong." } else { "" };
        letter(
            &format!("[{host}] [TEST] code {code}"),
            vec![
                format!("This is a test of alerts by {channel}.{verdict}"),
                format!("To prove that it arrived:  scrubjay alert confirm {code}"),
            ],
        )
    }

    /// A message with a line that nothing is seen of the machine, while that is so.
    pub(crate) fn with_blindness(&self, text: LetterText) -> LetterText {
        let Some(words) = self.blind_words().filter(|words| !text.body.contains(words.as_str())) else { return text };
        let mut lines: Vec<&str> = text.body.lines().collect();
        // The last line may say how many more there are.
        if lines.len() >= LINES_MAX {
            lines.remove(LINES_MAX - 2);
        }
        lines.push(&words);
        LetterText { body: lines.join("\n"), subject: text.subject }
    }

    /// The monthly report, which is sent also when all is well.
    pub(crate) fn report_letter(&self, channel: &str, code: &str, now: UnixSeconds) -> LetterText {
        let status = self.status(now);
        let mut lines = vec![status.sentence.clone()];
        lines.extend(status.lights.iter().map(|light| format!("{:<16} {}", light.name.word(), light.words)));
        let open = self.incidents.values().filter(|incident| incident.last_message.is_some());
        let open: Vec<&IncidentRow> = open.collect();
        const SHOWN: usize = 8;
        for incident in open.iter().take(SHOWN) {
            let since = show_date(&*self.calendar, incident.opened);
            let accepted = if incident.is_accepted { ", accepted" } else { "" };
            lines.push(format!("- {} (since {since}{accepted})", incident.condition.headline));
        }
        if open.len() > SHOWN {
            lines.push(format!("- and {} more", open.len() - SHOWN));
        }
        lines.push(format!("You read this by {channel}? Then renew the proof:  scrubjay alert confirm {code}"));
        letter(&format!("[{}] monthly report: {}", self.settings.host, status.sentence), lines)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_a_subject_is_one_line() {
        let text = letter(&format!("a\r\nBcc: x {}", "ü".repeat(200)), vec!["line".into(); 30]);
        assert_eq!(text.subject.chars().count(), SUBJECT_MAX);
        assert!(text.subject.starts_with("a  Bcc: x") && text.subject.ends_with('…'));
        assert_eq!(text.body.lines().count(), LINES_MAX);
        assert_eq!(cut("short", 120), "short");
    }
}
