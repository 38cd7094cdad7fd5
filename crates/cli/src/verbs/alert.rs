//! `scrubjay alert`: send tests, confirm codes, list channels.

use super::{ask, person};
use crate::args::{AlertArgs, Alerted};
use crate::columns;
use crate::exit::Exit;
use crate::say::{print_line, print_prose};
use anyhow::{Context, Result, bail};
use scrubjay_control::wording::moment;
use scrubjay_control::{AlertDocument, ChannelEntry, WatchAnswer, WatchRequest};
use std::io::{self, Write};
use std::thread;
use std::time::{Duration, Instant};

/// How long a result is awaited: a channel takes a minute at most.
const OUTCOME_MAX: Duration = Duration::from_secs(75);
/// The interval of questions to the watch.
const POLL_INTERVAL: Duration = Duration::from_millis(200);

/// Runs the verb.
pub fn run(args: &AlertArgs) -> Result<Exit> {
    match &args.what {
        Alerted::Test => {
            let mut out = io::stdout().lock();
            if !test(&mut out)? {
                return Ok(Exit::Found);
            }
            writeln!(out, "\nAccepted is not yet arrived. When it has come:  sudo scrubjay alert confirm CODE")?;
            Ok(Exit::Clean)
        }
        Alerted::Confirm { code } => person::send(&WatchRequest::Confirm { code: code.clone() }),
        Alerted::List { json } => list(*json),
        Alerted::Proof => proof(),
    }
}

/// The watch's report about the channels.
pub fn alerts(request: &WatchRequest) -> Result<AlertDocument> {
    match ask(request)? {
        WatchAnswer::Alerts(alerts) => Ok(alerts),
        _ => bail!("the watch answered something else: is it another version?"),
    }
}

/// Sends tests, and waits until each was accepted or not. Returns whether all were.
pub fn test(out: &mut impl Write) -> Result<bool> {
    let before = alerts(&WatchRequest::Alerts)?;
    let sent = alerts(&WatchRequest::TestAlerts)?;
    // Numbers rise: a message written before is not this test, though it may be sent first.
    let newest = before.channels.iter().filter_map(|channel| Some(channel.last.as_ref()?.message));
    let newest = newest.chain(before.waiting.iter().copied()).max();
    let mut waiting: Vec<String> = sent.channels.iter().map(|channel| channel.name.clone()).collect();
    let begun = Instant::now();
    let mut is_all_accepted = true;
    while !waiting.is_empty() && begun.elapsed() < OUTCOME_MAX {
        let now = alerts(&WatchRequest::Alerts)?;
        for channel in &now.channels {
            let is_new = channel.last.as_ref().is_some_and(|last| Some(last.message) > newest);
            let Some(index) = waiting.iter().position(|name| *name == channel.name).filter(|_| is_new) else {
                continue;
            };
            waiting.remove(index);
            is_all_accepted &= channel.last.as_ref().is_some_and(|last| last.is_accepted);
            print_prose(out, "", &outcome(channel), columns::width())?;
        }
        thread::sleep(POLL_INTERVAL);
    }
    for name in &waiting {
        print_line(out, format_args!("{name}: nothing was heard yet; it is tried again: scrubjay alert list"))?;
    }
    Ok(is_all_accepted && waiting.is_empty())
}

/// The result of a channel's last attempt.
fn outcome(channel: &ChannelEntry) -> String {
    match &channel.last {
        Some(last) if last.is_accepted => {
            format!("{}: accepted in {:.1} s: {}", channel.name, last.millis as f64 / 1000.0, last.said)
        }
        Some(last) => format!("{}: not accepted: {}", channel.name, last.said),
        None => format!("{}: not used yet", channel.name),
    }
}

/// Prints what proves the same settings on other machines.
fn proof() -> Result<Exit> {
    let alerts = alerts(&WatchRequest::Alerts)?;
    let lines: Vec<String> = alerts.channels.into_iter().filter_map(|channel| channel.proof_line).collect();
    let mut out = io::stdout().lock();
    if lines.is_empty() {
        writeln!(out, "No channel is proven here: sudo scrubjay alert test")?;
        return Ok(Exit::Found);
    }
    writeln!(out, "[alert]\nproofs = {}", serde_json::to_string(&lines).context("the proofs")?)?;
    Ok(Exit::Clean)
}

const HEADINGS: [&str; 4] = ["CHANNEL", "PROOF", "LAST ACCEPTED", "LAST ATTEMPT"];

fn list(json: bool) -> Result<Exit> {
    let alerts = alerts(&WatchRequest::Alerts)?;
    let mut out = io::stdout().lock();
    if json {
        writeln!(out, "{}", serde_json::to_string(&alerts).context("the channels as JSON")?)?;
        return Ok(Exit::Clean);
    }
    if alerts.channels.is_empty() {
        writeln!(out, "There is no channel, so no alert is sent. To set one up:  scrubjay setup")?;
        return Ok(Exit::Found);
    }
    let rows: Vec<Vec<String>> = alerts
        .channels
        .iter()
        .map(|channel| {
            let delivered = channel.delivered.map_or("never".to_owned(), moment);
            let last = channel.last.as_ref().map_or("-".to_owned(), |last| last.said.clone());
            vec![channel.name.clone(), channel.proof.clone().into(), delivered, last]
        })
        .collect();
    columns::print(&HEADINGS, &["LAST ACCEPTED"], &rows, columns::width(), &mut out)?;
    if !alerts.waiting.is_empty() {
        writeln!(out, "\n{} messages wait to be accepted; they are tried again", alerts.waiting.len())?;
    }
    let is_well = alerts.channels.iter().all(|channel| channel.failing_since.is_none());
    Ok(if is_well { Exit::Clean } else { Exit::Found })
}
