//! A served volume seen from outside: steered by its control socket, and scrubbed as a disk is.
//!
//! ```text
//! Remote: device::subject::Subject -- verifier::ServedVerifier: Verifier --> Verify   \
//!                                  -- watch::ServedDetector: Detector    --> Activity } ControlClient --> control socket
//! the command line                 -- findings_feed::FindingsFeed        --> Events   /
//! ```
//!
//! Sector addresses are those of one member's data rows: a stripe counts as one chunk, because its chunks lie on different
//! members and are read in parallel. So sizes and times mean what they mean on a disk.

pub mod client;
mod findings_feed;
#[cfg(test)]
mod tests;
mod verifier;
mod watch;

use crate::volume::commands::{CommandAnswer, Status, VolumeCommand};
use crate::volume::conditions::VolumeCondition;
use client::{ClientError, ControlClient};
pub use findings_feed::FindingsFeed;
use scrubjay_core::scrub::idle::PolicyConfig;
use scrubjay_core::units::{Bytes, SECTOR_BYTES};
use scrubjay_device::subject::Subject;
use scrubjay_device::target::TargetIdentity;
use scrubjay_device::verify::{self, VerifierError};
use scrubjay_device::{clock, detector};
use std::path::{Path, PathBuf};

/// A served volume.
#[derive(Debug)]
pub struct Remote {
    path: PathBuf,
    socket: PathBuf,
    id: TargetIdentity,
    status: Status,
    findings: FindingsFeed,
}

/// Why it cannot be scrubbed.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// Its server does not answer as it should.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// More members are out than it can do without.
    #[error("the volume is broken: more members are out than it can do without (see `scrubjay volume status`)")]
    Broken,
}

/// The identity under which a scrub of the volume with this UUID keeps its state.
pub fn volume_identity(array: &str) -> TargetIdentity {
    TargetIdentity::new(&format!("volume {array}"), String::new(), true)
}

/// Sectors that a scrub of a volume covers: those of one member's data rows. `None`: the volume is broken, or its status is
/// not plausible.
pub fn scrub_sectors(status: &Status) -> Option<u64> {
    let is_sound = status.chunk_bytes.is_power_of_two() && status.chunk_bytes >= SECTOR_BYTES && status.stripes > 0;
    let bytes = status.stripes.checked_mul(status.chunk_bytes)?;
    (is_sound && status.state != VolumeCondition::Broken).then_some(bytes / SECTOR_BYTES)
}

impl Remote {
    /// Asks the server at `socket` for its volume's status; `path` is the user's name for the volume.
    ///
    /// # Errors
    /// [`RemoteError`].
    pub fn open(path: &Path, socket: &Path) -> Result<Remote, RemoteError> {
        let status = match ControlClient::connect(socket)?.ask(&VolumeCommand::Status)? {
            CommandAnswer::Status(status) => *status,
            _ => return Err(ClientError::Nonsense(socket.to_owned()).into()),
        };
        if status.state == VolumeCondition::Broken {
            return Err(RemoteError::Broken);
        }
        if scrub_sectors(&status).is_none() {
            return Err(ClientError::Nonsense(socket.to_owned()).into());
        }
        Ok(Remote {
            path: path.to_owned(),
            socket: socket.to_owned(),
            id: volume_identity(&status.array),
            findings: FindingsFeed::new(socket, status.events, status.read_only, Bytes(status.chunk_bytes).sectors()),
            status,
        })
    }

    /// The findings that its server reports from now on; clones share the feed.
    pub fn findings(&self) -> FindingsFeed {
        self.findings.clone()
    }
}

impl Subject for Remote {
    fn path(&self) -> &Path {
        &self.path
    }

    fn id(&self) -> &TargetIdentity {
        &self.id
    }

    fn sectors(&self) -> u64 {
        self.status.stripes * self.block().sectors()
    }

    fn block(&self) -> Bytes {
        Bytes(self.status.chunk_bytes)
    }

    fn block_name(&self) -> &'static str {
        "chunk"
    }

    fn ways(&self) -> Vec<String> {
        Vec::new()
    }

    fn may_repair(&self) -> bool {
        !self.status.read_only
    }

    fn open_verifier(
        &self,
        kind: verify::VerifierKind,
        _policy: &PolicyConfig,
    ) -> Result<verify::OpenedVerifier, VerifierError> {
        if !matches!(kind, verify::VerifierKind::Auto | verify::VerifierKind::Read) {
            return Err(VerifierError::OwnMeans(kind, "a volume"));
        }
        let client = ControlClient::connect(&self.socket).map_err(|error| VerifierError::Handle(error.into()))?;
        let verifier = verifier::ServedVerifier::new(client, self.block().sectors(), self.findings());
        let Status { stripes, stripes_written, members, .. } = &self.status;
        let note = format!(
            "sizes are those of one of its {} members, which are read side by side; {stripes_written} of {stripes} \
             stripes were ever written, the others hold nothing",
            members.len()
        );
        // One at a time: the server itself reads several stripes in parallel.
        Ok(verify::OpenedVerifier {
            verifier: Box::new(verifier),
            name: "volume",
            engine: "control socket",
            depth: 1,
            note: Some(note),
        })
    }

    /// Detectors of disks would see the server's own reads, and not its clients. Of the wishes only *none* is obeyed.
    fn open_detector(&self, wish: Option<detector::DetectorKind>) -> detector::OpenedDetector {
        if wish == Some(detector::DetectorKind::Blind) {
            return detector::blind("clients of the volume are not watched, as you wished");
        }
        match watch::ServedDetector::open(&self.socket, clock::now()) {
            Ok(watch) => {
                let kind = detector::DetectorKind::Server;
                detector::OpenedDetector {
                    detector: Box::new(watch),
                    kind,
                    why: format!("{kind}: every request of the volume's clients, with its time"),
                }
            }
            Err(error) => detector::blind(&format!("clients of the volume cannot be seen, because {error}")),
        }
    }

    /// Always true: the verifier notices by itself when the server is gone.
    fn is_present(&self) -> bool {
        true
    }

    fn notes(&self) -> Vec<String> {
        match self.status.state {
            state @ (VolumeCondition::Degraded | VolumeCondition::Rebuilding) => {
                vec![format!("the volume is {state}: what lies on the members that are in is verified")]
            }
            _ => Vec::new(),
        }
    }
}
