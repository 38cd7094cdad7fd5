//! The front page, in this order: the sentence, what to do now, arrays, disks, what is being read, the last twelve months.

use super::actions::BackTo;
use super::frame::{self, with_command};
use super::view::PageView;
use super::{actions, bays, disks, timeline, tone};
use crate::feed::PictureTime;
use crate::http::request::encoded;
use maud::{Markup, html};
use scrubjay_control::wording::{self, ago, array_checked, array_now, can_lose, date, disk_called, pool_found};
use scrubjay_control::{
    ArrayEntry, ChannelEntry, DoNowEntry, IncidentEntry, ReadingActivity, ReadingEntry, WatchDocument,
};
use scrubjay_core::quantity::{show_count, show_time};
use scrubjay_core::units::Nanos;
use scrubjay_watch::facts::ArrayKind;
use scrubjay_watch::incident::IncidentKind;
use scrubjay_words::{mismatched, typed};

/// Disks that are listed one by one, at most; more are shown as a map, as in the terminal.
const LISTED_MAX: usize = 24;

/// Draws the page.
pub fn page(view: &PageView<'_>) -> Markup {
    let status = view.status;
    let body = html! {
        (safe(view))
        (to_do(view))
        (arrays(status))
        @match status.disks.len() {
            0 => { section { h2 { "Disks" } p { "No disk is seen. " code { "sudo scrubjay doctor" } " says why." } } }
            1 if status.arrays.is_empty() => (disks::single(view, &status.disks[0])),
            count if count <= LISTED_MAX => (disks::section(view)),
            _ => (bays::section(view)),
        }
        (reading(status))
        (timeline::year(view))
        (channels(view))
        (rest(status))
        (actions::all(view))
    };
    // The frame marks a recording as such.
    let sentence = if view.time() == PictureTime::Recorded { status.sentence.clone().into() } else { view.sentence() };
    frame::page(view, &format!("{}: {sentence}", status.host), &body)
}

fn safe(view: &PageView<'_>) -> Markup {
    let status = view.status;
    html! {
        section.safe aria-label="Am I safe?" {
            h1.sentence { span class={ "dot " (frame::worst(view)) } {} span { (view.sentence()) } }
            ul.lights {
                @for light in &status.lights {
                    li class=(tone::of_light(light.colour, view.time())) {
                        b { (light.name.word()) } " " span { (light.words) }
                    }
                }
            }
        }
    }
}

fn to_do(view: &PageView<'_>) -> Markup {
    let status = view.status;
    let accepted = wording::accepted(status);
    let DoNowEntry { first, more } = status.things_to_do();
    html! {
        @if !first.is_empty() {
            section.todo aria-labelledby="todo" {
                h2 #todo { "Do now" }
                ol {
                    @for thing in &first {
                        @let incident = thing.incident.and_then(|place| status.incidents.get(place));
                        li {
                            p {
                                (with_command(&thing.words, thing.command.as_deref()))
                                @if let Some(incident) = incident { " " (since(incident)) }
                            }
                            @if let Some(incident) = incident {
                                (incident_commands(status, incident))
                                (scrub_now(view, incident))
                                (actions::accept(view, &incident.subject, &incident.headline, BackTo::Front))
                            }
                        }
                    }
                    @if more > 0 { li.more { "and " (more) " more" } }
                }
            }
        }
        @if !accepted.is_empty() {
            section aria-labelledby="accepted" {
                h2 #accepted { "Accepted" }
                ul.plain { @for line in &accepted { li { (line) } } }
            }
        }
    }
}

fn since(incident: &IncidentEntry) -> Markup {
    html! { span.soft { "since " (date(incident.since)) } }
}

/// The link and the commands for an incident.
fn incident_commands(status: &WatchDocument, incident: &IncidentEntry) -> Markup {
    let disk = status.disks.iter().find(|disk| disk.key == incident.subject);
    let array = status.arrays.iter().find(|array| array.key == incident.subject);
    html! {
        @if let Some(array) = array {
            p.how {
                @if array.members.iter().any(Option::is_none) || array.redundancy_left < array.redundancy as i64 {
                    "Put another disk in, and rebuild it · "
                }
                code { "sudo scrubjay accept " (typed(&array.name)) } " is silent until it grows"
            }
        }
        @if let Some(disk) = disk {
            p.how {
                a href={ "/d/" (encoded(&disk.key)) } { "Why, and what is known" } " · "
                code { "sudo scrubjay locate " (typed(disk.serial.as_deref().unwrap_or(&disk.key))) } " finds it · "
                code { "sudo scrubjay accept " (typed(&disk.key)) } " is silent until it grows"
            }
        }
    }
}

/// The button to read a subject whose problem is that it was not read.
fn scrub_now(view: &PageView<'_>, incident: &IncidentEntry) -> Markup {
    let status = view.status;
    let disk = status.disks.iter().find(|disk| disk.key == incident.subject && disk.name.is_some());
    let array = status.arrays.iter().find(|array| array.key == incident.subject && array.is_there);
    let reading = disk.map(|disk| &disk.reading).or_else(|| array?.check.as_ref());
    html! {
        @if let Some(reading) = reading.filter(|_| incident.kind == IncidentKind::Unread) {
            (actions::scrub_now(view, reading, &incident.subject, &incident.headline, BackTo::Front))
        }
    }
}

fn arrays(status: &WatchDocument) -> Markup {
    html! {
        @if !status.arrays.is_empty() {
            section aria-labelledby="arrays" {
                h2 #arrays { "Arrays" }
                table.cards {
                    thead { tr {
                        th { "Array" } th { "Level" } th { "Members" } th { "Can lose" } th { "Last full check" }
                        th { "Found by checks" } th { "Now" }
                    } }
                    tbody { @for array in &status.arrays { (array_row(array, status.time)) } }
                }
                @for (name, exposure) in status.arrays.iter().filter_map(|array| Some((&array.name, array.exposure.as_ref()?))) {
                    p.soft { (name) ": " (exposure) "." }
                }
            }
        }
    }
}

fn array_row(array: &ArrayEntry, now: u64) -> Markup {
    let present = array.members.iter().flatten().count();
    let members: Vec<&str> = array.members.iter().map(|member| member.as_deref().unwrap_or("-")).collect();
    let is_whole = array.is_there && array.redundancy_left >= array.redundancy as i64;
    html! {
        tr {
            th scope="row" data-h="Array" { (array.name) }
            td data-h="Level" { (array.level) }
            td data-h="Members" title=(members.join(" ")) { (present) " of " (array.members.len()) }
            td data-h="Can lose" { span class=(if is_whole { "plain" } else { "act" }) { (can_lose(array)) } }
            td class=(check_class(array)) data-h="Last full check" { (array_checked(array, now)) }
            td class=(check_class(array)) data-h="Found by checks" { (found(array)) }
            td data-h="Now" { (array_now(array)) }
        }
    }
}

/// The class of a cell: on a phone those without content are left out.
fn check_class(array: &ArrayEntry) -> &'static str {
    match &array.pool {
        Some(pool) if pool.lost_blocks.is_some_and(|blocks| blocks > 0) => "act",
        None if array.check.is_none() => "nothing",
        _ => "plain",
    }
}

/// Findings of checks. Corrupt is not unreadable: each has its own words and its own count.
fn found(array: &ArrayEntry) -> String {
    if let Some(pool) = &array.pool {
        return pool_found(pool);
    }
    let Some(check) = &array.check else { return "-".to_owned() };
    let mismatched = mismatched(ArrayKind::of_level(&array.level));
    let counts = [
        (check.corrected, "corrupt, corrected"),
        (check.mismatched, &*mismatched),
        (check.unreadable, "unreadable, lost"),
    ];
    let found: Vec<String> = counts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{} {kind}", show_count(count)))
        .collect();
    match (found.is_empty(), check.oldest_read) {
        (false, _) => found.join(", "),
        (true, Some(_)) => "nothing".to_owned(),
        (true, None) => "not one check is over".to_owned(),
    }
}

/// What is being read, and the slowdown of foreground requests.
fn reading(status: &WatchDocument) -> Markup {
    let disks = status.disks.iter().map(|disk| (disk_called(disk), &disk.reading));
    let checks =
        status.arrays.iter().filter_map(|array| Some((format!("array {}", array.name), array.check.as_ref()?)));
    let now: Vec<(String, &ReadingEntry)> =
        disks.chain(checks).filter(|(_, reading)| reading.activity != ReadingActivity::Held).collect();
    let all: Vec<&ReadingEntry> = status
        .disks
        .iter()
        .map(|disk| &disk.reading)
        .chain(status.arrays.iter().filter_map(|array| array.check.as_ref()))
        .collect();
    let next_due = all.iter().map(|reading| reading.due).min();
    html! {
        section aria-labelledby="scrubs" {
            h2 #scrubs { "Being read now" }
            @if now.is_empty() {
                p {
                    "Nothing. "
                    @if let Some(until) = status.paused_until { "Paused until " (wording::moment(until)) ". " }
                    @if let Some(due) = next_due {
                        @if due <= status.time { "Some sectors are overdue." }
                        @else { "The next sector is due on " (date(due)) "." }
                    }
                }
            } @else {
                table.cards {
                    thead { tr { th { "What" } th { "Read" } th { "Doing" } th { "Slowdown of others, on average" } th { "Ends, most likely" } } }
                    tbody { @for (name, reading) in &now { (reading_row(name, reading)) } }
                }
                @for (name, reading) in &now {
                    @for note in &reading.notes { p.soft { (name) ": " (note) } }
                }
            }
        }
    }
}

fn reading_row(name: &str, reading: &ReadingEntry) -> Markup {
    let share = reading.pass_share.map(|share| (share * 100.0).clamp(0.0, 100.0));
    let activity = match (reading.activity, &reading.why) {
        (ReadingActivity::Reading, _) => "reading".to_owned(),
        (_, Some(why)) => why.clone().into(),
        (_, None) => "waiting".to_owned(),
    };
    let budget = show_time(Nanos(reading.budget_nanos));
    html! {
        tr {
            th scope="row" data-h="What" { (name) }
            td data-h="Read" {
                @if let Some(share) = share {
                    progress max="100" value=(format!("{share:.1}")) aria-label={ "read of " (name) } {}
                    " " (format!("{:.0} %", share.floor()))
                } @else { "-" }
            }
            td data-h="Doing" { (activity) }
            td data-h="Slowdown of others" {
                @match reading.slowdown_nanos {
                    Some(lost) => { (show_time(Nanos(lost))) " of " (budget) " allowed" }
                    None if reading.is_blind => { "not known: others cannot be seen here, nor spared" }
                    None => { "no other requests were seen; " (budget) " allowed" }
                }
            }
            td data-h="Ends" { @if let Some(ends) = reading.forecast { (date(ends.likely)) } @else { "-" } }
        }
    }
}

fn channels(view: &PageView<'_>) -> Markup {
    let status = view.status;
    html! {
        @if !status.channels.is_empty() {
            section aria-labelledby="alerts" {
                h2 #alerts { "Alerts" }
                table.cards {
                    thead { tr { th { "Channel" } th { "Proof" } th { "Last accepted" } th { "Last answer" } } }
                    tbody { @for channel in &status.channels { (channel_row(channel, status.time)) } }
                }
            }
        }
    }
}

fn channel_row(channel: &ChannelEntry, now: u64) -> Markup {
    let is_failing = channel.failing_since.is_some();
    html! {
        tr {
            th scope="row" data-h="Channel" { (channel.name) }
            td data-h="Proof" { (channel.proof) }
            td data-h="Last accepted" { (ago(now, channel.delivered)) }
            td data-h="Last answer" {
                @match (&channel.last, channel.failing_since) {
                    (Some(last), _) => { span class=(if is_failing { "act" } else { "plain" }) { (last.said) } }
                    (None, Some(since)) => { span.act { "failing since " (date(since)) } }
                    (None, None) => "-",
                }
            }
        }
    }
}

fn rest(status: &WatchDocument) -> Markup {
    let lines = wording::rest(status);
    html! {
        @if !lines.is_empty() || !status.others.is_empty() {
            section aria-labelledby="rest" {
                h2 #rest { "Also" }
                ul.plain {
                    @for line in &lines { li { (with_command(&line.words, line.command)) } }
                    @for other in &status.others { li { "Another scrubber runs here: " (other) } }
                }
            }
        }
    }
}
