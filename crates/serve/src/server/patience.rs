//! How long a server waits for others.

use scrubjay_core::units::Nanos;

/// The times after which no more is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For the end of a client's handshake.
    pub handshake: Nanos,
    /// For a client to take the next MiB of its replies, or less where there is less, and to send the next bytes of a
    /// message that it has begun. One that keeps still between messages is never cut off.
    pub progress: Nanos,
    /// After a stop, for clients to read the replies that they have not read yet.
    pub unread: Nanos,
    /// After a stop, for the end of everything: requests under way, the last flush, and the volume. Longer than a volume
    /// waits for a disk that hangs, and shorter than service managers wait.
    pub stop: Nanos,
    /// At the very end, for clients to take in how it ended.
    pub farewell: Nanos,
}

impl Default for Patience {
    fn default() -> Patience {
        Patience {
            handshake: Nanos::from_secs(30),
            progress: Nanos::from_secs(60),
            unread: Nanos::from_secs(20),
            stop: Nanos::from_secs(80),
            farewell: Nanos::from_secs(2),
        }
    }
}
