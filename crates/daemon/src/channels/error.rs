//! What can be wrong with settings, and what can become of a delivery; each in one line that says what to do.

use std::path::PathBuf;

/// A setting that cannot be right. `key` is as the file has it: `alert.email.to`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelFault {
    /// The value makes no sense.
    #[error("{key}: {what}: {advice}")]
    Wrong {
        /// The setting.
        key: &'static str,
        /// What is wrong.
        what: String,
        /// What to do.
        advice: &'static str,
    },
    /// It needs, or excludes, another one.
    #[error("{key}: {advice}")]
    Alone {
        /// The setting.
        key: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A file cannot be read.
    #[error("{key}: {} cannot be read ({why}): look at its name and its owner", path.display())]
    Unreadable {
        /// The setting.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        why: String,
    },
    /// A secret is open to others.
    #[error("{key}: {path} can be read by others than its owner (mode {mode:04o}): chmod 600 {path}", path = path.display())]
    Exposed {
        /// The setting.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
}

/// Why a message was not accepted, as far as is known. `whom`: a server, without anything secret of its URL, or a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The message is for a channel that is not set.
    #[error("{channel}: no such channel is set: look at [alert.{channel}] in the settings")]
    NoChannel {
        /// Its name.
        channel: String,
    },
    /// There is no connection.
    #[error("{whom}: cannot be reached: {why}: look at its name, its port and the network")]
    Unreachable {
        /// Whom.
        whom: String,
        /// What the system said.
        why: String,
    },
    /// Time is over.
    #[error("{whom}: no answer within {seconds} s: look whether it is up, and whether a firewall is between")]
    TimedOut {
        /// Whom.
        whom: String,
        /// How long it had.
        seconds: u64,
    },
    /// Nobody knows who is at the other end.
    #[error("{whom}: {why}: {advice}")]
    Untrusted {
        /// Whom.
        whom: String,
        /// What is wrong with the certificate.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// There is no encryption, and none was not asked for.
    #[error("{whom}: {why}: {advice}")]
    Unencrypted {
        /// Whom.
        whom: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The other side says no.
    #[error("{whom}: {what} refused: {said}: {advice}")]
    Refused {
        /// Whom.
        whom: String,
        /// What it refused: `AUTH`, `the message`.
        what: String,
        /// In its words.
        said: String,
        /// What to do.
        advice: &'static str,
    },
    /// The other side sends us elsewhere.
    #[error(
        "{whom}: sends us to {elsewhere}: nothing follows it, lest secrets go astray: put the right address into url"
    )]
    Redirected {
        /// Whom.
        whom: String,
        /// Where to, without path.
        elsewhere: String,
    },
    /// The other side went away, or talks nonsense.
    #[error("{whom}: {why}: look whether it is the right server and port, and into its log")]
    Nonsense {
        /// Whom.
        whom: String,
        /// What happened.
        why: String,
    },
    /// A program did not take it.
    #[error("{whom}: {why}: {advice}")]
    Program {
        /// The program.
        whom: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// No mail can be made of it.
    #[error("{whom}: no mail can be made of this message: {why}: look at from and to")]
    Unwritable {
        /// Whom.
        whom: String,
        /// Why.
        why: String,
    },
    /// There is no thread for it.
    #[error("this system starts no thread ({why}): look at its limit of tasks and its memory")]
    NoThread {
        /// What the system said.
        why: String,
    },
    /// The sender broke.
    #[error("{whom}: Scrubjay itself failed while it was sending: report it, with the log")]
    Bug {
        /// Whom.
        whom: String,
    },
}
