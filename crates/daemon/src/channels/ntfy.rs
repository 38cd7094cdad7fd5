//! Pushes by ntfy: the text is the body of a POST, the rest is headers (docs.ntfy.sh/publish).

use super::bounds::TimeBound;
use super::error::{ChannelFault, DeliveryError};
use super::fingerprint::FingerprintMaker;
use super::http::{ChannelUrl, HttpTarget};
use super::outgoing::OutgoingMessage;
use super::route::{AlertRoute, ChannelKind};
use super::secret::SecretText;
use scrubjay_watch::incident::{MessageReason, Urgency};
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;

/// Bytes of a text, at most: a longer one becomes a file to be fetched, or is refused (ntfy's `message-size-limit`: 4096).
const TEXT_MAX: usize = 4096;
/// Characters of an encoded word, at most (RFC 2047, section 2).
const WORD_MAX: usize = 75;

/// The settings `[alert.ntfy]`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NtfySettings {
    /// The topic, such as `https://ntfy.sh/TOPIC`: all who know it can read along, unless the server asks for a token.
    pub url: ChannelUrl,
    /// A file with an access token.
    pub token_file: Option<PathBuf>,
}

impl ChannelKind for NtfySettings {
    fn open(&self, _: &[String]) -> Result<Arc<dyn AlertRoute>, ChannelFault> {
        const URL: &str = "alert.ntfy.url";
        let token = self.token_file.as_ref().map(|path| SecretText::read("alert.ntfy.token-file", path)).transpose()?;
        let target = HttpTarget::new(URL, &self.url, "", token)?;
        if target.path().trim_matches('/').is_empty() {
            let problem = "no topic is named".to_owned();
            return Err(ChannelFault::Wrong { key: URL, problem, advice: "write it as https://ntfy.sh/TOPIC" });
        }
        Ok(Arc::new(NtfyRoute(target)))
    }
}

struct NtfyRoute(HttpTarget);

impl AlertRoute for NtfyRoute {
    fn add_to_fingerprint(&self, maker: &mut FingerprintMaker) {
        self.0.add_to_fingerprint(maker);
    }

    fn peer(&self) -> String {
        self.0.peer()
    }

    fn deliver(&self, message: &OutgoingMessage, bound: &TimeBound) -> Result<String, DeliveryError> {
        let priority = match message.loudness() {
            Urgency::Notice => "3",
            Urgency::Replace => "4",
            Urgency::Loss => "5",
        };
        let tag = match (message.row.reason, message.row.urgency) {
            (MessageReason::Resolved, _) => "white_check_mark",
            (MessageReason::Report | MessageReason::Test, _) | (_, Urgency::Notice) => "information_source",
            (_, Urgency::Replace) => "warning",
            (_, Urgency::Loss) => "rotating_light",
        };
        let mut headers = vec![
            ("Content-Type", "text/plain; charset=utf-8".to_owned()),
            ("Title", encoded(&message.subject)),
            ("Priority", priority.to_owned()),
            ("Tags", tag.to_owned()),
        ];
        if let Some(token) = self.0.secret() {
            headers.push(("Authorization", format!("Bearer {}", token.reveal())));
        }
        self.0.post(&headers, &cut(message.text()), bound)
    }
}

/// Cuts a text to [`TEXT_MAX`].
fn cut(mut text: String) -> String {
    const END: &str = "\n…";
    if text.len() > TEXT_MAX {
        let end = (0..=TEXT_MAX - END.len()).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str(END);
    }
    text
}

/// A header's value: as it is if it is ASCII, else as encoded words (RFC 2047, `Q`), which ntfy understands.
fn encoded(text: &str) -> String {
    const BEGIN: &str = "=?UTF-8?Q?";
    const END: &str = "?=";
    if text.is_ascii() && !text.contains("=?") {
        return text.to_owned();
    }
    let mut words = vec![String::new()];
    for char in text.chars() {
        let mut bytes = [0; 4];
        let coded: String = match char {
            ' ' => "_".to_owned(),
            char if char.is_ascii_alphanumeric() => char.to_string(),
            char => char.encode_utf8(&mut bytes).bytes().map(|byte| format!("={byte:02X}")).collect(),
        };
        let is_full = words.last().is_some_and(|word| word.len() + coded.len() + BEGIN.len() + END.len() > WORD_MAX);
        if is_full {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&coded);
        }
    }
    words.iter().map(|word| format!("{BEGIN}{word}{END}")).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_title_is_ascii_or_encoded_words() {
        assert_eq!(encoded("[nas1] REPLACE bay 3"), "[nas1] REPLACE bay 3");
        assert_eq!(encoded("büro: 3 \u{2026}"), "=?UTF-8?Q?b=C3=BCro=3A_3_=E2=80=A6?=");
        assert_eq!(encoded("=?x"), "=?UTF-8?Q?=3D=3Fx?=");
        let long = encoded(&"ü".repeat(120));
        assert!(long.split(' ').all(|word| word.len() <= WORD_MAX && word.ends_with("?=")), "{long}");
        assert_eq!(long.matches("=C3=BC").count(), 120, "no character is torn");
    }

    #[test]
    fn a_text_that_is_too_long_is_cut_between_characters() {
        assert_eq!(cut("ü".repeat(2048)).len(), TEXT_MAX);
        let text = cut("ü".repeat(2049));
        assert!(text.len() <= TEXT_MAX && text.ends_with("ü\n…"));
    }
}
