//! Errors in the settings of channels, and in deliveries; each in one line that says what to do.

use std::path::PathBuf;

/// A setting that is wrong. `key` is its name in the file, such as `alert.email.to`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ChannelFault {
    /// The value makes no sense.
    #[error("{key}: {problem}: {advice}")]
    Wrong {
        /// The setting.
        key: &'static str,
        /// What is wrong.
        problem: String,
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

impl ChannelFault {
    /// The setting that is wrong.
    pub fn key(&self) -> &'static str {
        match self {
            ChannelFault::Wrong { key, .. }
            | ChannelFault::Inconsistent { key, .. }
            | ChannelFault::Unreadable { key, .. }
            | ChannelFault::Exposed { key, .. } => key,
        }
    }
}

/// Why a message was not accepted, as far as is known. `peer`: a server, without secret parts of its URL, or a program.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DeliveryError {
    /// The message is for a channel that is not set.
    #[error("{channel}: no such channel is set: look at [alert.{channel}] in the settings")]
    NoChannel {
        /// The channel's name.
        channel: String,
    },
    /// No connection could be made.
    #[error("{peer}: cannot be reached: {why}: look at its name, its port and the network")]
    Unreachable {
        /// The server.
        peer: String,
        /// The system's error.
        why: String,
    },
    /// The time limit is over.
    #[error("{peer}: no answer within {seconds} s: look whether it is up, and whether a firewall is between")]
    TimedOut {
        /// The server.
        peer: String,
        /// The time limit, in seconds.
        seconds: u64,
    },
    /// The identity of the other side is not proven.
    #[error("{peer}: {why}: {advice}")]
    Untrusted {
        /// The server.
        peer: String,
        /// What is wrong with the certificate.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The connection is not encrypted, and the settings do not permit that.
    #[error("{peer}: {why}: {advice}")]
    Unencrypted {
        /// The server.
        peer: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The other side refuses.
    #[error("{peer}: {item} refused: {reply}: {advice}")]
    Refused {
        /// The server.
        peer: String,
        /// What it refused, as the sentence goes on: `AUTH`, `the message was`.
        item: String,
        /// Its reply.
        reply: String,
        /// What to do.
        advice: &'static str,
    },
    /// Some recipients have it, others are to have it later.
    #[error("{peer}: not yet for {who}: sent to them again")]
    Deferred {
        /// The server.
        peer: String,
        /// The recipients, each with the server's reply.
        who: String,
    },
    /// The other side redirects the request.
    #[error("{peer}: sends us to {target}: nothing follows it, lest secrets go astray: put the right address into url")]
    Redirected {
        /// The server.
        peer: String,
        /// The server to which it redirects, without a path.
        target: String,
    },
    /// The other side closed the connection, or its answer makes no sense.
    #[error("{peer}: {why}: look whether it is the right server and port, and into its log")]
    Nonsense {
        /// The server.
        peer: String,
        /// What happened.
        why: String,
    },
    /// A program did not accept it.
    #[error("{peer}: {why}: {advice}")]
    Program {
        /// The program.
        peer: String,
        /// What happened.
        why: String,
        /// What to do.
        advice: &'static str,
    },
    /// The message cannot be written as mail.
    #[error("{peer}: no mail can be made of this message: {why}: look at from and to")]
    Unwritable {
        /// The server.
        peer: String,
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
    #[error("{peer}: Scrubjay itself failed while it was sending: report it, with the log")]
    Bug {
        /// The server or program.
        peer: String,
    },
}
