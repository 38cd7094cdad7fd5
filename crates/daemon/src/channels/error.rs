//! Errors in the settings of channels, and in deliveries; each in one line that says what to do.

use std::path::PathBuf;

/// A setting that is wrong. `key` is its name in the file, such as `alert.email.to`.
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
    /// It needs, or excludes, another setting.
    #[error("{key}: {advice}")]
    Inconsistent {
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
        /// The system's error.
        why: String,
    },
    /// A secret can be read by others.
    #[error("{key}: {path} can be read by others than its owner (mode {mode:04o}): chmod 600 {path}", path = path.display())]
    Exposed {
        /// The setting.
        key: &'static str,
        /// The file.
        path: PathBuf,
        /// Its mode bits.
        mode: u32,
    },
}

/// Why a message was not accepted, as far as is known. `whom`: a server, without secret parts of its URL, or a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The message is for a channel that is not set.
    #[error("{channel}: no such channel is set: look at [alert.{channel}] in the settings")]
    NoChannel {
        /// The channel's name.
        channel: String,
    },
    /// No connection could be made.
    #[error("{whom}: cannot be reached: {why}: look at its name, its port and the network")]
    Unreachable {
        /// The server.
        whom: String,
        /// The system's error.
        why: String,
    },
    /// The time limit is over.
    #[error("{whom}: no answer within {seconds} s: look whether it is up, and whether a firewall is between")]
    TimedOut {
        /// The server.
        whom: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The identity of the other side is not proven.
    #[error("{whom}: {why}: {advice}")]
    Untrusted {
        /// The server.
        whom: String,
        /// What is wrong with the certificate.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The connection is not encrypted, and the settings do not permit that.
    #[error("{whom}: {why}: {advice}")]
    Unencrypted {
        /// The server.
        whom: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The other side refuses.
    #[error("{whom}: {what} refused: {said}: {advice}")]
    Refused {
        /// The server.
        whom: String,
        /// What it refused: `AUTH`, `the message`.
        what: String,
        /// Its reply.
        said: String,
        /// What to do.
        advice: &'static str,
    },
    /// The other side redirects the request.
    #[error(
        "{whom}: sends us to {elsewhere}: nothing follows it, lest secrets go astray: put the right address into url"
    )]
    Redirected {
        /// The server.
        whom: String,
        /// The server to which it redirects, without a path.
        elsewhere: String,
    },
    /// The other side closed the connection, or its answer makes no sense.
    #[error("{whom}: {why}: look whether it is the right server and port, and into its log")]
    Nonsense {
        /// The server.
        whom: String,
        /// What happened.
        why: String,
    },
    /// A program did not accept it.
    #[error("{whom}: {why}: {advice}")]
    Program {
        /// The program.
        whom: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The message cannot be written as mail.
    #[error("{whom}: no mail can be made of this message: {why}: look at from and to")]
    Unwritable {
        /// The server.
        whom: String,
        /// Why not.
        why: String,
    },
    /// No thread could be started for it.
    #[error("this system starts no thread ({why}): look at its limit of tasks and its memory")]
    NoThread {
        /// The system's error.
        why: String,
    },
    /// The sending thread panicked.
    #[error("{whom}: Scrubjay itself failed while it was sending: report it, with the log")]
    Bug {
        /// The server or program.
        whom: String,
    },
}
