//! Waiting: wait until the disk has been idle for t, then back to back until a foreground request arrives
//! (Golding et al. '95; Amvrosiadis et al., DSN'12, V-B: it beats every predictor they tried).

use super::{DiskView, IdlePolicy, Observed, Setting, Turn};
use crate::units::{Bytes, Nanos};

/// While requests are outstanding, how soon to look again at the latest, whatever the wait: a millisecond.
const LOOK_AGAIN_MIN: Nanos = Nanos::from_millis(1);

/// Waits for `wait` of idleness, then sends requests of `size` bytes back to back until a collision.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    /// The threshold t.
    pub wait: Nanos,
    /// The size b of one request.
    pub size: Bytes,
}

impl Waiting {
    /// When an idle interval seen as in `view` has lasted for `wait`.
    pub(super) fn ready_at(wait: Nanos, view: &DiskView) -> Nanos {
        if view.outstanding > 0 {
            // It cannot be sooner, even if the last of them ends at this very moment.
            return view.now.saturating_add(wait.max(LOOK_AGAIN_MIN));
        }
        view.idle_since.saturating_add(wait)
    }
}

impl IdlePolicy for Waiting {
    fn name(&self) -> &'static str {
        "waiting"
    }

    fn turn(&self, view: &DiskView, _: &Observed) -> Turn {
        Turn { not_before: Waiting::ready_at(self.wait, view), size: self.size }
    }

    fn setting(&self) -> Setting {
        Setting { wait: self.wait, in_idle_only: true, ..Setting::back_to_back(self.size) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(now: u64, outstanding: u64, idle_since: u64) -> DiskView {
        let at = Nanos::from_millis;
        DiskView { now: at(now), outstanding, idle_since: at(idle_since), own_finished: at(now), own_service: at(5) }
    }

    #[test]
    fn waits_once_per_idle_interval() {
        let policy = Waiting { wait: Nanos::from_millis(100), size: Bytes::mib(1) };
        let seen = Observed::default();
        assert_eq!(policy.turn(&view(1000, 0, 950), &seen).not_before, Nanos::from_millis(1050));
        assert!(policy.turn(&view(1100, 0, 950), &seen).not_before < Nanos::from_millis(1100), "then back to back");
        assert_eq!(policy.turn(&view(1200, 3, 950), &seen).not_before, Nanos::from_millis(1300), "foreground first");
    }
}
