//! What a served volume found wrong while it was scrubbed: fetched whenever there is something new, and given to the scrub.

use super::client::{ClientError, ControlClient};
use crate::volume::commands::{CommandAnswer, Status, VolumeCommand, VolumeEvent};
use scrubjay_core::finding::Finding;
use scrubjay_core::units::SectorRange;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The findings from a given event on. Clones share them.
#[derive(Clone, Debug)]
pub struct FindingsFeed {
    socket: PathBuf,
    is_read_only: bool,
    chunk_sectors: u64,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    next: u64,
    /// Why the last findings could not be fetched.
    obstacle: Option<String>,
}

impl FindingsFeed {
    /// Starts with the event of the number `next`, of a volume that may be served for reading only.
    pub(super) fn new(socket: &Path, next: u64, is_read_only: bool, chunk_sectors: u64) -> FindingsFeed {
        let inner = Arc::new(Mutex::new(Inner { next, obstacle: None }));
        FindingsFeed { socket: socket.to_owned(), is_read_only, chunk_sectors, inner }
    }

    /// Was the volume served for reading only at the beginning? Then nothing that is found is repaired.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Why the last findings could not be fetched; there may be more than are known.
    pub fn obstacle(&self) -> Option<String> {
        self.lock().obstacle.clone()
    }

    /// Fetches the findings since the last call from the server. Where that fails, [`FindingsFeed::obstacle`] says why.
    pub(super) fn fetch(&self) -> Vec<Finding> {
        let mut found = Vec::new();
        let obstacle = self.fetch_into(&mut found).err().map(|error| error.to_string());
        self.lock().obstacle = obstacle;
        found
    }

    fn fetch_into(&self, found: &mut Vec<Finding>) -> Result<(), ClientError> {
        let mut client = ControlClient::connect(&self.socket)?;
        let mut inner = self.lock();
        loop {
            let CommandAnswer::Events(answer) =
                client.ask(&VolumeCommand::Events { since: inner.next, wait: false })?
            else {
                return Err(ClientError::Nonsense(self.socket.clone()));
            };
            inner.next = answer.next;
            if answer.events.is_empty() {
                return Ok(());
            }
            found.extend(answer.events.into_iter().filter_map(|event| match event {
                VolumeEvent::Finding(finding) => Some(self.placed(finding)),
                _ => None,
            }));
        }
    }

    /// The finding with its place in the volume's addresses.
    fn placed(&self, finding: Finding) -> Finding {
        let place = finding.stripe().and_then(|stripe| {
            let start = stripe.checked_mul(self.chunk_sectors)?;
            start.checked_add(self.chunk_sectors)?;
            Some(SectorRange::at(start, self.chunk_sectors))
        });
        Finding { place: place.unwrap_or(finding.place), ..finding }
    }

    /// The volume's status now.
    ///
    /// # Errors
    /// [`ClientError`].
    pub fn status(&self) -> Result<Status, ClientError> {
        match ControlClient::connect(&self.socket)?.ask(&VolumeCommand::Status)? {
            CommandAnswer::Status(status) => Ok(*status),
            _ => Err(ClientError::Nonsense(self.socket.clone())),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
