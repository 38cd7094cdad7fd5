//! The foreground detector of a served volume: its server reports the requests of its clients.

use super::client::{ClientError, ControlClient};
use crate::volume::commands::{ActivityMark, ClientActivity, CommandAnswer, VolumeCommand};
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;
use scrubjay_device::clock;
use scrubjay_device::detector::{Detector, OwnTraffic};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long to wait for an answer before the server is asked again, on another connection. It has one thread, which may be
/// opening a disk. (The first command waits like any other: there is no scrub yet that it could hold up.)
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// Detects foreground requests by asking the volume's server.
pub(super) struct ServedDetector {
    socket: PathBuf,
    client: Option<ControlClient>,
    reported: WatchedVolume,
    /// How long to wait for an answer.
    pub patience: Duration,
}

/// What the server reported so far.
#[derive(Debug, Default)]
pub(super) struct WatchedVolume {
    /// Number of the next mark.
    next: Option<u64>,
    arrived: u64,
    completed: u64,
    /// Requests outstanding, by the events handed out.
    outstanding: u64,
    /// The latest date of an event handed out.
    at: Nanos,
    is_open: bool,
    /// Arrivals and completions that were counted, and never reported with a time.
    pub lost: u64,
}

impl ServedDetector {
    /// Watches the clients of the server at `socket` from now on.
    pub fn open(socket: &Path, now: Nanos) -> Result<ServedDetector, ClientError> {
        let mut client = ControlClient::connect(socket)?;
        let CommandAnswer::Activity(activity) = client.ask(&VolumeCommand::Activity { since: None })? else {
            return Err(ClientError::Nonsense(socket.to_owned()));
        };
        let reported = WatchedVolume::since(&activity, now);
        Ok(ServedDetector { socket: socket.to_owned(), client: Some(client), reported, patience: STATUS_TIMEOUT })
    }

    /// The new activity; `None`: it did not come in time.
    fn ask(&mut self) -> Result<Option<ClientActivity>, ClientError> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => ControlClient::connect(&self.socket)?,
        };
        client.send(&VolumeCommand::Activity { since: self.reported.next })?;
        match client.receive(self.patience)? {
            Some(CommandAnswer::Activity(activity)) => {
                self.client = Some(client);
                Ok(Some(activity))
            }
            Some(_) => Err(ClientError::Nonsense(self.socket.clone())),
            None => Ok(None), // a late answer would be taken for that to the next command: use another connection
        }
    }
}

impl WatchedVolume {
    /// The state after the first answer, without events.
    pub fn since(activity: &ClientActivity, now: Nanos) -> WatchedVolume {
        let ClientActivity { next, arrived, completed, .. } = *activity;
        WatchedVolume { next: Some(next), arrived, completed, at: now, ..WatchedVolume::default() }
    }

    /// Takes an answer that came at `now`, and appends its events.
    pub fn absorb(&mut self, activity: &ClientActivity, now: Nanos, events: &mut Vec<Event>) {
        let (arrived_before, completed_before) = (self.arrived, self.completed);
        self.catch_up(events); // with requests that were outstanding at the start
        for &ActivityMark(at, arrived, completed) in &activity.marks {
            self.at = self.at.max(Nanos(at));
            self.arrive(arrived, events);
            self.complete(completed, events);
            (self.arrived, self.completed) = (self.arrived + u64::from(arrived), self.completed + u64::from(completed));
        }
        // Counted, but without a mark: it was dropped because nothing asked for it in time.
        let unseen = activity.arrived.saturating_sub(self.arrived) + activity.completed.saturating_sub(self.completed);
        if unseen > 0 {
            self.lost += unseen;
            self.at = self.at.max(now);
        }
        (self.next, self.arrived, self.completed) = (Some(activity.next), activity.arrived, activity.completed);
        self.catch_up(events);
        self.is_open |= (self.arrived, self.completed) != (arrived_before, completed_before);
        if self.is_open && self.arrived == self.completed {
            (self.is_open, self.outstanding) = (false, 0);
            events.push(Event::ForegroundDrained { at: self.at });
        }
    }

    /// Appends the arrival of outstanding requests whose arrival was not reported.
    fn catch_up(&mut self, events: &mut Vec<Event>) {
        let missed = self.arrived.saturating_sub(self.completed).saturating_sub(self.outstanding);
        self.arrive(u32::try_from(missed).unwrap_or(u32::MAX), events);
    }

    fn arrive(&mut self, count: u32, events: &mut Vec<Event>) {
        if count > 0 {
            self.outstanding += u64::from(count);
            self.is_open = true;
            events.push(Event::ForegroundArrived { at: self.at, count });
        }
    }

    fn complete(&mut self, count: u32, events: &mut Vec<Event>) {
        if count > 0 {
            self.outstanding = self.outstanding.saturating_sub(u64::from(count));
            events.push(Event::ForegroundCompleted { at: self.at, count });
        }
    }
}

impl Detector for ServedDetector {
    fn drain(&mut self, _own: OwnTraffic, events: &mut Vec<Event>) {
        // The verifier notices that a server is gone.
        if let Ok(Some(activity)) = self.ask() {
            self.reported.absorb(&activity, clock::now(), events);
        }
    }

    fn lost(&self) -> u64 {
        self.reported.lost
    }
}
