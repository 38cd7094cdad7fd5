//! A message to be sent: the parts that all kinds of channels share, and nothing that could be taken for a header.

use scrubjay_core::units::UnixSeconds;
use scrubjay_watch::facts::DiskFacts;
use scrubjay_watch::incident::{IncidentSubject, MessageReason, Urgency};
use scrubjay_watch::rows::MessageRow;
use scrubjay_words::MessageText;

/// Facts for a message that the watch's row does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SenderFacts {
    /// The machine's name: for the sender, and for servers that ask for it.
    pub host: String,
    /// The disk of its incident, if that is of one that is known.
    pub disk: Option<DiskFacts>,
    /// When its incident opened.
    pub opened: Option<UnixSeconds>,
}

/// A message with facts that its row does not have.
pub(crate) struct OutgoingMessage {
    /// The message's row.
    pub(crate) row: MessageRow,
    /// Its subject: one line.
    pub(crate) subject: String,
    /// What it says.
    pub(crate) body: String,
    /// The facts about its sender.
    pub(crate) sender: SenderFacts,
}

impl OutgoingMessage {
    /// A message that is safe to send: its subject and the name of the host are one line.
    pub(crate) fn new(row: MessageRow, text: &MessageText, sender: SenderFacts) -> OutgoingMessage {
        let (subject, body) = (one_line(text.subject()), text.body().to_owned());
        let sender = SenderFacts { host: one_line(&sender.host), ..sender };
        OutgoingMessage { row, subject, body, sender }
    }

    /// The text. A note that the message may be a repetition stands at its end.
    pub(crate) fn text(&self) -> String {
        let body: String = self.body.chars().filter(|char| !char.is_control() || matches!(char, '\n' | '\t')).collect();
        if self.row.may_be_repeated { format!("{body}\n\n{}", scrubjay_words::repeated()) } else { body }
    }

    /// The name of the host in a form for mail and greetings: letters, digits, dots and hyphens.
    pub(crate) fn host_name(&self) -> String {
        let name: String = self.sender.host.chars().map(|char| if is_name_char(char) { char } else { '-' }).collect();
        let name = name.trim_matches(['-', '.']);
        if name.is_empty() { "localhost".to_owned() } else { name.to_owned() }
    }

    /// The reason for the message, in one word.
    pub(crate) fn reason(&self) -> &'static str {
        match self.row.reason {
            MessageReason::Opened => "opened",
            MessageReason::Grown => "grown",
            MessageReason::Reminder(_) => "reminder",
            MessageReason::Resolved => "resolved",
            MessageReason::Report => "report",
            MessageReason::Test => "test",
        }
    }

    /// The number of the reminder, if it is one.
    pub(crate) fn reminder(&self) -> Option<u32> {
        if let MessageReason::Reminder(number) = self.row.reason { Some(number) } else { None }
    }

    /// How loud the message is to be: the end of an incident, reports and tests are not loud.
    pub(crate) fn loudness(&self) -> Urgency {
        match self.row.reason {
            MessageReason::Resolved | MessageReason::Report | MessageReason::Test => Urgency::Notice,
            MessageReason::Opened | MessageReason::Grown | MessageReason::Reminder(_) => self.row.urgency,
        }
    }
}

/// The kind of an incident's subject, in one word, and its name.
pub(crate) fn subject_words(subject: &IncidentSubject) -> (&'static str, &str) {
    match subject {
        IncidentSubject::Disk(key) => ("disk", &key.0),
        IncidentSubject::Array(uuid) => ("array", uuid),
        IncidentSubject::Channel(name) => ("channel", name),
        IncidentSubject::Watch => ("watch", "history"),
    }
}

fn is_name_char(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '.' | '-')
}

/// Replaces control characters, line separators and characters that turn the direction of writing: no text begins a
/// second header.
pub(crate) fn one_line(text: &str) -> String {
    let is_bad = |char: char| char.is_control() || matches!(char, '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}');
    text.chars().map(|char| if is_bad(char) { ' ' } else { char }).collect()
}

/// The other side's reply for an error or a receipt: one line, not too long.
pub(crate) fn excerpt(text: &str) -> String {
    const CHARACTERS: usize = 200;
    let words: Vec<&str> = text.split(|char: char| char.is_whitespace() || char.is_control()).collect();
    let line = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(CHARACTERS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}

/// The system's error without its number.
pub(crate) fn system_words(error: &std::io::Error) -> String {
    let words = error.to_string();
    match words.split_once(" (os error") {
        Some((words, _)) => words.to_lowercase(),
        None => words,
    }
}

/// A valid Message-ID, whatever the name of the host: one `@` between two runs of what RFC 5322 calls atext and dots.
/// The same for the same text, so that threads hold.
pub(crate) fn message_id(text: &str) -> String {
    let bare = text.trim().trim_start_matches('<').trim_end_matches('>');
    let (left, right) = bare.rsplit_once('@').unwrap_or((bare, "localhost"));
    let atoms = |part: &str| {
        let is_atom = |char: char| char.is_ascii_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(char);
        let part: String = part.chars().map(|char| if is_atom(char) { char } else { '-' }).collect();
        let runs: Vec<&str> = part.split('.').filter(|run| !run.is_empty()).collect();
        if runs.is_empty() { "scrubjay".to_owned() } else { runs.join(".") }
    };
    format!("<{}@{}>", atoms(left), atoms(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_id_is_well_formed_and_the_same_for_the_same_text() {
        assert_eq!(message_id("<scrubjay-7.email@nas1>"), "<scrubjay-7.email@nas1>");
        assert_eq!(message_id("<scrubjay-7.email@nas 1\r\nBcc: x@y>"), "<scrubjay-7.email-nas-1--Bcc--x@y>");
        assert_eq!(message_id("<a@b@c..d.>"), "<a-b@c.d>");
        assert_eq!(
            (message_id("").as_str(), message_id("<@>").as_str()),
            ("<scrubjay@localhost>", "<scrubjay@scrubjay>")
        );
        assert_eq!(message_id("<1@büro>"), "<1@b-ro>");
    }

    #[test]
    fn a_reply_is_shortened_to_one_line_of_bounded_length() {
        assert_eq!(excerpt(" 5.7.8 no:\r\n\tno\0 way "), "5.7.8 no: no way");
        assert_eq!(excerpt(&"ü".repeat(500)).chars().count(), 201);
        assert_eq!(one_line("a\r\nBcc: x\u{2028}y\u{202e}z"), "a  Bcc: x y z");
    }
}
