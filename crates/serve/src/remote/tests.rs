//! A served volume seen from outside, against a server with canned answers.

use super::client::ControlClient;
use super::findings_feed::FindingsFeed;
use super::verifier::ServedVerifier;
use super::watch::{ServedDetector, WatchedVolume};
use super::{Remote, RemoteError};
use crate::volume::commands::{
    ActivityMark, ClientActivity, CommandAnswer, Status, Verified, VolumeCommand, VolumeEvents,
};
use crate::volume::conditions::VolumeCondition;
use scrubjay_core::finding::{FindingKind, FoundChunk, FoundContent, Resolution};
use scrubjay_core::layout::Shape;
use scrubjay_core::scrub::idle::{Goal, PolicyConfig};
use scrubjay_core::scrub::machine::{Event, OpId};
use scrubjay_core::scrub::verdict::{Cause, VerifyOutcome};
use scrubjay_core::units::{Bytes, Nanos, SectorRange};
use scrubjay_device::detector::{self, Detector, OwnTraffic};
use scrubjay_device::subject::Subject;
use scrubjay_device::verify::{Verifier, VerifierKind};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

/// Sectors of a chunk of 4 KiB.
const CHUNK_SECTORS: u64 = 8;
/// Longer than any answer here takes.
const LONG: Nanos = Nanos::from_secs(60);

type SentCommands = Arc<Mutex<Vec<VolumeCommand>>>;

/// A server that answers each command by `answer`, or hangs up; and the commands that it answered.
fn serve(folder: &Path, answer: fn(&VolumeCommand) -> Option<CommandAnswer>) -> (PathBuf, SentCommands) {
    let socket = folder.join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let commands = SentCommands::default();
    let recorded = Arc::clone(&commands);
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, recorded) = (stream.unwrap(), Arc::clone(&recorded));
            thread::spawn(move || {
                for line in BufReader::new(stream.try_clone().unwrap()).lines() {
                    let command = serde_json::from_str(&line.unwrap()).unwrap();
                    let Some(answer) = answer(&command) else { return };
                    recorded.lock().unwrap().push(command);
                    writeln!(stream, "{}", serde_json::to_string(&answer).unwrap()).unwrap();
                }
            });
        }
    });
    (socket, commands)
}

fn status(state: VolumeCondition) -> Option<CommandAnswer> {
    let status = Status {
        schema: 1,
        name: "tank".into(),
        array: "6f1c".into(),
        state,
        shape: Shape { data: 4, parity: 2 },
        layout: "rotating".into(),
        scheme: "stamp".into(),
        device: None,
        chunk_bytes: CHUNK_SECTORS * 512,
        size_bytes: 400 * CHUNK_SECTORS * 512,
        stripes: 100,
        stripes_written: 40,
        regions_dirty: 0,
        regions_to_resync: 0,
        findings: 7,
        events: 7,
        lost: 0,
        lost_stripes: Some(0),
        is_lost_at_most: false,
        lost_runs: Vec::new(),
        read_only: false,
        members: Vec::new(),
    };
    Some(CommandAnswer::Status(Box::new(status)))
}

/// Stripe 3 is lost, 5 is corrected, those from 40 on are unwritten; at 90 the server hangs up, at 95 it refuses, at 97 its
/// answer does not fit.
fn answer(command: &VolumeCommand) -> Option<CommandAnswer> {
    let VolumeCommand::Verify { start, end } = *command else {
        return Some(CommandAnswer::Events(VolumeEvents { next: 7, ..VolumeEvents::default() }));
    };
    match start {
        90 => return None,
        95 => return Some(CommandAnswer::Error("the volume is stopping".into())),
        97 => return Some(CommandAnswer::Done),
        _ => (),
    }
    let has = |stripe: u64| (start..end).contains(&stripe);
    let lost = Vec::from_iter(has(3).then_some(3));
    Some(CommandAnswer::Verified(Verified { read: end.min(40).saturating_sub(start), corrected: has(5).into(), lost }))
}

fn verifier(folder: &Path) -> (ServedVerifier, SentCommands) {
    let (socket, commands) = serve(folder, answer);
    (
        ServedVerifier::new(
            ControlClient::connect(&socket).unwrap(),
            CHUNK_SECTORS,
            FindingsFeed::new(&socket, 7, false, CHUNK_SECTORS),
        ),
        commands,
    )
}

fn verify(server: &mut ServedVerifier, start: u64, end: u64) -> VerifyOutcome {
    server.submit(OpId(start), SectorRange::new(start * CHUNK_SECTORS, end * CHUNK_SECTORS));
    let answer = server.wait(LONG).expect("it answers");
    assert!(answer.id == OpId(start) && answer.started <= answer.finished && answer.counted == 0);
    answer.outcome
}

#[test]
fn what_the_server_found_has_a_place_in_the_volumes_addresses() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, _) = serve(folder.path(), |command| {
        let found = r#"{"finding":{"member":2,"path":"c.img","offset":65536,"stripe":5,"chunk":"P1","kind":"corrupt","end":"repaired"}}"#;
        let is_first = matches!(command, VolumeCommand::Events { since: 7, .. });
        let events = is_first.then(|| serde_json::from_str(found).unwrap());
        Some(CommandAnswer::Events(VolumeEvents { next: 8, events: Vec::from_iter(events), ..VolumeEvents::default() }))
    });
    let client = ControlClient::connect(&socket).unwrap();
    let mut server = ServedVerifier::new(client, CHUNK_SECTORS, FindingsFeed::new(&socket, 7, false, CHUNK_SECTORS));
    assert_eq!(server.findings(false), [], "the server has not said that it found something");
    let found = server.findings(true);
    assert_eq!((found.len(), found[0].place), (1, SectorRange::at(5 * CHUNK_SECTORS, CHUNK_SECTORS)));
    assert_eq!((found[0].kind, found[0].resolution), (FindingKind::Corrupt, Resolution::Repaired));
    assert_eq!(found[0].content, FoundContent::Stripe { stripe: 5, chunk: FoundChunk::Parity(1) });
    assert_eq!((found[0].member_number(), found[0].member_name()), (2, Some("c.img")));
    assert_eq!(server.findings(true), [], "each is given once");
}

#[test]
fn ranges_are_stripes_and_answers_are_verdicts() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, commands) = verifier(folder.path());
    assert_eq!(server.wait(LONG), None, "nothing was submitted");
    assert_eq!(verify(&mut server, 8, 24), VerifyOutcome::Clean);
    assert_eq!(verify(&mut server, 4, 8), VerifyOutcome::Corrected(1));
    assert_eq!(verify(&mut server, 39, 41), VerifyOutcome::Clean);
    assert_eq!(verify(&mut server, 40, 60), VerifyOutcome::Unwritten);
    assert_eq!(verify(&mut server, 97, 98), VerifyOutcome::Inconclusive(Cause::Errno(71)));
    let ranges: Vec<VolumeCommand> =
        [(8, 24), (4, 8), (39, 41), (40, 60), (97, 98)].map(|(start, end)| VolumeCommand::Verify { start, end }).into();
    let received: Vec<VolumeCommand> =
        commands.lock().unwrap().iter().filter(|&c| ranges.contains(c)).cloned().collect();
    assert_eq!(received, ranges);
}

#[test]
fn a_lost_stripe_is_read_once_while_its_place_is_narrowed_down() {
    let folder = tempfile::tempdir().unwrap();
    let (mut server, commands) = verifier(folder.path());
    assert_eq!(verify(&mut server, 0, 4), VerifyOutcome::Unreadable(Cause::Lost));
    let asked = commands.lock().unwrap().len();
    assert_eq!(verify(&mut server, 2, 4), VerifyOutcome::Unreadable(Cause::Lost));
    assert_eq!(verify(&mut server, 3, 4), VerifyOutcome::Unreadable(Cause::Lost));
    assert_eq!(commands.lock().unwrap().len(), asked, "the server was not asked");
    assert_eq!(verify(&mut server, 2, 3), VerifyOutcome::Clean);
    assert_eq!(commands.lock().unwrap().len(), asked + 1);
}

#[test]
fn a_server_that_ends_or_stops_counts_as_a_device_that_is_gone() {
    for start in [90, 95] {
        let folder = tempfile::tempdir().unwrap();
        let (mut server, _) = verifier(folder.path());
        assert_eq!(verify(&mut server, start, start + 1), VerifyOutcome::Gone);
    }
}

#[test]
fn a_volume_has_the_addresses_of_one_member_and_the_identity_of_its_array() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, _) = serve(folder.path(), |_| status(VolumeCondition::Degraded));
    let remote = Remote::open(Path::new("tank"), &socket).unwrap();
    assert_eq!((remote.path(), remote.sectors(), remote.block()), (Path::new("tank"), 800, Bytes::kib(4)));
    assert_eq!((remote.id().key().as_str(), remote.id().is_certain), ("volume 6f1c", true));
    assert!(remote.notes()[0].contains("degraded"));
    let policy = PolicyConfig::budget(Goal::default());
    let refused = remote.open_verifier(VerifierKind::Scsi, &policy).err().expect("it is no disk").to_string();
    assert!(refused.contains("this is a volume"), "{refused}");
    let opened = remote.open_verifier(VerifierKind::Auto, &policy).unwrap();
    assert!(opened.note.is_some_and(|note| note.contains("40 of 100 stripes")));
    assert_eq!(remote.open_detector(Some(detector::DetectorKind::Blind)).kind, detector::DetectorKind::Blind);
}

#[test]
fn a_broken_volume_and_a_socket_without_a_server_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, _) = serve(folder.path(), |_| status(VolumeCondition::Broken));
    assert!(matches!(Remote::open(Path::new("tank"), &socket), Err(RemoteError::Broken)));
    let error = Remote::open(Path::new("tank"), &folder.path().join("nobody")).unwrap_err().to_string();
    assert!(error.contains("the server is gone"), "{error}");
}

fn activity(next: u64, arrived: u64, completed: u64, marks: &[ActivityMark]) -> ClientActivity {
    ClientActivity { next, arrived, completed, marks: marks.to_vec() }
}

fn events_of(volume: &mut WatchedVolume, activity: &ClientActivity, now: u64) -> Vec<Event> {
    let mut events = Vec::new();
    volume.absorb(activity, Nanos(now), &mut events);
    events
}

fn arrived(at: u64, count: u32) -> Event {
    Event::ForegroundArrived { at: Nanos(at), count }
}

fn completed(at: u64, count: u32) -> Event {
    Event::ForegroundCompleted { at: Nanos(at), count }
}

fn drained(at: u64) -> Event {
    Event::ForegroundDrained { at: Nanos(at) }
}

#[test]
fn marks_are_events_and_an_idle_volume_yields_none() {
    let mut state = WatchedVolume::since(&activity(5, 10, 10, &[]), Nanos(100));
    assert_eq!(events_of(&mut state, &activity(5, 10, 10, &[]), 200), []);
    let two = activity(7, 12, 11, &[ActivityMark(210, 1, 0), ActivityMark(230, 1, 1)]);
    assert_eq!(events_of(&mut state, &two, 300), [arrived(210, 1), arrived(230, 1), completed(230, 1)]);
    assert_eq!(events_of(&mut state, &activity(7, 12, 11, &[]), 400), []);
    assert_eq!(
        events_of(&mut state, &activity(8, 12, 12, &[ActivityMark(410, 0, 1)]), 500),
        [completed(410, 1), drained(410)]
    );
    assert_eq!(events_of(&mut state, &activity(8, 12, 12, &[]), 600), []);
}

#[test]
fn requests_outstanding_at_the_start_are_reported_as_arrived() {
    let mut state = WatchedVolume::since(&activity(0, 10, 7, &[]), Nanos(100));
    assert_eq!(events_of(&mut state, &activity(0, 10, 7, &[]), 200), [arrived(100, 3)]);
    let end = activity(1, 10, 10, &[ActivityMark(90, 0, 3)]);
    assert_eq!(events_of(&mut state, &end, 300), [completed(100, 3), drained(100)], "no date runs backwards");
}

#[test]
fn marks_not_fetched_in_time_are_lost_and_outstanding_requests_are_busy() {
    let mut state = WatchedVolume::since(&activity(0, 0, 0, &[]), Nanos(0));
    let much = activity(9, 100, 98, &[ActivityMark(50, 0, 1)]);
    assert_eq!(events_of(&mut state, &much, 60), [completed(50, 1), arrived(60, 2)]);
    assert_eq!(state.lost, 100 + 97);
    assert_eq!(
        events_of(&mut state, &activity(10, 100, 100, &[ActivityMark(70, 0, 2)]), 80),
        [completed(70, 2), drained(70)]
    );
}

#[test]
fn the_detector_asks_for_marks_after_the_last_received() {
    let folder = tempfile::tempdir().unwrap();
    let (socket, commands) = serve(folder.path(), |command| {
        let VolumeCommand::Activity { since } = command else { return None };
        let marks = since.map(|_| ActivityMark(1, 2, 0)).into_iter().collect::<Vec<_>>();
        Some(CommandAnswer::Activity(activity(
            since.map_or(3, |since| since + 1),
            2 * since.map_or(0, |s| s - 2),
            0,
            &marks,
        )))
    });
    let mut watch = ServedDetector::open(&socket, Nanos(0)).unwrap();
    watch.patience = Duration::from_nanos(LONG.0);
    let mut events = Vec::new();
    watch.drain(OwnTraffic::default(), &mut events);
    watch.drain(OwnTraffic::default(), &mut events);
    assert_eq!((events, watch.lost()), (vec![arrived(1, 2), arrived(1, 2)], 0));
    let since: Vec<VolumeCommand> = [None, Some(3), Some(4)].map(|since| VolumeCommand::Activity { since }).into();
    assert_eq!(*commands.lock().unwrap(), since);
}

#[test]
fn a_server_that_does_not_answer_is_not_waited_for_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("control.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    let mut client = ControlClient::connect(&socket).unwrap();
    let error = client.ask_within(&VolumeCommand::Status, Duration::from_millis(1)).unwrap_err();
    assert!(error.to_string().contains("does not answer"), "{error}");
    drop(client);

    // The reason that a server sends before it hangs up is received, even if it never read the command.
    let mut client = ControlClient::connect(&socket).unwrap();
    let (first, _) = listener.accept().unwrap(); // the first client
    drop(first);
    let (mut second, _) = listener.accept().unwrap();
    second.write_all(b"{\"error\":\"full\"}\n").unwrap();
    drop(second);
    let error = client.ask_within(&VolumeCommand::Status, Duration::from_secs(10)).unwrap_err();
    assert_eq!(error.to_string(), "full");
}
