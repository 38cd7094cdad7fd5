//! The texts of messages: the first line fits a lock screen, the whole has 20 lines at most.

use crate::calendar::{days, show_date, show_time};
use crate::incident::{IncidentKey, IncidentKind, IncidentRow, MessageReason};
use crate::state::Watch;
use scrubjay_core::units::UnixSeconds;

/// Lines of a message.
pub const LINES_MAX: usize = 20;
/// Characters of a subject: what a phone shows of it when locked is about as much.
pub const SUBJECT_MAX: usize = 120;

/// What a message says.
pub(crate) struct LetterText {
    pub subject: String,
    pub body: String,
}

/// Cuts what is too long, between characters.
fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters - 1).chain(['…']).collect(),
    }
}

/// Puts it together. A subject is one line, whatever a drive calls itself.
fn letter(subject: &str, lines: Vec<String>) -> LetterText {
    let subject: String = subject.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    let lines: Vec<String> = lines.into_iter().take(LINES_MAX).collect();
    LetterText { subject: cut(&subject, SUBJECT_MAX), body: lines.join("\n") }
}

impl Watch {
    /// Of one incident.
    pub(crate) fn incident_letter(
        &self,
        incident: &IncidentRow,
        reason: MessageReason,
        now: UnixSeconds,
    ) -> LetterText {
        let host = &self.settings.host;
        let headline = &incident.condition.headline;
        let old = days(now, incident.opened);
        let since = if incident.key.kind == IncidentKind::Degraded && old > 0 {
            format!(", since {old} days")
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
            _ if incident.key.kind == IncidentKind::Degraded => format!("Degraded since {old} days ({date})."),
            _ => format!("Found {date}."),
        }];
        if reason != MessageReason::Resolved {
            lines.extend(incident.condition.lines.iter().cloned());
            let next = incident.next_reminder_days(reason);
            lines.push(format!("Next      a reminder in {next} days, unless you accept it, or it changes"));
        }
        letter(&subject, lines)
    }

    /// Of several at once behind one controller.
    pub(crate) fn common_letter(&self, keys: &[IncidentKey], controller: &str) -> LetterText {
        let host = &self.settings.host;
        let incidents: Vec<&IncidentRow> = keys.iter().filter_map(|key| self.incidents.get(key)).collect();
        let subject = format!("[{host}] REPLACE? {} disks at once behind {controller}", keys.len());
        let mut lines = vec![
            format!("{} disks behind {controller} have something at the same time.", keys.len()),
            "Such is rarely the disks: look at the controller, its cables and the power supply first.".to_owned(),
        ];
        let shown = LINES_MAX - 4;
        lines.extend(incidents.iter().take(shown).map(|incident| format!("- {}", incident.condition.headline)));
        if incidents.len() > shown {
            lines.push(format!("- and {} more", incidents.len() - shown));
        }
        letter(&subject, lines)
    }

    /// A test.
    pub(crate) fn test_letter(&self, channel: &str, code: &str) -> LetterText {
        let host = &self.settings.host;
        letter(
            &format!("[{host}] [TEST] code {code}"),
            vec![
                format!("This is a test of alerts by {channel}. Nothing is wrong."),
                format!("To prove that it arrived:  scrubjay alert confirm {code}"),
            ],
        )
    }

    /// The report of the month, also when all is well.
    pub(crate) fn report_letter(&self, channel: &str, code: &str, now: UnixSeconds) -> LetterText {
        let status = self.status(now);
        let mut lines = vec![status.sentence.clone()];
        lines.extend(status.lights.iter().map(|light| format!("{:<16} {}", light.name, light.words)));
        let open = self.incidents.values().filter(|incident| incident.told.is_some());
        let open: Vec<&IncidentRow> = open.collect();
        const SHOWN: usize = 8;
        for incident in open.iter().take(SHOWN) {
            let since = show_date(&*self.calendar, incident.opened);
            lines.push(format!("- {} (since {since})", incident.condition.headline));
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
    fn what_is_too_long_is_cut_and_a_subject_is_one_line() {
        let text = letter(&format!("a\r\nBcc: x {}", "ü".repeat(200)), vec!["line".into(); 30]);
        assert_eq!(text.subject.chars().count(), SUBJECT_MAX);
        assert!(text.subject.starts_with("a  Bcc: x") && text.subject.ends_with('…'));
        assert_eq!(text.body.lines().count(), LINES_MAX);
        assert_eq!(cut("short", 120), "short");
    }
}
