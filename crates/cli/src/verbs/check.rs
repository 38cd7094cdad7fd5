//! `scrubjay check`: one line and an exit code for Nagios (Monitoring Plugins Development Guidelines).

use super::ask;
use crate::say::shown;
use scrubjay_control::{DiskEntry, LightEntry, WatchAnswer, WatchDocument, WatchRequest};
use scrubjay_watch::calendar::DAY;
use scrubjay_watch::health::HealthState;
use scrubjay_watch::incident::{IncidentKind, Urgency};
use scrubjay_watch::status::{LightColour, LightName};
use std::io::Write;

/// The states of plugins. Their numbers are exit codes; those of [`crate::exit::Exit`] have other meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CheckState {
    Ok = 0,
    Warning = 1,
    Critical = 2,
    Unknown = 3,
}

impl CheckState {
    fn word(self) -> &'static str {
        match self {
            CheckState::Ok => "OK",
            CheckState::Warning => "WARNING",
            CheckState::Critical => "CRITICAL",
            CheckState::Unknown => "UNKNOWN",
        }
    }
}

/// Prints the line, and ends the process with its code.
pub fn run(is_first_pass_ok: bool) -> ! {
    let (state, line) = match ask(&WatchRequest::Status) {
        Ok(WatchAnswer::Status(status)) => (state(&status, is_first_pass_ok), line(&status)),
        Ok(_) => (CheckState::Unknown, "the watch answered something else: is it another version?".to_owned()),
        Err(error) => (CheckState::Unknown, format!("{error:#}")),
    };
    let mut out = std::io::stdout().lock();
    let is_printed = writeln!(out, "{}: {}", state.word(), shown(&line)).and_then(|()| out.flush()).is_ok();
    std::process::exit(if is_printed { state as i32 } else { CheckState::Unknown as i32 });
}

/// The state. A running scrub is no warning; what is not known is never OK.
fn state(status: &WatchDocument, is_first_pass_ok: bool) -> CheckState {
    let open = || status.incidents.iter().filter(|incident| !incident.is_accepted);
    if open().any(|incident| incident.urgency != Urgency::Notice) {
        return CheckState::Critical;
    }
    if open().next().is_some() || !status.troubles.is_empty() {
        return CheckState::Warning;
    }
    let is_accepted = |kinds: &[IncidentKind]| {
        status.incidents.iter().any(|incident| incident.is_accepted && kinds.contains(&incident.kind))
    };
    // A missing disk may have been accepted instead, which does not excuse an array.
    let is_array_accepted = || {
        let is_array = |subject: &str| status.arrays.iter().any(|array| array.key == subject);
        status.incidents.iter().any(|incident| {
            incident.is_accepted && incident.kind == IncidentKind::Missing && is_array(&incident.subject)
        })
    };
    // An accepted incident excuses its own light only.
    let state_of = |light: &LightEntry| match (light.colour, light.name) {
        (LightColour::Green | LightColour::None, _) => CheckState::Ok,
        (_, LightName::Disks)
            if is_accepted(&[
                IncidentKind::Health,
                IncidentKind::Missing,
                IncidentKind::Unknown,
                IncidentKind::Failures,
            ]) =>
        {
            state_of_unaccepted_disks(status)
        }
        (LightColour::Yellow | LightColour::Red, LightName::Redundancy)
            if is_accepted(&[IncidentKind::Degraded, IncidentKind::Stripes]) || is_array_accepted() =>
        {
            CheckState::Ok
        }
        (LightColour::Yellow | LightColour::Red, LightName::Read) if is_accepted(&[IncidentKind::Unread]) => {
            CheckState::Ok
        }
        (LightColour::Yellow | LightColour::Red, _) => CheckState::Warning,
        (LightColour::Grey, LightName::Read) if is_first_pass_ok && is_first_pass(status) => CheckState::Ok,
        (LightColour::Grey, _) => CheckState::Unknown,
    };
    let states: Vec<CheckState> = status.lights.iter().map(state_of).collect();
    match () {
        () if states.contains(&CheckState::Warning) => CheckState::Warning,
        () if states.is_empty() || states.contains(&CheckState::Unknown) => CheckState::Unknown,
        () => CheckState::Ok,
    }
}

/// Is it only that first passes are under way, and are they in time?
fn is_first_pass(status: &WatchDocument) -> bool {
    let disks = status.disks.iter().filter(|disk| disk.name.is_some()).map(|disk| &disk.reading);
    let checks = status.arrays.iter().filter(|array| array.is_there).filter_map(|array| array.check.as_ref());
    let mut unread = disks.chain(checks).filter(|reading| reading.oldest_read.is_none()).peekable();
    unread.peek().is_some() && unread.all(|reading| reading.due > status.time)
}

/// The state of the disks without accepted incidents.
fn state_of_unaccepted_disks(status: &WatchDocument) -> CheckState {
    let is_accepted = |disk: &&DiskEntry| {
        status.incidents.iter().any(|incident| incident.is_accepted && incident.subject == disk.key)
    };
    let states = status.disks.iter().filter(|disk| !is_accepted(disk)).map(|disk| match disk.health {
        HealthState::Ok => CheckState::Ok,
        HealthState::Asleep | HealthState::Virtual | HealthState::Unknown => CheckState::Unknown,
        HealthState::Watch | HealthState::Worn | HealthState::Hot | HealthState::Missing | HealthState::Replace => {
            CheckState::Warning
        }
    });
    let states: Vec<CheckState> = states.collect();
    let if_any = |state| states.contains(&state).then_some(state);
    if_any(CheckState::Warning).or_else(|| if_any(CheckState::Unknown)).unwrap_or(CheckState::Ok)
}

/// The sentence, followed by performance data.
fn line(status: &WatchDocument) -> String {
    let unreadable: u64 = status.disks.iter().map(|disk| disk.reading.unreadable).sum();
    let ok = status.disks.iter().filter(|disk| disk.health == HealthState::Ok).count();
    let degraded = status.arrays.iter().filter(|array| !array.is_there || array.redundancy_left <= 0).count();
    let oldest = status.disks.iter().filter_map(|disk| disk.reading.oldest_read).min();
    let age = oldest.map_or("U".to_owned(), |oldest| (status.time.saturating_sub(oldest) / DAY).to_string());
    let mut sentence = status.sentence.trim_end_matches('.').to_owned();
    // If nothing is wrong, lights that are not known or not set up are listed.
    let not_green =
        status.lights.iter().filter(|light| !matches!(light.colour, LightColour::Green | LightColour::None));
    let not_green: Vec<String> = not_green.map(|light| format!("{}: {}", light.name.word(), light.words)).collect();
    if !not_green.is_empty() && status.incidents.iter().all(|incident| incident.is_accepted) {
        sentence = format!("{sentence} ({})", not_green.join("; "));
    }
    let sentence = sentence.replace('|', "/");
    format!(
        "{sentence} | disks_ok={ok};;;0;{} unreadable_sectors={unreadable};0;;0 oldest_read_days={age};35;45;0 \
         arrays_without_redundancy={degraded};0;;0 messages_waiting={};;;0",
        status.disks.len(),
        status.messages_waiting
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use scrubjay_control::{ArrayEntry, IncidentEntry, ReadingEntry};

    fn status(colours: [&str; 4], incidents: &[(&str, &str, bool)]) -> WatchDocument {
        let light = |(name, colour): (LightName, &str)| LightEntry {
            name,
            colour: LightColour::of_word(colour).unwrap(),
            words: "".into(),
        };
        let incident = |&(kind, urgency, is_accepted): &(&str, &str, bool)| IncidentEntry {
            subject: "S0".into(),
            kind: IncidentKind::of_word(kind).unwrap(),
            urgency: Urgency::of_word(urgency).unwrap(),
            headline: "so".into(),
            since: 0,
            is_accepted,
        };
        WatchDocument {
            lights: LightName::ALL.into_iter().zip(colours).map(light).collect(),
            incidents: incidents.iter().map(incident).collect(),
            sentence: "All is | well.".into(),
            ..WatchDocument::default()
        }
    }

    #[test]
    fn an_unknown_light_is_not_ok_and_an_accepted_incident_is_no_alarm() {
        let green = ["green"; 4];
        assert_eq!(state(&status(green, &[]), false), CheckState::Ok);
        assert_eq!(state(&status(["green", "grey", "green", "green"], &[]), false), CheckState::Unknown);
        assert_eq!(state(&status(["red", "grey", "green", "green"], &[]), false), CheckState::Warning);
        assert_eq!(state(&status(green, &[("unread", "notice", false)]), false), CheckState::Warning);
        assert_eq!(state(&status(green, &[("health", "replace", false)]), false), CheckState::Critical);
        let accepted = status(["red", "green", "green", "green"], &[("health", "replace", true)]);
        assert_eq!(state(&accepted, false), CheckState::Ok);
        for (colours, expected) in [
            (["red", "green", "green", "red"], CheckState::Warning),
            (["red", "green", "grey", "green"], CheckState::Unknown),
        ] {
            let accepted = status(colours, &[("health", "replace", true)]);
            assert_eq!(state(&accepted, false), expected, "what is accepted of a disk excuses nothing else");
        }
        let disk = |key: &str, health| DiskEntry { key: key.into(), health, ..DiskEntry::default() };
        for (health, expected) in [
            (HealthState::Ok, CheckState::Ok),
            (HealthState::Unknown, CheckState::Unknown),
            (HealthState::Watch, CheckState::Warning),
        ] {
            let disks = vec![disk("S0", HealthState::Replace), disk("S1", health)];
            let two_disks = WatchDocument { disks, ..accepted.clone() };
            assert_eq!(state(&two_disks, false), expected, "of the disk that was not accepted");
        }
        let gone = status(["green", "red", "green", "green"], &[("missing", "replace", true)]);
        assert_eq!(state(&gone, false), CheckState::Warning, "a disk that is gone excuses no array");
        let array = ArrayEntry { key: "S0".into(), ..ArrayEntry::default() };
        assert_eq!(state(&WatchDocument { arrays: vec![array], ..gone }, false), CheckState::Ok, "one of its own does");
        let troubled = WatchDocument { troubles: vec!["history: full".into()], ..status(green, &[]) };
        assert_eq!(state(&troubled, false), CheckState::Warning);
        assert_eq!(state(&WatchDocument::default(), false), CheckState::Unknown);
    }

    #[test]
    fn a_first_pass_in_time_may_be_ok_and_nothing_else_that_is_unknown() {
        let colours = ["green", "none", "grey", "green"];
        let disk = |oldest_read, due| DiskEntry {
            name: Some("sda".into()),
            reading: ReadingEntry { oldest_read, due, ..ReadingEntry::default() },
            ..DiskEntry::default()
        };
        let of = |colours, disks| WatchDocument { time: 1000, disks, ..status(colours, &[]) };
        let first = of(colours, vec![disk(None, 2000), disk(Some(500), 3000)]);
        assert_eq!((state(&first, true), state(&first, false)), (CheckState::Ok, CheckState::Unknown));
        let late = of(colours, vec![disk(None, 900)]);
        let read = of(colours, vec![disk(Some(500), 3000)]);
        let blind = of(["grey", "none", "grey", "green"], vec![disk(None, 2000)]);
        for other in [late, read, blind] {
            assert_eq!(state(&other, true), CheckState::Unknown);
        }
    }

    #[test]
    fn the_help_shows_a_line_as_it_is_printed() {
        let disk = |health| DiskEntry { health, ..DiskEntry::default() };
        let disks = [vec![disk(HealthState::Ok); 7], vec![disk(HealthState::Replace)]].concat();
        let replace = WatchDocument {
            sentence: "1 problem: REPLACE bay 3 (ZL2ABCDE): 8 unreadable sectors.".into(),
            disks,
            ..status(["red", "green", "green", "green"], &[("health", "replace", false)])
        };
        let command = crate::args::Cli::command();
        let help = command.find_subcommand("check").unwrap().get_after_help().unwrap().to_string();
        let example = help.lines().nth(1).unwrap().split("check    ").nth(1).unwrap();
        let printed = format!("{}: {}", state(&replace, false).word(), line(&replace));
        assert!(printed.starts_with(example.trim_end_matches("...")), "{printed}");
    }

    #[test]
    fn the_only_bar_in_the_line_separates_the_performance_data() {
        let unknown = line(&status(["green", "grey", "green", "green"], &[]));
        assert!(unknown.starts_with("All is / well (Redundancy: ) | "), "what is not known is named: {unknown}");
        let line = line(&status(["green"; 4], &[]));
        assert!(line.starts_with("All is / well | disks_ok=0;;;0;0 "), "{line}");
        assert_eq!(line.matches('|').count(), 1);
    }
}
