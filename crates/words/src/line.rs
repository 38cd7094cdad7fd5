//! The lines of a message: a label in its column, and a sentence.

use crate::sentence::Said;

/// How wide the column of labels is, with a blank behind it.
const COLUMN: usize = 10;

/// What a line of a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Label {
    Array,
    Aside,
    AtRisk,
    Disk,
    Do,
    Drive,
    Errors,
    File,
    Forecast,
    HeldBack,
    Help,
    Kept,
    Lost,
    Meaning,
    Missing,
    Next,
    Noticed,
    Now,
    Place,
    Quiet,
    Read,
    Refused,
    Scrubbed,
    Sign,
    State,
    Stripe,
    Unknown,
    Where,
    Why,
    /// The same as the line above.
    More,
}

impl Label {
    fn word(self) -> &'static str {
        match self {
            Label::Array => "Array",
            Label::Aside => "Aside",
            Label::AtRisk => "At risk",
            Label::Disk => "Disk",
            Label::Do => "Do",
            Label::Drive => "Drive",
            Label::Errors => "Errors",
            Label::File => "File",
            Label::Forecast => "Forecast",
            Label::HeldBack => "Held back",
            Label::Help => "Help",
            Label::Kept => "Kept",
            Label::Lost => "Lost",
            Label::Meaning => "Meaning",
            Label::Missing => "Missing",
            Label::Next => "Next",
            Label::Noticed => "Noticed",
            Label::Now => "Now",
            Label::Place => "Place",
            Label::Quiet => "Quiet",
            Label::Read => "Read",
            Label::Refused => "Refused",
            Label::Scrubbed => "Scrubbed",
            Label::Sign => "Sign",
            Label::State => "State",
            Label::Stripe => "Stripe",
            Label::Unknown => "Unknown",
            Label::Where => "Where",
            Label::Why => "Why",
            Label::More => "",
        }
    }
}

/// A line of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// `None`: the whole line is the sentence.
    label: Option<Label>,
    /// Its number, if it is one of several steps.
    number: Option<usize>,
    said: Said,
}

impl Line {
    /// A line with a label.
    pub fn of(label: Label, said: impl Into<Said>) -> Line {
        Line { label: Some(label), number: None, said: said.into() }
    }

    /// A line without one.
    pub fn plain(said: impl Into<Said>) -> Line {
        Line { label: None, number: None, said: said.into() }
    }

    /// Its text.
    pub fn text(&self) -> String {
        let number = self.number.map_or(String::new(), |number| format!("{number}. "));
        match self.label {
            Some(label) => format!("{:COLUMN$}{number}{}", label.word(), self.said),
            None => self.said.clone().into(),
        }
    }
}

/// What to do, one step after the other.
pub(crate) fn steps(steps: impl IntoIterator<Item = Said>) -> impl Iterator<Item = Line> {
    steps.into_iter().enumerate().map(|(index, said)| {
        let label = if index == 0 { Label::Do } else { Label::More };
        Line { label: Some(label), number: Some(index + 1), said }
    })
}
