//! `scrubjay volume status`, `findings`, `fail`, `replace`, `readd`, `stop`: commands to a running volume.

use super::document::{document, versioned};
use super::serve::print_final_state;
use crate::args::volume::{EventsArgs, Fail, FindingsArgs, Readd, Replace, StatusArgs, StopArgs};
use crate::columns::{self, TextTable};
use crate::exit::{Exit, Usage};
use crate::say::{print_folded, print_line, print_prose};
use anyhow::{Result, bail};
use scrubjay_control::wording::moment;
use scrubjay_core::finding::{Finding, Resolution};
use scrubjay_core::quantity::show_count;
use scrubjay_core::units::Bytes;
use scrubjay_jobs::JobError;
use scrubjay_jobs::sockets::{find, remove_stale_socket, sockets, status_of, tell};
use scrubjay_serve::remote::client::{ClientError, ControlClient};
use scrubjay_serve::volume::commands::{
    self, CommandAnswer, MemberEvent, MemberStatus, Occupied, VolumeCommand, VolumeEvent, VolumeEvents,
};
use scrubjay_serve::volume::conditions::{MemberCondition, VolumeCondition};
use scrubjay_serve::volume::finding_words::FindingWords;
use scrubjay_words::{self as words, WrongWords};
use serde::Serialize;
use std::io::{self, Write};
use std::iter;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long the end of a server that has closed its volume is awaited.
const STOP_TIMEOUT: Duration = Duration::from_secs(30);

/// Prints the status of volumes.
pub fn status(args: &StatusArgs) -> Result<Exit> {
    let sockets = match &args.volume {
        Some(volume) => vec![find(Some(volume))?],
        None => sockets()?,
    };
    let mut out = io::stdout().lock();
    let (mut is_well, mut is_silent) = (true, false);
    for socket in &sockets {
        match status_of(socket) {
            Ok(status) => {
                // A volume that is opening reports nothing else yet, so its members decide.
                let is_opening = status.state == VolumeCondition::Opening
                    && status.members.iter().all(|member| member.state == MemberCondition::Active);
                is_well &= (status.state == VolumeCondition::Open || is_opening) && status.is_whole();
                match args.json {
                    true => writeln!(out, "{}", versioned(&status)?)?,
                    false => print(&status, columns::width(), &mut out)?,
                }
            }
            Err(error) => {
                is_silent = true;
                crate::say::say(format_args!("scrubjay: {error:#}"));
                if args.json {
                    let (socket, error) = (socket.display().to_string(), format!("{error:#}"));
                    writeln!(
                        out,
                        "{}",
                        document(&NoVolumeStatus { state: "unknown", socket: Some(socket), error: Some(error) })?
                    )?;
                }
            }
        }
    }
    match (sockets.is_empty(), args.json) {
        (true, true) => writeln!(out, "{}", document(&NoVolumeStatus { state: "none", socket: None, error: None })?)?,
        (true, false) => writeln!(out, "no volume is running")?,
        (false, _) => (),
    }
    Ok(match (is_silent, is_well) {
        (true, _) => Exit::Failed,
        (false, true) => Exit::Clean,
        (false, false) => Exit::Found,
    })
}

/// The JSON of `volume status` if there is no status.
#[derive(Serialize)]
struct NoVolumeStatus {
    /// `unknown`: its server does not answer; `none`: no volume is running.
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    socket: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

fn print(status: &commands::Status, width: Option<usize>, out: &mut impl Write) -> Result<()> {
    let headline = match status.state {
        state @ (VolumeCondition::Degraded | VolumeCondition::Broken) => state.to_string().to_uppercase(),
        state => state.to_string(),
    };
    let name = if status.name.is_empty() { &status.array } else { &status.name };
    let (size, chunk) = (Bytes(status.size_bytes), Bytes(status.chunk_bytes));
    let commands::Status { shape, layout, scheme, .. } = status;
    let volume = format!("{name}: {headline}, {size} in {shape}, {chunk} chunks, {layout}, {scheme}");
    print_folded(out, &volume, width)?;
    if status.state.is_reduced() && status.redundancy_left() == Some(0) {
        print_prose(out, "  ", &WrongWords::NoRedundancy.to_string(), width)?;
    }
    if let Some(device) = &status.device {
        print_folded(out, &format!("  block device {device}"), width)?;
    }
    if status.read_only {
        print_prose(out, "  ", "served for reading only: nothing is repaired", width)?;
    }
    let share = 100.0 * status.stripes_written as f64 / status.stripes.max(1) as f64;
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let findings = if status.findings == 0 { "none".to_owned() } else { show_count(status.findings) };
    let state = format!(
        "written {share:.1} %, dirty regions {}, rows found wrong since it was started: {findings}",
        show_count(status.regions_dirty)
    );
    print_prose(out, "  ", &state, width)?;
    if let Some(words) = status.loss_words() {
        print_prose(out, "  ", &format!("LOST: {words}"), width)?;
        let place = format!(" (stripe N: from byte N x {} on)", stripe_bytes(status));
        let text = format!("  {}{place}: restore what lies there from a backup", runs_words(&status.lost_runs));
        print_prose(out, "  ", &text, width)?;
    }
    if status.lost > 0 && status.lost_stripes.is_none() {
        let lost = times(status.lost);
        let lost =
            format!("LOST, in part or whole, since it was started: {lost} (`scrubjay volume findings` says what)");
        print_prose(out, "  ", &lost, width)?;
    }
    if status.regions_to_resync > 0 {
        let regions = match status.regions_to_resync {
            1 => "1 region is".to_owned(),
            count => format!("{} regions are", show_count(count)),
        };
        let crash = format!("after a crash: {regions} being resynced (all is served meanwhile)");
        print_prose(out, "  ", &crash, width)?;
    }
    print_members(status, width, out)
}

/// Prints a row for each member, and how those that may return do.
fn print_members(status: &commands::Status, width: Option<usize>, out: &mut impl Write) -> Result<()> {
    let row = |(slot, member): (usize, &MemberStatus)| {
        let detail = member.detail.as_ref().map(|detail| format!(" ({detail})")).unwrap_or_default();
        let path = member.path.as_deref().unwrap_or("-").to_owned();
        vec![slot.to_string(), show_count(member.faults.into()), format!("{}{detail}", member.state), path]
    };
    let rows: Vec<Vec<String>> = status.members.iter().enumerate().map(row).collect();
    let headings = ["MEMBER", "FAULTS", "STATE", "PATH"];
    TextTable { headings: &headings, least_important: &[], figures: 0..2, indent: 2 }.print(&rows, width, out)?;
    for (slot, member) in status.members.iter().enumerate().filter(|(_, member)| member.may_return) {
        let path = member.path.as_deref().unwrap_or("PATH");
        let hint = format!(
            "  when member {slot} is back: `scrubjay volume readd {path}` rebuilds only what was written since"
        );
        print_folded(out, &hint, width)?;
    }
    Ok(())
}

/// The bytes of the volume in a stripe.
fn stripe_bytes(status: &commands::Status) -> u64 {
    status.chunk_bytes.saturating_mul(status.shape.data as u64)
}

/// Runs of stripes that are listed, at most.
const RUNS_SHOWN: usize = 8;

/// Runs of stripes in words: `stripe 7`, `stripes 7, 12 to 20 and 3 more runs`.
fn runs_words(runs: &[(u64, u64)]) -> String {
    let word = |(start, end): &(u64, u64)| match end - start {
        1 => start.to_string(),
        _ => format!("{start} to {}", end - 1),
    };
    let shown: Vec<String> = runs.iter().take(RUNS_SHOWN).map(word).collect();
    let more = match runs.len() - shown.len() {
        0 => String::new(),
        1 => " and 1 more run".to_owned(),
        more => format!(" and {more} more runs"),
    };
    let noun = if matches!(runs, [(start, end)] if end - start == 1) { "stripe" } else { "stripes" };
    format!("{noun} {}{more}", shown.join(", "))
}

/// Prints the findings of a volume.
pub fn findings(args: &FindingsArgs) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    let mut since = 0;
    let (mut is_any, mut unmended, mut all) = (false, Vec::new(), Vec::new());
    let mut out = io::stdout().lock();
    loop {
        let answer = events_since(&socket, since)?;
        if answer.events.is_empty() {
            break;
        }
        since = answer.next;
        for event in answer.events {
            let VolumeEvent::Finding(finding) = event else { continue };
            is_any = true;
            unmended.extend((!finding.resolution.is_settled()).then(|| finding.clone()));
            match args.json {
                true => writeln!(out, "{}", serde_json::to_string(&FindingWords::from(&finding))?)?,
                false => all.push(finding),
            }
        }
    }
    for line in words::rows(&all) {
        print_line(&mut out, format_args!("{line}"))?;
    }
    let status = status_of(&socket)?;
    // What was lost and is written anew is settled; what is lost since before this start is not among the findings.
    let is_lost_still = |finding: &Finding| {
        finding
            .stripe()
            .is_none_or(|stripe| status.lost_runs.iter().any(|(start, end)| (*start..*end).contains(&stripe)))
    };
    let is_settled = status.is_whole()
        && unmended.iter().all(|finding| {
            finding.resolution == Resolution::Lost && status.lost_stripes.is_some() && !is_lost_still(finding)
        });
    if !args.json {
        match status.loss_words() {
            Some(words) => {
                let text = format!("LOST: {words} ({})", runs_words(&status.lost_runs));
                print_prose(&mut out, "", &text, columns::width())?;
            }
            None if !is_any => writeln!(out, "nothing was found wrong")?,
            None => {}
        }
    }
    Ok(if is_settled { Exit::Clean } else { Exit::Found })
}

fn events_since(socket: &Path, since: u64) -> Result<VolumeEvents> {
    match tell(socket, &VolumeCommand::Events { since, wait: false })? {
        CommandAnswer::Events(events) => Ok(events),
        _ => bail!("another answer than expected"),
    }
}

/// Prints the events of a volume; with `--follow`, also new ones until it is stopped.
pub fn events(args: &EventsArgs) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    let mut out = io::stdout().lock();
    let mut since = 0;
    loop {
        let answer = events_since(&socket, since)?;
        if answer.dropped > 0 && !args.json {
            writeln!(out, "{} earlier events are no longer known", show_count(answer.dropped))?;
        }
        // A server of an earlier version does not say when.
        let times = answer.times.iter().copied().map(Some).chain(iter::repeat(None));
        for (event, time) in answer.events.iter().zip(times) {
            match args.json {
                true => writeln!(out, "{}", serde_json::to_string(&TimedEvent { time, event })?)?,
                false => {
                    let time = time.map(|time| format!("{}  ", moment(time))).unwrap_or_default();
                    print_line(&mut out, format_args!("{time}{}", event_line(event)))?;
                }
            }
        }
        if since == 0 && answer.events.is_empty() && answer.dropped == 0 && !args.json {
            writeln!(out, "nothing has happened since the server was started")?;
        }
        since = answer.next;
        if answer.events.is_empty() {
            if !args.follow {
                return Ok(Exit::Clean);
            }
            out.flush()?;
            // The volume answers at the next event; a server that ends in order answers, too.
            let mut client = ControlClient::connect(&socket)?;
            match client.ask_within(&VolumeCommand::Events { since, wait: true }, FOLLOW_PATIENCE) {
                Ok(_) | Err(ClientError::Late(_)) => (),
                Err(ClientError::Ended(_) | ClientError::Absent(_)) => return Ok(Exit::Clean),
                Err(error) => return Err(error.into()),
            }
            if ControlClient::connect(&socket).is_err() {
                return Ok(Exit::Clean);
            }
        }
    }
}

/// An event with its time, as JSON.
#[derive(Serialize)]
struct TimedEvent<'e> {
    /// Seconds since 1970; null: the server does not say.
    time: Option<u64>,
    #[serde(flatten)]
    event: &'e VolumeEvent,
}

/// How long one request for the next event waits for its answer.
const FOLLOW_PATIENCE: Duration = Duration::from_secs(3600);

/// An event in one line.
fn event_line(event: &VolumeEvent) -> String {
    match event {
        VolumeEvent::Finding(finding) => words::row(finding).into(),
        VolumeEvent::Volume(condition) => format!("the volume is {condition}"),
        VolumeEvent::Member(MemberEvent { member, path, state, detail }) => {
            let path = path.as_deref().map(|path| format!(" ({path})")).unwrap_or_default();
            let detail = detail.as_deref().map(|detail| format!(": {detail}")).unwrap_or_default();
            format!("member {member}{path} is {}{detail}", state.predicate())
        }
    }
}

/// Fails a member.
pub fn fail(args: &Fail) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    let member = slot_of(&socket, &args.member)?;
    tell(&socket, &VolumeCommand::Fail { member })?;
    print_member(&socket, |number, _| number == member)
}

/// Replaces a member by a new disk.
pub fn replace(args: &Replace) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    let member = slot_of(&socket, &args.member)?;
    let absolute = std::path::absolute(&args.with)?;
    let force = match &args.force {
        Some(again) if *again != args.with => {
            return Err(Usage(format!("--force {} is not {}", again.display(), args.with.display())).into());
        }
        force => force.is_some(),
    };
    let command = VolumeCommand::Replace { member, path: absolute.display().to_string(), force };
    match tell(&socket, &command) {
        Err(JobError::Client(ClientError::Occupied(Occupied { path, contents }))) => {
            Err(Usage(format!("{path} {contents}: to overwrite it, add --force {}", args.with.display())).into())
        }
        answer => {
            answer?;
            print_member(&socket, |number, _| number == member)
        }
    }
}

/// Returns a member that was out.
pub fn readd(args: &Readd) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    let path = std::path::absolute(&args.path)?.display().to_string();
    tell(&socket, &VolumeCommand::Readd { path: path.clone() })?;
    print_member(&socket, |_, member| member.path.as_ref() == Some(&path))
}

/// Prints the state of a member after a command for it.
fn print_member(socket: &Path, is_match: impl Fn(usize, &MemberStatus) -> bool) -> Result<Exit> {
    let status = status_of(socket)?;
    let mut out = io::stdout().lock();
    for (number, member) in status.members.iter().enumerate().filter(|(number, member)| is_match(*number, member)) {
        print_line(&mut out, format_args!("{}", member_line(number, member)))?;
    }
    Ok(Exit::Clean)
}

/// The state of a member in one line: `member 3 (d.img) is rebuilding: 12.0 % done`.
fn member_line(number: usize, member: &MemberStatus) -> String {
    let MemberStatus { path, state, detail, .. } = member;
    event_line(&VolumeEvent::Member(MemberEvent {
        member: number,
        path: path.clone(),
        state: *state,
        detail: detail.clone(),
    }))
}

/// The slot of a member, given by its number or its path.
fn slot_of(socket: &Path, member: &str) -> Result<usize> {
    if let Ok(slot) = member.parse() {
        return Ok(slot);
    }
    let status = status_of(socket)?;
    let wanted = std::path::absolute(member)?;
    let is_match = |path: &str| std::path::absolute(path).is_ok_and(|path| path == wanted);
    let slot = status.members.iter().position(|known| known.path.as_deref().is_some_and(is_match));
    slot.ok_or_else(|| Usage(format!("{member} is no member of this volume")).into())
}

/// Stops a server, waits until it has ended, and prints in which state it left its volume.
pub fn stop(args: &StopArgs) -> Result<Exit> {
    let socket = find(args.volume.as_deref())?;
    if let Err(error @ ClientError::Absent(_)) = ControlClient::connect(&socket) {
        let end = if remove_stale_socket(&socket) { " (its socket is removed)" } else { "" };
        bail!("{error}{end}");
    }
    let CommandAnswer::Stopped(stopped) = tell(&socket, &VolumeCommand::Stop)? else {
        bail!("another answer than expected")
    };
    let begun = Instant::now();
    while socket.exists() {
        if begun.elapsed() > STOP_TIMEOUT {
            bail!("{}; but the server has not ended {} s later", stopped.words(), STOP_TIMEOUT.as_secs());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(print_final_state(&stopped))
}

#[cfg(test)]
mod tests {
    use super::*;

    use scrubjay_core::layout::Shape;

    /// A server may be another program, and answer anything.
    #[test]
    fn no_text_of_a_server_sends_commands_to_the_terminal() {
        let hostile = || "\u{1b}[2Jx".to_owned();
        let member = MemberStatus {
            path: Some(hostile()),
            state: MemberCondition::Failed,
            detail: Some(hostile()),
            faults: 1,
            may_return: true,
        };
        let status = commands::Status {
            schema: 1,
            name: hostile(),
            array: hostile(),
            state: VolumeCondition::Degraded,
            shape: Shape { data: 4, parity: 2 },
            layout: hostile(),
            scheme: hostile(),
            device: Some(hostile()),
            chunk_bytes: 4096,
            size_bytes: 1 << 20,
            stripes: 64,
            stripes_written: 0,
            regions_dirty: 0,
            regions_to_resync: 1,
            findings: 1,
            events: 1,
            lost: 1,
            lost_stripes: Some(2),
            is_lost_at_most: true,
            lost_runs: vec![(7, 8), (12, 20)],
            read_only: false,
            members: vec![member],
        };
        let mut out = Vec::new();
        print(&status, None, &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        assert_eq!((out.matches("\\e[2Jx").count(), out.lines().count()), (7, 9), "{out:?}");
        assert!(!out.contains('\u{1b}'), "{out:?}");
    }
}
