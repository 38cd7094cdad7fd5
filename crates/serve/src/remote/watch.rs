//! The foreground detector of a served volume: its server tells what its clients do.

use super::client::{ClientError, ControlClient};
use crate::volume::commands::{ActivityMark, ClientActivity, CommandAnswer, VolumeCommand};
use scrubjay_core::scrub::machine::Event;
use scrubjay_core::units::Nanos;
use scrubjay_device::clock;
use scrubjay_device::detector::{Detector, OwnTraffic};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A server that has not answered for so long is asked again on another connection. It has but one thread, and may be
/// opening a disk. (The first question is put before there is anything to hold up, and is waited for like any other.)
const STATUS_TIMEOUT: Duration = Duration::from_millis(500);

/// See the module's head.
pub(super) struct ServedDetector {
    socket: PathBuf,
    client: Option<ControlClient>,
    told: WatchedVolume,
    /// How long an answer is waited for.
    pub patience: Duration,
}

/// What was told so far.
#[derive(Debug, Default)]
pub(super) struct WatchedVolume {
    /// The next mark.
    next: Option<u64>,
    arrived: u64,
    completed: u64,
    /// How many are being served, by the events given.
    outstanding: u64,
    /// The latest date given to an event.
    at: Nanos,
    is_open: bool,
    /// Arrivals and completions that were counted, and never told.
    pub lost: u64,
}

impl ServedDetector {
    /// Watches the clients of the server behind `socket` from now on.
    pub fn open(socket: &Path, now: Nanos) -> Result<ServedDetector, ClientError> {
        let mut client = ControlClient::connect(socket)?;
        let CommandAnswer::Activity(activity) = client.ask(&VolumeCommand::Activity { since: None })? else {
            return Err(ClientError::Nonsense(socket.to_owned()));
        };
        let told = WatchedVolume::since(&activity, now);
        Ok(ServedDetector { socket: socket.to_owned(), client: Some(client), told, patience: STATUS_TIMEOUT })
    }

    /// What is new; `None` when it does not come in time.
    fn ask(&mut self) -> Result<Option<ClientActivity>, ClientError> {
        let mut client = match self.client.take() {
            Some(client) => client,
            None => ControlClient::connect(&self.socket)?,
        };
        client.send(&VolumeCommand::Activity { since: self.told.next })?;
        match client.receive(self.patience)? {
            Some(CommandAnswer::Activity(activity)) => {
                self.client = Some(client);
                Ok(Some(activity))
            }
            Some(_) => Err(ClientError::Nonsense(self.socket.clone())),
            None => Ok(None), // its answer would be taken for that to the next question: another connection
        }
    }
}

impl WatchedVolume {
    /// Nothing, before this first answer.
    pub fn since(activity: &ClientActivity, now: Nanos) -> WatchedVolume {
        let ClientActivity { next, arrived, completed, .. } = *activity;
        WatchedVolume { next: Some(next), arrived, completed, at: now, ..WatchedVolume::default() }
    }

    /// Takes an answer, told at `now`.
    pub fn absorb(&mut self, activity: &ClientActivity, now: Nanos, events: &mut Vec<Event>) {
        let (arrived_before, completed_before) = (self.arrived, self.completed);
        self.catch_up(events); // with those that were being served when we came
        for &ActivityMark(at, arrived, completed) in &activity.marks {
            self.at = self.at.max(Nanos(at));
            self.arrive(arrived, events);
            self.complete(completed, events);
            (self.arrived, self.completed) = (self.arrived + u64::from(arrived), self.completed + u64::from(completed));
        }
        // What was counted, and not written down: nobody fetched it in time.
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

    /// Those that are being served, and were never said to have come, come now.
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
        // A server that is gone is what the verifier finds out.
        if let Ok(Some(activity)) = self.ask() {
            self.told.absorb(&activity, clock::now(), events);
        }
    }

    fn lost(&self) -> u64 {
        self.told.lost
    }
}
