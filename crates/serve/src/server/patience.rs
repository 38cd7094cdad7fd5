//! How long a server waits for clients, disks and the volume.

use scrubjay_core::units::Nanos;

/// Time limits of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For a client's handshake, from its connection on.
    pub handshake: Nanos,
    /// For a client to receive the next MiB of its replies (or the rest, if that is less), and to send the next bytes of a
    /// message that it has begun. A client that is silent between messages is never cut off.
    pub progress: Nanos,
    /// After a stop: for clients to receive replies that are ready.
    pub unread: Nanos,
    /// After a stop: for requests under way, the last flush and the volume's own stop together. Longer than a volume waits
    /// for a disk that hangs, and shorter than service managers wait.
    pub stop: Nanos,
    /// At the very end: for control clients to receive the last answers.
    pub last_answers: Nanos,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            handshake: Nanos::from_secs(30),
            progress: Nanos::from_secs(60),
            unread: Nanos::from_secs(20),
            stop: Nanos::from_secs(80),
            last_answers: Nanos::from_secs(2),
        }
    }
}
