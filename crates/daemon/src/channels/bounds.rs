//! Time limits: no network may hold the daemon up for longer than these.

use super::error::DeliveryError;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// The time limit of a delivery.
pub const DELIVERY_MAX: Duration = Duration::from_secs(60);
/// The time limit of connecting; a name with several addresses has it for each. Mail servers that delay strangers
/// (postscreen: 6 s) have greeted by then.
pub const CONNECT_MAX: Duration = Duration::from_secs(10);
/// Time that is reserved to report a time-out.
const REPORT_TIME: Duration = Duration::from_secs(2);

/// The time that is left for a delivery.
pub(crate) struct TimeBound {
    end: Instant,
    limit: Duration,
}

impl TimeBound {
    /// Begins a delivery that has this limit from now on.
    pub(crate) fn new(limit: Duration) -> TimeBound {
        TimeBound { end: Instant::now() + limit, limit }
    }

    /// The time that is left, `most` at most. `None`: none is left.
    pub(crate) fn left(&self, most: Duration) -> Option<Duration> {
        let left = self.end.saturating_duration_since(Instant::now()).min(most);
        (!left.is_zero()).then_some(left)
    }

    /// The time that is left, `most` at most, or the error of a time-out.
    pub(crate) fn left_or_error(&self, peer: &str, most: Duration) -> Result<Duration, DeliveryError> {
        self.left(most).ok_or_else(|| self.timeout_error(peer))
    }

    /// The error of a time-out.
    pub(crate) fn timeout_error(&self, peer: &str) -> DeliveryError {
        DeliveryError::TimedOut { peer: peer.to_owned(), seconds: self.limit.as_secs().max(1) }
    }
}

/// Runs `deliver` in a thread and waits for it, for `limit` at most. A thread that hangs longer is abandoned: it checks
/// its bound at every step, and its result is dropped.
pub(crate) fn within(
    limit: Duration,
    peer: String,
    deliver: impl FnOnce(&TimeBound) -> Result<String, DeliveryError> + Send + 'static,
) -> Result<String, DeliveryError> {
    let bound = TimeBound::new(limit.saturating_sub(REPORT_TIME).max(limit / 2));
    let timeout_error = TimeBound::new(limit).timeout_error(&peer);
    let (sender, receiver) = mpsc::sync_channel(1);
    let spawned = thread::Builder::new().name("alert".to_owned()).spawn(move || {
        // The receiver is gone if this took too long.
        let _ = sender.send(deliver(&bound));
    });
    if let Err(error) = spawned {
        return Err(DeliveryError::NoThread { why: error.to_string() });
    }
    match receiver.recv_timeout(limit) {
        Ok(outcome) => outcome,
        Err(RecvTimeoutError::Timeout) => Err(timeout_error),
        Err(RecvTimeoutError::Disconnected) => Err(DeliveryError::Bug { peer }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_that_hangs_times_out_and_one_that_panics_is_an_error() {
        let (_sender, receiver) = mpsc::channel::<()>();
        let hangs = within(Duration::from_millis(20), "somebody".to_owned(), move |_| {
            let _ = receiver.recv();
            Ok(String::new())
        });
        assert!(matches!(hangs, Err(DeliveryError::TimedOut { .. })), "{hangs:?}");
        let panics = within(DELIVERY_MAX, "somebody".to_owned(), |_| panic!("as planned"));
        assert_eq!(panics, Err(DeliveryError::Bug { peer: "somebody".to_owned() }));
    }

    #[test]
    fn time_runs_out() {
        let bound = TimeBound::new(Duration::ZERO);
        assert_eq!(bound.left(CONNECT_MAX), None);
        assert!(bound.left_or_error("somebody", CONNECT_MAX).is_err());
        assert_eq!(TimeBound::new(DELIVERY_MAX).left(CONNECT_MAX), Some(CONNECT_MAX));
    }
}
