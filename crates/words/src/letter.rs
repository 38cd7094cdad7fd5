//! Messages: their subject fits a lock screen, and they have at most 20 lines.

use crate::condition::{common_lines, headline, lines};
use crate::date::{show_date, show_time};
use crate::health::{DiskWords, SignWords};
use crate::line::{Label, Line};
use crate::sentence::{Count, Said, sentences};
use crate::{card, status};
use scrubjay_watch::calendar::Calendar;
use scrubjay_watch::incident::{Condition, IncidentKind, MessageReason};
use scrubjay_watch::letter::{Letter, LetterContent, ToldIncident, is_common_cause};
use scrubjay_watch::status::StatusVerdict;

/// Lines of a message, at most.
pub const LINES_MAX: usize = 20;
/// Characters of a subject, at most: about as much as a locked phone shows.
pub const SUBJECT_MAX: usize = 120;
/// Open incidents that a monthly report lists, at most.
const REPORTED_MAX: usize = 8;

/// A message in words. Only this crate makes one, of a letter's facts; or it was made before, and kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MessageText {
    /// One line, even if a drive's name has control characters.
    subject: String,
    body: String,
}

impl MessageText {
    /// One that was kept when it was made.
    pub fn kept(subject: String, body: String) -> MessageText {
        MessageText { subject, body }
    }

    /// The subject: fits a lock screen.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// The text, 20 lines at most.
    pub fn body(&self) -> &str {
        &self.body
    }
}

sentences! {
    pub(crate) SubjectWords: "Subjects of messages" {
        Told { host: String = "nas1", headline: Said = example_headline() } => "[{host}] {headline}",
        ToldSince { host: String = "nas1", headline: Said = example_headline(), days: Count = Count(3, "day") } =>
            "[{host}] {headline}, for {days}",
        Reminder { host: String = "nas1", headline: Said = example_headline(), number: u32 = 2u32 } =>
            "[{host}] {headline} (reminder {number})",
        ReminderSince { host: String = "nas1", headline: Said = example_headline(), days: Count = Count(3, "day"), number: u32 = 2u32 } =>
            "[{host}] {headline}, for {days} (reminder {number})",
        Resolved { host: String = "nas1", headline: Said = example_headline() } => "[{host}] resolved: {headline}",
        AtOnce { host: String = "nas1", count: usize = 4usize } => "[{host}] REPLACE? {count} disks at once",
        AtOnceBehind { host: String = "nas1", count: usize = 4usize, controller: String = "0000:03:00.0" } =>
            "[{host}] REPLACE? {count} disks at once behind {controller}",
        Several { host: String = "nas1", count: usize = 4usize, what: Said = CommonWords::NotKnown } =>
            "[{host}] NOTICE {count} disks: {what}",
        Again { subject: Said = CommonWords::ToBeWatched, number: u32 = 2u32 } => "{subject} (reminder {number})",
        Open { host: String = "nas1", count: usize = 4usize, headline: Said = example_headline() } =>
            "[{host}] {count} problems are open: {headline}",
        Test { host: String = "nas1", code: String = "004711" } => "[{host}] [TEST] code {code}",
        Report { host: String = "nas1", sentence: Said = status::VerdictWords::Well } => "[{host}] monthly report: {sentence}",
    }
}

fn example_headline() -> DiskWords {
    let sign = SignWords::Unreadable { sectors: Count(8, "unreadable sector") }.into();
    DiskWords::Replace { disk: card::example_label().into(), sign }
}

sentences! {
    pub(crate) CommonWords: "What several disks have in common" {
        NotKnown => "their state is not known",
        RequestsFail => "requests of programs failed at them",
        Unread => "some sectors are not read yet, and due",
        CannotBeScrubbed => "their scrubs fail",
        ToBeWatched => "they are to be watched",
    }
}

sentences! {
    pub(crate) FrameWords: "Around what a message says" {
        Found { time: String = "12 Mar 2026 03:41" } => "Found {time}.",
        DegradedSince { days: Count = Count(3, "day"), time: String = "12 Mar 2026 03:41" } => "Degraded for {days} (since {time}).",
        Over { time: String = "12 Mar 2026 03:41" } => "It is over. It began {time}.",
        NextReminder { days: Count = Count(2, "day") } => "a reminder in {days}, unless you accept it, or it changes",
        AtTheSameTime { count: usize = 4usize } => "{count} disks are in trouble at the same time.",
        BehindOne { count: usize = 4usize, controller: String = "0000:03:00.0" } =>
            "{count} disks behind {controller} are in trouble at the same time.",
        LookAtPower => "That is seldom the fault of the disks: look at the power supply and the cables first.",
        LookAtController =>
            "That is seldom the fault of the disks: look at the controller, its cables and the power supply first.",
        Item { headline: Said = example_headline() } => "- {headline}",
        ItemSince { headline: Said = example_headline(), date: String = "12 Mar 2026" } => "- {headline} (since {date})",
        ItemAccepted { headline: Said = example_headline(), date: String = "12 Mar 2026" } =>
            "- {headline} (since {date}, accepted)",
        AndMore { count: usize = 3usize } => "- and {count} more",
        Repeated => "This may reach you twice: it is not known whether it arrived before.",
        NewChannel { date: String = "12 Mar 2026" } =>
            "This channel is new. What is open on {date}, and was reported before:",
        TestOnly { channel: String = "email" } => "This is only a test of alerts by {channel}.",
        ToProve { code: String = "004711" } => "To prove that it arrived:  sudo scrubjay alert confirm {code}",
        RenewProof { channel: String = "email", code: String = "004711" } =>
            "You read this by {channel}? Then renew the proof:  sudo scrubjay alert confirm {code}",
        LightShows { light: String = "Disks", shows: Said = status::LightWords::NoDisk } => "{light:<16} {shows}",
    }
}

/// Puts letters in words.
#[derive(Clone, Copy, Debug)]
pub struct Wording<'a> {
    /// The local time.
    pub calendar: &'a dyn Calendar,
    /// What the host is called.
    pub host: &'a str,
}

impl Wording<'_> {
    /// A message; `None`: it is a copy of another one.
    pub fn message(&self, letter: &Letter) -> Option<MessageText> {
        let calendar = self.calendar;
        let (subject, lines) = match &letter.content {
            LetterContent::Incident { incident, reason, age_days, reminder_days } => {
                self.incident(incident, *reason, *age_days, *reminder_days)
            }
            LetterContent::Several { reason, kind, controller, conditions } => {
                self.several(*reason, *kind, controller.as_deref(), conditions)
            }
            LetterContent::Open { now, incidents } => self.open(incidents, show_date(calendar, *now)),
            LetterContent::Test { channel, code } => {
                let channel = channel.clone();
                let test = FrameWords::TestOnly { channel };
                let lines = vec![Line::plain(test), Line::plain(FrameWords::ToProve { code: code.clone() })];
                (SubjectWords::Test { host: self.host.to_owned(), code: code.clone() }.into(), lines)
            }
            LetterContent::Report { channel, code, status, incidents } => {
                let sentence = status::verdict(&status.verdict, calendar);
                let mut lines = vec![Line::plain(sentence.clone())];
                lines.extend(status.lights.iter().map(|light| {
                    let shows = status::light(light, calendar);
                    Line::plain(FrameWords::LightShows { light: light.name.word().to_owned(), shows })
                }));
                let shown = incidents.iter().take(REPORTED_MAX).map(|incident| self.item(incident));
                lines.extend(shown.map(Line::plain));
                if incidents.len() > REPORTED_MAX {
                    lines.push(Line::plain(FrameWords::AndMore { count: incidents.len() - REPORTED_MAX }));
                }
                lines.push(Line::plain(FrameWords::RenewProof { channel: channel.clone(), code: code.clone() }));
                (SubjectWords::Report { host: self.host.to_owned(), sentence }.into(), lines)
            }
            LetterContent::CopyOf(_) => return None,
        };
        let is_said = matches!(&letter.content, LetterContent::Report { status, .. }
            if matches!(status.verdict, StatusVerdict::Blind(..)));
        let blind = letter.blind_since.filter(|_| !is_said).map(|since| status::blind(since, calendar));
        Some(framed(&subject, lines, blind))
    }

    fn incident(
        &self,
        incident: &ToldIncident,
        reason: MessageReason,
        age_days: u64,
        reminder_days: u64,
    ) -> (Said, Vec<Line>) {
        let ToldIncident { condition, opened, .. } = incident;
        let (host, headline) = (self.host.to_owned(), headline(condition, self.calendar));
        let is_old = condition.problem.kind() == IncidentKind::Degraded && age_days > 0;
        let days = Count(age_days, "day");
        let subject = match reason {
            MessageReason::Reminder(number) if is_old => SubjectWords::ReminderSince { host, headline, days, number },
            MessageReason::Reminder(number) => SubjectWords::Reminder { host, headline, number },
            MessageReason::Resolved => SubjectWords::Resolved { host, headline },
            _ if is_old => SubjectWords::ToldSince { host, headline, days },
            _ => SubjectWords::Told { host, headline },
        };
        let time = show_time(self.calendar, *opened);
        let mut body = vec![Line::plain(match reason {
            MessageReason::Resolved => FrameWords::Over { time },
            _ if is_old => FrameWords::DegradedSince { days: Count(age_days, "day"), time },
            _ => FrameWords::Found { time },
        })];
        if reason != MessageReason::Resolved {
            body.extend(lines(condition, self.calendar));
            body.push(Line::of(Label::Next, FrameWords::NextReminder { days: Count(reminder_days, "day") }));
        }
        (subject.into(), body)
    }

    fn several(
        &self,
        reason: MessageReason,
        kind: IncidentKind,
        controller: Option<&str>,
        conditions: &[Condition],
    ) -> (Said, Vec<Line>) {
        let (host, count) = (self.host.to_owned(), conditions.len());
        let controller = controller.map(str::to_owned);
        let urgency = conditions.first().map(|condition| condition.urgency);
        let (subject, mut body) = match urgency.is_some_and(|urgency| is_common_cause(kind, urgency)) {
            true => match controller {
                Some(controller) => (
                    SubjectWords::AtOnceBehind { host, count, controller: controller.clone() },
                    vec![
                        Line::plain(FrameWords::BehindOne { count, controller }),
                        Line::plain(FrameWords::LookAtController),
                    ],
                ),
                None => (
                    SubjectWords::AtOnce { host, count },
                    vec![Line::plain(FrameWords::AtTheSameTime { count }), Line::plain(FrameWords::LookAtPower)],
                ),
            },
            false => {
                let what = match kind {
                    IncidentKind::Unknown => CommonWords::NotKnown,
                    IncidentKind::Failures => CommonWords::RequestsFail,
                    IncidentKind::Unread => CommonWords::Unread,
                    IncidentKind::Stuck => CommonWords::CannotBeScrubbed,
                    _ => CommonWords::ToBeWatched,
                };
                (SubjectWords::Several { host, count, what: what.into() }, common_lines(conditions))
            }
        };
        let items =
            conditions.iter().map(|condition| FrameWords::Item { headline: headline(condition, self.calendar) });
        list(&mut body, items.collect());
        let subject = match reason {
            MessageReason::Reminder(number) => SubjectWords::Again { subject: subject.into(), number },
            _ => subject,
        };
        (subject.into(), body)
    }

    fn open(&self, incidents: &[ToldIncident], date: String) -> (Said, Vec<Line>) {
        let first = incidents.first().map(|incident| headline(&incident.condition, self.calendar));
        let subject = SubjectWords::Open {
            host: self.host.to_owned(),
            count: incidents.len(),
            headline: first.unwrap_or_default(),
        };
        let mut body = vec![Line::plain(FrameWords::NewChannel { date })];
        list(&mut body, incidents.iter().map(|incident| self.item(incident)).collect());
        (subject.into(), body)
    }

    fn item(&self, incident: &ToldIncident) -> FrameWords {
        let (headline, date) =
            (headline(&incident.condition, self.calendar), show_date(self.calendar, incident.opened));
        match incident.is_accepted {
            true => FrameWords::ItemAccepted { headline, date },
            false => FrameWords::ItemSince { headline, date },
        }
    }
}

/// The note below a message that may have arrived before.
pub fn repeated() -> Said {
    FrameWords::Repeated.into()
}

/// Appends items to lines, as many as there is room for.
fn list(lines: &mut Vec<Line>, items: Vec<FrameWords>) {
    let (all, room) = (items.len(), LINES_MAX.saturating_sub(lines.len() + 1));
    lines.extend(items.into_iter().take(room).map(Line::plain));
    if all > room {
        lines.push(Line::plain(FrameWords::AndMore { count: all - room }));
    }
}

/// Cuts a text that is too long, between characters.
fn cut(text: &str, characters: usize) -> String {
    match text.char_indices().nth(characters) {
        None => text.to_owned(),
        Some(_) => text.chars().take(characters - 1).chain(['…']).collect(),
    }
}

/// Puts a message together; `blind`: what its last line says, whatever else there is no room for.
fn framed(subject: &Said, mut lines: Vec<Line>, blind: Option<Said>) -> MessageText {
    let subject: String = subject.chars().map(|char| if char.is_control() { ' ' } else { char }).collect();
    lines.truncate(LINES_MAX);
    // The last line may say how many more there are.
    if blind.is_some() && lines.len() >= LINES_MAX {
        lines.remove(LINES_MAX - 2);
    }
    lines.extend(blind.map(Line::plain));
    let lines: Vec<String> = lines.iter().map(Line::text).collect();
    MessageText { subject: cut(&subject, SUBJECT_MAX), body: lines.join("\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_cut_and_a_subject_is_one_line() {
        let subject = SubjectWords::Test { host: "a\r\nBcc: x".into(), code: "ü".repeat(200) }.into();
        let line = Line::plain(FrameWords::AndMore { count: 1 });
        let text = framed(&subject, vec![line; 30], None);
        assert_eq!(text.subject.chars().count(), SUBJECT_MAX);
        assert!(text.subject.starts_with("[a  Bcc: x") && text.subject.ends_with('…'));
        assert_eq!(text.body.lines().count(), LINES_MAX);
        assert_eq!(cut("short", 120), "short");
    }
}
