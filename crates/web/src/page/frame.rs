//! The frame of every page: its head, the age of its data, and its foot.

use super::tone;
use super::view::PageView;
use crate::assets::{ICON, SCRIPT, STYLE};
use crate::feed::PictureTime;
use maud::{DOCTYPE, Markup, html};
use scrubjay_control::wording::moment;
use scrubjay_watch::status::{LightColour, LightName};

/// The tone of the whole page: that of the worst light.
pub fn worst(view: &PageView<'_>) -> &'static str {
    let tones = view.status.lights.iter().map(|light| tone::of_light(light.colour, view.time()));
    let rank = |tone: &&str| match *tone {
        "act" => 0,
        "look" => 1,
        "unknown" => 2,
        "good" | "was" => 3,
        _ => 4,
    };
    let worst = tones.min_by_key(rank).unwrap_or("unknown");
    // A state that a person has accepted raises no alarm; but it is not well.
    let is_open = view.status.incidents.iter().any(|incident| !incident.is_accepted);
    let is_silent =
        view.status.lights.iter().any(|light| light.name == LightName::Alerts && light.colour == LightColour::Red);
    if worst == "act" && !is_open && !is_silent { "look" } else { worst }
}

/// A page in its frame.
pub fn page(view: &PageView<'_>, title: &str, body: &Markup) -> Markup {
    let status = view.status;
    let is_recording = view.time() == PictureTime::Recorded;
    let title = if is_recording { format!("Recording: {title}") } else { title.to_owned() };
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(&title))
            body.recording[is_recording] data-number=(view.picture.number) {
                a.skip href="#main" { "To the content" }
                header {
                    a.home href="/" { (status.host) }
                    span.when {
                        @if is_recording { "a recording of " (moment(status.time)) }
                        @else { (moment(status.time)) " · data " (age(view.picture.age())) " old" }
                    }
                }
                main #main {
                    @if let Some(result) = view.action_result { p.said role="status" { (result) } }
                    (staleness(view))
                    (body)
                }
                footer {
                    p {
                        @if is_recording { "A recording of " (moment(status.time)) } @else { "Data " (age(view.picture.age())) " old, of " (moment(status.time)) }
                        ". Scrubjay " (status.version) ". "
                        @match (view.session, view.has_key && !is_recording) {
                            (Some(session), _) => {
                                form.inline method="post" action="/logout" {
                                    input type="hidden" name="form" value=(session.form_mark);
                                    "You may act on this page. " button.plain { "Log out" }
                                }
                            }
                            (None, true) => { "Read only. To act here: " code { "sudo scrubjay web --print-link" } }
                            (None, false) => { "Read only." }
                        }
                    }
                    p.keys hidden { kbd { "?" } " shows what keys do" }
                }
                (keys())
            }
        }
    }
}

fn head(title: &str) -> Markup {
    html! {
        head {
            meta charset="utf-8";
            meta name="viewport" content="width=device-width, initial-scale=1";
            meta name="color-scheme" content="light dark";
            meta name="robots" content="noindex";
            title { (title) }
            link rel="icon" type="image/svg+xml" href=(ICON.path);
            link rel="stylesheet" href=(STYLE.path);
            script src=(SCRIPT.path) defer {}
        }
    }
}

/// A page with a single message.
pub fn message(title: &str, words: &str, command: Option<&str>) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            (head(title))
            body {
                header { a.home href="/" { "Scrubjay" } }
                main #main {
                    h1.sentence { span.dot.unknown {} span { (title) } }
                    p { (words) }
                    @if let Some(command) = command { p { code { (command) } } }
                }
            }
        }
    }
}

/// A note if the page does not show the present state.
fn staleness(view: &PageView<'_>) -> Markup {
    let why = view.picture.trouble.as_deref().unwrap_or("the watch does not answer in time");
    html! {
        @if view.time() == PictureTime::Recorded {
            p.stale role="note" {
                strong { "This is a recording. " } "It shows how a machine was on " (moment(view.status.time)) "; no machine is watched here, nothing can be done to it, and its commands are not for yours."
            }
        } @else if view.status.is_blind {
            p.stale role="alert" { strong { (view.sentence()) } }
        } @else if view.time() == PictureTime::Old {
            p.stale role="alert" {
                strong { "What follows was so " (age(view.picture.age())) " ago, and may not be any more. " }
                (why)
            }
        }
    }
}

/// An age in words: `40 s`, `5 min`.
pub fn age(seconds: u64) -> String {
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

fn keys() -> Markup {
    html! {
        dialog #keys aria-label="Keys" {
            dl {
                dt { kbd { "j" } " " kbd { "k" } } dd { "the next disk, the one before; " kbd { "Enter" } " opens it" }
                dt { kbd { "/" } } dd { "filter the disks" }
                dt { kbd { "h" } } dd { "the first page" }
                dt { kbd { "?" } } dd { "this; " kbd { "Esc" } " closes it" }
            }
            form method="dialog" { button { "Close" } }
        }
    }
}

/// Words, and what to type, set as code.
pub fn with_command(words: &str, command: Option<&str>) -> Markup {
    html! { (words) @if let Some(command) = command { ": " code { (command) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_marked_as_code() {
        let shown = with_command("set up a channel for alerts", Some("sudo scrubjay setup")).into_string();
        assert_eq!(shown, "set up a channel for alerts: <code>sudo scrubjay setup</code>");
        assert_eq!(with_command("a <b>: x", None).into_string(), "a &lt;b&gt;: x");
        assert_eq!([age(0), age(119), age(120), age(7200)], ["0 s", "119 s", "2 min", "2 h"]);
    }
}
