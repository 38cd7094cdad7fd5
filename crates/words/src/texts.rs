//! The words of the messages that wait: each is put in words once, when the pump takes it from the machine, and kept and sent so.

use crate::letter::{MessageText, Wording};
use scrubjay_watch::letter::LetterContent;
use scrubjay_watch::rows::{RowKey, WatchRow};
use std::collections::BTreeMap;

/// The words of messages, by their numbers.
#[derive(Clone, Debug, Default)]
pub struct MessageTexts(BTreeMap<u64, MessageText>);

impl MessageTexts {
    /// Those that were kept before.
    pub fn kept(texts: impl IntoIterator<Item = (u64, MessageText)>) -> MessageTexts {
        MessageTexts(texts.into_iter().collect())
    }

    /// Puts those in words that are new among rows that are to be kept.
    pub fn word(&mut self, rows: &[WatchRow], wording: &Wording<'_>) {
        for row in rows {
            let WatchRow::Message(row) = row else { continue };
            let Some(letter) = &row.letter else { continue };
            let text = match letter.content {
                LetterContent::CopyOf(number) => self.0.get(&number).cloned(),
                _ => wording.message(letter),
            };
            self.0.insert(row.number, text.unwrap_or_default());
        }
    }

    /// Is the message of this number in words?
    pub fn has(&self, number: u64) -> bool {
        self.0.contains_key(&number)
    }

    /// The words of the message of this number; empty: there is none.
    pub fn of(&self, number: u64) -> MessageText {
        self.0.get(&number).cloned().unwrap_or_default()
    }

    /// Forgets those whose rows were dropped.
    pub fn forget(&mut self, dropped: &[RowKey]) {
        for key in dropped {
            if let RowKey::Message(number) = key {
                self.0.remove(number);
            }
        }
    }
}
