//! A person's actions on the page, as forms: each carries the mark of the session for which it was made.

use super::view::PageView;
use maud::{Markup, html};
use scrubjay_control::{ReadingActivity, ReadingEntry};
use scrubjay_words::typed;

/// The page to which a form leads back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackTo {
    /// The front page.
    Front,
    /// The page of the disk that the form is about.
    Disk,
}

impl BackTo {
    fn word(self) -> &'static str {
        match self {
            BackTo::Front => "front",
            BackTo::Disk => "disk",
        }
    }
}

/// A button, with its command, that has a disk read or an array checked out of its turn; only if it is not being read.
pub fn scrub_now(
    view: &PageView<'_>,
    reading: &ReadingEntry,
    subject: &str,
    subject_name: &str,
    back: BackTo,
) -> Markup {
    let verb = if view.status.arrays.iter().any(|array| array.key == subject) { "checks" } else { "reads" };
    html! {
        @if reading.activity == ReadingActivity::Held {
            p.how { code { "sudo scrubjay scrub-now " (typed(subject)) } " " (verb) " it now, not when it is due" }
            (form(view, "/do/scrub-now", subject, back, ("Scrub now", subject_name)))
        }
    }
}

/// A button that accepts the open incidents of a subject.
pub fn accept(view: &PageView<'_>, subject: &str, subject_name: &str, back: BackTo) -> Markup {
    form(view, "/do/accept", subject, back, ("Accept until it grows", subject_name))
}

/// A button about a subject, for a session; `words`: its label, and its subject for screen readers.
fn form(view: &PageView<'_>, action: &str, subject: &str, back: BackTo, words: (&str, &str)) -> Markup {
    html! {
        @if let Some(session) = view.session {
            form.inline method="post" action=(action) {
                input type="hidden" name="form" value=(session.form_mark);
                input type="hidden" name="subject" value=(subject);
                input type="hidden" name="back" value=(back.word());
                button aria-label={ (words.0) ": " (words.1) } { (words.0) }
            }
            " "
        }
    }
}

/// All other actions.
pub fn all(view: &PageView<'_>) -> Markup {
    let Some(session) = view.session else { return html! {} };
    let mark = html! { input type="hidden" name="form" value=(session.form_mark); };
    html! {
        section.acts aria-labelledby="acts" {
            h2 #acts { "Act" }
            div.forms {
                @if view.status.paused_until.is_some() {
                    form method="post" action="/do/resume" { (mark) button { "Resume reading" } }
                } @else {
                    form method="post" action="/do/pause" {
                        (mark)
                        label { "Read nothing for "
                            select name="seconds" {
                                option value="7200" { "2 hours" }
                                option value="28800" { "8 hours" }
                                option value="86400" { "1 day" }
                                option value="604800" { "1 week" }
                            }
                        }
                        " " button { "Pause" }
                    }
                }
                @if !view.status.channels.is_empty() {
                    form method="post" action="/do/test" { (mark) button { "Send a test alert" } }
                    form method="post" action="/do/confirm" {
                        (mark)
                        label { "The code that came "
                            input name="code" inputmode="numeric" autocomplete="off" maxlength="6" size="6" required;
                        }
                        " " button { "Confirm" }
                    }
                }
            }
        }
    }
}
