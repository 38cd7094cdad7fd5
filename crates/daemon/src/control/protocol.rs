//! What a verb asks for, and what it is answered.

use super::documents::{AlertDocument, WatchDocument};
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
}

/// What it is answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "kebab-case")]
pub enum WatchAnswer {
    /// How things stand.
    Status(Box<WatchDocument>),
    /// How the channels stand.
    Alerts(AlertDocument),
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
