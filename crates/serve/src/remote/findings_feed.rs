//! What a served volume found wrong while it was scrubbed: fetched whenever there is something new, kept for the result.

use super::client::{ClientError, ControlClient};
use crate::volume::commands::{CommandAnswer, Finding, Status, VolumeCommand, VolumeEvent};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Findings kept, at most; a server keeps no more.
const KEPT_MAX: usize = 10_000;

/// The findings from a given event on. Clones share them.
#[derive(Clone, Debug)]
pub struct FindingsFeed {
    socket: PathBuf,
    is_read_only: bool,
    inner: Arc<Mutex<Inner>>,
}

#[derive(Debug)]
struct Inner {
    next: u64,
    findings: Vec<Finding>,
}

impl FindingsFeed {
    /// Starts with the event of the number `next`, of a volume that may be served for reading only.
    pub(super) fn new(socket: &Path, next: u64, is_read_only: bool) -> FindingsFeed {
        let inner = Arc::new(Mutex::new(Inner { next, findings: Vec::new() }));
        FindingsFeed { socket: socket.to_owned(), is_read_only, inner }
    }

    /// Was the volume served for reading only at the beginning? Then nothing that is found is repaired.
    pub fn is_read_only(&self) -> bool {
        self.is_read_only
    }

    /// Fetches new events from the server, and keeps the findings among them.
    ///
    /// # Errors
    /// [`ClientError`]; findings fetched before are kept.
    pub fn fetch(&self) -> Result<(), ClientError> {
        let mut client = ControlClient::connect(&self.socket)?;
        let mut inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
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
            let room = KEPT_MAX.saturating_sub(inner.findings.len());
            let findings = answer.events.into_iter().filter_map(|event| match event {
                VolumeEvent::Finding(finding) => Some(finding),
                _ => None,
            });
            inner.findings.extend(findings.take(room));
        }
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

    /// The findings fetched so far, oldest first. Of those with the same member, offset, kind and end only the first.
    pub fn all(&self) -> Vec<Finding> {
        let inner = self.inner.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Finding> = Vec::new();
        let mut known = std::collections::HashSet::new();
        for finding in &inner.findings {
            if known.insert((finding.member, finding.offset, finding.kind.name(), finding.end.name())) {
                all.push(finding.clone());
            }
        }
        all
    }
}
