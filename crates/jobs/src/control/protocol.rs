//! What a verb asks for, and what it is answered.

use super::documents::{AlertDocument, WatchDocument};
use super::past::PastDocument;
use serde::{Deserialize, Serialize};

/// What a verb asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "ask", rename_all = "kebab-case")]
pub enum WatchRequest {
    /// How things stand.
    Status,
    /// Read nothing for so many seconds.
    Pause {
        /// How long.
        seconds: u64,
    },
    /// Go on.
    Resume,
    /// Read this disk, or have this array checked, out of its turn.
    ScrubNow {
        /// A name, serial number, WWN or UUID.
        subject: String,
    },
    /// Be silent about what is open of this disk, array or channel, until it grows.
    Accept {
        /// A name, serial number, WWN, UUID or channel.
        subject: String,
    },
    /// This disk or array was taken out for good.
    Forget {
        /// The same.
        subject: String,
    },
    /// Send a test by every channel.
    TestAlerts,
    /// A code that came.
    Confirm {
        /// Six digits.
        code: String,
    },
    /// How the channels stand.
    Alerts,
    /// Read the settings anew.
    Reload,
    /// What has happened since then, of all disks in short.
    Past {
        /// Seconds since 1970.
        since: u64,
    },
    /// The same of one disk, in full.
    PastOfDisk {
        /// Its identity.
        disk: String,
        /// Seconds since 1970.
        since: u64,
    },
}

impl WatchRequest {
    /// May the web page ask for it? It looks, and does what a person with its token may do; it forgets no disk, and no settings are
    /// read at its word.
    pub fn is_for_page(&self) -> bool {
        !matches!(self, WatchRequest::Forget { .. } | WatchRequest::Reload)
    }
}

/// What it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum WatchAnswer {
    /// How things stand.
    Status(Box<WatchDocument>),
    /// How the channels stand.
    Alerts(AlertDocument),
    /// What has happened.
    Past(Box<PastDocument>),
    /// It is done; in words, what.
    Done {
        /// For people.
        said: String,
    },
    /// It cannot be done, and why.
    Refused {
        /// For people.
        why: String,
    },
}
