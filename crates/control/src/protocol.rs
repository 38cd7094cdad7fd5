//! The requests of the verbs to the daemon, and its answers.

use super::documents::{AlertDocument, WatchDocument};
use super::past::PastDocument;
use serde::{Deserialize, Serialize};

/// A request to the daemon.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum WatchRequest {
    /// The status of the watch.
    Status,
    /// Read nothing for this time.
    Pause {
        /// The length of the pause, in seconds.
        seconds: u64,
    },
    /// End the pause.
    Resume,
    /// Read this disk, or have this array checked, out of its turn.
    ScrubNow {
        /// A name, serial number, WWN or UUID.
        subject: String,
    },
    /// Accept the open incidents of this disk, array or channel: no more messages about them until they grow.
    Accept {
        /// A name, serial number, WWN, UUID or channel.
        subject: String,
    },
    /// This disk or array was taken out for good.
    Forget {
        /// A name, serial number, WWN or UUID.
        subject: String,
    },
    /// Send a test message by every channel.
    TestAlerts,
    /// Confirm a code that came with a test message.
    Confirm {
        /// Six digits.
        code: String,
    },
    /// The status of the channels.
    Alerts,
    /// Read the settings again.
    Reload,
    /// The past of all disks, in short.
    Past {
        /// The earliest time, in seconds since 1970.
        since: u64,
    },
    /// The past of one disk, in full.
    PastOfDisk {
        /// Its identity.
        disk: String,
        /// The earliest time, in seconds since 1970.
        since: u64,
    },
}

impl WatchRequest {
    /// May the web page send this request? The page shows things, and does what a person with its token may do; it may
    /// not make the daemon forget a disk or read its settings.
    pub fn is_for_page(&self) -> bool {
        !matches!(self, WatchRequest::Forget { .. } | WatchRequest::Reload)
    }
}

/// The daemon's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum WatchAnswer {
    /// The status of the watch.
    Status(Box<WatchDocument>),
    /// The status of the channels.
    Alerts(AlertDocument),
    /// The past.
    Past(Box<PastDocument>),
    /// The request was carried out.
    Done {
        /// What was done, in words for people.
        said: String,
    },
    /// The request cannot be carried out.
    Refused {
        /// Why not, in words for people.
        why: String,
    },
}
